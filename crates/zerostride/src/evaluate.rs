//! Owns the evaluation of expressions: where `expr`, `plan` and `exec` meet. It does not know how any of them works.

use zerostride_ops::Op;

use crate::exec::tiny;
use crate::expr::Kind;
use crate::plan::Plan;
use crate::{Expr, Operand, Result, Tensor, exec};

/// One row of the table, at once.
pub(crate) fn at_once<const N: usize>(op: Op, operands: [Operand<'_>; N]) -> Result<Tensor> {
    match tiny::apply(op, &operands.each_ref().map(Operand::value)) {
        Some(result) => Ok(result),
        None => Expr::map(op, operands.map(Operand::expr)).materialise(),
    }
}

/// One row of the table written over its first operand, the target; `None` leaves it to [`Expr::eval_into`].
pub(crate) fn in_place_at_once<const N: usize>(
    op: Op,
    target: &Tensor,
    operands: &[Operand<'_>; N],
) -> Option<()> {
    tiny::apply_in_place(op, target, &operands.each_ref().map(Operand::value))
}

/// Evaluation.
impl Expr {
    /// Runs the expression.
    ///
    /// # Errors
    /// Shapes or dtypes that do not go together, an operand written to in the meantime, an integer division by zero, or
    /// no memory; [`Error::expression`](crate::Error::expression) names the sub-expression.
    pub fn eval(&self) -> Result<Tensor> {
        if let Kind::Leaf { tensor, .. } = &self.node().kind {
            return Ok(tensor.clone());
        }
        self.materialise()
    }

    /// Runs the expression into storage of its own, even where it is a tensor already.
    pub(crate) fn materialise(&self) -> Result<Tensor> {
        match tiny::evaluate(self) {
            Some(result) => Ok(result),
            None => exec::run(&self.plan()?),
        }
    }

    /// Runs the expression and writes its value to `out`, whose dtype stays; `out` may be an operand.
    ///
    /// # Errors
    /// As [`Expr::eval`], and if `out` is of another shape, of a lower category of dtype, or shares elements with itself.
    ///
    /// ```
    /// use zerostride::{tensor, Tensor};
    /// let x = tensor![1.0, 2.0, 3.0];
    /// let out = Tensor::zeros(&[3])?;
    /// (&x * &x + 1).eval_into(&out)?;
    /// assert_eq!(out.to_vec::<f32>()?, [2.0, 5.0, 10.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn eval_into(&self, out: &Tensor) -> Result<()> {
        exec::run_into(self, out)
    }

    /// What evaluation will do: passes, operations, bytes, scratch memory, hoisted sub-expressions. Printable.
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
        Plan::new(self)
    }
}
