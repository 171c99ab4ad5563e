//! Owns `Expr`: a computation as a graph, whose nodes know their shape and dtype or the error that they would
//! report. It does not know in which order or passes it will run (`plan`).

mod batch;
mod call;
mod contract;
mod einsum;
mod formula;
mod grad;
mod input;
mod methods;
mod operators;
mod outline;
mod product;
mod replace;
mod text;
mod walk;

use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_ops::{Bucket, Category, DType, Empty, List, Op, Reduction, ReductionInfo, Scalar, Typed};
use zerostride_shape::{ErrorClass, Layout, Shape, ShapeError, broadcast_shape};

pub use batch::mapped;
pub use call::{Argument, Arguments, call};
pub(crate) use contract::Pairs;
pub use einsum::einsum;
pub use grad::{Variable, vjp};
pub use input::Input;
pub(crate) use input::{leading, rows};
pub(crate) use methods::argument;
pub use methods::{Dims, keepdim};
pub use outline::{Selection, Step};
pub(crate) use product::Operand;
pub(crate) use replace::{replace, without_inputs};
pub(crate) use walk::operands_first;

use crate::caller::Caller;
use crate::{Error, Result, Tensor};

/// A computation over tensors and numbers that has not run yet.
///
/// Operators and methods build expressions and never fail; [`Expr::eval`] runs the whole expression in as few
/// passes as its reductions allow, or reports the first error with the sub-expression it came from. Operands
/// are read when the expression is evaluated: if one has been written to in place since, that is an error.
///
/// ```
/// use zerostride::{tensor, Expr};
///
/// let x = tensor![[1.0, 2.0], [3.0, 4.0]];
/// let mean = tensor![2.0, 3.0];
/// let y: Expr = ((&x - &mean) * 0.5).exp();
/// assert_eq!(y.shape()?, [2, 2]);
/// let distances = (x.unsqueeze(1)? - x.unsqueeze(0)?).square().sum(-1);   // holds no (2, 2, 2) array
/// assert_eq!(distances.eval()?.to_vec::<f32>()?, [0.0, 8.0, 8.0, 0.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone)]
pub struct Expr(Arc<Node>);

pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) meta: Result<Meta>,
    /// The user's line that wrote an operation that may broadcast; `None` where a formula stretches its own
    /// intermediate results.
    pub(crate) caller: Option<Caller>,
    /// The length of the longest path of nodes, this one included.
    depth: usize,
    /// Whether the node is an `Input`, or reads one directly or indirectly.
    pub(crate) lazy: bool,
    /// Whether the dimensions of all operands are known to lie in their order, and so those of the value.
    pub(crate) in_order: bool,
    /// What its derivative is.
    slope: Slope,
}

/// What the derivative of a node is, where that is not the operation's: formulas know more of their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slope {
    /// As the row of the operation says.
    Own,
    /// Zero: the value counts as a constant, such as the largest element that `softmax` subtracts, whose
    /// derivatives cancel.
    Flat,
    /// Zero where the first operand is 0, such as that of a root of a sum of squares there.
    FlatAtZero,
}

/// What a node's value is known to be before it is computed.
#[derive(Clone, Debug)]
pub(crate) struct Meta {
    pub(crate) shape: Shape,
    pub(crate) typed: Typed,
}

impl Meta {
    pub(crate) fn dtype(&self) -> DType {
        self.typed.dtype
    }

    fn new(shape: Shape, dtype: DType) -> Meta {
        let bucket = if shape.ndim() == 0 { Bucket::ZeroDim } else { Bucket::Dimensioned };
        Meta { shape, typed: Typed { dtype, bucket } }
    }
}

/// The operands of a node.
pub(crate) type Operands = SmallVec<[Expr; 3]>;

/// What a node computes. Dtypes are resolved: operands of `Map` are converted to `compute`.
pub(crate) enum Kind {
    /// A tensor, and its storage's count of writes when it was captured; `None` if later writes are no error.
    Leaf { tensor: Tensor, version: Option<u64> },
    /// An array that is not in memory. It becomes a tensor, or rows of one, before anything is planned.
    Input(Arc<dyn Input>),
    /// A bare number.
    Number(Scalar),
    /// An element-wise operation of the table.
    Map { op: Op, operands: Operands, compute: DType },
    /// The operand's values converted to another dtype.
    Cast { operand: Expr, dtype: DType },
    /// A reduction of the table over dimensions, in rising order; reduced dimensions keep size 1 under
    /// `keepdim`.
    Reduce {
        op: Reduction,
        operand: Expr,
        dims: SmallVec<[usize; 4]>,
        keepdim: bool,
        compute: DType,
        correction: f64,
    },
    /// A view of the operand: some of its elements, or another shape.
    View { operand: Expr, view: View },
    /// A matrix product; batch dimensions broadcast.
    Matmul { factors: [Expr; 2] },
    /// A node whose error is in `meta`.
    Failed { text: String },
}

/// Dimensions as they were given to a view; negative ones count from the end.
pub(crate) type DimList = SmallVec<[isize; 4]>;

/// A view as data: it can be applied to any layout of the operand's shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum View {
    Expand(DimList),
    BroadcastTo(SmallVec<[usize; 4]>),
    Unsqueeze(isize),
    Squeeze,
    SqueezeDims(DimList),
    Permute(DimList),
    Transpose(isize, isize),
    T,
    MatrixTranspose,
    Movedim(DimList, DimList),
    Reshape(DimList),
    Flatten(isize, isize),
    Narrow { dim: isize, start: isize, length: isize },
    Select { dim: isize, index: isize },
    Slice { dim: isize, start: Option<isize>, stop: Option<isize>, step: isize },
    Flip(DimList),
    Diagonal { offset: isize, dim1: isize, dim2: isize },
    Unfold { dim: isize, size: isize, step: isize },
}

impl View {
    /// Whether dimensions that lie in their order do so in the view.
    fn keeps_order(&self) -> bool {
        match self {
            View::Expand(_)
            | View::BroadcastTo(_)
            | View::Unsqueeze(_)
            | View::Squeeze
            | View::SqueezeDims(_)
            | View::Reshape(_)
            | View::Flatten(..)
            | View::Narrow { .. }
            | View::Select { .. }
            | View::Slice { .. }
            | View::Flip(_) => true,
            View::Permute(_)
            | View::Transpose(..)
            | View::T
            | View::MatrixTranspose
            | View::Movedim(..)
            | View::Diagonal { .. }
            | View::Unfold { .. } => false,
        }
    }

    /// The view of a layout. Whether it exists depends on the shape only, except for `Reshape` and `Flatten`.
    pub(crate) fn apply(&self, layout: &Layout) -> Result<Layout, ShapeError> {
        match self {
            View::Expand(sizes) => layout.expand(sizes),
            View::BroadcastTo(shape) => layout.broadcast_to(shape),
            View::Unsqueeze(dim) => layout.unsqueeze(*dim),
            View::Squeeze => layout.squeeze(),
            View::SqueezeDims(dims) => layout.squeeze_dims(dims),
            View::Permute(dims) => layout.permute(dims),
            View::Transpose(dim0, dim1) => layout.transpose(*dim0, *dim1),
            View::T => layout.t(),
            View::MatrixTranspose => layout.matrix_transpose(),
            View::Movedim(source, destination) => layout.movedim(source, destination),
            View::Reshape(sizes) => layout.view(sizes),
            View::Flatten(start, end) => layout.flatten(*start, *end),
            View::Narrow { dim, start, length } => layout.narrow(*dim, *start, *length),
            View::Select { dim, index } => layout.select(*dim, *index),
            View::Slice { dim, start, stop, step } => layout.slice(*dim, *start, *stop, *step),
            View::Flip(dims) => layout.flip(dims),
            View::Diagonal { offset, dim1, dim2 } => layout.diagonal(*offset, *dim1, *dim2),
            View::Unfold { dim, size, step } => layout.unfold(*dim, *size, *step),
        }
    }
}

impl Expr {
    fn build(kind: Kind, meta: Result<Meta>) -> Expr {
        Expr::written(kind, meta, None)
    }

    #[inline]
    fn written(kind: Kind, meta: Result<Meta>, caller: Option<Caller>) -> Expr {
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
                let (meta, slope) = (Ok(meta), Slope::Own);
                Expr(Arc::new(Node { kind, meta, caller, depth, lazy, in_order, slope }))
            }
            Err(error) => Expr::failing(&kind, error),
        }
    }

    /// A node with an error. It keeps none of its operands, since it will never run.
    #[cold]
    fn failing(kind: &Kind, error: Error) -> Expr {
        let text = text::render(kind);
        let meta = Err(error.within(|| text.clone()));
        let kind = Kind::Failed { text };
        let node =
            Node { kind, meta, caller: None, depth: 1, lazy: false, in_order: true, slope: Slope::Own };
        Expr(Arc::new(node))
    }

    /// A node without operands.
    #[inline]
    fn first(kind: Kind, meta: Meta) -> Expr {
        let (meta, in_order) = (
            Ok(meta),
            match &kind {
                Kind::Leaf { tensor, .. } => tensor.layout().is_in_order(),
                _ => true,
            },
        );
        Expr(Arc::new(Node { kind, meta, caller: None, depth: 1, lazy: false, in_order, slope: Slope::Own }))
    }

    /// The node, which was just made and has no other owner, with another derivative.
    fn with_slope(mut self, slope: Slope) -> Expr {
        Arc::get_mut(&mut self.0).expect("the node was just made").slope = slope;
        self
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

    fn leaf(tensor: &Tensor, version: Option<u64>) -> Expr {
        let meta = Meta { shape: tensor.shape_value().clone(), typed: tensor.typed() };
        Expr::first(Kind::Leaf { tensor: tensor.alias(), version }, meta)
    }

    /// The tensor, if the expression is a tensor and computes nothing.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    ///
    /// let x = tensor![1, 2];
    /// assert!(Expr::from(&x).as_tensor().is_some_and(|same| same.shares_storage(&x)));
    /// assert!((&x + 1).as_tensor().is_none());
    /// ```
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match &self.node().kind {
            Kind::Leaf { tensor, .. } => Some(tensor),
            _ => None,
        }
    }

    /// The tensor that the expression is a view of, seen through its views; `None` if an element has to be
    /// computed or copied.
    ///
    /// ```
    /// use zerostride::{Expr, einsum, tensor};
    ///
    /// let x = tensor![[1, 2], [3, 4]];
    /// assert!(einsum("ij->ji", [&x]).as_view().is_some_and(|view| view.shares_storage(&x)));
    /// assert!(einsum("ij->i", [&x]).as_view().is_none());
    /// ```
    pub fn as_view(&self) -> Option<Tensor> {
        match &self.node().kind {
            Kind::Leaf { tensor, .. } => Some(tensor.alias()),
            Kind::View { operand, view } => {
                let tensor = operand.as_view()?;
                view.apply(tensor.layout()).ok().map(|layout| tensor.with_layout(layout))
            }
            _ => None,
        }
    }

    /// The operand of an operation that runs at once, so that no write can come between.
    pub(crate) fn current(tensor: &Tensor) -> Expr {
        Expr::leaf(tensor, None)
    }

    /// An array that is read when the expression is evaluated.
    pub fn input(input: Arc<dyn Input>) -> Expr {
        let meta = Shape::new(input.shape()).map(|shape| Meta::new(shape, input.dtype()));
        Expr::build(Kind::Input(input), meta.map_err(Error::from))
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0
    }

    /// The identity of the node: equal for clones of one expression.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    pub(crate) fn meta(&self) -> Result<&Meta> {
        self.0.meta.as_ref().map_err(Clone::clone)
    }

    /// The shape of the value.
    ///
    /// # Errors
    /// The expression has no value; this is the error that evaluation would report.
    pub fn shape(&self) -> Result<&[usize]> {
        Ok(&self.meta()?.shape)
    }

    /// The dtype of the value.
    ///
    /// # Errors
    /// As [`Expr::shape`].
    pub fn dtype(&self) -> Result<DType> {
        Ok(self.meta()?.dtype())
    }

    /// An element-wise operation of the table on operands that broadcast, in the table's order.
    #[track_caller]
    pub(crate) fn map(op: Op, operands: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::map_by(Some(Caller::here()), op, operands)
    }

    /// [`Expr::map`] inside a formula, on its own intermediate results: policies see no broadcast of the
    /// user's.
    fn map_within(op: Op, operands: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::map_by(None, op, operands)
    }

    fn map_by(caller: Option<Caller>, op: Op, operands: impl IntoIterator<Item = Expr>) -> Expr {
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
    fn map_wide(caller: Option<Caller>, op: Op, operands: Operands, compute: DType) -> Expr {
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

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.0.kind, Kind::Number(_))
    }

    pub(crate) fn number(&self) -> Option<Scalar> {
        match self.0.kind {
            Kind::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The number that the expression is, in any dtype.
    pub(crate) fn bare_number(&self) -> Option<Scalar> {
        let mut expr = self;
        while let Kind::Cast { operand, .. } = &expr.node().kind {
            expr = operand;
        }
        expr.number()
    }

    /// The nodes that this one reads.
    fn operands(&self) -> &[Expr] {
        self.0.kind.operands()
    }

    fn typed(&self) -> Option<Typed> {
        self.0.meta.as_ref().ok().map(|meta| meta.typed)
    }
}

impl Kind {
    /// The nodes this one reads.
    pub(crate) fn operands(&self) -> &[Expr] {
        match self {
            Kind::Leaf { .. } | Kind::Input(_) | Kind::Number(_) | Kind::Failed { .. } => &[],
            Kind::Map { operands, .. } => operands,
            Kind::Cast { operand, .. } | Kind::Reduce { operand, .. } | Kind::View { operand, .. } => {
                std::slice::from_ref(operand)
            }
            Kind::Matmul { factors } => factors,
        }
    }
}

impl From<&Tensor> for Expr {
    fn from(tensor: &Tensor) -> Expr {
        Expr::leaf(tensor, Some(tensor.storage().version()))
    }
}

impl From<Tensor> for Expr {
    fn from(tensor: Tensor) -> Expr {
        Expr::from(&tensor)
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Expr {
        expr.clone()
    }
}

impl<N: Into<Scalar>> From<N> for Expr {
    fn from(number: N) -> Expr {
        let number = number.into();
        let typed = Typed { dtype: number.dtype(), bucket: Bucket::Number };
        Expr::first(Kind::Number(number), Meta { shape: Shape::scalar(), typed })
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
