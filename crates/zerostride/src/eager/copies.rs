//! Owns the methods that give a view where one exists and a copy elsewhere. It does not know the rules of
//! views (`zerostride-shape`).

use zerostride_shape::{Layout, Shape, infer_size};

use crate::{Expr, Result, Tensor};

impl Tensor {
    /// The same elements with other sizes: a view where possible, else a copy; -1 is inferred.
    ///
    /// # Errors
    /// The sizes do not multiply to the number of elements, or there is no memory for a copy.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let x = Tensor::arange(0, 6, 1)?;
    /// assert_eq!(x.reshape(&[2, -1])?.t()?.reshape(&[6])?.to_vec::<i64>()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn reshape(&self, sizes: &[isize]) -> Result<Tensor> {
        let shape = infer_size(sizes, self.numel())?;
        self.reshape_to(&shape)
    }

    /// Merges several dimensions into one: a view where possible, else a copy.
    ///
    /// # Errors
    /// A dimension does not exist, `start` is after `end`, or there is no memory for a copy.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Tensor> {
        self.reshape_to(&self.layout().flatten_shape(start, end)?)
    }

    fn reshape_to(&self, shape: &Shape) -> Result<Tensor> {
        let sizes: Vec<isize> = shape.iter().map(|&size| size as isize).collect();
        match self.layout().view(&sizes) {
            Ok(layout) => Ok(self.with_layout(layout)),
            Err(_) => Ok(self.clone_elements()?.with_layout(Layout::contiguous(shape.clone()))),
        }
    }

    /// The tensor itself if it is contiguous, else a contiguous copy.
    ///
    /// # Errors
    /// There is no memory for a copy.
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.clone_elements() }
    }

    /// A copy with storage of its own: PyTorch's `clone()`. In Rust, `clone()` copies the handle.
    ///
    /// # Errors
    /// There is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![1, 2];
    /// let copy = x.clone_elements()?;
    /// x.add_(1)?;
    /// assert_eq!(copy.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn clone_elements(&self) -> Result<Tensor> {
        Expr::current(self).materialise()
    }
}
