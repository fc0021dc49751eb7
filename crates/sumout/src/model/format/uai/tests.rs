use super::evidence::evidence;
use super::*;
use crate::model::format::Loss;
use crate::model::{Evidence, Finding};

const COINS: &str = "BAYES 2  2 3  2  1 0  2 0 1   2 0.4 0.6   6 0.1 0.2 0.7  0.3 0.3 0.4";

fn source(text: &str) -> Source {
    Source {
        name: "models/coins.uai.gz".to_owned(),
        text: text.to_owned(),
        note: None,
    }
}

fn parse(text: &str) -> Result<Network> {
    read(&source(text), &ReadOptions::default())
}

/// Message, the text from the caret on, and hint of what is wrong with a file.
fn mistake(text: &str) -> (String, String, String) {
    told(text, parse(text).expect_err(text))
}

fn told(text: &str, error: Error) -> (String, String, String) {
    let place = error.place().expect("a place");
    let line = text.lines().nth(place.line() - 1).unwrap_or_default();
    let from = line.chars().skip(place.column() - 1).collect();
    (
        error.message().to_owned(),
        from,
        error.advice().unwrap_or_default().to_owned(),
    )
}

#[test]
fn the_last_variable_moves_fastest_and_is_the_child() -> Result<()> {
    let net = parse(COINS)?;
    assert_eq!(net.name(), "coins");
    assert_eq!(net.variables()[1].name, "x1");
    assert_eq!(net.variables()[1].values, ["s0", "s1", "s2"]);
    assert_eq!(net.parents(VarId::new(1)), [VarId::new(0)]);
    assert_eq!(
        net.cpts()[1].table(&net.cards()),
        [0.1, 0.2, 0.7, 0.3, 0.3, 0.4]
    );
    Ok(())
}

/// x0 is a child of x1, so their ids are in the other order than their numbers.
#[test]
fn factors_come_in_any_order_and_numbers_survive() -> Result<()> {
    let text = "BAYES 2 2 3 2  2 1 0  1 1   6 0 1 0.25 0.75 1 0   3 0.1 1e-300 0.9";
    let net = parse(text)?;
    assert_eq!(net.variables()[0].name, "x1");
    let written = write(&net, Loss::Refuse)?;
    assert!(
        written.starts_with("BAYES\n2\n2 3\n2\n2 1 0\n1 1\n\n6\n 0.0 1.0\n"),
        "{written}"
    );
    assert_eq!(parse(&written)?, net);
    let evidence = evidence(&source("1 0 1"), &net)?;
    assert_eq!(evidence.get(net.find("x0")?), Some(&Finding::Hard(1)));
    Ok(())
}

#[test]
fn a_markov_network_may_have_constants_and_unused_variables() -> Result<()> {
    let net = parse("MARKOV 2 2 50 3  0  1 0  1 0   1 7.5  2 3 4  2 0.5 0")?;
    assert_eq!(
        net.cpts()
            .iter()
            .map(|c| c.scope().len())
            .collect::<Vec<_>>(),
        [0, 1, 1]
    );
    assert_eq!(net.cpts()[0].table(&net.cards()), [7.5]);
    assert_eq!(parse(&write(&net, Loss::Refuse)?)?, net);
    assert!(parse("MARKOV 0 0").is_ok());
    Ok(())
}

#[test]
fn names_are_lost_only_if_that_is_accepted() -> Result<()> {
    let mut b = Network::builder("coins");
    let (coin, copy) = (
        b.variable("coin", ["heads", "tails"]),
        b.variable("copy", ["heads", "tails"]),
    );
    b.function(copy, [coin], |u| u[0]);
    b.table(coin, [], [0.5, 0.5]);
    let net = b.build()?;
    let refused = write(&net, Loss::Refuse).unwrap_err();
    assert_eq!(
        refused.message(),
        "UAI cannot carry the names of variables and values"
    );
    let read = parse(&write(&net, Loss::Accept)?)?;
    assert_eq!((read.cpts(), read.name()), (net.cpts(), net.name()));
    let evidence = evidence(&source("1 1 0"), &net)?;
    assert_eq!(evidence.get(net.find("copy")?), Some(&Finding::Hard(0)));
    Ok(())
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let cases = [
        (
            "BAYS 1",
            "expected `BAYES`, `CAUSAL` or `MARKOV` at the beginning, found `BAYS`",
            "BAYS 1",
        ),
        (
            "",
            "expected `BAYES`, `CAUSAL` or `MARKOV` at the beginning, found the end of the file",
            "",
        ),
        (
            "BAYES -1",
            "expected a whole number of variables, found `-1`",
            "-1",
        ),
        (
            "BAYES 2 2",
            "expected a whole number of values for `x1`, found the end of the file",
            "",
        ),
        ("BAYES 2 2 0 1", "variable `x1` has no values", "0 1"),
        (
            "BAYES 1 2 1 1 1 2 .5 .5",
            "there is no variable 1",
            "1 2 .5 .5",
        ),
        (
            "BAYES 1 2 1 2 0 0",
            "factor 0 has 2 variables, but the network has 1",
            "2 0 0",
        ),
        ("BAYES 1 2 1 0 1 1", "factor 0 has no variables", "0 1 1"),
        (
            "BAYES 1 2 1 1 0 3 .5 .5",
            "the table of factor 0 needs 2 numbers, not 3",
            "3 .5 .5",
        ),
        (
            "BAYES 1 2 1 1 0 2 .5",
            "expected a number in the table of factor 0, found the end of the file",
            "",
        ),
        (
            "BAYES 1 2 1 1 0 2 .5 .5 7",
            "unexpected `7` after the last table",
            "7",
        ),
        (
            "BAYES 1 2 2 1 0 1 0 2 1 0 2 .5 .5",
            "a BAYES file with 1 variable has 1 factor, not 2",
            "2 1 0 1 0 2 1 0 2 .5 .5",
        ),
        (
            "BAYES 2 2 2 2 1 0 1 0 2 1 0 2 .5 .5",
            "variable `x0` has two CPTs",
            "1 0 2 1 0 2 .5 .5",
        ),
        (
            "BAYES 1 2 1 1 0 .5 .5",
            "expected the size of table 0 before its numbers, found `.5`",
            ".5 .5",
        ),
        (
            "BAYES 1 2 1 1 0 2 .5 .4",
            "the CPT of `x0` sums to 0.9, not 1",
            ".5 .4",
        ),
        (
            "MARKOV 1 2 1 1 0 2 .5 nan",
            "factor 0 contains NaN, which is not a factor value",
            "nan",
        ),
    ];
    for (text, message, caret) in cases {
        let (said, at, _) = mistake(text);
        assert_eq!((said.as_str(), at.as_str()), (message, caret), "{text}");
    }
}

#[test]
fn a_short_file_cannot_ask_for_much_memory() {
    let (message, ..) = mistake("BAYES 1 1000000000000 1 1 0");
    assert_eq!(
        message,
        "variable `x0` would have 1000000000000 values, more than the file can hold"
    );
    let many = "40000 ".repeat(50);
    assert!(
        mistake(&format!("MARKOV 50 {many}"))
            .0
            .ends_with("more than the file can hold")
    );
    assert_eq!(
        mistake("MARKOV 1000000000000 2 2").0,
        "1000000000000 variables are more than the file can hold"
    );
    assert_eq!(
        mistake("MARKOV 1 2 1000000000000 1 0").0,
        "1000000000000 factors are more than the file can hold"
    );
    let cards = "1024 ".repeat(7);
    let huge = format!("MARKOV 7 {cards} 1 7 0 1 2 3 4 5 6 18446744073709551615 1");
    assert!(mistake(&huge).0.contains("needs more than 2^64 numbers"));
}

#[test]
fn a_wrong_number_of_cards_is_explained() {
    let text = COINS.replace("BAYES 2  2 3  2", "BAYES\n3\n2 3\n2\n");
    let (_, _, hint) = mistake(&text);
    assert_eq!(
        hint,
        "there are 3 variables, but line 3 has 2 numbers of values"
    );
}

#[test]
fn evidence_comes_in_two_variants() -> Result<()> {
    let net = parse(COINS)?;
    let read = |text: &str| evidence(&source(text), &net);
    for text in ["", "0", "1 0", "\n0\n"] {
        assert_eq!(read(text)?, Evidence::new(), "{text}");
    }
    let expected = Evidence::new()
        .observe(&net, "x1", "s2")?
        .observe(&net, "x0", "s0")?;
    assert_eq!(read("2 1 2 0 0")?, expected);
    assert_eq!(read("1\n2 1 2 0 0\n")?, expected);
    Ok(())
}

#[test]
fn mistakes_in_evidence_are_shown_where_they_are() -> Result<()> {
    let net = parse(COINS)?;
    let cases = [
        ("1 2 0", "there is no variable 2", "2 0"),
        ("1 0 2", "`x0` has 2 values; there is no value 2", "2"),
        ("2 0 1 0 0", "two different findings for `x0`", "0"),
        (
            "1 0 -1",
            "expected a whole number in the evidence, found `-1`",
            "-1",
        ),
        (
            "3 1 0 1 1",
            "for 3 findings, 6 numbers must follow, not 4",
            "3 1 0 1 1",
        ),
        (
            "2 1 0 1 1 1 1",
            "the file has 2 sets of evidence; one is supported",
            "2 1 0 1 1 1 1",
        ),
        (
            "18446744073709551615 0",
            "for 18446744073709551615 findings, more than 2^64 numbers must follow, not 1",
            "",
        ),
    ];
    for (text, message, caret) in cases {
        let (said, at, _) = told(text, evidence(&source(text), &net).expect_err(text));
        assert_eq!(said, message, "{text}");
        assert!(at.starts_with(caret), "{text}: {at}");
    }
    Ok(())
}
