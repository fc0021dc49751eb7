//! The entries of a map, as positions in two tensors.
//!
//! A gather copies, for each joint state of a map's arguments, the entries of one tensor at the
//! function's value. Its backward pass adds them to where they were read.

use crate::tensor::careful::kernel::Loop;
use crate::tensor::graph::Map;

/// How the axes of a map move through the tensors of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// The arguments of the function.
    pub over: Vec<Loop>,
    /// Its values.
    pub from: Vec<Loop>,
    /// Whether the step writes to where the map points.
    pub backward: bool,
}

impl Walk {
    /// Visits the positions of each joint state of the arguments: in the tensor that is read, and
    /// in the one written.
    pub fn each(&self, index: &[u32], mut visit: impl FnMut(usize, usize)) {
        let values = offsets(&self.from, |l| if self.backward { l.out } else { l.a });
        let (read, written) = (offsets(&self.over, |l| l.a), offsets(&self.over, |l| l.out));
        for (state, &value) in index
            .iter()
            .enumerate()
            .filter(|(_, value)| **value != Map::NOWHERE)
        {
            let value = values[value as usize];
            match self.backward {
                false => visit(read[state] + value, written[state]),
                true => visit(read[state], written[state] + value),
            }
        }
    }

    /// The position of a value in the tensor that a gather reads; none if it is nowhere.
    pub fn from(&self, value: u32) -> Option<usize> {
        let step =
            |(rest, at): (usize, usize), l: &Loop| (rest / l.extent, at + rest % l.extent * l.a);
        (value != Map::NOWHERE).then(|| self.from.iter().rev().fold((value as usize, 0), step).1)
    }
}

/// The position of each joint state of some axes, the last fastest.
fn offsets(loops: &[Loop], stride: impl Fn(&Loop) -> usize) -> Vec<usize> {
    let mut offsets = vec![0];
    for l in loops {
        offsets = offsets
            .into_iter()
            .flat_map(|at| (0..l.extent).map(move |i| (at, i)))
            .map(|(at, i)| at + i * stride(l))
            .collect();
    }
    offsets
}
