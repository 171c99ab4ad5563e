//! Owns the lane that records: it computes nothing, and appends what it is asked to a code, which is then
//! that of every element. It does not know whose body asks.
//!
//! A body runs once, on values of the code that [`record`] lends to this thread. It asks for no element and
//! no memory, so the lane has none.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use zerostride_code::{Binary, Builder, Compare, Type, Unary, Value};

use super::{Arithmetic, AsBits, Bits, Element, Lane, Mask, Select};

thread_local! {
    static BUILDER: RefCell<Builder> = RefCell::default();
}

/// Runs `body` on lanes that append to `builder`.
pub(crate) fn record<R>(builder: &mut Builder, body: impl FnOnce() -> R) -> R {
    BUILDER.set(std::mem::take(builder));
    let result = body();
    *builder = BUILDER.take();
    result
}

/// Appends an instruction to the code that is lent to this thread.
pub(crate) fn append(instruction: impl FnOnce(&mut Builder) -> Value) -> Value {
    BUILDER.with_borrow_mut(instruction)
}

/// Kinds of instructions, one function each: bodies are inlined here as everywhere, and would be twice the
/// code of all kernels if `append` were inlined, too.
macro_rules! appended {
    ($($name:ident($($argument:ident: $type:ty),+);)+) => {$(
        #[inline(never)]
        fn $name($($argument: $type),+) -> Value {
            append(|code| code.$name($($argument),+))
        }
    )+};
}

appended! {
    unary(op: Unary, a: Value);
    binary(op: Binary, a: Value, b: Value);
    compare(op: Compare, a: Value, b: Value);
    select(mask: Value, yes: Value, no: Value);
    mul_add(a: Value, b: Value, c: Value);
    constant(ty: Type, bits: u64);
    convert(to: Type, a: Value);
    bits(to: Type, a: Value);
    lookup(ty: Type, table: [u64; 16], index: Value);
}

#[inline(never)]
fn begin_rare(mask: Value) {
    BUILDER.with_borrow_mut(|code| code.begin_rare(mask));
}

#[inline(never)]
fn end_rare() {
    BUILDER.with_borrow_mut(Builder::end_rare);
}

/// A float that can be recorded: its types in a code.
pub(crate) trait Kind: Element + Mul<Output = Self> {
    const FLOAT: Type;
    const WORD: Type;
    fn bits(self) -> u64;
}

impl Kind for f32 {
    const FLOAT: Type = Type::F32;
    const WORD: Type = Type::W32;

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Kind for f64 {
    const FLOAT: Type = Type::F64;
    const WORD: Type = Type::W64;

    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// A float of a code.
#[derive(Clone, Copy)]
pub(crate) struct Symbol<E>(pub(crate) Value, PhantomData<E>);

/// The bits of a float of a code.
#[derive(Clone, Copy)]
pub(crate) struct Word<E>(Value, PhantomData<E>);

/// A mask of a code.
#[derive(Clone, Copy)]
pub(crate) struct Truth(pub(crate) Value);

impl<E> Symbol<E> {
    pub(crate) fn new(value: Value) -> Self {
        Symbol(value, PhantomData)
    }
}

impl<E: Kind> Symbol<E> {
    /// An integral float as an integer.
    pub(crate) fn to_i32(self) -> Value {
        convert(Type::W32, self.0)
    }
}

impl<E> Word<E> {
    pub(crate) fn new(value: Value) -> Self {
        Word(value, PhantomData)
    }
}

impl<E> From<Word<E>> for Value {
    fn from(word: Word<E>) -> Value {
        word.0
    }
}

impl Truth {
    pub(crate) fn new(value: Value) -> Self {
        Truth(value)
    }
}

/// Operators that are one instruction: `[generics] type: Trait method, Instruction`.
macro_rules! operators {
    ($([$($generics:tt)*] $type:ty: $trait:ident $method:ident, $binary:ident;)+) => {$(
        impl<$($generics)*> $trait for $type {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                Self::new(binary(Binary::$binary, self.0, other.0))
            }
        }
    )+};
}

operators! {
    [E: Kind] Symbol<E>: Add add, Add;
    [E: Kind] Symbol<E>: Sub sub, Sub;
    [E: Kind] Symbol<E>: Mul mul, Mul;
    [E: Kind] Symbol<E>: Div div, Div;
    [E: Kind] Word<E>: Add add, Add;
    [E: Kind] Word<E>: Sub sub, Sub;
    [E: Kind] Word<E>: BitAnd bitand, And;
    [E: Kind] Word<E>: BitOr bitor, Or;
    [E: Kind] Word<E>: BitXor bitxor, Xor;
    [] Truth: BitAnd bitand, And;
    [] Truth: BitOr bitor, Or;
    [] Truth: BitXor bitxor, Xor;
}

/// The same on one value.
macro_rules! unary_operators {
    ($([$($generics:tt)*] $type:ty: $trait:ident $method:ident, $unary:ident;)+) => {$(
        impl<$($generics)*> $trait for $type {
            type Output = Self;

            fn $method(self) -> Self {
                Self::new(unary(Unary::$unary, self.0))
            }
        }
    )+};
}

unary_operators! {
    [E: Kind] Symbol<E>: Neg neg, Neg;
    [E: Kind] Word<E>: Not not, Not;
    [] Truth: Not not, Not;
}

macro_rules! shifts {
    ($($trait:ident $method:ident, $binary:ident;)+) => {$(
        impl<E: Kind> $trait<usize> for Word<E> {
            type Output = Self;

            fn $method(self, count: usize) -> Self {
                let count = Self::splat(count as u64);
                Self::new(binary(Binary::$binary, self.0, count.0))
            }
        }
    )+};
}

shifts! {
    Shl shl, ShiftLeft;
    Shr shr, ShiftRight;
}

/// Rare ways are always recorded; what runs the code may skip them.
impl Mask for Truth {
    fn begin_rare(self) -> bool {
        begin_rare(self.0);
        true
    }

    fn end_rare<T: Select<Truth>>(self, slow: T, usual: T) -> T {
        end_rare();
        T::select(self, slow, usual)
    }
}

impl<E: Kind> Bits for Word<E> {
    type Mask = Truth;

    fn splat(x: u64) -> Self {
        Word::new(constant(E::WORD, x))
    }

    fn eq(self, other: Self) -> Truth {
        Truth(compare(Compare::Eq, self.0, other.0))
    }

    fn signed_lt(self, other: Self) -> Truth {
        Truth(compare(Compare::Lt, self.0, other.0))
    }

    fn select(mask: Truth, yes: Self, no: Self) -> Self {
        Word::new(select(mask.0, yes.0, no.0))
    }
}

/// Methods that are one instruction.
macro_rules! methods {
    ($($method:ident $unary:ident),*; $($binary_method:ident $binary:ident),*; $($test:ident $compare:ident),*) => {
        $(fn $method(self) -> Self {
            Symbol::new(unary(Unary::$unary, self.0))
        })*
        $(fn $binary_method(self, other: Self) -> Self {
            Symbol::new(binary(Binary::$binary, self.0, other.0))
        })*
        $(fn $test(self, other: Self) -> Truth {
            Truth(compare(Compare::$compare, self.0, other.0))
        })*
    };
}

impl<E: Kind> Arithmetic for Symbol<E> {
    type Elem = E;
    type Mask = Truth;

    fn splat(x: E) -> Self {
        Symbol::new(constant(E::FLOAT, x.bits()))
    }

    fn mul_add(self, a: Self, b: Self) -> Self {
        Symbol::new(mul_add(self.0, a.0, b.0))
    }

    fn select(mask: Truth, yes: Self, no: Self) -> Self {
        Symbol::new(select(mask.0, yes.0, no.0))
    }

    methods! {
        abs Abs;
        min Min, max Max;
        lt Lt, le Le, eq Eq
    }
}

impl<E: Kind> AsBits for Symbol<E> {
    type Bits = Word<E>;

    fn to_bits(self) -> Word<E> {
        Word::new(bits(E::WORD, self.0))
    }

    fn from_bits(word: Word<E>) -> Self {
        Symbol::new(bits(E::FLOAT, word.0))
    }
}

impl<E: Kind> Lane for Symbol<E> {
    type Wide = Symbol<f64>;
    const IS_ALONE: bool = false;

    fn widen(self) -> Symbol<f64> {
        Symbol::new(convert(Type::F64, self.0))
    }

    fn narrow(x: Symbol<f64>) -> Self {
        Symbol::new(convert(E::FLOAT, x.0))
    }

    fn lookup(table: &[E; 16], index: Word<E>) -> Self {
        Symbol::new(lookup(E::FLOAT, table.map(E::bits), index.0))
    }

    methods! {
        sqrt Sqrt, round_ties_even RoundTiesEven, floor Floor, ceil Ceil, trunc Trunc;
        ldexp Ldexp, scale Scale;
    }

    fn exp2_int(n: Self) -> Self {
        Self::num(1.0).scale(n)
    }

    fn binade(self) -> (Self, Self) {
        let part = |op| Symbol::new(unary(op, self.0));
        (part(Unary::Exponent), part(Unary::Significand))
    }

    fn split_exponent(self) -> (Self, Self) {
        let (e, m) = self.binade();
        let is_large = m.ge(Self::num(1.5));
        (Select::select(is_large, e + Self::num(1.0), e), Select::select(is_large, m * Self::num(0.5), m))
    }

    fn remainder(self, other: Self) -> Self {
        long_remainder(self, other)
    }

    fn power_of_ten(self) -> Self {
        // More digits than any number has; NaN stays, and has no bits that count.
        let digits = Self::num(1024.0).min(self);
        let exponent: Word<E> = Word::new(convert(E::WORD, digits.0));
        // As the language's `powi`: by squaring.
        let (mut power, mut square) = (Self::num(1.0), E::from_f64(10.0));
        for bit in 0..=10 {
            let is_set = !(exponent & Bits::splat(1 << bit)).eq(Bits::splat(0));
            power = Select::select(is_set, power * Self::splat(square), power);
            square = square * square;
        }
        power
    }
}

/// The remainder of truncated division, for any quotient: by the divisor times falling powers of two, each
/// of which leaves a quotient of few bits. Then the product is exact, as is the difference.
fn long_remainder<V: Lane>(a: V, b: V) -> V {
    // One bit less than a significand has, so that a quotient is at most one too large.
    let step = V::Elem::SIGNIFICAND - 1;
    let bits = 2 * V::Elem::BIAS as usize + V::Elem::SIGNIFICAND + 1;
    let factor = V::num(2f64.powi(step as i32));
    let mut divisors = vec![b.abs()];
    while divisors.len() * step < bits {
        divisors.push(divisors[divisors.len() - 1] * factor);
    }
    let mut rest = a.abs();
    for &divisor in divisors.iter().rev() {
        let quotient = (rest / divisor).trunc();
        let less = (-quotient).mul_add(divisor, rest);
        let less = V::select(less.lt(V::num(0.0)), less + divisor, less);
        // What overflowed is more than there is.
        rest = V::select(divisor.is_finite(), less, rest);
    }
    let is_defined = a.is_finite() & !b.is_nan();
    V::select(is_defined, rest, V::num(f64::NAN)).copysign(a)
}
