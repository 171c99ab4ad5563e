//! Owns the gradients of expressions: with respect to what they are wanted, and what is refused. Each is an
//! expression again. It does not know the derivatives (`rules.rs`, `views.rs`) nor how they are put together
//! (`transform.rs`).

mod rules;
mod transform;
mod views;

use std::collections::{HashMap, HashSet};

use zerostride_ops::{Category, DType, Op};
use zerostride_shape::{Overlap, Shape};

use super::{Expr, Kind, Meta};
use crate::{Error, Result, Tensor};

/// What a gradient is taken with respect to.
#[derive(Clone, Copy, Debug)]
pub enum Variable<'a> {
    /// A tensor: wherever the expression reads it or a view of it.
    Tensor(&'a Tensor),
    /// A part of the expression: that very one, or a clone of it.
    Expr(&'a Expr),
}

impl<'a> From<&'a Tensor> for Variable<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Variable::Tensor(tensor)
    }
}

impl<'a> From<&'a Expr> for Variable<'a> {
    fn from(expr: &'a Expr) -> Self {
        Variable::Expr(expr)
    }
}

impl Variable<'_> {
    fn meta(self) -> Result<(Shape, DType)> {
        Ok(match self {
            Variable::Tensor(tensor) => (tensor.shape_value().clone(), tensor.dtype()),
            Variable::Expr(expr) => (expr.meta()?.shape.clone(), expr.dtype()?),
        })
    }

    /// Whether a node of an expression is it, or reads it.
    fn is(self, node: &Expr) -> bool {
        match (self, &node.node().kind) {
            (Variable::Expr(expr), _) => expr.id() == node.id(),
            (Variable::Tensor(tensor), Kind::Leaf { tensor: read, .. }) => {
                read.shares_storage(tensor)
                    && read.dtype() == tensor.dtype()
                    && read.layout().overlap(tensor.layout()) != Overlap::None
            }
            _ => false,
        }
    }

    /// Its gradient, of which the cotangent of a node that is or reads it is a part.
    fn part(self, node: &Expr, cotangent: &Expr) -> Result<Expr> {
        let (Variable::Tensor(tensor), Kind::Leaf { tensor: read, .. }) = (self, &node.node().kind) else {
            return Ok(cotangent.clone());
        };
        views::of_tensor(cotangent, read.layout(), tensor.layout())?.ok_or_else(|| {
            Error::runtime(format_args!(
                "the expression reads memory of the tensor of shape {} through a tensor of shape {} and strides {:?}, which is not a plain view of it: take the view of Expr::from(&tensor) instead",
                tensor.layout().shape(),
                read.layout().shape(),
                read.strides(),
            ))
        })
    }
}

/// Gradients.
impl Expr {
    /// The gradients of the expression's only element with respect to tensors that it reads, or to parts of
    /// it: expressions, of the shapes and dtypes of these, from which gradients can be taken again. A tensor
    /// that is not read has zeros; so has one that only methods of `Tensor` have read, which compute at once:
    /// `Expr::from(&x).matmul(&w)` reads `w`, the result of `x.matmul(&w)?` does not.
    ///
    /// # Errors
    /// The expression has several elements ([`Expr::vjp`] takes a cotangent for each), or is of integers, or
    /// a variable is; an operation on the way has no derivative; an operand was written to since it was
    /// captured.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]];
    /// let w = tensor![10.0, 1.0];
    /// let loss = (&x * &w).square().sum(..);
    /// let gradients = loss.grad(&[&x, &w])?;
    /// assert_eq!(gradients[0].eval()?.to_vec::<f32>()?, [200.0, 4.0, 600.0, 8.0]);
    /// assert_eq!(gradients[1].eval()?.to_vec::<f32>()?, [200.0, 40.0]);      // summed over the rows
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn grad<'a, V: Copy + Into<Variable<'a>>>(&self, variables: &[V]) -> Result<Vec<Expr>> {
        let meta = self.meta()?;
        if meta.shape.numel() != 1 {
            let message = format_args!(
                "a gradient is that of one number, and the expression has shape {}: reduce it, as with sum(..), or give vjp() a cotangent for each element",
                meta.shape
            );
            return Err(Error::runtime(message).within(|| self.formula()));
        }
        let one = Expr::from(1.0).to_dtype(meta.dtype());
        let seed = if meta.shape.ndim() == 0 { one } else { one.broadcast_to(&meta.shape) };
        self.vjp(seed, variables)
    }

    /// The product of a cotangent, one number for each element of the expression, with the Jacobian matrix
    /// with respect to each variable: the gradients of `(self * cotangent).sum(..)`.
    ///
    /// # Errors
    /// As [`Expr::grad`], and if the cotangent is of another shape.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let x = tensor![1.0, 2.0, 3.0];
    /// let gradients = Expr::from(&x).square().vjp(&tensor![1.0, 0.0, -1.0], &[&x])?;
    /// assert_eq!(gradients[0].eval()?.to_vec::<f32>()?, [2.0, 0.0, -6.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn vjp<'a, V: Copy + Into<Variable<'a>>>(
        &self,
        cotangent: impl Into<Expr>,
        variables: &[V],
    ) -> Result<Vec<Expr>> {
        vjp(&[(self.clone(), cotangent.into())], variables)
    }

    /// How the expression changes as variables change by their tangents: the product of the Jacobian matrix
    /// with respect to them with the tangents, an expression of the shape and dtype of this one.
    ///
    /// # Errors
    /// As [`Expr::grad`], and if a tangent is of another shape than its variable.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let x = tensor![1.0, 2.0, 3.0];
    /// let change = Expr::from(&x).square().jvp(&[(&x, tensor![1.0, 0.0, 10.0].into())])?;
    /// assert_eq!(change.eval()?.to_vec::<f32>()?, [2.0, 0.0, 60.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn jvp<'a, V: Copy + Into<Variable<'a>>>(&self, tangents: &[(V, Expr)]) -> Result<Expr> {
        let variables: Vec<V> = tangents.iter().map(|(variable, _)| *variable).collect();
        // A pullback is linear in the cotangent, so that its own pullback does not depend on what that is.
        let cotangent = Expr::map(Op::Positive, [self.clone()]);
        let pulled = self.vjp(&cotangent, &variables)?;
        for (pulled, (_, tangent)) in pulled.iter().zip(tangents) {
            check_fits(("tangent", tangent.meta()?), ("variable", pulled.meta()?))?;
        }
        let pairs: Vec<(Expr, Expr)> =
            pulled.into_iter().zip(tangents.iter().map(|(_, tangent)| tangent.clone())).collect();
        Ok(vjp(&pairs, &[&cotangent])?.swap_remove(0))
    }

    /// A cotangent of the expression's shape and dtype.
    fn seed(&self, cotangent: &Expr) -> Result<Expr> {
        let (meta, given) = (self.meta()?, cotangent.meta()?);
        if !transform::is_continuous(self) {
            let message = format!(
                "only floating-point and complex numbers have gradients, and the expression is of dtype {}: convert what it is computed from to a floating-point dtype",
                meta.dtype()
            );
            return Err(Error::runtime(message).within(|| self.formula()));
        }
        check_fits(("cotangent", given), ("expression", meta))
            .map_err(|error| error.within(|| self.formula()))?;
        Ok(cotangent.to_dtype(meta.dtype()))
    }
}

/// Refuses a (co)tangent of another shape than what it belongs to, or of a dtype that this one does not hold.
fn check_fits((name, given): (&str, &Meta), (owner, meta): (&str, &Meta)) -> Result<()> {
    if given.shape == meta.shape && given.dtype().category() <= meta.dtype().category() {
        return Ok(());
    }
    Err(Error::runtime(format_args!(
        "the {name} has shape {} and dtype {}; the {owner} has shape {} and dtype {}",
        given.shape,
        given.dtype(),
        meta.shape,
        meta.dtype()
    )))
}

/// The sums, over several expressions, of what [`Expr::vjp`] gives for each with its own cotangent: work that
/// they share is differentiated once.
///
/// # Errors
/// As [`Expr::vjp`].
///
/// ```
/// use zerostride::{Expr, tensor, vjp};
/// let x = tensor![1.0, 2.0];
/// let shared = Expr::from(&x).exp();
/// let results = [shared.sum(..), &shared * 2.0];
/// let cotangents = [Expr::from(1.0), Expr::from(&tensor![1.0, 0.0])];
/// let gradients = vjp(&results.into_iter().zip(cotangents).collect::<Vec<_>>(), &[&x])?;
/// assert_eq!(gradients[0].shape()?, [2]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn vjp<'a, V: Copy + Into<Variable<'a>>>(results: &[(Expr, Expr)], variables: &[V]) -> Result<Vec<Expr>> {
    let variables: Vec<Variable<'a>> = variables.iter().map(|&variable| variable.into()).collect();
    let seeds =
        results.iter().map(|(result, cotangent)| result.seed(cotangent)).collect::<Result<Vec<_>>>()?;
    for variable in &variables {
        let (_, dtype) = variable.meta()?;
        if dtype.category() < Category::Float {
            return Err(Error::runtime(format_args!(
                "only floating-point and complex tensors have gradients, and one of dtype {dtype} was given: convert it to one of these first"
            )));
        }
    }
    let mut seen = HashSet::new();
    let below = results.iter().map(|(result, _)| result.operands_first(|node| seen.insert(node.id())));
    let order: Vec<&Expr> = below.collect::<Vec<_>>().concat();
    // An operand that was written to since it was captured has other derivatives now.
    order.iter().try_for_each(|node| node.check_unchanged())?;
    let is_variable = |node: &Expr| variables.iter().any(|variable| variable.is(node));
    let seeds = results.iter().map(|(result, _)| result).zip(seeds);
    let found = transform::pull(&order, seeds, &is_variable)?;
    variables.iter().map(|&variable| gradient(variable, &order, &found)).collect()
}

/// The gradient of one variable: the sum of what its readings have.
fn gradient(variable: Variable<'_>, order: &[&Expr], found: &HashMap<usize, Expr>) -> Result<Expr> {
    let mut sum: Option<Expr> = None;
    for node in order.iter().filter(|node| variable.is(node)) {
        let Some(cotangent) = found.get(&node.id()) else { continue };
        let part = variable.part(node, cotangent)?;
        sum = Some(match sum {
            Some(sum) => sum + part,
            None => part,
        });
    }
    match sum {
        // A gradient shares memory with no tensor, even if it has the elements of one.
        Some(sum) if sum.as_view().is_some() => Ok(Expr::map(Op::Positive, [sum])),
        Some(sum) => Ok(sum),
        None => {
            transform::check_way(order, &|node| variable.is(node))?;
            let (shape, dtype) = variable.meta()?;
            Ok(Expr::from(0.0).to_dtype(dtype).broadcast_to(&shape))
        }
    }
}
