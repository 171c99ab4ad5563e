//! Owns arguments that name an array in a file, as `m.safetensors:weight`: the lookup of its header, and its
//! loading. It does not know formats (the engine's `io`).

use std::path::Path;

use zerostride::io::{self, Entry, Format};
use zerostride::{Result, Tensor};

/// Whether an argument names a file rather than being a shape or a value, by the file ending, which may have
/// a colon after it, or that of a Zarr store in which it is.
pub(crate) fn names_file(text: &str) -> bool {
    let (file, _) = io::locate(Path::new(text));
    let is_store = |folder| Format::from_path(folder) == Some(Format::Zarr);
    Format::from_path(file).is_some() || file.ancestors().any(is_store)
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
