use super::*;
use crate::model::random::{Shape, network};

fn parse(text: &str) -> Result<Network> {
    read(
        &Source {
            name: "test.xml".to_owned(),
            text: text.to_owned(),
            note: None,
        },
        &ReadOptions::default(),
    )
}

/// The network `n` with the binary variables `a` and `b`, where a definition is in line 4.
fn with(definition: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?> <!DOCTYPE BIF [ <!ENTITY e \"&e;&e;\"> <!-- > ' --> ]>\n\
         <BIF VERSION=\"0.3\"><NETWORK><NAME>n</NAME><PROPERTY>by <b>hand</b> &e;</PROPERTY>\n\
         <DEFINITION><FOR>a</FOR><TABLE>0.2 0.8</TABLE></DEFINITION>\n\
         {definition}\n\
         <VARIABLE><NAME>a</NAME><OUTCOME>y</OUTCOME><OUTCOME>n</OUTCOME></VARIABLE>\n\
         <VARIABLE TYPE=\"nature\"><NAME> b </NAME><VALUE>y</VALUE><VALUE>n</VALUE></VARIABLE>\n\
         </NETWORK></BIF>\n"
    )
}

const OF_B: &str = "<definition><for>b</for><given>a</given><table> 0.1 0.9 <!-- a = n --> 0.3 0.7 </table></definition>";

#[test]
fn the_variable_moves_fastest_and_then_the_last_given() -> Result<()> {
    let net = parse(&with(OF_B))?;
    assert_eq!(net.cpts()[1].table(&net.cards()), [0.1, 0.9, 0.3, 0.7]);
    let more = "<VARIABLE><NAME>c</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME></VARIABLE>\
                <DEFINITION><TABLE>1 0 0.5 0.5 0.25 0.75 0 1</TABLE><FOR>c</FOR><GIVEN>b</GIVEN><GIVEN>a</GIVEN></DEFINITION>";
    let net = parse(&with(&format!("{OF_B}{more}")))?;
    assert_eq!(
        net.cpts()[2].table(&net.cards()),
        [1.0, 0.0, 0.5, 0.5, 0.25, 0.75, 0.0, 1.0]
    );
    assert_eq!(
        net.parents(net.find("c")?),
        [net.find("b")?, net.find("a")?]
    );
    Ok(())
}

#[test]
fn entities_and_cdata_are_text() -> Result<()> {
    let text = with(OF_B).replace(
        "<NAME>n<",
        "<NAME> &lt;&#955;&#x3bb; <![CDATA[&<]]>&apos;<!-- x -->&quot; <",
    );
    assert_eq!(parse(&text)?.name(), "<λλ &<'\"");
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
    let mut b = Network::builder("a < b && \"c\" ]]> 'd'");
    let names = [
        "",
        "-->",
        "&amp;",
        "two  words\n\tand\r\nlines",
        "Größe/µ😀",
        "\u{a0}x",
        "<!--",
    ];
    for name in names {
        let x = b.variable(name, names);
        b.table(x, [], [1.0 / 7.0; 7]);
    }
    let net = b.build()?;
    assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
    Ok(())
}

#[test]
fn names_that_xml_cannot_carry_are_refused_or_mended() -> Result<()> {
    let mut b = Network::builder(" n");
    for name in ["x", " x", "x\n", "\u{1}"] {
        let x = b.variable(name, ["y", "y "]);
        b.table(x, [], [0.5, 0.5]);
    }
    let net = b.build()?;
    let error = write(&net, Loss::Refuse).unwrap_err();
    assert!(
        error
            .message()
            .starts_with("XMLBIF cannot carry the name ` n`"),
        "{error}"
    );
    let back = parse(&write(&net, Loss::Accept)?)?;
    let names: Vec<&str> = back.variables().iter().map(|v| v.name.as_str()).collect();
    assert_eq!((back.name(), names), ("n", vec!["x", "x_2", "x_3", "_"]));
    assert_eq!(back.variables()[0].values, ["y", "y_2"]);
    Ok(())
}

#[test]
fn mistakes_have_a_place_and_a_hint() {
    let of_b = |from: &str, to: &str| with(&OF_B.replace(from, to));
    let variable = |tag: &str, rest: &str| with(&format!("{OF_B}<{tag}>{rest}</VARIABLE>"));
    for (text, at, message, hint) in [
        (
            of_b("0.7", ""),
            "0.1 0.9",
            "the CPT of `b` needs 4 numbers (2 × 2), not 3",
            "",
        ),
        (
            of_b("0.7", "0,7"),
            "0,7",
            "expected a number in `<table>`, found `0,7`",
            "decimal point",
        ),
        (
            of_b("0.7", "0.6"),
            "0.3 0.6",
            "row (n) of the CPT of `b` sums to 0.9, not 1",
            "add the missing 0.1",
        ),
        (
            of_b("0.7", "-1"),
            "-1",
            "the CPT of `b` contains -1, which is not a probability",
            "",
        ),
        (
            of_b("0.7", "nan"),
            "nan",
            "the CPT of `b` contains NaN, which is not a probability",
            "",
        ),
        (
            of_b("0.7", "<b/>"),
            "<b/>",
            "expected text or `</table>`, found `<b>`",
            "of line 4",
        ),
        (
            of_b("<given>a", "<given>A1"),
            "A1<",
            "variable `A1` is not declared",
            "",
        ),
        (
            of_b("<given>a", "<given>b"),
            "b</given>",
            "variable `b` is its own parent",
            "",
        ),
        (
            of_b("</for>", "</for><for>a</for>"),
            "for>a",
            "a second `<for>` in the same definition",
            "one variable",
        ),
        (
            of_b("<for>b</for>", ""),
            "definition>",
            "this `<definition>` has no `<FOR>`",
            "",
        ),
        (
            of_b("</given>", "</gven>"),
            "</gven>",
            "expected `</given>`, found `</gven>`",
            "of line 4",
        ),
        (
            of_b("<given>", "<given>&e;"),
            "&e;",
            "unknown entity `&e;`",
            "&amp;",
        ),
        (
            of_b("<given>", "<given>&#0;"),
            "&#0;",
            "unknown entity `&#0;`",
            "",
        ),
        (
            of_b("<given>", "<given>R & D"),
            "& D",
            "this `&` begins no entity",
            "`&amp;`",
        ),
        (
            of_b("<given>", " text <given>"),
            "text",
            "expected an element, found text",
            "",
        ),
        (with(""), "b </NAME>", "variable `b` has no CPT", ""),
        (
            with(&OF_B.repeat(2)),
            "b</for>",
            "variable `b` has two CPTs",
            "",
        ),
        (
            variable("VARIABLE TYPE='utility'", ""),
            "utility",
            "type `utility` is not supported",
            "`nature`",
        ),
        (
            variable("VARIABLE", "<NAME>c</NAME>"),
            "c</NAME>",
            "variable `c` has no values",
            "",
        ),
        (
            variable("VARIABLE", "<VALUE>c</VALUE>"),
            "VARIABLE>",
            "this `<VARIABLE>` has no `<NAME>`",
            "",
        ),
        (
            variable("VARIABLE", "<NAME>a</NAME><VALUE>c</VALUE>"),
            "a</NAME>",
            "`a` is declared twice",
            "line 4",
        ),
        (
            with("<PROBABILITY>"),
            "PROBABILITY",
            "`<PROBABILITY>` belongs to an older version of XMLBIF",
            "0.3",
        ),
        (
            with("").replace("NETWORK", "NET"),
            "BIF VER",
            "there is no `<NETWORK>` in the file",
            "",
        ),
        (
            with(OF_B) + "<BIF/>",
            "BIF/>",
            "a second root, `<BIF>`",
            "one network",
        ),
        (
            "<smile/>".to_owned(),
            "smile",
            "expected `<BIF>`, found `<smile>`",
            "XMLBIF",
        ),
        (
            "network x {}".to_owned(),
            "network x",
            "expected an element, found text",
            "",
        ),
        (
            String::new(),
            "",
            "expected `<BIF>`, found an empty file",
            "",
        ),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.message().contains(message), "{message}: {error}");
        assert!(error.advice().unwrap_or_default().contains(hint), "{error}");
        let place = error.place().expect("mistakes in files have a place");
        let line = text.lines().nth(place.line() - 1).unwrap_or_default();
        let marked: String = line.chars().skip(place.column() - 1).collect();
        assert!(marked.starts_with(at), "{error}");
    }
}

#[test]
fn damaged_and_hostile_files_are_errors() {
    let text = with(OF_B);
    let end = text.len() - "\n".len();
    for (at, _) in text.char_indices().take_while(|&(at, _)| at < end) {
        assert!(parse(&text[..at]).is_err(), "cut at {at}");
        let _ = parse(&format!("{}{}", &text[..at], &text[at + 1..]));
    }
    let deep = "<a>".repeat(1_000_000);
    assert!(parse(&deep).is_err());
    assert!(parse(&with(&deep)).is_err());
    assert!(parse(&format!("\u{feff}\u{feff}{}", with("<GIVEN/>λ"))).is_err());
}
