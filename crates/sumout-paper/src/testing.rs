//! Testing networks of the literature: what tests can do that CPTs cannot.
//!
//! * [`staircase`] approximates a monotone function of a probability (Choi and Darwiche, PGM 2018).
//! * [`perceptrons`] is a neural network with steps as activations, in a testing network of about
//!   its size (the same).
//! * [`kidney`] is Simpson's paradox, in a model that lacks an edge (Shen, Huang, Choi and
//!   Darwiche, ICML 2019).
//! * [`hidden_markov`] is a hidden Markov model of the first order whose transitions are tested,
//!   for data that come from a [third-order](third_order) one (the same).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sumout::Result;
use sumout::model::{Builder, Comparison, Network, Node, Role, Selection, SelectionKind};

/// The inputs x: a probability is the likelihood of the first value, and its complement that of
/// the second.
const YES_NO: [&str; 2] = ["yes", "no"];

/// The slope that tests of learned networks start with.
const SLOPE: f64 = 12.0;

/// P(`mean` = yes) is the share of the steps that are at most x, where x is the likelihood of `x`:
/// as many tests as steps.
///
/// With steps where a monotone function is (i - ½) / n, for i from 1 to n, it is nowhere further
/// away than 1 / 2n.
///
/// ```
/// use sumout::{Evidence, Options};
/// use sumout_paper::testing::staircase;
///
/// let steps: Vec<f64> = (1..=10).map(|i| ((f64::from(i) - 0.5) / 10.0).sqrt()).collect(); // of x²
/// let net = staircase(&steps)?;
/// let x = Evidence::new().likelihood(&net, "x", [0.7, 0.3])?;
/// let answer = net.query(&[net.find("mean")?], &x, &Options::default())?;
/// assert!((answer.posteriors()[0].1[0] - 0.7 * 0.7).abs() <= 0.05);
/// # Ok::<(), sumout::Error>(())
/// ```
pub fn staircase(steps: &[f64]) -> Result<Network> {
    let mut b = Network::builder("staircase");
    let x = b.variable("x", YES_NO);
    b.table(x, [], [0.5, 0.5]);
    let passed: Vec<(Node, f64)> = steps
        .iter()
        .enumerate()
        .map(|(i, &step)| (passes(&mut b, format!("step_{i}"), x, step), 1.0))
        .collect();
    mixture(&mut b, "mean", &passed);
    b.build()
}

/// A variable that is `yes` if the posterior of `of` being so is at least a threshold, and `no` if
/// it is not.
///
/// Both rows must say the same: P(no) ≥ 1 - t means that P(yes) is at most t.
fn passes(b: &mut Builder, name: String, of: Node, threshold: f64) -> Node {
    let node = b.variable(name, YES_NO);
    let threshold = threshold.clamp(0.0, 1.0);
    let selection = Selection {
        copies: 2,
        thresholds: vec![threshold, 1.0 - threshold],
        kind: SelectionKind::Step(Comparison::AtLeast),
    };
    let [below, above] = [[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]];
    b.selected(node, [of], [below, above], selection);
    node
}

/// A variable whose probability of `yes` is the mean of those of others, weighed: a chain, each
/// link of which takes its own or what came before. A negative weight takes the complement.
fn mixture(b: &mut Builder, name: &str, of: &[(Node, f64)]) -> Node {
    let (mut total, mut before) = (0.0, None);
    for (i, &(node, weight)) in of.iter().enumerate() {
        let is_last = i + 1 == of.len();
        let next = b.variable(
            if is_last {
                name.to_owned()
            } else {
                format!("{name}_{i}")
            },
            YES_NO,
        );
        let own = if weight < 0.0 { [0.0, 1.0] } else { [1.0, 0.0] };
        total += weight.abs();
        let share = if total > 0.0 {
            weight.abs() / total
        } else {
            0.0
        };
        match before {
            None => drop(b.table(next, [node], [own[0], 1.0 - own[0], own[1], 1.0 - own[1]])),
            Some(before) => {
                let yes = |before: f64, own: f64| share * own + (1.0 - share) * before;
                let rows = [
                    yes(1.0, own[0]),
                    yes(1.0, own[1]),
                    yes(0.0, own[0]),
                    yes(0.0, own[1]),
                ];
                b.table(
                    next,
                    [before, node],
                    rows.iter()
                        .flat_map(|&p| [p, 1.0 - p])
                        .collect::<Vec<f64>>(),
                );
            }
        }
        before = Some(next);
    }
    before.expect("a mean is of something")
}

/// A layer of neurons: each has a weight for each input, and a bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// For each neuron, its weights.
    pub weights: Vec<Vec<f64>>,
    /// For each neuron, its bias.
    pub biases: Vec<f64>,
}

/// A network of neurons that are on if Σ w·x + b ≥ 0, for inputs that are on or off.
///
/// The inputs are `in_0`, `in_1`, …; the neurons of the layer k are `neuron_k_0`, `neuron_k_1`, ….
/// Σ w·x is, but for a constant, Σ |w| times the mean of the inputs with positive weights and the
/// complements of the others, weighed by |w|.
pub fn perceptrons(layers: &[Layer]) -> Result<Network> {
    let mut b = Network::builder("perceptrons");
    let inputs = layers
        .first()
        .map_or(0, |layer| layer.weights.first().map_or(0, Vec::len));
    let mut below: Vec<Node> = (0..inputs)
        .map(|i| {
            let node = b.variable(format!("in_{i}"), YES_NO);
            b.table(node, [], [0.5, 0.5]);
            node
        })
        .collect();
    for (k, layer) in layers.iter().enumerate() {
        let neurons = layer.weights.iter().zip(&layer.biases).enumerate();
        below = neurons
            .map(|(i, (weights, bias))| neuron(&mut b, (k, i), &below, weights, *bias))
            .collect();
    }
    b.build()
}

fn neuron(
    b: &mut Builder,
    (k, i): (usize, usize),
    below: &[Node],
    weights: &[f64],
    bias: f64,
) -> Node {
    let inputs: Vec<(Node, f64)> = below.iter().copied().zip(weights.iter().copied()).collect();
    let total: f64 = weights.iter().map(|w| w.abs()).sum();
    let negative: f64 = weights.iter().filter(|w| **w < 0.0).map(|w| -w).sum();
    let sum = mixture(b, &format!("sum_{k}_{i}"), &inputs);
    passes(
        b,
        format!("neuron_{k}_{i}"),
        sum,
        (negative - bias) / total.max(f64::MIN_POSITIVE),
    )
}

/// Kidney stones: their size, a treatment, and recovery, without the edge from size to treatment.
/// If it is `tested`, the CPT of recovery has two copies.
pub fn kidney(tested: bool) -> Result<Network> {
    let mut b = Network::builder("kidney");
    let size = b.variable("size", ["small", "large"]);
    let treatment = b.variable("treatment", ["a", "b"]);
    let recovery = b.variable("recovery", YES_NO);
    b.table(size, [], [0.5, 0.5]);
    b.table(treatment, [], [0.5, 0.5]);
    let rates = [0.9, 0.1, 0.85, 0.15, 0.75, 0.25, 0.7, 0.3];
    match tested {
        false => drop(b.table(recovery, [size, treatment], rates)),
        true => {
            let selection = Selection::of_rows(
                4,
                &[0.7],
                SelectionKind::Sigmoid {
                    slope: SLOPE,
                    is_learned: false,
                },
            );
            b.selected(recovery, [size, treatment], [rates, rates], selection);
        }
    }
    b.build()
}

/// The observed size of a stone and its treatment, by position, and how often patients
/// recovered then.
///
/// The counts are those of Charig, Webb, Payne and Wickham, British Medical Journal 292 (1986).
pub fn kidney_cases() -> Vec<([Option<usize>; 2], f64)> {
    const TREATED: [[(f64, f64); 2]; 2] = [
        [(81.0, 87.0), (234.0, 270.0)],
        [(192.0, 263.0), (55.0, 80.0)],
    ];
    let known = [None, Some(0), Some(1)];
    let is = |known: Option<usize>, value: usize| known.is_none_or(|k| k == value);
    let rate = |size: Option<usize>, treatment: Option<usize>| {
        let (mut recovered, mut all) = (0.0, 0.0);
        for (_, row) in TREATED.iter().enumerate().filter(|(s, _)| is(size, *s)) {
            for (_, (r, n)) in row.iter().enumerate().filter(|(t, _)| is(treatment, *t)) {
                recovered += r;
                all += n;
            }
        }
        recovered / all
    };
    known
        .into_iter()
        .flat_map(|s| known.map(|t| ([s, t], rate(s, t))))
        .collect()
}

/// A hidden Markov model of the first order: states `h_0`, `h_1`, … with two values, and what is
/// seen of them, `e_0`, `e_1`, …. If it is `tested`, transitions have two copies. Transitions are
/// tied, and so is what is seen.
pub fn hidden_markov(length: usize, tested: bool) -> Result<Network> {
    let mut b = Network::builder("hidden_markov");
    let mut before = None;
    for i in 0..length {
        let state = b.variable(format!("h_{i}"), YES_NO);
        let tie = |name: &str| Role {
            tie: Some(name.to_owned()),
            ..Role::default()
        };
        let moves = [0.6, 0.4, 0.4, 0.6];
        match (before, tested) {
            (None, _) => drop(b.table(state, [], [0.5, 0.5])),
            (Some(before), false) => drop(b.table(state, [before], moves).tie("move")),
            (Some(before), true) => {
                let selection = Selection::of_rows(
                    2,
                    &[0.5],
                    SelectionKind::Sigmoid {
                        slope: SLOPE,
                        is_learned: true,
                    },
                );
                let copies = [tie("move when improbable"), tie("move when probable")];
                b.selected(state, [before], [moves, moves], selection)
                    .copies(copies)
                    .tie_selection("thresholds");
            }
        }
        let seen = b.variable(format!("e_{i}"), YES_NO);
        b.table(seen, [state], [0.8, 0.2, 0.2, 0.8]).tie("see");
        before = Some(state);
    }
    b.build()
}

/// A random hidden Markov model in which a state depends on the three before it; names as in
/// [`hidden_markov`].
pub fn third_order(length: usize, seed: u64) -> Result<Network> {
    const ORDER: usize = 3;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut row = || {
        let p = rng.random::<f64>();
        [p, 1.0 - p]
    };
    let moves: Vec<Vec<f64>> = (0..=ORDER)
        .map(|k| (0..1 << k).flat_map(|_| row()).collect())
        .collect();
    let see: Vec<f64> = (0..2).flat_map(|_| row()).collect();
    let mut b = Network::builder("third_order");
    let mut states: Vec<Node> = vec![];
    for i in 0..length {
        let before = states[i.saturating_sub(ORDER)..].to_vec();
        let state = b.variable(format!("h_{i}"), YES_NO);
        b.table(state, before.iter().copied(), moves[before.len()].clone());
        let seen = b.variable(format!("e_{i}"), YES_NO);
        b.table(seen, [state], see.clone());
        states.push(state);
    }
    b.build()
}
