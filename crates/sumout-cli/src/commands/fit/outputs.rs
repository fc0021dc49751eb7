//! The files that are written in the end: networks, circuits, and the curve.

use std::path::Path;

use sumout::model::format::WriteOptions;
use sumout::{Error, ErrorKind, Format, Network};

use super::Args;
use crate::output::{Result, talk};
use crate::text::counted;

impl Args {
    /// The files to write must be of known kinds, and in folders that there are, before hours are
    /// spent.
    pub(super) fn refuse_outputs(&self) -> Result<()> {
        for path in self.output.iter().filter(|path| !is_circuit(path)) {
            if Format::of_path(path).is_none() {
                let error = Error::new(
                    ErrorKind::Format,
                    format!("`{}` has no known format", path.display()),
                );
                return Err(error
                    .hint("write a network to .json or .bif, or a circuit to .sumout")
                    .into());
            }
        }
        self.refuse_circuits()?;
        if let Some(path) = self
            .curve
            .as_deref()
            .filter(|path| path.extension().is_none_or(|e| e != "svg"))
        {
            let error = Error::new(
                ErrorKind::Format,
                format!("`{}` is not the name of an SVG file", path.display()),
            );
            return Err(error.hint("the curve is drawn to a .svg file").into());
        }
        self.output
            .iter()
            .chain(&self.curve)
            .try_for_each(|path| refuse_nowhere(path))
    }

    fn refuse_circuits(&self) -> Result<()> {
        let circuits = self.output.iter().filter(|path| is_circuit(path)).count();
        if circuits > self.target.len() {
            let (files, targets) = (
                counted(circuits, "circuit"),
                counted(self.target.len(), "target"),
            );
            let error = Error::new(
                ErrorKind::Options,
                format!("{files} for {targets}: each is of one target"),
            );
            return Err(error
                .hint("name targets with `--target`, or write a network")
                .into());
        }
        Ok(())
    }
}

fn refuse_nowhere(path: &Path) -> Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
    let Some(folder) = folder else { return Ok(()) };
    let what = format!(
        "cannot write `{}`: there is no folder `{}`",
        path.display(),
        folder.display()
    );
    Err(Error::new(ErrorKind::Io, what)
        .hint("make the folder first")
        .into())
}

/// Writes a network; warns if the format loses names.
pub(super) fn write_network(net: &Network, path: &Path) -> Result<()> {
    if Format::of_path(path) == Some(Format::Uai) {
        talk("UAI files have no names: variables are x0, x1, …, values s0, s1, …");
    }
    Ok(net.write_with(path, &WriteOptions::default().with_lossy(true))?)
}

pub(super) fn is_circuit(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "sumout")
}
