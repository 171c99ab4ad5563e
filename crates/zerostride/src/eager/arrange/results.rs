//! Owns what is known of the results of functions before they read an element: shapes and dtypes, and the
//! memory that they take. The file of each function has a function of the same name on `Results`, which
//! computes this and refuses bad arguments; only values are refused by the function itself.

use smallvec::{SmallVec, smallvec};
use zerostride_ops::DType;
use zerostride_shape::Shape;

use crate::{Expr, Result, Tensor};

/// The shapes and dtypes of the results of a function that moves elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    known: Option<SmallVec<[(Shape, DType); 2]>>,
    bytes: u64,
}

fn bytes(numel: usize, item: usize) -> u64 {
    (numel as u64).saturating_mul(item as u64)
}

impl Results {
    /// Results of these shapes and dtypes.
    pub(super) fn of(known: impl IntoIterator<Item = (Shape, DType)>) -> Results {
        let known: SmallVec<[(Shape, DType); 2]> = known.into_iter().collect();
        let each = known.iter().map(|(shape, dtype)| bytes(shape.numel(), dtype.item_size()));
        Results { bytes: each.fold(0, u64::saturating_add), known: Some(known) }
    }

    /// One result.
    pub(super) fn one(shape: Shape, dtype: DType) -> Results {
        Results::of([(shape, dtype)])
    }

    /// A result of the shape and dtype of a tensor.
    pub(super) fn like(tensor: &Tensor) -> Results {
        Results::one(tensor.shape_value().clone(), tensor.dtype())
    }

    pub(super) fn clone_elements(tensor: &Tensor) -> Result<Results> {
        Ok(Results::like(tensor))
    }

    /// The result of an expression.
    pub(super) fn computed(expr: &Expr) -> Result<Results> {
        let meta = expr.meta()?;
        Ok(Results::one(meta.shape.clone(), meta.dtype()))
    }

    /// A result whose size depends on values: at most so many elements of so many bytes, with what is kept
    /// beside it.
    pub(super) fn at_most(numel: usize, item: usize) -> Results {
        Results { known: None, bytes: bytes(numel, item) }
    }

    /// The last result alone; the memory is that of all.
    pub(super) fn last(self) -> Results {
        Results { known: self.known.and_then(|mut known| known.pop()).map(|last| smallvec![last]), ..self }
    }

    /// The shape of the only result.
    pub(super) fn shape(&self) -> Shape {
        self.known.as_ref().map_or_else(Shape::default, |known| known[0].0.clone())
    }

    /// The dtype of the only result.
    pub(super) fn dtype(&self) -> DType {
        self.known.as_ref().map_or(DType::DEFAULT_FLOAT, |known| known[0].1)
    }

    /// The shapes and dtypes; `None` where they depend on values.
    pub fn known(&self) -> Option<impl Iterator<Item = (&[usize], DType)>> {
        self.known.as_ref().map(|known| known.iter().map(|(shape, dtype)| (&shape[..], *dtype)))
    }

    /// The bytes that they take, at most.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
