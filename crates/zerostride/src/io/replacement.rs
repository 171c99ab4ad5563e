//! Owns the atomic replacement of a file: a temporary file in the same folder, which is renamed when it is
//! complete and flushed to the disk. It does not know what is written.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::regular::check_regular;
use crate::error::file::Problem;
use crate::fork::{Guarded, Lock};

/// A file to be written, which appears complete when it is committed, and not at all if it is dropped before.
pub trait Destination: Write + Seek + Send {
    /// Reserves space for so many bytes in all.
    ///
    /// # Errors
    /// There is not enough space.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;

    /// Waits until everything written would survive a loss of power.
    ///
    /// # Errors
    /// The data cannot be flushed.
    fn sync(&mut self) -> io::Result<()>;

    /// Makes what has been written appear under its name.
    ///
    /// # Errors
    /// It cannot get that name. Then nothing has changed.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

/// A file with a temporary name, `.zerostride-*.tmp`, that will be renamed.
#[derive(Debug)]
pub(super) struct Replacement {
    temporary: tempfile::NamedTempFile,
    unfinished: Unfinished,
    target: TargetFile,
}

/// This process's temporary files and folders that have not been renamed yet.
static UNFINISHED: Lock<Vec<PathBuf>> = Lock::new(Guarded::Unfinished, Vec::new());

/// A registered temporary file or folder; it is unregistered when this is dropped.
#[derive(Debug)]
pub(super) struct Unfinished(PathBuf);

impl Unfinished {
    pub(super) fn new(path: &Path) -> Unfinished {
        UNFINISHED.lock().push(path.to_owned());
        Unfinished(path.to_owned())
    }

    /// Renames it. [`exit_without_unfinished`] waits until that is done.
    pub(super) fn finish<R>(self, rename: impl FnOnce() -> R) -> R {
        let _held = UNFINISHED.lock();
        rename()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().retain(|path| *path != self.0);
    }
}

/// Ends the process with an exit status and removes what its threads are writing, without waiting for them:
/// for programs that are told to terminate. Complete files stay.
///
/// ```no_run
/// zerostride::io::exit_without_unfinished(130);
/// ```
pub fn exit_without_unfinished(status: i32) -> ! {
    // While this is held, no temporary file is renamed.
    let unfinished = UNFINISHED.lock();
    for path in unfinished.iter() {
        // Removing a folder fails if another thread creates a file in it meanwhile, so try again.
        let remove = || fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
        let _ = (0..3).find(|_| remove().is_ok());
    }
    std::process::exit(status)
}

impl Replacement {
    /// A file that will be called `path`. It is an error if that exists and may not be replaced.
    pub(super) fn new(path: &Path, replaces: bool) -> Result<Replacement, Problem> {
        let target = TargetFile::find(path, replaces)?;
        let temporary = temporary_file(target.folder());
        let temporary = temporary.map_err(not_created)?;
        let unfinished = Unfinished::new(temporary.path());
        Ok(Replacement { temporary, unfinished, target })
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

impl Seek for Replacement {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.temporary.as_file_mut().seek(position)
    }
}

impl Destination for Replacement {
    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        check_room(self.target.folder(), bytes)?;
        reserve(self.temporary.as_file(), bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Some(permissions) = &self.target.permissions {
            self.temporary.as_file().set_permissions(permissions.clone())?;
        }
        self.temporary.as_file().sync_all()
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        let Replacement { temporary, unfinished, target } = *self;
        let renamed = unfinished.finish(|| match target.replaces {
            true => temporary.persist(&target.path),
            false => temporary.persist_noclobber(&target.path),
        });
        renamed.map_err(|error| error.error)?;
        sync_folder(target.folder());
        Ok(())
    }
}

/// The problem that a failed creation is reported as: the system's error, without the temporary name.
pub(super) fn not_created(error: io::Error) -> Problem {
    let answer =
        error.get_ref().and_then(|error| error.source()?.downcast_ref::<io::Error>()?.raw_os_error());
    let source = answer.map_or(error, io::Error::from_raw_os_error);
    Problem::Io { action: "create a file beside it", source }
}

/// The file that a path for writing leads to.
#[derive(Debug)]
pub(super) struct TargetFile {
    /// The path with symbolic links resolved.
    path: PathBuf,
    /// The permissions of the existing file.
    permissions: Option<Permissions>,
    replaces: bool,
}

impl TargetFile {
    /// Finds the file that will be written; an error if it cannot be.
    pub(super) fn find(path: &Path, replaces: bool) -> Result<TargetFile, Problem> {
        // A file cannot be renamed to such a path; better to fail now.
        if path.as_os_str().to_string_lossy().ends_with(std::path::is_separator) {
            return Err(not_named(io::ErrorKind::IsADirectory.into()));
        }
        let following = |source| Problem::Io { action: "follow the link", source };
        let Some(found) = look(path)? else {
            return Ok(TargetFile { path: path.to_owned(), permissions: None, replaces });
        };
        let (path, found) = match found.is_symlink() {
            true => (fs::canonicalize(path).map_err(following)?, fs::metadata(path).map_err(following)?),
            false => (path.to_owned(), found),
        };
        check_regular(&found).map_err(|problem| match problem {
            Problem::NotRegular { kind } => Problem::NotReplaced { kind },
            other => other,
        })?;
        if !replaces {
            return Err(Problem::Exists);
        }
        if found.permissions().readonly() {
            return Err(Problem::ReadOnly);
        }
        Ok(TargetFile { path, permissions: Some(permissions(&found)), replaces })
    }

    pub(super) fn folder(&self) -> &Path {
        folder_of(&self.path)
    }
}

/// The metadata of what has that name; `None` if it does not exist but its folder does.
pub(super) fn look(path: &Path) -> Result<Option<Metadata>, Problem> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = fs::metadata(folder_of(path)).and_then(|folder| {
                // Windows finds no file in what is no folder, where other systems say what is wrong.
                if folder.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
            });
            folder.map_err(|source| Problem::Io { action: "open its folder", source })?;
            Ok(None)
        }
        Err(source) => Err(not_named(source)),
    }
}

/// The problem that is reported if a name cannot be used.
fn not_named(source: io::Error) -> Problem {
    Problem::Io { action: "use that name", source }
}

/// Refuses a folder in which no file can be created.
#[cfg(unix)]
pub(super) fn check_writable(folder: &Path) -> Result<(), Problem> {
    use rustix::fs::{Access, access};
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| not_created(error.into()))
}

/// On other systems that fails when the file is created.
#[cfg(not(unix))]
pub(super) fn check_writable(_: &Path) -> Result<(), Problem> {
    Ok(())
}

/// The folder that contains a path.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The permissions that a replacement keeps. The set-user-id and set-group-id bits are dropped.
#[cfg(unix)]
fn permissions(found: &Metadata) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(found.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn permissions(found: &Metadata) -> Permissions {
    found.permissions()
}

/// A file that is deleted unless it is renamed, with the permissions of any new file.
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

/// Refuses to start if a file would not fit on the disk of a folder, rather than fail hours later.
#[cfg(unix)]
pub(super) fn check_room(folder: &Path, bytes: u64) -> io::Result<()> {
    if let Ok(disk) = rustix::fs::statvfs(folder) {
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if bytes > free {
            let message = format!("no space left on device: {bytes} bytes are needed, and {free} are free");
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
    }
    Ok(())
}

/// On other systems a full disk is an error when it is full.
#[cfg(not(unix))]
pub(super) fn check_room(_: &Path, _: u64) -> io::Result<()> {
    Ok(())
}

/// Allocates the blocks on the disk, so that no other file takes them.
#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes.max(1)) {
        // Some file systems cannot allocate ahead; there a full disk is an error when it is full.
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// On other systems they are allocated when they are written.
#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// Makes a new name survive a loss of power, where the file system can. Without it, the old or the new file
/// is there, complete.
pub(super) fn sync_folder(folder: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}
