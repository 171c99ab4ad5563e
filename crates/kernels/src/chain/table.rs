//! Owns the look-up of functions.
use zerostride_ops::{DType, Op};

use super::array::{Array, Function};
use super::code::{Code, Set};
use super::memory::{Load, Store};

/// The function of an operation, and what comes after it.
pub(super) struct Mapped {
    pub(super) code: Code,
    /// Rounds to the halves' precision.
    pub(super) round: Option<Code>,
    pub(super) result: DType,
}

/// The function that loads elements of a dtype into lanes of a width.
pub(super) fn load<S: Set>(dtype: DType, width: usize) -> Option<Code> {
    match (dtype, width) {
        (DType::F32 | DType::I32 | DType::U32, 4) => Some(S::step::<Load<u32>>()),
        _ => None,
    }
}

/// The function that converts an operand before the one that uses it, where it is not as wide as the lanes.
pub(super) fn stage<S: Set>(_: DType, _: usize) -> Option<Code> {
    None
}

/// The functions that store elements of a dtype from lanes of a width, through the caches and past them.
pub(super) fn store<S: Set>(dtype: DType, width: usize) -> Option<(Code, Code)> {
    match (dtype, width) {
        (DType::F32 | DType::I32 | DType::U32, 4) => {
            Some((S::store::<Store<u32>>(), S::stream::<Store<u32>>()))
        }
        _ => None,
    }
}

/// The function that converts lanes from one dtype to another.
pub(super) fn cast<S: Set>(_from: DType, _to: DType, _width: usize) -> Option<Code> {
    None
}

struct Add;
impl Function<f32, 2> for Add {
    #[inline(always)]
    fn call([a, b]: [f32; 2]) -> f32 {
        a + b
    }
}
struct Sub;
impl Function<f32, 2> for Sub {
    #[inline(always)]
    fn call([a, b]: [f32; 2]) -> f32 {
        a - b
    }
}
struct Mul;
impl Function<f32, 2> for Mul {
    #[inline(always)]
    fn call([a, b]: [f32; 2]) -> f32 {
        a * b
    }
}
struct Div;
impl Function<f32, 2> for Div {
    #[inline(always)]
    fn call([a, b]: [f32; 2]) -> f32 {
        a / b
    }
}

fn binary<S: Set, F: Function<f32, 2>>(place: usize) -> Option<Mapped> {
    let code = match place {
        0 => S::step::<Array<f32, f32, F, 2, 0>>(),
        1 => S::step::<Array<f32, f32, F, 2, 1>>(),
        _ => return None,
    };
    Some(Mapped { code, round: None, result: DType::F32 })
}

/// The function of an operation with the running value at one of its operands' places.
pub(super) fn map<S: Set>(op: Op, compute: DType, place: usize, _width: usize) -> Option<Mapped> {
    match (op, compute) {
        (Op::Add, DType::F32) => binary::<S, Add>(place),
        (Op::Sub, DType::F32) => binary::<S, Sub>(place),
        (Op::Mul, DType::F32) => binary::<S, Mul>(place),
        (Op::Div, DType::F32) => binary::<S, Div>(place),
        _ => None,
    }
}
