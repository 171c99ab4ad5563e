//! Owns what the signals do that ask the program to end: Ctrl-C (SIGINT), SIGTERM and SIGHUP. While there may
//! be an output in the making the evaluation ends in order, if it soon can, and nothing of the output is left
//! in any case; before and after that the program ends at once. The exit status is 128 and the signal, as
//! shells count it.

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use zerostride::{interruptible, io};

/// Between two looks whether a signal has come.
const PERIOD: Duration = Duration::from_millis(20);

/// How long the evaluation may take to end.
const PATIENCE: Duration = Duration::from_millis(300);

/// The signals that ask for an end.
#[cfg(unix)]
fn signals() -> &'static [i32] {
    if ignores_hangup() { &[SIGINT, SIGTERM] } else { &[SIGINT, SIGTERM, SIGHUP] }
}

#[cfg(not(unix))]
fn signals() -> &'static [i32] {
    &[SIGINT, SIGTERM]
}

/// Whether the program was started with SIGHUP ignored, as nohup does; where the system does not tell, it was
/// not.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (SIGHUP - 1) & 1 == 1
}

struct Asked {
    /// Whether a signal ends the program where it stands.
    at_once: Arc<AtomicBool>,
    /// The signal that asked, or 0.
    signal: Arc<AtomicUsize>,
}

static ASKED: LazyLock<Asked> = LazyLock::new(|| {
    let asked = Asked { at_once: Arc::new(AtomicBool::new(true)), signal: Arc::default() };
    for &signal in signals() {
        let number = usize::try_from(signal).unwrap_or_default();
        // Without a handler the signal does what it always does.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked.at_once))
            .and_then(|_| flag::register_usize(signal, Arc::clone(&asked.signal), number));
    }
    asked
});

/// From now on a signal ends the program with its exit status.
pub(crate) fn watch() {
    LazyLock::force(&ASKED);
}

/// Does what may leave something behind; a signal ends it in order.
pub(crate) fn in_order<T>(work: impl FnOnce() -> zerostride::Result<T>) -> zerostride::Result<T> {
    ASKED.at_once.store(false, Ordering::SeqCst);
    let (running, ended) = channel::<()>();
    // Without the thread the evaluation ends as soon as it looks.
    let _ = thread::Builder::new().spawn(move || end_in_time(&ended));
    let done = interruptible(has_come, work);
    drop(running);
    ASKED.at_once.store(true, Ordering::SeqCst);
    done
}

/// Ends the program if a signal comes and the evaluation, which may be at one long loop, does not end soon.
fn end_in_time(ended: &Receiver<()>) {
    let goes_on = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    while goes_on(PERIOD) {
        if has_come() && goes_on(PATIENCE) {
            let _ = writeln!(stderr(), "error: {}", zerostride::Error::Interrupted);
            io::exit_without_unfinished(status().into());
        }
    }
}

/// Whether a signal has asked for an end.
pub(crate) fn has_come() -> bool {
    ASKED.signal.load(Ordering::SeqCst) != 0
}

/// The exit status of an evaluation that was ended; that of Ctrl-C unless another signal did it.
pub(crate) fn status() -> u8 {
    let signal = ASKED.signal.load(Ordering::SeqCst);
    128 + u8::try_from(signal).ok().filter(|signal| *signal > 0).unwrap_or(SIGINT as u8)
}
