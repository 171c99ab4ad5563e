//! Owns the rules of comparison: which answer of the corpus an operation is held to, and how closely.
//!
//! Integers, bools and exactly rounded operations are held to the bit; other functions to the exactly
//! computed reference. Complex results are judged as vectors, `|difference| / |result|`, because one part may
//! cancel; where a part is not finite, part by part. Complex functions have branches and singular points at
//! which PyTorch's answer is as good as the reference.

use crate::corpus::Case;
use crate::values::{Values, epsilon, is_float, number, same, ulps};

/// How far a result may be from what is wanted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Closeness {
    /// Not at all.
    Bits,
    /// That many floats.
    Ulps(u64),
    /// That many half gaps at 1, relative to the vector's length.
    Norm(f64),
    /// That much, for each element.
    Absolute(Vec<f64>),
}

/// Functions that are not exactly rounded: within 1 ULP.
const ONE_ULP: &str = "acos acosh angle asin asinh atan atan2 atanh cos cosh deg2rad erf erfc exp exp2 expm1 gelu \
    hypot ldexp log log10 log1p log2 logit polar rad2deg reciprocal rsqrt sigmoid silu sin sinc sinh softplus tan tanh";

/// Functions whose error grows with their value or near their roots: within 2 ULP.
const TWO_ULPS: &str = "celu digamma elu erfinv float_power i0 i1 lgamma logaddexp logaddexp2 logsigmoid \
    mish pow selu trigamma xlogy";

/// Operations on complex numbers that are exact in each part.
const EXACT_PARTS: &str = "abs add clamp complex conj_physical imag nan_to_num neg positive real sub where masked_fill \
    eq ne";

fn among(list: &str, op: &str) -> bool {
    list.split_whitespace().any(|name| name == op)
}

fn is_complex(case: &Case, values: &Values) -> bool {
    values.is_complex() || case.operands.iter().any(|(_, operand)| operand.is_complex())
}

/// How closely the case's result is held.
pub(crate) fn closeness(case: &Case, values: &Values) -> Closeness {
    let op = &case.op[..];
    let scaled = case.kwargs.iter().any(|(name, _)| name == "alpha");
    if !is_float(values.dtype) {
        Closeness::Bits
    } else if values.is_complex() && (!among(EXACT_PARTS, op) || scaled) {
        Closeness::Norm(8.0)
    } else if is_complex(case, values) && op == "abs" {
        Closeness::Ulps(1)
    } else if among(TWO_ULPS, op) {
        Closeness::Ulps(2)
    } else if among(ONE_ULP, op) {
        Closeness::Ulps(1)
    } else {
        Closeness::Bits
    }
}

/// What the case's result is compared with: the exact reference, the stepwise result, or PyTorch's.
pub(crate) fn wanted<'a>(case: &'a Case, values: &'a Values) -> &'a [u64] {
    case.stepwise.as_deref().or(case.reference.as_deref()).unwrap_or(&values.bits)
}

/// Whether an element is further from `wanted` than allowed.
pub(crate) fn apart(closeness: &Closeness, element: usize, ours: &Values, wanted: &[u64]) -> bool {
    let dtype = ours.dtype;
    let patterns = element * ours.width()..(element + 1) * ours.width();
    let (ours, wanted) = (&ours.bits[patterns.clone()], &wanted[patterns]);
    let mut parts = ours.iter().zip(wanted);
    match closeness {
        Closeness::Bits => parts.any(|(&a, &b)| !same(dtype, a, b)),
        Closeness::Ulps(allowed) => {
            parts.any(|(&a, &b)| ulps(dtype, a, b).is_none_or(|ulps| ulps > *allowed))
        }
        Closeness::Norm(allowed) => norm(ours, wanted, dtype) > *allowed,
        Closeness::Absolute(allowed) => parts.any(|(&a, &b)| {
            let distance = (number(dtype, a) - number(dtype, b)).abs();
            !same(dtype, a, b) && (distance.is_nan() || distance > allowed[element])
        }),
    }
}

/// The distance of two complex numbers in half gaps at 1, relative to the wanted one; infinite where parts
/// that are not finite differ. Below the normal numbers gaps no longer shrink, nor does the scale.
fn norm(ours: &[u64], wanted: &[u64], dtype: zerostride::DType) -> f64 {
    let parts = |bits: &[u64]| [number(dtype, bits[0]), number(dtype, bits[1])];
    let (a, b) = (parts(ours), parts(wanted));
    if b.iter().any(|part| !part.is_finite()) {
        let equal = a
            .iter()
            .zip(b)
            .all(|(&a, b)| a == b || a.is_nan() && b.is_nan() || a.is_finite() && b.is_finite());
        return if equal { 0.0 } else { f64::INFINITY };
    }
    let smallest_normal =
        if dtype.item_size() == 8 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let scale = b[0].hypot(b[1]).max(smallest_normal);
    let (x, y) = ((a[0] - b[0]) / scale, (a[1] - b[1]) / scale);
    x.hypot(y) / epsilon(dtype)
}
