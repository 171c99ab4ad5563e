//! Owns the way from an operation to its body, generated from the op table: code that makes kernels of bodies
//! visits them here. Every row whose domain holds a kind of dtype names a body in that kind's module, so that
//! a missing one does not compile. It does not know what a visitor makes of a body.

use num_complex::Complex;
use zerostride_ops::{Op, for_each_op};

use super::boolean;
use super::complex::{self, Part};
use super::float::{self, Floats};
use super::integer::{self, Whole};
use crate::lane::Mask;

/// A body of `N` operands, known by its type. It is inlined wherever it is called, so that it has the
/// caller's instruction set, and is no value, so that a plain function can be made of it.
pub(crate) trait Body<const N: usize, A>: 'static {
    /// The operation, for decisions at compile time.
    const OP: Op;
    type Result;
    fn call(operands: [A; N]) -> Self::Result;
}

/// A visitor of bodies on bool.
pub(crate) trait VisitBoolean<M: Mask>: Sized {
    type Output;
    fn value<B: Body<N, M, Result = M>, const N: usize>(self) -> Self::Output;
}

/// A visitor of bodies on integers.
pub(crate) trait VisitInteger<T: Whole>: Sized {
    type Output;
    fn value<B: Body<N, T, Result = T>, const N: usize>(self) -> Self::Output;
    fn test<B: Body<N, T, Result = T::Mask>, const N: usize>(self) -> Self::Output;
}

/// A visitor of bodies on a lane of floats.
pub(crate) trait VisitFloat<V: Floats>: Sized {
    type Output;
    fn value<B: Body<N, V, Result = V>, const N: usize>(self) -> Self::Output;
    fn test<B: Body<N, V, Result = V::Mask>, const N: usize>(self) -> Self::Output;
    /// The result is an integral float that is stored as an integer.
    fn integer<B: Body<N, V, Result = V>, const N: usize>(self) -> Self::Output;
    /// The result is complex.
    fn pair<B: Body<N, V, Result = [V; 2]>, const N: usize>(self) -> Self::Output;
}

/// A visitor of bodies on complex numbers whose parts are lanes.
pub(crate) trait VisitComplex<W: Part>: Sized {
    type Output;
    fn value<B: Body<N, Complex<W>, Result = Complex<W>>, const N: usize>(self) -> Self::Output;
    fn test<B: Body<N, Complex<W>, Result = W::Mask>, const N: usize>(self) -> Self::Output;
    /// The result is real.
    fn part<B: Body<N, Complex<W>, Result = W>, const N: usize>(self) -> Self::Output;
}

/// The number of operands of a body that takes an array of them.
const fn arity<A, R, const N: usize>(_: fn([A; N]) -> R) -> usize {
    N
}

/// Hands a body to the visitor's method for the kind of its result. First come `kind, domain, rule` of the
/// row.
///
/// A float-valued operation computes in floats even on integers, so bool and integers have no body there.
#[rustfmt::skip]
macro_rules! row {
    (boolean $domain:ident float      $($rest:tt)*) => { None };
    (boolean $domain:ident float_real $($rest:tt)*) => { None };
    (boolean $domain:ident double     $($rest:tt)*) => { None };
    (boolean any           $rule:ident $($rest:tt)*) => { row!(@body value    [T] [T: Mask] T; boolean $($rest)*) };
    (boolean real          $rule:ident $($rest:tt)*) => { row!(@body value    [T] [T: Mask] T; boolean $($rest)*) };
    (boolean integral      $rule:ident $($rest:tt)*) => { row!(@body value    [T] [T: Mask] T; boolean $($rest)*) };
    (boolean $domain:ident $rule:ident $($rest:tt)*) => { None };
    (integer $domain:ident float      $($rest:tt)*) => { None };
    (integer $domain:ident float_real $($rest:tt)*) => { None };
    (integer floats        $rule:ident $($rest:tt)*) => { None };
    (integer inexact       $rule:ident $($rest:tt)*) => { None };
    (integer complexes     $rule:ident $($rest:tt)*) => { None };
    (integer $domain:ident bool       $($rest:tt)*) => { row!(@body test      [T] [T: Whole] T::Mask; integer $($rest)*) };
    (integer $domain:ident $rule:ident $($rest:tt)*) => { row!(@body value    [T] [T: Whole] T; integer $($rest)*) };
    (float   integral      $rule:ident $($rest:tt)*) => { None };
    (float   integer       $rule:ident $($rest:tt)*) => { None };
    (float   complexes     $rule:ident $($rest:tt)*) => { None };
    (float   $domain:ident bool       $($rest:tt)*) => { row!(@body test      [T] [T: Floats] T::Mask; float $($rest)*) };
    (float   $domain:ident int        $($rest:tt)*) => { row!(@body integer   [T] [T: Floats] T; float $($rest)*) };
    (float   $domain:ident complex    $($rest:tt)*) => { row!(@body pair      [T] [T: Floats] [T; 2]; float $($rest)*) };
    (float   $domain:ident $rule:ident $($rest:tt)*) => { row!(@body value    [T] [T: Floats] T; float $($rest)*) };
    (complex integral      $rule:ident $($rest:tt)*) => { None };
    (complex integer       $rule:ident $($rest:tt)*) => { None };
    (complex floats        $rule:ident $($rest:tt)*) => { None };
    (complex real          $rule:ident $($rest:tt)*) => { None };
    (complex ordered       $rule:ident $($rest:tt)*) => { None };
    (complex $domain:ident bool       $($rest:tt)*) => { row!(@body test      [Complex<T>] [T: Part] T::Mask; complex $($rest)*) };
    (complex $domain:ident real       $($rest:tt)*) => { row!(@body part      [Complex<T>] [T: Part] T; complex $($rest)*) };
    (complex $domain:ident float_real $($rest:tt)*) => { row!(@body part      [Complex<T>] [T: Part] T; complex $($rest)*) };
    (complex $domain:ident $rule:ident $($rest:tt)*) => { row!(@body value     [Complex<T>] [T: Part] Complex<T>; complex $($rest)*) };

    (@body $method:ident [$a:ty] [$($bound:tt)*] $result:ty; $kind:ident $visitor:ident unary $body:ident $op:ident) => {
        row!(@impl $method [$a] [$($bound)*] $result; $visitor $op 1, [a] $kind::$body(a))
    };
    (@body $method:ident [$a:ty] [$($bound:tt)*] $result:ty; $kind:ident $visitor:ident binary $body:ident $op:ident) => {
        row!(@impl $method [$a] [$($bound)*] $result; $visitor $op 2, [a, b] $kind::$body(a, b))
    };
    (@body $method:ident [$a:ty] [T: Mask] $result:ty; $kind:ident $visitor:ident nary $body:ident $op:ident) => {
        row!(@impl $method [$a] [T: Mask] $result; $visitor $op { arity($kind::$body::<bool>) }, operands $kind::$body(operands))
    };
    (@body $method:ident [$a:ty] [T: Whole] $result:ty; $kind:ident $visitor:ident nary $body:ident $op:ident) => {
        row!(@impl $method [$a] [T: Whole] $result; $visitor $op { arity($kind::$body::<u8>) }, operands $kind::$body(operands))
    };
    (@body $method:ident [$a:ty] [T: Floats] $result:ty; $kind:ident $visitor:ident nary $body:ident $op:ident) => {
        row!(@impl $method [$a] [T: Floats] $result; $visitor $op { arity($kind::$body::<f32>) }, operands $kind::$body(operands))
    };
    (@body $method:ident [$a:ty] [T: Part] $result:ty; $kind:ident $visitor:ident nary $body:ident $op:ident) => {
        row!(@impl $method [$a] [T: Part] $result; $visitor $op { arity($kind::$body::<f64>) }, operands $kind::$body(operands))
    };
    (@impl $method:ident [$a:ty] [$($bound:tt)*] $result:ty; $visitor:ident $op:ident $n:expr, $operands:tt $call:expr) => {{
        struct Row;
        impl<$($bound)*> Body<{ $n }, $a> for Row {
            const OP: Op = Op::$op;
            type Result = $result;
            #[inline(always)]
            fn call($operands: [$a; $n]) -> $result {
                $call
            }
        }
        Some($visitor.$method::<Row, { $n }>())
    }};
}

/// One function for a kind of dtype.
macro_rules! define_kind {
    (
        $(#[$doc:meta])* $kind:ident [$($generics:tt)*] [$($visit:tt)*]
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $ug:ident $uk:literal $($uarg:literal)? $(($($ulist:tt)*))?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bg:ident $bk:literal $($barg:literal)? $(($($blist:tt)*))? $([$law:ident])?;)* }
        nary { $($(#[$ndoc:meta])* $nv:ident $nn:ident $ni:tt [$($na:ident)*] $ns:tt $nd:ident $nr:ident $ne:ident $ng:ident $nk:literal $($narg:literal)? $(($($nlist:tt)*))?;)* }
        reduce { $($reduce:tt)* }
        formula { $($formula:tt)* }
    ) => {
        $(#[$doc])*
        pub(crate) fn $kind<$($generics)* K: $($visit)*>(op: Op, visitor: K) -> Option<K::Output> {
            match op {
                $(Op::$uv => row!($kind $ud $ur visitor unary $un $uv),)*
                $(Op::$bv => row!($kind $bd $br visitor binary $bn $bv),)*
                $(Op::$nv => row!($kind $nd $nr visitor nary $nn $nv),)*
                _ => None,
            }
        }
    };
}

for_each_op!(
    define_kind,
    /// What the visitor makes of the operation's body on bool; `None` outside the operation's domain, as for
    /// the others.
    boolean [T: Mask,] [VisitBoolean<T>]
);
for_each_op!(
    define_kind,
    /// What the visitor makes of the operation's body on integers.
    integer [T: Whole,] [VisitInteger<T>]
);
for_each_op!(
    define_kind,
    /// What the visitor makes of the operation's body on floats.
    float [T: Floats,] [VisitFloat<T>]
);
for_each_op!(
    define_kind,
    /// What the visitor makes of the operation's body on complex numbers.
    complex [T: Part,] [VisitComplex<T>]
);
