//! Options that several commands share.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::json;
use sumout::model::format::ReadOptions;
use sumout::{Error, EvalOptions, Format, Level, Network, Options, Precision, Query};

use crate::output::talk;

/// How to read a network.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reading the model")]
pub struct Reading {
    /// The format of the model's file, if its name and content do not tell.
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), ignore_case = true)]
    from: Option<Format>,

    /// Rescale the rows of tables that do not sum to 1 instead of refusing them.
    #[arg(long)]
    normalize: bool,
}

impl Reading {
    /// Of a file in the format that its name tells.
    pub fn of_file(normalize: bool) -> Self {
        Reading {
            normalize,
            ..Reading::default()
        }
    }

    /// The network in a file, on standard input, or built in.
    pub fn network(&self, model: &Path) -> sumout::Result<Network> {
        let options = ReadOptions::default()
            .with_format(self.from)
            .with_normalize(self.normalize);
        let net = if model == Path::new("-") {
            from_stdin(&options)?
        } else {
            Network::read_with(model, &options)?
        };
        let shown = if model == Path::new("-") {
            "<stdin>".into()
        } else {
            model.to_string_lossy()
        };
        for note in net.notes() {
            talk(&format!("note: `{shown}`: {note}"));
        }
        Ok(net)
    }

    /// How the same model is read on the command line.
    pub fn typed(&self, model: &Path) -> String {
        let from = self.from.map_or_else(String::new, |format| {
            format!(" --from {}", format.extensions()[0])
        });
        let normalize = if self.normalize { " --normalize" } else { "" };
        let name = model.display().to_string();
        let is_option = name.len() > 1 && name.starts_with('-');
        format!(
            "{}{}{from}{normalize}",
            if is_option { "./" } else { "" },
            quoted(&name)
        )
    }

    /// How the model is read in Python, where strings are written as in JSON.
    pub fn in_python(&self, model: &Path) -> String {
        let from = self.from.map_or_else(String::new, |format| {
            format!(", format={:?}", format.extensions()[0])
        });
        let normalize = if self.normalize {
            ", normalize=True"
        } else {
            ""
        };
        match model.display().to_string().as_str() {
            "-" => format!("sumout.reads(open(0, \"rb\").read(){from}{normalize})"),
            name => format!("sumout.read({}{from}{normalize})", json!(name)),
        }
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn from_stdin(options: &ReadOptions) -> sumout::Result<Network> {
    let mut bytes = vec![];
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|e| Error::io("cannot read standard input", e))?;
    Network::parse("<stdin>", &bytes, options)
}

/// A query on any number of examples.
#[derive(Args, Debug)]
pub struct Asking {
    /// The network: a file, `-` for standard input, `asia`, or a model such as `rect:8`.
    pub model: PathBuf,

    /// The target variables, by name or by pattern such as `ok_*`; all variables if none is named.
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,

    /// Compute the joint posterior of several variables, such as `lung,tub`: one table with all of
    /// their joint values.
    #[arg(long, value_name = "A,B,…", conflicts_with = "targets")]
    joint: Vec<String>,

    /// The inputs, by name or by pattern such as `pixel_*`: an example gives each a value, a
    /// likelihood, or nothing.
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Inputs")]
    given: Vec<String>,

    /// Inputs that have a value in every example, which makes tables smaller.
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Inputs")]
    hard: Vec<String>,
}

impl Asking {
    /// Converts it to the option of the library.
    pub fn query(&self) -> Query {
        self.inputs(if self.joint.is_empty() {
            Query::of_several(&self.targets)
        } else {
            Query::joint(names(&self.joint))
        })
    }

    /// All names and patterns, as they are typed.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let all = self.targets.iter().chain(&self.given).chain(&self.hard);
        all.map(String::as_str).chain(names(&self.joint))
    }

    /// A query with the inputs that are given.
    pub fn inputs(&self, query: Query) -> Query {
        query.given(&self.given).hard(&self.hard)
    }
}

/// The names and patterns in lists with commas; commas in brackets do not separate:
/// `y[x=0,z=1],{a,b}` has two parts. Brackets that are not closed are part of a name.
pub fn names(lists: &[String]) -> impl Iterator<Item = &str> {
    lists.iter().flat_map(|list| {
        let is_closed = list.matches(['[', '{']).count() == list.matches([']', '}']).count();
        let mut depth = 0_usize;
        let parts = list.split(move |c| {
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && (depth == 0 || !is_closed)
        });
        parts.map(str::trim)
    })
}

/// How to compute an answer.
#[derive(Args, Debug)]
#[command(next_help_heading = "Computing")]
pub struct Computing {
    /// The structure that plans may use: `classical`, the factors alone; `paper`, the paper's own
    /// procedure; `functional`, which variables are functions of others; `tables`, also which
    /// functions; `support`, also which states are reachable; `compiled`, the logic of zeros and
    /// functions, without a plan; `auto`, the cheapest of these.
    #[arg(long, default_value_t = Level::default(), value_parser = level_parser())]
    level: Level,

    /// Seed the search for a good plan; the answer stays the same.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Search longer (2 = twice as long) or shorter (0.1) for a good plan.
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_negative_numbers = true, value_parser = effort)]
    effort: f64,

    /// Refuse plans that need more memory, such as 8GiB; without it, three quarters of what is
    /// free.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
}

/// How exact an answer has to be.
#[derive(Args, Debug)]
#[command(next_help_heading = "Computing")]
pub struct Approximating {
    /// Treat tables as functions if each row has an entry of at least 1-EPS: an approximation,
    /// which comes with an estimate of its error.
    #[arg(long, value_name = "EPS", default_value_t = 0.0, allow_negative_numbers = true, value_parser = near)]
    pub near: f64,
}

fn near(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(eps) if (0.0..0.5).contains(&eps) => Ok(eps),
        _ => Err("give a small probability below 0.5, such as 0.01".into()),
    }
}

impl Computing {
    /// Converts it to the option of the library.
    pub fn options(&self) -> Options {
        Options::default()
            .with_level(self.level)
            .with_seed(self.seed)
            .with_effort(self.effort)
            .with_memory(self.memory)
    }
}

/// Threads and precision.
#[derive(Args, Debug)]
#[command(next_help_heading = "Computing")]
pub struct Using {
    /// The number of threads; one for each core if zero.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,

    /// The numbers: `f32` is twice as fast, `f64` has sixteen digits.
    #[arg(long, default_value_t = Precision::F32, value_parser = precision_parser())]
    pub precision: Precision,
}

impl Using {
    /// Converts it to the option of the library.
    pub fn running(&self, memory: Option<u64>) -> EvalOptions {
        let (precision, threads) = (self.precision, self.threads);
        EvalOptions::default()
            .with_precision(precision)
            .with_threads(threads)
            .with_memory(memory)
    }
}

/// Takes the precisions by their names.
pub fn precision_parser() -> impl TypedValueParser<Value = Precision> {
    PossibleValuesParser::new(Precision::ALL.map(Precision::name))
        .try_map(|name| name.parse::<Precision>())
}

/// Takes the levels by their names.
fn level_parser() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(Level::names()).try_map(|name| name.parse::<Level>())
}

/// Takes the formats by their extensions.
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    let value = |format: Format| {
        let (first, others) = format
            .extensions()
            .split_first()
            .expect("a format has an extension");
        PossibleValue::new(*first).aliases(others.iter().copied())
    };
    PossibleValuesParser::new(Format::ALL.map(value)).try_map(|name| {
        let known = Format::ALL
            .into_iter()
            .find(|f| f.extensions().contains(&name.to_lowercase().as_str()));
        known.ok_or("no such format")
    })
}

pub fn effort(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if f64::is_finite(x) && x >= 0.0 => Ok(x),
        _ => Err("give a number that is not negative, such as 0.1 or 10".into()),
    }
}

const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// A number of bytes, such as `8GiB`, `500 MB` or `1000000`.
pub fn size(text: &str) -> Result<u64, String> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !is_number(c)).unwrap_or(text.len()));
    let Ok(number) = number.parse::<f64>() else {
        return Err("give a size such as 8GiB, 500MB, or a number of bytes".into());
    };
    let unit = unit.trim();
    match UNITS
        .iter()
        .find(|(name, _)| unit.eq_ignore_ascii_case(name))
    {
        Some((_, factor)) => Ok((number * *factor as f64) as u64),
        None => Err(format!(
            "`{unit}` is not a unit of memory; use B, KB, MB, GB, TB, KiB, MiB, GiB or TiB"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_separated_by_commas_that_are_in_no_brackets() {
        let lists = ["y[x=0,z=z[x=1,a=0]], w", "{a,b}c,d", "a[,b"].map(str::to_owned);
        let parts = ["y[x=0,z=z[x=1,a=0]]", "w", "{a,b}c", "d", "a[", "b"];
        assert!(names(&lists).eq(parts));
    }

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        let sizes = ["8GiB", "1.5 kib", "500MB", "1000", "7b", "0"].map(size);
        assert_eq!(sizes, [8 << 30, 1536, 500_000_000, 1000, 7, 0].map(Ok));
    }

    #[test]
    fn wrong_sizes_say_what_is_expected() {
        assert!(
            size("8 gigs")
                .unwrap_err()
                .starts_with("`gigs` is not a unit of memory")
        );
        assert!(size("-1GB").unwrap_err().contains("8GiB"));
        assert!(size("GiB").unwrap_err().contains("8GiB"));
        assert!(size("1.2.3").unwrap_err().contains("8GiB"));
    }
}
