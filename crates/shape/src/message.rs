//! Owns the wording of every `ShapeError`: PyTorch 2.15's line, formatted when it is printed.
//! It does not know when an error arises.

use core::fmt;

use crate::error::ShapeError;
use crate::shape::{List, MAX_RANK, Tuple};

/// The three constant parts of the text of [`ShapeError::Incompatible`], which the check at compile time also
/// uses.
pub(crate) const INCOMPATIBLE: [&str; 3] =
    ["The size of tensor a (", ") must match the size of tensor b (", ") at non-singleton dimension "];

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ShapeError::*;
        match self {
            Incompatible { a, b, dim, .. } => {
                let [before, between, last] = INCOMPATIBLE;
                write!(f, "{before}{a}{between}{b}{last}{dim}")
            }
            NotBroadcastable { from_right, argument, expected, shapes } => {
                let shape = &shapes[*argument];
                write!(
                    f,
                    "Attempting to broadcast a dimension of length {} at -{from_right}! Mismatching argument at \
                     index {argument} had {}; but expected shape should be broadcastable to {expected}",
                    shape[shape.len() - from_right],
                    Tuple(shape)
                )
            }
            InPlace { output, broadcast } => {
                write!(f, "output with shape {output} doesn't match the broadcast shape {broadcast}")
            }
            SumToSize { target, sizes } => {
                write!(f, "size {{{}}} is not expandable to size {{{sizes}}}.", List(target))
            }
            RankTooHigh { ndim } => {
                write!(f, "a tensor of {ndim} dimensions is not supported: at most {MAX_RANK} are")
            }
            NumelOverflow { sizes } => {
                write!(f, "Storage size calculation overflowed with sizes={}: ", List(sizes))?;
                let count = sizes.iter().try_fold(1u128, |count, &size| count.checked_mul(size as u128));
                match count {
                    // The shape has no elements, so only its strides can be wrong.
                    Some(0) => f.write_str("0 elements, but strides that do not fit"),
                    Some(count) => write!(f, "{count} elements"),
                    None => f.write_str("more than 2^128 elements"),
                }
            }
            BytesOverflow { shape, item_size } => write!(
                f,
                "Storage size calculation overflowed with sizes={shape}: {} elements of {item_size} bytes",
                shape.numel()
            ),
            NegativeSize { size, sizes } => {
                write!(f, "Trying to create tensor with negative dimension {size}: {}", List(sizes))
            }
            StridesLength => f.write_str("mismatch in length of strides and shape"),
            NegativeOffset { offset } => write!(f, "Tensor: invalid storage offset {offset}"),
            BeforeStorage { shape, lowest } => {
                write!(f, "a view of sizes {shape} would reach element {lowest}, before the start of its storage")
            }
            LayoutOverflow { sizes, strides } => write!(
                f,
                "Storage size calculation overflowed with sizes={} and strides={}",
                List(sizes),
                List(strides)
            ),
            ExpandMismatch { target, existing, dim, target_sizes, sizes } => write!(
                f,
                "The expanded size of the tensor ({target}) must match the existing size ({existing}) at \
                 non-singleton dimension {dim}.  Target sizes: {}.  Tensor sizes: {sizes}",
                List(target_sizes)
            ),
            ExpandNewDim { dim } => write!(
                f,
                "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {dim}"
            ),
            ExpandTooFew { tensor_type, sizes, target_sizes } => write!(
                f,
                "expand({tensor_type}{{{sizes}}}, size={}): the number of sizes provided ({}) must be greater or \
                 equal to the number of dimensions in the tensor ({})",
                List(target_sizes),
                target_sizes.len(),
                sizes.ndim()
            ),
            DimOutOfRange { dim, ndim } => write!(
                f,
                "Dimension out of range (expected to be in range of [-{ndim}, {}], but got {dim})",
                ndim - 1
            ),
            DuplicateDim { dim } => write!(f, "dim {dim} appears multiple times in the list of dims"),
            PermuteLength { ndim, len } => write!(
                f,
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the \
                 desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len}"
            ),
            PermuteDuplicate => f.write_str("permute(): duplicate dims are not allowed."),
            TransposeRank { ndim } => {
                write!(f, "t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
            }
            MatrixTransposeRank { ndim } => write!(
                f,
                "tensor.mT is only supported on matrices or batches of matrices. Got {ndim}-D tensor."
            ),
            MovedimLength { source, destination } => write!(
                f,
                "movedim: Invalid source or destination dims: source ({} dims) should contain the same number of \
                 dims as destination ({} dims)",
                List(source),
                List(destination)
            ),
            MovedimRepeated { list, dims } => {
                write!(f, "movedim: repeated dim in `{list}` ({})", List(dims))
            }
            FlattenOrder => f.write_str("flatten() has invalid args: start_dim cannot come after end_dim"),
            DiagonalIdentical { dim1, dim2 } => {
                write!(f, "diagonal dimensions cannot be identical {dim1}, {dim2}")
            }
            ZeroDim { function, .. } => write!(f, "{function}() cannot be applied to a 0-dim tensor."),
            UnflattenEmpty => f.write_str("unflatten: sizes must be non-empty"),
            UnflattenNumel { sizes, dim, size } => write!(
                f,
                "unflatten: Provided sizes {} don't multiply up to the size of dim {dim} ({size}) in the input tensor",
                List(sizes)
            ),
            UnflattenSizes(error) => write!(f, "unflatten got an unexpected error:\n{error}"),
            InferTwice => f.write_str("only one dimension can be inferred"),
            InvalidSize { size, index, sizes } => {
                write!(f, "invalid shape dimension {size} at index {index} of shape {}", List(sizes))
            }
            InferAmbiguous { sizes } => write!(
                f,
                "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can \
                 be any value and is ambiguous",
                List(sizes)
            ),
            InvalidNumel { sizes, numel } => {
                write!(f, "shape '{}' is invalid for input of size {numel}", List(sizes))
            }
            ViewIncompatible => f.write_str(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans \
                 across two contiguous subspaces). Use .reshape(...) instead.",
            ),
            NarrowStart { start, size } => {
                write!(f, "start out of range (expected to be in range of [{}, {size}], but got {start})", -(*size as i128))
            }
            NarrowLength => f.write_str("narrow(): length must be non-negative."),
            NarrowEnd { start, length, size } => {
                write!(f, "start ({start}) + length ({length}) exceeds dimension size ({size}).")
            }
            SelectIndex { index, sizes, dim } => {
                write!(f, "select(): index {index} out of range for tensor of size {sizes} at dimension {dim}")
            }
            SliceStep => f.write_str("slice step cannot be zero"),
            UnfoldSize { dim, max, size } => {
                write!(f, "maximum size for tensor at dimension {dim} is {max} but size is {size}")
            }
            UnfoldNegative { size } => write!(f, "size is {size} but must be >= 0"),
            UnfoldStep { step } => write!(f, "step is {step} but must be > 0"),
        }
    }
}
