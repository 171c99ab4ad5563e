//! Owns what runs at once, without a plan or panels: one row of the table where a plan would cost about as
//! much as the arithmetic or more; expressions of few elements (`nodes.rs`); steps on elements in cache
//! (`step.rs`). Nothing here waits for other operations, and only results and copies of operands are
//! allocated. It knows no rules: anything unusual, an error included, is left to the plan by returning
//! `None`.

mod convert;
mod copy;
mod direct;
mod gather;
mod loops;
mod nodes;
mod reduce;
mod row;
mod step;
#[cfg(test)]
mod tests;
mod value;

use std::cell::RefCell;
use std::convert::Infallible;

use zerostride_kernels::{Strided, StridedKernel};
use zerostride_ops::{DType, Inferred, Op};

use convert::convert;
pub(crate) use copy::write as copy_into;
use direct::Direct;
use gather::{GATHERED_ELEMENTS, Tile, bytes, elements, in_order, repeat, splat};
use loops::Loops;
use row::Row;
pub(super) use step::Step;
pub(crate) use step::run_plan;
pub(crate) use value::{Any, Value};

use crate::Tensor;
use crate::exec::elements::ElementSlice;
use crate::expr::{Expr, Kind};
use crate::memory::{Fresh, Hazards, Reading, Storage};
use crate::plan::Cost;
use crate::threads::{Effort, crew};
use crate::{interrupt, num_threads};

/// The operation's result.
#[inline(always)]
pub(crate) fn apply<const N: usize>(op: Op, values: &[impl Value; N]) -> Option<Tensor> {
    let mut loops = Loops::single();
    loops.walk(values)?;
    run(&Row::of(op, values)?, values, &loops)
}

/// The value of an expression of few elements; of more, if it is one operation on tensors and numbers, one
/// reduction of a tensor, or a tensor, which is copied.
pub(crate) fn evaluate(expr: &Expr) -> Option<Tensor> {
    match expr.node().kind {
        Kind::Leaf { .. } => copy::evaluate(Any::of(expr)),
        Kind::Reduce { .. } if is_single(expr) => reduce::evaluate(expr),
        _ => single(expr, None).or_else(|| nodes::evaluate(expr).map(Some))?,
    }
}

/// Writes the value of an expression of few elements, or one that is one operation on tensors and numbers, to
/// a tensor of its shape and dtype, whose elements are contiguous; `None` if nothing has been done.
pub(crate) fn evaluate_into(expr: &Expr, target: &Tensor) -> Option<()> {
    single(expr, Some(target)).map(drop).or_else(|| nodes::evaluate_into(expr, target))
}

/// Whether none of an expression's operands has to be computed first.
fn is_single(expr: &Expr) -> bool {
    !expr.node().kind.operands().iter().any(|operand| matches!(Any::of(operand), Any::Other))
}

/// The value of an expression that is one operation on tensors and numbers, unless it has been written to a
/// target; `None` if nothing has been done.
fn single(expr: &Expr, target: Option<&Tensor>) -> Option<Option<Tensor>> {
    let Kind::Map { op, operands, compute } = &expr.node().kind else { return None };
    if !is_single(expr) {
        return None;
    }
    let inferred = Inferred { compute: *compute, result: expr.meta().ok()?.dtype() };
    match &operands[..] {
        [a] => operation(*op, inferred, [a], target),
        [a, b] => operation(*op, inferred, [a, b], target),
        [a, b, c] => operation(*op, inferred, [a, b, c], target),
        _ => None,
    }
}

fn operation<const N: usize>(
    op: Op,
    inferred: Inferred,
    operands: [&Expr; N],
    target: Option<&Tensor>,
) -> Option<Option<Tensor>> {
    let values = operands.map(Any::of);
    let mut loops = Loops::single();
    loops.walk(&values)?;
    let row = Row::new(op, inferred, N)?;
    match target {
        Some(target) => write(&row, &values, &loops, target).map(|()| None),
        None => run(&row, &values, &loops).map(Some),
    }
}

/// Writes the operation's result to a tensor, perhaps the first operand, whose version counts it; `None` if
/// nothing has been done.
#[inline]
pub(crate) fn apply_into<const N: usize>(op: Op, values: &[impl Value; N], target: &Tensor) -> Option<()> {
    let mut loops = Loops::single();
    loops.walk(values)?;
    write(&Row::of(op, values)?, values, &loops, target)
}

/// Writes the operation's result to a target of its shape and dtype, whose elements are contiguous, and which
/// may be the first operand.
fn write<const N: usize>(
    row: &Row,
    values: &[impl Value; N],
    loops: &Loops<N>,
    target: &Tensor,
) -> Option<()> {
    let is_target = |tensor: &Tensor| {
        std::ptr::eq(tensor, target) || tensor.shares_storage(target) && tensor.layout() == target.layout()
    };
    let over = values[0].tensor().is_some_and(is_target);
    let in_order = if over { loops.dense[0] } else { target.is_contiguous() };
    if loops.sizes() != target.shape() || row.inferred.result != target.dtype() || !in_order {
        return None;
    }
    let way = Route::new(row, values, loops)?;
    let item = row.inferred.result.item_size();
    let (start, len) = (target.storage_offset() * item, loops.numel * item);
    // Operands on the target's memory must be read before it is written: the plan sees to that.
    if values.iter().filter_map(Value::tensor).any(|tensor| tensor.meets_elsewhere(target)) {
        return None;
    }
    let mut writing = target.storage().try_write()?;
    // Another operand of the same storage cannot be read now.
    let mut others = storages_of(values);
    if over {
        others[0] = None;
    }
    with_desk(|Desk { hazards, tiles }| {
        let reading = Reading::of(others, hazards)?;
        if values.iter().any(Value::has_changed) {
            return None;
        }
        let mut storages = std::array::from_fn(|place| reading.bytes(place));
        if let Route::Direct(direct) = &way {
            let apart = |place: usize| (place > 0 || !over).then(|| storages[place]);
            let out = &mut writing.bytes_mut()[start..][..len];
            direct.run(values, std::array::from_fn(apart), out);
            return Some(());
        }
        let finds_nothing_wrong = matches!(way, Route::Strided(_)) || row.is_arithmetic();
        if finds_nothing_wrong && !over {
            return way.run(
                row,
                values,
                storages,
                loops,
                &mut writing.bytes_mut()[start..][..len],
                &mut **tiles,
            );
        }
        // An operation that refuses some value has written nothing.
        let mut fresh = Fresh::arbitrary(len)?;
        if over {
            storages[0] = writing.bytes();
        }
        way.run(row, values, storages, loops, fresh.bytes_mut(), &mut **tiles)?;
        writing.bytes_mut()[start..][..len].copy_from_slice(fresh.bytes());
        Some(())
    })
}

#[inline(always)]
fn run<const N: usize>(row: &Row, values: &[impl Value; N], loops: &Loops<N>) -> Option<Tensor> {
    let way = Route::new(row, values, loops)?;
    // Made before the result and moved after it: moving what has just been stored would wait for the stores.
    let (layout, result) = (loops.layout(), row.inferred.result);
    let mut out = Fresh::arbitrary(loops.numel.checked_mul(result.item_size())?)?;
    with_desk(|Desk { hazards, tiles }| {
        let reading = Reading::of(storages_of(values), hazards)?;
        if values.iter().any(Value::has_changed) {
            return None;
        }
        let storages = std::array::from_fn(|place| reading.bytes(place));
        way.run(row, values, storages, loops, out.bytes_mut(), &mut **tiles)
    })?;
    Some(Tensor::new(out.share(), layout.ok()?, result))
}

#[inline(always)]
fn storages_of<const N: usize>(values: &[impl Value; N]) -> [Option<&Storage>; N] {
    let mut storages = [None; N];
    for (storage, value) in storages.iter_mut().zip(values) {
        *storage = value.storage();
    }
    storages
}

/// Elements below which a chain is not worth setting up.
const FEW_ELEMENTS: usize = 32;

/// Nanoseconds of arithmetic below which a block kernel is done before a chain has its addresses.
const QUICK_NANOS: usize = 300;

/// How elements get from the operands to the result.
enum Route<const N: usize> {
    /// One by one, by a strided kernel.
    Strided(StridedKernel),
    /// By a block kernel on contiguous elements or copies of a few.
    Gathered,
    /// The same block by block, with contiguous copies of strided operands.
    Blocks,
    /// Row by row, by a chain.
    Direct(Direct<N>),
}

impl<const N: usize> Route<N> {
    #[inline(always)]
    fn new(row: &Row, values: &[impl Value; N], loops: &Loops<N>) -> Option<Route<N>> {
        if loops.numel < FEW_ELEMENTS {
            let is_read = |value: &_| is_read(value, row.inferred.compute);
            let strided = row.strided.filter(|_| loops.are_rows() && values.iter().all(is_read));
            return Some(strided.map_or(Route::Gathered, Route::Strided));
        }
        let cost = Cost::of_operation(row.op, row.inferred, N, loops.numel);
        // A plan computes a stretched result once.
        if cost.is_divided() && loops.repeat() {
            return None;
        }
        let is_read_in_order =
            |operand: usize| loops.dense[operand] && is_read(&values[operand], row.inferred.compute);
        let is_quick = row.is_arithmetic() && cost.nanos() < QUICK_NANOS && (0..N).all(is_read_in_order);
        if !is_quick && let Some(direct) = Direct::new(*row, cost, values, loops) {
            return Some(Route::Direct(direct));
        }
        if loops.numel <= GATHERED_ELEMENTS || is_quick {
            return Some(Route::Gathered);
        }
        let are_taken =
            values.iter().all(|value| value.number().is_some() || is_read(value, row.inferred.compute));
        (are_taken && !cost.is_divided()).then_some(Route::Blocks)
    }

    /// Computes the result's elements.
    #[inline(always)]
    fn run(
        &self,
        row: &Row,
        values: &[impl Value; N],
        storages: [&[u8]; N],
        loops: &Loops<N>,
        out: &mut [u8],
        tiles: &mut [Tile],
    ) -> Option<()> {
        match self {
            Route::Strided(kernel) => {
                let mut operands = [Strided { bytes: &[], first: 0, steps: [0; 2] }; N];
                for (place, operand) in operands.iter_mut().enumerate() {
                    let (bytes, first) = (storages[place], values[place].layout()?.offset());
                    *operand = Strided { bytes, first, steps: loops.steps(place) };
                }
                kernel(&operands, loops.row(), out);
            }
            Route::Gathered => fill(row, values, storages, loops, out, tiles)?,
            Route::Blocks => fill_blocks(row, values, storages, loops, out, tiles)?,
            Route::Direct(direct) => direct.run(values, storages.map(Some), out),
        }
        Some(())
    }
}

/// Whether a value is a tensor of that dtype.
#[inline]
fn is_read(value: &impl Value, dtype: DType) -> bool {
    value.number().is_none() && value.typed().is_some_and(|typed| typed.dtype == dtype)
}

/// Computes the result's elements at once, of contiguous elements or copies of a few.
#[inline(always)]
fn fill<const N: usize>(
    row: &Row,
    values: &[impl Value; N],
    storages: [&[u8]; N],
    loops: &Loops<N>,
    out: &mut [u8],
    tiles: &mut [Tile],
) -> Option<()> {
    let compute = row.inferred.compute;
    let mut inputs = [&[][..]; N];
    let tiles = tiles.as_chunks_mut::<2>().0;
    for (operand, ([tile, other], input)) in tiles.iter_mut().zip(&mut inputs).enumerate() {
        let value = &values[operand];
        if let Some(number) = value.number() {
            let tile = bytes(tile, loops.numel * compute.item_size());
            splat(number, compute, tile);
            *input = tile;
            continue;
        }
        let dtype = value.typed()?.dtype;
        let (bytes_of, first) = (storages[operand], value.layout()?.offset());
        let slice = ElementSlice { bytes: bytes_of, item: dtype.item_size(), first };
        *input = elements(slice, loops, operand, tile);
        if dtype != compute {
            let converted = bytes(other, loops.numel * compute.item_size());
            convert(dtype, compute, input, converted);
            *input = converted;
        }
    }
    row.compute(&inputs, out)
}

/// Computes the result's elements of many that are read as they are stored, a block at a time: broadcast
/// scalars are repeated for a block, and strided operands are copied as a whole. Apart from [`fill`], which
/// is a fifth faster without it on a few elements.
#[inline(never)]
fn fill_blocks<const N: usize>(
    row: &Row,
    values: &[impl Value; N],
    storages: [&[u8]; N],
    loops: &Loops<N>,
    out: &mut [u8],
    tiles: &mut [Tile],
) -> Option<()> {
    let Inferred { compute, result } = row.inferred;
    let item = compute.item_size();
    let (mut copies, mut wholes) = ([const { None }; N], [None; N]);
    for (operand, (copy, tile)) in copies.iter_mut().zip(&mut *tiles).enumerate() {
        let tile = bytes(tile, GATHERED_ELEMENTS * item);
        let Some(layout) = values[operand].layout() else {
            splat(values[operand].number()?, compute, tile);
            continue;
        };
        let slice = ElementSlice { bytes: storages[operand], item, first: layout.offset() };
        let elements = in_order(slice, loops, operand, copy)?;
        if loops.is_one(operand) {
            repeat(elements, tile);
        } else {
            wholes[operand] = Some(elements);
        }
    }
    for (index, out) in out.chunks_mut(GATHERED_ELEMENTS * result.item_size()).enumerate() {
        let len = out.len() / result.item_size() * item;
        let mut inputs = [&[][..]; N];
        for ((input, whole), tile) in inputs.iter_mut().zip(wholes).zip(&*tiles) {
            *input = match whole {
                Some(whole) => &whole[index * GATHERED_ELEMENTS * item..][..len],
                None => &bytemuck::cast_slice(tile)[..len],
            };
        }
        row.compute(&inputs, out)?;
    }
    Some(())
}

/// Divides elements of so many bytes among threads, where their cost is worth it: each part is as many
/// elements, and comes with the number of its first one. It is too short to be interrupted.
fn share_out(
    cost: Cost,
    (out, item): (&mut [u8], usize),
    part: usize,
    work: impl Fn(usize, &mut [u8]) + Sync,
) {
    let numel = out.len() / item;
    let effort = if cost.is_long(numel) { Effort::Long } else { Effort::Short };
    // One thread takes all at once: each part has a cost of its own.
    let part = if num_threads() == 1 { numel } else { part };
    let parts = out.chunks_mut(part * item).enumerate();
    let work = |(): &mut (), (index, out): (usize, &mut [u8])| {
        work(index * part, out);
        Ok::<_, Infallible>(())
    };
    let Ok(()) = interrupt::put_off(|| crew::for_each_of(effort, parts, || (), work));
}

/// Tiles of a thread: two for each of up to three operands.
const DESK_TILES: usize = 6;

/// What a thread works with.
struct Desk {
    hazards: Hazards,
    tiles: Box<[Tile; DESK_TILES]>,
}

/// Lends the thread's slots and tiles.
#[inline]
fn with_desk<R>(work: impl FnOnce(&mut Desk) -> Option<R>) -> Option<R> {
    thread_local! {
        static DESK: RefCell<Desk> =
            RefCell::new(Desk { hazards: Hazards::new(), tiles: Box::new([[0; GATHERED_ELEMENTS]; DESK_TILES]) });
    }
    // A thread that is ending has none.
    DESK.try_with(|desk| work(&mut desk.borrow_mut())).ok()?
}
