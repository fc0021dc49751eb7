//! Refuses answers that do not fit in memory: how large they are, what makes them so, and what can
//! help at that size.
//!
//! Estimates come from hasty plans, a few of them at most, and none on the largest networks.

use crate::circuit::{Options, bytes, memory_limit};
use crate::compile::{self, Compiled, Goal, Level, Planned, Question, Runs, Search};
use crate::error::{Error, ErrorKind, Remedy};
use crate::model::FactorModel;
use crate::vars::{VarId, VarSet};

/// A question to a model whose answer does not fit.
pub(crate) struct Refusal<'a> {
    pub model: &'a FactorModel,
    pub question: &'a Question,
    pub options: &'a Options,
}

/// This many variables of the largest cluster are named.
const MAX_NAMES: usize = 8;

/// This many variables, and as many targets, are tried at most.
const MAX_TRIALS: usize = 8;

/// Trials together may plan for this many factors: a second or so.
const MAX_FACTORS_TO_TRY: usize = 20_000;

/// Other machines have up to this many times the memory.
const MAX_TIMES_LIMIT: f64 = 64.0;

/// No longer search makes a plan this many times smaller.
const MAX_TIMES_BY_SEARCH: f64 = 1024.0;

/// After effort 1 for each of this many factors, searches find nothing better.
const FACTORS_PER_EFFORT: f64 = 200.0;

/// An observation is worth naming if it makes the largest cluster this many times smaller.
const MIN_SHRINKING: f64 = 1.5;

impl Refusal<'_> {
    /// The error for a plan that needs more bytes than allowed.
    pub fn error(&self, compiled: &Compiled, needed: f64, limit: f64) -> Error {
        let cluster = largest_cluster(compiled);
        let error = too_large(
            needed,
            limit,
            &format!(
                " (the largest cluster has 2^{:.1} states{})",
                compiled.cost.largest_cluster.log2(),
                self.named(&cluster)
            ),
        );
        let trials = (MAX_FACTORS_TO_TRY / compiled.pruned.factors.len().max(1)).min(MAX_TRIALS);
        let remedies = [
            self.fewer_targets(limit, trials),
            Some(self.evidence(compiled, &cluster, trials)),
            self.more_effort(compiled, needed / limit),
            raise_memory(needed, limit),
        ];
        remedies.into_iter().flatten().fold(error, Error::or)
    }

    /// ` of x, y and 3 others`.
    fn named(&self, cluster: &VarSet) -> String {
        let name = |v: VarId| format!("`{}`", crate::error::shown(&self.model.variable(v).name));
        let is_named = |v: &VarId| v.index() < self.model.variables().len();
        let mut names: Vec<String> = cluster.iter().filter(is_named).map(name).collect();
        let others = names.len().saturating_sub(MAX_NAMES);
        names.truncate(MAX_NAMES);
        let last = match others {
            0 => names.pop(),
            1 => Some("1 other".to_owned()),
            _ => Some(format!("{others} others")),
        };
        match (last, names.is_empty()) {
            (None, _) => String::new(),
            (Some(last), true) => format!(" of {last}"),
            (Some(last), false) => format!(" of {} and {last}", names.join(", ")),
        }
    }

    /// Asking for fewer targets, if there are several and one alone would fit.
    fn fewer_targets(&self, limit: f64, trials: usize) -> Option<Remedy> {
        let targets: Vec<VarId> = self.question.goal.targets().iter().collect();
        let step = targets.len().div_ceil(trials.max(1));
        let fits = |target: &VarId| {
            let goal = Goal::posteriors(VarSet::from_iter([*target]));
            let alone = Question {
                goal,
                ..self.question.clone()
            };
            self.hasty(&alone).is_some_and(|planned| {
                let cost = planned.cost();
                let numbers = cost.entries + cost.constant_entries;
                numbers * size_of::<f64>() as f64 <= limit
            })
        };
        let several = targets.len() > 1 && trials > 0;
        (several && targets.iter().step_by(step.max(1)).any(fits)).then_some(Remedy::FewerTargets)
    }

    /// Evidence; that which shrinks the largest cluster most, if one observation does.
    fn evidence(&self, compiled: &Compiled, cluster: &VarSet, trials: usize) -> Remedy {
        let size = |question: &Question| Some(self.hasty(question)?.cost().largest_cluster);
        let Some(now) = size(self.question).filter(|_| trials > 0) else {
            return Remedy::MoreEvidence;
        };
        let found = self.candidates(cluster).take(trials).filter_map(|v| {
            let mut question = self.question.clone();
            question
                .known
                .push((v, compiled.pruned.domains[v.index()][0]));
            Some((now / size(&question)?, v))
        });
        let best = found.max_by(|a, b| a.0.total_cmp(&b.0));
        match best.filter(|(factor, _)| *factor >= MIN_SHRINKING) {
            None => Remedy::MoreEvidence,
            Some((factor, v)) => Remedy::Observe(self.model.variable(v).name.clone(), factor),
        }
    }

    /// Variables of a cluster that could be observed, those with most values first.
    fn candidates(&self, cluster: &VarSet) -> impl Iterator<Item = VarId> {
        let output = self.question.goal.output();
        let is_free = |v: &VarId| {
            v.index() < self.model.variables().len()
                && !output.contains(*v)
                && !self.question.inputs.contains(*v)
                && !self.question.known.iter().any(|(known, _)| known == v)
        };
        let mut free: Vec<VarId> = cluster.iter().filter(is_free).collect();
        free.sort_by_key(|v| std::cmp::Reverse(self.model.card(*v)));
        free.into_iter()
    }

    /// A plan by one run of each quick method; none if the evidence is impossible, or if there is
    /// no time.
    fn hasty(&self, question: &Question) -> Option<Planned> {
        let search = Search {
            level: Level::Classical,
            effort: 0.0,
            ..self.options.search(Runs::Once)
        };
        if search.control.is_stopped() {
            return None;
        }
        compile::plan(self.model, question, &search)
    }

    /// A longer search, where it may find a plan that is small enough.
    fn more_effort(&self, compiled: &Compiled, times: f64) -> Option<Remedy> {
        let factors = compiled.pruned.factors.len() as f64;
        let effort = self.options.effort;
        let is_converged = factors <= FACTORS_PER_EFFORT * effort;
        let may_help = !is_converged && times <= MAX_TIMES_BY_SEARCH;
        may_help.then_some(Remedy::MoreEffort(Some(10.0 * effort.max(0.1))))
    }
}

/// More memory, if this machine has it, or any.
pub(crate) fn raise_memory(needed: f64, limit: f64) -> Option<Remedy> {
    let is_there = needed <= MAX_TIMES_LIMIT * limit || needed <= memory_limit(None);
    is_there.then_some(Remedy::RaiseMemory)
}

/// The error for an answer that needs more than allowed.
pub(crate) fn too_large(needed: f64, limit: f64, why: &str) -> Error {
    let message = format!(
        "the answer needs {} of memory, and the limit is {}{why}",
        bytes(needed),
        bytes(limit)
    );
    Error::new(ErrorKind::Memory, message)
}

/// The variables of the plan's largest cluster.
fn largest_cluster(compiled: &Compiled) -> VarSet {
    let plan = &compiled.plan;
    let size = |cluster: &VarSet| -> f64 {
        let values = cluster
            .iter()
            .map(|v| compiled.pruned.domains[v.index()].len());
        values.map(|n| n as f64).product()
    };
    let joins = plan.tree.joins.iter();
    let clusters = joins.map(|&(l, r)| &plan.separators[l] | &plan.separators[r]);
    let largest = clusters.max_by(|a, b| size(a).total_cmp(&size(b)));
    largest.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Evidence, Network};

    /// Variables of three values, each pair of them with a potential.
    fn clique(variables: usize) -> Network {
        let mut b = Network::markov("clique");
        let vars: Vec<_> = (0..variables)
            .map(|i| b.variable(format!("x{i}"), ["a", "b", "c"]))
            .collect();
        for (i, &x) in vars.iter().enumerate() {
            for &y in &vars[..i] {
                b.potential([x, y], (1..10).map(f64::from).collect::<Vec<_>>());
            }
        }
        b.build().unwrap()
    }

    fn refused(net: &Network, memory: u64) -> Error {
        let options = Options::default()
            .with_memory(Some(memory))
            .with_effort(0.01);
        net.query(&[], &Evidence::new(), &options).unwrap_err()
    }

    #[test]
    fn what_is_refused_has_a_size_and_the_variables_that_make_it() {
        let error = refused(&clique(12), 100_000);
        let message = error.message();
        assert!(
            message.contains(
                "and the limit is 97.7 KiB (the largest cluster has 2^19.0 states of `x0`"
            ),
            "{message}"
        );
        assert!(message.ends_with("`x7` and 4 others)"), "{message}");
        let observed = error.remedies().iter().find_map(|remedy| match remedy {
            Remedy::Observe(_, factor) => Some(*factor),
            _ => None,
        });
        assert!(observed.is_some_and(|factor| (factor - 3.0).abs() < 1e-9));
    }

    #[test]
    fn only_what_can_work_is_recommended() {
        let has = |error: &Error, remedy: Remedy| error.remedies().contains(&remedy);
        let close = refused(&clique(12), 100_000);
        assert!(has(&close, Remedy::RaiseMemory));
        let hopeless = refused(&clique(45), 1_000_000);
        assert!(!has(&hopeless, Remedy::RaiseMemory), "{hopeless}");
        assert!(!has(&hopeless, Remedy::FewerTargets), "{hopeless}");
        let effort = |error: &Error| {
            let mut remedies = error.remedies().iter();
            remedies.any(|remedy| matches!(remedy, Remedy::MoreEffort(_)))
        };
        assert!(!effort(&hopeless), "{hopeless}");
    }

    /// A large CPT: all targets need tables of its size; a root alone needs none, for its child is pruned.
    #[test]
    fn fewer_targets_are_recommended_where_one_alone_fits() {
        let mut b = Network::builder("fork");
        let roots: Vec<_> = (0..12)
            .map(|i| b.variable(format!("r{i}"), ["a", "b"]))
            .collect();
        for &root in &roots {
            b.table(root, [], [0.5, 0.5]);
        }
        let sink = b.variable("sink", ["a", "b"]);
        let rows =
            (0..1 << 12).flat_map(|i| [f64::from(i % 7) / 7.0, 1.0 - f64::from(i % 7) / 7.0]);
        b.table(sink, roots, rows.collect::<Vec<_>>());
        let error = refused(&b.build().unwrap(), 20_000);
        assert!(error.remedies().contains(&Remedy::FewerTargets), "{error}");
        let cluster = error.message();
        assert!(cluster.contains("states of `r0`"), "{cluster}");
    }
}
