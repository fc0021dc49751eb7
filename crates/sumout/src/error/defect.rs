//! The last barrier of a front end: a panic is a defect of the program, and becomes an error that asks
//! for a report.
//!
//! Nothing in the library relies on this. Its functions return errors, and the project's tests look
//! for inputs that make them panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Error, ErrorKind, Result};

/// The first panic since the last one that was contained, and where it happened.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

fn first() -> MutexGuard<'static, Option<String>> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps panics from now on for the errors that they become, instead of printing them; with
/// `RUST_BACKTRACE` they are printed as well.
pub fn keep_panics() {
    let usual = take_hook();
    set_hook(Box::new(move |info| {
        first().get_or_insert_with(|| described(info));
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0") {
            usual(info);
        }
    }));
}

/// Does some work; a panic in it becomes an error. The name is for tests, which force a panic.
pub fn contained<T>(name: &str, work: impl FnOnce() -> T) -> Result<T> {
    let work = || {
        force(name);
        work()
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| defect(&*payload))
}

/// Panics where a test asks for it, in builds with debug assertions.
fn force(name: &str) {
    let is_wanted = || std::env::var("SUMOUT_TEST_PANIC").is_ok_and(|wanted| wanted == name);
    assert!(
        !cfg!(debug_assertions) || !is_wanted(),
        "a panic that a test forces"
    );
}

/// The error of a panic.
fn defect(payload: &(dyn Any + Send)) -> Error {
    let happened = first().take().unwrap_or_else(|| text(payload));
    let message = format!(
        "a defect in sumout {}: {happened}",
        env!("CARGO_PKG_VERSION")
    );
    Error::new(ErrorKind::Defect, message)
        .hint("please report it: this message, the command or the code, and the files if they may be shown")
}

fn described(info: &PanicHookInfo<'_>) -> String {
    let place = info
        .location()
        .map(|at| format!(", at {}:{}", at.file(), at.line()));
    text(info.payload()) + &place.unwrap_or_default()
}

/// The message of a panic, in one line.
fn text(payload: &(dyn Any + Send)) -> String {
    let written = payload.downcast_ref::<String>().map(String::as_str);
    let message = written.or_else(|| payload.downcast_ref::<&str>().copied());
    let words = message
        .unwrap_or("a panic without a message")
        .split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        let error = contained("test", || -> u8 { panic!("it is\nbroken: {}", 7) }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Defect);
        assert!(error.message().contains("it is broken: 7"), "{error}");
        assert!(
            error
                .advice()
                .is_some_and(|hint| hint.starts_with("please report it"))
        );
        assert_eq!(contained("test", || 7).unwrap(), 7);
    }
}
