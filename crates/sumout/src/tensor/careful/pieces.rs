//! Steps in pieces, so that one that takes minutes can be watched and stopped.

use crate::tensor::careful::Run;
use crate::tensor::combine::Combine;
use crate::tensor::graph::Graph;
use crate::tensor::layout::{Program, Step};
use crate::tensor::loops::{Loop, Nest};
use crate::tensor::schedule::Guide;

use super::kernel::{join, run, walk_loops};

/// A piece has about as many products, which take some hundredths of a second.
pub(super) const PRODUCTS: u64 = 1 << 24;

/// The products of a program's steps.
pub(super) fn products(graph: &Graph, program: &Program) -> u64 {
    let steps = program.steps.iter().map(|step| of_step(graph, step));
    steps.fold(0, u64::saturating_add)
}

/// The products of a step. Those of a selection are few.
pub(super) fn of_step(graph: &Graph, step: &Step) -> u64 {
    match step.planned.guide {
        Guide::Axes => of_loops(step.nest.loops()),
        Guide::List(list, _) => graph.lists()[list.index()].outs.len() as u64,
        Guide::Gather(map) | Guide::Scatter(map) => {
            let entries = graph.maps()[map.index()].index.len() as u64;
            entries.saturating_mul(of_loops(step.nest.loops()))
        }
        Guide::Collect(_) | Guide::Spread(..) | Guide::Select | Guide::Unselect(_) => 0,
    }
}

fn of_loops(loops: &[Loop]) -> u64 {
    let extents = loops.iter().map(|l| l.extent as u64);
    extents.fold(1, u64::saturating_mul)
}

impl Run<'_> {
    /// Adds all products of a nest, unless it is stopped.
    pub(super) fn nest<C: Combine>(&self, nest: &Nest, a: &[f64], b: &[f64], out: &mut [f64]) {
        each(nest.loops(), [0; 3], PRODUCTS, &mut |loops, [i, j, o]| {
            walk_loops::<C>(loops, &a[i..], &b[j..], &mut out[o..]);
            self.goes_on(of_loops(loops))
        });
    }

    /// Adds the products that a list pairs, unless it is stopped.
    pub(super) fn list<C: Combine>(
        &self,
        roles: [&[u32]; 3],
        a: &[f64],
        b: &[f64],
        out: &mut [f64],
    ) {
        let [i, j, o] = roles.map(|column| column.chunks(PRODUCTS as usize));
        for ((i, j), o) in i.zip(j).zip(o) {
            join::<C>([i, j, o], a, b, out);
            if !self.goes_on(o.len() as u64) {
                return;
            }
        }
    }

    /// Adds the products at each entry of a map, unless it is stopped.
    pub(super) fn gather<C: Combine>(
        &self,
        step: &Step,
        index: &[u32],
        a: &[f64],
        b: &[f64],
        out: &mut [f64],
    ) {
        let each = of_loops(step.nest.loops());
        let (mut since, mut goes_on) = (0, true);
        step.walk.each(index, |from, to| {
            if goes_on {
                run::<C>(&step.nest, &a[from..], b, &mut out[to..]);
                since += each;
            }
            if since > PRODUCTS {
                goes_on = self.goes_on(since);
                since = 0;
            }
        });
        self.control.advance(since);
    }

    /// Reports products that were computed; whether to go on.
    pub(super) fn goes_on(&self, products: u64) -> bool {
        self.control.advance(products);
        !self.control.is_stopped()
    }
}

/// Visits loops in pieces of at most `most` rounds, with the places where each begins, until a
/// visit returns false. Whether all were visited.
fn each(
    loops: &[Loop],
    at: [usize; 3],
    most: u64,
    visit: &mut impl FnMut(&[Loop], [usize; 3]) -> bool,
) -> bool {
    let [first, rest @ ..] = loops else {
        return visit(loops, at);
    };
    let inner = of_loops(rest);
    if inner.saturating_mul(first.extent as u64) <= most {
        return visit(loops, at);
    }
    if inner > most {
        return (0..first.extent).all(|i| each(rest, moved(at, first, i), most, visit));
    }
    let rounds = (most / inner.max(1)).max(1) as usize;
    let mut piece = loops.to_vec();
    (0..first.extent).step_by(rounds).all(|i| {
        piece[0].extent = rounds.min(first.extent - i);
        visit(&piece, moved(at, first, i))
    })
}

/// Where the tensors are after some rounds of a loop.
fn moved([a, b, out]: [usize; 3], by: &Loop, rounds: usize) -> [usize; 3] {
    [a + rounds * by.a, b + rounds * by.b, out + rounds * by.out]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of all rounds, in the order in which they are visited.
    fn places(loops: &[Loop], most: u64) -> (Vec<[usize; 3]>, usize) {
        let (mut places, mut pieces) = (vec![], 0);
        each(loops, [0; 3], most, &mut |piece, at| {
            assert!(of_loops(piece) <= most.max(1));
            pieces += 1;
            let mut found = vec![at];
            for l in piece {
                let rounds = |at: [usize; 3]| (0..l.extent).map(move |i| moved(at, l, i));
                found = found.into_iter().flat_map(rounds).collect();
            }
            places.extend(found);
            true
        });
        (places, pieces)
    }

    #[test]
    fn pieces_are_the_whole_in_the_same_order() {
        let strided = |extent, a, b, out| Loop { extent, a, b, out };
        let loops = [
            strided(3, 35, 0, 7),
            strided(7, 0, 5, 1),
            strided(5, 7, 1, 0),
        ];
        let (whole, one) = places(&loops, 105);
        assert_eq!((whole.len(), one), (105, 1));
        for most in 1..105 {
            let (found, pieces) = places(&loops, most);
            assert_eq!(found, whole, "{most}");
            assert!(pieces as u64 >= 105 / most, "{most}");
        }
    }

    #[test]
    fn nothing_is_visited_after_a_stop() {
        let loops = [Loop {
            extent: 100,
            a: 1,
            b: 1,
            out: 1,
        }];
        let mut visits = 0;
        let all = each(&loops, [0; 3], 10, &mut |_, _| {
            visits += 1;
            visits < 3
        });
        assert_eq!((all, visits), (false, 3));
    }
}
