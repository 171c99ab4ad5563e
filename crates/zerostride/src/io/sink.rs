//! Owns `Sink`: a file that takes an array in rows, in order, and appears when all of it is there. It does not know what is
//! computed (`stream`).

use std::io::{self, Write};
use std::path::Path;

use zerostride_ops::DType;
use zerostride_shape::{Shape, checked_bytes};

use crate::Result;
use crate::stream::Output;

use super::elements::Encoding;
use super::error::{FileError, Problem};
use super::new_archive::NewArchive;
use super::replacement::{Destination, Replacement};
#[cfg(feature = "zarr")]
use super::zarr;
use super::{Compression, Format, MEMORY, UNNAMED, npy, safetensors};

/// A file to which an expression is evaluated: `.npy`, `.npz`, `.safetensors` or, with the feature `zarr`, `.zarr`, by its
/// ending.
///
/// In `.npz` and `.safetensors` the array is called [`UNNAMED`]; a Zarr store is of that array alone. The file appears complete or not at all, as with
/// [`save`](super::save); room for it is taken on the disk before anything is written. It may be one that the expression
/// reads: what is read is the old content.
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
    state: State,
}

enum State {
    Waiting(Box<dyn Destination>),
    #[cfg(feature = "zarr")]
    WaitingStore(Box<dyn zarr::NewFiles>),
    #[cfg(feature = "zarr")]
    Store {
        to: Box<zarr::Writer>,
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
    /// Complete, or given up.
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

impl Sink {
    /// A file that takes the place of what is called so now, when it is complete.
    ///
    /// # Errors
    /// Another ending; a write-protected or special file under that name; anything that the operating system refuses.
    pub fn create(path: impl AsRef<Path>) -> Result<Sink> {
        Sink::at(path.as_ref(), true)
    }

    /// As [`Sink::create`], but never in the place of an existing file.
    ///
    /// # Errors
    /// As [`Sink::create`]; there is a file of that name.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Sink> {
        Sink::at(path.as_ref(), false)
    }

    fn at(path: &Path, replaces: bool) -> Result<Sink> {
        let file = path.to_string_lossy().into_owned();
        let refused = |problem| FileError::new(&file, None, problem);
        let format = Format::from_path(path).ok_or_else(|| refused(Problem::UnknownEnding))?;
        let state = match format {
            Format::Zarr => State::store(path, replaces),
            _ => Replacement::new(path, replaces).map(|file| State::Waiting(Box::new(file))),
        };
        let state = state.map_err(refused)?;
        Ok(Sink { file, format, compression: Compression::default(), state })
    }

    /// A sink that writes somewhere else than to the file system.
    pub fn new(destination: Box<dyn Destination>, format: Format) -> Sink {
        let state = State::Waiting(destination);
        Sink { file: MEMORY.into(), format, compression: Compression::default(), state }
    }

    /// A sink that writes a Zarr store somewhere else than to the file system.
    #[cfg(feature = "zarr")]
    pub fn of_store(files: Box<dyn zarr::NewFiles>) -> Sink {
        let (format, compression) = (Format::Zarr, Compression::default());
        Sink { file: MEMORY.into(), format, compression, state: State::WaitingStore(files) }
    }

    /// The same sink, which packs the chunks of a Zarr store in some way; other formats are not packed.
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

    fn failed(&self, problem: Problem) -> crate::Error {
        FileError::new(&self.file, None, problem).into()
    }

    /// Whatever fails, the temporary file goes at once.
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
                let started = zarr::Writer::start(to, self.compression, dtype, shape);
                let to = Box::new(started.map_err(|problem| self.failed(problem))?);
                self.state = State::Store { to, left };
                return Ok(());
            }
            _ => return self.give_up(Problem::Unfinished { left: 0 }),
        };
        let (header, encoding) = match self.format {
            Format::Safetensors => safetensors::start(&self.file, UNNAMED, dtype, shape)?,
            Format::Zarr => return self.give_up(Problem::Folder),
            Format::Npy | Format::Npz => {
                let header = npy::header(dtype, shape).map_err(|problem| self.failed(problem))?;
                (header, Encoding { dtype, swapped: false })
            }
        };
        let total = left.saturating_add(header.len() as u64);
        // A member's own headers take some hundred bytes.
        let room = if self.format == Format::Npz { total.saturating_add(1 << 10) } else { total };
        let ready = to.reserve(room).map_err(Problem::writing);
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
        shown.finish_non_exhaustive()
    }
}
