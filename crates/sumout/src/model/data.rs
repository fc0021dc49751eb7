//! Data sets: rows of values, some of them missing.

use crate::error::{Error, ErrorKind, Result};
use crate::model::evidence::{Evidence, Finding};
use crate::model::network::Network;
use crate::vars::VarId;

/// A table of values: a column for each of some variables, a row for each case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    columns: Vec<VarId>,
    cells: Vec<Option<u32>>,
}

impl Dataset {
    /// A data set without rows.
    pub fn new(columns: impl Into<Vec<VarId>>) -> Self {
        Dataset {
            columns: columns.into(),
            cells: vec![],
        }
    }

    /// The variables of the columns.
    pub fn columns(&self) -> &[VarId] {
        &self.columns
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.cells.len() / self.columns.len().max(1)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Adds a row: the positions of its values, none where one is missing.
    pub fn push(&mut self, net: &Network, row: &[Option<u32>]) -> Result<()> {
        if row.len() != self.columns.len() {
            let message = format!(
                "a row has {} cells, but there are {} columns",
                row.len(),
                self.columns.len()
            );
            return Err(Error::new(ErrorKind::Evidence, message));
        }
        for (&var, cell) in self.columns.iter().zip(row) {
            if cell.is_some_and(|value| value as usize >= net.card(var)) {
                let message = format!(
                    "`{}` has no value {}",
                    net.variable(var).name,
                    cell.unwrap_or_default()
                );
                return Err(Error::new(ErrorKind::Evidence, message));
            }
        }
        self.cells.extend_from_slice(row);
        Ok(())
    }

    /// The rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = &[Option<u32>]> {
        self.cells.chunks_exact(self.columns.len().max(1))
    }

    /// A row as hard evidence; missing cells are simply no evidence.
    pub fn evidence(&self, net: &Network, row: usize) -> Result<Evidence> {
        let mut evidence = Evidence::new();
        let cells = &self.cells[row * self.columns.len()..(row + 1) * self.columns.len()];
        for (&var, cell) in self.columns.iter().zip(cells) {
            if let Some(value) = cell {
                evidence.insert(net, var, Finding::Hard(*value as usize))?;
            }
        }
        Ok(evidence)
    }
}
