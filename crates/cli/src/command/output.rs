//! Owns the check of an output's name. It does not know what is written there.

use std::path::Path;

use crate::failure::{Report, Result};

/// Refuses a name that exists, unless it may be replaced.
pub(super) fn keep_what_is_there(path: &Path, force: bool) -> Result {
    if force || path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Report::usage(format!("{}: it exists already", path.display()))
        .help("--force replaces it, once the result is complete")
        .into())
}
