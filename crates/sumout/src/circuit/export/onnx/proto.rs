//! The few messages of Protocol Buffers that an ONNX model is made of.
//!
//! A message is a list of fields: a key, which is the field's number and how it is written, and a
//! value. Numbers are written with seven bits in a byte, texts and messages after their length.

/// A message, as bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(pub Vec<u8>);

impl Message {
    /// Adds a whole number.
    pub fn int(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3);
        self.varint(value as u64);
        self
    }

    /// Adds bytes, a text or a message.
    pub fn bytes(mut self, field: u64, bytes: impl AsRef<[u8]>) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend(bytes.as_ref());
        self
    }

    /// Adds a field of bytes many times.
    pub fn all<B: AsRef<[u8]>>(self, field: u64, many: impl IntoIterator<Item = B>) -> Self {
        many.into_iter()
            .fold(self, |message, bytes| message.bytes(field, bytes))
    }

    fn varint(&mut self, mut value: u64) {
        while value > 127 {
            self.0.push(value as u8 | 128);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The types of the numbers of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    F32 = 1,
    I32 = 6,
    I64 = 7,
    Bool = 9,
    F64 = 11,
}

/// An attribute of a node.
pub(crate) enum Attribute {
    Int(i64),
    Ints(Vec<i64>),
    Text(String),
}

/// A tensor with its numbers, the last axis fastest.
pub(crate) fn tensor(name: &str, of: Type, shape: &[usize], bytes: &[u8]) -> Message {
    let dims = shape
        .iter()
        .fold(Message::default(), |message, &n| message.int(1, n as i64));
    dims.int(2, of as i64).bytes(8, name).bytes(9, bytes)
}

/// An operation.
pub(crate) fn node(
    op: &str,
    inputs: &[&str],
    output: &str,
    attributes: &[(&str, Attribute)],
) -> Message {
    let message = Message::default()
        .all(1, inputs)
        .bytes(2, output)
        .bytes(3, output)
        .bytes(4, op);
    message.all(
        5,
        attributes
            .iter()
            .map(|(name, value)| attribute(name, value)),
    )
}

fn attribute(name: &str, value: &Attribute) -> Message {
    let message = Message::default().bytes(1, name);
    match value {
        Attribute::Int(value) => message.int(3, *value).int(20, 2),
        Attribute::Text(text) => message.bytes(4, text).int(20, 3),
        Attribute::Ints(values) => values
            .iter()
            .fold(message, |m, &value| m.int(8, value))
            .int(20, 7),
    }
}

/// An input or output of a model: a tensor whose first axis is the batch.
pub(crate) fn value(name: &str, of: Type, columns: Option<usize>, doc: &str) -> Message {
    let batch = Message::default().bytes(2, "batch");
    let columns = columns.map(|n| Message::default().int(1, n as i64));
    let shape = Message::default().all(1, [batch].into_iter().chain(columns));
    let tensor = Message::default().int(1, of as i64).bytes(2, shape);
    Message::default()
        .bytes(1, name)
        .bytes(2, Message::default().bytes(1, tensor))
        .bytes(3, doc)
}

/// The parts of a graph.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub nodes: Vec<Message>,
    pub tensors: Vec<Message>,
    pub inputs: Vec<Message>,
    pub outputs: Vec<Message>,
}

/// A model.
pub(crate) fn model(title: &str, parts: Parts, opset: i64, notes: &[(&str, String)]) -> Message {
    let graph = Message::default()
        .all(1, parts.nodes)
        .bytes(2, "circuit")
        .all(5, parts.tensors);
    let graph = graph.all(11, parts.inputs).all(12, parts.outputs);
    let operations = Message::default().bytes(1, "").int(2, opset);
    let producer = Message::default()
        .int(1, IR_VERSION)
        .bytes(2, "sumout")
        .bytes(3, env!("CARGO_PKG_VERSION"));
    let notes = notes
        .iter()
        .map(|(key, value)| Message::default().bytes(1, key).bytes(2, value));
    producer
        .bytes(6, title)
        .bytes(7, graph)
        .bytes(8, operations)
        .all(14, notes)
}

/// The version of the format in which the operations of opset 13 came.
const IR_VERSION: i64 = 7;

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the encoding's own documentation.
    #[test]
    fn messages_are_written_as_documented() {
        assert_eq!(Message::default().int(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(
            Message::default().bytes(2, "testing").0,
            *b"\x12\x07testing"
        );
        assert_eq!(
            Message::default()
                .bytes(3, Message::default().int(1, 150))
                .0,
            [0x1a, 0x03, 0x08, 0x96, 0x01]
        );
        let minus_two = [
            0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ];
        assert_eq!(Message::default().int(1, -2).0, minus_two);
    }
}
