//! Measures peak FLOP/s and cache bandwidth, for `bench`.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;

use crate::circuit::run::Precision;
use crate::error::{Error, Result};
use crate::tensor::fast::{Isa, Matrix, Number};

/// The peaks that the cores reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Multiplications and additions in a second, two for each product that is summed.
    pub flops: f64,
    /// Bytes read from and written to the second cache in a second, which is where blocks of
    /// examples are.
    pub bytes: f64,
    /// The instructions that are used.
    pub instructions: &'static str,
}

/// Each of a few measurements takes about as long.
const SECONDS: f64 = 0.05;

impl Machine {
    /// Measures large matrix products, and sums of rows that just fit in the second cache.
    pub fn measure(precision: Precision, threads: usize) -> Result<Machine> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| Error::io("cannot start threads", std::io::Error::other(e)))?;
        let threads = pool.current_num_threads();
        let (flops, bytes) = pool.install(|| match precision {
            Precision::F32 => (best(threads, products::<f32>), best(threads, rows::<f32>)),
            Precision::F64 => (best(threads, products::<f64>), best(threads, rows::<f64>)),
        });
        Ok(Machine {
            flops,
            bytes,
            instructions: Isa::detect().name(),
        })
    }
}

/// The most that all threads together reach.
fn best(threads: usize, rate: impl Fn() -> f64 + Sync) -> f64 {
    let all = || (0..threads).into_par_iter().map(|_| rate()).sum::<f64>();
    (0..3).map(|_| all()).fold(0.0, f64::max)
}

/// Repeats work for a while; how much of it is done in a second.
fn rate(amount: f64, mut work: impl FnMut()) -> f64 {
    let (start, mut rounds) = (Instant::now(), 0.0);
    while start.elapsed().as_secs_f64() < SECONDS {
        work();
        rounds += 1.0;
    }
    amount * rounds / start.elapsed().as_secs_f64()
}

fn products<T: Number>() -> f64 {
    const N: usize = 256;
    let (a, b, mut out) = (
        vec![T::ONE; N * N],
        vec![T::ONE; N * N],
        vec![T::ZERO; N * N],
    );
    rate(2.0 * (N * N * N) as f64, || {
        let matrix = |data| Matrix {
            data,
            strides: [N, 1],
        };
        T::add_product([N; 3], matrix(&a), matrix(&b), &mut out, [N, 1]);
        black_box(&out);
    })
}

fn rows<T: Number>() -> f64 {
    let n = (128 << 10) / size_of::<T>();
    let (a, mut out) = (vec![T::ONE; n], vec![T::ZERO; n]);
    rate(3.0 * (n * size_of::<T>()) as f64, || {
        out.iter_mut().zip(&a).for_each(|(o, x)| *o = *o + *x);
        black_box(&out);
    })
}
