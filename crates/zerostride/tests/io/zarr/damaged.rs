//! Stores that are not what they say: each gets a message, and nothing panics.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::memory::Memory;
use super::message;
use crate::{elements, golden_path, pattern};
use zerostride::DType;
use zerostride::io::{Source, load};

/// An array of shape (4, 6) in chunks of (2, 3), with parts of `zarr.json` replaced.
fn store(changes: Value, chunks: &[(&str, &[u8])]) -> Memory {
    let mut metadata = json!({
        "zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    for (name, value) in changes.as_object().unwrap() {
        metadata[name] = value.clone();
    }
    let memory = Memory::new();
    let mut files = memory.files.lock().unwrap();
    files.insert("zarr.json".into(), metadata.to_string().into_bytes());
    files.extend(chunks.iter().map(|(key, bytes)| ((*key).to_owned(), bytes.to_vec())));
    drop(files);
    memory
}

fn grid(sizes: Value) -> Value {
    json!({"name": "regular", "configuration": {"chunk_shape": sizes}})
}

fn packed(codec: &str) -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": codec, "configuration": {"level": 1, "checksum": false}}])
}

fn shards(inner: Value, index: Value) -> Value {
    let codecs = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    json!([{"name": "sharding_indexed", "configuration": {"chunk_shape": inner, "codecs": codecs, "index_codecs": index}}])
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut writer, bytes).unwrap();
    writer.finish().unwrap()
}

/// Many zeros, packed.
fn bomb(in_gzip: bool) -> Vec<u8> {
    use std::io::Write;
    if in_gzip {
        return gzip(&vec![0; 16 << 20]);
    }
    let mut writer = zstd::Encoder::new(Vec::new(), 1).unwrap();
    (0..1024).for_each(|_| writer.write_all(&[0; 1 << 20]).unwrap());
    writer.finish().unwrap()
}

#[test]
fn what_a_store_says_is_checked_before_anything_is_read() {
    let plain = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    for (changes, part) in [
        (json!({"zarr_format": 2}), "zarr.json: version 2 is not read; in a `zarr.json` version 3 is"),
        (json!({"node_type": "tree"}), "`tree` is neither an array nor a group"),
        (json!({"shape": [-4, 6]}), "zarr.json: "),
        (json!({"shape": [4.5, 6]}), "zarr.json: "),
        (json!({"shape": "4"}), "zarr.json: "),
        (json!({"shape": [u64::MAX, u64::MAX]}), "overflow"),
        (json!({"shape": [1u64 << 62, 4]}), "overflow"),
        (json!({"shape": [0, 1u64 << 62, 1u64 << 62]}), "overflow"),
        (json!({"shape": vec![1; 65], "chunk_grid": grid(json!(vec![1; 65]))}), "dimensions"),
        (json!({"shape": vec![1; 100_000]}), "dimensions"),
        (json!({"data_type": "float128"}), "dtype `float128` does not exist here"),
        (json!({"data_type": {"name": "r24"}}), "dtype `r24` does not exist here"),
        (json!({"chunk_grid": {"name": "rectangular"}}), "the chunk grid `rectangular` is not read"),
        (json!({"chunk_grid": grid(json!([2]))}), "chunks have 1 dimensions, and the array has 2"),
        (json!({"chunk_grid": grid(json!([0, 3]))}), "zarr.json: "),
        (json!({"chunk_grid": grid(json!([u64::MAX, 3]))}), "no memory can hold a chunk"),
        (json!({"chunk_grid": grid(json!([1u64 << 61, 3]))}), "overflow"),
        (json!({"chunk_key_encoding": {"name": "../.."}}), "zarr.json: "),
        (json!({"fill_value": "high"}), "zarr.json: "),
        (json!({"codecs": []}), "the codec `bytes` is missing"),
        (json!({"codecs": packed("jpeg2k")}), "the codec `jpeg2k` is not read"),
        (
            json!({"codecs": [{"name": "transpose", "configuration": {"order": [0, 0]}}, plain[0]]}),
            "zarr.json: ",
        ),
        (
            json!({"codecs": [{"name": "transpose", "configuration": {"order": [0, 1, 2]}}, plain[0]]}),
            "zarr.json: ",
        ),
        (
            json!({"codecs": [{"name": "transpose", "configuration": {"order": [0, 7]}}, plain[0]]}),
            "zarr.json: ",
        ),
        (json!({"codecs": shards(json!([2, 2]), plain.clone())}), "do not divide shards"),
        (json!({"codecs": shards(json!([0, 3]), plain.clone())}), "zarr.json: "),
        (json!({"codecs": shards(json!([2]), plain.clone())}), "chunks have 1 dimensions"),
        (json!({"codecs": shards(json!([1, 1]), packed("zstd"))}), "the place where it begins is not known"),
        (json!({"storage_transformers": [{"name": "mirror"}]}), "storage transformers are not known"),
        (json!({"surprise": {"must_understand": true}}), "`surprise` is not known"),
    ] {
        let said = message(store(changes.clone(), &[]).source(None));
        assert!(said.starts_with("<memory>: ") && said.contains(part), "{changes}: {said}");
        assert!(said.len() < 1000);
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    for text in ["", "{", "[]", "null", "{\"zarr_format\": 3}", &deep, "\u{0}"] {
        let memory = Memory::new();
        memory.files.lock().unwrap().insert("zarr.json".into(), text.into());
        assert!(message(memory.source(None)).starts_with("<memory>: zarr.json: "));
    }
    assert!(message(Memory::new().source(None)).contains("it is a folder"));
}

#[test]
fn a_chunk_of_another_size_is_refused_by_name() {
    let right = pattern(DType::F32, 6);
    let inner = shards(json!([1, 3]), json!([{"name": "bytes", "configuration": {"endian": "little"}}]));
    let index = |places: [u64; 4]| places.iter().flat_map(|place| place.to_le_bytes()).collect::<Vec<u8>>();
    for (codecs, bytes, part) in [
        (json!(null), right[..20].to_vec(), "a chunk has 20 bytes, and exactly 24 are right"),
        (json!(null), [&right[..], &[0]].concat(), "a chunk has 25 bytes, and exactly 24 are right"),
        (json!(null), vec![], "a chunk has 0 bytes, and exactly 24 are right"),
        (packed("gzip"), right.clone(), "it does not unpack as gzip: "),
        (packed("zstd"), right.clone(), "it does not unpack as Zstandard: "),
        (packed("zlib"), right.clone(), "it does not unpack as zlib: "),
        (packed("numcodecs.bz2"), right.clone(), "it does not unpack as bzip2: "),
        (packed("numcodecs.lz4"), vec![255; 30], "it unpacks to more than the 24 bytes of its elements"),
        (packed("numcodecs.lz4"), vec![24, 0, 0], "it is cut short"),
        (packed("gzip"), bomb(true), "a chunk has"),
        (packed("zstd"), bomb(false), "a chunk has"),
        (packed("crc32c"), [&right[..], &[0; 4]].concat(), "checksum"),
        (inner.clone(), vec![1; 20], "its index of 32 bytes does not fit into its 20 bytes"),
        (
            inner.clone(),
            [vec![1; 24], index([0, 12, 12, 13])].concat(),
            "a chunk has 13 bytes, and exactly 12 are right",
        ),
        (
            inner.clone(),
            [vec![1; 24], index([0, 12, 50, 12])].concat(),
            "12 bytes from byte 50 on lie past its end at byte 56",
        ),
        (inner.clone(), [vec![1; 24], index([0, 12, u64::MAX, 12])].concat(), "lie past its end"),
        (inner.clone(), [vec![1; 24], index([0, 12, 0, u64::MAX])].concat(), "lie past its end"),
    ] {
        let changes = if codecs.is_null() { json!({}) } else { json!({"codecs": codecs}) };
        let said = message(store(changes, &[("c/0/0", &bytes)]).read(None));
        assert!(said.starts_with("<memory>: c/0/0: ") && said.contains(part), "{part}: {said}");
    }
}

#[test]
fn members_of_gzip_are_one_stream() {
    let right = pattern(DType::F32, 6);
    let members = [gzip(&right[..10]), gzip(&[]), gzip(&right[10..])].concat();
    let changes = json!({"shape": [2, 3], "codecs": packed("gzip")});
    let read = |chunk: &[u8]| store(changes.clone(), &[("c/0/0", chunk)]).read(None);
    assert_eq!(elements(&read(&members).unwrap()), right);
    let said = message(read(&[gzip(&right), vec![7; 20]].concat()));
    assert!(said.starts_with("<memory>: c/0/0: ") && said.contains("gzip"), "{said}");
}

#[test]
fn little_bombs_do_not_go_off() {
    let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 19).unwrap();
    assert!(bomb.len() < 1000, "{}", bomb.len());
    let said = message(store(json!({"codecs": packed("zstd")}), &[("c/0/0", &bomb)]).read(None));
    assert!(said.contains("c/0/0: it unpacks to more than the 24 bytes of its elements"), "{said}");
    let bomb = gzip(&[0; 1 << 19]);
    assert!(bomb.len() < 1000, "{}", bomb.len());
    let said = message(store(json!({"codecs": packed("gzip")}), &[("c/0/0", &bomb)]).read(None));
    assert!(said.contains("c/0/0: it unpacks to more than the 24 bytes of its elements"), "{said}");
}

/// A frame of Blosc: flags, the sizes of an element, of all, and of a block, and what follows the header.
fn blosc(flags: u8, item: u8, length: u32, block: u32, rest: &[u8]) -> Vec<u8> {
    let size = 16 + rest.len() as u32;
    let sizes = [length, block, size].into_iter().flat_map(u32::to_le_bytes);
    [2, 1, flags, item].into_iter().chain(sizes).chain(rest.iter().copied()).collect()
}

#[test]
fn frames_of_blosc_are_checked_before_anything_is_allocated() {
    let (copied, blosclz, snappy, lz4, zlib, zstd) =
        (2, 16, 2 << 5 | 16, 1 << 5 | 16, 3 << 5 | 16, 4 << 5 | 16);
    let at = |start: u32, packed: u32| [start.to_le_bytes(), packed.to_le_bytes()].concat();
    let right = pattern(DType::F32, 6);
    for (frame, part) in [
        (vec![2, 1], "its Blosc frame is cut short"),
        (blosc(copied, 4, 24, 24, &right[..20]), "its Blosc frame has 20 bytes, and claims 24"),
        (
            [blosc(copied, 4, 24, 24, &right), vec![0]].concat(),
            "its Blosc frame claims to take 40 bytes, and takes 41",
        ),
        (blosc(copied, 4, 25, 24, &right), "claims 25 bytes, and its elements take at most 24"),
        (blosc(copied, 4, 8, 8, &right[..8]), "it holds 8 bytes, and its elements take 24"),
        (blosc(lz4, 4, u32::MAX, u32::MAX, &[]), "its Blosc frame claims 4294967295 bytes"),
        (blosc(lz4, 4, 24, 0, &at(20, 4)), "claims blocks of 0 bytes"),
        (blosc(lz4, 0, 24, 24, &at(20, 4)), "of elements of 0"),
        (blosc(lz4, 4, 24, 1, &at(20, 4)), "its Blosc frame is cut short"),
        (blosc(lz4, 4, 24, 24, &at(22, 4)), "its Blosc frame is cut short"),
        (blosc(lz4, 4, 24, 24, &at(u32::MAX, 4)), "its Blosc frame is cut short"),
        (blosc(lz4, 4, 24, 24, &at(20, 1)), "lies past its end"),
        (blosc(lz4, 4, 24, 24, &at(20, u32::MAX)), "lies past its end"),
        (blosc(lz4, 4, 24, 24, &at(20, 0)), "it does not unpack as LZ4: "),
        (blosc(blosclz, 4, 24, 24, &at(20, 0)), "a block of its Blosc frame is damaged"),
        (blosc(zlib, 4, 24, 24, &[at(20, 2), vec![1, 2]].concat()), "it does not unpack as zlib: "),
        (blosc(zstd, 4, 24, 24, &at(20, 0)), "a block of its Blosc frame has 0 bytes, and 24 are right"),
        (blosc(snappy, 4, 24, 24, &at(20, 0)), "Blosc's compressor `snappy` is not read; blosclz, lz4, zlib"),
    ] {
        let said = message(store(json!({"codecs": packed("blosc")}), &[("c/0/0", &frame)]).read(None));
        assert!(said.starts_with("<memory>: c/0/0: ") && said.contains(part), "{part}: {said}");
    }
    let frame = blosc(copied, 4, 24, 24, &right);
    let changes = json!({"shape": [2, 3], "codecs": packed("blosc")});
    assert_eq!(elements(&store(changes, &[("c/0/0", &frame)]).read(None).unwrap()), right);
}

#[test]
fn what_a_chunk_claims_takes_no_memory_before_it_is_there() {
    for (codec, chunk) in [("gzip", gzip(&[0; 24])), ("zstd", zstd::bulk::compress(&[0; 24], 1).unwrap())] {
        // 4 TiB of chunk, and a file of a few bytes; who loads an array sets no limit.
        let changes = json!({"chunk_grid": grid(json!([1u64 << 20, 1u64 << 20])), "codecs": packed(codec)});
        let folder = tempfile::tempdir().unwrap();
        let metadata = store(changes, &[]).files.lock().unwrap()["zarr.json"].clone();
        fs::write(folder.path().join("zarr.json"), metadata).unwrap();
        fs::create_dir_all(folder.path().join("c/0")).unwrap();
        fs::write(folder.path().join("c/0/0"), chunk).unwrap();
        let said = message(load(folder.path()));
        let expected = "c/0/0: it holds 24 bytes, and its elements take 4398046511104";
        assert!(said.ends_with(expected), "{codec}: {said}");
    }
}

#[test]
fn a_chunk_that_memory_may_not_hold_is_refused_before_it_is_read() {
    use zerostride::stream::Options;
    // 4 EiB of chunk; of the array there is little.
    let changes = json!({"chunk_grid": grid(json!([1u64 << 30, 1u64 << 30]))});
    let source = zerostride::Expr::from(&store(changes, &[]).source(None).unwrap());
    let said = message(source.eval_with(Options::new().max_memory(1 << 20)));
    assert!(
        said.contains("a chunk of <memory> takes") && said.contains("store it in smaller chunks"),
        "{said}"
    );
}

#[test]
fn what_is_no_store_or_no_longer_the_same_says_so() {
    let folder = tempfile::tempdir().unwrap();
    assert!(message(load(folder.path())).contains("it is a folder"));
    fs::write(folder.path().join(".zarray"), "{}").unwrap();
    assert!(message(load(folder.path())).contains(".zarray: missing field `zarr_format`"));
    let file = folder.path().join("x.zarr");
    fs::write(&file, "text").unwrap();
    assert!(message(load(&file)).contains("unknown format"));

    let store = store(json!({}), &[]);
    let source = zerostride::Expr::from(&store.source(None).unwrap());
    source.eval().unwrap();
    store.files.lock().unwrap().clear();
    assert!(message(source.eval()).contains("it was replaced or changed since it was opened"));
}

#[test]
fn arrays_in_groups_are_found_by_their_paths() {
    let store = golden_path("all.zarr");
    let said = message(Source::open(&store));
    assert!(said.contains("one array is wanted, and the file holds 83: `b1`,"), "{said}");
    let named = |name: &str| Source::open(format!("{}:{name}", store.display()));
    assert_eq!(named("folder/inner/deep").unwrap().shape(), [4]);
    assert!(message(named("folder/inner")).contains("there is no array `folder/inner`"));
}

proptest! {
    #[test]
    fn no_damaged_file_of_a_good_store_panics(which: prop::sample::Index, at: prop::sample::Index, byte: u8, cut: bool, is_v2: bool) {
        thread_local! {
            static STORES: [Memory; 2] = ["all.zarr", "version2.zarr"].map(|name| Memory::of(&golden_path(name)));
        }
        let store = Memory::new();
        STORES.with(|good| store.files.lock().unwrap().clone_from(&good[usize::from(is_v2)].files.lock().unwrap()));
        let name = {
            let mut files = store.files.lock().unwrap();
            let mut keys: Vec<String> = files.keys().filter(|key| key.contains('/')).cloned().collect();
            keys.sort();
            let key = which.get(&keys);
            let bytes = files.get_mut(key).unwrap();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                if cut { bytes.truncate(at) } else { bytes[at] = byte }
            }
            let (array, _) = key.split_once('/').unwrap();
            if array == "folder" { "folder/inner/deep".to_owned() } else { array.to_owned() }
        };
        // A metadata file that claims to be a large array is read by its first element alone.
        if let Ok(source) = store.source(Some(&name)) {
            let x = zerostride::Expr::from(&source);
            let _ = x.eval_with(zerostride::stream::Options::new().max_memory(1 << 20));
        }
    }
}
