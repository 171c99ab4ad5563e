//! Owns cumulative sums and products along a dimension, and differences of neighbours.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::{Category, Complex32, Complex64, DType, Element};
use zerostride_shape::Shape;

use super::join::JoinedParts;
use super::{Results, access, named_dim};
use crate::interrupt::{STRIDE, Visits};
use crate::threads::parts;
use crate::{Error, Result, Tensor, cat};

/// The fewest elements of a thread's share.
const SHARE_SCANNED_ELEMENTS: usize = 1 << 14;

/// A dtype whose cumulative sums and products are accumulated in `Wide`: as in PyTorch a wider one, but for
/// f16 and bf16, which are accumulated in f32.
trait Total<Wide>: Element {
    const ZERO: Wide;
    const ONE: Wide;
    fn plus(total: Wide, value: Self::Stored) -> Wide;
    fn times(total: Wide, value: Self::Stored) -> Wide;
    fn narrow(total: Wide) -> Self::Stored;
}

macro_rules! totals {
    ($($type:ty as $wide:ty: $zero:expr, $one:expr, |$value:ident| $widen:expr, |$total:ident| $narrow:expr;)*) => {
        $(impl Total<$wide> for $type {
            const ZERO: $wide = $zero;
            const ONE: $wide = $one;
            #[inline(always)]
            fn plus(total: $wide, $value: $type) -> $wide { total + $widen }
            #[inline(always)]
            fn times(total: $wide, $value: $type) -> $wide { total * $widen }
            #[inline(always)]
            fn narrow($total: $wide) -> $type { $narrow }
        })*
    };
}

totals! {
    f32 as f32: 0.0, 1.0, |value| value, |total| total;
    f32 as f64: 0.0, 1.0, |value| f64::from(value), |total| total as f32;
    f64 as f64: 0.0, 1.0, |value| value, |total| total;
    Complex32 as Complex64: Complex64::new(0.0, 0.0), Complex64::new(1.0, 0.0),
        |value| Complex64::new(value.re.into(), value.im.into()), |total| Complex32::new(total.re as f32, total.im as f32);
    Complex64 as Complex64: Complex64::new(0.0, 0.0), Complex64::new(1.0, 0.0), |value| value, |total| total;
}

impl Total<i64> for i64 {
    const ZERO: i64 = 0;
    const ONE: i64 = 1;
    #[inline(always)]
    fn plus(total: i64, value: i64) -> i64 {
        total.wrapping_add(value)
    }
    #[inline(always)]
    fn times(total: i64, value: i64) -> i64 {
        total.wrapping_mul(value)
    }
    #[inline(always)]
    fn narrow(total: i64) -> i64 {
        total
    }
}

/// Cumulative sums or products along blocks of `n` rows of `inner` columns, one block after the other. Few
/// totals are held in registers.
fn scan_blocks<T: Total<Wide>, Wide: Copy>(
    blocks: (&[T::Stored], &mut [T::Stored]),
    (n, inner): (usize, usize),
    (start, step): (Wide, impl Fn(Wide, T::Stored) -> Wide),
) {
    match (n, inner) {
        (2, 1) => scan_short::<T, Wide, 2>(blocks, start, step),
        (3, 1) => scan_short::<T, Wide, 3>(blocks, start, step),
        (4, 1) => scan_short::<T, Wide, 4>(blocks, start, step),
        (_, 1) => scan_few::<T, Wide, 1>(blocks, n, start, step),
        (_, 2) => scan_few::<T, Wide, 2>(blocks, n, start, step),
        (_, 3) => scan_few::<T, Wide, 3>(blocks, n, start, step),
        (_, 4) => scan_few::<T, Wide, 4>(blocks, n, start, step),
        _ => scan_any::<T, Wide>(blocks, (n, inner), start, step),
    }
}

/// Blocks of `N` rows of one column.
fn scan_short<T: Total<Wide>, Wide: Copy, const N: usize>(
    (from, to): (&[T::Stored], &mut [T::Stored]),
    start: Wide,
    step: impl Fn(Wide, T::Stored) -> Wide,
) {
    let (from, to, mut visits) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0, Visits::default());
    for (to, from) in to.chunks_mut(STRIDE / N).zip(from.chunks(STRIDE / N)) {
        visits.add(from.len() * N);
        for (to, from) in to.iter_mut().zip(from) {
            let mut total = start;
            for (to, &value) in to.iter_mut().zip(from) {
                total = step(total, value);
                *to = T::narrow(total);
            }
        }
    }
}

/// Blocks of `n` rows of `K` columns.
fn scan_few<T: Total<Wide>, Wide: Copy, const K: usize>(
    (from, to): (&[T::Stored], &mut [T::Stored]),
    n: usize,
    start: Wide,
    step: impl Fn(Wide, T::Stored) -> Wide,
) {
    let (from, to, mut visits) = (from.as_chunks::<K>().0, to.as_chunks_mut::<K>().0, Visits::default());
    for (to, from) in to.chunks_exact_mut(n).zip(from.chunks_exact(n)) {
        let mut totals = [start; K];
        for (to, from) in to.chunks_mut(STRIDE / K).zip(from.chunks(STRIDE / K)) {
            visits.add(from.len() * K);
            for (to, from) in to.iter_mut().zip(from) {
                for ((to, &value), total) in to.iter_mut().zip(from).zip(&mut totals) {
                    *total = step(*total, value);
                    *to = T::narrow(*total);
                }
            }
        }
    }
}

/// Blocks of `n` rows of any number of columns.
fn scan_any<T: Total<Wide>, Wide: Copy>(
    (from, to): (&[T::Stored], &mut [T::Stored]),
    (n, inner): (usize, usize),
    start: Wide,
    step: impl Fn(Wide, T::Stored) -> Wide,
) {
    let (mut totals, mut visits) = (vec![start; inner], Visits::default());
    for (to, from) in to.chunks_exact_mut(n * inner).zip(from.chunks_exact(n * inner)) {
        totals.fill(start);
        for (to, from) in to.chunks_exact_mut(inner).zip(from.chunks_exact(inner)) {
            visits.add(inner);
            for ((to, &value), total) in to.iter_mut().zip(from).zip(&mut totals) {
                *total = step(*total, value);
                *to = T::narrow(*total);
            }
        }
    }
}

fn scan<T: Total<Wide>, Wide: Copy>(
    from: &[u8],
    to: &mut [u8],
    (n, inner): (usize, usize),
    product: bool,
) -> Result<()> {
    let block = n * inner;
    let part = block * SHARE_SCANNED_ELEMENTS.div_ceil(block);
    let (from, to): (&[T::Stored], &mut [T::Stored]) = (cast_slice(from), cast_slice_mut(to));
    let parts: Vec<_> = from.chunks(part).zip(to.chunks_mut(part)).collect();
    parts::for_each(
        parts.into_iter(),
        || (),
        |(), part| {
            if product {
                scan_blocks::<T, Wide>(part, (n, inner), (T::ONE, T::times));
            } else {
                scan_blocks::<T, Wide>(part, (n, inner), (T::ZERO, T::plus));
            }
            Ok(())
        },
    )
}

impl Tensor {
    /// The sums of the elements up to each one along a dimension, as `torch.cumsum`; integers and bools add
    /// up as i64.
    ///
    /// # Errors
    /// The dimension does not exist, or there is no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![[1, 2, 3], [4, 5, 6]].cumsum(1)?.to_vec::<i64>()?, [1, 3, 6, 4, 9, 15]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn cumsum(&self, dim: isize) -> Result<Tensor> {
        self.running(dim, false)
    }

    /// The products of the elements up to each one along a dimension, as `torch.cumprod`; integers and bools
    /// multiply as i64.
    ///
    /// # Errors
    /// As [`Tensor::cumsum`].
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![1, 2, 3, 4].cumprod(0)?.to_vec::<i64>()?, [1, 2, 6, 24]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn cumprod(&self, dim: isize) -> Result<Tensor> {
        self.running(dim, true)
    }

    fn running(&self, dim: isize, product: bool) -> Result<Tensor> {
        let dtype = Results::cumsum(self, dim)?.dtype();
        let dim = named_dim(dim, self.ndim())?;
        // f16 and bf16 are rounded once, at the end.
        let held = if dtype.is_half() { DType::F32 } else { dtype };
        let from = self.to_dtype(held)?.contiguous()?;
        let sizes = dim.map_or((1, 1), |dim| (self.shape()[dim], self.shape()[dim + 1..].iter().product()));
        let totals = Tensor::build(held, self.shape_value().clone(), |to| {
            if to.is_empty() {
                return Ok(());
            }
            access::read(if product { "cumprod" } else { "cumsum" }, [&from], |[from]| match dtype {
                DType::F16 | DType::BF16 => scan::<f32, f32>(from, to, sizes, product),
                DType::F32 => scan::<f32, f64>(from, to, sizes, product),
                DType::F64 => scan::<f64, f64>(from, to, sizes, product),
                DType::C64 => scan::<Complex32, Complex64>(from, to, sizes, product),
                DType::C128 => scan::<Complex64, Complex64>(from, to, sizes, product),
                _ => scan::<i64, i64>(from, to, sizes, product),
            })
        })?;
        totals.to_dtype(dtype)
    }

    /// The `n`-th differences of neighbours along a dimension, as `torch.diff`; of bools, whether they
    /// differ. `before` and `after` are joined to the tensor first.
    ///
    /// # Errors
    /// A tensor without dimensions, a dimension that does not exist, parts of other sizes, or no memory.
    ///
    /// ```
    /// use zerostride::tensor;
    /// assert_eq!(tensor![1, 4, 9, 16].diff(1, 0, None, None)?.to_vec::<i64>()?, [3, 5, 7]);
    /// assert_eq!(tensor![1, 4, 9].diff(1, 0, Some(&tensor![0]), None)?.to_vec::<i64>()?, [1, 3, 5]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn diff(
        &self,
        n: usize,
        dim: isize,
        before: Option<&Tensor>,
        after: Option<&Tensor>,
    ) -> Result<Tensor> {
        Results::diff(self, n, dim, before, after)?;
        let dim = named_dim(dim, self.ndim())?.unwrap_or(0);
        if n == 0 {
            // PyTorch does not join `before` and `after` either.
            return self.row_major();
        }
        let parts: Vec<&Tensor> = before.into_iter().chain([self]).chain(after).collect();
        let mut all = if parts.len() == 1 { self.alias() } else { cat(&parts, dim as isize)? };
        let (axis, times) = (dim as isize, n.min(all.shape()[dim]));
        if all.numel() == 0 {
            let rest = all.shape()[dim] - times;
            return all.narrow(axis, 0, rest as isize)?.row_major();
        }
        for _ in 0..times {
            let rest = all.shape()[dim] as isize - 1;
            let (later, earlier) = (all.narrow(axis, 1, rest)?, all.narrow(axis, 0, rest)?);
            all = match all.dtype() {
                DType::Bool => later.ne(&earlier)?,
                _ => later.sub(&earlier)?,
            };
        }
        Ok(all)
    }

    fn check_part(&self, part: &Tensor, dim: usize) -> Result<()> {
        if part.ndim() != self.ndim() {
            return Err(Error::runtime("diff expects prepend or append to be the same dimension as input"));
        }
        let differs = |other: &usize| *other != dim && part.shape()[*other] != self.shape()[*other];
        match (0..self.ndim()).find(differs) {
            Some(other) => Err(Error::runtime(format_args!(
                "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; input.size({other}) = {}, but got tensor.size({other}) = {}",
                self.shape()[other],
                part.shape()[other]
            ))),
            None => Ok(()),
        }
    }
}

impl Results {
    pub(super) fn cumsum(tensor: &Tensor, dim: isize) -> Result<Results> {
        named_dim(dim, tensor.ndim())?;
        let dtype = match tensor.dtype().category() {
            Category::Bool | Category::Int => DType::I64,
            Category::Float | Category::Complex => tensor.dtype(),
        };
        Ok(Results::one(tensor.shape_value().clone(), dtype))
    }

    pub(super) fn cumprod(tensor: &Tensor, dim: isize) -> Result<Results> {
        Results::cumsum(tensor, dim)
    }

    pub(super) fn diff(
        tensor: &Tensor,
        n: usize,
        dim: isize,
        before: Option<&Tensor>,
        after: Option<&Tensor>,
    ) -> Result<Results> {
        if tensor.ndim() == 0 {
            return Err(Error::runtime("diff expects input to be at least one-dimensional"));
        }
        let dim = named_dim(dim, tensor.ndim())?.unwrap_or(0);
        for part in before.iter().chain(&after) {
            tensor.check_part(part, dim)?;
        }
        if n == 0 {
            return Ok(Results::like(tensor));
        }
        let parts: Vec<&Tensor> = before.into_iter().chain([tensor]).chain(after).collect();
        let all = JoinedParts::cat(&parts, dim as isize)?.results()?;
        let mut sizes = all.shape().to_vec();
        sizes[dim] = sizes[dim].saturating_sub(n);
        Ok(Results::one(Shape::new(&sizes)?, all.dtype()))
    }
}
