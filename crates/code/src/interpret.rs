//! Owns the meaning of instructions: a code run on one element, which all who print it must agree with. It
//! does not know rows of elements.

use half::{bf16, f16};

use crate::code::{Binary, Code, Compare, Instruction, Operation, Type, Unary, Value};

impl Code {
    /// The bits of the results for the bits of one element of each input. Rare ways are run too, which makes
    /// no difference: what they compute is only selected where it is wanted.
    ///
    /// # Panics
    /// If there are fewer elements than inputs.
    pub fn run(&self, inputs: &[u64]) -> Vec<u64> {
        let mut values: Vec<u64> = Vec::with_capacity(self.instructions.len());
        for &Instruction { ty, operation } in &self.instructions {
            let of = |value: Value| values[value.index()];
            let bits = match operation {
                Operation::Input(index) => inputs[index as usize],
                Operation::Constant(bits) => bits,
                Operation::Unary(unary, a) => match ty {
                    Type::F32 => float32(unary_float(unary, as32(of(a)))),
                    Type::F64 => unary_float(unary, f64::from_bits(of(a))).to_bits(),
                    _ => !of(a),
                },
                Operation::Binary(binary, a, b) => match ty {
                    Type::F32 => float32(binary_float(binary, as32(of(a)), as32(of(b)))),
                    Type::F64 => binary_float(binary, f64::from_bits(of(a)), f64::from_bits(of(b))).to_bits(),
                    _ => binary_word(binary, ty, of(a), of(b)),
                },
                Operation::Compare(compare, a, b) => {
                    let holds = match self.ty(a) {
                        Type::F32 => compared(compare, &as32(of(a)), &as32(of(b))),
                        Type::F64 => compared(compare, &f64::from_bits(of(a)), &f64::from_bits(of(b))),
                        _ if compare == Compare::Below => of(a) < of(b),
                        word => compared(compare, &signed(word, of(a)), &signed(word, of(b))),
                    };
                    holds.into()
                }
                Operation::MulAdd(a, b, c) if ty == Type::F32 => {
                    float32(libm::fmaf(as32(of(a)), as32(of(b)), as32(of(c))))
                }
                Operation::MulAdd(a, b, c) => {
                    libm::fma(f64::from_bits(of(a)), f64::from_bits(of(b)), f64::from_bits(of(c))).to_bits()
                }
                Operation::Select(mask, yes, no) => of(if of(mask) != 0 { yes } else { no }),
                Operation::Convert(a) => converted(self.ty(a), ty, of(a)),
                Operation::ConvertUnsigned(a) => match ty {
                    Type::F32 => float32(of(a) as f32),
                    Type::F64 => (of(a) as f64).to_bits(),
                    _ => of(a),
                },
                Operation::Bits(a) => of(a),
                Operation::Lookup { table, index } => self.tables[table as usize][of(index) as usize % 16],
                Operation::Rare { .. } => 0,
            };
            values.push(bits & (u64::MAX >> (64 - ty.bits())));
        }
        self.results.iter().map(|value| values[value.index()]).collect()
    }
}

fn as32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn float32(value: f32) -> u64 {
    value.to_bits().into()
}

/// A word read as two's complement.
fn signed(ty: Type, bits: u64) -> i64 {
    let unused = 64 - ty.bits();
    ((bits << unused) as i64) >> unused
}

/// The operations of both floats.
trait Float:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
{
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn round_ties_even(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    /// The exponent and the significand from 1 to 2 of a positive finite number.
    fn parts(self) -> (Self, Self);
    /// 2 to an integral power of a normal result.
    fn power_of_2(self) -> Self;
    fn half(self) -> Self;
    /// The least exact estimate of `1 / √self` that is allowed.
    fn inverse_root(self) -> Self;
}

macro_rules! float {
    ($float:ident, $bits:ident, $significand:literal, $bias:literal) => {
        impl Float for $float {
            fn abs(self) -> Self {
                $float::abs(self)
            }
            fn sqrt(self) -> Self {
                $float::sqrt(self)
            }
            fn round_ties_even(self) -> Self {
                $float::round_ties_even(self)
            }
            fn floor(self) -> Self {
                $float::floor(self)
            }
            fn ceil(self) -> Self {
                $float::ceil(self)
            }
            fn trunc(self) -> Self {
                $float::trunc(self)
            }
            fn parts(self) -> (Self, Self) {
                let is_subnormal = self < $float::MIN_POSITIVE;
                let up = if is_subnormal { $significand + 1 } else { 0 };
                let normal = self * $float::power_of_2(up as $float);
                let exponent = (normal.to_bits() >> $significand) as i32 - $bias - up;
                let fraction = normal.to_bits() & ((1 << $significand) - 1);
                (exponent as $float, $float::from_bits(fraction | $bias << $significand))
            }
            fn power_of_2(self) -> Self {
                $float::from_bits(((self as i32).wrapping_add($bias) as $bits) << $significand)
            }
            fn half(self) -> Self {
                self * 0.5
            }
            fn inverse_root(self) -> Self {
                (1.0 - 1.0 / 16_384.0) / $float::sqrt(self)
            }
        }
    };
}

float!(f32, u32, 23, 127);
float!(f64, u64, 52, 1023);

fn unary_float<F: Float>(unary: Unary, a: F) -> F {
    match unary {
        Unary::Neg => -a,
        Unary::Abs => a.abs(),
        Unary::Sqrt => a.sqrt(),
        Unary::InverseRoot => a.inverse_root(),
        Unary::RoundTiesEven => a.round_ties_even(),
        Unary::Floor => a.floor(),
        Unary::Ceil => a.ceil(),
        Unary::Trunc => a.trunc(),
        Unary::Exponent => a.parts().0,
        Unary::Significand => a.parts().1,
        Unary::Not => unreachable!("the verifier keeps it to words and masks"),
    }
}

fn binary_float<F: Float>(binary: Binary, a: F, b: F) -> F {
    match binary {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Min => {
            if a < b {
                a
            } else {
                b
            }
        }
        Binary::Max => {
            if a > b {
                a
            } else {
                b
            }
        }
        Binary::Scale => a * b.power_of_2(),
        Binary::Ldexp => {
            let half = b.half().round_ties_even();
            a * half.power_of_2() * (b - half).power_of_2()
        }
        Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::ShiftRightSigned => {
            unreachable!("the verifier keeps it to words and masks")
        }
    }
}

fn binary_word(binary: Binary, ty: Type, a: u64, b: u64) -> u64 {
    let count = b as u32 % 64;
    match binary {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft => a << count,
        Binary::ShiftRight => a >> count,
        Binary::ShiftRightSigned => (signed(ty, a) >> count) as u64,
        Binary::Div | Binary::Min | Binary::Max | Binary::Ldexp | Binary::Scale => {
            unreachable!("the verifier keeps it to floats")
        }
    }
}

fn compared<T: PartialOrd>(compare: Compare, a: &T, b: &T) -> bool {
    match compare {
        Compare::Eq => a == b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Below => unreachable!("the verifier keeps it to words"),
    }
}

fn converted(from: Type, to: Type, bits: u64) -> u64 {
    let value = match from {
        Type::F16 => f64::from(f16::from_bits(bits as u16)),
        Type::BF16 => f64::from(bf16::from_bits(bits as u16)),
        Type::F32 => f64::from(as32(bits)),
        Type::F64 => f64::from_bits(bits),
        word => {
            let value = signed(word, bits);
            return match to {
                Type::F32 => float32(value as f32),
                Type::F64 => (value as f64).to_bits(),
                _ => value as u64,
            };
        }
    };
    let fits = |bound: f64| value >= -bound && value < bound;
    match to {
        Type::F16 => f16::from_f32(value as f32).to_bits().into(),
        Type::BF16 => bf16::from_f32(value as f32).to_bits().into(),
        Type::F32 => float32(value as f32),
        Type::F64 => value.to_bits(),
        Type::W32 => {
            (if fits(2f64.powi(31)) || value.trunc() == -2f64.powi(31) { value as i32 } else { i32::MIN })
                as u64
        }
        _ => (if fits(2f64.powi(63)) { value as i64 } else { i64::MIN }) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    /// The result of an operation on floats.
    fn run(operation: impl FnOnce(&mut Builder, Value, Value) -> Value, a: f32, b: f32) -> f32 {
        let mut builder = Builder::new();
        let (x, y) = (builder.input(Type::F32), builder.input(Type::F32));
        let result = operation(&mut builder, x, y);
        as32(builder.finish(&[result]).run(&[float32(a), float32(b)])[0])
    }

    #[test]
    fn extremes_and_exponents_are_as_stated() {
        let of = |binary| move |builder: &mut Builder, a, b| builder.binary(binary, a, b);
        assert_eq!(run(of(Binary::Min), f32::NAN, 1.0), 1.0);
        assert!(run(of(Binary::Max), 1.0, f32::NAN).is_nan());
        assert_eq!(run(of(Binary::Min), 0.0, -0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!(run(of(Binary::Ldexp), 1.5, -149.0), f32::from_bits(2));
        assert_eq!(run(of(Binary::Ldexp), 1.5, 128.0), f32::INFINITY);
        assert_eq!(run(of(Binary::Scale), 1.5, -126.0), 1.5 * f32::MIN_POSITIVE);
        let of = |unary| move |builder: &mut Builder, a, _| builder.unary(unary, a);
        for (x, exponent, significand) in
            [(1.0, 0.0, 1.0), (0.75, -1.0, 1.5), (f32::from_bits(3), -148.0, 1.5)]
        {
            assert_eq!(run(of(Unary::Exponent), x, 0.0), exponent);
            assert_eq!(run(of(Unary::Significand), x, 0.0), significand);
        }
    }

    #[test]
    fn what_fits_in_no_word_is_the_least() {
        let convert = |ty, x: f64| {
            let mut builder = Builder::new();
            let input = builder.input(Type::F64);
            let result = builder.convert(ty, input);
            builder.finish(&[result]).run(&[x.to_bits()])[0]
        };
        assert_eq!(convert(Type::W32, -1.9), 0xffff_ffff);
        assert_eq!(convert(Type::W32, -2_147_483_648.9), 0x8000_0000);
        assert_eq!(convert(Type::W32, 2_147_483_648.0), 0x8000_0000);
        assert_eq!(convert(Type::W64, f64::NAN), 1 << 63);
        assert_eq!(convert(Type::W64, 9.3e18), 1 << 63);
    }
}
