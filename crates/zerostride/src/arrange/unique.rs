//! Owns the set of a tensor's values: each once, in rising order, with its places and its count.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{Category, DType, Element, with_type};
use zerostride_shape::{ErrorClass, Shape};

use super::sort::Wanted;
use super::{access, list};
use crate::interrupt::{self, STRIDE};
use crate::{Error, Result, Tensor};

/// What [`Tensor::unique`] finds.
#[derive(Clone, Debug)]
pub struct Unique {
    /// Every value once, in rising order.
    pub values: Tensor,
    /// Where each value stands first, counted row-major.
    pub indices: Tensor,
    /// For each element of the tensor the place of its value in `values`; of the tensor's shape.
    pub inverse: Tensor,
    /// How often each value occurs.
    pub counts: Tensor,
}

impl Tensor {
    /// Every value once, in rising order, and where and how often it occurs: `torch.unique` and the array API's
    /// `unique_all`. No NaN is equal to another; 0 and -0 are.
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
        if self.dtype().category() == Category::Complex {
            return Err(Error::Argument {
                class: ErrorClass::NotImplemented,
                message: format!("\"unique\" not implemented for '{}'", self.dtype().scalar_name()),
            });
        }
        let (row, order) =
            self.reshape(&[-1])?.ordered(Wanted::First { count: self.numel(), descending: false })?;
        // Where in the order each value begins.
        let mut starts: Vec<usize> = list(self.numel() + 1, self.shape_value())?;
        access::read([&row, &order], |[elements, order]| {
            let order: &[i64] = cast_slice(order);
            with_type!(row.dtype(), T => {
                let elements: &[<T as Element>::Stored] = cast_slice(elements);
                let value = |at: usize| T::load(elements[order[at] as usize]);
                for first in (0..order.len()).step_by(STRIDE) {
                    interrupt::check();
                    let stride = first..order.len().min(first + STRIDE);
                    starts.extend(stride.filter(|&at| at == 0 || value(at) != value(at - 1)));
                }
            });
            Ok(())
        })?;
        let count = starts.len();
        starts.push(self.numel());
        let shape = || Shape::new(&[count]);
        let first = |place: &dyn Fn(usize) -> i64| {
            Tensor::build(DType::I64, shape()?, |bytes| {
                cast_slice_mut::<u8, i64>(bytes).iter_mut().enumerate().for_each(|(at, to)| *to = place(at));
                Ok(())
            })
        };
        let begins = first(&|at| starts[at] as i64)?;
        let indices = order.take(&begins)?;
        let inverse = Tensor::build(DType::I64, self.shape_value().clone(), |bytes| {
            let inverse: &mut [i64] = cast_slice_mut(bytes);
            access::read([&order], |[order]| {
                let order: &[i64] = cast_slice(order);
                for (value, bounds) in starts.windows(2).enumerate() {
                    interrupt::check();
                    for &at in &order[bounds[0]..bounds[1]] {
                        inverse[at as usize] = value as i64;
                    }
                }
                Ok(())
            })
        })?;
        let counts = first(&|at| (starts[at + 1] - starts[at]) as i64)?;
        Ok(Unique { values: row.take(&indices)?, indices, inverse, counts })
    }
}
