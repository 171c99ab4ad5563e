//! Owns the conversion of tiles between dtypes, with PyTorch's answers for what does not fit. It does not
//! know which conversions an operation needs.

use bytemuck::{cast_slice, cast_slice_mut};
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use zerostride_ops::{DType, Element, Scalar, with_type};

/// A conversion: reads a contiguous tile of one dtype, writes one of another.
pub type CastKernel = fn(&[u8], &mut [u8]);

/// A type for every value on its way to another dtype.
///
/// Integers travel exactly as `i64` or `u64`, everything else as a complex f64.
#[derive(Clone, Copy)]
enum WideNumber {
    Int(i64),
    Unsigned(u64),
    Real(f64),
    Complex(Complex64),
}

/// A dtype's conversions to and from that type.
trait Convert: Element {
    fn to_number(self) -> WideNumber;
    fn from_number(number: WideNumber) -> Self;
}

/// As x86 converts: `i64::MIN` for NaN and what does not fit in 64 bits.
#[inline(always)]
fn to_i64(value: f64) -> i64 {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if (-BOUND..BOUND).contains(&value) { value as i64 } else { i64::MIN }
}

impl WideNumber {
    #[inline(always)]
    fn to_f64(self) -> f64 {
        match self {
            WideNumber::Int(value) => value as f64,
            WideNumber::Unsigned(value) => value as f64,
            WideNumber::Real(value) => value,
            WideNumber::Complex(value) => value.re,
        }
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
        match self {
            // One rounding: through f64 there would be two.
            WideNumber::Int(value) => value as f32,
            WideNumber::Unsigned(value) => value as f32,
            other => other.to_f64() as f32,
        }
    }

    /// The low 64 bits of the integer part.
    #[inline(always)]
    fn to_bits(self) -> u64 {
        match self {
            WideNumber::Int(value) => value as u64,
            WideNumber::Unsigned(value) => value,
            other => to_i64(other.to_f64()) as u64,
        }
    }
}

macro_rules! integers {
    ($variant:ident $wide:ty: $($type:ty)*) => {
        $(impl Convert for $type {
            #[inline(always)]
            fn to_number(self) -> WideNumber { WideNumber::$variant(self as $wide) }
            #[inline(always)]
            fn from_number(number: WideNumber) -> Self { number.to_bits() as $type }
        })*
    };
}

integers!(Unsigned u64: u8 u16 u32);
integers!(Int i64: i8 i16 i64);

impl Convert for u64 {
    #[inline(always)]
    fn to_number(self) -> WideNumber {
        WideNumber::Unsigned(self)
    }

    /// Floats reach the upper half of the range, `i64` does not.
    #[inline(always)]
    fn from_number(number: WideNumber) -> Self {
        match number {
            WideNumber::Int(_) | WideNumber::Unsigned(_) => number.to_bits(),
            other if other.to_f64() >= 9_223_372_036_854_775_808.0 => other.to_f64() as u64,
            other => other.to_bits(),
        }
    }
}

impl Convert for i32 {
    #[inline(always)]
    fn to_number(self) -> WideNumber {
        WideNumber::Int(i64::from(self))
    }

    /// As x86 converts to 32 bits: `i32::MIN` for NaN and what does not fit.
    #[inline(always)]
    fn from_number(number: WideNumber) -> Self {
        match number {
            WideNumber::Int(value) => value as i32,
            WideNumber::Unsigned(value) => value as i32,
            other => i32::try_from(to_i64(other.to_f64())).unwrap_or(i32::MIN),
        }
    }
}

impl Convert for bool {
    #[inline(always)]
    fn to_number(self) -> WideNumber {
        WideNumber::Int(i64::from(self))
    }

    #[inline(always)]
    fn from_number(number: WideNumber) -> Self {
        match number {
            WideNumber::Int(value) => value != 0,
            WideNumber::Unsigned(value) => value != 0,
            WideNumber::Real(value) => value != 0.0,
            WideNumber::Complex(value) => value != Complex64::ZERO,
        }
    }
}

macro_rules! floats {
    ($($type:ty: $to:expr, $from:expr;)*) => {
        $(impl Convert for $type {
            #[inline(always)]
            fn to_number(self) -> WideNumber { WideNumber::Real($to(self)) }
            #[inline(always)]
            fn from_number(number: WideNumber) -> Self { $from(number) }
        })*
    };
}

floats! {
    // By way of f32, which takes instructions where f64 takes branches.
    f16: |value: f16| value.to_f32().into(), |number: WideNumber| f16::from_f32(number.to_f32());
    bf16: |value: bf16| value.to_f32().into(), |number: WideNumber| bf16::from_f32(number.to_f32());
    f32: f64::from, WideNumber::to_f32;
    f64: std::convert::identity, WideNumber::to_f64;
}

impl Convert for Complex32 {
    #[inline(always)]
    fn to_number(self) -> WideNumber {
        WideNumber::Complex(Complex64::new(f64::from(self.re), f64::from(self.im)))
    }

    #[inline(always)]
    fn from_number(number: WideNumber) -> Self {
        match number {
            WideNumber::Complex(value) => Complex32::new(value.re as f32, value.im as f32),
            other => Complex32::new(other.to_f32(), 0.0),
        }
    }
}

impl Convert for Complex64 {
    #[inline(always)]
    fn to_number(self) -> WideNumber {
        WideNumber::Complex(self)
    }

    #[inline(always)]
    fn from_number(number: WideNumber) -> Self {
        match number {
            WideNumber::Complex(value) => value,
            other => Complex64::new(other.to_f64(), 0.0),
        }
    }
}

fn cast<A: Convert, R: Convert>(from: &[u8], to: &mut [u8]) {
    let from: &[A::Stored] = cast_slice(from);
    for (to, &from) in cast_slice_mut::<u8, R::Stored>(to).iter_mut().zip(from) {
        *to = R::from_number(A::load(from).to_number()).store();
    }
}

/// The conversion of a contiguous tile from one dtype to another.
///
/// Both slices hold the same number of elements, aligned to their type. Floats are truncated towards zero;
/// what does not fit wraps or saturates as on x86, where PyTorch's result depends on the processor. A complex
/// number loses its imaginary part.
///
/// ```
/// use zerostride_kernels::cast_kernel;
/// use zerostride_ops::DType;
///
/// let mut bits = [0];
/// cast_kernel(DType::I8, DType::Bool)(&[7], &mut bits);
/// assert_eq!(bits, [1]);
/// ```
pub fn cast_kernel(from: DType, to: DType) -> CastKernel {
    with_type!(from, A => with_type!(to, R => cast::<A, R>))
}

/// Writes a number as one element of a dtype; `out` is exactly that element's bytes.
pub fn store_scalar(scalar: Scalar, dtype: DType, out: &mut [u8]) {
    let number = match scalar {
        Scalar::Bool(value) => WideNumber::Int(i64::from(value)),
        Scalar::Int(value) => WideNumber::Int(value),
        Scalar::Float(value) => WideNumber::Real(value),
        Scalar::Complex(value) => WideNumber::Complex(value),
    };
    with_type!(dtype, T => out.copy_from_slice(bytemuck::bytes_of(&T::from_number(number).store())));
}

/// Reads one element; `bytes` is exactly that element's bytes, of any alignment. A u64 over `i64::MAX` is a
/// float.
pub fn load_scalar(bytes: &[u8], dtype: DType) -> Scalar {
    let number = with_type!(dtype, T => T::load(bytemuck::pod_read_unaligned(bytes)).to_number());
    match number {
        _ if dtype == DType::Bool => Scalar::Bool(number.to_bits() != 0),
        WideNumber::Int(value) => Scalar::Int(value),
        WideNumber::Unsigned(value) => i64::try_from(value).map_or(Scalar::Float(value as f64), Scalar::Int),
        WideNumber::Real(value) => Scalar::Float(value),
        WideNumber::Complex(value) => Scalar::Complex(value),
    }
}
