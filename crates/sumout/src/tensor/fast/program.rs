//! The steps of a schedule that differ between examples, with places for their tensors and tiles
//! for their loops.
//!
//! A tensor that no evidence reaches is computed once, before any example, and *shared*. The part of
//! the backward pass from shared tensors to tables runs once, too, after all examples: a
//! step that goes from a varying tensor to a shared one adds up its examples. Unless derivatives
//! are wanted for each example: then whatever depends on the tables in question is computed for
//! each of them.

use crate::tensor::fast::bounds::Growth;
use crate::tensor::fast::build::Builder;
use crate::tensor::fast::collect::Part;
use crate::tensor::fast::operands::{Form, Terms, Tiles};
use crate::tensor::fast::single::Matrices;
use crate::tensor::graph::{Graph, NodeId, Op, TableId};
use crate::tensor::layout;
use crate::tensor::loops::Loop;
use crate::tensor::schedule::{Schedule, Slot};

/// Where a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The same for all examples: by slot.
    Shared(Slot),
    /// In the arena of a block: where, in entries, and how many.
    Block {
        start: usize,
        entries: usize,
        slot: usize,
    },
    /// A sum over all examples: by its number.
    Sum(usize),
}

/// The loops of a step.
#[derive(Clone, Debug)]
pub(super) enum Loops {
    /// For blocks of examples.
    Tiles(Tiles),
    /// For a single example.
    Matrices(Matrices),
    /// By lists, for either.
    Terms(Terms),
    /// Of a collection: its tensors.
    Collect(Vec<Part>),
    /// The same backward, to a tensor: the list, and the places of the tensor and of the collection.
    Spread(Terms, [Place; 2]),
    /// None: the selection that a node is, or its derivative with respect to one of the inputs.
    Select(NodeId, Option<usize>),
}

impl Loops {
    pub fn growth(&self) -> Growth {
        match self {
            Loops::Tiles(tiles) => Growth::of_tiles(tiles),
            Loops::Matrices(matrices) => Growth::of_matrices(matrices),
            Loops::Terms(terms) => Growth::of_terms(terms),
            Loops::Collect(_) | Loops::Spread(..) => Growth::default(), // bounds are measured
            Loops::Select(..) => Growth::default(),                     // weights are exact
        }
    }
}

/// One step over a block.
#[derive(Clone, Debug)]
pub(super) struct BlockStep {
    pub loops: Loops,
    pub form: Form,
    pub inputs: Vec<Place>,
    pub out: Place,
    pub growth: Growth,
    /// A loop around the others whose rounds write to parts of the output that do not overlap, of a
    /// large step for a single example.
    pub split: Option<Loop>,
    /// Of a backward step: the place whose forward step was rescaled, if its adjoint, the first
    /// input, is read first here.
    pub unscale: Option<usize>,
}

/// A program over blocks of examples.
#[derive(Clone, Debug)]
pub(super) struct BlockProgram {
    pub steps: Vec<BlockStep>,
    pub forward: usize,
    /// The number of examples of a block.
    pub lanes: usize,
    /// The numbers that a block needs for each of its examples.
    pub arena: usize,
    /// The number of tensors that a block has.
    pub tensors: usize,
    /// The slots, and the numbers of entries, of sums over all examples.
    pub sums: Vec<(Slot, usize)>,
    /// Which nodes differ between examples.
    pub varies: Vec<bool>,
    /// The place of each slot that a block has.
    pub places: Vec<Option<Place>>,
}

impl BlockProgram {
    /// Compiles the varying part of a schedule for blocks of this many examples.
    pub fn new(
        graph: &Graph,
        schedule: &Schedule,
        program: &layout::Program,
        each: &[TableId],
        lanes: usize,
    ) -> Self {
        let mut builder = Builder::new(graph, schedule, program, each, lanes);
        builder.add_inputs();
        for (index, step) in program.steps.iter().enumerate() {
            if index == program.forward {
                builder.add_seed();
            }
            builder.add(step, index >= program.forward);
        }
        if program.forward == program.steps.len() && graph.op(graph.output()).table().is_some() {
            builder.add_seed(); // a table that is the output has derivatives, too
        }
        builder.finish()
    }

    /// The places of the likelihoods that the circuit depends on, and of their adjoints, by
    /// variable.
    pub fn inputs(&self, graph: &Graph) -> Vec<Option<(Place, Option<Place>)>> {
        let mut inputs = vec![];
        for (node, op) in graph.ops() {
            if let Op::Evidence(var) = op {
                inputs.resize(inputs.len().max(var.index() + 1), None);
                let adjoint = self.places[Schedule::adjoint(graph, node)];
                inputs[var.index()] = self.places[node.index()].map(|place| (place, adjoint));
            }
        }
        inputs
    }

    /// Whether there are steps that are worth several threads.
    pub fn is_large(&self) -> bool {
        self.steps.iter().any(|step| step.split.is_some())
    }

    /// Where a tensor of the forward pass is.
    pub fn place(&self, slot: Slot) -> Place {
        self.places[slot].unwrap_or(Place::Shared(slot))
    }

    /// The place of a table's derivative for each example.
    pub fn adjoint_of(&self, graph: &Graph, table: TableId) -> Option<Place> {
        let node = graph.find(&Op::Table(table))?;
        self.places[Schedule::adjoint(graph, node)]
    }

    /// Where a forward pass ends, and a backward pass begins.
    pub fn ends(&self, graph: &Graph) -> Ends {
        let output = Schedule::value(graph, graph.output());
        let seed = Schedule::adjoint(graph, graph.output());
        let sum = || {
            self.sums
                .iter()
                .position(|(slot, _)| *slot == seed)
                .map(Place::Sum)
        };
        Ends {
            output: self.place(output),
            seed: self.places[seed].or_else(sum),
        }
    }

    /// Which of the slots are shared tensors that blocks read, or that are the output.
    pub fn read(&self, slots: usize, output: Place) -> Vec<bool> {
        let mut is_read = vec![false; slots];
        let places = self
            .steps
            .iter()
            .flat_map(|step| step.inputs.iter().copied())
            .chain([output]);
        let slots = places.filter_map(|place| {
            if let Place::Shared(slot) = place {
                Some(slot)
            } else {
                None
            }
        });
        slots.for_each(|slot| is_read[slot] = true);
        is_read
    }
}

/// Where a forward pass ends, and a backward pass begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub output: Place,
    /// None if nothing is differentiated.
    pub seed: Option<Place>,
}
