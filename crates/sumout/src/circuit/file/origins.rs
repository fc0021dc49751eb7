//! Where the numbers of tables come from, in files: so that a circuit that is read can be trained,
//! too.

use std::collections::BTreeMap;

use safetensors::tensor::Dtype;

use crate::circuit::file::{Numbers, Reader, damaged, words};
use crate::error::Result;
use crate::tensor::{Graph, Origin, Table};
use crate::vars::VarId;

/// For each table that has an origin: the variable whose CPT it is from, and the number of entries
/// of that.
pub(crate) type Origins = BTreeMap<usize, (usize, usize)>;

pub(crate) fn origins(graph: &Graph) -> Origins {
    graph
        .origins()
        .iter()
        .map(|(table, origin)| (table.index(), (origin.child.index(), origin.size)))
        .collect()
}

/// The places of the numbers in the CPT.
pub(crate) fn numbers(graph: &Graph) -> impl Iterator<Item = Numbers> + '_ {
    graph.origins().iter().map(|(table, origin)| Numbers {
        name: format!("origin.{}", table.index()),
        dtype: Dtype::U32,
        shape: vec![origin.entries.len()],
        bytes: words(&origin.entries),
    })
}

impl Reader<'_> {
    /// The origin of a table, if it has one.
    pub(crate) fn origin(&self, index: usize, table: &Table) -> Result<Option<Origin>> {
        let Some(&(child, size)) = self.header.origins.get(&index) else {
            return Ok(None);
        };
        let entries = self.words(&format!("origin.{index}"))?;
        let card = self
            .header
            .variables
            .get(child)
            .map_or(0, |variable| variable.values.len());
        let is_hidden = self.header.visible.is_some_and(|visible| child >= visible); // a test, which has no rows
        let is_whole = card > 0
            && (is_hidden || size.is_multiple_of(card))
            && entries.len() == table.values.len();
        match is_whole
            && entries.iter().all(|&entry| (entry as usize) < size)
            && size <= u32::MAX as usize
        {
            true => Ok(Some(Origin {
                child: VarId::new(child),
                size,
                entries,
            })),
            false => Err(damaged("a table does not fit the CPT that it is from")),
        }
    }
}
