//! Options of reading and writing.

use crate::model::format::Format;

/// How to read a file: in the format that it has, and strictly, unless something else is set.
///
/// ```
/// use sumout::model::format::{self, Format, ReadOptions};
///
/// let text = "network n {} variable a { type discrete [2] { yes, no }; }
///             probability (a) { table 3, 1; }";
/// let options = ReadOptions::default().with_format(Format::Bif).with_normalize(true);
/// assert_eq!(format::parse("n.bif", text.as_bytes(), &options)?.variables().len(), 1);
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ReadOptions {
    pub(crate) format: Option<Format>,
    pub(crate) normalize: bool,
}

/// How to write a file: in the format that its extension names, and without loss, unless something
/// else is set.
///
/// ```
/// use sumout::Network;
/// use sumout::model::format::{self, Format, Loss, WriteOptions};
///
/// let asia = Network::read("asia")?;
/// let options = WriteOptions::default().with_format(Format::Bif).with_loss(Loss::Accept);
/// # let path = std::env::temp_dir().join(format!("sumout-{}.txt", std::process::id()));
/// format::write(&asia, &path, &options)?;
/// # std::fs::remove_file(&path).unwrap();
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
}

impl WriteOptions {
    /// With a format; it is the one that the file's extension names by default.
    pub fn with_format(self, format: impl Into<Option<Format>>) -> Self {
        WriteOptions {
            format: format.into(),
            ..self
        }
    }

    /// With what to do about parts that the format cannot carry; by default the network is refused.
    pub fn with_loss(self, loss: Loss) -> Self {
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
