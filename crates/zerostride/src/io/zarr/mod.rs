//! Owns Zarr stores, version 3, in folders: arrays in chunks, each in a file. It does not know which rows are
//! read when (`stream`).
//!
//! The `zarrs` library parses `zarr.json` and decodes the codecs that keep the number of bytes. What a store
//! could misstate (lengths of compressed chunks, offsets in shards) is checked here first: no chunk takes
//! more memory than its elements and their compressed form do.
//!
//! Source: the Zarr core specification, version 3.1, and its codecs `bytes`, `transpose`, `gzip`, `zstd`,
//! `crc32c` and `sharding_indexed`.

mod boxes;
mod chunked;
mod codecs;
mod files;
mod layout;
mod node;
mod writer;

pub(super) use chunked::Chunked;
pub use files::{Files, NewFiles};
pub(super) use files::{Folder, NewFolder};
pub(super) use node::{Node, nodes};
pub(super) use writer::Writer;

use crate::error::file::Problem;

/// The file with the metadata of a store's folder.
pub(super) const METADATA: &str = "zarr.json";

/// The problem of a store's file with wrong content.
fn damaged(key: impl Into<String>, reason: impl Into<String>) -> Problem {
    Problem::Store { key: key.into(), reason: reason.into() }
}
