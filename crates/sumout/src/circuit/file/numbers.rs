//! The tensors of a circuit's file.

use safetensors::tensor::Dtype;

use crate::tensor::Graph;

/// A tensor of the file.
pub(super) struct Numbers {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// Numbers as bytes.
pub(super) fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The tables, the columns of lists, the values of maps, and the places of picks.
pub(super) fn of_parts(graph: &Graph) -> Vec<Numbers> {
    let tables = graph.tables().iter().enumerate().map(|(i, table)| Numbers {
        name: format!("table.{i}"),
        dtype: Dtype::F64,
        shape: vec![table.values.len()],
        bytes: table.values.iter().flat_map(|x| x.to_le_bytes()).collect(),
    });
    let lists = graph.lists().iter().enumerate().map(|(i, list)| Numbers {
        name: format!("list.{i}"),
        dtype: Dtype::U32,
        shape: vec![3, list.outs.len()],
        bytes: [words(&list.outs), words(&list.a), words(&list.b)].concat(),
    });
    let maps = graph.maps().iter().enumerate().map(|(i, map)| Numbers {
        name: format!("map.{i}"),
        dtype: Dtype::U32,
        shape: vec![map.index.len()],
        bytes: words(&map.index),
    });
    let picks = graph.picks().iter().enumerate().map(|(i, pick)| Numbers {
        name: format!("pick.{i}"),
        dtype: Dtype::U32,
        shape: vec![pick.len()],
        bytes: words(&pick.places.concat()),
    });
    tables.chain(lists).chain(maps).chain(picks).collect()
}
