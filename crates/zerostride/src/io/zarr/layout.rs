//! Owns the checked content of an array's `zarr.json`: chunks, shards, codecs, the fill value. It does not
//! read chunks (`chunked.rs`).

use std::num::NonZeroU64;

use zarrs::array::chunk_key_encoding::ChunkKeyEncoding;
use zarrs::array::{ArrayMetadataV3, ChunkRepresentation, DataType};
use zarrs::config::global_config;
use zarrs::metadata::v3::MetadataV3;
use zarrs::metadata_ext::chunk_grid::regular::RegularChunkGridConfiguration;
use zarrs::metadata_ext::codec::sharding::{ShardingCodecConfiguration, ShardingIndexLocation};
use zerostride_ops::DType;
use zerostride_shape::{Shape, checked_bytes};

use super::codecs::Chain;
use super::{METADATA, damaged};
use crate::error::file::Problem;

/// The dtypes of Zarr; bfloat16 is an extension.
pub(super) const NAMES: [(&str, DType); 15] = [
    ("bool", DType::Bool),
    ("uint8", DType::U8),
    ("uint16", DType::U16),
    ("uint32", DType::U32),
    ("uint64", DType::U64),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("complex64", DType::C64),
    ("complex128", DType::C128),
];

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
    keys: ChunkKeyEncoding,
}

/// The index of a shard, which has the offset and length of each chunk.
#[derive(Debug)]
pub(super) struct ShardIndex {
    pub(super) chain: Chain,
    pub(super) is_first: bool,
}

impl Layout {
    pub(super) fn new(metadata: &ArrayMetadataV3, shape: &[usize], dtype: DType) -> Result<Layout, Problem> {
        let refused = |reason: String| damaged(METADATA, reason);
        if !metadata.storage_transformers.is_empty() {
            return Err(refused("storage transformers are not known".into()));
        }
        if let Some((name, _)) = metadata.additional_fields.iter().find(|(_, field)| field.must_understand())
        {
            return Err(refused(format!("`{name}` is not known, and the store requires it")));
        }
        let grid: RegularChunkGridConfiguration = match metadata.chunk_grid.name() {
            "regular" => {
                // The library's message is meant for its programmers.
                let unreadable = "`chunk_shape` has to be a list of whole numbers, none of them 0";
                metadata.chunk_grid.to_configuration().map_err(|_| refused(unreadable.into()))?
            }
            other => return Err(refused(format!("the chunk grid `{other}` is not read; `regular` is"))),
        };
        let grid = grid.chunk_shape.as_slice();
        let keys = ChunkKeyEncoding::from_metadata(&metadata.chunk_key_encoding);
        let keys = keys.map_err(|error| refused(error.to_string()))?;
        let data_type = DataType::from_metadata(&metadata.data_type, global_config().data_type_aliases_v3());
        let data_type = data_type.map_err(|error| refused(error.to_string()))?;
        let fill = data_type.fill_value_from_metadata(&metadata.fill_value);
        let fill = fill.map_err(|error| refused(error.to_string()))?;
        let chunk = |sizes: &[NonZeroU64]| {
            ChunkRepresentation::new(sizes.to_vec(), data_type.clone(), fill.clone())
                .map_err(|error| refused(error.to_string()))
        };
        let file = sizes(grid, shape.len())?;
        let fill_bytes = fill.as_ne_bytes().to_vec();
        if let Some(sharding) = sharding(&metadata.codecs)? {
            let (inner, codecs, index_codecs, is_first) = sharding;
            let inner_sizes = sizes(&inner, shape.len())?;
            let counts = file.iter().zip(&inner_sizes).map(|(file, inner)| match file % inner {
                0 => NonZeroU64::new((file / inner) as u64),
                _ => None,
            });
            let counts: Option<Vec<NonZeroU64>> = counts.collect();
            let mut counts = counts.ok_or_else(|| {
                refused(format!("chunks of {inner_sizes:?} do not divide shards of {file:?}"))
            })?;
            bytes(&file, dtype)?;
            counts.push(const { NonZeroU64::new(2).expect("two is not zero") });
            let index = ChunkRepresentation::new(counts.clone(), DataType::UInt64, u64::MAX);
            let index = index.map_err(|error| refused(error.to_string()))?;
            let index_bytes = bytes(&sizes(&counts, counts.len())?, DType::U64)?;
            let index = Chain::new(&index_codecs, index, index_bytes).map_err(refused)?;
            if !index.is_exact() {
                return Err(refused(
                    "the index of a shard is packed, so that nobody can tell where it begins".into(),
                ));
            }
            let chain = Chain::new(&codecs, chunk(&inner)?, bytes(&inner_sizes, dtype)?).map_err(refused)?;
            let shard = Some(ShardIndex { chain: index, is_first });
            return Ok(Layout { file, chunk: inner_sizes, chain, shard, fill: fill_bytes, keys });
        }
        let chain = Chain::new(&metadata.codecs, chunk(grid)?, bytes(&file, dtype)?).map_err(refused)?;
        Ok(Layout { chunk: file.clone(), file, chain, shard: None, fill: fill_bytes, keys })
    }

    /// The key of the file with that chunk or shard.
    pub(super) fn key(&self, index: &[usize]) -> String {
        let index: Vec<u64> = index.iter().map(|&number| number as u64).collect();
        self.keys.encode(&index).to_string()
    }

    /// Memory that is needed while a chunk is read, in bytes.
    pub(super) fn scratch(&self) -> u64 {
        let index = self.shard.as_ref().map_or(0, |index| index.chain.scratch());
        self.chain.scratch().saturating_add(index) as u64
    }
}

/// The sizes of a chunk.
fn sizes(chunk: &[NonZeroU64], ndim: usize) -> Result<Vec<usize>, Problem> {
    if chunk.len() != ndim {
        let reason = format!("chunks have {} dimensions, and the array has {ndim}", chunk.len());
        return Err(damaged(METADATA, reason));
    }
    let sizes = chunk.iter().map(|size| usize::try_from(size.get()).unwrap_or(usize::MAX));
    Ok(sizes.collect())
}

/// The bytes of a chunk's elements.
fn bytes(sizes: &[usize], dtype: DType) -> Result<usize, Problem> {
    let shape = sizes.iter().try_fold(1usize, |numel, &size| numel.checked_mul(size));
    let numel = shape.ok_or_else(|| damaged(METADATA, format!("no memory can hold a chunk of {sizes:?}")))?;
    Ok(checked_bytes(&Shape::new(&[numel])?, dtype.item_size())?)
}

/// The shape of a shard's chunks, their codecs, the codecs of the index, and whether the index comes first;
/// `None` if the array has no shards.
type Sharding = (Vec<NonZeroU64>, Vec<MetadataV3>, Vec<MetadataV3>, bool);

fn sharding(codecs: &[MetadataV3]) -> Result<Option<Sharding>, Problem> {
    let Some(codec) = codecs.iter().find(|codec| codec.name() == "sharding_indexed") else { return Ok(None) };
    if codecs.len() > 1 {
        return Err(damaged(METADATA, "other codecs around shards are not read"));
    }
    let configuration = codec.to_configuration::<ShardingCodecConfiguration>();
    match configuration.map_err(|error| damaged(METADATA, error.to_string()))? {
        ShardingCodecConfiguration::V1(found) => {
            let is_first = matches!(found.index_location, ShardingIndexLocation::Start);
            Ok(Some((found.chunk_shape.as_slice().to_vec(), found.codecs, found.index_codecs, is_first)))
        }
        _ => Err(damaged(METADATA, "shards of this version are not known")),
    }
}
