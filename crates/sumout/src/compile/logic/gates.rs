//! Networks of gates: every variable is a root or a function of others, and factors over several
//! variables allow states or exclude them.
//!
//! Then all that is asked is a function of the roots, and decision diagrams say which. A gate that
//! takes evidence or has numbers of its own is asked like a root, and must have the value of its
//! function. The roots are asked in the order in which a walk from the target meets them; which
//! argument of a gate is walked first decides how large diagrams become.

use crate::compile::logic::diagram::{DiagramId, Diagrams};
use crate::compile::logic::search::Exhausted;
use crate::compile::prune::Pruned;
use crate::control::Control;
use crate::vars::VarId;

/// Networks with more roots are not tried: diagrams are as deep.
const MAX_ROOTS: usize = 4000;

/// Gates with evidence or numbers of their own make diagrams large.
const MAX_ASKED_GATES: usize = 16;

/// The argument of a gate that is walked first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum First {
    /// As the factor has them.
    AsGiven,
    /// The one with the fewest paths to roots.
    Lightest,
}

/// A network of gates.
#[derive(Debug)]
pub(super) struct Gates<'a> {
    pruned: &'a Pruned,
    cards: Vec<usize>,
    /// The function of each variable that is one.
    functions: Vec<Option<Function>>,
    /// For each variable, the factors over it alone that do not define it.
    pub weights: Vec<Vec<usize>>,
    /// Factors without variables.
    pub numbers: Vec<usize>,
    /// Factors that allow states or exclude them.
    constraints: Vec<usize>,
    pub has_likelihood: Vec<bool>,
    /// The variables that diagrams ask, in this order.
    pub asked: Vec<VarId>,
    /// The gates, arguments first.
    order: Vec<VarId>,
}

#[derive(Debug)]
struct Function {
    arguments: Vec<VarId>,
    /// A value for each joint state of the arguments, the last one fastest.
    table: Vec<DiagramId>,
}

impl<'a> Gates<'a> {
    /// None if some variable is neither a root nor a function, or too many are asked.
    pub fn new(pruned: &'a Pruned, first: First) -> Option<Self> {
        let cards = pruned.cards();
        let mut gates = Gates {
            functions: cards.iter().map(|_| None).collect(),
            weights: vec![vec![]; cards.len()],
            has_likelihood: vec![false; cards.len()],
            cards,
            pruned,
            numbers: vec![],
            constraints: vec![],
            asked: vec![],
            order: vec![],
        };
        for (v, _) in &pruned.hosts {
            gates.has_likelihood[v.index()] = true;
        }
        gates.define();
        gates.sort()?;
        gates.walk(First::AsGiven)?;
        if first == First::Lightest {
            gates.walk(first)?;
        }
        let is_gate = |v: &&VarId| gates.functions[v.index()].is_some();
        let asked_gates = gates.asked.iter().filter(is_gate).count();
        (gates.asked.len() <= MAX_ROOTS && asked_gates <= MAX_ASKED_GATES).then_some(gates)
    }

    fn define(&mut self) {
        for v in (0..self.cards.len()).map(VarId::new) {
            let definer = self.pruned.definers[v.index()];
            let known = definer.filter(|&f| self.pruned.is_function(v) && self.is_plain(f));
            self.functions[v.index()] = known.and_then(|f| self.function(f, v));
        }
    }

    /// Whether the numbers of a factor are known, and need not stay visible.
    fn is_plain(&self, factor: usize) -> bool {
        !self.pruned.learned[factor] && self.pruned.origins[factor].is_none()
    }

    /// The function that a factor is; none if some row is not one value with a one.
    fn function(&self, factor: usize, v: VarId) -> Option<Function> {
        let factor = &self.pruned.factors[factor];
        let axis = factor.scope.iter().position(|u| *u == v)?;
        let card = |u: &VarId| self.cards[u.index()];
        let inner: usize = factor.scope[axis + 1..].iter().map(card).product();
        let mut table = vec![];
        for block in factor.values.chunks_exact(card(&v) * inner) {
            for i in 0..inner {
                let row = || block[i..].iter().step_by(inner);
                let one = row().position(|&p| p == 1.0)?;
                let zeros = row().filter(|&&p| p == 0.0).count();
                table.push((zeros + 1 == card(&v)).then_some(one as DiagramId)?);
            }
        }
        let mut arguments = factor.scope.clone();
        arguments.remove(axis);
        Some(Function { arguments, table })
    }

    /// Tells the other factors apart; none if one is of no kind that diagrams can use.
    fn sort(&mut self) -> Option<()> {
        for (index, factor) in self.pruned.factors.iter().enumerate() {
            let defines = |v: &VarId| {
                let is_definer = self.pruned.definers[v.index()] == Some(index);
                is_definer && self.functions[v.index()].is_some()
            };
            let is_binary = || factor.values.iter().all(|&p| p == 0.0 || p == 1.0);
            match factor.scope[..] {
                _ if factor.scope.iter().any(defines) => {}
                [] => self.numbers.push(index),
                [v] => self.weights[v.index()].push(index),
                _ if self.is_plain(index) && is_binary() => self.constraints.push(index),
                _ => return None,
            }
        }
        Some(())
    }

    /// Whether diagrams ask a variable.
    fn is_asked(&self, v: VarId) -> bool {
        let at = v.index();
        self.functions[at].is_none() || self.has_likelihood[at] || !self.weights[at].is_empty()
    }

    /// Walks from the output through all variables; none if a gate is a function of itself. The
    /// number of paths below a gate is known only after a walk.
    fn walk(&mut self, first: First) -> Option<()> {
        let pruned = self.pruned;
        let constrained = self.constraints.iter();
        let constrained = constrained.flat_map(|&f| pruned.factors[f].scope.iter().copied());
        let mentioned = pruned.factors.iter().flat_map(|f| f.scope.iter().copied());
        let hosted = pruned.hosts.iter().map(|(v, _)| *v);
        let starts = pruned.output.iter().chain(constrained);
        let starts: Vec<VarId> = starts.chain(mentioned).chain(hosted).collect();
        let turns = self.turns(first);
        let mut marks = vec![Mark::New; self.cards.len()];
        (self.order, self.asked) = (vec![], vec![]);
        for start in starts {
            self.walk_from(start, &turns, &mut marks)?;
        }
        Some(())
    }

    /// The arguments of each gate in the order in which they are walked.
    fn turns(&self, first: First) -> Vec<Vec<VarId>> {
        let mut paths = vec![1.0; self.cards.len()];
        for v in &self.order {
            let arguments = self.functions[v.index()].iter().flat_map(|f| &f.arguments);
            paths[v.index()] = arguments.map(|u| paths[u.index()]).sum();
        }
        let turns = |function: &Option<Function>| {
            let mut turns = function.as_ref().map_or(vec![], |f| f.arguments.clone());
            if first == First::Lightest {
                turns.sort_by(|u, v| f64::total_cmp(&paths[u.index()], &paths[v.index()]));
            }
            turns
        };
        self.functions.iter().map(turns).collect()
    }

    fn walk_from(&mut self, start: VarId, turns: &[Vec<VarId>], marks: &mut [Mark]) -> Option<()> {
        let mut stack = vec![(start, 0)];
        while let Some((v, next)) = stack.pop() {
            match (next, marks[v.index()]) {
                (0, Mark::Done) => continue,
                (0, Mark::Open) => return None,
                _ => marks[v.index()] = Mark::Open,
            }
            if let Some(&argument) = turns[v.index()].get(next) {
                stack.extend([(v, next + 1), (argument, 0)]);
                continue;
            }
            marks[v.index()] = Mark::Done;
            let is_gate = self.functions[v.index()].is_some();
            self.order.extend(is_gate.then_some(v));
            self.asked.extend(self.is_asked(v).then_some(v));
        }
        Some(())
    }

    /// The diagram and its value for each value of the output, or for all states that are possible.
    pub fn diagrams(
        &self,
        most: usize,
        control: &Control,
    ) -> Result<(Diagrams, Vec<(DiagramId, DiagramId)>), Exhausted> {
        let cards = self.asked.iter().map(|v| self.cards[v.index()]).collect();
        let mut all = Diagrams::new(cards, most, control);
        let of = self.variables(&mut all)?;
        let mut possible = 1;
        for &factor in &self.constraints {
            let factor = &self.pruned.factors[factor];
            let table = factor.values.iter().map(|&p| DiagramId::from(p > 0.0));
            let allowed = all.compose(&self.arguments(&factor.scope, &of), table.collect())?;
            possible = all.case(possible, &[0, allowed])?;
        }
        for (level, v) in self.asked.iter().enumerate() {
            if self.functions[v.index()].is_some() {
                let variable = all.variable(level);
                let equal = self.equal(&mut all, [variable, of[v.index()]], *v)?;
                possible = all.case(possible, &[0, equal])?;
            }
        }
        let Some(target) = self.pruned.output.iter().next() else {
            return Ok((all, vec![(possible, 1)]));
        };
        let card = self.cards[target.index()];
        let value = |value| {
            if possible == 1 {
                return Ok((of[target.index()], value as DiagramId));
            }
            let is_value = all.case(of[target.index()], &one_of(value, card))?;
            Ok((all.case(possible, &[0, is_value])?, 1))
        };
        let outputs = (0..card).map(value).collect::<Result<_, _>>()?;
        Ok((all, outputs))
    }

    /// The diagram of each variable.
    fn variables(&self, all: &mut Diagrams) -> Result<Vec<DiagramId>, Exhausted> {
        let mut of = vec![0; self.cards.len()];
        for (level, v) in self.asked.iter().enumerate() {
            of[v.index()] = all.variable(level);
        }
        for v in &self.order {
            if let Some(function) = &self.functions[v.index()] {
                let arguments = self.arguments(&function.arguments, &of);
                of[v.index()] = all.compose(&arguments, function.table.clone())?;
            }
        }
        Ok(of)
    }

    fn arguments(&self, vars: &[VarId], of: &[DiagramId]) -> Vec<(DiagramId, usize)> {
        let argument = |v: &VarId| (of[v.index()], self.cards[v.index()]);
        vars.iter().map(argument).collect()
    }

    /// Whether two diagrams have the same of a variable's values.
    fn equal(
        &self,
        all: &mut Diagrams,
        [a, b]: [DiagramId; 2],
        v: VarId,
    ) -> Result<DiagramId, Exhausted> {
        let card = self.cards[v.index()];
        let table = (0..card).flat_map(|value| one_of(value, card)).collect();
        all.compose(&[(a, card), (b, card)], table)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// A one among zeros.
fn one_of(value: usize, card: usize) -> Vec<DiagramId> {
    (0..card).map(|other| (other == value).into()).collect()
}
