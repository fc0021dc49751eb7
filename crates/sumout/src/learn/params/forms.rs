//! The shapes of CPTs without impossible values: CPTs of equal form can share weights.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Cpt, FactorModel, Role};
use crate::vars::VarId;

/// The states that are left of a CPT, and which of its numbers may differ from zero.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub(super) is_tied: bool,
    pub(super) name: String,
    /// Which copy of a tested CPT it is, counted from one; zero if it is tied, or no copy.
    pub(super) copy: usize,
    pub(super) is_promised: bool,
    pub(super) shape: Vec<usize>,
    pub(super) free: Vec<bool>,
}

/// Refuses ties of CPTs of different forms.
pub(super) fn refuse_split<'f>(forms: impl Iterator<Item = &'f Form>) -> Result<()> {
    let forms: Vec<&Form> = forms.filter(|form| form.is_tied).collect();
    let Some(split) = forms.windows(2).find(|pair| pair[0].name == pair[1].name) else {
        return Ok(());
    };
    let what = if split[0].shape == split[1].shape {
        "keep different zeros".to_owned()
    } else {
        format!(
            "have the shapes {:?} and {:?}",
            split[0].shape, split[1].shape
        )
    };
    let error = Error::new(
        ErrorKind::Options,
        format!("CPTs tied as `{}` {what}", split[0].name),
    );
    Err(error.hint("tie only CPTs that are alike, or allow ties to be split"))
}

/// The form of a CPT, or of each of its parts that is not fixed, with the places in its table of the
/// numbers that are left.
pub(super) fn forms(
    net: &FactorModel,
    cpt: &Cpt,
    domains: &[Vec<usize>],
) -> Vec<(Form, Vec<usize>)> {
    if cpt.parts().is_empty() {
        return vec![form(net, cpt, cpt.role(), None, domains)];
    }
    let selector = cpt.scope()[0];
    let of_part = |(k, role): (usize, &Role)| {
        let is_left = !role.fixed && domains[selector.index()].contains(&k);
        is_left.then(|| form(net, cpt, role, Some(k), domains))
    };
    cpt.parts().iter().enumerate().filter_map(of_part).collect()
}

/// The form of a CPT, or of the part that belongs to a value of the first parent.
fn form(
    net: &FactorModel,
    cpt: &Cpt,
    role: &Role,
    part: Option<usize>,
    domains: &[Vec<usize>],
) -> (Form, Vec<usize>) {
    let (cards, scope) = (net.cards(), cpt.scope());
    let table = cpt.table(&cards);
    let only: Option<Vec<usize>> = part.map(|k| vec![k]);
    let domain = |v: &VarId| {
        only.as_ref()
            .filter(|_| *v == scope[0])
            .unwrap_or(&domains[v.index()])
    };
    let mut places = vec![0];
    for v in scope {
        let (card, domain) = (cards[v.index()], domain(v));
        places = places
            .iter()
            .flat_map(|at| domain.iter().map(move |value| at * card + value))
            .collect();
    }
    let left = |v: &VarId| domain(v).len();
    let (child, parents) = scope.split_last().expect("a CPT has a child");
    let shape = parents
        .iter()
        .map(left)
        .filter(|&n| n > 1)
        .chain([left(child)])
        .collect();
    let free = places
        .iter()
        .map(|&place| !role.keep_zeros || table[place] != 0.0)
        .collect();
    let which = part.map_or_else(String::new, |k| format!(", copy {}", k + 1));
    let name = role
        .tie
        .clone()
        .unwrap_or_else(|| format!("{}{which}", net.variable(*child).name));
    let is_tied = role.tie.is_some();
    let copy = part.filter(|_| !is_tied).map_or(0, |k| k + 1);
    (
        Form {
            is_tied,
            name,
            copy,
            is_promised: role.functional,
            shape,
            free,
        },
        places,
    )
}
