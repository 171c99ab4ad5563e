//! Owns tensors on memory-mapped files, whose pages the system reads when they are accessed. It does not know
//! computation nor how arrays are read (`container.rs`).

use std::io::Cursor;
use std::path::Path;
use std::ptr::NonNull;

use memmap2::Mmap;
use zerostride_ops::DType;
use zerostride_shape::{Layout, Shape};

use super::container::{Container, Location};
use super::elements::Encoding;
use super::open::{locate, open_regular};
use crate::error::file::{FileError, Problem};
use crate::{Lent, Result, Tensor};

/// Maps the only array of a file, or the one named behind a colon. Nothing is copied; the system reads a page
/// when it is accessed. The tensor is read-only.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.npy");
/// use zerostride::{Tensor, io};
///
/// io::save(&path, &Tensor::arange(0, 6, 1)?.reshape(&[2, 3])?)?;
/// // SAFETY: the file is new, and no other program knows its name.
/// let x = unsafe { io::map(&path) }?;
/// assert_eq!(x.sum(0)?.to_vec::<i64>()?, [3, 5, 7]);
/// # Ok::<(), zerostride::Error>(())
/// ```
///
/// # Errors
/// As for [`io::load`](super::load); and for elements whose form in the file is not that in memory: arrays in
/// `.npz` and Zarr, of the other byte order, unaligned ones, and bools, which are checked when they are read.
///
/// # Safety
/// Until the last tensor on the file is dropped, no process, this one included, writes to the file or
/// shortens it. Elements that change break what computations rely on, such as indices that have been checked;
/// access to a page beyond the file's end kills the process.
pub unsafe fn map(path: impl AsRef<Path>) -> Result<Tensor> {
    let (path, name) = locate(path.as_ref());
    let file = &*path.to_string_lossy();
    let whole = |problem| FileError::new(file, None, problem);
    if path.is_dir() {
        return Err(whole(Problem::NotMapped { reason: "a store has its elements in chunks" }).into());
    }
    let (opened, format) = open_regular(path).map_err(whole)?;
    // SAFETY: no process changes the file while it is mapped, as the caller guarantees.
    let bytes = unsafe { Mmap::map(&opened) };
    let bytes = bytes.map_err(|source| whole(Problem::Io { action: "map it", source }))?;
    let mut container = Container::read_headers(file, Cursor::new(&bytes[..]), format)?;
    let index = container.find(name)?;
    let (entry, place) = container.place(index)?;
    drop(container);
    let failed = |problem| FileError::new(file, entry.name(), problem);
    let Encoding { dtype, swapped } = entry.encoding().map_err(failed)?;
    let data = bytes.as_ptr().wrapping_add(entry.start as usize);
    let reason = match place {
        Location::Bytes if swapped => Some("its numbers are in the other byte order"),
        Location::Bytes if dtype == DType::Bool => Some("bools are checked when they are read"),
        Location::Bytes if !data.addr().is_multiple_of(dtype.to_real().item_size()) => {
            Some("its elements are not aligned")
        }
        Location::Bytes => None,
        _ => Some("an archive has its elements in members, packed or not aligned"),
    };
    if let Some(reason) = reason {
        return Err(failed(Problem::NotMapped { reason }).into());
    }
    let mut sizes = entry.shape().to_vec();
    if entry.is_fortran() {
        sizes.reverse();
    }
    let layout = Layout::contiguous(Shape::new(&sizes)?);
    let data = NonNull::new(data.cast_mut()).unwrap_or(NonNull::dangling());
    let lent = Lent { data, dtype, shape: layout.shape(), strides: layout.strides(), writable: false };
    // SAFETY: the headers were checked against the length of the mapping, so it has all elements, and keeps
    // them until it is dropped, which waits for no thread. Every bit pattern is a number, and the caller
    // guarantees that no process writes them.
    let stored = unsafe { Tensor::from_lent(&lent, bytes) }?;
    if !entry.is_fortran() {
        return Ok(stored);
    }
    stored.permute(&(0..stored.ndim() as isize).rev().collect::<Vec<_>>())
}
