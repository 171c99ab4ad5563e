//! Owns the bodies of functions with several forms or results: extremes, medians, quantiles, spreads with
//! their means, parts of tensors, copies with elements written. It does not know how they are computed.

use zerostride::{Argument, Arguments, DType, Dims, Expr, Index, Interpolation, Op, Scalar, Tensor, keepdim};

use super::Fault;
use super::arguments::Bound;
use super::value::{Part, Value};
use crate::expr::Problem;
use crate::words::say;

/// `max` and `min`: of all elements, along a dimension with the places, or of two tensors.
pub(super) fn extreme(
    a: &mut Bound<'_>,
    of_two: fn(Expr, Expr) -> Expr,
    value: fn(&Expr, Dims) -> Expr,
    place: fn(&Expr, Dims) -> Expr,
) -> Result<Value, Fault> {
    let input = a.tensor("input")?;
    let (dim, other) = (a.optional("dim"), a.optional("other"));
    match (dim, other) {
        (None, None) => Ok(a.in_own_name(value(&input, Dims::from(..)))?.into()),
        (Some(Part { value: Value::Number(Scalar::Int(dim)), .. }), None) => {
            let dims = a.kept(Dims::from(dim as isize))?;
            // `argmax` and `argmin` do not accept bools.
            let is_bool = input.dtype().is_ok_and(|dtype| dtype == DType::Bool);
            let ranked = if is_bool { input.to_dtype(DType::U8) } else { input.clone() };
            Ok(a.several([a.in_own_name(value(&input, dims.clone()))?, place(&ranked, dims)]))
        }
        (Some(other), None) | (None, Some(other)) => Ok(of_two(input, other.operand()?).into()),
        (Some(part), Some(_)) => Err(part.unwanted(&say!("dim-or-other"))),
    }
}

/// The smallest and the largest element.
pub(super) fn aminmax(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let (input, dims) = (a.tensor("input")?, a.dims()?);
    Ok(a.several([a.in_own_name(input.amin(dims.clone()))?, input.amax(dims)]))
}

/// The shape of a reduction over one dimension, or over all.
fn reduced(a: &Bound<'_>, x: &Tensor, dim: Option<isize>, keeps: bool) -> Result<Vec<usize>, Fault> {
    let dims = dim.map_or_else(|| Dims::from(..), Dims::from);
    let sum = Expr::from(x).sum(if keeps { keepdim(dims) } else { dims });
    sum.shape().map(<[usize]>::to_vec).map_err(|error| a.fault(error))
}

/// A pair of elements along a dimension and their places.
fn pair(
    a: &Bound<'_>,
    x: &Tensor,
    (dim, keeps): (isize, bool),
    run: impl FnOnce() -> zerostride::Result<(Tensor, Tensor)>,
) -> Result<Value, Fault> {
    let shape = reduced(a, x, Some(dim), keeps)?;
    let mut places = None;
    let values = a.create(&shape, x.dtype(), || {
        let (values, found) = run()?;
        places = Some(found);
        Ok(values)
    })?;
    let places = a.create(&shape, DType::I64, || Ok(places.expect("both are made together")))?;
    Ok(a.several([values, places].map(Expr::from)))
}

type OfAll = fn(&Tensor) -> zerostride::Result<Tensor>;
type Along = fn(&Tensor, isize, bool) -> zerostride::Result<(Tensor, Tensor)>;

/// `median` and `nanmedian`.
pub(super) fn middle(a: &mut Bound<'_>, of_all: OfAll, along: Along) -> Result<Value, Fault> {
    let (x, keeps) = (a.elements("input")?, a.flag("keepdim")?);
    match a.optional("dim") {
        Some(dim) => {
            let dim = dim.integer()?;
            pair(a, &x, (dim, keeps), || along(&x, dim, keeps))
        }
        None => Ok(a.create(&[], x.dtype(), || of_all(&x))?.into()),
    }
}

pub(super) fn kthvalue(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let (x, k) = (a.elements("input")?, a.required("k")?.count()?);
    let (dim, keeps) = (a.integer_or("dim", -1)?, a.flag("keepdim")?);
    pair(a, &x, (dim, keeps), || x.kthvalue(k, dim, keeps))
}

type Quantile = fn(&Tensor, &Tensor, Option<isize>, bool, Interpolation) -> zerostride::Result<Tensor>;

/// `quantile` and `nanquantile`; `q` gets the dtype that it must have.
pub(super) fn quantile(a: &mut Bound<'_>, quantile: Quantile) -> Result<Tensor, Fault> {
    let x = a.elements("input")?;
    let q = a.required("q")?.converted(x.dtype())?.eval().map_err(|error| a.fault(error))?;
    let dim = a.optional("dim").map(|part| part.integer()).transpose()?;
    let keeps = a.flag("keepdim")?;
    let how = match a.optional("interpolation") {
        Some(part) => a.quoted(part)?.parse().map_err(|error| a.fault(error))?,
        None => Interpolation::default(),
    };
    let mut shape = q.shape().to_vec();
    shape.extend(reduced(a, &x, dim, keeps)?);
    a.create(&shape, x.dtype(), || quantile(&x, &q, dim, keeps, how))
}

/// `std` or `var`, and the mean along the same dimensions.
pub(super) fn with_mean(a: &mut Bound<'_>, spread: Op) -> Result<Value, Fault> {
    let input = a.tensor("input")?;
    let (mut dims, mut unbiased) = (a.optional("dim"), a.optional("unbiased"));
    // A flag in the place of `dim` is `unbiased`.
    if matches!(dims, Some(Part { value: Value::Number(Scalar::Bool(_)), .. })) {
        unbiased = dims.take();
    }
    let dims = dims.map_or(Ok(Vec::new()), |part| part.integers())?;
    let keeps = a.flag("keepdim")?;
    let mut named = vec![("keepdim".to_owned(), Argument::Number(keeps.into()))];
    if !dims.is_empty() {
        named.push(("dim".to_owned(), Argument::Dims(dims.clone())));
    }
    for (name, part) in [("unbiased", unbiased), ("correction", a.optional("correction"))] {
        if let Some(part) = part {
            let Value::Number(number) = part.value else { return Err(part.unwanted(&say!("a-number"))) };
            named.push((name.to_owned(), Argument::Number(number)));
        }
    }
    let positional = vec![Argument::Expr(input.clone())];
    let spread = zerostride::call(spread, Arguments { positional, named }).map_err(|error| a.fault(error))?;
    let dims = Dims::from(&dims[..]);
    Ok(a.several([spread, input.mean(if keeps { keepdim(dims) } else { dims })]))
}

/// Whether two tensors have the same shape and elements.
pub(super) fn equal(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let (x, y) = (a.tensor("input")?, a.tensor("other")?);
    let shape = |x: &Expr| x.shape().map(<[usize]>::to_vec).map_err(|error| a.fault(error));
    match shape(&x)? == shape(&y)? {
        true => Ok(x.eq(y).all(..).into()),
        false => Ok(a.create(&[], DType::Bool, || Tensor::full(&[], false, DType::Bool))?.into()),
    }
}

pub(super) fn allclose(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let (x, y) = (a.tensor("input")?, a.tensor("other")?);
    let mut tolerance = |name, default: f64| match a.optional(name) {
        Some(Part { value: Value::Number(number), .. }) => Ok(number.to_f64()),
        Some(part) => Err(part.unwanted(&say!("a-number"))),
        None => Ok(default),
    };
    let (rtol, atol) = (tolerance("rtol", 1e-5)?, tolerance("atol", 1e-8)?);
    Ok(x.isclose(y, rtol, atol, a.flag("equal_nan")?).all(..))
}

pub(super) fn clip(a: &mut Bound<'_>) -> Result<Expr, Fault> {
    let input = a.tensor("input")?;
    let mut bound = |name| a.optional(name).map(Part::operand).transpose();
    let (min, max) = (bound("min")?, bound("max")?);
    Ok(input.clamp(min, max))
}

/// The matrix product of operands with so many dimensions.
pub(super) fn product(a: &mut Bound<'_>, other: &str, ranks: [usize; 2]) -> Result<Expr, Fault> {
    let mut operand = |name, rank: usize| {
        let part = a.required(name)?;
        let span = part.span;
        let tensor = part.tensor()?;
        let found = tensor.shape().map_err(|error| a.fault(error))?.len();
        if found == rank {
            return Ok(tensor);
        }
        let wanted = match rank {
            1 => say!("a-vector"),
            2 => say!("a-matrix"),
            _ => say!("a-batch-of-matrices"),
        };
        Err(a.mismatch(span, &say!("wants-dims", name = name, wanted = wanted, found = found)))
    };
    Ok(operand("input", ranks[0])?.matmul(operand(other, ranks[1])?))
}

/// Parts of one size, or of several, along a dimension.
pub(super) fn split(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let x = a.elements("tensor")?;
    let (size, dim) = (a.required("split_size_or_sections")?, a.integer_or("dim", 0)?);
    let parts = match size.value {
        Value::Number(_) => x.split(size.count()?, dim),
        _ => x.split_sizes(&size.counts()?, dim),
    };
    a.parts(parts)
}

pub(super) fn chunk(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let (x, count) = (a.elements("input")?, a.required("chunks")?.count()?);
    let parts = x.chunk(count, a.integer_or("dim", 0)?);
    a.parts(parts)
}

pub(super) fn unbind(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let x = a.elements("input")?;
    let parts = x.unbind(a.integer_or("dim", 0)?);
    a.parts(parts)
}

/// Vectors stretched to the grid that they span.
pub(super) fn meshgrid(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let xy = match a.optional("indexing") {
        None => false,
        Some(part) => {
            let span = part.span;
            match &*a.quoted(part)? {
                "ij" => false,
                "xy" => true,
                other => {
                    let message =
                        say!("one-of-two", name = "indexing", one = "ij", other = "xy", found = other);
                    return Err(Problem::new(message, span).into());
                }
            }
        }
    };
    let tensors = a.rest_elements()?;
    a.parts(zerostride::meshgrid(&tensors.iter().collect::<Vec<_>>(), xy))
}

pub(super) fn broadcast_tensors(a: &mut Bound<'_>) -> Result<Value, Fault> {
    let tensors = a.rest_elements()?;
    a.parts(zerostride::broadcast_tensors(&tensors.iter().collect::<Vec<_>>()))
}

/// The index of the bucket between sorted boundaries that each value falls into.
pub(super) fn bucketize(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, boundaries, right) = (a.elements("input")?, a.elements("boundaries")?, a.flag("right")?);
    a.create(x.shape(), DType::I64, || x.bucketize(&boundaries, right))
}

/// A row-major copy to which elements are written.
fn copy(
    a: &Bound<'_>,
    x: &Tensor,
    write: impl FnOnce(&Tensor) -> zerostride::Result<()>,
) -> Result<Tensor, Fault> {
    a.create(x.shape(), x.dtype(), || {
        let copy = x.row_major()?;
        write(&copy).map(|()| copy)
    })
}

type Scatter = fn(&Tensor, isize, &Tensor, &Tensor) -> zerostride::Result<()>;

/// `scatter`, which may add or multiply, and `scatter_add`.
pub(super) fn scatter(a: &mut Bound<'_>, write: Scatter) -> Result<Tensor, Fault> {
    let (x, dim, index) = (a.elements("input")?, a.required("dim")?.integer()?, a.elements("index")?);
    let write = match a.optional("reduce") {
        None => write,
        Some(part) => {
            let span = part.span;
            match &*a.quoted(part)? {
                "add" => Tensor::scatter_add_,
                "multiply" => Tensor::scatter_multiply_,
                other => {
                    let message =
                        say!("one-of-two", name = "reduce", one = "add", other = "multiply", found = other);
                    return Err(Problem::new(message, span).into());
                }
            }
        }
    };
    let source = match a.optional("value") {
        Some(part) => part,
        None => a.required("src")?,
    };
    let source = match source.value {
        // A number is written to all of them.
        Value::Number(number) => Tensor::full(&[], number, x.dtype())
            .and_then(|one| one.expand_as(&index))
            .map_err(|error| a.fault(error))?,
        _ => a.computed(source)?,
    };
    copy(a, &x, |x| write(x, dim, &index, &source))
}

pub(super) fn index_add(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, dim) = (a.elements("input")?, a.required("dim")?.integer()?);
    let (index, source) = (a.elements("index")?, a.elements("source")?);
    let alpha = match a.optional("alpha") {
        Some(Part { value: Value::Number(alpha), .. }) => alpha,
        Some(part) => return Err(part.unwanted(&say!("a-number"))),
        None => Scalar::Int(1),
    };
    copy(a, &x, |x| x.index_add_(dim, &index, &source, alpha))
}

pub(super) fn index_put(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let x = a.elements("input")?;
    let indices = a.required("indices")?;
    let Value::Sequence(parts) = indices.value else {
        return Err(indices.unwanted(&say!("tuple-of-tensors")));
    };
    let items = parts.into_iter().map(|part| Ok(Index::from(a.computed(part)?)));
    let items = items.collect::<Result<Vec<Index>, Fault>>()?;
    let (values, accumulate) = (a.elements("values")?, a.flag("accumulate")?);
    copy(a, &x, |x| x.index_put_(&items, &values, accumulate))
}

pub(super) fn masked_scatter(a: &mut Bound<'_>) -> Result<Tensor, Fault> {
    let (x, mask, source) = (a.elements("input")?, a.elements("mask")?, a.elements("source")?);
    let broadcast = zerostride::broadcast_tensors(&[&x, &mask]).map_err(|error| a.fault(error))?;
    copy(a, &broadcast[0], |x| x.masked_scatter_(&mask, &source))
}
