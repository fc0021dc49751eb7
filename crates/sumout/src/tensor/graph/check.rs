//! The conditions that every graph must meet, whoever made it.
//!
//! The compiler's own graphs are checked in debug builds, each operation when it is added and the
//! whole when it is finished; those of files always are, by the same rules. Executors rely on them:
//! a place that a list or a map points to is not looked at again.

use std::collections::BTreeSet;

use crate::tensor::graph::{
    AxisId, Graph, List, ListId, Map, MapId, NodeId, Op, PickId, Rule, RuleId, Table, TableId,
    Weighing,
};
use crate::vars::VarId;

/// Why a graph is wrong.
pub(crate) type Fault = &'static str;

impl Graph {
    /// Adds an operation that may be wrong. It must not be there already.
    pub(crate) fn try_add(&mut self, op: Op) -> Result<NodeId, Fault> {
        op.check(self, self.len())?;
        ensure(self.find(&op).is_none(), "an operation is there twice")?;
        Ok(self.add(op))
    }

    /// Whether every operation fits what it refers to, and all that is there is used.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        for (node, op) in self.ops() {
            op.check(self, node.index())?;
            ensure(op.axes(self) == *self.axes(node), "axes are not derived")?;
        }
        let output = self.output.ok_or("there is no output")?;
        let is_there = output.index() < self.len();
        ensure(is_there, "an operation reads what is not there")?;
        self.check_order()?;
        self.check_numbers()
    }

    pub(super) fn check_variable(&self, var: VarId) -> Result<(), Fault> {
        ensure(var.index() < self.variables, "evidence on no variable")
    }

    pub(super) fn check_axes(&self, axes: impl IntoIterator<Item = AxisId>) -> Result<(), Fault> {
        let are_there = axes.into_iter().all(|v| v.index() < self.cards.len());
        ensure(are_there, "an axis is not there")
    }

    pub(super) fn check_table(&self, id: TableId) -> Result<(), Fault> {
        let table = self.tables().get(id.index());
        let Table { axes, values } = table.ok_or("a table is not there")?;
        self.check_axes(axes.iter().copied())?;
        let fits = self.count(axes) == Some(values.len())
            && values.iter().all(|x| x.is_finite())
            && !is_repeated(axes);
        ensure(fits, "a table does not fit its axes")
    }

    pub(super) fn check_list(&self, a: NodeId, b: NodeId, id: ListId) -> Result<(), Fault> {
        let list = self.lists().get(id.index()).ok_or("a list is not there")?;
        self.check_axes(list.axis)?;
        let List {
            outs,
            a: of_a,
            b: of_b,
            ..
        } = list;
        let is_below = |places: &[u32], size: f64| places.iter().all(|&i| f64::from(i) < size);
        let fits = self.axes(a).len() <= 1
            && self.axes(b).len() <= 1
            && outs.is_sorted()
            && outs.len() == of_a.len()
            && outs.len() == of_b.len()
            && is_below(outs, self.states(list.axis))
            && is_below(of_a, self.size(a))
            && is_below(of_b, self.size(b));
        ensure(fits, "a list does not fit its tensors")
    }

    pub(super) fn check_map(&self, a: NodeId, id: MapId) -> Result<(), Fault> {
        let map = self.maps().get(id.index()).ok_or("a map is not there")?;
        let Map { from, over, index } = map;
        self.check_axes(from.iter().chain(over).copied())?;
        let is_axis = |v: &AxisId| self.axes(a).contains(*v) && !over.contains(v);
        let values = self.count(from).unwrap_or(0);
        let is_value = |&i: &u32| i == Map::NOWHERE || (i as usize) < values;
        let fits = from.iter().all(is_axis)
            && !is_repeated(from)
            && !is_repeated(over)
            && self.count(over) == Some(index.len())
            && index.iter().all(is_value);
        ensure(fits, "a map does not fit its tensor")
    }

    pub(super) fn check_pick(&self, inputs: &[NodeId], id: PickId) -> Result<(), Fault> {
        let pick = self.picks().get(id.index()).ok_or("a pick is not there")?;
        self.check_axes([pick.axis])?;
        let is_read = |(input, places): (&NodeId, &Vec<u32>)| {
            let size = self.size(*input);
            self.axes(*input).len() <= 1 && places.iter().all(|&i| f64::from(i) < size)
        };
        let fits = !inputs.is_empty()
            && inputs.len() == pick.places.len()
            && pick.len() == self.cards[pick.axis.index()]
            && inputs.iter().zip(&pick.places).all(is_read);
        ensure(fits, "a pick does not fit its tensors")
    }

    pub(super) fn check_selection(&self, inputs: &[NodeId], id: RuleId) -> Result<(), Fault> {
        let rule = self.rules().get(id.index()).ok_or("a rule is not there")?;
        self.check_axes([rule.axis])?;
        ensure(
            self.fits_rule(inputs, rule),
            "a test does not fit the circuit",
        )
    }

    /// Whether a rule can weigh copies by its inputs.
    fn fits_rule(&self, inputs: &[NodeId], rule: &Rule) -> bool {
        let weights = self.cards[rule.axis.index()];
        if rule.copies < 2
            || !weights.is_multiple_of(rule.copies)
            || inputs.len() <= rule.weighing.tables()
        {
            return false;
        }
        let (of, tables) = inputs.split_at(inputs.len() - rule.weighing.tables());
        let Some(tables) = tables
            .iter()
            .map(|t| self.values(*t))
            .collect::<Option<Vec<_>>>()
        else {
            return false;
        };
        let seen: f64 = of.iter().map(|node| self.size(*node)).sum();
        let is_posterior = of.len() == 1 && seen == (weights / rule.copies) as f64;
        let fits = match rule.weighing {
            Weighing::Step { .. } => is_posterior && are_gaps(tables[0], weights),
            Weighing::Sigmoid => {
                is_posterior && are_gaps(tables[0], weights) && is_slope(tables[1])
            }
            Weighing::Linear => is_posterior && rule.copies == 2,
            Weighing::Softmax => {
                let logits = tables[0].len() as f64 / (seen + 1.0);
                logits == rule.copies as f64 || logits == weights as f64
            }
        };
        fits && of.iter().all(|node| self.axes(*node).len() == 1)
    }

    /// Tables, lists, maps, picks and rules are in the order in which operations first refer to them,
    /// and no two operations share a table, a list or a pick.
    fn check_order(&self) -> Result<(), Fault> {
        let (mut tables, mut lists, mut maps, mut picks, mut rules) = (0, 0, 0, 0, 0);
        for (_, op) in self.ops() {
            let is_next = match op {
                Op::Table(table) => is_next(table.index(), &mut tables),
                Op::Join(_, _, list) => is_next(list.index(), &mut lists),
                Op::Collect(_, pick) => is_next(pick.index(), &mut picks),
                Op::Gather(_, map) => map.index() < maps || is_next(map.index(), &mut maps),
                Op::Select(_, rule) => rule.index() < rules || is_next(rule.index(), &mut rules),
                _ => true,
            };
            ensure(
                is_next,
                "a table, list, map, pick or rule does not fit the operations",
            )?;
        }
        let used = [tables, lists, maps, picks, rules];
        let there = [
            self.tables().len(),
            self.lists().len(),
            self.maps().len(),
            self.picks().len(),
            self.rules().len(),
        ];
        ensure(
            used == there,
            "a table, list, map, pick or rule does not fit the operations",
        )
    }

    /// The numbers of rules are not tensors, and may be negative; all others are tensors, and are
    /// not.
    fn check_numbers(&self) -> Result<(), Fault> {
        let of_rules: BTreeSet<TableId> = self.rule_tables().collect();
        let is_of_rule = |node: NodeId| {
            let table = self.op(node).table();
            table.is_some_and(|table| of_rules.contains(&table))
        };
        let is_tensor = self.ops().any(|(_, op)| self.tensors(op).any(is_of_rule));
        let is_output = self.output.is_some_and(is_of_rule);
        ensure(!is_tensor && !is_output, "a test does not fit the circuit")?;
        let is_negative = |(i, table): (usize, &Table)| {
            table.values.iter().any(|x| *x < 0.0) && !of_rules.contains(&TableId::new(i))
        };
        let has_negative = self.tables().iter().enumerate().any(is_negative);
        ensure(
            !has_negative,
            "a table with negative numbers does not fit the circuit",
        )
    }

    /// The numbers of a node that is a table.
    fn values(&self, node: NodeId) -> Option<&[f64]> {
        let table = self.op(node).table()?;
        Some(&self.tables().get(table.index())?.values)
    }

    /// The number of joint states of some axes; none if there are too many to count.
    fn count(&self, axes: &[AxisId]) -> Option<usize> {
        let times = |size: usize, v: &AxisId| size.checked_mul(self.cards[v.index()]);
        axes.iter().try_fold(1, times)
    }
}

fn ensure(holds: bool, fault: Fault) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(fault) }
}

/// Counts what comes in order.
fn is_next(index: usize, next: &mut usize) -> bool {
    *next += 1;
    index + 1 == *next
}

/// Whether an axis is there twice.
fn is_repeated(axes: &[AxisId]) -> bool {
    (1..axes.len()).any(|i| axes[..i].contains(&axes[i]))
}

/// Whether numbers are the distances between thresholds; their sum may be rounded.
fn are_gaps(numbers: &[f64], count: usize) -> bool {
    numbers.len() == count && numbers.iter().all(|gap| (0.0..=1.0 + 1e-9).contains(gap))
}

fn is_slope(log: &[f64]) -> bool {
    matches!(log, [log] if log.exp().is_finite() && log.exp() > 0.0)
}
