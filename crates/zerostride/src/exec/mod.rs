//! Owns the running of plans on tensors: claims on what they read and write, and whether a result may go
//! straight to its target. It does not decide what is fused or hoisted (`plan`). Where elements are
//! (`elements`), what is done to a row of them (`body`) and who runs which part (`schedule`) are its three
//! questions.

mod body;
mod cache;
#[cfg(feature = "cuda")]
pub(crate) mod device;
mod elements;
mod schedule;

use std::sync::Arc;

use zerostride_ops::{OpError, can_cast};
use zerostride_shape::{InternalOverlap, Layout, Overlap, check_in_place};

use crate::expr::Expr;
use crate::memory::{Access, Named};
use crate::plan::{Buffer, ElementSource, Leaf, Plan, Step, Work};
use crate::{Error, Result, Tensor, interrupt};

pub(crate) use body::Folding;
pub(crate) use elements::StridedDims;
pub(crate) use schedule::inline::{self, ReadyOperand};

use schedule::steps;
use schedule::work::Slots;

/// The value of an expression over tensors, in memory of its own.
pub(crate) fn evaluate(expr: &Expr) -> Result<Tensor> {
    let at_once = if expr.node().in_order { inline::evaluate(expr) } else { None };
    at_once.map_or_else(|| run(&Plan::new(expr)?), Ok)
}

/// Runs a plan into memory of its own.
pub(crate) fn run(plan: &Plan) -> Result<Tensor> {
    inline::run_plan(plan).map_or_else(|| Ok(run_with_claims(plan)?.swap_remove(0)), Ok)
}

/// Runs a plan of any number of results, each into memory of its own.
pub(crate) fn run_all(plan: &Plan) -> Result<Vec<Tensor>> {
    if plan.passes.results.len() == 1 { Ok(vec![run(plan)?]) } else { run_with_claims(plan) }
}

fn run_with_claims(plan: &Plan) -> Result<Vec<Tensor>> {
    #[cfg(feature = "cuda")]
    let on_device = device::run(plan)?;
    #[cfg(not(feature = "cuda"))]
    let on_device = None;
    let computed = on_device.map_or_else(
        || {
            let mut memory = claim(plan, None)?;
            Ok(share(plan, interruptible(&mut memory, |memory| steps::run(plan, memory, None))?))
        },
        Ok::<_, Error>,
    )?;
    let mut results: Vec<Tensor> = Vec::with_capacity(plan.passes.results.len());
    for (index, result) in computed.into_iter().enumerate() {
        // An expression that was given twice has been computed once.
        let twin = || plan.passes.results.iter().position(|&other| other == plan.passes.results[index]);
        results.push(match result {
            Some(result) => result,
            None => evaluate(&Expr::current(&results[twin().expect("the first has the memory")]))?,
        });
    }
    Ok(results)
}

/// Runs work that an interrupt ends, unless it holds brief claims: no foreign code runs beside those.
fn interruptible<R>(memory: &mut Access, work: impl FnOnce(&mut Access) -> R) -> R {
    if memory.is_brief() { interrupt::put_off(|| work(memory)) } else { work(memory) }
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
    let direct = writes_over_what_it_has_read(&plan, out);
    #[cfg(feature = "cuda")]
    if device::run_into(&expr, &plan, out, direct)?.is_some() {
        return Ok(());
    }
    if direct {
        let mut memory = claim(&plan, Some(out))?;
        return interruptible(&mut memory, |memory| steps::run(&plan, memory, Some(out))).map(drop);
    }
    // The result is computed first, then copied. The target is claimed all the while, so that both are one
    // write.
    let plan = Plan::new(&expr)?;
    let mut memory = claim(&plan, Some(out))?;
    interruptible(&mut memory, |memory| {
        let result = share(&plan, steps::run(&plan, memory, None)?).swap_remove(0);
        let copy = Plan::into_layout(&Expr::from(&result.expect("a plan has a result")), out.layout())?;
        // No other operation has the result. After a fork its memory may still name the parent's process:
        // then it is claimed as other memory is, without any claim to wait for.
        let own = || copy.leaves.iter().map(|leaf| leaf.tensor.claim(false));
        memory.add(Access::brief(own()).map_or_else(|| Access::wait(own(), None), Ok)?);
        steps::run(&copy, memory, Some(out)).map(drop)
    })
}

/// The most bytes of a device that [`run_into`] takes there at once besides operands and target, which has a
/// layout in memory that no operand shares.
#[cfg(feature = "cuda")]
pub(crate) fn device_scratch_into(expr: &Expr, out: &Layout) -> Result<u64> {
    let plan = Plan::into_layout(expr, out)?;
    if !ends_in_product(&plan) {
        return Ok(device::scratch_bytes(&plan));
    }
    let apart = Plan::new(expr)?;
    Ok(device::scratch_bytes(&apart).saturating_add(apart.output_bytes() as u64))
}

/// Whether a plan may write straight to its target: each element is read, if at all, for its own result, just
/// before that is written.
fn writes_over_what_it_has_read(plan: &Plan, out: &Tensor) -> bool {
    let shares = |leaf: &Leaf| leaf.tensor.shares_storage(out);
    if plan.leaves.iter().any(|leaf| leaf.tensor.meets_elsewhere(out)) {
        return false;
    }
    match &plan.passes.steps[..] {
        [Step { work: Work::Map { shape, program, out: strides, out_offset }, .. }] => {
            let target = Layout::new(shape.clone(), strides.clone(), *out_offset);
            program.loads.iter().all(|load| match load.source {
                ElementSource::Leaf(leaf) if shares(&plan.leaves[leaf]) => {
                    let same =
                        load.strides == *strides && load.offset == *out_offset && load.dtype == out.dtype();
                    let read = Layout::new(shape.clone(), load.strides.clone(), load.offset);
                    same || matches!((&read, &target), (Ok(read), Ok(target))
                        if read.overlap(target) == Overlap::None)
                }
                _ => true,
            })
        }
        _ if ends_in_product(plan) => false,
        _ => !plan.leaves.iter().any(shares),
    }
}

/// Whether a product computes the result of a plan: it is written to memory of its own.
fn ends_in_product(plan: &Plan) -> bool {
    matches!(plan.passes.steps.last(), Some(Step { work: Work::Matmul { .. }, .. }))
}

/// The tensors that a plan's results are, each where it comes first.
fn share(plan: &Plan, mut slots: Slots) -> Vec<Option<Tensor>> {
    let tensor = |(&result, layout): (&usize, &Layout)| {
        let Buffer { dtype, slot, .. } = plan.passes.buffers[result];
        Some(Tensor::new(slots[slot].take()?.share(), layout.clone(), dtype))
    };
    plan.passes.results.iter().zip(&plan.passes.layouts).map(tensor).collect()
}

/// Permission for a plan: brief if the plan is short and no other operation uses any of its tensors.
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
        leaf.check(access.guard(leaf.tensor.storage()).version())?;
    }
    Ok(access)
}
