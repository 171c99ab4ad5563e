//! Owns the check of an expression before it is evaluated: which of its operations broadcast, and what the
//! policy says. It does not know how expressions are planned; it asks a plan which arrays it will hold.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::slice;

use zerostride_shape::{Class, Classes, Shape, broadcast_shape};

use super::hook::warn;
use super::rules::Action;
use super::scope;
use crate::caller::Caller;
use crate::error::{Objection, Record};
use crate::expr::{Kind, operands_first};
use crate::fork::{Guarded, Lock};
use crate::plan::Plan;
use crate::{Error, Expr, Result};

/// Where the value of an expression goes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ResultMemory {
    /// Memory of its own.
    New,
    /// A tensor that exists.
    Existing,
}

/// Looks at the broadcasts of an expression as [`Expr::eval`] would, and computes nothing.
///
/// # Errors
/// The policy in force refuses one of them.
///
/// ```
/// use zerostride::{tensor, policy::{self, Action, Class, Policy}};
/// let sum = tensor![[1, 2]] + tensor![[1], [2]];
/// let _strict = Policy::new().with(Class::MutualStretch, Action::Error).enter();
/// assert!(policy::check(&sum).is_err());
/// ```
#[track_caller]
pub fn check(expr: &Expr) -> Result<()> {
    if scope::is_on() { look(slice::from_ref(expr), ResultMemory::New) } else { Ok(()) }
}

/// Looks at every broadcast of expressions that are evaluated together, operands first.
#[cold]
#[track_caller]
pub(crate) fn look(roots: &[Expr], target: ResultMemory) -> Result<()> {
    // An expression without a value says why when it is evaluated.
    if roots.iter().any(|root| root.meta().is_err()) {
        return Ok(());
    }
    let evaluator = Caller::here();
    let walk = Walk { roots, target, evaluator, held: OnceCell::new() };
    operands_first(roots, |_| true).into_iter().try_for_each(|node| walk.judge(node))
}

struct Walk<'a> {
    roots: &'a [Expr],
    target: ResultMemory,
    evaluator: Caller,
    /// The shapes of the arrays that the plan holds; `None` where there is no plan.
    held: OnceCell<Option<HashSet<Shape>>>,
}

impl Walk<'_> {
    fn judge(&self, expr: &Expr) -> Result<()> {
        let kind = &expr.node().kind;
        // Of a gradient the forward operations are looked at: the others stretch what these have stretched.
        let written = expr.node().caller.as_ref().filter(|caller| !caller.is_derivative());
        let Some(written) = written else { return Ok(()) };
        let meta = expr.meta()?;
        let broadcast = match kind {
            Kind::Map { op, operands, .. } => {
                let tensors = operands.iter().filter(|operand| operand.bare_number().is_none());
                let shapes = tensors.map(|operand| operand.meta().map(|meta| meta.shape.clone()));
                Some((op.name(), shapes.collect::<Result<Vec<Shape>>>()?, meta.shape.clone()))
            }
            Kind::Matmul { factors: [a, b] } => batches(&a.meta()?.shape, &b.meta()?.shape, &meta.shape)?,
            _ => None,
        };
        let Some((op, shapes, result)) = broadcast else { return Ok(()) };
        if shapes.iter().all(|shape| *shape == result) {
            return Ok(());
        }
        let stored = self.is_stored(expr, &result);
        let caller = if written.is_engine() { self.evaluator.clone() } else { written.clone() };
        let bytes = result.numel() as u128 * meta.dtype().item_size() as u128;
        judge(op.into(), shapes, result, bytes, stored, caller)
            .map_err(|error| error.within(|| expr.formula()))
    }

    /// Whether an array of the broadcast's shape will be allocated: as the result, or by a pass of the plan.
    fn is_stored(&self, expr: &Expr, shape: &Shape) -> bool {
        if self.roots.iter().any(|root| root.id() == expr.id()) {
            return self.target == ResultMemory::New;
        }
        let held = || {
            let plan = Plan::of(self.roots).ok()?;
            let held = plan.passes.buffers.iter().enumerate();
            let is_target = |index: usize| self.target == ResultMemory::Existing && index == plan.result();
            Some(
                held.filter(|(index, _)| !is_target(*index))
                    .map(|(_, buffer)| buffer.shape.clone())
                    .collect(),
            )
        };
        let held: &Option<HashSet<Shape>> = self.held.get_or_init(held);
        held.as_ref().is_none_or(|held| held.contains(shape))
    }
}

/// The batches of a matrix product, where both factors have some: a matrix for a whole batch is what `@` is
/// for.
fn batches(a: &Shape, b: &Shape, result: &Shape) -> Result<Option<(&'static str, Vec<Shape>, Shape)>> {
    if a.ndim() < 3 || b.ndim() < 3 {
        return Ok(None);
    }
    let batch = |shape: &Shape| Shape::new(&shape[..shape.ndim() - 2]);
    Ok(Some(("matmul", vec![batch(a)?, batch(b)?], batch(result)?)))
}

/// Checks a broadcast that another library is about to make: the policy in force here applies to it, and
/// audits record it.
///
/// Shapes that do not broadcast are left to that library.
///
/// # Errors
/// The policy refuses it.
///
/// ```
/// use zerostride::policy::{self, Action, Class, Policy};
/// let _strict = Policy::new().with(Class::MutualStretch, Action::Error).enter();
/// assert!(policy::report("torch.sub", &[&[32, 1], &[32]], 4).is_err());
/// assert!(policy::report("torch.sub", &[&[32], &[32]], 4).is_ok());
/// ```
#[track_caller]
pub fn report(op: impl Into<Cow<'static, str>>, shapes: &[&[usize]], item_size: usize) -> Result<()> {
    if !scope::is_on() {
        return Ok(());
    }
    let Ok(result) = broadcast_shape(shapes) else { return Ok(()) };
    if shapes.iter().all(|shape| result == **shape) {
        return Ok(());
    }
    let shapes = shapes.iter().map(|shape| Shape::new(shape)).collect::<Result<_, _>>()?;
    let bytes = result.numel() as u128 * item_size as u128;
    judge(op.into(), shapes, result, bytes, true, Caller::here())
}

/// The classes by how probable a mistake is.
const GRAVEST_FIRST: [Class; 5] =
    [Class::BlowUp, Class::MutualStretch, Class::SameNumel, Class::Stretched, Class::RankAdded];

/// Records a broadcast, and does about it what the policy says.
fn judge(
    op: Cow<'static, str>,
    shapes: Vec<Shape>,
    result: Shape,
    bytes: u128,
    stored: bool,
    caller: Caller,
) -> Result<()> {
    let policy = scope::policy();
    let max_bytes = policy.limit();
    let slices: Vec<&[usize]> = shapes.iter().map(|shape| &**shape).collect();
    let classes = Classes::of(&result, &slices).with(Class::BlowUp, stored && bytes > max_bytes);
    let record = Record { op, shapes, result, bytes, stored, classes, caller };
    scope::logs().iter().for_each(|log| log.borrow_mut().add(&record));
    let gravest = |action: Action| {
        GRAVEST_FIRST.into_iter().find(|&class| classes.contains(class) && policy.action(class) == action)
    };
    if let Some(class) = gravest(Action::Error) {
        return Err(Error::Policy(Box::new(Objection { class, record, max_bytes })));
    }
    if let Some(class) = gravest(Action::Warn)
        && is_first(&record)
    {
        warn(&Objection { class, record, max_bytes });
    }
    Ok(())
}

/// Call sites that are remembered; a program with more of them is warned about some of them again.
const MOST_SITES: usize = 1 << 16;

type Site = (Caller, Cow<'static, str>);

static WARNED: Lock<Option<HashSet<Site>>> = Lock::new(Guarded::Warned, None);

/// Whether an operation is warned about at its call site for the first time.
fn is_first(record: &Record) -> bool {
    let mut warned = WARNED.lock();
    let warned = warned.get_or_insert_default();
    if warned.len() >= MOST_SITES {
        warned.clear();
    }
    warned.insert((record.caller.clone(), record.op.clone()))
}
