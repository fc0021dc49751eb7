//! Evidence for many examples.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use sumout::Column;

/// Columns of evidence, by the positions of variables. They are checked when a circuit reads them.
#[pyclass(module = "sumout._sumout")]
#[derive(Debug)]
pub struct Batch {
    pub rows: usize,
    pub columns: Vec<(usize, Column)>,
}

#[pymethods]
impl Batch {
    #[new]
    fn new(rows: usize) -> Self {
        Batch {
            rows,
            columns: vec![],
        }
    }

    fn __len__(&self) -> usize {
        self.rows
    }

    /// Adds the positions of the values of a variable, negative where nothing is known.
    fn values(&mut self, variable: usize, values: PyReadonlyArray1<'_, i32>) {
        self.columns
            .push((variable, Column::Values(values.as_array().to_vec())));
    }

    /// Adds the positions of the values of several variables, a column for each of them.
    fn table(&mut self, variables: Vec<usize>, values: PyReadonlyArray2<'_, i32>) {
        let columns = values.as_array();
        let columns = columns.columns().into_iter().map(|column| column.to_vec());
        let named = variables.into_iter().zip(columns);
        self.columns
            .extend(named.map(|(variable, column)| (variable, Column::Values(column))));
    }

    /// Adds the likelihoods of the values of a variable, a row for each example.
    fn likelihoods(&mut self, variable: usize, likelihoods: PyReadonlyArray2<'_, f64>) {
        self.columns.push((
            variable,
            Column::Likelihoods(likelihoods.as_array().iter().copied().collect()),
        ));
    }
}

impl Batch {
    /// Moves the columns out: they are long, and are not copied.
    pub fn take(&mut self) -> Batch {
        Batch {
            rows: self.rows,
            columns: std::mem::take(&mut self.columns),
        }
    }

    /// The batch for a circuit.
    pub fn of(self, circuit: &sumout::Circuit) -> sumout::Result<sumout::Batch> {
        let mut batch = sumout::Batch::new(self.rows);
        for (variable, column) in self.columns {
            batch.insert(circuit, sumout::internals::var(variable), column)?;
        }
        Ok(batch)
    }
}
