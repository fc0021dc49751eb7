//! Reading and writing networks.
//!
//! Each format is one file here with a `read` and a `write`, and one row in [`Format`]'s tables. Readers
//! collect variables and CPTs in a [`Builder`](super::Builder), which does all checks that the formats have
//! in common; `Marks` turn its findings into lines and carets.
//!
//! The format of a file is told from its extension, or else from its content. Input may be compressed with
//! gzip, whatever its name. Files are written under a temporary name and renamed when complete.

mod bif;
mod json;
mod lexer;
mod net;
mod source;
mod uai;
mod xdsl;
mod xml;
mod xmlbif;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

pub(crate) use source::Source;
use source::{CptMarks, Marks};
pub use uai::read_evidence;

use super::network::Network;
use super::paper;
use crate::error::{Error, ErrorKind, Result};

/// A file format for networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The Bayesian Interchange Format, as the bnlearn repository has it: `.bif`.
    Bif,
    /// The same in XML, version 0.3: `.xmlbif` or `.xml`.
    Xmlbif,
    /// The format of the UAI competitions, for Bayesian and Markov networks, without names: `.uai`.
    Uai,
    /// Hugin's NET language: `.net`.
    Net,
    /// GeNIe's and SMILE's format: `.xdsl`.
    Xdsl,
    /// The own format, which carries everything: `.json`.
    Json,
}

/// How to read a file.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; told from the file if none is given.
    pub format: Option<Format>,
    /// Rescales CPT rows that do not sum to one instead of refusing them.
    pub normalize: bool,
}

/// What to do when a format cannot carry all that a network holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Fail, naming what would be lost.
    Refuse,
    /// Write what can be written.
    Accept,
}

/// A decompressed file may have this many bytes; more is taken for an attack.
const MAX_BYTES: u64 = 4 << 30;

/// Networks that are built in, by name.
const EMBEDDED: [(&str, &str); 1] = [("asia", include_str!("../../../../../models/asia.bif"))];

impl Format {
    /// All formats.
    pub const ALL: [Format; 6] = [Format::Bif, Format::Xmlbif, Format::Uai, Format::Net, Format::Xdsl, Format::Json];

    /// The name by which people call it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Bif => "BIF",
            Format::Xmlbif => "XMLBIF",
            Format::Uai => "UAI",
            Format::Net => "Hugin NET",
            Format::Xdsl => "XDSL",
            Format::Json => "sumout JSON",
        }
    }

    /// The extensions of its files, the usual one first.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Format::Bif => &["bif"],
            Format::Xmlbif => &["xmlbif", "xml", "xbif", "bifxml"],
            Format::Uai => &["uai"],
            Format::Net => &["net", "hugin"],
            Format::Xdsl => &["xdsl"],
            Format::Json => &["json"],
        }
    }

    /// The format that a file's extension names; `.gz` does not count.
    pub fn of_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (_, extension) = name.rsplit_once('.')?;
        Format::ALL.into_iter().find(|f| f.extensions().contains(&extension))
    }

    /// The format that a text seems to be in.
    fn of_text(text: &str) -> Option<Format> {
        let is_blank = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with(['%', '/']);
        let text: String = text.lines().skip_while(is_blank).take(20).collect::<Vec<_>>().join("\n");
        let head = text.trim_start().chars().take(2000).collect::<String>().to_lowercase();
        let word = head.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        match word {
            _ if head.starts_with('{') => Some(Format::Json),
            _ if head.starts_with('<') && head.contains("<smile") => Some(Format::Xdsl),
            _ if head.starts_with('<') && head.contains("<bif") => Some(Format::Xmlbif),
            "bayes" | "markov" => Some(Format::Uai),
            "network" | "variable" | "probability" => Some(Format::Bif),
            "net" | "node" | "class" | "discrete" | "continuous" => Some(Format::Net),
            _ => None,
        }
    }

    fn reader(self) -> fn(&Source, &ReadOptions) -> Result<Network> {
        match self {
            Format::Bif => bif::read,
            Format::Xmlbif => xmlbif::read,
            Format::Uai => uai::read,
            Format::Net => net::read,
            Format::Xdsl => xdsl::read,
            Format::Json => json::read,
        }
    }

    fn writer(self) -> fn(&Network, Loss) -> Result<String> {
        match self {
            Format::Bif => bif::write,
            Format::Xmlbif => xmlbif::write,
            Format::Uai => uai::write,
            Format::Net => net::write,
            Format::Xdsl => xdsl::write,
            Format::Json => json::write,
        }
    }
}

/// Reads a network from a file, or one that is built in, or a [model of the paper](super::paper).
pub fn read(path: &Path, options: &ReadOptions) -> Result<Network> {
    let shown = path.display().to_string();
    if !path.exists() {
        if let Some((_, text)) = EMBEDDED.iter().find(|(name, _)| *name == shown) {
            return parse(&shown, text.as_bytes(), options);
        }
        if let Some(network) = paper::named(&shown) {
            return network;
        }
    }
    let bytes = fs::read(path).map_err(|e| unreadable(&shown, &e))?;
    let format = options.format.or_else(|| Format::of_path(path));
    parse(&shown, &bytes, &ReadOptions { format, ..options.clone() })
}

fn unreadable(shown: &str, error: &std::io::Error) -> Error {
    let error = Error::new(ErrorKind::Io, format!("cannot read `{shown}`: {error}"));
    let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).chain(paper::NAMES).collect();
    error.hint(format!("give a file, or a built-in network: {}", names.join(", ")))
}

/// Reads a network from bytes; `name` is what messages call them.
pub fn parse(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Network> {
    let source = Source::new(name, decompress(name, bytes)?)?;
    let Some(format) = options.format.or_else(|| Format::of_text(&source.text)) else {
        let known: Vec<&str> = Format::ALL.iter().map(|f| f.extensions()[0]).collect();
        let error = Error::new(ErrorKind::Format, format!("cannot tell the format of `{name}`"));
        return Err(error.hint(format!("name it with one of the extensions {}", known.join(", "))));
    };
    format.reader()(&source, options)
}

/// The bytes, or what gzip made them from.
pub(crate) fn decompress(name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes.to_vec());
    }
    let mut out = vec![];
    let read = flate2::read::MultiGzDecoder::new(bytes).take(MAX_BYTES + 1).read_to_end(&mut out);
    match read {
        Err(e) => Err(Error::new(ErrorKind::Io, format!("cannot decompress `{name}`: {e}"))
            .hint("the file may be truncated; fetch it again")),
        Ok(n) if n as u64 > MAX_BYTES => {
            Err(Error::new(ErrorKind::Io, format!("`{name}` decompresses to more than {} GiB", MAX_BYTES >> 30)))
        }
        Ok(_) => Ok(out),
    }
}

/// The network as text in a format.
pub fn to_string(net: &Network, format: Format, loss: Loss) -> Result<String> {
    format.writer()(net, loss)
}

/// Writes a network to a file in the format that the extension names; `.gz` compresses.
pub fn write(net: &Network, path: &Path, loss: Loss) -> Result<()> {
    let Some(format) = Format::of_path(path) else {
        let known: Vec<&str> = Format::ALL.iter().map(|f| f.extensions()[0]).collect();
        let error = Error::new(ErrorKind::Format, format!("`{}` does not name a format", path.display()));
        return Err(error.hint(format!("use one of the extensions {}", known.join(", "))));
    };
    let text = to_string(net, format, loss)?;
    let is_gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let saved = if is_gzip { compress(&text).and_then(|b| save(path, &b)) } else { save(path, text.as_bytes()) };
    saved.map_err(|e| Error::new(ErrorKind::Io, format!("cannot write `{}`: {e}", path.display())))
}

fn compress(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

/// Writes to a temporary name beside `path` and renames, so that a failure loses nothing.
fn save(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let done = fs::File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    done.and_then(|()| fs::rename(&part, path)).inspect_err(|_| drop(fs::remove_file(&part)))
}

/// What a network holds that only the own format can carry, for formats to refuse.
fn refuse_roles(net: &Network, format: Format, loss: Loss) -> Result<()> {
    let with_role = net.cpts().iter().enumerate().find(|(_, cpt)| *cpt.role() != super::Role::default());
    match with_role {
        Some((index, cpt)) if loss == Loss::Refuse => {
            let name = match cpt.child() {
                Some(child) => format!("the CPT of `{}`", net.variable(child).name),
                None => format!("factor {index}"),
            };
            Err(cannot_carry(format, &format!("what is known about {name} (functional, fixed, tied, …)")))
        }
        _ => Ok(()),
    }
}

fn refuse_markov(net: &Network, format: Format) -> Result<()> {
    if net.is_markov() {
        let error = Error::new(ErrorKind::Format, format!("{} cannot carry a Markov network", format.name()));
        return Err(error.hint("write it as .uai or .json"));
    }
    Ok(())
}

fn cannot_carry(format: Format, what: &str) -> Error {
    let error = Error::new(ErrorKind::Format, format!("{} cannot carry {what}", format.name()));
    error.hint("write it as .json, or accept the loss with `--lossy`")
}
