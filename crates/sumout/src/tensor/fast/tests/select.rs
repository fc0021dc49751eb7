//! Selections on blocks, on single examples, and by the executor that takes its time.

use super::*;
use crate::tensor::graph::{Rule, Weighing};

/// A selection among the copies of three rows, by a tensor that may be a table; and its product
/// with an input.
fn selected(
    weighing: Weighing,
    copies: usize,
    numbers: &[&[f64]],
    is_constant: bool,
) -> (Graph, NodeId) {
    let (mut graph, [a, b, c]) = inputs([3, 3, 2]);
    let both = AxisSet::from_iter([AxisId::new(0)]);
    let other = table(&mut graph, 3);
    let first = if is_constant {
        other
    } else {
        graph.add(Op::Contract(a, b, both))
    };
    let mut of = vec![first];
    if weighing == Weighing::Softmax {
        of.extend([c, other]);
    }
    for values in numbers {
        let axis = graph.axis(values.len());
        of.push(graph.table(Table {
            axes: vec![axis],
            values: values.to_vec(),
        }));
    }
    let axis = graph.axis(3 * copies);
    let weights = graph.select(
        of,
        Rule {
            tested: VarId::new(0),
            axis,
            copies,
            weighing,
        },
    );
    let output = product(&mut graph, weights, c);
    (graph, output)
}

#[test]
fn selections_are_the_same_on_blocks_and_alone() {
    let gaps = [0.1, 0.3, 0.6, 0.25, 0.1, 0.65, 0.3, 0.4, 0.3];
    let softmax: Vec<f64> = (0..3 * 9).map(|i| f64::from((5 * i) % 7) - 3.0).collect();
    let (step, slope) = (
        Weighing::Step {
            larger: true,
            equal: false,
        },
        [2.0],
    );
    for is_constant in [false, true] {
        for (weighing, copies, numbers) in [
            (step, 3, vec![&gaps[..]]),
            (Weighing::Sigmoid, 3, vec![&gaps[..], &slope[..]]),
            (Weighing::Linear, 2, vec![]),
            (Weighing::Softmax, 3, vec![&softmax[..]]),
        ] {
            let (mut graph, output) = selected(weighing, copies, &numbers, is_constant);
            let steps = steps(&mut graph, output);
            let is_folded = is_constant && weighing != Weighing::Softmax;
            assert_eq!(
                steps
                    .iter()
                    .any(|inputs| inputs.len() == 2 && inputs.iter().any(is_shared)),
                is_folded
            );
        }
    }
}

/// Of what is tested, a number became zero that may have been all of it.
#[test]
fn what_is_lost_of_a_test_loses_the_example() {
    let (mut graph, [a, b, c]) = inputs([2, 2, 2]);
    let list = List {
        axis: Some(AxisId::new(0)),
        outs: vec![0, 1],
        a: vec![0, 1],
        b: vec![0, 1],
    };
    let joint = graph.join(a, b, list.clone());
    let tested = graph.join(joint, c, list);
    let axis = graph.axis(4);
    let rule = Rule {
        tested: VarId::new(0),
        axis,
        copies: 2,
        weighing: Weighing::Linear,
    };
    let output = graph.select(vec![tested], rule);
    graph.set_output(output);
    let schedule = Schedule::new(&graph, &Want::Output);
    // The first value is impossible in the end, and the second was 2^-200 beside it.
    let exponents = [[0.0, -100.0], [0.0, -100.0], [f64::NEG_INFINITY, 0.0]];
    let given = |var: VarId| exponents[var.index()].map(f64::exp2).to_vec();
    let program = layout::Program::new(&graph, &schedule);
    let run = Run::sum(&graph, &program, given);
    assert_eq!(run.value(output).data, [1.0, 0.0, 0.0, 1.0]);
    let engine = Engine::<f32>::for_one(&graph, &schedule, &[]);
    let mut worker = engine.worker();
    worker.begin();
    for var in (0..3).map(VarId::new) {
        let numbers = given(var).into_iter().map(|x| x as f32);
        worker
            .evidence(var)
            .unwrap()
            .iter_mut()
            .zip(numbers)
            .for_each(|(to, x)| *to = x);
        worker.measure_evidence(var);
    }
    worker.forward();
    assert!(worker.is_lost(0));
}

/// Numbers that are too far apart for numbers are tested by their logarithms.
#[test]
fn logarithms_are_tested_as_the_numbers_that_they_stand_for() {
    let (mut graph, [a, b, _]) = inputs([2, 2, 2]);
    let list = List {
        axis: Some(AxisId::new(0)),
        outs: vec![0, 1],
        a: vec![0, 1],
        b: vec![0, 1],
    };
    let tested = graph.join(a, b, list);
    let axis = graph.axis(4);
    let output = graph.select(
        vec![tested],
        Rule {
            tested: VarId::new(0),
            axis,
            copies: 2,
            weighing: Weighing::Linear,
        },
    );
    graph.set_output(output);
    let program = layout::Program::new(&graph, &Schedule::new(&graph, &Want::Output));
    let exponents = [[-600.0, 0.0], [0.0, -598.0], [0.0, 0.0]]; // 2^-600 and 2^-598
    let given = |var: VarId| exponents[var.index()].map(f64::exp2).to_vec();
    let run = Run::sum(&graph, &program, given);
    let found: Vec<f64> = run.value(output).data.iter().map(|x| x.exp()).collect();
    assert!(
        found
            .iter()
            .zip([0.8, 0.2, 0.2, 0.8])
            .all(|(x, y)| (x - y).abs() < 1e-12),
        "{found:?}"
    );
}

/// A threshold is compared with shares of the whole, beside which what became zero does not count;
/// a linear weight is such a share.
#[test]
fn each_number_counts_where_weights_are_linear() {
    let gaps = [0.5, 0.5, 0.5, 0.5];
    for (weighing, numbers) in [
        (Weighing::Linear, vec![]),
        (
            Weighing::Step {
                larger: true,
                equal: true,
            },
            vec![&gaps[..]],
        ),
    ] {
        let (mut graph, [a, b]) = inputs([2, 2]);
        let list = List {
            axis: Some(AxisId::new(0)),
            outs: vec![0, 1],
            a: vec![0, 1],
            b: vec![0, 1],
        };
        let axis = graph.axis(4);
        let mut of = vec![graph.join(a, b, list)];
        of.extend(numbers.iter().map(|values| {
            graph.table(Table {
                axes: vec![axis],
                values: values.to_vec(),
            })
        }));
        let output = graph.select(
            of,
            Rule {
                tested: VarId::new(0),
                axis,
                copies: 2,
                weighing,
            },
        );
        graph.set_output(output);
        let engine = Engine::<f32>::for_one(&graph, &Schedule::new(&graph, &Want::Output), &[]);
        let mut worker = engine.worker();
        worker.begin();
        for var in (0..2).map(VarId::new) {
            worker
                .evidence(var)
                .unwrap()
                .copy_from_slice(&[1.0, 2f32.powi(-100)]);
            worker.measure_evidence(var);
        }
        worker.forward();
        assert_eq!(worker.is_lost(0), weighing == Weighing::Linear);
    }
}
