//! Decision diagrams: functions of variables that are asked in a fixed order.
//!
//! A diagram is a value, or a variable with a diagram for each of its values. Equal diagrams are
//! one, and none asks a variable whose answer does not matter: functions are equal if and only if
//! their diagrams are.

use rustc_hash::FxHashMap;

use crate::compile::logic::components::hash;
use crate::compile::logic::search::Exhausted;
use crate::control::Control;

/// A diagram; those that it leads to have smaller numbers. The first ones are values.
pub(super) type DiagramId = u32;

/// The diagrams below this number are values.
pub(super) const VALUES: DiagramId = 64;

/// Cases that are decided between two questions whether to go on.
const CASES_TO_ASK: usize = 1 << 12;

/// The results that are remembered at first; as many as there are diagrams later.
const MIN_REMEMBERED: usize = 1 << 10;

/// All diagrams over some variables.
#[derive(Debug)]
pub(super) struct Diagrams {
    /// The number of values of the variable of each level.
    cards: Vec<usize>,
    /// The level of each diagram; values are below all levels.
    levels: Vec<u32>,
    starts: Vec<u32>,
    children: Vec<DiagramId>,
    known: FxHashMap<u128, DiagramId>,
    /// Results by their keys; a later one takes the place of an earlier one.
    remembered: Vec<(u128, DiagramId)>,
    /// The operands of the cases that are being decided.
    operands: Vec<DiagramId>,
    /// The cases that were decided, and how many may be.
    cases: usize,
    most: usize,
    control: Control,
}

impl Diagrams {
    /// Nothing but values.
    pub fn new(cards: Vec<usize>, most: usize, control: &Control) -> Self {
        Diagrams {
            levels: vec![cards.len() as u32; VALUES as usize],
            cards,
            starts: vec![0; VALUES as usize + 1],
            children: vec![],
            known: FxHashMap::default(),
            remembered: vec![(0, 0); MIN_REMEMBERED],
            operands: vec![],
            cases: 0,
            most,
            control: control.clone(),
        }
    }

    /// The number of diagrams.
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// The level of the variable that a diagram asks first; below all for values.
    pub fn level(&self, id: DiagramId) -> usize {
        self.levels[id as usize] as usize
    }

    /// The diagrams for the values of the variable that is asked first.
    pub fn children(&self, id: DiagramId) -> &[DiagramId] {
        let at = id as usize;
        &self.children[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The value of the variable of a level.
    pub fn variable(&mut self, level: usize) -> DiagramId {
        let from = self.operands.len();
        self.operands.extend(0..self.cards[level] as DiagramId);
        let id = self.node(level as u32, from);
        self.operands.truncate(from);
        id
    }

    /// The diagram of a table, the last argument fastest.
    pub fn compose(
        &mut self,
        arguments: &[(DiagramId, usize)],
        mut table: Vec<DiagramId>,
    ) -> Result<DiagramId, Exhausted> {
        for &(argument, card) in arguments.iter().rev() {
            let rows = table.chunks_exact(card);
            let next = rows.map(|row| self.case(argument, row));
            table = next.collect::<Result<_, _>>()?;
        }
        Ok(table[0])
    }

    /// The diagram that the value of another one chooses.
    pub fn case(&mut self, of: DiagramId, choices: &[DiagramId]) -> Result<DiagramId, Exhausted> {
        let from = self.operands.len();
        self.operands.extend_from_slice(choices);
        let result = self.decide(of, from);
        self.operands.truncate(from);
        result
    }

    /// The same for the operands from a place on. Leaves the operands as they are.
    fn decide(&mut self, of: DiagramId, from: usize) -> Result<DiagramId, Exhausted> {
        if let Some(known) = self.obvious(of, from) {
            return Ok(known);
        }
        let key = self.operands[from..].iter().fold(hash(of.into()), mix);
        let (remembered, result) = self.remembered[key as usize % self.remembered.len()];
        if remembered == key {
            return Ok(result);
        }
        self.count()?;
        let result = self.split(of, from)?;
        let place = key as usize % self.remembered.len();
        self.remembered[place] = (key, result);
        Ok(result)
    }

    /// Asks the first variable that any operand asks.
    fn split(&mut self, of: DiagramId, from: usize) -> Result<DiagramId, Exhausted> {
        let to = self.operands.len();
        let levels = self.operands[from..].iter().map(|&id| self.level(id));
        let level = levels.fold(self.level(of), usize::min);
        for value in 0..self.cards[level] {
            let start = self.operands.len();
            for at in from..to {
                let next = self.given(self.operands[at], level, value);
                self.operands.push(next);
            }
            let child = self.decide(self.given(of, level, value), start)?;
            self.operands.truncate(start);
            self.operands.push(child);
        }
        let result = self.node(level as u32, to);
        self.operands.truncate(to);
        Ok(result)
    }

    fn obvious(&self, of: DiagramId, from: usize) -> Option<DiagramId> {
        let choices = &self.operands[from..];
        let is_same = choices.iter().all(|&choice| choice == choices[0]);
        let is_identity = || (0..).zip(choices).all(|(value, &choice)| choice == value);
        if of < VALUES {
            Some(choices[of as usize])
        } else if is_same {
            Some(choices[0])
        } else {
            is_identity().then_some(of)
        }
    }

    /// The diagram if the variable of a level, or one below, has a value.
    fn given(&self, id: DiagramId, level: usize, value: usize) -> DiagramId {
        if self.level(id) == level {
            self.children[self.starts[id as usize] as usize + value]
        } else {
            id
        }
    }

    /// The diagram with the operands from a place on for children.
    fn node(&mut self, level: u32, from: usize) -> DiagramId {
        let children = &self.operands[from..];
        if children.iter().all(|&child| child == children[0]) {
            return children[0];
        }
        let key = children.iter().fold(hash(u64::from(level) << 32), mix);
        let next = self.levels.len() as DiagramId;
        let id = *self.known.entry(key).or_insert(next);
        if id == next {
            self.levels.push(level);
            self.children.extend_from_slice(&self.operands[from..]);
            self.starts.push(self.children.len() as u32);
        }
        id
    }

    /// Counts a case; the results that are remembered grow with the diagrams.
    fn count(&mut self) -> Result<(), Exhausted> {
        self.cases += 1;
        if self.len() > self.remembered.len() {
            let old = std::mem::take(&mut self.remembered);
            self.remembered = vec![(0, 0); 4 * old.len()];
            for (key, result) in old {
                let place = key as usize % self.remembered.len();
                self.remembered[place] = (key, result);
            }
        }
        let is_asked = self.cases.is_multiple_of(CASES_TO_ASK);
        if self.cases > self.most || (is_asked && self.control.is_stopped()) {
            return Err(Exhausted);
        }
        Ok(())
    }
}

/// The key of a sequence with one more element.
fn mix(key: u128, &next: &DiagramId) -> u128 {
    hash(key as u64 ^ u64::from(next)) ^ key.rotate_left(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagrams(cards: &[usize]) -> (Diagrams, Vec<DiagramId>) {
        let mut all = Diagrams::new(cards.to_vec(), 1000, &Control::default());
        let variables = (0..cards.len()).map(|level| all.variable(level)).collect();
        (all, variables)
    }

    /// x + y mod 3, in both orders, and minus y again.
    #[test]
    fn equal_functions_have_equal_diagrams() {
        let (mut all, vars) = diagrams(&[3, 3]);
        let (x, y) = ((vars[0], 3), (vars[1], 3));
        let sum: Vec<u32> = (0..9).map(|i| (i / 3 + i % 3) % 3).collect();
        let a = all.compose(&[x, y], sum.clone()).unwrap();
        let b = all.compose(&[y, x], sum).unwrap();
        assert_eq!(a, b);
        let minus = (0..9).map(|i| (i / 3 + 3 - i % 3) % 3).collect();
        assert_eq!(all.compose(&[(a, 3), y], minus).unwrap(), vars[0]);
    }

    #[test]
    fn work_is_limited() {
        let (mut all, vars) = diagrams(&[2; 12]);
        all.most = 5;
        let arguments: Vec<_> = vars.iter().map(|&id| (id, 2)).collect();
        let parity = (0..1u32 << 12).map(|i| i.count_ones() % 2).collect();
        assert!(all.compose(&arguments, parity).is_err());
    }
}
