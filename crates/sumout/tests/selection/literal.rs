//! The semantics of testing networks, slowly and literally.

use std::collections::BTreeSet;

use sumout::model::{Body, Comparison, SelectedCpt, Selection, SelectionKind, Sight};
use sumout::{Evidence, Finding, Network, VarId};

/// The result.
pub struct Literal {
    pub joints: Vec<Vec<f64>>,
    pub evidence: f64,
    pub best: f64,
    /// Whether a step is too near a threshold, and how near the nearest is.
    pub is_close: bool,
    pub margin: f64,
}

struct Selecting<'a> {
    net: &'a Network,
    cards: Vec<usize>,
    /// The CPT of each variable as selected so far; uniform where none is.
    tables: Vec<Vec<f64>>,
    margin: f64,
}

impl Literal {
    pub fn new(net: &Network, evidence: &Evidence) -> Self {
        let cards = net.cards();
        let uniform = |v: VarId| {
            let cpt = &net.cpts()[v.index()];
            match cpt.body() {
                Body::Selected(_) => vec![1.0 / cards[v.index()] as f64; cpt.size(&cards)],
                _ => cpt.table(&cards),
            }
        };
        let tables = net.ids().map(uniform).collect();
        let mut selecting = Selecting {
            net,
            cards: cards.clone(),
            tables,
            margin: f64::INFINITY,
        };
        let mut is_possible = true;
        for v in net.ids() {
            if let Body::Selected(it) = net.cpts()[v.index()].body() {
                is_possible &= selecting.select(v, it, evidence);
            }
        }
        let (mut joints, mut total, mut best) = (
            cards.iter().map(|&c| vec![0.0; c]).collect::<Vec<_>>(),
            0.0,
            0.0f64,
        );
        if is_possible {
            selecting.each(evidence, |states, p| {
                total += p;
                best = best.max(p);
                states
                    .iter()
                    .zip(&mut joints)
                    .for_each(|(&state, joint)| joint[state] += p);
            });
        }
        let margin = selecting.margin;
        Literal {
            joints,
            evidence: total,
            best,
            is_close: margin < 1e-7,
            margin,
        }
    }
}

impl Selecting<'_> {
    /// Selects the CPT of a variable; returns whether the evidence that is seen is possible.
    fn select(&mut self, x: VarId, it: &SelectedCpt, evidence: &Evidence) -> bool {
        let seen = seen(self.net, x);
        let part = evidence
            .iter()
            .map(|(v, _)| v)
            .filter(|v| !seen.contains(v));
        let part = part.fold(evidence.clone(), |part, v| part.without(v));
        let parents = self.net.parents(x).to_vec();
        let rows: usize = parents.iter().map(|p| self.cards[p.index()]).product();
        let mut posterior = vec![0.0; rows];
        let cards = self.cards.clone();
        self.each(&part, |states, p| {
            posterior[parents
                .iter()
                .fold(0, |at, v| at * cards[v.index()] + states[v.index()])] += p;
        });
        let total: f64 = posterior.iter().sum();
        if total == 0.0 && !matches!(it.selection.kind, SelectionKind::Softmax { .. }) {
            return false;
        }
        posterior.iter_mut().for_each(|p| *p /= total);
        let (size, card) = (rows * self.cards[x.index()], self.cards[x.index()]);
        let mut table = vec![0.0; size];
        for (u, p) in posterior.iter().enumerate() {
            let weights = self.weights(&it.selection, u, *p, evidence);
            for k in 0..card {
                table[u * card + k] = weights
                    .iter()
                    .enumerate()
                    .map(|(c, w)| w * it.table[c * size + u * card + k])
                    .sum();
            }
        }
        self.tables[x.index()] = table;
        true
    }

    fn weights(&mut self, by: &Selection, u: usize, p: f64, evidence: &Evidence) -> Vec<f64> {
        let k = by.copies;
        let thresholds = by
            .thresholds
            .get(u * (k - 1)..(u + 1) * (k - 1))
            .unwrap_or_default();
        let sigmoid = |slope: f64, x: f64| 1.0 / (1.0 + (-slope * x).exp());
        match &by.kind {
            SelectionKind::Linear => vec![1.0 - p, p],
            SelectionKind::Step(comparison) => {
                let mut copy = 0;
                for t in thresholds {
                    self.margin = self.margin.min((p - t).abs());
                    copy += usize::from(match comparison {
                        Comparison::AtLeast => p >= *t,
                        Comparison::Above => p > *t,
                        Comparison::AtMost => p <= *t,
                        Comparison::Below => p < *t,
                    });
                }
                (0..k).map(|c| f64::from(u8::from(c == copy))).collect()
            }
            SelectionKind::Sigmoid { slope, .. } => {
                let s = |j: usize| match j {
                    0 => 1.0,
                    j if j == k => 0.0,
                    j => sigmoid(*slope, p - thresholds[j - 1]),
                };
                (0..k).map(|c| s(c) - s(c + 1)).collect()
            }
            SelectionKind::Softmax {
                of,
                weights,
                biases,
            } => {
                let e: Vec<f64> = of
                    .iter()
                    .flat_map(|v| indicators(self.cards[v.index()], evidence.get(*v)))
                    .collect();
                let first = if biases.len() > k { u * k } else { 0 }; // each row has its own, or all have the same
                let logit = |c: usize| {
                    let at = first + c;
                    biases[at]
                        + (0..e.len())
                            .map(|i| weights[at * e.len() + i] * e[i])
                            .sum::<f64>()
                };
                let total: f64 = (0..k).map(|c| logit(c).exp()).sum();
                (0..k).map(|c| logit(c).exp() / total).collect()
            }
            other => unreachable!("{} is not known here", other.name()),
        }
    }

    /// Every joint state with its product of CPTs and likelihoods.
    fn each(&self, evidence: &Evidence, mut visit: impl FnMut(&[usize], f64)) {
        let mut states = vec![0; self.cards.len()];
        for _ in 0..self.cards.iter().product() {
            let mut p = 1.0;
            for v in self.net.ids() {
                let scope = self.net.cpts()[v.index()].scope();
                p *= self.tables[v.index()][scope
                    .iter()
                    .fold(0, |at, v| at * self.cards[v.index()] + states[v.index()])];
                p *= match evidence.get(v) {
                    None => 1.0,
                    Some(Finding::Hard(value)) => f64::from(u8::from(states[v.index()] == *value)),
                    Some(Finding::Soft(likelihood)) => likelihood[states[v.index()]],
                };
            }
            visit(&states, p);
            for (state, card) in states.iter_mut().zip(&self.cards) {
                *state += 1;
                if *state < *card {
                    break;
                }
                *state = 0;
            }
        }
    }
}

fn indicators(card: usize, finding: Option<&Finding>) -> Vec<f64> {
    match finding {
        None => vec![1.0 / card as f64; card],
        Some(Finding::Hard(value)) => (0..card)
            .map(|v| f64::from(u8::from(v == *value)))
            .collect(),
        Some(Finding::Soft(l)) => l.iter().map(|x| x / l.iter().sum::<f64>()).collect(),
    }
}

fn below(net: &Network, x: VarId) -> BTreeSet<VarId> {
    let mut found = BTreeSet::from([x]);
    loop {
        let more: Vec<VarId> = net
            .ids()
            .filter(|v| !found.contains(v) && net.parents(*v).iter().any(|p| found.contains(p)))
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The variables whose evidence the test of `x` sees.
fn seen(net: &Network, x: VarId) -> BTreeSet<VarId> {
    let is_tested = |v: &VarId| matches!(net.cpts()[v.index()].body(), Body::Selected(_));
    let is_ancestor = |v: VarId| v != x && below(net, v).contains(&x);
    let hidden = |is_selected: &dyn Fn(VarId) -> bool| -> BTreeSet<VarId> {
        net.ids()
            .filter(|v| is_tested(v) && !is_selected(*v))
            .flat_map(|v| below(net, v))
            .collect()
    };
    match net.sight() {
        Sight::Ancestral => net.ids().filter(|v| is_ancestor(*v)).collect(),
        Sight::Generalised => &net.ids().collect::<BTreeSet<_>>() - &hidden(&|v| is_ancestor(v)),
        Sight::Predecessor => &net.ids().collect::<BTreeSet<_>>() - &hidden(&|v| v < x),
    }
}

/// Whether hard evidence separates two variables in the graph of a network.
pub fn is_d_separated(net: &Network, x: VarId, y: VarId, given: &Evidence) -> bool {
    let z: BTreeSet<VarId> = given.iter().map(|(v, _)| v).collect();
    let mut kept: BTreeSet<VarId> = z.iter().copied().chain([x, y]).collect();
    let mut waiting: Vec<VarId> = kept.iter().copied().collect();
    while let Some(v) = waiting.pop() {
        waiting.extend(net.parents(v).iter().filter(|p| kept.insert(**p)));
    }
    let linked = |a: VarId, b: VarId| {
        let is_parent = |child: VarId, parent: VarId| net.parents(child).contains(&parent);
        let marry = kept.iter().any(|c| is_parent(*c, a) && is_parent(*c, b));
        is_parent(a, b) || is_parent(b, a) || marry
    };
    let (mut reached, mut waiting) = (BTreeSet::from([x]), vec![x]);
    while let Some(v) = waiting.pop() {
        for &u in kept.iter().filter(|u| !z.contains(u) && linked(v, **u)) {
            if reached.insert(u) {
                waiting.push(u);
            }
        }
    }
    !reached.contains(&y)
}
