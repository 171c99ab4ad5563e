//! Owns `Expr` and its nodes, and what is known of each. It does not know how nodes of operations are made
//! (`build.rs`).

use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_ops::{Bucket, DType, Op, Reduction, Scalar, Typed};
use zerostride_shape::Shape;

use super::input::Input;
use super::view::View;
use crate::caller::Caller;
use crate::{Device, Error, Result, Tensor};

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
pub struct Expr(pub(super) Arc<Node>);

pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) meta: Result<Meta>,
    /// The user's line that wrote an operation that may broadcast; `None` where a formula stretches its own
    /// intermediate results.
    pub(crate) caller: Option<Caller>,
    /// The length of the longest path of nodes, this one included.
    pub(super) depth: usize,
    /// Whether the node is an `Input`, or reads one directly or indirectly.
    pub(crate) lazy: bool,
    /// Whether the dimensions of all operands are known to lie in their order, and so those of the value.
    pub(crate) in_order: bool,
    /// Whether the value lies in row-major order, however the dimensions of the operands lie.
    pub(crate) row_major: bool,
    /// What its derivative is.
    pub(super) slope: Slope,
}

/// What the derivative of a node is, where that is not the operation's: formulas know more of their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slope {
    /// As the row of the operation says.
    Own,
    /// Zero: the value counts as a constant, such as the largest element that `softmax` subtracts, whose
    /// derivatives cancel.
    Flat,
    /// Zero where the first operand is 0, such as that of a root of a sum of squares there.
    FlatAtZero,
    /// Of equal extremes along a dimension, the first one's alone.
    First,
    /// That of `clamp` with tensors as bounds: of a `minimum` of the upper one and of a `maximum` of the
    /// lower one and the input.
    Clamped,
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

    pub(super) fn new(shape: Shape, dtype: DType) -> Meta {
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

impl Expr {
    /// A node without operands.
    #[inline]
    pub(super) fn first(kind: Kind, meta: Meta) -> Expr {
        let (meta, in_order) = (
            Ok(meta),
            match &kind {
                Kind::Leaf { tensor, .. } => tensor.layout().is_in_order(),
                _ => true,
            },
        );
        let (caller, row_major, slope) = (None, false, Slope::Own);
        Expr(Arc::new(Node { kind, meta, caller, depth: 1, lazy: false, in_order, row_major, slope }))
    }

    /// The node, which was just made and has no other owner, with another derivative.
    pub(super) fn with_slope(mut self, slope: Slope) -> Expr {
        Arc::get_mut(&mut self.0).expect("the node was just made").slope = slope;
        self
    }

    /// The node, which was just made and has no other owner, with a value that lies in row-major order.
    pub(super) fn in_row_major_order(mut self) -> Expr {
        Arc::get_mut(&mut self.0).expect("the node was just made").row_major = true;
        self
    }

    pub(super) fn leaf(tensor: &Tensor, version: Option<u64>) -> Expr {
        let meta = Meta { shape: tensor.shape_value().clone(), typed: tensor.typed() };
        Expr::first(Kind::Leaf { tensor: tensor.alias(), version }, meta)
    }

    /// Refuses a tensor that was written to since it was captured.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        match &self.node().kind {
            Kind::Leaf { tensor, version: Some(captured) } if *captured != tensor.storage().version() => {
                let shape = tensor.shape_value().clone();
                Err(Error::Modified { shape, captured: *captured, found: tensor.storage().version() })
            }
            _ => Ok(()),
        }
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

    /// Where the expression is computed: on the device that an operand is on, if one is on a device.
    ///
    /// ```
    /// use zerostride::{Device, tensor};
    ///
    /// let x = tensor![1.0, 2.0];
    /// assert_eq!((&x + 1).device(), Device::Cpu);
    /// if let Ok(x) = x.cuda() {
    ///     assert_eq!((&x + 1).device(), Device::Cuda(0));
    /// }
    /// ```
    pub fn device(&self) -> Device {
        let nodes = self.operands_first(|_| true);
        let devices = nodes.iter().filter_map(|node| node.as_tensor()).map(Tensor::device);
        devices.into_iter().find(|device| *device != Device::Cpu).unwrap_or_default()
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
    pub(super) fn operands(&self) -> &[Expr] {
        self.0.kind.operands()
    }

    pub(super) fn typed(&self) -> Option<Typed> {
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
