use super::*;
use crate::model::random::{Shape, network};

fn parse(text: &str) -> Result<Network> {
    read(
        &Source {
            name: "test.xdsl".to_owned(),
            text: text.to_owned(),
            note: None,
        },
        &ReadOptions::default(),
    )
}

/// A network with the binary node `a`, the node `b` of three states, and one more.
fn with(node: &str) -> String {
    format!(
        "<smile version='1.0' id='n'><nodes>\n\
         <cpt id='a'><state id='y'/><state id='n'/><probabilities>0.5 0.5</probabilities></cpt>\n\
         <cpt id='b'><state id='r'/><state id='s'/><state id='t'/><probabilities>0.2 0.3 0.5</probabilities></cpt>\n\
         {node}\n</nodes><extensions><genie><node id='a'><name>A &unknown;</name></node></genie></extensions></smile>"
    )
}

/// A child of both with the states `high`, `low` and `none`.
fn child(kind: &str, rest: &str) -> String {
    let states =
        "<state id='high'/><state id='low'/><state id='none'/><property id='p'>1</property>";
    with(&format!(
        "<{kind} id='x'>{states}<parents>a b</parents>{rest}</{kind}>"
    ))
}

#[test]
fn the_own_states_move_fastest_and_then_the_last_parent() -> Result<()> {
    let numbers = "1 0 0  0.5 0.5 0  0 0.5 0.5  0.25 0.25 0.5  0.75 0.25 0  0.125 0.25 0.625";
    let net = parse(&child(
        "cpt",
        &format!("<probabilities>{numbers}</probabilities>"),
    ))?;
    let table: Vec<f64> = numbers.split_whitespace().flat_map(str::parse).collect();
    assert_eq!(*net.cpts()[2].body(), Body::Table(table));
    assert_eq!(
        net.parents(net.find("x")?),
        [net.find("a")?, net.find("b")?]
    );
    assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
    Ok(())
}

#[test]
fn a_deterministic_node_is_a_function() -> Result<()> {
    let states = "<resultingstates>low low none high low none</resultingstates>";
    let net = parse(&child("deterministic", states))?;
    assert_eq!(
        *net.cpts()[2].body(),
        Body::Function(vec![1, 1, 2, 0, 1, 2])
    );
    let written = write(&net, Loss::Refuse)?;
    assert!(written.contains(states), "{written}");
    assert_eq!(parse(&written)?, net);
    Ok(())
}

/// Of `b`, state 2 is the strongest and state 1 the weakest. For a = y and b = r, below `high`
/// is 0.5 · 0.9 · 1 = 0.45 and below `low` is 0.2 · 0.7 · 0.9 = 0.126.
#[test]
fn a_noisy_max_multiplies_what_is_below() -> Result<()> {
    let columns = "0.5 0.3 0.2  0 0 1   0.4 0.4 0.2  0.1 0.2 0.7  0 0 1   0 0.1 0.9";
    let given = format!("<strengths>0 1 2 0 1</strengths><parameters>{columns}</parameters>");
    let given_y = [0.55, 0.324, 0.126, 0.5, 0.32, 0.18, 0.7, 0.264, 0.036];
    let given_n = [0.1, 0.27, 0.63, 0.0, 0.1, 0.9, 0.4, 0.42, 0.18];
    let net = parse(&child("noisymax", &given))?;
    let table = net.cpts()[2].table(&net.cards());
    assert!(
        table
            .iter()
            .zip(given_y.iter().chain(&given_n))
            .all(|(p, q)| (p - q).abs() < 1e-15),
        "{table:?}"
    );
    assert_eq!(table[12], 0.0, "what nothing causes stays impossible");
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
        let back = parse(&write(&net, Loss::Accept)?)?;
        assert_eq!(back.name(), net.name().replace('-', "_"));
        assert!(
            back.variables() == net.variables() && back.cpts() == net.cpts(),
            "seed {seed}\n{net:?}"
        );
    }
    let mut b = Network::builder("");
    let x = b.variable("x", ["<1", "λ&\"'", "5-10"]);
    b.table(x, [], [0.1, 1.0 / 3.0, 0.9 - 1.0 / 3.0]);
    let net = b.build()?;
    assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
    Ok(())
}

#[test]
fn names_that_are_no_ids_are_refused_or_mended() -> Result<()> {
    let mut b = Network::builder("n");
    for (name, values) in [
        ("1 a", ["p q", "p\tq"]),
        ("x1_a", ["p_q", "r"]),
        ("1-a", ["", "s"]),
    ] {
        let x = b.variable(name, values);
        b.table(x, [], [0.5, 0.5]);
    }
    let net = b.build()?;
    let error = write(&net, Loss::Refuse).unwrap_err();
    assert!(
        error
            .message()
            .starts_with("XDSL cannot carry the name `1 a`"),
        "{error}"
    );
    let back = parse(&write(&net, Loss::Accept)?)?;
    let names: Vec<&str> = back.variables().iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["x1_a_2", "x1_a", "x1_a_3"]);
    assert_eq!(back.variables()[0].values, ["p_q", "p_q_2"]);
    Ok(())
}

#[test]
fn mistakes_have_a_place() {
    let noisy = |strengths: &str, parameters: &str| {
        child(
            "noisymax",
            &format!("<strengths>{strengths}</strengths>\n<parameters>{parameters}</parameters>"),
        )
    };
    let good = "1 0 0 0 0 1 1 0 0 1 0 0 0 0 1 0 0 1";
    let cpt = |rest: &str| child("cpt", rest);
    let mapping = |states| {
        child(
            "deterministic",
            &format!("\n<resultingstates>{states}</resultingstates>"),
        )
    };
    for (text, line, message) in [
        (
            cpt("\n<probabilities>1 0 0</probabilities>"),
            5,
            "needs 18 numbers (2 × 3 × 3), not 3",
        ),
        (
            cpt("\n<probabilities>1 O 0</probabilities>"),
            5,
            "expected a number in `<probabilities>`, found `O`",
        ),
        (cpt(""), 4, "node `x` has no `<probabilities>`"),
        (
            cpt("").replace("a b", "a bb"),
            4,
            "variable `bb` is not declared",
        ),
        (mapping("lo"), 5, "variable `x` has no value `lo`"),
        (mapping("low"), 5, "needs 6 resulting states (2 × 3), not 1"),
        (
            with("<decision id='d'><state id='go'/></decision>"),
            4,
            "`<decision>` nodes such as `d` are not supported",
        ),
        (
            with("<cpt id='a'><state id='y'/></cpt>"),
            4,
            "variable `a` is declared twice",
        ),
        (
            with("<cpt><state id='y'/></cpt>"),
            4,
            "this `<cpt>` has no `id`",
        ),
        (with("<cpt id='&e;'></cpt>"), 4, "unknown entity `&e;`"),
        (with("<cpt id=x></cpt>"), 4, "malformed attributes"),
        (noisy("0 1 2 0", good), 4, "needs 5 strengths, not 4"),
        (
            noisy("0 1 2 2 1", good),
            4,
            "the strengths for `b` must name each of its states once, from 0 to 2",
        ),
        (noisy("0 1 2 0 1", "1 0 0"), 5, "needs 18 parameters, not 3"),
        (
            noisy("0 1 2 0 1", &good.replacen('1', "-1", 1)),
            5,
            "-1 is not a probability",
        ),
        (
            noisy("0 1 2 0 1", &good.replacen('1', "0.5", 1)),
            5,
            "these parameters sum to 0.5, not 1",
        ),
        (
            noisy("0 1 2 0 1", &good.replacen("0 0 1", "0 1 0", 1)),
            5,
            "weakest state of `a` must be `0 0 1`",
        ),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.place().map(|p| p.line()), Some(line), "{error}");
    }
}
