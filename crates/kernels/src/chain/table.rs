//! Owns the look-up of primitives: which one an instruction is, given dtypes, lane width and the place of the
//! running value. It does not know what primitives do, nor how they become code.

use std::marker::PhantomData;

use ::half::{bf16, f16};
use num_complex::Complex32;
use zerostride_ops::{Category, DType, Op, Rule};

use super::array::{self, BoolsInLanes, OnElements};
use super::cast::{Cast, CastFrom, CastTo};
use super::code::{Code, Prepare, Prepared, Set, StorePrimitive};
use super::float::{self, IntegralFloat, OnRegisters};
use super::half::{LoadF16, RoundBF16, RoundF16, StageF16, StoreBF16, StoreF16};
use super::memory::{
    Exchange, LoadPrefetching, LoadRun, LoadStepped, Narrow, StageOperand, StageStepped, StoreRun, Widen,
};
use super::quotient::SplatQuotient;
use crate::bodies::complex::short;
use crate::bodies::dispatch::{self, Body, VisitBoolean, VisitFloat, VisitInteger};
use crate::bodies::float::Floats;
use crate::bodies::integer::{self, Integer};
use crate::tuning::Tuning;

/// How elements of a dtype are loaded into lanes of a width and stored from them.
pub(super) struct Form {
    pub(super) load: Code,
    /// The load with a prefetch, if elements are as wide as the lanes.
    pub(super) fetch: Option<Code>,
    /// The conversion of an operand that is not the running value, if it needs one.
    pub(super) stage: Option<Code>,
    /// The stores.
    pub(super) stores: StoreCodes,
    /// The stores that also round floats to the dtype, if there are such.
    pub(super) rounding: Option<StoreCodes>,
}

/// A store, and the non-temporal one.
#[derive(Clone, Copy)]
pub(super) struct StoreCodes {
    pub(super) store: Code,
    pub(super) stream: Code,
}

impl StoreCodes {
    fn of<S: Set, K: StorePrimitive<S>>() -> StoreCodes {
        StoreCodes { store: S::store::<K>(), stream: S::stream::<K>() }
    }
}

/// Elements as wide as the lanes.
fn native<S: Set, M>() -> Form {
    Form {
        load: S::start::<LoadRun<M>>(),
        fetch: Some(S::start::<LoadPrefetching<M>>()),
        stage: None,
        stores: StoreCodes::of::<S, StoreRun<M>>(),
        rounding: None,
    }
}

/// Elements of type `M` that are values of `L` in lanes of type `R`, and of `T` when they are stored.
fn converted<S: Set, M: CastFrom, R: CastFrom, L: CastTo<R>, T: CastTo<M>>() -> Form {
    Form {
        load: S::start::<Widen<M, R, L>>(),
        fetch: None,
        stage: Some(S::step::<StageOperand<M, R, L>>()),
        stores: StoreCodes::of::<S, Narrow<R, M, T>>(),
        rounding: None,
    }
}

/// The form of a dtype in lanes of that many bytes, if they are wide enough. f16 and bf16 are `f32` or `f64`
/// there, other narrow dtypes signed integers.
#[rustfmt::skip]
pub(super) fn form<S: Set>(dtype: DType, width: usize) -> Option<Form> {
    use DType::*;
    Some(match (width, dtype) {
        (1, Bool) => Form { load: S::start::<Widen<u8, u8, bool>>(), fetch: None, ..native::<S, u8>() },
        (1, U8 | I8) => native::<S, u8>(),

        (2, Bool) => converted::<S, u8, i16, bool, bool>(),
        (2, U8) => converted::<S, u8, i16, u8, u8>(),
        (2, I8) => converted::<S, i8, i16, i8, i8>(),
        (2, U16 | I16) => native::<S, u16>(),

        (4, Bool) => converted::<S, u8, i32, bool, bool>(),
        (4, U8) => converted::<S, u8, i32, u8, u8>(),
        (4, I8) => converted::<S, i8, i32, i8, i8>(),
        (4, U16) => converted::<S, u16, i32, u16, u16>(),
        (4, I16) => converted::<S, i16, i32, i16, i16>(),
        (4, F16) => Form {
            load: S::start::<LoadF16>(),
            fetch: None,
            stage: Some(S::step::<StageF16>()),
            stores: StoreCodes::of::<S, StoreF16>(),
            rounding: None,
        },
        (4, BF16) => Form {
            load: S::start::<Widen<bf16, f32, f32>>(),
            fetch: None,
            stage: Some(S::step::<StageOperand<bf16, f32, f32>>()),
            stores: StoreCodes::of::<S, StoreBF16<false>>(),
            rounding: Some(StoreCodes::of::<S, StoreBF16<true>>()),
        },
        (4, U32 | I32 | F32) => native::<S, u32>(),

        (8, Bool) => converted::<S, u8, i64, bool, bool>(),
        (8, U8) => converted::<S, u8, i64, u8, u8>(),
        (8, I8) => converted::<S, i8, i64, i8, i8>(),
        (8, U16) => converted::<S, u16, i64, u16, u16>(),
        (8, I16) => converted::<S, i16, i64, i16, i16>(),
        (8, U32) => converted::<S, u32, i64, u32, u32>(),
        (8, I32) => converted::<S, i32, i64, i32, i32>(),
        (8, F16) => converted::<S, f16, f64, f64, f16>(),
        (8, BF16) => converted::<S, bf16, f64, f64, bf16>(),
        (8, F32) => converted::<S, f32, f64, f64, f32>(),
        (8, U64 | I64 | F64 | C64) => native::<S, u64>(),
        _ => return None,
    })
}

/// The strided loads of elements of so many bytes, as wide as the lanes: of the running value, and of another
/// operand.
pub(super) fn stepped<S: Set>(size: usize, step: isize) -> Option<[Code; 2]> {
    match size {
        4 => steps::<S, u32>(step),
        8 => steps::<S, u64>(step),
        _ => None,
    }
}

fn steps<S: Set, T>(step: isize) -> Option<[Code; 2]> {
    macro_rules! of {
        ($($step:literal)*) => {
            match step {
                $($step => Some([S::start::<LoadStepped<T, $step>>(), S::step::<StageStepped<T, $step>>()]),)*
                _ => None,
            }
        };
    }
    of!(-4 -3 -2 -1 2 3 4)
}

/// The primitive that converts lanes of one dtype to another.
pub(super) fn cast<S: Set>(from: DType, to: DType, width: usize) -> Option<Code> {
    use DType::*;
    match (width, from) {
        (1, U8) => cast_1::<S, u8>(to),
        (1, _) => cast_1::<S, i8>(to),
        (2, U16) => cast_2::<S, u16>(to),
        (2, _) => cast_2::<S, i16>(to),
        (4, F32 | BF16) if to == F16 => Some(S::step::<RoundF16>()),
        (4, F32 | F16) if to == BF16 => Some(S::step::<OnRegisters<S::F32, RoundBF16, 1, 0>>()),
        (4, F32 | F16 | BF16) => cast_4::<S, f32>(to),
        // f16 and bf16 hold all values of these dtypes exactly.
        (4, Bool | U8 | I8) if to.is_half() => cast_4::<S, i32>(F32),
        (4, U32) => cast_4::<S, u32>(to),
        (4, _) => cast_4::<S, i32>(to),
        (_, F64 | F32 | F16 | BF16) => cast_8::<S, f64>(to),
        (_, U64) => cast_8::<S, u64>(to),
        (_, C64) => None,
        _ => cast_8::<S, i64>(to),
    }
}

/// The primitive that converts lanes of type `A` to values of `T` in lanes of type `R`.
fn converts<S: Set, A: CastFrom, T: CastTo<R>, R: 'static>() -> Code {
    S::step::<OnElements<A, R, Cast<T, R>, 1, 0>>()
}

/// The casts to the dtypes that fit into lanes of a width: `dtype value lane`.
macro_rules! casts {
    ($($name:ident { $($dtype:ident $value:ident $lane:ident),* })*) => {
        $(fn $name<S: Set, A: CastFrom>(to: DType) -> Option<Code> {
            match to {
                $(DType::$dtype => Some(converts::<S, A, $value, $lane>()),)*
                _ => None,
            }
        })*
    };
}

casts! {
    cast_1 { Bool bool i8, U8 u8 u8, I8 i8 i8 }
    cast_2 { Bool bool i16, U8 u8 i16, I8 i8 i16, U16 u16 u16, I16 i16 i16 }
    cast_4 {
        Bool bool i32, U8 u8 i32, I8 i8 i32, U16 u16 i32, I16 i16 i32, U32 u32 u32, I32 i32 i32,
        F16 f16 f32, BF16 bf16 f32, F32 f32 f32
    }
    cast_8 {
        Bool bool i64, U8 u8 i64, I8 i8 i64, U16 u16 i64, I16 i16 i64, U32 u32 i64, I32 i32 i64, U64 u64 u64, I64 i64 i64,
        F16 f16 f64, BF16 bf16 f64, F32 f32 f64, F64 f64 f64
    }
}

/// The primitives of an operation, in order, and the dtype of the result.
pub(super) struct Mapped {
    /// Makes the first operand the running value, and the running value an operand in memory.
    pub(super) exchange: Option<Code>,
    pub(super) code: Code,
    /// What follows the primitive with the other operands.
    pub(super) after: [Option<Code>; 2],
    pub(super) arity: usize,
    pub(super) result: DType,
}

/// The primitives of an operation with the running value at one of its operands' places.
pub(super) fn map<S: Set>(op: Op, compute: DType, place: usize, width: usize) -> Option<Mapped> {
    let result = match op.info().rule {
        Rule::bool => DType::Bool,
        Rule::int => DType::I32,
        Rule::complex => return None,
        _ => compute,
    };
    let rounds = compute.is_half() && result == compute && !keeps_halves(op);
    let round = if rounds { cast::<S>(DType::F32, compute, width) } else { None };
    let (first, then) = match op {
        // f16 and bf16 round the quotient before it is truncated, and their neighbours are not those of f32.
        Op::DivTrunc if rounds => (Op::Div, Some(function::<S>(Op::Trunc, compute, 0, width)?.code)),
        Op::Nextafter if rounds => return None,
        _ => (op, None),
    };
    let (function, exchange) = match function::<S>(first, compute, place, width) {
        Some(function) => (function, None),
        None => (function::<S>(first, compute, 0, width)?, Some(exchange::<S>(width))),
    };
    Some(Mapped { exchange, code: function.code, after: [round, then], arity: function.arity, result })
}

/// Whether the result in `f32` of an operation on f16 or bf16 needs no rounding: it is an operand, of either
/// sign, or a whole number next to one.
fn keeps_halves(op: Op) -> bool {
    use Op::*;
    [Abs, Ceil, Copysign, Floor, Fmax, Fmin, Maximum, Minimum, Neg, Positive, Relu, Round, Trunc, Where]
        .contains(&op)
}

/// The operation that computes the same bits with its two operands exchanged, if there is one.
const fn exchanged(op: Op, on_floats: bool) -> Option<Op> {
    match op {
        Op::Lt => Some(Op::Gt),
        Op::Le => Some(Op::Ge),
        Op::Gt => Some(Op::Lt),
        Op::Ge => Some(Op::Le),
        Op::Eq | Op::Ne | Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor => Some(op),
        // A sum of two NaN is the first one, and the maximum of two zeros the second one.
        _ if on_floats || !op.info().commutative => None,
        _ => Some(op),
    }
}

/// The primitive of an operation in lanes of a width, which its dtype computes in.
fn function<S: Set>(op: Op, compute: DType, place: usize, width: usize) -> Option<Function> {
    let (op, place) = match exchanged(op, compute.category() >= Category::Float) {
        Some(op) if place == 1 => (op, 0),
        _ => (op, place),
    };
    let steps = NumberPrimitives::<S> { place, set: PhantomData };
    match integer::serving(op, compute) {
        DType::Bool => bools::<S>(op, place, width),
        DType::U8 => dispatch::integer::<u8, _>(op, steps)?,
        DType::U16 => dispatch::integer::<u16, _>(op, steps)?,
        DType::U32 => dispatch::integer::<u32, _>(op, steps)?,
        DType::U64 => dispatch::integer::<u64, _>(op, steps)?,
        DType::I8 => dispatch::integer::<i8, _>(op, steps)?,
        DType::I16 => dispatch::integer::<i16, _>(op, steps)?,
        DType::I32 => dispatch::integer::<i32, _>(op, steps)?,
        DType::I64 => dispatch::integer::<i64, _>(op, steps)?,
        DType::F32 | DType::F16 | DType::BF16 => dispatch::float::<S::F32, _>(op, steps)?,
        DType::F64 => dispatch::float::<S::F64s, _>(op, steps)?,
        DType::C64 => pairs::<S>(op, place),
        DType::C128 => None,
    }
}

/// The primitive of an operation on c64, whose parts are neighbours in a register: only where the arithmetic
/// takes about as long as separating the parts.
fn pairs<S: Set>(op: Op, place: usize) -> Option<Function> {
    match op {
        Op::Add => elements::<S, Complex32, short::Add, 2, true>(place),
        Op::Mul => elements::<S, Complex32, short::Mul, 2, true>(place),
        Op::Neg => elements::<S, Complex32, short::Neg, 1, true>(place),
        Op::Square => elements::<S, Complex32, short::Square, 1, true>(place),
        Op::Sub => elements::<S, Complex32, short::Sub, 2, true>(place),
        _ => None,
    }
}

/// Division by a broadcast scalar, where it pays. Registers of 64 bytes take more than twice as long to
/// divide as to multiply and correct, those of 32 bytes as long (Cascade Lake).
pub(super) fn quotient<S: Set>(compute: DType) -> Option<(Code, Prepare)> {
    if const { size_of::<S::Register>() < 64 } {
        return None;
    }
    match compute {
        DType::F32 if !Tuning::active().divide_f32_by_reciprocal => None,
        DType::F32 => Some(prepared::<S, SplatQuotient<S::F32>>()),
        DType::F64 => Some(prepared::<S, SplatQuotient<S::F64>>()),
        _ => None,
    }
}

fn prepared<S: Set, B: Prepared<S>>() -> (Code, Prepare) {
    (S::step::<B>(), S::prepare::<B>())
}

fn exchange<S: Set>(width: usize) -> Code {
    match width {
        1 => S::step::<Exchange<u8>>(),
        2 => S::step::<Exchange<u16>>(),
        4 => S::step::<Exchange<u32>>(),
        _ => S::step::<Exchange<u64>>(),
    }
}

fn bools<S: Set>(op: Op, place: usize, width: usize) -> Option<Function> {
    match width {
        1 => dispatch::boolean(op, BoolPrimitives::<S, u8> { place, lane: PhantomData })?,
        2 => dispatch::boolean(op, BoolPrimitives::<S, u16> { place, lane: PhantomData })?,
        4 => dispatch::boolean(op, BoolPrimitives::<S, u32> { place, lane: PhantomData })?,
        _ => dispatch::boolean(op, BoolPrimitives::<S, u64> { place, lane: PhantomData })?,
    }
}

/// Makes primitives of bodies on floats and integers.
struct NumberPrimitives<S> {
    place: usize,
    set: PhantomData<S>,
}

impl<S: Set, V: Floats> VisitFloat<V> for NumberPrimitives<S> {
    type Output = Option<Function>;

    fn value<B: Body<N, V, Result = V>, const N: usize>(self) -> Option<Function> {
        registers::<S, V, B, N>(self.place)
    }

    fn test<B: Body<N, V, Result = V::Mask>, const N: usize>(self) -> Option<Function> {
        registers::<S, V, float::FloatTest<B>, N>(self.place)
    }

    fn integer<B: Body<N, V, Result = V>, const N: usize>(self) -> Option<Function> {
        registers::<S, V, IntegralFloat<B>, N>(self.place)
    }

    fn pair<B: Body<N, V, Result = [V; 2]>, const N: usize>(self) -> Option<Function> {
        None
    }
}

impl<S: Set, T: Integer> VisitInteger<T> for NumberPrimitives<S> {
    type Output = Option<Function>;

    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> Option<Function> {
        integers::<S, T, B, N>(self.place)
    }

    fn test<B: Body<N, T, Result = bool>, const N: usize>(self) -> Option<Function> {
        integers::<S, T, array::IntegerTest<B>, N>(self.place)
    }
}

/// Makes primitives of bodies on bool, in lanes of an integer type.
struct BoolPrimitives<S, T> {
    place: usize,
    lane: PhantomData<(S, T)>,
}

impl<S: Set, T: Integer> VisitBoolean<bool> for BoolPrimitives<S, T> {
    type Output = Option<Function>;

    fn value<B: Body<N, bool, Result = bool>, const N: usize>(self) -> Option<Function> {
        integers::<S, T, BoolsInLanes<B>, N>(self.place)
    }
}

/// A primitive of an operation, with the number of the operation's operands.
#[derive(Clone, Copy)]
struct Function {
    code: Code,
    arity: usize,
}

/// Whether an operation has a primitive for the running value at this place beside the first. Long operations
/// exchange operands instead, which costs nothing beside them.
const fn has_place(op: Op, operands: usize, place: usize, on_floats: bool) -> bool {
    place < operands && op.info().is_short() && exchanged(op, on_floats).is_none()
}

fn registers<S: Set, V: Floats, B: Body<N, V, Result = V>, const N: usize>(place: usize) -> Option<Function> {
    let code = match place {
        0 => S::step::<OnRegisters<V, B, N, 0>>(),
        1 if const { has_place(B::OP, N, 1, true) } => S::step::<OnRegisters<V, B, N, 1>>(),
        2 if const { has_place(B::OP, N, 2, true) } => S::step::<OnRegisters<V, B, N, 2>>(),
        _ => return None,
    };
    Some(Function { code, arity: N })
}

fn integers<S: Set, T: Integer, B: Body<N, T, Result = T>, const N: usize>(place: usize) -> Option<Function> {
    // Divisions have no primitive, because they can fail.
    if const { integer::divides(B::OP) || integer::is_served::<T>(B::OP) } {
        None
    } else {
        elements::<S, T, B, N, false>(place)
    }
}

fn elements<S: Set, T: Copy + 'static, B: Body<N, T, Result = T>, const N: usize, const FLOATS: bool>(
    place: usize,
) -> Option<Function> {
    let code = match place {
        0 => S::step::<OnElements<T, T, B, N, 0>>(),
        1 if const { has_place(B::OP, N, 1, FLOATS) } => S::step::<OnElements<T, T, B, N, 1>>(),
        2 if const { has_place(B::OP, N, 2, FLOATS) } => S::step::<OnElements<T, T, B, N, 2>>(),
        _ => return None,
    };
    Some(Function { code, arity: N })
}
