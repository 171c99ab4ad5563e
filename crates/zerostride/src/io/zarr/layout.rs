//! Owns how an array's elements are stored, checked: chunks, shards, codecs, the fill value. It does not read
//! chunks (`chunked.rs`).

use std::num::NonZeroUsize;

use zerostride_ops::DType;
use zerostride_shape::{Shape, checked_bytes};

use super::codecs::Chain;
use super::damaged;
use super::metadata::{Extension, Metadata, fill_bytes};
use crate::error::file::Problem;

/// How the elements of an array are stored.
#[derive(Debug)]
pub(super) struct Layout {
    /// The shape of what a file holds: a chunk or a shard.
    pub(super) file: Vec<usize>,
    /// The shape of what is decoded at once: the chunk of a file, or a chunk in a shard.
    pub(super) chunk: Vec<usize>,
    pub(super) chain: Chain,
    /// How the index of a shard is stored.
    pub(super) shard: Option<ShardIndex>,
    /// The fill value's bytes.
    pub(super) fill: Vec<u8>,
}

/// The index of a shard, which has the offset and length of each chunk.
#[derive(Debug)]
pub(super) struct ShardIndex {
    pub(super) chain: Chain,
    pub(super) is_first: bool,
}

impl Layout {
    /// The layout of an array whose metadata are in the file `key`.
    pub(super) fn new(key: &str, metadata: &Metadata, dtype: DType) -> Result<Layout, Problem> {
        let refused = |reason: String| damaged(key, reason);
        let ndim = metadata.shape.len();
        let file = sizes(&metadata.chunk, ndim).map_err(refused)?;
        let fill = fill_bytes(&metadata.fill, dtype).map_err(refused)?;
        let codecs = &metadata.codecs;
        let Some(sharding) = codecs.iter().find(|codec| codec.name == "sharding_indexed") else {
            let chain = Chain::new(codecs, dtype, &file, bytes(key, &file, dtype)?).map_err(refused)?;
            return Ok(Layout { chunk: file.clone(), file, chain, shard: None, fill });
        };
        if codecs.len() > 1 {
            return Err(refused("other codecs around shards are not read".into()));
        }
        let chunk = sharding.chunk_shape().and_then(|chunk| sizes(&chunk, ndim)).map_err(refused)?;
        let counts = file.iter().zip(&chunk).map(|(file, inner)| (file % inner == 0).then_some(file / inner));
        let counts: Option<Vec<usize>> = counts.collect();
        let mut counts =
            counts.ok_or_else(|| refused(format!("chunks of {chunk:?} do not divide shards of {file:?}")))?;
        bytes(key, &file, dtype)?;
        counts.push(2);
        let list = |field| sharding.field::<Vec<Extension>>(field).map_err(refused);
        let index_bytes = bytes(key, &counts, DType::U64)?;
        let index = Chain::new(&list("index_codecs")?, DType::U64, &counts, index_bytes).map_err(refused)?;
        if !index.is_exact() {
            return Err(refused(
                "the index of a shard is packed, so that the place where it begins is not known".into(),
            ));
        }
        let place: Option<String> = sharding.optional("index_location").map_err(refused)?;
        let is_first = match place.as_deref().unwrap_or("end") {
            "end" => false,
            "start" => true,
            other => {
                return Err(refused(format!(
                    "the index of a shard is at the `start` or `end`, not at `{other}`"
                )));
            }
        };
        let chain =
            Chain::new(&list("codecs")?, dtype, &chunk, bytes(key, &chunk, dtype)?).map_err(refused)?;
        Ok(Layout { file, chunk, chain, shard: Some(ShardIndex { chain: index, is_first }), fill })
    }

    /// Memory that is needed while a chunk is read, in bytes.
    pub(super) fn scratch(&self) -> u64 {
        let index = self.shard.as_ref().map_or(0, |index| index.chain.scratch());
        self.chain.scratch().saturating_add(index) as u64
    }
}

/// The sizes of a chunk.
fn sizes(chunk: &[NonZeroUsize], ndim: usize) -> Result<Vec<usize>, String> {
    match chunk.len() == ndim {
        true => Ok(chunk.iter().map(|size| size.get()).collect()),
        false => Err(format!("chunks have {} dimensions, and the array has {ndim}", chunk.len())),
    }
}

/// The bytes of a chunk's elements.
fn bytes(key: &str, sizes: &[usize], dtype: DType) -> Result<usize, Problem> {
    let numel = sizes.iter().try_fold(1usize, |numel, &size| numel.checked_mul(size));
    let numel = numel.ok_or_else(|| damaged(key, format!("no memory can hold a chunk of {sizes:?}")))?;
    Ok(checked_bytes(&Shape::new(&[numel])?, dtype.item_size())?)
}
