//! Files and expressions that are broken or meant to break something: each gets a message and an exit status,
//! within a gibibyte of address space and without a panic.

#![cfg(unix)]

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::{Command, Output};

/// What `zs` says of files that are not what they claim: their content, the expression over `x`, the exit
/// status and a part of the message.
type Row = (&'static str, Vec<u8>, &'static str, i32, &'static str);

fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((header.len() as u16).to_le_bytes()),
        _ => file.extend((header.len() as u32).to_le_bytes()),
    }
    [&file, header.as_bytes(), data].concat()
}

fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy(1, &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"), data)
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// An archive of one member, and what is then changed in it: every place where some bytes are.
fn archive(deflate: bool, name: &str, content: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let method = if deflate { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    archive.start_file(name, options).unwrap();
    archive.write_all(content).unwrap();
    archive.start_file("other.npy", options).unwrap();
    archive.write_all(&array("'<f4'", "(1,)", &[0; 4])).unwrap();
    let mut file = archive.finish().unwrap().into_inner();
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> =
        (0..file.len() - from.len()).filter(|&at| file[at..].starts_with(from)).collect();
    assert!(from.is_empty() || !places.is_empty());
    places.into_iter().for_each(|at| file[at..at + to.len()].copy_from_slice(to));
    file
}

/// A member's size as archives store it.
fn size(bytes: usize) -> [u8; 4] {
    (bytes as u32).to_le_bytes()
}

fn rows() -> Vec<Row> {
    let one = |range: &str| format!(r#"{{"a":{{"dtype":"F32","shape":[2],"data_offsets":{range}}}}}"#);
    let floats = [0; 16];
    let zeros = array("'<f4'", "(1000000,)", &vec![0; 4_000_000]);
    let small = array("'<f4'", "(4,)", &floats);
    vec![
        // Sizes that no file and no memory has.
        ("x.npy", array("'<f4'", "(4294967296, 4294967296)", &[]), "x", 2, "overflow"),
        ("x.npy", array("'<f4'", "(4611686018427387905, 4)", &floats), "x", 2, "overflow"),
        ("x.npy", array("'<f4'", "(0, 1048576, 4001423662007321682)", &[]), "x.sum()", 2, "overflow"),
        ("x.npy", array("'<f4'", "(2,)", &floats[..8]), "x.expand(10**6, 10**6, 2) + 1", 2, "bytes"),
        ("x.npy", array("'<f4'", "(2,)", &floats[..8]), "x[:, None].expand(2, 2**62)[0] + x.sum()", 1, ""),
        ("x.npy", array("'<f4'", &format!("({})", "1, ".repeat(65)), &floats[..4]), "x", 2, "dimensions"),
        ("x.npy", array("'<f4'", &format!("({})", "1, ".repeat(20_000)), &floats[..4]), "x", 2, "dimensions"),
        ("x.npy", array("'<f4'", "(-1,)", &floats[..4]), "x", 2, "header, byte"),
        ("x.npy", array("'<f4'", "(True,)", &floats[..4]), "x", 2, "header, byte"),
        ("x.npy", array("'<f4'", "([4],)", &floats), "x", 2, "header, byte"),
        ("x.npy", array("'<f4'", "(4L,)", &floats), "x", 0, ""),
        ("x.npy", array("'<f4'", &format!("({})", "1, ".repeat(64)), &floats[..4]), "x.sum()", 0, ""),
        ("x.npy", array("'<f4'", "(2,)", &floats[..8]), "x[0].expand(2**61) + 0.5", 1, "elements of 4 bytes"),
        (
            "x.npy",
            array("'<f4'", "(2,)", &floats[..8]),
            "x[9223372036854775807:] + x[-9223372036854775807:].sum()",
            0,
            "",
        ),
        (
            "x.npy",
            array("'<f4'", "(2,)", &floats[..8]),
            "x.narrow(0, 4611686018427387904, 1)",
            1,
            "out of range",
        ),
        ("x.npy", array("'<f4'", "(100000000000000000000000000,)", &floats), "x", 2, "header, byte"),
        // Headers of NPY. The fourth leaves data at an odd place.
        (
            "x.npy",
            npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", &floats[..8]),
            "x",
            0,
            "",
        ),
        (
            "x.npy",
            npy(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", &floats[..8]),
            "x",
            0,
            "",
        ),
        ("x.npy", npy(3, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", &floats), "x", 0, ""),
        (
            "x.npy",
            npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} ", &floats),
            "x + 1",
            0,
            "",
        ),
        ("x.npy", array("'>f4'", "(2,)", &[0, 0, 128, 63, 0, 0, 128, 63]), "x", 0, ""),
        (
            "x.npy",
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(),
            "x",
            2,
            "the header claims 4294967295 bytes",
        ),
        ("x.npy", npy(3, &("(".repeat(2000) + &")".repeat(2000)), &[]), "x", 2, "header, byte"),
        (
            "x.npy",
            npy(1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (), }", &floats[..4]),
            "x",
            2,
            "header, byte",
        ),
        ("x.npy", array("'|O'", "(1,)", &floats[..8]), "x", 2, "pickle"),
        ("x.npy", array("'|V0'", "(1,)", &[]), "x", 2, "dtype `|V0`"),
        ("x.npy", array("'<f4'", "(4,)", &floats[..15]), "x", 2, "cut short"),
        ("x.npy", array("'<f4'", "(3,)", &floats), "x", 2, "bytes follow the data"),
        // Safetensors.
        ("x.safetensors", vec![255; 8], "x", 2, "the header claims 18446744073709551615 bytes"),
        (
            "x.safetensors",
            [&200_000_000u64.to_le_bytes()[..], b"{"].concat(),
            "x",
            2,
            "the header claims 200000000 bytes",
        ),
        ("x.safetensors", safetensors(&one("[4,12]"), &floats[..12]), "x", 2, "hole"),
        ("x.safetensors", safetensors(&one("[0,800]"), &floats[..8]), "x", 2, "past the end"),
        ("x.safetensors", safetensors(&one("[8,0]"), &floats[..8]), "x", 2, "end before they begin"),
        (
            "x.safetensors",
            safetensors(
                r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#,
                &floats[..3],
            ),
            "x",
            2,
            "overlap",
        ),
        (
            "x.safetensors",
            safetensors(
                r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#,
                &floats[..1],
            ),
            "x",
            2,
            "given twice",
        ),
        // A header of odd length, so that the data begin at an odd place.
        ("x.safetensors", safetensors(&(one("[0,8]") + " "), &floats[..8]), "x + 1", 0, ""),
        // Archives: bombs, sizes that are not those of the members, names.
        (
            "x.npz:x",
            archive(true, "x.npy", &zeros, &size(zeros.len()), &size(1 << 31)),
            "x",
            2,
            "packed bytes cannot be",
        ),
        (
            "x.npz:x",
            archive(true, "x.npy", &zeros, &size(zeros.len()), &size(4_000_200)),
            "x",
            2,
            "bytes follow the data",
        ),
        ("x.npz:x", archive(true, "x.npy", &zeros, &size(zeros.len()), &size(1000)), "x", 2, "cut short"),
        ("x.npz:x", archive(false, "x.npy", &small, &size(small.len()), &size(small.len() + 8)), "x", 2, ""),
        ("x.npz", archive(false, "third.npy", &small, b"third.npy", b"other.npy"), "x", 2, "archive"),
        (
            "x.npz:../../x",
            archive(false, "../../x.npy", &small, b"", b""),
            "x",
            2,
            "leads out of the archive",
        ),
        ("x.npz", b"PK\x03\x04 and nothing else".to_vec(), "x", 2, "archive"),
        ("x.npz", b"PK\x05\x06".to_vec(), "x", 2, "archive"),
        // Rounding up at the end of what can be counted.
        ("x.npy", array("'<f4'", "(2305843009213693951,)", &floats), "x", 2, ""),
        ("x.npy", array("'|u1'", "(9223372036854775807,)", &floats), "x + 1", 2, "cut short"),
    ]
}

/// `zs` within a gibibyte of address space.
fn run(folder: &Path, args: &[&str]) -> (i32, String) {
    let script = "ulimit -v 1048576; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_zs")]).args(args).current_dir(folder);
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert!(!said.contains("panicked"), "{args:?}: {said}");
    (status.code().unwrap_or_else(|| panic!("{args:?} was killed: {status}")), said)
}

#[test]
fn every_hostile_file_gets_its_message() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content, expression, status, part) in rows() {
        let file = name.split_once(':').map_or(name, |(file, _)| file);
        fs::write(folder.path().join(file), &content).unwrap();
        for to_file in [&[][..], &["-o", "y.npy", "--force"]] {
            let (found, said) =
                run(folder.path(), &[&["eval", expression, &format!("x={name}")], to_file].concat());
            let start = String::from_utf8_lossy(&content[..content.len().min(120)]).into_owned();
            assert_eq!(found, status, "{expression} on {start:?}: {said}");
            assert!(said.replace('\n', " ").contains(part), "{expression} on {start:?}: {said}");
        }
    }
}

#[test]
fn every_hostile_expression_gets_its_message() {
    let folder = tempfile::tempdir().unwrap();
    let deep = "(".repeat(50_000) + &")".repeat(50_000);
    for (expression, status) in [
        ("x + y", 2),
        ("", 2),
        (&deep, 2),
        (&"9".repeat(100_000), 2),
        ("1e999", 2),
        ("sum(é)", 2),
        ("zeros(2**40, 1) + zeros(1, 2**40)", 2),
        ("zeros(1).expand(2**40, 1) + zeros(1).expand(1, 2**40)", 1),
        ("zeros(1).expand(2**30, 1) + zeros(1).expand(1, 2**30)", 2),
    ] {
        let (found, said) = run(folder.path(), &["eval", expression]);
        assert_eq!(found, status, "{}: {said}", expression.chars().take(40).collect::<String>());
        assert!(said.len() < 4096);
    }
}
