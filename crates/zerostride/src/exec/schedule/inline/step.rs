//! Owns element-wise steps of a plan on elements in cache: whole and at once, without panels or threads. It
//! does not know who may touch the elements, what is worth dividing (`plan/cost.rs`), nor how stages run
//! (`exec/body`).

use smallvec::SmallVec;
use zerostride_shape::Shape;

use super::desk::reading;
use super::gather::{InOrder, in_order};
use super::loops::Loops;
use super::ready_operand::ReadyOperand;
use crate::exec::body::Compiled;
use crate::exec::elements::ElementSlice;
use crate::exec::schedule::panels::{self, InCache};
use crate::memory::Fresh;
use crate::plan::{ElementSource, Leaf, Load, Plan, Program, Work};
use crate::{Result, Tensor};

/// The most operands of a plan that is one such step.
const MOST_LEAVES: usize = 4;

/// An element-wise step whose results are contiguous.
pub(in crate::exec) struct StepInCache<'p> {
    shape: &'p Shape,
    program: &'p Program,
    prepared: &'p InCache,
}

impl<'p> StepInCache<'p> {
    /// The step that some work is; `None` where it is another one, or worth dividing among threads.
    pub(in crate::exec) fn of(work: &'p Work) -> Option<StepInCache<'p>> {
        let Work::Map { shape, program, out, out_offset: 0 } = work else { return None };
        let prepared = panels::in_cache(shape, program)
            .filter(|_| Loops::of(shape, out).is_some_and(|out| out.dense[0]))?;
        Some(StepInCache { shape, program, prepared })
    }

    /// Writes the results: of rows that are read in place, or of elements that are copied unless they are
    /// contiguous. `None` if the elements of a load are not there, not aligned, or there is no memory
    /// for copies.
    pub(in crate::exec) fn run<'a>(
        &self,
        elements: impl Fn(ElementSource) -> Option<ElementSlice<'a>>,
        out: &mut [u8],
    ) -> Option<Result<()>> {
        let StepInCache { shape, program, prepared } = *self;
        let operand = |load: &Load| {
            let slice = elements(load.source)?;
            let is_aligned = slice.bytes.as_ptr().addr().is_multiple_of(slice.item.min(align_of::<f64>()));
            is_aligned.then(|| slice.at(load.offset))
        };
        let of_rows = prepared.of_rows.as_ref().filter(|code| code.is_printed_for(shape.numel()));
        if let Some(code) = of_rows {
            let [ref groups @ .., count, row] = shape[..] else { unreachable!("there are rows") };
            let groups = groups.first().copied().unwrap_or(1);
            let load = |load: &Load| {
                let [ref group_step @ .., step, apart] = load.strides[..] else { return None };
                let groups = (groups, group_step.first().copied().unwrap_or(0));
                let len = if apart == 0 { 1 } else { row };
                Some(Some(operand(load)?.grouped_rows(groups, (count, step), (len, 1))))
            };
            let loads: SmallVec<[_; MOST_LEAVES]> = program.loads.iter().map(load).collect::<Option<_>>()?;
            return Some(code.run_anywhere((groups, count, row), &loads, out));
        }
        let load = |load: &Load| in_order(operand(load)?, &Loops::of(shape, &load.strides)?, 0);
        run_in_order(&prepared.of_all, program.loads.iter().map(load), out)
    }
}

/// Runs a program on contiguous elements, as many of each load as there are results or a broadcast scalar.
/// `None` if a load is not there, or there is no memory for its copies.
pub(super) fn run_in_order<'a>(
    code: &Compiled,
    loads: impl Iterator<Item = Option<InOrder<'a>>>,
    out: &mut [u8],
) -> Option<Result<()>> {
    let loads: SmallVec<[InOrder<'_>; MOST_LEAVES]> = loads.collect::<Option<_>>()?;
    let loads: SmallVec<[&[u8]; MOST_LEAVES]> = loads.iter().map(InOrder::bytes).collect();
    Some(code.run_in_order(&loads, out))
}

/// The result of a plan that is one such step, without claims.
pub(crate) fn run_plan(plan: &Plan) -> Option<Tensor> {
    let [step] = &plan.passes.steps[..] else { return None };
    let step = StepInCache::of(&step.work).filter(|_| plan.leaves.len() <= MOST_LEAVES)?;
    let (shape, dtype, layout) = (plan.shape(), plan.dtype(), &plan.passes.layouts[0]);
    let mut result = Fresh::arbitrary(shape.numel() * dtype.item_size())?;
    let mut values = [ReadyOperand::Other; MOST_LEAVES];
    for (value, leaf) in values.iter_mut().zip(&plan.leaves) {
        *value = ReadyOperand::Tensor(&leaf.tensor, leaf.version);
    }
    reading(&values, |storages, _| {
        let elements = |source| match source {
            ElementSource::Leaf(leaf) => {
                let Leaf { tensor, moved, .. } = &plan.leaves[leaf];
                Some(ElementSlice { bytes: storages[leaf], item: tensor.dtype().item_size(), first: -moved })
            }
            ElementSource::Buffer(_) => None,
        };
        step.run(elements, result.bytes_mut())?.ok()
    })?;
    Some(Tensor::new(result.share(), layout.clone(), dtype))
}
