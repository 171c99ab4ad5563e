//! Owns the saving of tensors: chooses the format by the file ending and checks names. It does not know how a
//! format is encoded nor how a file is replaced (`replacement.rs`).

use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::stream::Output;
use crate::{Result, Tensor};

use super::replacement::{Destination, Replacement};
use super::{Format, Sink, UNNAMED, npy, npz, safetensors};
use crate::error::file::{FileError, Problem};

/// Writes one tensor to a file whose ending selects the format: `.npy`, `.npz`, `.safetensors`, or `.zarr`
/// with the feature `zarr`.
///
/// In `.npz` and `.safetensors` the array is called [`UNNAMED`]. Otherwise as [`save_all`].
///
/// # Errors
/// As for [`save_all`].
///
/// ```
/// # let path = std::env::temp_dir().join(format!("zerostride-save-{}.npy", std::process::id()));
/// use zerostride::{Tensor, io};
///
/// let row = Tensor::from_slice(&[1i64, 2, 3], &[1, 3])?;
/// io::save(&path, &row)?;
/// assert_eq!(io::load(&path)?.to_vec::<i64>()?, [1, 2, 3]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn save(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    save_all(path, &[(UNNAMED, tensor)])
}

/// Writes tensors under their names to a file whose ending selects the format: `.npz`, `.safetensors`, or for
/// a single tensor, whose name is then not stored, `.npy` and `.zarr`.
///
/// The file appears complete or not at all: everything is written to a temporary file in the same folder,
/// called `.zerostride-*.tmp`, which is flushed to the disk and then renamed. A replaced file keeps its
/// permissions. If the path is a symbolic link, the file it leads to is replaced; other hard links keep the
/// old content.
///
/// # Errors
/// An unknown file ending; a repeated name or one that the format cannot store; a dtype that the format does
/// not have (bf16 in `.npy` and `.npz`, c128 in `.safetensors`); a write-protected or special file of that
/// name; any error of the operating system.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("zerostride-save-all-{}.safetensors", std::process::id()));
/// use zerostride::{Tensor, io};
///
/// io::save_all(&path, &[("weight", &Tensor::ones(&[2, 3])?), ("bias", &Tensor::zeros(&[3])?)])?;
/// assert_eq!(io::open(&path)?.entries().len(), 2);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn save_all(path: impl AsRef<Path>, tensors: &[(&str, &Tensor)]) -> Result<()> {
    let path = path.as_ref();
    let file = &*path.to_string_lossy();
    let refused = |problem| FileError::new(file, None, problem);
    let format = Format::from_path(path).ok_or_else(|| refused(Problem::UnknownEnding))?;
    let mut names = HashSet::new();
    if let Some((name, _)) = tensors.iter().find(|(name, _)| !names.insert(name)) {
        let reason = "is given twice; each array needs a name of its own";
        return Err(refused(Problem::Name { name: (*name).to_owned(), reason }).into());
    }
    match (format, tensors) {
        (Format::Npy, [(_, tensor)]) => replace(path, true, |out| npy::write(file, tensor, out)),
        (Format::Zarr, [(_, tensor)]) => {
            let mut sink = Sink::create(path)?;
            sink.begin(tensor.dtype(), tensor.shape())?;
            tensor.with_bytes(|elements| sink.write(elements))??;
            sink.finish()
        }
        (Format::Npy | Format::Zarr, _) => {
            Err(refused(Problem::OneArray { format, count: tensors.len() }).into())
        }
        (Format::Npz, _) => replace(path, true, |out| npz::write(file, tensors, out)),
        (Format::Safetensors, _) => replace(path, true, |out| safetensors::write(file, tensors, out)),
    }
}

/// Writes bytes to a file of any ending, which appears complete or not at all as with [`save_all`];
/// `replaces` says whether an existing file may be replaced.
///
/// # Errors
/// The file exists and may not be replaced, or is write-protected or special; any error of the operating
/// system.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("report.txt");
/// use zerostride::io;
///
/// io::save_bytes(&path, b"done", false)?;
/// assert!(io::save_bytes(&path, b"again", false).unwrap_err().to_string().contains("it exists already"));
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn save_bytes(path: impl AsRef<Path>, bytes: &[u8], replaces: bool) -> Result<()> {
    let path = path.as_ref();
    let failed = |error| FileError::new(&path.to_string_lossy(), None, Problem::writing(error));
    replace(path, replaces, |out| Ok(out.write_all(bytes).map_err(failed)?))
}

/// Writes `path` by means of `write`, atomically: on an error nothing has changed.
fn replace(
    path: &Path,
    replaces: bool,
    write: impl FnOnce(&mut BufWriter<&mut Replacement>) -> Result<()>,
) -> Result<()> {
    let refused = |problem| FileError::new(&path.to_string_lossy(), None, problem);
    let failed = |action| move |source| refused(Problem::Io { action, source });
    let mut replacement = Replacement::new(path, replaces).map_err(refused)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut replacement);
    write(&mut out)?;
    out.flush().map_err(failed("write it"))?;
    drop(out);
    replacement.sync().map_err(failed("flush it to the disk"))?;
    Ok(Box::new(replacement).commit().map_err(failed("give it its name"))?)
}

#[cfg(test)]
mod tests {
    use std::{fs, io};

    use super::*;

    #[test]
    fn a_write_that_fails_anywhere_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        for there_before in [false, true] {
            let path = folder.path().join(format!("{there_before}.npy"));
            if there_before {
                fs::write(&path, "before").unwrap();
            }
            for written in [0, 1, 100, 3 << 20] {
                let result = replace(&path, true, |out| {
                    out.write_all(&vec![0; written]).unwrap();
                    let source = io::Error::other("no space left");
                    Err(FileError::new("x", None, Problem::writing(source)).into())
                });
                assert_eq!(result.unwrap_err().to_string(), "x: cannot write it: no space left");
                assert_eq!(fs::read(&path).ok(), there_before.then(|| b"before".to_vec()));
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_panic_while_writing_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let result = std::panic::catch_unwind(|| replace(&path, true, |_| panic!("while writing")));
        assert!(result.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
