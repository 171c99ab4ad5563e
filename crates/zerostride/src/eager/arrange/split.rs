//! Owns the splitting of a tensor along a dimension, into views.

use super::{list, named_dim};
use crate::{Error, Result, Tensor};

/// The dimensions that a tensor is split along, in the words of `what`.
fn split_dim(what: &str, tensor: &Tensor, dim: isize) -> Result<usize> {
    if tensor.ndim() == 0 {
        return Err(Error::runtime(format_args!("{what} expects at least a 1-dimensional tensor")));
    }
    Ok(named_dim(dim, tensor.ndim())?.unwrap_or(0))
}

impl Tensor {
    /// Parts of `size` along a dimension, the last one of what is left: `torch.split`.
    ///
    /// # Errors
    /// A tensor without dimensions, a dimension that does not exist, or a size of 0 for one that is not.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let parts = Tensor::arange(0, 5, 1)?.split(2, 0)?;
    /// assert_eq!(parts.iter().map(Tensor::numel).collect::<Vec<_>>(), [2, 2, 1]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn split(&self, size: usize, dim: isize) -> Result<Vec<Tensor>> {
        let dim = split_dim("split", self, dim)?;
        let whole = self.shape()[dim];
        if size == 0 && whole > 0 {
            return Err(Error::runtime(format_args!(
                "split_size can only be 0 if dimension size is 0, but got dimension size of {whole}"
            )));
        }
        let count = if size == 0 { 1 } else { whole.div_ceil(size).max(1) };
        self.parts(count, |part| {
            let start = part * size;
            self.narrow(dim as isize, start as isize, size.min(whole - start) as isize)
        })
    }

    /// Parts of these sizes along a dimension: `torch.split` with a list.
    ///
    /// # Errors
    /// A dimension that does not exist, or sizes that do not add up to its.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let parts = Tensor::arange(0, 5, 1)?.split_sizes(&[1, 4], 0)?;
    /// assert_eq!(parts[1].to_vec::<i64>()?, [1, 2, 3, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn split_sizes(&self, sizes: &[usize], dim: isize) -> Result<Vec<Tensor>> {
        let dim = split_dim("split", self, dim)?;
        let whole = self.shape()[dim];
        if sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)) != Some(whole) {
            return Err(Error::runtime(format_args!(
                "split_with_sizes expects split_sizes to sum exactly to {whole} (input tensor's size at dimension {dim}), but got split_sizes={sizes:?}"
            )));
        }
        let mut start = 0;
        self.parts(sizes.len(), |part| {
            let part = (start, sizes[part]);
            start += part.1;
            self.narrow(dim as isize, part.0 as isize, part.1 as isize)
        })
    }

    /// So many parts.
    ///
    /// # Errors
    /// There is no memory for them all, or one of them fails.
    fn parts(&self, count: usize, part: impl FnMut(usize) -> Result<Tensor>) -> Result<Vec<Tensor>> {
        let mut parts = list(count, self.shape_value())?;
        for part in (0..count).map(part) {
            parts.push(part?);
        }
        Ok(parts)
    }

    /// At most `count` parts of equal size along a dimension, the last one of what is left: `torch.chunk`.
    ///
    /// # Errors
    /// A tensor without dimensions, a dimension that does not exist, or a count of 0.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let parts = Tensor::arange(0, 6, 1)?.chunk(4, 0)?;
    /// assert_eq!(parts.iter().map(Tensor::numel).collect::<Vec<_>>(), [2, 2, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn chunk(&self, count: usize, dim: isize) -> Result<Vec<Tensor>> {
        let dim = split_dim("chunk", self, dim)?;
        if count == 0 {
            return Err(Error::runtime("chunk expects `chunks` to be greater than 0, got: 0"));
        }
        match self.shape()[dim] {
            // `count` empty parts.
            0 => self.parts(count, |_| Ok(self.alias())),
            whole => self.split(whole.div_ceil(count), dim as isize),
        }
    }

    /// The slices of a dimension, which is removed: `torch.unbind`, the array API's `unstack`.
    ///
    /// # Errors
    /// A dimension that does not exist.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let columns = tensor![[1, 2], [3, 4]].unbind(1)?;
    /// assert_eq!(columns[1].to_vec::<i64>()?, [2, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn unbind(&self, dim: isize) -> Result<Vec<Tensor>> {
        let Some(dim) = named_dim(dim, self.ndim())? else {
            return Err(Error::index("Dimension specified as 0 but tensor has no dimensions"));
        };
        self.parts(self.shape()[dim], |at| self.select(dim as isize, at as isize))
    }
}
