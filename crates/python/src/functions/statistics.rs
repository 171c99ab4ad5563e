//! Owns statistics: extremes with indices, medians, quantiles.
//! It does not know how they are computed.

use pyo3::exceptions::{PyIndexError, PyNotImplementedError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use zerostride::{Argument, Category, DType, Dims, Expr, Interpolation, Op, Tensor, keepdim};

use super::function::{Answer, rows};
use super::order::{dims, named, tuple};
use crate::arguments::Arguments;
use crate::error::raise;
use crate::operand::Given;
use crate::threads::compute;
use crate::{nested, number};

rows! {
    /// The largest element, NaN if one is; with `dim` those along it and the index of the first of each; with
    /// `other` element by element.
    both "max" "input, dim=None, keepdim=False, *, other=None, out=None" |a| extreme(a, &MAX)?;
    /// The smallest element, NaN if one is; with `dim` those along it and the index of the first of each;
    /// with `other` element by element.
    both "min" "input, dim=None, keepdim=False, *, other=None, out=None" |a| extreme(a, &MIN)?;
    /// The smallest and the largest element, NaN if one is.
    both "aminmax" "input, *, dim=None, keepdim=False, out=None" |a| {
        let (x, dims) = (a.value("input")?, kept(a)?);
        if x.dtype()?.category() == Category::Complex {
            let message = format!("aminmax not implemented for {}", x.dtype()?.scalar_name());
            return Err(PyTypeError::new_err(message));
        }
        let least = x.computed(a.py, |x| x.amin(dims.clone()))?;
        named(a.py, "aminmax", [least, x.computed(a.py, |x| x.amax(dims))?])?
    };
    /// The median, of an even number of elements the lower one of two; with `dim` those along it and their
    /// indices.
    both "median" "input, dim=None, keepdim=False, *, out=None" |a| middle(a, "median", Tensor::median, Tensor::median_along)?;
    /// The median of the elements that are not NaN; with `dim` those along it and their indices.
    both "nanmedian" "input, dim=None, keepdim=False, *, out=None" |a| {
        middle(a, "nanmedian", Tensor::nanmedian, Tensor::nanmedian_along)?
    };
    /// The `k`-th smallest elements along a dimension, counted from 1, and their indices.
    both "kthvalue" "input, k, dim=-1, keepdim=False, *, out=None" |a| {
        let (x, k) = (a.tensor("input")?, a.count("k")?);
        let (dim, keeps) = (a.integer_or("dim", -1)?, a.flag("keepdim")?);
        let (values, places) = compute(a.py, [x.numel()], || x.kthvalue(k, dim, keeps)).map_err(raise)?;
        named(a.py, "kthvalue", [values, places])?
    };
    /// The quantiles `q`, of all elements or along `dim`; NaN if an element is. `interpolation` decides
    /// between two elements.
    both "quantile" "input, q, dim=None, keepdim=False, *, interpolation='linear', out=None" |a| quantile(a, Tensor::quantile)?;
    /// The quantiles `q` of the elements that are not NaN, of all of them or along `dim`.
    both "nanquantile" "input, q, dim=None, keepdim=False, *, interpolation='linear', out=None" |a| {
        quantile(a, Tensor::nanquantile)?
    };
    /// The standard deviation and the mean.
    both "std_mean" "input, dim=None, unbiased=None, keepdim=False, *, correction=1" |a| with_mean(a, "std_mean", Op::Std)?;
    /// The variance and the mean.
    both "var_mean" "input, dim=None, unbiased=None, keepdim=False, *, correction=1" |a| with_mean(a, "var_mean", Op::Var)?;
    /// Whether two tensors have the same shape and elements.
    both "equal" "input, other" |a| {
        let (x, y) = (a.tensor("input")?, a.tensor("other")?);
        let same = |x: &Tensor, y: &Tensor| x.eq(y)?.all(..)?.item::<bool>();
        let equal = x.shape() == y.shape() && compute(a.py, [x.numel()], || same(&x, &y)).map_err(raise)?;
        number::object(a.py, equal.into())?
    };
    /// Whether all elements of two tensors are close to each other, as by `isclose`.
    both "allclose" "input, other, rtol=1e-05, atol=1e-08, equal_nan=False" |a| {
        let (x, y, equal_nan) = (a.tensor("input")?, a.tensor("other")?, a.flag("equal_nan")?);
        let tolerance = |name, default: f64| a.number_or(name, default.into()).map(|number| number.to_f64());
        let (rtol, atol) = (tolerance("rtol", 1e-5)?, tolerance("atol", 1e-8)?);
        let close = || Expr::from(&x).isclose(&y, rtol, atol, equal_nan).all(..).eval()?.item::<bool>();
        let close = compute(a.py, [x.numel(), y.numel()], close).map_err(raise)?;
        number::object(a.py, close.into())?
    };
    /// The elements clamped to `min` and `max`, as by `clamp`.
    both "clip" "input, min=None, max=None, *, out=None" |a| {
        let mut x = a.value("input")?;
        let mut bound = |name| a.optional(name).map(|_| a.operand(name, &mut x)).transpose();
        let (min, max) = (bound("min")?, bound("max")?);
        x.computed(a.py, |x| x.clamp(min, max))?
    };
}

/// `max` or `min`, as the operations that it consists of.
struct Extreme {
    name: &'static str,
    of_two: fn(&Expr, Expr) -> Expr,
    value: fn(&Expr, Dims) -> Expr,
    /// The values along one dimension.
    along: fn(&Expr, Dims) -> Expr,
    place: fn(&Expr, Dims) -> Expr,
}

static MAX: Extreme = Extreme {
    name: "max",
    of_two: |x, y| x.maximum(y),
    value: |x, dims| x.amax(dims),
    along: |x, dims| x.max_along(dims),
    place: |x, dims| x.argmax(dims),
};

static MIN: Extreme = Extreme {
    name: "min",
    of_two: |x, y| x.minimum(y),
    value: |x, dims| x.amin(dims),
    along: |x, dims| x.min_along(dims),
    place: |x, dims| x.argmin(dims),
};

fn extreme<'py>(a: &Arguments<'_, 'py>, extreme: &Extreme) -> PyResult<Answer<'py>> {
    let (mut x, name) = (a.value("input")?, extreme.name);
    // An array of one integer can be converted to an integer, but is a dimension by its name only.
    let names_dim = |dim: &&Bound<'_, PyAny>| {
        a.is_named("dim") || dim.extract::<isize>().is_ok() && !dim.hasattr("__dlpack__").unwrap_or_default()
    };
    let second = if a.optional("dim").is_some_and(|dim| !names_dim(&dim)) { "dim" } else { "other" };
    if a.optional(second).is_some() {
        let other = a.operand(second, &mut x)?;
        return Ok(x.computed(a.py, |x| (extreme.of_two)(&x, other))?.into());
    }
    let (shape, dtype) = (x.expr().shape().map_err(raise)?.to_vec(), x.dtype()?);
    let is_complex = dtype.category() == Category::Complex;
    let Some(dim) = a.integer_or_none("dim")? else {
        if shape.contains(&0) {
            return Err(PyRuntimeError::new_err(format!(
                "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )));
        }
        if is_complex {
            let message = format!("\"{name}_all\" not implemented for '{}'", dtype.scalar_name());
            return Err(PyNotImplementedError::new_err(message));
        }
        return Ok(x.computed(a.py, |x| (extreme.value)(&x, Dims::from(..)))?.into());
    };
    if is_complex {
        return Err(PyTypeError::new_err(format!("{name}(): does not support complex input")));
    }
    let place = if dim < 0 { dim + shape.len() as isize } else { dim };
    if usize::try_from(place).ok().and_then(|place| shape.get(place)) == Some(&0) {
        let message = format!("{name}(): Expected reduction dim {place} to have non-zero size.");
        return Err(PyIndexError::new_err(message));
    }
    let dims = kept(a)?;
    let value = x.computed(a.py, |x| (extreme.along)(&x, dims.clone()))?;
    let place = x.computed(a.py, |x| {
        // `argmax` and `argmin` do not accept bools.
        let is_bool = x.dtype().is_ok_and(|dtype| dtype.category() == Category::Bool);
        (extreme.place)(&if is_bool { x.to_dtype(DType::U8) } else { x }, dims)
    })?;
    Ok(named(a.py, name, [value, place])?.into())
}

/// The dimensions of a reduction, with `keepdim`.
fn kept(a: &Arguments<'_, '_>) -> PyResult<Dims> {
    let dims = dims(a)?;
    Ok(if a.flag("keepdim")? { keepdim(dims) } else { dims })
}

fn middle<'py>(
    a: &Arguments<'_, 'py>,
    name: &str,
    of_all: fn(&Tensor) -> zerostride::Result<Tensor>,
    along: fn(&Tensor, isize, bool) -> zerostride::Result<(Tensor, Tensor)>,
) -> PyResult<Answer<'py>> {
    let (x, keeps) = (a.tensor("input")?, a.flag("keepdim")?);
    let Some(dim) = a.integer_or_none("dim")? else {
        return Ok(compute(a.py, [x.numel()], || of_all(&x)).map_err(raise)?.into());
    };
    let (values, places) = compute(a.py, [x.numel()], || along(&x, dim, keeps)).map_err(raise)?;
    Ok(named(a.py, name, [values, places])?.into())
}

fn quantile(
    a: &Arguments<'_, '_>,
    quantile: fn(&Tensor, &Tensor, Option<isize>, bool, Interpolation) -> zerostride::Result<Tensor>,
) -> PyResult<Tensor> {
    let (x, q) = (a.tensor("input")?, a.required("q")?);
    let q = match Given::new(q)? {
        Some(Given::Tensor(q)) => q.alias(),
        // Numbers, lists and arrays of other libraries get the dtype that tensors must have.
        _ => nested::tensor(q, Some(x.dtype()))?,
    };
    let (dim, keeps) = (a.integer_or_none("dim")?, a.flag("keepdim")?);
    let how = match a.optional("interpolation") {
        Some(name) => name.extract::<String>()?.parse().map_err(raise)?,
        None => Interpolation::default(),
    };
    compute(a.py, [x.numel()], || quantile(&x, &q, dim, keeps, how)).map_err(raise)
}

/// `std` or `var`, with the arguments that the row takes, and the mean along the same dimensions.
fn with_mean<'py>(a: &Arguments<'_, 'py>, name: &str, spread: Op) -> PyResult<Bound<'py, PyAny>> {
    let x = a.value("input")?;
    if x.dtype()?.category() <= Category::Int {
        let message = format!("{name} only support floating point and complex dtypes");
        return Err(PyNotImplementedError::new_err(message));
    }
    let mut arguments =
        zerostride::Arguments { positional: vec![Argument::Expr(x.expr())], named: Vec::new() };
    for name in ["dim", "unbiased", "keepdim", "correction"] {
        if let Some(object) = a.optional(name) {
            let argument = match number::extract(object)? {
                Some(number) => Argument::Number(number),
                None => Argument::Dims(a.integers(name)?),
            };
            arguments.named.push((name.to_owned(), argument));
        }
    }
    let spread = zerostride::call(spread, arguments).map_err(raise)?;
    // A flag in the place of `dim` is `unbiased`.
    let is_flag = a.optional("dim").is_some_and(|dim| dim.is_instance_of::<PyBool>());
    let dims = if is_flag { Dims::from(..) } else { kept(a)? };
    tuple(a.py, [x.computed(a.py, |_| spread)?, x.computed(a.py, |x| x.mean(dims))?])
}
