//! Owns the functions that broadcast several shapes or tensors.
//! It does not know the rule (`zerostride-shape`).

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::function::rows;
use crate::error::raise;
use crate::tensor;

rows! {
    /// The shape to which shapes broadcast.
    function "broadcast_shapes" "*shapes" |a| {
        let shapes = a.shapes()?;
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let shape = zerostride::broadcast_shapes(&shapes).map_err(|error| raise(error.into()))?;
        PyTuple::new(a.py, shape.iter())?.into_any()
    };
    /// The tensors, each stretched to the shape of all, without copies.
    function "broadcast_tensors" "*tensors" |a| {
        let objects: Vec<_> = a.rest().iter().map(|object| (*object).clone()).collect();
        let tensors = a.tensors_of(&objects)?;
        let stretched = zerostride::broadcast_tensors(&tensors.iter().collect::<Vec<_>>()).map_err(raise)?;
        let objects = stretched.into_iter().map(|stretched| tensor::object(a.py, stretched));
        PyTuple::new(a.py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any()
    };
}
