//! Owns `Plan`: what evaluation will do, as a value that can be printed, counted and run. It does not touch
//! elements.

mod cache;
mod cost;
mod display;
mod folded;
mod grid;
mod liveness;
mod lower;
mod make;
mod memory;
mod order;
mod pairs;
mod panel;
mod product;
mod program;
mod reduce_walk;
mod reduction;
mod results;
mod rows;
mod template;
mod together;
mod turned;
mod uses;

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_ops::{DType, Op};
use zerostride_shape::{Layout, Shape};

pub(crate) use cost::Cost;
pub(crate) use folded::{FoldKind, FoldedStep};
pub(crate) use grid::{FoldForm, Grid, LANE_ROWS, NARROW_RESULTS, widest};
#[cfg(feature = "cuda")]
pub(crate) use liveness::last_reads;
pub(crate) use lower::Leaf;
pub(crate) use pairs::{KnownPairs, PAIR_COLUMNS, PAIR_ROWS, Pairs};
pub(crate) use panel::{LEAST_PRINTED_ROW_BYTES, Panel, PanelWalk, RowForm};
pub(crate) use product::plan as plan_product;
pub(crate) use program::{
    Buffer, ElementSource, Factor, GRAIN_ELEMENTS, Instruction, Load, Program, REDUCED_TILE_ELEMENTS,
    Register, Step, TILE_ELEMENTS, Work, by_part,
};
pub(crate) use reduce_walk::{ReduceWalk, SHORT_LINE_ELEMENTS, SHORT_PRINTED_LINE_ELEMENTS};
pub(crate) use results::lies;
pub(crate) use rows::Group;
pub use template::Template;

use crate::expr::Expr;
use crate::memory::Named;
use crate::num_threads;

/// How an expression will be evaluated: its passes over memory, in order.
///
/// A plan tells before anything runs how often each operation will be applied, what is read and written, and
/// what memory is needed besides operands and result.
///
/// ```
/// use zerostride::{Expr, Op, Tensor, num_threads};
/// let a = Tensor::rand(&[100, 1, 8], 1)?;
/// let b = Tensor::rand(&[1, 100, 8], 2)?;
/// let plan = (&a - &b).square().sum(-1).plan()?;
/// assert_eq!(plan.operations(Op::Sub), 100 * 100 * 8);
/// assert_eq!(plan.output_bytes(), 100 * 100 * 4);
/// assert!(plan.scratch_bytes() <= num_threads() << 16); // tiles: the (100, 100, 8) array never exists
/// println!("{plan}");
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone)]
pub struct Plan {
    pub(crate) leaves: SmallVec<[Leaf; 6]>,
    pub(crate) passes: Arc<PlanSteps>,
    /// What a policy looks at before the plan runs; none where it has looked already.
    pub(crate) roots: Vec<Expr>,
}

/// What plans of one structure share, whatever tensors they are on.
pub(crate) struct PlanSteps {
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) steps: Vec<Step>,
    /// Steps that run together.
    pub(crate) groups: Vec<Group>,
    /// The buffers that are results, in the order of the expressions.
    pub(crate) results: SmallVec<[usize; 1]>,
    /// How they lie.
    pub(crate) layouts: SmallVec<[Layout; 1]>,
}

impl Plan {
    /// How often an operation will be applied to an element.
    pub fn operations(&self, op: Op) -> usize {
        self.passes
            .steps
            .iter()
            .map(|step| {
                step.operations().filter(|(own, _)| *own == op).map(|(_, count)| count).sum::<usize>()
            })
            .sum()
    }

    /// Passes over memory.
    pub fn passes(&self) -> usize {
        self.passes.steps.len()
    }

    /// Bytes that passes read, each pass counted, stretched elements once.
    pub fn bytes_read(&self) -> usize {
        let reads = self.passes.steps.iter().flat_map(|step| step.work.reads());
        reads.map(|(_, dtype, count)| count.saturating_mul(dtype.item_size())).fold(0, usize::saturating_add)
    }

    /// Bytes that passes write, each pass counted.
    pub fn bytes_written(&self) -> usize {
        self.passes.steps.iter().map(|step| self.bytes_of(step.output)).fold(0, usize::saturating_add)
    }

    /// Bytes of the result, or of all of several.
    pub fn output_bytes(&self) -> usize {
        self.passes.results.iter().map(|&result| self.bytes_of(result)).fold(0, usize::saturating_add)
    }

    /// The most bytes held at once besides operands and result: intermediate results, and tiles of all
    /// threads that [`num_threads`](crate::num_threads) counts, each of which has its own.
    pub fn scratch_bytes(&self) -> usize {
        let PlanSteps { steps, groups, .. } = &*self.passes;
        let alone = steps.iter().map(|step| memory::tile_bytes(step, false));
        // A thread keeps the tiles of all steps of a group.
        let together = |group: &Group| -> usize {
            steps[group.steps.clone()].iter().map(|step| memory::tile_bytes(step, true)).sum()
        };
        let tiles = alone.chain(groups.iter().map(together)).max().unwrap_or(0);
        self.intermediate_bytes().saturating_add(tiles)
    }

    /// The most bytes of intermediate results at once, of all threads.
    fn intermediate_bytes(&self) -> usize {
        let PlanSteps { buffers, steps, groups, results, .. } = &*self.passes;
        let local = groups.iter().map(|group| group.local_bytes(num_threads())).max().unwrap_or(0);
        memory::peak(steps, buffers, results).saturating_add(local)
    }

    /// The sub-expressions that are computed once at a smaller shape and stretched where they are used.
    pub fn hoisted(&self) -> Vec<&str> {
        self.passes.steps.iter().filter(|step| step.hoisted).map(|step| &step.text[..]).collect()
    }

    /// The shape of the result, or of the first of several.
    pub fn shape(&self) -> &Shape {
        &self.passes.buffers[self.result()].shape
    }

    /// The dtype of the result, or of the first of several.
    pub fn dtype(&self) -> DType {
        self.passes.buffers[self.result()].dtype
    }

    /// Whether the evaluation is not worth dividing among threads.
    pub(crate) fn is_short(&self) -> bool {
        self.visits() <= GRAIN_ELEMENTS
    }

    /// The elements that all passes visit together.
    fn visits(&self) -> usize {
        self.passes.steps.iter().map(Step::visits).fold(0, usize::saturating_add)
    }

    /// The buffer of the result, or of the first of several.
    pub(crate) fn result(&self) -> usize {
        self.passes.results[0]
    }

    fn bytes_of(&self, buffer: usize) -> usize {
        let buffer = &self.passes.buffers[buffer];
        buffer.shape.numel().saturating_mul(buffer.dtype.item_size())
    }
}

impl Named for PlanSteps {
    fn name(&self) -> String {
        self.steps.last().map(|step| step.text.to_string()).unwrap_or_default()
    }
}

impl Step {
    /// The elements that the step's loop visits.
    pub(crate) fn visits(&self) -> usize {
        match &self.work {
            Work::Map { shape, .. } => shape.numel(),
            Work::Reduce { kept, reduced, .. } => kept.numel().saturating_mul(reduced.numel()),
            Work::Matmul { batch, n, m, k, .. } => {
                [*n, *m, *k].iter().fold(batch.numel(), |count, &size| count.saturating_mul(size))
            }
        }
    }

    /// Operations with the number of elements each is applied to.
    fn operations(&self) -> impl Iterator<Item = (Op, usize)> + '_ {
        let visits = self.visits();
        let (program, reduction, finish) = match &self.work {
            Work::Map { program, .. } => (Some(program), None, None),
            Work::Reduce { program, op, finish, kept, .. } => {
                (Some(program), Some(op.op()), finish.as_deref().map(|finish| (finish, kept.numel())))
            }
            Work::Matmul { .. } => (None, None, None),
        };
        let finish =
            finish.into_iter().flat_map(|(finish, count)| finish.operations().map(move |op| (op, count)));
        let on_all = program.into_iter().flat_map(Program::operations).chain(reduction);
        on_all.map(move |op| (op, visits)).chain(finish)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("steps", &self.passes.steps)
            .field("buffers", &self.passes.buffers)
            .finish_non_exhaustive()
    }
}
