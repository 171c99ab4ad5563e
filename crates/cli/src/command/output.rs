//! Owns text that goes to a file instead of standard output: it appears whole or not at all.

use std::io::{self, Write};
use std::path::Path;

/// Writes a text under a name, through a temporary file in the same folder.
pub(super) fn write_text(path: &Path, text: &str) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new().prefix(".zerostride-").suffix(".tmp").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
