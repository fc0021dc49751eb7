//! The weights of copies, and their derivatives.

use super::*;

fn central(of: &dyn Fn(&[f64]) -> f64, at: &[f64]) -> Vec<f64> {
    let moved = |i: usize, h: f64| {
        let mut at = at.to_vec();
        at[i] += h;
        of(&at)
    };
    (0..at.len())
        .map(|i| (moved(i, 1e-6) - moved(i, -1e-6)) / 2e-6)
        .collect()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    assert!(
        found
            .iter()
            .zip(expected)
            .all(|(x, y)| (x - y).abs() < 1e-7),
        "{found:?} {expected:?}"
    );
}

/// Σ g·w for weights w of the copies, with derivatives with respect to all that they depend on.
fn check(
    weighing: Weighing,
    copies: usize,
    before: &[f64],
    parts: &[usize],
    rows: usize,
    tables: &[&[f64]],
) {
    let given: Vec<f64> = (0..rows * copies)
        .map(|i| ((7 * i) % 5) as f64 - 1.5)
        .collect();
    let selector = |tables: &[&[f64]]| {
        let tables = tables.iter().map(|table| table.to_vec()).collect();
        Selector::new(weighing, copies, parts.to_vec(), tables)
    };
    let loss = |before: &[f64], tables: &[&[f64]]| {
        let selector = selector(tables);
        let (mut seen, mut weights) = (before.to_vec(), vec![0.0; given.len()]);
        selector.normalise(&mut seen);
        selector.weigh(&seen, &mut weights);
        for row in weights.chunks_exact(copies) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12 && row.iter().all(|w| *w >= 0.0));
        }
        dot(&weights, &given)
    };
    let selector = selector(tables);
    let (mut seen, mut slopes) = (before.to_vec(), selector.slopes());
    selector.normalise(&mut seen);
    selector.differentiate(&seen, &given, &mut slopes);
    selector.pull(before, &seen, &mut slopes.seen);
    close(
        &slopes.seen,
        &central(&|before| loss(before, tables), before),
    );
    for (k, found) in slopes.tables.iter().enumerate() {
        let with = |numbers: &[f64]| {
            let mut tables = tables.to_vec();
            tables[k] = numbers;
            loss(before, &tables)
        };
        close(found, &central(&with, tables[k]));
    }
}

#[test]
fn derivatives_of_weights_are_central_differences() {
    let three = [0.2, 0.3, 0.5, 0.3, 0.6, 0.1, 0.05, 0.55, 0.4];
    check(
        Weighing::Sigmoid,
        3,
        &[2.5, 7.0, 0.5],
        &[3],
        3,
        &[&three, &[9f64.ln()]],
    );
    check(
        Weighing::Sigmoid,
        2,
        &[0.3, 0.7],
        &[2],
        2,
        &[&[0.4, 0.6, 0.4, 0.6], &[2.0]],
    );
    check(Weighing::Linear, 2, &[0.2, 1.2, 0.6], &[3], 3, &[]);
    let numbers = [0.3, -1.0, 0.8, 2.0, 0.0, 0.5, 0.1, 0.2, -0.3];
    check(Weighing::Softmax, 3, &[0.25, 0.75], &[2], 2, &[&numbers]);
    let each: Vec<f64> = (0..36).map(|i| f64::from((5 * i) % 7) - 3.0).collect();
    check(
        Weighing::Softmax,
        3,
        &[0.5, 1.5, 0.1, 0.2, 0.7],
        &[2, 3],
        2,
        &[&each],
    );
}

#[test]
fn a_step_selects_the_copy_of_the_interval_that_the_posterior_is_in() {
    let all = |larger: bool, equal: bool| {
        let (weighing, tables) = (Weighing::Step { larger, equal }, vec![vec![0.2, 0.3, 0.5]]);
        let selector = Selector::new(weighing, 3, vec![1], tables);
        [0.1, 0.2, 0.3, 0.5, 0.6].map(|p| {
            let mut weights = [0.0; 3];
            selector.weigh(&[p], &mut weights);
            weights.iter().position(|&w| w == 1.0).unwrap()
        })
    };
    assert_eq!(all(true, true), [0, 1, 1, 2, 2]);
    assert_eq!(all(true, false), [0, 0, 1, 1, 2]);
    assert_eq!(all(false, true), [2, 2, 1, 1, 0]);
    assert_eq!(all(false, false), [2, 1, 1, 0, 0]);
}

#[test]
fn what_is_impossible_is_no_number_less() {
    let selector = Selector::new(Weighing::Linear, 2, vec![2], vec![]);
    let (mut seen, mut slopes) = ([0.0, 0.0], [1.0, 3.0]);
    selector.normalise(&mut seen);
    selector.pull(&[0.0, 0.0], &seen, &mut slopes);
    assert_eq!((seen, slopes), ([0.5, 0.5], [0.0, 0.0]));
}
