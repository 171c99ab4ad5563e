//! Owns copies with elements moved: rolled, repeated, stretched to a grid, or set to zero on one side of a
//! diagonal.

use bytemuck::cast_slice;
use zerostride_ops::{DType, Scalar};
use zerostride_shape::Shape;

use super::{Results, access, list, named_dim};
use crate::interrupt::Visits;
use crate::{Error, Expr, Result, Tensor, cat};

impl Tensor {
    /// The elements shifted along dimensions, wrapping around: `torch.roll`.
    /// Without dimensions the flattened tensor is rolled.
    ///
    /// # Errors
    /// Not one shift for each dimension, a dimension that does not exist, or no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(x.roll(&[1], &[1])?.to_vec::<i64>()?, [3, 1, 2, 6, 4, 5]);
    /// assert_eq!(x.roll(&[-2], &[])?.to_vec::<i64>()?, [3, 4, 5, 6, 1, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn roll(&self, shifts: &[isize], dims: &[isize]) -> Result<Tensor> {
        Results::roll(self, shifts, dims)?;
        if let ([shift], []) = (shifts, dims) {
            let sizes: Vec<isize> = self.shape().iter().map(|&size| size as isize).collect();
            return self.reshape(&[-1])?.roll(&[*shift], &[0])?.reshape(&sizes);
        }
        let mut rolled = self.alias();
        for (&shift, &dim) in shifts.iter().zip(dims) {
            let dim = named_dim(dim, self.ndim())?.unwrap_or(0);
            let (dim, size) = (dim as isize, self.shape()[dim] as isize);
            let moved = if size == 0 { 0 } else { shift.rem_euclid(size) };
            let parts = [rolled.narrow(dim, size - moved, moved)?, rolled.narrow(dim, 0, size - moved)?];
            rolled = cat(&[&parts[0], &parts[1]], dim)?;
        }
        Ok(rolled)
    }

    /// Every element `count` times in a row along a dimension, or of the flattened tensor:
    /// `torch.repeat_interleave`, NumPy's `repeat`.
    ///
    /// # Errors
    /// The dimension does not exist, the result is too large, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1, 2], [3, 4]];
    /// assert_eq!(x.repeat_interleave(2, Some(1))?.to_vec::<i64>()?, [1, 1, 2, 2, 3, 3, 4, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn repeat_interleave(&self, count: usize, dim: Option<isize>) -> Result<Tensor> {
        let Some(dim) = dim else { return self.reshape(&[-1])?.repeat_interleave(count, Some(0)) };
        let dim = self.repeated_dim(dim)?;
        let mut shape = self.shape().to_vec();
        shape.insert(dim + 1, count);
        let stretched = self.unsqueeze(dim as isize + 1)?.broadcast_to(&shape)?;
        stretched.row_major()?.flatten(dim as isize, dim as isize + 1)
    }

    /// Every slice of a dimension as many times as an integer tensor says for it: `torch.repeat_interleave`
    /// with a tensor. One number counts for all slices.
    ///
    /// # Errors
    /// As [`Tensor::repeat_interleave`]; counts that are negative, no integers, or not one for each slice.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let x = tensor![[1, 2], [3, 4]];
    /// assert_eq!(x.repeat_each(&tensor![1, 2], Some(0))?.to_vec::<i64>()?, [1, 2, 3, 4, 3, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn repeat_each(&self, counts: &Tensor, dim: Option<isize>) -> Result<Tensor> {
        let Some(dim) = dim else { return self.reshape(&[-1])?.repeat_each(counts, Some(0)) };
        let dim = self.repeated_dim(dim)?;
        if counts.ndim() > 1 {
            return Err(Error::runtime("repeats must be 0-dim or 1-dim tensor"));
        }
        if !matches!(counts.dtype(), DType::I32 | DType::I64) {
            return Err(Error::not_implemented("repeat_interleave_cpu", counts.dtype()));
        }
        let size = self.shape()[dim];
        let counts = match counts.numel() {
            1 => counts.reshape(&[1])?.broadcast_to(&[size])?,
            own if own == size => counts.alias(),
            own => {
                return Err(Error::runtime(format_args!(
                    "repeats must have the same size as input along dim, but got repeats.size(0) = {own} and input.size({dim}) = {size}"
                )));
            }
        };
        let counts = counts.to_dtype(DType::I64)?.contiguous()?;
        if size > 0 && counts.amin(..)?.item::<i64>()? < 0 {
            return Err(Error::runtime("repeats can not be negative"));
        }
        let index = access::read("repeat_interleave", [&counts], |[bytes]| {
            let counts: &[i64] = cast_slice(bytes);
            let total = counts.iter().try_fold(0usize, |sum, &count| sum.checked_add(count as usize));
            let mut index = list(total.unwrap_or(usize::MAX), self.shape_value())?;
            let mut visits = Visits::default();
            for (at, &count) in counts.iter().enumerate() {
                visits.add(count as usize + 1);
                index.extend(std::iter::repeat_n(at as i64, count as usize));
            }
            Ok(index)
        })?;
        self.index_select(dim as isize, &Tensor::from_slice(&index, &[index.len()])?)
    }

    /// [`Tensor::repeat_interleave`] by one count, or [`Tensor::repeat_each`] by a tensor of them.
    pub(super) fn repeat_by(&self, repeats: &Repeats, dim: Option<isize>) -> Result<Tensor> {
        match repeats {
            Repeats::Count(count) => self.repeat_interleave(*count, dim),
            Repeats::Each(counts) => self.repeat_each(counts, dim),
        }
    }

    /// The dimension along which a tensor that has one is repeated; without one it counts as a vector.
    fn repeated_dim(&self, dim: isize) -> Result<usize> {
        named_dim(dim, self.ndim())?
            .ok_or_else(|| Error::index("Dimension specified as 0 but tensor has no dimensions"))
    }

    /// The elements on and below a diagonal of the last two dimensions, zero elsewhere: `torch.tril`.
    /// `diagonal` counts from the main one upwards.
    ///
    /// # Errors
    /// Fewer than two dimensions, or no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[1, 2], [3, 4]].tril(0)?.to_vec::<i64>()?, [1, 0, 3, 4]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn tril(&self, diagonal: i64) -> Result<Tensor> {
        self.triangle("tril", |row, column| (row + diagonal).ge(column))
    }

    /// The elements on and above a diagonal of the last two dimensions, zero elsewhere: `torch.triu`.
    ///
    /// # Errors
    /// As [`Tensor::tril`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[1, 2], [3, 4]].triu(1)?.to_vec::<i64>()?, [0, 2, 0, 0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn triu(&self, diagonal: i64) -> Result<Tensor> {
        self.triangle("triu", |row, column| (row + diagonal).le(column))
    }

    fn triangle(&self, name: &str, keeps: impl FnOnce(Expr, Expr) -> Expr) -> Result<Tensor> {
        let (rows, columns) = triangular(name, self)?;
        if self.numel() == 0 {
            return self.row_major();
        }
        let numbers = |count: usize| Tensor::arange(0, count as i64, 1)?.to(self.device());
        let (row, column) = (Expr::from(numbers(rows)?).unsqueeze(-1), Expr::from(numbers(columns)?));
        // `false` is zero in every dtype, and does not promote.
        Expr::current(self).where_(keeps(row, column), Scalar::Bool(false)).contiguous().materialise()
    }
}

/// How often elements are repeated.
#[derive(Debug)]
pub(super) enum Repeats {
    /// All elements equally often.
    Count(usize),
    /// Each as often as its integer in a tensor.
    Each(Tensor),
}

/// The rows and columns of the matrices that a triangle is taken of.
fn triangular(name: &str, tensor: &Tensor) -> Result<(usize, usize)> {
    match *tensor.shape() {
        [.., rows, columns] => Ok((rows, columns)),
        _ => Err(Error::runtime(format_args!("{name}: input tensor must have at least 2 dimensions"))),
    }
}

impl Results {
    pub(super) fn roll(tensor: &Tensor, shifts: &[isize], dims: &[isize]) -> Result<Results> {
        match (shifts, dims) {
            ([], _) => return Err(Error::runtime("`shifts` required")),
            ([_], []) => {}
            _ if shifts.len() != dims.len() => {
                return Err(Error::runtime(format_args!(
                    "shifts and dimensions must align. shifts: {}, dims:{}",
                    shifts.len(),
                    dims.len()
                )));
            }
            _ => {
                for &dim in dims {
                    if named_dim(dim, tensor.ndim())?.is_none() {
                        return Err(Error::index(format_args!(
                            "Dimension specified as {dim} but tensor has no dimensions"
                        )));
                    }
                }
            }
        }
        Ok(Results::like(tensor))
    }

    pub(super) fn repeat_by(tensor: &Tensor, repeats: &Repeats, dim: Option<isize>) -> Result<Results> {
        let mut sizes = match dim {
            Some(_) => tensor.shape().to_vec(),
            None => vec![tensor.numel()],
        };
        let dim = match dim {
            Some(dim) => tensor.repeated_dim(dim)?,
            None => 0,
        };
        match repeats {
            Repeats::Count(count) => {
                sizes[dim] = sizes[dim].saturating_mul(*count);
                Ok(Results::one(Shape::new(&sizes)?, tensor.dtype()))
            }
            // The function refuses a wrong count, and takes no memory for it.
            Repeats::Each(counts) => {
                let most = counts.amax(..).and_then(|most| most.to_dtype(DType::I64)?.item::<i64>());
                let most = most.map_or(0, |most| most.max(0) as usize);
                Ok(Results::at_most(tensor.numel().saturating_mul(most), tensor.dtype().item_size()))
            }
        }
    }

    pub(super) fn tril(tensor: &Tensor, _diagonal: i64) -> Result<Results> {
        triangular("tril", tensor).map(|_| Results::like(tensor))
    }

    pub(super) fn triu(tensor: &Tensor, _diagonal: i64) -> Result<Results> {
        triangular("triu", tensor).map(|_| Results::like(tensor))
    }
}

/// Vectors stretched to the grid that they span, as views: `torch.meshgrid`. With `xy` the first two
/// dimensions of the results are swapped.
///
/// Shapes: `(n), (m), (k) -> (n, m, k)` each, and `(m, n, k)` with `xy`.
///
/// # Errors
/// No tensors, tensors of several dimensions, or of different dtypes.
///
/// ```
/// use zerostride::{meshgrid, tensor};
/// let grid = meshgrid(&[&tensor![1, 2], &tensor![3, 4, 5]], false)?;
/// assert_eq!(grid[0].to_vec::<i64>()?, [1, 1, 1, 2, 2, 2]);
/// assert_eq!(grid[1].to_vec::<i64>()?, [3, 4, 5, 3, 4, 5]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn meshgrid(vectors: &[&Tensor], xy: bool) -> Result<Vec<Tensor>> {
    let Some(first) = vectors.first() else {
        return Err(Error::runtime("meshgrid expects a non-empty TensorList"));
    };
    if vectors.iter().any(|vector| vector.dtype() != first.dtype()) {
        return Err(Error::runtime("meshgrid expects all tensors to have the same dtype"));
    }
    if let Some(other) = vectors.iter().find(|vector| vector.ndim() > 1) {
        return Err(Error::runtime(format_args!(
            "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a tensor of shape {}",
            other.shape_value()
        )));
    }
    let shape: Vec<usize> = vectors.iter().map(|vector| vector.numel()).collect();
    let grid = |(dim, vector): (usize, &&Tensor)| {
        let mut sizes = vec![1; vectors.len()];
        sizes[dim] = -1;
        let stretched = vector.view(&sizes)?.broadcast_to(&shape)?;
        if xy && vectors.len() > 1 { stretched.transpose(0, 1) } else { Ok(stretched) }
    };
    vectors.iter().enumerate().map(grid).collect()
}
