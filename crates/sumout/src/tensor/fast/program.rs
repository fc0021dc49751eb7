//! The steps of a schedule that differ between examples, with places for their tensors and tiles
//! for their loops.
//!
//! What no evidence reaches is computed once, before any example, and *shared*. Of the backward
//! pass, what leads from a shared tensor to the tables is computed once, too, after all examples: a
//! step that goes from a varying tensor to a shared one adds up its examples. Unless derivatives
//! are wanted for each example: then whatever depends on the tables in question is computed for
//! each of them.

use crate::tensor::careful::kernel::Loop;
use crate::tensor::fast::arena::Arena;
use crate::tensor::fast::bounds::Growth;
use crate::tensor::fast::fuse::Fusion;
use crate::tensor::fast::lanes::{Form, MOST, Move, Store, Terms, Tiles};
use crate::tensor::fast::single::Matrices;
use crate::tensor::graph::{Graph, MapId, NodeId, Op, TableId};
use crate::tensor::layout;
use crate::tensor::layout::Step;
use crate::tensor::schedule::{Guide, Schedule, Slot};

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
    /// None: the selection that a node is, or its derivative with respect to one of the inputs.
    Select(NodeId, Option<usize>),
}

impl Loops {
    fn growth(&self) -> Growth {
        match self {
            Loops::Tiles(tiles) => Growth::of_tiles(tiles),
            Loops::Matrices(matrices) => Growth::of_matrices(matrices),
            Loops::Terms(terms) => Growth::of_terms(terms),
            Loops::Select(..) => Growth::default(), // weights are what they are
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
    pub split: Option<Move>,
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
    places: Vec<Option<Place>>,
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

/// Which nodes depend on evidence, or on some tables; the tables themselves do not.
fn varying(graph: &Graph, each: &[TableId]) -> Vec<bool> {
    let is_each = |op: &Op| op.table().is_some_and(|table| each.contains(&table));
    let mut varies = graph.depends(|op| matches!(op, Op::Evidence(_)) || is_each(op));
    for (node, _) in graph.ops().filter(|(_, op)| is_each(op)) {
        varies[node.index()] = false;
    }
    varies
}

struct Builder<'a> {
    graph: &'a Graph,
    schedule: &'a Schedule,
    program: &'a layout::Program,
    each: &'a [TableId],
    fusion: Fusion,
    arena: Arena,
    /// Whether the forward step to a slot rescales it, until its adjoint has been corrected.
    rescaled: Vec<bool>,
    built: BlockProgram,
}

impl<'a> Builder<'a> {
    fn new(
        graph: &'a Graph,
        schedule: &'a Schedule,
        program: &'a layout::Program,
        each: &'a [TableId],
        lanes: usize,
    ) -> Self {
        let (places, varies) = (vec![None; schedule.slots()], varying(graph, each));
        let fusion = Fusion::of(graph, schedule, &varies);
        let built = BlockProgram {
            steps: vec![],
            forward: 0,
            lanes,
            arena: 0,
            tensors: 0,
            sums: vec![],
            varies,
            places,
        };
        let rescaled = vec![false; graph.len()];
        Builder {
            graph,
            schedule,
            program,
            each,
            fusion,
            arena: Arena::default(),
            rescaled,
            built,
        }
    }

    /// Whether a tensor differs between examples.
    fn varies(&self, slot: Slot) -> bool {
        let node = self.schedule.node(slot);
        let is_each = |table: &TableId| slot >= self.graph.len() && self.each.contains(table);
        self.built.varies[node.index()]
            || matches!(self.graph.op(node), Op::Table(table) if is_each(table))
    }

    /// The place of a derivative that all examples add to.
    fn sum(&mut self, slot: Slot) -> Place {
        let sums = &mut self.built.sums;
        let found = sums
            .iter()
            .position(|(sum, _)| *sum == slot)
            .unwrap_or(sums.len());
        if found == sums.len() {
            sums.push((slot, self.program.sizes[slot]));
        }
        Place::Sum(found)
    }

    fn place(&mut self, slot: Slot) -> Place {
        if !self.varies(slot) {
            return if slot < self.graph.len() {
                Place::Shared(slot)
            } else {
                self.sum(slot)
            };
        }
        let (arena, tensors, size) = (
            &mut self.arena,
            &mut self.built.tensors,
            self.program.sizes[slot],
        );
        *self.built.places[slot].get_or_insert_with(|| {
            *tensors += 1;
            Place::Block {
                start: arena.take(size),
                entries: size,
                slot: *tensors - 1,
            }
        })
    }

    fn add_inputs(&mut self) {
        for (node, op) in self.graph.ops() {
            if matches!(op, Op::Evidence(_)) {
                self.place(node.index());
            }
        }
    }

    fn add_seed(&mut self) {
        self.built.forward = self.built.steps.len();
        self.place(Schedule::adjoint(self.graph, self.graph.output()));
    }

    fn add(&mut self, step: &Step, is_backward: bool) {
        let planned = &step.planned;
        if self.fusion.is_fused(planned.out) {
            return;
        }
        let (slots, columns) = self.fusion.inputs(self.graph, planned);
        if !self.varies(planned.out) && !slots.iter().any(|&slot| self.varies(slot)) {
            return;
        }
        let inputs: Vec<Place> = slots.iter().map(|&slot| self.place(slot)).collect();
        let out = self.place(planned.out);
        let store = match (out, planned.accumulate) {
            (Place::Sum(_), _) => Store::Reduce,
            (_, true) => Store::Add,
            _ => Store::Set,
        };
        let mut varies = [false; MOST];
        inputs
            .iter()
            .zip(&mut varies)
            .for_each(|(place, varies)| *varies = matches!(place, Place::Block { .. }));
        let form = Form {
            varies,
            store,
            lanes: self.built.lanes,
        };
        let mut split = None;
        let loops = match planned.guide {
            Guide::List(list, to) => {
                let [_, _, outs] = to.roles(&self.graph.lists()[list.index()]);
                Loops::Terms(self.terms(&columns, outs, &form, planned.out))
            }
            Guide::Gather(map) | Guide::Scatter(map) => {
                let (from, to): (Vec<u32>, Vec<u32>) = self.mapped(step, map).into_iter().unzip();
                Loops::Terms(self.terms(&[from], &to, &form, planned.out))
            }
            Guide::Axes if self.built.lanes == 1 => {
                let mut moves = moves(step.nest.loops(), &form);
                split = take_split(&mut moves);
                Loops::Matrices(Matrices::new(&moves))
            }
            Guide::Axes => Loops::Tiles(tiles(moves(step.nest.loops(), &form))),
            Guide::Select => Loops::Select(self.schedule.node(planned.out), None),
            Guide::Unselect(k) => Loops::Select(self.schedule.node(planned.a), Some(k)),
        };
        let unscale = if is_backward {
            self.unscale(planned.a)
        } else {
            None
        };
        if !is_backward {
            self.rescaled[planned.out] = true;
        }
        let growth = loops.growth();
        self.built.steps.push(BlockStep {
            loops,
            form,
            inputs,
            out,
            growth,
            split,
            unscale,
        });
        self.fusion
            .freed(planned)
            .into_iter()
            .for_each(|slot| self.free(slot));
    }

    /// The tensor whose shift must be taken back from its adjoint, the first time that it is read.
    fn unscale(&mut self, adjoint: Slot) -> Option<usize> {
        let value = self.schedule.node(adjoint).index();
        let is_first = std::mem::take(&mut self.rescaled[value]);
        match self.built.places[value] {
            Some(Place::Block { slot, .. }) if is_first => Some(slot),
            _ => None,
        }
    }

    fn free(&mut self, slot: Slot) {
        if let Some(Place::Block { start, entries, .. }) = self.built.places[slot] {
            self.arena.give(start, entries);
        }
    }

    /// Every entry that a map copies: where it is read, and where it is written.
    fn mapped(&self, step: &Step, map: MapId) -> Vec<(u32, u32)> {
        let around: Vec<Move> = step
            .nest
            .loops()
            .iter()
            .map(|l| Move {
                extent: l.extent,
                a: l.a,
                b: l.out,
                out: 0,
            })
            .collect();
        let around = terms(&around);
        let mut places = vec![];
        step.walk
            .each(&self.graph.maps()[map.index()].index, |from, to| {
                places.extend(
                    around
                        .iter()
                        .map(|&(a, o)| (from as u32 + a, to as u32 + o)),
                );
            });
        places
    }

    /// The terms of each entry of the output, in the order in which their places in each input are
    /// given.
    fn terms(&self, columns: &[Vec<u32>], outs: &[u32], form: &Form, out: Slot) -> Terms {
        let arity = columns.len();
        let mut starts = vec![0u32; self.program.sizes[out] + 1];
        outs.iter().for_each(|&o| starts[o as usize + 1] += 1);
        (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        let mut next = starts.clone();
        let mut terms = vec![0; outs.len() * arity];
        for (t, &o) in outs.iter().enumerate() {
            let to = next[o as usize] as usize * arity;
            for (k, column) in columns.iter().enumerate() {
                terms[to + k] = column[t] * if form.varies[k] { form.lanes as u32 } else { 1 };
            }
            next[o as usize] += 1;
        }
        let is_plain = starts.windows(2).all(|range| range[0] + 1 == range[1]);
        let mut reach = [0; MOST];
        terms.chunks_exact(arity).for_each(|term| {
            term.iter()
                .zip(&mut reach)
                .for_each(|(&at, reach)| *reach = (*reach).max(at as usize));
        });
        Terms {
            starts,
            terms,
            arity,
            is_plain,
            reach,
        }
    }

    fn finish(mut self) -> BlockProgram {
        if self.built.forward == 0 {
            self.built.forward = self.built.steps.len();
        }
        self.built.arena = self.arena.len();
        self.built
    }
}

/// How far the loops of a contraction move each tensor.
fn moves(loops: &[Loop], form: &Form) -> Vec<Move> {
    let scale = |stride: usize, varies: bool| if varies { stride * form.lanes } else { stride };
    let scaled = |l: &Loop| Move {
        extent: l.extent,
        a: scale(l.a, form.varies[0]),
        b: scale(l.b, form.varies[1]),
        out: scale(l.out, form.store != Store::Reduce),
    };
    loops.iter().map(scaled).collect()
}

/// A step of at least this many products is worth several threads.
const LARGE: usize = 1 << 20;

/// Takes the loop out that moves furthest through the output, if the step is large: its rounds do
/// not overlap.
fn take_split(moves: &mut Vec<Move>) -> Option<Move> {
    let products: usize = moves.iter().map(|m| m.extent).product();
    let furthest = (0..moves.len()).max_by_key(|&i| moves[i].out)?;
    (products >= LARGE && moves[furthest].out > 0 && moves[furthest].extent > 1)
        .then(|| moves.remove(furthest))
}

/// Sorts the loops of a contraction by what they move.
fn tiles(moves: Vec<Move>) -> Tiles {
    let last = |of: fn(&Move) -> usize| moves.iter().map(|m| (m.extent - 1) * of(m)).sum();
    let reach = [last(|m| m.a), last(|m| m.b), last(|m| m.out)];
    let (summed, mut kept): (Vec<Move>, Vec<Move>) = moves.into_iter().partition(|m| m.out == 0);
    let across = longest(&mut kept, |m| m.b == 0 && m.a > 0);
    let down = longest(&mut kept, |m| m.a == 0 && m.b > 0);
    let along = longest(&mut kept, |_| true);
    Tiles {
        outer: kept,
        along,
        across,
        down,
        sums: terms(&summed),
        reach,
    }
}

/// Takes the longest loop of a kind out; one round of nothing if there is none.
fn longest(loops: &mut Vec<Move>, kind: impl Fn(&Move) -> bool) -> Move {
    let found = (0..loops.len())
        .filter(|&i| kind(&loops[i]))
        .max_by_key(|&i| loops[i].extent);
    found.map_or(
        Move {
            extent: 1,
            ..Move::default()
        },
        |i| loops.remove(i),
    )
}

/// The places of all terms of a sum.
fn terms(summed: &[Move]) -> Vec<(u32, u32)> {
    let mut terms = vec![(0u32, 0u32)];
    for m in summed {
        let step = |i: usize, (a, b): (u32, u32)| (a + (i * m.a) as u32, b + (i * m.b) as u32);
        terms = terms
            .iter()
            .flat_map(|&at| (0..m.extent).map(move |i| step(i, at)))
            .collect();
    }
    terms
}
