//! Owns the set of a tensor's values, or of its slices: each once, in ascending order, with its indices and
//! its count.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{Category, DType, Element, with_type};
use zerostride_shape::Shape;

use super::sort::{Sortable, Wanted, with_ordered};
use super::{Results, access, list, named_dim};
use crate::interrupt::Visits;
use crate::{Error, Result, Tensor};

/// What [`Tensor::unique`] and [`Tensor::unique_along`] find.
#[derive(Clone, Debug)]
pub struct Unique {
    /// Every value once, in ascending order.
    pub values: Tensor,
    /// The index of each value's first occurrence, counted row-major.
    pub indices: Tensor,
    /// For each element of the tensor the index of its value in `values`; of the tensor's shape.
    pub inverse: Tensor,
    /// How often each value occurs.
    pub counts: Tensor,
}

/// The indices that come first of each value.
fn firsts(order: &Tensor, starts: &[i64]) -> Result<Tensor> {
    order.take(&Tensor::from_slice(starts, &[starts.len()])?)
}

impl Unique {
    /// The set for `order`, the indices that sort values or slices, in which a new value begins at each of
    /// `starts`. `shape` is that of `inverse`, and `values` picks values by their indices.
    fn new(
        order: &Tensor,
        mut starts: Vec<i64>,
        shape: &Shape,
        values: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Unique> {
        let count = starts.len();
        starts.push(order.numel() as i64);
        let indices = firsts(order, &starts[..count])?;
        let inverse = Tensor::build(DType::I64, shape.clone(), |bytes| {
            let inverse: &mut [i64] = cast_slice_mut(bytes);
            access::read("unique", [order], |[order]| {
                let order: &[i64] = cast_slice(order);
                let mut visits = Visits::default();
                for (value, bounds) in starts.windows(2).enumerate() {
                    let own = &order[bounds[0] as usize..bounds[1] as usize];
                    visits.add(own.len());
                    for &at in own {
                        inverse[at as usize] = value as i64;
                    }
                }
                Ok(())
            })
        })?;
        let counts = Tensor::build(DType::I64, Shape::new(&[count])?, |bytes| {
            let counts = cast_slice_mut::<u8, i64>(bytes).iter_mut().zip(starts.windows(2));
            counts.for_each(|(count, bounds)| *count = bounds[1] - bounds[0]);
            Ok(())
        })?;
        Ok(Unique { values: values(&indices)?, indices, inverse, counts })
    }
}

impl Tensor {
    /// Every value once, in ascending order, and where and how often it occurs: `torch.unique` and the array
    /// API's `unique_all`. No NaN is equal to another; 0 and -0 are.
    ///
    /// # Errors
    /// The dtype is complex, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let found = tensor![3, 1, 3, 2].unique()?;
    /// assert_eq!(found.values.to_vec::<i64>()?, [1, 2, 3]);
    /// assert_eq!(found.inverse.to_vec::<i64>()?, [2, 0, 2, 1]);
    /// assert_eq!(found.indices.to_vec::<i64>()?, [1, 3, 0]);
    /// assert_eq!(found.counts.to_vec::<i64>()?, [1, 1, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn unique(&self) -> Result<Unique> {
        let (row, order, starts) = self.runs()?;
        Unique::new(&order, starts, self.shape_value(), |indices| row.take(indices))
    }

    /// Every value once, in ascending order.
    pub(super) fn unique_values(&self) -> Result<Tensor> {
        let (row, order, starts) = self.runs()?;
        row.take(&firsts(&order, &starts)?)
    }

    /// All elements in one row, the indices that sort them, and where in these each value begins.
    fn runs(&self) -> Result<(Tensor, Tensor, Vec<i64>)> {
        Results::unique_values(self)?;
        let (row, order) =
            self.reshape(&[-1])?.ordered(Wanted::First { count: self.numel(), descending: false })?;
        let mut starts: Vec<i64> = list(self.numel() + 1, self.shape_value())?;
        access::read("unique", [&row, &order], |[elements, order]| {
            with_type!(row.dtype(), T => {
                let elements: &[<T as Element>::Stored] = cast_slice(elements);
                let (mut last, mut visits) = (None, Visits::default());
                for (at, &index) in cast_slice::<u8, i64>(order).iter().enumerate() {
                    visits.add(1);
                    let value = T::load(elements[index as usize]);
                    if last != Some(value) {
                        starts.push(at as i64);
                    }
                    last = Some(value);
                }
            });
            Ok(())
        })?;
        Ok((row, order, starts))
    }

    /// Every slice of a dimension once, in ascending order of the first elements that differ, and where and
    /// how often it occurs: `torch.unique` with `dim`. NaN counts as the largest, and a slice with one is
    /// equal to no other; 0 and -0 are equal.
    ///
    /// # Errors
    /// The dimension does not exist, the slices have no elements, the dtype is complex, or there is no
    /// memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let found = tensor![[3, 1], [1, 2], [3, 1]].unique_along(0)?;
    /// assert_eq!(found.values.to_vec::<i64>()?, [1, 2, 3, 1]);
    /// assert_eq!(found.inverse.to_vec::<i64>()?, [1, 0, 1]);
    /// assert_eq!(found.indices.to_vec::<i64>()?, [1, 0]);
    /// assert_eq!(found.counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn unique_along(&self, dim: isize) -> Result<Unique> {
        let Some(at) = named_dim(dim, self.ndim())? else {
            return Err(Error::index(format_args!(
                "Dimension specified as {dim} but tensor has no dimensions"
            )));
        };
        let n = self.shape()[at];
        match (n, self.shape().iter().filter(|&&size| size == 0).count()) {
            (0, 2..) => {
                return Err(Error::runtime(
                    "Number of zero sized dimensions is more than one, so unique cannot be applied ",
                ));
            }
            (1.., 1..) => {
                return Err(Error::runtime(
                    "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied",
                ));
            }
            _ => {}
        }
        let slices = self.movedim(&[dim], &[0])?.contiguous()?;
        let len = self.numel().checked_div(n).unwrap_or(0);
        let mut order: Vec<i64> = list(n, self.shape_value())?;
        order.extend(0..n as i64);
        let mut starts: Vec<i64> = list(n + 1, self.shape_value())?;
        access::read("unique", [&slices], |[elements]| {
            with_ordered!(self.dtype(), T => {
                let elements: &[<T as Element>::Stored] = cast_slice(elements);
                let slice = |index: i64| &elements[index as usize * len..][..len];
                let keys = |index: i64| slice(index).iter().map(|&element| T::key(element));
                let mut visits = Visits::default();
                order.sort_by(|&a, &b| {
                    visits.add(len);
                    keys(a).cmp(keys(b))
                });
                let mut differ = |a: i64, b: i64| {
                    visits.add(len);
                    slice(a).iter().zip(slice(b)).any(|(&a, &b)| T::load(a) != T::load(b))
                };
                let begins = |&at: &usize| at == 0 || differ(order[at - 1], order[at]);
                starts.extend((0..n).filter(begins).map(|at| at as i64));
                Ok(())
            }, Err(Error::not_implemented("unique_dim", self.dtype())))
        })?;
        let order = Tensor::build(DType::I64, Shape::new(&[n])?, |bytes| {
            cast_slice_mut::<u8, i64>(bytes).copy_from_slice(&order);
            Ok(())
        })?;
        Unique::new(&order, starts, &Shape::new(&[n])?, |indices| self.index_select(dim, indices))
    }
}

impl Results {
    pub(super) fn unique_values(tensor: &Tensor) -> Result<Results> {
        match tensor.dtype().category() {
            Category::Complex => Err(Error::not_implemented("unique", tensor.dtype())),
            // Beside each value there are two indices and a count.
            _ => Ok(Results::at_most(tensor.numel(), 4 * DType::I64.item_size())),
        }
    }
}
