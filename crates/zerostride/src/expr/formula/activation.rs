//! Owns the activation functions of neural networks that are formulas. Each has PyTorch's derivative where
//! its pieces meet.

use zerostride_ops::{Category, DType, Inferred, Op, Scalar};
use zerostride_shape::ErrorClass;

use super::super::node::{Expr, Slope};
use super::{anew, formula, infer};
use crate::error::printed;
use crate::{Error, Result};

/// The two numbers of `selu` (Klambauer et al., Self-Normalizing Neural Networks, 2017).
const SELU_ALPHA: f64 = 1.6732632423543772848170429916717;
const SELU_SCALE: f64 = 1.0507009873554804934193349852946;

/// `scale * input` where it is positive, else `scale * alpha * (exp(input * slope) - 1)`.
fn exponential_unit(op: Op, input: &Expr, alpha: f64, scale: f64, slope: f64) -> Expr {
    formula(op, [input], |[input]| {
        let is_below = input.le(0.0);
        // The exponential of what is positive could be infinite, and its derivative times 0 NaN.
        let below = input.where_(&is_below, 0.0);
        Ok(((below * slope).expm1() * (alpha * scale)).where_(is_below, input * scale))
    })
}

pub(in crate::expr) fn elu(input: &Expr, alpha: f64) -> Expr {
    exponential_unit(Op::Elu, input, alpha, 1.0, 1.0)
}

pub(in crate::expr) fn celu(input: &Expr, alpha: f64) -> Expr {
    if alpha == 0.0 {
        return input.failed("celu", Error::runtime("ZeroDivisionError: alpha cannot be 0 for CELU"));
    }
    exponential_unit(Op::Celu, input, alpha, 1.0, 1.0 / alpha)
}

pub(in crate::expr) fn selu(input: &Expr) -> Expr {
    exponential_unit(Op::Selu, input, SELU_ALPHA, SELU_SCALE, 1.0)
}

pub(in crate::expr) fn leaky_relu(input: &Expr, negative_slope: f64) -> Expr {
    formula(Op::LeakyRelu, [input], |[input]| Ok(input.where_(input.gt(0.0), &input * negative_slope)))
}

pub(in crate::expr) fn threshold(input: &Expr, threshold: Scalar, value: Scalar) -> Expr {
    formula(Op::Threshold, [input], |[met]| {
        let dtype = input.dtype()?;
        let of_dtype = |number: Scalar| Ok::<_, Error>(Expr::from(number.held_by(dtype)?).to_dtype(dtype));
        Ok(of_dtype(value)?.where_(met.le(of_dtype(threshold)?), &met))
    })
}

/// The number as a bound of elements of the dtype: without its fraction, if that is an integer.
fn bound_of(number: f64, dtype: DType) -> Result<Scalar> {
    if dtype.category() == Category::Float {
        return Ok(Scalar::Float(number).held_by(dtype)?);
    }
    Scalar::Float(number).held_by(DType::I64)?;
    Ok(Scalar::Int(number as i64))
}

/// The operand held between two numbers, with derivative 0 also where it is one of them or NaN.
fn held(input: &Expr, min: Scalar, max: Scalar) -> Expr {
    let clamped = anew(input.clamp(Expr::from(min), Expr::from(max))).with_slope(Slope::Flat);
    input.where_(input.gt(min) & input.lt(max), clamped)
}

fn held_between(op: Op, input: &Expr, min: f64, max: f64) -> Expr {
    formula(op, [input], |[met]| {
        let dtype = input.dtype()?;
        Ok(held(&met, bound_of(min, dtype)?, bound_of(max, dtype)?))
    })
}

pub(in crate::expr) fn hardtanh(input: &Expr, min_val: f64, max_val: f64) -> Expr {
    if min_val > max_val {
        let message = "min_val cannot be greater than max_val".to_owned();
        return input.failed("hardtanh", Error::Argument { class: ErrorClass::Value, message });
    }
    held_between(Op::Hardtanh, input, min_val, max_val)
}

pub(in crate::expr) fn relu6(input: &Expr) -> Expr {
    held_between(Op::Relu6, input, 0.0, 6.0)
}

/// `input + 3`, between 0 and 6.
fn raised(input: &Expr) -> Expr {
    held(input, (-3.0).into(), 3.0.into()) + 3.0
}

pub(in crate::expr) fn hardsigmoid(input: &Expr) -> Expr {
    formula(Op::Hardsigmoid, [input], |[input]| Ok(raised(&input) / 6.0))
}

pub(in crate::expr) fn hardswish(input: &Expr) -> Expr {
    formula(Op::Hardswish, [input], |[input]| Ok(&input * raised(&input) / 6.0))
}

/// 0, or NaN, with derivative 0.
fn none(input: &Expr) -> Expr {
    input.sub(input)
}

pub(in crate::expr) fn hardshrink(input: &Expr, lambd: f64) -> Expr {
    formula(Op::Hardshrink, [input], |[input]| {
        Ok(input.where_(input.lt(-lambd) | input.gt(lambd), none(&input)))
    })
}

pub(in crate::expr) fn softshrink(input: &Expr, lambd: f64) -> Expr {
    let attempt = || {
        let Inferred { compute, .. } = infer(Op::Softshrink, &[input])?;
        let largest = compute.largest();
        if !(0.0..=largest).contains(&lambd) {
            return Err(Error::runtime(format_args!(
                "lambda must be in range [0, {}] for input dtype {}, but found {}",
                printed(largest),
                compute.scalar_name(),
                printed(lambd)
            )));
        }
        Ok(formula(Op::Softshrink, [input], |[input]| {
            let below = (&input + lambd).where_(input.lt(-lambd), none(&input));
            Ok((&input - lambd).where_(input.gt(lambd), below))
        }))
    };
    attempt().unwrap_or_else(|error| input.failed("softshrink", error))
}

pub(in crate::expr) fn softsign(input: &Expr) -> Expr {
    input / (input.abs() + 1)
}

pub(in crate::expr) fn tanhshrink(input: &Expr) -> Expr {
    input - input.tanh()
}

pub(in crate::expr) fn logsigmoid(input: &Expr) -> Expr {
    formula(Op::Logsigmoid, [input], |[input]| {
        let is_below = input.lt(0.0);
        let size = input.where_(&is_below, -&input);
        Ok(input.where_(is_below, 0.0) - size.exp().log1p())
    })
}

pub(in crate::expr) fn mish(input: &Expr) -> Expr {
    formula(Op::Mish, [input], |[input]| Ok(&input * input.softplus(1.0, 20.0).tanh()))
}
