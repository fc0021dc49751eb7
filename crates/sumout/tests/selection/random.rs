//! Random testing networks.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use sumout::model::{Body, Comparison, Node, Role, Selection, SelectionKind, Sight};
use sumout::{Network, VarId};

/// How the tests of a random network select.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Step,
    Interval,
    Sigmoid,
    SoftInterval,
    Linear,
    Softmax,
    Logits,
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::Step,
        Kind::Interval,
        Kind::Sigmoid,
        Kind::SoftInterval,
        Kind::Linear,
        Kind::Softmax,
        Kind::Logits,
    ];
}

fn row(rng: &mut ChaCha8Rng, card: usize) -> Vec<f64> {
    let mut row: Vec<f64> = (0..card).map(|_| 0.05 + rng.random::<f64>()).collect();
    match rng.random_range(0..6) {
        0 => {
            row.fill(0.0);
            row[rng.random_range(0..card)] = 1.0;
        }
        1 => row[rng.random_range(0..card)] = 0.0,
        _ => {}
    }
    let total: f64 = row.iter().sum();
    if total == 0.0 {
        vec![1.0 / card as f64; card]
    } else {
        row.into_iter().map(|x| x / total).collect()
    }
}

/// A network of three to eight variables, with one to four tests: of any shape, or nearly a chain,
/// in which the posteriors of early tests say all that later ones need of what is before them.
pub fn random(rng: &mut ChaCha8Rng, kind: Kind, sight: Sight) -> Network {
    loop {
        let mut b = Network::builder("random");
        b.sight(sight);
        let (n, is_chain) = (rng.random_range(3..=8), rng.random_bool(0.4));
        let cards: Vec<usize> = (0..n).map(|_| rng.random_range(2..=3)).collect();
        let nodes: Vec<Node> = (0..n)
            .map(|i| b.variable(format!("x{i}"), (0..cards[i]).map(|v| format!("s{v}"))))
            .collect();
        let mut tests = 0;
        for i in 0..n {
            let mut earlier: Vec<usize> =
                (if is_chain { i.saturating_sub(2) } else { 0 }..i).collect();
            earlier.shuffle(rng);
            earlier.truncate(if is_chain {
                1
            } else {
                rng.random_range(0..=i.min(2))
            });
            let rows: usize = earlier.iter().map(|&p| cards[p]).product();
            let table = |rng: &mut ChaCha8Rng| {
                (0..rows)
                    .flat_map(|_| row(rng, cards[i]))
                    .collect::<Vec<f64>>()
            };
            let parents: Vec<Node> = earlier.iter().map(|&p| nodes[p]).collect();
            if earlier.is_empty() || tests == 4 || rng.random_bool(0.4) {
                let table = table(rng);
                b.table(nodes[i], parents, table);
                continue;
            }
            tests += 1;
            if kind == Kind::Logits {
                let mut numbers = |count: usize| {
                    (0..count)
                        .map(|_| 4.0 * rng.random::<f64>() - 2.0)
                        .collect::<Vec<f64>>()
                };
                let biases = numbers(rows * cards[i]);
                let weights = numbers(biases.len() * cards[earlier[0]]);
                b.logits(nodes[i], parents, [nodes[earlier[0]]], weights, biases);
                continue;
            }
            let selection = selection(rng, kind, rows, &cards, earlier[0]);
            let copies: Vec<Vec<f64>> = (0..selection.copies).map(|_| table(rng)).collect();
            let roles: Vec<Role> = copies.iter().map(|_| role(rng)).collect();
            b.selected(nodes[i], parents, copies, selection)
                .copies(roles);
        }
        if tests > 0
            && let Ok(net) = b.build()
        {
            return net;
        }
    }
}

fn role(rng: &mut ChaCha8Rng) -> Role {
    let kind = rng.random_range(0..8);
    let tie = (kind == 0).then(|| "tied".to_owned());
    Role {
        keep_zeros: kind == 1,
        fixed: kind == 2,
        tie,
        ..Role::default()
    }
}

fn selection(
    rng: &mut ChaCha8Rng,
    kind: Kind,
    rows: usize,
    cards: &[usize],
    parent: usize,
) -> Selection {
    let copies = if matches!(kind, Kind::Interval | Kind::SoftInterval | Kind::Softmax) {
        3
    } else {
        2
    };
    let slope = 2.0 + 20.0 * rng.random::<f64>();
    let kind = match kind {
        Kind::Step | Kind::Interval => SelectionKind::Step(Comparison::ALL[rng.random_range(0..4)]),
        Kind::Sigmoid | Kind::SoftInterval => SelectionKind::Sigmoid {
            slope,
            is_learned: rng.random_bool(0.5),
        },
        Kind::Linear => SelectionKind::Linear,
        Kind::Softmax | Kind::Logits => {
            // An ancestor is always seen.
            let mut number = || 4.0 * rng.random::<f64>() - 2.0;
            let weights = (0..copies * cards[parent]).map(|_| number()).collect();
            let biases = (0..copies).map(|_| number()).collect();
            SelectionKind::Softmax {
                of: vec![sumout::internals::var(parent)],
                weights,
                biases,
            }
        }
    };
    let mut thresholds = vec![];
    for _ in (0..rows).filter(|_| kind.has_thresholds()) {
        let mut row: Vec<f64> = (1..copies).map(|_| rng.random()).collect();
        row.sort_by(f64::total_cmp);
        thresholds.extend(row);
    }
    Selection {
        copies,
        thresholds,
        kind,
    }
}

/// The same network, its variables declared in another order.
pub fn reordered(net: &Network, rng: &mut ChaCha8Rng) -> Network {
    let mut order: Vec<VarId> = net.ids().collect();
    order.shuffle(rng);
    let mut b = Network::builder("reordered");
    b.sight(net.sight());
    let mut of = vec![None; order.len()];
    for v in &order {
        let variable = net.variable(*v);
        of[v.index()] = Some(b.variable(variable.name.clone(), variable.values.clone()));
    }
    for v in &order {
        let cpt = &net.cpts()[v.index()];
        let parents: Vec<Node> = cpt
            .parents()
            .iter()
            .map(|p| of[p.index()].unwrap())
            .collect();
        let node = of[v.index()].unwrap();
        match cpt.body() {
            Body::Selected(it) => {
                let size = it.table.len() / it.roles.len();
                let copies: Vec<Vec<f64>> =
                    it.table.chunks_exact(size).map(<[f64]>::to_vec).collect();
                b.selected(node, parents, copies, it.selection.clone())
                    .copies(it.roles.clone());
            }
            _ => {
                b.table(node, parents, cpt.table(&net.cards()));
            }
        }
    }
    b.build().unwrap()
}
