//! Where a maximum came from.
//!
//! Going back from the output, a step whose kept axes are decided decides its summed axes: by the
//! first of its largest products. A functional variable that is summed out in several places gets
//! the same state in all of them.
//!
//! The products that a step compares depend on the states of its kept axes only, and are compiled
//! once for all examples. A step that sums nothing has nothing to decide, and is left out.

use rand::{Rng, RngExt};

use crate::tensor::careful::Run;
use crate::tensor::careful::step::products;
use crate::tensor::graph::{AxisId, AxisSet, Graph, List, ListId, NodeId};
use crate::tensor::layout::{Program, Step};
use crate::tensor::schedule::{Guide, Schedule, Slot};

/// All steps that decide something, the last one first.
#[derive(Debug)]
pub(crate) struct Trace {
    steps: Vec<Back>,
    variables: usize,
}

/// Axes of a tensor with their strides, in the order in which they are laid out.
type Axes = Vec<(AxisId, usize)>;

/// A step on the way back.
#[derive(Debug)]
struct Back {
    a: Side,
    b: Option<Side>,
    products: Products,
}

/// A tensor that a step reads.
#[derive(Debug)]
struct Side {
    slot: Slot,
    axes: Axes,
    /// Those of the axes that are decided when the step's turn comes.
    kept: Axes,
}

/// The products that an entry of a step's output is the largest of.
#[derive(Debug)]
pub(super) enum Products {
    /// Positions in both inputs, from where the kept axes are.
    Sum(Vec<(usize, usize)>),
    /// Those of a list, from where each entry of the output begins.
    List(ListId, Axes, Vec<u32>),
    /// One for each joint state of a map's arguments, with the number of states of each; or none.
    Map(Vec<(AxisId, usize)>, Vec<Option<usize>>),
}

/// The numbers of a tensor for some examples.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a> {
    pub data: &'a [f64],
    /// How far apart entries are, and examples; not at all if the tensor is the same for all of
    /// them.
    pub strides: [usize; 2],
}

impl Numbers<'_> {
    #[inline(always)]
    fn at(&self, entry: usize, example: usize) -> f64 {
        self.data[entry * self.strides[0] + example * self.strides[1]]
    }
}

impl Trace {
    pub fn new(graph: &Graph, program: &Program) -> Self {
        let output = Schedule::value(graph, graph.output());
        let decides = |step: &&Step| step.planned.out == output || !is_plain(graph, step);
        let steps = program
            .steps
            .iter()
            .rev()
            .filter(decides)
            .map(|step| Back::new(graph, program, step))
            .collect();
        Trace {
            steps,
            variables: graph.cards().len(),
        }
    }

    /// For each of some examples a position for every variable that is an axis somewhere, by the
    /// numbers of each slot.
    pub fn run<'n>(
        &self,
        graph: &Graph,
        numbers: impl Fn(Slot) -> Numbers<'n>,
        is_log: bool,
        examples: &mut [Vec<Option<usize>>],
    ) {
        for states in &mut *examples {
            states.clear();
            states.resize(self.variables, None);
        }
        for step in &self.steps {
            let factors = step.factors(&numbers, is_log);
            for (example, states) in examples.iter_mut().enumerate() {
                let mut best = (f64::NEG_INFINITY, (0, 0));
                step.visit(graph.lists(), states, |x, y| {
                    let product = factors.product(x, y, example);
                    if product > best.0 {
                        best = (product, (x, y));
                    }
                });
                step.decide(best.1, states);
            }
        }
    }

    /// Draws a position for every variable that is an axis somewhere, after sums: each product of a
    /// step is as likely as its share of their sum.
    fn draw<'n>(
        &self,
        graph: &Graph,
        numbers: impl Fn(Slot) -> Numbers<'n>,
        is_log: bool,
        states: &mut Vec<Option<usize>>,
        rng: &mut impl Rng,
    ) {
        states.clear();
        states.resize(self.variables, None);
        let mut products = vec![];
        for step in &self.steps {
            let factors = step.factors(&numbers, is_log);
            products.clear();
            step.visit(graph.lists(), states, |x, y| {
                products.push((factors.product(x, y, 0), (x, y)));
            });
            step.decide(pick(&mut products, is_log, rng), states);
        }
    }
}

/// The tensors whose products a step forms.
struct Factors<'n> {
    a: Numbers<'n>,
    b: Option<Numbers<'n>>,
    is_log: bool,
}

impl Factors<'_> {
    #[inline(always)]
    fn product(&self, x: usize, y: usize, example: usize) -> f64 {
        let first = self.a.at(x, example);
        match self.b.map(|b| b.at(y, example)) {
            None => first,
            Some(second) if self.is_log => first + second,
            Some(second) => first * second,
        }
    }
}

/// One of some products, each as likely as its share of their sum.
fn pick(
    products: &mut [(f64, (usize, usize))],
    is_log: bool,
    rng: &mut impl Rng,
) -> (usize, usize) {
    if is_log {
        let all = products.iter().map(|(log, _)| *log);
        let most = all.fold(f64::NEG_INFINITY, f64::max);
        products
            .iter_mut()
            .for_each(|(x, _)| *x = (*x - most).exp());
    }
    let total: f64 = products.iter().map(|(x, _)| x).sum();
    let mut left = rng.random::<f64>() * total;
    let mut last = (0, 0);
    for (x, places) in products.iter().filter(|(x, _)| *x > 0.0) {
        last = *places;
        left -= x;
        if left < 0.0 {
            break;
        }
    }
    last
}

/// Whether each entry of a step's output is one product, of entries with the same states.
fn is_plain(graph: &Graph, step: &Step) -> bool {
    let axes = |slot: Slot| graph.axes(NodeId::new(slot));
    let mut inputs = std::iter::once(step.planned.a).chain(step.planned.b);
    step.planned.guide == Guide::Axes
        && inputs.all(|slot| {
            axes(slot)
                .iter()
                .all(|v| axes(step.planned.out).contains(v))
        })
}

impl Back {
    fn new(graph: &Graph, program: &Program, step: &Step) -> Self {
        let out = NodeId::new(step.planned.out);
        let side = |slot: Slot| Side::new(program, slot, graph.axes(out));
        Back {
            a: side(step.planned.a),
            b: step.planned.b.map(side),
            products: products(graph, program, step),
        }
    }

    /// The tensors whose products it forms.
    fn factors<'n>(&self, numbers: impl Fn(Slot) -> Numbers<'n>, is_log: bool) -> Factors<'n> {
        Factors {
            a: numbers(self.a.slot),
            b: self.b.as_ref().map(|b| numbers(b.slot)),
            is_log,
        }
    }

    /// Decides the states that the positions in both inputs stand for.
    fn decide(&self, (x, y): (usize, usize), states: &mut [Option<usize>]) {
        decide(&self.a.axes, x, states);
        self.b.iter().for_each(|b| decide(&b.axes, y, states));
    }

    /// Visits the positions in both inputs whose products the decided entry of the output is the
    /// largest of.
    #[inline(always)]
    fn visit(&self, lists: &[List], states: &[Option<usize>], mut visit: impl FnMut(usize, usize)) {
        let start = |side: &Side| position(&side.kept, states);
        match &self.products {
            Products::Sum(terms) => {
                let (a, b) = (start(&self.a), self.b.as_ref().map_or(0, start));
                terms.iter().for_each(|(x, y)| visit(a + x, b + y));
            }
            Products::List(list, out, starts) => {
                let list = &lists[list.index()];
                let at = position(out, states);
                let range = starts[at] as usize..starts[at + 1] as usize;
                let pairs = list.a[range.clone()].iter().zip(&list.b[range]);
                pairs.for_each(|(&x, &y)| visit(x as usize, y as usize));
            }
            Products::Map(over, from) => {
                let state = |at: usize, (v, card): &(AxisId, usize)| {
                    at * card + states[v.index()].unwrap_or(0)
                };
                let from = from[over.iter().fold(0, state)];
                from.into_iter()
                    .for_each(|from| visit(start(&self.a) + from, 0));
            }
        }
    }
}

impl Side {
    fn new(program: &Program, slot: Slot, decided: &AxisSet) -> Self {
        let axes: Axes = program.strides(NodeId::new(slot)).collect();
        let kept = axes
            .iter()
            .copied()
            .filter(|(v, _)| decided.contains(*v))
            .collect();
        Side { slot, axes, kept }
    }
}

/// The position that the states of some axes give.
fn position(axes: &[(AxisId, usize)], states: &[Option<usize>]) -> usize {
    axes.iter()
        .map(|(v, stride)| states[v.index()].unwrap_or(0) * stride)
        .sum()
}

/// Decides the states that a position stands for.
fn decide(axes: &[(AxisId, usize)], mut position: usize, states: &mut [Option<usize>]) {
    for &(v, stride) in axes {
        let state = if stride == 1 {
            position
        } else {
            position / stride
        };
        states[v.index()] = Some(state);
        position -= state * stride;
    }
}

impl Run<'_> {
    /// Where the maximum came from: a position for every variable that is an axis somewhere.
    pub fn trace(&self) -> Vec<Option<usize>> {
        let mut states = vec![];
        self.trace_by(&Trace::new(self.graph, self.program), &mut states);
        states
    }

    /// The same by what was compiled for the same program, in memory that may have been used
    /// before.
    pub fn trace_by(&self, trace: &Trace, states: &mut Vec<Option<usize>>) {
        let numbers = |slot: Slot| Numbers {
            data: &self.tensor(slot).data,
            strides: [1, 0],
        };
        trace.run(
            self.graph,
            numbers,
            self.is_log,
            std::slice::from_mut(states),
        );
    }

    /// Draws a position for every variable that is an axis somewhere, in memory that may have been
    /// used before.
    pub fn draw(&self, trace: &Trace, states: &mut Vec<Option<usize>>, rng: &mut impl Rng) {
        let numbers = |slot: Slot| Numbers {
            data: &self.tensor(slot).data,
            strides: [1, 0],
        };
        trace.draw(self.graph, numbers, self.is_log, states, rng);
    }
}
