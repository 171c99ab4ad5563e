//! Owns arithmetic between bare numbers, which follows Python and not PyTorch: integers do not wrap, `/` of integers is
//! a float of full precision. It knows no tensors.

use std::ops::{BitAnd, BitOr, BitXor};

use zerostride::{Complex64, Op, Scalar};

/// The value of `op number`.
pub(super) fn unary(op: Op, number: Scalar) -> Result<Scalar, String> {
    Ok(match (op, number) {
        (Op::BitwiseNot, Scalar::Bool(value)) => Scalar::Bool(!value),
        (Op::BitwiseNot, Scalar::Int(value)) => Scalar::Int(!value),
        (Op::BitwiseNot, _) => return Err("`~` needs an integer".to_owned()),
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
    match (left, right) {
        (Scalar::Bool(a), Scalar::Bool(b)) if is_bitwise(op) => Ok(Scalar::Bool(bitwise(op, a, b))),
        (Scalar::Complex(_), _) | (_, Scalar::Complex(_)) => complexes(op, complex(left), complex(right)),
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => floats(op, left.to_f64(), right.to_f64()),
        _ => ints(op, int(left), int(right)),
    }
}

fn overflow() -> String {
    "the result does not fit in 64 bits".to_owned()
}

fn zero() -> String {
    "division by zero".to_owned()
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

fn compare<T: PartialOrd>(op: Op, a: T, b: T) -> Option<Scalar> {
    Some(Scalar::Bool(match op {
        Op::Eq => a == b,
        Op::Ne => a != b,
        Op::Lt => a < b,
        Op::Le => a <= b,
        Op::Gt => a > b,
        Op::Ge => a >= b,
        _ => return None,
    }))
}

fn ints(op: Op, a: i64, b: i64) -> Result<Scalar, String> {
    if let Some(answer) = compare(op, a, b) {
        return Ok(answer);
    }
    let value = match op {
        Op::Add => a.checked_add(b),
        Op::Sub => a.checked_sub(b),
        Op::Mul => a.checked_mul(b),
        Op::Div if b == 0 => return Err(zero()),
        Op::Div => return Ok(Scalar::Float(a as f64 / b as f64)),
        Op::FloorDivide | Op::Remainder if b == 0 => return Err(zero()),
        // The one quotient that does not fit is the smallest integer by -1.
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
            return Err("a shift cannot be negative".to_owned());
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
    if let Some(answer) = compare(op, a, b) {
        return Ok(answer);
    }
    let value = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div | Op::FloorDivide | Op::Remainder if b == 0.0 => return Err(zero()),
        Op::Pow if a == 0.0 && b < 0.0 => return Err(zero()),
        Op::Div => a / b,
        // Through the remainder, because the quotient may round up to the next integer.
        Op::FloorDivide => ((a - remainder(a, b)) / b).round(),
        Op::Remainder => remainder(a, b),
        Op::Pow if a < 0.0 && a.is_finite() && b.fract() != 0.0 => {
            return Ok(Scalar::Complex(Complex64::from(a).powf(b)));
        }
        Op::Pow => a.powf(b),
        _ => return Err(unknown(op)),
    };
    Ok(Scalar::Float(value))
}

/// The remainder with the sign of the divisor.
fn remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

fn complexes(op: Op, a: Complex64, b: Complex64) -> Result<Scalar, String> {
    let value = match op {
        Op::Eq => return Ok(Scalar::Bool(a == b)),
        Op::Ne => return Ok(Scalar::Bool(a != b)),
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div if b == Complex64::ZERO => return Err(zero()),
        Op::Div => a / b,
        Op::Pow if a == Complex64::ZERO && (b.re < 0.0 || b.im != 0.0) => return Err(zero()),
        Op::Pow => a.powc(b),
        _ => return Err(unknown(op)),
    };
    Ok(Scalar::Complex(value))
}

fn unknown(op: Op) -> String {
    format!("`{}` is not defined for these numbers", op.info().symbol.unwrap_or(op.name()))
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
        ] {
            assert_eq!(binary(op, left, right), Ok(value), "{left} {} {right}", op.name());
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
        ] {
            assert!(binary(op, left, right).is_err(), "{left} {} {right}", op.name());
        }
        assert!(unary(Op::Neg, Int(i64::MIN)).is_err());
        assert!(unary(Op::BitwiseNot, Float(1.0)).is_err());
    }
}
