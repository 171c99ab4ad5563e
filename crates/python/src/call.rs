//! Owns a call from Python: its arguments as they were passed. It does not know what is called.

use pyo3::prelude::*;
use smallvec::SmallVec;

/// The arguments of one call, borrowed from Python for its duration.
pub(crate) struct Call<'a, 'py> {
    pub(crate) py: Python<'py>,
    /// The positional arguments; the receiver of a method comes first.
    pub(crate) positional: SmallVec<[&'a Bound<'py, PyAny>; 6]>,
    pub(crate) named: SmallVec<[(String, &'a Bound<'py, PyAny>); 2]>,
    /// Whether there is a receiver.
    pub(crate) method: bool,
}
