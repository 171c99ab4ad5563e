//! Owns the making of nodes: the shape and dtype of each, or the error that it would report. It does not know
//! what a formula is made of (`formula/`).

use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_ops::{Bucket, Category, DType, Empty, List, Op, Reduction, ReductionInfo, Scalar, Typed};
use zerostride_shape::{ErrorClass, Layout, Shape, ShapeError, broadcast_shape};

use super::dims::Dims;
use super::input::Input;
use super::node::{Expr, Kind, Meta, Node, Operands, Slope};
use super::view::View;
use super::{formula, product, text};
use crate::caller::Caller;
use crate::{Error, Result};

impl Expr {
    pub(super) fn build(kind: Kind, meta: Result<Meta>) -> Expr {
        Expr::written(kind, meta, None)
    }

    #[inline]
    pub(super) fn written(kind: Kind, meta: Result<Meta>, caller: Option<Caller>) -> Expr {
        let (mut depth, mut lazy, mut in_order) = (1, matches!(kind, Kind::Input(_)), true);
        for operand in kind.operands() {
            depth = depth.max(1 + operand.0.depth);
            lazy |= operand.0.lazy;
            in_order &= operand.0.in_order;
        }
        in_order = match &kind {
            Kind::View { view, .. } => in_order && view.keeps_order(),
            // They write memory of their own.
            Kind::Reduce { .. } | Kind::Matmul { .. } => true,
            _ => in_order,
        };
        match meta {
            Ok(meta) => {
                let (meta, row_major, slope) = (Ok(meta), false, Slope::Own);
                Expr(Arc::new(Node { kind, meta, caller, depth, lazy, in_order, row_major, slope }))
            }
            Err(error) => Expr::failing(&kind, error),
        }
    }

    /// A node with an error. It keeps none of its operands, since it will never run.
    #[cold]
    pub(super) fn failing(kind: &Kind, error: Error) -> Expr {
        let text = text::render(kind);
        let meta = Err(error.within(|| text.clone()));
        let kind = Kind::Failed { text };
        let (caller, lazy, row_major, slope) = (None, false, false, Slope::Own);
        let node = Node { kind, meta, caller, depth: 1, lazy, in_order: true, row_major, slope };
        Expr(Arc::new(node))
    }

    /// The same values, which gradients take as constants.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let x = Expr::from(&tensor![1.0, 2.0]);
    /// let gradients = (&x * x.detach()).sum(..).grad(&[&x])?;      // of x * x it would be 2 * x
    /// assert_eq!(gradients[0].eval()?.to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn detach(&self) -> Expr {
        Expr::map(Op::Positive, [self.clone()]).with_slope(Slope::Flat)
    }

    /// An array that is read when the expression is evaluated.
    pub fn input(input: Arc<dyn Input>) -> Expr {
        let meta = Shape::new(input.shape()).map(|shape| Meta::new(shape, input.dtype()));
        Expr::build(Kind::Input(input), meta.map_err(Error::from))
    }

    /// An element-wise operation of the table on operands that broadcast, in the table's order.
    #[track_caller]
    pub(crate) fn map(op: Op, operands: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::map_by(Some(Caller::here()), op, operands)
    }

    /// [`Expr::map`] inside a formula, on its own intermediate results: policies see no broadcast of the
    /// user's.
    pub(super) fn map_within(op: Op, operands: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::map_by(None, op, operands)
    }

    pub(super) fn map_by(caller: Option<Caller>, op: Op, operands: impl IntoIterator<Item = Expr>) -> Expr {
        let operands: Operands = operands.into_iter().collect();
        match infer_map(op, &operands) {
            Ok((_, compute, _)) if wide(op, compute, &operands) => {
                Expr::map_wide(caller, op, operands, compute)
            }
            Ok((shape, compute, result)) => formula::rewritten(op, &operands, compute).unwrap_or_else(|| {
                Expr::written(Kind::Map { op, operands, compute }, Ok(Meta::new(shape, result)), caller)
            }),
            Err(error) => formula::power_of_bools(op, &operands)
                .unwrap_or_else(|| Expr::build(Kind::Map { op, operands, compute: DType::F32 }, Err(error))),
        }
    }

    /// A half-precision operation computed in f32; only the result is rounded.
    pub(super) fn map_wide(caller: Option<Caller>, op: Op, operands: Operands, compute: DType) -> Expr {
        let half = |operand: &Expr| operand.typed().is_some_and(|typed| typed.dtype.is_half());
        let single = |operand: Expr| if half(&operand) { operand.to_dtype(DType::F32) } else { operand };
        Expr::map_by(caller, op, operands.into_iter().map(single)).to_dtype(compute)
    }

    /// A reduction of the table. `dims` may be negative and in any order; an empty list means all of them.
    pub(crate) fn reduce(op: Reduction, operand: Expr, dims: &Dims, correction: f64) -> Expr {
        let inferred = infer_reduce(op, &operand, dims);
        let keepdim = dims.keepdim;
        match inferred {
            Ok((dims, shape, compute, result)) => {
                // Of no elements there is no variance, whatever the correction.
                let correction =
                    if operand.shape().is_ok_and(|shape| shape.contains(&0)) { 0.0 } else { correction };
                let kind = Kind::Reduce { op, operand, dims, keepdim, compute, correction };
                Expr::build(kind, Ok(Meta::new(shape, result)))
            }
            Err(error) => {
                let kind = Kind::Reduce {
                    op,
                    operand,
                    dims: SmallVec::new(),
                    keepdim,
                    compute: DType::F32,
                    correction,
                };
                Expr::build(kind, Err(error))
            }
        }
    }

    pub(crate) fn view(&self, view: View) -> Expr {
        let meta = self.meta().and_then(|meta| {
            // A view that fails on a contiguous layout fails on every layout of that shape.
            let layout = view.apply(&Layout::contiguous(meta.shape.clone()));
            let layout = layout.map_err(|error| error.with_tensor_type(meta.dtype().tensor_type()))?;
            Ok(Meta::new(layout.shape().clone(), meta.dtype()))
        });
        Expr::build(Kind::View { operand: self.clone(), view }, meta)
    }

    /// The values converted to another dtype.
    pub fn to_dtype(&self, dtype: DType) -> Expr {
        let meta = self.meta().map(|meta| Meta::new(meta.shape.clone(), dtype));
        match &meta {
            Ok(_) if self.dtype().is_ok_and(|own| own == dtype) && !self.is_number() => self.clone(),
            _ => Expr::build(Kind::Cast { operand: self.clone(), dtype }, meta),
        }
    }

    /// The same values, in row-major order wherever the expression is evaluated: other results lie in the
    /// order in which the dimensions of the operands lie.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let x = Expr::from(&tensor![[1, 2, 3], [4, 5, 6]]).t();
    /// assert_eq!((&x + 1).eval()?.strides(), [1, 3]);
    /// assert_eq!((x.contiguous() + 1).eval()?.strides(), [2, 1]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn contiguous(&self) -> Expr {
        if self.node().in_order { self.clone() } else { self.copied().in_row_major_order() }
    }

    /// The same values in memory of their own: dimensions lie in the order in which those of the value lie,
    /// as in a [`clone`](crate::Tensor::clone_elements).
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let x = Expr::from(&tensor![[1, 2, 3], [4, 5, 6]]).t();
    /// assert_eq!(x.copied().eval()?.strides(), [1, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn copied(&self) -> Expr {
        let meta = self.meta().cloned();
        let dtype = meta.as_ref().map_or(DType::F32, Meta::dtype);
        Expr::build(Kind::Cast { operand: self.clone(), dtype }, meta)
    }

    /// The matrix product, as `torch.matmul`, for all its combinations of ranks; batch dimensions broadcast
    /// without copies.
    ///
    /// Shapes: `(…, n, k), (…, k, m) -> (…, n, m)`; `(k), (k) -> ()`; `(…, n, k), (k) -> (…, n)`.
    #[track_caller]
    pub fn matmul(&self, other: impl Into<Expr>) -> Expr {
        let other = other.into();
        let meta = self.meta().and_then(|a| {
            let b = other.meta()?;
            product::infer(a.typed, &a.shape, b.typed, &b.shape).map(|(shape, dtype)| Meta::new(shape, dtype))
        });
        Expr::written(Kind::Matmul { factors: [self.clone(), other] }, meta, Some(Caller::here()))
    }
}

/// Shape, computing dtype and result dtype of an element-wise operation.
fn infer_map(op: Op, operands: &[Expr]) -> Result<(Shape, DType, DType)> {
    let mut typed: SmallVec<[Typed; 4]> = SmallVec::new();
    let mut shapes: SmallVec<[&[usize]; 4]> = SmallVec::new();
    for operand in operands {
        let meta = operand.meta()?;
        typed.push(meta.typed);
        shapes.push(&meta.shape);
    }
    let inferred = formula::infer_dtypes(op, &typed, &shapes)?;
    check_numbers(op, inferred.compute, operands)?;
    let shape = match operands {
        // The usual case: all shapes are equal.
        [first, ..] if shapes.iter().all(|shape| *shape == shapes[0]) => first.meta()?.shape.clone(),
        _ => broadcast_shape(&shapes)?,
    };
    Ok((shape, inferred.compute, inferred.result))
}

/// Checks bare numbers against the dtype for the operations that refuse those out of range; elsewhere a
/// number may overflow.
fn check_numbers(op: Op, compute: DType, operands: &[Expr]) -> Result<()> {
    let whole = compute.category() == Category::Int;
    let (checked, dtype) = match op {
        Op::Pow if whole || compute.is_half() => (&operands[1..], compute),
        Op::Where if !compute.is_half() => (&operands[1..], compute),
        Op::Lerp => (&operands[2..], compute.opmath()),
        Op::Softplus => (&operands[1..], compute.opmath()),
        _ => return Ok(()),
    };
    for number in checked.iter().filter_map(Expr::number) {
        match number {
            Scalar::Int(power) if op == Op::Pow && whole && power < 0 => return Err(Error::NegativePower),
            number => _ = number.held_by(dtype)?,
        }
    }
    Ok(())
}

/// Whether a half-precision operation reads some operands unrounded, as PyTorch's kernels do: bare numbers, a
/// second operand of zero dimensions, and the exponents of `ldexp`.
fn wide(op: Op, compute: DType, operands: &[Expr]) -> bool {
    let second = || operands[1].typed().filter(|typed| typed.dtype != compute);
    compute.is_half()
        && match op {
            Op::Mul if operands[0].is_number() => true,
            Op::Mul | Op::Div | Op::DivTrunc | Op::FloorDivide => {
                second().is_some_and(|typed| typed.bucket != Bucket::Dimensioned)
            }
            Op::Lerp | Op::Softplus | Op::RoundDecimals => operands.iter().any(Expr::is_number),
            Op::Ldexp => second().is_some_and(|typed| typed.dtype.category() == Category::Int),
            _ => false,
        }
}

type InferredReduction = (SmallVec<[usize; 4]>, Shape, DType, DType);

fn infer_reduce(op: Reduction, operand: &Expr, dims: &Dims) -> Result<InferredReduction> {
    let meta = operand.meta()?;
    // PyTorch checks the dtype first, except for `amax` and `amin`.
    let inferred = op.op().infer(&[meta.typed]);
    let &ReductionInfo { empty, list, .. } = op.columns();
    if empty != Empty::no_extreme {
        inferred.clone()?;
    }
    let reduced = match list {
        List::none if dims.names_none() => SmallVec::new(),
        List::none | List::all => dims.resolve(meta.shape.ndim())?,
    };
    refuse_empty(op, &meta.shape, dims, &reduced)?;
    let inferred = inferred?;
    let shape = reduced_shape(&meta.shape, &reduced, dims.keepdim)?;
    Ok((reduced, shape, inferred.compute, inferred.result))
}

/// Refuses empty dimensions for a reduction that has no value for zero elements.
fn refuse_empty(op: Reduction, shape: &Shape, dims: &Dims, reduced: &[usize]) -> Result<()> {
    let name = op.name();
    let refuse = |class, message| Err(Error::Argument { class, message });
    let empty = op.columns().empty;
    if empty == Empty::value {
        return Ok(());
    }
    if dims.is_all() && shape.numel() == 0 {
        let unspecified = format!("{name}(): Expected reduction dim to be specified for input.numel() == 0.");
        return match empty {
            Empty::no_place => refuse(ErrorClass::Index, unspecified),
            _ => refuse(
                ErrorClass::Runtime,
                unspecified + " Specify the reduction dim with the 'dim' argument.",
            ),
        };
    }
    match reduced.iter().find(|&&dim| shape[dim] == 0) {
        Some(&dim) => {
            // PyTorch's messages for `amax` and `amin` repeat the dimension as it was given, the others its
            // index.
            let dim = match empty {
                Empty::no_extreme => dims.given(dim, shape.ndim()),
                _ => dim as isize,
            };
            refuse(
                ErrorClass::Index,
                format!("{name}(): Expected reduction dim {dim} to have non-zero size."),
            )
        }
        None => Ok(()),
    }
}

/// The shape of the results of a reduction.
pub(crate) fn reduced_shape(sizes: &[usize], reduced: &[usize], keepdim: bool) -> Result<Shape, ShapeError> {
    let kept = sizes.iter().enumerate().filter_map(|(dim, &size)| match (reduced.contains(&dim), keepdim) {
        (true, false) => None,
        (true, true) => Some(1),
        (false, _) => Some(size),
    });
    Shape::new(&kept.collect::<SmallVec<[usize; 8]>>())
}
