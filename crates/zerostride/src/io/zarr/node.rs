//! Owns the search for arrays in a store, which is an array or a group of nodes. It does not know chunks.

use serde::Deserialize;

use super::metadata::{Metadata, version2, version3};
use super::{Files, METADATA_FILE, METADATA_V2_FILE, damaged};
use crate::error::file::{FileError, HeaderLimit, Problem};
use crate::io::entry::Entry;
use crate::io::read_at::ReadAt;

/// The file that makes a folder a group of version 2.
const GROUP_V2: &str = ".zgroup";

/// The longest metadata accepted, in bytes; attributes can be long.
const MAX_METADATA: u64 = 16 << 20;

/// The deepest nesting of groups and the most nodes that are visited.
const MOST_NESTED_GROUPS: usize = 32;
const MAX_NODES: usize = 10_000;

/// An array in a store.
#[derive(Debug)]
pub(in crate::io) struct StoreArray {
    /// The prefix of its keys: empty, or its path and a slash.
    pub(super) prefix: String,
    pub(super) metadata: Metadata,
    /// The key of its metadata, and their checksum, to detect that the store has changed.
    pub(super) key: String,
    pub(super) checksum: u32,
}

/// The fields that all nodes of version 3 have.
#[derive(Deserialize)]
struct NodeFields {
    zarr_format: serde_json::Value,
    node_type: String,
}

/// The arrays of a store, in the order of their paths.
pub(in crate::io) fn nodes(file: &str, files: &dyn Files) -> Result<Vec<(Entry, StoreArray)>, FileError> {
    let mut found = Vec::new();
    let mut left = MAX_NODES;
    visit(files, String::new(), 0, &mut left, &mut found)
        .map_err(|problem| FileError::new(file, None, problem))?;
    Ok(found)
}

fn visit(
    files: &dyn Files,
    prefix: String,
    depth: usize,
    left: &mut usize,
    found: &mut Vec<(Entry, StoreArray)>,
) -> Result<(), Problem> {
    *left = left
        .checked_sub(1)
        .ok_or_else(|| damaged(&*prefix, format!("there are more than {MAX_NODES} nodes")))?;
    // Consolidated metadata are copies of those of each node, which may be older than these.
    let key = |name| format!("{prefix}{name}");
    let (key, text, metadata) = if let Some(text) = text(files, &key(METADATA_FILE))? {
        let metadata = if is_array(&text).map_err(|reason| damaged(key(METADATA_FILE), reason))? {
            Some(version3(&text))
        } else {
            None
        };
        (key(METADATA_FILE), text, metadata)
    } else if let Some(text) = text(files, &key(METADATA_V2_FILE))? {
        let metadata = version2(&text);
        (key(METADATA_V2_FILE), text, Some(metadata))
    } else if let Some(text) = text(files, &key(GROUP_V2))? {
        (key(GROUP_V2), text, None)
    } else {
        return if depth > 0 { Ok(()) } else { Err(Problem::NotRegular { kind: "a folder" }) };
    };
    match metadata {
        Some(metadata) => {
            let metadata = metadata.map_err(|reason| damaged(&*key, reason))?;
            let name = prefix.strip_suffix('/').map(str::to_owned);
            let sizes = metadata.shape.iter().map(|&size| usize::try_from(size).unwrap_or(usize::MAX));
            let entry = Entry::in_chunks(name, metadata.kind.clone(), &sizes.collect::<Vec<_>>())?;
            found.push((entry, StoreArray { prefix, metadata, key, checksum: crc32fast::hash(&text) }));
            Ok(())
        }
        None if depth < MOST_NESTED_GROUPS => {
            for name in files.folders(&prefix).map_err(Problem::reading)? {
                visit(files, format!("{prefix}{name}/"), depth + 1, left, found)?;
            }
            Ok(())
        }
        None => Err(damaged(key, format!("groups are nested more than {MOST_NESTED_GROUPS} levels deep"))),
    }
}

/// Whether a `zarr.json` is that of an array, and not of a group.
fn is_array(text: &[u8]) -> Result<bool, String> {
    let header: NodeFields = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if header.zarr_format != 3 {
        return Err(format!(
            "version {} is not read; in a `{METADATA_FILE}` version 3 is",
            header.zarr_format
        ));
    }
    match &*header.node_type {
        "array" => Ok(true),
        "group" => Ok(false),
        other => Err(format!("`{other}` is neither an array nor a group")),
    }
}

/// The content of a file, unless it is too long.
pub(super) fn text(files: &dyn Files, key: &str) -> Result<Option<Vec<u8>>, Problem> {
    let Some(file) = files.open(key).map_err(Problem::reading)? else { return Ok(None) };
    let length = ReadAt::length(&*file).map_err(Problem::reading)?;
    if length > MAX_METADATA {
        return Err(Problem::HeaderLength { length, limit: HeaderLimit::Format(MAX_METADATA) });
    }
    let mut text = vec![0; length as usize];
    file.read_exact_at(&mut text, 0).map_err(Problem::reading)?;
    Ok(Some(text))
}
