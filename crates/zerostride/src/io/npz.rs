//! Owns the NPZ format: a ZIP archive of NPY members, read without trusting any size that it declares. It
//! does not know ZIP's structures, which the `zip` crate reads, nor the inside of a member (`npy.rs`).
//!
//! Source: `numpy.savez`; PKWARE APPNOTE 6.3.

use std::collections::HashSet;
use std::io::{BufReader, Read, Seek, Write, copy, sink};
use std::sync::Arc;

use zip::CompressionMethod;
use zip::read::{ArchiveOffset, Config, ZipArchive, ZipReadOptions};
use zip::result::ZipError;

use crate::{Result, Tensor};

use super::elements::Encoding;
use super::entry::Entry;
use super::new_archive::NewArchive;
use super::npy;
use super::packed::Member;
use crate::error::file::{FileError, Problem};
use crate::error::format::Format;

/// The magic numbers of NPZ files: that of a member, or of the end of an archive without members.
pub(super) const MAGICS: [&[u8; 4]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// How much of a file of another format is shown.
const SHOWN_BYTES: u64 = 9;

/// An archive that is read through a buffer.
pub(super) type Archive<R> = ZipArchive<BufReader<R>>;

/// The highest compression ratio of deflate.
const MAX_RATIO: u64 = 1032;

/// Reads the list of members and the NPY header of each. A member that cannot be read does not keep the
/// others from being read; if there is no other, it is an error.
pub(super) fn open<R: Read + Seek>(file: &str, mut reader: R) -> Result<(Archive<R>, Vec<Entry>), FileError> {
    let whole = |problem| FileError::new(file, None, problem);
    let mut start = Vec::with_capacity(SHOWN_BYTES as usize);
    (&mut reader)
        .take(SHOWN_BYTES)
        .read_to_end(&mut start)
        .and_then(|_| reader.rewind())
        .map_err(|error| whole(Problem::reading(error)))?;
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, BufReader::new(reader)).map_err(|error| {
        whole(match error {
            // The end of the archive is searched for first, which says nothing about a file of another kind.
            ZipError::InvalidArchive(_)
                if !MAGICS.iter().any(|magic| start.starts_with(*magic) || magic.starts_with(&start)) =>
            {
                Problem::NotThisFormat { format: Format::Npz, start }
            }
            error => archive_problem(error),
        })
    })?;
    if archive.has_duplicate_names() {
        return Err(whole(Problem::Archive { reason: "two members have the same name".into() }));
    }
    if archive.is_empty() && (archive.offset(), archive.central_directory_start()) != (0, 0) {
        let reason = "it lists no member, although something comes before the list".into();
        return Err(whole(Problem::Archive { reason }));
    }
    // Overlapping members are how ZIP bombs exceed the compression ratio of deflate.
    if archive.has_overlapping_entries().map_err(|error| whole(archive_problem(error)))? {
        return Err(whole(Problem::Archive { reason: "members overlap".into() }));
    }
    let mut entries = Vec::new();
    let mut names = HashSet::new();
    for index in 0..archive.len() {
        let path = match archive.name_for_index(index) {
            Some(path) => path.map_err(|error| whole(archive_problem(error)))?.into_owned(),
            None => break,
        };
        // Two names that differ in bytes can decode to the same text.
        if !names.insert(path.clone()) {
            return Err(whole(Problem::Archive { reason: "two members have the same name".into() }));
        }
        let name = array_name(&path);
        let shown = path.strip_suffix(".npy").unwrap_or(&path).to_owned();
        let is_array = name.is_ok();
        match name.and_then(|name| open_member(&mut archive, index, name)) {
            Ok(entry) => entries.push(entry),
            Err(problem @ Problem::Io { .. }) => return Err(FileError::new(file, Some(&shown), problem)),
            Err(problem) => {
                let bytes = archive.by_index_raw(index).map_or(0, |member| member.size());
                entries.push(Entry::refused(shown, is_array, Arc::new(problem), bytes));
            }
        }
    }
    let refused = || entries.iter().filter_map(|entry| Some((entry, entry.refused_member()?)));
    if let Some((entry, problem)) = refused().next()
        && refused().count() == entries.len()
    {
        let name = entry.name().filter(|_| entry.is_array());
        return Err(FileError::new(file, name, Problem::Member(Arc::clone(problem))));
    }
    Ok((archive, entries))
}

fn open_member<R: Read + Seek>(
    archive: &mut Archive<R>,
    index: usize,
    name: String,
) -> Result<Entry, Problem> {
    let mut member = member(archive, index)?;
    let (unpacked, packed) = (member.size(), member.compressed_size());
    let possible = match member.compression() {
        CompressionMethod::Stored => unpacked == packed,
        _ => unpacked / MAX_RATIO <= packed,
    };
    if !possible {
        let reason =
            format!("{packed} packed bytes cannot be the {unpacked} bytes that the member claims to hold");
        return Err(Problem::Archive { reason });
    }
    npy::read_header(Some(name), &mut member, unpacked).map_err(damaged_member)
}

/// Reads a member's elements into `out` and checks its checksum.
pub(super) fn read<R: Read + Seek>(
    archive: &mut Archive<R>,
    index: usize,
    entry: &Entry,
    encoding: Encoding,
    out: &mut [u8],
) -> Result<(), Problem> {
    let mut member = member(archive, index)?;
    let reading = |error| damaged_member(Problem::reading(error));
    copy(&mut (&mut member).take(entry.start), &mut sink()).map_err(reading)?;
    entry.read_all(encoding, &mut member, out).map_err(reading)?;
    // The `zip` crate compares the checksum when it reads the end of the member.
    let extra = copy(&mut (&mut member).take(1), &mut sink()).map_err(reading)?;
    if extra > 0 {
        return Err(Problem::Archive { reason: "a member is longer than it declares".into() });
    }
    Ok(())
}

/// The position and sizes of a member's bytes.
pub(super) fn place<R: Read + Seek>(archive: &mut Archive<R>, index: usize) -> Result<Member, Problem> {
    let member = member(archive, index)?;
    let start =
        member.data_start().ok_or_else(|| Problem::Archive { reason: "a member has no place".into() })?;
    Ok(Member {
        start,
        packed: member.compressed_size(),
        unpacked: member.size(),
        deflated: member.compression() != CompressionMethod::Stored,
        checksum: member.crc32(),
    })
}

fn member<R: Read + Seek>(
    archive: &mut Archive<R>,
    index: usize,
) -> Result<zip::read::ZipFile<'_, BufReader<R>>, Problem> {
    let options = ZipReadOptions::new().enforce_header_consistency(true);
    archive.by_index_with_options(index, options).map_err(archive_problem)
}

/// The name of the array in a member of that path.
fn array_name(path: &str) -> Result<String, Problem> {
    let refused = |reason| Problem::Name { name: path.to_owned(), reason };
    let Some(name) = path.strip_suffix(".npy") else {
        return Err(refused("is not a .npy member, so it is no array"));
    };
    check_name(name).map_err(refused)?;
    Ok(name.to_owned())
}

/// Refuses names that would be extracted to a place outside the archive's folder.
fn check_name(name: &str) -> Result<(), &'static str> {
    if name.starts_with('/') || name.split(['/', '\\']).any(|part| part == "..") {
        return Err("leads out of the archive; give the array a plain name");
    }
    if name.contains('\0') {
        return Err("contains a NUL character; give the array a plain name");
    }
    Ok(())
}

fn archive_problem(error: ZipError) -> Problem {
    match error {
        ZipError::Io(error) => damaged_member(Problem::reading(error)),
        ZipError::InvalidPassword => Problem::Archive { reason: "a member is encrypted".into() },
        other => Problem::Archive { reason: other.to_string() },
    }
}

/// Turns a read error inside an archive into a damaged archive, unless the operating system refused to read:
/// the bytes end early, do not decompress or do not match their checksum.
pub(super) fn damaged_member(problem: Problem) -> Problem {
    match problem {
        Problem::Shrank => Problem::Archive { reason: "a member ends before its declared size".into() },
        Problem::Io { source, .. } if source.raw_os_error().is_none() => {
            Problem::Archive { reason: source.to_string() }
        }
        other => other,
    }
}

/// Writes all arrays as uncompressed members, as `numpy.savez` does. The bytes do not depend on the time.
pub(super) fn write(file: &str, tensors: &[(&str, &Tensor)], out: &mut (impl Write + Seek)) -> Result<()> {
    let failed = |problem| FileError::new(file, None, problem);
    let mut archive = NewArchive::new(out);
    for &(name, tensor) in tensors {
        let refused = |problem| FileError::new(file, Some(name), problem);
        check_name(name).map_err(|reason| refused(Problem::Name { name: name.to_owned(), reason }))?;
        let header = npy::header(tensor.dtype(), tensor.shape()).map_err(refused)?;
        let written = tensor.with_bytes(|elements| {
            archive.start(name, (header.len() + elements.len()) as u64)?;
            archive.write_all(&header).map_err(Problem::writing)?;
            npy::write_data(tensor.dtype(), elements, &mut archive).map_err(Problem::writing)
        })?;
        written.map_err(failed)?;
    }
    archive.finish().map_err(failed)?;
    Ok(())
}
