//! Owns order statistics: medians, quantiles, the k-th smallest element, and the extremes with their indices.
//! It does not know how elements are sorted (`sort.rs`).

use std::str::FromStr;

use zerostride_ops::{Category, DType};
use zerostride_shape::ErrorClass;

use super::named_dim;
use super::sort::{Rank, Wanted};
use crate::eager::evaluate::eval_all;
use crate::{Dims, Error, Expr, Result, Tensor, keepdim};

/// The value of a quantile that falls between two elements.
///
/// ```
/// use zerostride::Interpolation;
/// assert_eq!("lower".parse::<Interpolation>()?, Interpolation::Lower);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// Interpolated linearly.
    #[default]
    Linear,
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// Their mean.
    Midpoint,
    /// The nearer one; in the middle the one of even rank.
    Nearest,
}

impl FromStr for Interpolation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Interpolation> {
        Ok(match name {
            "linear" => Interpolation::Linear,
            "lower" => Interpolation::Lower,
            "higher" => Interpolation::Higher,
            "midpoint" => Interpolation::Midpoint,
            "nearest" => Interpolation::Nearest,
            other => {
                return Err(Error::runtime(format_args!(
                    "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {other}"
                )));
            }
        })
    }
}

/// Order statistics.
impl Tensor {
    /// The median of all elements, of an even number the lower one of the two in the middle; NaN if one is
    /// there: `torch.median`.
    ///
    /// # Errors
    /// The dtype is bool or complex, there are no elements and no NaN to say so, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[3.0, 1.0], [2.0, 4.0]].median()?.item::<f32>()?, 2.0);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn median(&self) -> Result<Tensor> {
        self.middle(Rank::Median)
    }

    /// As [`Tensor::median`], of the elements that are not NaN: `torch.nanmedian`.
    ///
    /// # Errors
    /// As [`Tensor::median`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![3.0, f32::NAN, 2.0, 4.0].nanmedian()?.item::<f32>()?, 3.0);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn nanmedian(&self) -> Result<Tensor> {
        self.middle(Rank::NanMedian)
    }

    /// The medians along a dimension, and their indices.
    ///
    /// # Errors
    /// The dimension does not exist or has no elements, the dtype is bool or complex, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (medians, indices) = tensor![[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]].median_along(1, false)?;
    /// assert_eq!(medians.to_vec::<f32>()?, [2.0, 5.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [2, 2]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn median_along(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
        self.ranked("median", "median_out", Rank::Median, dim, keepdim)
    }

    /// As [`Tensor::median_along`], of the elements that are not NaN.
    ///
    /// # Errors
    /// As [`Tensor::median_along`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (medians, _) = tensor![[f32::NAN, 1.0, 2.0]].nanmedian_along(1, false)?;
    /// assert_eq!(medians.to_vec::<f32>()?, [1.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn nanmedian_along(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
        self.ranked("median", "median_out", Rank::NanMedian, dim, keepdim)
    }

    /// The `k`-th smallest elements along a dimension, counted from 1, and their indices:
    /// `torch.kthvalue`. NaN counts as the largest.
    ///
    /// # Errors
    /// As [`Tensor::median_along`]; there are fewer than `k` elements.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (second, index) = tensor![30, 10, 20].kthvalue(2, 0, false)?;
    /// assert_eq!((second.item::<i64>()?, index.item::<i64>()?), (20, 2));
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn kthvalue(&self, k: usize, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
        self.ranked("kthvalue", "kthvalue_cpu", Rank::At(k.wrapping_sub(1)), dim, keepdim)
    }

    /// The largest elements along a dimension, and the index of the first of each: `torch.max(dim)`. NaN
    /// counts as the largest. [`Tensor::amax`] gives the elements alone, over any dimensions, and
    /// [`Tensor::maximum`] the larger of two.
    ///
    /// # Errors
    /// The dimension does not exist or has no elements, the dtype is complex, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (values, indices) = tensor![[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]].max(1, false)?;
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 6.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn max(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
        self.extreme("max", Expr::max_along, Expr::argmax, dim, keepdim)
    }

    /// The smallest elements along a dimension, and the index of the first of each: `torch.min(dim)`. NaN
    /// counts as the smallest.
    ///
    /// # Errors
    /// As [`Tensor::max`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// let (values, indices) = tensor![[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]].min(0, true)?;
    /// assert_eq!((values.shape(), values.to_vec::<f32>()?), (&[1, 3][..], vec![3.0, 1.0, 2.0]));
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0, 0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn min(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
        self.extreme("min", Expr::min_along, Expr::argmin, dim, keepdim)
    }

    /// The extremes along a dimension and their indices, computed in one pass.
    fn extreme(
        &self,
        name: &str,
        values: fn(&Expr, Dims) -> Expr,
        indices: fn(&Expr, Dims) -> Expr,
        dim: isize,
        keeps: bool,
    ) -> Result<(Tensor, Tensor)> {
        let place = named_dim(dim, self.ndim())?;
        if self.dtype().category() == Category::Complex {
            let message = format!("{name}(): does not support complex input");
            return Err(Error::Argument { class: ErrorClass::Type, message });
        }
        if let Some(place) = place.filter(|&place| self.shape().get(place) == Some(&0)) {
            let message = format!("{name}(): Expected reduction dim {place} to have non-zero size.");
            return Err(Error::Argument { class: ErrorClass::Index, message });
        }
        let x = Expr::current(self);
        // Bools have no index of the largest of their own.
        let ranked = if self.dtype() == DType::Bool { x.to_dtype(DType::U8) } else { x.clone() };
        let dims = || if keeps { keepdim(dim) } else { Dims::from(dim) };
        let mut both = eval_all(&[values(&x, dims()), indices(&ranked, dims())])?.into_iter();
        let mut next = || both.next().expect("two expressions have two results");
        Ok((next(), next()))
    }

    /// The median of all elements.
    fn middle(&self, rank: Rank) -> Result<Tensor> {
        if self.numel() == 0 && self.dtype().category() == Category::Float {
            return Tensor::full(&[], f64::NAN, self.dtype());
        }
        self.reshape(&[-1])?.ranked("median", "median_cpu", rank, 0, false).map(|(median, _)| median)
    }

    /// The elements of a rank along a dimension and their indices, for a function whose kernel PyTorch calls
    /// `kernel`.
    fn ranked(
        &self,
        name: &str,
        kernel: &str,
        rank: Rank,
        dim: isize,
        keeps: bool,
    ) -> Result<(Tensor, Tensor)> {
        let dim = named_dim(dim, self.ndim())?.unwrap_or(0);
        let n = self.shape().get(dim).copied().unwrap_or(1);
        if n == 0 {
            let message = format!("{name}(): Expected reduction dim {dim} to have non-zero size.");
            return Err(Error::Argument { class: ErrorClass::Index, message });
        }
        if matches!(rank, Rank::At(k) if k >= n) {
            return Err(Error::runtime(format_args!(
                "{name}(): selected number k out of range for dimension {dim}"
            )));
        }
        if matches!(self.dtype().category(), Category::Bool | Category::Complex) {
            return Err(Error::not_implemented(kernel, self.dtype()));
        }
        let (found, indices) = self.ordered_along((self.ndim() > 0).then_some(dim), Wanted::One(rank))?;
        let kept = |tensor: Tensor| {
            let tensor = tensor.contiguous()?;
            if keeps || self.ndim() == 0 { Ok(tensor) } else { tensor.squeeze_dims(&[dim as isize]) }
        };
        Ok((kept(found)?, kept(indices)?))
    }

    /// The quantiles `q` of all elements, or of those along a dimension: `torch.quantile`. Of elements with a
    /// NaN it is NaN.
    ///
    /// Shapes: `q` of none or one dimension, which comes first in the result.
    ///
    /// # Errors
    /// Another dtype than f32 or f64, or one that is not `q`'s; no elements; a `q` outside of 0 to 1; no such
    /// dimension; no memory.
    ///
    /// ```
    /// use zerostride::{Interpolation, tensor};
    /// let x = tensor![[0.0, 10.0], [20.0, 30.0]];
    /// let quartiles = x.quantile(&tensor![0.25, 0.5, 0.75], None, false, Interpolation::Linear)?;
    /// assert_eq!(quartiles.to_vec::<f32>()?, [7.5, 15.0, 22.5]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn quantile(
        &self,
        q: &Tensor,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: Interpolation,
    ) -> Result<Tensor> {
        self.quantiles(q, dim, keepdim, interpolation, false)
    }

    /// As [`Tensor::quantile`], of the elements that are not NaN: `torch.nanquantile`.
    ///
    /// # Errors
    /// As [`Tensor::quantile`].
    ///
    /// ```
    /// use zerostride::{Interpolation, tensor};
    /// let x = tensor![1.0, f32::NAN, 3.0];
    /// let median = x.nanquantile(&tensor!(0.5), None, false, Interpolation::Linear)?;
    /// assert_eq!(median.item::<f32>()?, 2.0);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn nanquantile(
        &self,
        q: &Tensor,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: Interpolation,
    ) -> Result<Tensor> {
        self.quantiles(q, dim, keepdim, interpolation, true)
    }

    fn quantiles(
        &self,
        q: &Tensor,
        dim: Option<isize>,
        keeps: bool,
        interpolation: Interpolation,
        passes_nan: bool,
    ) -> Result<Tensor> {
        self.check_quantiles(q)?;
        let dim = dim.map(|dim| named_dim(dim, self.ndim())).transpose()?.flatten();
        let rows = match dim {
            Some(dim) => self.movedim(&[dim as isize], &[-1])?,
            None => self.reshape(&[-1])?,
        };
        let (sorted, _) = rows.sort(-1, false)?;
        let (elements, is_single) = (Expr::current(&sorted), q.ndim() == 0);
        // In f64: f32 would round a tenth of ten elements to a whole rank.
        let q = Expr::current(&q.reshape(&[-1])?).to_dtype(DType::F64);
        let last = *sorted.shape().last().expect("rows have a dimension") as i64 - 1;
        let nan = elements.isnan();
        // Real numbers: the fraction says how far a quantile lies between two sorted elements.
        let ranks = if passes_nan {
            let ranks = q * (nan.logical_not().sum(keepdim(-1)) - 1);
            Expr::from(0.0).where_(ranks.lt(0), &ranks)
        } else {
            (q * last).masked_fill(nan.any(keepdim(-1)), last)
        };
        let ranks = match interpolation {
            Interpolation::Lower => ranks.floor(),
            Interpolation::Higher => ranks.ceil(),
            Interpolation::Nearest => ranks.round(),
            Interpolation::Linear | Interpolation::Midpoint => ranks,
        };
        let at = |ranks: Expr| sorted.gather(-1, &ranks.to_dtype(DType::I64).eval()?);
        let below = ranks.floor();
        let values = match interpolation {
            Interpolation::Linear | Interpolation::Midpoint => {
                let weight = match interpolation {
                    Interpolation::Midpoint => 0.5.into(),
                    _ => &ranks - &below,
                };
                let (low, high) = (at(below)?, at(ranks.ceil())?);
                Expr::current(&low).lerp(&high, weight.to_dtype(self.dtype())).eval()?
            }
            _ => at(below)?,
        };
        // The quantiles come first, and the dimension stays where it was, with size 1.
        let values = values.movedim(&[-1], &[0])?;
        let values = match (keeps, dim) {
            (false, _) => values,
            (true, Some(dim)) => values.unsqueeze(dim as isize + 1)?,
            (true, None) => {
                values.reshape(&[&[values.shape()[0] as isize], &vec![1; self.ndim()][..]].concat())?
            }
        };
        if is_single { values.select(0, 0) } else { Ok(values) }
    }

    fn check_quantiles(&self, q: &Tensor) -> Result<()> {
        if !matches!(self.dtype(), DType::F32 | DType::F64) {
            return Err(Error::runtime("quantile() input tensor must be either float or double dtype"));
        }
        if self.numel() == 0 {
            return Err(Error::runtime("quantile() input tensor must be non-empty"));
        }
        if q.ndim() > 1 {
            return Err(Error::runtime("quantile() q must be a scalar or 1D tensor"));
        }
        if q.dtype() != self.dtype() {
            return Err(Error::runtime("quantile() q tensor must be same dtype as the input tensor"));
        }
        let within = Expr::current(q).ge(0) & Expr::current(q).le(1);
        if !within.all(..).eval()?.item::<bool>()? {
            return Err(Error::runtime("quantile() q values must be in the range [0, 1]"));
        }
        Ok(())
    }
}
