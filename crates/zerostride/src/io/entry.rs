//! Owns `Entry`: one array of a file as the file's headers describe it. It does not know the format of the
//! headers.

use std::io::{self, Read};
use std::sync::Arc;

use zerostride_ops::DType;
use zerostride_shape::{Shape, checked_bytes};

use super::elements::Encoding;
use crate::error::file::Problem;

/// One array of a file as its headers describe it: no data have been read.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("zerostride-entry-{}.npy", std::process::id()));
/// use zerostride::{DType, Tensor, io};
///
/// io::save(&path, &Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?)?;
/// let container = io::open(&path)?;
/// let entry = &container.entries()[0];
/// assert_eq!(entry.shape(), [3]);
/// assert_eq!(entry.dtype(), Some(DType::F32));
/// assert_eq!(entry.bytes(), 12);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Entry {
    name: Option<String>,
    kind: EntryDtype,
    pub(super) shape: Shape,
    bytes: u64,
    /// The byte at which the data start: in the file, or in the decompressed member of an archive.
    pub(super) start: u64,
    fortran: bool,
}

/// The dtype of an array in a file.
#[derive(Clone, Debug)]
pub(super) enum EntryDtype {
    /// A dtype of zerostride.
    Known(Encoding),
    /// Another dtype, of which only the name is known. Its array can be listed but not read.
    Unknown {
        name: String,
        /// Why it cannot be read, and what to do about it.
        advice: &'static str,
    },
    /// A member of an archive that is no array, or cannot be read. The other members can be read.
    Refused { is_array: bool, problem: Arc<Problem> },
}

impl Entry {
    /// An array whose data start at `start`; `found` bytes are between there and the end of the file or
    /// member.
    ///
    /// The declared length of the data is checked against that before anything is allocated.
    pub(super) fn new(
        name: Option<String>,
        kind: EntryDtype,
        sizes: &[usize],
        fortran: bool,
        start: u64,
        found: u64,
    ) -> Result<Entry, Problem> {
        let shape = Shape::new(sizes)?;
        if let EntryDtype::Known(Encoding { dtype, .. }) = kind {
            let needed = checked_bytes(&shape, dtype.item_size())? as u64;
            if found < needed {
                return Err(Problem::Truncated { offset: start, needed, found });
            }
            if found > needed {
                return Err(Problem::Trailing { offset: start + needed, extra: found - needed });
            }
        }
        Ok(Entry { name, kind, shape, bytes: found, start, fortran })
    }

    /// An array whose data are in chunks.
    #[cfg(feature = "zarr")]
    pub(super) fn in_chunks(
        name: Option<String>,
        kind: EntryDtype,
        sizes: &[usize],
    ) -> Result<Entry, Problem> {
        let shape = Shape::new(sizes)?;
        let bytes = match kind {
            EntryDtype::Known(Encoding { dtype, .. }) => checked_bytes(&shape, dtype.item_size())? as u64,
            EntryDtype::Unknown { .. } | EntryDtype::Refused { .. } => 0,
        };
        Ok(Entry { name, kind, shape, bytes, start: 0, fortran: false })
    }

    /// A member of an archive that is refused.
    pub(super) fn refused(name: String, is_array: bool, problem: Arc<Problem>, bytes: u64) -> Entry {
        let kind = EntryDtype::Refused { is_array, problem };
        Entry { name: Some(name), kind, shape: Shape::default(), bytes, start: 0, fortran: false }
    }

    /// Why a refused member cannot be read; `None` for other entries.
    pub(super) fn refused_member(&self) -> Option<&Arc<Problem>> {
        match &self.kind {
            EntryDtype::Refused { problem, .. } => Some(problem),
            _ => None,
        }
    }

    /// Whether this is an array, even one that cannot be read; other members of an archive are not.
    pub fn is_array(&self) -> bool {
        !matches!(self.kind, EntryDtype::Refused { is_array: false, .. })
    }

    /// Whether the headers give the array's dtype and shape.
    pub fn is_described(&self) -> bool {
        self.refused_member().is_none()
    }

    /// Why the array cannot be read, if it cannot.
    pub fn refusal(&self) -> Option<String> {
        self.encoding().err().map(|problem| problem.to_string())
    }

    /// The array's name; the one array of an `.npy` file has none.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The array's name, or [`UNNAMED`](super::UNNAMED).
    pub(super) fn name_or_default(&self) -> &str {
        self.name().unwrap_or(super::UNNAMED)
    }

    /// The dtype; `None` if zerostride does not have it: then the array can be listed but not read.
    pub fn dtype(&self) -> Option<DType> {
        match &self.kind {
            EntryDtype::Known(encoding) => Some(encoding.dtype),
            EntryDtype::Unknown { .. } | EntryDtype::Refused { .. } => None,
        }
    }

    /// The dtype's name, such as `f32`; in the file's notation if zerostride does not have it. For a member
    /// of an archive that is no array, what it is.
    pub fn dtype_name(&self) -> &str {
        match &self.kind {
            EntryDtype::Known(encoding) => encoding.dtype.name(),
            EntryDtype::Unknown { name, .. } => name,
            EntryDtype::Refused { is_array: true, .. } => "unknown",
            EntryDtype::Refused { is_array: false, .. } => "no array",
        }
    }

    /// The sizes, outermost dimension first, for row-major and Fortran order alike.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The length of the data in bytes, decompressed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether numbers are stored with the most significant byte first; `false` for numbers of one byte.
    pub fn is_big_endian(&self) -> bool {
        match self.kind {
            EntryDtype::Known(encoding) => encoding.is_big_endian(),
            EntryDtype::Unknown { .. } | EntryDtype::Refused { .. } => false,
        }
    }

    /// Whether elements are stored in Fortran order: the first dimension changes fastest. They are read as
    /// row-major.
    pub fn is_fortran(&self) -> bool {
        self.fortran
    }

    /// The form of the elements in the file.
    pub(super) fn encoding(&self) -> Result<Encoding, Problem> {
        match &self.kind {
            EntryDtype::Known(encoding) => Ok(*encoding),
            EntryDtype::Unknown { name, advice } => Err(Problem::DType { name: name.clone(), advice }),
            EntryDtype::Refused { problem, .. } => Err(Problem::Member(Arc::clone(problem))),
        }
    }

    /// Reads all elements into `out` in row-major order; the reader is at the first one.
    pub(super) fn read_all(
        &self,
        encoding: Encoding,
        reader: &mut dyn Read,
        out: &mut [u8],
    ) -> io::Result<()> {
        if self.fortran {
            encoding.read_fortran(reader, &self.shape, out)
        } else {
            encoding.read(reader, out)
        }
    }
}
