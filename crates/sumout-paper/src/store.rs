//! Keeps results as they come, so that a run can be interrupted, and go on another time.
//!
//! A *cell* is what is computed at once: a circuit, a run of learning, a network. Each has a file
//! of its own in the store's folder, which says what it is of: the version of this program, the
//! table and the row, the seed, and all options that it depends on. A cell that is of something
//! else is as good as none, and so is a file that is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sumout::Error;

use crate::machine;

/// Where results are kept.
#[derive(Debug)]
pub struct Store {
    folder: Option<PathBuf>,
    /// Whether nothing is computed that is not there.
    is_closed: bool,
}

/// A result, and the machine that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Cell<T> {
    pub result: T,
    pub machine: String,
}

impl Store {
    /// A store that keeps nothing.
    pub fn none() -> Self {
        Store {
            folder: None,
            is_closed: false,
        }
    }

    /// A folder, which is made if it is not there; without one, nothing is kept.
    pub fn new(folder: Option<&Path>, is_closed: bool) -> sumout::Result<Self> {
        if let Some(folder) = folder {
            let tried = format!("cannot make the folder `{}`", folder.display());
            fs::create_dir_all(folder).map_err(|e| Error::io(tried, e))?;
        }
        Ok(Store {
            folder: folder.map(Path::to_owned),
            is_closed,
        })
    }

    /// A cell as it was kept, or else computed; none if nothing may be computed.
    pub(crate) fn cell<T: Serialize + DeserializeOwned>(
        &self,
        key: Value,
        compute: impl FnOnce() -> sumout::Result<T>,
    ) -> sumout::Result<Option<Cell<T>>> {
        let key = json!({"version": env!("CARGO_PKG_VERSION"), "of": key});
        let path = self
            .folder
            .as_ref()
            .map(|folder| folder.join(file_name(&key)));
        let kept = path.as_deref().and_then(|path| load(path, &key));
        if kept.is_some() || self.is_closed {
            return Ok(kept);
        }
        let cell = Cell {
            result: compute()?,
            machine: machine::name(),
        };
        if let Some(path) = path {
            let content = json!({"key": key, "machine": cell.machine, "result": cell.result});
            sumout::files::save(&path, |file| writeln!(file, "{content:#}"))?;
        }
        Ok(Some(cell))
    }
}

/// The table, and a number that tells this cell from others.
fn file_name(key: &Value) -> String {
    let table = &key["of"]["table"];
    let table = table
        .as_str()
        .map_or_else(|| table.to_string(), str::to_owned);
    format!("table-{table}-{:016x}.json", fnv_1a(&key.to_string()))
}

/// A hash that is the same on all machines and in all versions of Rust.
fn fnv_1a(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

fn load<T: DeserializeOwned>(path: &Path, key: &Value) -> Option<Cell<T>> {
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    if kept["key"] != *key {
        return None;
    }
    let machine = kept["machine"].as_str()?.to_owned();
    Some(Cell {
        result: serde_json::from_value(kept["result"].take()).ok()?,
        machine,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("sumout-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn cell(store: &Store, seed: u64, compute: impl FnOnce() -> f64) -> Option<f64> {
        let found = store.cell(json!({"table": 1, "seed": seed}), || Ok(compute()));
        found.unwrap().map(|cell| cell.result)
    }

    #[test]
    fn what_is_kept_is_not_computed_again() {
        let folder = folder("kept");
        let store = Store::new(Some(&folder), false).unwrap();
        assert_eq!(cell(&store, 0, || 0.1), Some(0.1));
        assert_eq!(cell(&store, 0, || unreachable!()), Some(0.1));
        assert_eq!(cell(&store, 1, || 0.2), Some(0.2), "another seed");
        let closed = Store::new(Some(&folder), true).unwrap();
        assert_eq!(cell(&closed, 0, || unreachable!()), Some(0.1));
        assert_eq!(cell(&closed, 2, || unreachable!()), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_damaged_file_and_one_of_something_else_are_computed_again() {
        let folder = folder("damaged");
        let store = Store::new(Some(&folder), false).unwrap();
        for damage in [
            |text: String| text[..text.len() / 2].to_owned(),
            |text: String| text.replace("0.1.0", "0.0.9"),
        ] {
            cell(&store, 0, || 0.1);
            let path = fs::read_dir(&folder)
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .path();
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, damage(text)).unwrap();
            assert_eq!(cell(&store, 0, || 0.3), Some(0.3));
            fs::remove_file(&path).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_of_cells_keep_their_names() {
        assert_eq!(fnv_1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn without_a_folder_nothing_is_kept() {
        let store = Store::none();
        assert_eq!(
            [cell(&store, 0, || 0.1), cell(&store, 0, || 0.2)],
            [Some(0.1), Some(0.2)]
        );
    }
}
