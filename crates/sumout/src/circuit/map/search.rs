//! Branch and bound over the values of the asked variables.
//!
//! A node is a partial assignment. The bounds of all next values of some open variables are computed
//! side by side: values that cannot lead to anything better are dropped, and the variable whose
//! values are bounded most tightly is next. At first these are all variables, and then those that
//! were bounded most tightly at the node before. The search begins from a greedy assignment that
//! is improved one variable at a time.

use rayon::prelude::*;

use crate::control::{Control, Stage};
use crate::tensor::careful::{Mixed, Replaced, Room, Values};
use crate::vars::VarId;

/// Bounds that are larger than a value by less are equal to it, up to rounding.
const ROUNDING: f64 = 1e-11;

/// The values of this many variables are tried at a node.
const WIDTH: usize = 24;

/// In each of this many rounds, values are chosen greedily for a share of the variables.
const ROUNDS: usize = 12;

/// The result of a search.
pub(crate) struct Found {
    /// The best assignments in order, with the logarithms of their probabilities.
    pub best: Vec<(f64, Vec<usize>)>,
    /// No assignment has a larger logarithm.
    pub bound: f64,
    pub log_evidence: f64,
    pub nodes: u64,
    pub is_proved: bool,
}

/// The values that are left of each open variable.
type Left = Vec<Vec<usize>>;

/// A value of an open variable, and its bound.
type Tried = (usize, usize, f64);

pub(crate) struct Search<'a> {
    /// Upper bounds; exact values of whole assignments.
    bounds: &'a Mixed,
    sums: &'a Mixed,
    open: Vec<VarId>,
    /// The likelihood of each input as given.
    given: &'a (dyn Fn(VarId) -> Vec<f64> + Sync),
    likelihoods: Vec<Vec<f64>>,
    count: usize,
    control: &'a Control,
    is_log: bool,
    decided: Vec<Option<usize>>,
    best: Vec<(f64, Vec<usize>)>,
    nodes: u64,
    /// The largest bound of what waits at each depth.
    waiting: Vec<f64>,
}

/// Numbers were too far apart, or the search was stopped.
struct Lost;

impl<'a> Search<'a> {
    pub fn new(
        (bounds, sums): (&'a Mixed, &'a Mixed),
        open: Vec<VarId>,
        given: &'a (dyn Fn(VarId) -> Vec<f64> + Sync),
        count: usize,
        control: &'a Control,
    ) -> Self {
        Search {
            likelihoods: open.iter().map(|v| given(*v)).collect(),
            decided: vec![None; open.len()],
            bounds,
            sums,
            open,
            given,
            count,
            control,
            is_log: false,
            best: vec![],
            nodes: 0,
            waiting: vec![],
        }
    }

    /// Searches with plain numbers, and with logarithms if those do not reach; none if it is stopped
    /// before it has begun.
    pub fn run(mut self) -> Option<Found> {
        self.control.begin(Stage::Running, 0);
        for is_log in [false, true] {
            self.is_log = is_log;
            self.decided.fill(None);
            self.waiting.clear();
            if let Ok(found) = self.attempt() {
                return Some(found);
            }
        }
        None
    }

    fn attempt(&mut self) -> Result<Found, Lost> {
        let given = self.given;
        let sums = self.sums.values(self.is_log, self.control, given);
        let log_evidence = sums.ok_or(Lost)?.log;
        let values = self.bounds.values(self.is_log, self.control, given);
        let mut values = values.ok_or(Lost)?;
        let mut unseen = f64::NEG_INFINITY;
        if values.log > f64::NEG_INFINITY {
            self.climb(&mut values)?;
            let left = self.likelihoods.iter().map(|l| positive(l)).collect();
            let order = (0..self.open.len()).collect();
            unseen = self.explore(&mut values, left, order)?;
        }
        let is_proved = !self.can_improve(unseen);
        let best = self.best.first().map_or(f64::NEG_INFINITY, |best| best.0);
        Ok(Found {
            bound: if is_proved { best } else { best.max(unseen) },
            best: std::mem::take(&mut self.best),
            log_evidence,
            nodes: self.nodes,
            is_proved,
        })
    }

    /// Explores all completions of what is decided; the largest bound of those that were not, as the
    /// search was stopped. Variables that are to be tried first come first.
    fn explore(
        &mut self,
        values: &mut Values,
        mut left: Left,
        mut order: Vec<usize>,
    ) -> Result<f64, Lost> {
        self.nodes += 1;
        if self.control.is_stopped() {
            return Ok(values.log);
        }
        if self.decided.iter().all(Option::is_some) {
            self.record()?;
            return Ok(f64::NEG_INFINITY);
        }
        order.retain(|at| self.decided[*at].is_none());
        let width = if self.nodes == 1 { order.len() } else { WIDTH };
        let tried = self.try_all(values, &left, &order[..width.min(order.len())])?;
        let Some((at, mut next)) = self.choose(&tried, &mut left, &mut order) else {
            return Ok(f64::NEG_INFINITY);
        };
        next.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut unseen = f64::NEG_INFINITY;
        for (place, &(state, bound)) in next.iter().enumerate() {
            if !self.can_improve(bound) {
                break;
            }
            let after = next.get(place + 1);
            self.waiting
                .push(after.map_or(f64::NEG_INFINITY, |next| next.1));
            self.tell(bound);
            let rest = (left.clone(), order.clone());
            unseen = unseen.max(self.descend(values, (at, state), rest)?);
            self.waiting.pop();
        }
        Ok(unseen)
    }

    fn descend(
        &mut self,
        values: &mut Values,
        (at, state): (usize, usize),
        (left, order): (Left, Vec<usize>),
    ) -> Result<f64, Lost> {
        let before = self.decide(values, at, state)?;
        let unseen = self.explore(values, left, order);
        self.decided[at] = None;
        self.bounds.undo(values, before);
        unseen
    }

    /// Gives a variable a value, until that is undone.
    fn decide(&mut self, values: &mut Values, at: usize, state: usize) -> Result<Replaced, Lost> {
        let likelihood = self.only(at, state);
        let before = self.bounds.set(values, self.open[at], &likelihood);
        self.decided[at] = Some(state);
        before.ok_or(Lost)
    }

    /// The bounds of all values that are left of some variables, side by side.
    fn try_all(&self, values: &Values, left: &Left, some: &[usize]) -> Result<Vec<Tried>, Lost> {
        let of = |&at: &usize| left[at].iter().map(move |&state| (at, state));
        let all: Vec<(usize, usize)> = some.iter().flat_map(of).collect();
        let bounds = all
            .par_iter()
            .map_init(Room::default, |room, &(at, state)| {
                if self.control.is_stopped() {
                    return Some((at, state, values.log)); // a bound, too
                }
                let likelihood = self.only(at, state);
                let v = self.open[at];
                let bound = self.bounds.try_out(values, room, v, &likelihood)?;
                Some((at, state, bound))
            });
        bounds.collect::<Option<Vec<_>>>().ok_or(Lost)
    }

    /// Drops values that cannot improve anything, and chooses the variable to branch on, with the
    /// bounds of its values; none if nothing can improve.
    fn choose(
        &self,
        tried: &[Tried],
        left: &mut Left,
        order: &mut [usize],
    ) -> Option<(usize, Vec<(usize, f64)>)> {
        let mut next: Vec<Vec<(usize, f64)>> = vec![vec![]; left.len()];
        let mut count = 0;
        for of_one in tried.chunk_by(|a, b| a.0 == b.0) {
            let at = of_one[0].0;
            let able = of_one
                .iter()
                .filter(|(_, _, bound)| self.can_improve(*bound));
            next[at] = able.map(|&(_, state, bound)| (state, bound)).collect();
            left[at] = next[at].iter().map(|(state, _)| *state).collect();
            if left[at].is_empty() {
                return None;
            }
            count += 1;
        }
        let slack = |at: &usize| (next[*at].len() > 1, self.slack(&next[*at]));
        order[..count].sort_by(|a, b| {
            let ((x, y), (u, v)) = (slack(a), slack(b));
            x.cmp(&u).then(y.total_cmp(&v))
        });
        let best = *order.first()?;
        Some((best, std::mem::take(&mut next[best])))
    }

    /// How far the bounds of a variable's values are above the best so far.
    fn slack(&self, next: &[(usize, f64)]) -> f64 {
        let threshold = self.threshold().max(-1e6);
        let above = next.iter().map(|(_, bound)| bound - threshold);
        above.sum::<f64>()
    }

    /// A greedy assignment, and better ones that differ in one variable.
    fn climb(&mut self, values: &mut Values) -> Result<(), Lost> {
        let mut undone = vec![];
        self.fill(values, &mut undone)?;
        if !self.decided.contains(&None) {
            self.record()?;
            while let Some((at, state)) = self.better(values)? {
                undone.push(self.decide(values, at, state)?);
                self.record()?;
            }
        }
        while let Some(before) = undone.pop() {
            self.bounds.undo(values, before);
        }
        self.decided.fill(None);
        Ok(())
    }

    /// Chooses values greedily, for a share of the variables at a time. Stops where it leads nowhere.
    fn fill(&mut self, values: &mut Values, undone: &mut Vec<Replaced>) -> Result<(), Lost> {
        let left: Left = self.likelihoods.iter().map(|l| positive(l)).collect();
        let share = self.open.len().div_ceil(ROUNDS);
        while self.decided.contains(&None) && !self.control.is_stopped() {
            let is_open = |at: &usize| self.decided[*at].is_none();
            let open: Vec<usize> = (0..self.open.len()).filter(is_open).collect();
            let tried = self.try_all(values, &left, &open)?;
            let best = steepest(&tried);
            for (round, &(at, state)) in best.iter().take(share).enumerate() {
                let before = self.decide(values, at, state)?;
                if values.log > f64::NEG_INFINITY {
                    undone.push(before);
                    continue;
                }
                self.bounds.undo(values, before);
                self.decided[at] = None;
                if round == 0 {
                    return Ok(());
                }
                break;
            }
        }
        Ok(())
    }

    /// The value of one variable that improves a whole assignment most.
    fn better(&self, values: &Values) -> Result<Option<(usize, usize)>, Lost> {
        if self.control.is_stopped() {
            return Ok(None);
        }
        let others = |at: usize| {
            let mut states = positive(&self.likelihoods[at]);
            states.retain(|state| self.decided[at] != Some(*state));
            states
        };
        let left: Left = (0..self.open.len()).map(others).collect();
        let all: Vec<usize> = (0..self.open.len()).collect();
        let tried = self.try_all(values, &left, &all)?;
        let best = tried.iter().max_by(|a, b| a.2.total_cmp(&b.2));
        let is_better = |value: f64| value > values.log + ROUNDING * values.log.abs().max(1.0);
        Ok(best
            .filter(|b| is_better(b.2))
            .map(|&(at, state, _)| (at, state)))
    }

    /// Takes over a whole assignment, if it is among the best.
    fn record(&mut self) -> Result<(), Lost> {
        let states: Vec<usize> = self
            .decided
            .iter()
            .map(|state| state.unwrap_or(0))
            .collect();
        if self.best.iter().any(|(_, known)| *known == states) {
            return Ok(());
        }
        let likelihood = |v: VarId| match self.open.iter().position(|o| *o == v) {
            Some(at) => self.only(at, states[at]),
            None => (self.given)(v),
        };
        let values = self.sums.values(self.is_log, &Control::NONE, likelihood);
        let log = values.ok_or(Lost)?.log;
        if log > f64::NEG_INFINITY {
            let place = self.best.partition_point(|(better, _)| *better >= log);
            self.best.insert(place, (log, states));
            self.best.truncate(self.count);
        }
        Ok(())
    }

    /// The likelihood of a variable that has a value.
    fn only(&self, at: usize, state: usize) -> Vec<f64> {
        let mut likelihood = vec![0.0; self.likelihoods[at].len()];
        likelihood[state] = self.likelihoods[at][state];
        likelihood
    }

    /// The least of the best so far; all are better if there are not enough yet.
    fn threshold(&self) -> f64 {
        let is_full = self.best.len() >= self.count;
        let last = self.best.last().filter(|_| is_full);
        last.map_or(f64::NEG_INFINITY, |last| last.0)
    }

    fn can_improve(&self, bound: f64) -> bool {
        let threshold = self.threshold();
        bound > f64::NEG_INFINITY
            && (threshold == f64::NEG_INFINITY
                || bound > threshold + ROUNDING * threshold.abs().max(1.0))
    }

    /// Reports the best so far, and the bound.
    fn tell(&self, bound: f64) {
        let best = self.best.first().map_or(f64::NEG_INFINITY, |best| best.0);
        let bound = self.waiting.iter().copied().fold(bound, f64::max);
        self.control.between(best, bound.max(best));
    }
}

/// The states that are possible.
fn positive(likelihood: &[f64]) -> Vec<usize> {
    let states = likelihood.iter().enumerate();
    states
        .filter(|(_, x)| **x > 0.0)
        .map(|(state, _)| state)
        .collect()
}

/// The best value of each variable, first where it is better than the others by far.
fn steepest(tried: &[Tried]) -> Vec<(usize, usize)> {
    let best = |of_one: &[Tried]| {
        let mut bounds: Vec<(f64, usize)> = of_one.iter().map(|t| (t.2.max(-1e300), t.1)).collect();
        bounds.sort_by(|a, b| b.0.total_cmp(&a.0));
        let second = bounds.get(1).map_or(f64::NEG_INFINITY, |second| second.0);
        (bounds[0].0 - second, of_one[0].0, bounds[0].1)
    };
    let of_each = tried.chunk_by(|a, b| a.0 == b.0);
    let mut all: Vec<(f64, usize, usize)> = of_each.map(best).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().map(|(_, at, state)| (at, state)).collect()
}
