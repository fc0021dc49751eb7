//! Factors: numbers over variables of a network, before they are tensors of a graph.

use crate::tensor::Table;
use crate::vars::VarId;

/// Numbers over some variables, the last variable fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The variables, in the order in which the numbers go through their values.
    pub scope: Vec<VarId>,
    /// One number for every joint state.
    pub values: Vec<f64>,
}

impl Factor {
    /// The factor as a table of a graph: its variables become axes.
    pub(crate) fn table(&self) -> Table {
        Table {
            axes: self.scope.iter().map(|&v| v.into()).collect(),
            values: self.values.clone(),
        }
    }
}
