//! Maxima of products for one example after the other.
//!
//! For many examples, what does not depend on evidence is computed once, and the memory of an
//! example is used again for the next. An example whose numbers are too far apart is repeated with
//! logarithms, like any other run.

use std::sync::{Arc, OnceLock};

use crate::tensor::careful::kernel::{LogMaxProduct, MaxProduct, Semiring};
use crate::tensor::careful::trace::Trace;
use crate::tensor::careful::{Run, Tensor, shared};
use crate::tensor::graph::{Graph, NodeId, Op};
use crate::tensor::layout::Program;
use crate::tensor::schedule::Planned;
use crate::vars::VarId;

/// A program that keeps all tensors, ready to maximise for one example after the other.
#[derive(Debug)]
pub(crate) struct Maxima {
    graph: Arc<Graph>,
    program: Program,
    trace: Trace,
    varies: Vec<bool>,
    inputs: Vec<(NodeId, VarId)>,
    /// What does not depend on evidence; none if small numbers could be lost of it.
    shared: Option<Vec<Tensor>>,
    logarithms: OnceLock<Vec<Tensor>>,
}

impl Maxima {
    pub fn new(graph: Arc<Graph>, program: Program) -> Self {
        let evidence = |(node, op): (NodeId, &Op)| {
            if let Op::Evidence(v) = op {
                Some((node, *v))
            } else {
                None
            }
        };
        let inputs: Vec<(NodeId, VarId)> = graph.ops().filter_map(evidence).collect();
        let mut varies = vec![false; program.sizes.len()];
        inputs
            .iter()
            .for_each(|(node, _)| varies[node.index()] = true);
        for Planned { a, b, out, .. } in program.steps.iter().map(|step| &step.planned) {
            varies[*out] = varies[*a] || b.is_some_and(|b| varies[b]);
        }
        let shared = Some(shared::<MaxProduct>(&graph, &program, &varies, vec![]));
        let shared = shared.filter(|shared| !shared.iter().any(Tensor::is_at_risk));
        Maxima {
            trace: Trace::new(&graph, &program),
            graph,
            program,
            varies,
            inputs,
            shared,
            logarithms: OnceLock::new(),
        }
    }

    /// A run that was not begun.
    pub fn idle(&self) -> Run<'_> {
        self.shared.as_ref().map_or_else(
            || self.by_logarithms(),
            |shared| self.over::<MaxProduct>(shared),
        )
    }

    fn by_logarithms(&self) -> Run<'_> {
        let logarithms =
            || shared::<LogMaxProduct>(&self.graph, &self.program, &self.varies, vec![]);
        self.over::<LogMaxProduct>(self.logarithms.get_or_init(logarithms))
    }

    fn over<'m, S: Semiring>(&'m self, shared: &'m [Tensor]) -> Run<'m> {
        let slots = vec![Tensor::default(); self.program.sizes.len()];
        Run {
            graph: &self.graph,
            program: &self.program,
            slots,
            shared,
            is_log: S::IS_LOG,
        }
    }

    /// Runs an example, in the memory of another one.
    pub fn run<'m>(&'m self, run: &mut Run<'m>, evidence: impl Fn(VarId) -> Vec<f64>) {
        if run.is_log {
            *run = self.idle();
        }
        if run.is_log || self.begin::<MaxProduct>(run, &evidence).is_none() {
            *run = self.by_logarithms();
            self.begin::<LogMaxProduct>(run, &evidence);
        }
    }

    /// How to find where maxima came from.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    fn begin<S: Semiring>(
        &self,
        run: &mut Run<'_>,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Option<()> {
        self.inputs
            .iter()
            .for_each(|&(node, v)| run.slots[node.index()] = Tensor::input::<S>(evidence(v)));
        run.run::<S>()
    }
}
