//! Owns `Scalar`, a bare number outside any tensor. It does not know promotion (`promote.rs`).

use core::fmt;

use num_complex::{Complex32, Complex64};

use crate::{Category, DType, bf16, f16};

/// A bare number: what a Python `True`, `2`, `0.5` or `1j` is to PyTorch.
///
/// Of its dtype only the category counts: next to a tensor of the same or a higher category it takes the
/// tensor's dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A complex number.
    Complex(Complex64),
}

impl Scalar {
    /// The dtype of a tensor made of this number alone.
    pub const fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::DEFAULT_FLOAT,
            Scalar::Complex(_) => DType::C64,
        }
    }

    /// The category that promotion compares.
    pub const fn category(self) -> Category {
        self.dtype().category()
    }

    /// The number as a real float, without its imaginary part.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(value) => f64::from(u8::from(value)),
            Scalar::Int(value) => value as f64,
            Scalar::Float(value) => value,
            Scalar::Complex(value) => value.re,
        }
    }

    /// Whether the number is out of range where PyTorch checks the conversion to a dtype: too large for it,
    /// or with an imaginary part that would be lost. A negative integer may wrap around in an unsigned dtype.
    pub fn overflows(self, dtype: DType) -> bool {
        let too_large = |part: f64| part.is_finite() && part.abs() > dtype.largest();
        match (self, dtype.category()) {
            (_, Category::Bool) | (Scalar::Bool(_), _) => false,
            (Scalar::Complex(value), Category::Complex) => too_large(value.re) || too_large(value.im),
            (Scalar::Complex(value), _) => value.im != 0.0 || Scalar::Float(value.re).overflows(dtype),
            (Scalar::Int(value), Category::Int) => {
                let (least, most) = dtype.int_range();
                let value = i128::from(value);
                value > most || value < if least == 0 { -most } else { least }
            }
            (Scalar::Float(value), Category::Int) => {
                let (least, most) = dtype.int_range();
                !(least as f64..=most as f64).contains(&value)
            }
            (number, Category::Float | Category::Complex) => too_large(number.to_f64()),
        }
    }
}

macro_rules! from_number {
    ($($from:ty => $variant:ident;)*) => {
        $(impl From<$from> for Scalar {
            fn from(value: $from) -> Self {
                Scalar::$variant(value.into())
            }
        })*
    };
}

from_number! {
    bool => Bool;
    u8 => Int; u16 => Int; u32 => Int; i8 => Int; i16 => Int; i32 => Int; i64 => Int;
    f16 => Float; bf16 => Float; f32 => Float; f64 => Float;
    Complex64 => Complex;
}

impl From<Complex32> for Scalar {
    fn from(value: Complex32) -> Scalar {
        Scalar::Complex(Complex64::new(value.re.into(), value.im.into()))
    }
}

/// Numbers of elements and dimensions.
impl From<usize> for Scalar {
    /// An integer; beyond `i64::MAX`, which no number of elements is, the nearest float.
    fn from(value: usize) -> Scalar {
        i64::try_from(value).map_or(Scalar::Float(value as f64), Scalar::Int)
    }
}

impl From<isize> for Scalar {
    fn from(value: isize) -> Scalar {
        Scalar::Int(value as i64)
    }
}

impl fmt::Display for Scalar {
    /// As Python prints it: `True`, `2`, `0.5`, `1e-05`, `(1+2j)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(true) => f.write_str("True"),
            Scalar::Bool(false) => f.write_str("False"),
            Scalar::Int(value) => write!(f, "{value}"),
            Scalar::Float(value) if value.is_nan() => f.write_str("nan"),
            Scalar::Float(value) => write!(f, "{value:?}"),
            Scalar::Complex(value) => write!(f, "({}{:+}j)", value.re, value.im),
        }
    }
}
