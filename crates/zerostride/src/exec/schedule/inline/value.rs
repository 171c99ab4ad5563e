//! Owns what an operation reads: a tensor, a number, or what has to be computed first. It does not know what
//! is done with it.

use zerostride_ops::{Bucket, Scalar, Typed};
use zerostride_shape::Layout;

use crate::Tensor;
use crate::expr::{Expr, Kind};
use crate::memory::Storage;

/// What an operation reads.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    /// A tensor, and how often it had been written to when it was captured, if it was.
    Tensor(&'a Tensor, Option<u64>),
    /// A bare number.
    Number(Scalar),
    /// What has to be computed first.
    Other,
}

/// An operand of an operation. Of a `&Tensor` the kind is known at compile time.
pub(crate) trait AsValue {
    fn value(&self) -> Value<'_>;
}

impl AsValue for &Tensor {
    #[inline(always)]
    fn value(&self) -> Value<'_> {
        Value::Tensor(self, None)
    }
}

impl AsValue for Value<'_> {
    #[inline(always)]
    fn value(&self) -> Value<'_> {
        *self
    }
}

impl<'a> Value<'a> {
    pub(crate) fn of(expr: &'a Expr) -> Value<'a> {
        match &expr.node().kind {
            Kind::Leaf { tensor, version } => Value::Tensor(tensor, *version),
            Kind::Number(number) => Value::Number(*number),
            _ => Value::Other,
        }
    }

    /// What promotion needs to know; `None` if it has to be computed first.
    #[inline(always)]
    pub(super) fn typed(&self) -> Option<Typed> {
        match *self {
            Value::Tensor(tensor, _) => Some(tensor.typed()),
            Value::Number(number) => Some(Typed { dtype: number.dtype(), bucket: Bucket::Number }),
            Value::Other => None,
        }
    }

    #[inline(always)]
    pub(super) fn tensor(&self) -> Option<&'a Tensor> {
        if let Value::Tensor(tensor, _) = *self { Some(tensor) } else { None }
    }

    #[inline(always)]
    pub(super) fn number(&self) -> Option<Scalar> {
        if let Value::Number(number) = *self { Some(number) } else { None }
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
        matches!(*self, Value::Tensor(tensor, Some(captured)) if captured != tensor.storage().version())
    }
}
