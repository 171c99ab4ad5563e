//! Owns what a dry run makes of the functions that run at once: the shapes and dtypes of their results, from those of their
//! operands. Where the arguments do not fit, the function itself says so, on a stand-in, before it touches an element.

use zerostride::{Category, DType, Expr, Index, Result, Tensor, broadcast_shapes};
use zerostride_ops::promote_types;

use super::arguments::Bound;

/// What is known of a result without elements.
pub(super) enum Known {
    /// Its shape and dtype: one tensor, or several.
    All(Vec<Expr>),
    /// Nothing: how many elements there are depends on their values.
    Nothing,
    /// The function takes no elements, or its arguments do not fit, which it says itself.
    NotHere,
}

/// A tensor of a shape and dtype whose elements mean nothing: zeros, which take no memory until they are touched.
pub(crate) fn stand_in(shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::full(shape, 0, dtype)
}

/// What is known of a function's result.
pub(super) fn result(function: &str, mut a: Bound<'_>) -> Known {
    let known = match function {
        "masked_select" | "nonzero" | "unique" => return Known::Nothing,
        "repeat_interleave" if !a.is_number("repeats") => return Known::Nothing,
        "repeat_interleave" => repeat_interleave(&mut a),
        "clone" => operand(&mut a, "input").map(|(x, ..)| x),
        "tril" | "triu" => operand(&mut a, "input").filter(|(_, shape, _)| shape.len() > 1).map(|(x, ..)| x),
        "roll" => roll(&mut a),
        "repeat" | "tile" => repeat(function, &mut a),
        "sort" | "topk" => {
            return match ordered(function, &mut a) {
                Some(values) => Known::All(vec![values.clone(), values.to_dtype(DType::I64)]),
                None => Known::NotHere,
            };
        }
        "argsort" => ordered(function, &mut a).map(|values| values.to_dtype(DType::I64)),
        "cumsum" | "cumprod" => accumulate(&mut a),
        "diff" => diff(&mut a),
        "count_nonzero" => count_nonzero(&mut a),
        "searchsorted" => searchsorted(&mut a),
        "gather" | "take" | "take_along_dim" | "index_select" => picked_along(function, &mut a),
        "cat" | "stack" | "hstack" | "vstack" | "dstack" => joined(function, &mut a),
        _ => None,
    };
    known.filter(|known| known.shape().is_ok()).map_or(Known::NotHere, |known| Known::All(vec![known]))
}

/// A stand-in as a computation; `None` where there can be none.
fn made(shape: &[usize], dtype: DType) -> Option<Expr> {
    stand_in(shape, dtype).ok().map(Expr::from)
}

/// The operand, its sizes and its dtype.
fn operand(a: &mut Bound<'_>, name: &str) -> Option<(Expr, Vec<usize>, DType)> {
    let x = Expr::from(a.elements(name).ok()?);
    let (shape, dtype) = (x.shape().ok()?.to_vec(), x.dtype().ok()?);
    Some((x, shape, dtype))
}

/// The same view of an operand whatever the dimension is, if it has that dimension.
fn along(x: &Expr, dim: isize) -> Option<Expr> {
    Some(x.transpose(dim, dim)).filter(|view| view.shape().is_ok())
}

/// A dimension counted from the first; one that has been seen to exist.
fn counted(dim: isize, ndim: usize) -> usize {
    if dim < 0 { (dim + ndim as isize) as usize } else { dim as usize }
}

fn roll(a: &mut Bound<'_>) -> Option<Expr> {
    let ((x, ..), shifts) = (operand(a, "input")?, a.integers("shifts").ok()?);
    match a.optional("dims") {
        None => (shifts.len() == 1).then_some(x),
        Some(dims) => {
            let dims = dims.integers().ok().filter(|dims| dims.len() == shifts.len())?;
            Some(x.flip(&dims))
        }
    }
}

fn repeat(function: &str, a: &mut Bound<'_>) -> Option<Expr> {
    let (_, mut shape, dtype) = operand(a, "input")?;
    let mut times = a.counts().ok()?;
    if function == "tile" && times.len() < shape.len() {
        times.splice(..0, vec![1; shape.len() - times.len()]);
    }
    shape.splice(..0, vec![1; times.len().checked_sub(shape.len())?]);
    let sizes = shape.iter().zip(&times).map(|(size, times)| size.checked_mul(*times));
    made(&sizes.collect::<Option<Vec<_>>>()?, dtype)
}

fn repeat_interleave(a: &mut Bound<'_>) -> Option<Expr> {
    let (x, mut shape, dtype) = operand(a, "input")?;
    let times = a.required("repeats").and_then(|repeats| repeats.count()).ok()?;
    match a.optional_integer("dim").ok()? {
        None => made(&[shape.iter().product::<usize>().checked_mul(times)?], dtype),
        Some(dim) => {
            along(&x, dim)?;
            let size = shape.get_mut(counted(dim, x.shape().ok()?.len()))?;
            *size = size.checked_mul(times)?;
            made(&shape, dtype)
        }
    }
}

/// The values of `sort`, `argsort` and `topk`.
fn ordered(function: &str, a: &mut Bound<'_>) -> Option<Expr> {
    let (x, shape, dtype) = operand(a, "input")?;
    let dim = a.integer_or("dim", -1).ok()?;
    let view = along(&x, dim).filter(|_| dtype.category() != Category::Complex)?;
    if function != "topk" {
        return Some(view);
    }
    let k = a.required("k").and_then(|k| k.count()).ok()?;
    let most = shape.get(counted(dim, shape.len())).copied()?;
    (k <= most).then(|| x.narrow(dim, 0, k as isize))
}

/// Integers add up as i64.
fn accumulate(a: &mut Bound<'_>) -> Option<Expr> {
    let (x, _, dtype) = operand(a, "input")?;
    let view = along(&x, a.integer("dim").ok()?)?;
    Some(match dtype.category() {
        Category::Bool | Category::Int => view.to_dtype(DType::I64),
        Category::Float | Category::Complex => view,
    })
}

fn diff(a: &mut Bound<'_>) -> Option<Expr> {
    let (x, shape, _) = operand(a, "input")?;
    let dim = a.integer_or("dim", -1).ok()?;
    let n = a.optional("n").map_or(Ok(1), |n| n.count()).ok()?;
    along(&x, dim)?;
    let left = shape.get(counted(dim, shape.len()))?.saturating_sub(n);
    Some(x.narrow(dim, 0, left as isize))
}

fn count_nonzero(a: &mut Bound<'_>) -> Option<Expr> {
    let counted = operand(a, "input")?.0.to_dtype(DType::Bool);
    Some(match a.optional("dim") {
        Some(dims) => counted.sum(&dims.integers().ok()?[..]),
        None => counted.sum(..),
    })
}

fn searchsorted(a: &mut Bound<'_>) -> Option<Expr> {
    let (_, edges, dtype) = operand(a, "sorted_sequence")?;
    let (_, values, values_dtype) = operand(a, "input")?;
    let fits = edges.len() == 1 && dtype == values_dtype && dtype.category() != Category::Complex;
    fits.then(|| made(&values, DType::I64))?
}

/// `gather` and its kind: integers say which elements.
fn picked_along(function: &str, a: &mut Bound<'_>) -> Option<Expr> {
    let (x, shape, dtype) = operand(a, "input")?;
    let name = if function == "take_along_dim" { "indices" } else { "index" };
    let (_, index, _) = operand(a, name).filter(|(.., dtype)| *dtype == DType::I64)?;
    if function == "take" {
        return made(&index, dtype);
    }
    let Some(dim) = a.optional_integer("dim").ok()? else {
        return made(&[index.iter().product()], dtype);
    };
    along(&x, dim)?;
    let dim = counted(dim, shape.len());
    let others = |sizes: &[usize]| {
        let mut sizes = sizes.to_vec();
        sizes.get_mut(dim).map(|size| *size = 1)?;
        Some(sizes)
    };
    match function {
        "index_select" => {
            let mut picked = others(&shape).filter(|_| index.len() == 1)?;
            picked[dim] = index[0];
            made(&picked, dtype)
        }
        "gather" => {
            let within = others(&index)?.iter().zip(&shape).all(|(index, size)| index <= size);
            (within && index.len() == shape.len()).then(|| made(&index, dtype))?
        }
        _ => {
            let together = broadcast_shapes(&[&others(&shape)?, &others(&index)?]).ok()?;
            let mut picked = together.to_vec();
            picked[dim] = index[dim];
            (index.len() == shape.len()).then(|| made(&picked, dtype))?
        }
    }
}

/// `cat` and its kind, which differ in the dimensions that they add first.
fn joined(function: &str, a: &mut Bound<'_>) -> Option<Expr> {
    let mut shapes = Vec::new();
    let mut dtype = None;
    for x in a.list_of_elements("tensors").ok()? {
        shapes.push(x.shape().to_vec());
        dtype = Some(dtype.map_or(Some(x.dtype()), |dtype| promote_types(dtype, x.dtype()).ok())?);
    }
    let dim = a.integer_or("dim", 0).ok()?;
    let first = shapes.first()?.clone();
    let ndim = first.len() + usize::from(function == "stack");
    let dim = match function {
        "hstack" => usize::from(first.len() > 1),
        "vstack" => 0,
        "dstack" => 2,
        _ if dim < -(ndim as isize) || dim >= ndim as isize => return None,
        _ => counted(dim, ndim),
    };
    for shape in &mut shapes {
        match (function, shape.len()) {
            ("stack", _) if *shape == first => shape.insert(dim, 1),
            ("stack", _) => return None,
            ("vstack" | "dstack", 0 | 1) => shape.insert(0, 1),
            _ => {}
        }
        let least = match function {
            "hstack" => 1,
            "vstack" => 2,
            "dstack" => 3,
            _ => 0,
        };
        shape.extend(std::iter::repeat_n(1, least.max(shape.len()) - shape.len()));
    }
    let mut whole = shapes.first()?.clone();
    let total = shapes.iter().map(|shape| shape.get(dim).copied()).sum::<Option<usize>>()?;
    *whole.get_mut(dim)? = total;
    let fits = shapes.iter().all(|shape| {
        shape.len() == whole.len() && (0..whole.len()).all(|at| at == dim || shape[at] == whole[at])
    });
    fits.then(|| made(&whole, dtype?))?
}

/// The shape of what an index with integer tensors picks; `None` where it is not allowed, or its elements decide.
pub(super) fn picked(x: &Expr, items: &[Index]) -> Option<Vec<usize>> {
    let is_tensor = |item: &Index| matches!(item, Index::Tensor(_));
    let keeps = |item: &Index| matches!(item, Index::Slice { .. } | Index::NewDim);
    let mut places = Vec::new();
    for item in items {
        match item {
            Index::Tensor(index) if index.dtype() != DType::I64 => return None,
            Index::Tensor(index) => places.push(index.shape()),
            _ => {}
        }
    }
    let places = broadcast_shapes(&places).ok()?;
    let (first, last) = (items.iter().position(is_tensor)?, items.iter().rposition(is_tensor)?);
    // A slice stands where the first of them does, and the others take their dimensions away.
    let view = items.iter().enumerate().map(|(at, item)| match item {
        Index::Tensor(_) if at == first => Index::from(..),
        Index::Tensor(_) => Index::At(0),
        item => item.clone(),
    });
    let view: Vec<Index> = view.collect();
    let mut shape = x.index(&view).ok()?.shape().ok()?.to_vec();
    let kept = |items: &[Index]| items.iter().filter(|item| keeps(item)).count();
    let is_ellipsis = |item: &Index| matches!(item, Index::Ellipsis);
    let at = match items[..first].iter().any(is_ellipsis) {
        false => kept(&items[..first]),
        true => shape.len().checked_sub(1 + kept(&items[first + 1..]))?,
    };
    shape.remove(at);
    let together = items[first..last].iter().all(|item| !keeps(item) && !is_ellipsis(item));
    let at = if together { at } else { 0 };
    shape.splice(at..at, places.iter().copied());
    Some(shape)
}
