//! A query compiled once, for any number of examples: `cargo run --example batch`.

use sumout::{Batch, Column, EvalOptions, Network, Options, Query};

fn main() -> sumout::Result<()> {
    let asia = Network::read("asia")?;
    let query = Query::of("lung").given(["xray", "dysp"]);
    let circuit = asia.compile(&query, &Options::default())?;

    let batch = Batch::new(3)
        .with(&circuit, "xray", Column::Values(vec![0, 1, -1]))? // yes, no, missing
        .with(&circuit, "dysp", Column::Values(vec![1, 1, 0]))?;
    let evaluator = circuit.evaluator(&EvalOptions::default().with_threads(2))?;
    let answers = evaluator.run(&batch)?;
    for row in 0..3 {
        println!("P(lung | row {row}) = {:?}", answers.row(row));
    }
    Ok(())
}
