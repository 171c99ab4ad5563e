//! Owns `Container`: an open file of arrays whose headers have been read. It detects the format and delegates
//! to it; it does not know how a format is encoded.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::{Result, Tensor};

use super::entry::Entry;
use super::original::Original;
use super::packed::Member;
#[cfg(feature = "zarr")]
use super::zarr;
use super::{Format, MEMORY, npy, npz, safetensors};
use crate::error::file::{FileError, Problem};

/// An open file of arrays: its headers have been read and checked, its data have not been read.
///
/// [`open`](super::open) opens a file; [`Container::new`] takes any other seekable reader.
///
/// ```
/// use std::io::Cursor;
/// use zerostride::io::{Container, Format};
///
/// let mut file = b"\x93NUMPY\x01\x00\x3e\x00{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}".to_vec();
/// file.resize(10 + 62, b' ');
/// file.extend([0, 1, 0, 2]);
/// let mut container = Container::new(Cursor::new(file), Format::Npy)?;
/// assert_eq!(container.entries()[0].shape(), [2]);
/// assert_eq!(container.read(0)?.to_vec::<i16>()?, [1, 2]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Debug)]
pub struct Container<R: Read + Seek = File> {
    file: String,
    format: Format,
    source: Contents<R>,
    entries: Vec<Entry>,
    /// The state of the file when its headers were read; `None` for other readers.
    original: Option<Original>,
}

#[derive(Debug)]
enum Contents<R: Read + Seek> {
    /// The data are uncompressed in the file.
    Plain(R),
    Archive(npz::Archive<R>),
    #[cfg(feature = "zarr")]
    Store(Arc<dyn zarr::Files>, Vec<zarr::StoreArray>),
}

/// Where the elements of an array are stored.
pub(super) enum Location {
    /// In the file, at the offset that its header gives.
    Bytes,
    Member(Member),
    #[cfg(feature = "zarr")]
    Chunks(Arc<zarr::Chunked>),
}

impl Container {
    /// Reads the headers of a file in the file system. Later reads fail if the file has changed.
    pub(super) fn of_file(file: &str, reader: File, format: Format) -> Result<Container, FileError> {
        let original = reader.try_clone().and_then(|file| Original::of(Arc::new(file)));
        let original = original.map_err(|error| FileError::new(file, None, Problem::reading(error)))?;
        Ok(Container { original: Some(original), ..Container::read_headers(file, reader, format)? })
    }
}

impl<R: Read + Seek> Container<R> {
    /// Reads the headers from a reader that is not a file in the file system.
    ///
    /// # Errors
    /// Another format, or headers that are wrong or contradict the length.
    pub fn new(reader: R, format: Format) -> Result<Container<R>> {
        Container::named(MEMORY, reader, format)
    }

    /// As [`Container::new`], with what messages call the reader.
    ///
    /// # Errors
    /// As [`Container::new`].
    ///
    /// ```
    /// use std::io::Cursor;
    /// use zerostride::io::{Container, Format};
    ///
    /// let error = Container::named("standard input", Cursor::new(b""), Format::Npy).unwrap_err();
    /// assert_eq!(error.to_string(), "standard input: not a .npy file: it is empty");
    /// ```
    pub fn named(name: &str, reader: R, format: Format) -> Result<Container<R>> {
        Ok(Container::read_headers(name, reader, format)?)
    }

    pub(super) fn read_headers(file: &str, mut reader: R, format: Format) -> Result<Container<R>, FileError> {
        let whole = |problem| FileError::new(file, None, problem);
        let reading = |error| whole(Problem::reading(error));
        let length = reader.seek(SeekFrom::End(0)).map_err(reading)?;
        reader.rewind().map_err(reading)?;
        if length == 0 {
            return Err(whole(Problem::NotThisFormat { format, start: Vec::new() }));
        }
        let (source, entries) = match format {
            Format::Npy => {
                let entry = npy::read_header(None, &mut reader, length).map_err(whole)?;
                (Contents::Plain(reader), vec![entry])
            }
            Format::Npz => {
                let (archive, entries) = npz::open(file, reader)?;
                (Contents::Archive(archive), entries)
            }
            Format::Safetensors => {
                let entries = safetensors::read_header(file, &mut reader, length)?;
                (Contents::Plain(reader), entries)
            }
            Format::Zarr => return Err(whole(Problem::Folder)),
        };
        Ok(Container { file: file.to_owned(), format, source, entries, original: None })
    }

    /// Reads the metadata of a Zarr store.
    #[cfg(feature = "zarr")]
    pub(super) fn of_store(file: &str, files: Arc<dyn zarr::Files>) -> Result<Container<R>, FileError> {
        let (entries, nodes) = zarr::nodes(file, &*files)?.into_iter().unzip();
        let source = Contents::Store(files, nodes);
        Ok(Container { file: file.to_owned(), format: Format::Zarr, source, entries, original: None })
    }

    /// The file's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The arrays in the file, in the file's order, and the other members of an archive.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The index of the array called `name`; without a name, of the only array.
    ///
    /// # Errors
    /// No array of that name; without a name, no array or several.
    pub fn find(&self, name: Option<&str>) -> Result<usize> {
        let arrays = || self.entries.iter().enumerate().filter(|(_, entry)| entry.is_array());
        let known = || arrays().filter_map(|(_, entry)| entry.name().map(str::to_owned)).collect();
        let found = match name {
            Some(name) => {
                let named = |(_, entry): &(usize, &Entry)| entry.name() == Some(name);
                // Another member of an archive may have the name of an array: arrays first.
                let found = arrays().find(named).or_else(|| self.entries.iter().enumerate().find(named));
                let missing = || Problem::NoSuchArray { name: name.to_owned(), known: known() };
                found.map(|(index, _)| index).ok_or_else(missing)
            }
            None => match arrays().next() {
                Some((index, _)) if arrays().count() == 1 => Ok(index),
                _ => Err(Problem::NotSingle { known: known() }),
            },
        };
        Ok(found.map_err(|problem| FileError::new(&self.file, None, problem))?)
    }

    /// An array's header, and where its elements are stored.
    pub(super) fn place(&mut self, index: usize) -> Result<(Entry, Location), FileError> {
        let entry = self.entries[index].clone();
        let place = match &mut self.source {
            Contents::Plain(_) => Ok(Location::Bytes),
            Contents::Archive(archive) => npz::place(archive, index).map(Location::Member),
            #[cfg(feature = "zarr")]
            Contents::Store(files, nodes) => {
                zarr::Chunked::new(&self.file, files.clone(), &entry, &nodes[index])
                    .map(|chunked| Location::Chunks(Arc::new(chunked)))
            }
        };
        let place = place.map_err(|problem| FileError::new(&self.file, entry.name(), problem))?;
        Ok((entry, place))
    }

    /// Reads the whole array at `index` of [`entries`](Container::entries) into a row-major tensor in this
    /// machine's byte order.
    ///
    /// # Errors
    /// There is no such index; zerostride does not have the dtype; there is no memory; the data are damaged;
    /// the file has been written to since it was opened.
    pub fn read(&mut self, index: usize) -> Result<Tensor> {
        let Some(entry) = self.entries.get(index) else {
            let known = self.entries.iter().filter_map(|entry| entry.name().map(str::to_owned)).collect();
            let problem = Problem::NoSuchArray { name: index.to_string(), known };
            return Err(FileError::new(&self.file, None, problem).into());
        };
        let failed = |problem| FileError::new(&self.file, entry.name(), problem);
        let encoding = entry.encoding().map_err(failed)?;
        Tensor::build(encoding.dtype, entry.shape.clone(), |out| {
            let filled = match &mut self.source {
                Contents::Plain(reader) => reader
                    .seek(SeekFrom::Start(entry.start))
                    .and_then(|_| entry.read_all(encoding, reader, out))
                    .map_err(Problem::reading),
                Contents::Archive(archive) => npz::read(archive, index, entry, encoding, out),
                #[cfg(feature = "zarr")]
                Contents::Store(files, nodes) => {
                    zarr::Chunked::new(&self.file, files.clone(), entry, &nodes[index])
                        .and_then(|chunked| chunked.fill(&chunked.whole(), out))
                }
            };
            let same = self.original.as_ref().map_or(Ok(()), Original::check);
            Ok(same.and(filled).map_err(failed)?)
        })
    }
}
