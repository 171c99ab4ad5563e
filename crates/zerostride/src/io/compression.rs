//! Owns `Compression`: how the chunks of a Zarr store are packed. It does not know how packing works
//! (`zarr/codecs.rs`).

/// How the chunks of a Zarr store are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all: as fast as the disk.
    None,
    /// By gzip, which everything reads.
    Gzip,
    /// By Zstandard, the default of zarr-python.
    #[default]
    Zstd,
}
