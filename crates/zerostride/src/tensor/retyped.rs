//! Owns the view of a tensor's bytes as elements of another dtype, by PyTorch's rules of `view(dtype)`. It
//! does not know what elements mean.

use zerostride_ops::DType;
use zerostride_shape::{Layout, Shape, Strides};

use super::Tensor;
use crate::{Error, Result};

impl Tensor {
    /// The same bytes as elements of another dtype, without a copy. Where elements become smaller or larger
    /// the last dimension gets more or fewer of them. What a bool shows is whether its byte is 0.
    ///
    /// # Errors
    /// PyTorch's, where elements differ in size and the tensor has no dimension, the elements of the last one
    /// are not side by side, or no whole number of new ones begins and ends where the old ones do. Memory of
    /// another library may not be aligned to the new elements.
    ///
    /// ```
    /// use zerostride::{DType, tensor};
    /// let x = tensor![1.0f32, -2.0];
    /// assert_eq!(x.view_dtype(DType::I32)?.to_vec::<i32>()?, [0x3F80_0000, 0xC000_0000_u32 as i32]);
    /// assert_eq!(x.view_dtype(DType::U8)?.shape(), [8]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn view_dtype(&self, dtype: DType) -> Result<Tensor> {
        let layout = match dtype.item_size() == self.dtype.item_size() {
            true => self.layout.clone(),
            false => self.resized(dtype)?,
        };
        let viewed = Tensor::new(self.storage.clone(), layout, dtype);
        match viewed.numel() == 0 || viewed.data_ptr().align_offset(dtype.to_real().item_size()) == 0 {
            true => Ok(viewed),
            false => Err(Error::runtime(format_args!("the memory is not aligned to elements of {dtype}"))),
        }
    }

    /// The layout of elements of a dtype of another size.
    fn resized(&self, dtype: DType) -> Result<Layout> {
        let (old, new) = (self.dtype.item_size(), dtype.item_size());
        let [from, to] = [self.dtype, dtype].map(DType::scalar_name);
        let refused = |problem: &str, found: Option<isize>| {
            let found = found.map(|found| format!(", but got {found}")).unwrap_or_default();
            let problem = format_args!("{problem} to view {from} as {to} (different element sizes){found}");
            Err(Error::runtime(problem))
        };
        let (mut sizes, mut strides) = (self.shape().to_vec(), self.strides().to_vec());
        let (Some(size), Some(stride)) = (sizes.last_mut(), strides.last()) else {
            return refused("self.dim() cannot be 0", None);
        };
        let (stride, outer, offset) = (*stride, strides.len() - 1, self.layout.offset());
        let apart = || refused("self.stride(-1) must be 1", Some(stride));
        if new < old {
            if stride != 1 {
                return apart();
            }
            let ratio = old / new;
            *size = size.saturating_mul(ratio);
            strides[..outer].iter_mut().for_each(|stride| *stride = stride.saturating_mul(ratio as isize));
            let offset = offset.saturating_mul(ratio as isize);
            return Ok(Layout::new(Shape::new(&sizes)?, Strides::new(&strides)?, offset)?);
        }
        let ratio = new / old;
        let signed = ratio as isize;
        if *size % ratio != 0 {
            let problem = format!("self.size(-1) must be divisible by {ratio}");
            return refused(&problem, Some(*size as isize));
        }
        if offset % signed != 0 {
            return refused(&format!("self.storage_offset() must be divisible by {ratio}"), Some(offset));
        }
        if stride != 1 {
            return apart();
        }
        if let Some(dim) = strides[..outer].iter().position(|stride| stride % signed != 0) {
            let problem = format!("self.stride({dim}) must be divisible by {ratio}");
            return refused(&problem, Some(strides[dim]));
        }
        *size /= ratio;
        strides[..outer].iter_mut().for_each(|stride| *stride /= signed);
        Ok(Layout::new(Shape::new(&sizes)?, Strides::new(&strides)?, offset / signed)?)
    }
}
