//! Owns the recording of conversions between dtypes, with the answers of `cast.rs`. It does not know which
//! conversions an operation needs.

use zerostride_code::{Binary, Builder, Compare, Type, Unary, Value};
use zerostride_ops::{Category, DType};

use super::element::{Recorded, stored_type};

/// 2^63, the first number that no `i64` is.
const I64_BOUND: f64 = 9_223_372_036_854_775_808.0;

/// Appends the conversion of an element to another dtype, as [`cast_kernel`](crate::cast_kernel) has it.
pub fn record_cast(code: &mut Builder, from: DType, to: DType, element: Recorded) -> Recorded {
    if from == to {
        return element;
    }
    match (element, to.category() == Category::Complex) {
        (Recorded::Complex(re, im), true) => {
            let ty = stored_type(to);
            Recorded::Complex(code.convert(ty, re), code.convert(ty, im))
        }
        (Recorded::Complex(re, im), false) if to == DType::Bool => {
            let [re, im] = [re, im].map(|part| is_not_zero(code, part));
            Recorded::Real(code.binary(Binary::Or, re, im))
        }
        (Recorded::Complex(re, _), false) => {
            let part = if from == DType::C64 { DType::F32 } else { DType::F64 };
            Recorded::Real(real(code, part, to, re))
        }
        (Recorded::Real(value), true) => {
            let part = if to == DType::C64 { DType::F32 } else { DType::F64 };
            Recorded::Complex(real(code, from, part, value), code.constant(stored_type(to), 0))
        }
        (Recorded::Real(value), false) => Recorded::Real(real(code, from, to, value)),
    }
}

/// Whether a float or a word is not zero; NaN is not.
fn is_not_zero(code: &mut Builder, value: Value) -> Value {
    let zero = code.constant(code.ty(value), 0);
    let is_zero = code.compare(Compare::Eq, value, zero);
    code.unary(Unary::Not, is_zero)
}

/// Between dtypes that are not complex.
pub(super) fn real(code: &mut Builder, from: DType, to: DType, value: Value) -> Value {
    if from == to {
        return value;
    }
    match (from, to) {
        (DType::Bool, _) if to.category() != Category::Float => {
            let ty = stored_type(to);
            let (one, zero) = (code.constant(ty, 1), code.constant(ty, 0));
            code.select(value, one, zero)
        }
        (DType::Bool, DType::F64) => {
            let (one, zero) = (code.constant(Type::F64, 1f64.to_bits()), code.constant(Type::F64, 0));
            code.select(value, one, zero)
        }
        (DType::Bool, _) => {
            let (one, zero) = (code.constant(Type::F32, 1f32.to_bits().into()), code.constant(Type::F32, 0));
            let float = code.select(value, one, zero);
            code.convert(stored_type(to), float)
        }
        (DType::F16 | DType::BF16, _) => {
            let wide = code.convert(Type::F32, value);
            real(code, DType::F32, to, wide)
        }
        (_, DType::Bool) => is_not_zero(code, value),
        (DType::F32 | DType::F64, _) if to.category() == Category::Float => {
            // As every float does: once to `f32`, and from there to a half.
            let short = if to == DType::F64 { value } else { code.convert(Type::F32, value) };
            code.convert(stored_type(to), short)
        }
        (DType::F32 | DType::F64, DType::I32) => code.convert(Type::W32, value),
        (DType::F32 | DType::F64, DType::U64) => to_u64(code, value),
        (DType::F32 | DType::F64, _) => {
            let whole = code.convert(Type::W64, value);
            code.convert(stored_type(to), whole)
        }
        _ if to.category() == Category::Float => from_integer(code, from, to, value),
        _ if from.is_signed_int() => code.convert(stored_type(to), value),
        _ if stored_type(from).bits() < stored_type(to).bits() => {
            code.convert_unsigned(stored_type(to), value)
        }
        _ => code.convert(stored_type(to), value),
    }
}

/// A float towards zero. What is too large is the largest; what is negative, or NaN, is that of an `i64`.
fn to_u64(code: &mut Builder, value: Value) -> Value {
    let float = |code: &mut Builder, x: f64| code.constant(Type::F64, x.to_bits());
    let value = code.convert(Type::F64, value);
    let (half, all) = (float(code, I64_BOUND), float(code, 2.0 * I64_BOUND));
    let (sign, most) = (code.constant(Type::W64, 1 << 63), code.constant(Type::W64, u64::MAX));
    let low = code.convert(Type::W64, value);
    let rest = code.binary(Binary::Sub, value, half);
    let rest = code.convert(Type::W64, rest);
    let high = code.binary(Binary::Or, rest, sign);
    let is_beyond = code.compare(Compare::Le, all, value);
    let high = code.select(is_beyond, most, high);
    let is_high = code.compare(Compare::Le, half, value);
    code.select(is_high, high, low)
}

/// An integer to a float, rounded once; to a half by way of `f32`.
fn from_integer(code: &mut Builder, from: DType, to: DType, value: Value) -> Value {
    let float = if to == DType::F64 { Type::F64 } else { Type::F32 };
    let number = match (from.is_signed_int(), stored_type(from)) {
        (true, Type::W32 | Type::W64) => code.convert(float, value),
        (false, Type::W32 | Type::W64) => code.convert_unsigned(float, value),
        (is_signed, _) => {
            let word = if is_signed {
                code.convert(Type::W32, value)
            } else {
                code.convert_unsigned(Type::W32, value)
            };
            code.convert(float, word)
        }
    };
    code.convert(stored_type(to), number)
}
