//! Owns `ShapeError`: what can be wrong with shapes, as typed fields. It does not know the text
//! (`message.rs`) nor how errors are drawn, for which [`ShapeError::diagnostic`] returns the data.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::shape::{Shape, Size, Stride};

/// The class of exception that PyTorch raises for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// `RuntimeError`.
    Runtime,
    /// `IndexError`.
    Index,
    /// `ValueError`.
    Value,
    /// `TypeError`, which only other crates raise.
    Type,
    /// `NotImplementedError`, which only other crates raise.
    NotImplemented,
}

/// What is wrong with a shape or a view.
///
/// `Display` is PyTorch 2.15's message for the same mistake, formatted when it is printed. Where PyTorch has
/// no such error (the limit on rank) or omits the numbers (overflow), the message is ours.
///
/// ```
/// use zerostride_shape::{ErrorClass, broadcast_shape};
///
/// let error = broadcast_shape(&[&[5, 2, 4, 1], &[3, 1, 1]]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"
/// );
/// assert_eq!(error.class(), ErrorClass::Runtime);
/// assert_eq!(error.diagnostic().dim, Some(1));
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeError {
    // Broadcasting.
    /// Operands that do not broadcast, by the rule of operations.
    Incompatible {
        /// The accumulated size, "tensor a".
        a: Size,
        /// The size of the operand that does not fit, "tensor b".
        b: Size,
        /// The dimension of the result of a and b.
        dim: usize,
        /// The operand that brought size `a`, and the one that has size `b`.
        operands: (usize, usize),
        /// The shapes of all operands.
        shapes: Box<[Shape]>,
    },
    /// Shapes that do not broadcast, in the words of `torch.broadcast_shapes`.
    NotBroadcastable {
        /// The position of the mismatch from the right, counted from 1.
        from_right: usize,
        /// The argument that does not fit.
        argument: usize,
        /// The shape that the arguments so far broadcast to, padded with 1.
        expected: Shape,
        /// The shapes of all arguments.
        shapes: Box<[Shape]>,
    },
    /// A target of an in-place operation that would have to grow.
    InPlace {
        /// The shape of the tensor written to.
        output: Shape,
        /// The shape of the result.
        broadcast: Shape,
    },
    /// A target of `sum_to_size` that could not be expanded to the tensor's shape.
    SumToSize {
        /// The requested sizes.
        target: Vec<Size>,
        /// The sizes of the tensor.
        sizes: Shape,
    },

    // Limits.
    /// More than [`MAX_RANK`](crate::MAX_RANK) dimensions.
    RankTooHigh {
        /// The requested number of dimensions.
        ndim: usize,
    },
    /// A number of elements (not counting sizes of 0) above `isize::MAX`.
    NumelOverflow {
        /// The requested sizes.
        sizes: Vec<Size>,
    },
    /// A byte count above `isize::MAX`.
    BytesOverflow {
        /// The requested shape.
        shape: Shape,
        /// Bytes for each element.
        item_size: Size,
    },
    /// A negative size where only `-1`, or no negative size, is allowed.
    NegativeSize {
        /// The first negative size.
        size: Stride,
        /// The requested sizes.
        sizes: Vec<Stride>,
    },

    // Layouts.
    /// A layout with more strides than sizes, or fewer.
    StridesLength,
    /// A layout with a negative storage offset.
    NegativeOffset {
        /// The offset, in elements.
        offset: Stride,
    },
    /// A layout with elements before the start of the storage.
    BeforeStorage {
        /// The sizes of the layout.
        shape: Shape,
        /// The lowest element that the layout would reach.
        lowest: Stride,
    },
    /// A layout with element indices above `isize::MAX`, or below `isize::MIN`.
    LayoutOverflow {
        /// The sizes of the layout.
        sizes: Vec<Size>,
        /// The strides of the layout, in elements.
        strides: Vec<Stride>,
    },

    // Expanding.
    /// An expanded size that differs from an existing size other than 1.
    ExpandMismatch {
        /// The requested size.
        target: Stride,
        /// The size of the tensor.
        existing: Size,
        /// The dimension of the result.
        dim: usize,
        /// The requested sizes.
        target_sizes: Vec<Stride>,
        /// The sizes of the tensor.
        sizes: Shape,
    },
    /// An expanded size of -1 where the tensor has no dimension to keep.
    ExpandNewDim {
        /// The dimension of the result.
        dim: usize,
    },
    /// Fewer expanded sizes than the tensor has dimensions.
    ExpandTooFew {
        /// PyTorch's name of the tensor's type; see [`ShapeError::with_tensor_type`].
        tensor_type: &'static str,
        /// The sizes of the tensor.
        sizes: Shape,
        /// The requested sizes.
        target_sizes: Vec<Stride>,
    },

    // Dimensions.
    /// A dimension that the tensor does not have.
    DimOutOfRange {
        /// The requested dimension.
        dim: isize,
        /// The number of dimensions that can be named; at least 1, since a 0-d tensor accepts 0 and -1.
        ndim: usize,
    },
    /// A dimension named twice.
    DuplicateDim {
        /// The dimension, counted from the left.
        dim: usize,
    },
    /// A permutation of the wrong length.
    PermuteLength {
        /// The dimensions of the tensor.
        ndim: usize,
        /// The length of the permutation.
        len: usize,
    },
    /// A permutation that names a dimension twice.
    PermuteDuplicate,
    /// `t()` of a tensor with more than two dimensions.
    TransposeRank {
        /// The dimensions of the tensor.
        ndim: usize,
    },
    /// `mT` of a tensor with one dimension.
    MatrixTransposeRank {
        /// The dimensions of the tensor.
        ndim: usize,
    },
    /// `movedim` with lists of different lengths.
    MovedimLength {
        /// The dimensions to move.
        source: Vec<isize>,
        /// Where to move them.
        destination: Vec<isize>,
    },
    /// `movedim` with a dimension given twice.
    MovedimRepeated {
        /// The list: `source` or `destination`.
        list: &'static str,
        /// The list.
        dims: Vec<isize>,
    },
    /// `flatten` from a dimension to an earlier one.
    FlattenOrder,
    /// No sizes for `unflatten`.
    UnflattenEmpty,
    /// Sizes for `unflatten` that are not those of the dimension.
    UnflattenNumel {
        /// The requested sizes.
        sizes: Vec<Stride>,
        /// The dimension, as it was given.
        dim: isize,
        /// Its size.
        size: Size,
    },
    /// Sizes for `unflatten` that are no sizes.
    UnflattenSizes(Box<ShapeError>),
    /// `diagonal` of a dimension with itself.
    DiagonalIdentical {
        /// The first dimension, as given.
        dim1: isize,
        /// The second dimension, as given.
        dim2: isize,
    },
    /// A function that needs a dimension, of a 0-d tensor.
    ZeroDim {
        /// The function, such as `select`.
        function: &'static str,
        /// The class that PyTorch chose for this function.
        class: ErrorClass,
    },

    // Viewing.
    /// More than one size of -1.
    InferTwice,
    /// A size below -1.
    InvalidSize {
        /// The size.
        size: Stride,
        /// Its position.
        index: usize,
        /// The requested sizes.
        sizes: Vec<Stride>,
    },
    /// A size of -1 for which any size would fit.
    InferAmbiguous {
        /// The requested sizes.
        sizes: Vec<Stride>,
    },
    /// Sizes with another number of elements than the tensor.
    InvalidNumel {
        /// The requested sizes.
        sizes: Vec<Stride>,
        /// The elements of the tensor.
        numel: Size,
    },
    /// Sizes that only a copy of the elements could have; `reshape` makes that copy.
    ViewIncompatible,

    // Choosing elements.
    /// `narrow` from a start that does not exist.
    NarrowStart {
        /// The start.
        start: Stride,
        /// The size of the dimension.
        size: Size,
    },
    /// `narrow` to a negative length.
    NarrowLength,
    /// `narrow` past the end.
    NarrowEnd {
        /// The start, counted from 0.
        start: Size,
        /// The length.
        length: Size,
        /// The size of the dimension.
        size: Size,
    },
    /// `select` of an index that does not exist.
    SelectIndex {
        /// The index.
        index: Stride,
        /// The sizes of the tensor.
        sizes: Shape,
        /// The dimension, counted from the left.
        dim: usize,
    },
    /// A slice with step 0.
    SliceStep,
    /// `unfold` to windows larger than the dimension.
    UnfoldSize {
        /// The dimension, counted from the left.
        dim: usize,
        /// Its size.
        max: Size,
        /// The size of a window.
        size: Size,
    },
    /// `unfold` to windows of negative size.
    UnfoldNegative {
        /// The size of a window.
        size: Stride,
    },
    /// `unfold` with a step that is not positive.
    UnfoldStep {
        /// The step.
        step: Stride,
    },
}

/// The data of an error, for callers that draw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// The shapes of all operands, in order; empty when the error is not about operands.
    pub shapes: Vec<Shape>,
    /// The dimension that the message names, if it names one: an index into the result.
    pub dim: Option<usize>,
    /// The same dimension counted from the right, 0 for the last one; aligning shapes does not change it.
    pub from_right: Option<usize>,
    /// The two operands that disagree: the one with the size of "tensor a", and "tensor b".
    pub operands: Option<(usize, usize)>,
}

impl ShapeError {
    /// The class of exception that PyTorch raises.
    pub fn class(&self) -> ErrorClass {
        match self {
            ShapeError::DimOutOfRange { .. }
            | ShapeError::NarrowStart { .. }
            | ShapeError::SelectIndex { .. } => ErrorClass::Index,
            ShapeError::SliceStep => ErrorClass::Value,
            ShapeError::ZeroDim { class, .. } => *class,
            _ => ErrorClass::Runtime,
        }
    }

    /// Sets the tensor type in the one message that has it, [`ShapeError::ExpandTooFew`].
    ///
    /// Shapes have no dtype, so this crate writes `torch.FloatTensor`; callers that know the dtype correct
    /// it.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let error = Layout::contiguous(Shape::new(&[2, 3])?).expand(&[3]).unwrap_err();
    /// assert!(error.with_tensor_type("torch.LongTensor").to_string().starts_with("expand(torch.LongTensor{[2, 3]}"));
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    #[must_use]
    pub fn with_tensor_type(mut self, name: &'static str) -> ShapeError {
        if let ShapeError::ExpandTooFew { tensor_type, .. } = &mut self {
            *tensor_type = name;
        }
        self
    }

    /// The data behind the message: the operands and the dimension.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            ShapeError::Incompatible { dim, operands, shapes, .. } => Diagnostic {
                shapes: shapes.to_vec(),
                dim: Some(*dim),
                from_right: shapes[..=operands.1].iter().map(|shape| shape.len()).max().map(|n| n - 1 - dim),
                operands: Some(*operands),
            },
            ShapeError::NotBroadcastable { from_right, argument, expected, shapes } => {
                let size = expected[expected.len() - from_right];
                let brought = |shape: &Shape| shape.iter().rev().nth(from_right - 1) == Some(&size);
                Diagnostic {
                    shapes: shapes.to_vec(),
                    dim: Some(expected.len() - from_right),
                    from_right: Some(from_right - 1),
                    operands: shapes.iter().position(brought).map(|first| (first, *argument)),
                }
            }
            ShapeError::InPlace { output, broadcast } => {
                Diagnostic { shapes: alloc::vec![output.clone(), broadcast.clone()], ..Diagnostic::default() }
            }
            ShapeError::ExpandMismatch { sizes, dim, target_sizes, .. } => Diagnostic {
                shapes: alloc::vec![sizes.clone()],
                dim: Some(*dim),
                from_right: Some(target_sizes.len() - 1 - dim),
                operands: None,
            },
            ShapeError::ExpandNewDim { dim } => Diagnostic { dim: Some(*dim), ..Diagnostic::default() },
            ShapeError::ExpandTooFew { sizes, .. } | ShapeError::SumToSize { sizes, .. } => {
                Diagnostic { shapes: alloc::vec![sizes.clone()], ..Diagnostic::default() }
            }
            ShapeError::SelectIndex { sizes, dim, .. } => Diagnostic {
                shapes: alloc::vec![sizes.clone()],
                dim: Some(*dim),
                from_right: Some(sizes.len() - 1 - dim),
                operands: None,
            },
            _ => Diagnostic::default(),
        }
    }
}

impl core::error::Error for ShapeError {}
