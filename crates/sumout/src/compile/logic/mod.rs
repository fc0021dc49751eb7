//! Compiles what is logic: a search over assignments that remembers what it has seen.
//!
//! Where most factors are zeros and ones, an assignment decides far more than its variables, and
//! what is left falls apart into components that come back again and again. The search becomes a
//! circuit of sums and products, which is exact for all evidence.
//!
//! * Factors are tables of symbols (`symbols`), and assignments lead them from state to state
//!   (`states`, `residual`).
//! * What is left is split into components (`components`), and their variables are decided from the
//!   middle outwards (`rank`).
//! * The search (`search`) writes down what it does as nodes (`nodes`).
//!
//! Networks of nothing but gates may have another way (`gates`): all that is asked is a function of
//! their roots, whose decision diagram (`diagram`) becomes nodes as well (`weigh`). It is small or
//! far too large, and found quickly.

mod bits;
mod cells;
mod components;
mod diagram;
mod gates;
mod lower;
mod nodes;
mod rank;
mod residual;
mod search;
mod states;
mod symbols;
mod weigh;

#[cfg(test)]
mod tests;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::compile::ask::Search;
use crate::compile::logic::gates::{First, Gates};
use crate::compile::logic::nodes::{NodeId, Nodes};
use crate::compile::logic::rank::Rank;
use crate::compile::logic::residual::{Leaf, Part, Residual};
use crate::compile::logic::search::{Budget, Compiler};
use crate::compile::logic::states::Mask;
use crate::compile::logic::symbols::{SymbolId, Symbols};
use crate::compile::prune::Pruned;
use crate::compile::support::Supported;
use crate::control::Stage;

/// Variables with more values are not decided one value at a time.
const MAX_VALUES: usize = Mask::BITS as usize;

/// A circuit of sums and products.
#[derive(Debug)]
pub(crate) struct Found {
    nodes: Nodes,
    symbols: Symbols,
    /// The node of each value of the output's axis; a single one if it has none.
    outputs: Vec<NodeId>,
}

/// Networks with a smaller share of zeros are not searched.
const MIN_SHARE_OF_ZEROS: f64 = 0.2;

/// Memory: the inputs of all nodes, and the numbers of all states.
const MAX_EDGES: usize = 20_000_000;
const MAX_STATES: usize = 50_000_000;

/// The rounds of a search, each with its share of the work: one order may be far better than another.
const ROUNDS: [(u64, f64); 4] = [(0, 0.35), (1, 0.15), (2, 0.15), (3, 0.35)];

/// Whether a question can be searched at all: maxima would have to remember where they came from,
/// values that are selected later could be any, and the output is that of one variable.
pub(crate) fn is_possible(pruned: &Pruned) -> bool {
    !pruned.explain
        && pruned.clamped.is_empty()
        && pruned.output.len() <= 1
        && pruned.domains.iter().all(|d| d.len() <= MAX_VALUES)
}

/// Whether a search may lead somewhere: much is zero, and is known to stay so.
pub(crate) fn may_pay(pruned: &Pruned) -> bool {
    let known = (0..pruned.factors.len()).filter(|&factor| !pruned.learned[factor]);
    let (mut zeros, mut all) = (0, 0);
    for factor in known {
        let values = &pruned.factors[factor].values;
        zeros += values.iter().filter(|&&x| x == 0.0).count();
        all += values.len();
    }
    is_possible(pruned) && zeros as f64 > MIN_SHARE_OF_ZEROS * all as f64
}

/// Whether decision diagrams can be tried: every variable is a root or a function of others.
pub(crate) fn are_gates(pruned: &Pruned) -> bool {
    is_possible(pruned) && Gates::new(pruned, First::AsGiven).is_some()
}

/// The graph of decision diagrams, in one of two orders; none if both decide more cases than
/// allowed.
pub(crate) fn by_diagrams(pruned: &Pruned, search: &Search, most: f64) -> Option<Supported> {
    search.control.begin(Stage::Compiling, 0);
    let mut orders = [First::AsGiven, First::Lightest].into_iter();
    let found =
        orders.find_map(|first| weigh::compile(pruned, first, most as usize, &search.control));
    Some(lower::lower(pruned, &found?))
}

/// The graph that a search leads to; none if it would look at more factors than allowed.
pub(crate) fn compile(pruned: &Pruned, search: &Search, work: f64) -> Option<Supported> {
    search.control.begin(Stage::Compiling, 0);
    let found = ROUNDS.iter().find_map(|&(round, share)| {
        let budget = Budget {
            work: (share * work) as usize,
            edges: MAX_EDGES,
            states: MAX_STATES,
        };
        self::search(pruned, search, round, budget)
    });
    Some(lower::lower(pruned, &found?))
}

/// Searches once; none if that takes more than it may, or if nothing is possible.
fn search(pruned: &Pruned, search: &Search, round: u64, budget: Budget) -> Option<Found> {
    let mut residual = residual(pruned)?;
    let known = residual.take_leaves();
    let mut rng = ChaCha8Rng::seed_from_u64(search.seed ^ round << 32);
    let rank = Rank::new(&residual, (round > 0).then_some(&mut rng));
    let mut compiler = Compiler::new(residual, rank, budget, &search.control);
    let outputs = outputs(&mut compiler, pruned, &known)?;
    let is_possible = outputs.iter().any(|&output| output != nodes::ZERO);
    is_possible.then_some(Found {
        outputs,
        nodes: compiler.nodes,
        symbols: compiler.residual.states.symbols,
    })
}

/// The network before any assignment.
fn residual(pruned: &Pruned) -> Option<Residual> {
    let cards = pruned.cards();
    let mut parts = vec![Part::Hidden; cards.len()];
    let mut has_likelihood = vec![false; cards.len()];
    for (v, _) in &pruned.hosts {
        parts[v.index()] = Part::Live;
        has_likelihood[v.index()] = true;
    }
    for v in pruned.output.iter() {
        parts[v.index()] = Part::Output;
    }
    let mut residual = Residual::new(&cards, parts, has_likelihood);
    for factor in 0..pruned.factors.len() {
        let scope = pruned.factors[factor].scope.iter();
        let table = symbols_of(pruned, factor, &mut residual.states.symbols);
        if !residual.add(scope.map(|v| v.index() as u32).collect(), table) {
            return None;
        }
    }
    residual.close_unmentioned();
    let is_possible = residual.propagate();
    residual.sum_out_loose();
    is_possible.then_some(residual)
}

/// The numbers of a factor as symbols. Those that may change are none of the numbers they are now.
fn symbols_of(pruned: &Pruned, factor: usize, symbols: &mut Symbols) -> Vec<SymbolId> {
    let is_visible = pruned.origins[factor].is_some() || pruned.learned[factor];
    let values = pruned.factors[factor].values.iter().enumerate();
    let symbol = |(place, &value): (usize, &f64)| {
        if is_visible && pruned.is_possible(factor, place) {
            symbols.entry(factor, place)
        } else {
            symbols.number(value)
        }
    };
    values.map(symbol).collect()
}

/// The node of each value of the output.
fn outputs(compiler: &mut Compiler, pruned: &Pruned, known: &[Leaf]) -> Option<Vec<NodeId>> {
    let Some(target) = pruned.output.iter().next() else {
        return Some(vec![compiler.everything(known).ok()?]);
    };
    let v = target.index() as u32;
    let mut outputs = vec![];
    for value in 0..pruned.domains[target.index()].len() {
        outputs.push(compiler.given(v, 1 << value, known).ok()?);
    }
    Some(outputs)
}
