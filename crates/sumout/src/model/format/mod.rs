//! Reading and writing networks: [`Network::read_with`](super::Network::read_with),
//! [`Network::parse`](super::Network::parse), [`Network::write_with`](super::Network::write_with)
//! and [`Network::to_text`](super::Network::to_text).
//!
//! The format of a file is told from its extension, or else from its content. Input may be
//! compressed with gzip, whatever its name. Files are written completely, or not at all.

// Each format is a folder here with a `read` and a `write`, and one row in the tables of `Format`.
// Readers collect variables and CPTs in a `Builder`, which does all checks that the formats have in
// common; `Marks` turn its findings into lines and carets.

mod bif;
mod json;
mod lexer;
mod net;
mod options;
mod source;
mod spelling;
mod uai;
mod variables;
mod xdsl;
mod xml;
mod xmlbif;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

#[doc(hidden)]
pub use options::Loss;
pub use options::{ReadOptions, WriteOptions};
pub(crate) use source::Source;
#[doc(hidden)]
pub use uai::read_evidence;

use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::files;
use crate::model::network::Network;
use crate::model::paper;

/// A file format for networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// The Bayesian Interchange Format, as the bnlearn repository has it: `.bif`.
    Bif,
    /// XMLBIF, version 0.3: `.xmlbif` or `.xml`.
    Xmlbif,
    /// The format of the UAI competitions, for Bayesian and Markov networks, without names: `.uai`.
    Uai,
    /// Hugin's NET language: `.net`.
    Net,
    /// GeNIe's and SMILE's format: `.xdsl`.
    Xdsl,
    /// sumout's JSON format, which represents everything: `.json`.
    Json,
}

/// A decompressed file may have this many bytes; more is taken for an attack.
const MAX_BYTES: u64 = 4 << 30;

/// Networks that are built in, by name.
const EMBEDDED: [(&str, &str); 1] = [("asia", include_str!("../../../assets/asia.bif"))];

impl Format {
    /// All formats.
    pub const ALL: [Format; 6] = [
        Format::Bif,
        Format::Xmlbif,
        Format::Uai,
        Format::Net,
        Format::Xdsl,
        Format::Json,
    ];

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
        Format::ALL
            .into_iter()
            .find(|f| f.extensions().contains(&extension))
    }

    /// The format that the extension or else the text tells. XMLBIF and XDSL may share an
    /// extension.
    fn of_file(path: &Path, text: &str) -> Option<Format> {
        match (Format::of_path(path), Format::of_text(text)) {
            (Some(Format::Xmlbif), Some(Format::Xdsl)) => Some(Format::Xdsl),
            (named, told) => named.or(told),
        }
    }

    /// The format that a text seems to be in.
    fn of_text(text: &str) -> Option<Format> {
        let is_blank =
            |line: &&str| line.trim().is_empty() || line.trim_start().starts_with(['%', '/']);
        let text: String = text
            .lines()
            .skip_while(is_blank)
            .take(20)
            .collect::<Vec<_>>()
            .join("\n");
        let head = text
            .trim_start()
            .chars()
            .take(2000)
            .collect::<String>()
            .to_lowercase();
        let word = head
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
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
#[doc(hidden)]
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
    let bytes = fs::read(path).map_err(|e| unreadable(&shown, e))?;
    parse(&shown, &bytes, options)
}

fn unreadable(shown: &str, error: std::io::Error) -> Error {
    let error = Error::io(format_args!("cannot read `{shown}`"), error);
    let names: Vec<&str> = EMBEDDED
        .iter()
        .map(|(name, _)| *name)
        .chain(paper::NAMES)
        .collect();
    error.hint(format!(
        "give a file, or a built-in network: {}",
        names.join(", ")
    ))
}

/// Reads a network from bytes; `name` is what messages call them, and its extension may tell the
/// format.
#[doc(hidden)]
pub fn parse(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Network> {
    let most = options.max_bytes.unwrap_or(MAX_BYTES);
    let source = Source::new(name, decompress_at_most(name, bytes, most)?)?;
    if source.text.trim().is_empty() {
        return Err(Error::new(ErrorKind::Format, format!("`{name}` is empty")));
    }
    let Some(format) = options
        .format
        .or_else(|| Format::of_file(Path::new(name), &source.text))
    else {
        let known: Vec<&str> = Format::ALL.iter().map(|f| f.extensions()[0]).collect();
        let error = Error::new(
            ErrorKind::Format,
            format!("cannot tell the format of `{name}`"),
        );
        return Err(error.hint(format!(
            "name it with one of the extensions {}",
            known.join(", ")
        )));
    };
    format.reader()(&source, options).map_err(|error| misnamed(error, format, &source))
}

/// Says so if a file that cannot be read looks like another format.
fn misnamed(error: Error, format: Format, source: &Source) -> Error {
    match Format::of_text(&source.text) {
        Some(other) if other != format && error.kind() == ErrorKind::Syntax => {
            let (other, format) = (other.name(), format.name());
            error.hint(format!("this looks like {other}, but is read as {format}"))
        }
        _ => error,
    }
}

/// The bytes, or what gzip made them from.
pub(crate) fn decompress(name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    decompress_at_most(name, bytes, MAX_BYTES)
}

fn decompress_at_most(name: &str, bytes: &[u8], most: u64) -> Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes.to_vec());
    }
    let mut out = vec![];
    let read = flate2::read::MultiGzDecoder::new(bytes)
        .take(most + 1)
        .read_to_end(&mut out);
    match read {
        Err(e) => Err(Error::new(
            ErrorKind::Io,
            format!("cannot decompress `{name}`: it is truncated or damaged"),
        )
        .hint("fetch it again")
        .caused_by(e)),
        Ok(n) if n as u64 > most => Err(Error::new(
            ErrorKind::Io,
            format!("`{name}` decompresses to more than {} MiB", most >> 20),
        )),
        Ok(_) => Ok(out),
    }
}

/// The network as text in a format.
#[doc(hidden)]
pub fn to_string(net: &Network, format: Format, loss: Loss) -> Result<String> {
    format.writer()(net, loss)
}

/// Writes a network to a file; `.gz` compresses.
#[doc(hidden)]
pub fn write(net: &Network, path: &Path, options: &WriteOptions) -> Result<()> {
    let Some(format) = options.format.or_else(|| Format::of_path(path)) else {
        let known: Vec<&str> = Format::ALL.iter().map(|f| f.extensions()[0]).collect();
        let error = Error::new(
            ErrorKind::Format,
            format!("`{}` does not name a format", path.display()),
        );
        return Err(error.hint(format!("use one of the extensions {}", known.join(", "))));
    };
    let text = to_string(net, format, options.loss)?;
    let is_gzip = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    files::save(path, |file| {
        if is_gzip {
            compress(&text, file)
        } else {
            file.write_all(text.as_bytes())
        }
    })
}

fn compress(text: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish().map(drop)
}

/// The information in a network that only JSON can represent, for other formats to refuse.
fn refuse_roles(net: &Network, format: Format, loss: Loss) -> Result<()> {
    if net.has_selections() {
        let message = format!(
            "{} cannot carry a network whose CPTs are selected by tests",
            format.name()
        );
        return Err(Error::new(ErrorKind::Format, message).hint("write it as .json"));
    }
    let with_role = net
        .cpts()
        .iter()
        .enumerate()
        .find(|(_, cpt)| *cpt.role() != super::Role::default());
    match with_role {
        Some((index, cpt)) if loss == Loss::Refuse => {
            let name = match cpt.child() {
                Some(child) => format!("the CPT of `{}`", net.variable(child).name),
                None => format!("factor {index}"),
            };
            Err(cannot_carry(
                format,
                &format!("what is known about {name} (functional, fixed, tied, …)"),
            ))
        }
        _ => Ok(()),
    }
}

fn refuse_markov(net: &Network, format: Format) -> Result<()> {
    if net.is_markov() {
        let error = Error::new(
            ErrorKind::Format,
            format!("{} cannot carry a Markov network", format.name()),
        );
        return Err(error.hint("write it as .uai or .json"));
    }
    Ok(())
}

fn cannot_carry(format: Format, what: &str) -> Error {
    let error = Error::new(
        ErrorKind::Format,
        format!("{} cannot carry {what}", format.name()),
    );
    error.hint("write it as .json").or(Remedy::TurnOn {
        option: "lossy",
        purpose: "to accept the loss",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_that_decompresses_to_a_large_one_is_refused() {
        let mut bomb = vec![];
        compress(&" ".repeat(3 << 20), &mut bomb).unwrap();
        assert!(bomb.len() < 10_000);
        let at_most = |bytes| ReadOptions::default().with_max_bytes(bytes);
        let error = parse("bomb.bif.gz", &bomb, &at_most(2 << 20)).unwrap_err();
        assert_eq!(
            error.message(),
            "`bomb.bif.gz` decompresses to more than 2 MiB"
        );
        let within = parse("blank.bif.gz", &bomb, &at_most(3 << 20)).unwrap_err();
        assert_eq!(within.message(), "`blank.bif.gz` is empty");
    }

    #[test]
    fn the_extension_tells_the_format_or_else_the_text() {
        let cases = [
            ("a.bif", "BAYES", Some(Format::Bif)),
            (
                "a.XML.gz",
                "<?xml version=\"1.0\"?>\n<BIF>",
                Some(Format::Xmlbif),
            ),
            (
                "a.xml",
                "<?xml version=\"1.0\"?>\n<smile>",
                Some(Format::Xdsl),
            ),
            ("a.xdsl", "<BIF>", Some(Format::Xdsl)),
            ("a.txt", "% a comment\n\nnet { }", Some(Format::Net)),
            ("<stdin>", "{", Some(Format::Json)),
            ("a", "what is this?", None),
        ];
        for (name, text, format) in cases {
            assert_eq!(
                Format::of_file(Path::new(name), text),
                format,
                "{name}: {text}"
            );
        }
    }
}
