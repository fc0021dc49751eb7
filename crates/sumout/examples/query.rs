//! One question to a network: `cargo run --example query`.

use sumout::{Evidence, Network, Options};

fn main() -> sumout::Result<()> {
    let asia = Network::read("asia")?;
    let evidence = Evidence::new()
        .observe(&asia, "xray", "yes")?
        .observe(&asia, "dysp", "no")?;

    let answer = asia.query(&[asia.find("lung")?], &evidence, &Options::default())?;
    println!("{answer}");
    println!(
        "P(lung = yes | e) = {:.4}",
        answer.probability("lung", "yes")?
    );

    let explanation = asia.mpe(&evidence, &Options::default())?;
    println!("{explanation}");
    Ok(())
}
