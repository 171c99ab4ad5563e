//! Owns scattering: writing to the elements that an index tensor names along a dimension, and adding to them.
//! It does not know how their offsets are found (`gather.rs`, `picks.rs`).

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{Complex32, Complex64, DType, Element, bf16, f16, with_type};
use zerostride_shape::InternalOverlap;

use super::gather::{along, lifted};
use super::offsets::PickedOffsets;
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

/// Combines the elements at some offsets, one after the other, with contiguous elements.
macro_rules! combine {
    ($name:ident, $combination:ident, $doc:literal) => {
        #[doc = $doc]
        pub(super) fn $name(dtype: DType, offsets: &PickedOffsets, from: &[u8], to: &mut [u8]) {
            with_type!(dtype, T => {
                let from: &[<T as Element>::Stored] = cast_slice(from);
                let to: &mut [<T as Element>::Stored] = cast_slice_mut(to);
                offsets.each(|offset, at| to[offset] = T::$combination(to[offset], from[at]));
            });
        }
    };
}

combine!(add, plus, "Adds contiguous elements to those at some offsets.");
combine!(multiply, times, "Multiplies elements at some offsets by contiguous ones.");

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
        self.scattered(dim, index, source, |dtype, offsets, from, to| {
            offsets.store(dtype.item_size(), from, to)
        })
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
        self.scattered(dim, index, source, add)
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
        self.scattered(dim, index, source, multiply)
    }

    fn scattered(
        &self,
        dim: isize,
        index: &Tensor,
        source: &Tensor,
        write: impl FnOnce(DType, &PickedOffsets, &[u8], &mut [u8]),
    ) -> Result<()> {
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
        let offsets = along(&own, dim, &index)?;
        let mut sizes = index.shape().iter().enumerate();
        let part =
            sizes.try_fold(source, |part, (dim, &size)| part.narrow(dim as isize, 0, size as isize))?;
        // Always a copy: the source may share the target's memory.
        let source = part.row_major()?;
        access::write("scatter", &own, [&source], |to, [from]| {
            write(own.dtype(), &offsets, from, to);
            Ok(())
        })
    }
}
