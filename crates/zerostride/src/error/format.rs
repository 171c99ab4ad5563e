//! Owns `Format`, the list of file formats and their endings.
//! It does not know what a file of a format contains.

use std::fmt;
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// One array, `numpy.save`.
    Npy,
    /// Named arrays in a ZIP archive, `numpy.savez`.
    Npz,
    /// Named arrays behind a JSON header.
    Safetensors,
    /// Arrays in chunks, in a folder of files.
    Zarr,
}

impl Format {
    const ALL: [Format; 4] = [Format::Npy, Format::Npz, Format::Safetensors, Format::Zarr];

    /// The format that a path's ending tells, upper or lower case.
    ///
    /// ```
    /// use zerostride::io::Format;
    /// assert_eq!(Format::from_path("x.NPY"), Some(Format::Npy));
    /// assert_eq!(Format::from_path("x.txt"), None);
    /// ```
    pub fn from_path(path: impl AsRef<Path>) -> Option<Format> {
        let ending = path.as_ref().extension()?.to_str()?;
        Format::ALL.into_iter().find(|format| format.ending().eq_ignore_ascii_case(ending))
    }

    /// The ending without its dot.
    pub const fn ending(self) -> &'static str {
        match self {
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Safetensors => "safetensors",
            Format::Zarr => "zarr",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.ending())
    }
}
