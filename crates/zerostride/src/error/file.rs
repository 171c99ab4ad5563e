//! Owns `FileError`: which file, which array in it, and what is wrong there.
//! It does not know how any format is read; the readers say what they found.

use std::fmt;
use std::io::{Error as IoError, ErrorKind};
use std::sync::Arc;

use zerostride_shape::ShapeError;

use super::format::Format;

/// A file that could not be read or written: its name, the array in it, and the [`Problem`].
///
/// ```
/// # #[cfg(unix)] {
/// let error = zerostride::io::load("/").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "/: it is a folder; give the path of a regular .npy, .npz or .safetensors file, or of a Zarr store"
/// );
/// # }
/// ```
#[derive(Debug)]
pub struct FileError {
    file: String,
    entry: Option<String>,
    problem: Box<Problem>,
}

impl FileError {
    pub(crate) fn new(file: &str, entry: Option<&str>, problem: Problem) -> FileError {
        FileError { file: file.to_owned(), entry: entry.map(str::to_owned), problem: Box::new(problem) }
    }

    /// The file's path as it was given, or `<memory>` for bytes that were never a file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The name of the array concerned, where the problem is not the whole file's.
    pub fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileError { file, entry, problem } = self;
        match entry {
            Some(entry) => write!(f, "{}: array `{}`: {problem}", Printable(file), Excerpt(entry)),
            None => write!(f, "{}: {problem}", Printable(file)),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// What messages and plans call an array in a file.
pub(crate) fn name_of(file: &str, entry: Option<&str>) -> String {
    entry.map_or_else(|| file.to_owned(), |entry| format!("{file}:{entry}"))
}

/// What can be wrong with a file. Offsets and lengths count bytes; offsets are from the start of the file, or
/// of the unpacked member of an `.npz`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The operating system refused.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, as in `open it`.
        action: &'static str,
        /// The operating system's answer.
        source: IoError,
    },
    /// A folder, a pipe or a device.
    #[error("it is {kind}; give the path of a regular .npy, .npz or .safetensors file, or of a Zarr store")]
    NotRegular {
        /// What it is, as in `a folder`.
        kind: &'static str,
    },
    /// A Zarr store, where bytes were expected.
    #[error("a Zarr store is a folder of files; open it by its path")]
    Folder,
    /// A Zarr store, and a build without the feature `zarr`.
    #[error("it is a Zarr store, and this build reads and writes none; build it with the feature `zarr`")]
    WithoutZarr,
    /// Elements that do not lie in the file as they lie in memory, so that a mapping of the file is no
    /// tensor.
    #[error("it cannot be mapped: {reason}; read it instead")]
    NotMapped {
        /// Why not.
        reason: &'static str,
    },
    /// A file of a Zarr store that is not what it has to be.
    #[error("{}: {}", Excerpt(key), Sentence(reason))]
    Store {
        /// The file's key, as in `c/0/1`.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file or a Zarr store that is no longer the one that was opened.
    #[error("it was replaced or changed since it was opened; open it again, once nothing writes to it")]
    Replaced,
    /// Something under the name of a new file or store that is not replaced.
    #[error("there is something of that name, and it is {kind}; move it away or choose another name")]
    NotReplaced {
        /// What it is, as in `a group of arrays`.
        kind: &'static str,
    },
    /// A store that would be replaced with something in it that is not its own.
    #[error(
        "it holds `{}`, which is no part of a Zarr array and would be lost; move that away or choose another name",
        Excerpt(path)
    )]
    Foreign {
        /// The path of that, in the store.
        path: String,
    },
    /// There is a file of that name, which was not to be replaced.
    #[error("it exists already; choose another name, or allow it to be replaced")]
    Exists,
    /// An array was written to a sink in part, or twice.
    #[error("the array was not written from its beginning to its end, once; {left} bytes are missing")]
    Unfinished {
        /// How many bytes are missing.
        left: u64,
    },
    /// The file to be replaced is write-protected.
    #[error("it is read-only; make it writable or choose another name")]
    ReadOnly,
    /// Neither the content nor the ending tells the format.
    #[error("unknown format: {}; known are .npy, .npz and .safetensors files, and Zarr stores", Start(start))]
    UnknownFormat {
        /// The first bytes.
        start: Vec<u8>,
    },
    /// An ending that tells no format to write.
    #[error("the ending says no known format; write to .npy, .npz, .safetensors or .zarr")]
    UnknownEnding,
    /// The format's signature is absent.
    #[error("not a {format} file: {}", Start(start))]
    NotThisFormat {
        /// The format expected.
        format: Format,
        /// The first bytes.
        start: Vec<u8>,
    },
    /// A version of the NPY format that does not exist.
    #[error("NPY version {major}.{minor} is not known; versions 1.0, 2.0 and 3.0 are")]
    Version {
        /// The first version byte.
        major: u8,
        /// The second version byte.
        minor: u8,
    },
    /// A header longer than allowed or than the file.
    #[error("the header claims {length} bytes, but {}", match limit {
        HeaderLimit::File(rest) => format!("only {rest} follow; the file was cut short or is damaged"),
        HeaderLimit::Format(most) => format!("at most {most} are accepted; the file is damaged"),
    })]
    HeaderLength {
        /// The length that the file claims.
        length: u64,
        /// What it exceeds.
        limit: HeaderLimit,
    },
    /// A header that does not say what it must.
    #[error("header, byte {offset}: {reason}")]
    Header {
        /// Where.
        offset: u64,
        /// What was found and what was expected.
        reason: String,
    },
    /// A dtype that zerostride does not have, or that the format to be written does not have.
    #[error("dtype `{}` {advice}", Excerpt(name))]
    DType {
        /// The dtype in the words of the file, or ours when writing.
        name: String,
        /// Why not, and what to do.
        advice: &'static str,
    },
    /// A shape that cannot exist.
    #[error("{0}")]
    Shape(#[from] ShapeError),
    /// Fewer bytes than the header promises.
    #[error(
        "the data are cut short: {needed} bytes are needed from byte {offset} on, but only {found} are there"
    )]
    Truncated {
        /// Where the data start.
        offset: u64,
        /// How many bytes the header promises.
        needed: u64,
        /// How many there are.
        found: u64,
    },
    /// The file shrank after its length was checked.
    #[error("it was cut short while being read; another program may be writing it")]
    Shrank,
    /// More bytes than the header promises.
    #[error("{extra} bytes follow the data, which end at byte {offset}; the header or the file is damaged")]
    Trailing {
        /// Where the data end.
        offset: u64,
        /// How many bytes follow.
        extra: u64,
    },
    /// A tensor whose place in a `.safetensors` file is impossible.
    #[error("data_offsets [{begin}, {end}] {reason}")]
    Offsets {
        /// The first byte, from the start of the data.
        begin: u64,
        /// The byte after the last.
        end: u64,
        /// What is impossible about them.
        reason: String,
    },
    /// A damaged or unusable ZIP archive.
    #[error("damaged or unsupported archive: {reason}")]
    Archive {
        /// What is wrong.
        reason: String,
    },
    /// A member of an archive that was refused when the archive was opened.
    #[error("{0}")]
    Member(Arc<Problem>),
    /// A name that an array cannot have.
    #[error("the name `{}` {reason}", Excerpt(name))]
    Name {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// No array of that name.
    #[error("there is no array `{}`; {}", Excerpt(name), Holdings(known))]
    NoSuchArray {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// Several arrays, or none, for a format that holds one.
    #[error("a {format} file holds one array, not {count}; write to .npz or .safetensors")]
    OneArray {
        /// The format.
        format: Format,
        /// How many were given.
        count: usize,
    },
    /// One array was wanted and the file has none or several.
    #[error("one array is wanted, and {}{}", Holdings(known), if known.is_empty() { "" } else { "; append `:` and a name to the path" })]
    NotSingle {
        /// The names that exist.
        known: Vec<String>,
    },
}

/// What a header's length exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderLimit {
    /// The bytes that follow in the file.
    File(u64),
    /// The most that is accepted.
    Format(u64),
}

impl Problem {
    /// Wraps what the operating system answered while reading; an unexpected end is a file that shrank,
    /// because every length is checked before anything is read.
    pub(crate) fn reading(source: IoError) -> Problem {
        match source.kind() {
            ErrorKind::UnexpectedEof => Problem::Shrank,
            _ => Problem::Io { action: "read it", source },
        }
    }

    pub(crate) fn writing(source: IoError) -> Problem {
        Problem::Io { action: "write it", source }
    }
}

/// A name from a file, shortened and without control characters, so that no file can flood or steer a
/// terminal.
pub(crate) struct Excerpt<'a>(pub(crate) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_printable(self.0, 80, f)
    }
}

/// What a file starts with, or that there is nothing in it.
struct Start<'a>(&'a [u8]);

impl fmt::Display for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("it is empty"),
            bytes => write!(f, "it starts with `{}`", bytes.escape_ascii()),
        }
    }
}

/// A sentence that may hold words from a file.
struct Sentence<'a>(&'a str);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_printable(self.0, 400, f)
    }
}

fn write_printable(text: &str, longest: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (position, character) in text.chars().enumerate() {
        if position == longest {
            return f.write_str("…");
        }
        match steers(character) {
            true => write!(f, "{}", character.escape_default())?,
            false => write!(f, "{character}")?,
        }
    }
    Ok(())
}

/// Whether a character does something to those around it instead of being seen: controls, line separators,
/// and what changes the direction of writing or is not there.
fn steers(character: char) -> bool {
    let invisible = ['\u{ad}', '\u{61c}', '\u{180e}', '\u{feff}'];
    character.is_control()
        || invisible.contains(&character)
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// A name from a file as it may be shown: whole, with escapes for characters that would steer the terminal.
///
/// ```
/// assert_eq!(zerostride::io::Printable("w\u{1b}[2J\u{202e}").to_string(), r"w\u{1b}[2J\u{202e}");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_printable(self.0, usize::MAX, f)
    }
}

/// The names a file holds; the first few stand for all.
struct Holdings<'a>(&'a [String]);

impl fmt::Display for Holdings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        match self.0.len() {
            0 => return f.write_str("the file has no named arrays"),
            1 => f.write_str("the file holds ")?,
            count => write!(f, "the file holds {count}: ")?,
        }
        for (position, name) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}`{}`", if position > 0 { ", " } else { "" }, Excerpt(name))?;
        }
        if self.0.len() > SHOWN { f.write_str(", …") } else { Ok(()) }
    }
}
