//! The parts of a residual network that share no variable.

use crate::compile::logic::rank::Rank;
use crate::compile::logic::residual::Residual;

/// Variables that depend on one another, and on no others.
#[derive(Debug)]
pub(super) struct Component {
    /// Equal components have equal keys, and with 128 bits no others have.
    pub key: u128,
    /// The variables.
    pub vars: Vec<u32>,
    /// The one to be decided first.
    pub first: u32,
}

/// Finds components.
#[derive(Debug)]
pub(super) struct Components {
    seen_vars: Vec<u32>,
    seen_factors: Vec<u32>,
    round: u32,
    /// How often a factor was looked at.
    pub work: usize,
}

impl Components {
    pub fn new(residual: &Residual) -> Self {
        Components {
            seen_vars: vec![0; residual.parts.len()],
            seen_factors: vec![0; residual.len()],
            round: 0,
            work: 0,
        }
    }

    /// The components of some variables; those that are not open any more are in none.
    pub fn split(&mut self, residual: &Residual, rank: &Rank, vars: &[u32]) -> Vec<Component> {
        self.round += 1;
        let mut components = vec![];
        for &v in vars {
            if residual.is_open(v) && self.seen_vars[v as usize] != self.round {
                components.push(self.component(residual, rank, v));
            }
        }
        components
    }

    fn component(&mut self, residual: &Residual, rank: &Rank, start: u32) -> Component {
        self.seen_vars[start as usize] = self.round;
        let mut vars = vec![start];
        let mut key = alone(start, residual);
        let mut next = 0;
        while next < vars.len() {
            self.work += residual.factors(vars[next]).len();
            for &factor in residual.factors(vars[next]) {
                if self.seen_factors[factor as usize] != self.round {
                    key = key.wrapping_add(self.visit(residual, factor, vars[next], &mut vars));
                }
            }
            next += 1;
        }
        let order = |v: &&u32| (rank.of(**v), std::cmp::Reverse(residual.count(**v)), **v);
        let first = *vars.iter().min_by_key(order).unwrap_or(&start);
        Component { key, vars, first }
    }

    /// Adds the variables of a factor that depends on one of the component; its share of the key.
    fn visit(&mut self, residual: &Residual, factor: u32, v: u32, vars: &mut Vec<u32>) -> u128 {
        let scope = residual.scope(factor);
        if !scope.contains(&v) {
            return 0;
        }
        self.seen_factors[factor as usize] = self.round;
        for &u in scope {
            if self.seen_vars[u as usize] != self.round {
                self.seen_vars[u as usize] = self.round;
                vars.push(u);
            }
        }
        hash(u64::from(residual.state(factor)))
    }
}

/// The key of a variable in no state; nothing otherwise, as states tell what is left of it.
fn alone(v: u32, residual: &Residual) -> u128 {
    match residual.count(v) {
        0 => hash(hash(u64::from(v) << 32) as u64 ^ residual.domain(v)),
        _ => 0,
    }
}

/// Scatters a number over 128 bits.
pub(super) fn hash(x: u64) -> u128 {
    u128::from(scatter(x)) << 64 | u128::from(scatter(x ^ 0x6a09_e667_f3bc_c909))
}

/// The finalizer of SplitMix64.
fn scatter(x: u64) -> u64 {
    let mut x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
