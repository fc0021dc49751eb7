//! Learns the tables of a network from examples: `cargo run --example fit`.

use sumout::{Column, Examples, FitOptions, Network, Task};

fn main() -> sumout::Result<()> {
    let asia = Network::read("asia")?;
    let mut sampler = asia.sampler(7)?;
    let cases: Vec<Vec<u32>> = (0..500).map(|_| sampler.draw().to_vec()).collect();
    let mut examples = Examples::new(cases.len());
    for v in asia.ids() {
        let values = cases.iter().map(|case| case[v.index()] as i32).collect();
        examples.insert(v, Column::Values(values));
    }

    let task = Task::of(&[asia.find("lung")?], &examples);
    let options = FitOptions::preset("em")?;
    let fitted = asia.fit(&task, &examples, &options, &mut |_| Ok(()))?;
    println!("{:?}", fitted.network());
    Ok(())
}
