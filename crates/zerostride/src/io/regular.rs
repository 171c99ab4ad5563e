//! Owns the rule that only regular files are read and replaced: a pipe or a device may never end. It does not
//! know what is in a file.

use std::fs::Metadata;

use crate::error::file::Problem;

/// Refuses anything but a regular file.
pub(super) fn check_regular(metadata: &Metadata) -> Result<(), Problem> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(Problem::NotRegular { kind: "a folder" });
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Err(Problem::NotRegular { kind: "a pipe" });
        }
        if kind.is_socket() {
            return Err(Problem::NotRegular { kind: "a socket" });
        }
    }
    Err(Problem::NotRegular { kind: "a device" })
}
