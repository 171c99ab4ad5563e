//! Owns the files of a store: where they are read, and how a new store takes its name in one step. It does
//! not know what is in them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::METADATA;
use crate::error::file::Problem;
use crate::io::open::check_regular;
use crate::io::read_at::ReadAt;
use crate::io::replacement::{self, Unfinished, folder_of, look, not_created, sync_folder};

/// The files of a store by their keys, such as `zarr.json` and `c/0/1`: a folder, or whatever stands in its
/// place.
pub trait Files: Send + Sync + fmt::Debug {
    /// The file of a key, if there is one.
    ///
    /// # Errors
    /// Whatever keeps it from being opened.
    fn open(&self, key: &str) -> io::Result<Option<Arc<dyn ReadAt>>>;

    /// The names of the folders in that of a key, which ends in a slash or is empty.
    ///
    /// # Errors
    /// Whatever keeps them from being listed.
    fn folders(&self, key: &str) -> io::Result<Vec<String>>;
}

/// The files of a store that is written: it appears complete when it is committed, and not at all if it is
/// dropped before.
pub trait NewFiles: Send {
    /// Makes sure that there is room for a number of bytes in all.
    ///
    /// # Errors
    /// There is no room.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;

    /// A new file.
    ///
    /// # Errors
    /// Whatever keeps it from being made.
    fn create(&mut self, key: &str) -> io::Result<Box<dyn Write + Send>>;

    /// Waits until everything written would survive a loss of power.
    ///
    /// # Errors
    /// Whatever keeps it from being stored.
    fn sync(&mut self) -> io::Result<()>;

    /// Makes the store appear under its name.
    ///
    /// # Errors
    /// Whatever keeps it from having the name.
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
        // Before opening, because opening a pipe waits for its other end.
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

/// A folder under a temporary name, `.zerostride-*.tmp`, until it takes its own.
#[derive(Debug)]
pub(in crate::io) struct NewFolder {
    temporary: tempfile::TempDir,
    unfinished: Unfinished,
    target: Target,
}

/// Where a store will be.
#[derive(Debug)]
pub(in crate::io) struct Target {
    /// The path behind symbolic links.
    pub(in crate::io) path: PathBuf,
    /// Whether there is a store already.
    replaces: bool,
}

impl NewFolder {
    /// A store that will be called `path`. Where one is there already and may not be replaced, that is an
    /// error; so is anything else of that name.
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

    /// Where the store will be, if it can be.
    pub(in crate::io) fn find(path: &Path, replaces: bool) -> Result<Target, Problem> {
        let following = |source| Problem::Io { action: "follow the link", source };
        if look(path)?.is_none() {
            return Ok(Target { path: path.to_owned(), replaces: false });
        }
        let path = fs::canonicalize(path).map_err(following)?;
        if !replaces {
            return Err(Problem::Exists);
        }
        check_array(&path)?;
        Ok(Target { path, replaces: true })
    }
}

/// Refuses to replace, with everything in it, what is not the store of one array and nothing else.
fn check_array(folder: &Path) -> Result<(), Problem> {
    let text = fs::read(folder.join(METADATA)).unwrap_or_default();
    let found: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    match found["node_type"].as_str() {
        Some("array") => match foreign(folder).map_err(|source| Problem::Io { action: "list it", source })? {
            Some(path) => Err(Problem::Foreign { path }),
            None => Ok(()),
        },
        Some("group") => Err(Problem::NotReplaced { kind: "a group of arrays" }),
        _ => Err(Problem::NotReplaced { kind: "not a Zarr store" }),
    }
}

/// The path of something in the folder of an array that is neither its `zarr.json` nor a chunk, whose keys
/// are numbers between dots or slashes, in most stores with a `c` before them.
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
                Some(METADATA) => kind.is_file() && folder.as_os_str().is_empty(),
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
        replacement::check_room(&File::open(self.temporary.path())?, bytes)
    }

    fn create(&mut self, key: &str) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(File::create_new(self.temporary.path().join(key))?))
    }

    /// Files are flushed when all are written: until then the system writes them behind the computation.
    fn sync(&mut self) -> io::Result<()> {
        for entry in fs::read_dir(self.temporary.path())? {
            File::open(entry?.path())?.sync_all()?;
        }
        sync_folder(self.temporary.path());
        Ok(())
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        let NewFolder { temporary, unfinished, target: Target { path: target, replaces } } = *self;
        if replaces {
            // The old store is then in the temporary folder, and goes with it.
            unfinished.finish(|| exchange(temporary.path(), &target))?;
        } else {
            unfinished.finish(|| rename_new(temporary.path(), &target))?;
            // The folder has another name.
            drop(temporary.keep());
        }
        sync_folder(folder_of(&target));
        Ok(())
    }
}

/// Gives a folder a name that nothing has.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => fs::rename(from, to),
        renamed => Ok(renamed?),
    }
}

/// Gives a folder a name; an empty folder of that name is all that it could replace.
#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Lets two folders change names, at once where the system can.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            exchanged => return Ok(exchanged?),
        }
    }
    // For a moment no folder has that name; a process that is killed then leaves both, complete, under
    // temporary names.
    let between = one.with_extension("old.tmp");
    fs::rename(other, &between)?;
    if let Err(error) = fs::rename(one, other) {
        fs::rename(&between, other)?;
        return Err(error);
    }
    fs::rename(&between, one)
}
