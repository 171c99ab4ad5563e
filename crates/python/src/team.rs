//! Owns the threads of OpenMP, on which torch computes: evaluations on torch's tensors run there too. It does
//! not know what they compute.
//!
//! OpenMP's threads stay awake for milliseconds after each of torch's operations, and wait at full speed.
//! Threads of the engine would share processors with them: `gelu` of 512 x 512 elements between torch's
//! operations took 1.1 ms on two processors, as long as on one, and 0.5 ms where OpenMP waited less long.

use std::ffi::{c_uint, c_void};

use pyo3::prelude::*;
use zerostride::on_team;

use crate::once::Once;

/// `GOMP_parallel` of GCC's and LLVM's OpenMP: calls a function with the pointer on so many threads, the
/// calling one included, and returns when all calls have returned.
type Region = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);

static REGION: Once<Option<Region>> = Once::new();

/// Runs `run` on torch's threads if these are OpenMP's.
pub(crate) fn with_torch<R>(run: impl FnOnce() -> R) -> R {
    match REGION.get() {
        Some(Some(_)) => on_team(team, run),
        _ => run(),
    }
}

/// Looks for OpenMP among the libraries of the process.
pub(crate) fn find(py: Python<'_>) -> PyResult<()> {
    let find = || -> PyResult<usize> {
        let ctypes = py.import("ctypes")?;
        let region = ctypes.getattr("CDLL")?.call1((py.None(),))?.getattr("GOMP_parallel")?;
        ctypes.getattr("cast")?.call1((region, ctypes.getattr("c_void_p")?))?.getattr("value")?.extract()
    };
    REGION.get_or_make(py, || {
        // SAFETY: the symbol is this function in all libraries that have it, and is not null.
        Ok(find().ok().map(|address| unsafe { std::mem::transmute::<usize, Region>(address) }))
    })?;
    Ok(())
}

fn team(threads: usize, work: &(dyn Fn() + Sync)) {
    /// # Safety
    /// The pointer leads to a function that may be called from several threads.
    unsafe extern "C" fn member(work: *mut c_void) {
        // SAFETY: as the caller says. A panic would abort the process.
        unsafe { (*work.cast::<&(dyn Fn() + Sync)>())() }
    }
    if let Some(Some(region)) = REGION.get() {
        // SAFETY: the work is there until the call returns.
        unsafe { region(member, (&raw const work).cast_mut().cast(), threads as c_uint, 0) }
    }
}
