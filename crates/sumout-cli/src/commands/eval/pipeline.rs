//! Reads, computes and writes at the same time.
//!
//! ```text
//! source ──a thread──▶ chunks ──all processors──▶ answers ──this thread──▶ file
//! ```
//!
//! Between them wait a few chunks at most, so that the memory does not depend on the number of
//! rows.

use std::io::{IsTerminal, stderr};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use sumout::{Circuit, Control, Error, ErrorKind, EvalOptions, VarId};

use crate::data::{Answering, Check, Chunk, Fingerprint, Rows, Source, Titles};
use crate::output::{Result, talk};
use crate::patience::Lines;
use crate::text::{counted, grouped};

/// The initial and the maximum number of rows of a chunk, which takes a fraction of a second.
const ROWS: [usize; 2] = [512, 16384];

/// A chunk that takes fewer seconds is followed by longer ones, and one that takes more by shorter
/// ones.
const SECONDS: [f64; 2] = [0.02, 0.2];

/// The maximum number of waiting chunks.
const WAITING: usize = 2;

/// The minimum number of examples of later chunks: a handful would be computed by other
/// means, with other roundings, and then answers would depend on where a run was interrupted.
const LEAST: usize = 8;

/// The maximum number of bad rows that are named.
const NAMED: u64 = 10;

/// Counts of a run.
#[derive(Debug, Default)]
pub struct Seen {
    pub rows: u64,
    pub impossible: u64,
    pub bad: u64,
    pub resumed: u64,
}

/// From rows to answers.
pub struct Pipeline<'a> {
    pub circuit: &'a Circuit,
    pub titles: Titles,
    /// The columns of answers that are written; all of them if none.
    pub kept: Vec<usize>,
    pub running: EvalOptions,
    /// The number of explanations in each row, if the circuit explains.
    pub count: usize,
    /// The variable whose values are labels of the rows, and no evidence.
    pub label: Option<VarId>,
    pub skip_bad_rows: bool,
    /// Stops after a chunk.
    pub control: Control,
    /// The number of rows written by an earlier run.
    pub earlier: u64,
    /// Fingerprints of the data in that run.
    pub checks: Vec<Check>,
}

/// A chunk on its way.
struct Piece {
    chunk: Chunk,
    /// The state of the run so far.
    check: Check,
    /// The number of rows of all chunks, as far as is known.
    total: Option<u64>,
}

impl Pipeline<'_> {
    /// Answers all rows, and writes the answers in order.
    pub fn run(
        &self,
        source: Box<dyn Source>,
        mut write: impl FnMut(&Rows<'_>, Check) -> Result<()>,
    ) -> Result<Seen> {
        let answering = Answering::new(self.circuit, &self.running, self.count)?;
        let rows = AtomicUsize::new(ROWS[0]);
        let (pieces, to_compute) = sync_channel(WAITING);
        let (answers, to_write) = sync_channel::<(Rows<'_>, Check)>(WAITING);
        let mut reader = Reader {
            pipeline: self,
            source,
            rows: &rows,
            print: Fingerprint::default(),
            read: 0,
        };
        thread::scope(|scope| {
            scope.spawn(move || reader.run(&pieces));
            let computing = scope.spawn(|| self.compute(&answering, &rows, to_compute, answers));
            let written = to_write
                .into_iter()
                .try_for_each(|(rows, check)| write(&rows, check));
            let seen = computing
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic));
            written.and(seen)
        })
    }

    /// Computes answers until there are no more chunks, or nobody takes them.
    fn compute<'a>(
        &'a self,
        answering: &Answering,
        rows: &AtomicUsize,
        pieces: Receiver<sumout::Result<Piece>>,
        answers: SyncSender<(Rows<'a>, Check)>,
    ) -> Result<Seen> {
        let mut seen = Seen {
            resumed: self.earlier,
            ..Seen::default()
        };
        let (bar, mut lines) = (progress(), Lines::default());
        bar.set_position(self.earlier);
        bar.reset_eta();
        for piece in pieces {
            let piece = piece?;
            self.control.check()?;
            let total = piece.total;
            piece.total.inspect(|&total| bar.set_length(total));
            self.name_bad(&piece, &seen)?;
            let start = Instant::now();
            let check = piece.check;
            let answered = self.answer(answering, piece)?;
            adapt(rows, answered.count, start.elapsed().as_secs_f64());
            let count = (answered.count - answered.skip) as u64;
            seen.rows += count;
            seen.impossible += answered.impossible() as u64;
            seen.bad += answered.new_bad() as u64;
            if answers.send((answered, check)).is_err() {
                break; // the writer tells why
            }
            bar.inc(count);
            lines.tell(|| {
                let of = total.map_or(String::new(), |all| {
                    format!(" of {}", grouped(all as usize))
                });
                format!("{}{of} rows", grouped((self.earlier + seen.rows) as usize))
            });
        }
        bar.finish_and_clear();
        Ok(seen)
    }

    fn answer(&self, answering: &Answering, piece: Piece) -> Result<Rows<'_>> {
        let Piece {
            mut chunk, check, ..
        } = piece;
        let (count, first) = (chunk.rows, check.rows - chunk.rows as u64);
        let labels = self
            .label
            .and_then(|label| chunk.take(label))
            .unwrap_or_default();
        let (mut numbers, logs) =
            answering.run(&chunk.batch(self.circuit, if first == 0 { 1 } else { LEAST })?)?;
        if !self.kept.is_empty() {
            let width = numbers.len() / logs.len().max(1);
            let rows = numbers.chunks_exact(width.max(1));
            numbers = rows
                .flat_map(|row| self.kept.iter().map(|&at| row[at]))
                .collect();
        }
        let skip = self.earlier.saturating_sub(first) as usize;
        let bad = chunk.bad.iter().map(|(row, _)| *row).collect();
        Ok(Rows {
            titles: &self.titles,
            numbers,
            logs,
            labels,
            count,
            skip,
            bad,
        })
    }

    /// Says which rows cannot be read; stops unless they are to be skipped.
    fn name_bad(&self, piece: &Piece, seen: &Seen) -> Result<()> {
        let first = piece.check.rows - piece.chunk.rows as u64;
        let bad = piece
            .chunk
            .bad
            .iter()
            .map(|(row, what)| (first + *row as u64, what));
        for (said, (row, what)) in (seen.bad..).zip(bad.filter(|(row, _)| *row >= self.earlier)) {
            let number = row + 1;
            if !self.skip_bad_rows {
                let error = Error::new(ErrorKind::Evidence, format!("row {number}: {what}"));
                return Err(error
                    .hint("correct it, or leave such rows empty with `--skip-bad-rows`")
                    .into());
            }
            if said < NAMED {
                talk(&format!("row {number} is left empty: {what}"));
            }
        }
        Ok(())
    }
}

/// Chooses the length of chunks by the time that one took.
fn adapt(rows: &AtomicUsize, count: usize, seconds: f64) {
    let wanted = rows.load(Ordering::Relaxed);
    if count == wanted && seconds < SECONDS[0] {
        rows.store((2 * wanted).min(ROWS[1]), Ordering::Relaxed);
    } else if count >= wanted && seconds > SECONDS[1] {
        rows.store((wanted / 2).max(LEAST), Ordering::Relaxed);
    }
}

/// Reads chunks, and recognises those that an earlier run has read.
struct Reader<'a> {
    pipeline: &'a Pipeline<'a>,
    source: Box<dyn Source>,
    rows: &'a AtomicUsize,
    print: Fingerprint,
    read: u64,
}

impl Reader<'_> {
    /// Sends chunks until an error, or until nobody takes them.
    fn run(&mut self, pieces: &SyncSender<sumout::Result<Piece>>) {
        let goes_on = |piece: sumout::Result<Piece>| piece.is_ok() & pieces.send(piece).is_ok();
        for check in &self.pipeline.checks {
            if !self.known(*check).transpose().is_none_or(goes_on) {
                return;
            }
        }
        while self
            .next(self.rows.load(Ordering::Relaxed))
            .transpose()
            .is_some_and(goes_on)
        {}
    }

    fn next(&mut self, rows: usize) -> sumout::Result<Option<Piece>> {
        let Some(mut chunk) = self.source.next(rows)? else {
            return Ok(None);
        };
        chunk.check_hard(self.pipeline.circuit)?;
        self.print = chunk.fingerprint(self.print);
        self.read += chunk.rows as u64;
        let check = Check {
            rows: self.read,
            print: self.print,
        };
        Ok(Some(Piece {
            chunk,
            check,
            total: self.source.len(),
        }))
    }

    /// A chunk that an earlier run has read; none if all of its rows have been written.
    fn known(&mut self, expected: Check) -> sumout::Result<Option<Piece>> {
        let piece = self.next((expected.rows - self.read) as usize)?;
        if self.read < expected.rows {
            let (found, read) = (
                counted(self.read as usize, "row"),
                grouped(expected.rows as usize),
            );
            return Err(refused(format!(
                "the data has {found}, but the unfinished file was computed from {read} or more"
            )));
        }
        if self.print != expected.print {
            let first = grouped(self.read as usize);
            return Err(refused(format!(
                "the unfinished file was computed from other data: the first {first} rows differ"
            )));
        }
        Ok(piece.filter(|piece| piece.check.rows > self.pipeline.earlier))
    }
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Io, message).hint("run without `--resume` to start again")
}

/// A bar on a terminal: rows, how many a second, and how long it will take.
fn progress() -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = "{bar:30} {human_pos} of {human_len} rows, {per_sec}, {eta} left";
    let style =
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::no_length().with_style(style)
}
