//! Equal functions: variables that are defined by the same function of the same variables.

use std::collections::HashMap;

use crate::compile::factor::Factor;
use crate::compile::simplify::classes::Classes;
use crate::compile::simplify::draft::Draft;
use crate::compile::simplify::reduce::without_idle_axes;
use crate::compile::simplify::substitute::{Substitution, Value};
use crate::vars::VarId;

/// A function up to the names of its values: its arguments, and for each of their joint states the
/// number of its value, in order of appearance.
type Key = (Vec<VarId>, Vec<Option<usize>>);

/// Classes of variables with equal functions, and of functions that only rename the values of
/// their argument. None if there are no such variables.
pub(super) fn equal(draft: &Draft) -> Option<Classes> {
    let mut merging = Merging {
        cards: &draft.cards,
        stands: Substitution::identity(&draft.cards),
        known: HashMap::new(),
        classes: Classes::new(draft.cards.len()),
        found: false,
    };
    for (v, factor) in draft.functions() {
        merging.add(v, &draft.factors[factor].table);
    }
    merging.found.then_some(merging.classes)
}

struct Merging<'a> {
    cards: &'a [usize],
    /// The replacement of each variable so far.
    stands: Substitution,
    /// For each function, its variable and the value for each number.
    known: HashMap<Key, (VarId, Vec<usize>)>,
    classes: Classes,
    found: bool,
}

impl Merging<'_> {
    /// Adds a function; its arguments have been added before.
    fn add(&mut self, v: VarId, table: &Factor) {
        let (table, _) = self.stands.apply(table, self.cards);
        let table = without_idle_axes(table, self.cards);
        let Some((key, values)) = numbered(&table, v, self.cards) else {
            return;
        };
        if let Some(renamed) = renamed(&key, &values, self.cards) {
            self.join(v, key.0[0], renamed);
        } else if let Some((other, others)) = self.known.get(&key) {
            let mut of_other = vec![0; values.len()];
            others
                .iter()
                .zip(&values)
                .for_each(|(&o, &value)| of_other[o] = value);
            self.join(v, *other, of_other);
        } else {
            self.known.insert(key, (v, values));
        }
    }

    /// Lets another variable stand for v, which has the given value for each of its values.
    fn join(&mut self, v: VarId, other: VarId, values: Vec<usize>) {
        let pairs: Vec<(usize, usize)> = values
            .iter()
            .enumerate()
            .map(|(o, &value)| (value, o))
            .collect();
        self.classes.join(v, other, self.cards[v.index()], &pairs);
        self.stands.0[v.index()] = Value::Of(other, values);
        self.found = true;
    }
}

/// The key of a function, and its values in order of appearance; none if not all of them appear.
fn numbered(table: &Factor, v: VarId, cards: &[usize]) -> Option<(Key, Vec<usize>)> {
    let axis = table.scope.iter().position(|u| *u == v)?;
    let inner: usize = table.scope[axis + 1..]
        .iter()
        .map(|u| cards[u.index()])
        .product();
    let card = cards[v.index()];
    let mut values: Vec<usize> = vec![];
    let mut numbers = vec![];
    for block in table.values.chunks_exact(card * inner) {
        for i in 0..inner {
            let value = (0..card).find(|k| block[k * inner + i] > 0.0);
            numbers.push(value.map(|value| number(&mut values, value)));
        }
    }
    let arguments = table.scope.iter().copied().filter(|u| *u != v).collect();
    (values.len() == card).then_some(((arguments, numbers), values))
}

/// The number of a value, which is the next one if it has not appeared before.
fn number(values: &mut Vec<usize>, value: usize) -> usize {
    let known = values.iter().position(|&other| other == value);
    known.unwrap_or_else(|| {
        values.push(value);
        values.len() - 1
    })
}

/// For each value of a single argument the function's, if no two are the same.
fn renamed(key: &Key, values: &[usize], cards: &[usize]) -> Option<Vec<usize>> {
    let [argument] = key.0[..] else {
        return None;
    };
    let is_bijection = cards[argument.index()] == values.len() && key.1.iter().all(Option::is_some);
    is_bijection.then(|| {
        key.1
            .iter()
            .flatten()
            .map(|&number| values[number])
            .collect()
    })
}
