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
    let mut selection = Selection {
        copies: 3,
        thresholds: vec![0.2, 0.5, 0.3, 0.9],
        kind: SelectionKind::Step(Comparison::AtLeast),
    };
    let (before, gaps) = (selection.clone(), selection.gaps(2));
    close(&gaps, &[0.2, 0.3, 0.5, 0.3, 0.6, 0.1]);
    selection.thresholds.fill(0.0);
    selection.set_gaps(&gaps);
    close(&selection.thresholds, &before.thresholds);
}
