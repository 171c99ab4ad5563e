//! Owns the dtypes as Python objects, one for each of the fifteen, and the conversion of other notations to
//! them. It does not know promotion.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType};
use zerostride::{Category, DType};

use crate::once::Once;

/// The type of a tensor's elements, as ``torch.dtype``.
#[pyclass(name = "dtype", module = "zerostride", frozen)]
pub(crate) struct PyDType(DType);

static ALL: Once<Vec<Py<PyDType>>> = Once::new();

/// Adds the dtypes under their names.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<PyDType>()?;
    let make = || DType::ALL.into_iter().map(|dtype| Py::new(py, PyDType(dtype))).collect();
    for (dtype, object) in DType::ALL.into_iter().zip(ALL.get_or_make(py, make)?) {
        module.add(dtype.torch_name(), object)?;
    }
    Ok(())
}

/// The Python object of a dtype.
pub(crate) fn object(py: Python<'_>, dtype: DType) -> &Bound<'_, PyDType> {
    let all = ALL.get().expect("the dtypes are made with the module");
    all[dtype as usize].bind(py)
}

/// Converts an object to a dtype: one of ours, NumPy's or torch's, a name, or Python's `bool`, `int`, `float`
/// and `complex`, which mean what they mean to PyTorch.
pub(crate) fn extract(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    if let Ok(dtype) = object.cast::<PyDType>() {
        return Ok(dtype.get().0);
    }
    let py = object.py();
    let python = [
        (py.get_type::<PyBool>(), DType::Bool),
        (py.get_type::<PyInt>(), DType::I64),
        (py.get_type::<PyFloat>(), DType::F64),
        (py.get_type::<PyComplex>(), DType::C128),
    ];
    if let Some((_, dtype)) = python.iter().find(|(class, _)| object.is(class)) {
        return Ok(*dtype);
    }
    let name = if let Ok(name) = object.cast::<PyString>() {
        name.to_string()
    } else if let Ok(class) = object.cast::<PyType>() {
        class.name()?.to_string()
    } else if let Ok(name) = object.getattr("name") {
        name.to_string()
    } else {
        object.str()?.to_string()
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let parsed = last.parse().or_else(|error| {
        // NumPy has shorter names, too, such as `f4`.
        let named =
            || py.import("numpy")?.getattr("dtype")?.call1((last,))?.getattr("name")?.extract::<String>();
        named().map_or(Err(error), |name| name.parse())
    });
    parsed.map_err(|_| {
        let known: Vec<_> = DType::ALL.iter().map(|dtype| dtype.torch_name()).collect();
        PyTypeError::new_err(format!("{name} is no dtype; the dtypes are {}", known.join(", ")))
    })
}

#[pymethods]
impl PyDType {
    /// PyTorch's name.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.torch_name()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.item_size()
    }

    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.category() == Category::Float
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.0.category() == Category::Complex
    }

    #[getter]
    fn is_signed(&self) -> bool {
        self.0.is_signed_int() || matches!(self.0.category(), Category::Float | Category::Complex)
    }

    /// The dtype of the parts of a complex dtype; any other is its own.
    fn to_real<'py>(&self, py: Python<'py>) -> Bound<'py, PyDType> {
        object(py, self.0.to_real()).clone()
    }

    /// The complex dtype whose parts are of this one.
    fn to_complex<'py>(&self, py: Python<'py>) -> Bound<'py, PyDType> {
        object(py, self.0.to_complex()).clone()
    }

    /// The smallest and the largest value of an integer dtype.
    fn _int_range(&self) -> (i128, i128) {
        self.0.int_range()
    }

    /// NumPy's class, where NumPy is imported and has the dtype too: by `isinstance(x.dtype, numpy.dtype)`
    /// xarray finds out what it may fill in for missing elements.
    #[getter(__class__)]
    fn class<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static CLASS: Once<Py<PyAny>> = Once::new();
        Ok(match CLASS.loaded(slf.py(), "numpy", "dtype")? {
            Some(class) if slf.get().0 != DType::BF16 => class.clone(),
            _ => slf.get_type().into_any(),
        })
    }

    fn __repr__(&self) -> String {
        format!("zerostride.{}", self.0.torch_name())
    }

    /// Pickled by its name in the module.
    fn __reduce__(&self) -> &'static str {
        self.0.torch_name()
    }
}
