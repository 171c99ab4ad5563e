//! Owns views as data: which elements of an operand a node of an expression is. It does not know expressions.

use smallvec::SmallVec;
use zerostride_shape::{Layout, ShapeError};

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
    pub(super) fn keeps_order(&self) -> bool {
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
