//! A testing network as a model of ordinary factors, with one CPT for each selection that differs
//! between examples.
//!
//! For a selected variable X with parents U there are three more variables. The *selector* S has
//! the copies as values and U as parents, and X has S as an additional parent: the CPT of X is then
//! all copies together, one for each value of S, an ordinary table. The test decides the CPT of S:
//! P(s | u) is how much of copy s the row u is made of. It is given for each example, as the
//! likelihood of the *input*, which has a value for each entry of that CPT. The *family* is a
//! function of U with a value for each of its joint states, and its posterior is tested.
//!
//! The variables of the network keep their ids; the new ones come behind them, also where they are
//! parents of others, and no name finds them: this is a [`FactorModel`], and not a [`Network`].
//! Until a test has decided, the CPT of S holds the gaps between its thresholds.

use std::sync::Arc;

use crate::model::cpt::{Body, Cpt, Role, as_function};
use crate::model::factors::{FactorModel, Variable};
use crate::model::network::Network;
use crate::model::selection::{SelectedCpt, Selection, SelectionKind};
use crate::vars::{VarId, VarSet};

/// A network with explicit selectors, and its selections, each behind those that it depends on. If
/// there are none, the model is the network's own.
#[derive(Clone, Debug)]
pub(crate) struct Expanded {
    pub model: Arc<FactorModel>,
    pub nodes: Vec<SelectionNode>,
}

/// A selection, and the variables that it added.
#[derive(Clone, Debug)]
pub(crate) struct SelectionNode {
    /// The variable whose CPT is selected.
    pub selected: VarId,
    pub selector: VarId,
    pub input: VarId,
    pub family: VarId,
    /// The variables whose evidence is seen.
    pub sees: VarSet,
    pub selection: Selection,
    pub is_fixed: bool,
    pub tie: Option<String>,
}

impl Network {
    /// The network with explicit selectors.
    pub(crate) fn expanded(&self) -> Expanded {
        let mut model = Arc::clone(self.model());
        let selected = self.cpts().iter().filter(|cpt| cpt.selected().is_some());
        let nodes = selected
            .filter_map(Cpt::child)
            .map(|v| Arc::make_mut(&mut model).expand(v, self.seen_by(v)))
            .collect();
        Expanded { model, nodes }
    }

    /// The ordinary network that some weights of copies make, for each selected variable.
    pub(crate) fn with_selected<'w>(
        &self,
        weights: impl IntoIterator<Item = (VarId, &'w [f64])>,
    ) -> Network {
        let mut weights = weights.into_iter().peekable();
        if weights.peek().is_none() {
            return self.clone();
        }
        self.with_cpts(|model| weights.for_each(|(v, weights)| model.settle(v, weights)))
    }

    /// The same network with other selections: other thresholds, and other free numbers.
    pub(crate) fn with_selections<'t>(
        &self,
        selections: impl IntoIterator<Item = (VarId, &'t Selection)>,
    ) -> Network {
        self.with_cpts(|model| {
            for (selected, selection) in selections {
                if let Body::Selected(it) = &mut model.cpts[selected.index()].body {
                    it.selection = selection.clone();
                }
            }
        })
    }
}

impl FactorModel {
    /// Makes a selected CPT the mixture of its copies with these weights.
    fn settle(&mut self, selected: VarId, weights: &[f64]) {
        let card = self.card(selected);
        let body = &mut self.cpts[selected.index()].body;
        if let Body::Selected(it) = &*body {
            *body = dense(it.mixed(weights), card);
        }
    }

    /// Adds the variables of a selection.
    fn expand(&mut self, selected: VarId, sees: VarSet) -> SelectionNode {
        let cpt = self.cpts[selected.index()].clone();
        let Some(it) = cpt.selected() else {
            unreachable!("only selected CPTs are expanded")
        };
        let rows = it.rows(self.card(selected));
        let selector = self.add_selector(&cpt, it, rows);
        let input = self.add_input(&cpt, rows * it.selection.copies);
        let family = self.add_family(&cpt, rows);
        let scope = [selector].into_iter().chain(cpt.scope().iter().copied());
        let body = dense(it.table.clone(), self.card(selected));
        self.cpts[selected.index()] = Cpt {
            parts: it.roles.clone(),
            ..ordinary(scope.collect(), body, cpt.role.clone())
        };
        SelectionNode {
            selected,
            selector,
            input,
            family,
            sees,
            selection: it.selection.clone(),
            is_fixed: it.is_fixed,
            tie: it.tie.clone(),
        }
    }

    fn add_selector(&mut self, cpt: &Cpt, it: &SelectedCpt, rows: usize) -> VarId {
        let selector = self.hide(cpt, "?", it.selection.copies);
        let role = Role {
            functional: it.selection.kind.is_hard(),
            ..Role::default()
        };
        let gaps = Body::Table(it.selection.gaps(rows));
        self.cpts
            .push(ordinary(with_parents(cpt, selector), gaps, role));
        selector
    }

    fn add_input(&mut self, cpt: &Cpt, size: usize) -> VarId {
        let input = self.hide(cpt, "? given", size);
        let uniform = Body::Table(vec![1.0 / size as f64; size]);
        self.cpts
            .push(ordinary(vec![input], uniform, Role::default()));
        input
    }

    fn add_family(&mut self, cpt: &Cpt, rows: usize) -> VarId {
        let family = self.hide(cpt, "? parents", rows);
        let identity = Body::Function((0..rows as u32).collect());
        let scope = with_parents(cpt, family);
        self.cpts.push(ordinary(scope, identity, Role::default()));
        family
    }

    /// Lets the likelihood of a selection's family stand for all that is before its parents, which
    /// become functions of the family. It has the values that the domains of the parents allow.
    pub(crate) fn sum_up(&mut self, node: &SelectionNode, domains: &[Vec<usize>]) {
        let SelectionNode {
            selected,
            selector,
            family,
            ..
        } = *node;
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
        self.cpts[selected.index()].scope = vec![selector, family, selected];
    }

    /// Adds a variable for the selection of a CPT, with a name of its own for pictures.
    fn hide(&mut self, cpt: &Cpt, suffix: &str, card: usize) -> VarId {
        let of = cpt.child().map_or("", |child| &self.variable(child).name);
        let name = format!("{of}{suffix}");
        Arc::make_mut(&mut self.variables).push(Variable {
            name,
            values: (0..card).map(|value| value.to_string()).collect(),
        });
        VarId::new(self.variables.len() - 1)
    }
}

fn with_parents(cpt: &Cpt, child: VarId) -> Vec<VarId> {
    cpt.parents().iter().copied().chain([child]).collect()
}

/// The numbers of an ordinary CPT: a function, if its rows are one-hot.
fn dense(table: Vec<f64>, card: usize) -> Body {
    as_function(&table, card).map_or(Body::Table(table), Body::Function)
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

impl SelectionNode {
    /// The variables whose evidence decides by itself, without a posterior.
    pub fn by_evidence(&self) -> Option<&[VarId]> {
        match &self.selection.kind {
            SelectionKind::Softmax { of, .. } => Some(of),
            _ => None,
        }
    }
}
