//! Compiles a program for blocks: places for tensors, and loops for steps.

use std::ops::Range;

use crate::tensor::fast::arena::Arena;
use crate::tensor::fast::collect::Part;
use crate::tensor::fast::fuse::Fusion;
use crate::tensor::fast::operands::{Form, MAX_INPUTS, Store, Terms, Tiles};
use crate::tensor::fast::program::{BlockProgram, BlockStep, Loops, Place};
use crate::tensor::fast::single::Matrices;
use crate::tensor::graph::{Graph, MapId, Op, PickId, TableId};
use crate::tensor::layout;
use crate::tensor::layout::Step;
use crate::tensor::loops::Loop;
use crate::tensor::schedule::{Guide, Schedule, ScheduledStep, Slot};

/// Which nodes depend on evidence, or on some tables; the tables themselves do not.
fn varying(graph: &Graph, each: &[TableId]) -> Vec<bool> {
    let is_each = |op: &Op| op.table().is_some_and(|table| each.contains(&table));
    let mut varies = graph.depends(|op| matches!(op, Op::Evidence(_)) || is_each(op));
    for (node, _) in graph.ops().filter(|(_, op)| is_each(op)) {
        varies[node.index()] = false;
    }
    varies
}

/// A program while it is compiled.
pub(super) struct Builder<'a> {
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
    pub fn new(
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

    pub fn add_inputs(&mut self) {
        for (node, op) in self.graph.ops() {
            if matches!(op, Op::Evidence(_)) {
                self.place(node.index());
            }
        }
    }

    pub fn add_seed(&mut self) {
        self.built.forward = self.built.steps.len();
        self.place(Schedule::adjoint(self.graph, self.graph.output()));
    }

    pub fn add(&mut self, step: &Step, is_backward: bool) {
        let planned = &step.planned;
        if self.fusion.is_fused(planned.out) {
            return;
        }
        let (slots, columns) = self.fusion.inputs(self.graph, planned);
        if !self.varies(planned.out) && !slots.iter().any(|&slot| self.varies(slot)) {
            return;
        }
        let mut inputs: Vec<Place> = slots.iter().map(|&slot| self.place(slot)).collect();
        if let Guide::Spread(pick, k) = planned.guide {
            let range = self.graph.picks()[pick.index()].range(k);
            inputs[0] = within(Some(inputs[0]), range);
        }
        let out = self.place(planned.out);
        let store = match (out, planned.accumulate) {
            (Place::Sum(_), _) => Store::Reduce,
            (_, true) => Store::Add,
            _ => Store::Set,
        };
        let mut varies = [false; MAX_INPUTS];
        inputs
            .iter()
            .zip(&mut varies)
            .for_each(|(place, varies)| *varies = matches!(place, Place::Block { .. }));
        let form = Form {
            varies,
            store,
            lanes: self.built.lanes,
        };
        let (loops, split) = self.loops(step, &columns, &form);
        let mut unscale = None;
        if is_backward {
            unscale = self.unscale(planned.a);
        } else {
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

    /// The tensors of a collection that it has entries of.
    fn parts(&self, planned: &ScheduledStep, pick: PickId) -> Vec<Part> {
        let pick = &self.graph.picks()[pick.index()];
        let out = self.built.places[planned.out];
        let tensors = planned.reads().zip(&pick.places).enumerate();
        let tensors = tensors.filter(|(_, (_, places))| !places.is_empty());
        let part = |(k, (slot, places)): (usize, (Slot, &Vec<u32>))| Part {
            from: self.built.places[slot].unwrap_or(Place::Shared(slot)),
            places: places.clone(),
            to: match out {
                Some(Place::Block { start, .. }) => start + pick.range(k).start,
                _ => unreachable!("a collection differs between examples"),
            },
        };
        tensors.map(part).collect()
    }

    /// The loops that hand derivatives on to a tensor of a collection.
    fn spread(&self, planned: &ScheduledStep, pick: PickId, k: usize, form: &Form) -> Loops {
        let pick = &self.graph.picks()[pick.index()];
        let from: Vec<u32> = (0..pick.places[k].len() as u32).collect();
        let entries = self.program.sizes[planned.out];
        let terms = self.terms(&[from], &pick.places[k], form, entries);
        let value = |adjoint: Slot| {
            let value = self.schedule.node(adjoint).index();
            self.built.places[value].unwrap_or(Place::Shared(value))
        };
        Loops::Spread(terms, [planned.out, planned.a].map(value))
    }

    /// The loops of a step, and the one around them that threads can share.
    fn loops(&self, step: &Step, columns: &[Vec<u32>], form: &Form) -> (Loops, Option<Loop>) {
        let planned = &step.planned;
        let loops = match planned.guide {
            Guide::List(list, to) => {
                let [_, _, outs] = to.roles(&self.graph.lists()[list.index()]);
                Loops::Terms(self.terms(columns, outs, form, self.program.sizes[planned.out]))
            }
            Guide::Gather(map) | Guide::Scatter(map) => {
                let (from, to): (Vec<u32>, Vec<u32>) = self.mapped(step, map).into_iter().unzip();
                Loops::Terms(self.terms(&[from], &to, form, self.program.sizes[planned.out]))
            }
            Guide::Axes if form.lanes == 1 => {
                let mut loops = scaled(step.nest.loops(), form);
                let split = take_split(&mut loops);
                return (Loops::Matrices(Matrices::new(&loops)), split);
            }
            Guide::Axes => Loops::Tiles(tiles(scaled(step.nest.loops(), form))),
            Guide::Collect(pick) => Loops::Collect(self.parts(planned, pick)),
            Guide::Spread(pick, k) => self.spread(planned, pick, k, form),
            Guide::Select => Loops::Select(self.schedule.node(planned.out), None),
            Guide::Unselect(k) => Loops::Select(self.schedule.node(planned.a), Some(k)),
        };
        (loops, None)
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
        let around: Vec<Loop> = step
            .nest
            .loops()
            .iter()
            .map(|l| Loop {
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
    fn terms(&self, columns: &[Vec<u32>], outs: &[u32], form: &Form, entries: usize) -> Terms {
        let arity = columns.len();
        let mut starts = vec![0u32; entries + 1];
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
        let mut reach = [0; MAX_INPUTS];
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

    pub fn finish(mut self) -> BlockProgram {
        if self.built.forward == 0 {
            self.built.forward = self.built.steps.len();
        }
        self.built.arena = self.arena.len();
        self.built
    }
}

/// Some entries of a tensor of a block.
fn within(place: Option<Place>, range: Range<usize>) -> Place {
    let Some(Place::Block { start, slot, .. }) = place else {
        unreachable!("a collection differs between examples")
    };
    Place::Block {
        start: start + range.start,
        entries: range.len(),
        slot,
    }
}

/// The loops of a contraction over a block: an entry that varies is as long as the block.
fn scaled(loops: &[Loop], form: &Form) -> Vec<Loop> {
    let scale = |stride: usize, varies: bool| if varies { stride * form.lanes } else { stride };
    let over_block = |l: &Loop| Loop {
        extent: l.extent,
        a: scale(l.a, form.varies[0]),
        b: scale(l.b, form.varies[1]),
        out: scale(l.out, form.store != Store::Reduce),
    };
    loops.iter().map(over_block).collect()
}

/// A step of at least this many products is worth several threads.
const MIN_SPLIT_PRODUCTS: usize = 1 << 20;

/// Takes the loop out that loops furthest through the output, if the step is large: its rounds do
/// not overlap.
fn take_split(loops: &mut Vec<Loop>) -> Option<Loop> {
    let products: usize = loops.iter().map(|m| m.extent).product();
    let furthest = (0..loops.len()).max_by_key(|&i| loops[i].out)?;
    (products >= MIN_SPLIT_PRODUCTS && loops[furthest].out > 0 && loops[furthest].extent > 1)
        .then(|| loops.remove(furthest))
}

/// Sorts the loops of a contraction by what they move.
fn tiles(loops: Vec<Loop>) -> Tiles {
    let last = |of: fn(&Loop) -> usize| loops.iter().map(|m| (m.extent - 1) * of(m)).sum();
    let reach = [last(|m| m.a), last(|m| m.b), last(|m| m.out)];
    let (summed, mut kept): (Vec<Loop>, Vec<Loop>) = loops.into_iter().partition(|m| m.out == 0);
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

/// Takes the longest loop of a kind out; [`Loop::ONCE`] if there is none.
fn longest(loops: &mut Vec<Loop>, kind: impl Fn(&Loop) -> bool) -> Loop {
    let found = (0..loops.len())
        .filter(|&i| kind(&loops[i]))
        .max_by_key(|&i| loops[i].extent);
    found.map_or(Loop::ONCE, |i| loops.remove(i))
}

/// The places of all terms of a sum.
fn terms(summed: &[Loop]) -> Vec<(u32, u32)> {
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
