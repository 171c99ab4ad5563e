//! Owns reductions over the rows of steps that run together: such a reduction takes the rows of a block as
//! they are computed, so that what they are computed from need never be whole. It chooses the steps and says
//! what is done to a block of rows; it does not run them (`exec`).
//!
//! The bits of a reduction may not depend on the steps that it runs with. There are two kinds:
//! - A reduction of rows to one row takes the rows of one lane of its tree after the other
//!   ([`lane_rows`](zerostride_kernels::lane_rows)), so a block has the rows of one lane, which are as far
//!   apart as there are lanes. Operands are read that far apart; what the steps hand each other is held by
//!   each thread, for a block, without the rows between.
//! - A reduction of all elements to one takes leaf after leaf, so a block has the rows in which some leaves
//!   are. A row that belongs to two blocks is computed for both.

use std::collections::HashSet;
use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{LEAF_ELEMENTS, lanes};
use zerostride_ops::DType;
use zerostride_shape::{Shape, Strides, coalesce, contiguous_strides, order_dims};

use super::liveness::last_reads;
use super::program::{Buffer, ElementSource, Load, Step, Work, slices};
use super::together::{AGAIN_BYTES, MOST_STEPS, Together, read_again};

/// The rows of a block are a multiple of this, unless they are the last of a lane.
///
/// Measured on 2026-11-26 (Zen 3, 1000 rows of 16384 f32): 1 takes 1.2 times as long, 4 and 64 as long as 16.
const BLOCK_ROW_MULTIPLE: usize = 16;

/// Results below which a reduction over rows is a step of its own: setting up the steps for a block would
/// take longer than its few elements.
///
/// Measured on 2026-11-26 (Zen 3, gradients of a normalisation): together the steps take 3.5 times as long as
/// apart for 32 results, 2.1 for 128, 1.6 for 256, 0.8 for 1024, 0.7 for 4096.
const LEAST_RESULTS: usize = 512;

/// Bytes of operands in memory from which on reading them once pays for rows that are not read in order.
///
/// Measured on 2026-11-26 (Zen 3, two sums over rows that share an operand): 0.83 of the time for 4 MB, 0.68
/// for 16 and 64 MB.
const READ_ONCE_BYTES: usize = 1 << 20;

/// Bytes of the largest elements.
const MOST_ITEM_BYTES: usize = 16;

/// How steps run together on rows, of which some may reduce these rows.
#[derive(Clone, Debug)]
pub(crate) struct Folded {
    pub(crate) kind: FoldKind,
    pub(crate) steps: Vec<FoldedStep>,
}

/// To what rows are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoldKind {
    /// To a row; those of a block are so many rows apart.
    Row { lanes: usize },
    /// To one element; a row has so many.
    One { row_elements: usize },
    /// To nothing: no step reduces rows.
    Kept,
}

impl FoldKind {
    /// The rows from one row of a block to the next.
    pub(crate) fn rows_apart(self) -> usize {
        match self {
            FoldKind::Row { lanes } => lanes,
            FoldKind::One { .. } | FoldKind::Kept => 1,
        }
    }
}

impl Folded {
    /// Of each step that reduces rows, the bytes of the values of a row.
    pub(super) fn row_bytes(&self) -> impl Iterator<Item = usize> + '_ {
        self.steps.iter().filter_map(|step| Some(step.row_elements() * step.dtype()?.item_size()))
    }

    /// Of each such step, the bytes of its results.
    pub(super) fn result_bytes(&self) -> impl Iterator<Item = usize> + '_ {
        let bytes = |step: &FoldedStep| Some(step.results.as_ref()?.0.numel() * step.dtype()?.item_size());
        self.steps.iter().filter_map(bytes)
    }
}

impl FoldedStep {
    /// The dtype of the values that a step which reduces rows takes.
    pub(crate) fn dtype(&self) -> Option<DType> {
        let program = self.work.program().filter(|_| self.results.is_some())?;
        Some(program.dtypes[program.result])
    }

    /// The values of a row that are reduced.
    pub(crate) fn row_elements(&self) -> usize {
        match &self.work {
            Work::Map { shape, .. } => self.steps * shape[1..].iter().product::<usize>(),
            Work::Reduce { .. } | Work::Matmul { .. } => 0,
        }
    }
}

/// What a step does to a block of rows.
#[derive(Clone, Debug)]
pub(crate) struct FoldedStep {
    /// The work on the rows of a lane. Of a reduction over rows, the values that it reduces, contiguous.
    pub(crate) work: Work,
    /// Steps of its outermost dimension that are a row.
    pub(crate) steps: usize,
    /// For each load the elements from a row to the next in its memory.
    pub(crate) row_strides: Vec<isize>,
    /// Where a reduction over rows writes: the sizes and strides of the values of a row in its results.
    pub(crate) results: Option<(Shape, Strides)>,
}

/// Steps that may run together.
#[derive(Clone, Debug)]
pub(crate) struct FoldGroup {
    pub(crate) steps: Range<usize>,
    pub(crate) rows: usize,
    pub(super) kind: FoldKind,
    /// For each step whether it reduces the rows.
    pub(super) reduces: Vec<bool>,
}

/// The steps that are to run together because some of them reduce the rows that others compute or read.
pub(super) fn folds(steps: &[Step], buffers: &[Buffer], results: &[usize]) -> Vec<FoldGroup> {
    let (mut folds, mut start): (Vec<FoldGroup>, _) = (Vec::new(), 0);
    // No operand of a small step is worth being read once.
    if steps.iter().all(|step| step.visits() < AGAIN_BYTES / MOST_ITEM_BYTES) {
        return folds;
    }
    let last = last_reads(steps, buffers.len(), results);
    while start < steps.len() {
        let of_rows = |rows| {
            let to_row = FoldKind::Row { lanes: lanes(rows) };
            let to_one = steps[start..].iter().take(MOST_STEPS).find_map(|step| to_one(step, rows));
            let kinds = to_one.into_iter().chain([to_row]);
            kinds.filter_map(move |kind| fold(steps, start, (rows, kind, results.len() > 1), buffers))
        };
        let is_possible = |fold: &FoldGroup| {
            let own = steps[fold.steps.clone()].iter().zip(&fold.reduces);
            let mut of_rows = own.filter(|&(_, reduces)| !reduces).map(|(step, _)| last[step.output]);
            matches!(fold.kind, FoldKind::Row { .. }) || of_rows.all(|last| last < Some(fold.steps.end))
        };
        let all = rows_of(&steps[start], buffers).flat_map(of_rows).filter(is_possible);
        // The more rows there are, the less a block holds.
        let best = all.max_by_key(|fold| (fold.steps.len(), fold.rows));
        start = best.as_ref().map_or(start + 1, |fold| fold.steps.end);
        folds.extend(best);
    }
    folds
}

/// The rows that a first step may have: those of its results, and those that it reduces.
fn rows_of(step: &Step, buffers: &[Buffer]) -> impl Iterator<Item = usize> {
    let own = buffers[step.output].shape.iter().copied().find(|&size| size > 1);
    let reduced = match &step.work {
        Work::Reduce { reduced, .. } if reduced.ndim() == 1 => Some(reduced[0]),
        _ => None,
    };
    own.into_iter().chain(reduced.filter(|&rows| rows > 1 && Some(rows) != own))
}

fn fold(
    steps: &[Step],
    start: usize,
    (rows, kind, are_several): (usize, FoldKind, bool),
    buffers: &[Buffer],
) -> Option<FoldGroup> {
    let near = &steps[start..steps.len().min(start + MOST_STEPS)];
    if !near.iter().any(|step| is_over_rows(step, rows, kind)) {
        return None;
    }
    let mut together = Together::new((rows, are_several), buffers);
    let mut reduces = Vec::new();
    let (mut results, mut computed): (SmallVec<[usize; 16]>, SmallVec<[usize; 16]>) = Default::default();
    // Whether a reduction takes rows that the steps compute.
    let mut takes_computed = false;
    for step in near {
        let is_of = |own: &[usize]| {
            step.work.sources().filter_map(ElementSource::buffer).any(|read| own.contains(&read))
        };
        if buffers[step.output].shape.numel() == 0 || is_of(&results) {
            break;
        }
        // Rows that two blocks compute are no block's to write, so that none are wanted for other steps.
        let is_complete = !results.is_empty() && matches!(kind, FoldKind::One { .. });
        let is_by_row = !is_complete && together.take(step);
        let reduced = if is_by_row { None } else { over_rows(step, rows, kind) };
        if !is_by_row && !reduced.is_some_and(|reduced| together.take_over(step, &reduced)) {
            break;
        }
        takes_computed |= !is_by_row && is_of(&computed);
        if is_by_row { &mut computed } else { &mut results }.push(step.output);
        reduces.push(!is_by_row);
    }
    let (own, again) = (&near[..reduces.len()], read_again(&near[..reduces.len()]));
    let is_to_row = matches!(kind, FoldKind::Row { .. });
    let saves =
        (takes_computed && again >= AGAIN_BYTES) || (are_several && is_to_row && again >= READ_ONCE_BYTES);
    (own.len() > 1 && !results.is_empty() && saves).then(|| FoldGroup {
        steps: start..start + own.len(),
        rows,
        kind,
        reduces,
    })
}

/// The kind of a step that reduces so many rows to one element.
fn to_one(step: &Step, rows: usize) -> Option<FoldKind> {
    match &step.work {
        Work::Reduce { kept, reduced, .. } if kept.numel() == 1 && reduced.numel() > rows => {
            let outer = reduced.first().is_some_and(|outer| outer % rows == 0);
            outer.then(|| FoldKind::One { row_elements: reduced.numel() / rows })
        }
        _ => None,
    }
}

/// Whether a step reduces so many rows.
fn is_over_rows(step: &Step, rows: usize, kind: FoldKind) -> bool {
    match (&step.work, kind) {
        (Work::Reduce { kept, reduced, .. }, FoldKind::Row { .. }) => {
            **reduced == [rows] && kept.numel() >= LEAST_RESULTS
        }
        (_, FoldKind::One { .. }) => to_one(step, rows) == Some(kind),
        _ => false,
    }
}

/// The loop of a step that reduces so many rows, rows first, and its loads' strides; `None` for other steps.
fn over_rows(step: &Step, rows: usize, kind: FoldKind) -> Option<(Shape, Vec<Strides>)> {
    let Work::Reduce { kept, reduced, program, .. } = &step.work else { return None };
    let is_to_one = matches!(kind, FoldKind::One { .. });
    let strides = program.loads.iter().map(|load| {
        let (kept, reduced) = load.strides.split_at(kept.ndim());
        joined(&[reduced, if is_to_one { &[] } else { kept }])
    });
    let shape = if is_to_one { reduced.clone() } else { first(rows, kept)? };
    is_over_rows(step, rows, kind).then_some((shape, strides.collect::<Option<_>>()?))
}

fn first(size: usize, others: &[usize]) -> Option<Shape> {
    let sizes: SmallVec<[usize; 8]> = std::iter::once(size).chain(others.iter().copied()).collect();
    Shape::new(&sizes).ok()
}

fn joined(parts: &[&[isize]]) -> Option<Strides> {
    Strides::new(&parts.concat()).ok()
}

impl FoldGroup {
    /// The most rows of a block of about `most`.
    pub(super) fn block(&self, most: usize) -> usize {
        match self.kind {
            FoldKind::Row { lanes } => {
                let lane = self.rows.min(LEAF_ELEMENTS).div_ceil(lanes);
                (most / BLOCK_ROW_MULTIPLE * BLOCK_ROW_MULTIPLE).max(BLOCK_ROW_MULTIPLE).min(lane)
            }
            // A leaf may begin and end within a row.
            FoldKind::One { row_elements } => {
                most.max(BLOCK_ROW_MULTIPLE).max(LEAF_ELEMENTS.div_ceil(row_elements) + 2).min(self.rows)
            }
            FoldKind::Kept => most.clamp(1, self.rows),
        }
    }

    /// What is done to a block of rows; `None` where that would take a loop of too many dimensions.
    pub(super) fn folded(&self, steps: &[Step], buffers: &[Buffer]) -> Option<Folded> {
        let (lanes, own) = (self.kind.rows_apart(), || steps[self.steps.clone()].iter().zip(&self.reduces));
        let computed: HashSet<usize> = own().map(|(step, _)| step.output).collect();
        let is_own = |load: &Load| load.source.buffer().is_some_and(|buffer| computed.contains(&buffer));
        // Rows that are not computed where they lie cannot be read there once the place is a result's.
        let slots: HashSet<usize> = computed.iter().map(|&output| buffers[output].slot).collect();
        let is_overwritten = |read: usize| !computed.contains(&read) && slots.contains(&buffers[read].slot);
        let mut reads = own().flat_map(|(step, _)| step.work.sources()).filter_map(ElementSource::buffer);
        if self.kind != FoldKind::Kept && reads.any(is_overwritten) {
            return None;
        }
        let made = own().map(|(step, &reduces)| match reduces {
            true => self.reducing(step, lanes, is_own),
            false => self.by_row(step, lanes, is_own),
        });
        Some(Folded { kind: self.kind, steps: made.collect::<Option<_>>()? })
    }

    /// A step that reduces the rows: it computes them as they are.
    fn reducing(&self, step: &Step, lanes: usize, is_own: impl Fn(&Load) -> bool) -> Option<FoldedStep> {
        let Work::Reduce { kept, reduced, program, .. } = &step.work else { return None };
        if let FoldKind::One { .. } = self.kind {
            let mut program = program.clone();
            program.loads.iter_mut().try_for_each(|load| {
                load.strides = joined(&[&load.strides[kept.ndim()..]])?;
                Some(())
            })?;
            let (shape, out) = (reduced.clone(), contiguous_strides(reduced));
            let values = Step {
                work: Work::Map { shape, program, out, out_offset: 0 },
                text: String::new(),
                dead: Vec::new(),
                ..*step
            };
            let one = (Shape::default(), Strides::default());
            return Some(FoldedStep { results: Some(one), ..self.by_row(&values, 1, is_own)? });
        }
        let results = contiguous_strides(kept);
        let of_loads = program.loads.iter().map(|load| &load.strides[..kept.ndim()]);
        let all: Vec<&[isize]> = of_loads.chain([&results[..]]).collect();
        let (ordered, strides) = order_dims(kept, &all);
        let (ordered, mut strides) = coalesce(&ordered, &slices(&strides));
        let results = strides.pop()?;
        let mut program = program.clone();
        let mut row_strides = Vec::new();
        for (load, of_row) in program.loads.iter_mut().zip(&strides) {
            let (step, row) = (load.strides[kept.ndim()], of_row);
            row_strides.push(step);
            let step = if is_own(load) { step } else { step.checked_mul(lanes as isize)? };
            load.strides = joined(&[&[step], row])?;
        }
        let shape = first(self.rows.div_ceil(lanes), &ordered)?;
        let work = Work::Map { out: contiguous_strides(&shape), shape, program, out_offset: 0 };
        Some(FoldedStep { work, steps: 1, row_strides, results: Some((ordered, results)) })
    }

    /// A step that does the same to each row.
    fn by_row(&self, step: &Step, lanes: usize, is_own: impl Fn(&Load) -> bool) -> Option<FoldedStep> {
        let mut work = step.work.clone();
        let (shape, program, mut out) = match &mut work {
            Work::Map { shape, program, out, .. } => (shape, program, Some(out)),
            Work::Reduce { kept, program, .. } => (kept, program, None),
            Work::Matmul { .. } => return None,
        };
        let steps = shape[0] / self.rows;
        let row = |strides: &Strides| strides[0].checked_mul(steps as isize);
        let row_strides = program.loads.iter().map(|load| row(&load.strides)).collect::<Option<_>>()?;
        if lanes == 1 {
            return Some(FoldedStep { work, steps, row_strides, results: None });
        }
        // The outermost dimension as rows, which are apart in memory, and what is in a row.
        let inner = usize::from(steps == 1);
        let apart = |strides: &Strides, lanes: usize| {
            joined(&[&[row(strides)?.checked_mul(lanes as isize)?], &strides[inner..]])
        };
        for load in &mut program.loads {
            load.strides = apart(&load.strides, if is_own(load) { 1 } else { lanes })?;
        }
        if let Some(out) = &mut out {
            **out = apart(out, 1)?;
        }
        let mut sizes: SmallVec<[usize; 8]> = shape[inner..].into();
        if steps > 1 {
            sizes[0] = steps;
        }
        *shape = first(self.rows.div_ceil(lanes), &sizes)?;
        Some(FoldedStep { work, steps: 1, row_strides, results: None })
    }
}
