//! Long work: without the interpreter's lock, with Ctrl-C and progress.
//!
//! The work runs on a thread of its own, while the thread that Python called waits for it and looks
//! after signals. If one raises, Python goes on at once; the work is told to stop, and ends when it
//! next asks whether it may [go on](Watch::go_on).

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use pyo3::prelude::*;
use sumout::{Control, Options};

use crate::error::Result;

/// So often signals are looked after.
const TICK: Duration = Duration::from_millis(50);

/// How far work has come: steps done, the most there can be, and what there is to say.
type Progress = (usize, usize, String);

/// Messages between work and the thread that waits for it.
pub struct Watch {
    control: Control,
    progress: Sender<Progress>,
}

impl Watch {
    /// An error if nobody waits any more.
    pub fn go_on(&self) -> sumout::Result<()> {
        self.control.check()
    }

    /// Stops the work when nobody waits any more.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Options for work that stops when nobody waits any more.
    pub fn over(&self, options: &Options) -> Options {
        options.clone().with_control(self.control.clone())
    }

    /// Says how far it has come. Whether anybody listens does not matter.
    pub fn tell(&self, done: usize, most: usize, message: String) {
        let _ = self.progress.send((done, most, message));
    }
}

/// Does work that may take long; `progress` is called as `Watch::tell` is.
pub fn long<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> sumout::Result<T> + Send + 'static,
) -> Result<T> {
    let control = Control::new();
    let (sender, mut receiver) = channel();
    let watch = Watch {
        control: control.clone(),
        progress: sender,
    };
    let thread = std::thread::spawn(move || work(&watch)); // the channel closes when this ends
    let waited = wait(py, progress, &mut receiver);
    if let Err(error) = waited {
        control.stop();
        return Err(error.into());
    }
    let result = py.detach(|| thread.join());
    Ok(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
}

/// Does work that is stopped after some seconds, if they are given.
pub fn within<T>(seconds: Option<f64>, control: &Control, work: impl FnOnce() -> T) -> T {
    let Some(seconds) = seconds else {
        return work();
    };
    let (done, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let over = waiting.recv_timeout(Duration::from_secs_f64(seconds));
            if over == Err(RecvTimeoutError::Timeout) {
                control.stop();
            }
        });
        let result = work();
        drop(done);
        result
    })
}

fn wait(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    receiver: &mut Receiver<Progress>,
) -> PyResult<()> {
    loop {
        let receiver = &mut *receiver;
        match py.detach(move || receiver.recv_timeout(TICK)) {
            Ok(step) => drop(progress.map(|call| call.call1(step)).transpose()?),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Does work that is over before anybody could press a key.
pub fn short<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> sumout::Result<T> + Send,
) -> Result<T> {
    Ok(py.detach(work)?)
}
