//! Owns the evaluation of expressions: it calls `policy`, `plan`, `exec` and `stream` in their order. It does
//! not know how any of them works.

use std::slice;

use zerostride_ops::Op;
use zerostride_shape::ErrorClass;

use super::Operand;
use crate::exec::inline;
use crate::expr::Kind;
use crate::plan::{Plan, Template};
use crate::policy::{self, ResultMemory};
use crate::stream::{self, Options};
use crate::{Error, Expr, Result, Tensor, exec};

/// Evaluates one row of the table at once.
#[track_caller]
pub(crate) fn at_once<const N: usize>(op: Op, operands: [Operand<'_>; N]) -> Result<Tensor> {
    if !is_watched::<N>() {
        if let Some(tensors) = Operand::tensors(&operands) {
            if let Some(result) = inline::apply(op, &tensors) {
                return Ok(result);
            }
        } else if let Some(result) = inline::apply(op, &operands.each_ref().map(Operand::value)) {
            return Ok(result);
        }
    }
    Expr::map(op, operands.map(Operand::expr)).materialise()
}

/// Whether a policy or an audit looks at operations of `N` operands. Then they are evaluated as expressions,
/// where it can.
#[inline]
fn is_watched<const N: usize>() -> bool {
    N > 1 && policy::is_on()
}

/// Evaluates one row of the table into an existing tensor, which may be the first operand; `None` if it has
/// done nothing and [`Expr::eval_into`] has to.
pub(crate) fn into_at_once<const N: usize>(
    op: Op,
    operands: &[Operand<'_>; N],
    target: &Tensor,
) -> Option<()> {
    if is_watched::<N>() {
        return None;
    }
    match Operand::tensors(operands) {
        Some(tensors) => inline::apply_into(op, &tensors, target),
        None => inline::apply_into(op, &operands.each_ref().map(Operand::value), target),
    }
}

/// Writes a number or a tensor's elements to an existing tensor; `None` if it has done nothing.
pub(crate) fn copied_at_once(value: &Operand<'_>, target: &Tensor) -> Option<()> {
    if policy::is_on() { None } else { inline::copy_into(value.value(), target) }
}

/// The evaluation of expressions.
impl Expr {
    /// Runs the expression.
    ///
    /// # Errors
    /// Shapes or dtypes that do not go together, an operand written to in the meantime, an integer division
    /// by zero, or no memory; [`Error::expression`](crate::Error::expression) names the sub-expression.
    #[track_caller]
    pub fn eval(&self) -> Result<Tensor> {
        if let Kind::Leaf { tensor, .. } = &self.node().kind {
            return Ok(tensor.alias());
        }
        self.materialise()
    }

    /// Runs the expression into storage of its own, even if it is a tensor already.
    #[track_caller]
    pub(crate) fn materialise(&self) -> Result<Tensor> {
        if policy::is_on() {
            policy::look(slice::from_ref(self), ResultMemory::New)?;
        }
        if self.node().lazy {
            return Ok(stream::collect(slice::from_ref(self), Options::new())?.swap_remove(0));
        }
        exec::evaluate(self)
    }

    /// Runs the expression and writes its value to `out`, which keeps its dtype; `out` may be an operand.
    ///
    /// # Errors
    /// As [`Expr::eval`], and if `out` is of another shape, of a lower category of dtype, or shares elements
    /// with itself.
    ///
    /// ```
    /// use zerostride::{tensor, Tensor};
    /// let x = tensor![1.0, 2.0, 3.0];
    /// let out = Tensor::zeros(&[3])?;
    /// (&x * &x + 1).eval_into(&out)?;
    /// assert_eq!(out.to_vec::<f32>()?, [2.0, 5.0, 10.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    #[track_caller]
    pub fn eval_into(&self, out: &Tensor) -> Result<()> {
        // Policies judge broadcasts that can run. If `out` has another shape, the error of that comes first.
        if policy::is_on() && self.shape().is_ok_and(|shape| shape == out.shape()) {
            policy::look(slice::from_ref(self), ResultMemory::Existing)?;
        }
        if self.node().lazy {
            let value = stream::collect(slice::from_ref(self), Options::new())?.swap_remove(0);
            return exec::run_into(&value.into(), out);
        }
        exec::run_into(self, out)
    }

    /// What evaluation will do: passes, operations, bytes, scratch memory, hoisted sub-expressions. It can be
    /// printed. Arrays that are not in memory are planned as if they were; [`Expr::passes`] shows how they
    /// are read.
    ///
    /// # Errors
    /// As [`Expr::eval`], where the error does not depend on values.
    ///
    /// ```
    /// use zerostride::{Op, Tensor};
    /// let row = Tensor::zeros(&[300])?;
    /// let x = Tensor::zeros(&[200, 300])?;
    /// let plan = (zerostride::Expr::from(&row).exp() * &x).plan()?;
    /// assert_eq!(plan.operations(Op::Exp), 300);      // once per element of the row, not of the result
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn plan(&self) -> Result<Plan> {
        Plan::of(slice::from_ref(self))
    }
}

/// The values of several expressions, in one plan: what they share is computed once. The bits are those of
/// each [`Expr::eval`]; each has storage of its own.
///
/// # Errors
/// The list is empty, or as [`Expr::eval`]; [`Error::expression`](crate::Error::expression) names the
/// sub-expression.
///
/// ```
/// use zerostride::{Expr, eval_all, tensor};
/// let x = tensor![1.0, 2.0, 4.0];
/// let exp = Expr::from(&x).exp();
/// let [sum, share] = &eval_all(&[exp.sum(0), &exp / exp.sum(0)])?[..] else { unreachable!() };
/// assert_eq!((sum.shape(), share.shape()), (&[][..], &[3][..]));
/// # Ok::<(), zerostride::Error>(())
/// ```
#[track_caller]
pub fn eval_all(exprs: &[Expr]) -> Result<Vec<Tensor>> {
    if let [expr] = exprs {
        return Ok(vec![expr.materialise()?]);
    }
    if policy::is_on() {
        policy::look(exprs, ResultMemory::New)?;
    }
    if exprs.iter().any(|expr| expr.node().lazy) {
        return stream::collect(exprs, Options::new());
    }
    exec::run_all(&Plan::of(exprs)?)
}

impl Plan {
    /// Runs this plan, of any number of expressions. Each result has storage of its own.
    ///
    /// # Errors
    /// As [`Plan::run`].
    #[track_caller]
    pub fn run_all(&self) -> Result<Vec<Tensor>> {
        if policy::is_on() {
            policy::look(&self.roots, ResultMemory::New)?;
        }
        self.leaves.iter().try_for_each(|leaf| leaf.present().map(drop))?;
        exec::run_all(self)
    }

    /// Runs this plan of one expression. The result has storage of its own.
    ///
    /// # Errors
    /// As [`Expr::eval`]; or an operand is not in memory, or the plan has several results, which
    /// [`Plan::run_all`] gives.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let (x, row) = (tensor![[1.0, 2.0], [3.0, 4.0]], tensor![10.0, 20.0]);
    /// let plan = (Expr::from(&row).sqrt() + &x).sum(1).plan()?;
    /// println!("{plan}");
    /// let sums = plan.run()?;
    /// assert_eq!(sums.shape(), [2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    #[track_caller]
    pub fn run(&self) -> Result<Tensor> {
        self.check_single()?;
        if policy::is_on() {
            policy::look(&self.roots, ResultMemory::New)?;
        }
        self.leaves.iter().try_for_each(|leaf| leaf.present().map(drop))?;
        exec::run(self)
    }

    fn check_single(&self) -> Result<()> {
        match self.passes.results.len() {
            1 => Ok(()),
            count => {
                let message = format!("the plan has {count} results: run_all gives them");
                Err(Error::Argument { class: ErrorClass::Value, message })
            }
        }
    }
}

impl Template {
    /// Runs the plan on operands in the order of the original ones, with the same dtypes, shapes and strides.
    /// Their storage offsets may differ.
    ///
    /// # Errors
    /// An operand has another dtype, shape or strides; two operands that were one tensor are not; an operand
    /// of the original expression is not in memory; or as [`Expr::eval`].
    pub fn run(&self, operands: &[&Tensor]) -> Result<Tensor> {
        let plan = self.on(operands)?;
        plan.check_single()?;
        exec::run(&plan)
    }

    /// The same for a plan of any number of expressions.
    ///
    /// # Errors
    /// As [`Template::run`].
    pub fn run_all(&self, operands: &[&Tensor]) -> Result<Vec<Tensor>> {
        exec::run_all(&self.on(operands)?)
    }
}
