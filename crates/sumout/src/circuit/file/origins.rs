//! Where the numbers of tables come from, in files: so that a circuit that is read can be trained,
//! too.

use std::collections::BTreeMap;

use safetensors::tensor::Dtype;

use crate::circuit::file::damaged;
use crate::circuit::file::numbers::{Numbers, words};
use crate::circuit::file::read::Reader;
use crate::error::Result;
use crate::tensor::{Graph, Origin, Table};
use crate::vars::VarId;

/// For each table that has an origin: the variable whose CPT it is from, and the number of entries
/// of that.
pub(super) type Origins = BTreeMap<usize, (usize, usize)>;

pub(super) fn origins(graph: &Graph) -> Origins {
    graph
        .origins()
        .iter()
        .map(|(table, origin)| (table.index(), (origin.child.index(), origin.size)))
        .collect()
}

/// The places of the numbers in the CPT.
pub(super) fn numbers(graph: &Graph) -> impl Iterator<Item = Numbers> + '_ {
    graph.origins().iter().map(|(table, origin)| Numbers {
        name: format!("origin.{}", table.index()),
        dtype: Dtype::U32,
        shape: vec![origin.entries.len()],
        bytes: words(&origin.entries),
    })
}

impl Reader<'_> {
    /// The origin of a table, if it has one.
    pub(super) fn origin(&self, index: usize, table: &Table) -> Result<Option<Origin>> {
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
            && entries.len() == table.values.len()
            && entries.iter().all(|&entry| (entry as usize) < size)
            && size <= u32::MAX as usize;
        if !is_whole {
            return Err(damaged("a table does not fit the CPT that it is from"));
        }
        Ok(Some(Origin {
            child: VarId::new(child),
            size,
            entries,
        }))
    }
}
