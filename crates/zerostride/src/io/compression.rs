//! Owns `Compression`: how the chunks of a Zarr store are compressed. It does not know the codecs
//! (`zarr/codecs.rs`).

/// How the chunks of a Zarr store are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not compressed: as fast as the disk.
    None,
    /// gzip, which every reader of Zarr has.
    Gzip,
    /// Zstandard, the default of zarr-python.
    #[default]
    Zstd,
}
