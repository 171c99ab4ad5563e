//! Owns scattering: writing to the elements that an index tensor names along a dimension, and adding to them.
//! It does not know how their offsets are found (`gather.rs`, `picks.rs`).

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{Complex32, Complex64, DType, Element, bf16, f16, with_type};
use zerostride_shape::InternalOverlap;

use super::gather::{along, lifted};
use super::offsets::{Places, with_item};
use super::{access, named_dim};
use crate::{Error, Result, Tensor};

/// Sums and products in the dtype itself: integers wrap, bools are or-ed and and-ed.
trait Combined: Element {
    fn plus(a: Self::Stored, b: Self::Stored) -> Self::Stored;
    fn times(a: Self::Stored, b: Self::Stored) -> Self::Stored;
}

macro_rules! combined {
    ($($type:ty)*, |$a:ident, $b:ident| $sum:expr, $product:expr) => {
        $(impl Combined for $type {
            #[inline(always)]
            fn plus($a: Self::Stored, $b: Self::Stored) -> Self::Stored {
                $sum
            }

            #[inline(always)]
            fn times($a: Self::Stored, $b: Self::Stored) -> Self::Stored {
                $product
            }
        })*
    };
}

combined!(bool, |a, b| a | b, a & b);
combined!(u8 u16 u32 u64 i8 i16 i32 i64, |a, b| a.wrapping_add(b), a.wrapping_mul(b));
combined!(f16 bf16 f32 f64 Complex32 Complex64, |a, b| a + b, a * b);

/// What becomes of an element and the one that is scattered to it.
#[derive(Clone, Copy)]
pub(super) enum Combination {
    /// The scattered one.
    Last,
    Sum,
    Product,
}

impl Combination {
    /// Combines elements at some places, one after the other, with contiguous ones.
    pub(super) fn run(self, dtype: DType, places: &impl Places, from: &[u8], to: &mut [u8]) -> Result<()> {
        if let Combination::Last = self {
            return with_item!(dtype.item_size(), E => {
                places.combine::<E>(cast_slice(from), cast_slice_mut(to), |to, from| *to = from)
            });
        }
        with_type!(dtype, T => {
            let (from, to) = (cast_slice(from), cast_slice_mut(to));
            match self {
                Combination::Product => places.combine(from, to, |to, from| *to = T::times(*to, from)),
                _ => places.combine(from, to, |to, from| *to = T::plus(*to, from)),
            }
        })
    }
}

/// The elements in row-major order, in other memory than a tensor that is written.
fn apart_from(written: &Tensor, tensor: &Tensor) -> Result<Tensor> {
    if tensor.is_apart_from(written) { tensor.contiguous() } else { tensor.row_major() }
}

impl Tensor {
    /// Writes each element of a source at its index along a dimension, which an index tensor says:
    /// `torch.Tensor.scatter_`, the reverse of [`Tensor::gather`]. Where indices coincide, the last element
    /// stays.
    ///
    /// # Errors
    /// As [`Tensor::gather`]; a source of another dtype or smaller than the index; a tensor whose elements
    /// share memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[0, 0, 0], [0, 0, 0]];
    /// x.scatter_(1, &tensor![[2], [0]], &tensor![[7], [8]])?;
    /// assert_eq!(x.to_vec::<i64>()?, [0, 0, 7, 8, 0, 0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn scatter_(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<()> {
        self.scattered(dim, index, source, Combination::Last)
    }

    /// Adds each element of a source at its index along a dimension, which an index tensor says:
    /// `torch.Tensor.scatter_add_`. Where indices coincide, all are added, in row-major order of the index.
    ///
    /// # Errors
    /// As [`Tensor::scatter_`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// let histogram = tensor![0, 0, 0];
    /// histogram.scatter_add_(0, &tensor![1, 2, 1, 1], &tensor![1, 1, 1, 1])?;
    /// assert_eq!(histogram.to_vec::<i64>()?, [0, 3, 1]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn scatter_add_(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<()> {
        self.scattered(dim, index, source, Combination::Sum)
    }

    /// Multiplies by each element of a source at its index along a dimension, which an index tensor says:
    /// `torch.Tensor.scatter_` with `reduce="multiply"`. Where indices coincide, all are factors, in
    /// row-major order of the index.
    ///
    /// # Errors
    /// As [`Tensor::scatter_`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![1, 2, 3];
    /// x.scatter_multiply_(0, &tensor![1, 2, 1], &tensor![5, 7, 2])?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 20, 21]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn scatter_multiply_(&self, dim: isize, index: &Tensor, source: &Tensor) -> Result<()> {
        self.scattered(dim, index, source, Combination::Product)
    }

    fn scattered(&self, dim: isize, index: &Tensor, source: &Tensor, combination: Combination) -> Result<()> {
        named_dim(dim, self.ndim())?;
        let refused = || Error::runtime("scatter(): Expected dtype int32/int64 for index");
        let index = index.as_index_or_empty(refused)?;
        if self.layout().has_internal_overlap() != InternalOverlap::No {
            return Err(Error::WriteToExpanded);
        }
        if self.dtype() != source.dtype() {
            return Err(Error::runtime("scatter(): Expected self.dtype to be equal to src.dtype"));
        }
        if index.numel() == 0 {
            return Ok(());
        }
        let (own, index, source) = (lifted(self)?, lifted(&index)?, lifted(source)?);
        for (name, other) in [("self", &own), ("src", &source)] {
            if other.ndim() != index.ndim() {
                return Err(Error::runtime(format_args!(
                    "Index tensor must have the same number of dimensions as {name} tensor"
                )));
            }
        }
        let dim = named_dim(dim, own.ndim())?.unwrap_or(0);
        let fits = |other: usize| {
            let size = index.shape()[other];
            size <= source.shape()[other] && (other == dim || size <= own.shape()[other])
        };
        if !(0..index.ndim()).all(fits) {
            return Err(Error::runtime(format_args!(
                "Expected index {} to be no larger than self {} apart from dimension {dim} and to be no larger size than src {}",
                index.shape_value(),
                own.shape_value(),
                source.shape_value()
            )));
        }
        let mut sizes = index.shape().iter().enumerate();
        let part =
            sizes.try_fold(source, |part, (dim, &size)| part.narrow(dim as isize, 0, size as isize))?;
        let (index, source) = (apart_from(&own, &index)?, apart_from(&own, &part)?);
        access::write("scatter", &own, [&source, &index], |to, [from, integers]| {
            let places = along(&own, dim, cast_slice(integers), index.shape());
            // Nothing is written if an integer is out of bounds.
            places.check()?;
            combination.run(own.dtype(), &places, from, to)
        })
    }
}
