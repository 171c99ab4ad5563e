//! Owns `Container`: an opened file of arrays, headers read, data not.
//! It does not know the formats' insides; it finds out which one a file has and asks it.

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

/// An opened file of arrays: its headers have been read and checked, its data have not been touched.
///
/// [`open`](super::open) makes one of a file; any other seekable reader will do too.
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
    source: Source<R>,
    entries: Vec<Entry>,
    /// What the file was when its headers were read, where there is a file.
    original: Option<Original>,
}

#[derive(Debug)]
enum Source<R: Read + Seek> {
    /// Data lie in the file as they are.
    Plain(R),
    Archive(npz::Archive<R>),
    #[cfg(feature = "zarr")]
    Store(Arc<dyn zarr::Files>, Vec<zarr::Node>),
}

/// Where the elements of an array are.
pub(super) enum Place {
    /// In the file, from where its header says.
    Bytes,
    Member(Member),
    #[cfg(feature = "zarr")]
    Chunks(Arc<zarr::Chunked>),
}

impl Container {
    /// Reads the headers of a file of the file system, which is from then on to stay as it is.
    pub(super) fn of_file(file: &str, reader: File, format: Format) -> Result<Container, FileError> {
        let original = reader.try_clone().and_then(|file| Original::of(Arc::new(file)));
        let original = original.map_err(|error| FileError::new(file, None, Problem::reading(error)))?;
        Ok(Container { original: Some(original), ..Container::named(file, reader, format)? })
    }
}

impl<R: Read + Seek> Container<R> {
    /// Reads the headers of a file that is not one of the file system.
    ///
    /// # Errors
    /// Another format, or headers that are wrong or contradict the length.
    pub fn new(reader: R, format: Format) -> Result<Container<R>> {
        Ok(Container::named(MEMORY, reader, format)?)
    }

    pub(super) fn named(file: &str, mut reader: R, format: Format) -> Result<Container<R>, FileError> {
        let whole = |problem| FileError::new(file, None, problem);
        let reading = |error| whole(Problem::reading(error));
        let length = reader.seek(SeekFrom::End(0)).map_err(reading)?;
        reader.rewind().map_err(reading)?;
        let (source, entries) = match format {
            Format::Npy => {
                let entry = npy::read_header(None, &mut reader, length).map_err(whole)?;
                (Source::Plain(reader), vec![entry])
            }
            Format::Npz => {
                let (archive, entries) = npz::open(file, reader)?;
                (Source::Archive(archive), entries)
            }
            Format::Safetensors => {
                let entries = safetensors::read_header(file, &mut reader, length)?;
                (Source::Plain(reader), entries)
            }
            Format::Zarr => return Err(whole(Problem::Folder)),
        };
        Ok(Container { file: file.to_owned(), format, source, entries, original: None })
    }

    /// Reads what a store says of its arrays.
    #[cfg(feature = "zarr")]
    pub(super) fn of_store(file: &str, files: Arc<dyn zarr::Files>) -> Result<Container<R>, FileError> {
        let (entries, nodes) = zarr::nodes(file, &*files)?.into_iter().unzip();
        let source = Source::Store(files, nodes);
        Ok(Container { file: file.to_owned(), format: Format::Zarr, source, entries, original: None })
    }

    /// The file's format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The arrays in the file, in the file's order, and what else an archive holds.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The index of the array called `name`, or without a name of the only array.
    ///
    /// # Errors
    /// No array of that name; without a name, no array or several.
    pub fn find(&self, name: Option<&str>) -> Result<usize> {
        let arrays = || self.entries.iter().enumerate().filter(|(_, entry)| entry.is_array());
        let known = || arrays().filter_map(|(_, entry)| entry.name().map(str::to_owned)).collect();
        let found = match name {
            Some(name) => {
                let named = |(_, entry): &(usize, &Entry)| entry.name() == Some(name);
                // A stranger's member may be called as an array is.
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

    /// An array's header, and where its elements are.
    pub(super) fn place(&mut self, index: usize) -> Result<(Entry, Place), FileError> {
        let entry = self.entries[index].clone();
        let place = match &mut self.source {
            Source::Plain(_) => Ok(Place::Bytes),
            Source::Archive(archive) => npz::place(archive, index).map(Place::Member),
            #[cfg(feature = "zarr")]
            Source::Store(files, nodes) => {
                zarr::Chunked::new(&self.file, files.clone(), &entry, &nodes[index])
                    .map(|chunked| Place::Chunks(Arc::new(chunked)))
            }
        };
        let place = place.map_err(|problem| FileError::new(&self.file, entry.name(), problem))?;
        Ok((entry, place))
    }

    /// Reads the array at `index` of [`entries`](Container::entries) whole, as a row-major tensor in this
    /// machine's byte order.
    ///
    /// # Errors
    /// An index that is none; a dtype that zerostride does not have; no memory; data that are damaged; a file
    /// that has been written to since it was opened.
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
                Source::Plain(reader) => reader
                    .seek(SeekFrom::Start(entry.start))
                    .and_then(|_| entry.read_all(encoding, reader, out))
                    .map_err(Problem::reading),
                Source::Archive(archive) => npz::read(archive, index, entry, encoding, out),
                #[cfg(feature = "zarr")]
                Source::Store(files, nodes) => {
                    zarr::Chunked::new(&self.file, files.clone(), entry, &nodes[index])
                        .and_then(|chunked| chunked.fill(&chunked.whole(), out))
                }
            };
            let same = self.original.as_ref().map_or(Ok(()), Original::check);
            Ok(same.and(filled).map_err(failed)?)
        })
    }
}
