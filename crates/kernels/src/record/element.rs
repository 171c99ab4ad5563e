//! Owns elements of dtypes in a code, and how they are loaded, stored and made of numbers. It does not know
//! what is computed of them.

use zerostride_code::{Binary, Builder, Compare, Type, Unary, Value};
use zerostride_ops::{Category, DType, Scalar};

use crate::cast::store_scalar;

/// An element in a code. A bool is a mask, an integer a word, a float itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Of any dtype that is not complex.
    Real(Value),
    /// The real and the imaginary part.
    Complex(Value, Value),
}

impl Recorded {
    /// The element itself, or its real part.
    pub(super) fn re(self) -> Value {
        match self {
            Recorded::Real(value) | Recorded::Complex(value, _) => value,
        }
    }

    pub(super) fn im(self) -> Value {
        match self {
            Recorded::Real(value) | Recorded::Complex(_, value) => value,
        }
    }

    /// The same function of each part.
    pub(super) fn map(self, mut part: impl FnMut(Value) -> Value) -> Recorded {
        match self {
            Recorded::Real(value) => Recorded::Real(part(value)),
            Recorded::Complex(re, im) => Recorded::Complex(part(re), part(im)),
        }
    }
}

/// The type of an element, or of each part of a complex number.
pub const fn stored_type(dtype: DType) -> Type {
    match dtype {
        DType::Bool | DType::U8 | DType::I8 => Type::W8,
        DType::U16 | DType::I16 => Type::W16,
        DType::U32 | DType::I32 => Type::W32,
        DType::U64 | DType::I64 => Type::W64,
        DType::F16 => Type::F16,
        DType::BF16 => Type::BF16,
        DType::F32 | DType::C64 => Type::F32,
        DType::F64 | DType::C128 => Type::F64,
    }
}

/// The type of what is read and written for an element, if that is one value: both parts of a c64 are a word,
/// and those of a c128 longer than any.
pub const fn memory_type(dtype: DType) -> Option<Type> {
    match dtype {
        DType::C64 => Some(Type::W64),
        DType::C128 => None,
        _ => Some(stored_type(dtype)),
    }
}

/// The element that is stored as a value of [`memory_type`]. Every byte but 0 is true.
pub fn record_load(code: &mut Builder, dtype: DType, stored: Value) -> Recorded {
    match dtype {
        DType::Bool => {
            let zero = code.constant(Type::W8, 0);
            let is_zero = code.compare(Compare::Eq, stored, zero);
            Recorded::Real(code.unary(Unary::Not, is_zero))
        }
        DType::C64 => {
            let half = code.constant(Type::W64, 32);
            let high = code.binary(Binary::ShiftRight, stored, half);
            let [re, im] = [stored, high].map(|word| {
                let part = code.convert(Type::W32, word);
                code.bits(Type::F32, part)
            });
            Recorded::Complex(re, im)
        }
        _ => Recorded::Real(stored),
    }
}

/// The value of [`memory_type`] that is stored for an element.
///
/// # Panics
/// If there is no such type.
pub fn record_store(code: &mut Builder, dtype: DType, element: Recorded) -> Value {
    match element {
        Recorded::Real(truth) if dtype == DType::Bool => {
            let (one, zero) = (code.constant(Type::W8, 1), code.constant(Type::W8, 0));
            code.select(truth, one, zero)
        }
        Recorded::Real(value) => value,
        Recorded::Complex(re, im) => {
            assert_eq!(dtype, DType::C64, "no value has both parts");
            let [low, high] = [re, im].map(|part| {
                let bits = code.bits(Type::W32, part);
                code.convert_unsigned(Type::W64, bits)
            });
            let half = code.constant(Type::W64, 32);
            let high = code.binary(Binary::ShiftLeft, high, half);
            code.binary(Binary::Or, low, high)
        }
    }
}

/// A number as an element of a dtype, as [`store_scalar`] writes it.
pub fn record_scalar(code: &mut Builder, scalar: Scalar, dtype: DType) -> Recorded {
    let mut bytes = [0; 16];
    store_scalar(scalar, dtype, &mut bytes[..dtype.item_size()]);
    if dtype == DType::Bool {
        return Recorded::Real(code.constant(Type::Mask, bytes[0].into()));
    }
    let ty = stored_type(dtype);
    let (bits, size) = (u128::from_le_bytes(bytes), ty.bits());
    let re = code.constant(ty, bits as u64);
    if dtype.category() == Category::Complex {
        Recorded::Complex(re, code.constant(ty, (bits >> size) as u64))
    } else {
        Recorded::Real(re)
    }
}
