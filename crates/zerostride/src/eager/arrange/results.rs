//! Owns what is known of the results of the functions here before they touch an element: shapes and dtypes,
//! and the memory that they take. Each function's file has the function of that name which finds it out, and
//! which refuses what the function refuses; where elements are to be refused, the function itself does so.

use smallvec::{SmallVec, smallvec};
use zerostride_ops::DType;
use zerostride_shape::Shape;

use crate::{Expr, Result, Tensor};

/// What a function that moves elements gives.
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

    /// The result of a computation.
    pub(super) fn computed(expr: &Expr) -> Result<Results> {
        let meta = expr.meta()?;
        Ok(Results::one(meta.shape.clone(), meta.dtype()))
    }

    /// A result of which elements decide how large it is: so many elements of so many bytes at most, with
    /// what is kept beside it.
    pub(super) fn at_most(numel: usize, item: usize) -> Results {
        Results { known: None, bytes: bytes(numel, item) }
    }

    /// The last of the results alone, for which all are made.
    pub(super) fn last(self) -> Results {
        Results { known: self.known.and_then(|mut known| known.pop()).map(|last| smallvec![last]), ..self }
    }

    /// The shape of a result that is the only one.
    pub(super) fn shape(&self) -> Shape {
        self.known.as_ref().map_or_else(Shape::default, |known| known[0].0.clone())
    }

    /// The dtype of a result that is the only one.
    pub(super) fn dtype(&self) -> DType {
        self.known.as_ref().map_or(DType::DEFAULT_FLOAT, |known| known[0].1)
    }

    /// The shapes and dtypes; `None` where elements decide.
    pub fn known(&self) -> Option<impl Iterator<Item = (&[usize], DType)>> {
        self.known.as_ref().map(|known| known.iter().map(|(shape, dtype)| (&shape[..], *dtype)))
    }

    /// The bytes that they take, at most.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
