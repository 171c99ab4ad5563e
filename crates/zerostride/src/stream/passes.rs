//! Owns `Passes`: how expressions over arrays that are not in memory will be evaluated, as a value that can
//! be printed and counted before anything is read. It chooses the size of pieces; it does not run them
//! (`run.rs`).

use std::collections::HashSet;
use std::sync::Arc;
use std::{fmt, slice};

use zerostride_ops::DType;
use zerostride_shape::{ErrorClass, Shape};

use super::cut::{cut, lcm, shape};
use super::division::{Division, Observed, PiecewiseValue, Whole, bodies, bytes, rounds};
use super::memory;
#[cfg(feature = "cuda")]
use super::on_device::OnDevice;
#[cfg(feature = "cuda")]
use crate::Device;
use crate::expr::{Expr, Input, Kind, operands_first};
use crate::plan::Plan;
use crate::{Error, Result};

/// Bytes of all pieces in flight where memory allows it: they stay in the last level of cache, and are large
/// enough to hide the set-up of a piece.
pub(super) const IN_FLIGHT_BYTES: u64 = 32 << 20;

/// Threads that read ahead, each with one piece in hand.
pub(super) const READERS: usize = 2;

/// Pieces of a result held at once: one being computed, one waiting, one being written.
const RESULT_PIECES: u64 = 3;

/// With a longer chain of dependent reductions an expression that fits is evaluated in memory: each reduction
/// is a pass over the inputs, which computes again what earlier passes have computed.
const MOST_ROUNDS: usize = 16;

/// How expressions over arrays that are not in memory will be evaluated: in which passes over them, in how
/// large pieces, and with how much memory. Of expressions over tensors on a device: in how large pieces each
/// result is computed there, and with how much of its memory.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.npy");
/// # zerostride::io::save(&path, &zerostride::Tensor::rand(&[1000, 3], 1)?)?;
/// use zerostride::{Expr, io::Source, keepdim};
///
/// let x = Expr::from(&Source::open(&path)?);
/// let standardised = (&x - x.mean(0)) / x.std(0);
/// let passes = standardised.passes(None)?;
/// assert_eq!((passes.len(), passes.bytes_read(), passes.output_bytes()), (2, 24_000, 12_000));
/// println!("{passes}");
/// # Ok::<(), zerostride::Error>(())
/// ```
pub struct Passes {
    pub(super) roots: Vec<Expr>,
    pub(super) division: Division,
    pub(super) passes: Vec<Pass>,
    memory: u64,
    read: u64,
    limit: u64,
    /// For each result whether it stays in memory and is counted.
    held: Vec<bool>,
    /// What is computed on a device, if operands are on one.
    #[cfg(feature = "cuda")]
    pub(super) on_device: Option<OnDevice>,
}

/// One pass over some inputs.
pub(super) struct Pass {
    pub(super) targets: Vec<Arc<PiecewiseValue>>,
    /// Rows of the inputs, and of a piece.
    pub(super) rows: usize,
    pub(super) piece: usize,
}

impl Pass {
    pub(super) fn pieces(&self) -> usize {
        self.rows.div_ceil(self.piece)
    }
}

impl Passes {
    /// Passes within `limit` bytes, by default half of what is available, in pieces of about `rows` rows if
    /// that is given; `held` tells of each result whether it stays in memory. A device has no limit by
    /// default, and keeps all results.
    pub(super) fn new(
        roots: &[Expr],
        limit: Option<u64>,
        rows: Option<usize>,
        held: &[bool],
    ) -> Result<Passes> {
        if roots.is_empty() {
            return Err(argument(
                "there is nothing to evaluate: the list of expressions is empty".to_owned(),
            ));
        }
        check_count(roots, held)?;
        roots.iter().try_for_each(|root| root.meta().map(drop))?;
        #[cfg(feature = "cuda")]
        if let Some(index) = device(roots)? {
            let limit = limit.unwrap_or(u64::MAX);
            let on_device = OnDevice::new(roots, index, limit, rows)?;
            return Ok(Passes {
                roots: roots.to_vec(),
                division: Division::none(0),
                passes: Vec::new(),
                memory: on_device.bytes,
                read: 0,
                limit,
                held: vec![true; roots.len()],
                on_device: Some(on_device),
            });
        }
        let limit = limit.unwrap_or_else(memory::available);
        let division = if rounds(roots) > MOST_ROUNDS && fits(roots, limit)? {
            Division::none(roots.len())
        } else {
            Division::new(roots, held)
        };
        let mut passes = Passes {
            roots: roots.to_vec(),
            division,
            passes: Vec::new(),
            memory: 0,
            read: 0,
            limit,
            held: held.to_vec(),
            #[cfg(feature = "cuda")]
            on_device: None,
        };
        let mut values = passes.values();
        // Inputs that are read whole are read before any piece.
        let whole = || {
            values.iter().filter_map(|(expr, bytes)| match &expr.node().kind {
                Kind::Input(input) => Some((Arc::clone(input), *bytes)),
                _ => None,
            })
        };
        let chunky = whole().map(|(input, _)| input).max_by_key(|input| input.scratch());
        passes.read = whole().map(|(_, bytes)| bytes).fold(0, u64::saturating_add);
        let in_pieces = |number: &usize| !passes.division.in_memory.contains(number);
        let kept = (0..roots.len()).filter(|&number| held[number]).filter(in_pieces);
        values.extend(kept.map(|number| (roots[number].clone(), bytes(&roots[number]))));
        let held_bytes = values.iter().map(|(_, bytes)| *bytes).fold(0, u64::saturating_add);
        let mut pieces = chunky.as_ref().map_or(0, |input| input.scratch());
        let needed = held_bytes.saturating_add(pieces);
        if needed > limit {
            if held.contains(&true) {
                // A file is no way out where its passes do not fit either.
                Passes::new(roots, Some(limit), rows, &vec![false; roots.len()])?;
            }
            let chunky = chunky.as_ref().filter(|_| held_bytes <= limit).map(blame_chunk);
            let reason = chunky.unwrap_or_else(|| passes.blame(&values));
            return Err(Error::Memory { needed, limit, reason });
        }
        for targets in std::mem::take(&mut passes.division.passes) {
            let fit = |targets: &[Arc<PiecewiseValue>]| size(targets, held_bytes, limit, rows);
            // Targets that do not fit together may fit one by one.
            let sized = match fit(&targets) {
                Err(Error::Memory { .. }) if targets.len() > 1 => {
                    targets.iter().map(|target| fit(slice::from_ref(target))).collect::<Result<Vec<_>>>()?
                }
                sized => vec![sized?],
            };
            for (pass, bytes, read) in sized {
                pieces = bytes.max(pieces);
                passes.read = passes.read.saturating_add(read);
                passes.passes.push(pass);
            }
        }
        passes.memory = held_bytes.saturating_add(pieces);
        Ok(passes)
    }

    /// How several expressions will be evaluated together within `max_memory` bytes, by default half of what
    /// is available, where an [`Output`](super::Output) takes each result: what they read and what they share
    /// is read and computed once, where their rows go together.
    ///
    /// # Errors
    /// The list is empty, or as [`Expr::passes`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let [path, mean, std] = ["x.npy", "mean.npy", "std.npy"].map(|name| folder.path().join(name));
    /// # zerostride::io::save(&path, &zerostride::Tensor::rand(&[1000, 3], 1)?)?;
    /// use zerostride::{Expr, io::{Sink, Source}, stream::Passes};
    ///
    /// let x = Expr::from(&Source::open(&path)?);
    /// let passes = Passes::of(&[x.mean(0), x.std(0)], None)?;
    /// assert_eq!((passes.len(), passes.bytes_read()), (1, 12_000));       // of a file of 12,000 bytes
    /// passes.run_all_to(&mut [&mut Sink::create(&mean)?, &mut Sink::create(&std)?], None)?;
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn of(exprs: &[Expr], max_memory: Option<u64>) -> Result<Passes> {
        Passes::new(exprs, max_memory, None, &vec![false; exprs.len()])
    }

    /// As [`Passes::of`] where the results stay in memory, of which they take their part.
    ///
    /// # Errors
    /// As [`Passes::of`].
    pub fn of_in_memory(exprs: &[Expr], max_memory: Option<u64>) -> Result<Passes> {
        Passes::new(exprs, max_memory, None, &vec![true; exprs.len()])
    }

    /// How many passes there are over arrays that are not in memory.
    pub fn len(&self) -> usize {
        self.passes.len()
    }

    /// Whether nothing is read in pieces.
    pub fn is_empty(&self) -> bool {
        self.passes.is_empty()
    }

    /// Bytes that will be read of arrays that are not in memory; each pass counts.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Bytes of the result, or of all of several.
    pub fn output_bytes(&self) -> u64 {
        self.roots.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// The most bytes of memory held at once, but for operands that are in memory already; of the memory of a
    /// device, if operands are on one.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The shape of the result, or of the first of several.
    pub fn shape(&self) -> &Shape {
        shape(&self.roots[0])
    }

    /// The dtype of the result, or of the first of several.
    pub fn dtype(&self) -> DType {
        self.roots[0].dtype().expect("passes are made of expressions without errors")
    }

    /// Checks that there is an output for each result, and memory for those that stay there, as `holds` tells
    /// of each output.
    pub(super) fn check_results(&self, holds: &[bool]) -> Result<()> {
        check_count(&self.roots, holds)?;
        let uncounted = |&(number, _): &(usize, &Expr)| holds[number] && !self.held[number];
        let uncounted = self.roots.iter().enumerate().filter(uncounted);
        let result = uncounted.map(|(_, root)| bytes(root)).fold(0, u64::saturating_add);
        match self.memory.saturating_add(result) {
            needed if needed > self.limit => {
                Err(Error::Memory { needed, limit: self.limit, reason: blame_result(result) })
            }
            _ => Ok(()),
        }
    }

    /// The results that stay in memory and are counted.
    fn held_results(&self) -> impl Iterator<Item = &Expr> {
        self.roots.iter().zip(&self.held).filter(|(_, held)| **held).map(|(root, _)| root)
    }

    /// The results that are computed in memory when all passes are done.
    pub(super) fn in_memory(&self) -> impl Iterator<Item = &Expr> {
        self.division.in_memory.iter().map(|&number| &self.roots[number])
    }

    /// The values that all rows of a target need.
    fn wholes(&self) -> impl Iterator<Item = &Whole> {
        self.division.passes.iter().flatten().flat_map(|target| &target.wholes)
    }

    /// All values that are held until the end besides results that come in pieces, each once, with their
    /// bytes.
    fn values(&self) -> Vec<(Expr, u64)> {
        let (mut values, mut seen, mut known) = (Vec::new(), HashSet::new(), HashSet::new());
        let mut add = |expr: &Expr| {
            if known.insert(expr.id()) {
                values.push((expr.clone(), bytes(expr)));
            }
        };
        for whole in self.wholes().map(|whole| &whole.expr).chain(self.in_memory()) {
            add(whole);
            self.division.each(whole, &mut seen, &mut |node| {
                if matches!(node.node().kind, Kind::Input(_)) || self.division.is_target(node) {
                    add(node);
                }
            });
        }
        values
    }

    /// Whether a value is below a factor of a matrix product.
    fn is_in_product(&self, value: &Expr) -> bool {
        let (mut found, mut seen) = (false, HashSet::new());
        for root in &self.roots {
            self.division.each(root, &mut seen, &mut |node| {
                if matches!(node.node().kind, Kind::Matmul { .. }) {
                    let is_value = &mut |below: &Expr| found |= below.id() == value.id();
                    self.division.each(node, &mut HashSet::new(), is_value);
                }
            });
        }
        found
    }

    /// Which of the values held is to blame, and what to do.
    fn blame(&self, held: &[(Expr, u64)]) -> String {
        let Some((largest, size)) = held.iter().max_by_key(|(_, bytes)| *bytes) else { return String::new() };
        let unfollowed = self.wholes().any(|whole| whole.unfollowed && whole.expr.id() == largest.id());
        match &largest.node().kind {
            Kind::Input(input) => {
                let name = input.name();
                let reason = if self.wholes().any(|whole| whole.unfollowed) && self.is_in_product(largest) {
                    "a product sums over its rows in one order, that of the whole: write a.T @ b as (a[:, :, None] * b[:, None, :]).sum(0), which goes in pieces"
                } else if unfollowed {
                    "rows of the result are not rows of it, as where a view transposes it: store it in the order in which it is used"
                } else {
                    "every row of the result needs all of it: give it fewer elements"
                };
                format!(
                    "{name} ({size} bytes) has to be in memory whole, because {reason}, or allow more memory"
                )
            }
            _ if self.held_results().any(|root| root.id() == largest.id()) => blame_result(*size),
            _ => format!("{} ({size} bytes) has to be in memory whole; allow more memory", largest.formula()),
        }
    }
}

/// Checks that there is an output for each result.
fn check_count(roots: &[Expr], outputs: &[bool]) -> Result<()> {
    let (results, outputs) = (roots.len(), outputs.len());
    let message =
        || format!("each result goes to an output of its own: {results} results, {outputs} outputs");
    if results == outputs { Ok(()) } else { Err(argument(message())) }
}

/// The device that operands are on, if one is on a device. What is read in pieces is in the memory of the
/// process, and is refused beside it.
#[cfg(feature = "cuda")]
fn device(roots: &[Expr]) -> Result<Option<usize>> {
    let is_lazy = roots.iter().any(|root| root.node().lazy);
    match roots.iter().map(Expr::device).find(|device| *device != Device::Cpu) {
        Some(device) if is_lazy => {
            Err(Error::NoKernel { operation: "evaluation of files".to_owned(), device })
        }
        Some(Device::Cuda(index)) => Ok(Some(index)),
        Some(Device::Cpu) | None => Ok(None),
    }
}

fn argument(message: String) -> Error {
    Error::Argument { class: ErrorClass::Value, message }
}

/// Whether expressions can be evaluated in memory within a limit.
fn fits(roots: &[Expr], limit: u64) -> Result<bool> {
    let plan = Plan::of(roots)?;
    let nodes = operands_first(roots, |node| node.node().lazy).into_iter();
    let inputs = nodes.filter_map(|node| match &node.node().kind {
        Kind::Input(input) => Some(bytes(node).saturating_add(input.scratch())),
        _ => None,
    });
    let own = [plan.output_bytes(), plan.scratch_bytes()].map(|bytes| bytes as u64);
    Ok(inputs.chain(own).fold(0, u64::saturating_add) <= limit)
}

/// The pieces of a pass, with the bytes that they take at once and those that the pass reads: the largest
/// that fit, or of about `wanted` rows. Other values hold `held` bytes of the limit.
fn size(
    targets: &[Arc<PiecewiseValue>],
    held: u64,
    limit: u64,
    wanted: Option<usize>,
) -> Result<(Pass, u64, u64)> {
    let left = limit - held;
    let rows = targets[0].rows;
    let inputs: Vec<Arc<dyn Input>> = distinct(targets).into_iter().cloned().collect();
    let folds = targets.iter().filter(|target| target.folds).map(|target| fold_bytes(target));
    let folds = folds.fold(0, u64::saturating_add);
    let largest = inputs.iter().max_by_key(|input| input.scratch());
    let scratch = largest.map_or(0, |input| input.scratch().saturating_mul(READERS as u64));
    let fixed = folds.saturating_add(scratch);
    let needed = |piece: usize| estimate(targets, piece).map(|bytes| bytes.saturating_add(fixed));
    let quantum = targets.iter().try_fold(1, |common, target| lcm(common, target.quantum)).unwrap_or(rows);
    let least = quantum.min(rows);
    let least_bytes = needed(least)?;
    if least_bytes > left {
        let reason = match largest {
            Some(input) if scratch > left / 2 => blame_chunk(input),
            _ => blame_rows(least, &inputs),
        };
        return Err(Error::Memory { needed: least_bytes.saturating_add(held), limit, reason });
    }
    let piece = match wanted {
        Some(wanted) => (wanted / quantum).max(1).saturating_mul(quantum).min(rows),
        None => {
            // Chunks are read whole, so that pieces hold whole ones if they can.
            let chunks = inputs.iter().try_fold(quantum, |common, input| lcm(common, input.chunk().max(1)));
            let chunks = chunks.map_or(rows, |chunks| chunks.min(rows));
            let mut piece = if needed(chunks)? <= left { chunks } else { least };
            while piece < rows && needed((2 * piece).min(rows))? <= left.min(IN_FLIGHT_BYTES) {
                piece = (2 * piece).min(rows);
            }
            piece
        }
    };
    let read = read_bytes(observe(targets, rows).1);
    let bytes = needed(piece)?;
    Ok((Pass { targets: targets.to_vec(), rows, piece }, bytes, read))
}

/// Says that the result is too much.
fn blame_result(bytes: u64) -> String {
    format!("the result ({bytes} bytes) stays in memory; write it to a file instead, or allow more memory")
}

/// Says that one chunk of a store takes too much memory.
fn blame_chunk(input: &Arc<dyn Input>) -> String {
    let (name, bytes) = (input.name(), input.scratch());
    format!(
        "a chunk of {name} takes {bytes} bytes while it is read; store it in smaller chunks, or allow more memory"
    )
}

/// Says that the fewest rows that make a piece are too many.
fn blame_rows(least: usize, inputs: &[Arc<dyn Input>]) -> String {
    let (rows, are) = match least {
        1 => ("1 row".to_owned(), "is the least"),
        _ => (format!("{least} rows"), "are the fewest"),
    };
    let names: Vec<String> = inputs.iter().map(|input| input.name()).collect();
    match &names[..] {
        [] => format!("{rows} {are} that can be computed at a time; allow more memory"),
        _ => format!(
            "{rows} of {} {are} that can be read at a time without other bits in the result; allow more memory",
            names.join(" and ")
        ),
    }
}

/// The arrays that some targets read.
fn distinct(targets: &[Arc<PiecewiseValue>]) -> Vec<&Arc<dyn Input>> {
    let mut inputs: Vec<&Arc<dyn Input>> = Vec::new();
    for input in targets.iter().flat_map(|target| &target.inputs) {
        if !inputs.iter().any(|known| Arc::ptr_eq(known, input)) {
            inputs.push(input);
        }
    }
    inputs
}

/// The bytes of the accumulators of a fold: one for each result and level of its tree.
fn fold_bytes(target: &PiecewiseValue) -> u64 {
    const ACCUMULATOR_BYTES: u64 = 24;
    let columns = shape(&target.node).numel() as u64;
    let levels = u64::from(usize::BITS - target.rows.leading_zeros()) + 2;
    columns.saturating_mul(ACCUMULATOR_BYTES).saturating_mul(levels)
}

/// The bytes of some rows.
fn row_bytes(input: &Arc<dyn Input>, rows: usize) -> u64 {
    let numel: usize = input.shape().iter().product();
    let row = numel / crate::expr::rows(input.shape()).max(1) * input.dtype().item_size();
    (row as u64).saturating_mul(rows as u64)
}

/// The first piece of that many rows of each target, and the inputs and values of these pieces.
fn observe(targets: &[Arc<PiecewiseValue>], piece: usize) -> (Vec<Expr>, Observed) {
    let mut observed = Observed::default();
    let (parts, _) = cut(bodies(targets), 0..piece, &mut observed);
    (parts, observed)
}

/// Bytes that pieces of that many rows take at once.
fn estimate(targets: &[Arc<PiecewiseValue>], piece: usize) -> Result<u64> {
    let (parts, observed) = observe(targets, piece);
    let copies = |target: &PiecewiseValue| if target.folds { 1 } else { RESULT_PIECES };
    let results = parts.iter().zip(targets).map(|(part, target)| bytes(part).saturating_mul(copies(target)));
    let results = results.fold(0, u64::saturating_add);
    let read = read_bytes(observed).saturating_mul(READERS as u64 + 1);
    Ok(read.saturating_add(results).saturating_add(Plan::of(&parts)?.scratch_bytes() as u64))
}

/// The bytes of all rows that are read.
fn read_bytes(observed: Observed) -> u64 {
    let bytes = observed.joined().into_iter().map(|(input, rows)| row_bytes(&input, rows.len()));
    bytes.fold(0, u64::saturating_add)
}

impl fmt::Debug for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passes({self})")
    }
}

impl fmt::Display for Passes {
    /// One line for each pass, then the sums.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, pass) in self.passes.iter().enumerate() {
            let inputs: Vec<String> = distinct(&pass.targets).iter().map(|input| input.name()).collect();
            let targets: Vec<String> = pass.targets.iter().map(|target| target.node.formula()).collect();
            let pieces = match pass.pieces() {
                1 => "in one piece".to_owned(),
                count => format!("in {count} pieces of {} rows", pass.piece),
            };
            let inputs = if inputs.is_empty() { "nothing".to_owned() } else { inputs.join(", ") };
            writeln!(f, "reading {}: {inputs} {pieces}  {}", index + 1, targets.join(", "))?;
        }
        for root in self.in_memory() {
            writeln!(f, "in memory: {}", root.formula())?;
        }
        #[cfg(feature = "cuda")]
        if let Some(on_device) = &self.on_device {
            write!(f, "{on_device}")?;
        }
        let results = match self.roots.len() {
            1 => "result".to_owned(),
            count => format!("{count} results"),
        };
        let (read, written, memory) = (self.read, self.output_bytes(), self.memory);
        write!(f, "reads {read} bytes; {results} {written} bytes, memory at most {memory} bytes")
    }
}
