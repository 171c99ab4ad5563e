//! Owns what puts tensors together, and what stretches several at once.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zerostride::Tensor;

use super::rows;
use crate::arguments::Arguments;
use crate::error::raise;
use crate::tensor;

rows! {
    /// Tensors one behind the other along a dimension.
    Function "cat" "tensors, dim=0, *, out=None" |a| join(a, zerostride::cat)?;
    /// Tensors one behind the other along a dimension.
    Function "concat" "tensors, dim=0, *, out=None" |a| join(a, zerostride::cat)?;
    /// Tensors side by side along a new dimension.
    Function "stack" "tensors, dim=0, *, out=None" |a| join(a, zerostride::stack)?;
    /// Tensors side by side: vectors along their only dimension, others along the second.
    Function "hstack" "tensors, *, out=None" |a| joined(a, zerostride::hstack)?;
    /// Tensors one below the other, vectors as rows.
    Function "vstack" "tensors, *, out=None" |a| joined(a, zerostride::vstack)?;
    /// Tensors along the third dimension, matrices behind each other.
    Function "dstack" "tensors, *, out=None" |a| joined(a, zerostride::dstack)?;
    /// The tensor repeated along each dimension.
    Method "repeat" "input, *repeats" |a| a.tensor("input")?.repeat(&a.counts()?).map_err(raise)?;
    /// The tensor repeated along each dimension, the last ones where fewer counts are given.
    Both "tile" "input, *dims" |a| a.tensor("input")?.tile(&a.counts()?).map_err(raise)?;
    /// The shape to which shapes broadcast.
    Function "broadcast_shapes" "*shapes" |a| {
        let shapes = a.shapes()?;
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let shape = zerostride::broadcast_shapes(&shapes).map_err(|error| raise(error.into()))?;
        PyTuple::new(a.py, shape.iter())?.into_any()
    };
    /// The tensors, each stretched to the shape of all, without copies.
    Function "broadcast_tensors" "*tensors" |a| {
        let objects: Vec<_> = a.rest().iter().map(|object| (*object).clone()).collect();
        let tensors = a.tensors_of(&objects)?;
        let stretched = zerostride::broadcast_tensors(&tensors.iter().collect::<Vec<_>>()).map_err(raise)?;
        let objects = stretched.into_iter().map(|stretched| tensor::object(a.py, stretched));
        PyTuple::new(a.py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any()
    };
}

fn join(
    a: &Arguments<'_, '_>,
    join: fn(&[&Tensor], isize) -> zerostride::Result<Tensor>,
) -> PyResult<Tensor> {
    let tensors = a.tensors("tensors")?;
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    let dim = a.integer_or("dim", 0)?;
    a.py.detach(|| join(&tensors, dim)).map_err(raise)
}

fn joined(a: &Arguments<'_, '_>, join: fn(&[&Tensor]) -> zerostride::Result<Tensor>) -> PyResult<Tensor> {
    let tensors = a.tensors("tensors")?;
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    a.py.detach(|| join(&tensors)).map_err(raise)
}
