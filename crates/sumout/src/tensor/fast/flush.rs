//! Flush to zero: while kernels run, results too small for a normal number become zero.
//!
//! *Why.* Numbers of an example are kept near one by exponents of their own, but within a tensor
//! small ones stay small, and many processors take a hundred cycles for a product that is
//! subnormal. With `rect:20`, 32 bits, batches of 1024 on one AVX-512 thread, an example takes 25 µs
//! forward and 28 µs without flushing; forward and backward 118 µs, and 431 µs without. `digits:16`
//! takes the same time. The error bounds of the [executor](crate::tensor::fast) count what becomes
//! zero as lost either way, so answers do not depend on it beyond the tolerance.
//!
//! *What it means.* The mode is a register of the thread (MXCSR on x86-64, FPCR on 64-bit ARM; on
//! other machines nothing is done). Rust has no model for floating-point code that runs in another
//! mode than the default one: its reference calls that undefined behaviour, because the compiler may
//! compute at compile time, or move, an operation as if the mode were the default. Here both would
//! give a subnormal number instead of zero or the other way round, which the bounds allow for. To
//! keep it that way, the mode is set and restored in this file alone, around a call that is never
//! inlined, also if that panics; and the standard library's intrinsics for the register, whose
//! documentation forbids it, are not used.
//!
//! *Without it.* The crate's feature `flush-to-zero` is on by default. Without it no mode is ever
//! changed, and answers are as exact.

/// Runs something on this thread with results flushed to zero, and restores the mode.
pub(super) fn flushed<R>(work: impl FnOnce() -> R) -> R {
    let _restored = Mode::flush();
    apart(work)
}

/// The compiler does not move operations into or out of a call that it cannot see through.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// The mode of this thread from before, to which it returns when this is dropped.
struct Mode(u64);

impl Mode {
    fn flush() -> Self {
        let before = control();
        set_control(before | FLUSH);
        Mode(before)
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        set_control(self.0);
    }
}

/// Flush results to zero, and treat subnormal inputs as zero.
#[cfg(all(feature = "flush-to-zero", target_arch = "x86_64"))]
const FLUSH: u64 = 1 << 15 | 1 << 6;

#[cfg(all(feature = "flush-to-zero", target_arch = "x86_64"))]
#[allow(unsafe_code)]
fn control() -> u64 {
    let mut value = 0u32;
    // SAFETY: stores the register in `value`.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags));
    }
    u64::from(value)
}

#[cfg(all(feature = "flush-to-zero", target_arch = "x86_64"))]
#[allow(unsafe_code)]
fn set_control(value: u64) {
    let value = value as u32;
    // SAFETY: the value was read from the register, but for the two bits that flush. See the
    // module's documentation for what is not promised.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags));
    }
}

#[cfg(all(feature = "flush-to-zero", target_arch = "aarch64"))]
const FLUSH: u64 = 1 << 24;

#[cfg(all(feature = "flush-to-zero", target_arch = "aarch64"))]
#[allow(unsafe_code)]
fn control() -> u64 {
    let value: u64;
    // SAFETY: reads the register.
    unsafe {
        std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nostack, preserves_flags));
    }
    value
}

#[cfg(all(feature = "flush-to-zero", target_arch = "aarch64"))]
#[allow(unsafe_code)]
fn set_control(value: u64) {
    // SAFETY: the value was read from the register, but for the bit that flushes. See the module's
    // documentation for what is not promised.
    unsafe {
        std::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags));
    }
}

/// Nothing is changed.
#[cfg(not(all(
    feature = "flush-to-zero",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod unchanged {
    pub(super) const FLUSH: u64 = 0;

    pub(super) fn control() -> u64 {
        0
    }

    pub(super) fn set_control(_: u64) {}
}

#[cfg(not(all(
    feature = "flush-to-zero",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
use unchanged::{FLUSH, control, set_control};

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::panic::catch_unwind;

    use super::*;

    fn subnormal() -> f64 {
        black_box(f64::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn the_mode_lasts_as_long_as_the_call() {
        let flushes = FLUSH != 0;
        assert_eq!(flushed(subnormal) == 0.0, flushes);
        assert!(subnormal() > 0.0);
    }

    #[test]
    fn a_panic_restores_the_mode() {
        let panicked = catch_unwind(|| flushed(|| panic!("on purpose")));
        assert!(panicked.is_err());
        assert!(subnormal() > 0.0);
    }
}
