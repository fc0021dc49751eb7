//! The paper's images as what circuits evaluate and learn from.

use sumout::{Batch, Circuit, Column, Examples, Network, VarId};

use crate::scenes;

/// The variables of images, pixels and then the label, each with its values.
fn columns(net: &Network, images: &scenes::Examples) -> sumout::Result<Vec<(VarId, Column)>> {
    let rows: Vec<Vec<u32>> = (0..images.len()).map(|at| images.row(at)).collect();
    let values = |k: usize| Column::Values(rows.iter().map(|row| row[k] as i32).collect());
    Ok(images
        .columns(net)?
        .into_iter()
        .enumerate()
        .map(|(k, v)| (v, values(k)))
        .collect())
}

/// The pixels of images, for a circuit whose inputs they are.
pub fn batch(net: &Network, circuit: &Circuit, images: &scenes::Examples) -> sumout::Result<Batch> {
    let mut batch = Batch::new(images.len());
    let mut columns = columns(net, images)?;
    columns.pop(); // the label
    for (v, column) in columns {
        batch.insert(circuit, v, column)?;
    }
    Ok(batch)
}

/// Images with their labels, to learn from.
pub fn examples(net: &Network, images: &scenes::Examples) -> sumout::Result<Examples> {
    let mut examples = Examples::new(images.len());
    columns(net, images)?
        .into_iter()
        .for_each(|(v, column)| examples.insert(v, column));
    Ok(examples)
}
