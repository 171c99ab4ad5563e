//! Owns the reductions that pass over NaN, in terms of rows of the table.

use zerostride_ops::Category;
use zerostride_shape::ErrorClass;

use super::{Dims, Expr};
use crate::{Error, Result, Tensor};

impl Expr {
    /// The sum of the elements that are not NaN: `torch.nansum`.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let x = tensor![[1.0, f32::NAN], [2.0, 3.0]];
    /// assert_eq!(Expr::from(&x).nansum(1).eval()?.to_vec::<f32>()?, [1.0, 5.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn nansum(&self, dims: impl Into<Dims>) -> Expr {
        match self.dtype().map(|dtype| dtype.category()) {
            Ok(Category::Float) => self.masked_fill(self.isnan(), 0.0).sum(dims),
            Ok(Category::Complex) => {
                let message = "nansum on CPU does not support complex inputs".to_owned();
                self.failed("nansum", Error::Argument { class: ErrorClass::NotImplemented, message })
            }
            _ => self.sum(dims),
        }
    }

    /// The mean of the elements that are not NaN: `torch.nanmean`.
    ///
    /// ```
    /// use zerostride::{Expr, tensor};
    /// let x = tensor![[1.0, f32::NAN], [2.0, 3.0]];
    /// assert_eq!(Expr::from(&x).nanmean(..).eval()?.item::<f32>()?, 2.0);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn nanmean(&self, dims: impl Into<Dims>) -> Expr {
        if let Ok(dtype) = self.dtype()
            && dtype.category() <= Category::Int
        {
            let message = format!(
                "nanmean(): expected input to have floating point or complex dtype but got {}",
                dtype.scalar_name()
            );
            return self.failed("nanmean", Error::Argument { class: ErrorClass::NotImplemented, message });
        }
        let dims = dims.into();
        self.nansum(dims.clone()) / self.isnan().logical_not().sum(dims)
    }
}

impl Tensor {
    /// The sum of the elements that are not NaN: `torch.nansum`.
    ///
    /// # Errors
    /// A dimension does not exist, the dtype is complex, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![1.0, f32::NAN, 2.0].nansum(..)?.item::<f32>()?, 3.0);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn nansum(&self, dims: impl Into<Dims>) -> Result<Tensor> {
        Expr::current(self).nansum(dims).eval()
    }

    /// The mean of the elements that are not NaN: `torch.nanmean`.
    ///
    /// # Errors
    /// A dimension does not exist, the dtype is no float, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![1.0, f32::NAN, 2.0].nanmean(..)?.item::<f32>()?, 1.5);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn nanmean(&self, dims: impl Into<Dims>) -> Result<Tensor> {
        Expr::current(self).nanmean(dims).eval()
    }
}
