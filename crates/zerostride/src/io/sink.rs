//! Owns `Sink`: a file to which an array is written in rows, in order, and which appears when it is complete.
//! It does not know what is computed (`stream`).

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zerostride_ops::DType;
use zerostride_shape::{Shape, checked_bytes};

use crate::Result;
use crate::stream::Output;

use super::elements::Encoding;
use super::new_archive::NewArchive;
#[cfg(feature = "zarr")]
use super::replacement::folder_of;
use super::replacement::{Destination, Replacement, TargetFile, check_room, check_writable};
#[cfg(feature = "zarr")]
use super::zarr;
use super::{Compression, Format, MEMORY, UNNAMED, ZarrFormat, npy, safetensors};
use crate::error::file::{FileError, Problem};

/// A file to which an expression is evaluated. Its ending selects the format: `.npy`, `.npz`, `.safetensors`
/// or, with the feature `zarr`, `.zarr`.
///
/// In `.npz` and `.safetensors` the array is called [`UNNAMED`]; a Zarr store has that array at its root. The
/// file appears complete or not at all, as with [`save`](super::save); disk space is reserved before anything
/// is written. The expression may read the file that is replaced: it reads the old content.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.npy");
/// use zerostride::{Expr, io::{self, Sink, Source}, stream::Options, tensor};
///
/// io::save(&path, &tensor![[1, 2], [3, 4]])?;
/// let x = Expr::from(&Source::open(&path)?);
/// (&x + &x).eval_to(&mut Sink::create(&path)?, Options::new())?;
/// assert_eq!(io::load(&path)?.to_vec::<i64>()?, [2, 4, 6, 8]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub struct Sink {
    file: String,
    format: Format,
    compression: Compression,
    zarr_format: ZarrFormat,
    state: State,
}

enum State {
    Waiting(Box<dyn Destination>),
    #[cfg(feature = "zarr")]
    WaitingStore(Box<dyn zarr::NewFiles>),
    #[cfg(feature = "zarr")]
    Store {
        to: Box<zarr::StoreWriter>,
        left: u64,
    },
    Plain {
        to: Box<dyn Destination>,
        encoding: Encoding,
        left: u64,
    },
    Archive {
        to: Box<NewArchive<Box<dyn Destination>>>,
        encoding: Encoding,
        left: u64,
    },
    /// The file is complete, or was abandoned.
    Done,
}

impl State {
    /// A store that is to be written.
    #[cfg(feature = "zarr")]
    fn store(path: &Path, replaces: bool) -> Result<State, Problem> {
        let folder = zarr::NewFolder::new(path, replaces)?;
        Ok(State::WaitingStore(Box::new(folder)))
    }

    #[cfg(not(feature = "zarr"))]
    fn store(_: &Path, _: bool) -> Result<State, Problem> {
        Err(Problem::WithoutZarr)
    }
}

/// The folder in which the store will be created; an error if it cannot be.
#[cfg(feature = "zarr")]
fn store_folder(path: &Path, replaces: bool) -> Result<PathBuf, Problem> {
    zarr::NewFolder::find(path, replaces).map(|target| folder_of(&target.path).to_owned())
}

#[cfg(not(feature = "zarr"))]
fn store_folder(_: &Path, _: bool) -> Result<PathBuf, Problem> {
    Err(Problem::WithoutZarr)
}

/// The file's name in messages, and its format.
fn named(path: &Path) -> Result<(String, Format)> {
    let file = path.to_string_lossy().into_owned();
    match Format::from_path(path) {
        Some(format) => Ok((file, format)),
        None => Err(FileError::new(&file, None, Problem::UnknownEnding).into()),
    }
}

/// The size on the disk of an array of `bytes` bytes, header included: an archive adds a few hundred.
fn room(format: Format, bytes: u64) -> u64 {
    if format == Format::Npz { bytes.saturating_add(1 << 10) } else { bytes }
}

/// The bytes before the elements in a file, and the elements' form.
fn start(file: &str, format: Format, dtype: DType, shape: &[usize]) -> Result<(Vec<u8>, Encoding)> {
    let refused = |problem| FileError::new(file, None, problem);
    match format {
        Format::Safetensors => Ok(safetensors::start(file, UNNAMED, dtype, shape)?),
        Format::Zarr => Err(refused(Problem::Folder).into()),
        Format::Npy | Format::Npz => {
            let header = npy::header(dtype, shape).map_err(refused)?;
            Ok((header, Encoding { dtype, swapped: false }))
        }
    }
}

impl Sink {
    /// A file that is written and replaces the one at `path` when it is complete.
    ///
    /// # Errors
    /// An unknown file ending; a write-protected or special file of that name; any error of the operating
    /// system.
    pub fn create(path: impl AsRef<Path>) -> Result<Sink> {
        Sink::at(path.as_ref(), true)
    }

    /// As [`Sink::create`], but never replaces a file.
    ///
    /// # Errors
    /// As [`Sink::create`]; or the file exists.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Sink> {
        Sink::at(path.as_ref(), false)
    }

    /// Checks that a file could be written, and the array if its dtype and shape are given, without writing
    /// anything.
    ///
    /// # Errors
    /// Those of [`Sink::create`] (or of [`Sink::create_new`] without `replaces`) and of the first row that is
    /// written.
    ///
    /// ```
    /// use zerostride::{DType, io::Sink};
    ///
    /// let error = Sink::check("y.npy", true, Some((DType::BF16, &[3]))).unwrap_err();
    /// assert!(error.to_string().starts_with("y.npy: dtype `bf16` does not exist in NPY"));
    /// ```
    pub fn check(path: impl AsRef<Path>, replaces: bool, array: Option<(DType, &[usize])>) -> Result<()> {
        let path = path.as_ref();
        let (file, format) = named(path)?;
        let refused = |problem| FileError::new(&file, None, problem);
        let folder = match format {
            Format::Zarr => store_folder(path, replaces),
            _ => TargetFile::find(path, replaces).map(|target| target.folder().to_owned()),
        };
        let folder = folder.map_err(refused)?;
        check_writable(&folder).map_err(refused)?;
        // The size of a store depends on how well its chunks compress.
        let Some((dtype, shape)) = array.filter(|_| format != Format::Zarr) else { return Ok(()) };
        let bytes = checked_bytes(&Shape::new(shape)?, dtype.item_size())? as u64;
        let (header, _) = start(&file, format, dtype, shape)?;
        let bytes = room(format, bytes.saturating_add(header.len() as u64));
        Ok(check_room(&folder, bytes).map_err(|error| refused(Problem::writing(error)))?)
    }

    fn at(path: &Path, replaces: bool) -> Result<Sink> {
        let (file, format) = named(path)?;
        let refused = |problem| FileError::new(&file, None, problem);
        let state = match format {
            Format::Zarr => State::store(path, replaces),
            _ => Replacement::new(path, replaces).map(|file| State::Waiting(Box::new(file))),
        };
        let state = state.map_err(refused)?;
        Ok(Sink::of(file, format, state))
    }

    /// A sink that writes elsewhere than to the file system.
    pub fn new(destination: Box<dyn Destination>, format: Format) -> Sink {
        Sink::of(MEMORY.into(), format, State::Waiting(destination))
    }

    /// A sink that writes a Zarr store elsewhere than to the file system.
    #[cfg(feature = "zarr")]
    pub fn of_store(files: Box<dyn zarr::NewFiles>) -> Sink {
        Sink::of(MEMORY.into(), Format::Zarr, State::WaitingStore(files))
    }

    /// The same sink with another name in messages.
    #[must_use]
    pub fn named(self, name: &str) -> Sink {
        Sink { file: name.to_owned(), ..self }
    }

    fn of(file: String, format: Format, state: State) -> Sink {
        Sink { file, format, compression: Compression::default(), zarr_format: ZarrFormat::default(), state }
    }

    /// The same sink with another compression for the chunks of a Zarr store; other formats are not
    /// compressed.
    ///
    /// ```
    /// # #[cfg(feature = "zarr")] {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("x.zarr");
    /// use zerostride::{Expr, io::{self, Compression, Sink}, stream::Options, tensor};
    ///
    /// let mut sink = Sink::create(&path)?.compress(Compression::Gzip);
    /// Expr::from(tensor![[1, 2], [3, 4]]).eval_to(&mut sink, Options::new())?;
    /// assert_eq!(io::load(&path)?.to_vec::<i64>()?, [1, 2, 3, 4]);
    /// # }
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    #[must_use]
    pub fn compress(self, compression: Compression) -> Sink {
        Sink { compression, ..self }
    }

    /// The same sink with another version of the format of a Zarr store; other formats have no such choice.
    ///
    /// ```
    /// # #[cfg(feature = "zarr")] {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("x.zarr");
    /// use zerostride::{Expr, io::{self, Sink, ZarrFormat}, stream::Options, tensor};
    ///
    /// let mut sink = Sink::create(&path)?.zarr_format(ZarrFormat::V2);
    /// Expr::from(tensor![[1, 2], [3, 4]]).eval_to(&mut sink, Options::new())?;
    /// assert!(path.join(".zarray").exists());
    /// # }
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    #[must_use]
    pub fn zarr_format(self, zarr_format: ZarrFormat) -> Sink {
        Sink { zarr_format, ..self }
    }

    fn failed(&self, problem: Problem) -> crate::Error {
        FileError::new(&self.file, None, problem).into()
    }

    /// Reports a problem and removes the temporary file.
    fn give_up<T>(&mut self, problem: Problem) -> Result<T> {
        self.state = State::Done;
        Err(self.failed(problem))
    }
}

impl Output for Sink {
    fn begin(&mut self, dtype: DType, shape: &[usize]) -> Result<()> {
        let left = checked_bytes(&Shape::new(shape)?, dtype.item_size())? as u64;
        let mut to = match std::mem::replace(&mut self.state, State::Done) {
            State::Waiting(to) => to,
            #[cfg(feature = "zarr")]
            State::WaitingStore(to) => {
                let started = zarr::StoreWriter::start(to, self.compression, self.zarr_format, dtype, shape);
                let to = Box::new(started.map_err(|problem| self.failed(problem))?);
                self.state = State::Store { to, left };
                return Ok(());
            }
            _ => return self.give_up(Problem::Unfinished { left: 0 }),
        };
        let (header, encoding) = start(&self.file, self.format, dtype, shape)?;
        let total = left.saturating_add(header.len() as u64);
        let ready = to.reserve(room(self.format, total)).map_err(Problem::writing);
        let started = ready.and_then(|()| match self.format {
            Format::Npz => {
                let mut to = Box::new(NewArchive::new(to));
                to.start(UNNAMED, total)?;
                to.write_all(&header).map_err(Problem::writing)?;
                Ok(State::Archive { to, encoding, left })
            }
            Format::Npy | Format::Safetensors | Format::Zarr => {
                to.write_all(&header).map_err(Problem::writing)?;
                Ok(State::Plain { to, encoding, left })
            }
        });
        self.state = started.map_err(|problem| self.failed(problem))?;
        Ok(())
    }

    fn write(&mut self, elements: &[u8]) -> Result<()> {
        let (written, left) = match &mut self.state {
            State::Plain { to, encoding, left } => (encoding.write(elements, to), left),
            State::Archive { to, encoding, left } => (encoding.write(elements, to), left),
            #[cfg(feature = "zarr")]
            State::Store { to, left } => (to.write(elements), left),
            _ => return self.give_up(Problem::Unfinished { left: 0 }),
        };
        *left = left.saturating_sub(elements.len() as u64);
        written.or_else(|error: io::Error| self.give_up(Problem::writing(error)))
    }

    fn finish(&mut self) -> Result<()> {
        let missing = match &self.state {
            State::Plain { left, .. } | State::Archive { left, .. } => *left,
            #[cfg(feature = "zarr")]
            State::Store { left, .. } => *left,
            _ => return self.give_up(Problem::Unfinished { left: 0 }),
        };
        if missing > 0 {
            return self.give_up(Problem::Unfinished { left: missing });
        }
        let flushing = |source| Problem::Io { action: "flush it to the disk", source };
        let naming = |source| Problem::Io { action: "give it its name", source };
        let complete = match std::mem::replace(&mut self.state, State::Done) {
            State::Plain { mut to, .. } => {
                to.sync().map_err(flushing).and_then(|()| to.commit().map_err(naming))
            }
            State::Archive { to, .. } => to.finish().and_then(|mut to| {
                to.sync().map_err(flushing)?;
                to.commit().map_err(naming)
            }),
            #[cfg(feature = "zarr")]
            State::Store { to, .. } => {
                let mut to = to.into_files();
                to.sync().map_err(flushing).and_then(|()| to.commit().map_err(naming))
            }
            _ => Ok(()),
        };
        complete.map_err(|problem| self.failed(problem))
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Sink");
        shown.field("file", &self.file).field("format", &self.format).field("compression", &self.compression);
        shown.field("zarr_format", &self.zarr_format);
        shown.finish_non_exhaustive()
    }
}
