use std::error::Error as _;

use super::*;

fn wide() -> Error {
    Error::new(ErrorKind::Memory, "too wide")
        .hint("give more evidence")
        .or(Remedy::MoreEffort(Some(20.0)))
        .or(Remedy::RaiseMemory)
}

#[test]
fn remedies_become_one_sentence() {
    let neutral = "give more evidence, increase `effort` to 20, or raise the limit `memory`";
    assert_eq!(wide().advice().as_deref(), Some(neutral));
    assert_eq!(wide().to_string(), format!("too wide\nhint: {neutral}"));
    let one = wide().hint("wait");
    assert_eq!(one.advice().as_deref(), Some("wait"));
    assert_eq!(Error::new(ErrorKind::Name, "none").advice(), None);
}

#[test]
fn a_front_end_has_words_of_its_own() {
    let worded = wide().reworded(|remedy| match remedy {
        Remedy::MoreEffort(Some(effort)) => format!("pass --effort {effort}"),
        other => other.to_string(),
    });
    let text = "give more evidence, pass --effort 20, or raise the limit `memory`";
    assert_eq!(worded.advice().as_deref(), Some(text));
    assert_eq!(worded.kind(), ErrorKind::Memory);
}

#[test]
fn the_cause_is_kept_with_its_type() {
    let missing = io::Error::new(io::ErrorKind::NotFound, "gone");
    let error = Error::io("cannot read `x`", missing);
    assert_eq!(error.to_string(), "cannot read `x`: gone");
    let source = error.source().and_then(|e| e.downcast_ref::<io::Error>());
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::NotFound));
    assert!(wide().source().is_none());
}

#[test]
fn the_column_is_the_one_in_the_line_and_not_in_the_excerpt() {
    let text = format!("first\n{}wrong{}\n", "x".repeat(500), "y".repeat(500));
    let place = Place::new("long.bif", &text, 506..511);
    assert_eq!((place.line(), place.column()), (2, 501));
    let shown = Error::new(ErrorKind::Syntax, "a mistake")
        .at(place)
        .render(false);
    assert!(shown.contains("--> long.bif:2:501\n"), "{shown}");
    assert!(
        shown.contains("^^^^^") && !shown.contains("^^^^^^"),
        "{shown}"
    );
}
