//! Files as other programs write them.

use std::path::Path;

use sumout::{Network, Result};

fn read(name: &str) -> Result<Network> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/good-models");
    Network::read(folder.join(name))
}

fn table(net: &Network, name: &str) -> Result<Vec<f64>> {
    Ok(net.cpts()[net.find(name)?.index()].table(&net.cards()))
}

#[test]
fn comments_stand_between_the_numbers_of_uai() -> Result<()> {
    assert_eq!(read("comments.uai")?.cpts(), read("sprinkler.uai")?.cpts());
    Ok(())
}

#[test]
fn utf_16_is_read_without_a_note() -> Result<()> {
    let net = read("utf-16.json")?;
    assert!(net.notes().is_empty());
    let grass = net.find("grass")?;
    assert_eq!(net.variable(grass).values.len(), 3);
    Ok(())
}

#[test]
fn text_that_is_not_utf_8_is_latin_1_with_a_note() -> Result<()> {
    let net = read("latin.bif")?;
    assert_eq!(net.variable(net.find("grass")?).values[0], "völlig-trocken");
    assert_eq!(
        net.notes(),
        ["read as Latin-1, because line 10 is not UTF-8"]
    );
    Ok(())
}

/// Functions by their values, and roots whose probabilities nobody knows.
#[test]
fn causal_models_have_functions_and_empty_tables() -> Result<()> {
    let net = read("causal.uai")?;
    assert_eq!(table(&net, "x0")?, [0.2, 0.8]);
    assert_eq!(table(&net, "x1")?, [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(table(&net, "x3")?, [1.0 / 3.0; 3]);
    let x2 = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
    assert_eq!(table(&net, "x2")?, x2);
    assert_eq!(net.notes(), ["1 empty table: those variables are uniform"]);
    Ok(())
}

#[test]
fn bif_has_sets_glued_comments_and_undeclared_counts() -> Result<()> {
    let net = read("dialect.bif")?;
    assert_eq!(net.name(), "dialect");
    assert_eq!(net.variable(net.find("rain")?).values, ["yes", "no"]);
    assert_eq!(table(&net, "grass")?, [0.9, 0.1, 0.1, 0.9]);
    Ok(())
}

#[test]
fn functions_of_net_are_left_out_where_their_results_are_given() -> Result<()> {
    let net = read("functions.net")?;
    assert_eq!(net.variables().len(), 2);
    assert_eq!(table(&net, "grass")?, [0.9, 0.1, 0.2, 0.8]);
    assert_eq!(net.notes(), ["left out 1 function"]);
    Ok(())
}
