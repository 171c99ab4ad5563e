//! Owns the moving of tensors between devices, which happens where a program asks for it and nowhere else. It
//! does not know how a device computes.

use zerostride_ops::DType;
use zerostride_shape::Shape;
#[cfg(feature = "cuda")]
use zerostride_shape::{InternalOverlap, Layout, checked_bytes};

#[cfg(not(feature = "cuda"))]
use crate::Error;
#[cfg(feature = "cuda")]
use crate::exec::device;
use crate::expr::{Kind, replace};
use crate::{Device, Expr, Result, Tensor};

/// Expressions of tensors that are on a device: those that are elsewhere are moved there, each of them once.
///
/// # Errors
/// As [`Tensor::to`].
///
/// ```
/// use zerostride::{Device, Expr, move_all, tensor};
/// let x = tensor![1.0, 2.0];
/// if let Ok(there) = move_all(&[&x + &tensor![3.0, 4.0], Expr::from(&x)], Device::Cuda(0)) {
///     assert_eq!(there[0].eval()?.device(), Device::Cuda(0));
/// }
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn move_all(exprs: &[Expr], device: Device) -> Result<Vec<Expr>> {
    replace(exprs, &mut |node| match &node.node().kind {
        Kind::Leaf { tensor, .. } if tensor.device() != device => {
            node.check_unchanged()?;
            Ok(Some(Expr::from(&tensor.to(device)?)))
        }
        _ => Ok(None),
    })
}

impl Tensor {
    /// The tensor on a device: an alias if it is there, else a copy of its elements, whose dimensions lie in
    /// the same order.
    ///
    /// What is computed of tensors on a GPU is computed there, by the methods and operators that compute on
    /// the CPU, with the same bits; what has no kernel is an error. Nothing moves elements but this method,
    /// [`move_all`] and [`Tensor::copy_`].
    ///
    /// # Errors
    /// There is no such device, it has no memory left, or this crate was built without the feature `cuda`.
    ///
    /// ```
    /// use zerostride::{Device, tensor};
    /// let x = tensor![1.0, 2.0];
    /// assert_eq!(x.to(Device::Cpu)?.to_vec::<f32>()?, [1.0, 2.0]);
    /// if let Ok(x) = x.to(Device::Cuda(0)) {
    ///     assert_eq!(x.exp()?.device(), Device::Cuda(0));
    /// }
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn to(&self, device: Device) -> Result<Tensor> {
        match (self.device(), device) {
            (from, to) if from == to => Ok(self.alias()),
            #[cfg(feature = "cuda")]
            (Device::Cpu, Device::Cuda(index)) => {
                let dense = self.dense()?;
                dense.with_reach(|bytes| device::upload(index, bytes, dense.at_start()?, self.dtype()))?
            }
            #[cfg(feature = "cuda")]
            (_, Device::Cpu) => {
                let dense = self.dense()?;
                let (dtype, shape) = (self.dtype(), self.shape_value().clone());
                let copy = Tensor::build(dtype, shape, |bytes| device::download(&dense, bytes))?;
                Ok(copy.with_layout(dense.at_start()?))
            }
            #[cfg(feature = "cuda")]
            (Device::Cuda(_), Device::Cuda(_)) => self.cpu()?.to(device),
            #[cfg(not(feature = "cuda"))]
            _ => {
                let reason = "zerostride was built without the feature `cuda`".to_owned();
                Err(Error::Device { device, reason })
            }
        }
    }

    /// The tensor in the memory of the process: [`Tensor::to`] with [`Device::Cpu`].
    ///
    /// # Errors
    /// There is no memory, or the device has failed.
    pub fn cpu(&self) -> Result<Tensor> {
        self.to(Device::Cpu)
    }

    /// The tensor on the first GPU: [`Tensor::to`] with `Device::Cuda(0)`.
    ///
    /// # Errors
    /// As [`Tensor::to`].
    pub fn cuda(&self) -> Result<Tensor> {
        self.to(Device::Cuda(0))
    }

    /// What is copied to this tensor: another tensor is brought to its device.
    pub(super) fn brought(&self, other: Expr) -> Result<Expr> {
        match other.as_view() {
            Some(view) if view.device() != self.device() => {
                Ok(move_all(&[other], self.device())?.swap_remove(0))
            }
            _ => Ok(other),
        }
    }

    /// A row-major tensor on this one's device, of any values.
    pub(super) fn beside(&self, dtype: DType, shape: Shape) -> Result<Tensor> {
        match self.device() {
            Device::Cpu => Tensor::build(dtype, shape, |_| Ok(())),
            #[cfg(feature = "cuda")]
            Device::Cuda(index) => {
                let bytes = checked_bytes(&shape, dtype.item_size())?;
                device::empty(index, bytes, Layout::contiguous(shape), dtype)
            }
            #[cfg(not(feature = "cuda"))]
            Device::Cuda(_) => unreachable!("no tensor is on a device"),
        }
    }

    /// The same elements without gaps between them: an alias if there are none.
    #[cfg(feature = "cuda")]
    fn dense(&self) -> Result<Tensor> {
        let is_dense = self.reach().len() == self.numel() * self.dtype().item_size();
        // Elements may also share memory, which leaves others out.
        let has_all = self.layout().has_internal_overlap() == InternalOverlap::No;
        if is_dense && has_all { Ok(self.alias()) } else { self.clone_elements() }
    }

    /// The layout of a copy of the bytes from the lowest to the highest element.
    #[cfg(feature = "cuda")]
    fn at_start(&self) -> Result<Layout> {
        let (low, _) = self.layout().span().unwrap_or((self.layout().offset(), 0));
        let offset = self.layout().offset() - low;
        Ok(Layout::new(self.shape_value().clone(), self.layout().strides().clone(), offset)?)
    }
}
