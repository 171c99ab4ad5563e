//! Reading and writing arrays in files: NPY, NPZ, safetensors and, with the feature `zarr`, Zarr.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("sum.npz");
//! use zerostride::{io, tensor};
//!
//! let sum = tensor![[1, 2, 3]].add(&tensor![[4], [5], [6]])?;
//! io::save_all(&path, &[("sum", &sum)])?;
//!
//! assert_eq!(io::load(&path)?.shape(), [3, 3]);
//! let mut container = io::open(&path)?;
//! assert_eq!(container.entries()[0].name(), Some("sum"));
//! assert_eq!(container.read(0)?.to_vec::<i64>()?, sum.to_vec::<i64>()?);
//! # Ok::<(), zerostride::Error>(())
//! ```
//!
//! - [`open`] reads headers only: names, dtypes, shapes. [`Container::read`] then reads one array.
//! - [`load`] and [`load_all`] read whole arrays, [`save`] and [`save_all`] write them.
//! - [`Source`] and [`Sink`] are arrays in files that expressions read and write in pieces
//!   ([`stream`](crate::stream)).
//!
//! # What is accepted
//!
//! | format | read | written |
//! |---|---|---|
//! | `.npy` | versions 1.0, 2.0, 3.0; both byte orders; Fortran order; all dtypes but bf16 | version 1.0, row-major, this machine's byte order: the bytes of `numpy.save` |
//! | `.npz` | stored and deflated members | stored members, as `numpy.savez` |
//! | `.safetensors` | all dtypes but c128, which the format lacks | the bytes of the reference implementation |
//! | `.zarr` | version 3 in a folder, groups too; codecs bytes, transpose, gzip, zstd, crc32c, sharding_indexed | chunks of at most 16 MiB, contiguous in row-major order; uncompressed, gzip or zstd |
//!
//! Sizes that a file declares are not trusted: every length is checked against the file's own before anything
//! is allocated. Files that are too short or too long, repeated keys and names, and members that overlap are
//! refused. Pickles are never read. Arrays of a dtype that zerostride does not have are listed but not read.
//!
//! | limit | |
//! |---|---|
//! | dimensions | 64 |
//! | header of NPY | 1 MiB |
//! | header of safetensors | 100,000,000 bytes |
//! | levels of lists and tuples in a `descr` | 32 |
//! | compression ratio of a deflated member | 1032, the most that deflate reaches |
//! | `zarr.json` | 16 MiB |
//! | levels of groups; nodes of a store | 32; 10,000 |
//!
//! A missing chunk of a Zarr store has the store's fill value, as the format says. A chunk that is there must
//! have exactly the bytes of its elements, or if it is compressed at most a quarter and 1 KiB more.
//!
//! This module does not know operations.

mod compression;
mod container;
mod elements;
mod entry;
mod literal;
#[cfg(feature = "mmap")]
#[allow(unsafe_code)]
mod map;
mod new_archive;
mod npy;
mod npz;
mod open;
mod original;
mod packed;
mod read_at;
mod regular;
mod replacement;
mod safetensors;
mod save;
mod sink;
mod source;
#[cfg(feature = "zarr")]
mod zarr;

pub use crate::error::{FileError, Format, HeaderLimit, Printable, Problem};
pub use compression::{Compression, ZarrFormat};
pub use container::Container;
pub use entry::Entry;
#[cfg(feature = "mmap")]
pub use map::map;
pub use open::{load, load_all, locate, open};
pub use read_at::ReadAt;
pub use replacement::{Destination, exit_without_unfinished};
pub use save::{save, save_all, save_bytes};
pub use sink::Sink;
pub use source::Source;
#[cfg(feature = "zarr")]
pub use zarr::{Files, NewFiles};

/// The name of an array that is saved without one, as `numpy.savez` chooses it.
pub const UNNAMED: &str = "arr_0";

/// The file name in messages about bytes in memory.
const MEMORY: &str = "<memory>";
