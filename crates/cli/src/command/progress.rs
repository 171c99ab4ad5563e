//! Owns the display of an evaluation in pieces: a bar on a terminal, else a line at intervals, nothing for
//! short ones. It does not know what is computed.

use std::fmt;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use zerostride::stream;

use crate::words::say;
use crate::{bytes, interrupt};

/// An evaluation that ends sooner shows no progress.
const PATIENCE: Duration = Duration::from_millis(500);

/// The time between two lines, without a terminal.
const INTERVAL: Duration = Duration::from_secs(10);

const STYLE: &str = "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {pace}{msg}";

/// The progress of one evaluation.
pub(super) struct Progress {
    started: Instant,
    said: Instant,
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(quiet: bool) -> Progress {
        let now = Instant::now();
        Progress { started: now, said: now, quiet, bar: None }
    }

    /// Records the progress after a piece; an interrupt ends the evaluation then.
    pub(super) fn tell(&mut self, progress: stream::Progress) -> ControlFlow<()> {
        if interrupt::has_come() {
            self.clear();
            return ControlFlow::Break(());
        }
        let done = progress.read.saturating_add(progress.written);
        let all = progress.to_read.saturating_add(progress.to_write);
        if self.quiet || self.started.elapsed() < PATIENCE {
        } else if std::io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| {
                let style = ProgressStyle::with_template(STYLE).expect("the template is well-formed");
                // The bar's own rate counts from when the bar is there, what is done from the beginning.
                let style = style.with_key("pace", |state: &ProgressState, to: &mut dyn fmt::Write| {
                    let pace = pace(state.pos(), state.len().unwrap_or(0), state.elapsed());
                    to.write_str(&pace).expect("a text takes what is written");
                });
                ProgressBar::new(all)
                    .with_style(style)
                    .with_elapsed(self.started.elapsed())
                    .with_position(done)
            });
            if progress.passes > 1 {
                let passes = say!("pass-of", pass = progress.pass, passes = progress.passes);
                bar.set_message(format!("  {passes}"));
            }
            bar.set_position(done);
        } else if self.said.elapsed() >= INTERVAL {
            self.said = Instant::now();
            eprintln!("{}", line(done, all, self.started.elapsed()));
        }
        ControlFlow::Continue(())
    }

    /// Removes the bar.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// As in `42 %: 8.4 GiB of 20.0 GiB, 1.2 GiB/s, 10 s left`.
fn line(done: u64, all: u64, elapsed: Duration) -> String {
    let percent = done * 100 / all.max(1);
    let [so_far, total] = [done, all].map(bytes::show);
    say!("done-of", percent = percent, done = so_far, all = total, pace = pace(done, all, elapsed))
}

/// As in `1.2 GiB/s, 10 s left`, by all that was done since the evaluation began.
fn pace(done: u64, all: u64, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64();
    let left = all.saturating_sub(done) as f64 / rate.max(1.0);
    say!("pace", rate = bytes::show(rate as u64), seconds = format!("{left:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_much_how_fast_and_how_long() {
        assert_eq!(
            line(5 << 30, 20 << 30, Duration::from_secs(5)),
            "25 %: 5.0 GiB of 20.0 GiB, 1.0 GiB/s, 15 s left"
        );
    }
}
