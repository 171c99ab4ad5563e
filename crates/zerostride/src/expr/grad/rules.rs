//! Owns the derivatives of the table's rows: one function for each row whose column `derivative` says `rule`,
//! of the row's name. It takes the operands, the result and the cotangent of the result, and gives the
//! cotangents of the operands. It knows nothing of broadcasting nor of dtypes: the caller sums what was
//! stretched and converts (`transform.rs`).
//!
//! The formulas and what they give where there is no derivative are PyTorch's. Values that would be divided
//! by zero or taken the logarithm of are replaced before, not only masked after, so that the derivatives of
//! derivatives are finite, too.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI, LN_2, LN_10, PI};

use zerostride_ops::{Category, DType, Op, Reduction, for_each_op};

use crate::expr::{Dims, Expr, Operands};
use crate::{Result, Tensor};

/// The cotangents of an operation's operands. A number says that nothing flows to that operand; an empty
/// list, that nothing flows to any.
pub(super) type Cotangents = Operands;

/// One row: its rule where it has one.
#[rustfmt::skip]
macro_rules! row {
    ($class:ident $name:ident zero $operands:ident $result:ident $cotangent:ident) => { Some(Cotangents::new()) };
    ($class:ident $name:ident none $operands:ident $result:ident $cotangent:ident) => { None };
    (unary $name:ident rule $operands:ident $result:ident $cotangent:ident) => {
        Some(Cotangents::from_iter([$name(&$operands[0], $result, $cotangent)]))
    };
    (binary $name:ident rule $operands:ident $result:ident $cotangent:ident) => {
        Some(Cotangents::from_iter($name([&$operands[0], &$operands[1]], $result, $cotangent)))
    };
    (nary $name:ident rule $operands:ident $result:ident $cotangent:ident) => {
        Some($name($operands, $result, $cotangent))
    };
}

macro_rules! define_rules {
    (
        unary { $($(#[$udoc:meta])* $uv:ident $un:ident $ui:tt [$($ua:ident)*] $us:tt $ud:ident $ur:ident $ue:ident $ug:ident $uk:literal $($uarg:literal)? $(($($ulist:tt)*))?;)* }
        binary { $($(#[$bdoc:meta])* $bv:ident $bn:ident $bi:tt [$($ba:ident)*] $bs:tt $bd:ident $br:ident $be:ident $bg:ident $bk:literal $($barg:literal)? $(($($blist:tt)*))? $([$law:ident])?;)* }
        nary { $($(#[$ndoc:meta])* $nv:ident $nn:ident $ni:tt [$($na:ident)*] $ns:tt $nd:ident $nr:ident $ne:ident $ng:ident $nk:literal $($narg:literal)? $(($($nlist:tt)*))?;)* }
        reduce { $($(#[$rdoc:meta])* $rv:ident $rn:ident $rd:ident $rr:ident $ro:ident $req:ident $rone:ident $rp:tt $rem:ident $rl:ident $rg:ident $rdt:tt $rk:literal ($($rlist:tt)*);)* }
        formula { $($formula:tt)* }
    ) => {
        /// The cotangents of an element-wise operation's operands; `None` where it has no derivative.
        pub(super) fn of_map(
            op: Op,
            operands: &[Expr],
            result: &Expr,
            cotangent: &Expr,
        ) -> Option<Cotangents> {
            match op {
                $(Op::$uv => row!(unary $un $ug operands result cotangent),)*
                $(Op::$bv => row!(binary $bn $bg operands result cotangent),)*
                $(Op::$nv => row!(nary $nn $ng operands result cotangent),)*
                _ => None,
            }
        }

        /// The cotangent of a reduction's operand, given the result and its cotangent with the reduced
        /// dimensions in place; `None` where it has no derivative.
        pub(super) fn of_reduction(
            op: Reduction,
            operand: &Expr,
            result: &Expr,
            cotangent: &Expr,
            reduced: &ReducedDims,
        ) -> Option<Expr> {
            match op {
                $(Reduction::$rv => reduction!($rn $rg operand result cotangent reduced),)*
            }
        }
    };
}

#[rustfmt::skip]
macro_rules! reduction {
    ($name:ident none $operand:ident $result:ident $cotangent:ident $reduced:ident) => { None };
    ($name:ident rule $operand:ident $result:ident $cotangent:ident $reduced:ident) => {
        Some($name($operand, $result, $cotangent, $reduced))
    };
}

for_each_op!(define_rules);

/// What a reduction does besides the operation.
pub(super) struct ReducedDims {
    /// The reduced dimensions; they stay.
    pub(super) dims: Dims,
    /// How many elements each result combines.
    pub(super) count: usize,
    /// What a variance takes from that number.
    pub(super) correction: f64,
}

fn is_complex(expr: &Expr) -> bool {
    expr.dtype().is_ok_and(|dtype| dtype.category() == Category::Complex)
}

/// The conjugate; real numbers stay, without an operation.
pub(super) fn conj(expr: &Expr) -> Expr {
    if is_complex(expr) { expr.conj_physical() } else { expr.clone() }
}

/// `value` where the condition holds, else 0.
fn only(value: impl Into<Expr>, condition: &Expr) -> Expr {
    value.into().where_(condition, 0.0)
}

/// `value`, but 1 where the condition holds: for a division or logarithm that would not be finite there.
fn one_where(condition: &Expr, value: &Expr) -> Expr {
    Expr::from(1.0).where_(condition, value)
}

/// The imaginary number with that imaginary part.
fn imaginary(part: &Expr) -> Expr {
    let zero = part.dtype().map(|dtype| Expr::from(0.0).to_dtype(dtype));
    zero.map_or_else(|_| part.clone(), |zero| zero.complex(part))
}

/// 1 - x², without the rounding error of x² where little is left of 1.
fn one_minus_square(x: &Expr) -> Expr {
    (1.0 - x) * (x + 1.0)
}

fn abs(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * x.sgn()
}

fn acos(x: &Expr, y: &Expr, g: &Expr) -> Expr {
    -asin(x, y, g)
}

fn acosh(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    // The product keeps to the branch of `acosh` on the complex plane; of real numbers it has none below 1.
    let root =
        if is_complex(x) { (x - 1.0).rsqrt() * (x + 1.0).rsqrt() } else { ((x - 1.0) * (x + 1.0)).rsqrt() };
    g * conj(&root)
}

fn angle(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    if !is_complex(x) {
        return 0.0.into();
    }
    let (real, imag) = (x.real(), x.imag());
    let squared = &real * &real + &imag * &imag;
    let scaled = g / one_where(&squared.eq(0.0), &squared);
    (-(&scaled * imag)).complex(&scaled * real)
}

fn asin(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * conj(&one_minus_square(x).rsqrt())
}

fn asinh(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * conj(&(x * x + 1.0).rsqrt())
}

fn atan(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g / conj(&(x * x + 1.0))
}

fn atanh(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g / conj(&one_minus_square(x))
}

fn conj_physical(_: &Expr, _: &Expr, g: &Expr) -> Expr {
    conj(g)
}

fn cos(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    -(g * conj(&x.sin()))
}

fn cosh(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * conj(&x.sinh())
}

fn deg2rad(_: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * (PI / 180.0)
}

fn digamma(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * x.trigamma()
}

fn erf(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * ((-(x * x)).exp() * FRAC_2_SQRT_PI)
}

fn erfc(x: &Expr, y: &Expr, g: &Expr) -> Expr {
    -erf(x, y, g)
}

fn erfinv(_: &Expr, y: &Expr, g: &Expr) -> Expr {
    g * ((y * y).exp() * FRAC_2_SQRT_PI.recip())
}

fn exp(_: &Expr, y: &Expr, g: &Expr) -> Expr {
    g * conj(y)
}

fn exp2(_: &Expr, y: &Expr, g: &Expr) -> Expr {
    g * (conj(y) * LN_2)
}

/// The result plus 1 would be 0 where the exponential is small.
fn expm1(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * conj(&x.exp())
}

fn frac(_: &Expr, _: &Expr, g: &Expr) -> Expr {
    g.clone()
}

fn frexp_mantissa(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g.ldexp(-x.frexp_exponent())
}

/// The density of the standard normal distribution.
fn normal_density(x: &Expr) -> Expr {
    (x * x * -0.5).exp() * (0.5 * FRAC_1_SQRT_2 * FRAC_2_SQRT_PI)
}

fn gelu(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    let below = (x * -FRAC_1_SQRT_2).erfc() * 0.5;
    g * (below + x * normal_density(x))
}

fn gelu_tanh(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    const CUBIC: f64 = 0.044715;
    let slope = FRAC_2_PI.sqrt();
    let squared = x * x;
    // tanh + 1 is twice the sigmoid of twice as much, which is exact where little is left of 1.
    let twice = (&squared * CUBIC + 1.0) * x * (2.0 * slope);
    let (above, below) = (twice.sigmoid(), (-twice).sigmoid());
    let inner = (squared * (3.0 * CUBIC) + 1.0) * (2.0 * slope);
    g * (&above + x * &above * below * inner)
}

fn i0(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * x.i1()
}

fn i1(x: &Expr, y: &Expr, g: &Expr) -> Expr {
    let zero = x.eq(0.0);
    g * Expr::from(0.5).where_(&zero, x.i0() - y / one_where(&zero, x))
}

fn imag(_: &Expr, _: &Expr, g: &Expr) -> Expr {
    imaginary(g)
}

fn lgamma(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * x.digamma()
}

fn log(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g / conj(x)
}

fn log10(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g / (conj(x) * LN_10)
}

fn log1p(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g / (conj(x) + 1.0)
}

fn log2(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g / (conj(x) * LN_2)
}

fn logit(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    (g / (x * (1.0 - x))).where_(x.ge(0.0).logical_and(x.le(1.0)), f64::NAN)
}

fn neg(_: &Expr, _: &Expr, g: &Expr) -> Expr {
    -g
}

fn positive(_: &Expr, _: &Expr, g: &Expr) -> Expr {
    g.clone()
}

fn rad2deg(_: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * (180.0 / PI)
}

fn real(_: &Expr, _: &Expr, g: &Expr) -> Expr {
    g.clone()
}

fn reciprocal(_: &Expr, y: &Expr, g: &Expr) -> Expr {
    -(g * conj(&(y * y)))
}

fn relu(_: &Expr, y: &Expr, g: &Expr) -> Expr {
    Expr::from(0.0).where_(y.le(0.0), g)
}

fn rsqrt(_: &Expr, y: &Expr, g: &Expr) -> Expr {
    g * conj(&(y * y * y)) * -0.5
}

fn sgn(x: &Expr, y: &Expr, g: &Expr) -> Expr {
    if !is_complex(x) {
        return 0.0.into();
    }
    let modulus = x.abs();
    let along = (g * conj(y)).real();
    let zero = modulus.eq(0.0);
    only((g - y * along) / one_where(&zero, &modulus), &zero.logical_not())
}

/// `1 - y` is `sigmoid(-x)`, which is exact where `y` is nearly 1.
fn sigmoid(x: &Expr, y: &Expr, g: &Expr) -> Expr {
    g * conj(&((-x).sigmoid() * y))
}

fn silu(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    let sigmoid = x.sigmoid();
    g * conj(&(&sigmoid * (x * (1.0 - &sigmoid) + 1.0)))
}

fn sin(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * conj(&x.cos())
}

/// (cos πx - sinc x) / x; near 0, where the two terms cancel, its series.
fn sinc(x: &Expr, y: &Expr, g: &Expr) -> Expr {
    /// The factors of t, -t³, t⁵, ... for t = πx: (2n + 2) / (2n + 3)!, as many as f64 needs up to t = 1.
    const SERIES: [f64; 10] = {
        let (mut factors, mut factorial, mut n) = ([0.0; 10], 1.0, 0);
        while n < 10 {
            factorial *= (2 * n + 2) as f64 * (2 * n + 3) as f64;
            factors[n] = (2 * n + 2) as f64 / factorial;
            n += 1;
        }
        factors
    };
    let turned = x * PI;
    let minus_square = -(&turned * &turned);
    let [rest @ .., last] = SERIES;
    let sum = rest.iter().rev().fold(Expr::from(last), |sum, &factor| sum * &minus_square + factor);
    // Whole turns are left out first, since the product with π is rounded.
    let rest = if is_complex(x) { x.clone() } else { x - (x * 0.5).round() * 2.0 };
    let near = x.abs().lt(1.0 / PI);
    let far = ((rest * PI).cos() - y) / one_where(&near, x);
    g * conj(&(-(turned * sum * PI)).where_(near, far))
}

fn sinh(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * conj(&x.cosh())
}

fn sqrt(_: &Expr, y: &Expr, g: &Expr) -> Expr {
    g / (conj(y) * 2.0)
}

fn square(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    g * (conj(x) * 2.0)
}

fn tan(_: &Expr, y: &Expr, g: &Expr) -> Expr {
    g * conj(&(y * y + 1.0))
}

/// 1 - y² is the product of the sigmoids of ±2x, which are exact where y is nearly ±1, times 4.
fn tanh(x: &Expr, _: &Expr, g: &Expr) -> Expr {
    let twice = x * 2.0;
    g * conj(&(twice.sigmoid() * (-twice).sigmoid() * 4.0))
}

fn add(_: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [g.clone(), g.clone()]
}

fn atan2([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    let squared = a * a + b * b;
    let scaled = g / one_where(&squared.eq(0.0), &squared);
    [&scaled * b, -(scaled * a)]
}

fn complex(_: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [g.real(), g.imag()]
}

fn copysign([a, _]: [&Expr; 2], y: &Expr, g: &Expr) -> [Expr; 2] {
    [g * (a.sgn() * y.sgn()), 0.0.into()]
}

fn div([_, b]: [&Expr; 2], y: &Expr, g: &Expr) -> [Expr; 2] {
    let first = g / conj(b);
    let second = -(&first * conj(y));
    [first, second]
}

/// What flows to each of two operands of which one is the result: half to each of equal ones. A number takes
/// all, so that nothing flows to a value that is clamped to it.
fn chosen([a, b]: [&Expr; 2], g: &Expr, [a_is, b_is]: [Expr; 2]) -> [Expr; 2] {
    if a.bare_number().is_some() || b.bare_number().is_some() {
        return [only(g, &a_is), only(g, &b_is)];
    }
    let (equal, half) = (a.eq(b), g * 0.5);
    [a_is, b_is].map(|is| half.where_(&equal, only(g, &is)))
}

fn fmax([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    let a_is = a.gt(b).logical_or(b.isnan());
    chosen([a, b], g, [a_is.clone(), a_is.logical_not()])
}

fn fmin([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    let a_is = a.lt(b).logical_or(b.isnan());
    chosen([a, b], g, [a_is.clone(), a_is.logical_not()])
}

fn fmod([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [g.clone(), -(g * a.div_trunc(b))]
}

fn hypot([a, b]: [&Expr; 2], y: &Expr, g: &Expr) -> [Expr; 2] {
    [a, b].map(|operand| g * (operand / y))
}

/// An exponent that is no integer makes a product of it instead (`formula/`).
fn ldexp([_, exponent]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [g.ldexp(exponent), 0.0.into()]
}

fn logaddexp([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [b - a, a - b].map(|difference| g / conj(&(difference.exp() + 1.0)))
}

fn logaddexp2([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [b - a, a - b].map(|difference| g / (difference.exp2() + 1.0))
}

/// Of an operand that is NaN so is the result, and both get everything.
fn maximum([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    chosen([a, b], g, larger(a, b))
}

fn minimum([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    let [b_is, a_is] = larger(a, b);
    chosen([a, b], g, [a_is, b_is])
}

/// Where each of two operands is the larger one, or one is NaN; beside a number only where it really is.
fn larger(a: &Expr, b: &Expr) -> [Expr; 2] {
    if a.bare_number().is_some() || b.bare_number().is_some() {
        [a.gt(b), b.gt(a)]
    } else {
        [a.lt(b).logical_not(), b.lt(a).logical_not()]
    }
}

/// What flows to the input and the bounds of `clamp`: half of it to the input and half to a bound that it is
/// equal to, unless the bounds are equal, too. Where the input is NaN it has everything, also beside a bound.
pub(super) fn clamp([x, min, max]: [Expr; 3], g: &Expr) -> Cotangents {
    let (ordered, half) = (min.lt(&max), g * 0.5);
    let [at_min, at_max] = [&min, &max].map(|bound| x.eq(bound).logical_and(&ordered));
    let (below, above, met) = (x.lt(&min), x.gt(&max), min.le(&max));
    let outside = below.logical_or(&above);
    let to_x = half.where_(at_min.logical_or(&at_max), Expr::from(0.0).where_(outside, g));
    let to_min = half.where_(at_min, only(g, &below.logical_and(&met)));
    let to_max = half.where_(at_max, only(g, &max.lt(&min).logical_or(above.logical_and(met))));
    Cotangents::from([to_x, to_min, to_max])
}

fn mul([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [g * conj(b), g * conj(a)]
}

fn nextafter([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [only(g, &a.ne(b)), 0.0.into()]
}

fn polar(_: [&Expr; 2], y: &Expr, g: &Expr) -> [Expr; 2] {
    let (along, [real, imag]) = (y.sgn(), [g.real(), g.imag()]);
    [&real * along.real() + &imag * along.imag(), imag * y.real() - real * y.imag()]
}

fn pow([base, exponent]: [&Expr; 2], y: &Expr, g: &Expr) -> [Expr; 2] {
    let to_base = match exponent.bare_number().filter(|number| number.category() < Category::Complex) {
        Some(number) if number.to_f64() == 0.0 => 0.0.into(),
        Some(number) => g * conj(&(base.pow(number.to_f64() - 1.0) * number)),
        None => {
            let is_zero = exponent.eq(0.0);
            let lowered = base.pow(one_where(&is_zero, &(exponent - 1.0)));
            only(g * conj(&(exponent * lowered)), &is_zero.logical_not())
        }
    };
    let zero = if is_complex(base) || is_complex(exponent) {
        base.eq(0.0)
    } else {
        base.eq(0.0).logical_and(exponent.ge(0.0))
    };
    let logarithm = one_where(&zero, base).log();
    [to_base, only(g * conj(&(y * logarithm)), &zero.logical_not())]
}

fn remainder([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [g.clone(), -(g * a.floor_divide(b))]
}

fn sub(_: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    [g.clone(), -g]
}

fn xlogy([a, b]: [&Expr; 2], _: &Expr, g: &Expr) -> [Expr; 2] {
    let zero = a.eq(0.0).logical_and(b.le(0.0));
    // As in PyTorch, a cotangent of 0 counts as little as an `a` of 0.
    [only(g.xlogy(one_where(&zero, b)), &zero.logical_not()), g * (a / b)]
}

fn lerp(operands: &[Expr], _: &Expr, g: &Expr) -> Cotangents {
    let [start, end, weight] = operands else { unreachable!("`lerp` has three operands") };
    let difference = end - start;
    Cotangents::from([g * conj(&(1.0 - weight)), g * conj(weight), g * conj(&difference)])
}

fn nan_to_num(operands: &[Expr], _: &Expr, g: &Expr) -> Cotangents {
    Cotangents::from_iter([only(g, &operands[0].isfinite())])
}

fn softplus(operands: &[Expr], _: &Expr, g: &Expr) -> Cotangents {
    let [x, beta, threshold] = operands else { unreachable!("`softplus` has three operands") };
    let scaled = x * beta;
    let linear = scaled.gt(threshold);
    Cotangents::from_iter([g.where_(linear, g * scaled.sigmoid())])
}

fn where_(operands: &[Expr], _: &Expr, g: &Expr) -> Cotangents {
    let condition = &operands[0];
    Cotangents::from([0.0.into(), only(g, condition), Expr::from(0.0).where_(condition, g)])
}

fn sum(_: &Expr, _: &Expr, g: &Expr, _: &ReducedDims) -> Expr {
    g.clone()
}

/// The product of all other elements, without dividing by zeros: they are counted, and where another element
/// is the only zero, it is a factor of its own, by which the derivative of the derivative is right, too.
fn prod(x: &Expr, _: &Expr, g: &Expr, reduced: &ReducedDims) -> Expr {
    let is_zero = x.eq(0.0);
    let zeros = Expr::from(0.0).where_(is_zero.logical_not(), x);
    let others = is_zero.sum(reduced.dims.clone()) - is_zero.to_dtype(DType::I64);
    let other_zero = zeros.sum(reduced.dims.clone()) - &zeros;
    let rest = one_where(&is_zero, x);
    let rest = rest.prod(reduced.dims.clone()) / &rest;
    let factor = Expr::from(1.0).where_(others.eq(0), only(other_zero, &others.eq(1)));
    g * conj(&(rest * factor))
}

/// Equal elements share.
fn amax(x: &Expr, y: &Expr, g: &Expr, reduced: &ReducedDims) -> Expr {
    let is = x.eq(y);
    only(g, &is) / is.sum(reduced.dims.clone())
}

/// The first of equal elements along a dimension has everything: the one whose index `argmax` gives.
pub(super) fn first(op: Reduction, x: &Expr, g: &Expr, (dim, dims): (isize, Dims)) -> Result<Expr> {
    let sizes = &x.shape()?[dim as usize..];
    let place = if op == Reduction::Amin { x.argmin(dims) } else { x.argmax(dims) };
    let mut shape = vec![1; sizes.len()];
    shape[0] = -1;
    let places = Tensor::arange(0, sizes[0] as i64, 1)?.reshape(&shape)?;
    Ok(only(g, &place.eq(&places)))
}

fn amin(x: &Expr, y: &Expr, g: &Expr, reduced: &ReducedDims) -> Expr {
    amax(x, y, g, reduced)
}

fn var(x: &Expr, _: &Expr, g: &Expr, reduced: &ReducedDims) -> Expr {
    let deviation = x - x.mean(reduced.dims.clone());
    g * deviation * (2.0 / (reduced.count as f64 - reduced.correction))
}
