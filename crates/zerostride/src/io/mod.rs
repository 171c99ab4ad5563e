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
//! - [`open`] reads headers alone: names, dtypes, shapes. [`Container::read`] then reads one array.
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
//! | `.zarr` | version 3 in a folder, groups too; codecs bytes, transpose, gzip, zstd, crc32c, sharding_indexed | chunks of 16 MiB that are runs of neighbours; plain, gzip or zstd |
//!
//! No size that a file declares is believed: every length is checked against the file's own before anything
//! is allocated. Files that are too short or too long, keys and names given twice, and members that overlap
//! are refused. Pickles are never read. Arrays of a dtype that zerostride does not have are listed but not
//! read.
//!
//! | limit | |
//! |---|---|
//! | dimensions | 64 |
//! | header of NPY | 1 MiB |
//! | header of safetensors | 100,000,000 bytes |
//! | lists in each other in a `descr` | 32 |
//! | unpacked to packed bytes of a deflated member | 1032, the most that deflate can do |
//! | `zarr.json` | 16 MiB |
//! | groups in each other; nodes of a store | 32; 10,000 |
//!
//! A chunk of a Zarr store that is not there has the store's fill value, as the format wants; one that is
//! there has as many bytes as its elements take, or at most a quarter more where it is packed.
//!
//! This module deliberately knows no operations.

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
mod replacement;
mod safetensors;
mod save;
mod sink;
mod source;
#[cfg(feature = "zarr")]
mod zarr;

pub use crate::error::{FileError, Format, HeaderLimit, Printable, Problem};
pub use compression::Compression;
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

/// The name of an array that was given none, as `numpy.savez` calls it.
pub const UNNAMED: &str = "arr_0";

/// What messages call bytes that were never a file.
const MEMORY: &str = "<memory>";
