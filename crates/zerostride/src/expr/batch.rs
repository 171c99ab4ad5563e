//! Owns the mapping of expressions over many examples: what depends on an example gets one more dimension,
//! before its own. It does not know who maps, nor how the result is evaluated.

use std::collections::HashMap;

use smallvec::SmallVec;
use zerostride_shape::Shape;

use super::{Expr, Kind, Meta, Operands, View, operands_first, product};
use crate::{Error, Result};

/// For each root its values for many examples, along a dimension before its own.
///
/// `examples` are parts of the roots, and `batches` has for each of them all examples, along its first
/// dimension. What does not depend on an example is computed once.
///
/// Shapes: examples `(…)` of batches `(b, …)`; roots `(…)` become `(b, …)`.
///
/// # Errors
/// A batch is not one of such examples, or batches have different numbers of them; and those of evaluation.
///
/// Source: `jax.vmap`, `torch.vmap`.
///
/// ```
/// use zerostride::{Expr, mapped, tensor};
///
/// let batch = Expr::from(&tensor![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
/// let example = batch.select(0, 0);
/// let scaled = &example * (&example * &example).sum(..);
/// let all = mapped(&[scaled], &[example], &[batch])?;
/// assert_eq!(all[0].eval()?.to_vec::<f32>()?, [5.0, 10.0, 75.0, 100.0, 305.0, 366.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn mapped(roots: &[Expr], examples: &[Expr], batches: &[Expr]) -> Result<Vec<Expr>> {
    let mut count = None;
    let mut done = HashMap::new();
    for (example, batch) in examples.iter().zip(batches) {
        let (one, all) = (example.meta()?, batch.meta()?);
        let fits = all.shape.split_first().is_some_and(|(&size, rest)| {
            rest == &one.shape[..] && all.dtype() == one.dtype() && size == *count.get_or_insert(size)
        });
        if !fits {
            return Err(Error::runtime(format_args!(
                "a batch of sizes {} is not one of examples of sizes {}",
                all.shape, one.shape
            )));
        }
        done.insert(example.id(), batch.clone());
    }
    let Some(count) = count else { return Ok(roots.to_vec()) };
    for node in operands_first(roots, |node| !done.contains_key(&node.id())) {
        if node.operands().iter().any(|operand| done.contains_key(&operand.id())) {
            done.insert(node.id(), Mapping { done: &done, count }.node(node)?);
        }
    }
    let stretched = |root: &Expr| Ok(root.broadcast_to(&with_count(count, &root.meta()?.shape)));
    roots.iter().map(|root| done.get(&root.id()).cloned().map_or_else(|| stretched(root), Ok)).collect()
}

fn with_count(count: usize, shape: &[usize]) -> SmallVec<[usize; 4]> {
    std::iter::once(count).chain(shape.iter().copied()).collect()
}

/// The nodes that have been mapped.
struct Mapping<'a> {
    done: &'a HashMap<usize, Expr>,
    count: usize,
}

impl Mapping<'_> {
    fn node(&self, node: &Expr) -> Result<Expr> {
        let meta = node.meta()?;
        let sizes = with_count(self.count, &meta.shape);
        let shape = Shape::new(&sizes)?;
        let mapped = match &node.node().kind {
            Kind::Map { operands, .. } => {
                let operands = operands.iter().map(|operand| self.aligned(operand, meta.shape.ndim()));
                node.with_operands(operands.collect::<Result<_>>()?, shape)
            }
            Kind::Cast { operand, .. } => node.with_operands(self.operand(operand), shape),
            Kind::Reduce { op, operand, dims, keepdim, compute, correction } => {
                let (operand, dims, keepdim) = match dims.is_empty() {
                    // The one element of each example has a dimension of its own to be reduced over.
                    true => (self.done[&operand.id()].unsqueeze(1), SmallVec::from_slice(&[1]), false),
                    false => {
                        (self.done[&operand.id()].clone(), dims.iter().map(|dim| dim + 1).collect(), *keepdim)
                    }
                };
                let (op, compute, correction) = (*op, *compute, *correction);
                let kind = Kind::Reduce { op, operand, dims, keepdim, compute, correction };
                Expr::build(kind, Ok(Meta::new(shape, meta.dtype())))
            }
            Kind::View { operand, view } => {
                let own = operand.meta()?.shape.clone();
                match shifted(view, &own, &sizes) {
                    View::BroadcastTo(sizes) => {
                        self.aligned(operand, meta.shape.ndim())?.view(View::BroadcastTo(sizes))
                    }
                    view => self.done[&operand.id()].view(view),
                }
            }
            Kind::Matmul { factors } => self.matmul(factors)?,
            Kind::Leaf { .. } | Kind::Input(_) | Kind::Number(_) | Kind::Failed { .. } => {
                unreachable!("they read no example")
            }
        };
        mapped.meta()?;
        Ok(mapped.with_slope(node.node().slope))
    }

    fn operand(&self, operand: &Expr) -> Operands {
        std::iter::once(self.done.get(&operand.id()).unwrap_or(operand).clone()).collect()
    }

    /// An operand of a result of `ndim` dimensions an example: the examples of a mapped one lie before those.
    fn aligned(&self, operand: &Expr, ndim: usize) -> Result<Expr> {
        let Some(mapped) = self.done.get(&operand.id()) else { return Ok(operand.clone()) };
        let missing = ndim.saturating_sub(operand.meta()?.shape.ndim());
        Ok((0..missing).fold(mapped.clone(), |mapped, _| mapped.unsqueeze(1)))
    }

    /// A product whose vectors are matrices of one row or column meanwhile.
    fn matmul(&self, factors: &[Expr; 2]) -> Result<Expr> {
        let ranks = [factors[0].meta()?.shape.ndim(), factors[1].meta()?.shape.ndim()];
        let matrix = |place: usize| -> Result<Expr> {
            let factor = &factors[place];
            let mapped = self.done.get(&factor.id());
            let matrix = match (ranks[place], mapped) {
                (1, _) => mapped.unwrap_or(factor).unsqueeze(if place == 0 { -2 } else { -1 }),
                (_, Some(mapped)) => mapped.clone(),
                (_, None) => return Ok(factor.clone()),
            };
            let others = ranks[1 - place].saturating_sub(ranks[place].max(2));
            let missing = if mapped.is_some() { others } else { 0 };
            Ok((0..missing).fold(matrix, |matrix, _| matrix.unsqueeze(1)))
        };
        let factors = [matrix(0)?, matrix(1)?];
        let [a, b] = [factors[0].meta()?, factors[1].meta()?];
        let (shape, dtype) = product::infer(a.typed, &a.shape, b.typed, &b.shape)?;
        let product = Expr::build(Kind::Matmul { factors }, Ok(Meta::new(shape, dtype)));
        Ok(match ranks {
            [1, 1] => product.view(View::SqueezeDims(SmallVec::from_slice(&[-2, -1]))),
            [1, _] => product.view(View::SqueezeDims(SmallVec::from_slice(&[-2]))),
            [_, 1] => product.view(View::SqueezeDims(SmallVec::from_slice(&[-1]))),
            _ => product,
        })
    }
}

/// The view of all examples that is `view` of each. An example has the sizes `own` before, and all results
/// together have `sizes`.
fn shifted(view: &View, own: &[usize], sizes: &[usize]) -> View {
    let ndim = own.len() as isize;
    let of = |ndim: isize, dim: isize| if dim < 0 { dim + ndim + 1 } else { dim + 1 };
    let dim = |&dim: &isize| of(ndim, dim);
    let list = |dims: &[isize]| dims.iter().map(dim).collect::<SmallVec<_>>();
    let reshaped = || View::Reshape(sizes.iter().map(|&size| size as isize).collect());
    match view {
        View::Expand(_) | View::BroadcastTo(_) => View::BroadcastTo(sizes.into()),
        View::Unsqueeze(new) => View::Unsqueeze(of(ndim + 1, *new)),
        View::Reshape(_) | View::Flatten(..) => reshaped(),
        // What views make of a single element has one element, too.
        _ if own.is_empty() => reshaped(),
        View::Squeeze => {
            let ones = own.iter().enumerate().filter(|(_, size)| **size == 1);
            View::SqueezeDims(ones.map(|(dim, _)| dim as isize + 1).collect())
        }
        View::SqueezeDims(dims) => View::SqueezeDims(list(dims)),
        View::Permute(dims) => View::Permute(std::iter::once(0).chain(list(dims)).collect()),
        View::Transpose(dim0, dim1) => View::Transpose(dim(dim0), dim(dim1)),
        View::T if ndim < 2 => reshaped(),
        View::T | View::MatrixTranspose => View::Transpose(ndim - 1, ndim),
        View::Movedim(source, destination) => View::Movedim(list(source), list(destination)),
        &View::Narrow { dim, start, length } => View::Narrow { dim: of(ndim, dim), start, length },
        &View::Select { dim, index } => View::Select { dim: of(ndim, dim), index },
        &View::Slice { dim, start, stop, step } => View::Slice { dim: of(ndim, dim), start, stop, step },
        View::Flip(dims) => View::Flip(list(dims)),
        &View::Diagonal { offset, dim1, dim2 } => {
            View::Diagonal { offset, dim1: of(ndim, dim1), dim2: of(ndim, dim2) }
        }
        &View::Unfold { dim, size, step } => View::Unfold { dim: of(ndim, dim), size, step },
    }
}
