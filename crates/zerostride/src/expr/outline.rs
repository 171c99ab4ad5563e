//! Owns what a graph shows of itself to a program that evaluates it elsewhere, piece by piece, as Python's
//! does on chunks of an array: the operation of one node, and a node of such an operation on other operands.
//! It does not know where the pieces are cut.

use smallvec::SmallVec;
use zerostride_ops::{DType, Op, Scalar};
use zerostride_shape::{ErrorClass, Layout, Shape, Strides, broadcast_shape};

use super::{Expr, Kind, Meta, Operands, View};
use crate::{Error, Result, Tensor};

/// What a node computes, of which operands. Dtypes are settled: [`Expr::settled`] makes a `Map` of it.
#[derive(Debug)]
pub enum OutlineNode<'a> {
    /// The elements of a tensor.
    Tensor(&'a Tensor),
    /// A bare number.
    Number(Scalar),
    /// An element-wise operation on operands that broadcast, computed in a dtype.
    Map(Op, &'a [Expr], DType),
    /// Other dtypes for the same values.
    Cast(&'a Expr),
    /// A reduction over dimensions, in rising order.
    Reduce {
        /// The row of the table.
        op: Op,
        /// What is reduced.
        operand: &'a Expr,
        /// Its reduced dimensions.
        dims: &'a [usize],
        /// Whether they keep size 1.
        keepdim: bool,
        /// What a variance takes from the number of elements.
        correction: f64,
    },
    /// A matrix product.
    Matmul(&'a [Expr; 2]),
    /// Some elements of an operand, each dimension for itself.
    Select(&'a Expr, Selection),
    /// The elements of an operand in the same order.
    Reshape(&'a Expr),
    /// The diagonal of two dimensions, as the last one: `offset`, `dim1`, `dim2`.
    Diagonal(&'a Expr, [isize; 3]),
    /// Windows of a dimension: `dim`, `size`, `step`.
    Unfold(&'a Expr, [isize; 3]),
}

/// The elements of an operand that a view shows, where no dimension of the view depends on two of the
/// operand, nor two of the view on one.
#[derive(Debug, PartialEq, Eq)]
pub struct Selection {
    /// The first index along each dimension of the operand.
    pub starts: Vec<isize>,
    /// For each dimension of the view the operand's and the step along it; `None` for one that is stretched
    /// or has size 1.
    pub dims: Vec<Option<(usize, isize)>>,
}

impl Selection {
    fn of(view: &View, from: &Shape, to: &Shape) -> Option<Selection> {
        if let View::Reshape(_) | View::Flatten(..) = view {
            // Only dimensions of size 1 come and go.
            let mut kept = (0..from.ndim()).filter(|&dim| from[dim] != 1);
            let follow = |&size: &usize| match size {
                1 => Some(None),
                size => kept.next().filter(|&dim| from[dim] == size).map(|dim| Some((dim, 1))),
            };
            let dims = to.iter().map(follow).collect::<Option<_>>()?;
            return kept.next().is_none().then(|| Selection { starts: vec![0; from.ndim()], dims });
        }
        let mut selection = Selection { starts: Vec::new(), dims: vec![None; to.ndim()] };
        for dim in 0..from.ndim() {
            // A layout that walks along one dimension alone.
            let strides: SmallVec<[isize; 8]> = (0..from.ndim()).map(|other| (other == dim).into()).collect();
            let layout = Layout::new(from.clone(), Strides::new(&strides).ok()?, 0).ok()?;
            let seen = view.apply(&layout).ok()?;
            selection.starts.push(seen.offset());
            let mut walked = (0..to.ndim()).filter(|&other| to[other] != 1 && seen.strides()[other] != 0);
            if let Some(other) = walked.next() {
                let taken = selection.dims[other].replace((dim, seen.strides()[other]));
                if taken.is_some() || walked.next().is_some() {
                    return None;
                }
            }
        }
        Some(selection)
    }
}

impl Expr {
    /// What the node computes.
    ///
    /// # Errors
    /// The expression has no value, or reads an array that is in a file.
    pub fn step(&self) -> Result<OutlineNode<'_>> {
        let to = &self.meta()?.shape;
        Ok(match &self.node().kind {
            Kind::Leaf { tensor, .. } => OutlineNode::Tensor(tensor),
            Kind::Number(number) => OutlineNode::Number(*number),
            Kind::Map { op, operands, compute } => OutlineNode::Map(*op, operands, *compute),
            Kind::Cast { operand, .. } => OutlineNode::Cast(operand),
            Kind::Reduce { op, operand, dims, keepdim, correction, .. } => {
                OutlineNode::Reduce { op: op.op(), operand, dims, keepdim: *keepdim, correction: *correction }
            }
            Kind::Matmul { factors } => OutlineNode::Matmul(factors),
            Kind::View { operand, view } => match (Selection::of(view, &operand.meta()?.shape, to), view) {
                (Some(selection), _) => OutlineNode::Select(operand, selection),
                (None, View::Diagonal { offset, dim1, dim2 }) => {
                    OutlineNode::Diagonal(operand, [*offset, *dim1, *dim2])
                }
                (None, View::Unfold { dim, size, step }) => {
                    OutlineNode::Unfold(operand, [*dim, *size, *step])
                }
                (None, _) => OutlineNode::Reshape(operand),
            },
            Kind::Input(_) | Kind::Failed { .. } => {
                return Err(Error::Argument {
                    class: ErrorClass::Type,
                    message: format!(
                        "{} is in a file: it cannot be computed in pieces of something else",
                        self.formula()
                    ),
                });
            }
        })
    }

    /// An element-wise operation that computes in `compute` and gives `result`, whatever promotion says of
    /// the operands, which broadcast.
    ///
    /// # Errors
    /// The shapes do not go together, or an operand has no value.
    pub fn settled(op: Op, operands: &[Expr], compute: DType, result: DType) -> Result<Expr> {
        let shapes = operands.iter().map(Expr::shape).collect::<Result<SmallVec<[_; 4]>>>()?;
        let meta = Meta::new(broadcast_shape(&shapes)?, result);
        let operands = Operands::from(operands);
        Ok(Expr::build(Kind::Map { op, operands, compute }, Ok(meta)))
    }

    /// Which node of a graph the expression is: the same for its clones.
    pub fn identity(&self) -> usize {
        self.id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dims;

    fn selection(expr: &Expr) -> Option<Selection> {
        match expr.step().unwrap() {
            OutlineNode::Select(_, selection) => Some(selection),
            OutlineNode::Reshape(_) | OutlineNode::Diagonal(..) | OutlineNode::Unfold(..) => None,
            step => panic!("{step:?} is no view"),
        }
    }

    #[test]
    fn views_that_keep_dimensions_apart_are_selections() {
        let x = Expr::from(&Tensor::zeros(&[4, 1, 6]).unwrap());
        let found = |starts: &[isize], dims: &[Option<(usize, isize)>]| {
            Some(Selection { starts: starts.to_vec(), dims: dims.to_vec() })
        };
        let (rows, columns) = (Some((0, 1)), Some((2, 1)));
        let view = |view| selection(&x.view(view));
        assert_eq!(view(View::Permute([2, 1, 0][..].into())), found(&[0; 3], &[columns, None, rows]));
        assert_eq!(view(View::Unsqueeze(0)), found(&[0; 3], &[None, rows, None, columns]));
        assert_eq!(view(View::Expand([4, 5, 6][..].into())), found(&[0; 3], &[rows, None, columns]));
        assert_eq!(view(View::Flip([0][..].into())), found(&[3, 0, 0], &[Some((0, -1)), None, columns]));
        assert_eq!(view(View::Select { dim: 2, index: -1 }), found(&[0, 0, 5], &[rows, None]));
        let slice = View::Slice { dim: 2, start: Some(1), stop: None, step: 2 };
        assert_eq!(view(slice), found(&[0, 0, 1], &[rows, None, Some((2, 2))]));
        assert_eq!(view(View::Reshape([4, 6][..].into())), found(&[0; 3], &[rows, columns]));
        assert_eq!(view(View::Reshape([24][..].into())), None);
        assert_eq!(view(View::Reshape([2, 2, 6][..].into())), None);
        assert_eq!(view(View::Diagonal { offset: 0, dim1: 0, dim2: 2 }), None);
        assert_eq!(view(View::Unfold { dim: 0, size: 2, step: 1 }), None);
    }

    #[test]
    fn a_settled_operation_does_not_promote() {
        let x = Expr::from(&Tensor::ones(&[2, 1]).unwrap());
        let y = Expr::from(&Tensor::ones(&[3]).unwrap().to_dtype(DType::F64).unwrap());
        let sum = Expr::settled(Op::Add, &[x, y], DType::F32, DType::F32).unwrap();
        assert_eq!((sum.shape().unwrap(), sum.dtype().unwrap()), (&[2, 3][..], DType::F32));
        assert_eq!(sum.sum(Dims::default()).eval().unwrap().item::<f32>().unwrap(), 12.0);
    }
}
