//! Owns Zarr stores, version 3, in folders: arrays in chunks, each a file. It does not know what is read when
//! (`stream`).
//!
//! The `zarrs` library reads what `zarr.json` says and undoes the codecs that keep the number of bytes. What
//! a store could lie about (lengths of packed chunks, places in shards) is checked here first: no chunk makes
//! more memory be taken than its elements do.
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

/// The file that says what a folder of a store is.
pub(super) const METADATA: &str = "zarr.json";

/// A file of a store that is not what it has to be.
fn damaged(key: impl Into<String>, reason: impl Into<String>) -> Problem {
    Problem::Store { key: key.into(), reason: reason.into() }
}
