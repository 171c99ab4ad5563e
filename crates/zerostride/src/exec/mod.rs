//! Owns the running of plans: memory for results, threads, tiles. `Plan` goes in, a tensor comes out. It does not
//! decide what is fused or hoisted (`plan`).

mod body;
mod cache;
mod elements;
mod schedule;

use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_kernels::Reducer;
use zerostride_ops::{DType, OpError, can_cast};
use zerostride_shape::{InternalOverlap, Layout, Overlap, check_in_place, checked_bytes};

use crate::expr::Expr;
use crate::memory::{Access, Block, Fresh, Named};
use crate::plan::{Buffer, Leaf, Load, Plan, Source, Step, TILE_ELEMENTS, Work};
use crate::{Error, Result, Tensor, interrupt};

pub(crate) use body::Folding;
pub(crate) use schedule::inline::{self, Any};

use body::{FactorElements, Machine, ReduceStep};
use elements::Window;
use schedule::blocks;
use schedule::panels::{self, InCache};

/// The value of an expression over tensors, in memory of its own.
pub(crate) fn evaluate(expr: &Expr) -> Result<Tensor> {
    match inline::evaluate(expr) {
        Some(result) => Ok(result),
        None => run(&Plan::new(expr)?),
    }
}

/// Runs a plan into memory of its own.
pub(crate) fn run(plan: &Plan) -> Result<Tensor> {
    match inline::run_plan(plan) {
        Some(result) => Ok(result),
        None => run_at_length(plan),
    }
}

fn run_at_length(plan: &Plan) -> Result<Tensor> {
    let memory = claim(plan, None)?;
    let result = asking(!memory.is_brief(), || run_steps(plan, &memory))?;
    Ok(share(plan, result))
}

/// Runs what may be asked whether to go on, unless it holds brief claims: no foreign code runs beside those.
fn asking<R>(asks: bool, work: impl FnOnce() -> R) -> R {
    if asks { work() } else { interrupt::put_off(work) }
}

/// Evaluates into an existing tensor, whose shape and dtype stay.
pub(crate) fn run_into(expr: &Expr, out: &Tensor) -> Result<()> {
    if inline::evaluate_into(expr, out).is_some() {
        return Ok(());
    }
    if out.layout().has_internal_overlap() != InternalOverlap::No {
        return Err(Error::WriteToExpanded);
    }
    let meta = expr.meta()?;
    check_in_place(out.shape(), &meta.shape)?;
    if !can_cast(meta.dtype(), out.dtype()) {
        return Err(OpError::Cast { from: meta.dtype(), to: out.dtype() }.into());
    }
    let expr = expr.to_dtype(out.dtype());
    let plan = Plan::into_layout(&expr, out.layout())?;
    if writes_over_what_it_has_read(&plan, out) {
        let mut memory = claim(&plan, Some(out))?;
        return asking(!memory.is_brief(), || run_steps_into(&plan, &mut memory, out));
    }
    // The result is computed first, then copied. The target is claimed all the while, so that both are one write.
    let plan = Plan::new(&expr)?;
    let mut memory = claim(&plan, Some(out))?;
    asking(!memory.is_brief(), || {
        let result = run_steps(&plan, &memory)?;
        let copy = Plan::into_layout(&Expr::from(&share(&plan, result)), out.layout())?;
        let own = copy.leaves.iter().map(|leaf| leaf.tensor.claim(false));
        memory.add(Access::brief(own).expect("nobody else has the result"));
        run_steps_into(&copy, &mut memory, out)
    })
}

/// Whether a plan may write straight to its target: each element is read, if at all, for its own result, just before
/// that is written.
fn writes_over_what_it_has_read(plan: &Plan, out: &Tensor) -> bool {
    let shares = |leaf: &Leaf| leaf.tensor.shares_storage(out);
    if plan.leaves.iter().any(|leaf| leaf.tensor.meets_elsewhere(out)) {
        return false;
    }
    match &plan.passes.steps[..] {
        [Step { work: Work::Map { shape, program, out: strides, out_offset }, .. }] => {
            let target = Layout::new(shape.clone(), strides.clone(), *out_offset);
            program.loads.iter().all(|load| match load.source {
                Source::Leaf(leaf) if shares(&plan.leaves[leaf]) => {
                    let same =
                        load.strides == *strides && load.offset == *out_offset && load.dtype == out.dtype();
                    let read = Layout::new(shape.clone(), load.strides.clone(), load.offset);
                    same || matches!((&read, &target), (Ok(read), Ok(target))
                        if read.overlap(target) == Overlap::None)
                }
                _ => true,
            })
        }
        // A product is written to memory of its own.
        [.., Step { work: Work::Matmul { .. }, .. }] => false,
        _ => !plan.leaves.iter().any(shares),
    }
}

/// The result of each step of a plan that is still needed, by its slot.
type Slots = SmallVec<[Option<Fresh>; 4]>;

/// Runs all steps of a plan and hands out the result's memory.
fn run_steps(plan: &Plan, memory: &Access) -> Result<Fresh> {
    let mut slots = run_some(plan, plan.passes.steps.len(), memory)?;
    Ok(slots[plan.passes.buffers[plan.result()].slot].take().expect("the last step has written its slot"))
}

/// Runs all steps of a plan, the last into its target.
fn run_steps_into(plan: &Plan, memory: &mut Access, target: &Tensor) -> Result<()> {
    let last = plan.passes.steps.len() - 1;
    let group = plan.passes.groups.iter().find(|group| group.steps.end > last);
    let mut slots = run_some(plan, group.map_or(last, |group| group.steps.start), memory)?;
    memory.start_writing(target.storage());
    let out = memory.guard(target.storage()).block_mut(target.reach());
    match group {
        Some(group) => blocks::run(plan, group, memory, &mut slots, Some(out)),
        None => run_step(&plan.passes.steps[last], plan, memory, &slots, out),
    }
}

/// Runs the first `count` steps.
fn run_some(plan: &Plan, count: usize, memory: &Access) -> Result<Slots> {
    let mut slots: Slots = std::iter::repeat_with(|| None).take(plan.passes.buffers.len()).collect();
    let (mut index, mut groups) = (0, plan.passes.groups.iter().peekable());
    while index < count {
        let steps = match groups.next_if(|group| group.steps.start == index) {
            Some(group) => {
                blocks::run(plan, group, memory, &mut slots, None)?;
                group.steps.clone()
            }
            None => {
                run_one(plan, &plan.passes.steps[index], memory, &mut slots)?;
                index..index + 1
            }
        };
        for &slot in plan.passes.steps[steps.clone()].iter().flat_map(|step| &step.dead) {
            slots[slot] = None;
        }
        index = steps.end;
    }
    Ok(slots)
}

/// Runs a step; its result is in its slot afterwards.
fn run_one(plan: &Plan, step: &Step, memory: &Access, slots: &mut Slots) -> Result<()> {
    let buffer = &plan.passes.buffers[step.output];
    // An operand that dies may give the result its memory.
    let mut fresh = match slots[buffer.slot].take() {
        Some(fresh) => fresh,
        None => allocate(buffer)?,
    };
    match &step.work {
        Work::Matmul { a, b, .. } => {
            let (a, b) = (factor(a.source, plan, memory, slots), factor(b.source, plan, memory, slots));
            body::multiply(&step.work, a, b, fresh.bytes_mut());
        }
        _ => match run_in_order(step, plan, memory, slots, fresh.bytes_mut()) {
            Some(done) => done?,
            None => run_step(step, plan, memory, slots, fresh.block_mut())?,
        },
    }
    slots[buffer.slot] = Some(fresh);
    Ok(())
}

/// Runs an element-wise step on elements in order that are not worth dividing: without the panels that would take longer to
/// make than they to compute. `None` if it is no such step.
fn run_in_order(
    step: &Step,
    plan: &Plan,
    memory: &Access,
    slots: &Slots,
    out: &mut [u8],
) -> Option<Result<()>> {
    let Work::Map { shape, program, out: strides, out_offset: 0 } = &step.work else { return None };
    let are_in_order = |strides: &[isize]| shape.ndim() < 2 && strides.iter().all(|&stride| stride == 1);
    let Some(InCache::InOrder(code)) = panels::in_cache(shape, program).filter(|_| are_in_order(strides))
    else {
        return None;
    };
    let load = |load: &Load| {
        let lying = elements(load.source, plan, memory, slots)?;
        let item = load.dtype.item_size();
        let count = match load.strides.iter().all(|&stride| stride == 0) {
            true => 1,
            false if are_in_order(&load.strides) => shape.numel(),
            false => return None,
        };
        let bytes = &lying.bytes[(load.offset as usize - lying.first) * item..][..count * item];
        // Block kernels want elements aligned.
        bytes.as_ptr().addr().is_multiple_of(item.min(align_of::<f64>())).then_some(bytes)
    };
    let loads: SmallVec<[&[u8]; 4]> = program.loads.iter().map(load).collect::<Option<_>>()?;
    Some(Machine::new(code, TILE_ELEMENTS.min(shape.numel())).run_in_order(&loads, out))
}

fn share(plan: &Plan, result: Fresh) -> Tensor {
    let buffer = &plan.passes.buffers[plan.result()];
    Tensor::new(result.share(), Layout::contiguous(buffer.shape.clone()), buffer.dtype)
}

fn run_step(step: &Step, plan: &Plan, memory: &Access, slots: &Slots, out: Block<'_>) -> Result<()> {
    let buffer = &plan.passes.buffers[step.output];
    // A dying operand lies in the output's own block, which is out of its slot while the step runs.
    let own = out.reader();
    let read = |source: Source| match source {
        Source::Leaf(leaf) => block(memory, &plan.leaves[leaf]),
        Source::Buffer(index) => match &slots[plan.passes.buffers[index].slot] {
            Some(fresh) => fresh.block(),
            None => own.reader(),
        },
    };
    PreparedStep::new(&step.work, &Window::ALL).run(&Window::ALL, read, out, buffer.dtype)
}

/// A step made ready for windows of as many steps each.
enum PreparedStep<'p> {
    Map(panels::MapStep<'p>),
    Reduce(ReduceStep<'p>),
}

impl<'p> PreparedStep<'p> {
    fn new(work: &'p Work, window: &Window) -> PreparedStep<'p> {
        match work {
            Work::Map { shape, program, out, out_offset } => {
                PreparedStep::Map(panels::MapStep::new(shape, program, (out, *out_offset), window))
            }
            Work::Reduce { op, compute, correction, kept, reduced, program, finish } => {
                let takes = program.dtypes[program.result];
                let reducer = Reducer::new(*op, *compute, takes, reduced.numel(), *correction);
                let programs = (program, finish.as_deref());
                PreparedStep::Reduce(ReduceStep::new(reducer, (kept, reduced), programs, window))
            }
            Work::Matmul { .. } => unreachable!("a matrix product is written to memory of its own"),
        }
    }

    /// Runs a window of the step's work.
    fn run<'a>(
        &mut self,
        window: &Window,
        read: impl Fn(Source) -> Block<'a>,
        out: Block<'a>,
        dtype: DType,
    ) -> Result<()> {
        match self {
            PreparedStep::Map(map) => map.run(window, read, out, dtype),
            PreparedStep::Reduce(reduce) => reduce.run(window, read, out, dtype),
        }
    }
}

/// The elements of a factor of a matrix product.
fn factor<'a>(source: Source, plan: &'a Plan, memory: &'a Access, slots: &'a Slots) -> FactorElements<'a> {
    elements(source, plan, memory, slots).expect("a factor is computed before its product")
}

/// The elements of an operand or a result; `None` if it is not there, being written over.
fn elements<'a>(
    source: Source,
    plan: &'a Plan,
    memory: &'a Access,
    slots: &'a Slots,
) -> Option<FactorElements<'a>> {
    match source {
        Source::Leaf(leaf) => {
            let leaf = &plan.leaves[leaf];
            let first = leaf.first_byte() / leaf.tensor.dtype().item_size();
            Some(FactorElements {
                bytes: memory.guard(leaf.tensor.storage()).bytes(leaf.tensor.reach()),
                first,
            })
        }
        Source::Buffer(index) => {
            let fresh = slots[plan.passes.buffers[index].slot].as_ref()?;
            Some(FactorElements { bytes: fresh.bytes(), first: 0 })
        }
    }
}

fn allocate(buffer: &Buffer) -> Result<Fresh> {
    let bytes = checked_bytes(&buffer.shape, buffer.dtype.item_size())?;
    Fresh::arbitrary(bytes).ok_or_else(|| Error::OutOfMemory { bytes, shape: buffer.shape.clone() })
}

/// Permission for a plan: brief if the plan is short and nobody uses any of its tensors.
fn claim(plan: &Plan, target: Option<&Tensor>) -> Result<Access> {
    if target.is_some_and(|target| !target.is_writable()) {
        return Err(Error::ReadOnly);
    }
    let reads = plan.leaves.iter().map(|leaf| leaf.tensor.claim(false));
    let claims = || reads.clone().chain(target.map(|target| target.claim(true)));
    let brief = plan.is_short().then(|| Access::brief(claims())).flatten();
    let access = match brief {
        Some(access) => access,
        None => Access::wait(claims(), Some(Arc::clone(&plan.passes) as Arc<dyn Named>))?,
    };
    for leaf in &plan.leaves {
        let found = access.guard(leaf.tensor.storage()).version();
        if let Some(captured) = leaf.version.filter(|&captured| captured != found) {
            return Err(Error::Modified { shape: leaf.tensor.shape_value().clone(), captured, found });
        }
    }
    Ok(access)
}

/// The elements of an operand, where its plan counts them.
fn block<'a>(memory: &'a Access, leaf: &Leaf) -> Block<'a> {
    memory.guard(leaf.tensor.storage()).block(leaf.tensor.reach()).moved_to(leaf.first_byte())
}
