//! Small graphs on blocks and on single examples, compared with the executor that takes its time.

mod select;

use super::*;
use crate::tensor::careful::Run;
use crate::tensor::graph::{AxisId, AxisSet, List, NodeId, Table};
use crate::tensor::schedule::Want;
use crate::vars::VarSet;

/// The likelihoods of some variables.
fn inputs<const N: usize>(cards: [usize; N]) -> (Graph, [NodeId; N]) {
    let mut graph = Graph::new(cards.to_vec());
    let nodes = std::array::from_fn(|i| graph.add(Op::Evidence(VarId::new(i))));
    (graph, nodes)
}

fn table(graph: &mut Graph, size: usize) -> NodeId {
    let axis = graph.axis(size);
    graph.table(Table {
        axes: vec![axis],
        values: (0..size).map(|i| 0.3 + 0.11 * i as f64).collect(),
    })
}

/// The product of all pairs.
fn product(graph: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    let [n, m] = [a, b].map(|node| graph.size(node) as u32);
    let axis = Some(graph.axis((n * m) as usize));
    let pairs = || 0..n * m;
    let list = List {
        axis,
        outs: pairs().collect(),
        a: pairs().map(|i| i / m).collect(),
        b: pairs().map(|i| i % m).collect(),
    };
    graph.join(a, b, list)
}

/// This many sums of products, each entry of the larger tensor in one of them.
fn summed(graph: &mut Graph, a: NodeId, b: NodeId, size: usize) -> NodeId {
    let [n, m] = [a, b].map(|node| graph.size(node) as u32);
    let terms = n.max(m).max(size as u32);
    let axis = Some(graph.axis(size));
    let outs = (0..terms).map(|i| i * size as u32 / terms).collect();
    let list = List {
        axis,
        outs,
        a: (0..terms).map(|i| i * 7 % n).collect(),
        b: (0..terms).map(|i| (i * 5 + 1) % m).collect(),
    };
    graph.join(a, b, list)
}

/// A likelihood that differs between variables, values and examples.
fn likelihood(var: VarId, value: usize, lane: usize) -> f64 {
    0.2 + ((var.index() * 31 + value * 17 + lane * 7) % 13) as f64 / 16.0
}

/// Runs a block, and compares all of its examples.
fn compare<T: Number>(graph: &Graph, schedule: &Schedule, engine: &Engine<T>, tolerance: f64) {
    let mut worker = engine.worker();
    let lanes = worker.lanes();
    worker.begin();
    let vars: Vec<VarId> = (0..engine.inputs.len())
        .map(VarId::new)
        .filter(|&v| engine.input(v).is_some())
        .collect();
    for &var in &vars {
        let numbers = worker
            .evidence(var)
            .unwrap()
            .chunks_exact_mut(lanes)
            .enumerate();
        numbers.for_each(|(k, row)| {
            row.iter_mut()
                .enumerate()
                .for_each(|(l, x)| *x = T::of(likelihood(var, k, l)))
        });
        worker.measure_evidence(var);
    }
    worker.forward();
    let program = layout::Program::new(graph, schedule);
    for lane in 0..lanes {
        let given = |var: VarId| {
            (0..graph.cards()[var.index()])
                .map(|k| likelihood(var, k, lane))
                .collect::<Vec<f64>>()
        };
        let run = Run::sum(graph, &program, given);
        let Tensor { data, exponent } = run.value(graph.output());
        let found = worker
            .output()
            .unwrap()
            .chunks_exact(lanes)
            .map(|row| row[lane].to_f64());
        for (x, y) in found.zip(data) {
            let (x, y) = (
                x * 2f64.powi(worker.exponent(lane)),
                y * 2f64.powi(*exponent as i32),
            );
            assert!(
                (x - y).abs() <= tolerance * y,
                "{x} instead of {y} in lane {lane} of {lanes}"
            );
        }
        assert!(!worker.is_lost(lane));
    }
}

/// Compares numbers of both kinds, on blocks and on single examples; for each step the number of
/// its inputs.
fn steps(graph: &mut Graph, output: NodeId) -> Vec<Vec<Place>> {
    graph.set_output(output);
    let schedule = Schedule::new(graph, &Want::Output);
    let blocks = Engine::for_blocks(graph, &schedule, &[]);
    compare::<f64>(graph, &schedule, &blocks, 1e-12);
    compare::<f64>(
        graph,
        &schedule,
        &Engine::for_one(graph, &schedule, &[]),
        1e-12,
    );
    compare::<f32>(
        graph,
        &schedule,
        &Engine::for_blocks(graph, &schedule, &[]),
        1e-5,
    );
    compare::<f32>(
        graph,
        &schedule,
        &Engine::for_one(graph, &schedule, &[]),
        1e-5,
    );
    blocks
        .program
        .steps
        .iter()
        .map(|step| step.inputs.clone())
        .collect()
}

fn is_shared(place: &Place) -> bool {
    matches!(place, Place::Shared(_))
}

#[test]
fn fused_products_may_have_one_table_at_last() {
    for count in [2, 3] {
        for (is_first, share) in [(false, 3), (true, 3), (false, 1), (true, 1)] {
            let (mut graph, [a, b, c]) = inputs([3, 3, 2]);
            let mut varying = product(&mut graph, a, b);
            if count == 3 {
                varying = product(&mut graph, c, varying);
            }
            let shared = table(&mut graph, 4);
            let [a, b] = if is_first {
                [shared, varying]
            } else {
                [varying, shared]
            };
            let size = graph.size(varying) as usize / share;
            let output = summed(&mut graph, a, b, size);
            let steps = steps(&mut graph, output);
            let [inputs] = &steps[..] else {
                panic!("{steps:?}")
            };
            assert_eq!(inputs.len(), count + 1);
            assert_eq!(inputs.iter().position(is_shared), Some(count));
        }
    }
}

#[test]
fn products_with_a_table_are_not_part_of_others() {
    for is_first in [false, true] {
        let (mut graph, [a, b]) = inputs([3, 4]);
        let shared = table(&mut graph, 4);
        let inner = if is_first {
            product(&mut graph, shared, a)
        } else {
            product(&mut graph, a, shared)
        };
        let output = summed(&mut graph, inner, b, 5);
        assert_eq!(
            steps(&mut graph, output)
                .iter()
                .map(Vec::len)
                .collect::<Vec<_>>(),
            [2, 2]
        );
    }
}

#[test]
fn two_products_are_fused_with_their_reader() {
    let (mut graph, [a, b, c, d]) = inputs([2, 3, 3, 2]);
    let [left, right] = [(a, b), (c, d)].map(|(a, b)| product(&mut graph, a, b));
    let output = summed(&mut graph, left, right, 4);
    assert_eq!(
        steps(&mut graph, output)
            .iter()
            .map(Vec::len)
            .collect::<Vec<_>>(),
        [4]
    );
}

/// Where a node is computed.
fn order(graph: &Graph, nodes: &[NodeId]) -> Vec<usize> {
    let steps = Schedule::new(graph, &Want::Output).steps;
    nodes
        .iter()
        .map(|node| {
            steps
                .iter()
                .position(|step| step.out == node.index())
                .unwrap()
        })
        .collect()
}

/// The product of x and c is computed when it is read, after y: till then x must stay, and no
/// longer.
#[test]
fn what_a_fused_product_reads_stays_until_it_is_read() {
    let (mut graph, [a, b, c, d, e, f]) = inputs([100, 3, 3, 48, 3, 5]);
    let wide = summed(&mut graph, a, b, 20);
    let x = summed(&mut graph, wide, b, 6);
    let fused = product(&mut graph, x, c);
    let y = summed(&mut graph, d, e, 24);
    let reader = summed(&mut graph, fused, y, 6);
    let output = product(&mut graph, reader, f);
    assert_eq!(
        steps(&mut graph, output)
            .iter()
            .map(Vec::len)
            .collect::<Vec<_>>(),
        [2, 2, 2, 3, 2]
    );
    assert!(order(&graph, &[wide, x, fused, y, reader]).is_sorted());
    let schedule = Schedule::new(&graph, &Want::Output);
    let evidence: usize = graph.cards()[..6].iter().sum();
    let arena = Engine::<f64>::for_one(&graph, &schedule, &[]).program.arena;
    assert_eq!(
        arena - evidence,
        20 + 6 + 24,
        "the reader takes the place of wide, and the output those of x and y, too"
    );
}

/// The product of x and c is read after the last step that reads x itself, and after what takes its
/// place.
#[test]
fn what_others_read_later_is_not_left_to_a_fused_product() {
    let (mut graph, [a, b, c, d, e]) = inputs([40, 3, 2, 3, 3]);
    let wide = summed(&mut graph, a, b, 2);
    let x = summed(&mut graph, wide, b, 2);
    let both = product(&mut graph, x, c);
    let last = summed(&mut graph, x, d, 2);
    let place = summed(&mut graph, last, e, 2);
    let y = summed(&mut graph, place, d, 8);
    let output = summed(&mut graph, both, y, 2);
    steps(&mut graph, output);
    assert!(order(&graph, &[x, both, last, place, y, output]).is_sorted());
}

/// A number becomes too small when its tensor is rescaled, and then counts as much as all others.
#[test]
fn what_rescaling_may_have_cost_is_known() {
    let (mut graph, [a, b, c]) = inputs([2, 2, 2]);
    let list = List {
        axis: Some(AxisId::new(2)),
        outs: vec![0, 1],
        a: vec![0, 1],
        b: vec![0, 1],
    };
    let scaled = graph.join(a, b, list);
    let output = graph.add(Op::Contract(scaled, c, AxisSet::default()));
    graph.set_output(output);
    let exponents = [[30, -34], [30, -33], [-102, 25]];
    let likelihood = |var: VarId, value: usize| 2f64.powi(exponents[var.index()][value]);
    let schedule = Schedule::new(&graph, &Want::Output);
    let given = |var: VarId| vec![likelihood(var, 0), likelihood(var, 1)];
    let sum = Run::sum(&graph, &layout::Program::new(&graph, &schedule), given).log_sum();
    assert!(
        (sum / 2f64.ln() + 41.0).abs() < 1e-9,
        "two numbers of 2^-42"
    );
    for engine in [
        Engine::<f32>::for_one(&graph, &schedule, &[]),
        Engine::for_blocks(&graph, &schedule, &[]),
    ] {
        let mut worker = engine.worker();
        worker.begin();
        let last = worker.lanes() - 1;
        for var in (0..3).map(VarId::new) {
            let numbers = worker.evidence(var).unwrap();
            numbers.fill(1.0);
            for value in [0, 1] {
                numbers[value * (last + 1) + last] = likelihood(var, value) as f32;
            }
            worker.measure_evidence(var);
        }
        worker.forward();
        assert!(worker.is_lost(last) && (0..last).all(|lane| !worker.is_lost(lane)));
    }
}

/// The size of what an engine derives from lists and maps is known before there is one; fusing
/// makes it less.
#[test]
fn the_bytes_of_terms_are_predicted() {
    let (mut graph, [a, b]) = inputs([30, 40]);
    let product = product(&mut graph, a, b);
    let output = summed(&mut graph, product, b, 50);
    graph.set_output(output);
    for want in [
        Want::Output,
        Want::Gradients(VarSet::from_iter([VarId::new(0), VarId::new(1)]), vec![]),
    ] {
        let schedule = Schedule::new(&graph, &want);
        let layout = layout::Program::new(&graph, &schedule);
        let program = BlockProgram::new(&graph, &schedule, &layout, &[], 1);
        let numbers = |step: &program::BlockStep| match &step.loops {
            program::Loops::Terms(terms) => terms.terms.len() + terms.starts.len(),
            _ => 0,
        };
        let used = 4.0 * program.steps.iter().map(numbers).sum::<usize>() as f64;
        let predicted = schedule.term_bytes(&graph);
        assert!(
            used <= predicted && predicted <= 3.0 * used,
            "{used} {predicted}"
        );
    }
}
