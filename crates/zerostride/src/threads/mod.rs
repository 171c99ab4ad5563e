//! Owns threads: how many work on one evaluation, how they divide it (`parts.rs`) and stay awake for the next
//! one (`helpers.rs`), and when another library's threads work instead (`team.rs`). It does not know the
//! work.

#[allow(unsafe_code)]
mod crew;
#[allow(unsafe_code)]
mod helpers;
#[allow(unsafe_code)]
pub(crate) mod parts;
#[allow(unsafe_code)]
mod processor;
mod team;

use std::env;
use std::error::Error as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use once_cell::race::OnceBox;
use zerostride_kernels::{Isa, Printing, Tuning};
use zerostride_shape::ErrorClass;

use crate::fork::{self, Guarded, Lock};
use crate::{Error, Result};

pub(crate) use parts::WorkSize;
pub use team::{Team, on_team};

/// The most that help the calling thread: as many as a word has bits.
pub(crate) const SEATS: usize = u64::BITS as usize;

/// The environment variable that says how many threads a pool has.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// More than any machine has processors for: a larger number is mistyped.
const MOST_THREADS_ASKED: usize = 1024;

/// The most threads that work on one evaluation.
static MOST_THREADS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// How many threads work on one evaluation: as many as the processor runs, unless [`set_num_threads`] says
/// otherwise; 65 at most.
pub fn num_threads() -> usize {
    // On a thread of a pool, that pool is meant; but a child has none of the parent's threads except one.
    let has_pool = match rayon::current_thread_index() {
        Some(_) => fork::process() == 0 || fork::this_thread() != fork::survivor(),
        None => has_pool(0),
    };
    if !has_pool {
        return 1;
    }
    rayon::current_num_threads().min(MOST_THREADS.load(Ordering::Relaxed)).min(SEATS + 1)
}

/// Whether there is a pool of threads. The first call starts it, with so many threads, or for 0 with as many
/// as the environment says or the processor runs. There is none where the system starts no threads, nor in a
/// forked child of the process that started it: there the calling thread works alone.
fn has_pool(threads: usize) -> bool {
    static POOL: OnceBox<Option<usize>> = OnceBox::new();
    let process = POOL.get().unwrap_or_else(|| {
        let _starting = STARTING.lock();
        POOL.get_or_init(|| {
            let threads =
                if threads == 0 { asked().map_or(0, |asked| asked.min(SEATS + 1)) } else { threads };
            let started = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
            // An error without a source says that the pool runs already.
            Box::new(started.err().is_none_or(|error| error.source().is_none()).then(fork::process))
        })
    });
    *process == Some(fork::process())
}

/// Held while the pool starts.
static STARTING: Lock<()> = Lock::new(Guarded::Threads, ());

/// How many threads the environment asks for; 0 counts as unset, and so does what [`check_environment`]
/// refuses as no number.
fn asked() -> Option<usize> {
    let number = env::var(VARIABLE).ok()?.trim().parse().ok()?;
    Some(number).filter(|number| *number > 0)
}

/// Whether the environment variables that the engine reads say something that it can follow: for programs to
/// ask before they compute, as kernels panic at their first use where `ZEROSTRIDE_ISA` or
/// `ZEROSTRIDE_PROCESSOR` cannot be followed.
///
/// # Errors
/// `ZEROSTRIDE_ISA` names an instruction set that does not exist or that this processor lacks,
/// `ZEROSTRIDE_PROCESSOR` a family of processors that is not known, `ZEROSTRIDE_CODE` neither `printed` nor
/// `portable`, or RAYON_NUM_THREADS is no number, or more than 1024.
///
/// ```
/// zerostride::check_environment()?;
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn check_environment() -> Result<()> {
    let unknown = |variable: &str, known: Vec<&str>| {
        let name = env::var_os(variable).filter(|name| !known.iter().any(|known| **known == **name))?;
        let (name, known) = (name.to_string_lossy(), known.join(", "));
        Some(format!("{variable}={name}: set it to one of {known}, or unset it"))
    };
    let threads = || {
        let text = env::var_os(VARIABLE)?.to_string_lossy().into_owned();
        // Nothing and 0 count as unset.
        match text.trim().parse() {
            Ok(0..=MOST_THREADS_ASKED) => None,
            Ok(_) => Some(format!("{VARIABLE}={text}: at most {MOST_THREADS_ASKED} threads can be started")),
            Err(_) if text.trim().is_empty() => None,
            Err(_) => Some(format!("{VARIABLE}={text}: set it to a number of threads, or unset it")),
        }
    };
    let supported = Isa::ALL.into_iter().filter(|isa| isa.is_supported());
    let message = threads()
        .or_else(|| unknown("ZEROSTRIDE_ISA", supported.map(Isa::name).collect()))
        .or_else(|| unknown("ZEROSTRIDE_PROCESSOR", Tuning::ALL.map(|row| row.name).to_vec()))
        .or_else(|| unknown("ZEROSTRIDE_CODE", Printing::NAMES.to_vec()));
    message.map_or(Ok(()), |message| Err(Error::Argument { class: ErrorClass::Value, message }))
}

/// What computes in this process, for people and reports of faults: the version, the instruction set and the
/// processor's row of thresholds, whether formulas become machine code and why not, and the threads.
///
/// ```
/// let text = zerostride::show_config();
/// assert!(text.starts_with("zerostride   0.") && text.contains("\ncode         "));
/// ```
pub fn show_config() -> String {
    format!(
        "zerostride   {}\ninstructions {} ({})\ncode         {}\nthreads      {}\n",
        env!("CARGO_PKG_VERSION"),
        Isa::active(),
        Tuning::active().name,
        Printing::describe(),
        num_threads()
    )
}

/// Sets how many threads work on one evaluation; at least one does.
///
/// The pool of threads does not grow once it runs, which the first evaluation that divides its work starts:
/// more threads than the processor runs, or than RAYON_NUM_THREADS says, must be asked for before, and start
/// it. More than 65 are never started for this.
///
/// ```standalone_crate
/// zerostride::set_num_threads(1_000_000);
/// assert!(zerostride::num_threads() <= 65);
/// zerostride::set_num_threads(1);
/// assert_eq!(zerostride::num_threads(), 1);
/// ```
pub fn set_num_threads(threads: usize) {
    let processors = thread::available_parallelism().map_or(1, Into::into);
    if threads > processors || asked().is_some() {
        has_pool(threads.min(SEATS + 1).max(processors));
    }
    MOST_THREADS.store(threads.max(1), Ordering::Relaxed);
}
