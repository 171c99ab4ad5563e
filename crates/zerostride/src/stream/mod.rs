//! Evaluation of expressions over arrays that are larger than memory: in passes over them, piece by piece.
//!
//! An expression is cut along the first dimension of its result. What does not depend on the rows is computed
//! once; a reduction over the rows is a pass of its own, and reductions of the same rows share one. The bits
//! are those of the evaluation in memory, whatever the size of the pieces. [`Passes`] tells before anything
//! is read what will happen.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let (path, out) = (folder.path().join("x.npy"), folder.path().join("y.npy"));
//! # zerostride::io::save(&path, &zerostride::Tensor::rand(&[1000, 3], 1)?)?;
//! use zerostride::{Expr, io::{self, Sink, Source}, stream::Options};
//!
//! let x = Expr::from(&Source::open(&path)?);             // the header is read, elements are not
//! let y = (&x - x.mean(0)) / x.std(0);
//! y.eval_to(&mut Sink::create(&out)?, Options::new().max_memory(64 << 20))?;
//! assert_eq!(io::load(&out)?.to_vec::<f32>()?, y.eval()?.to_vec::<f32>()?);
//! # Ok::<(), zerostride::Error>(())
//! ```
//!
//! An input whose rows cannot be followed (through a transposition, the diagonal of a matrix, the inner
//! dimension of a product) is read whole, or refused if it does not fit. This module deliberately knows no
//! files.

mod cut;
mod division;
mod in_memory;
mod memory;
#[cfg(feature = "cuda")]
mod on_device;
mod output;
mod passes;
mod run;

use std::slice;

pub use in_memory::InMemory;
pub use output::{Output, Progress, Watch};
pub use passes::Passes;

pub use crate::expr::Input;
use crate::{Expr, Result, Tensor, policy};
pub use memory::{available as available_memory, save_addresses};

/// How to evaluate in pieces.
///
/// ```
/// use std::ops::ControlFlow;
/// use zerostride::stream::Options;
///
/// let mut pieces = 0;
/// let mut count = |_| {
///     pieces += 1;
///     ControlFlow::Continue(())
/// };
/// let options = Options::new().max_memory(1 << 30).watch(&mut count);
/// # let _ = options;
/// ```
#[derive(Default)]
pub struct Options<'a> {
    limit: Option<u64>,
    rows: Option<usize>,
    watch: Option<Watch<'a>>,
}

impl<'a> Options<'a> {
    /// Half of the memory that is available, pieces as they fit.
    pub fn new() -> Options<'a> {
        Options::default()
    }

    /// The most bytes that may be held at once, besides operands that are in memory already and the program
    /// itself. If operands are on a device, they are bytes of its memory, by default as many as it has.
    #[must_use]
    pub fn max_memory(self, bytes: u64) -> Options<'a> {
        Options { limit: Some(bytes), ..self }
    }

    /// About how many rows a piece has, instead of as many as fit; the bits of the result come first.
    #[must_use]
    pub fn piece_rows(self, rows: usize) -> Options<'a> {
        Options { rows: Some(rows), ..self }
    }

    /// The function to tell after every piece; with `Break` the evaluation ends in
    /// [`Error::Interrupted`](crate::Error).
    #[must_use]
    pub fn watch(self, watch: Watch<'a>) -> Options<'a> {
        Options { watch: Some(watch), ..self }
    }
}

/// Runs expressions in pieces into memory; they have been judged.
pub(crate) fn collect(exprs: &[Expr], options: Options<'_>) -> Result<Vec<Tensor>> {
    let Options { limit, rows, watch } = options;
    run::collect(&Passes::new(exprs, limit, rows, &vec![true; exprs.len()])?, watch)
}

/// Runs several expressions together in pieces and hands each result to its output, such as an `io::Sink` or
/// [`InMemory`]. What they read is read once, and what they share is computed once, where their rows go
/// together; each result has the bits of [`Expr::eval`]. No output is finished before all results are
/// complete. Results that a device has computed are brought to the memory of the process;
/// [`Passes::run_all`] leaves them there.
///
/// # Errors
/// There is no expression, or not as many outputs as expressions; or as [`Expr::eval_to`].
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let [path, scaled, std] = ["x.npy", "scaled.npy", "std.npy"].map(|name| folder.path().join(name));
/// # zerostride::io::save(&path, &zerostride::Tensor::rand(&[1000, 3], 1)?)?;
/// use zerostride::{Expr, io::{self, Sink, Source}, stream::{Options, eval_all_to}};
///
/// let x = Expr::from(&Source::open(&path)?);
/// let mut sinks = (Sink::create(&scaled)?, Sink::create(&std)?);
/// eval_all_to(&[&x / x.std(0), x.std(0)], &mut [&mut sinks.0, &mut sinks.1], Options::new())?;
/// assert_eq!(io::load(&std)?.shape(), [3]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[track_caller]
pub fn eval_all_to(exprs: &[Expr], outputs: &mut [&mut dyn Output], options: Options<'_>) -> Result<()> {
    judge(exprs)?;
    let Options { limit, rows, watch } = options;
    let held: Vec<bool> = outputs.iter().map(|output| output.is_in_memory()).collect();
    run::run(&Passes::new(exprs, limit, rows, &held)?, outputs, watch)
}

#[track_caller]
fn judge(exprs: &[Expr]) -> Result<()> {
    if policy::is_on() { policy::look(exprs, policy::ResultMemory::New) } else { Ok(()) }
}

/// The run of what was printed.
impl Passes {
    /// Runs the passes into memory and tells `watch` of every piece.
    ///
    /// # Errors
    /// As [`Expr::eval_with`]. Too little memory for the result is found here unless
    /// [`Expr::passes_in_memory`] made the passes and has counted it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("x.npy");
    /// # zerostride::io::save(&path, &zerostride::Tensor::rand(&[1000, 3], 1)?)?;
    /// use zerostride::{Expr, io::Source};
    ///
    /// let passes = Expr::from(&Source::open(&path)?).mean(0).passes_in_memory(None)?;
    /// println!("{passes}");
    /// assert_eq!(passes.run(None)?.shape(), [3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    #[track_caller]
    pub fn run(&self, watch: Option<Watch<'_>>) -> Result<Tensor> {
        self.check_results(&[true])?;
        Ok(self.run_all(watch)?.swap_remove(0))
    }

    /// As [`Passes::run`], of several results.
    ///
    /// # Errors
    /// As [`Passes::run`].
    #[track_caller]
    pub fn run_all(&self, watch: Option<Watch<'_>>) -> Result<Vec<Tensor>> {
        judge(&self.roots)?;
        run::collect(self, watch)
    }

    /// Runs the passes, hands the result to `output`, such as an `io::Sink`, and tells `watch` of every
    /// piece.
    ///
    /// # Errors
    /// As [`Expr::eval_to`].
    #[track_caller]
    pub fn run_to(&self, output: &mut dyn Output, watch: Option<Watch<'_>>) -> Result<()> {
        self.run_all_to(&mut [output], watch)
    }

    /// Runs the passes, hands each result to its output, and tells `watch` of every piece.
    ///
    /// # Errors
    /// As [`eval_all_to`].
    #[track_caller]
    pub fn run_all_to(&self, outputs: &mut [&mut dyn Output], watch: Option<Watch<'_>>) -> Result<()> {
        let held: Vec<bool> = outputs.iter().map(|output| output.is_in_memory()).collect();
        self.check_results(&held)?;
        judge(&self.roots)?;
        run::run(self, outputs, watch)
    }
}

/// Evaluation in pieces.
impl Expr {
    /// Runs the expression in pieces and hands the result to `output`, such as an `io::Sink`.
    ///
    /// # Errors
    /// As [`Expr::eval`]; too little memory for the values that must be in it at once; errors of inputs and
    /// of the output.
    #[track_caller]
    pub fn eval_to(&self, output: &mut dyn Output, options: Options<'_>) -> Result<()> {
        eval_all_to(slice::from_ref(self), &mut [output], options)
    }

    /// Runs the expression in pieces into memory; on a device if operands are on one, where the result stays.
    ///
    /// # Errors
    /// As [`Expr::eval_to`].
    #[track_caller]
    pub fn eval_with(&self, options: Options<'_>) -> Result<Tensor> {
        judge(slice::from_ref(self))?;
        Ok(collect(slice::from_ref(self), options)?.swap_remove(0))
    }

    /// How the expression will be evaluated in pieces within `max_memory` bytes, by default half of what is
    /// available, where an [`Output`] takes the result.
    ///
    /// # Errors
    /// The expression's own, or too little memory.
    pub fn passes(&self, max_memory: Option<u64>) -> Result<Passes> {
        Passes::of(slice::from_ref(self), max_memory)
    }

    /// As [`Expr::passes`] where the result stays in memory, of which it takes its part.
    ///
    /// # Errors
    /// As [`Expr::passes`].
    pub fn passes_in_memory(&self, max_memory: Option<u64>) -> Result<Passes> {
        Passes::of_in_memory(slice::from_ref(self), max_memory)
    }

    /// Whether arrays that are not in memory are among the operands.
    pub fn has_inputs(&self) -> bool {
        self.node().lazy
    }
}
