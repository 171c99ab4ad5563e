//! Owns the recording of operations: the body of a row, run once on the lane that records
//! (`lane/record.rs`), is the code of its elements. It does not know loops over elements, nor who runs it.
//!
//! A code has the bits of the kernels: halves are rounded after each operation, complex numbers of `f32` are
//! computed in `f64` where their kernels do that.

mod cast;
mod element;
mod integer;
mod moments;
mod product;
mod step;

use std::marker::PhantomData;

use num_complex::Complex;
use zerostride_code::{Binary, Builder, Compare, Type, Unary, Value};
use zerostride_ops::{DType, Op};

pub use cast::record_cast;
pub use element::{Recorded, memory_types, record_load, record_scalar, record_store, stored_type};
use integer::{Booleans, Integers};
pub use moments::{
    MOMENTS, MOMENTS_PASS, record_merged_moments, record_moments, record_summed, record_variance,
    record_wide_moments,
};
pub use product::{PRODUCT_CHAIN, record_product};
pub use step::record_step;

use crate::bodies::dispatch::{self, Body, VisitComplex, VisitFloat};
use crate::bodies::integer::Integer;
use crate::bodies::quotient::quotient_by_one;
use crate::bodies::short;
use crate::lane::Lane;
use crate::lane::record::{Symbol, Truth, record as on_lanes};

/// Appends what an element-wise operation computes in `compute` of operands of that dtype, and returns its
/// result, of the dtype that [`Op::infer`] returns. `None` outside the operation's domain, and for what no
/// code is: the greatest common divisor and the least common multiple, whose loops depend on the elements.
///
/// A division of integers by zero is unspecified: the caller looks for one before.
///
/// ```
/// use zerostride_code::{Builder, Type};
/// use zerostride_kernels::{Recorded, record};
/// use zerostride_ops::{DType, Op};
///
/// let mut code = Builder::new();
/// let x = code.input(Type::F32);
/// let Some(Recorded::Real(y)) = record(&mut code, Op::Exp2, DType::F32, &[Recorded::Real(x)]) else { panic!() };
/// let code = code.finish(&[y]);
/// assert_eq!(code.run(&[3f32.to_bits().into()]), [8f32.to_bits().into()]);
/// ```
///
/// # Panics
/// If there are fewer operands than the operation has.
pub fn record(code: &mut Builder, op: Op, compute: DType, operands: &[Recorded]) -> Option<Recorded> {
    if let (Op::Where, &[condition, yes, no]) = (op, operands)
        && compute != DType::Bool
    {
        // Most conditions are bools that became numbers.
        let mask = record_cast(code, compute, DType::Bool, condition).re();
        let mut select = |yes, no| code.select(mask, yes, no);
        return Some(match (yes, no) {
            (Recorded::Complex(re, im), Recorded::Complex(other_re, other_im)) => {
                Recorded::Complex(select(re, other_re), select(im, other_im))
            }
            _ => Recorded::Real(select(yes.re(), no.re())),
        });
    }
    match compute {
        DType::F16 | DType::BF16 => half(code, op, compute, operands),
        DType::F32 => on_lanes(code, || dispatch::float(op, Floats::<f32>::new(operands))),
        DType::F64 => on_lanes(code, || dispatch::float(op, Floats::<f64>::new(operands))),
        DType::C64 | DType::C128 => complex(code, op, compute, operands),
        DType::Bool => on_lanes(code, || dispatch::boolean(op, Booleans(operands))),
        _ if matches!(op, Op::Gcd | Op::Lcm) => None,
        DType::U8 => integer::<u8>(code, op, operands),
        DType::U16 => integer::<u16>(code, op, operands),
        DType::U32 => integer::<u32>(code, op, operands),
        DType::U64 => integer::<u64>(code, op, operands),
        DType::I8 => integer::<i8>(code, op, operands),
        DType::I16 => integer::<i16>(code, op, operands),
        DType::I32 => integer::<i32>(code, op, operands),
        DType::I64 => integer::<i64>(code, op, operands),
    }
}

/// Appends the quotient of a float by a number, which is one for all rows; `None` in other dtypes than f32
/// and f64.
///
/// ```
/// use zerostride_code::{Builder, Type};
/// use zerostride_kernels::{Recorded, record_quotient};
/// use zerostride_ops::DType;
///
/// let mut code = Builder::new();
/// let [x, number] = [(); 2].map(|()| Recorded::Real(code.input(Type::F64)));
/// let Some(Recorded::Real(y)) = record_quotient(&mut code, DType::F64, x, number) else { panic!() };
/// let code = code.finish(&[y]);
/// assert_eq!(code.run(&[1f64.to_bits(), 3f64.to_bits()]), [(1f64 / 3.0).to_bits()]);
/// ```
pub fn record_quotient(
    code: &mut Builder,
    compute: DType,
    a: Recorded,
    number: Recorded,
) -> Option<Recorded> {
    fn on<E>(code: &mut Builder, a: Recorded, number: Recorded) -> Option<Recorded>
    where
        Symbol<E>: Lane,
    {
        let quotient = || quotient_by_one(Symbol::<E>::new(a.re()), Symbol::new(number.re())).0;
        Some(Recorded::Real(on_lanes(code, quotient)))
    }
    match compute {
        DType::F32 => on::<f32>(code, a, number),
        DType::F64 => on::<f64>(code, a, number),
        _ => None,
    }
}

/// Appends the quotient of an f32 that is an integer of 8 bits by a number, given what
/// [`reciprocal_for_bytes`](crate::reciprocal_for_bytes) says of the number.
///
/// ```
/// use zerostride_code::{Builder, Type};
/// use zerostride_kernels::{Recorded, reciprocal_for_bytes, record_quotient_of_byte};
///
/// let mut code = Builder::new();
/// let [x, reciprocal, error] = [(); 3].map(|()| Recorded::Real(code.input(Type::F32)));
/// let Recorded::Real(y) = record_quotient_of_byte(&mut code, x, [reciprocal, error]) else { panic!() };
/// let code = code.finish(&[y]);
/// let bits = |x: f32| u64::from(x.to_bits());
/// let [reciprocal, error] = reciprocal_for_bytes(255.0).expect("there is no division");
/// assert_eq!(code.run(&[bits(7.0), bits(reciprocal), bits(error)]), [bits(7.0 / 255.0)]);
/// ```
pub fn record_quotient_of_byte(
    code: &mut Builder,
    a: Recorded,
    [reciprocal, error]: [Recorded; 2],
) -> Recorded {
    let rest = code.binary(Binary::Mul, a.re(), error.re());
    Recorded::Real(code.mul_add(a.re(), reciprocal.re(), rest))
}

fn integer<T: Integer>(code: &mut Builder, op: Op, operands: &[Recorded]) -> Option<Recorded> {
    on_lanes(code, || dispatch::integer(op, Integers::<T>::new(operands)))
}

/// Records bodies on floats.
struct Floats<'a, E> {
    operands: &'a [Recorded],
    kind: PhantomData<E>,
}

impl<'a, E> Floats<'a, E> {
    fn new(operands: &'a [Recorded]) -> Self {
        Floats { operands, kind: PhantomData }
    }

    fn symbols<const N: usize>(&self) -> [Symbol<E>; N] {
        std::array::from_fn(|place| Symbol::new(self.operands[place].re()))
    }
}

macro_rules! floats {
    ($($float:ident)+) => {$(
        impl VisitFloat<Symbol<$float>> for Floats<'_, $float> {
            type Output = Recorded;

            fn value<B: Body<N, Symbol<$float>, Result = Symbol<$float>>, const N: usize>(self) -> Recorded {
                Recorded::Real(B::call(self.symbols()).0)
            }

            fn test<B: Body<N, Symbol<$float>, Result = Truth>, const N: usize>(self) -> Recorded {
                Recorded::Real(B::call(self.symbols()).0)
            }

            fn integer<B: Body<N, Symbol<$float>, Result = Symbol<$float>>, const N: usize>(self) -> Recorded {
                let integral = B::call(self.symbols());
                Recorded::Real(integral.to_i32())
            }

            fn pair<B: Body<N, Symbol<$float>, Result = [Symbol<$float>; 2]>, const N: usize>(self) -> Recorded {
                let [re, im] = B::call(self.symbols());
                Recorded::Complex(re.0, im.0)
            }
        }
    )+};
}

floats!(f32 f64);

/// f16 and bf16 are computed in `f32` and rounded, but for two operations.
fn half(code: &mut Builder, op: Op, compute: DType, operands: &[Recorded]) -> Option<Recorded> {
    let narrow = stored_type(compute);
    let round = |code: &mut Builder, value| code.convert(narrow, value);
    let wide: Vec<Recorded> =
        operands.iter().map(|operand| operand.map(|value| code.convert(Type::F32, value))).collect();
    match op {
        Op::DivTrunc => {
            // The quotient is rounded before it is truncated.
            let quotient = code.binary(Binary::Div, wide[0].re(), wide[1].re());
            let quotient = round(code, quotient);
            let quotient = code.convert(Type::F32, quotient);
            let quotient = code.unary(Unary::Trunc, quotient);
            Some(Recorded::Real(round(code, quotient)))
        }
        Op::Nextafter => Some(Recorded::Real(next_half(code, narrow, [operands[0].re(), operands[1].re()]))),
        _ => {
            let result = on_lanes(code, || dispatch::float(op, Floats::<f32>::new(&wide)))?;
            Some(match result {
                Recorded::Real(value) if code.ty(value) == Type::F32 => Recorded::Real(round(code, value)),
                result => result,
            })
        }
    }
}

/// The next half after `a` towards `b`: neighbouring numbers have neighbouring bits.
fn next_half(code: &mut Builder, ty: Type, [a, b]: [Value; 2]) -> Value {
    let [wide_a, wide_b] = [a, b].map(|value| code.convert(Type::F32, value));
    let [bits, towards] = [a, b].map(|value| code.bits(Type::W16, value));
    let word = |code: &mut Builder, bits| code.constant(Type::W16, bits);
    let (sign, one, zero) = (word(code, 0x8000), word(code, 1), word(code, 0));
    let is_less = code.compare(Compare::Lt, wide_a, wide_b);
    let is_negative = code.compare(Compare::Lt, bits, zero);
    let away = code.binary(Binary::Xor, is_less, is_negative);
    let (up, down) = (code.binary(Binary::Add, bits, one), code.binary(Binary::Sub, bits, one));
    let moved = code.select(away, up, down);
    let float_zero = code.constant(Type::F32, 0);
    let is_zero = code.compare(Compare::Eq, wide_a, float_zero);
    let least = code.binary(Binary::And, towards, sign);
    let least = code.binary(Binary::Or, least, one);
    let next = code.select(is_zero, least, moved);
    let is_there = code.compare(Compare::Eq, wide_a, wide_b);
    let next = code.select(is_there, towards, next);
    let [a_is_number, b_is_number] = [wide_a, wide_b].map(|value| code.compare(Compare::Eq, value, value));
    let are_numbers = code.binary(Binary::And, a_is_number, b_is_number);
    let nan = word(code, if ty == Type::F16 { 0x7e00 } else { 0x7fc0 });
    let next = code.select(are_numbers, next, nan);
    code.bits(ty, next)
}

/// Records bodies on complex numbers whose parts are `f32` or `f64`.
struct Complexes<'a, E> {
    operands: &'a [Recorded],
    kind: PhantomData<E>,
}

impl<E> Complexes<'_, E> {
    fn symbols<const N: usize>(&self) -> [Complex<Symbol<E>>; N] {
        let part = Symbol::new;
        std::array::from_fn(|place| {
            Complex::new(part(self.operands[place].re()), part(self.operands[place].im()))
        })
    }
}

impl VisitComplex<Symbol<f64>> for Complexes<'_, f64> {
    type Output = Recorded;

    fn value<B, const N: usize>(self) -> Recorded
    where
        B: Body<N, Complex<Symbol<f64>>, Result = Complex<Symbol<f64>>>,
    {
        let result = B::call(self.symbols());
        Recorded::Complex(result.re.0, result.im.0)
    }

    fn test<B: Body<N, Complex<Symbol<f64>>, Result = Truth>, const N: usize>(self) -> Recorded {
        Recorded::Real(B::call(self.symbols()).0)
    }

    fn part<B: Body<N, Complex<Symbol<f64>>, Result = Symbol<f64>>, const N: usize>(self) -> Recorded {
        Recorded::Real(B::call(self.symbols()).0)
    }
}

/// The bodies of c64 on parts of `f32`, as its kernels have them.
fn short_complex(op: Op, operands: &[Recorded]) -> Option<Recorded> {
    type Number = Complex<Symbol<f32>>;
    let all = Complexes::<f32> { operands, kind: PhantomData };
    let part = |value: Symbol<f32>| Some(Recorded::Real(value.0));
    let both = |value: Number| Some(Recorded::Complex(value.re.0, value.im.0));
    match op {
        Op::Abs => part(<short::Abs as Body<1, Number>>::call(all.symbols())),
        Op::Add => both(<short::Add as Body<2, Number>>::call(all.symbols())),
        Op::Angle => part(<short::Angle as Body<1, Number>>::call(all.symbols())),
        Op::Div => both(<short::Div as Body<2, Number>>::call(all.symbols())),
        Op::Mul => both(<short::Mul as Body<2, Number>>::call(all.symbols())),
        Op::Neg => both(<short::Neg as Body<1, Number>>::call(all.symbols())),
        Op::Reciprocal => both(<short::Reciprocal as Body<1, Number>>::call(all.symbols())),
        Op::Square => both(<short::Square as Body<1, Number>>::call(all.symbols())),
        Op::Sub => both(<short::Sub as Body<2, Number>>::call(all.symbols())),
        _ => None,
    }
}

fn complex(code: &mut Builder, op: Op, compute: DType, operands: &[Recorded]) -> Option<Recorded> {
    if compute == DType::C64
        && let Some(result) = on_lanes(code, || short_complex(op, operands))
    {
        return Some(result);
    }
    let wide: Vec<Recorded> =
        operands.iter().map(|operand| operand.map(|value| code.convert(Type::F64, value))).collect();
    let visitor = Complexes::<f64> { operands: &wide, kind: PhantomData };
    let result = on_lanes(code, || dispatch::complex(op, visitor))?;
    Some(result.map(|value| match code.ty(value) {
        Type::Mask => value,
        _ => code.convert(stored_type(compute), value),
    }))
}
