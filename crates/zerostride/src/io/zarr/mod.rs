//! Owns Zarr stores, versions 2 and 3, in folders: arrays in chunks, each in a file. It does not know which
//! rows are read when (`stream`).
//!
//! What a store could misstate (sizes, lengths of compressed chunks, offsets in shards) is checked first: no
//! chunk takes more memory than its elements and their compressed form do.
//!
//! Source: the Zarr core specification, versions 2 and 3.1, its codecs `bytes`, `transpose`, `blosc`, `gzip`,
//! `zstd`, `crc32c` and `sharding_indexed`, and those of numcodecs 0.16.

mod blosc;
mod boxes;
mod chunked;
mod codecs;
mod delta;
mod files;
mod layout;
mod metadata;
mod node;
mod unpack;
mod writer;

pub(super) use chunked::Chunked;
pub use files::{Files, NewFiles};
pub(super) use files::{Folder, NewFolder};
pub(super) use node::{StoreArray, nodes};
pub(super) use writer::StoreWriter;

use crate::error::file::Problem;

/// The file with the metadata of a node of version 3, and that of an array of version 2.
pub(super) const METADATA_FILE: &str = "zarr.json";
const METADATA_V2_FILE: &str = ".zarray";

/// The problem of a store's file with wrong content.
fn damaged(key: impl Into<String>, reason: impl Into<String>) -> Problem {
    Problem::Store { key: key.into(), reason: reason.into() }
}
