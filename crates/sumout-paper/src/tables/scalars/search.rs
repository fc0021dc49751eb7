//! Looks for random networks whose circuits have a given size.

use sumout::internals::random::{Shape, network};
use sumout::internals::{self, Goal, Question, Runs, Search};
use sumout::{Circuit, Error, ErrorKind, Level, Network, Objective, Options, Query, VarId};

const SHAPE: Shape = Shape {
    nodes: 100,
    max_values: 3,
    max_parents: 5,
    functional: 0.5,
};

/// A query on a random network, whose circuit has as many entries as it should.
pub(super) struct Asked {
    pub net: Network,
    pub target: VarId,
    pub inputs: Vec<VarId>,
    pub entries: f64,
}

/// Looks for circuits of a size, network by network.
pub(super) struct Searching {
    entries: [f64; 2],
    next: u64,
    last: u64,
    found: Vec<(u64, bool)>,
}

/// At most this many networks are compiled to find the circuits of a band.
const MAX_NETWORKS: u64 = 5000;

impl Searching {
    pub fn new(entries: [f64; 2], seed: u64) -> Self {
        let first = seed.wrapping_mul(MAX_NETWORKS);
        Searching {
            entries,
            next: first,
            last: first.wrapping_add(MAX_NETWORKS),
            found: vec![],
        }
    }

    /// The circuit with this number, counted from zero.
    pub fn nth(&mut self, at: usize) -> sumout::Result<Asked> {
        while self.found.len() <= at && self.next != self.last {
            for by_roots in [true, false] {
                let asked = Asked::new(self.next, by_roots)?;
                let fits =
                    |asked: &Asked| (self.entries[0]..=self.entries[1]).contains(&asked.entries);
                self.found
                    .extend(asked.filter(fits).map(|_| (self.next, by_roots)));
            }
            self.next = self.next.wrapping_add(1);
        }
        let missing = || {
            Error::new(
                ErrorKind::Model,
                "too few random networks have circuits of this size",
            )
        };
        let (seed, by_roots) = *self.found.get(at).ok_or_else(missing)?;
        Asked::new(seed, by_roots)?.ok_or_else(missing)
    }
}

impl Asked {
    /// A leaf given the roots, or a root given the leaves; none if there is no such pair.
    fn new(seed: u64, by_roots: bool) -> sumout::Result<Option<Self>> {
        let net = network(&SHAPE, seed)?;
        let is_root = |v: &VarId| net.parents(*v).is_empty();
        let is_leaf = |v: &VarId| !net.ids().any(|child| net.parents(child).contains(v));
        let (inputs, targets): (Vec<VarId>, Vec<VarId>) = match by_roots {
            true => (
                net.ids().filter(is_root).collect(),
                net.ids().filter(|v| is_leaf(v) && !is_root(v)).collect(),
            ),
            false => (
                net.ids().filter(is_leaf).collect(),
                net.ids().filter(|v| is_root(v) && !is_leaf(v)).collect(),
            ),
        };
        let Some(&target) = targets.get(seed as usize % targets.len().max(1)) else {
            return Ok(None);
        };
        let question = Question {
            goal: Goal::Posterior(target),
            inputs: inputs.iter().copied().collect(),
            ..Question::default()
        };
        let search = Search {
            level: Level::Paper,
            objective: Objective::default(),
            seed: 0,
            effort: 0.0,
            runs: Runs::Many,
            control: Default::default(),
        };
        let Some(plan) = internals::plan(net.model(), &question, &search) else {
            return Ok(None);
        };
        let entries = plan.cost().entries + plan.cost().constant_entries;
        Ok(Some(Asked {
            net,
            target,
            inputs,
            entries,
        }))
    }

    pub fn circuit(&self) -> sumout::Result<Circuit> {
        let name = |v: VarId| self.net.variable(v).name.clone();
        let query = Query::of(name(self.target)).given(self.inputs.iter().map(|&v| name(v)));
        self.net.compile(
            &query,
            &Options::default().with_level(Level::Paper).with_effort(0.0),
        )
    }
}
