//! Removes numbers that nothing reads, and lets the others share memory.
//!
//! A number's place is free again after the last node that reads it, and the place that became free
//! last is taken first: it is most likely in the cache.

use crate::scalar::expand::Expanded;
use crate::scalar::{Scalar, ScalarGraph};

/// The last use of a node without readers.
const NEVER: u32 = u32::MAX;

pub(super) fn settle(mut graph: Expanded) -> ScalarGraph {
    let last = last_uses(&graph);
    let mut settling = Settling {
        places: vec![NEVER; last.len()],
        free: vec![],
        used: 0,
    };
    let mut nodes = Vec::with_capacity(last.iter().filter(|&&at| at != NEVER).count());
    for at in 0..last.len() {
        if last[at] == NEVER {
            continue;
        }
        let to = settling.take();
        let place = |node: u32| settling.places[node as usize];
        let node = match graph.nodes[at] {
            Scalar::Product(a, b) => Scalar::Product(place(a), place(b)),
            node => node,
        };
        let is_over = |node: &u32| last[*node as usize] == at as u32;
        match graph.nodes[at] {
            Scalar::Product(a, b) => settling.release([a, b].into_iter().filter(is_over)),
            Scalar::Sum(from, end) => {
                let terms = &mut graph.terms[from as usize..end as usize];
                let over: Vec<u32> = terms.iter().copied().filter(is_over).collect();
                terms.iter_mut().for_each(|term| *term = place(*term));
                settling.release(over.into_iter());
            }
            Scalar::Constant(_) | Scalar::Input(_) => {}
        }
        settling.places[at] = to;
        nodes.push((node, to));
    }
    let outputs = graph
        .outputs
        .iter()
        .map(|&output| settling.places[output as usize])
        .collect();
    let Expanded {
        constants,
        terms,
        inputs,
        ..
    } = graph;
    ScalarGraph {
        nodes,
        constants,
        terms,
        inputs,
        outputs,
        places: settling.used as usize,
    }
}

/// For each node the last that reads it; outputs are read in the end.
fn last_uses(graph: &Expanded) -> Vec<u32> {
    let mut last = vec![NEVER; graph.nodes.len()];
    graph
        .outputs
        .iter()
        .for_each(|&output| last[output as usize] = graph.nodes.len() as u32);
    for at in (0..graph.nodes.len()).rev() {
        if last[at] == NEVER {
            continue;
        }
        let mut read = |node: u32| {
            if last[node as usize] == NEVER {
                last[node as usize] = at as u32;
            }
        };
        match graph.nodes[at] {
            Scalar::Product(a, b) => [a, b].into_iter().for_each(&mut read),
            Scalar::Sum(from, end) => graph.terms[from as usize..end as usize]
                .iter()
                .copied()
                .for_each(&mut read),
            Scalar::Constant(_) | Scalar::Input(_) => {}
        }
    }
    last
}

/// Which number is where.
struct Settling {
    places: Vec<u32>,
    free: Vec<u32>,
    used: u32,
}

impl Settling {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        })
    }

    /// Frees the places of some nodes, each once, although a node may be read twice.
    fn release(&mut self, nodes: impl Iterator<Item = u32>) {
        for node in nodes {
            let place = std::mem::replace(&mut self.places[node as usize], NEVER);
            if place != NEVER {
                self.free.push(place);
            }
        }
    }
}
