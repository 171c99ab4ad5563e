//! Owns the formulas along dimensions: means, norms, `softmax` and its kind, normalisations and distances. It
//! does not know in how many passes they run.

use zerostride_ops::{Category, DType, Inferred, Op, promote_types};
use zerostride_shape::{ErrorClass, Shape, broadcast_shape, sum_to_size_dims};

use super::super::dims::{Dims, keepdim};
use super::super::node::{Expr, Meta, Slope};
use super::{formula, infer};
use crate::{Error, Result};

/// The number of elements that each result of a reduction combines.
fn reduced_count(meta: &Meta, dims: &Dims) -> Result<usize> {
    Ok(dims.resolve(meta.shape.ndim())?.iter().map(|&dim| meta.shape[dim]).product())
}

pub(in crate::expr) fn mean(input: &Expr, dims: &Dims) -> Expr {
    formula(Op::Mean, [input], |[input]| {
        let count = reduced_count(input.meta()?, dims)?;
        Ok(input.sum(dims.clone()) / count as f64)
    })
}

pub(in crate::expr) fn nanmean(input: &Expr, dims: &Dims) -> Expr {
    if let Ok(dtype) = input.dtype()
        && dtype.category() <= Category::Int
    {
        let message = format!(
            "nanmean(): expected input to have floating point or complex dtype but got {}",
            dtype.scalar_name()
        );
        return input.failed("nanmean", Error::Argument { class: ErrorClass::NotImplemented, message });
    }
    nansum(input, dims) / input.isnan().logical_not().sum(dims.clone())
}

pub(in crate::expr) fn nansum(input: &Expr, dims: &Dims) -> Expr {
    match input.dtype().map(|dtype| dtype.category()) {
        Ok(Category::Complex) => {
            let message = "nansum on CPU does not support complex inputs".to_owned();
            input.failed("nansum", Error::Argument { class: ErrorClass::NotImplemented, message })
        }
        _ => without_nan(input).sum(dims.clone()),
    }
}

/// The elements, with 0 for NaN.
pub(in crate::expr) fn without_nan(input: &Expr) -> Expr {
    match input.dtype().map(DType::category) {
        Ok(Category::Float) => input.masked_fill(input.isnan(), 0.0),
        _ => input.clone(),
    }
}

/// The variance stays in f64, in which it is accumulated, until the root is taken: it may be out of f32's
/// range where the root is not.
pub(in crate::expr) fn std(input: &Expr, (dims, correction): (Dims, f64)) -> Expr {
    formula(Op::Std, [input], |[input]| {
        let complex = input.dtype()?.category() == Category::Complex;
        let input = input.to_dtype(if complex { DType::C128 } else { DType::F64 });
        Ok(input.var_corrected(dims, correction).sqrt().with_slope(Slope::FlatAtZero))
    })
}

/// The maximum along `dims`, subtracted so that exponentials do not overflow; 0 where it is infinite.
fn shift(input: &Expr, dims: &Dims) -> Result<Expr> {
    let real = if input.dtype()?.category() == Category::Complex { input.real() } else { input.clone() };
    let largest = real.amax(keepdim(dims.clone())).with_slope(Slope::Flat);
    let infinite = largest.abs().eq(f64::INFINITY);
    Ok(largest.masked_fill(infinite, 0.0))
}

pub(in crate::expr) fn logsumexp(input: &Expr, dims: &Dims) -> Expr {
    formula(Op::Logsumexp, [input], |[input]| {
        let reduced = dims.resolve(input.meta()?.shape.ndim())?;
        if input.shape()?.contains(&0) {
            return Ok(input.exp().sum(dims.clone()).log());
        }
        let shift = shift(&input, dims)?;
        let dropped: Vec<isize> = reduced.iter().map(|&dim| dim as isize).collect();
        let added = if dims.keepdim { shift.clone() } else { shift.squeeze_dims(&dropped) };
        let shifted = Expr::map_within(Op::Sub, [input, shift]);
        Ok(shifted.exp().sum(dims.clone()).log() + added)
    })
}

/// A formula along one dimension, whose value lies in row-major order, as PyTorch's. The dimension is checked
/// before the dtype; an empty input is returned as it is, whatever its dtype.
fn along(op: Op, input: &Expr, dim: isize, body: impl FnOnce(Expr) -> Result<Expr>) -> Expr {
    let attempt = || {
        let shape = input.shape()?;
        let along = Dims::from(dim).resolve(shape.len())?;
        if shape.contains(&0) {
            return Ok(input.clone());
        }
        match op.infer(&[input.meta()?.typed]) {
            // Along other dimensions than the last, PyTorch uses another kernel, whose name is in the
            // message.
            Err(error) if along.iter().any(|dim| dim + 1 < shape.len()) => Err(Error::Argument {
                class: error.class(),
                message: error.to_string().replace("_lastdim", ""),
            }),
            _ => Ok(formula(op, [input], |[input]| body(input)).in_row_major_order()),
        }
    };
    attempt().unwrap_or_else(|error| input.failed(op.name(), error))
}

pub(in crate::expr) fn softmax(input: &Expr, dim: isize) -> Expr {
    along(Op::Softmax, input, dim, |input| {
        let largest = input.amax(keepdim(dim)).with_slope(Slope::Flat);
        let exponentials = Expr::map_within(Op::Sub, [input, largest]).exp();
        let sum = exponentials.sum(keepdim(dim));
        Ok(Expr::map_within(Op::Div, [exponentials, sum]))
    })
}

pub(in crate::expr) fn log_softmax(input: &Expr, dim: isize) -> Expr {
    along(Op::LogSoftmax, input, dim, |input| {
        let largest = input.amax(keepdim(dim)).with_slope(Slope::Flat);
        let shifted = Expr::map_within(Op::Sub, [input, largest]);
        let logarithm = shifted.exp().sum(keepdim(dim)).log();
        Ok(Expr::map_within(Op::Sub, [shifted, logarithm]))
    })
}

/// Squares and powers of f32 are summed in f64, so that they do not overflow where the norm would not.
pub(in crate::expr) fn norm(input: &Expr, p: f64, dims: &Dims) -> Expr {
    let attempt = || {
        let Inferred { result, .. } = infer(Op::Norm, &[input])?;
        let meta = input.meta()?;
        if (p.is_infinite() || p < 0.0) && meta.shape.numel() == 0 {
            refuse_empty_norm(p, &meta.shape, dims)?;
        }
        let magnitude = input.abs();
        let dims = dims.clone();
        let norm = match p {
            0.0 => input.ne(0).with_slope(Slope::Flat).to_dtype(result.opmath()).sum(dims),
            f64::INFINITY => magnitude.amax(dims),
            f64::NEG_INFINITY => magnitude.amin(dims),
            1.0 => magnitude.to_dtype(result.opmath()).sum(dims),
            2.0 => {
                // Of real numbers the square needs no modulus, whose derivative jumps at 0.
                let real = input.dtype()?.category() < Category::Complex;
                let squared = if real { input } else { &magnitude }.to_dtype(DType::F64).square();
                squared.sum(dims).sqrt().with_slope(Slope::FlatAtZero)
            }
            p => {
                let powers = magnitude.to_dtype(DType::F64).pow(p).with_slope(Slope::FlatAtZero);
                powers.sum(dims).pow(1.0 / p).with_slope(Slope::FlatAtZero)
            }
        };
        Ok(norm.to_dtype(result))
    };
    attempt().unwrap_or_else(|error| input.failed("norm", error))
}

fn refuse_empty_norm(p: f64, shape: &Shape, dims: &Dims) -> Result<()> {
    let p = if p.is_infinite() {
        if p > 0.0 { "inf".to_owned() } else { "-inf".to_owned() }
    } else {
        p.to_string()
    };
    if dims.is_all() {
        return Err(Error::runtime(format_args!(
            "linalg.vector_norm cannot compute the {p} norm on an empty tensor because the operation does not have an identity"
        )));
    }
    match dims.resolve(shape.ndim())?.iter().find(|&&dim| shape[dim] == 0) {
        Some(dim) => Err(Error::runtime(format_args!(
            "linalg.vector_norm cannot compute the {p} norm on the dimension {dim}because this dimension is empty and the operation does not have an identity"
        ))),
        None => Ok(()),
    }
}

pub(in crate::expr) fn sum_to_size(input: &Expr, target: &[usize]) -> Expr {
    let attempt = || {
        let meta = input.meta()?;
        let dims: Vec<isize> =
            sum_to_size_dims(&meta.shape, target)?.into_iter().map(|dim| dim as isize).collect();
        // For an empty target PyTorch calls `sum` even if there is nothing to reduce, which promotes integers
        // to i64.
        let stays = dims.is_empty() && !target.is_empty();
        let summed = if stays { input.clone() } else { input.sum(keepdim(&dims[..])) };
        let sizes: Vec<isize> = target.iter().map(|&size| size as isize).collect();
        Ok(summed.reshape(&sizes))
    };
    attempt().unwrap_or_else(|error| input.failed("sum_to_size", error))
}

pub(in crate::expr) fn normalize(input: &Expr, p: f64, dim: isize, eps: f64) -> Expr {
    let length = input.norm(p, keepdim(dim)).clamp_min(eps);
    Expr::map_within(Op::Div, [input.clone(), length])
}

pub(in crate::expr) fn cosine_similarity(x1: &Expr, x2: &Expr, dim: isize, eps: f64) -> Expr {
    let attempt = || {
        let Inferred { compute, .. } = infer(Op::CosineSimilarity, &[x1, x2])?;
        let shape = broadcast_shape(&[x1.shape()?, x2.shape()?])?;
        let [along] = Dims::from(dim).resolve(shape.ndim().max(1))?[..] else { return Ok(x1 * x2) };
        let from_end = along as isize - shape.ndim().max(1) as isize;
        let unit = |x: &Expr| {
            let own = x.shape()?;
            // The length of an operand that is stretched along other dimensions is computed once.
            let has_all = own
                .len()
                .checked_add_signed(from_end)
                .is_some_and(|at| own[at..].first() == shape.get(along));
            let x = if has_all { x.to_dtype(compute) } else { x.broadcast_to(&shape).to_dtype(compute) };
            Ok::<_, Error>(normalize(&x, 2.0, from_end, eps))
        };
        Ok((unit(x1)? * unit(x2)?).sum(from_end))
    };
    attempt().unwrap_or_else(|error| x1.failed("cosine_similarity", error))
}

pub(in crate::expr) fn pairwise_distance(x1: &Expr, x2: &Expr, p: f64, eps: f64, keep: bool) -> Expr {
    let dims = if keep { keepdim(-1) } else { Dims::from(-1) };
    (x1 - x2 + eps).norm(p, dims)
}

pub(in crate::expr) fn cdist(x1: &Expr, x2: &Expr, p: f64) -> Expr {
    let attempt = || {
        let named = [("X1", x1), ("X2", x2)];
        for (name, x) in named {
            let ndim = x.shape()?.len();
            if ndim < 2 {
                return Err(Error::runtime(format_args!(
                    "cdist only supports at least 2D tensors, {name} got: {ndim}D"
                )));
            }
        }
        let (Some(&columns), Some(&other)) = (x1.shape()?.last(), x2.shape()?.last()) else {
            unreachable!("two dimensions")
        };
        if columns != other {
            return Err(Error::runtime(format_args!(
                "X1 and X2 must have the same number of columns. X1: {columns} X2: {other}"
            )));
        }
        for (name, x) in named {
            let dtype = x.dtype()?;
            if dtype.category() != Category::Float {
                return Err(Error::runtime(format_args!(
                    "cdist only supports floating-point dtypes, {name} got: {}",
                    dtype.scalar_name()
                )));
            }
        }
        if p.is_nan() || p < 0.0 {
            return Err(Error::runtime("cdist only supports non-negative p values"));
        }
        let common = promote_types(x1.dtype()?, x2.dtype()?)?;
        let [x1, x2] = [x1.unsqueeze(-2), x2.unsqueeze(-3)].map(|x| x.to_dtype(common.opmath()));
        let difference = Expr::map_within(Op::Sub, [x1, x2]);
        let distance = match p {
            // Rows without elements have no largest one; their distance is 0.
            _ if columns == 0 => difference.sum(-1),
            // As in PyTorch, squares that are out of the dtype's range are infinite here, unlike in `norm`.
            2.0 => difference.square().sum(-1).sqrt().with_slope(Slope::FlatAtZero),
            p => difference.norm(p, -1),
        };
        Ok(distance.to_dtype(common))
    };
    attempt().unwrap_or_else(|error| x1.failed("cdist", error))
}

/// The last dimensions of the input, whose sizes are `sizes`, as are those of its parameters.
fn normalized_dims(input: &Expr, sizes: &[usize], parameters: [(&str, Option<&Expr>); 2]) -> Result<Dims> {
    let shape = input.shape()?;
    let listed = |sizes: &[usize]| Shape::new(sizes).map(|shape| shape.to_string());
    if sizes.is_empty() {
        return Err(Error::runtime(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []",
        ));
    }
    for (name, parameter) in parameters {
        let Some(parameter) = parameter else { continue };
        if parameter.shape()? != sizes {
            return Err(Error::runtime(format_args!(
                "Expected {name} to be of same shape as normalized_shape, but got {name} of shape {} and normalized_shape = {}",
                listed(parameter.shape()?)?,
                listed(sizes)?
            )));
        }
    }
    if !shape.ends_with(sizes) {
        let sizes = listed(sizes)?;
        return Err(Error::runtime(format_args!(
            "Given normalized_shape={sizes}, expected input with shape [*, {}, but got input of size{}",
            &sizes[1..],
            listed(shape)?
        )));
    }
    Ok((shape.len() - sizes.len()..shape.len()).collect::<Vec<_>>().into())
}

/// Refuses parameters of another dtype than the input; halves may have parameters of f32.
fn check_parameters(input: DType, weight: Option<&Expr>, bias: Option<&Expr>) -> Result<()> {
    let weight = weight.map(Expr::dtype).transpose()?;
    let bias = bias.map(Expr::dtype).transpose()?;
    if weight.is_none_or(|weight| weight == input) {
        return match bias {
            Some(bias) if bias != input => Err(Error::runtime(format_args!(
                "expected scalar type {} but found {}",
                input.scalar_name(),
                bias.scalar_name()
            ))),
            _ => Ok(()),
        };
    }
    if [weight, bias].into_iter().flatten().any(|dtype| dtype != DType::F32) {
        return Err(Error::runtime("mixed dtype (CPU): expect parameter to have scalar type of Float"));
    }
    if input.opmath() != DType::F32 {
        return Err(Error::runtime("mixed dtype (CPU): all inputs must share same datatype."));
    }
    Ok(())
}

pub(in crate::expr) fn layer_norm(
    input: &Expr,
    normalized_shape: &[usize],
    weight: Option<&Expr>,
    bias: Option<&Expr>,
    eps: f64,
) -> Expr {
    let attempt = || {
        let dims = keepdim(normalized_dims(input, normalized_shape, [("weight", weight), ("bias", bias)])?);
        check_parameters(input.dtype()?, weight, bias)?;
        Ok(formula(Op::LayerNorm, [input], |[input]| {
            let centred = Expr::map_within(Op::Sub, [input.clone(), input.mean(dims.clone())]);
            let factor = (input.var_corrected(dims, 0.0) + eps).rsqrt();
            let normal = Expr::map_within(Op::Mul, [centred, factor]);
            Ok(with_parameter(Op::Add, with_parameter(Op::Mul, normal, weight), bias))
        }))
    };
    attempt().unwrap_or_else(|error| input.failed("layer_norm", error))
}

/// The operation with a parameter, if there is one, which is stretched.
fn with_parameter(op: Op, normal: Expr, parameter: Option<&Expr>) -> Expr {
    match parameter {
        Some(parameter) => Expr::map_within(op, [normal, parameter.clone()]),
        None => normal,
    }
}

/// The dtype to compute in decides what `eps` is by default.
pub(in crate::expr) fn rms_norm(
    input: &Expr,
    normalized_shape: &[usize],
    weight: Option<&Expr>,
    eps: Option<f64>,
) -> Expr {
    let attempt = || {
        let dims = keepdim(normalized_dims(input, normalized_shape, [("weight", weight), ("bias", None)])?);
        Ok(formula(Op::RmsNorm, [input], |[input]| {
            let is_double = input.dtype()?.to_real() == DType::F64;
            let least = if is_double { f64::EPSILON } else { f32::EPSILON.into() };
            let root = (input.square().mean(dims) + eps.unwrap_or(least)).rsqrt();
            Ok(with_parameter(Op::Mul, Expr::map_within(Op::Mul, [input, root]), weight))
        }))
    };
    attempt().unwrap_or_else(|error| input.failed("rms_norm", error))
}
