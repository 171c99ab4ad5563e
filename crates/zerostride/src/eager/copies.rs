//! Owns copies: `clone`, and the methods that give a view where one exists and a copy elsewhere. It does not
//! know the rules of views (`zerostride-shape`).

use zerostride_ops::{DType, Scalar};
use zerostride_shape::{Layout, Shape, infer_size, result_order};

use crate::tensor::signed;
use crate::{Expr, Result, Tensor, plan};

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

    /// `reshape` to the shape of another tensor: a view where possible, else a copy.
    ///
    /// # Errors
    /// The numbers of elements differ, or there is no memory for a copy.
    ///
    /// ```
    /// use zerostride::{Tensor, tensor};
    /// let x = Tensor::arange(0, 4, 1)?;
    /// let square = x.reshape_as(&tensor![[0, 0], [0, 0]])?;
    /// assert_eq!(square.t()?.reshape_as(&x)?.to_vec::<i64>()?, [0, 2, 1, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn reshape_as(&self, other: &Tensor) -> Result<Tensor> {
        self.reshape(&signed(other.shape()))
    }

    /// Merges several dimensions into one: a view where possible, else a copy.
    ///
    /// # Errors
    /// A dimension does not exist, `start` is after `end`, or there is no memory for a copy.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Tensor> {
        self.reshape_to(&self.layout().flatten_shape(start, end)?)
    }

    fn reshape_to(&self, shape: &Shape) -> Result<Tensor> {
        match self.layout().view(&signed(shape)) {
            Ok(layout) => Ok(self.with_layout(layout)),
            Err(_) => Ok(self.row_major()?.with_layout(Layout::contiguous(shape.clone()))),
        }
    }

    /// The tensor itself if it is contiguous, else a contiguous copy.
    ///
    /// # Errors
    /// There is no memory for a copy.
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.alias()) } else { self.row_major() }
    }

    /// A copy with storage of its own, as [`clone`](Tensor::clone), which panics where this is an error.
    ///
    /// # Errors
    /// There is no memory, or another operation keeps the elements from being read.
    ///
    /// Source: PyTorch's `clone()`; the dimensions lie in the order in which they lie here
    /// (`torch.preserve_format`).
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
        match result_order(self.shape(), &[self.strides()]) {
            Some(order) => ordered(&order, |order| self.permute(order)?.row_major()),
            None => self.row_major(),
        }
    }

    /// A tensor of this one's sizes whose elements are all one number, converted to the dtype. The dimensions
    /// lie in the order in which they lie here.
    ///
    /// # Errors
    /// As [`Tensor::full`].
    ///
    /// Source: PyTorch's `full_like()` with `torch.preserve_format`.
    ///
    /// ```
    /// use zerostride::{DType, tensor};
    /// let x = tensor![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(x.t()?.full_like(0, DType::F32)?.strides(), [1, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn full_like(&self, value: impl Into<Scalar>, dtype: DType) -> Result<Tensor> {
        full_in(self.layout(), value.into(), dtype)
    }

    /// A row-major copy with storage of its own: PyTorch's `clone()` with `torch.contiguous_format`.
    ///
    /// # Errors
    /// As [`Tensor::clone_elements`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6]].t()?;
    /// assert_eq!((x.row_major()?.strides(), x.clone_elements()?.strides()), (&[2, 1][..], &[1, 3][..]));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn row_major(&self) -> Result<Tensor> {
        Expr::current(self).materialise()
    }

    /// The tensor itself if its dimensions lie in the order of another one's, without gaps; else such a copy.
    pub(super) fn lying_as(&self, model: &Tensor) -> Result<Tensor> {
        match result_order(model.shape(), &[model.strides()]) {
            Some(order) => ordered(&order, |order| self.permute(order)?.contiguous()),
            None => self.contiguous(),
        }
    }
}

impl Expr {
    /// [`Tensor::full_like`] of the value, without its evaluation: the dimensions lie in the order in which
    /// they would lie there.
    ///
    /// # Errors
    /// As [`Tensor::full`], or the expression has no value.
    pub fn full_like(&self, value: impl Into<Scalar>, dtype: DType) -> Result<Tensor> {
        self.shape()?;
        full_in(&plan::lies(self), value.into(), dtype)
    }
}

/// A tensor with the sizes of a layout, its dimensions in the same order.
fn full_in(layout: &Layout, value: Scalar, dtype: DType) -> Result<Tensor> {
    match result_order(layout.shape(), &[layout.strides()]) {
        Some(order) => ordered(&order, |order| {
            let sizes: Vec<usize> = order.iter().map(|&dim| layout.shape()[dim as usize]).collect();
            Tensor::full(&sizes, value, dtype)
        }),
        None => Tensor::full(layout.shape(), value, dtype),
    }
}

/// What is made row-major with its dimensions in another order, in its own.
fn ordered(order: &[usize], make: impl FnOnce(&[isize]) -> Result<Tensor>) -> Result<Tensor> {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &dim)| places[dim] = place as isize);
    let order: Vec<isize> = order.iter().map(|&dim| dim as isize).collect();
    make(&order)?.permute(&places)
}

impl Clone for Tensor {
    /// A copy of the elements with storage of its own, as in PyTorch: writes to the one are not seen in the
    /// other. [`Tensor::alias`] gives another handle on the same elements.
    ///
    /// # Panics
    /// Where [`Tensor::clone_elements`] is an error: there is no memory, as for a `Vec`; or the elements
    /// cannot be read, because a [`scope`](crate::scope) that lent them has ended or because this is called
    /// back from an operation that is writing them.
    #[track_caller]
    fn clone(&self) -> Tensor {
        self.clone_elements().unwrap_or_else(|error| panic!("a tensor cannot be cloned: {error}"))
    }
}
