//! Owns `Tensor`: a handle on shared storage, seen through a layout as elements of one dtype. It does not
//! know computation (`eager`).

mod create;
mod display;
#[allow(unsafe_code)]
mod lent;
mod literal;
mod retyped;
#[allow(unsafe_code)]
mod scope;
mod slice;
mod views;

use zerostride_ops::{Bucket, DType, Typed};
use zerostride_shape::{Layout, Shape};

pub use lent::Lent;
pub use literal::Literal;
pub use scope::{Scope, scope};
pub use slice::Slice;
pub use views::broadcast_tensors;

pub(crate) use display::{PRECISION, PrintedElement, format};
pub(crate) use views::{flipped_dim, signed};

use crate::Device;
use crate::memory::{Claim, Shared};

/// An n-dimensional array of elements of one dtype, as PyTorch's.
///
/// A tensor is a handle on a storage. Views and [`alias`](Tensor::alias) copy no bytes and share the storage,
/// so in-place methods (those that end in `_`) take `&self`: they write what all handles see. `clone` copies
/// the elements, as PyTorch's. Threads may share a storage: an operation waits until no other writes what it
/// reads, or reads or writes what it writes.
///
/// ```
/// use zerostride::{tensor, Tensor};
///
/// let x = tensor![[1, 2, 3]];                     // i64, shape [1, 3]
/// let y = tensor![[4], [5], [6]];                 // i64, shape [3, 1]
/// assert_eq!(x.add(&y)?.to_vec::<i64>()?, [5, 6, 7, 6, 7, 8, 7, 8, 9]);
///
/// let stretched = x.expand(&[4, 3])?;             // a view: no bytes
/// assert_eq!(stretched.strides(), [0, 1]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub struct Tensor {
    storage: Shared,
    layout: Layout,
    dtype: DType,
}

impl Tensor {
    #[inline]
    pub(crate) fn new(storage: Shared, layout: Layout, dtype: DType) -> Tensor {
        debug_assert!(layout.span().is_none_or(|(low, high)| {
            low >= 0 && (high as usize + 1) * dtype.item_size() <= storage.len()
        }));
        Tensor { storage, layout, dtype }
    }

    /// The dtype of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes of the dimensions.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The number of dimensions.
    #[inline]
    pub fn ndim(&self) -> usize {
        self.layout.ndim()
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> usize {
        self.layout.numel()
    }

    /// The stride of each dimension, in elements; 0 where the tensor is stretched.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// The index of the tensor's first element in the storage.
    #[inline]
    pub fn storage_offset(&self) -> usize {
        self.layout.offset() as usize
    }

    /// Shape, strides and offset.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the elements are adjacent in memory, in row-major order.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Where the elements are.
    #[inline]
    pub fn device(&self) -> Device {
        self.storage.device()
    }

    /// Whether both tensors are views of one storage.
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        self.storage.is(&other.storage)
    }

    /// Another handle on the same elements: a write through one is seen through the other.
    ///
    /// Source: PyTorch's operation `aten::alias`; the crate tch says `shallow_clone`.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![1, 2];
    /// let (same, copy) = (x.alias(), x.clone());
    /// x.add_(10)?;
    /// assert_eq!(same.to_vec::<i64>()?, [11, 12]);
    /// assert_eq!(copy.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    #[inline]
    pub fn alias(&self) -> Tensor {
        Tensor { storage: self.storage.clone(), layout: self.layout.clone(), dtype: self.dtype }
    }

    #[inline]
    pub(crate) fn storage(&self) -> &Shared {
        &self.storage
    }

    pub(crate) fn shape_value(&self) -> &Shape {
        self.layout.shape()
    }

    /// What type promotion needs to know of the tensor.
    #[inline]
    pub(crate) fn typed(&self) -> Typed {
        let bucket = if self.ndim() == 0 { Bucket::ZeroDim } else { Bucket::Dimensioned };
        Typed { dtype: self.dtype, bucket }
    }

    /// The range of bytes of the storage from the lowest to the highest element; empty if there are none.
    pub(crate) fn reach(&self) -> std::ops::Range<usize> {
        let size = self.dtype.item_size();
        self.layout.span().map_or(0..0, |(low, high)| low as usize * size..(high as usize + 1) * size)
    }

    /// The storage, and the claim of an operation that reads or writes the tensor.
    pub(crate) fn claim(&self, write: bool) -> (&Shared, Claim) {
        (&self.storage, Claim { bytes: self.reach(), write })
    }

    /// The tensor's storage under another layout.
    pub(crate) fn with_layout(&self, layout: Layout) -> Tensor {
        Tensor::new(self.storage.clone(), layout, self.dtype)
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tensor")
            .field("dtype", &self.dtype)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}
