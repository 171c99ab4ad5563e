//! Owns the running of plans on a device: one kernel for each step, or a few for the tree of a reduction.
//! What has no kernel is refused by name; nothing is moved to the CPU. It does not know the driver's calls
//! (`queue.rs`).
//!
//! Plans are those of the CPU. Steps that run together there, block of rows by block of rows, do so here
//! where what they hold is larger than the device's cache (`blocks.rs`); else they run one after the other,
//! on whole buffers.

mod blocks;
#[allow(unsafe_code)]
mod queue;
mod record;
mod reduction;
mod scratch;

use std::ops::{Deref, Range};
use std::sync::Arc;

use zerostride_code::Code;
use zerostride_code::print::Unprintable;
use zerostride_code::print::ptx::MAX_ELEMENTS;
use zerostride_cuda::Memory;
use zerostride_kernels::{LEAF_ELEMENTS, PRODUCT_CHAIN, lanes, record_product, stored_type};
use zerostride_ops::DType;
use zerostride_shape::{Layout, Shape, checked_bytes, coalesce, contiguous_strides, order_dims};

use crate::exec::elements::Window;
use crate::expr::Expr;
use crate::memory::{Access, Named};
use crate::plan::{ElementSource, Factor, Leaf, Plan, PlanSteps, Program, Step, Work, last_reads};
use crate::{Device, Error, Result, Tensor};

use blocks::runs;
use queue::{DeviceBytes, DeviceOperand, Queue, Refusal, tensor};
pub(crate) use queue::{download, empty, upload};
use record::{KeptCode, Missing, Parts, part_count};
use reduction::{Reduced, leaves};
pub(crate) use scratch::scratch_bytes;

/// The least rows and columns that are reduced over pairs in tiles.
const LEAST_PAIRED: usize = 16;

/// The device on which a plan runs; `None` if that is the CPU. Numbers, tensors without dimensions, may be on
/// the CPU beside tensors on a device.
///
/// # Errors
/// The operands, or the target, are on several devices.
fn device(plan: &Plan, target: Option<&Tensor>) -> Result<Option<usize>> {
    let tensors = || plan.leaves.iter().map(|leaf| &leaf.tensor).chain(target);
    let Some(index) = tensors().find_map(|tensor| match tensor.device() {
        Device::Cuda(index) => Some(index),
        Device::Cpu => None,
    }) else {
        return Ok(None);
    };
    let own = Device::Cuda(index);
    let is_apart = |tensor: &&Tensor| {
        let is_number = tensor.device() == Device::Cpu && tensor.ndim() == 0;
        tensor.device() != own && (!is_number || target.is_some_and(|target| std::ptr::eq(*tensor, target)))
    };
    match tensors().find(is_apart) {
        None => Ok(Some(index)),
        Some(other) => Err(Error::runtime(format_args!(
            "Expected all tensors to be on the same device, but found at least two devices, {own} and {}!",
            other.device()
        ))),
    }
}

/// Runs a plan whose operands are on a device, each result into memory of its own there. Of results that are
/// the same the first has it. `None` if the operands are not on a device.
pub(super) fn run(plan: &Plan) -> Result<Option<Vec<Option<Tensor>>>> {
    let Some(index) = device(plan, None)? else { return Ok(None) };
    let run = Run::new(plan)?;
    run.on(&mut Queue::of(index)?, None).map(Some)
}

/// Writes an expression's value to a target that is on a device: by a plan for the target where that is
/// `direct`, else by a copy of the value. `None` if neither operands nor target are on a device.
pub(super) fn run_into(expr: &Expr, plan: &Plan, target: &Tensor, direct: bool) -> Result<Option<()>> {
    let Some(index) = device(plan, Some(target))? else { return Ok(None) };
    if !target.is_writable() {
        return Err(Error::ReadOnly);
    }
    if direct {
        let run = Run::new(plan)?;
        return run.on(&mut Queue::of(index)?, Some(target)).map(|_| Some(()));
    }
    let apart = Plan::new(expr)?;
    let run = Run::new(&apart)?;
    // The queue is held, so that both are one write.
    let queue = &mut Queue::of(index)?;
    let value = run.on(queue, None)?.swap_remove(0).expect("a plan has a result");
    let copy = Plan::into_layout(&Expr::from(&value), target.layout())?;
    Run::new(&copy)?.on(queue, Some(target)).map(|_| Some(()))
}

/// A plan that is being run.
struct Run<'a> {
    plan: &'a Plan,
    /// The bits of the operands that are numbers on the CPU; nothing for the others.
    numbers: Vec<Parts<u64>>,
    /// The buffers that are still needed.
    buffers: Vec<Option<Memory>>,
}

/// Elements in memory.
#[derive(Clone, Copy)]
struct DeviceElements<'a> {
    piece: DeviceBytes<'a>,
    /// The byte at which element 0 is, which need not be in memory itself.
    first: i64,
}

impl<'a> DeviceElements<'a> {
    /// The parts of elements as operands of a loop, the first element at an offset.
    fn operands(
        self,
        dtype: DType,
        offset: i64,
        strides: &[isize],
    ) -> impl Iterator<Item = DeviceOperand<'a>> {
        let (item, parts) = (dtype.item_size() as i64, part_count(dtype) as i64);
        let strides: Vec<i64> = strides.iter().map(|&stride| stride as i64 * item).collect();
        (0..parts).map(move |part| DeviceOperand::Elements {
            piece: self.piece,
            first: self.first + offset * item + part * (item / parts),
            strides: strides.clone(),
        })
    }
}

impl<'a> Run<'a> {
    /// A plan about to run. It reads numbers on the CPU, and so must not be made while a queue is held if
    /// there are any.
    fn new(plan: &'a Plan) -> Result<Run<'a>> {
        let number = |leaf: &Leaf| {
            if leaf.tensor.device() != Device::Cpu {
                return Ok(Parts::new());
            }
            let name = Arc::clone(&plan.passes) as Arc<dyn Named>;
            let access = Access::wait([leaf.tensor.claim(false)], Some(name))?;
            let guard = access.guard(leaf.tensor.storage());
            leaf.check(guard.version())?;
            Ok(record::bits(guard.bytes(leaf.tensor.reach()), leaf.tensor.dtype()))
        };
        let numbers = plan.leaves.iter().map(number).collect::<Result<_>>()?;
        let buffers = plan.passes.buffers.iter().map(|_| None).collect();
        Ok(Run { plan, numbers, buffers })
    }

    fn on(mut self, queue: &mut Queue, target: Option<&Tensor>) -> Result<Vec<Option<Tensor>>> {
        let PlanSteps { steps, buffers, results, layouts, .. } = &*self.plan.passes;
        for leaf in self.plan.leaves.iter().filter(|leaf| leaf.tensor.device() != Device::Cpu) {
            leaf.check(leaf.tensor.storage().version())?;
        }
        let last = last_reads(steps, buffers.len(), results);
        for (range, blocks) in runs(self.plan, queue.cache_bytes()) {
            let target = target.filter(|_| range.end == steps.len());
            if let Some(target) = target {
                // Also a step that fails may have written.
                target.storage().count_write();
            }
            for step in &steps[range.start..range.end - usize::from(target.is_some())] {
                let buffer = &buffers[step.output];
                let local = blocks.as_ref().map_or(0, |blocks| blocks.local_bytes(step.output));
                let whole = || checked_bytes(&buffer.shape, buffer.dtype.item_size());
                let bytes = if local > 0 { local as usize } else { whole()? };
                self.buffers[step.output] = Some(queue.memory_of(bytes, &buffer.shape)?);
            }
            match &blocks {
                None => self.step(queue, &steps[range.start], &Window::ALL, (target, 0))?,
                Some(blocks) => {
                    for rows in blocks.rows() {
                        for (at, step) in blocks.steps().enumerate() {
                            let (steps, moved, first) = blocks.place(at, &rows);
                            let window = Window { steps: Some(steps), moved: &moved, ..Window::ALL };
                            self.step(queue, step, &window, (target, first))?;
                        }
                    }
                }
            }
            for (buffer, _) in
                last.iter().enumerate().filter(|(_, last)| last.is_some_and(|last| range.contains(&last)))
            {
                self.buffers[buffer] = None;
            }
        }
        let result = |(&result, layout): (&usize, &Layout)| {
            let memory = self.buffers[result].take()?;
            Some(tensor(queue.device(), memory, layout.clone(), buffers[result].dtype))
        };
        Ok(results.iter().zip(layouts).map(result).collect())
    }

    /// Runs a part of a step, whose result is so many bytes into memory of its own, or that of a `target`.
    fn step(
        &self,
        queue: &mut Queue,
        step: &Step,
        window: &Window<'_>,
        (target, first): (Option<&Tensor>, i64),
    ) -> Result<()> {
        let output = &self.plan.passes.buffers[step.output];
        let piece = match (&self.buffers[step.output], target) {
            (None, Some(target)) => DeviceBytes::of_tensor(target),
            (own, _) => DeviceBytes::of_memory(own.as_ref().expect("a result has memory")),
        };
        let out = DeviceElements { piece, first };
        let dtype = output.dtype;
        let run = |queue: &mut Queue| match &step.work {
            Work::Map { .. } => self.map(queue, &step.work, window, (dtype, out)),
            Work::Reduce { .. } => self.reduce(queue, &step.work, window, (dtype, out)),
            Work::Matmul { .. } => self.product(queue, &step.work, out),
        };
        let done = self.refuse_zero_divisors(queue, &step.work).and_then(|()| run(queue));
        done.map_err(|refusal| match refusal {
            Refusal::Error(error) => error,
            Refusal::Memory(bytes) => Error::OutOfScratch { bytes, shape: output.shape.clone() },
            Refusal::Missing(operation) => Error::NoKernel { operation, device: queue.device() },
            Refusal::Printer(reason) => {
                Error::NoKernel { operation: format!("{} ({reason})", step.text), device: queue.device() }
            }
        })
    }

    /// Waits for the device if the work divides integers by what may be zero.
    fn refuse_zero_divisors(&self, queue: &mut Queue, work: &Work) -> Result<(), Refusal> {
        let sizes = match work {
            Work::Map { shape, .. } => shape.to_vec(),
            Work::Reduce { kept, reduced, .. } => [&**kept, &**reduced].concat(),
            Work::Matmul { .. } => return Ok(()),
        };
        let Some(program) = work.program().and_then(Program::zero_divisor) else { return Ok(()) };
        let (codes, numbers) = reduction::search(program).as_ref().map_err(missing)?;
        let strides: Vec<&[isize]> = program.loads.iter().map(|load| &*load.strides).collect();
        let (sizes, strides) = coalesce(&sizes, &strides);
        let result = queue.allocate(1)?;
        let piece = DeviceBytes::of_memory(&result);
        each_piece(&sizes, MAX_ELEMENTS, &mut |sizes, starts| {
            let starts: Vec<i64> = strides.iter().map(|strides| offset(starts, strides)).collect();
            let operands = self.operands((program, numbers), &Window::ALL, &starts, &strides);
            let (elements, mut found) = (sizes.iter().map(|&size| size as usize).product(), [0]);
            queue.reduce(codes, (&[], sizes), &operands, &[(piece, 0)], tree(elements))?;
            queue.download(piece, 0, &mut found)?;
            if found == [0] { Ok(()) } else { Err(Error::ZeroDivision.into()) }
        })
    }

    /// The operands of a loop that a program's loads are, each from an element of a window on, and then its
    /// numbers.
    fn operands(
        &self,
        (program, numbers): (&Program, &[u64]),
        window: &Window<'_>,
        starts: &[i64],
        strides: &[impl Deref<Target = [isize]>],
    ) -> Vec<DeviceOperand<'_>> {
        let mut operands: Vec<DeviceOperand<'_>> = Vec::new();
        for (index, ((load, &start), strides)) in program.loads.iter().zip(starts).zip(strides).enumerate() {
            match load.source {
                ElementSource::Leaf(leaf) if !self.numbers[leaf].is_empty() => {
                    operands.extend(self.numbers[leaf].iter().map(|&bits| DeviceOperand::Number(bits)));
                }
                source => {
                    let elements = self.elements(source, load.dtype);
                    operands.extend(elements.operands(
                        load.dtype,
                        load.offset as i64 + start + window.moved(index) as i64,
                        strides,
                    ));
                }
            }
        }
        operands.extend(numbers.iter().map(|&bits| DeviceOperand::Number(bits)));
        operands
    }

    /// Elements that a step reads.
    fn elements(&self, source: ElementSource, dtype: DType) -> DeviceElements<'_> {
        match source {
            ElementSource::Leaf(leaf) => {
                let Leaf { tensor, moved, .. } = &self.plan.leaves[leaf];
                let first = -(*moved as i64 * dtype.item_size() as i64);
                DeviceElements { piece: DeviceBytes::of_tensor(tensor), first }
            }
            ElementSource::Buffer(buffer) => {
                let memory = self.buffers[buffer].as_ref().expect("a buffer is there until its last read");
                DeviceElements { piece: DeviceBytes::of_memory(memory), first: 0 }
            }
        }
    }

    fn map(
        &self,
        queue: &mut Queue,
        work: &Work,
        window: &Window<'_>,
        (dtype, out): (DType, DeviceElements<'_>),
    ) -> Result<(), Refusal> {
        let Work::Map { shape, program, out: out_strides, out_offset } = work else {
            unreachable!("the step is element-wise")
        };
        let kept: &KeptCode<Code> =
            program.on_device.get(|| record::map(program).map(|(code, numbers)| (Arc::new(code), numbers)));
        let (code, numbers) = kept.as_ref().map_err(missing)?;
        let loads = program.loads.iter().map(|load| &*load.strides);
        let strides: Vec<&[isize]> = [&**out_strides].into_iter().chain(loads).collect();
        let (sizes, strides) = order_dims(&window.shape(shape), &strides);
        let strides: Vec<&[isize]> = strides.iter().map(|strides| &**strides).collect();
        let (sizes, strides) = coalesce(&sizes, &strides);
        each_piece(&sizes, MAX_ELEMENTS, &mut |sizes, starts| {
            let starts: Vec<i64> = strides.iter().map(|strides| offset(starts, strides)).collect();
            let mut operands = self.operands((program, numbers), window, &starts[1..], &strides[1..]);
            operands.extend(out.operands(dtype, *out_offset as i64 + starts[0], &strides[0]));
            queue.map(code, sizes, &operands)
        })
    }

    fn reduce(
        &self,
        queue: &mut Queue,
        work: &Work,
        window: &Window<'_>,
        (dtype, out): (DType, DeviceElements<'_>),
    ) -> Result<(), Refusal> {
        let Work::Reduce { op, correction, kept, reduced, program, finish, .. } = work else {
            unreachable!("the step is a reduction")
        };
        let codes = reduction::codes((*op, *correction), program, dtype, finish.as_deref());
        let (codes, numbers) = codes.as_ref().map_err(missing)?;
        if let Some(done) = self.pairs(queue, work, window, codes, out) {
            return done;
        }
        let coalesced = |sizes: &Shape, dims: Range<usize>| {
            let strides: Vec<&[isize]> =
                program.loads.iter().map(|load| &load.strides[dims.clone()]).collect();
            coalesce(sizes, &strides)
        };
        let (columns, of_columns) = coalesced(&window.shape(kept), 0..kept.ndim());
        let (rows, of_rows) = coalesced(reduced, kept.ndim()..kept.ndim() + reduced.ndim());
        let tree = tree(reduced.numel());
        let rows: Vec<u32> = rows
            .iter()
            .map(|&size| u32::try_from(size))
            .collect::<Result<_, _>>()
            .map_err(|_| Unprintable::Elements)?;
        let strides: Vec<Vec<isize>> = of_columns
            .iter()
            .zip(&of_rows)
            .map(|(columns, rows)| columns.iter().chain(&**rows).copied().collect())
            .collect();
        let (own, parts) = (stored_type(dtype), part_count(dtype));
        each_piece(&columns, MAX_ELEMENTS / leaves(reduced.numel()), &mut |sizes, starts| {
            let first = offset(starts, &contiguous_strides(&columns)) * dtype.item_size() as i64;
            let starts: Vec<i64> = of_columns.iter().map(|strides| offset(starts, strides)).collect();
            let operands = self.operands((program, numbers), window, &starts, &strides);
            let results: u32 = sizes.iter().product();
            if parts == 1 {
                let target = (out.piece, (out.first + first) as u64);
                return queue.reduce(codes, (sizes, &rows), &operands, &[target], tree);
            }
            // The parts of complex numbers are reduced apart, and put side by side.
            let bytes = results as usize * dtype.item_size() / parts;
            let apart: Vec<Memory> = (0..parts).map(|_| queue.allocate(bytes)).collect::<Result<_, _>>()?;
            let targets: Vec<(DeviceBytes<'_>, u64)> =
                apart.iter().map(|memory| (DeviceBytes::of_memory(memory), 0)).collect();
            queue.reduce(codes, (sizes, &rows), &operands, &targets, tree)?;
            let own_bytes = (dtype.item_size() / parts) as i64;
            let place = DeviceElements { first: out.first + first, ..out };
            for (&(piece, _), to) in targets.iter().zip(place.operands(dtype, 0, &[1])) {
                let from = DeviceOperand::Elements { piece, first: 0, strides: vec![own_bytes] };
                queue.map(&Arc::new(record::copy(own)), &[results], &[from, to])?;
            }
            Ok(())
        })
    }

    /// Reduces over pairs of rows and columns as products are, of which each is read once for a tile; `None`
    /// if the reduction is none, or has more elements than one accumulator takes, or fewer pairs than are
    /// worth a tile.
    fn pairs(
        &self,
        queue: &mut Queue,
        work: &Work,
        window: &Window<'_>,
        codes: &Reduced,
        out: DeviceElements<'_>,
    ) -> Option<Result<(), Refusal>> {
        let (Work::Reduce { kept, reduced, program, .. }, Some(of)) = (work, &codes.pairs) else {
            return None;
        };
        let (kept, dims) = (window.shape(kept), kept.ndim());
        let (&[depth], [batch @ .., rows, columns]) = (&**reduced, &*kept) else { return None };
        let is_in_order = (1..=PRODUCT_CHAIN as usize).contains(&depth) && lanes(depth) == 1;
        let fills = *rows >= LEAST_PAIRED && *columns >= LEAST_PAIRED && kept.numel() as u64 <= MAX_ELEMENTS;
        let repeats = |load: usize, dim: usize| program.loads[load].strides[dim] == 0;
        let is_row = |load: usize| repeats(load, dims - 1) && !repeats(load, dims - 2);
        let is_column = |load: usize| repeats(load, dims - 2) && !repeats(load, dims - 1);
        let [row, column] = *[[0, 1], [1, 0]].iter().find(|[a, b]| is_row(*a) && is_column(*b))?;
        if !is_in_order || !fills {
            return None;
        }
        let factor = |index: usize, line: usize| {
            let load = &program.loads[index];
            let strides = [&load.strides[..dims - 2], &[load.strides[line], load.strides[dims]]].concat();
            let first = load.offset as i64 + window.moved(index) as i64;
            self.elements(load.source, load.dtype).operands(load.dtype, first, &strides).collect::<Vec<_>>()
        };
        let factors = [factor(row, dims - 2), factor(column, dims - 1)];
        let batch: Vec<u32> = batch.iter().map(|&size| size as u32).collect();
        let sizes = (&batch[..], [*rows as u32, *columns as u32], depth as u32);
        Some(queue.product(&of[row], sizes, factors, (out.piece, out.first as u64)))
    }

    fn product(&self, queue: &mut Queue, work: &Work, out: DeviceElements<'_>) -> Result<(), Refusal> {
        let Work::Matmul { dtype, a, b, batch, n, m, k } = work else {
            unreachable!("the step is a matrix product")
        };
        let size = |size: usize| u32::try_from(size).map_err(|_| Unprintable::Elements);
        let sizes = batch.iter().chain([n, m]).map(|&own| size(own)).collect::<Result<Vec<u32>, _>>()?;
        if *k == 0 {
            let strides = contiguous_strides(&[&**batch, &[*n, *m]].concat());
            let zero = Arc::new(record::copy(stored_type(*dtype)));
            let mut parts = out.operands(*dtype, 0, &strides);
            return parts.try_for_each(|to| queue.map(&zero, &sizes, &[DeviceOperand::Number(0), to]));
        }
        let factor = |factor: &Factor, [apart, along]: [isize; 2]| {
            let strides = [&factor.batch[..], &[apart, along]].concat();
            let elements = self.elements(factor.source, *dtype);
            elements.operands(*dtype, factor.offset as i64, &strides).collect::<Vec<_>>()
        };
        let factors = [factor(a, [a.rows, a.columns]), factor(b, [b.columns, b.rows])];
        let (batch, lines) = sizes.split_at(batch.ndim());
        let codes = record_product(*dtype).expect("inference refuses products of bools");
        queue.product(
            &Arc::new(codes),
            (batch, [lines[0], lines[1]], size(*k)?),
            factors,
            (out.piece, out.first as u64),
        )
    }
}

/// What has no code refuses its step.
fn missing(operation: &Missing) -> Refusal {
    Refusal::Missing(operation.clone())
}

/// The lanes and the elements of a leaf, of so many reduced elements.
fn tree(elements: usize) -> (u32, u32) {
    (lanes(elements) as u32, LEAF_ELEMENTS as u32)
}

/// How far into an operand an element is, by its indices.
fn offset(index: &[usize], strides: &[isize]) -> i64 {
    index.iter().zip(strides).map(|(&at, &stride)| at as i64 * stride as i64).sum()
}

/// What a part of a loop is handed to: its sizes, and the indices at which it begins.
type Visit<'a> = dyn FnMut(&[u32], &[usize]) -> Result<(), Refusal> + 'a;

/// Visits a loop in parts of so many elements at most, which are contiguous in row-major order, with the
/// indices at which each begins.
fn each_piece(sizes: &[usize], most: u64, visit: &mut Visit<'_>) -> Result<(), Refusal> {
    fn halve(
        sizes: &mut [usize],
        starts: &mut [usize],
        most: u64,
        visit: &mut Visit<'_>,
    ) -> Result<(), Refusal> {
        let numel = sizes.iter().fold(1u64, |count, &size| count.saturating_mul(size as u64));
        match sizes.iter().position(|&size| size > 1).filter(|_| numel > most) {
            None => visit(&sizes.iter().map(|&size| size as u32).collect::<Vec<u32>>(), starts),
            Some(dim) => {
                let (size, start) = (sizes[dim], starts[dim]);
                sizes[dim] = size / 2;
                halve(sizes, starts, most, visit)?;
                (sizes[dim], starts[dim]) = (size - size / 2, start + size / 2);
                halve(sizes, starts, most, visit)?;
                (sizes[dim], starts[dim]) = (size, start);
                Ok(())
            }
        }
    }
    halve(&mut sizes.to_vec(), &mut vec![0; sizes.len()], most, visit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_loop_is_visited_in_parts_one_after_the_other() {
        for (sizes, most) in
            [(vec![7, 5], 4), (vec![1, 40], 7), (vec![3, 2, 5], 11), (vec![], 1), (vec![0], 1)]
        {
            let mut seen = Vec::new();
            let strides = contiguous_strides(&sizes);
            let visit = &mut |part: &[u32], starts: &[usize]| {
                let first = offset(starts, &strides);
                let count: u32 = part.iter().product();
                assert!(u64::from(count) <= most);
                seen.extend(first..first + i64::from(count));
                Ok(())
            };
            assert!(each_piece(&sizes, most, visit).is_ok());
            assert_eq!(seen, (0..sizes.iter().product::<usize>() as i64).collect::<Vec<_>>());
        }
    }
}
