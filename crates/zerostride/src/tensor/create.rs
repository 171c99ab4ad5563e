//! Owns the functions that create tensors. It does not know files (`io`).

use bytemuck::cast_slice_mut;
use zerostride_kernels::{pack_dense, store_scalar};
use zerostride_ops::{Category, Complex32, Complex64, DType, Element, Scalar};
use zerostride_shape::{Layout, Shape, checked_bytes};

use super::Tensor;
use crate::error::printed;
use crate::interrupt::{self, STRIDE};
use crate::memory::Fresh;
use crate::{Error, Result};

impl Tensor {
    /// A row-major tensor. `fill` writes its bytes, which have any values at first, in the dtype's stored
    /// form.
    pub(crate) fn build(
        dtype: DType,
        shape: Shape,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Tensor> {
        Tensor::build_in(Fresh::arbitrary, dtype, shape, fill)
    }

    /// A placeholder without elements, which plans use for a tensor that is not in memory. It cannot be read.
    pub(crate) fn absent(dtype: DType, shape: Shape) -> Result<Tensor> {
        let storage =
            Fresh::arbitrary(0).ok_or_else(|| Error::OutOfMemory { bytes: 0, shape: shape.clone() })?;
        Ok(Tensor { storage: storage.share(), layout: Layout::contiguous(shape), dtype })
    }

    /// Whether this is such a placeholder.
    pub(crate) fn is_absent(&self) -> bool {
        self.numel() > 0 && self.storage.len() == 0
    }

    /// Like `build`, with bytes that are zero at first.
    pub(crate) fn build_zeroed(
        dtype: DType,
        shape: Shape,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Tensor> {
        Tensor::build_in(Fresh::zeroed, dtype, shape, fill)
    }

    fn build_in(
        allocate: fn(usize) -> Option<Fresh>,
        dtype: DType,
        shape: Shape,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Tensor> {
        let bytes = checked_bytes(&shape, dtype.item_size())?;
        let mut storage =
            allocate(bytes).ok_or_else(|| Error::OutOfMemory { bytes, shape: shape.clone() })?;
        fill(storage.bytes_mut())?;
        Ok(Tensor::new(storage.share(), Layout::contiguous(shape), dtype))
    }

    fn build_from<T: Element>(
        len: usize,
        values: impl IntoIterator<Item = T>,
        shape: &[usize],
    ) -> Result<Tensor> {
        let shape = Shape::new(shape)?;
        if shape.numel() != len {
            return Err(Error::Length { shape, len });
        }
        Tensor::build(T::DTYPE, shape, |bytes| {
            let mut values = values.into_iter();
            for stored in cast_slice_mut::<u8, T::Stored>(bytes).chunks_mut(STRIDE) {
                interrupt::check();
                stored.iter_mut().zip(&mut values).for_each(|(stored, value)| *stored = value.store());
            }
            Ok(())
        })
    }

    /// A tensor of the slice's elements, in row-major order.
    ///
    /// # Errors
    /// The slice's length is not the shape's number of elements, or there is no memory for the copy.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(x.to_string(), "tensor([[1., 2.],\n        [3., 4.]])");
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn from_slice<T: Element>(values: &[T], shape: &[usize]) -> Result<Tensor> {
        Tensor::build_from(values.len(), values.iter().copied(), shape)
    }

    /// A tensor of the vector's elements, in row-major order.
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    ///
    /// ```
    /// use zerostride::Tensor;
    /// assert_eq!(Tensor::from_vec(vec![1u8, 2, 3], &[3])?.numel(), 3);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn from_vec<T: Element>(values: Vec<T>, shape: &[usize]) -> Result<Tensor> {
        Tensor::from_slice(&values, shape)
    }

    /// A tensor of zero dimensions that holds one number, with the dtype PyTorch would give it.
    ///
    /// ```
    /// use zerostride::{DType, Tensor};
    /// assert_eq!(Tensor::scalar(0.5)?.dtype(), DType::F32);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no memory.
    pub fn scalar(value: impl Into<Scalar>) -> Result<Tensor> {
        let value = value.into();
        Tensor::full(&[], value, value.dtype())
    }

    /// A tensor whose elements are all one number, converted to the dtype.
    ///
    /// # Errors
    /// The dtype does not [hold](Scalar::held_by) the number, the shape is too large, or there is no memory.
    ///
    /// ```
    /// use zerostride::{DType, Tensor};
    /// assert_eq!(Tensor::full(&[2], 7, DType::U8)?.to_vec::<u8>()?, [7, 7]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn full(shape: &[usize], value: impl Into<Scalar>, dtype: DType) -> Result<Tensor> {
        let mut element = [0; 16];
        let element = &mut element[..dtype.item_size()];
        store_scalar(value.into().held_by(dtype)?, dtype, element);
        let shape = Shape::new(shape)?;
        if element.iter().all(|&byte| byte == 0) {
            return Tensor::build_zeroed(dtype, shape, |_| Ok(()));
        }
        Tensor::build(dtype, shape, |bytes| {
            for bytes in bytes.chunks_mut(STRIDE * element.len()) {
                interrupt::check();
                pack_dense(element.len(), &[(bytes.len() / element.len(), 0)], element, 0, bytes);
            }
            Ok(())
        })
    }

    /// A tensor of zeros, of the default dtype f32.
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn zeros(shape: &[usize]) -> Result<Tensor> {
        Tensor::full(shape, 0.0, DType::DEFAULT_FLOAT)
    }

    /// A tensor of ones, of the default dtype f32.
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn ones(shape: &[usize]) -> Result<Tensor> {
        Tensor::full(shape, 1.0, DType::DEFAULT_FLOAT)
    }

    /// The numbers from `start` up to but not including `end`, `step` apart, as `torch.arange`: i64 if all
    /// three are integers, else f32.
    ///
    /// # Errors
    /// `step` is zero, or leads away from `end`, or there are too many numbers.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// assert_eq!(Tensor::arange(1, 8, 3)?.to_vec::<i64>()?, [1, 4, 7]);
    /// assert_eq!(Tensor::arange(0, 1, 0.5)?.to_vec::<f32>()?, [0.0, 0.5]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn arange(
        start: impl Into<Scalar>,
        end: impl Into<Scalar>,
        step: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let (start, end, step) = (start.into(), end.into(), step.into());
        let whole = [start, end, step].iter().all(|number| number.category() <= Category::Int);
        Tensor::arange_as(start, end, step, if whole { DType::I64 } else { DType::DEFAULT_FLOAT })
    }

    /// [`Tensor::arange`] in a dtype. For integer dtypes `step` loses its fraction; f16 and bf16 are rounded
    /// once.
    ///
    /// # Errors
    /// As [`Tensor::arange`], and for bool and complex dtypes and numbers that the dtype does not hold.
    ///
    /// ```
    /// use zerostride::{DType, Tensor};
    /// assert_eq!(Tensor::arange_as(0, 1, 0.25, DType::F64)?.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn arange_as(
        start: impl Into<Scalar>,
        end: impl Into<Scalar>,
        step: impl Into<Scalar>,
        dtype: DType,
    ) -> Result<Tensor> {
        let (start, end, step) = (start.into(), end.into(), step.into());
        if !matches!(dtype.category(), Category::Int | Category::Float) {
            return Err(Error::not_implemented("arange_cpu", dtype));
        }
        let len = count_steps(start, end, step)?;
        let counted = match dtype {
            DType::F16 | DType::BF16 => DType::F32,
            DType::F32 | DType::F64 => DType::F64,
            _ => DType::I64,
        };
        check_held(&[start, end, step], counted)?;
        if dtype.category() == Category::Int {
            // i64 gives the same bits as every other integer dtype, modulo 2^64.
            let (start, step) = (whole(start) as i64, whole(step) as i64);
            let number = |i: usize| start.wrapping_add(step.wrapping_mul(i as i64));
            return Tensor::build_from(len, (0..len).map(number), &[len])?.to_dtype(dtype);
        }
        let (start, step) = (start.to_f64(), step.to_f64());
        let number = |i: usize| start + i as f64 * step;
        match dtype {
            DType::F32 => Tensor::build_from(len, (0..len).map(|i| number(i) as f32), &[len]),
            _ => Tensor::build_from(len, (0..len).map(number), &[len])?.to_dtype(dtype),
        }
    }

    /// `steps` numbers evenly from `start` to `end`, both included, as f32.
    ///
    /// Source: PyTorch's `linspace` kernel, which counts from the nearer end.
    ///
    /// # Errors
    /// There is no memory.
    ///
    /// ```
    /// use zerostride::Tensor;
    /// assert_eq!(Tensor::linspace(0.0, 1.0, 5)?.to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn linspace(start: f64, end: f64, steps: usize) -> Result<Tensor> {
        Tensor::linspace_as(start, end, steps, DType::F32)
    }

    /// [`Tensor::linspace`] in a dtype: integers lose their fraction, f16 and bf16 are rounded once, real and
    /// imaginary parts are computed separately.
    ///
    /// # Errors
    /// The dtype is bool, or does not hold an end, or there is no memory.
    ///
    /// ```
    /// use zerostride::{DType, Tensor};
    /// assert_eq!(Tensor::linspace_as(0, 10, 5, DType::I64)?.to_vec::<i64>()?, [0, 2, 5, 7, 10]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn linspace_as(
        start: impl Into<Scalar>,
        end: impl Into<Scalar>,
        steps: usize,
        dtype: DType,
    ) -> Result<Tensor> {
        let ends = [start.into(), end.into()];
        if dtype.category() < Category::Complex && ends.iter().any(|end| end.category() == Category::Complex)
        {
            return Err(Error::runtime(format_args!(
                "torch.linspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype {}",
                dtype.scalar_name()
            )));
        }
        if dtype.category() == Category::Bool {
            return Err(Error::not_implemented("linspace_cpu", dtype));
        }
        check_held(&ends, dtype)?;
        let [start, end] = ends.map(complex);
        let (re, im) = ((start.re, end.re), (start.im, end.im));
        match dtype {
            DType::F32 => Tensor::build_from(steps, (0..steps).map(evenly32(re, steps)), &[steps]),
            DType::C64 => {
                let (re, im) = (evenly32(re, steps), evenly32(im, steps));
                Tensor::build_from(steps, (0..steps).map(|i| Complex32::new(re(i), im(i))), &[steps])
            }
            DType::C128 => {
                let (re, im) = (evenly64(re, steps), evenly64(im, steps));
                Tensor::build_from(steps, (0..steps).map(|i| Complex64::new(re(i), im(i))), &[steps])
            }
            _ => {
                let whole = dtype.category() == Category::Int;
                // A negative number wraps around in an unsigned dtype.
                let (least, most) = dtype.int_range();
                let wrapped = |end: f64| if least == 0 && end < 0.0 { end + (most + 1) as f64 } else { end };
                let ends = if whole { (wrapped(re.0.trunc()), wrapped(re.1.trunc())) } else { re };
                Tensor::build_from(steps, (0..steps).map(evenly64(ends, steps)), &[steps])?.to_dtype(dtype)
            }
        }
    }

    /// The identity matrix of `n` rows, as f32.
    ///
    /// # Errors
    /// The shape is too large, or there is no memory.
    pub fn eye(n: usize) -> Result<Tensor> {
        Tensor::build_zeroed(DType::F32, Shape::new(&[n, n])?, |bytes| {
            for (at, one) in cast_slice_mut::<u8, f32>(bytes).iter_mut().step_by(n + 1).enumerate() {
                if at.is_multiple_of(STRIDE) {
                    interrupt::check();
                }
                *one = 1.0;
            }
            Ok(())
        })
    }
}

/// How many numbers there are from `start` up to `end`.
fn count_steps(start: Scalar, end: Scalar, step: Scalar) -> Result<usize> {
    check_held(&[start, end, step], DType::F64)?;
    let away = || Error::runtime("upper bound and lower bound inconsistent with step sign");
    if step.to_f64() == 0.0 {
        return Err(Error::runtime("step must be nonzero"));
    }
    if [start, end, step].iter().all(|number| number.category() <= Category::Int) {
        let (start, end, step) = (whole(start), whole(end), whole(step));
        if (end - start).signum() * step.signum() < 0 {
            return Err(away());
        }
        return usize::try_from((end - start).unsigned_abs().div_ceil(step.unsigned_abs()))
            .map_err(|_| away());
    }
    let (start, end, step) = (start.to_f64(), end.to_f64(), step.to_f64());
    if !(start.is_finite() && end.is_finite()) {
        let [start, end] = [start, end].map(printed);
        return Err(Error::runtime(format_args!("unsupported range: {start} -> {end}")));
    }
    if !step.is_finite() {
        return Err(Error::runtime(format_args!("step must be finite but got {}", printed(step))));
    }
    if start != end && (start < end) != (step > 0.0) {
        return Err(away());
    }
    let len = ((end - start) / step).ceil();
    if len < 9.0e18 { Ok(len as usize) } else { Err(Error::runtime("invalid size, possible overflow?")) }
}

fn check_held(numbers: &[Scalar], dtype: DType) -> Result<()> {
    numbers.iter().try_for_each(|number| number.held_by(dtype).map(|_| ())).map_err(Error::from)
}

/// The number without its fraction.
fn whole(number: Scalar) -> i128 {
    match number {
        Scalar::Bool(value) => value.into(),
        Scalar::Int(value) => value.into(),
        other => other.to_f64() as i128,
    }
}

fn complex(number: Scalar) -> Complex64 {
    match number {
        Scalar::Complex(value) => value,
        other => other.to_f64().into(),
    }
}

/// The `i`-th of `steps` evenly spaced numbers, computed from the nearer end.
macro_rules! evenly {
    ($name:ident $float:ty) => {
        fn $name((start, end): (f64, f64), steps: usize) -> impl Fn(usize) -> $float {
            let (start, end) = (start as $float, end as $float);
            let step = (end - start) / steps.saturating_sub(1).max(1) as $float;
            move |i| match steps {
                1 => start,
                _ if i < steps / 2 => start + step * i as $float,
                _ => end - step * (steps - 1 - i) as $float,
            }
        }
    };
}

evenly!(evenly32 f32);
evenly!(evenly64 f64);
