//! Owns `Caller`: the place in a program that an operation was called from, in Rust or in another language.
//! It does not know what is done with it.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many policies and audits need callers, on all threads. While none does, this is all that is read.
static ASKED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The callers that were named on a thread, the last at the end.
    static NAMED: RefCell<Vec<Caller>> = const { RefCell::new(Vec::new()) };
}

/// Whether any thread needs callers.
// Relaxed is enough: a thread sees its own requests at once, and those of other threads soon.
#[inline]
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed) != 0
}

/// Asks for callers, so many times more than before.
pub(crate) fn ask(times: usize) {
    ASKED.fetch_add(times, Ordering::Relaxed);
}

/// Takes that many requests back.
pub(crate) fn unask(times: usize) {
    ASKED.fetch_sub(times, Ordering::Relaxed);
}

/// The line of a program that made a broadcast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller(Place);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    Rust(&'static Location<'static>),
    Given(Arc<(String, u32)>),
}

impl Caller {
    /// A place that another language knows: a file, or what stands for it, and a line.
    pub fn new(file: impl Into<String>, line: u32) -> Caller {
        Caller(Place::Given(Arc::new((file.into(), line))))
    }

    /// The file.
    pub fn file(&self) -> &str {
        match &self.0 {
            Place::Rust(location) => location.file(),
            Place::Given(given) => &given.0,
        }
    }

    /// The line, from 1.
    pub fn line(&self) -> u32 {
        match &self.0 {
            Place::Rust(location) => location.line(),
            Place::Given(given) => given.1,
        }
    }

    /// The caller of the calling function, or the caller that [`at`] has named; that one is looked up only
    /// under a policy.
    #[inline]
    #[track_caller]
    pub(crate) fn here() -> Caller {
        let here = Caller(Place::Rust(Location::caller()));
        if is_asked() && !here.is_derivative() { named().unwrap_or(here) } else { here }
    }

    /// Whether the place is a rule of derivatives: what it broadcasts is in no program.
    pub(crate) fn is_derivative(&self) -> bool {
        matches!(&self.0, Place::Rust(location) if location.file().strip_prefix(sources()).is_some_and(|file| {
            file.strip_prefix("expr").is_some_and(|file| file[1..].starts_with("grad"))
        }))
    }

    /// Whether the place is in this engine: then the caller of the evaluation is named instead.
    pub(crate) fn is_engine(&self) -> bool {
        matches!(&self.0, Place::Rust(location) if location.file().starts_with(sources()))
    }
}

/// The folder of the engine's sources, as the compiler names it.
fn sources() -> &'static str {
    file!().trim_end_matches("caller.rs")
}

impl fmt::Display for Caller {
    /// `file:line`, and the column where it is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Rust(location) => location.fmt(f),
            Place::Given(given) => write!(f, "{}:{}", given.0, given.1),
        }
    }
}

/// The caller named last; none on a thread that is ending.
fn named() -> Option<Caller> {
    NAMED.try_with(|named| named.borrow().last().cloned()).ok().flatten()
}

/// Names the caller of everything that `work` does on this thread: for languages whose lines Rust does not
/// see.
///
/// ```
/// use zerostride::{tensor, policy::{self, Audit, Caller}};
/// let audit = Audit::start();
/// policy::at(Caller::new("train.py", 12), || tensor![[1, 2]].add(&tensor![[1], [2]]))?;
/// assert_eq!(audit.log().records()[0].caller.to_string(), "train.py:12");
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn at<R>(caller: Caller, work: impl FnOnce() -> R) -> R {
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            let _ = NAMED.try_with(|named| named.borrow_mut().pop());
        }
    }
    let added = NAMED.try_with(|named| named.borrow_mut().push(caller));
    let _forget = added.is_ok().then_some(Forget);
    work()
}
