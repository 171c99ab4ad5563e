//! Owns the files of a store: opening them, and giving a new store its name in one step. It does not know
//! their content.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{METADATA_FILE, METADATA_V2_FILE};
use crate::error::file::Problem;
use crate::io::read_at::ReadAt;
use crate::io::regular::check_regular;
use crate::io::replacement::{self, Unfinished, folder_of, look, not_created, sync_folder};

/// The files of a store by key, such as `zarr.json` and `c/0/1`: those in a folder, or in other storage.
pub trait Files: Send + Sync + fmt::Debug {
    /// Opens the file of a key; `None` if it does not exist.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn open(&self, key: &str) -> io::Result<Option<Arc<dyn ReadAt>>>;

    /// The names of the folders in the folder `key`, which ends in a slash or is empty.
    ///
    /// # Errors
    /// The folder cannot be listed.
    fn folders(&self, key: &str) -> io::Result<Vec<String>>;
}

/// The files of a store that is being written: it appears complete when it is committed, and not at all if it
/// is dropped before.
pub trait NewFiles: Send {
    /// Checks that there is space for so many bytes in all.
    ///
    /// # Errors
    /// There is not enough space.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;

    /// Creates a file.
    ///
    /// # Errors
    /// The file cannot be created.
    fn create(&mut self, key: &str) -> io::Result<Box<dyn Write + Send>>;

    /// Waits until everything written would survive a loss of power.
    ///
    /// # Errors
    /// The data cannot be flushed.
    fn sync(&mut self) -> io::Result<()>;

    /// Makes the store appear under its name.
    ///
    /// # Errors
    /// It cannot get that name.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

/// A store in a folder.
#[derive(Debug)]
pub(in crate::io) struct Folder(pub(in crate::io) PathBuf);

impl Files for Folder {
    fn open(&self, key: &str) -> io::Result<Option<Arc<dyn ReadAt>>> {
        let path = self.0.join(key);
        let found = match fs::metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Checked before opening, since opening a pipe waits for its writer.
        check_regular(&found).map_err(|problem| io::Error::other(problem.to_string()))?;
        Ok(Some(Arc::new(File::open(&path)?)))
    }

    fn folders(&self, key: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.0.join(key))? {
            let entry = entry?;
            if let (true, Ok(name)) = (entry.path().is_dir(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// A folder with a temporary name, `.zerostride-*.tmp`, that will be renamed.
#[derive(Debug)]
pub(in crate::io) struct NewFolder {
    temporary: tempfile::TempDir,
    unfinished: Unfinished,
    target: TargetFolder,
}

/// The folder that a store will be.
#[derive(Debug)]
pub(in crate::io) struct TargetFolder {
    /// The path with symbolic links resolved.
    pub(in crate::io) path: PathBuf,
    /// Whether the store exists already.
    replaces: bool,
}

impl NewFolder {
    /// A store that will be called `path`. It is an error if a store of that name exists and may not be
    /// replaced, or if anything else has that name.
    pub(in crate::io) fn new(path: &Path, replaces: bool) -> Result<NewFolder, Problem> {
        let target = NewFolder::find(path, replaces)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".zerostride-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let temporary = builder.tempdir_in(folder_of(&target.path)).map_err(not_created)?;
        let unfinished = Unfinished::new(temporary.path());
        Ok(NewFolder { temporary, unfinished, target })
    }

    /// Finds the folder that the store will be; an error if it cannot be created.
    pub(in crate::io) fn find(path: &Path, replaces: bool) -> Result<TargetFolder, Problem> {
        let following = |source| Problem::Io { action: "follow the link", source };
        if look(path)?.is_none() {
            return Ok(TargetFolder { path: path.to_owned(), replaces: false });
        }
        let path = fs::canonicalize(path).map_err(following)?;
        if !replaces {
            return Err(Problem::Exists);
        }
        check_array(&path)?;
        Ok(TargetFolder { path, replaces: true })
    }
}

/// Refuses to replace a folder that is anything but a store of one array, since everything in it would be
/// removed.
fn check_array(folder: &Path) -> Result<(), Problem> {
    let text = fs::read(folder.join(METADATA_FILE)).unwrap_or_default();
    let found: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let is_v2 = text.is_empty() && folder.join(METADATA_V2_FILE).is_file();
    match found["node_type"].as_str().or(is_v2.then_some("array")) {
        Some("array") => match foreign(folder).map_err(|source| Problem::Io { action: "list it", source })? {
            Some(path) => Err(Problem::Foreign { path }),
            None => Ok(()),
        },
        Some("group") => Err(Problem::NotReplaced { kind: "a group of arrays" }),
        _ => Err(Problem::NotReplaced { kind: "not a Zarr store" }),
    }
}

/// The path of something in the folder of an array that is neither its metadata nor a chunk. Chunks' keys
/// are numbers separated by dots or slashes, in most stores after a `c`.
fn foreign(array: &Path) -> io::Result<Option<String>> {
    let is_key = |name: &str| {
        let numbers = name.strip_prefix('c').unwrap_or(name);
        numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(array.join(&folder))? {
            let entry = entry?;
            let (name, kind) = (entry.file_name(), entry.file_type()?);
            let path = folder.join(&name);
            let is_own = match name.to_str() {
                Some(METADATA_FILE | METADATA_V2_FILE | ".zattrs") => {
                    kind.is_file() && folder.as_os_str().is_empty()
                }
                name => name.is_some_and(is_key) && (kind.is_file() || kind.is_dir()),
            };
            if !is_own {
                return Ok(Some(path.to_string_lossy().into_owned()));
            }
            if kind.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(None)
}

impl NewFiles for NewFolder {
    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        replacement::check_room(self.temporary.path(), bytes)
    }

    fn create(&mut self, key: &str) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(File::create_new(self.temporary.path().join(key))?))
    }

    /// Flushes all files at the end, so that until then the system writes them in the background.
    fn sync(&mut self) -> io::Result<()> {
        for entry in fs::read_dir(self.temporary.path())? {
            // Windows flushes what may be written.
            File::options().read(true).write(cfg!(windows)).open(entry?.path())?.sync_all()?;
        }
        sync_folder(self.temporary.path());
        Ok(())
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        let NewFolder { temporary, unfinished, target: TargetFolder { path: target, replaces } } = *self;
        if replaces {
            // The old store then has the temporary name, and is removed with it.
            unfinished.finish(|| exchange(temporary.path(), &target))?;
        } else {
            unfinished.finish(|| rename_new(temporary.path(), &target))?;
            // The folder has been renamed: nothing is left to remove.
            drop(temporary.keep());
        }
        sync_folder(folder_of(&target));
        Ok(())
    }
}

/// Renames a folder; fails if the new name exists.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => fs::rename(from, to),
        renamed => Ok(renamed?),
    }
}

/// Renames a folder; it can replace only an empty folder.
#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Exchanges the names of two folders, atomically where the system can.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            exchanged => return Ok(exchanged?),
        }
    }
    // Not atomic: a process that is killed in between leaves both folders, complete, under temporary names.
    let between = one.with_extension("old.tmp");
    fs::rename(other, &between)?;
    if let Err(error) = fs::rename(one, other) {
        fs::rename(&between, other)?;
        return Err(error);
    }
    fs::rename(&between, one).map_err(|error| {
        let old = between.display();
        io::Error::new(error.kind(), format!("it is written, but what it replaces remains as {old}: {error}"))
    })
}
