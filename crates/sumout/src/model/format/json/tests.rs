use std::time::{Duration, Instant};

use super::*;
use crate::model::format::Loss;
use crate::model::random;

const SPRINKLER: &str = r#"{
  "sumout": 1,
  "kind": "bayes",
  "name": "sprinkler",
  "variables": [
    {"name": "rain", "values": ["yes", "no"]},
    {"name": "wet", "values": ["yes", "no"]}
  ],
  "cpts": [
    {"child": "rain", "parents": [], "table": [0.2, 0.8]},
    {"child": "wet", "parents": ["rain"], "table": [
      [0.9, 0.1],
      [0.05, 0.95]
    ], "functional": true, "keep_zeros": true, "tie": "sky"}
  ]
}
"#;

fn parse(text: &str) -> Result<Network> {
    let source = Source {
        name: "test.json".to_owned(),
        text: text.to_owned(),
        note: None,
    };
    read(&source, &ReadOptions::default())
}

fn written(net: &Network) -> String {
    write(net, Loss::Refuse).expect("JSON carries everything")
}

/// The message for the sprinkler network with one thing replaced: `line:column: message | hint`.
fn mistake(from: &str, to: &str) -> String {
    assert!(SPRINKLER.contains(from), "{from}");
    explain(&SPRINKLER.replacen(from, to, 1))
}

fn explain(text: &str) -> String {
    let error = parse(text).expect_err(text);
    let place = error
        .place()
        .map_or(String::new(), |p| format!("{}:{}: ", p.line(), p.column()));
    let hint = error
        .advice()
        .map_or(String::new(), |hint| format!(" | {hint}"));
    format!("{place}{}{hint}", error.message())
}

#[test]
fn writes_what_a_person_would() -> Result<()> {
    assert_eq!(written(&parse(SPRINKLER)?), SPRINKLER);
    Ok(())
}

#[test]
fn fields_come_in_any_order_and_tables_flat_or_in_rows() -> Result<()> {
    let shuffled = r#"{"cpts": [
        {"tie": "sky", "keep_zeros": true, "functional": true, "fixed": false,
         "table": [0.9, 1e-1, 5e-2, 0.95], "parents": ["rain"], "child": "wet"},
        {"table": [[0.2, 0.8]], "child": "r\u0061in"}],
        "variables": [{"values": ["yes", "no"], "name": "rain"}, {"values": ["yes", "no"], "name": "wet"}],
        "name": "sprinkler", "sumout": 1}"#;
    assert_eq!(parse(shuffled)?, parse(SPRINKLER)?);
    Ok(())
}

#[test]
fn a_function_by_name_by_position_and_as_a_table_is_the_same() -> Result<()> {
    let with = |body: &str| {
        parse(&SPRINKLER.replacen(
            "\"table\": [\n      [0.9, 0.1],\n      [0.05, 0.95]\n    ]",
            body,
            1,
        ))
    };
    let named = with(r#""function": ["no", "yes"]"#)?;
    assert!(named.cpts()[1].is_functional());
    assert_eq!(with(r#""function": [1, 0]"#)?, named);
    assert_eq!(with(r#""table": [0, 1, 1, 0]"#)?, named);
    assert_eq!(
        with(r#""constraint": [[false, true], [true, false]]"#)?,
        named
    );
    Ok(())
}

#[test]
fn a_constraint_is_uniform_over_what_it_allows() -> Result<()> {
    let net = parse(&SPRINKLER.replacen("\"table\": [0.2, 0.8]", "\"constraint\": [1, true]", 1))?;
    assert_eq!(net.cpts()[0].table(&net.cards()), [0.5, 0.5]);
    Ok(())
}

#[test]
fn a_markov_network_comes_back_with_all_its_factors() -> Result<()> {
    let mut b = Network::markov("ising \"2\"\n");
    let (x, y) = (
        b.variable("x", ["-", "+"]),
        b.variable("y", ["", "ü\u{2028}\u{7f}", "<&>"]),
    );
    b.potential([x, y], [5e-324, 0.1 + 0.2, 1e-300, 1.0 / 3.0, 1e300, 0.0])
        .fixed();
    b.potential([], [f64::MAX]);
    b.potential([y], [1.0, 1.0, 1.0]).tie("\u{1}");
    b.mapping(y, [x], [2, 0]).functional();
    let net = b.build()?;
    assert_eq!(parse(&written(&net))?, net);
    Ok(())
}

#[test]
fn long_functions_are_written_by_position() -> Result<()> {
    let mut b = Network::builder("xor");
    let bits: Vec<Node> = (0..7)
        .map(|i| b.variable(format!("b{i}"), ["off", "on"]))
        .collect();
    for &bit in &bits {
        b.table(bit, [], [0.5, 0.5]);
    }
    let xor = b.variable("xor", ["off", "on"]);
    b.function(xor, bits, |u| u.iter().sum::<usize>() % 2);
    let net = b.build()?;
    let text = written(&net);
    assert!(text.contains("\n      0, 1, 1, 0, 1, 0, 0, 1, "), "{text}");
    assert_eq!(parse(&text)?, net);
    Ok(())
}

#[test]
fn mistakes_in_the_json_have_a_place() {
    let cases = [
        (
            explain(""),
            "1:1: expected a value, found the end of the file",
        ),
        (
            explain("[1]"),
            "1:1: expected `{` to begin a network, found a list",
        ),
        (
            explain("{} {}"),
            "1:4: expected the end of the file, found an object",
        ),
        (
            explain("{\"sumout\": 1"),
            "1:1: this `{` is never closed | the file may be truncated",
        ),
        (
            mistake("0.8]", "0.8"),
            "10:56: expected `]`, found `}` | the `[` in line 10 is still open",
        ),
        (
            mistake("0.2, 0.8", "0.2 0.8"),
            "10:52: expected `,` or `]`, found `0.8`",
        ),
        (
            mistake("0.2, 0.8", "0.2, 0.8,"),
            "10:56: a comma before the closing `]` | JSON has commas only between things; remove it",
        ),
        (
            mistake("[\"rain\"], ", "[\"rain\"],, "),
            "11:42: expected a field's name in quotes, found `,`",
        ),
        (
            mistake("\"tie\": \"sky\"", "\"tie\": \"sky"),
            "14:55: this quote is not closed on its line",
        ),
        (
            mistake("sky", "s\\ky"),
            "14:58: this is not a JSON escape | escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four digits",
        ),
        (
            mistake("sky", "s\ty"),
            "14:57: a control character in a string | write it as \\u0009",
        ),
        (
            mistake("sky", "\\ud800"),
            "14:62: this is not a JSON escape | escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four digits",
        ),
        (
            mistake("\"sumout\": 1", "// hello\n  \"sumout\": 1"),
            "2:3: expected a field's name in quotes, found `//` | JSON has no comments",
        ),
        (
            mistake("\"kind\":", "'kind':"),
            "3:3: expected a field's name in quotes, found `'kind'` | JSON has names in double quotes",
        ),
        (
            mistake("\"kind\":", "\"kind\""),
            "3:10: expected `:` after the field's name, found `\"bayes\"`",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn mistakes_in_the_network_have_a_place() {
    let cases = [
        (
            explain("{\"name\": \"x\"}"),
            "1:1: the version of the format is missing | a network in sumout's format begins with `\"sumout\": 1`",
        ),
        (
            mistake("\"sumout\": 1", "\"sumout\": 7, \"new\": {}"),
            "2:13: version 7 of this format is from a newer sumout; this one reads 1 | update sumout",
        ),
        (
            mistake("\"sumout\": 1", "\"sumout\": \"1\""),
            "2:13: expected a version number, found `\"1\"`",
        ),
        (
            mistake("\"bayes\"", "\"noisy\""),
            "3:11: unknown kind of network `noisy` | kinds are `bayes` and `markov`",
        ),
        (
            mistake("\"bayes\"", "\"markov\""),
            "9:3: a Markov network has `factors`, not `cpts` | a Bayesian network has `\"kind\": \"bayes\"`",
        ),
        (
            mistake("\"cpts\"", "\"factors\""),
            "9:3: a Bayesian network has `cpts`, not `factors` | a Markov network has `\"kind\": \"markov\"`",
        ),
        (
            mistake("\"parents\": [\"rain\"]", "\"parnets\": [\"rain\"]"),
            "11:22: unknown field `parnets` | did you mean `parents`?",
        ),
        (
            mistake("\"values\"", "\"zzz\""),
            "6:22: unknown field `zzz` | the fields here are `name`, `values`",
        ),
        (
            mistake("\"name\": \"sprinkler\"", "\"kind\": \"bayes\""),
            "4:3: this field is given twice | the other one is in line 3",
        ),
        (
            mistake("\"name\": \"rain\", ", ""),
            "6:5: this variable has no `name`",
        ),
        (
            mistake("\"parents\": [\"rain\"]", "\"parents\": [\"rian\"]"),
            "11:34: variable `rian` is not declared | did you mean `rain`?",
        ),
        (
            mistake("\"child\": \"wet\"", "\"child\": 3"),
            "11:15: expected the name of a variable, found `3`",
        ),
        (
            mistake("[0.2, 0.8]", "[0.2]"),
            "10:47: the CPT of `rain` needs 2 numbers, not 1",
        ),
        (
            mistake("[0.05, 0.95]", "[0.05]"),
            "13:7: this row needs 2 numbers, not 1",
        ),
        (
            mistake("[0.05, 0.95]", "0.05"),
            "13:7: expected a row in `[` and `]`, found `0.05`",
        ),
        (
            mistake("0.2", "\"a\""),
            "10:48: expected a number in the table, found `\"a\"` | numbers have no quotes around them",
        ),
        (
            mistake("0.2", "1e999"),
            "10:48: the number `1e999` is too large",
        ),
        (
            mistake("0.2", "NaN"),
            "10:48: expected a number in the table, found `NaN`",
        ),
        (
            mistake("0.2", "01"),
            "10:48: expected a number in the table, found `01` | JSON writes it as `1`",
        ),
        (
            mistake("0.2", "-0.2"),
            "10:48: the CPT of `rain` contains -0.2, which is not a probability | probabilities are numbers from 0 to 1",
        ),
        (
            mistake("0.05", "0.5"),
            "13:8: row (no) of the CPT of `wet` sums to 1.45, not 1 | correct the row",
        ),
        (
            mistake("\"table\": [0.2, 0.8]", "\"function\": [\"maybe\"]"),
            "10:51: variable `rain` has no value `maybe` | its values are `yes`, `no`",
        ),
        (
            mistake("\"table\": [0.2, 0.8]", "\"function\": [\"yess\"]"),
            "10:51: variable `rain` has no value `yess` | did you mean `yes`?",
        ),
        (
            mistake("\"table\": [0.2, 0.8]", "\"function\": [2]"),
            "10:51: the CPT of `rain` names value 2, but there are only 2 values | values are counted from 0",
        ),
        (
            mistake("\"table\": [0.2, 0.8]", "\"function\": [0.5]"),
            "10:51: expected a value of `rain`, by name or by position, found `0.5`",
        ),
        (
            mistake("\"table\": [0.2, 0.8]", "\"constraint\": [0, 2]"),
            "10:56: expected 0, 1, `true` or `false` in the constraint, found `2`",
        ),
        (
            mistake("\"table\": [0.2, 0.8]", "\"constraint\": [0, 0]"),
            "10:53: the CPT of `rain` sums to 0, not 1 | give it a positive number",
        ),
        (
            mistake(", \"table\": [0.2, 0.8]", ""),
            "10:5: this CPT has no numbers | give one of `table`, `function`, `constraint`",
        ),
        (
            mistake(
                "\"table\": [0.2, 0.8]",
                "\"function\": [0], \"table\": [1, 0]",
            ),
            "10:50: both a `table` and a `function` | give one of `table`, `function`, `constraint`",
        ),
        (
            mistake("\"functional\": true", "\"functional\": 1"),
            "14:22: expected `true` or `false` for `functional`, found `1`",
        ),
        (
            mistake("\"values\": [\"yes\", \"no\"]", "\"values\": []"),
            "6:14: variable `rain` has no values",
        ),
        (
            explain(
                r#"{"sumout": 1, "kind": "markov", "variables": [], "factors": [{"scope": [], "function": []}]}"#,
            ),
            "1:88: a function needs a variable in the `scope`",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn an_error_shows_the_line() {
    let error = parse(&SPRINKLER.replacen("\"parents\": [\"rain\"]", "\"parents\": [\"rian\"]", 1))
        .expect_err("rian");
    insta::assert_snapshot!(error.render(false), @r#"
    error: variable `rian` is not declared
      --> test.json:11:34
       |
    11 |     {"child": "wet", "parents": ["rian"], "table": [
       |                                  ^^^^^^
    hint: did you mean `rain`?
    "#);
}

/// Deep nesting takes no stack; long names, many fields and many digits take no quadratic time.
#[test]
fn hostile_files_are_refused_quickly() {
    let start = Instant::now();
    let digits = format!("0.{}", "1".repeat(1 << 20));
    let fields: String = (0..100_000).map(|i| format!(", \"f{i}\": 0")).collect();
    let texts = [
        "[".repeat(1 << 20),
        "[".repeat(1 << 19) + &"]".repeat(1 << 19),
        "{\"sumout\":".repeat(1 << 18),
        SPRINKLER.replacen("0.2", &("[".repeat(1 << 18) + &"]".repeat(1 << 18)), 1),
        SPRINKLER.replacen("0.2", &digits, 1),
        SPRINKLER.replacen("\"sumout\": 1", &format!("\"sumout\": 1{fields}"), 1),
        SPRINKLER.replacen(
            "\"child\": \"wet\"",
            &format!("\"child\": \"{}\"", "w".repeat(1 << 20)),
            1,
        ),
        SPRINKLER.replacen("sprinkler", &"\\u00e9".repeat(1 << 18), 1) + "]",
    ];
    for text in texts {
        let error = parse(&text).expect_err("refused");
        assert!(
            error.render(false).len() < 5000,
            "{}",
            error.render(false).len()
        );
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Every accepted text is JSON, whichever byte is changed; nothing panics.
#[test]
fn accepts_only_json() {
    let replacements = b"\0\t\n \"\\{}[]:,01.-+eEnu'/\x7f";
    for at in 0..SPRINKLER.len() {
        for &byte in replacements {
            let mut bytes = SPRINKLER.as_bytes().to_vec();
            bytes[at] = byte;
            let text = String::from_utf8(bytes).expect("ASCII");
            if let Ok(net) = parse(&text) {
                assert!(
                    serde_json::from_str::<serde_json::Value>(&text).is_ok(),
                    "{text}"
                );
                assert_eq!(parse(&written(&net)).expect("own text"), net);
            }
        }
        assert!(parse(SPRINKLER[..at].trim_end_matches('}')).is_err());
    }
}

#[test]
fn reads_in_linear_time() -> Result<()> {
    let shape = random::Shape {
        nodes: 400,
        max_values: 6,
        max_parents: 4,
        functional: 0.3,
    };
    let net = random::network(&shape, 1)?;
    let text = written(&net);
    let start = Instant::now();
    assert_eq!(parse(&text)?, net);
    println!("{:.1} MB in {:?}", text.len() as f64 / 1e6, start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(5));
    Ok(())
}
