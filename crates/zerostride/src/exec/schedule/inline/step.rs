//! Owns steps of a plan on elements in cache: whole and at once, without panels or threads. It does not know
//! who may touch the elements, what is worth dividing (`plan/cost.rs`), nor how stages run (`exec/body`) and
//! elements are reduced (`reduce.rs`).

use smallvec::SmallVec;
use zerostride_kernels::{Reducer, lanes};
use zerostride_shape::{Shape, Strides};

use super::desk::reading;
use super::gather::{InOrder, in_order};
use super::loops::Loops;
use super::ready_operand::ReadyOperand;
use super::reduce::{COPIED_BYTES, StridedReduction};
use crate::exec::body::{Compiled, LoadKind};
use crate::exec::elements::{ElementSlice, StridedDims};
use crate::exec::schedule::size::Size;
use crate::memory::Fresh;
use crate::plan::{
    Cost, ElementSource, LEAST_PRINTED_ROW_BYTES, Leaf, Load, NARROW_RESULTS, Plan, Program, Work,
};
use crate::{Result, Tensor, num_threads};

/// The most operands of a plan that is one such step.
const MOST_LEAVES: usize = 4;

/// The most bytes of elements that are computed before they are reduced, which is small work, and of those
/// that code could let enter accumulators as they are computed.
const COMPUTED_BYTES: usize = 512 << 10;
const ACCUMULATED_BYTES: usize = 64 << 10;

/// A step whose results are contiguous.
pub(in crate::exec) enum StepInCache<'p> {
    Map(&'p Program, &'p MapInCache),
    /// And what the results go through, if they do.
    Reduce(&'p Program, &'p ReduceInCache, Option<&'p Compiled>),
}

/// A program prepared for a loop over elements in cache.
pub(in crate::exec) struct MapInCache {
    shape: Shape,
    /// Those of each load.
    strides: Vec<Strides>,
    loops: Vec<Loops<1>>,
    /// Over rows of a constant stride, or groups of such, of which each load's is contiguous or a broadcast
    /// scalar, for code alone.
    of_rows: Option<Compiled>,
    /// Over contiguous elements: each load is as many, or a broadcast scalar.
    of_all: Compiled,
}

/// A reduction of elements in cache.
pub(in crate::exec) struct ReduceInCache {
    /// Computes the elements, unless they are those of the only load.
    computed: Option<MapInCache>,
    reduction: StridedReduction,
}

impl<'p> StepInCache<'p> {
    /// The step that some work is; `None` where it is another one, or worth dividing among threads.
    pub(in crate::exec) fn of(work: &'p Work) -> Option<StepInCache<'p>> {
        match work {
            Work::Map { shape, program, out, out_offset: 0 } => {
                let make = || {
                    let is_dense = Loops::of(shape, out).is_some_and(|out| out.dense[0]);
                    let strides = || program.loads.iter().map(|load| load.strides.clone()).collect();
                    let is_small = Size::of(Cost::new(program, shape)) == Size::Small;
                    (is_dense && !program.is_copy() && is_small)
                        .then(|| MapInCache::new(shape.clone(), program, strides()))?
                };
                Some(StepInCache::Map(program, program.at_once.get(make).as_ref()?))
            }
            Work::Reduce { program, finish, .. } => {
                let prepared = program.at_once.get(|| ReduceInCache::new(work)).as_ref()?;
                Some(StepInCache::Reduce(program, prepared, Compiled::finish(finish.as_deref())))
            }
            _ => None,
        }
    }

    /// Writes the results. `None` if the elements of a load are not there, not aligned, or there is no memory
    /// for copies.
    pub(in crate::exec) fn run<'a>(
        &self,
        elements: impl Fn(ElementSource) -> Option<ElementSlice<'a>>,
        out: &mut [u8],
    ) -> Option<Result<()>> {
        let operand = |load: &Load| {
            let slice = elements(load.source)?;
            let is_aligned = slice.bytes.as_ptr().addr().is_multiple_of(slice.item.min(align_of::<f64>()));
            is_aligned.then(|| slice.at(load.offset))
        };
        match *self {
            StepInCache::Map(program, map) => map.run(program, operand, out),
            StepInCache::Reduce(program, reduce, None) => reduce.run(program, operand, out),
            StepInCache::Reduce(program, reduce, Some(finish)) => {
                let mut results = Fresh::arbitrary(out.len() / finish.item * finish.loads[0].1)?;
                if let Err(error) = reduce.run(program, operand, results.bytes_mut())? {
                    return Some(Err(error));
                }
                Some(finish.run_in_order(&[results.bytes()], out))
            }
        }
    }
}

impl MapInCache {
    /// The program over a loop, in which its loads have these strides; `None` where that has too many
    /// dimensions.
    fn new(shape: Shape, program: &Program, strides: Vec<Strides>) -> Option<MapInCache> {
        let loops = strides.iter().map(|strides| Loops::of(&shape, strides)).collect::<Option<_>>()?;
        let compiled = |is_one: &dyn Fn(&Strides) -> bool| {
            let kind = |load| if is_one(load) { LoadKind::Splat } else { LoadKind::Vector };
            Compiled::new(program, &strides.iter().map(kind).collect::<Vec<_>>(), false)
        };
        let of_rows = match shape[..] {
            [_, row] | [_, _, row]
                if row * program.dtypes[program.result].item_size() >= LEAST_PRINTED_ROW_BYTES =>
            {
                let along = shape.ndim() - 1;
                let are_rows = strides.iter().all(|load| matches!(load[along], 0 | 1));
                are_rows.then(|| compiled(&|load| load[along] == 0))
            }
            _ => None,
        };
        let of_all = compiled(&|load| load.iter().all(|&stride| stride == 0));
        Some(MapInCache { shape, strides, loops, of_rows, of_all })
    }

    /// Writes the results: of rows that are read in place, or of elements that are copied unless they are
    /// contiguous.
    fn run<'a>(
        &self,
        program: &Program,
        operand: impl Fn(&Load) -> Option<ElementSlice<'a>>,
        out: &mut [u8],
    ) -> Option<Result<()>> {
        let MapInCache { shape, strides, loops, of_rows, of_all } = self;
        if let Some(code) = of_rows.as_ref().filter(|code| code.is_printed_for(shape.numel())) {
            let [ref groups @ .., count, row] = shape[..] else { unreachable!("there are rows") };
            let groups = groups.first().copied().unwrap_or(1);
            let load = |(load, strides): (&Load, &Strides)| {
                let [ref group_step @ .., step, apart] = strides[..] else { return None };
                let groups = (groups, group_step.first().copied().unwrap_or(0));
                let len = if apart == 0 { 1 } else { row };
                Some(Some(operand(load)?.grouped_rows(groups, (count, step), (len, 1))))
            };
            let loads = program.loads.iter().zip(strides).map(load);
            let loads: SmallVec<[_; MOST_LEAVES]> = loads.collect::<Option<_>>()?;
            return Some(code.run_anywhere((groups, count, row), &loads, out));
        }
        let load = |(load, loops): (&Load, &Loops<1>)| in_order(operand(load)?, loops, 0);
        run_in_order(of_all, program.loads.iter().zip(loops).map(load), out)
    }
}

impl ReduceInCache {
    /// A step that reduces; `None` where it is worth dividing among threads.
    fn new(work: &Work) -> Option<ReduceInCache> {
        let Work::Reduce { op, compute, correction, kept, reduced, program, .. } = work else { return None };
        let (results, count, dtype) = (kept.numel(), reduced.numel(), program.dtypes[program.result]);
        let elements = results.checked_mul(count)?;
        let reducer = |takes| Reducer::new(*op, *compute, takes, count, *correction);
        let of = |copied_bytes, kept, reduced| StridedReduction {
            reducer: reducer(dtype),
            dtype,
            takes: dtype,
            kept,
            reduced,
            copied_bytes,
        };
        if program.is_copy() {
            if Size::of(Cost::of_reading(dtype, elements)) > Size::Small {
                return None;
            }
            let (of_kept, of_reduced) = program.loads[0].strides.split_at(kept.ndim());
            let [kept, reduced] =
                [(kept, of_kept), (reduced, of_reduced)].map(|(sizes, of)| StridedDims::of(sizes, of));
            let reduction = of(COPIED_BYTES, kept, reduced);
            return Some(ReduceInCache { computed: None, reduction });
        }
        // Elements are computed in the order in which most operands have them.
        let nearer = |load: &Load| {
            let (of_kept, of_reduced) = load.strides.split_at(kept.ndim());
            let inner = |strides: &[isize]| strides.last().map_or(0, |stride| stride.unsigned_abs());
            let [of_kept, of_reduced] = [inner(of_kept), inner(of_reduced)];
            if of_kept == 0 || of_reduced == 0 { 0 } else { of_kept.cmp(&of_reduced) as isize }
        };
        let are_kept_inside = program.loads.iter().map(nearer).sum::<isize>() < 0;
        // Rows of a few results are joined in tiles.
        let are_joined = are_kept_inside && kept.last().is_some_and(|&inner| inner <= NARROW_RESULTS);
        let accumulator = reducer(Reducer::takes_computed(*op, dtype, count)).accumulator();
        let is_accumulated = lanes(count) > 1 && !are_joined && accumulator.is_some();
        let most = if is_accumulated { ACCUMULATED_BYTES } else { COMPUTED_BYTES };
        if elements > most / dtype.item_size() || count < 2 {
            return None;
        }
        let turn = if are_kept_inside { kept.ndim() } else { 0 };
        let mut sizes: SmallVec<[usize; 6]> = kept.iter().chain(&**reduced).copied().collect();
        sizes.rotate_left(turn);
        match Size::of(Cost::new(program, &sizes)) {
            Size::Small => (),
            Size::Medium if num_threads() == 1 => (),
            Size::Medium | Size::Large => return None,
        }
        let strides = program.loads.iter().map(|load| {
            let mut strides: SmallVec<[isize; 6]> = load.strides.iter().copied().collect();
            strides.rotate_left(turn);
            Strides::new(&strides).ok()
        });
        let strides = strides.collect::<Option<_>>()?;
        let computed = Some(MapInCache::new(Shape::new(&sizes).ok()?, program, strides)?);
        let steps = if are_kept_inside { [1, results] } else { [count, 1] };
        let line = |size: usize, step: usize| StridedDims::joined([(size, [step as isize])]);
        Some(ReduceInCache {
            computed,
            reduction: of(COMPUTED_BYTES, line(results, steps[0]), line(count, steps[1])),
        })
    }

    /// Writes the results before they go through another program.
    fn run<'a>(
        &self,
        program: &Program,
        operand: impl Fn(&Load) -> Option<ElementSlice<'a>>,
        out: &mut [u8],
    ) -> Option<Result<()>> {
        let ReduceInCache { computed, reduction } = self;
        let Some(map) = computed else {
            return reduction.run(operand(&program.loads[0])?, out).map(Ok);
        };
        let item = program.dtypes[program.result].item_size();
        let mut elements = Fresh::arbitrary(map.shape.numel() * item)?;
        if let Err(error) = map.run(program, operand, elements.bytes_mut())? {
            return Some(Err(error));
        }
        reduction.run(ElementSlice { bytes: elements.bytes(), item, first: 0 }, out).map(Ok)
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
