//! Which columns of a file are inputs of a circuit, and what their cells say.

use std::borrow::Cow;
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

    /// Whether a CSV file may have the likelihoods of a variable's values instead of its value.
    fn takes_likelihoods(&self, _var: VarId) -> bool {
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

    fn takes_likelihoods(&self, _var: VarId) -> bool {
        true
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
    /// The inputs whose likelihoods the file has, with the columns of their values.
    pub soft: Vec<(VarId, Vec<usize>)>,
    /// The inputs that the file does not have.
    pub missing: Vec<String>,
    /// The columns that are not used.
    pub ignored: Vec<Ignored>,
}

/// At most this many unknown columns get a suggestion: each is compared with all names.
const MAX_SUGGESTIONS: usize = 20;

impl Columns {
    /// Finds inputs by the titles of columns of a CSV file, which may be their names or those of
    /// their values: `NAME=VALUE`.
    pub fn find_text(file: &str, titles: &[Cow<'_, str>], schema: &dyn Schema) -> Result<Self> {
        let places: BTreeMap<&str, usize> = titles.iter().map(|t| &**t).zip(0..).collect();
        let mut soft = vec![];
        for var in schema
            .variables()
            .into_iter()
            .filter(|&v| schema.takes_likelihoods(v))
        {
            let Variable { name, values } = schema.variable(var);
            let title = |value| format!("{name}={value}");
            let columns: Option<Vec<usize>> = values
                .iter()
                .map(|value| places.get(&*title(value)).copied())
                .collect();
            match columns {
                Some(_) if places.contains_key(&**name) => return Err(both(file, name)),
                Some(columns) => soft.push((var, columns)),
                None => {}
            }
        }
        let is_soft = |column: &usize| soft.iter().any(|(_, columns)| columns.contains(column));
        let others = titles
            .iter()
            .enumerate()
            .filter(|(column, _)| !is_soft(column));
        let mut found = Columns::find_at(file, others.map(|(at, t)| (at, &**t)), schema)?;
        let is_given = |name: &String| {
            soft.iter()
                .any(|&(var, _)| schema.variable(var).name == *name)
        };
        found.missing.retain(|name| !is_given(name));
        Ok(Columns { soft, ..found })
    }

    /// Finds inputs by the titles of columns.
    pub fn find<'a>(
        name: &str,
        titles: impl IntoIterator<Item = &'a str>,
        schema: &dyn Schema,
    ) -> Result<Self> {
        Columns::find_at(name, titles.into_iter().enumerate(), schema)
    }

    fn find_at<'a>(
        name: &str,
        titles: impl IntoIterator<Item = (usize, &'a str)>,
        schema: &dyn Schema,
    ) -> Result<Self> {
        let variables = schema.variables();
        let mut left: BTreeMap<&str, VarId> = variables
            .iter()
            .map(|&v| (&*schema.variable(v).name, v))
            .collect();
        let inputs = left.clone();
        let mut columns = Columns::default();
        for (column, title) in titles {
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
        if !self.found.is_empty() || !self.soft.is_empty() {
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

fn both(file: &str, input: &str) -> Error {
    let message = format!("`{file}` has both values and likelihoods of `{input}`");
    Error::new(ErrorKind::Format, message)
        .hint("keep either the value column or the likelihood columns")
}

/// To ignore such a column would be to answer another question.
fn no_likelihood(file: &str, title: &str, input: &str) -> Error {
    let error = Error::new(
        ErrorKind::Format,
        format!("`{file}`: the column `{title}` is not a value of `{input}`"),
    );
    error.hint(format!(
        "give a column `{input}` with values; a CSV file may also have a column of likelihoods for each of them"
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
        let titles = ["xray=yes", "dysp", "xray=no"].map(Cow::from);
        let columns = Columns::find_text("cases.csv", &titles, &circuit).unwrap();
        let xray = circuit.input("xray").unwrap();
        assert_eq!(columns.soft, [(xray, vec![0, 2])]);
        assert_eq!((columns.found.len(), columns.missing.len()), (1, 0));
        let twice = ["xray=yes", "xray", "xray=no"].map(Cow::from);
        let error = Columns::find_text("cases.csv", &twice, &circuit).unwrap_err();
        assert_eq!(
            error.message(),
            "`cases.csv` has both values and likelihoods of `xray`"
        );
        let partly = ["xray=yes", "dysp"].map(Cow::from);
        assert!(Columns::find_text("cases.csv", &partly, &circuit).is_err());
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
