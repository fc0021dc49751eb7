//! Selection: testing networks against their semantics, and all that is done with them.

mod chains;
mod circuits;
mod edges;
mod files;
mod gradients;
mod learning;
mod literal;
mod random;
mod semantics;

use sumout::{Level, Network, Options, VarId};

fn options(level: Level, seed: u64) -> Options {
    Options::default()
        .with_level(level)
        .with_seed(seed)
        .with_effort(0.01)
}

fn name(net: &Network, v: VarId) -> String {
    net.variable(v).name.clone()
}
