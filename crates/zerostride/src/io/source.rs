//! Owns `Source`: an array in a file whose elements are read in rows when an expression needs them. It does
//! not know headers (`container.rs`) nor when anything is read (`stream`).

use std::io::{Read, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use zerostride_ops::DType;
use zerostride_shape::Shape;

use crate::expr::{Input, View, rows};
use crate::{Expr, Result};

use super::container::{Container, Location};
use super::elements::Encoding;
use super::entry::Entry;
use super::open::{locate, open_regular};
use super::original::Original;
use super::packed::Packed;
use super::read_at::{ReadAt, Section};
use super::{Format, MEMORY, npz};
use crate::error::file::{FileError, Problem, name_of};

/// An array in a file: its header has been read and checked; its elements are read when an expression over it
/// runs.
///
/// The file stays open. If another file takes its name, such as the result, the old one is read. If the file
/// itself is shortened or written to, later evaluations end in an error.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("x.npy");
/// use zerostride::{Expr, Tensor, io::{self, Source}};
///
/// io::save(&path, &Tensor::arange(0, 6, 1)?.reshape(&[2, 3])?)?;
/// let x = Source::open(&path)?;
/// assert_eq!(x.shape(), [2, 3]);
/// assert_eq!(Expr::from(&x).sum(0).eval()?.to_vec::<i64>()?, [3, 5, 7]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    entry: Entry,
    dtype: DType,
    input: Arc<dyn Input>,
}

impl Source {
    /// Opens the only array of a file, or the one named behind a colon as in `m.safetensors:weight`.
    ///
    /// # Errors
    /// As for [`io::open`](super::open); no array of that name, or several arrays and no name; a dtype that
    /// zerostride does not have.
    pub fn open(path: impl AsRef<Path>) -> Result<Source> {
        let (path, name) = locate(path.as_ref());
        let file = &*path.to_string_lossy();
        if path.is_dir() {
            // The elements of a store are in separate files.
            return Source::of(file, super::open(path)?, None, name);
        }
        let (reader, format) = open_regular(path).map_err(|problem| FileError::new(file, None, problem))?;
        Source::named(file, Arc::new(reader), format, name)
    }

    /// As [`Source::open`], for bytes that need not be in the file system.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn new(bytes: Arc<dyn ReadAt>, format: Format, name: Option<&str>) -> Result<Source> {
        Source::named(MEMORY, bytes, format, name)
    }

    /// An array of a Zarr store whose files need not be in the file system.
    ///
    /// # Errors
    /// As [`Source::open`].
    #[cfg(feature = "zarr")]
    pub fn of_store(files: Arc<dyn super::Files>, name: Option<&str>) -> Result<Source> {
        let container = Container::<std::fs::File>::of_store(MEMORY, files)?;
        Source::of(MEMORY, container, None, name)
    }

    fn named(file: &str, bytes: Arc<dyn ReadAt>, format: Format, name: Option<&str>) -> Result<Source> {
        let reading = |error| FileError::new(file, None, Problem::reading(error));
        let original = Original::of(Arc::clone(&bytes)).map_err(reading)?;
        let section = Section::new(Arc::clone(&bytes), 0, original.length());
        let container = Container::read_headers(file, section, format)?;
        Source::of(file, container, Some(original), name)
    }

    fn of<R: Read + Seek>(
        file: &str,
        mut container: Container<R>,
        original: Option<Original>,
        name: Option<&str>,
    ) -> Result<Source> {
        let index = container.find(name)?;
        let (entry, place) = container.place(index)?;
        let encoding = entry.encoding().map_err(|problem| FileError::new(file, entry.name(), problem))?;
        let (elements, original) = match (place, original) {
            (Location::Bytes, Some(original)) => (Elements::Plain, original),
            (Location::Member(member), Some(original)) => {
                (Elements::Packed(Packed::new(Arc::clone(original.bytes()), member)), original)
            }
            #[cfg(feature = "zarr")]
            (Location::Chunks(chunked), _) => {
                return Ok(Source { dtype: encoding.dtype, input: chunked, entry });
            }
            (_, None) => unreachable!("all but stores are files of their own"),
        };
        let shape = if entry.is_fortran() {
            Shape::new(&entry.shape.iter().rev().copied().collect::<Vec<_>>())?
        } else {
            entry.shape.clone()
        };
        let stored = Stored {
            file: file.to_owned(),
            name: entry.name().map(str::to_owned),
            start: entry.start,
            encoding,
            shape,
            elements,
            original,
        };
        Ok(Source { dtype: encoding.dtype, input: Arc::new(stored), entry })
    }

    /// The sizes of the dimensions.
    pub fn shape(&self) -> &[usize] {
        self.entry.shape()
    }

    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The array's header.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }
}

impl From<&Source> for Expr {
    fn from(source: &Source) -> Expr {
        let stored = Expr::input(Arc::clone(&source.input));
        if !source.entry.is_fortran() {
            return stored;
        }
        stored.view(View::Permute((0..source.shape().len() as isize).rev().collect()))
    }
}

/// Elements as a file stores them. An array in Fortran order is stored as its transpose in row-major order.
#[derive(Debug)]
struct Stored {
    file: String,
    name: Option<String>,
    start: u64,
    encoding: Encoding,
    shape: Shape,
    elements: Elements,
    original: Original,
}

#[derive(Debug)]
enum Elements {
    Plain,
    Packed(Packed),
}

impl Input for Stored {
    fn name(&self) -> String {
        name_of(&self.file, self.name.as_deref())
    }

    fn dtype(&self) -> DType {
        self.encoding.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, range: Range<usize>, out: &mut [u8]) -> Result<()> {
        let row = self.shape.numel() / rows(&self.shape).max(1) * self.encoding.dtype.item_size();
        let offset = self.start + (range.start * row) as u64;
        let read = match &self.elements {
            Elements::Plain => self.original.bytes().read_exact_at(out, offset).map_err(Problem::reading),
            Elements::Packed(packed) => {
                packed.read(offset, out).map_err(|error| npz::damaged_member(Problem::reading(error)))
            }
        };
        // If the file has changed, that is the error, whether or not reading failed.
        let read = self.original.check().and(read);
        read.map_err(|problem| FileError::new(&self.file, self.name.as_deref(), problem))?;
        self.encoding.decode(out);
        Ok(())
    }

    fn is_sequential(&self) -> bool {
        matches!(self.elements, Elements::Packed(_))
    }
}
