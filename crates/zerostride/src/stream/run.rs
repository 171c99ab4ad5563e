//! Owns the running of passes: threads that read ahead, the evaluation of pieces, a thread that writes
//! behind. It decides nothing about pieces (`passes.rs`) and knows no files.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

use zerostride_ops::DType;
use zerostride_shape::{Layout, Shape, checked_bytes};

use super::cut::{Supply, cut, shape};
use super::division::{Observed, Target, Whole, part_of};
use super::passes::{IN_FLIGHT_BYTES, Pass, Passes, READERS};
use super::{Output, Progress, Watch};
use crate::exec::Folding;
use crate::expr::{Expr, Input, Kind, leading};
use crate::memory::Fresh;
use crate::{Error, Result, Tensor, exec, interrupt};

/// Runs all passes; the result goes to `output`.
pub(super) fn run(passes: &Passes, output: &mut dyn Output, watch: Option<Watch<'_>>) -> Result<()> {
    let (to_read, to_write) = (passes.bytes_read(), passes.output_bytes());
    let progress = Progress { read: 0, to_read, written: 0, to_write, pass: 1, passes: passes.len() };
    let mut run = Run { known: HashMap::new(), progress, watch };
    for (index, pass) in passes.passes.iter().enumerate() {
        run.progress.pass = index + 1;
        let wholes = pass.targets.iter().flat_map(|target| &target.wholes);
        wholes.into_iter().try_for_each(|whole| run.compute(&whole.expr).map(drop))?;
        run.pass(pass, output)?;
    }
    for Whole { expr, .. } in &passes.last {
        let value = run.compute(expr)?;
        output.begin(value.dtype(), value.shape())?;
        let row = bytes(&value) as usize / crate::expr::rows(value.shape()).max(1);
        value.with_bytes(|bytes| {
            bytes.chunks(row.max(1) * rows_in_flight(row, 1)).try_for_each(|rows| {
                output.write(rows)?;
                run.advance(0, rows.len() as u64)
            })
        })??;
    }
    output.finish()
}

/// Runs all passes; the result stays in memory.
pub(super) fn collect(passes: &Passes, watch: Option<Watch<'_>>) -> Result<Tensor> {
    let mut collect = Collect::default();
    run(passes, &mut collect, watch)?;
    collect.into_tensor()
}

struct Run<'a> {
    /// The values of nodes that all pieces need.
    known: HashMap<usize, Tensor>,
    progress: Progress,
    watch: Option<Watch<'a>>,
}

impl Run<'_> {
    /// A value in memory, of what is known and arrays that are read whole.
    fn compute(&mut self, expr: &Expr) -> Result<Tensor> {
        if let Some(known) = self.known.get(&expr.id()) {
            return Ok(known.clone());
        }
        let settled = expr.replace(&mut |node| {
            if let Some(known) = self.known.get(&node.id()) {
                return Ok(Some(known.into()));
            }
            let Kind::Input(input) = &node.node().kind else { return Ok(None) };
            let tensor = self.read_whole(input)?;
            self.known.insert(node.id(), tensor.clone());
            Ok(Some(tensor.into()))
        })?;
        let value = value(&settled)?;
        self.known.insert(expr.id(), value.clone());
        Ok(value)
    }

    /// Reads an array whole. It is read in pieces, so that `watch` is called often enough.
    fn read_whole(&mut self, input: &Arc<dyn Input>) -> Result<Tensor> {
        let rows = crate::expr::rows(input.shape());
        Tensor::build_zeroed(input.dtype(), Shape::new(input.shape())?, |out| {
            let row = out.len() / rows.max(1);
            for first in (0..rows).step_by(rows_in_flight(row, input.chunk())) {
                let range = first..rows.min(first.saturating_add(rows_in_flight(row, input.chunk())));
                let part = &mut out[row * range.start..row * range.end];
                input.read(range, part)?;
                self.advance(part.len() as u64, 0)?;
            }
            Ok(())
        })
    }

    fn advance(&mut self, read: u64, written: u64) -> Result<()> {
        interrupt::check();
        self.progress.read += read;
        self.progress.written += written;
        match self.watch.as_mut().map(|watch| watch(self.progress)) {
            Some(ControlFlow::Break(())) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    fn pass(&mut self, pass: &Pass, output: &mut dyn Output) -> Result<()> {
        let sequential =
            pass.targets.iter().flat_map(|target| &target.inputs).any(|input| input.is_sequential());
        let readers = if sequential { 1 } else { READERS }.min(pass.pieces());
        let range = |index: usize| index * pass.piece..pass.rows.min((index + 1) * pass.piece);
        let mut takers = pass.targets.iter().map(Taker::new).collect::<Result<Vec<_>>>()?;
        let done = thread::scope(|scope| {
            // Each reader has a channel of its own, so that pieces arrive in order however long one takes.
            let mut pieces: Vec<(Receiver<Result<Rows>>, _)> = (0..readers)
                .map(|reader| {
                    let (sender, receiver) = sync_channel(0);
                    let read_ahead = move || {
                        for index in (reader..pass.pieces()).step_by(readers) {
                            let rows = Rows::read(&pass.targets, range(index));
                            // An error is the last piece; a receiver that is gone needs no more.
                            if sender.send(rows).is_err() {
                                break;
                            }
                        }
                        Ok(())
                    };
                    let reader = thread::Builder::new().spawn_scoped(scope, read_ahead).map_err(no_thread)?;
                    Ok((receiver, Some(reader)))
                })
                .collect::<Result<_>>()?;
            let (parts, written): (SyncSender<Tensor>, _) = sync_channel(1);
            let writes = takers.iter().any(|taker| matches!(taker, Taker::Write));
            let mut writer = None;
            if writes {
                let node = &pass.targets[0].node;
                let write_behind = move || write(node, &written, output);
                writer = Some(thread::Builder::new().spawn_scoped(scope, write_behind).map_err(no_thread)?);
            }
            for index in 0..pass.pieces() {
                let (receiver, reader) = &mut pieces[index % readers];
                let rows = match receive(receiver) {
                    Some(rows) => rows?,
                    None => {
                        outcome(reader.take())?;
                        unreachable!("a reader sends all its pieces or panics")
                    }
                };
                let mut result = 0;
                for (target, taker) in pass.targets.iter().zip(&mut takers) {
                    let mut supplied = Supplied { rows: &rows, known: &self.known };
                    let (part, _) = cut(&target.body, target.dim, range(index), &mut supplied);
                    let part = value(&part)?;
                    match taker {
                        Taker::Fold(folding) => part.with_bytes(|elements| folding.take(elements))?,
                        Taker::Collect(collect) => part.with_bytes(|elements| collect.write(elements))??,
                        Taker::Write => {
                            result += bytes(&part);
                            // The writer is gone if it has failed.
                            if parts.send(part).is_err() {
                                outcome(writer.take())?;
                                unreachable!("a writer takes all parts, fails or panics");
                            }
                        }
                    }
                }
                self.advance(rows.bytes(), result)?;
            }
            drop(parts);
            outcome(writer)
        });
        done?;
        for (target, taker) in pass.targets.iter().zip(takers) {
            if let Some(value) = taker.finish(target)? {
                self.known.insert(target.node.id(), value);
            }
        }
        Ok(())
    }
}

/// How a thread ended, if there is one; it goes on panicking here if it has panicked, as inputs and outputs
/// are foreign code.
fn outcome(thread: Option<ScopedJoinHandle<'_, Result<()>>>) -> Result<()> {
    thread.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// The next piece of a reader, if it sends one more; the wait can be interrupted.
fn receive(pieces: &Receiver<Result<Rows>>) -> Option<Result<Rows>> {
    loop {
        match pieces.recv_timeout(interrupt::PERIOD) {
            Ok(rows) => return Some(rows),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => interrupt::check(),
        }
    }
}

/// The system can start no thread, mostly for lack of memory.
fn no_thread(error: std::io::Error) -> Error {
    Error::runtime(format_args!("cannot start a thread that reads or writes: {error}"))
}

/// Rows of `row` bytes that are read or written between two checks for an interruption: whole chunks, at
/// least one.
fn rows_in_flight(row: usize, chunk: usize) -> usize {
    let chunk = chunk.max(1);
    (IN_FLIGHT_BYTES as usize / row.max(1) / chunk).max(1) * chunk
}

/// Writes the parts of a result as they come.
fn write(node: &Expr, parts: &Receiver<Tensor>, output: &mut dyn Output) -> Result<()> {
    output.begin(node.dtype()?, node.shape()?)?;
    parts.iter().try_for_each(|part| part.with_bytes(|bytes| output.write(bytes))?)
}

/// Where the parts of a target go.
enum Taker {
    Fold(Folding),
    Collect(Collect),
    Write,
}

impl Taker {
    fn new(target: &Arc<Target>) -> Result<Taker> {
        let node = &target.node;
        match &node.node().kind {
            Kind::Reduce { op, operand, dims, compute, correction, .. } if target.folds => {
                let reduced = dims.iter().map(|&dim| shape(operand)[dim]).product();
                let how = (*op, *compute, *correction);
                Ok(Taker::Fold(Folding::new(
                    how,
                    (operand.dtype()?, reduced),
                    shape(node).numel(),
                    node.dtype()?,
                )))
            }
            Kind::Reduce { .. } if !target.is_result => {
                let mut collect = Collect::default();
                collect.begin(node.dtype()?, node.shape()?)?;
                Ok(Taker::Collect(collect))
            }
            _ => Ok(Taker::Write),
        }
    }

    fn finish(self, target: &Target) -> Result<Option<Tensor>> {
        let meta = target.node.meta()?;
        match self {
            Taker::Fold(folding) => {
                let fill = |out: &mut [u8]| {
                    folding.finish(out);
                    Ok(())
                };
                Tensor::build(meta.dtype(), meta.shape.clone(), fill).map(Some)
            }
            Taker::Collect(collect) => collect.into_tensor().map(Some),
            Taker::Write => Ok(None),
        }
    }
}

/// A result that stays in memory.
#[derive(Default)]
struct Collect {
    value: Option<(Fresh, Shape, DType)>,
    filled: usize,
}

impl Collect {
    /// The whole value, of which everything has been written.
    fn into_tensor(self) -> Result<Tensor> {
        let (fresh, shape, dtype) = self.value.expect("a result is begun before it is finished");
        Ok(Tensor::new(fresh.share(), Layout::contiguous(shape), dtype))
    }
}

impl Output for Collect {
    fn begin(&mut self, dtype: DType, shape: &[usize]) -> Result<()> {
        let shape = Shape::new(shape)?;
        let bytes = checked_bytes(&shape, dtype.item_size())?;
        let fresh =
            Fresh::arbitrary(bytes).ok_or_else(|| Error::OutOfMemory { bytes, shape: shape.clone() })?;
        self.value = Some((fresh, shape, dtype));
        Ok(())
    }

    fn write(&mut self, elements: &[u8]) -> Result<()> {
        let (fresh, ..) = self.value.as_mut().expect("a result is begun before it is written");
        fresh.bytes_mut()[self.filled..][..elements.len()].copy_from_slice(elements);
        self.filled += elements.len();
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The rows of each input that one piece reads, each row once.
struct Rows(HashMap<usize, Vec<(Range<usize>, Tensor)>>);

impl Rows {
    fn read(targets: &[Arc<Target>], range: Range<usize>) -> Result<Rows> {
        let mut wanted = Observed::default();
        for target in targets {
            cut(&target.body, target.dim, range.clone(), &mut wanted);
        }
        let mut found = Rows(HashMap::new());
        for (input, rows) in wanted.joined() {
            let tensor = read(&input, rows.clone())?;
            found.0.entry(Arc::as_ptr(&input).addr()).or_default().push((rows, tensor));
        }
        Ok(found)
    }

    /// Some of the rows that have been read.
    fn get(&self, input: &Arc<dyn Input>, rows: &Range<usize>) -> Option<Tensor> {
        let read = self.0.get(&Arc::as_ptr(input).addr())?;
        let (own, tensor) = read.iter().find(|(own, _)| own.start <= rows.start && rows.end <= own.end)?;
        if own == rows {
            return Some(tensor.clone());
        }
        let dim = leading(input.shape())? as isize;
        tensor.narrow(dim, (rows.start - own.start) as isize, rows.len() as isize).ok()
    }

    fn bytes(&self) -> u64 {
        self.0.values().flatten().map(|(_, tensor)| bytes(tensor)).sum()
    }
}

/// The value of an expression over tensors.
fn value(expr: &Expr) -> Result<Tensor> {
    match &expr.node().kind {
        Kind::Leaf { tensor, .. } => Ok(tensor.clone()),
        _ => exec::evaluate(expr),
    }
}

fn bytes(tensor: &Tensor) -> u64 {
    (tensor.numel() * tensor.dtype().item_size()) as u64
}

fn read(input: &Arc<dyn Input>, rows: Range<usize>) -> Result<Tensor> {
    let shape = part_of(input.shape(), rows.len())?;
    // Bytes that an input does not fill must not show earlier contents of the memory.
    Tensor::build_zeroed(input.dtype(), shape, |out| input.read(rows, out))
}

/// The values of a piece.
struct Supplied<'a> {
    rows: &'a Rows,
    known: &'a HashMap<usize, Tensor>,
}

impl Supply for Supplied<'_> {
    fn rows(&mut self, input: &Arc<dyn Input>, rows: Range<usize>) -> Expr {
        self.rows.get(input, &rows).expect("the rows of a piece have been read").into()
    }

    fn whole(&mut self, expr: &Expr, _: bool) -> Expr {
        (&self.known[&expr.id()]).into()
    }
}
