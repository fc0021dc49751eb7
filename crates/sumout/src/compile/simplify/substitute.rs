//! Variables replaced by what stands for them, in tables and in answers.

use crate::compile::factor::Factor;
use crate::compile::simplify::classes::Classes;
use crate::compile::simplify::relations::{Mask, values};
use crate::vars::VarId;

/// The value of a variable, by what stands for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Always this one.
    Constant(usize),
    /// One for each value of a variable, which may be itself. No two are the same.
    Of(VarId, Vec<usize>),
}

impl Value {
    /// The number of values that are left.
    pub fn count(&self) -> usize {
        match self {
            Value::Constant(_) => 1,
            Value::Of(_, values) => values.len(),
        }
    }

    /// The variable that stands for it.
    pub fn root(&self) -> Option<VarId> {
        match self {
            Value::Constant(_) => None,
            Value::Of(root, _) => Some(*root),
        }
    }

    /// The same after a second substitution.
    fn then(&self, next: &[Value]) -> Value {
        match self {
            Value::Constant(value) => Value::Constant(*value),
            Value::Of(root, values) => match &next[root.index()] {
                Value::Constant(at) => Value::Constant(values[*at]),
                Value::Of(root, at) => Value::Of(*root, at.iter().map(|&i| values[i]).collect()),
            },
        }
    }
}

/// A value for each variable.
#[derive(Clone, Debug)]
pub(super) struct Substitution(pub Vec<Value>);

impl Substitution {
    /// Every variable stands for itself.
    pub fn identity(cards: &[usize]) -> Self {
        let own = |(v, &card): (usize, &usize)| match card {
            1 => Value::Constant(0),
            _ => Value::Of(VarId::new(v), (0..card).collect()),
        };
        Substitution(cards.iter().enumerate().map(own).collect())
    }

    /// Classes stand for their members, on the values that are left. Of each class, the variable
    /// with the smallest rank stands for it. None if a class has no value left.
    pub fn new(
        classes: &Classes,
        cards: &[usize],
        domain: impl Fn(usize) -> Mask,
        rank: impl Fn(VarId) -> usize,
    ) -> Option<Self> {
        let mut members: Vec<Vec<VarId>> = vec![vec![]; cards.len()];
        for v in (0..cards.len()).map(VarId::new) {
            members[classes.root(v).index()].push(v);
        }
        let mut found = Self::identity(cards);
        for class in members.iter().filter(|class| !class.is_empty()) {
            let columns = columns(classes, cards, &domain, class)?;
            let root = (0..class.len()).min_by_key(|&i| (rank(class[i]), class[i]))?;
            found.stand_for(class, columns, root);
        }
        Some(found)
    }

    /// Sets the values of a class, given as columns; those of its root come in order.
    fn stand_for(&mut self, class: &[VarId], columns: Vec<Vec<usize>>, root: usize) {
        let mut order: Vec<usize> = (0..columns[root].len()).collect();
        order.sort_by_key(|&i| columns[root][i]);
        for (member, column) in class.iter().zip(&columns) {
            self.0[member.index()] = match &order[..] {
                [one] => Value::Constant(column[*one]),
                _ => Value::Of(class[root], order.iter().map(|&i| column[i]).collect()),
            };
        }
    }

    /// Both, one after the other.
    pub fn then(&self, next: &Substitution) -> Self {
        Substitution(self.0.iter().map(|value| value.then(&next.0)).collect())
    }

    /// The number of values left of each variable.
    pub fn cards(&self) -> Vec<usize> {
        self.0.iter().map(Value::count).collect()
    }

    /// A table over the variables that stand for its own, with the place that each number comes
    /// from. Axes are in the order of their last use.
    pub fn apply(&self, table: &Factor, cards: &[usize]) -> (Factor, Vec<usize>) {
        let mut axes: Vec<VarId> = vec![];
        for root in table.scope.iter().filter_map(|v| self.0[v.index()].root()) {
            axes.retain(|axis| *axis != root);
            axes.push(root);
        }
        let places = self.places(table, cards, &axes);
        let values = places.iter().map(|&place| table.values[place]).collect();
        (
            Factor {
                scope: axes,
                values,
            },
            places,
        )
    }

    /// For each joint state of some axes, the place in a table.
    fn places(&self, table: &Factor, cards: &[usize], axes: &[VarId]) -> Vec<usize> {
        let mut stride = 1;
        let mut steps: Vec<Vec<usize>> = axes
            .iter()
            .map(|v| vec![0; self.0[v.index()].count()])
            .collect();
        let mut start = 0;
        for v in table.scope.iter().rev() {
            match &self.0[v.index()] {
                Value::Constant(value) => start += value * stride,
                Value::Of(root, values) => {
                    let at = axes.iter().position(|axis| axis == root).unwrap_or(0);
                    let steps = steps[at].iter_mut().zip(values);
                    steps.for_each(|(step, value)| *step += value * stride);
                }
            }
            stride *= cards[v.index()];
        }
        steps.iter().fold(vec![start], |places, steps| {
            let next = places
                .iter()
                .flat_map(|at| steps.iter().map(move |s| at + s));
            next.collect()
        })
    }
}

/// The joint values that the members of a class may have: a column for each member.
fn columns(
    classes: &Classes,
    cards: &[usize],
    domain: &impl Fn(usize) -> Mask,
    class: &[VarId],
) -> Option<Vec<Vec<usize>>> {
    let root = classes.root(class[0]);
    let mut partners: Vec<Vec<Option<usize>>> = vec![];
    for &v in class {
        let mut column = vec![None; cards[root.index()]];
        for value in left(cards[v.index()], domain(v.index())) {
            if let Some(at) = classes.value(v, value) {
                column[at] = Some(value);
            }
        }
        partners.push(column);
    }
    let is_left = |at: &usize| partners.iter().all(|column| column[*at].is_some());
    let rows: Vec<usize> = (0..cards[root.index()]).filter(is_left).collect();
    if rows.is_empty() {
        return None;
    }
    let column = |c: &Vec<Option<usize>>| rows.iter().filter_map(|&at| c[at]).collect();
    Some(partners.iter().map(column).collect())
}

/// The values in a domain; all of a variable with more than a mask has bits.
fn left(card: usize, domain: Mask) -> Vec<usize> {
    if card > Mask::BITS as usize {
        (0..card).collect()
    } else {
        values(domain).filter(|&value| value < card).collect()
    }
}
