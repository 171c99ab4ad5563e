//! Owns what an operation reads: a tensor, a number, or what has to be computed first. It does not know what
//! is done with it.

use zerostride_ops::{Bucket, Scalar, Typed};
use zerostride_shape::Layout;

use crate::Tensor;
use crate::expr::{Expr, Kind};
use crate::memory::Storage;

/// What an operation reads. For `&Tensor` all questions are answered at compile time.
pub(crate) trait Value {
    /// What promotion needs to know; `None` if it has to be computed first.
    fn typed(&self) -> Option<Typed>;

    /// A tensor.
    fn tensor(&self) -> Option<&Tensor>;

    /// A bare number.
    fn number(&self) -> Option<Scalar>;

    /// Whether a tensor has been written to since it was captured.
    fn has_changed(&self) -> bool;

    /// Where a tensor's elements lie.
    #[inline]
    fn layout(&self) -> Option<&Layout> {
        self.tensor().map(Tensor::layout)
    }

    /// A tensor's memory.
    #[inline]
    fn storage(&self) -> Option<&Storage> {
        self.tensor().map(|tensor| &**Tensor::storage(tensor))
    }
}

impl Value for &Tensor {
    #[inline]
    fn typed(&self) -> Option<Typed> {
        Some(Tensor::typed(self))
    }

    #[inline]
    fn tensor(&self) -> Option<&Tensor> {
        Some(self)
    }

    #[inline]
    fn number(&self) -> Option<Scalar> {
        None
    }

    #[inline]
    fn has_changed(&self) -> bool {
        false
    }
}

/// Any operand.
#[derive(Clone, Copy)]
pub(crate) enum Any<'a> {
    /// A tensor, and how often it had been written to when it was captured, if it was.
    Tensor(&'a Tensor, Option<u64>),
    /// A bare number.
    Number(Scalar),
    /// What has to be computed first.
    Other,
}

impl<'a> Any<'a> {
    pub(crate) fn of(expr: &'a Expr) -> Any<'a> {
        match &expr.node().kind {
            Kind::Leaf { tensor, version } => Any::Tensor(tensor, *version),
            Kind::Number(number) => Any::Number(*number),
            _ => Any::Other,
        }
    }
}

impl Value for Any<'_> {
    fn typed(&self) -> Option<Typed> {
        match self {
            Any::Tensor(tensor, _) => Some(Tensor::typed(tensor)),
            Any::Number(number) => Some(Typed { dtype: number.dtype(), bucket: Bucket::Number }),
            Any::Other => None,
        }
    }

    fn tensor(&self) -> Option<&Tensor> {
        match *self {
            Any::Tensor(tensor, _) => Some(tensor),
            Any::Number(_) | Any::Other => None,
        }
    }

    fn number(&self) -> Option<Scalar> {
        match *self {
            Any::Number(number) => Some(number),
            Any::Tensor(..) | Any::Other => None,
        }
    }

    fn has_changed(&self) -> bool {
        matches!(self, Any::Tensor(tensor, Some(captured)) if *captured != Tensor::storage(tensor).version())
    }
}
