//! Owns `Sink`: a file that takes an array in rows, in order, and appears when all of it is there. It does not know what is
//! computed (`stream`).

use std::io::{self, Write};
use std::path::Path;

use zerostride_ops::DType;
use zerostride_shape::{Shape, checked_bytes};
use zip::ZipWriter;

use crate::Result;
use crate::stream::Output;

use super::elements::Encoding;
use super::error::{FileError, Problem};
use super::replacement::{Destination, Replacement};
use super::{Format, UNNAMED, npy, npz, safetensors};

/// A file to which an expression is evaluated: `.npy`, `.npz` or `.safetensors`, by its ending.
///
/// In `.npz` and `.safetensors` the array is called [`UNNAMED`]. The file appears complete or not at all, as with
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
    state: State,
}

enum State {
    Waiting(Box<dyn Destination>),
    Plain {
        to: Box<dyn Destination>,
        encoding: Encoding,
        left: u64,
    },
    Archive {
        to: Box<ZipWriter<Box<dyn Destination>>>,
        encoding: Encoding,
        left: u64,
    },
    /// Complete, or given up.
    Done,
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
        let replacement = Replacement::new(path, replaces).map_err(refused)?;
        Ok(Sink { file, format, state: State::Waiting(Box::new(replacement)) })
    }

    /// A sink that writes somewhere else than to the file system.
    pub fn new(destination: Box<dyn Destination>, format: Format) -> Sink {
        Sink { file: "<memory>".into(), format, state: State::Waiting(destination) }
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
        let State::Waiting(mut to) = std::mem::replace(&mut self.state, State::Done) else {
            return self.give_up(Problem::Unfinished { left: 0 });
        };
        let left = checked_bytes(&Shape::new(shape)?, dtype.item_size())? as u64;
        let (header, encoding) = match self.format {
            Format::Safetensors => safetensors::start(&self.file, UNNAMED, dtype, shape)?,
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
                let mut to = Box::new(ZipWriter::new(to));
                npz::start(&mut *to, UNNAMED, total)?;
                to.write_all(&header).map_err(Problem::writing)?;
                Ok(State::Archive { to, encoding, left })
            }
            Format::Npy | Format::Safetensors => {
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
            State::Waiting(_) | State::Done => return self.give_up(Problem::Unfinished { left: 0 }),
        };
        *left = left.saturating_sub(elements.len() as u64);
        written.or_else(|error: io::Error| self.give_up(Problem::writing(error)))
    }

    fn finish(&mut self) -> Result<()> {
        let (to, left) = match std::mem::replace(&mut self.state, State::Done) {
            State::Plain { to, left, .. } => (Ok(to), left),
            State::Archive { to, left, .. } => (to.finish().map_err(npz::writing_problem), left),
            State::Waiting(_) | State::Done => return self.give_up(Problem::Unfinished { left: 0 }),
        };
        if left > 0 {
            return self.give_up(Problem::Unfinished { left });
        }
        let complete = to.and_then(|mut to| {
            to.sync().map_err(|source| Problem::Io { action: "flush it to the disk", source })?;
            to.commit().map_err(|source| Problem::Io { action: "give it its name", source })
        });
        complete.map_err(|problem| self.failed(problem))
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").field("file", &self.file).field("format", &self.format).finish_non_exhaustive()
    }
}
