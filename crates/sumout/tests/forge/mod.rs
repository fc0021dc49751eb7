//! Circuit files that somebody has changed, with a checksum that fits.

use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde_json::Value;

/// The bytes of each tensor, by name.
pub type Tensors = BTreeMap<String, Vec<u8>>;

/// A file whose description, or numbers, were changed.
pub fn forged(bytes: &[u8], change: impl FnOnce(&mut Value, &mut Tensors)) -> Vec<u8> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).unwrap();
    let text = &metadata.metadata().as_ref().unwrap()["sumout"];
    let mut header: Value = serde_json::from_str(text).unwrap();
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let forms: BTreeMap<String, (Dtype, Vec<usize>)> = tensors
        .iter()
        .map(|(name, view)| (name.to_owned(), (view.dtype(), view.shape().to_vec())))
        .collect();
    let mut numbers: Tensors = tensors
        .iter()
        .map(|(name, view)| (name.to_owned(), view.data().to_vec()))
        .collect();
    change(&mut header, &mut numbers);
    header["checksum"] = 0.into();
    header["checksum"] = checksum(&header, &numbers).into();
    let views = numbers.iter().map(|(name, bytes)| {
        let (dtype, shape) = forms[name].clone();
        (name, TensorView::new(dtype, shape, bytes).unwrap())
    });
    let metadata = HashMap::from([("sumout".to_owned(), header.to_string())]);
    serialize(views, Some(metadata)).unwrap()
}

fn checksum(header: &Value, numbers: &Tensors) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(header.to_string().as_bytes());
    for name in in_order(header) {
        crc.update(numbers.get(&name).map_or(&[], |bytes| bytes));
    }
    crc.sum()
}

/// The names of a file's tensors, in the order of its checksum.
fn in_order(header: &Value) -> Vec<String> {
    let count = |key: &Value| key.as_array().map_or(0, Vec::len);
    let numbered = |kind: &str, key: &Value| {
        let names = (0..count(key)).map(|i| format!("{kind}.{i}"));
        names.collect::<Vec<_>>()
    };
    let mut names = numbered("table", &header["tables"]);
    names.extend(numbered("list", &header["lists"]));
    names.extend(numbered("map", &header["maps"]));
    let origins = header.get("origins").and_then(Value::as_object);
    let tables = origins.into_iter().flatten();
    names.extend(tables.map(|(table, _)| format!("origin.{table}")));
    if let Some(completion) = header.get("completion") {
        names.extend(numbered("decoder", &completion["decoders"]));
        names.extend(numbered("function", &completion["functions"]));
    }
    names
}
