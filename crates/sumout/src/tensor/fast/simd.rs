//! The kernels, once for each kind of machine, and the choice among them when the program runs.
//!
//! A kernel is written once, over arrays of numbers. Compiled with the instructions of a kind of
//! machine, its loops become vector code. The choice is made once for a process, so that all of its
//! runs agree to the bit.

use std::sync::OnceLock;

use crate::tensor::combine::{Combine, FusedSum, Max, Sum};
use crate::tensor::fast::bounds;
use crate::tensor::fast::bounds::{Growth, Known};
use crate::tensor::fast::lanes;
use crate::tensor::fast::operands::{Form, Operands};
use crate::tensor::fast::program::Loops;
use crate::tensor::fast::single;
use crate::tensor::number::Number;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Any: what the compiler makes of plain loops.
    Portable,
    /// x86-64 with vectors of 256 bits that multiply and add in one.
    Avx2,
    /// x86-64 with vectors of 512 bits.
    Avx512,
    /// 64-bit ARM, all of which have vectors that multiply and add in one.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Isa {
    /// The best that this machine has.
    pub fn detect() -> Isa {
        static FOUND: OnceLock<Isa> = OnceLock::new();
        *FOUND.get_or_init(found)
    }

    /// A name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "AVX2",
            Isa::Avx512 => "AVX-512",
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => "NEON",
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn found() -> Isa {
    match (
        is_x86_feature_detected!("avx512f"),
        is_x86_feature_detected!("avx2"),
        is_x86_feature_detected!("fma"),
    ) {
        (true, true, true) => Isa::Avx512,
        (false, true, true) => Isa::Avx2,
        _ => Isa::Portable,
    }
}

#[cfg(target_arch = "aarch64")]
fn found() -> Isa {
    Isa::Neon
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn found() -> Isa {
    Isa::Portable
}

/// Runs the loops of a step.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(super) fn run<T: Number>(isa: Isa, loops: &Loops, form: &Form, on: &mut Operands<'_, T>) {
    match isa {
        // SAFETY: `Isa::detect` has found the features that these functions are compiled for.
        Isa::Avx512 => unsafe { run_avx512(loops, form, on) },
        Isa::Avx2 => unsafe { run_avx2(loops, form, on) },
        Isa::Portable => dispatch::<Sum, T>(loops, form, on),
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn run<T: Number>(isa: Isa, loops: &Loops, form: &Form, on: &mut Operands<'_, T>) {
    match isa {
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => dispatch::<FusedSum, T>(loops, form, on),
        _ => dispatch::<Sum, T>(loops, form, on),
    }
}

/// The same for maxima instead of sums, of blocks of examples.
#[allow(unsafe_code)]
pub(super) fn maximise(isa: Isa, loops: &Loops, form: &Form, on: &mut Operands<'_, f64>) {
    match isa {
        // SAFETY: `Isa::detect` has found the features that these functions are compiled for.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { maximise_avx512(loops, form, on) },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { maximise_avx2(loops, form, on) },
        _ => largest(loops, form, on),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn maximise_avx2(loops: &Loops, form: &Form, on: &mut Operands<'_, f64>) {
    largest(loops, form, on);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn maximise_avx512(loops: &Loops, form: &Form, on: &mut Operands<'_, f64>) {
    largest(loops, form, on);
}

#[inline(always)]
fn largest(loops: &Loops, form: &Form, on: &mut Operands<'_, f64>) {
    match loops {
        Loops::Tiles(tiles) => lanes::contract::<Max, f64, 8>(tiles, form, on),
        Loops::Terms(terms) => lanes::by_list::<Max, f64, 8>(terms, form, on),
        Loops::Matrices(_) => unreachable!("a block has more than one example"),
        Loops::Collect(_) | Loops::Spread(..) => unreachable!("a collection runs part by part"),
        Loops::Select(..) => unreachable!("what is explained has no tests"),
    }
}

/// Says for each value of a domain which examples have it, or may have it; see [`lanes::indicate`].
#[allow(unsafe_code)]
pub(super) fn indicate<T: Number>(
    isa: Isa,
    domain: &[usize],
    values: &[i8],
    to: &mut [T],
    lanes: usize,
) {
    match isa {
        // SAFETY: `Isa::detect` has found the features that these functions are compiled for.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { indicate_avx512(domain, values, to, lanes) },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { indicate_avx2(domain, values, to, lanes) },
        _ => lanes::indicate(domain, values, to, lanes),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn indicate_avx2<T: Number>(domain: &[usize], values: &[i8], to: &mut [T], lanes: usize) {
    lanes::indicate(domain, values, to, lanes);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn indicate_avx512<T: Number>(domain: &[usize], values: &[i8], to: &mut [T], lanes: usize) {
    lanes::indicate(domain, values, to, lanes);
}

/// Bounds what a step may lose.
#[allow(unsafe_code)]
pub(super) fn bound<T: Number>(isa: Isa, growth: &Growth, inputs: &[Known<'_, T>], row: &mut [T]) {
    match isa {
        // SAFETY: `Isa::detect` has found the features that this function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx2 => unsafe { bound_avx2(growth, inputs, row) },
        _ => growth.bound(inputs, row),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn bound_avx2<T: Number>(growth: &Growth, inputs: &[Known<'_, T>], row: &mut [T]) {
    growth.bound(inputs, row);
}

/// Bounds exact numbers.
#[allow(unsafe_code)]
pub(super) fn bound_exact<T: Number>(isa: Isa, numbers: &[T], row: &mut [T]) {
    match isa {
        // SAFETY: `Isa::detect` has found the features that these functions are compiled for.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { bound_exact_avx512(numbers, row) },
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { bound_exact_avx2(numbers, row) },
        _ => bounds::bound_exact(numbers, row),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn bound_exact_avx2<T: Number>(numbers: &[T], row: &mut [T]) {
    bounds::bound_exact(numbers, row);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn bound_exact_avx512<T: Number>(numbers: &[T], row: &mut [T]) {
    bounds::bound_exact(numbers, row);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<T: Number>(loops: &Loops, form: &Form, on: &mut Operands<'_, T>) {
    dispatch::<FusedSum, T>(loops, form, on);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn run_avx512<T: Number>(loops: &Loops, form: &Form, on: &mut Operands<'_, T>) {
    dispatch::<FusedSum, T>(loops, form, on);
}

/// A cache line of examples at a time, or a single one.
#[inline(always)]
fn dispatch<C: Combine, T: Number>(loops: &Loops, form: &Form, on: &mut Operands<'_, T>) {
    match (loops, T::LANES) {
        (Loops::Tiles(tiles), 16) => lanes::contract::<C, T, 16>(tiles, form, on),
        (Loops::Tiles(tiles), _) => lanes::contract::<C, T, 8>(tiles, form, on),
        (Loops::Matrices(matrices), _) => single::contract::<C, T>(matrices, form, on),
        (Loops::Terms(terms), _) if form.lanes == 1 => single::by_list::<C, T>(terms, form, on),
        (Loops::Terms(terms), 16) => lanes::by_list::<C, T, 16>(terms, form, on),
        (Loops::Terms(terms), _) => lanes::by_list::<C, T, 8>(terms, form, on),
        (Loops::Spread(terms, _), _) if form.lanes == 1 => single::by_list::<C, T>(terms, form, on),
        (Loops::Spread(terms, _), 16) => lanes::by_list::<C, T, 16>(terms, form, on),
        (Loops::Spread(terms, _), _) => lanes::by_list::<C, T, 8>(terms, form, on),
        (Loops::Collect(_), _) => unreachable!("a collection runs part by part"),
        (Loops::Select(..), _) => unreachable!("selections are not sums of products"),
    }
}
