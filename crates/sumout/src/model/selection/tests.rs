use super::*;

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

#[test]
fn gaps_are_thresholds_and_thresholds_gaps() {
    let mut test = Test {
        copies: 3,
        thresholds: vec![0.2, 0.5, 0.3, 0.9],
        selection: Selection::Step(Comparison::AtLeast),
    };
    let (before, gaps) = (test.clone(), test.gaps(2));
    close(&gaps, &[0.2, 0.3, 0.5, 0.3, 0.6, 0.1]);
    test.thresholds.fill(0.0);
    test.set_gaps(&gaps);
    close(&test.thresholds, &before.thresholds);
}
