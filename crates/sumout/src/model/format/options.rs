//! Options of reading and writing.

use crate::model::format::Format;

/// How to read a file: in the format that it has, and strictly, unless something else is set.
///
/// ```
/// use sumout::Network;
/// use sumout::model::format::{Format, ReadOptions};
///
/// let text = "network n {} variable a { type discrete [2] { yes, no }; }
///             probability (a) { table 3, 1; }";
/// let options = ReadOptions::default().with_format(Format::Bif).with_normalize(true);
/// assert_eq!(Network::parse("n.bif", text.as_bytes(), &options)?.variables().len(), 1);
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ReadOptions {
    pub(crate) format: Option<Format>,
    pub(crate) normalize: bool,
    pub(crate) max_bytes: Option<u64>,
}

/// How to write a file: in the format that its extension names, and without loss, unless something
/// else is set.
///
/// ```
/// use sumout::Network;
/// use sumout::model::format::{Format, WriteOptions};
///
/// let asia = Network::read("asia")?;
/// let options = WriteOptions::default().with_format(Format::Bif).with_lossy(true);
/// assert!(asia.to_text(&options)?.starts_with("network asia {"));
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct WriteOptions {
    pub(crate) format: Option<Format>,
    pub(crate) loss: Loss,
}

impl ReadOptions {
    /// With a format; it is told from the file by default.
    pub fn with_format(self, format: impl Into<Option<Format>>) -> Self {
        ReadOptions {
            format: format.into(),
            ..self
        }
    }

    /// With CPT rows rescaled that do not sum to one; by default they are refused.
    pub fn with_normalize(self, normalize: bool) -> Self {
        ReadOptions { normalize, ..self }
    }

    /// With another limit on the size of a file, decompressed; it is 4 GiB by default.
    pub fn with_max_bytes(self, max_bytes: u64) -> Self {
        ReadOptions {
            max_bytes: Some(max_bytes),
            ..self
        }
    }
}

impl WriteOptions {
    /// With a format; it is the one that the file's extension names by default.
    pub fn with_format(self, format: impl Into<Option<Format>>) -> Self {
        WriteOptions {
            format: format.into(),
            ..self
        }
    }

    /// Without the parts that the format cannot carry; by default such a network is refused.
    pub fn with_lossy(self, lossy: bool) -> Self {
        let loss = if lossy { Loss::Accept } else { Loss::Refuse };
        WriteOptions { loss, ..self }
    }
}

/// The choice when a format cannot carry all that a network holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// Fail, naming what would be lost.
    #[default]
    Refuse,
    /// Write what can be written.
    Accept,
}
