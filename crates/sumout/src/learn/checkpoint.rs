//! Checkpoints: the state of training after each epoch, in a file that an interrupted run resumes
//! from.
//!
//! A checkpoint belongs to one run, which it knows by a fingerprint: a hash of the network, the
//! task, the options and the examples.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::circuit::batch::Column;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::learn::{Examples, FitOptions, State, Task, Training};
use crate::model::format::{self, Format, Loss};
use crate::vars::VarId;

/// Where the state of training is saved after each epoch.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    resume: bool,
}

impl Checkpoint {
    /// A file that is written, but not resumed from.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Checkpoint {
            path: path.into(),
            resume: false,
        }
    }

    /// Whether training resumes from the file, if it exists.
    #[must_use]
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file, and unfinished ones of runs that were killed while writing it.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let Some(name) = self.path.file_name() else {
            return;
        };
        let begin = format!("{}.", name.to_string_lossy());
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.starts_with(&begin) && name.ends_with(".part") {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// A checkpoint of a particular run.
#[derive(Debug)]
pub(crate) struct Resumable {
    checkpoint: Checkpoint,
    run: String,
}

#[derive(Serialize)]
struct Saving<'s> {
    run: &'s str,
    state: &'s State,
}

#[derive(Deserialize)]
struct Saved {
    run: String,
    state: Value,
}

impl Resumable {
    pub(crate) fn new(
        checkpoint: &Checkpoint,
        training: &Training,
        task: &Task,
        examples: &Examples,
        options: &FitOptions,
    ) -> Self {
        let compile = &options.compile;
        let network = format::to_string(&training.net, Format::Json, Loss::Accept);
        let run = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "network": network.unwrap_or_default(),
            "targets": indices(task.targets.iter().copied()),
            "given": indices(task.given.iter()),
            "trainable": indices(task.trainable(&training.net).iter()),
            "strict_ties": task.strict_ties,
            "training": training.options,
            "level": compile.level.name(),
            "objective": compile.objective.name(),
            "seed": compile.seed,
            "effort": compile.effort,
            "near": compile.near,
            "precision": training.eval.precision.name(),
        });
        let mut print = Fingerprint::new();
        print.bytes(run.to_string().as_bytes());
        print.examples(examples);
        Resumable {
            checkpoint: checkpoint.clone(),
            run: format!("{:032x}", print.0),
        }
    }

    /// The state to resume from, if that is wanted and there is one.
    pub(crate) fn load(&self) -> Result<Option<State>> {
        let path = self.checkpoint.path();
        if !(self.checkpoint.resume && path.exists()) {
            return Ok(None);
        }
        let name = path.display();
        let text = fs::read_to_string(path)
            .map_err(|e| Error::io(format_args!("cannot read `{name}`"), e))?;
        let damaged = |_| {
            let what = format!("`{name}` is damaged, or not a checkpoint");
            Error::new(ErrorKind::Format, what).hint("delete it, and start from scratch")
        };
        let saved: Saved = serde_json::from_str(&text).map_err(damaged)?;
        if saved.run != self.run {
            let error = Error::new(
                ErrorKind::Options,
                format!("`{name}` belongs to another run"),
            );
            return Err(error
                .hint("resume with the same model, examples and options, or start from scratch"));
        }
        serde_json::from_value(saved.state)
            .map(Some)
            .map_err(damaged)
    }

    pub(crate) fn save(&self, state: &State) -> Result<()> {
        let saving = Saving {
            run: &self.run,
            state,
        };
        files::save(self.checkpoint.path(), |file| {
            serde_json::to_writer(file, &saving).map_err(Into::into)
        })
    }
}

fn indices(vars: impl Iterator<Item = VarId>) -> Vec<usize> {
    vars.map(VarId::index).collect()
}

/// The 128-bit FNV-1a hash.
struct Fingerprint(u128);

impl Fingerprint {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    fn new() -> Self {
        Fingerprint(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(Self::PRIME);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn examples(&mut self, examples: &Examples) {
        self.number(examples.len() as u64);
        for var in examples.variables() {
            self.number(var.index() as u64);
            match examples.get(var) {
                Some(Column::Values(values)) => {
                    self.bytes(b"values");
                    values.iter().for_each(|v| self.bytes(&v.to_le_bytes()));
                }
                Some(Column::Likelihoods(numbers)) => {
                    self.bytes(b"likelihoods");
                    numbers.iter().for_each(|x| self.number(x.to_bits()));
                }
                None => {}
            }
        }
        for row in 0..examples.len() {
            self.number(examples.weight(row).to_bits());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(of: impl FnOnce(&mut Fingerprint)) -> u128 {
        let mut print = Fingerprint::new();
        of(&mut print);
        print.0
    }

    /// The published value of the hash of `foobar`.
    #[test]
    fn the_hash_is_fnv_1a() {
        let found = print(|print| print.bytes(b"foobar"));
        assert_eq!(found, 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn every_cell_and_weight_counts() {
        let of = |values: [i32; 2], weights: [f64; 2]| {
            let mut examples = Examples::new(2);
            examples.insert(VarId::new(1), Column::Values(values.to_vec()));
            examples.weigh(weights.to_vec()).unwrap();
            print(|print| print.examples(&examples))
        };
        let first = of([0, 1], [1.0, 1.0]);
        assert_eq!(first, of([0, 1], [1.0, 1.0]));
        for other in [of([0, -1], [1.0, 1.0]), of([0, 1], [1.0, 2.0])] {
            assert_ne!(first, other);
        }
        let mut soft = Examples::new(2);
        soft.insert(VarId::new(1), Column::Likelihoods(vec![0.5; 4]));
        assert_ne!(first, print(|print| print.examples(&soft)));
    }
}
