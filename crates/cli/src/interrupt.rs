//! Owns the signals that end the program: Ctrl-C (SIGINT), SIGTERM and SIGHUP, on Windows Ctrl-C and
//! Ctrl-Break. While an output may be unfinished, the evaluation is ended in order if that is soon possible;
//! in any case no unfinished output is left. At all other times the program ends at once. The exit status is
//! 128 plus the signal, as in shells. It does not know what is computed.

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use crate::words::say;
#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use zerostride::{interruptible, io};

/// The time between two checks for a signal.
const PERIOD: Duration = Duration::from_millis(20);

/// The time that the evaluation has to end in order.
const PATIENCE: Duration = Duration::from_millis(300);

/// The signals that end the program.
#[cfg(unix)]
fn signals() -> &'static [i32] {
    if ignores_hangup() { &[SIGINT, SIGTERM] } else { &[SIGINT, SIGTERM, SIGHUP] }
}

#[cfg(not(unix))]
fn signals() -> &'static [i32] {
    /// Ctrl-Break, by its number in the C library of Windows.
    const SIGBREAK: i32 = 21;
    &[SIGINT, SIGTERM, SIGBREAK]
}

/// Whether the program was started with SIGHUP ignored, as by nohup.
#[cfg(unix)]
#[allow(unsafe_code)]
fn ignores_hangup() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action, `sigaction` changes nothing; it returns 0 once it has written the present
    // action to `action`, which is read only then.
    unsafe {
        libc::sigaction(SIGHUP, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

struct Asked {
    /// Whether a signal ends the program at once.
    at_once: Arc<AtomicBool>,
    /// The signal that has come, or 0.
    signal: Arc<AtomicUsize>,
}

static ASKED: LazyLock<Asked> = LazyLock::new(|| {
    let asked = Asked { at_once: Arc::new(AtomicBool::new(true)), signal: Arc::default() };
    for &signal in signals() {
        let number = usize::try_from(signal).unwrap_or_default();
        // Without a handler the signal has its default effect.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked.at_once))
            .and_then(|_| flag::register_usize(signal, Arc::clone(&asked.signal), number));
    }
    asked
});

/// From now on a signal ends the program with its exit status.
pub(crate) fn watch() {
    LazyLock::force(&ASKED);
}

/// Runs work that may leave unfinished output; a signal ends it in order.
pub(crate) fn in_order<T>(work: impl FnOnce() -> zerostride::Result<T>) -> zerostride::Result<T> {
    ASKED.at_once.store(false, Ordering::SeqCst);
    let (running, ended) = channel::<()>();
    // Without this thread the evaluation ends at its next check.
    let _ = thread::Builder::new().spawn(move || end_in_time(&ended));
    let done = interruptible(has_come, work);
    drop(running);
    ASKED.at_once.store(true, Ordering::SeqCst);
    done
}

/// Ends the program after a signal if the evaluation, which may be inside a long loop, does not end soon.
fn end_in_time(ended: &Receiver<()>) {
    let goes_on = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    while goes_on(PERIOD) {
        if has_come() && goes_on(PATIENCE) {
            let _ = writeln!(stderr(), "{}", say!("interrupted"));
            io::exit_without_unfinished(status().into());
        }
    }
}

/// Whether a signal has come.
pub(crate) fn has_come() -> bool {
    ASKED.signal.load(Ordering::SeqCst) != 0
}

/// The exit status of an evaluation that was ended; that of Ctrl-C if no signal was recorded.
pub(crate) fn status() -> u8 {
    let signal = ASKED.signal.load(Ordering::SeqCst);
    128 + u8::try_from(signal).ok().filter(|signal| *signal > 0).unwrap_or(SIGINT as u8)
}
