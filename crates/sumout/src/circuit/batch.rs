//! Batches of evidence, and the answers to them.

use crate::circuit::Circuit;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Evidence, Finding, Variable};
use crate::vars::VarId;

/// The evidence on one variable in each example of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// The position of its value, negative where nothing is known.
    Values(Vec<i32>),
    /// The likelihood of each of its values, example after example.
    Likelihoods(Vec<f64>),
}

impl Column {
    /// The likelihood of a value in an example, of a variable with this many values.
    pub(crate) fn likelihood(&self, row: usize, value: usize, card: usize) -> f64 {
        match self {
            Column::Values(values) => f64::from(values[row] < 0 || values[row] as usize == value),
            Column::Likelihoods(numbers) => numbers[row * card + value],
        }
    }
}

/// Positions of variables with at most this many values are stored in bytes.
const FEW: usize = i8::MAX as usize;

/// A column as a batch keeps it. Positions of few values are bytes, of which the memory has four in
/// the place of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Known {
    /// The position of its value, negative where nothing is known.
    Bytes(Vec<i8>),
    /// The same of a variable with many values.
    Values(Vec<i32>),
    /// The likelihood of each of its values, example after example.
    Likelihoods(Vec<f64>),
}

impl Known {
    /// The content of a checked column.
    fn new(column: Column, card: usize) -> Self {
        match column {
            Column::Values(values) if card <= FEW => Known::Bytes(
                values
                    .into_iter()
                    .map(|value| value.max(-1) as i8)
                    .collect(),
            ),
            Column::Values(values) => Known::Values(values),
            Column::Likelihoods(numbers) => Known::Likelihoods(numbers),
        }
    }

    /// The likelihood of a value in an example, of a variable with this many values.
    pub fn likelihood(&self, row: usize, value: usize, card: usize) -> f64 {
        match self {
            Known::Bytes(values) => f64::from(values[row] < 0 || values[row] as usize == value),
            Known::Values(values) => f64::from(values[row] < 0 || values[row] as usize == value),
            Known::Likelihoods(numbers) => numbers[row * card + value],
        }
    }

    /// The first example without a value.
    pub fn missing(&self) -> Option<usize> {
        match self {
            Known::Bytes(values) => values.iter().position(|&v| v < 0),
            Known::Values(values) => values.iter().position(|&v| v < 0),
            Known::Likelihoods(_) => Some(0),
        }
    }

    fn select(&self, rows: &[usize], card: usize) -> Known {
        match self {
            Known::Bytes(values) => Known::Bytes(rows.iter().map(|&row| values[row]).collect()),
            Known::Values(values) => Known::Values(rows.iter().map(|&row| values[row]).collect()),
            Known::Likelihoods(numbers) => Known::Likelihoods(
                rows.iter()
                    .flat_map(|&row| &numbers[row * card..][..card])
                    .copied()
                    .collect(),
            ),
        }
    }
}

/// Evidence for many examples: a column for each input of a circuit of which something is known.
///
/// ```
/// use sumout::{Batch, Column, Network, Options, Query};
///
/// let asia = Network::read("asia")?;
/// let circuit = asia.compile(&Query::of("lung").given(["xray", "dysp"]), &Options::default())?;
/// let batch = Batch::new(3)
///     .with(&circuit, "xray", Column::Values(vec![0, 1, -1]))?
///     .with(&circuit, "dysp", Column::Likelihoods(vec![0.0, 1.0, 1.0, 1.0, 0.8, 0.1]))?;
/// let answers = circuit.evaluate(&batch)?;
/// assert!((answers.row(0)[0] - 0.2523).abs() < 1e-4);
/// assert!((answers.log_evidence[0].exp() - 0.03962).abs() < 1e-5);
/// # Ok::<(), sumout::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    rows: usize,
    /// By variable: examples are often single, and there can be hundreds of inputs.
    columns: Vec<Option<Known>>,
}

impl Batch {
    /// A batch of examples of which nothing is known.
    pub fn new(rows: usize) -> Self {
        Batch {
            rows,
            ..Batch::default()
        }
    }

    /// A batch of one example, with evidence on some inputs.
    pub fn of(circuit: &Circuit, evidence: &Evidence) -> Result<Self> {
        let mut batch = Batch::new(1);
        for (var, finding) in evidence.iter() {
            let column = match finding {
                Finding::Hard(value) => Column::Values(vec![*value as i32]),
                Finding::Soft(likelihood) => Column::Likelihoods(likelihood.clone()),
            };
            batch.insert(circuit, var, column)?;
        }
        Ok(batch)
    }

    /// The number of examples.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds what is known of an input, by its name.
    pub fn with(mut self, circuit: &Circuit, input: &str, column: Column) -> Result<Self> {
        self.insert(circuit, circuit.input(input)?, column)?;
        Ok(self)
    }

    /// Adds what is known of an input, instead of what was known before.
    pub fn insert(&mut self, circuit: &Circuit, input: VarId, column: Column) -> Result<()> {
        let variable = circuit.check_input(input)?;
        check(&column, &variable.name, variable.values.len(), self.rows)?;
        self.put(input, Known::new(column, variable.values.len()));
        Ok(())
    }

    /// Adds the positions of an input's values in bytes, negative where nothing is known: nothing
    /// is copied of an input that has at most 127 values.
    ///
    /// ```
    /// # use sumout::{Batch, Column, Network, Options, Query};
    /// # let asia = Network::read("asia")?;
    /// # let circuit = asia.compile(&Query::of("lung").given(["xray"]), &Options::default())?;
    /// let xray = circuit.input("xray")?;
    /// let mut batch = Batch::new(3);
    /// batch.insert_bytes(&circuit, xray, vec![0, 1, -1])?;
    /// assert_eq!(batch, Batch::new(3).with(&circuit, "xray", Column::Values(vec![0, 1, -1]))?);
    /// # Ok::<(), sumout::Error>(())
    /// ```
    pub fn insert_bytes(
        &mut self,
        circuit: &Circuit,
        input: VarId,
        mut values: Vec<i8>,
    ) -> Result<()> {
        let card = circuit.check_input(input)?.values.len();
        let fit = card <= FEW && values.len() == self.rows;
        if !fit || values.iter().fold(-1, |most, &value| most.max(value)) >= card as i8 {
            return self.insert(
                circuit,
                input,
                Column::Values(values.into_iter().map(i32::from).collect()),
            );
        }
        values
            .iter_mut()
            .for_each(|value| *value = (*value).max(-1));
        self.put(input, Known::Bytes(values));
        Ok(())
    }

    fn put(&mut self, var: VarId, column: Known) {
        let known = self.columns.len().max(var.index() + 1);
        self.columns.resize(known, None);
        self.columns[var.index()] = Some(column);
    }

    /// Some of the examples, in any order.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select(&self, circuit: &Circuit, rows: &[usize]) -> Batch {
        let select = |(column, variable): (&Option<Known>, &Variable)| {
            column
                .as_ref()
                .map(|column| column.select(rows, variable.values.len()))
        };
        let columns = self
            .columns
            .iter()
            .zip(&*circuit.variables)
            .map(select)
            .collect();
        Batch {
            rows: rows.len(),
            columns,
        }
    }

    /// The evidence on a variable.
    pub(crate) fn get(&self, var: VarId) -> Option<&Known> {
        self.columns.get(var.index())?.as_ref()
    }
}

/// Refuses columns of the wrong length, and numbers that mean nothing.
pub(crate) fn check(column: &Column, name: &str, card: usize, rows: usize) -> Result<()> {
    let wrong = |message: String| Err(Error::new(ErrorKind::Evidence, message));
    match column {
        Column::Values(values) if values.len() != rows => wrong(format!(
            "`{name}` has {} values, but the batch has {rows} examples",
            values.len()
        )),
        Column::Values(values)
            if values.iter().fold(-1, |most, &value| most.max(value)) < card as i32 =>
        {
            Ok(())
        }
        Column::Values(values) => match values.iter().position(|&v| v >= card as i32) {
            Some(row) => wrong(format!(
                "`{name}` has no value {} (row {row}); it has {card} values",
                values[row]
            )),
            None => Ok(()),
        },
        Column::Likelihoods(numbers) if numbers.len() != rows * card => {
            let wanted = rows * card;
            wrong(format!(
                "`{name}` has {} likelihoods, but {rows} examples of {card} values need {wanted}",
                numbers.len()
            ))
        }
        Column::Likelihoods(numbers) => {
            match numbers.iter().position(|x| !x.is_finite() || *x < 0.0) {
                Some(at) => {
                    let (row, number) = (at / card, numbers[at]);
                    wrong(format!(
                        "`{name}` has a likelihood of {number} (row {row}); likelihoods are finite and not negative"
                    ))
                }
                None => Ok(()),
            }
        }
    }
}

/// Posteriors of each example of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answers {
    /// The variables that were asked for, each with the number of its values.
    pub targets: Vec<(VarId, usize)>,
    /// For each example, the probabilities of all values of all targets; zeros where the evidence
    /// is impossible.
    pub posteriors: Vec<f64>,
    /// For each example, ln P(e); negative infinity where the evidence is impossible.
    pub log_evidence: Vec<f64>,
}

impl Answers {
    /// The number of probabilities of each example.
    pub fn width(&self) -> usize {
        self.targets.iter().map(|(_, card)| card).sum()
    }

    /// The probabilities of one example.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.posteriors[row * self.width()..][..self.width()]
    }

    /// Whether the evidence of an example has probability zero.
    pub fn is_impossible(&self, row: usize) -> bool {
        self.log_evidence[row] == f64::NEG_INFINITY
    }
}
