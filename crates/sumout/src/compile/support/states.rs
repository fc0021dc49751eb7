//! The joint states that can occur, one by one.
//!
//! A variable that only one factor mentions, and that is not a function, is *private*: it is summed
//! out inside of that factor. All others have a state in each joint state; those of functions
//! follow. A factor with private variables is a *leaf* of the product tree, with one class for each
//! reachable state of its other variables. Evidence on a variable that is not private is a leaf as
//! well, with one class for each value. All other factors are numbers once the joint state is
//! known: their product is its weight.

use crate::compile::factor::Factor;
use crate::compile::prune::Pruned;
use crate::vars::VarId;

/// No more states are enumerated than this.
pub(crate) const MAX_STATES: f64 = 1e6;

/// How many values are tried, or numbers stored, before enumeration is given up.
const MAX_STEPS: usize = 100_000_000;

/// The joint states of a pruned network.
pub(crate) struct Space<'a> {
    pub pruned: &'a Pruned,
    pub count: usize,
    /// The state of each variable in each joint state; empty for private variables.
    pub columns: Vec<Vec<u16>>,
    /// The leaf that carries the evidence.
    pub leaves: Vec<ProductLeaf>,
    /// The weight of each joint state, in units of 2^`exponent`, without the factors that must stay
    /// visible.
    pub weights: Vec<f64>,
    pub exponent: i64,
    /// The factors that are numbers once the joint state is known, and must stay visible.
    pub visible: Vec<FactorPart>,
}

/// A factor of the product tree.
#[derive(Clone, Debug)]
pub(crate) enum ProductLeaf {
    /// The likelihood of a variable.
    Evidence(VarId),
    /// A factor with private variables.
    Factor(FactorPart),
}

/// A factor as a function of joint states.
#[derive(Clone, Debug)]
pub(crate) struct FactorPart {
    pub factor: usize,
    /// The axes that are not private, with their strides in the factor's table.
    inner: Vec<(VarId, usize)>,
    pub private: Vec<VarId>,
    /// The place of each joint state of the private variables.
    pub offsets: Vec<usize>,
    /// For each class, its place in the table; for each place, its class.
    pub places: Vec<usize>,
    classes: Vec<u32>,
}

impl FactorPart {
    fn new(factor: usize, table: &Factor, cards: &[usize], is_private: &[bool]) -> Self {
        let stride = |i: usize| {
            table.scope[i + 1..]
                .iter()
                .map(|v| cards[v.index()])
                .product::<usize>()
        };
        let all = || table.scope.iter().enumerate().map(|(i, &v)| (v, stride(i)));
        let mut offsets = vec![0];
        for (v, stride) in all().filter(|(v, _)| is_private[v.index()]) {
            let states = |o: usize| (0..cards[v.index()]).map(move |state| o + state * stride);
            offsets = offsets.into_iter().flat_map(states).collect();
        }
        let inner = all().filter(|(v, _)| !is_private[v.index()]).collect();
        let private = all()
            .map(|(v, _)| v)
            .filter(|v| is_private[v.index()])
            .collect();
        FactorPart {
            factor,
            inner,
            private,
            offsets,
            places: vec![],
            classes: vec![],
        }
    }

    fn place(&self, state: impl Fn(VarId) -> usize) -> usize {
        self.inner
            .iter()
            .map(|&(v, stride)| state(v) * stride)
            .sum()
    }

    /// Numbers the places that occur.
    fn classify(&mut self, size: usize, columns: &[Vec<u16>], count: usize) {
        self.classes = vec![u32::MAX; size];
        let places: Vec<usize> = (0..count)
            .map(|at| self.place(|v| columns[v.index()][at].into()))
            .collect();
        for place in places {
            if self.classes[place] == u32::MAX {
                self.classes[place] = self.places.len() as u32;
                self.places.push(place);
            }
        }
    }
}

impl<'a> Space<'a> {
    /// All joint states that can occur; none if there are more than `most`, or nothing can occur.
    pub fn new(pruned: &'a Pruned, most: usize) -> Option<Self> {
        let cards = pruned.cards();
        let is_private = private(pruned);
        let is_input = inputs(pruned);
        let part = |(factor, table)| FactorPart::new(factor, table, &cards, &is_private);
        let parts: Vec<FactorPart> = pruned.factors.iter().enumerate().map(part).collect();
        let columns = Enumeration::new(pruned, &parts, &is_private).run(most)?;
        let count = columns.0;
        let mut space = Space {
            pruned,
            count,
            columns: columns.1,
            leaves: vec![],
            weights: vec![1.0; count],
            exponent: 0,
            visible: vec![],
        };
        space.weigh(&parts)?;
        space.add_leaves(parts);
        let seen = (0..cards.len()).filter(|&v| is_input[v] && !is_private[v]);
        space
            .leaves
            .extend(seen.map(|v| ProductLeaf::Evidence(VarId::new(v))));
        (space.count * space.leaves.len() <= 3 * MAX_STEPS).then_some(space)
    }

    /// Multiplies the factors that are numbers, and keeps the largest product near one; none if
    /// others are too far from it to be numbers.
    fn weigh(&mut self, parts: &[FactorPart]) -> Option<()> {
        let mut exponents = vec![0i64; self.count];
        for part in parts.iter().filter(|part| part.private.is_empty()) {
            let values = &self.pruned.factors[part.factor].values;
            if self.pruned.origins[part.factor].is_some() {
                self.visible.push(part.clone());
                continue;
            }
            if !self.pruned.learned[part.factor] && values.iter().all(|&p| p == 0.0 || p == 1.0) {
                continue;
            }
            for (at, (weight, exponent)) in self.weights.iter_mut().zip(&mut exponents).enumerate()
            {
                let value = values[part.place(|v| self.columns[v.index()][at].into())];
                let (value, of_value) = settled(value);
                let (product, of_product) = settled(*weight * value);
                *weight = product;
                *exponent += of_value + of_product;
            }
        }
        let positive = self.weights.iter().zip(&exponents);
        let positive = positive.filter(|(weight, _)| **weight > 0.0);
        self.exponent = positive.map(|(_, &e)| e).max().unwrap_or(0);
        const MAX_EXPONENT_SPREAD: i64 = 900;
        let is_far =
            |(weight, e): (&f64, &i64)| *weight > 0.0 && self.exponent - e > MAX_EXPONENT_SPREAD;
        if self.weights.iter().zip(&exponents).any(is_far) {
            return None;
        }
        let shifts = exponents
            .iter()
            .map(|&e| 2f64.powi((e - self.exponent).clamp(-2000, 0) as i32));
        self.weights
            .iter_mut()
            .zip(shifts)
            .for_each(|(weight, shift)| *weight *= shift);
        Some(())
    }

    fn add_leaves(&mut self, parts: Vec<FactorPart>) {
        for mut part in parts.into_iter().filter(|part| !part.private.is_empty()) {
            part.classify(
                self.pruned.factors[part.factor].values.len(),
                &self.columns,
                self.count,
            );
            self.leaves.push(ProductLeaf::Factor(part));
        }
    }

    /// The number of classes of a leaf.
    pub fn classes(&self, leaf: usize) -> usize {
        match &self.leaves[leaf] {
            ProductLeaf::Evidence(v) => self.pruned.domains[v.index()].len(),
            ProductLeaf::Factor(part) => part.places.len(),
        }
    }

    /// The place of a joint state in the table of a factor.
    pub fn place(&self, part: &FactorPart, at: usize) -> usize {
        part.place(|v| self.columns[v.index()][at].into())
    }

    /// The class of a leaf in some joint states.
    pub fn column(&self, leaf: usize, states: impl Iterator<Item = usize>) -> Vec<u32> {
        match &self.leaves[leaf] {
            ProductLeaf::Evidence(v) => states
                .map(|at| self.columns[v.index()][at].into())
                .collect(),
            ProductLeaf::Factor(part) => {
                let place = |at: usize| part.place(|v| self.columns[v.index()][at].into());
                states.map(|at| part.classes[place(at)]).collect()
            }
        }
    }
}

/// A number near one and an exponent of two that are `x` together; `x` itself and zero where it is
/// not far from one.
fn settled(x: f64) -> (f64, i64) {
    const MAX_EXPONENT: f64 = 100.0;
    let exponent = x.log2().floor();
    if x == 0.0 || exponent.abs() <= MAX_EXPONENT {
        return (x, 0);
    }
    let half = (exponent / 2.0).trunc(); // the whole power may be beyond all numbers
    let powers = [half, exponent - half].map(|e| 2f64.powi(-e as i32));
    (x * powers[0] * powers[1], exponent as i64)
}

/// No more joint states can occur than this: those of all variables that are neither private nor
/// functions.
pub(crate) fn most_states(pruned: &Pruned) -> f64 {
    let is_private = private(pruned);
    let is_free = |v: &VarId| !is_private[v.index()] && !pruned.is_function(*v);
    let free = (0..is_private.len()).map(VarId::new).filter(is_free);
    free.map(|v| pruned.domains[v.index()].len() as f64)
        .product()
}

fn inputs(pruned: &Pruned) -> Vec<bool> {
    let mut is_input = vec![false; pruned.domains.len()];
    pruned
        .hosts
        .iter()
        .for_each(|(v, _)| is_input[v.index()] = true);
    is_input
}

fn private(pruned: &Pruned) -> Vec<bool> {
    let mut mentions = vec![0; pruned.domains.len()];
    let all = pruned.factors.iter().flat_map(|f| f.scope.iter().copied());
    all.chain(pruned.output.iter())
        .for_each(|v| mentions[v.index()] += 1);
    let is_private =
        |v: VarId| mentions[v.index()] == 1 && !pruned.is_function(v) && !pruned.output.contains(v);
    (0..mentions.len())
        .map(VarId::new)
        .map(is_private)
        .collect()
}

/// Depth-first search through the variables in their order, so that functions follow what they are
/// functions of.
struct Enumeration<'a> {
    order: Vec<VarId>,
    cards: Vec<usize>,
    /// For each place in the order, the factors that are complete there, and where they are
    /// possible.
    checks: Vec<Vec<(&'a FactorPart, Vec<bool>)>>,
    states: Vec<usize>,
}

impl<'a> Enumeration<'a> {
    fn new(pruned: &Pruned, parts: &'a [FactorPart], is_private: &[bool]) -> Self {
        let cards = pruned.cards();
        let mut is_mentioned = vec![false; cards.len()];
        pruned
            .factors
            .iter()
            .flat_map(|f| &f.scope)
            .for_each(|v| is_mentioned[v.index()] = true);
        let is_inner = |v: &VarId| is_mentioned[v.index()] && !is_private[v.index()];
        let order: Vec<VarId> = (0..cards.len()).map(VarId::new).filter(is_inner).collect();
        let mut checks: Vec<Vec<(&FactorPart, Vec<bool>)>> = order.iter().map(|_| vec![]).collect();
        for part in parts {
            let values = &pruned.factors[part.factor].values;
            let Some(last) = part.inner.iter().map(|(v, _)| *v).max() else {
                continue;
            };
            let is_possible = |place: usize| {
                part.offsets
                    .iter()
                    .any(|o| values.get(place + o).is_some_and(|&p| p > 0.0))
            };
            if values.contains(&0.0) && !pruned.learned[part.factor] {
                let at = order.partition_point(|&v| v < last);
                checks[at].push((part, (0..values.len()).map(is_possible).collect()));
            }
        }
        Enumeration {
            order,
            states: vec![0; cards.len()],
            cards,
            checks,
        }
    }

    /// The number of joint states, and the state of each variable in each of them.
    fn run(mut self, most: usize) -> Option<(usize, Vec<Vec<u16>>)> {
        let mut columns: Vec<Vec<u16>> = vec![vec![]; self.cards.len()];
        if self.cards.iter().any(|&card| card > usize::from(u16::MAX)) {
            return None;
        }
        let (mut count, mut steps, mut depth) = (0, 0, 0);
        let mut next = vec![0; self.order.len() + 1];
        loop {
            steps += 1;
            if depth == self.order.len() {
                count += 1;
                steps += depth;
                self.order
                    .iter()
                    .for_each(|v| columns[v.index()].push(self.states[v.index()] as u16));
            } else if next[depth] < self.cards[self.order[depth].index()] {
                self.states[self.order[depth].index()] = next[depth];
                next[depth] += 1;
                if self.is_possible(depth) {
                    depth += 1;
                    next[depth] = 0;
                }
                continue;
            }
            if count > most || steps > MAX_STEPS {
                return None;
            }
            match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return (count > 0).then_some((count, columns)),
            }
        }
    }

    fn is_possible(&self, depth: usize) -> bool {
        self.checks[depth]
            .iter()
            .all(|(part, is_possible)| is_possible[part.place(|v| self.states[v.index()])])
    }
}
