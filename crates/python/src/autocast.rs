//! Owns torch's autocast for the CPU, as far as traced functions have it: matrix products in the dtype that a
//! program asks for. It does not know which functions compute products.

use std::cell::Cell;

use pyo3::prelude::*;
use zerostride::{Category, DType, Expr};

use crate::dtype;
use crate::once::Once;

thread_local! {
    /// The dtype of products while a function is traced.
    static DTYPE: Cell<Option<DType>> = const { Cell::new(None) };
}

/// The dtype that torch asks for now; `None` outside of autocast. Torch has been imported.
pub(crate) fn wanted(py: Python<'_>) -> PyResult<Option<DType>> {
    static IS_ANY_ENABLED: Once<Py<PyAny>> = Once::new();
    static IS_ENABLED: Once<Py<PyAny>> = Once::new();
    static WANTED: Once<Py<PyAny>> = Once::new();
    // Takes half the time.
    if !IS_ANY_ENABLED.import(py, "torch._C", "_is_any_autocast_enabled")?.call0()?.is_truthy()? {
        return Ok(None);
    }
    if !IS_ENABLED.import(py, "torch", "is_autocast_enabled")?.call1(("cpu",))?.is_truthy()? {
        return Ok(None);
    }
    dtype::extract(&WANTED.import(py, "torch", "get_autocast_dtype")?.call1(("cpu",))?).map(Some)
}

/// Runs a function in which products have that dtype.
pub(crate) fn within<R>(dtype: Option<DType>, run: impl FnOnce() -> R) -> R {
    /// Puts back what was there, also if the function panics.
    struct Before(Option<DType>);
    impl Drop for Before {
        fn drop(&mut self) {
            DTYPE.set(self.0);
        }
    }
    let _before = Before(DTYPE.replace(dtype));
    run()
}

/// A factor of a product. As in torch, f64 stays what it is.
pub(crate) fn factor(factor: Expr) -> Expr {
    let casts = |dtype: DType| dtype.category() == Category::Float && dtype != DType::F64;
    match DTYPE.get() {
        Some(wanted) if factor.dtype().is_ok_and(casts) => factor.to_dtype(wanted),
        _ => factor,
    }
}
