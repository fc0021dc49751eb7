//! Which columns of a file are inputs of a circuit, and what their cells say.

use std::collections::BTreeMap;
use std::fmt;

use sumout::{Circuit, Error, ErrorKind, Network, Remedy, Result, VarId, Variable};

/// The columns that a file of rows may have.
pub trait Schema {
    /// The variables, in the order of the network.
    fn variables(&self) -> Vec<VarId>;

    /// One of them.
    fn variable(&self, var: VarId) -> &Variable;

    /// The name that may have been meant by another one.
    fn meant(&self, name: &str) -> Option<String>;

    /// The kind of column to name in the error if the file has none of them.
    fn wanted(&self) -> &'static str;

    /// Whether columns `NAME=VALUE` may be there, which say something else than the value of a
    /// variable.
    fn knows_likelihoods(&self) -> bool {
        false
    }

    /// The variables of the columns of a matrix, which have no names.
    fn order(&self) -> &'static str {
        "a column for each input, in the order of the circuit"
    }
}

impl Schema for Circuit {
    fn variables(&self) -> Vec<VarId> {
        self.inputs().collect()
    }

    fn variable(&self, var: VarId) -> &Variable {
        Circuit::variable(self, var)
    }

    fn meant(&self, name: &str) -> Option<String> {
        self.input(name).err().and_then(suggestion)
    }

    fn wanted(&self) -> &'static str {
        "an input of the circuit"
    }

    fn order(&self) -> &'static str {
        "a column for each input, in the order of the circuit; only with `--metric` a last one of labels"
    }
}

impl Schema for (&Network, Vec<VarId>) {
    fn variables(&self) -> Vec<VarId> {
        self.1.clone()
    }

    fn variable(&self, var: VarId) -> &Variable {
        self.0.variable(var)
    }

    fn meant(&self, name: &str) -> Option<String> {
        self.0.find(name).err().and_then(suggestion)
    }

    fn wanted(&self) -> &'static str {
        "a variable of the network"
    }

    fn knows_likelihoods(&self) -> bool {
        true
    }
}

/// The name that an error suggests.
fn suggestion(error: Error) -> Option<String> {
    error.remedies().iter().find_map(|remedy| match remedy {
        Remedy::DidYouMean(name) => Some(name.clone()),
        _ => None,
    })
}

/// A column that is not an input.
#[derive(Debug)]
pub struct Ignored {
    /// Its title.
    pub title: String,
    /// The missing input that may have been meant.
    pub meant: Option<String>,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)?;
        match &self.meant {
            Some(name) => write!(f, " (did you mean `{name}`?)"),
            None => Ok(()),
        }
    }
}

/// The columns of a file.
#[derive(Debug, Default)]
pub struct Columns {
    /// The inputs that the file has, each with the position of its column.
    pub found: Vec<(usize, VarId)>,
    /// The inputs that the file does not have.
    pub missing: Vec<String>,
    /// The columns that are not used.
    pub ignored: Vec<Ignored>,
}

/// At most this many unknown columns get a suggestion: each is compared with all names.
const MAX_SUGGESTIONS: usize = 20;

impl Columns {
    /// Finds inputs by the titles of columns.
    pub fn find<'a>(
        name: &str,
        titles: impl IntoIterator<Item = &'a str>,
        schema: &dyn Schema,
    ) -> Result<Self> {
        let variables = schema.variables();
        let mut left: BTreeMap<&str, VarId> = variables
            .iter()
            .map(|&v| (&*schema.variable(v).name, v))
            .collect();
        let inputs = left.clone();
        let mut columns = Columns::default();
        for (column, title) in titles.into_iter().enumerate() {
            match (left.remove(title), inputs.contains_key(title)) {
                (Some(var), _) => columns.found.push((column, var)),
                (None, true) => {
                    let error = Error::new(
                        ErrorKind::Format,
                        format!("`{name}`: two columns are called `{title}`"),
                    );
                    return Err(error.hint("give each variable one column"));
                }
                (None, false) => columns.ignored.push(Ignored {
                    title: title.to_owned(),
                    meant: None,
                }),
            }
            let (of, _) = title.split_once('=').unwrap_or_default();
            if let Some(var) = inputs
                .get(of)
                .filter(|_| !inputs.contains_key(title) && !schema.knows_likelihoods())
            {
                return Err(no_likelihood(name, title, &schema.variable(*var).name));
            }
        }
        columns.missing = variables
            .iter()
            .map(|&v| &schema.variable(v).name)
            .filter(|n| left.contains_key(&***n))
            .cloned()
            .collect();
        columns.suggest(schema);
        Ok(columns)
    }

    /// Finds the missing inputs that may have been meant by columns that are not used.
    fn suggest(&mut self, schema: &dyn Schema) {
        for column in self.ignored.iter_mut().take(MAX_SUGGESTIONS) {
            let meant = schema.meant(&column.title);
            column.meant = meant.filter(|name| self.missing.contains(name));
        }
    }

    /// All variables, in the order of the network.
    pub fn all(schema: &dyn Schema) -> Self {
        Columns {
            found: schema.variables().into_iter().enumerate().collect(),
            ..Columns::default()
        }
    }

    /// Refuses a file that has nothing to do with the circuit.
    pub fn refuse_none(
        &self,
        name: &str,
        schema: &dyn Schema,
        hint: impl FnOnce() -> String,
    ) -> Result<()> {
        if !self.found.is_empty() {
            return Ok(());
        }
        let error = Error::new(
            ErrorKind::Format,
            format!("`{name}`: no column is {}", schema.wanted()),
        );
        let doubtful = self.ignored.iter().find(|column| column.meant.is_some());
        Err(error.hint(doubtful.map_or_else(hint, |column| format!("columns are {column}"))))
    }
}

/// To ignore such a column would be to answer another question.
fn no_likelihood(file: &str, title: &str, input: &str) -> Error {
    let error = Error::new(
        ErrorKind::Format,
        format!("`{file}`: the column `{title}` is not a value of `{input}`"),
    );
    error.hint(format!(
        "give a column `{input}` with values; likelihoods are taken by `sumout query --soft`, and from Python and Rust"
    ))
}

/// The expected titles.
pub fn wanted(schema: &dyn Schema) -> String {
    let variables = schema.variables();
    let names: Vec<&str> = variables
        .iter()
        .take(6)
        .map(|&v| &*schema.variable(v).name)
        .collect();
    match names[..] {
        [] => "the circuit has no inputs, and so the same answer for all rows: `sumout query` gives it".into(),
        _ if names.len() > 5 => format!("columns are named like variables: {}, …", names[..5].join(", ")),
        _ => format!("columns are named like variables: {}", names.join(", ")),
    }
}

/// An input, and how its cells are understood.
#[derive(Debug)]
pub struct Input {
    /// The variable.
    pub var: VarId,
    /// Its name.
    pub name: String,
    /// The names of its values.
    pub values: Vec<String>,
    /// The positions of the values, by the order of their names.
    sorted: Vec<i32>,
}

/// The content of a cell that is not null.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    /// The name of a value.
    Text(&'a [u8]),
    /// The position of a value.
    Integer(i64),
    /// The same; missing if it is not a number.
    Real(f64),
}

/// Up to this many names are compared one by one.
const MAX_NAMES_TO_SCAN: usize = 8;

impl Input {
    /// A variable that there may be a column for.
    pub fn new(var: VarId, schema: &dyn Schema) -> Self {
        let variable = schema.variable(var);
        let mut sorted: Vec<i32> = (0..variable.values.len() as i32).collect();
        sorted.sort_by_key(|&position| &variable.values[position as usize]);
        Input {
            var,
            name: variable.name.clone(),
            values: variable.values.clone(),
            sorted,
        }
    }

    /// The position of a value by its name; negative if the cell is empty, none if there is no such
    /// value.
    pub fn named(&self, cell: &[u8]) -> Option<i32> {
        if cell.is_empty() {
            return Some(-1);
        }
        if self.values.len() <= MAX_NAMES_TO_SCAN {
            return self
                .values
                .iter()
                .position(|value| is_same(value.as_bytes(), cell))
                .map(|position| position as i32);
        }
        let name = |position: &i32| self.values[*position as usize].as_bytes();
        self.sorted
            .binary_search_by(|position| name(position).cmp(cell))
            .ok()
            .map(|at| self.sorted[at])
    }

    /// A value by its position; negative if the number is, none if there are not as many values.
    pub fn placed(&self, position: i64) -> Option<i32> {
        (position < self.values.len() as i64).then(|| position.max(-1) as i32)
    }

    /// The position in a cell, negative if the cell is missing; none if it is not a value.
    pub fn position(&self, cell: Cell<'_>) -> Option<i32> {
        match cell {
            Cell::Text(text) => self.named(text),
            Cell::Integer(x) => self.placed(x),
            Cell::Real(x) if x.is_nan() => Some(-1),
            Cell::Real(x) if x.fract() == 0.0 => self.placed(x as i64),
            Cell::Real(_) => None,
        }
    }

    /// The error for a cell that is not a value.
    pub fn complaint(&self, cell: Cell<'_>) -> String {
        match cell {
            Cell::Text(text) => self.no_name(text),
            Cell::Integer(x) => self.no_place(x),
            Cell::Real(x) => self.no_place(x),
        }
    }

    /// Whether values have numbers for names, but others than their positions.
    pub fn is_named_otherwise(&self) -> bool {
        let names: Option<Vec<usize>> = self.values.iter().map(|name| name.parse().ok()).collect();
        names.is_some_and(|names| !names.into_iter().eq(0..self.values.len()))
    }

    /// The error for a cell.
    pub fn no_name(&self, cell: &[u8]) -> String {
        let cell = String::from_utf8_lossy(cell);
        format!(
            "`{}` has no value `{cell}`; its values are {}",
            self.name,
            self.values.join(", ")
        )
    }

    /// The error for a number.
    pub fn no_place(&self, number: impl std::fmt::Display) -> String {
        format!(
            "`{}` has no value {number}, only {} values",
            self.name,
            self.values.len()
        )
    }
}

/// Whether names are the same, byte by byte: most are so short that it would take longer to call
/// what compares memory.
fn is_same(name: &[u8], cell: &[u8]) -> bool {
    name.len() == cell.len() && name.iter().zip(cell).all(|(x, y)| x == y)
}

#[cfg(test)]
mod tests {
    use sumout::{Options, Query};

    use super::*;

    #[test]
    fn likelihoods_of_inputs_are_not_ignored() {
        let asia = Network::read("asia").unwrap();
        let circuit = asia
            .compile(
                &Query::of("lung").given(["xray", "dysp"]),
                &Options::default(),
            )
            .unwrap();
        let error =
            Columns::find("cases.csv", ["xray=yes", "xray=no", "dysp"], &circuit).unwrap_err();
        assert_eq!(
            error.message(),
            "`cases.csv`: the column `xray=yes` is not a value of `xray`"
        );
        // Columns that `eval` wrote for other variables may stay in the file.
        let columns = Columns::find(
            "cases.csv",
            ["xray", "dysp", "lung=yes", "lung=no"],
            &circuit,
        )
        .unwrap();
        assert_eq!((columns.found.len(), columns.ignored.len()), (2, 2));
    }
}
