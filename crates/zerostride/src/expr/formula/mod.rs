//! Owns one function for each row that takes more than operands or is a formula over other operations. It has
//! the row's name and arguments, and computes in PyTorch's order. It does not know how formulas run; fused,
//! they take one pass like any other expression.
//!
//! Formulas on f16 and bf16 run in f32 and are rounded once, at the end.

mod activation;
mod reduced;

use smallvec::SmallVec;
use zerostride_kernels::{load_scalar, store_scalar};
use zerostride_ops::{Category, DType, Inferred, Op, OpError, Scalar, Typed};
use zerostride_shape::broadcast_shape;

use super::node::{Expr, Kind, Meta, Slope};
use crate::error::printed;
use crate::{Device, Error, Result};

pub(super) use activation::*;
pub(super) use reduced::*;

impl Expr {
    /// A node that holds the error of a call with one operand.
    pub(crate) fn failed(&self, name: &str, error: Error) -> Expr {
        Expr::refused(name, std::slice::from_ref(self), error)
    }

    /// A node that holds the error of a call with several operands.
    pub(super) fn refused(name: &str, operands: &[Expr], error: Error) -> Expr {
        let operands: Vec<String> = operands.iter().map(Expr::formula).collect();
        let text = format!("{name}({})", operands.join(", "));
        Expr::build(Kind::Failed { text }, Err(error))
    }
}

/// Dtypes and shape of the call as a whole. Inferred here so that an error names the operands in the order of
/// the call, not in the order in which the formula uses them.
fn infer(op: Op, operands: &[&Expr]) -> Result<Inferred> {
    let metas: SmallVec<[&Meta; 4]> = operands.iter().map(|operand| operand.meta()).collect::<Result<_>>()?;
    let typed: SmallVec<[Typed; 4]> = metas.iter().map(|meta| meta.typed).collect();
    let shapes: SmallVec<[&[usize]; 4]> = metas.iter().map(|meta| &meta.shape[..]).collect();
    let inferred = infer_dtypes(op, &typed, &shapes)?;
    broadcast_shape(&shapes)?;
    Ok(inferred)
}

/// The dtypes of operands that broadcast. If dtypes and shapes are both wrong, the error is the one that
/// PyTorch reports.
pub(super) fn infer_dtypes(op: Op, typed: &[Typed], shapes: &[&[usize]]) -> Result<Inferred> {
    op.infer(typed).map_err(|error| match broadcast_shape(shapes) {
        Err(mismatch) if error.comes_after_shapes() => mismatch.into(),
        _ => error.into(),
    })
}

/// A formula over operands that meet in the dtype `op` computes in: checked by the table, computed in its
/// opmath, returned in its result dtype.
fn formula<const N: usize>(
    op: Op,
    operands: [&Expr; N],
    body: impl FnOnce([Expr; N]) -> Result<Expr>,
) -> Expr {
    let attempt = || {
        let inferred = infer(op, &operands)?;
        let met = operands.map(|operand| operand.to_dtype(inferred.compute.opmath()));
        Ok(body(met)?.to_dtype(inferred.result))
    };
    attempt().unwrap_or_else(|error| operands[0].failed(op.name(), error))
}

pub(super) fn gelu(input: &Expr, approximate: Option<&str>) -> Result<Expr> {
    match approximate {
        None | Some("none") => Ok(input.gelu()),
        Some("tanh") => Ok(input.gelu_tanh()),
        Some(_) => Err(Error::runtime("approximate argument must be either none or tanh.")),
    }
}

pub(super) fn logit(input: &Expr, eps: Option<f64>) -> Result<Expr> {
    Ok(match eps {
        None => input.logit(),
        Some(eps) => logit_clamped(input, eps),
    })
}

pub(super) fn round(input: &Expr, decimals: i64) -> Result<Expr> {
    Ok(match decimals {
        0 => input.round(),
        decimals => round_decimals(input, decimals),
    })
}

pub(super) fn add(input: &Expr, other: &Expr, alpha: Scalar) -> Result<Expr> {
    Ok(add_scaled(Op::Add, input, other, alpha))
}

pub(super) fn sub(input: &Expr, other: &Expr, alpha: Scalar) -> Result<Expr> {
    Ok(add_scaled(Op::Sub, input, other, alpha))
}

#[track_caller]
pub(super) fn div(input: &Expr, other: &Expr, rounding_mode: Option<&str>) -> Result<Expr> {
    match rounding_mode {
        None => Ok(input.div(other)),
        Some("floor") => Ok(input.floor_divide(other)),
        Some("trunc") => Ok(input.div_trunc(other)),
        Some(mode) => Err(Error::runtime(format_args!(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        ))),
    }
}

#[track_caller]
pub(super) fn lerp(input: &Expr, end: &Expr, weight: &Expr) -> Expr {
    Expr::map(Op::Lerp, [input.clone(), end.clone(), weight.clone()])
}

pub(super) fn round_decimals(input: &Expr, decimals: i64) -> Expr {
    Expr::map(Op::RoundDecimals, [input.clone(), decimals.into()])
}

pub(super) fn softplus(input: &Expr, beta: f64, threshold: f64) -> Expr {
    Expr::map(Op::Softplus, [input.clone(), beta.into(), threshold.into()])
}

pub(super) fn rsub(input: &Expr, other: &Expr, alpha: Scalar) -> Expr {
    add_scaled(Op::Sub, other, input, alpha)
}

pub(super) fn addcmul(input: &Expr, a: &Expr, b: &Expr, value: Scalar) -> Expr {
    add_products(Op::Addcmul, input, a, b, value)
}

pub(super) fn addcdiv(input: &Expr, a: &Expr, b: &Expr, value: Scalar) -> Expr {
    add_products(Op::Addcdiv, input, a, b, value)
}

/// `a ± alpha * b`.
pub(super) fn add_scaled(op: Op, a: &Expr, b: &Expr, alpha: Scalar) -> Expr {
    if alpha == Scalar::Int(1) {
        return Expr::map(op, [a.clone(), b.clone()]);
    }
    let attempt = || {
        let Inferred { compute, .. } = infer(op, &[a, b])?;
        check_alpha(compute, alpha)?;
        alpha.held_by(compute)?;
        Ok(formula(op, [a, b], |[a, b]| {
            // Like an operand, alpha is converted to the dtype that the operands promote to.
            let scaled = Expr::map(Op::Mul, [Expr::from(alpha).to_dtype(compute), b]);
            Ok(Expr::map(op, [a, scaled]))
        }))
    };
    attempt().unwrap_or_else(|error| a.failed(op.name(), error))
}

fn check_alpha(compute: DType, alpha: Scalar) -> Result<()> {
    let category = compute.category();
    if matches!(alpha, Scalar::Bool(_)) && category != Category::Bool {
        return Err(Error::runtime("Boolean alpha only supported for Boolean results."));
    }
    match (alpha.category(), category) {
        (Category::Float | Category::Complex, Category::Bool | Category::Int) => Err(Error::runtime(
            "For integral input tensors, argument alpha must not be a floating point number.",
        )),
        (Category::Complex, Category::Float) => {
            Err(Error::runtime("For non-complex input tensors, argument alpha must not be a complex number."))
        }
        _ => Ok(()),
    }
}

/// `input + value * a * b` and `input + value * a / b`, evaluated from the left.
fn add_products(op: Op, input: &Expr, a: &Expr, b: &Expr, value: Scalar) -> Expr {
    let whole = |operand: &Expr| operand.dtype().is_ok_and(|dtype| dtype.category() <= Category::Int);
    if op == Op::Addcdiv && whole(a) && whole(b) {
        let dtype = a.dtype().unwrap_or(DType::I64);
        return input.failed(op.name(), OpError::Unsupported { op, dtype }.into());
    }
    formula(op, [input, a, b], |[input, a, b]| {
        let scaled = match value {
            Scalar::Int(1) => a,
            value => {
                let dtype = input.dtype()?;
                let value = Expr::from(value.held_by(dtype)?).to_dtype(dtype);
                value * a
            }
        };
        Ok(input + if op == Op::Addcmul { scaled * b } else { scaled / b })
    })
}

pub(super) fn clamp(input: &Expr, min: Option<&Expr>, max: Option<&Expr>) -> Expr {
    let attempt = || {
        if min.is_none() && max.is_none() {
            return Err(Error::runtime("torch.clamp: At least one of 'min' or 'max' must not be None"));
        }
        match (min, max) {
            (Some(min), None) => clamped(Op::ClampMin, input, Some(min), None),
            (None, Some(max)) => clamped(Op::ClampMax, input, None, Some(max)),
            _ => clamped(Op::Clamp, input, min, max),
        }
    };
    attempt().unwrap_or_else(|error| input.failed("clamp", error))
}

pub(super) fn clamp_min(input: &Expr, min: &Expr) -> Expr {
    clamped(Op::ClampMin, input, Some(min), None).unwrap_or_else(|error| input.failed("clamp_min", error))
}

pub(super) fn clamp_max(input: &Expr, max: &Expr) -> Expr {
    clamped(Op::ClampMax, input, None, Some(max)).unwrap_or_else(|error| input.failed("clamp_max", error))
}

/// The input clamped to the bounds that are given, by the rules of the row `op`.
fn clamped(op: Op, input: &Expr, min: Option<&Expr>, max: Option<&Expr>) -> Result<Expr> {
    let operands: Vec<&Expr> = [Some(input), min, max].into_iter().flatten().collect();
    let Inferred { compute, .. } = infer(op, &operands)?;
    // Bools are clamped to tensors (`maximum`, `minimum`), but PyTorch has no kernel that clamps them to a
    // number.
    if compute == DType::Bool && operands[1..].iter().any(|bound| bound.number().is_some()) {
        return Err(OpError::Unsupported { op, dtype: compute }.into());
    }
    let (min, max) = (effective_bound("min", min, compute)?, effective_bound("max", max, compute)?);
    let mut held = input.to_dtype(compute);
    if min.is_none() && max.is_none() {
        return Ok(anew(held));
    }
    // `maximum` and `minimum` give the second of two equal operands, which decides the sign of a zero. The
    // input is the second operand, except where `clamp_min` or `clamp_max` get a tensor: there PyTorch passes
    // the bound as the second.
    let is_second = op != Op::Clamp && operands[1].number().is_none();
    let ordered = |bound: &Expr, held: Expr| {
        let bound = bound.to_dtype(compute);
        if is_second { (held, bound) } else { (bound, held) }
    };
    if let Some(min) = min {
        let (first, second) = ordered(min, held);
        held = first.maximum(second);
    }
    if let Some(max) = max {
        let (first, second) = ordered(max, held);
        held = first.minimum(second);
        if [min, Some(max)].iter().all(|bound| bound.is_some_and(|bound| bound.number().is_none())) {
            held = held.with_slope(Slope::Clamped);
        }
    }
    Ok(held)
}

/// The operand as the result of an operation that changes nothing, so that the result shares no memory with
/// it.
fn anew(operand: Expr) -> Expr {
    Expr::map(Op::Positive, [operand])
}

/// As many ones, whatever the elements are: the logarithm of a complex power would keep infinities and NaN.
fn ones(operand: &Expr) -> Expr {
    Expr::from(true).where_(true, operand)
}

/// The bound; `None` if it is a number that every integer of the dtype satisfies.
fn effective_bound<'a>(name: &str, bound: Option<&'a Expr>, compute: DType) -> Result<Option<&'a Expr>> {
    let Some(number) = bound.and_then(Expr::number) else { return Ok(bound) };
    let (least, most) = compute.int_range();
    let number = match number {
        Scalar::Int(number) if compute.category() == Category::Int => i128::from(number),
        number => return number.held_by(compute).map(|_| bound).map_err(Error::from),
    };
    if (least..=most).contains(&number) {
        return Ok(bound);
    }
    if (number > most) == (name == "min") {
        return Err(Error::runtime(format_args!(
            "Clamp {name} value {number} is outside the representable range of {}",
            compute.scalar_name()
        )));
    }
    Ok(None)
}

/// Operations that become others for some operands: `pow` with a number for which PyTorch's kernels take no
/// logarithm, and `ldexp` with a floating-point exponent, which is a product with a power of 2.
pub(super) fn rewritten(op: Op, operands: &[Expr], compute: DType) -> Option<Expr> {
    match (op, operands) {
        (Op::Pow, [base, exponent]) => match (base.number(), exponent.number()) {
            (_, Some(exponent)) => power(&base.to_dtype(compute), exponent, compute),
            // To PyTorch, true is no 1 here.
            (None | Some(Scalar::Bool(_)), _) => None,
            (Some(base), _) => (real(base) == Some(1.0)).then(|| ones(&exponent.to_dtype(compute))),
        },
        (Op::Ldexp, [input, exponent]) if exponent.dtype().ok()?.category() > Category::Int => {
            Some(input * Expr::from(2.0).pow(exponent))
        }
        _ => None,
    }
}

/// Bools to the power of a bool, which has no kernel: as in PyTorch, all true or what they are.
pub(super) fn power_of_bools(op: Op, operands: &[Expr]) -> Option<Expr> {
    let (Op::Pow, [base, exponent]) = (op, operands) else { return None };
    let Some(Scalar::Bool(exponent)) = exponent.number() else { return None };
    let is_bool = base.number().is_none() && base.dtype().ok()? == DType::Bool;
    is_bool.then(|| if exponent { base.where_(true, base) } else { ones(base) })
}

/// The number, unless it has an imaginary part.
fn real(number: Scalar) -> Option<f64> {
    match number {
        Scalar::Complex(number) if number.im != 0.0 => None,
        number => Some(number.to_f64()),
    }
}

/// A power as products, roots and reciprocals, for the exponents for which PyTorch computes it that way, so
/// that the bits are equal.
fn power(base: &Expr, exponent: Scalar, compute: DType) -> Option<Expr> {
    match real(exponent)? {
        0.0 => Some(ones(base)),
        1.0 => Some(anew(base.clone())),
        2.0 => Some(base.square()),
        _ if compute.category() <= Category::Int => None,
        -1.0 => Some(base.reciprocal()),
        // PyTorch's f16 kernel has no special cases beyond these.
        _ if compute == DType::F16 => None,
        0.5 => Some(base.sqrt()),
        -0.5 => Some(base.rsqrt()),
        3.0 => Some(base * base * base),
        -2.0 => Some((base * base).reciprocal()),
        _ => None,
    }
}

pub(super) fn float_power(base: &Expr, exponent: &Expr) -> Expr {
    // A bare number stays one, so that `pow` can take its special cases.
    let numbers = [base.number(), exponent.number()];
    formula(Op::FloatPower, [base, exponent], |[base, exponent]| {
        Ok(match numbers {
            [Some(number), None] => Expr::from(number).pow(exponent),
            [_, Some(number)] => base.pow(number),
            [None, None] => base.pow(exponent),
        })
    })
}

pub(super) fn isclose(a: &Expr, b: &Expr, rtol: f64, atol: f64, equal_nan: bool) -> Expr {
    let attempt = || {
        let Inferred { compute, .. } = infer(Op::Isclose, &[a, b])?;
        for (name, tolerance) in [("rtol", rtol), ("atol", atol)] {
            if tolerance < 0.0 || tolerance.is_nan() {
                return Err(Error::runtime(format_args!(
                    "{name} must be greater than or equal to zero, but got {}",
                    printed(tolerance)
                )));
            }
        }
        let close = a.eq(b);
        let close = if equal_nan { close | (a.ne(a) & b.ne(b)) } else { close };
        if rtol == 0.0 && atol == 0.0 {
            return Ok(close);
        }
        let float = if compute.category() <= Category::Int { DType::DEFAULT_FLOAT } else { compute };
        let (a, b) = (a.to_dtype(float), b.to_dtype(float));
        let allowed = (rtol * &b).abs() + atol;
        let actual = (a - b).abs();
        Ok(close | (actual.isfinite() & actual.le(allowed)))
    };
    attempt().unwrap_or_else(|error| a.failed("isclose", error))
}

/// The bounds are rounded to the dtype. If they cross, the lower one is applied first.
pub(super) fn logit_clamped(input: &Expr, eps: f64) -> Expr {
    let attempt = || {
        let Inferred { compute, .. } = infer(Op::Logit, &[input])?;
        let input = input.to_dtype(compute);
        Scalar::Float(eps).held_by(compute)?;
        let low = rounded(eps, compute);
        let high = rounded(1.0 - low, compute);
        let below_high = Expr::from(high).where_(input.gt(high), &input);
        Ok(Expr::from(low).where_(input.lt(low), below_high).logit())
    };
    attempt().unwrap_or_else(|error| input.failed("logit", error))
}

/// The number rounded to a float dtype.
fn rounded(number: f64, dtype: DType) -> f64 {
    let mut bytes = [0; size_of::<f64>()];
    let bytes = &mut bytes[..dtype.item_size()];
    store_scalar(number.into(), dtype, bytes);
    load_scalar(bytes, dtype).to_f64()
}

/// `value` is converted to the dtype of the input: for integers its fraction is cut off. The result is
/// row-major, as PyTorch's.
pub(super) fn masked_fill(input: &Expr, mask: &Expr, value: &Expr) -> Expr {
    let attempt = || {
        // PyTorch checks the shapes first, the mask's before the input's.
        broadcast_shape(&[mask.shape()?, input.shape()?])?;
        let ndim = value.shape()?.len();
        if ndim > 0 {
            return Err(Error::runtime(format_args!(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {ndim} dimension(s).",
            )));
        }
        let Inferred { compute, .. } = infer(Op::MaskedFill, &[input, mask, value])?;
        // A tensor is read, as PyTorch's is, if it is in memory.
        let element =
            match value.as_tensor().filter(|tensor| tensor.device() == Device::Cpu && !tensor.is_absent()) {
                Some(tensor) => Some(tensor.scalar_at(&[])?),
                None => value.number(),
            };
        if let Some(number) = element {
            number.held_by(compute)?;
        }
        let filled = Expr::map(Op::Where, [mask.clone(), value.to_dtype(compute), input.clone()]);
        Ok(filled.in_row_major_order())
    };
    attempt().unwrap_or_else(|error| input.failed("masked_fill", error))
}

pub(super) fn nan_to_num(input: &Expr, nan: f64, posinf: Option<f64>, neginf: Option<f64>) -> Expr {
    let largest = input.dtype().map_or(f64::MAX, |dtype| dtype.to_real().largest());
    let [posinf, neginf] = [posinf.unwrap_or(largest), neginf.unwrap_or(-largest)];
    Expr::map(Op::NanToNum, [input.clone(), nan.into(), posinf.into(), neginf.into()])
}
