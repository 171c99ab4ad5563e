//! Owns what must be right about the name of an output, whatever is written there.

use std::path::Path;

use crate::failure::{Report, Result};

/// Refuses a name that something has already, unless that is to be replaced.
pub(super) fn keep_what_is_there(path: &Path, force: bool) -> Result {
    if force || path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Report::usage(format!("{}: it exists already", path.display()))
        .help("--force replaces it, once the result is complete")
        .into())
}
