//! Owns the making of plans: of the ways to evaluate expressions the one that is chosen, from its lowering to
//! the groups of its steps. It does not know how a single step is made (`lower.rs`).

use std::sync::Arc;

use zerostride_shape::{ErrorClass, Layout};

use super::uses::Tables;
use super::{Plan, PlanSteps, cache, folded, lower, memory, results, rows};
use crate::expr::{Expr, without_inputs};
use crate::{Error, Result};

/// Bytes of intermediate results below which plans are not compared by what they hold.
const LEAST_SAVED_BYTES: usize = 1 << 20;

impl Plan {
    pub(crate) fn new(expr: &Expr) -> Result<Plan> {
        expr.meta()?;
        Plan::into_layout(expr, &results::layout(expr))
    }

    /// A plan whose result is written to a given layout of its shape.
    pub(crate) fn into_layout(expr: &Expr, out: &Layout) -> Result<Plan> {
        expr.meta()?;
        let roots = [(expr, out)];
        cache::plan(&roots, || Plan::make(&roots))
    }

    /// What the evaluation of several expressions will do: what they share is computed once.
    ///
    /// # Errors
    /// The list is empty, or as [`Expr::plan`].
    ///
    /// ```
    /// use zerostride::{Expr, Op, Plan, tensor};
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]];
    /// let exp = Expr::from(&x).exp();
    /// let plan = Plan::of(&[exp.sum(1), &exp * 2.0])?;
    /// assert_eq!(plan.operations(Op::Exp), 4);
    /// println!("{plan}");
    /// let results = plan.run_all()?;
    /// assert_eq!((results[0].shape(), results[1].shape()), (&[2][..], &[2, 2][..]));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn of(exprs: &[Expr]) -> Result<Plan> {
        if exprs.is_empty() {
            let message = "there is nothing to evaluate: the list of expressions is empty".to_owned();
            return Err(Error::Argument { class: ErrorClass::Value, message });
        }
        let present = without_inputs(exprs)?;
        let layout = |expr: &Expr| expr.meta().map(|_| results::layout(expr));
        let layouts = present.iter().map(layout).collect::<Result<Vec<_>>>()?;
        let roots: Vec<(&Expr, &Layout)> = present.iter().zip(&layouts).collect();
        Ok(Plan { roots: exprs.to_vec(), ..cache::plan(&roots, || Plan::make(&roots))? })
    }

    pub(super) fn make(roots: &[(&Expr, &Layout)]) -> Result<Plan> {
        let plan = Plan::make_in(roots, Tables::AsRead)?;
        if plan.passes() < 2 || (roots.len() < 2 && plan.intermediate_bytes() < LEAST_SAVED_BYTES) {
            return Ok(plan);
        }
        let other = Plan::make_in(roots, Tables::AsTheyAre)?;
        Ok(if other.is_better_than(&plan) { other } else { plan })
    }

    fn make_in(roots: &[(&Expr, &Layout)], tables: Tables) -> Result<Plan> {
        let lower::Lowered { leaves, mut buffers, mut steps, results } = lower::lower(roots, tables);
        for buffer in &buffers {
            zerostride_shape::checked_bytes(&buffer.shape, buffer.dtype.item_size())?;
        }
        let folds = folded::folds(&steps, &buffers, &results);
        memory::share(&mut steps, &mut buffers, &results, &folds);
        let groups = rows::groups(&steps, &mut buffers, &results, &folds);
        let layouts = roots.iter().map(|(_, out)| (*out).clone()).collect();
        let passes = Arc::new(PlanSteps { buffers, steps, groups, results, layouts });
        Ok(Plan { leaves: leaves.into(), passes, roots: Vec::new() })
    }

    /// Whether the plan holds far less than another one for the same, or else takes less time.
    fn is_better_than(&self, other: &Plan) -> bool {
        let [own, others] = [self, other].map(|plan| plan.intermediate_bytes().max(LEAST_SAVED_BYTES));
        let nanos = |plan: &Plan| {
            plan.passes.steps.iter().map(|step| step.work.nanos()).fold(0, usize::saturating_add)
        };
        own <= others / 2 || (own <= others.saturating_mul(2) && nanos(self) < nanos(other))
    }
}
