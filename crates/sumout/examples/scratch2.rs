use std::time::Instant;
use sumout::*;
fn main() {
    let effort: f64 = std::env::args().nth(1).map_or(1.0, |s| s.parse().unwrap());
    for name in std::env::args().skip(2) {
        let net = Network::read(&name).unwrap();
        let (t, g) = if name.starts_with("rect") { ("label", "pixel_*") } else { ("d", "p_*") };
        let q = compile::Question {
            targets: [net.find(t).unwrap()].into_iter().collect(),
            inputs: net.matching(g).unwrap().into_iter().collect(),
            known: vec![],
            explain: false,
        };
        let t = Instant::now();
        let c = compile::compile(
            &net,
            &q,
            &compile::Search { level: compile::Level::Functional, seed: 0, effort, thorough: true },
        )
        .unwrap();
        let k = c.plan.cost;
        println!(
            "{name:10} plan {:.3}s entries {} madds {} const {} cmadds {:.2e} cl 2^{:.1} leaves {}",
            t.elapsed().as_secs_f64(),
            k.entries,
            k.multiply_adds,
            k.constant_entries,
            k.constant_multiply_adds,
            k.largest_cluster.log2(),
            c.plan.leaves.len()
        );
    }
}
