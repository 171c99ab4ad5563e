//! Owns one operation of the table at once: the way that elements take from its operands to its result. It
//! does not know expressions.

use std::ptr;

use zerostride_kernels::{Strided, StridedKernel};
use zerostride_ops::Op;

use super::convert::convert;
use super::desk::{overwrite, reading};
use super::direct::Direct;
use super::gather::{GATHERED_ELEMENTS, Tile, bytes, elements, in_order};
use super::loops::Loops;
use super::ready_operand::{AsReadyOperand, ReadyOperand};
use super::row::Row;
use super::step;
use crate::Tensor;
use crate::exec::body::Compiled;
use crate::exec::elements::ElementSlice;
use crate::exec::schedule::size::Size;
use crate::memory::{Fresh, Storage};
use crate::plan::Cost;

/// The operation's result.
#[inline(always)]
pub(crate) fn apply<const N: usize>(op: Op, values: &[impl AsReadyOperand; N]) -> Option<Tensor> {
    operation(|| Row::of(op, values), values, None)?
}

/// Writes the operation's result to a tensor, perhaps the first operand, whose version counts it; `None` if
/// nothing has been done.
#[inline]
pub(crate) fn apply_into<const N: usize>(
    op: Op,
    values: &[impl AsReadyOperand; N],
    target: &Tensor,
) -> Option<()> {
    operation(|| Row::of(op, values), values, Some(target)).map(drop)
}

/// The result of an operation, unless it has been written to a target; `None` if nothing has been done.
#[inline(always)]
pub(super) fn operation<V: AsReadyOperand, const N: usize>(
    row: impl FnOnce() -> Option<&'static Row>,
    values: &[V; N],
    target: Option<&Tensor>,
) -> Option<Option<Tensor>> {
    let mut loops = Loops::single();
    loops.walk(values)?;
    if target.is_none() {
        loops.turn();
    }
    let operation = Operation { row: row()?, values, loops: &loops };
    match target {
        Some(target) => operation.write(target).map(|()| None),
        None => operation.run().map(Some),
    }
}

/// Nanoseconds of arithmetic below which a block kernel is done before code has its addresses.
const QUICK_NANOS: usize = 300;

/// How elements get from the operands to the result.
enum Route<const N: usize> {
    /// One by one, by a strided kernel.
    Strided(StridedKernel),
    /// By a block kernel on contiguous elements or copies of a few.
    Gathered,
    /// Tile by tile, with contiguous copies of strided operands.
    Copied(&'static Compiled),
    /// Row by row, by code.
    Direct(Direct<N>),
}

/// One operation on operands in step with its result.
struct Operation<'v, V, const N: usize> {
    row: &'static Row,
    values: &'v [V; N],
    loops: &'v Loops<N>,
}

impl<V: AsReadyOperand, const N: usize> Operation<'_, V, N> {
    /// Writes the result to a target of its shape and dtype, whose elements are contiguous, and which may be
    /// the first operand.
    fn write(&self, target: &Tensor) -> Option<()> {
        let Operation { row, values, loops } = *self;
        // Of operands on the target's memory, whether they are the target.
        let on_target = values.each_ref().map(|value| {
            let own = value.value().tensor()?;
            let is_target = ptr::eq(own, target);
            (is_target || own.shares_storage(target)).then(|| is_target || own.layout() == target.layout())
        });
        let over = on_target[0] == Some(true);
        let in_order = if over { loops.dense[0] } else { target.is_contiguous() };
        if loops.sizes() != target.shape() || row.inferred.result != target.dtype() || !in_order {
            return None;
        }
        let route = self.route()?;
        // What else is on the target's memory is read before that is written, or refused: the plan sees to
        // that.
        let is_apart = |(value, on_target): (&V, Option<bool>)| {
            let meets = |own: &Tensor| own.meets_elsewhere(target);
            on_target.unwrap_or_else(|| !value.value().tensor().is_some_and(meets))
        };
        if !values.iter().zip(on_target).all(is_apart) {
            return None;
        }
        let writes_in_place = match route {
            Route::Direct(ref direct) => !direct.may_fault(),
            // It may not read where it writes.
            Route::Strided(_) => !over,
            Route::Gathered | Route::Copied(_) => false,
        };
        if !writes_in_place {
            // An operation that refuses some value has written nothing.
            let versions = || values.each_ref().map(|value| value.value().storage().map(Storage::version));
            let before = versions();
            let result = self.compute(&route)?;
            return overwrite(target, result.bytes(), || versions() == before);
        }
        let mut writing = target.storage().try_write()?;
        // Another operand of the same storage cannot be read now.
        let mut others = [ReadyOperand::Other; N];
        for (other, value) in others.iter_mut().zip(values).skip(usize::from(over)) {
            *other = value.value();
        }
        reading(&others, |storages, tiles| {
            if values[0].value().has_changed() {
                return None;
            }
            let apart = |operand: usize| (operand > 0 || !over).then(|| storages[operand]);
            let (start, len) = (target.storage_offset(), loops.numel);
            let item = row.inferred.result.item_size();
            let out = &mut writing.bytes_mut()[start * item..][..len * item];
            self.run_route(&route, std::array::from_fn(apart), out, tiles)
        })
    }

    #[inline(always)]
    fn run(&self) -> Option<Tensor> {
        let route = self.route()?;
        // Made before the result and moved after it: moving what has just been stored would wait for the
        // stores.
        let layout = self.loops.layout();
        let result = self.compute(&route)?;
        Some(Tensor::new(result.share(), layout.ok()?, self.row.inferred.result))
    }

    #[inline(always)]
    fn route(&self) -> Option<Route<N>> {
        let Operation { row, values, loops } = *self;
        if Size::is_few(loops.numel) {
            let strided = row.strided.filter(|_| loops.are_rows() && row.reads(values));
            return Some(strided.map_or(Route::Gathered, Route::Strided));
        }
        let cost = Cost::of_operation(row.op, row.inferred, N, loops.numel);
        let size = Size::of(cost);
        // A plan computes a stretched result once.
        if size == Size::Large || size == Size::Medium && loops.repeat() {
            return None;
        }
        let is_in_order = || !loops.dense.contains(&false) && row.reads(values);
        let is_quick = row.is_arithmetic() && cost.nanos() < QUICK_NANOS && is_in_order();
        if !is_quick && let Some(direct) = Direct::new(row, cost, values, loops) {
            return Some(Route::Direct(direct));
        }
        if loops.numel <= GATHERED_ELEMENTS || is_quick {
            return Some(Route::Gathered);
        }
        let splats = (0..N).filter(|&operand| loops.is_one(operand)).map(|operand| 1 << operand).sum();
        (size == Size::Small && row.reads(values)).then(|| row.code(splats)).flatten().map(Route::Copied)
    }

    /// The result's elements. `None` if the operation refuses some value, or there is no memory.
    #[inline(always)]
    fn compute(&self, route: &Route<N>) -> Option<Fresh> {
        let Operation { row, values, loops } = *self;
        let mut fresh = Fresh::arbitrary(loops.numel.checked_mul(row.inferred.result.item_size())?)?;
        let out = fresh.bytes_mut();
        reading(values, |storages, tiles| self.run_route(route, storages.map(Some), out, tiles))?;
        Some(fresh)
    }

    /// Writes the result's elements, given the bytes of the operands' storages; code also over those of
    /// the first operand, if its storage is `None`.
    #[inline(always)]
    fn run_route(
        &self,
        route: &Route<N>,
        storages: [Option<&[u8]>; N],
        out: &mut [u8],
        tiles: &mut [Tile],
    ) -> Option<()> {
        let Operation { row, values, loops } = *self;
        let mut numbers = [[0; 16]; N];
        let slices = row.slices(values, storages, &mut numbers);
        match route {
            Route::Strided(kernel) => {
                let mut operands = [Strided { bytes: &[], first: 0, steps: [0; 2] }; N];
                for (index, operand) in operands.iter_mut().enumerate() {
                    let ElementSlice { bytes, first, .. } = slices[index]?;
                    let [inner, outer, ..] = loops.strides[index];
                    *operand = Strided { bytes, first, steps: [inner, outer] };
                }
                kernel(&operands, loops.lens[0], out);
            }
            Route::Gathered => self.fill(&slices, out, tiles)?,
            Route::Copied(code) => {
                let load = |operand: usize| in_order(slices[operand]?, loops, operand);
                step::run_in_order(code, (0..N).map(load), out)?.ok()?;
            }
            Route::Direct(direct) => direct.run(&slices, out).ok()?,
        }
        Some(())
    }

    /// Computes the result's elements at once, of contiguous elements or copies of a few.
    #[inline(always)]
    fn fill(&self, slices: &[Option<ElementSlice<'_>>; N], out: &mut [u8], tiles: &mut [Tile]) -> Option<()> {
        let Operation { row, values, loops } = *self;
        let compute = row.inferred.compute;
        let mut inputs = [&[][..]; N];
        let tiles = tiles.as_chunks_mut::<2>().0;
        for (operand, ([tile, other], input)) in tiles.iter_mut().zip(&mut inputs).enumerate() {
            *input = elements(slices[operand]?, loops, operand, tile);
            let dtype = row.dtype(operand, values[operand].value())?;
            if dtype != compute {
                let converted = bytes(other, loops.numel * compute.item_size());
                convert(dtype, compute, input, converted);
                *input = converted;
            }
        }
        row.compute(&inputs, out)
    }
}
