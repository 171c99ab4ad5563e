//! Owns the step from a path to an open file: accepts only regular files and stores, detects the format, and
//! splits `file:name`. It does not know how a format is encoded.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::Path;

use crate::{Result, Tensor};

use super::container::Container;
use super::regular::check_regular;
use super::{Format, npy, npz};
use crate::error::file::{FileError, Problem};

/// Opens a file and reads the headers of its arrays, but no data.
///
/// The format is detected by content; safetensors has no signature, so its file ending decides. A folder can
/// be a Zarr store (feature `zarr`), whose arrays are named by their paths.
///
/// # Errors
/// Anything but a regular file; an unknown format; headers that are wrong or contradict the file's length.
///
/// ```no_run
/// for entry in zerostride::io::open("model.safetensors")?.entries() {
///     println!("{} {} {:?}", entry.name().unwrap_or("-"), entry.dtype_name(), entry.shape());
/// }
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Container> {
    let path = path.as_ref();
    let file = &*path.to_string_lossy();
    if path.is_dir() {
        return Ok(open_folder(file, path)?);
    }
    let (reader, format) = open_regular(path).map_err(|problem| FileError::new(file, None, problem))?;
    Ok(Container::of_file(file, reader, format)?)
}

/// Opens a Zarr store.
#[cfg(feature = "zarr")]
fn open_folder(file: &str, path: &Path) -> Result<Container, FileError> {
    Container::of_store(file, std::sync::Arc::new(super::zarr::Folder(path.to_owned())))
}

/// Without the feature `zarr` folders are refused.
#[cfg(not(feature = "zarr"))]
fn open_folder(file: &str, path: &Path) -> Result<Container, FileError> {
    let is_store = path.join("zarr.json").exists();
    let problem = if is_store { Problem::WithoutZarr } else { Problem::NotRegular { kind: "a folder" } };
    Err(FileError::new(file, None, problem))
}

/// Reads one array: the only one of a file, or the one named behind a colon as in `m.safetensors:weight`.
///
/// # Errors
/// As for [`open`] and [`Container::read`]; no array of that name, or several arrays and no name.
///
/// ```no_run
/// let image = zerostride::io::load("image.npy")?;
/// let weight = zerostride::io::load("m.safetensors:weight")?;
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn load(path: impl AsRef<Path>) -> Result<Tensor> {
    let (path, name) = locate(path.as_ref());
    let mut container = open(path)?;
    let index = container.find(name)?;
    container.read(index)
}

/// Reads all arrays of a file with their names; the one in an `.npy` file is called
/// [`UNNAMED`](super::UNNAMED). Members of an archive that are no arrays are skipped.
///
/// # Errors
/// As for [`open`] and [`Container::read`].
///
/// ```no_run
/// for (name, tensor) in zerostride::io::load_all("arrays.npz")? {
///     println!("{name}\n{tensor}");
/// }
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn load_all(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    let mut container = open(path)?;
    (0..container.entries().len())
        .filter(|&index| container.entries()[index].is_array())
        .collect::<Vec<_>>()
        .into_iter()
        .map(|index| Ok((container.entries()[index].name_or_default().to_owned(), container.read(index)?)))
        .collect()
}

/// Splits `file:name` into a file and the name of an array.
///
/// A path that exists as a whole has no array name. Otherwise the shortest part before a colon that exists is
/// the file.
///
/// ```
/// use std::path::Path;
/// assert_eq!(zerostride::io::locate(Path::new("m.npz:x")), (Path::new("m.npz"), Some("x")));
/// assert_eq!(zerostride::io::locate(Path::new("m.npz")), (Path::new("m.npz"), None));
/// ```
pub fn locate(path: &Path) -> (&Path, Option<&str>) {
    let Some(text) = path.to_str().filter(|_| !path.exists()) else { return (path, None) };
    let splits =
        || text.match_indices(':').map(|(colon, _)| (Path::new(&text[..colon]), Some(&text[colon + 1..])));
    // If no file exists, the part with a known file ending is taken, so that the error names that.
    splits()
        .find(|(file, _)| file.exists())
        .or_else(|| splits().find(|(file, _)| Format::from_path(file).is_some()))
        .unwrap_or((path, None))
}

pub(super) fn open_regular(path: &Path) -> Result<(File, Format), Problem> {
    let opening = |source| Problem::Io { action: "open it", source };
    // Checked before opening, since opening a pipe waits for its writer, and after, since another file may
    // have taken the name.
    check_regular(&fs::metadata(path).map_err(opening)?)?;
    let mut file = File::open(path).map_err(opening)?;
    check_regular(&file.metadata().map_err(opening)?)?;

    let mut start = Vec::with_capacity(9);
    (&mut file).take(9).read_to_end(&mut start).map_err(Problem::reading)?;
    file.rewind().map_err(Problem::reading)?;
    let format = sniff(&start, Format::from_path(path)).ok_or(Problem::UnknownFormat { start })?;
    Ok((file, format))
}

/// The format, by the first nine bytes and the file ending. Safetensors has no signature: its ending decides,
/// or without a known ending the brace after the length.
fn sniff(start: &[u8], ending: Option<Format>) -> Option<Format> {
    if ending == Some(Format::Safetensors) {
        ending
    } else if start.starts_with(npy::MAGIC) {
        Some(Format::Npy)
    } else if npz::MAGICS.iter().any(|magic| start.starts_with(*magic)) {
        Some(Format::Npz)
    } else {
        // A Zarr store is a folder, so a file that ends in `.zarr` is none.
        let ending = ending.filter(|format| *format != Format::Zarr);
        ending.or_else(|| (start.get(8) == Some(&b'{')).then_some(Format::Safetensors))
    }
}
