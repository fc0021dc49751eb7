use super::*;
use crate::model::format::Loss;
use crate::model::random::{Shape, network};

fn parse(text: &str) -> Result<Network> {
    read(
        &Source {
            name: "test.bif".to_owned(),
            text: text.to_owned(),
            note: None,
        },
        &ReadOptions::default(),
    )
}

/// The dog problem of JavaBayes: P(light-on = yes | family-out = no) is 0.05, the *second*
/// number.
#[test]
fn in_a_table_the_child_moves_slowest() -> Result<()> {
    let net = parse(
        "network dog { } variable f { type discrete [ 2 ] { yes, no }; } \
         variable light { type discrete [ 2 ] { yes, no }; } \
         probability ( f ) { table 0.15 0.85; } probability ( light | f ) { table 0.6 0.05 0.4 0.95; }",
    )?;
    assert_eq!(net.cpts()[1].table(&net.cards()), [0.6, 0.4, 0.05, 0.95]);
    Ok(())
}

/// As pgmpy writes variables that are not observed.
#[test]
fn sets_of_properties_are_skipped() -> Result<()> {
    let text = |property: &str| {
        format!(
            "network x {{ {property} }} variable f {{ type discrete [ 2 ] {{ yes, no }}; }} \
             probability ( f ) {{ table 0.15 0.85; }}"
        )
    };
    assert_eq!(
        parse(&text("property roles = {'latents', 'a'} ;"))?.name(),
        "x"
    );
    for open in [
        "property roles = {'latents' ;",
        "property roles = {a {b} } ;",
    ] {
        let error = parse(&text(open)).unwrap_err().to_string();
        assert!(error.contains("after a property"), "{error}");
    }
    Ok(())
}

#[test]
fn networks_come_back_as_they_were() -> Result<()> {
    for seed in 0..50 {
        let net = network(
            &Shape {
                nodes: 12,
                max_values: 4,
                max_parents: 3,
                functional: 0.4,
            },
            seed,
        )?;
        assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net, "seed {seed}");
    }
    let names = [
        "",
        "two\n\tand\r\nlines",
        "// no",
        "/*",
        "a//b",
        "table",
        "{(|",
        "\\",
        "unknown",
        "λ\u{a0}",
    ];
    for title in names {
        let mut b = Network::builder(title);
        let nodes = names.map(|name| b.variable(name, names));
        b.table(nodes[0], [], [0.1; 10]);
        for pair in nodes.windows(2) {
            b.function(pair[1], [pair[0]], |u| u[0]);
        }
        let net = b.build()?;
        assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
    }
    Ok(())
}

#[test]
fn names_with_quotes_are_refused_or_mended() -> Result<()> {
    let mut b = Network::builder("\"n\"");
    let x = b.variable("5\"", ["\"", "'"]);
    let y = b.variable("5'", ["a", "b"]);
    b.table(x, [], [0.5, 0.5]);
    b.function(y, [x], |u| u[0]);
    let net = b.build()?;
    let error = write(&net, Loss::Refuse).unwrap_err();
    assert_eq!(
        error.message(),
        "BIF cannot carry the name `\"n\"`, which contains a quote"
    );
    let back = parse(&write(&net, Loss::Accept)?)?;
    assert_eq!((back.name(), back.cpts()), ("'n'", net.cpts()));
    assert_eq!(
        (
            back.variables()[0].name.as_str(),
            back.variables()[1].name.as_str()
        ),
        ("5'_2", "5'")
    );
    assert_eq!(back.variables()[0].values, ["'_2", "'"]);
    Ok(())
}
