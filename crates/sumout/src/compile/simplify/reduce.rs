//! Smaller factors, and fewer of them, with the same product.

use std::collections::HashMap;

use crate::compile::factor::Factor;
use crate::compile::simplify::draft::{Draft, Part};
use crate::vars::VarId;

/// Sums of rows that differ by no more than this are taken to be equal.
const ROUNDING: f64 = 1e-12;

/// Factors are multiplied into factors of at most this many entries.
const MAX_PRODUCT: usize = 1 << 12;

/// Removes axes that do not matter, factors that are one, and conditional distributions of
/// variables that nothing else mentions. None if the product of all factors is zero.
pub(super) fn reduce(draft: &mut Draft) -> Option<()> {
    let mut reducing = Reducing::new(draft);
    reducing.drop_idle_axes();
    reducing.drop_repeated();
    if !reducing.draft.explain {
        reducing.drop_distributions(|_, _| ());
    }
    reducing.account_for_lost();
    (!reducing.scale.contains(&0.0)).then_some(())
}

/// Drops conditional distributions: for each variable, the others of the one that was its own. None
/// if the product of all factors is zero.
pub(super) fn distributions(draft: &mut Draft) -> Option<Vec<Option<Vec<VarId>>>> {
    let mut parents = vec![None; draft.cards.len()];
    let mut reducing = Reducing::new(draft);
    reducing.drop_idle_axes();
    reducing.drop_distributions(|v, axes| {
        parents[v.index()] = Some(axes.iter().copied().filter(|u| *u != v).collect());
    });
    (!reducing.scale.contains(&0.0)).then_some(parents)
}

/// Multiplies factors into those that have all of their variables.
pub(super) fn multiply_contained(draft: &mut Draft) {
    Reducing::new(draft).multiply_contained();
}

struct Reducing<'a> {
    draft: &'a mut Draft,
    /// The variables that factors mentioned at first, and that are not summed out since.
    was_mentioned: Vec<bool>,
    /// The product of all factors that became numbers, as a product of numbers that are neither
    /// very small nor very large.
    scale: Vec<f64>,
}

/// Products that are farther from one than this, or its reciprocal, are not formed.
const MAX_SCALE: f64 = 1e150;

fn is_moderate(x: f64) -> bool {
    (MAX_SCALE.recip()..=MAX_SCALE).contains(&x)
}

impl<'a> Reducing<'a> {
    fn new(draft: &'a mut Draft) -> Self {
        Reducing {
            was_mentioned: mentions(draft).iter().map(|&count| count > 0).collect(),
            scale: vec![1.0],
            draft,
        }
    }

    /// A distribution of a single variable stays, even if it is uniform.
    fn drop_idle_axes(&mut self) {
        let cards = self.draft.cards.clone();
        let is_wide = |part: &&mut Part| part.is_plain() && part.table.scope.len() > 1;
        for part in self.draft.factors.iter_mut().filter(is_wide) {
            let axes = std::mem::take(&mut part.table.scope);
            let values = std::mem::take(&mut part.table.values);
            part.table = without_idle_axes(
                Factor {
                    scope: axes,
                    values,
                },
                &cards,
            );
            let defined = part.defines.filter(|v| part.table.scope.contains(v));
            part.defines = defined;
        }
        self.collect_numbers();
    }

    /// Takes factors without axes into the scale.
    fn collect_numbers(&mut self) {
        let is_number = |part: &Part| part.is_plain() && part.table.scope.is_empty();
        let (numbers, rest) = std::mem::take(&mut self.draft.factors)
            .into_iter()
            .partition(is_number);
        self.draft.factors = rest;
        let numbers: Vec<Part> = numbers;
        numbers
            .iter()
            .for_each(|part| self.scale(part.table.values[0]));
    }

    /// Multiplies the whole product by a number.
    fn scale(&mut self, x: f64) {
        match self.scale.last_mut() {
            Some(last) if is_moderate(*last * x) => *last *= x,
            _ => self.scale.push(x),
        }
    }

    /// Of equal factors of zeros and ones, one is enough.
    fn drop_repeated(&mut self) {
        let mut seen: HashMap<(Vec<VarId>, Vec<bool>), usize> = HashMap::new();
        let mut kept: Vec<Part> = vec![];
        for part in std::mem::take(&mut self.draft.factors) {
            let is_binary = part.table.values.iter().all(|&p| p == 0.0 || p == 1.0);
            if !part.is_plain() || !is_binary {
                kept.push(part);
                continue;
            }
            let bits = part.table.values.iter().map(|&p| p > 0.0).collect();
            let at = *seen
                .entry((part.table.scope.clone(), bits))
                .or_insert(kept.len());
            match kept.get_mut(at) {
                Some(same) => same.defines = same.defines.or(part.defines),
                None => kept.push(part),
            }
        }
        self.draft.factors = kept;
    }

    /// Drops factors that sum to the same number over a variable that no other one mentions.
    /// The variable of each, and the axes of the factor, are told to `note`.
    fn drop_distributions(&mut self, mut note: impl FnMut(VarId, &[VarId])) {
        let mut count = mentions(self.draft);
        let mut is_dropped = vec![false; self.draft.factors.len()];
        let mut holders: Vec<Vec<usize>> = vec![vec![]; count.len()];
        for (index, part) in self.draft.factors.iter().enumerate() {
            let axes = part.table.scope.iter();
            axes.for_each(|v| holders[v.index()].push(index));
        }
        let mut waiting: Vec<usize> = (0..count.len()).rev().filter(|&v| count[v] == 1).collect();
        while let Some(v) = waiting.pop() {
            let holder = holders[v].iter().copied().find(|&f| !is_dropped[f]);
            let Some(factor) = holder.filter(|_| !self.draft.is_kept[v]) else {
                continue;
            };
            let part = &self.draft.factors[factor];
            let sum = constant_sum(&part.table, VarId::new(v), &self.draft.cards);
            let Some(sum) = sum.filter(|_| part.is_plain()) else {
                continue;
            };
            self.was_mentioned[v] = false;
            is_dropped[factor] = true;
            note(VarId::new(v), &part.table.scope);
            for u in &part.table.scope {
                count[u.index()] -= 1;
                if count[u.index()] == 1 {
                    waiting.push(u.index());
                }
            }
            self.scale(sum);
        }
        let mut flags = is_dropped.into_iter();
        let factors = &mut self.draft.factors;
        factors.retain(|_| !flags.next().unwrap_or(false));
    }

    /// Multiplies factors into others that have all of their variables. Functions stay by
    /// themselves.
    fn multiply_contained(&mut self) {
        let is_free = |part: &Part| part.is_plain() && part.defines.is_none();
        let factors = &self.draft.factors;
        let mut holders: Vec<Vec<usize>> = vec![vec![]; self.draft.cards.len()];
        for (index, part) in factors.iter().enumerate().filter(|(_, part)| is_free(part)) {
            let axes = part.table.scope.iter();
            axes.for_each(|v| holders[v.index()].push(index));
        }
        let mut order: Vec<usize> = (0..factors.len())
            .filter(|&f| is_free(&factors[f]))
            .collect();
        order.sort_by_key(|&f| factors[f].table.scope.len());
        let mut is_gone = vec![false; factors.len()];
        for small in order {
            if let Some(large) = self.container(small, &holders, &is_gone) {
                let table = &self.draft.factors[small].table;
                let product = product(&self.draft.factors[large].table, table, &self.draft.cards);
                is_gone[small] = product.is_some();
                product
                    .into_iter()
                    .for_each(|values| self.draft.factors[large].table.values = values);
            }
        }
        let mut flags = is_gone.into_iter();
        let factors = &mut self.draft.factors;
        factors.retain(|_| !flags.next().unwrap_or(false));
    }

    /// The smallest factor that contains another one's variables.
    fn container(&self, small: usize, holders: &[Vec<usize>], is_gone: &[bool]) -> Option<usize> {
        let table = |f: usize| &self.draft.factors[f].table;
        let axes = &table(small).scope;
        let rarest = axes.iter().min_by_key(|v| holders[v.index()].len())?;
        let contains = |large: &usize| {
            *large != small
                && !is_gone[*large]
                && table(*large).values.len() <= MAX_PRODUCT
                && axes.iter().all(|v| table(*large).scope.contains(v))
        };
        let all = holders[rarest.index()].iter().copied().filter(contains);
        all.min_by_key(|&large| (table(large).values.len(), large))
    }

    /// Variables that no factor mentions any more still count once for each of their values, and
    /// those that must stay need a factor.
    fn account_for_lost(&mut self) {
        let count = mentions(self.draft);
        let lost = (0..count.len()).filter(|&v| self.was_mentioned[v] && count[v] == 0);
        for v in lost.collect::<Vec<usize>>() {
            let card = self.draft.cards[v];
            if self.draft.is_kept[v] {
                self.draft.factors.push(Part::plain(Factor {
                    scope: vec![VarId::new(v)],
                    values: vec![1.0; card],
                }));
            } else {
                self.scale(card as f64);
            }
        }
        let numbers = self.scale.iter().filter(|&&x| x != 1.0).map(|&x| Factor {
            scope: vec![],
            values: vec![x],
        });
        self.draft.factors.extend(numbers.map(Part::plain));
    }
}

/// How many factors mention each variable.
fn mentions(draft: &Draft) -> Vec<usize> {
    let mut count = vec![0; draft.cards.len()];
    let axes = draft.factors.iter().flat_map(|part| &part.table.scope);
    axes.for_each(|v| count[v.index()] += 1);
    count
}

/// The table without the axes on which it does not depend.
pub(super) fn without_idle_axes(mut table: Factor, cards: &[usize]) -> Factor {
    let mut axis = 0;
    while axis < table.scope.len() {
        let inner: usize = table.scope[axis + 1..]
            .iter()
            .map(|v| cards[v.index()])
            .product();
        let block = cards[table.scope[axis].index()] * inner;
        let is_idle = |b: &[f64]| b.chunks_exact(inner).all(|row| row == &b[..inner]);
        if table.values.chunks_exact(block).all(is_idle) {
            let blocks = table.values.chunks_exact(block);
            table.values = blocks.flat_map(|b| b[..inner].to_vec()).collect();
            table.scope.remove(axis);
        } else {
            axis += 1;
        }
    }
    table
}

/// The sum of a table over a variable, if it is the same for all states of the others.
fn constant_sum(table: &Factor, v: VarId, cards: &[usize]) -> Option<f64> {
    let axis = table.scope.iter().position(|u| *u == v)?;
    let inner: usize = table.scope[axis + 1..]
        .iter()
        .map(|u| cards[u.index()])
        .product();
    let card = cards[v.index()];
    let sum = |block: &[f64], i: usize| (0..card).map(|k| block[k * inner + i]).sum::<f64>();
    let first = sum(&table.values, 0);
    let is_first = |s: f64| (s - first).abs() <= ROUNDING * first;
    let mut blocks = table.values.chunks_exact(card * inner);
    let is_constant = blocks.all(|block| (0..inner).all(|i| is_first(sum(block, i))));
    (is_constant && first > 0.0).then_some(first)
}

/// The product of a table with one over some of its variables; none if a number would be very
/// small or very large.
fn product(large: &Factor, small: &Factor, cards: &[usize]) -> Option<Vec<f64>> {
    let stride = |v: &VarId| {
        let at = small.scope.iter().position(|u| u == v);
        let inner = |at: usize| {
            small.scope[at + 1..]
                .iter()
                .map(|u| cards[u.index()])
                .product()
        };
        at.map_or(0, inner)
    };
    let places = large.scope.iter().fold(vec![0usize], |places, v| {
        let (stride, card) = (stride(v), cards[v.index()]);
        let next = places
            .iter()
            .flat_map(|at| (0..card).map(move |i| at + i * stride));
        next.collect()
    });
    let factors = large.values.iter().zip(places);
    let product = |(x, place): (&f64, usize)| {
        let y = small.values[place];
        (*x == 0.0 || y == 0.0 || is_moderate(x * y)).then_some(x * y)
    };
    factors.map(product).collect()
}
