//! Maxima of products for one example after the other.
//!
//! For many examples, tensors that do not depend on evidence are computed once, and the memory of an
//! example is used again for the next. An example whose numbers are too far apart is repeated with
//! logarithms, like any other run.

use std::sync::{Arc, OnceLock};

use crate::control::Control;
use crate::tensor::careful::trace::Trace;
use crate::tensor::careful::{Run, Tensor, shared};
use crate::tensor::combine::{Combine, LogMax, Max};
use crate::tensor::graph::{Graph, NodeId, Op};
use crate::tensor::layout::Program;
use crate::vars::VarId;

/// A program that keeps all tensors, ready to maximise for one example after the other.
#[derive(Debug)]
pub(crate) struct Maxima {
    graph: Arc<Graph>,
    program: Program,
    trace: Trace,
    varies: Vec<bool>,
    inputs: Vec<(NodeId, VarId)>,
    /// The tensors that do not depend on evidence; none if they could have lost small numbers.
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
        let varies = graph.varies();
        let shared = Some(shared::<Max>(&graph, &program, &varies, vec![]));
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
        self.shared
            .as_ref()
            .map_or_else(|| self.by_logarithms(), |shared| self.over::<Max>(shared))
    }

    fn by_logarithms(&self) -> Run<'_> {
        let logarithms = || shared::<LogMax>(&self.graph, &self.program, &self.varies, vec![]);
        self.over::<LogMax>(self.logarithms.get_or_init(logarithms))
    }

    fn over<'m, C: Combine>(&'m self, shared: &'m [Tensor]) -> Run<'m> {
        let slots = vec![Tensor::default(); self.program.sizes.len()];
        Run {
            graph: &self.graph,
            program: &self.program,
            slots,
            shared,
            is_log: C::IS_LOG,
            control: Control::NONE,
        }
    }

    /// Runs an example, in the memory of another one.
    pub fn run<'m>(&'m self, run: &mut Run<'m>, evidence: impl Fn(VarId) -> Vec<f64>) {
        if run.is_log {
            *run = self.idle();
        }
        if run.is_log || self.begin::<Max>(run, &evidence).is_none() {
            *run = self.by_logarithms();
            self.begin::<LogMax>(run, &evidence);
        }
    }

    /// How to find where maxima came from.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    fn begin<C: Combine>(
        &self,
        run: &mut Run<'_>,
        evidence: impl Fn(VarId) -> Vec<f64>,
    ) -> Option<()> {
        self.inputs
            .iter()
            .for_each(|&(node, v)| run.slots[node.index()] = Tensor::input::<C>(evidence(v)));
        run.run::<C>()
    }
}
