//! Owns arithmetic between bare numbers, which is CPython's rather than PyTorch's, in every bit and every
//! error: integers do not wrap, `/` of integers is rounded once, an integer and a float are compared exactly.
//! It does not know tensors.

use std::cmp::Ordering;
use std::ops::{BitAnd, BitOr, BitXor};

use crate::words::say;
use zerostride::{Complex64, Op, Scalar};

/// The value of `op number`.
pub(super) fn unary(op: Op, number: Scalar) -> Result<Scalar, String> {
    Ok(match (op, number) {
        (Op::BitwiseNot, Scalar::Bool(value)) => Scalar::Int(!i64::from(value)),
        (Op::BitwiseNot, Scalar::Int(value)) => Scalar::Int(!value),
        (Op::BitwiseNot, _) => return Err(say!("tilde-needs-integer")),
        (Op::Neg, Scalar::Bool(value)) => Scalar::Int(-i64::from(value)),
        (Op::Neg, Scalar::Int(value)) => Scalar::Int(value.checked_neg().ok_or_else(overflow)?),
        (Op::Neg, Scalar::Float(value)) => Scalar::Float(-value),
        (Op::Neg, Scalar::Complex(value)) => Scalar::Complex(-value),
        (_, Scalar::Bool(value)) => Scalar::Int(value.into()),
        (_, value) => value,
    })
}

/// The value of `left op right`.
pub(super) fn binary(op: Op, left: Scalar, right: Scalar) -> Result<Scalar, String> {
    if let Some(answer) = compare(op, left, right) {
        return answer;
    }
    match (left, right) {
        (Scalar::Bool(a), Scalar::Bool(b)) if is_bitwise(op) => Ok(Scalar::Bool(bitwise(op, a, b))),
        (Scalar::Complex(_), _) | (_, Scalar::Complex(_)) => complexes(op, complex(left), complex(right)),
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => floats(op, left.to_f64(), right.to_f64()),
        _ => ints(op, int(left), int(right)),
    }
}

fn overflow() -> String {
    say!("result-too-wide")
}

fn zero() -> String {
    say!("division-by-zero")
}

fn int(number: Scalar) -> i64 {
    match number {
        Scalar::Bool(value) => value.into(),
        Scalar::Int(value) => value,
        Scalar::Float(_) | Scalar::Complex(_) => {
            unreachable!("floats and complex numbers have gone their own way")
        }
    }
}

fn complex(number: Scalar) -> Complex64 {
    match number {
        Scalar::Complex(value) => value,
        real => real.to_f64().into(),
    }
}

fn is_bitwise(op: Op) -> bool {
    matches!(op, Op::BitwiseAnd | Op::BitwiseOr | Op::BitwiseXor)
}

fn bitwise<T: BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>>(op: Op, a: T, b: T) -> T {
    match op {
        Op::BitwiseAnd => a & b,
        Op::BitwiseOr => a | b,
        _ => a ^ b,
    }
}

/// The quotient truncated towards zero, PyTorch's `rounding_mode='trunc'`, for which Python has no operator.
pub(super) fn truncated(left: Scalar, right: Scalar) -> Result<Scalar, String> {
    match (left, right) {
        (Scalar::Complex(_), _) | (_, Scalar::Complex(_)) => Err(unknown(Op::FloorDivide)),
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) if right.to_f64() == 0.0 => Err(zero()),
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => {
            Ok(Scalar::Float((left.to_f64() / right.to_f64()).trunc()))
        }
        _ if int(right) == 0 => Err(zero()),
        _ => int(left).checked_div(int(right)).map(Scalar::Int).ok_or_else(overflow),
    }
}

/// The result of a comparison; `None` for another operation.
fn compare(op: Op, left: Scalar, right: Scalar) -> Option<Result<Scalar, String>> {
    let order = match (left, right) {
        (Scalar::Complex(a), b) | (b, Scalar::Complex(a)) => {
            let is_equal = match b {
                Scalar::Complex(b) => a == b,
                real => a.im == 0.0 && order(Scalar::Float(a.re), real) == Some(Ordering::Equal),
            };
            return match op {
                Op::Eq => Some(Ok(Scalar::Bool(is_equal))),
                Op::Ne => Some(Ok(Scalar::Bool(!is_equal))),
                _ => None,
            };
        }
        _ => order(left, right),
    };
    Some(Ok(Scalar::Bool(match op {
        Op::Eq => order == Some(Ordering::Equal),
        Op::Ne => order != Some(Ordering::Equal),
        Op::Lt => order == Some(Ordering::Less),
        Op::Le => order.is_some_and(Ordering::is_le),
        Op::Gt => order == Some(Ordering::Greater),
        Op::Ge => order.is_some_and(Ordering::is_ge),
        _ => return None,
    })))
}

/// The exact order of two real numbers; `None` if one is NaN.
fn order(left: Scalar, right: Scalar) -> Option<Ordering> {
    match (left, right) {
        (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(&b),
        (Scalar::Float(a), b) => int_order(int(b), a).map(Ordering::reverse),
        (a, Scalar::Float(b)) => int_order(int(a), b),
        (a, b) => Some(int(a).cmp(&int(b))),
    }
}

fn int_order(a: i64, b: f64) -> Option<Ordering> {
    const END: f64 = (1u64 << 63) as f64;
    if b.is_nan() {
        None
    } else if b >= END {
        Some(Ordering::Less)
    } else if b < -END {
        Some(Ordering::Greater)
    } else {
        // Within 64 bits the integer part is an i64; if it is equal, the fraction decides.
        Some(a.cmp(&(b as i64)).then_with(|| 0.0.partial_cmp(&b.fract()).unwrap_or(Ordering::Equal)))
    }
}

/// The quotient of two integers, rounded once.
fn quotient(a: i64, b: i64) -> f64 {
    if a == 0 {
        return if b < 0 { -0.0 } else { 0.0 };
    }
    let (numerator, denominator) = (u128::from(a.unsigned_abs()), u128::from(b.unsigned_abs()));
    // The quotient has more than 60 bits, and its last bit is set if the rest is not zero: rounding it is
    // rounding the exact quotient.
    let shift = numerator.leading_zeros() - 1;
    let digits = (numerator << shift) / denominator;
    let rest = u128::from((numerator << shift) % denominator != 0);
    let magnitude = (digits | rest) as f64 * 0.5f64.powi(shift as i32);
    if (a < 0) == (b < 0) { magnitude } else { -magnitude }
}

fn ints(op: Op, a: i64, b: i64) -> Result<Scalar, String> {
    let value = match op {
        Op::Add => a.checked_add(b),
        Op::Sub => a.checked_sub(b),
        Op::Mul => a.checked_mul(b),
        Op::Div if b == 0 => return Err(zero()),
        Op::Div => return Ok(Scalar::Float(quotient(a, b))),
        Op::FloorDivide | Op::Remainder if b == 0 => return Err(zero()),
        // The only quotient that overflows is that of the smallest integer by -1.
        Op::FloorDivide => {
            a.checked_div(b).map(|quotient| quotient - i64::from(a % b != 0 && (a < 0) != (b < 0)))
        }
        Op::Remainder => {
            let rest = a.wrapping_rem(b);
            Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
        Op::Pow if b < 0 => return floats(op, a as f64, b as f64),
        Op::Pow => power(a, b),
        Op::BitwiseLeftShift | Op::BitwiseRightShift if b < 0 => {
            return Err(say!("negative-shift"));
        }
        Op::BitwiseLeftShift if a == 0 => Some(0),
        Op::BitwiseLeftShift if b > 63 => None,
        Op::BitwiseLeftShift => Some(a << b).filter(|shifted| shifted >> b == a),
        Op::BitwiseRightShift => Some(a >> b.min(63)),
        _ if is_bitwise(op) => Some(bitwise(op, a, b)),
        _ => return Err(unknown(op)),
    };
    value.map(Scalar::Int).ok_or_else(overflow)
}

fn power(base: i64, exponent: i64) -> Option<i64> {
    match (base, u32::try_from(exponent)) {
        (_, Ok(exponent)) => base.checked_pow(exponent),
        (0 | 1, Err(_)) => Some(base),
        (-1, Err(_)) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        (_, Err(_)) => None,
    }
}

fn floats(op: Op, a: f64, b: f64) -> Result<Scalar, String> {
    let value = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div | Op::FloorDivide | Op::Remainder if b == 0.0 => return Err(zero()),
        Op::Pow if a == 0.0 && b < 0.0 && b.is_finite() => return Err(zero()),
        Op::Div => a / b,
        Op::FloorDivide => floored(a, b),
        Op::Remainder => remainder(a, b),
        Op::Pow if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 => {
            return complexes(op, a.into(), b.into());
        }
        Op::Pow => match a.powf(b) {
            infinite if infinite.is_infinite() && a.is_finite() && b.is_finite() => return Err(too_large()),
            power => power,
        },
        _ => return Err(unknown(op)),
    };
    Ok(Scalar::Float(value))
}

fn too_large() -> String {
    say!("result-too-large")
}

/// The remainder with the sign of the divisor, even if it is 0.
fn remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest == 0.0 {
        0f64.copysign(b)
    } else if (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

/// The quotient rounded down, by way of the remainder: a quotient computed first may round up to the next
/// integer.
fn floored(a: f64, b: f64) -> f64 {
    let rest = a % b;
    let below = f64::from(u8::from(rest != 0.0 && (rest < 0.0) != (b < 0.0)));
    let whole = (a - rest) / b - below;
    if whole == 0.0 {
        return 0f64.copysign(a / b);
    }
    let floor = whole.floor();
    if whole - floor > 0.5 { floor + 1.0 } else { floor }
}

fn complexes(op: Op, a: Complex64, b: Complex64) -> Result<Scalar, String> {
    let value = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div if b == Complex64::ZERO => return Err(zero()),
        Op::Div => ratio(a, b),
        Op::Pow if a == Complex64::ZERO && (b.re < 0.0 || b.im != 0.0) => return Err(zero()),
        Op::Pow => match complex_power(a, b) {
            power if power.re.is_infinite() || power.im.is_infinite() => return Err(too_large()),
            power => power,
        },
        _ => return Err(unknown(op)),
    };
    Ok(Scalar::Complex(value))
}

/// The quotient, without overflow in intermediate results. Source: R. L. Smith, Algorithm 116.
fn ratio(a: Complex64, b: Complex64) -> Complex64 {
    if b.re.abs() >= b.im.abs() {
        let ratio = b.im / b.re;
        let divisor = b.re + b.im * ratio;
        Complex64::new((a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor)
    } else {
        let ratio = b.re / b.im;
        let divisor = b.re * ratio + b.im;
        Complex64::new((a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor)
    }
}

/// By products for small integer exponents, else in polar coordinates.
fn complex_power(a: Complex64, b: Complex64) -> Complex64 {
    if b.im == 0.0 && b.re.fract() == 0.0 && b.re.abs() <= 100.0 {
        let power = whole_power(a, b.re.abs() as u32);
        return if b.re > 0.0 { power } else { ratio(Complex64::ONE, power) };
    }
    if a == Complex64::ZERO {
        return Complex64::ZERO;
    }
    let (length, angle) = (a.re.hypot(a.im), a.im.atan2(a.re));
    let (mut new_length, mut new_angle) = (length.powf(b.re), angle * b.re);
    if b.im != 0.0 {
        new_length /= (angle * b.im).exp();
        new_angle += b.im * length.ln();
    }
    Complex64::new(new_length * new_angle.cos(), new_length * new_angle.sin())
}

fn whole_power(mut base: Complex64, mut exponent: u32) -> Complex64 {
    let mut power = Complex64::ONE;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    power
}

fn unknown(op: Op) -> String {
    say!("not-of-these-numbers", op = op.info().symbol.unwrap_or(op.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scalar::{Bool, Float, Int};

    #[test]
    fn numbers_follow_python() {
        for (op, left, right, value) in [
            (Op::Add, Bool(true), Int(2), Int(3)),
            (Op::Div, Int(1), Int(3), Float(1.0 / 3.0)),
            (Op::FloorDivide, Int(-7), Int(2), Int(-4)),
            (Op::FloorDivide, Float(-7.0), Int(2), Float(-4.0)),
            (Op::FloorDivide, Float(1.0), Float(0.1), Float(9.0)),
            (Op::Remainder, Int(-7), Int(3), Int(2)),
            (Op::Remainder, Int(7), Int(-3), Int(-2)),
            (Op::Remainder, Int(i64::MIN), Int(-1), Int(0)),
            (Op::Remainder, Float(-0.5), Float(3.0), Float(2.5)),
            (Op::Pow, Int(2), Int(10), Int(1024)),
            (Op::Pow, Int(2), Int(-1), Float(0.5)),
            (Op::Pow, Int(-1), Int(i64::MAX), Int(-1)),
            (Op::Pow, Float(2.0), Float(0.5), Float(2f64.sqrt())),
            (Op::BitwiseAnd, Bool(true), Bool(false), Bool(false)),
            (Op::BitwiseXor, Int(6), Int(3), Int(5)),
            (Op::BitwiseLeftShift, Int(-1), Int(63), Int(i64::MIN)),
            (Op::BitwiseRightShift, Int(-5), Int(100), Int(-1)),
            (Op::Lt, Int(1), Float(1.5), Bool(true)),
            (Op::Eq, Int(1), Scalar::Complex(Complex64::new(1.0, 0.0)), Bool(true)),
            // Equal after conversion to floats.
            (Op::Eq, Int((1 << 53) + 1), Float((1i64 << 53) as f64), Bool(false)),
            (Op::Gt, Int((1 << 53) + 1), Float((1i64 << 53) as f64), Bool(true)),
            (Op::Lt, Int(i64::MAX), Float(i64::MAX as f64), Bool(true)),
            (Op::Ge, Int(i64::MIN), Float(i64::MIN as f64), Bool(true)),
            (Op::Le, Float(-1.5), Int(-1), Bool(true)),
            (Op::Lt, Int(-1), Float(-1.5), Bool(false)),
            (Op::Lt, Int(1), Float(f64::INFINITY), Bool(true)),
            (Op::Ne, Int(1), Float(f64::NAN), Bool(true)),
            (Op::Ge, Int(1), Float(f64::NAN), Bool(false)),
            // Rounded once.
            (Op::Div, Int((1 << 53) + 1), Int(3), Float(3002399751580331.0)),
            (Op::Div, Int(i64::MAX), Int(i64::MAX - 1), Float(1.0)),
            (Op::Div, Int(-9007199254740993), Int(1), Float(-9007199254740992.0)),
            (Op::Div, Int(123456789012345679), Int(10), Float(12345678901234568.0)),
            (Op::FloorDivide, Int(-1), Float(f64::INFINITY), Float(-1.0)),
            (Op::Remainder, Int(-1), Float(f64::INFINITY), Float(f64::INFINITY)),
            (Op::Pow, Float(-0.5), Float(f64::INFINITY), Float(0.0)),
            (Op::Pow, Int(0), Float(f64::NEG_INFINITY), Float(f64::INFINITY)),
            (Op::Pow, Scalar::Complex(Complex64::I), Int(2), Scalar::Complex(Complex64::new(-1.0, 0.0))),
        ] {
            assert_eq!(binary(op, left, right), Ok(value), "{left} {} {right}", op.name());
        }
        assert_eq!(unary(Op::BitwiseNot, Bool(false)), Ok(Int(-1)));
        assert_eq!(truncated(Int(-7), Int(2)), Ok(Int(-3)));
    }

    #[test]
    fn zeros_have_the_sign_that_python_gives_them() {
        for (op, left, right, negative) in [
            (Op::Remainder, 0.0, -3.0, true),
            (Op::Remainder, -0.0, 3.0, false),
            (Op::Remainder, -6.0, 3.0, false),
            (Op::FloorDivide, -0.0, 1.0, true),
            (Op::FloorDivide, 0.5, 3.0, false),
        ] {
            let Ok(Float(zero)) = binary(op, Float(left), Float(right)) else { panic!("{left} {right}") };
            assert_eq!((zero, zero.is_sign_negative()), (0.0, negative), "{left} {} {right}", op.name());
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (op, left, right) in [
            (Op::Add, Int(i64::MAX), Int(1)),
            (Op::Pow, Int(3), Int(64)),
            (Op::Pow, Int(2), Int(1 << 40)),
            (Op::FloorDivide, Int(i64::MIN), Int(-1)),
            (Op::FloorDivide, Int(1), Int(0)),
            (Op::Div, Float(1.0), Int(0)),
            (Op::BitwiseLeftShift, Int(1), Int(63)),
            (Op::BitwiseLeftShift, Int(1), Int(-1)),
            (Op::BitwiseAnd, Float(1.0), Int(1)),
            (Op::Lt, Scalar::Complex(Complex64::I), Int(1)),
            (Op::Remainder, Float(1.0), Float(0.0)),
            (Op::Pow, Float(0.0), Int(-1)),
            (Op::Pow, Float(10.0), Int(400)),
        ] {
            assert!(binary(op, left, right).is_err(), "{left} {} {right}", op.name());
        }
        assert!(unary(Op::Neg, Int(i64::MIN)).is_err());
        assert!(unary(Op::BitwiseNot, Float(1.0)).is_err());
    }
}
