//! Owns the running of passes: threads that read ahead, the evaluation of pieces, a thread that writes
//! behind. It decides nothing about pieces (`passes.rs`) and knows no files.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

use zerostride_shape::Shape;

use super::cut::{Supply, cut, shape};
use super::division::{Observed, PiecewiseValue, bodies, part_of};
use super::in_memory::InMemory;
#[cfg(feature = "cuda")]
use super::on_device::{OnDevice, Way};
use super::output::{Output, Progress, Watch};
use super::passes::{IN_FLIGHT_BYTES, Pass, Passes, READERS};
use crate::exec::Folding;
use crate::expr::{Expr, Input, Kind, leading, replace};
use crate::plan::Plan;
use crate::{Error, Result, Tensor, exec, interrupt};

/// Runs all passes; each result goes to its output.
pub(super) fn run(passes: &Passes, outputs: &mut [&mut dyn Output], watch: Option<Watch<'_>>) -> Result<()> {
    for (root, output) in passes.roots.iter().zip(&mut *outputs) {
        output.begin(root.dtype()?, root.shape()?)?;
    }
    let mut run = Run::new(passes, watch);
    #[cfg(feature = "cuda")]
    if let Some(on_device) = &passes.on_device {
        let values = run.on_device(on_device, false)?;
        values.iter().zip(&mut *outputs).try_for_each(|(value, output)| run.write(value, *output))?;
        return outputs.iter_mut().try_for_each(|output| output.finish());
    }
    for (index, pass) in passes.passes.iter().enumerate() {
        run.progress.pass = index + 1;
        let wholes = pass.targets.iter().flat_map(|target| &target.wholes);
        run.compute(wholes.map(|whole| whole.expr.clone()).collect())?;
        run.pass(pass, outputs)?;
    }
    let values = run.compute(passes.in_memory().cloned().collect())?;
    for (&number, value) in passes.division.in_memory.iter().zip(values) {
        run.write(&value, outputs[number])?;
    }
    outputs.iter_mut().try_for_each(|output| output.finish())
}

/// Runs all passes; the results stay in memory, or on the device that has computed them.
pub(super) fn collect(passes: &Passes, watch: Option<Watch<'_>>) -> Result<Vec<Tensor>> {
    #[cfg(feature = "cuda")]
    if let Some(on_device) = &passes.on_device {
        return Run::new(passes, watch).on_device(on_device, true);
    }
    let mut kept: Vec<InMemory> = passes.roots.iter().map(|_| InMemory::default()).collect();
    let mut outputs: Vec<&mut dyn Output> = kept.iter_mut().map(|kept| kept as &mut dyn Output).collect();
    run(passes, &mut outputs, watch)?;
    kept.into_iter().map(InMemory::into_tensor).collect()
}

struct Run<'a> {
    /// The values of nodes that all pieces need.
    known: HashMap<usize, Tensor>,
    progress: Progress,
    watch: Option<Watch<'a>>,
}

impl<'a> Run<'a> {
    fn new(passes: &Passes, watch: Option<Watch<'a>>) -> Run<'a> {
        let (to_read, to_write) = (passes.bytes_read(), passes.output_bytes());
        let progress = Progress { read: 0, to_read, written: 0, to_write, pass: 1, passes: passes.len() };
        Run { known: HashMap::new(), progress, watch }
    }

    /// Values in memory, of what is known and arrays that are read whole.
    fn compute(&mut self, exprs: Vec<Expr>) -> Result<Vec<Tensor>> {
        let unknown = exprs.iter().filter(|expr| !self.known.contains_key(&expr.id()));
        let unknown: Vec<Expr> = unknown.cloned().collect();
        let settled = replace(&unknown, &mut |node| {
            if !node.node().lazy {
                return Ok(Some(node.clone()));
            }
            if let Some(known) = self.known.get(&node.id()) {
                return Ok(Some(known.into()));
            }
            let Kind::Input(input) = &node.node().kind else { return Ok(None) };
            let tensor = self.read_whole(input)?;
            self.known.insert(node.id(), tensor.alias());
            Ok(Some(tensor.into()))
        })?;
        for (expr, value) in unknown.iter().zip(values(&settled)?) {
            self.known.insert(expr.id(), value);
        }
        Ok(exprs.iter().map(|expr| self.known[&expr.id()].alias()).collect())
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

    /// Writes a value to its output, in pieces, so that `watch` is called often enough.
    fn write(&mut self, value: &Tensor, output: &mut dyn Output) -> Result<()> {
        let row = bytes(value) as usize / crate::expr::rows(value.shape()).max(1);
        value.with_bytes(|bytes| {
            bytes.chunks(row.max(1) * rows_in_flight(row, 1)).try_for_each(|rows| {
                output.write(rows)?;
                self.advance(0, rows.len() as u64)
            })
        })?
    }

    /// The results of what is computed on a device; whether they are `kept` there, and so are written when
    /// they are computed.
    #[cfg(feature = "cuda")]
    fn on_device(&mut self, on_device: &OnDevice, kept: bool) -> Result<Vec<Tensor>> {
        let values = match &on_device.way {
            Way::AtOnce(plan) => {
                let results = exec::run_all(plan)?;
                self.advance(0, if kept { results.iter().map(bytes).sum() } else { 0 })?;
                return Ok(results);
            }
            Way::InPieces(values) => values,
        };
        let (mut results, mut known, unread) = (Vec::new(), HashMap::new(), PieceRows(HashMap::new()));
        for value in values {
            let whole = value.allocate(on_device.index)?;
            let mut compute = |expr: &Expr, place: &Tensor| {
                exec::run_into(expr, place)?;
                self.advance(0, if kept && value.is_result { bytes(place) } else { 0 })
            };
            match value.pieces() {
                Some((dim, mut pieces)) => pieces.try_for_each(|rows| {
                    let mut supplied = Supplied { rows: &unread, known: &known };
                    let (part, _) = cut([(&value.expr, dim)], rows.clone(), &mut supplied);
                    compute(&part[0], &value.place(&whole, rows)?)
                })?,
                None => compute(&value.expr, &whole)?,
            }
            match value.is_result {
                true => results.push(whole),
                false => drop(known.insert(value.expr.id(), whole)),
            }
        }
        Ok(results)
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

    fn pass(&mut self, pass: &Pass, outputs: &mut [&mut dyn Output]) -> Result<()> {
        let sequential =
            pass.targets.iter().flat_map(|target| &target.inputs).any(|input| input.is_sequential());
        let readers = if sequential { 1 } else { READERS }.min(pass.pieces());
        let range = |index: usize| index * pass.piece..pass.rows.min((index + 1) * pass.piece);
        let mut takers = pass.targets.iter().map(Taker::new).collect::<Result<Vec<_>>>()?;
        let done = thread::scope(|scope| {
            // Each reader has a channel of its own, so that pieces arrive in order however long one takes.
            let mut pieces: Vec<(Receiver<Result<PieceRows>>, _)> = (0..readers)
                .map(|reader| {
                    let (sender, receiver) = sync_channel(0);
                    let read_ahead = move || {
                        for index in (reader..pass.pieces()).step_by(readers) {
                            let rows = PieceRows::read(&pass.targets, range(index));
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
            let (parts, written): (SyncSender<(usize, Tensor)>, _) = sync_channel(1);
            let mut writer = None;
            if takers.iter().any(|taker| matches!(taker, Taker::Write(_))) {
                let write_behind = move || write(&written, outputs);
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
                let mut supplied = Supplied { rows: &rows, known: &self.known };
                let (made, _) = cut(bodies(&pass.targets), range(index), &mut supplied);
                for (part, taker) in values(&made)?.into_iter().zip(&mut takers) {
                    match taker {
                        Taker::Fold(folding) => part.with_bytes(|elements| folding.take(elements))?,
                        Taker::Collect(collect) => part.with_bytes(|elements| collect.write(elements))??,
                        Taker::Write(number) => {
                            result += bytes(&part);
                            // The writer is gone if it has failed.
                            if parts.send((*number, part)).is_err() {
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
fn receive(pieces: &Receiver<Result<PieceRows>>) -> Option<Result<PieceRows>> {
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

/// Writes the parts of results as they come.
fn write(parts: &Receiver<(usize, Tensor)>, outputs: &mut [&mut dyn Output]) -> Result<()> {
    parts.iter().try_for_each(|(result, part)| part.with_bytes(|bytes| outputs[result].write(bytes))?)
}

/// Where the parts of a target go.
enum Taker {
    Fold(Folding),
    Collect(InMemory),
    /// To the output of that result.
    Write(usize),
}

impl Taker {
    fn new(target: &Arc<PiecewiseValue>) -> Result<Taker> {
        let node = &target.node;
        if let Some(number) = target.result {
            return Ok(Taker::Write(number));
        }
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
            _ => {
                let mut collect = InMemory::default();
                collect.begin(node.dtype()?, node.shape()?)?;
                Ok(Taker::Collect(collect))
            }
        }
    }

    fn finish(self, target: &PiecewiseValue) -> Result<Option<Tensor>> {
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
            Taker::Write(_) => Ok(None),
        }
    }
}

/// The rows of each input that one piece reads, each row once.
struct PieceRows(HashMap<usize, Vec<(Range<usize>, Tensor)>>);

impl PieceRows {
    fn read(targets: &[Arc<PiecewiseValue>], range: Range<usize>) -> Result<PieceRows> {
        let mut wanted = Observed::default();
        cut(bodies(targets), range, &mut wanted);
        let mut found = PieceRows(HashMap::new());
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
            return Some(tensor.alias());
        }
        let dim = leading(input.shape())? as isize;
        tensor.narrow(dim, (rows.start - own.start) as isize, rows.len() as isize).ok()
    }

    fn bytes(&self) -> u64 {
        self.0.values().flatten().map(|(_, tensor)| bytes(tensor)).sum()
    }
}

/// The values of expressions over tensors; what they share is computed once.
fn values(exprs: &[Expr]) -> Result<Vec<Tensor>> {
    let is_leaf = |expr: &&Expr| matches!(expr.node().kind, Kind::Leaf { .. });
    let computed: Vec<Expr> = exprs.iter().filter(|expr| !is_leaf(expr)).cloned().collect();
    let mut computed = match &computed[..] {
        [] => Vec::new(),
        [expr] => vec![exec::evaluate(expr)?],
        exprs => exec::run_all(&Plan::of(exprs)?)?,
    }
    .into_iter();
    let value = |expr: &Expr| match &expr.node().kind {
        Kind::Leaf { tensor, .. } => tensor.alias(),
        _ => computed.next().expect("every expression but a leaf is computed"),
    };
    Ok(exprs.iter().map(value).collect())
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
    rows: &'a PieceRows,
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
