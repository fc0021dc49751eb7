//! A testing network as an ordinary one, with one CPT for each test that differs between examples.
//!
//! For a tested variable X with parents U there are three more variables. The *selector* S has the
//! copies as values and U as parents, and X has S as an additional parent: the CPT of X is then all
//! copies together, one for each value of S, an ordinary table. What the test decides is the CPT of
//! S: P(s | u) is how much of copy s the row u is made of. It is given for each example, as the
//! likelihood of the *input*, which has a value for each entry of that CPT. The *family* is a
//! function of U with a value for each of its joint states, and its posterior is what is tested.
//!
//! The variables of the network keep their ids; the new ones come behind them. Until a test has
//! decided, the CPT of S holds the gaps between its thresholds.

use std::sync::Arc;

use crate::model::cpt::{Body, Cpt, Role, as_function};
use crate::model::network::{Network, Variable};
use crate::model::selection::{Selection, Test};
use crate::vars::{VarId, VarSet};

/// The ordinary network, and its tests, each behind those that it depends on.
#[derive(Clone, Debug)]
pub(crate) struct Expanded {
    pub net: Network,
    pub tests: Vec<Testing>,
}

/// A test, and the variables that it added.
#[derive(Clone, Debug)]
pub(crate) struct Testing {
    pub tested: VarId,
    pub selector: VarId,
    pub input: VarId,
    pub family: VarId,
    /// The variables whose evidence is seen.
    pub sees: VarSet,
    pub test: Test,
    pub is_fixed: bool,
    pub tie: Option<String>,
}

impl Network {
    /// The network with explicit selectors; none if nothing is tested.
    pub(crate) fn expanded(&self) -> Option<Expanded> {
        let mut net = self.clone();
        let mut tests = vec![];
        for tested in self.ids().filter(|v| self.cpt_is_tested(*v)) {
            tests.push(net.expand(self, tested));
        }
        (!tests.is_empty()).then_some(Expanded { net, tests })
    }

    fn cpt_is_tested(&self, v: VarId) -> bool {
        self.cpts
            .get(v.index())
            .is_some_and(|cpt| cpt.tested().is_some())
    }

    /// The ordinary network that some weights of copies make, for each tested variable.
    pub(crate) fn with_selected<'w>(
        &self,
        weights: impl IntoIterator<Item = (VarId, &'w [f64])>,
    ) -> Network {
        let mut net = self.clone();
        for (tested, weights) in weights {
            let card = self.card(tested);
            let cpt = &mut net.cpts[tested.index()];
            if let Body::Tested(it) = &cpt.body {
                let table = it.mixed(weights);
                cpt.body = as_function(&table, card).map_or(Body::Table(table), Body::Function);
            }
        }
        net
    }

    /// The same network with other gaps between the thresholds of some tests, and other free
    /// numbers.
    pub(crate) fn with_tests<'t>(
        &self,
        tests: impl IntoIterator<Item = (VarId, &'t Test)>,
    ) -> Network {
        let mut net = self.clone();
        for (tested, test) in tests {
            if let Body::Tested(it) = &mut net.cpts[tested.index()].body {
                it.test = test.clone();
            }
        }
        net
    }

    /// Adds the variables of a test.
    fn expand(&mut self, original: &Network, tested: VarId) -> Testing {
        let cpt = self.cpts[tested.index()].clone();
        let Some(it) = cpt.tested() else {
            unreachable!("only tested variables are expanded")
        };
        let name = self.variable(tested).name.clone();
        let (parents, rows, copies) = (
            cpt.parents().to_vec(),
            it.rows(self.card(tested)),
            it.test.copies,
        );
        let family = |own: VarId| parents.iter().copied().chain([own]).collect::<Vec<VarId>>();
        let selector = self.hide(format!("{name}?"), copies);
        let role = Role {
            functional: it.test.selection.is_hard(),
            ..Role::default()
        };
        self.cpts.push(ordinary(
            family(selector),
            Body::Table(it.test.gaps(rows)),
            role,
        ));
        let input = self.hide(format!("{name}? given"), rows * copies);
        self.cpts.push(ordinary(
            vec![input],
            Body::Table(vec![1.0 / (rows * copies) as f64; rows * copies]),
            Role::default(),
        ));
        let joint = self.hide(format!("{name}? parents"), rows);
        self.cpts.push(ordinary(
            family(joint),
            Body::Function((0..rows as u32).collect()),
            Role::default(),
        ));
        let scope = [selector]
            .into_iter()
            .chain(cpt.scope().iter().copied())
            .collect();
        let body = as_function(&it.table, self.card(tested))
            .map_or_else(|| Body::Table(it.table.clone()), Body::Function);
        self.cpts[tested.index()] = Cpt {
            parts: it.roles.clone(),
            ..ordinary(scope, body, cpt.role.clone())
        };
        Testing {
            tested,
            selector,
            input,
            family: joint,
            sees: original.seen_by(tested),
            test: it.test.clone(),
            is_fixed: it.is_fixed,
            tie: it.tie.clone(),
        }
    }

    /// Lets the likelihood of a test's family stand for all that is before its parents, which
    /// become functions of the family. It has the values that the domains of the parents allow.
    pub(crate) fn sum_up(&mut self, testing: &Testing, domains: &[Vec<usize>]) {
        let Testing {
            tested,
            selector,
            family,
            ..
        } = *testing;
        let parents = self.parents(family).to_vec();
        let mut ones = vec![1.0; self.card(family)];
        let mut below = ones.len();
        for &parent in &parents {
            let card = self.card(parent);
            below /= card;
            let values: Vec<u32> = (0..ones.len())
                .map(|joint| (joint / below % card) as u32)
                .collect();
            let is_possible = |value: u32| domains[parent.index()].contains(&(value as usize));
            ones.iter_mut()
                .zip(&values)
                .filter(|(_, value)| !is_possible(**value))
                .for_each(|(one, _)| *one = 0.0);
            self.cpts[parent.index()] = ordinary(
                vec![family, parent],
                Body::Function(values),
                Role::default(),
            );
        }
        self.cpts[family.index()] = ordinary(vec![family], Body::Table(ones), Role::default());
        self.cpts[selector.index()].scope = vec![family, selector];
        self.cpts[tested.index()].scope = vec![selector, family, tested];
    }

    /// Adds a variable that cannot be found by its name.
    fn hide(&mut self, name: String, card: usize) -> VarId {
        Arc::make_mut(&mut self.variables).push(Variable {
            name,
            values: (0..card).map(|value| value.to_string()).collect(),
        });
        VarId::new(self.variables.len() - 1)
    }
}

fn ordinary(scope: Vec<VarId>, body: Body, role: Role) -> Cpt {
    Cpt {
        scope,
        is_potential: false,
        body,
        role,
        parts: vec![],
    }
}

impl Testing {
    /// The variables whose evidence decides by itself, without a posterior.
    pub fn by_evidence(&self) -> Option<&[VarId]> {
        match &self.test.selection {
            Selection::Softmax { of, .. } => Some(of),
            _ => None,
        }
    }
}
