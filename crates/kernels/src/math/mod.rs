//! Owns the mathematical functions: each is written once, over the [`Lane`](crate::lane::Lane) trait, so that
//! one element and a whole register get the same bits.
//!
//! A function is branch-free: both sides of a case distinction are computed and one is selected, or the rare
//! one is computed where some element asks for it ([`rare!`](crate::lane::rare)). Loops are `for` loops: a
//! closure that holds instructions is a function of its own, which lacks its caller's instruction set. What
//! differs between `f32` and `f64` is data (polynomials, split constants) behind a trait of the element type,
//! such as [`ExpConstants`](exp::ExpConstants). Bodies are shared where the double-word arithmetic of [`dw`]
//! makes both accurate.
//!
//! Deliberately unknown here: tensors, integers, f16 and bf16 (callers convert), and which operation uses
//! which function.

mod area;
mod bessel;
pub(crate) mod complex;
mod dw;
mod erf;
mod erf_table;
mod erfinv;
mod exp;
mod exponent;
mod gamma;
mod gelu;
mod horner;
mod hyperbolic;
mod inverse_trig;
mod log;
mod log_table;
mod logaddexp;
mod minimum;
mod normal_tail;
mod polynomial;
mod pow;
mod power;
mod real;
mod root;
mod short;
mod single;
#[cfg(test)]
mod tests;
mod trig;

pub(crate) use exponent::frexp;
pub(crate) use logaddexp::softplus;
use polynomial::{clamp, is_short, poly, short_poly};
pub(crate) use real::Real;

/// Declares the functions of one and of two floats, file by file. From this list the operations that they are
/// have their bodies, and every function its tests: against `docs/accuracy.md`, of each register, and of
/// answers in `spec/golden/math`.
macro_rules! define_functions {
    ($d:tt $($file:ident { $($unary:ident)* } { $($binary:ident)* })*) => {
        $(pub(crate) use $file::{$($unary,)* $($binary,)*};)*

        /// Hands all of them to a macro.
        macro_rules! for_each_function {
            ($d callback:ident) => {
                $d callback! { unary { $($($unary)*)* } binary { $($($binary)*)* } }
            };
        }
        pub(crate) use for_each_function;
    };
}

define_functions! {
    $
    area { acosh asinh atanh logit } {}
    bessel { i0 i1 } {}
    erf { erf erfc } {}
    erfinv { erfinv } {}
    exp { exp exp2 expm1 } {}
    exponent {} { ldexp }
    gamma { digamma lgamma trigamma } {}
    gelu { gelu gelu_tanh } {}
    hyperbolic { cosh sigmoid silu sinh tanh } {}
    inverse_trig { acos asin atan deg2rad rad2deg } { atan2 }
    log { log log1p log2 log10 } {}
    logaddexp {} { logaddexp logaddexp2 }
    pow {} { pow xlogy }
    root { rsqrt } { hypot }
    trig { cos sin sinc tan } {}
}
