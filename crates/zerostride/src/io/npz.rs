//! Owns the NPZ format: a ZIP archive of NPY members, read without trusting any size that it declares.
//! It does not know ZIP's own structures, which the `zip` crate reads, nor the inside of a member (`npy.rs`).
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

/// What every NPZ file begins with: a first member, or the end of an archive without members.
pub(super) const MAGICS: [&[u8; 4]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// The archive and where its file is read.
pub(super) type Archive<R> = ZipArchive<BufReader<R>>;

/// No deflate stream unpacks to more than this many times its length.
const MAX_RATIO: u64 = 1032;

/// Reads the list of members, and of each member the NPY headers. Other members can be read
/// beside one that cannot; where there are no others, the archive cannot be read.
pub(super) fn open<R: Read + Seek>(file: &str, reader: R) -> Result<(Archive<R>, Vec<Entry>), FileError> {
    let whole = |problem| FileError::new(file, None, problem);
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, BufReader::new(reader))
        .map_err(|error| whole(archive_problem(error)))?;
    if archive.has_duplicate_names() {
        return Err(whole(Problem::Archive { reason: "two members have the same name".into() }));
    }
    if archive.is_empty() && (archive.offset(), archive.central_directory_start()) != (0, 0) {
        let reason = "it lists no member, although something comes before the list".into();
        return Err(whole(Problem::Archive { reason }));
    }
    // Members that share bytes are how a small archive claims to be an endless one.
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
        // Two spellings in bytes can be one name in characters.
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

/// Fills `out` with a member's elements and checks its checksum.
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
    // The checksum is compared when the end is met.
    let extra = copy(&mut (&mut member).take(1), &mut sink()).map_err(reading)?;
    if extra > 0 {
        return Err(Problem::Archive { reason: "a member is longer than it declares".into() });
    }
    Ok(())
}

/// Where a member's bytes lie.
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

/// The array's name for a member's path.
fn array_name(path: &str) -> Result<String, Problem> {
    let refused = |reason| Problem::Name { name: path.to_owned(), reason };
    let Some(name) = path.strip_suffix(".npy") else {
        return Err(refused("is not a .npy member, so it is no array"));
    };
    check_name(name).map_err(refused)?;
    Ok(name.to_owned())
}

/// Refuses names that would lead out of a folder if the archive were unpacked.
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

/// Inside an archive, whatever the operating system did not refuse is the archive's fault: bytes that end
/// early, do not unpack or do not match their checksum.
pub(super) fn damaged_member(problem: Problem) -> Problem {
    match problem {
        Problem::Shrank => Problem::Archive { reason: "a member ends before its declared size".into() },
        Problem::Io { source, .. } if source.raw_os_error().is_none() => {
            Problem::Archive { reason: source.to_string() }
        }
        other => other,
    }
}

/// Writes all arrays as stored members, as `numpy.savez` does. The bytes do not depend on the time.
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
