//! The oracle kit: hostile networks; posteriors, explanations and family marginals; and brute force in
//! another representation.
//!
//! ```text
//! cargo test -p sumout --test oracle_kit                     a few seeds
//! ./test --sweep 100 rust                                    a thousand times as many
//! SUMOUT_SEED=7 cargo test -p sumout --test oracle_kit       a single one: a failure, again
//! ```

mod model;
mod planted;
mod questions;
mod truth;
mod wide;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::questions::{Case, Checked};

/// Seeds that are tried unless a sweep asks for more.
const FEW: u64 = 150;

/// A sweep goes on until this many seeds have failed.
const MAX_FAILURES: usize = 20;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seeds: a single one, a few, or as many as a sweep asks for.
fn seeds() -> std::ops::Range<u64> {
    match (setting("SUMOUT_SEED"), setting("SUMOUT_SWEEP")) {
        (Some(seed), _) => seed..seed + 1,
        (_, Some(times)) => 0..10 * FEW * times.max(1),
        _ => 0..FEW,
    }
}

/// All that is asked about the network of a seed.
fn check(seed: u64) -> Checked {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let case = Case::random(rng);
    let checked = catch_unwind(AssertUnwindSafe(|| case.check(rng)));
    let checked = checked.unwrap_or_else(|_| Err("a panic".to_owned()));
    checked.map_err(|wrong| {
        let (evidence, model) = (case.evidence(), &case.model);
        format!("{wrong}\n{evidence:?}\n{model:?}\nagain: SUMOUT_SEED={seed} cargo test -p sumout --test oracle_kit")
    })
}

#[test]
fn every_answer_about_hostile_networks_is_right() {
    let seeds = seeds();
    let (next, checks) = (AtomicU64::new(seeds.start), AtomicUsize::new(0));
    let wrong: Mutex<Vec<String>> = Mutex::default();
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let mut failures = wrong.lock().unwrap_or_else(PoisonError::into_inner);
            if seed >= seeds.end || failures.len() >= MAX_FAILURES {
                return;
            }
            drop(failures);
            match check(seed) {
                Ok(count) => drop(checks.fetch_add(count, Ordering::Relaxed)),
                Err(message) => {
                    failures = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    failures.push(message);
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().unwrap();
    println!(
        "{} checks of {} networks, {} wrong",
        checks.into_inner(),
        seeds.end - seeds.start,
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
