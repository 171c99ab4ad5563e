//! No `zarr.json` and no bytes of its chunks panic, hang or take more memory than was allowed, and what is
//! read in pieces is what is read at once.

#![no_main]

use std::io;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use zerostride::io::{Files, ReadAt, Source};
use zerostride::stream::{Options, Output};
use zerostride::{DType, Expr, Result};

/// Arrays whose chunks go through every codec, as zarr-python describes them.
const ARRAYS: [&str; 7] = [
    include_str!("../../spec/golden/io/all.zarr/turned/zarr.json"),
    include_str!("../../spec/golden/io/all.zarr/blosc-copied/zarr.json"),
    include_str!("../../spec/golden/io/all.zarr/delta-i4-big/zarr.json"),
    include_str!("../../spec/golden/io/all.zarr/gzip/zarr.json"),
    include_str!("../../spec/golden/io/all.zarr/checked/zarr.json"),
    include_str!("../../spec/golden/io/all.zarr/shards-start/zarr.json"),
    SHARDS,
];

/// Shards whose index has no checksum, so that any places in a shard are believed first.
const SHARDS: &str = r#"{
    "zarr_format": 3, "node_type": "array", "shape": [3, 5], "data_type": "uint8", "fill_value": 7,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 4]}},
    "chunk_key_encoding": {"name": "default"},
    "codecs": [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, 2], "codecs": [{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 1, "checksum": false}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]
    }}]
}"#;

/// The most bytes of elements that are read: an array that claims more takes as long as it claims.
const MOST: u64 = 1 << 12;

/// The store of one array, all of whose chunks are the same.
#[derive(Debug)]
struct Store {
    metadata: Vec<u8>,
    chunk: Vec<u8>,
}

impl Files for Store {
    fn open(&self, key: &str) -> io::Result<Option<Arc<dyn ReadAt>>> {
        let content = if key == "zarr.json" { &self.metadata } else { &self.chunk };
        Ok(Some(Arc::new(content.clone())))
    }

    fn folders(&self, _: &str) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Elements as they come.
#[derive(Default)]
struct Elements(Vec<u8>);

impl Output for Elements {
    fn begin(&mut self, _: DType, _: &[usize]) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, elements: &[u8]) -> Result<()> {
        self.0.extend(elements);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

fn read(metadata: &[u8], chunk: &[u8]) {
    let store = Store { metadata: metadata.to_vec(), chunk: chunk.to_vec() };
    let Ok(source) = Source::of_store(Arc::new(store), None) else { return };
    let bytes = source.entry().bytes();
    if bytes > MOST {
        return;
    }
    let x = Expr::from(&source);
    let elements = |options: Options| {
        let mut elements = Elements::default();
        x.eval_to(&mut elements, options.max_memory(1 << 20)).map(|()| elements.0)
    };
    match (elements(Options::new()), elements(Options::new().piece_rows(1))) {
        (Ok(whole), Ok(pieces)) => assert!(whole == pieces && whole.len() as u64 == bytes),
        (whole, pieces) => assert!(whole.is_err() && pieces.is_err(), "{whole:?} {pieces:?}"),
    }
}

// What comes before the first zero byte, which no JSON has, is `zarr.json`, and the rest is every chunk.
fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    read(&input[..end], input.get(end + 1..).unwrap_or_default());
    for metadata in ARRAYS {
        read(metadata.as_bytes(), input);
    }
});
