//! Owns the way from an argument that names an array in a file, as `m.safetensors:weight`, to its header or
//! to a tensor. It does not know formats; the engine's `io` does.

use std::path::Path;

use zerostride::io::{self, Entry, Format};
use zerostride::{Result, Tensor};

/// Whether an argument names a file, rather than being a shape or a value: by its ending, before a colon if
/// it has one.
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

/// The array that an argument names, on the pages of its file.
#[allow(unsafe_code)]
pub(crate) fn map(text: &str) -> Result<Tensor> {
    // SAFETY: nothing here writes to a file that exists: results appear under new names. That no other
    // program changes the file meanwhile cannot be checked here; a user of `--mmap` has read that none must,
    // and vouches for it.
    unsafe { io::map(text) }
}
