//! Owns writing: the format by the name's ending, and the replacement of a file in one step.
//! It does not know what the formats look like.

use std::collections::HashSet;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{Result, Tensor};

use super::error::{FileError, Problem};
use super::{Format, UNNAMED, npy, npz, open, safetensors};

/// Writes one tensor to a file whose ending tells the format: `.npy`, `.npz` or `.safetensors`.
///
/// In `.npz` and `.safetensors` the array is called [`UNNAMED`]. The rest is as in [`save_all`].
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

/// Writes tensors under their names to a file whose ending tells the format: `.npz`, `.safetensors`, or `.npy` for
/// one tensor, whose name is then not kept.
///
/// The file appears complete or not at all: everything is written to a temporary file in the same folder, called
/// `.zerostride-*.tmp`, and flushed to the disk before that takes the name. A file replaced keeps its permissions.
/// Through a symbolic link, the file it leads to is replaced; other hard links keep the old content.
///
/// # Errors
/// Another ending; a name twice or one that the format cannot hold; a dtype that the format does not have (bf16 in
/// `.npy` and `.npz`, c128 in `.safetensors`); a write-protected or special file under that name; anything that the
/// operating system refuses.
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
    replace(path, |out| match (format, tensors) {
        (Format::Npy, [(_, tensor)]) => npy::write(file, tensor, out),
        (Format::Npy, _) => Err(refused(Problem::OneArray { count: tensors.len() }).into()),
        (Format::Npz, _) => npz::write(file, tensors, out),
        (Format::Safetensors, _) => safetensors::write(file, tensors, out),
    })
}

/// Puts what `write` writes under the name `path`, or leaves everything as it was.
fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<()>) -> Result<()> {
    let failed =
        |action| move |source| FileError::new(&path.to_string_lossy(), None, Problem::Io { action, source });
    let Target { path: target, permissions } =
        Target::find(path).map_err(|problem| FileError::new(&path.to_string_lossy(), None, problem))?;
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut temporary = temporary_file(folder).map_err(failed("create a file beside it"))?;
    let mut out = BufWriter::with_capacity(1 << 20, temporary.as_file_mut());
    write(&mut out)?;
    out.flush().map_err(failed("write it"))?;
    drop(out);
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions).map_err(failed("keep its permissions"))?;
    }
    temporary.as_file().sync_all().map_err(failed("flush it to the disk"))?;
    temporary.persist(&target).map_err(|error| failed("give it its name")(error.error))?;
    sync_folder(folder);
    Ok(())
}

/// The file that a path names for writing.
struct Target {
    /// The path behind symbolic links.
    path: PathBuf,
    /// Of the file that is there now.
    permissions: Option<Permissions>,
}

impl Target {
    fn find(path: &Path) -> Result<Target, Problem> {
        let following = |source| Problem::Io { action: "follow the link", source };
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            // Whatever else is wrong shows when the file is created.
            Err(_) => return Ok(Target { path: path.to_owned(), permissions: None }),
        };
        let (path, found) = match found.is_symlink() {
            true => (fs::canonicalize(path).map_err(following)?, fs::metadata(path).map_err(following)?),
            false => (path.to_owned(), found),
        };
        open::check_regular(&found)?;
        if found.permissions().readonly() {
            return Err(Problem::ReadOnly);
        }
        Ok(Target { path, permissions: Some(permissions(&found)) })
    }
}

/// The permissions that a replacement takes over. A program that writes through a set-user-id file loses that bit.
#[cfg(unix)]
fn permissions(found: &Metadata) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(found.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn permissions(found: &Metadata) -> Permissions {
    found.permissions()
}

/// A file that is deleted unless it gets its name, readable by whom a new file is.
fn temporary_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".zerostride-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Makes the new name survive a loss of power, where the file system can: without it either the old file or the new
/// one is there, complete.
fn sync_folder(folder: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

#[cfg(test)]
mod tests {
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
                let result = replace(&path, |out| {
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
        let result = std::panic::catch_unwind(|| replace(&path, |_| panic!("while writing")));
        assert!(result.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
