//! What an interrupted run goes on from: the state after each epoch, in a file beside the first
//! output.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sumout::model::format::{self, Format, Loss};
use sumout::{Column, Error, ErrorKind, Examples, Network, State, Trainer, Training};

use crate::data::Fingerprint;
use crate::output::{Result, talk};

pub struct Checkpoint {
    path: PathBuf,
    /// What tells this run from others: the network, the examples, and how it is learned.
    run: String,
}

/// What tells these examples from others.
fn fingerprint(examples: &Examples) -> Fingerprint {
    let mut print = Fingerprint::of(b"examples").with(examples.len() as u64);
    for var in examples.variables() {
        print = print.with(var.index() as u64);
        print = match examples.get(var) {
            None => print,
            Some(Column::Values(values)) => values
                .iter()
                .fold(print, |print, &v| print.with(u64::from(v as u32))),
            Some(Column::Likelihoods(numbers)) => numbers
                .iter()
                .fold(print, |print, x| print.with(x.to_bits())),
        };
    }
    (0..examples.len()).fold(print, |print, row| {
        print.with(examples.weight(row).to_bits())
    })
}

impl Checkpoint {
    pub fn new(
        output: &Path,
        net: &Network,
        course: &Training,
        examples: &Examples,
        how: &str,
    ) -> Self {
        let mut name = output.as_os_str().to_owned();
        name.push(".checkpoint");
        let model = format::to_string(net, Format::Json, Loss::Accept).unwrap_or_default();
        let learning = serde_json::to_string(course.learning()).unwrap_or_default();
        let parts = [&*model, &*learning, how].map(|part| Fingerprint::of(part.as_bytes()));
        let run = format!("{parts:?} {:?}", fingerprint(examples));
        Checkpoint {
            path: name.into(),
            run,
        }
    }

    /// Goes on from what was saved, if that is wanted; says so if there is something and it is not.
    pub fn begin(&self, trainer: &mut Trainer<'_>, resume: bool) -> Result<()> {
        match (resume, self.path.exists()) {
            (true, true) => {
                trainer.restore(self.load()?)?;
                talk(&format!("going on after {} epochs", trainer.progress().0));
            }
            (true, false) => talk("no checkpoint found; starting from scratch"),
            (false, true) => talk(&format!(
                "starting again; `--resume` would continue from {}",
                self.path.display()
            )),
            (false, false) => {}
        }
        Ok(())
    }

    fn load(&self) -> Result<State> {
        let name = self.path.display();
        let text = fs::read_to_string(&self.path)
            .map_err(|e| Error::io(format_args!("cannot read `{name}`"), e))?;
        let damaged = || {
            let error = Error::new(
                ErrorKind::Format,
                format!("`{name}` is damaged, or not a checkpoint"),
            );
            error.hint("delete it and start again")
        };
        let mut saved: Value = serde_json::from_str(&text).map_err(|_| damaged())?;
        if saved["run"] != json!(self.run) {
            let error = Error::new(
                ErrorKind::Options,
                format!("`{name}` belongs to another run"),
            );
            return Err(error
                .hint(
                    "continue with the same model, examples and options, or start without `--resume`",
                )
                .into());
        }
        Ok(serde_json::from_value(saved["state"].take()).map_err(|_| damaged())?)
    }

    pub fn save(&self, state: &State) -> Result<()> {
        let saved = json!({"run": self.run, "state": state});
        Ok(sumout::files::save(&self.path, |file| {
            serde_json::to_writer(file, &saved).map_err(Into::into)
        })?)
    }

    /// Nothing is left to go on from, nor what runs were writing when they were killed.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let begin = self
            .path
            .file_name()
            .map(|name| format!("{}.", name.to_string_lossy()))
            .unwrap_or_default();
        let folder = self
            .path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.starts_with(&begin) && name.ends_with(".part") {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}
