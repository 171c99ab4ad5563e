//! The commands, one file each. A command prints its result and returns the exit status, or fails with a
//! report.

mod completions;
mod eval;
mod explain;
mod help;
mod info;
mod man;
mod output;
mod progress;
mod results;
mod summary;
mod symbolic;
mod tour;

pub(crate) use completions::completions;
pub(crate) use eval::eval;
pub(crate) use explain::explain;
pub(crate) use help::{answer, help};
pub(crate) use info::info;
pub(crate) use man::man;
pub(crate) use tour::tour;
