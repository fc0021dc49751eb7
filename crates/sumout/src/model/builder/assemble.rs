//! Puts a network together from drafts that were checked.

use crate::model::builder::{Builder, CptDraft};
use crate::model::cpt::{Body, Cpt, Role};
use crate::model::factors::{FactorModel, Variable};
use crate::model::network::Network;
use crate::model::selection::SelectionKind;
use crate::vars::VarId;

impl Builder {
    /// The network, with its variables in this order.
    pub(super) fn assemble(&mut self, order: &[usize]) -> Network {
        let mut id_of = vec![VarId::new(0); order.len()];
        for (position, &v) in order.iter().enumerate() {
            id_of[v] = VarId::new(position);
        }
        let is_potential = self.is_markov;
        let mut cpts: Vec<Cpt> = std::mem::take(&mut self.drafts)
            .into_iter()
            .map(|draft| settled(draft, is_potential, &id_of))
            .collect();
        cpts.sort_by_key(Cpt::child); // potentials have none, and stay as they are
        let variables: Vec<Variable> = order
            .iter()
            .map(|&v| std::mem::replace(&mut self.variables[v], blank()))
            .collect();
        let model = FactorModel {
            name: std::mem::take(&mut self.name),
            is_markov: self.is_markov,
            variables: variables.into(),
            cpts,
        };
        let notes = std::mem::take(&mut self.notes).into_iter();
        Network::new(model, self.sight).with_notes(notes.chain(self.rescaled.note()))
    }
}

/// A CPT over variables of the network.
fn settled(draft: CptDraft, is_potential: bool, id_of: &[VarId]) -> Cpt {
    let CptDraft {
        scope,
        mut body,
        mut role,
    } = draft;
    if let Body::Selected(it) = &mut body {
        if let SelectionKind::Softmax { of, .. } = &mut it.selection.kind {
            of.iter_mut().for_each(|v| *v = id_of[v.index()]);
        }
        role = common(&it.roles, it.is_fixed);
    }
    Cpt {
        scope: scope.into_iter().map(|v| id_of[v]).collect(),
        is_potential,
        body,
        role,
        parts: vec![],
    }
}

/// A selected CPT is what all of its copies are.
fn common(copies: &[Role], selection_is_fixed: bool) -> Role {
    Role {
        functional: copies.iter().all(|role| role.functional),
        fixed: selection_is_fixed && copies.iter().all(|role| role.fixed),
        keep_zeros: copies.iter().all(|role| role.keep_zeros || role.fixed),
        tie: None,
    }
}

fn blank() -> Variable {
    Variable {
        name: String::new(),
        values: vec![],
    }
}
