//! Owns elements of dtypes in a code, and how they are loaded, stored and made of numbers. It does not know
//! what is computed of them.

use smallvec::{SmallVec, smallvec};
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

/// The types of the values that are read and written for an element: both parts of a c64 are one word, those
/// of a c128 two values.
pub const fn memory_types(dtype: DType) -> &'static [Type] {
    match dtype {
        DType::Bool | DType::U8 | DType::I8 => &[Type::W8],
        DType::U16 | DType::I16 => &[Type::W16],
        DType::U32 | DType::I32 => &[Type::W32],
        DType::U64 | DType::I64 | DType::C64 => &[Type::W64],
        DType::F16 => &[Type::F16],
        DType::BF16 => &[Type::BF16],
        DType::F32 => &[Type::F32],
        DType::F64 => &[Type::F64],
        DType::C128 => &[Type::F64, Type::F64],
    }
}

/// The element that is stored as values of [`memory_types`]. Every byte but 0 is true.
pub fn record_load(code: &mut Builder, dtype: DType, stored: &[Value]) -> Recorded {
    match (dtype, stored) {
        (DType::Bool, &[byte]) => {
            let zero = code.constant(Type::W8, 0);
            let is_zero = code.compare(Compare::Eq, byte, zero);
            Recorded::Real(code.unary(Unary::Not, is_zero))
        }
        (DType::C64, &[both]) => {
            let half = code.constant(Type::W64, 32);
            let high = code.binary(Binary::ShiftRight, both, half);
            let [re, im] = [both, high].map(|word| {
                let part = code.convert(Type::W32, word);
                code.bits(Type::F32, part)
            });
            Recorded::Complex(re, im)
        }
        (_, &[re, im]) => Recorded::Complex(re, im),
        _ => Recorded::Real(stored[0]),
    }
}

/// The values of [`memory_types`] that are stored for an element.
pub fn record_store(code: &mut Builder, dtype: DType, element: Recorded) -> SmallVec<[Value; 2]> {
    match element {
        Recorded::Real(truth) if dtype == DType::Bool => {
            let (one, zero) = (code.constant(Type::W8, 1), code.constant(Type::W8, 0));
            smallvec![code.select(truth, one, zero)]
        }
        Recorded::Real(value) => smallvec![value],
        Recorded::Complex(re, im) if dtype == DType::C128 => smallvec![re, im],
        Recorded::Complex(re, im) => {
            let [low, high] = [re, im].map(|part| {
                let bits = code.bits(Type::W32, part);
                code.convert_unsigned(Type::W64, bits)
            });
            let half = code.constant(Type::W64, 32);
            let high = code.binary(Binary::ShiftLeft, high, half);
            smallvec![code.binary(Binary::Or, low, high)]
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
