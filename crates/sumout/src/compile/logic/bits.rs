//! Sets of values as bits, and positions in them.

/// The bits of a set one by one, each as a set.
pub(super) fn expand(mut set: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let lowest = set & set.wrapping_neg();
        set ^= lowest;
        (lowest != 0).then_some(lowest)
    })
}

/// The positions that the members of a subset have in a set.
pub(super) fn positions(set: u64, subset: u64) -> u64 {
    let members = expand(set).enumerate();
    members.fold(0, |found, (at, bit)| {
        found | u64::from(subset & bit != 0) << at
    })
}

/// The members of a set at some positions.
pub(super) fn select(set: u64, positions: u64) -> u64 {
    let members = expand(set).enumerate();
    let kept = members.filter(|(at, _)| positions >> at & 1 == 1);
    kept.fold(0, |found, (_, bit)| found | bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_members_are_inverse() {
        let set = 0b1101_0010;
        assert_eq!(expand(set).count(), 4);
        for positions in 0..16 {
            assert_eq!(super::positions(set, select(set, positions)), positions);
        }
    }
}
