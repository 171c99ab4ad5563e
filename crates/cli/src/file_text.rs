//! Owns arguments that name an array in a file, as `m.safetensors:weight`: the lookup of its header, and its
//! loading. It does not know formats (the engine's `io`).

use std::path::Path;

use zerostride::io::{self, Entry, Format};
use zerostride::{Result, Tensor};

/// Whether an argument names a file rather than being a shape or a value, by the file ending, which may have
/// a colon after it.
pub(crate) fn names_file(text: &str) -> bool {
    Format::from_path(io::locate(Path::new(text)).0).is_some()
}

/// The header of the array that an argument names.
pub(crate) fn entry(text: &str) -> Result<Entry> {
    let (file, name) = io::locate(Path::new(text));
    let container = io::open(file)?;
    let index = container.find(name)?;
    Ok(container.entries()[index].clone())
}

/// The array that an argument names.
pub(crate) fn load(text: &str) -> Result<Tensor> {
    io::load(text)
}

/// The array that an argument names, memory-mapped.
#[allow(unsafe_code)]
pub(crate) fn map(text: &str) -> Result<Tensor> {
    // SAFETY: this program writes to no existing file: results appear under new names. It cannot check that
    // no other program changes the file meanwhile; the help of `--mmap` says that none must, and the user has
    // chosen it.
    unsafe { io::map(text) }
}
