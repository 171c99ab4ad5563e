//! Owns what an operation reads: a tensor, a number, or what has to be computed first. It does not know what
//! is done with it.

use zerostride_ops::{Bucket, Scalar, Typed};
use zerostride_shape::Layout;

use crate::Tensor;
use crate::expr::{Expr, Kind};
use crate::memory::Storage;

/// What an operation reads.
#[derive(Clone, Copy)]
pub(crate) enum ReadyOperand<'a> {
    /// A tensor, and how often it had been written to when it was captured, if it was.
    Tensor(&'a Tensor, Option<u64>),
    /// A bare number.
    Number(Scalar),
    /// What has to be computed first.
    Other,
}

/// An operand of an operation. Of a `&Tensor` the kind is known at compile time.
pub(crate) trait AsReadyOperand {
    fn value(&self) -> ReadyOperand<'_>;
}

impl AsReadyOperand for &Tensor {
    #[inline(always)]
    fn value(&self) -> ReadyOperand<'_> {
        ReadyOperand::Tensor(self, None)
    }
}

impl AsReadyOperand for ReadyOperand<'_> {
    #[inline(always)]
    fn value(&self) -> ReadyOperand<'_> {
        *self
    }
}

impl<'a> ReadyOperand<'a> {
    pub(crate) fn of(expr: &'a Expr) -> ReadyOperand<'a> {
        match &expr.node().kind {
            Kind::Leaf { tensor, version } => ReadyOperand::Tensor(tensor, *version),
            Kind::Number(number) => ReadyOperand::Number(*number),
            _ => ReadyOperand::Other,
        }
    }

    /// What promotion needs to know; `None` if it has to be computed first.
    #[inline(always)]
    pub(super) fn typed(&self) -> Option<Typed> {
        match *self {
            ReadyOperand::Tensor(tensor, _) => Some(tensor.typed()),
            ReadyOperand::Number(number) => Some(Typed { dtype: number.dtype(), bucket: Bucket::Number }),
            ReadyOperand::Other => None,
        }
    }

    #[inline(always)]
    pub(super) fn tensor(&self) -> Option<&'a Tensor> {
        if let ReadyOperand::Tensor(tensor, _) = *self { Some(tensor) } else { None }
    }

    #[inline(always)]
    pub(super) fn number(&self) -> Option<Scalar> {
        if let ReadyOperand::Number(number) = *self { Some(number) } else { None }
    }

    /// A tensor's layout.
    #[inline(always)]
    pub(super) fn layout(&self) -> Option<&'a Layout> {
        self.tensor().map(Tensor::layout)
    }

    /// A tensor's memory.
    #[inline(always)]
    pub(super) fn storage(&self) -> Option<&'a Storage> {
        self.tensor().map(|tensor| &**tensor.storage())
    }

    /// Whether a tensor has been written to since it was captured.
    #[inline(always)]
    pub(super) fn has_changed(&self) -> bool {
        matches!(*self, ReadyOperand::Tensor(tensor, Some(captured)) if captured != tensor.storage().version())
    }
}
