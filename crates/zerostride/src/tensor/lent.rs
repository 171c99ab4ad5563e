//! Owns tensors on memory that another library owns, and the lending of a tensor's memory to one. It does not
//! know which library that is.

use std::any::Any;
use std::ptr::NonNull;

use bytemuck::NoUninit;
use zerostride_ops::{DType, Element};
use zerostride_shape::{Layout, Shape, Strides};

#[cfg(feature = "cuda")]
use zerostride_cuda::{Gpu, Stream, device_of};

use super::Tensor;
#[cfg(feature = "cuda")]
use crate::Device;
use crate::memory::{Shared, Storage};
use crate::{Error, Result};

/// Strided elements in memory that another library owns.
#[derive(Debug)]
pub struct Lent<'a> {
    /// The element at index zero.
    pub data: NonNull<u8>,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The sizes of the dimensions.
    pub shape: &'a [usize],
    /// Elements between neighbours along each dimension; may be negative or zero.
    pub strides: &'a [isize],
    /// Whether the elements may be written.
    pub writable: bool,
}

impl<'a> Lent<'a> {
    /// Elements of a Rust type, of which `first` is at index zero.
    ///
    /// # Panics
    /// If the type, which may be a program's own, is not as large in memory as its dtype says.
    pub(crate) fn elements<T: Element + NoUninit>(
        first: *const T,
        shape: &'a [usize],
        strides: &'a [isize],
        writable: bool,
    ) -> Lent<'a> {
        assert_eq!(size_of::<T>(), T::DTYPE.item_size(), "an element is as large as its dtype says");
        let data = NonNull::new(first.cast_mut()).unwrap_or(NonNull::dangling()).cast();
        Lent { data, dtype: T::DTYPE, shape, strides, writable }
    }

    /// The layout whose first element is `offset` elements into the memory.
    fn layout(&self, offset: isize) -> Result<Layout> {
        let shape = Shape::new(self.shape)?;
        // Strides mean nothing without elements, and may overflow a layout.
        let none = if shape.numel() == 0 { vec![0; shape.ndim()] } else { Vec::new() };
        let strides = if shape.numel() == 0 { &none } else { self.strides };
        Ok(Layout::new(shape, Strides::new(strides)?, offset)?)
    }

    /// The lowest address, the bytes from there to the end of the highest element, and the layout in these.
    fn place(&self, addresses: usize) -> Result<(NonNull<u8>, usize, Layout)> {
        let Lent { data, dtype, shape, strides, .. } = *self;
        let item = dtype.item_size();
        let empty = shape.contains(&0);
        // The pointer of an empty tensor may be null or unaligned in other libraries.
        let data = if empty { NonNull::<u128>::dangling().cast() } else { data };
        if data.as_ptr().align_offset(dtype.to_real().item_size()) != 0 {
            return Err(Error::runtime(format_args!("the memory is not aligned to elements of {dtype}")));
        }
        let steps = shape.iter().zip(strides).filter(|_| !empty);
        let below = steps.filter(|(_, stride)| **stride < 0).try_fold(0usize, |below, (&size, stride)| {
            stride.unsigned_abs().checked_mul(size - 1)?.checked_add(below)
        });
        let offset = below.and_then(|below| isize::try_from(below).ok()).unwrap_or(isize::MAX);
        let layout = self.layout(offset)?;
        let len = layout.span().map_or(Some(0), |(_, high)| (high as usize + 1).checked_mul(item));
        let has_addresses = len.is_some_and(|len| {
            let start = (data.as_ptr() as usize).checked_sub(offset as usize * item);
            let end = start.and_then(|start| start.checked_add(len));
            end.is_some_and(|end| end <= addresses)
        });
        let (Some(len), true) = (len, has_addresses) else {
            return Err(Error::runtime("the elements would be outside the address space"));
        };
        let start = NonNull::new(data.as_ptr().wrapping_sub(offset as usize * item)).unwrap_or(data);
        Ok((start, len, layout))
    }
}

/// A lender of a device's memory, who gets it back when no work uses it any more.
#[cfg(feature = "cuda")]
struct Returned {
    gpu: &'static Gpu,
    /// Whether the lender's work comes after ours anyway.
    in_order: bool,
    _lender: Box<dyn Any + Send + Sync>,
}

#[cfg(feature = "cuda")]
impl Drop for Returned {
    fn drop(&mut self) {
        if !self.in_order {
            // The lender may have the memory used at once on a stream that does not wait for ours. A device
            // that does not work any more does not touch it either.
            let _ = self.gpu.synchronize();
        }
    }
}

/// What a device's driver refuses.
#[cfg(feature = "cuda")]
fn failed(index: usize) -> impl Fn(zerostride_cuda::Error) -> Error {
    move |error| Error::Device { device: Device::Cuda(index), reason: error.to_string() }
}

/// The end of user-space addresses: operating systems hand out 47 bits on x86-64 and 48 elsewhere, unless a
/// program requests more. Below it, the lender's word is trusted.
const ADDRESSES: usize = match (usize::BITS, cfg!(target_arch = "x86_64")) {
    (64, true) => 1 << 47,
    (64, false) => 1 << 48,
    _ => isize::MAX as usize,
};

impl Tensor {
    /// A tensor on memory that another library owns, without a copy. `lender` is dropped with the last tensor
    /// that uses the memory.
    ///
    /// # Errors
    /// The data is not aligned to the dtype, or the layout reaches beyond the address space. The data pointer
    /// of a tensor without elements is not looked at.
    ///
    /// # Safety
    /// Until `lender` is dropped, all bytes from the lowest element to the highest are initialised and valid
    /// for reads, and the elements for writes if `writable`. While an operation on the tensor runs, no other
    /// code writes any of these bytes, nor reads the elements that the operation writes. Dropping `lender`
    /// must not wait for a thread that may wait for a tensor.
    pub unsafe fn from_lent(lent: &Lent<'_>, lender: impl Any + Send + Sync) -> Result<Tensor> {
        let (start, len, layout) = lent.place(ADDRESSES)?;
        // SAFETY: the layout reaches from the lowest to the highest element, and the caller guarantees those
        // bytes.
        let storage = unsafe { Storage::lent(start, len, Box::new(lender), lent.writable) };
        Ok(Tensor::new(Shared::lent(storage), layout, lent.dtype))
    }

    /// A tensor on memory of a GPU that another library owns, without a copy. Without an `index` it is the
    /// GPU that has the memory. `lender` is dropped with the last tensor that uses the memory, once the work
    /// is done that it was given, for which the drop waits; at once if the lender uses the memory `in_order`.
    ///
    /// # Errors
    /// As [`Tensor::from_lent`]; or the memory may not be written, which tensors on a GPU always may, or
    /// there is no such device, or no device has the memory.
    ///
    /// # Safety
    /// As [`Tensor::from_lent`], for the device; what other libraries do with the memory comes, on the
    /// device, before work of its default stream that the tensor is used in ([`Tensor::follow`]). `in_order`
    /// says that all that they do with it afterwards is on the default stream, too, or waits for that.
    #[cfg(feature = "cuda")]
    pub unsafe fn from_lent_on_cuda(
        index: Option<usize>,
        lent: &Lent<'_>,
        lender: impl Any + Send + Sync,
        in_order: bool,
    ) -> Result<Tensor> {
        if !lent.writable {
            return Err(Error::ReadOnly);
        }
        let index = match index {
            Some(index) => index,
            None if lent.shape.contains(&0) => 0,
            None => device_of(lent.data.addr().get() as u64).map_err(failed(0))?,
        };
        let gpu = Gpu::open(index).map_err(failed(index))?;
        let (start, len, layout) = lent.place(isize::MAX as usize)?;
        let owner = Returned { gpu, in_order, _lender: Box::new(lender) };
        let storage = Storage::on_device(start, len, Device::Cuda(index), Box::new(owner));
        Ok(Tensor::new(Shared::lent(storage), layout, lent.dtype))
    }

    /// Has a stream of another library wait for the work that the tensor's device has been given, if it is on
    /// one: 0 and 1 are the default stream, which has nothing to wait for.
    ///
    /// # Errors
    /// The device does not work, or there is no such stream.
    ///
    /// # Safety
    /// The stream is one of the device that exists.
    #[cfg(feature = "cuda")]
    pub unsafe fn precede(&self, stream: usize) -> Result<()> {
        // SAFETY: the caller vouches for the stream.
        self.on_gpu(|gpu| unsafe { gpu.precede(Stream(stream)) })
    }

    /// Has the work that the tensor's device is given from now on, if it is on one, wait for that of another
    /// library's stream: the other way round as [`Tensor::precede`].
    ///
    /// # Errors
    /// As [`Tensor::precede`].
    ///
    /// # Safety
    /// As [`Tensor::precede`].
    #[cfg(feature = "cuda")]
    pub unsafe fn follow(&self, stream: usize) -> Result<()> {
        // SAFETY: the caller vouches for the stream.
        self.on_gpu(|gpu| unsafe { gpu.follow(Stream(stream)) })
    }

    /// Asks something of the tensor's device, if it is on one.
    #[cfg(feature = "cuda")]
    fn on_gpu(&self, ask: impl FnOnce(&Gpu) -> Result<(), zerostride_cuda::Error>) -> Result<()> {
        let Device::Cuda(index) = self.device() else { return Ok(()) };
        Gpu::open(index).and_then(ask).map_err(failed(index))
    }

    /// This tensor's storage under a layout that comes back from another library, to which the tensor was
    /// lent. `None` if the dtype differs, an element lies outside the storage, or only one of the two is
    /// read-only.
    pub fn view_from(&self, lent: &Lent<'_>) -> Option<Tensor> {
        let item = self.dtype().item_size();
        let start = self.storage().start().as_ptr() as usize;
        let bytes = (lent.data.as_ptr() as usize).checked_sub(start)?;
        if lent.dtype != self.dtype() || lent.writable != self.is_writable() || bytes % item != 0 {
            return None;
        }
        let layout = lent.layout(isize::try_from(bytes / item).ok()?).ok()?;
        let elements = isize::try_from(self.storage().len() / item).ok()?;
        let inside =
            layout.span().map_or(layout.offset() <= elements, |(low, high)| low >= 0 && high < elements);
        inside.then(|| Tensor::new(self.storage().clone(), layout, self.dtype()))
    }

    /// The address of the element at index zero, for callers that access the memory themselves. Nothing keeps
    /// other threads from writing there meanwhile.
    pub fn data_ptr(&self) -> *mut u8 {
        self.storage().start().as_ptr().wrapping_add(self.storage_offset() * self.dtype().item_size())
    }

    /// Whether the tensor may be written; false for memory that was lent read-only.
    pub fn is_writable(&self) -> bool {
        self.storage().is_writable()
    }

    /// Whether no write to one of the tensors can change the other.
    pub(crate) fn is_apart_from(&self, other: &Tensor) -> bool {
        !self.shares_storage(other) && !self.meets_elsewhere(other)
    }

    /// Whether both tensors reach the same bytes through different storages, as when the same memory was lent
    /// twice.
    pub(crate) fn meets_elsewhere(&self, other: &Tensor) -> bool {
        let addresses = |tensor: &Tensor| {
            let (start, reach) = (tensor.storage().start().as_ptr() as usize, tensor.reach());
            start + reach.start..start + reach.end
        };
        // Memory that we allocated belongs to one storage only.
        let is_lent = self.storage().is_lent() || other.storage().is_lent();
        is_lent && !self.shares_storage(other) && {
            let (own, others) = (addresses(self), addresses(other));
            own.start < others.end && others.start < own.end
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expr;

    fn lend(values: &mut [i32], strides: &[isize], first: usize, writable: bool) -> Tensor {
        let shape = vec![2; strides.len()];
        assert!(first < values.len());
        // From the whole array, since negative strides lead to elements before the first one.
        let data = NonNull::new(values.as_mut_ptr().wrapping_add(first).cast()).unwrap();
        let lent = Lent { data, dtype: DType::I32, shape: &shape, strides, writable };
        // SAFETY: the tests keep the values until the tensor is dropped, and access them only through it.
        unsafe { Tensor::from_lent(&lent, ()) }.unwrap()
    }

    #[test]
    fn elements_are_where_the_strides_say() {
        let mut values = [0, 1, 2, 3];
        assert_eq!(lend(&mut values, &[2, 1], 0, true).to_vec::<i32>().unwrap(), [0, 1, 2, 3]);
        assert_eq!(lend(&mut values, &[-2, -1], 3, true).to_vec::<i32>().unwrap(), [3, 2, 1, 0]);
        assert_eq!(lend(&mut values, &[0, 2], 1, true).to_vec::<i32>().unwrap(), [1, 3, 1, 3]);
    }

    #[test]
    fn a_tensor_without_elements_needs_no_memory() {
        for dtype in DType::ALL {
            let lent = Lent {
                data: NonNull::dangling(),
                dtype,
                shape: &[2, 0],
                strides: &[isize::MIN, 1],
                writable: true,
            };
            // SAFETY: there are no elements.
            let tensor = unsafe { Tensor::from_lent(&lent, ()) }.unwrap();
            assert_eq!((tensor.shape(), tensor.dtype()), (&[2, 0][..], dtype));
            tensor.clone_elements().unwrap();
        }
    }

    #[test]
    fn elements_beyond_all_addresses_are_refused() {
        let far = isize::MAX / 16;
        let value = [0i64];
        for (shape, strides) in [
            ([2, 2], [far, far]),
            ([2, 1], [-far, 1]),
            ([usize::MAX / 32, 2], [3, -far]),
            ([1 << 62, 1], [1, 1]),
        ] {
            let data = NonNull::from(&value).cast();
            let lent = Lent { data, dtype: DType::I64, shape: &shape, strides: &strides, writable: false };
            // SAFETY: no tensor is made.
            assert!(unsafe { Tensor::from_lent(&lent, ()) }.is_err(), "{shape:?} {strides:?}");
        }
    }

    #[test]
    fn what_is_written_is_seen_by_the_lender() {
        let mut values = [0, 1, 2, 3];
        lend(&mut values, &[2], 1, true).add_(10).unwrap();
        assert_eq!(values, [0, 11, 2, 13]);
    }

    #[test]
    fn memory_lent_for_reading_is_not_written() {
        let mut values = [1, 2];
        let tensor = lend(&mut values, &[1], 0, false);
        let other = Tensor::from_slice(&[1i32, 1], &[2]).unwrap();
        for refused in [tensor.add_(1), tensor.neg_(), tensor.fill_(0), tensor.copy_(&other)] {
            assert!(matches!(refused.unwrap_err().root(), Error::ReadOnly));
        }
        assert_eq!(tensor.to_vec::<i32>().unwrap(), [1, 2]);
    }

    #[test]
    fn the_same_memory_lent_twice_is_read_before_it_is_written() {
        type Write = fn(&Tensor, &Tensor) -> Result<()>;
        type Wanted = fn(i32, i32) -> i32;
        let writes: [(Write, Wanted); 3] = [
            (|to, from| to.copy_(from), |_, from| from),
            (|to, from| to.add_(from), |to, from| to + from),
            (|to, from| Expr::from(from).neg().eval_into(to), |_, from| -from),
        ];
        for (len, (to, from)) in
            [3, 100, 1999, 100_000].into_iter().flat_map(|len| [(len, (0, 1)), (len, (1, 0))])
        {
            for (write, wanted) in writes {
                let before: Vec<i32> = (0..=len as i32).collect();
                let mut values = before.clone();
                let data = NonNull::from(&mut values[..]).cast::<u8>();
                let lend = |first: usize| {
                    let data = NonNull::new(data.as_ptr().wrapping_add(4 * first)).unwrap();
                    let lent = Lent { data, dtype: DType::I32, shape: &[len], strides: &[1], writable: true };
                    // SAFETY: as above.
                    unsafe { Tensor::from_lent(&lent, ()) }.unwrap()
                };
                write(&lend(to), &lend(from)).unwrap();
                let wanted: Vec<i32> =
                    (0..len).map(|at| wanted(before[to + at], before[from + at])).collect();
                assert!(values[to..][..len] == wanted, "{len} elements, {from} to {to}");
            }
        }
    }

    #[test]
    fn what_was_shown_comes_back_as_a_view_of_the_storage() {
        let tensor = Tensor::from_slice(&[0i32, 1, 2, 3, 4, 5], &[2, 3]).unwrap();
        let shown = |first: usize, dtype, shape, strides, writable| {
            let data = NonNull::new(tensor.data_ptr().wrapping_add(first)).unwrap();
            tensor.view_from(&Lent { data, dtype, shape, strides, writable })
        };
        let view = shown(20, DType::I32, &[2, 3], &[-3, -1], true).unwrap();
        assert_eq!(view.to_vec::<i32>().unwrap(), [5, 4, 3, 2, 1, 0]);
        assert!(view.shares_storage(&tensor));
        assert!(shown(24, DType::I32, &[0], &[9], true).is_some());
        for other in [
            shown(20, DType::I32, &[2, 3], &[-3, -2], true),
            shown(8, DType::I32, &[2, 3], &[3, 1], true),
            shown(2, DType::I32, &[1], &[1], true),
            shown(0, DType::I32, &[1 << 40], &[1 << 30], true),
            shown(0, DType::F32, &[2, 3], &[3, 1], true),
            shown(0, DType::I32, &[2, 3], &[3, 1], false),
        ] {
            assert!(other.is_none());
        }
    }

    #[test]
    fn the_lender_is_dropped_with_the_last_view() {
        let values = std::sync::Arc::new([1i32, 2]);
        let data = NonNull::from(&values[..]).cast();
        let lent = Lent { data, dtype: DType::I32, shape: &[2], strides: &[1], writable: false };
        // SAFETY: the lender owns the values, which are only read.
        let tensor = unsafe { Tensor::from_lent(&lent, values.clone()) }.unwrap();
        let view = tensor.select(0, 1).unwrap();
        drop(tensor);
        assert_eq!(view.item::<i32>().unwrap(), 2);
        assert_eq!(std::sync::Arc::strong_count(&values), 2);
        drop(view);
        assert_eq!(std::sync::Arc::strong_count(&values), 1);
    }
}
