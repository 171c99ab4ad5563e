//! Owns indexing: what is between the brackets of `x[...]` becomes a view.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PySlice, PyTuple};
use zerostride::{Expr, Tensor};

use crate::arguments::Value;
use crate::error::raise;
use crate::operand::Given;
use crate::row::type_name;
use crate::threads::compute;

/// One item of an index.
enum Item {
    Select(isize),
    Slice([Option<isize>; 3]),
    NewDim,
    Ellipsis,
}

impl Item {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Item> {
        if object.is_none() {
            return Ok(Item::NewDim);
        }
        if object.is_instance_of::<PyEllipsis>() {
            return Ok(Item::Ellipsis);
        }
        if let Ok(slice) = object.cast::<PySlice>() {
            let part = |name: &str| -> PyResult<Option<isize>> {
                let part = slice.getattr(name)?;
                if part.is_none() { Ok(None) } else { bound(&part).map(Some) }
            };
            return Ok(Item::Slice([part("start")?, part("stop")?, part("step")?]));
        }
        if !object.is_instance_of::<PyBool>()
            && let Ok(index) = object.extract()
        {
            return Ok(Item::Select(index));
        }
        Err(PyIndexError::new_err(format!(
            "an index is an integer, a slice, None or ..., not {}",
            type_name(object)
        )))
    }
}

/// A bound of a slice; beyond the integers it means the end on its side.
fn bound(object: &Bound<'_, PyAny>) -> PyResult<isize> {
    match object.extract::<isize>() {
        Ok(bound) => Ok(bound),
        Err(_) if object.hasattr("__index__")? => Ok(if object.lt(0)? { isize::MIN } else { isize::MAX }),
        Err(_) => Err(PyTypeError::new_err("slice indices must be integers or None")),
    }
}

/// What a view can be taken of.
trait Indexed: Sized {
    fn sizes(&self) -> PyResult<&[usize]>;
    fn unsqueezed(&self, dim: isize) -> PyResult<Self>;
    fn selected(&self, dim: isize, index: isize) -> PyResult<Self>;
    fn sliced(&self, dim: isize, parts: [Option<isize>; 3]) -> PyResult<Self>;
}

impl Indexed for Tensor {
    fn sizes(&self) -> PyResult<&[usize]> {
        Ok(self.shape())
    }

    fn unsqueezed(&self, dim: isize) -> PyResult<Tensor> {
        self.unsqueeze(dim).map_err(raise)
    }

    fn selected(&self, dim: isize, index: isize) -> PyResult<Tensor> {
        self.select(dim, index).map_err(raise)
    }

    fn sliced(&self, dim: isize, [start, stop, step]: [Option<isize>; 3]) -> PyResult<Tensor> {
        self.slice(dim, start, stop, step.unwrap_or(1)).map_err(raise)
    }
}

impl Indexed for Expr {
    fn sizes(&self) -> PyResult<&[usize]> {
        self.shape().map_err(raise)
    }

    fn unsqueezed(&self, dim: isize) -> PyResult<Expr> {
        Ok(self.unsqueeze(dim))
    }

    fn selected(&self, dim: isize, index: isize) -> PyResult<Expr> {
        Ok(self.select(dim, index))
    }

    fn sliced(&self, dim: isize, [start, stop, step]: [Option<isize>; 3]) -> PyResult<Expr> {
        Ok(self.slice(dim, start, stop, step.unwrap_or(1)))
    }
}

fn view<T: Indexed + Clone>(of: &T, items: &[Item]) -> PyResult<T> {
    let ndim = of.sizes()?.len();
    let taken = items.iter().filter(|item| matches!(item, Item::Select(_) | Item::Slice(_))).count();
    if taken > ndim {
        return Err(PyIndexError::new_err(format!("too many indices for tensor of dimension {ndim}")));
    }
    let (mut view, mut dim, mut skipped) = (of.clone(), 0, false);
    for item in items {
        match *item {
            Item::NewDim => {
                view = view.unsqueezed(dim)?;
                dim += 1;
            }
            Item::Select(index) => {
                let size = view.sizes()?[dim as usize];
                let inside = if index < 0 { index.unsigned_abs() <= size } else { (index as usize) < size };
                if !inside {
                    return Err(PyIndexError::new_err(if ndim == 0 {
                        "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number"
                            .to_owned()
                    } else {
                        format!("index {index} is out of bounds for dimension {dim} with size {size}")
                    }));
                }
                view = view.selected(dim, index)?;
            }
            Item::Slice(parts) => {
                if parts != [None; 3] {
                    view = view.sliced(dim, parts)?;
                }
                dim += 1;
            }
            Item::Ellipsis if skipped => {
                return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
            }
            Item::Ellipsis => {
                dim += (ndim - taken) as isize;
                skipped = true;
            }
        }
    }
    Ok(view)
}

fn items(key: &Bound<'_, PyAny>) -> PyResult<Vec<Item>> {
    match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().map(|key| Item::new(&key)).collect(),
        Err(_) => Ok(vec![Item::new(key)?]),
    }
}

/// `value[key]`.
pub(crate) fn get(value: Value, key: &Bound<'_, PyAny>) -> PyResult<Value> {
    let items = items(key)?;
    Ok(match value {
        Value::Tensor(tensor) => Value::Tensor(view(&tensor, &items)?),
        Value::Traced(expr) => Value::Traced(view(&expr, &items)?),
    })
}

/// `tensor[key] = value`.
pub(crate) fn set(tensor: &Tensor, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let target = view(tensor, &items(key)?)?;
    let given = Given::new(value)?
        .ok_or_else(|| PyTypeError::new_err(format!("can't assign a {} to a tensor", type_name(value))))?;
    compute(key.py(), [target.numel()], || target.copy_(given.operand())).map_err(raise)
}
