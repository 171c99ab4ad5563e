//! Owns `Compression` and `ZarrFormat`: how a Zarr store is written. It does not know the codecs
//! (`zarr/codecs.rs`).

/// How the chunks of a Zarr store are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not compressed: as fast as the disk.
    None,
    /// Shuffled bytes and LZ4 in frames of Blosc: the fastest, and the default of zarr-python for version 2.
    #[default]
    Lz4,
    /// gzip, which every reader of Zarr has.
    Gzip,
    /// Zstandard, the default of zarr-python for version 3. Its encoder in Rust is slower than gzip's.
    Zstd,
}

/// The version of the Zarr format in which a store is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZarrFormat {
    /// Version 2, with a `.zarray`.
    V2,
    /// Version 3, with a `zarr.json`.
    #[default]
    V3,
}
