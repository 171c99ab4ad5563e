//! Owns the search for arrays in a store, which is an array or a group of nodes. It does not know chunks.

use serde::Deserialize;
use zarrs::array::ArrayMetadataV3;

use super::layout::NAMES;
use super::{Files, METADATA, damaged};
use crate::error::file::{FileError, HeaderLimit, Problem};
use crate::io::elements::Encoding;
use crate::io::entry::{Entry, Kind};
use crate::io::read_at::ReadAt;

/// The longest `zarr.json` accepted, in bytes; attributes can be long.
const MAX_METADATA: u64 = 16 << 20;

/// The deepest nesting of groups and the most nodes that are visited.
const MAX_DEPTH: usize = 32;
const MAX_NODES: usize = 10_000;

/// An array in a store.
#[derive(Debug)]
pub(in crate::io) struct Node {
    /// The prefix of its keys: empty, or its path and a slash.
    pub(super) prefix: String,
    pub(super) metadata: ArrayMetadataV3,
    /// The checksum of `zarr.json`, to detect that the store has changed.
    pub(super) checksum: u32,
}

/// The fields that all nodes have.
#[derive(Deserialize)]
struct Header {
    zarr_format: serde_json::Value,
    node_type: String,
}

/// The arrays of a store, in the order of their paths.
pub(in crate::io) fn nodes(file: &str, files: &dyn Files) -> Result<Vec<(Entry, Node)>, FileError> {
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
    found: &mut Vec<(Entry, Node)>,
) -> Result<(), Problem> {
    let key = format!("{prefix}{METADATA}");
    let Some(text) = text(files, &key)? else {
        return if depth > 0 { Ok(()) } else { Err(no_store(files)) };
    };
    *left = left
        .checked_sub(1)
        .ok_or_else(|| damaged(&*key, format!("there are more than {MAX_NODES} nodes")))?;
    let header: Header = serde_json::from_slice(&text).map_err(|error| damaged(&*key, error.to_string()))?;
    if header.zarr_format != 3 {
        return Err(damaged(key, format!("version {} is not read; version 3 is", header.zarr_format)));
    }
    match &*header.node_type {
        "array" => {
            let metadata: ArrayMetadataV3 =
                serde_json::from_slice(&text).map_err(|error| damaged(&*key, error.to_string()))?;
            let entry = entry(&prefix, &metadata)?;
            found.push((entry, Node { prefix, metadata, checksum: crc32fast::hash(&text) }));
            Ok(())
        }
        "group" if depth < MAX_DEPTH => {
            for name in files.folders(&prefix).map_err(Problem::reading)? {
                visit(files, format!("{prefix}{name}/"), depth + 1, left, found)?;
            }
            Ok(())
        }
        "group" => Err(damaged(key, format!("groups are nested more than {MAX_DEPTH} levels deep"))),
        other => Err(damaged(key, format!("`{other}` is neither an array nor a group"))),
    }
}

fn entry(prefix: &str, metadata: &ArrayMetadataV3) -> Result<Entry, Problem> {
    let name = prefix.strip_suffix('/').map(str::to_owned);
    let sizes = metadata.shape.iter().map(|&size| usize::try_from(size).unwrap_or(usize::MAX));
    let sizes: Vec<usize> = sizes.collect();
    let known = NAMES.iter().find(|(name, _)| *name == metadata.data_type.name());
    let kind = match known {
        Some((_, dtype)) => Kind::Known(Encoding { dtype: *dtype, swapped: false }),
        None => Kind::Unknown {
            name: metadata.data_type.name().to_owned(),
            advice: "does not exist here; convert the array to one of numbers",
        },
    };
    Entry::in_chunks(name, kind, &sizes)
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

/// Why a folder is not a store.
fn no_store(files: &dyn Files) -> Problem {
    let has = |key| matches!(files.open(key), Ok(Some(_)));
    if has(".zarray") || has(".zgroup") {
        return damaged(".zarray", "version 2 is not read; version 3 is");
    }
    Problem::NotRegular { kind: "a folder" }
}
