//! Circuits that are ready to run, kept as long as the circuit is.
//!
//! Preparation takes threads and memory, and much longer than evaluating a few examples. Evaluators
//! made ready in one process is of no use in a fork of it, which has none of its threads.

use std::sync::{Arc, Mutex};

use sumout::tensor::TableId;
use sumout::{
    Circuit, Differentiator, EvalOptions, Evaluator, Explainer, FamilyEvaluator, Precision, Result,
    VarId,
};

use crate::differentiate::origins;

/// The process, and how it runs there.
type Key = (u32, Precision, usize, Option<u64>, bool);

fn key(running: &EvalOptions) -> Key {
    (
        std::process::id(),
        running.precision(),
        running.threads(),
        running.memory(),
        running.of_inputs(),
    )
}

/// A few things that were made ready, the last used at the end.
struct Kept<T>(Mutex<Vec<(Key, Arc<T>)>>);

/// The size of each cache.
const MOST: usize = 4;

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept(Mutex::new(vec![]))
    }
}

impl<T> Kept<T> {
    fn get(&self, running: &EvalOptions, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let wanted = key(running);
        let mut kept = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let found = match kept.iter().position(|(key, _)| *key == wanted) {
            Some(at) => kept.remove(at).1,
            None => Arc::new(make()?),
        };
        if kept.len() == MOST {
            kept.remove(0);
        }
        kept.push((wanted, found.clone()));
        Ok(found)
    }
}

/// A circuit, and what was made ready of it.
pub struct Ready {
    pub circuit: Circuit,
    evaluators: Kept<Evaluator>,
    explainers: Kept<Explainer>,
    families: Kept<FamilyEvaluator>,
    differentiators: Kept<Mutex<Differentiator>>,
}

impl Ready {
    pub fn new(circuit: Circuit) -> Self {
        Ready {
            circuit,
            evaluators: Kept::default(),
            explainers: Kept::default(),
            families: Kept::default(),
            differentiators: Kept::default(),
        }
    }

    pub fn evaluator(&self, running: &EvalOptions) -> Result<Arc<Evaluator>> {
        let make = || self.circuit.evaluator(running);
        self.evaluators.get(running, make)
    }

    pub fn explainer(&self, running: &EvalOptions) -> Result<Arc<Explainer>> {
        let make = || self.circuit.explainer(running);
        self.explainers.get(running, make)
    }

    pub fn families(&self, running: &EvalOptions) -> Result<Arc<FamilyEvaluator>> {
        let make = || self.circuit.family_evaluator(running);
        self.families.get(running, make)
    }

    /// Differentiates with respect to all trainable tables, and all inputs.
    pub fn differentiator(&self, running: &EvalOptions) -> Result<Arc<Mutex<Differentiator>>> {
        let tables: Vec<TableId> = origins(&self.circuit).map(|(table, _)| *table).collect();
        let inputs: Vec<VarId> = self.circuit.inputs().collect();
        let make = || self.circuit.differentiator(&tables, &inputs, running);
        self.differentiators.get(running, || make().map(Mutex::new))
    }
}
