use super::*;

fn numbers(of: &dyn Fn(&[f64]) -> f64, at: &[f64]) -> Vec<f64> {
    let moved = |i: usize, h: f64| {
        let mut at = at.to_vec();
        at[i] += h;
        of(&at)
    };
    (0..at.len()).map(|i| (moved(i, 1e-6) - moved(i, -1e-6)) / 2e-6).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-7), "{found:?} {expected:?}");
}

/// Σ g·w for weights w of the copies, with derivatives with respect to all that they depend on.
fn check(test: &Test, seen: &[f64], rows: usize) {
    let given: Vec<f64> = (0..rows * test.copies).map(|i| ((7 * i) % 5) as f64 - 1.5).collect();
    let loss = |test: &Test, seen: &[f64]| {
        let mut weights = vec![0.0; given.len()];
        test.weigh(seen, &mut weights);
        for row in weights.chunks_exact(test.copies) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12 && row.iter().all(|w| *w >= 0.0));
        }
        weights.iter().zip(&given).map(|(w, g)| w * g).sum::<f64>()
    };
    let (mut seen_by, mut gaps, mut free) =
        (vec![0.0; seen.len()], vec![0.0; rows * test.copies], vec![0.0; test.free().len()]);
    test.differentiate(seen, &given, &mut Slopes { seen: &mut seen_by, gaps: &mut gaps, free: &mut free });
    close(&seen_by, &numbers(&|seen| loss(test, seen), seen));
    let with = |change: &dyn Fn(&mut Test)| {
        let mut test = test.clone();
        change(&mut test);
        loss(&test, seen)
    };
    close(&free, &numbers(&|free| with(&|test| test.set_free(free)), &test.free()));
    if test.selection.has_thresholds() {
        close(&gaps, &numbers(&|gaps| with(&|test| test.set_gaps(gaps)), &test.gaps(rows)));
    }
}

#[test]
fn derivatives_of_weights_are_central_differences() {
    let sigmoid = Selection::Sigmoid { slope: 9.0, is_learned: true };
    let three = Test { copies: 3, thresholds: vec![0.2, 0.5, 0.3, 0.9, 0.05, 0.6], selection: sigmoid.clone() };
    check(&three, &[0.25, 0.7, 0.05], 3);
    check(&Test::of_rows(2, &[0.4], sigmoid), &[0.3, 0.7], 2);
    check(&Test { copies: 2, thresholds: vec![], selection: Selection::Linear }, &[0.1, 0.6, 0.3], 3);
    let of = vec![VarId::new(0)];
    let softmax = Selection::Softmax { of, weights: vec![0.3, -1.0, 0.8, 2.0, 0.0, 0.5], biases: vec![0.1, 0.2, -0.3] };
    check(&Test { copies: 3, thresholds: vec![], selection: softmax }, &[0.25, 0.75], 2);
    let (of, weights) = (vec![VarId::new(0)], (0..12).map(|i| f64::from((5 * i) % 7) - 3.0).collect());
    let each = Selection::Softmax { of, weights, biases: vec![0.1, 0.2, -0.3, 0.8, 0.0, 1.5] };
    check(&Test { copies: 3, thresholds: vec![], selection: each }, &[0.25, 0.75], 2);
}

#[test]
fn a_step_selects_the_copy_of_the_interval_that_the_posterior_is_in() {
    let chosen = |comparison, p: f64| {
        let test = Test::of_rows(1, &[0.2, 0.5], Selection::Step(comparison));
        let mut weights = [0.0; 3];
        test.weigh(&[p], &mut weights);
        weights.iter().position(|&w| w == 1.0).unwrap()
    };
    let all = |comparison| [0.1, 0.2, 0.3, 0.5, 0.6].map(|p| chosen(comparison, p));
    assert_eq!(all(Comparison::AtLeast), [0, 1, 1, 2, 2]);
    assert_eq!(all(Comparison::Above), [0, 0, 1, 1, 2]);
    assert_eq!(all(Comparison::AtMost), [2, 2, 1, 1, 0]);
    assert_eq!(all(Comparison::Below), [2, 1, 1, 0, 0]);
}

#[test]
fn gaps_are_thresholds_and_thresholds_gaps() {
    let mut test =
        Test { copies: 3, thresholds: vec![0.2, 0.5, 0.3, 0.9], selection: Selection::Step(Comparison::AtLeast) };
    let (before, gaps) = (test.clone(), test.gaps(2));
    close(&gaps, &[0.2, 0.3, 0.5, 0.3, 0.6, 0.1]);
    test.thresholds.fill(0.0);
    test.set_gaps(&gaps);
    close(&test.thresholds, &before.thresholds);
}
