use super::*;
use crate::model::format::Loss;

fn parse(text: &str) -> Result<Network> {
    read(
        &Source {
            name: "models/test.net".to_owned(),
            text: text.to_owned(),
            note: None,
        },
        &ReadOptions::default(),
    )
}

/// Message, and the text from the caret on.
fn mistake(text: &str) -> (String, String) {
    let error = parse(text).expect_err(text);
    let place = error.place().expect(text);
    let line = text.lines().nth(place.line() - 1).unwrap_or_default();
    (
        error.message().to_owned(),
        line.chars().skip(place.column() - 1).collect(),
    )
}

/// The nodes `a` (two states) and `b` (three), and this after the potential of `a`.
fn with(potential: &str) -> String {
    let nodes = r#"node a { states = ("0" "1"); } node b { states = ("x" "y" "z"); }"#;
    format!("{nodes}\npotential (a) {{ data = (0.2 0.8); }}\n{potential}")
}

#[test]
fn the_child_moves_fastest_then_the_last_parent() -> Result<()> {
    let nested = "potential (b | a c) { data = (((1 0 0)(.9 .1 0))((0 0 1)(0 .5 .5))); }";
    let flat = "potential (b | a c) { data = (1 0 0 .9 .1 0 0 0 1 0 .5 .5); }";
    let more = "node c { states = (p q); } potential (c | ) { data = (0.5 0.5); }";
    let net = parse(&with(&format!("{more} {nested}")))?;
    let b = net.find("b")?;
    assert_eq!(net.parents(b), [net.find("a")?, net.find("c")?]);
    let expected = [1.0, 0.0, 0.0, 0.9, 0.1, 0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.5];
    assert_eq!(net.cpts()[b.index()].table(&net.cards()), expected);
    assert_eq!(parse(&with(&format!("{more} {flat}")))?, net, "{flat}");
    Ok(())
}

#[test]
fn the_rest_of_the_language_is_skipped() -> Result<()> {
    let plain = parse(&with("potential (b | a) { data = ((1 0 0)(0 .5 .5)); }"))?;
    let full = parse(
        r#"% made by hand
        class test { inputs = (); HR_Desc = "a } ; \" % (";
        discrete node a { label = "A; or \"a\"\\"; position = (1 2); states = ("0" "1"); HR_x = ((("(") 1)); }
        node b { subtype = number; state_values = (1 2 3); states = ("x" "y" "z"); }
        potential (a) { data = (0.2% comment
            0.8); }
        potential (b | a) { experience = (1 1); data = (( 1 0 0 )( 0 .5 .5 )); } }"#,
    )?;
    assert_eq!((full.name(), &full), ("test", &plain));
    Ok(())
}

#[test]
fn a_potential_without_data_is_uniform_unless_that_is_huge() -> Result<()> {
    let net = parse(&with("potential (b | a) { }"))?;
    assert_eq!(net.cpts()[1].table(&net.cards()), [1.0 / 3.0; 6]);
    let nodes: String = (0..30)
        .map(|i| format!("node n{i} {{ states = (s t); }}"))
        .collect();
    let parents: String = (0..30).map(|i| format!(" n{i}")).collect();
    let (message, _) = mistake(&with(&format!("{nodes} potential (b | {parents}) {{ }}")));
    assert_eq!(
        message,
        "the CPT of `b` would have 3221225472 numbers, more than the file can ask for"
    );
    Ok(())
}

#[test]
fn writing_and_reading_gives_the_same_network() -> Result<()> {
    let mut b = Network::builder("a \"tricky\\\" name");
    let one = b.variable(
        "one",
        ["yes", "", "\"", "\\", "\\\"", "% no", "(é)\n;", "\\n"],
    );
    let two = b.variable("_2", ["{", "}"]);
    let three = b.variable("three", ["x", "y", "z"]);
    b.table(one, [], [0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 1e-17, 0.1]);
    b.table(two, [], [1.0 / 3.0, 2.0 / 3.0]);
    b.function(three, [two, one], |u| (u[0] + u[1]) % 3);
    let net = b.build()?;
    let text = write(&net, Loss::Refuse)?;
    assert_eq!(parse(&text)?, net, "{text}");
    assert!(
        text.contains("( three | _2 one )\n{\n  data = ((( 1.0 0.0 0.0 )\n    ( 0.0 1.0 0.0 )"),
        "{text}"
    );
    Ok(())
}

#[test]
fn names_that_are_no_identifiers_become_labels_if_that_is_accepted() -> Result<()> {
    let mut b = Network::builder("");
    for name in ["a b", "a_b", "a-b", "1", "", "node", "_node"] {
        let node = b.variable(name, ["s"]);
        b.table(node, [], [1.0]);
    }
    let net = b.build()?;
    let refused = write(&net, Loss::Refuse).unwrap_err();
    assert_eq!(
        refused.message(),
        "Hugin NET cannot carry the name `a b`, which is not an identifier"
    );
    let text = write(&net, Loss::Accept)?;
    let read = parse(&text)?;
    let names: Vec<&str> = read.variables().iter().map(|v| v.name.as_str()).collect();
    assert_eq!(
        names,
        ["a_b_2", "a_b", "a_b_3", "_1", "_", "_node_2", "_node"]
    );
    assert!(text.contains("node a_b_3\n{\n  label = \"a-b\";"), "{text}");
    Ok(())
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let no_block = "expected `net`, `node` or `potential` to begin a block, found";
    let no_number = "expected a number, a parenthesis or `;` in the data, found";
    let deep = "(".repeat(1 << 20);
    let cases = [
        (
            &*format!("net {{ x = {deep}"),
            "expected `;` after an attribute, found the end of the file",
            "",
        ),
        (
            &format!("potential (b) {{ data = {deep}"),
            &format!("{no_number} the end of the file"),
            "",
        ),
        ("nodes a { }", &format!("{no_block} `nodes`"), "nodes"),
        (
            "class c { node d { states = (s); }",
            &format!("{no_block} the end of the file"),
            "",
        ),
        ("net { a = \"b }", "this quote is never closed", "\"b"),
        (
            "net { a = ( }",
            "expected `;` after an attribute, found `}`",
            "}",
        ),
        (
            "continuous node x { }",
            "`continuous` nodes are not supported",
            "continuous",
        ),
        (
            "utility u { }",
            "`utility` nodes are not supported",
            "utility",
        ),
        (
            "decision d { }",
            "`decision` nodes are not supported",
            "decision",
        ),
        (
            "function f",
            "expected `{` after the function's name, found the end of the file",
            "",
        ),
        (
            "class c { instance i : d(); }",
            "`instance` is not supported",
            "instance",
        ),
        ("node c { }", "node `c` has no `states`", "c {"),
        (
            "node c { states = (); }",
            "variable `c` has no values",
            "c {",
        ),
        (
            "node c { states = (s); states = (t); }",
            "a second `states` for `c`",
            "states = (t)",
        ),
        (
            "potential (a b | c) { }",
            "a second child, `b`, is not supported",
            "b |",
        ),
        ("potential (c) { }", "variable `c` is not declared", "c)"),
        (
            "potential (b) { model_data = (1); }",
            "`b` has an expression instead of numbers",
            "model_data",
        ),
        (
            "potential (b) { data = normal(0, 1); }",
            "expected a number in the data, found `normal`",
            "normal",
        ),
        (
            "potential (b) { data = ((1 0); }",
            "this `(` is never closed",
            "((1 0)",
        ),
        (
            "potential (b) { data = (1 0 0) }",
            &format!("{no_number} `}}`"),
            "}",
        ),
        (
            "potential (b) { data = 1 0 0); }",
            "this `)` closes nothing",
            ")",
        ),
        (
            "potential (b) { data = (1 0); }",
            "the CPT of `b` needs 3 numbers, not 2",
            "1 0)",
        ),
        (
            "potential (b) { data = (1 0 1); }",
            "the CPT of `b` sums to 2, not 1",
            "1 0 1",
        ),
        (
            "potential (b | a) { data = ((1 0 0)(1)); }",
            "the CPT of `b` needs 6 numbers (2 × 3), not 4",
            "1 0 0)",
        ),
        (
            "potential (b|a) { data = ((1 0)(0 1)(0 0)); }",
            "a group of 2 numbers, but `b` has 3 values",
            "(1 0)",
        ),
    ];
    for (text, message, caret) in cases {
        let (said, at) = mistake(&with(text));
        assert_eq!(said, message, "{text}");
        assert!(at.starts_with(caret), "{text}: {at}");
    }
}
