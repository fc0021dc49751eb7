//! Derivatives of whatever is computed from posteriors: those of its parts come from Python.
//!
//! If L depends on the posterior p and on l = ln P(e), and its derivatives G(k) = ∂L/∂p(k) and c =
//! ∂L/∂l are given, then with p(k) = out(k) / Σ out and l = ln Σ out
//!
//! ```text
//! ∂L / ∂ln out(k) = p(k) (G(k) - Σ G p + c)
//! ```
//!
//! which is what a backward pass begins with.

use std::collections::{BTreeMap, BTreeSet};

use numpy::ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use sumout::tensor::{Op, Origin, TableId};
use sumout::{Circuit, Column, Derivatives, Differentiator, Error, ErrorKind, Result, VarId};

/// CPTs by variable, each as a dense table.
pub type Cpts = BTreeMap<usize, Vec<f64>>;

/// The tables of a circuit that can be trained. None of a testing circuit: its CPTs have copies,
/// each with a role of its own, which `fit` keeps.
pub fn origins(circuit: &Circuit) -> impl Iterator<Item = (&TableId, &Origin)> {
    let is_tested = circuit.selected().next().is_some();
    circuit.graph().origins().iter().filter(move |_| !is_tested)
}

/// The CPTs that a circuit can be trained in, as its tables have them; zero where no table reads a
/// number.
pub fn cpts(circuit: &Circuit) -> Cpts {
    let graph = circuit.graph();
    let mut cpts = Cpts::new();
    for (table, origin) in origins(circuit) {
        let cpt = cpts
            .entry(origin.child.index())
            .or_insert_with(|| vec![0.0; origin.size]);
        let numbers = origin
            .entries
            .iter()
            .zip(&graph.tables()[table.index()].values);
        numbers.for_each(|(&entry, &p)| cpt[entry as usize] = p);
    }
    cpts
}

/// Gives the tables of a differentiator the numbers of CPTs, and to all others those of the
/// circuit; what they have already costs nothing.
pub fn set_cpts(circuit: &Circuit, differentiator: &mut Differentiator, cpts: &Cpts) -> Result<()> {
    let wanted = tables(circuit, cpts)?;
    let is_new = |(table, numbers): &(TableId, Vec<f64>)| {
        differentiator.graph().tables()[table.index()].values != *numbers
    };
    let changed: Vec<_> = wanted.into_iter().filter(is_new).collect();
    changed
        .iter()
        .for_each(|(table, numbers)| differentiator.set_table(*table, numbers));
    if !changed.is_empty() {
        differentiator.refresh();
    }
    Ok(())
}

/// The numbers of all tables that can be trained. Nothing is changed before all of them are known
/// to fit.
fn tables(circuit: &Circuit, cpts: &Cpts) -> Result<Vec<(TableId, Vec<f64>)>> {
    let graph = circuit.graph();
    let trained: BTreeSet<usize> = origins(circuit)
        .map(|(_, origin)| origin.child.index())
        .collect();
    if let Some(&child) = cpts.keys().find(|child| !trained.contains(child)) {
        let name = &circuit.variable(sumout::internals::var(child)).name;
        let error = Error::new(
            ErrorKind::Name,
            format!("the CPT of `{name}` is not a parameter of the circuit"),
        );
        return Err(error.hint("name it when compiling: `trainable=…`"));
    }
    let numbers = |(&table, origin): (&TableId, &Origin)| match cpts.get(&origin.child.index()) {
        None => Ok((table, graph.tables()[table.index()].values.clone())),
        Some(cpt) if cpt.len() == origin.size => Ok((
            table,
            origin
                .entries
                .iter()
                .map(|&entry| cpt[entry as usize])
                .collect(),
        )),
        Some(cpt) => {
            let message = format!("a CPT of {} numbers was given {}", origin.size, cpt.len());
            Err(Error::new(ErrorKind::Model, message))
        }
    };
    origins(circuit).map(numbers).collect()
}

/// The posteriors of all values, of a circuit with a target; and ln P(e).
pub fn whole(circuit: &Circuit, found: &Derivatives) -> (Array2<f64>, Array1<f64>) {
    let rows = found.log_evidence.len();
    let logs = found.log_evidence.iter();
    let logs: Array1<f64> = logs.map(|log| log.unwrap_or(f64::NAN)).collect(); // to Python, lost is not a number
    let Some(target) = target(circuit) else {
        return (Array2::zeros((rows, 0)), logs);
    };
    let (domain, card) = (
        circuit.possible(target),
        circuit.variable(target).values.len(),
    );
    let mut all = Array2::zeros((rows, card));
    for (mut to, from) in all
        .rows_mut()
        .into_iter()
        .zip(found.posteriors.chunks_exact(domain.len()))
    {
        domain
            .iter()
            .zip(from)
            .for_each(|(&value, &p)| to[value] = p);
    }
    (all, logs)
}

/// The one variable that is asked for, if there is one.
fn target(circuit: &Circuit) -> Option<VarId> {
    let targets = circuit.targets();
    (targets.len() == 1).then(|| targets[0])
}

/// Incoming derivatives: ∂L/∂p for each example, and ∂L/∂ln P(e).
pub struct Upstream<'a> {
    pub posterior: Option<ArrayView2<'a, f64>>,
    pub log_evidence: Option<ArrayView1<'a, f64>>,
}

impl Upstream<'_> {
    /// The seed of a backward pass.
    pub fn seed(&self, domain: &[usize], row: usize, posterior: &[f64], to: &mut [f64]) {
        let c = self.log_evidence.map_or(0.0, |c| c[row]);
        let above = self.posterior.filter(|g| g.ncols() > 0); // a circuit without a target has no posterior
        let g = |k: usize| above.map_or(0.0, |g| g[[row, domain[k]]]);
        let mean: f64 = posterior.iter().enumerate().map(|(k, p)| g(k) * p).sum();
        to.iter_mut()
            .zip(posterior)
            .enumerate()
            .for_each(|(k, (to, p))| *to = p * (g(k) - mean + c));
    }

    /// ∂L/∂λ for all values of all inputs, side by side.
    pub fn evidence(
        &self,
        circuit: &Circuit,
        batch: &Likelihoods,
        found: &Derivatives,
    ) -> Array2<f64> {
        let inputs: Vec<VarId> = circuit.inputs().collect();
        let width = inputs
            .iter()
            .map(|&v| circuit.variable(v).values.len())
            .sum();
        let mut all = Array2::zeros((found.log_evidence.len(), width));
        let mut start = 0;
        for input in inputs {
            let (domain, card) = (
                circuit.possible(input),
                circuit.variable(input).values.len(),
            );
            let derived = found
                .evidence
                .iter()
                .find(|(v, _)| *v == input)
                .map(|(_, numbers)| numbers);
            for (row, mut to) in all
                .rows_mut()
                .into_iter()
                .enumerate()
                .filter(|(row, _)| is_possible(found, *row))
            {
                match derived {
                    Some(numbers) => {
                        let from = &numbers[row * domain.len()..][..domain.len()];
                        domain
                            .iter()
                            .zip(from)
                            .for_each(|(&value, &d)| to[start + value] = d);
                    }
                    None if domain.len() == 1
                        && circuit.graph().find(&Op::Evidence(input)).is_none() =>
                    {
                        let at = start + domain[0];
                        to[at] = self.log_evidence.map_or(0.0, |c| c[row]) / batch.0[[row, at]];
                    }
                    None => {}
                }
            }
            start += card;
        }
        all
    }
}

fn is_possible(found: &Derivatives, row: usize) -> bool {
    found.log_evidence[row].is_some_and(f64::is_finite)
}

/// The likelihoods of all inputs, side by side.
pub struct Likelihoods<'a>(pub ArrayView2<'a, f64>);

impl Likelihoods<'_> {
    /// The same as a batch.
    pub fn batch(&self, circuit: &Circuit) -> Result<sumout::Batch> {
        let inputs: Vec<VarId> = circuit.inputs().collect();
        let cards: Vec<usize> = inputs
            .iter()
            .map(|&v| circuit.variable(v).values.len())
            .collect();
        let (rows, width, wanted) = (self.0.nrows(), self.0.ncols(), cards.iter().sum::<usize>());
        if width != wanted {
            let message = format!(
                "the inputs have {wanted} values, but there are {width} likelihoods in a row"
            );
            return Err(Error::new(ErrorKind::Evidence, message));
        }
        let mut batch = sumout::Batch::new(rows);
        let mut start = 0;
        for (input, card) in inputs.into_iter().zip(cards) {
            let part = self.0.slice(numpy::ndarray::s![.., start..start + card]);
            batch.insert(
                circuit,
                input,
                Column::Likelihoods(part.iter().copied().collect()),
            )?;
            start += card;
        }
        Ok(batch)
    }
}

/// The derivatives with respect to CPTs, from those with respect to tables.
pub fn of_cpts(circuit: &Circuit, found: &Derivatives) -> Cpts {
    let mut all = Cpts::new();
    for ((_, origin), derivatives) in origins(circuit).zip(&found.tables) {
        let to = all
            .entry(origin.child.index())
            .or_insert_with(|| vec![0.0; origin.size]);
        origin
            .entries
            .iter()
            .zip(derivatives)
            .for_each(|(&entry, d)| to[entry as usize] += d);
    }
    all
}
