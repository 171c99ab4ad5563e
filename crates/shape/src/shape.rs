//! Owns `Shape`, the sizes of a tensor, and `Strides`, the distances between neighbouring elements. A `Shape`
//! is always valid: at most [`MAX_RANK`] dimensions, and a number of elements that fits a [`Stride`]. It does
//! not know offsets or views (`layout.rs`) nor the broadcasting rule (`broadcast.rs`).

use core::fmt;

use crate::dims::{Dims, FEW_DIMS, reads_like_a_slice};
use crate::error::ShapeError;

/// The size of a dimension, and a number of elements: `usize`, since elements are in memory.
///
/// With the feature `wide` it has 64 bits on a processor of 32, too: for programs that explain shapes and
/// hold no elements, such as a page in a browser.
#[cfg(not(all(feature = "wide", target_pointer_width = "32")))]
pub type Size = usize;
/// The size of a dimension, and a number of elements, which are not in memory here.
#[cfg(all(feature = "wide", target_pointer_width = "32"))]
pub type Size = u64;

/// A [`Size`] with a sign: strides, offsets, and sizes that are still to be checked.
#[cfg(not(all(feature = "wide", target_pointer_width = "32")))]
pub type Stride = isize;
/// A [`Size`] with a sign: strides, offsets, and sizes that are still to be checked.
#[cfg(all(feature = "wide", target_pointer_width = "32"))]
pub type Stride = i64;

/// The largest number of dimensions: NumPy's limit. PyTorch has none.
pub const MAX_RANK: usize = 64;

/// The sizes of a tensor, outermost dimension first.
///
/// Behaves like a slice of [`Size`] and prints as PyTorch prints sizes. Up to five sizes are stored inline.
///
/// Source: PyTorch `torch.Size`.
///
/// ```
/// use zerostride_shape::Shape;
///
/// let shape = Shape::new(&[2, 3])?;
/// assert_eq!(shape, [2, 3]);
/// assert_eq!(shape.numel(), 6);
/// assert_eq!(shape.to_string(), "[2, 3]");
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
#[derive(Clone, Default)]
pub struct Shape(Dims<Size>);

reads_like_a_slice!(Shape, Size);

impl Shape {
    /// A shape with these sizes.
    ///
    /// # Errors
    /// There are more than [`MAX_RANK`] sizes, or the product of the sizes other than 0 exceeds
    /// `Stride::MAX`. Sizes of 0 are not counted so that the strides of an empty tensor fit, too.
    ///
    /// ```
    /// use zerostride_shape::Shape;
    ///
    /// assert!(Shape::new(&[1 << 40, 1 << 40]).is_err());
    /// assert!(Shape::new(&[0, 1 << 40, 1 << 40]).is_err());
    /// assert_eq!(Shape::new(&[0, 1 << 40])?.numel(), 0);
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    #[inline]
    pub fn new(sizes: &[Size]) -> Result<Shape, ShapeError> {
        check_rank(sizes.len())?;
        Shape::from_dims(Dims::from_slice(sizes))
    }

    /// The shape of a 0-d tensor, `[]`, which has one element.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// The number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.0.len()
    }

    /// The number of elements; 1 for a 0-d tensor.
    #[inline]
    pub fn numel(&self) -> Size {
        self.0.iter().product()
    }

    /// Checks the product of sizes that the caller could not bound; the rank has been checked.
    #[inline]
    pub(crate) fn from_dims(sizes: Dims<Size>) -> Result<Shape, ShapeError> {
        let product = sizes.iter().try_fold(1 as Size, |product, &size| product.checked_mul(size.max(1)));
        match product {
            Some(product) if product <= Stride::MAX as Size => Ok(Shape(sizes)),
            _ => Err(overflow(&sizes)),
        }
    }

    /// The first `ndim` of some sizes, with their [`contiguous_strides`], computed in registers.
    #[inline(always)]
    pub(crate) fn few(sizes: [Size; FEW_DIMS], ndim: usize) -> Result<(Shape, Strides), ShapeError> {
        let (mut strides, mut numel) = ([0; FEW_DIMS], 1 as Size);
        for dim in (0..FEW_DIMS).rev() {
            if dim < ndim {
                strides[dim] = numel as Stride;
                numel = numel.saturating_mul(sizes[dim].max(1));
            }
        }
        if numel > Stride::MAX as Size {
            return Err(overflow(&sizes[..ndim]));
        }
        Ok((Shape(Dims::few(sizes, ndim)), Strides(Dims::few(strides, ndim))))
    }

    pub(crate) fn dims(&self) -> &Dims<Size> {
        &self.0
    }
}

impl TryFrom<&[Size]> for Shape {
    type Error = ShapeError;

    fn try_from(sizes: &[Size]) -> Result<Shape, ShapeError> {
        Shape::new(sizes)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", List(self))
    }
}

/// The distance in elements (never bytes) between neighbours, for each dimension.
///
/// Behaves like a slice of [`Stride`]. A stride may be 0 (a stretched dimension) or negative (a reversed
/// one).
#[derive(Clone, Default)]
pub struct Strides(Dims<Stride>);

reads_like_a_slice!(Strides, Stride);

impl Strides {
    /// Strides with these values, in elements.
    ///
    /// # Errors
    /// There are more than [`MAX_RANK`] strides.
    pub fn new(strides: &[Stride]) -> Result<Strides, ShapeError> {
        check_rank(strides.len())?;
        Ok(Strides(Dims::from_slice(strides)))
    }

    pub(crate) fn from_dims(strides: Dims<Stride>) -> Strides {
        Strides(strides)
    }

    pub(crate) fn dims(&self) -> &Dims<Stride> {
        &self.0
    }
}

impl fmt::Display for Strides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", List(self))
    }
}

/// The strides, in elements, of a contiguous tensor of these sizes.
///
/// Sizes of 0 count as 1, as in PyTorch. A product too large saturates; no [`Shape`] has one.
///
/// Source: PyTorch `c10/core/TensorImpl.h`, `empty_tensor_restride`.
///
/// ```
/// use zerostride_shape::contiguous_strides;
///
/// assert_eq!(contiguous_strides(&[2, 3, 4]), [12, 4, 1]);
/// assert_eq!(contiguous_strides(&[2, 0, 4]), [4, 4, 1]);
/// ```
#[inline]
pub fn contiguous_strides(sizes: &[Size]) -> Strides {
    let mut strides = Dims::filled(sizes.len(), 1 as Stride);
    let mut stride = 1 as Stride;
    for (slot, &size) in strides.iter_mut().zip(sizes).rev() {
        *slot = stride;
        stride = stride.saturating_mul(Stride::try_from(size.max(1)).unwrap_or(Stride::MAX));
    }
    Strides(strides)
}

/// The number of bytes that `shape` needs at `item_size` bytes an element.
///
/// # Errors
/// More than `Stride::MAX` bytes, which no allocation can have.
///
/// ```
/// use zerostride_shape::{Shape, checked_bytes};
///
/// assert_eq!(checked_bytes(&Shape::new(&[2, 3])?, 4)?, 24);
/// let error = checked_bytes(&Shape::new(&[1 << 61])?, 8).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "Storage size calculation overflowed with sizes=[2305843009213693952]: 2305843009213693952 elements of 8 bytes"
/// );
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
pub fn checked_bytes(shape: &Shape, item_size: Size) -> Result<Size, ShapeError> {
    shape
        .numel()
        .checked_mul(item_size)
        .filter(|&bytes| bytes <= Stride::MAX as Size)
        .ok_or_else(|| ShapeError::BytesOverflow { shape: shape.clone(), item_size })
}

#[cold]
fn overflow(sizes: &[Size]) -> ShapeError {
    ShapeError::NumelOverflow { sizes: sizes.to_vec() }
}

#[inline]
pub(crate) fn check_rank(ndim: usize) -> Result<(), ShapeError> {
    if ndim > MAX_RANK { Err(ShapeError::RankTooHigh { ndim }) } else { Ok(()) }
}

/// Prints numbers as PyTorch prints a list of sizes, `[2, 3]`.
pub(crate) struct List<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        comma_separated(f, self.0)?;
        f.write_str("]")
    }
}

/// Prints numbers as Python prints a tuple: `(2, 3)`, and `(2,)` for a single one.
pub(crate) struct Tuple<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for Tuple<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        comma_separated(f, self.0)?;
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

fn comma_separated<T: fmt::Display>(f: &mut fmt::Formatter<'_>, numbers: &[T]) -> fmt::Result {
    for (position, number) in numbers.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{number}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn rank_64_is_the_last_one_allowed() {
        assert_eq!(Shape::new(&[1; 64]).unwrap().ndim(), 64);
        for ndim in [65, 100_000] {
            let error = Shape::new(&vec![1; ndim]).unwrap_err();
            assert_eq!(error, ShapeError::RankTooHigh { ndim });
            assert!(error.to_string().contains("64"), "{error}");
        }
    }

    #[test]
    fn element_counts_are_checked_without_wrapping() {
        assert_eq!(Shape::new(&[Stride::MAX as Size]).unwrap().numel(), Stride::MAX as Size);
        for sizes in [
            &[1 << 32, 1 << 32][..],
            &[(1 << 62) + 1, 4],
            &[0, 1 << 20, 4_001_423_662_007_321_682],
            &[1 << 63],
            &[usize::MAX; 64],
        ] {
            let text = Shape::new(sizes).unwrap_err().to_string();
            assert!(text.contains(&List(sizes).to_string()), "{text}");
        }
        assert_eq!(
            Shape::new(&[1 << 40, 1 << 40]).unwrap_err().to_string(),
            "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]: 1208925819614629174706176 elements"
        );
    }

    #[test]
    fn a_shape_compares_with_every_form_of_sizes() {
        let shape = Shape::new(&[2, 3]).unwrap();
        assert_eq!(shape, [2, 3]);
        assert_eq!(shape, vec![2, 3]);
        assert_eq!(shape, &[2usize, 3][..]);
        assert_ne!(shape, Shape::new(&[3, 2]).unwrap());
        assert_eq!(Shape::scalar(), Shape::default());
        assert_eq!(Shape::scalar().numel(), 1);
    }

    #[test]
    fn tuples_of_one_keep_the_comma() {
        assert_eq!(Tuple(&[2]).to_string(), "(2,)");
        assert_eq!(Tuple(&[2, 3]).to_string(), "(2, 3)");
        assert_eq!(Tuple::<usize>(&[]).to_string(), "()");
    }

    #[test]
    fn bytes_are_limited_to_isize_max() {
        let shape = Shape::new(&[(Stride::MAX as Size) / 8]).unwrap();
        assert_eq!(checked_bytes(&shape, 8).unwrap(), Stride::MAX as Size - 7);
        assert!(checked_bytes(&shape, 16).is_err());
        assert_eq!(checked_bytes(&Shape::new(&[0, 5]).unwrap(), 16).unwrap(), 0);
    }
}
