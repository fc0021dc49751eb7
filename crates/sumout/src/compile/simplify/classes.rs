//! Classes of variables that determine one another, each with a bijection between their values.

use crate::vars::VarId;

/// Which variables are one and the same up to the names of their values.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    /// For each variable that belongs to another one's class: that variable, and for each of its
    /// own values the other's.
    links: Vec<Option<Link>>,
}

#[derive(Clone, Debug)]
struct Link {
    to: VarId,
    /// None where the value has no partner: it is impossible.
    values: Vec<Option<usize>>,
}

impl Classes {
    /// Every variable by itself.
    pub fn new(variables: usize) -> Self {
        Classes {
            links: vec![None; variables],
        }
    }

    /// The variable that stands for a variable's class.
    pub fn root(&self, mut v: VarId) -> VarId {
        while let Some(link) = &self.links[v.index()] {
            v = link.to;
        }
        v
    }

    /// The value of the variable that stands for the class, if `v` has this one.
    pub fn value(&self, mut v: VarId, mut value: usize) -> Option<usize> {
        while let Some(link) = &self.links[v.index()] {
            value = link.values[value]?;
            v = link.to;
        }
        Some(value)
    }

    /// Joins the classes of two variables, given the pairs of values that go together; `to` stands
    /// for both.
    pub fn join(&mut self, from: VarId, to: VarId, card: usize, pairs: &[(usize, usize)]) {
        let (from_root, to_root) = (self.root(from), self.root(to));
        if from_root == to_root {
            return;
        }
        let mut values = vec![None; card];
        for &(a, b) in pairs {
            if let (Some(a), Some(b)) = (self.value(from, a), self.value(to, b)) {
                values[a] = Some(b);
            }
        }
        self.links[from_root.index()] = Some(Link {
            to: to_root,
            values,
        });
    }
}
