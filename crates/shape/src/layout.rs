//! Owns `Layout`: where the elements of a tensor are in its storage, and what follows from that. It does not
//! know how views make layouts (`views.rs`, `reshape.rs`, `choose.rs`) nor storages.

use crate::dims::{Dims, FEW_DIMS};
use crate::error::ShapeError;
use crate::shape::{Shape, Size, Stride, Strides, contiguous_strides};

/// Shape, strides and storage offset of a tensor, all in elements.
///
/// The index of every element is between 0 and `Stride::MAX`. The offset of an EMPTY layout may be beyond the
/// end of its storage, since nothing is read there.
///
/// ```
/// use zerostride_shape::{Layout, Shape};
///
/// let x = Layout::contiguous(Shape::new(&[2, 3])?);
/// let column = x.select(1, 2)?;
/// assert_eq!(*column.shape(), [2]);
/// assert_eq!(*column.strides(), [3]);
/// assert_eq!(column.offset(), 2);
/// # Ok::<(), zerostride_shape::ShapeError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    strides: Strides,
    offset: Stride,
}

impl Layout {
    /// Row-major from the start of the storage.
    #[inline]
    pub fn contiguous(shape: Shape) -> Layout {
        let strides = contiguous_strides(&shape);
        Layout { shape, strides, offset: 0 }
    }

    /// [`Layout::contiguous`] of the first `ndim` of some sizes, which allocates nothing.
    ///
    /// # Errors
    /// As [`Shape::new`].
    ///
    /// # Panics
    /// If `ndim` is more than the number of sizes.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let layout = Layout::contiguous_few([2, 3, 0, 0, 0], 2)?;
    /// assert_eq!(layout, Layout::contiguous(Shape::new(&[2, 3])?));
    /// assert!(Layout::contiguous_few([1 << 40; 5], 2).is_err());
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    #[inline(always)]
    pub fn contiguous_few(sizes: [Size; FEW_DIMS], ndim: usize) -> Result<Layout, ShapeError> {
        let (shape, strides) = Shape::few(sizes, ndim)?;
        Ok(Layout { shape, strides, offset: 0 })
    }

    /// A layout of these sizes, strides and offset, in elements.
    ///
    /// # Errors
    /// The numbers of strides and sizes differ; the offset is negative; an element is before the start of the
    /// storage, or has an index above `Stride::MAX`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape, Strides};
    ///
    /// let reversed = Layout::new(Shape::new(&[4])?, Strides::new(&[-1])?, 3)?;
    /// assert_eq!(reversed.span(), Some((0, 3)));
    /// assert!(Layout::new(Shape::new(&[4])?, Strides::new(&[-1])?, 2).is_err());
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn new(shape: Shape, strides: Strides, offset: Stride) -> Result<Layout, ShapeError> {
        if shape.len() != strides.len() {
            return Err(ShapeError::StridesLength);
        }
        if offset < 0 {
            return Err(ShapeError::NegativeOffset { offset });
        }
        let layout = Layout { shape, strides, offset };
        if let Some((low, high)) = layout.wide_span() {
            let overflow = |layout: &Layout| ShapeError::LayoutOverflow {
                sizes: layout.shape.to_vec(),
                strides: layout.strides.to_vec(),
            };
            let lowest = Stride::try_from(low).map_err(|_| overflow(&layout))?;
            Stride::try_from(high).map_err(|_| overflow(&layout))?;
            if lowest < 0 {
                return Err(ShapeError::BeforeStorage { shape: layout.shape, lowest });
            }
        }
        Ok(layout)
    }

    /// A layout that a view has computed. The sizes are checked here; the view guarantees that the elements'
    /// indices are valid.
    pub(crate) fn assemble(
        sizes: Dims<Size>,
        strides: Dims<Stride>,
        offset: Stride,
    ) -> Result<Layout, ShapeError> {
        let layout = Layout { shape: Shape::from_dims(sizes)?, strides: Strides::from_dims(strides), offset };
        debug_assert!(layout.wide_span().is_none_or(|(low, high)| low >= 0 && high <= Stride::MAX as i128));
        debug_assert!(layout.offset >= 0);
        Ok(layout)
    }

    /// The sizes.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The strides, in elements.
    #[inline]
    pub fn strides(&self) -> &Strides {
        &self.strides
    }

    /// The index in the storage of the first element; never negative.
    #[inline]
    pub fn offset(&self) -> Stride {
        self.offset
    }

    /// The number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.shape.ndim()
    }

    /// The number of elements, including repeated ones.
    #[inline]
    pub fn numel(&self) -> Size {
        self.shape.numel()
    }

    /// Takes the layout apart into shape, strides and offset.
    pub fn into_parts(self) -> (Shape, Strides, Stride) {
        (self.shape, self.strides, self.offset)
    }

    /// The indices of the lowest and the highest element; `None` if there are none.
    ///
    /// Units: elements of the storage.
    pub fn span(&self) -> Option<(Stride, Stride)> {
        if self.shape.contains(&0) {
            return None;
        }
        let (mut low, mut high) = (self.offset, self.offset);
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            if size > 1 {
                // Every partial sum is between the indices of two elements, so it cannot overflow.
                let reach = (size as Stride - 1) * stride;
                if reach < 0 { low += reach } else { high += reach }
            }
        }
        Some((low, high))
    }

    /// [`Layout::span`] of a layout that may overflow.
    fn wide_span(&self) -> Option<(i128, i128)> {
        if self.shape.contains(&0) {
            return None;
        }
        let reaches =
            self.shape.iter().zip(&self.strides).map(|(&size, &stride)| (size as i128 - 1) * stride as i128);
        let start = self.offset as i128;
        Some(reaches.fold((start, start), |(low, high), reach| (low + reach.min(0), high + reach.max(0))))
    }

    /// Whether the dimensions lie in their order, each outside of the next: then so do those of results that
    /// are computed from such operands alone ([`result_order`](crate::result_order)). Sizes of 1 and strides
    /// of 0 make no difference.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    /// let matrix = Layout::contiguous(Shape::new(&[2, 3])?);
    /// assert!(matrix.is_in_order() && !matrix.t()?.is_in_order());
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn is_in_order(&self) -> bool {
        let mut outer = Stride::MAX.unsigned_abs();
        self.shape.iter().zip(&self.strides).all(|(&size, &stride)| {
            let own = stride.unsigned_abs();
            let decides = size != 1 && own != 0;
            let is_inside = !decides || own < outer;
            if decides {
                outer = own;
            }
            is_inside
        })
    }

    /// Whether the elements are adjacent, in row-major order. Strides of dimensions of size 1 do not matter;
    /// a layout without elements is contiguous.
    ///
    /// Source: PyTorch `c10/core/Contiguity.h`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3])?);
    /// assert!(x.is_contiguous());
    /// assert!(!x.t()?.is_contiguous());
    /// assert!(x.narrow(0, 0, 1)?.t()?.is_contiguous());
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn is_contiguous(&self) -> bool {
        if self.shape.contains(&0) {
            return true;
        }
        let mut expected = 1;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 {
                if stride != expected {
                    return false;
                }
                expected *= size as Stride;
            }
        }
        true
    }

    /// Whether the elements fill a range of the storage, each of them once, in any order of dimensions.
    ///
    /// Negative strides, which PyTorch does not have, are compared by absolute value.
    ///
    /// Source: PyTorch `c10/core/TensorImpl.h`, `is_non_overlapping_and_dense`.
    ///
    /// ```
    /// use zerostride_shape::{Layout, Shape};
    ///
    /// let x = Layout::contiguous(Shape::new(&[2, 3])?);
    /// assert!(x.t()?.is_non_overlapping_and_dense());
    /// assert!(!x.narrow(1, 0, 2)?.is_non_overlapping_and_dense());
    /// # Ok::<(), zerostride_shape::ShapeError>(())
    /// ```
    pub fn is_non_overlapping_and_dense(&self) -> bool {
        if self.shape.contains(&0) {
            return true;
        }
        let loops = self.shape.iter().zip(&self.strides).filter(|(size, _)| **size != 1);
        let mut steps: Dims<(Size, Size)> =
            loops.map(|(&size, stride)| (stride.unsigned_abs(), size)).collect();
        steps.sort_unstable();
        let mut expected = 1;
        steps.iter().all(|&(step, size)| {
            let fits = step == expected;
            expected *= size;
            fits
        })
    }
}
