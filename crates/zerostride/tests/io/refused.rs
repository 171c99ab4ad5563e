//! Damaged and hostile files are refused with the place and the reason, before anything is allocated for
//! them.

use std::io::{Cursor, Write};

use zerostride::io::{self, Container, Format};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::{golden_file, golden_path, npy, npy_of_shape, read, safetensors};

/// What reading says, without the name of the file.
fn refusal(format: Format, file: &[u8]) -> String {
    match read(format, file) {
        Ok(arrays) => panic!("{} arrays were read from {}", arrays.len(), file.escape_ascii()),
        Err(error) => error.to_string().strip_prefix("<memory>: ").unwrap().to_owned(),
    }
}

#[test]
fn npy_files_that_lie_about_their_size() {
    for (shape, data, expected) in [
        (
            "(4294967296, 4294967296)",
            0,
            "Storage size calculation overflowed with sizes=[4294967296, 4294967296]: 18446744073709551616 elements",
        ),
        (
            "(4611686018427387905, 4)",
            16,
            "Storage size calculation overflowed with sizes=[4611686018427387905, 4]: 18446744073709551620 elements",
        ),
        (
            "(0, 1048576, 4001423662007321682)",
            0,
            "Storage size calculation overflowed with sizes=[0, 1048576, 4001423662007321682]",
        ),
        (
            "(2305843009213693952,)",
            4,
            "Storage size calculation overflowed with sizes=[2305843009213693952]: 2305843009213693952 elements of 4 bytes",
        ),
        (
            "(1099511627776,)",
            4,
            "the data are cut short: 4398046511104 bytes are needed from byte 77 on, but only 4 are there",
        ),
        ("(2,)", 7, "the data are cut short: 8 bytes are needed from byte 65 on, but only 7 are there"),
        ("(2,)", 9, "1 bytes follow the data, which end at byte 73; the header or the file is damaged"),
        ("()", 0, "the data are cut short: 4 bytes are needed from byte 63 on, but only 0 are there"),
        ("(0,)", 4, "4 bytes follow the data, which end at byte 65; the header or the file is damaged"),
    ] {
        let found = refusal(Format::Npy, &npy_of_shape(shape, &vec![0; data]));
        assert!(found.starts_with(expected), "{shape}: {found}");
    }
}

#[test]
fn npy_shapes_that_are_none() {
    let ones = |count| format!("({})", "1,".repeat(count));
    for (shape, expected) in [
        ("(-1,)".into(), "header, byte 61: a size is negative"),
        ("(True,)".into(), "header, byte 61: expected a size, a decimal number, found `T`"),
        ("[4]".into(), "header, byte 60: expected a tuple of sizes, `(`, found `[`"),
        ("(100000000000000000000000000,)".into(), "header, byte 61: a size is too large"),
        (ones(65), "header, byte 60: the shape has more than 64 dimensions"),
        (ones(30_000), "header, byte 60: the shape has more than 64 dimensions"),
        ("(".repeat(2000), "header, byte 61: expected a size, a decimal number, found `(`"),
    ] {
        assert_eq!(refusal(Format::Npy, &npy_of_shape(&shape, &[0; 4])), expected, "{shape:.20}");
    }
    assert_eq!(read(Format::Npy, &npy_of_shape("(1L,)", &[0; 4])).unwrap()[0].1.shape(), [1]);
}

#[test]
fn npy_preambles_that_are_none() {
    for (file, expected) in [
        (&b""[..], "not a .npy file: it is empty"),
        (b"\x93NUMP", "not a .npy file: it starts with `\\x93NUMP`"),
        (b"PK\x03\x04....", "not a .npy file: it starts with `PK\\x03\\x04....`"),
        (b"\x93NUMPY\x00\x01..", "NPY version 0.1 is not known; versions 1.0, 2.0 and 3.0 are"),
        (b"\x93NUMPY\x04\x00..", "NPY version 4.0 is not known; versions 1.0, 2.0 and 3.0 are"),
        (
            b"\x93NUMPY\x01\x00\x01",
            "the data are cut short: 2 bytes are needed from byte 8 on, but only 1 are there",
        ),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
            "the header claims 4294967295 bytes, but only 1 follow; the file was cut short or is damaged",
        ),
        (
            b"\x93NUMPY\x01\x00\x00\x00",
            "header, byte 10: expected a Python dictionary, `{`, found the end of the header",
        ),
    ] {
        assert_eq!(refusal(Format::Npy, file), expected);
    }
    let mut long = b"\x93NUMPY\x02\x00\x01\x00\x10\x00".to_vec();
    long.resize(12 + (1 << 20) + 1, b' ');
    assert_eq!(
        refusal(Format::Npy, &long),
        "the header claims 1048577 bytes, but at most 1048576 are accepted; the file is damaged"
    );
}

#[test]
fn npy_headers_with_a_key_twice_or_a_dtype_that_is_none() {
    let twice = "{'descr': '<f4', 'shape': (1,), 'fortran_order': False, 'shape': (2,)}";
    assert_eq!(refusal(Format::Npy, &npy(twice, &[0; 4])), "header, byte 66: the key `shape` is given twice");
    for (descr, expected) in [
        ("'|O'", "dtype `|O` means pickled Python objects, and pickles are never read"),
        ("'|V0'", "dtype `|V0` means bytes without a meaning"),
        (
            "'<V2'",
            "dtype `<V2` means two bytes without a meaning, which is how NumPy saves ml_dtypes.bfloat16",
        ),
        ("'@f4'", "dtype `@f4` is not one that zerostride knows"),
        ("'<float32'", "dtype `<float32` is not one that zerostride knows"),
        ("'f3'", "dtype `f3` is not one that zerostride knows"),
        ("'2f4'", "dtype `2f4` is not one that zerostride knows"),
        ("'bfloat16'", "dtype `bfloat16` is not one that zerostride knows"),
        ("''", "dtype `` is not one that zerostride knows"),
        ("'é'", "dtype `é` is not one that zerostride knows"),
        ("[('x', '|O')]", "dtype `[('x', '|O')]` is a record"),
        ("'\u{1b}[31m'", "dtype `\\u{1b}[31m` is not one that zerostride knows"),
    ] {
        let file = npy(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,)}}"), &[0; 8]);
        let found = refusal(Format::Npy, &file);
        assert!(found.starts_with(expected), "{descr}: {found}");
    }
}

#[test]
fn safetensors_headers_that_are_none() {
    let tensor = |name: &str, shape: &str, begin: u64, end: u64| {
        format!(r#""{name}":{{"dtype":"U8","shape":{shape},"data_offsets":[{begin},{end}]}}"#)
    };
    let one = |shape: &str, begin, end| format!("{{{}}}", tensor("x", shape, begin, end));
    let two = |a: (u64, u64), b: (u64, u64)| {
        let (a, b) = (
            tensor("a", &format!("[{}]", a.1 - a.0), a.0, a.1),
            tensor("b", &format!("[{}]", b.1 - b.0), b.0, b.1),
        );
        format!("{{{a},{b}}}")
    };
    let ones = format!("[{}1]", "1,".repeat(100_000));
    for (header, data, expected) in [
        (String::new(), 0, "header, byte 8: EOF while parsing a value"),
        ("[]".into(), 0, "header, byte 8: invalid type: sequence, expected an object that names the tensors"),
        ("{} {}".into(), 0, "header, byte 11: trailing characters"),
        (
            "{\"a\":1}".into(),
            0,
            "header, byte 13: invalid type: integer `1`, expected an object with dtype, shape and data_offsets",
        ),
        (
            "{\n\"a\":1}".into(),
            0,
            "header, byte 14: invalid type: integer `1`, expected an object with dtype, shape and data_offsets",
        ),
        (one("[-1]", 0, 1), 1, "header, byte 37: invalid value: integer `-1`, expected usize"),
        (one("[1.5]", 0, 1), 1, "header, byte 38: invalid type: floating point `1.5`, expected usize"),
        (one("[true]", 0, 1), 1, "header, byte 39: invalid type: boolean `true`, expected usize"),
        (one("4", 0, 1), 1, "header, byte 35: invalid type: integer `4`, expected a list of sizes"),
        (
            one("[18446744073709551616]", 0, 1),
            1,
            "header, byte 55: invalid type: floating point `1.8446744073709552e+19`, expected usize",
        ),
        (one(&ones, 0, 1), 1, "header, byte 165: the shape has more than 64 dimensions"),
        (
            format!("{{\"a\":{}", "[".repeat(2000)),
            0,
            "header, byte 13: invalid type: sequence, expected a string",
        ),
        (
            format!("{{{0},{0}}}", tensor("x", "[1]", 0, 1)),
            1,
            "header, byte 63: the name \"x\" is given twice",
        ),
        (
            r#"{"x":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}}"#.into(),
            1,
            "header, byte 33: duplicate field `dtype`",
        ),
        (
            "{\"__metadata__\":{},\"__metadata__\":{}}".into(),
            0,
            "header, byte 40: the name \"__metadata__\" is given twice",
        ),
        (
            "{\"__metadata__\":{\"a\":1}}".into(),
            0,
            "header, byte 29: invalid type: integer `1`, expected a string",
        ),
        ("{\"\\ud800\":1}".into(), 0, "header, byte 16: unexpected end of hex escape"),
        (
            "{\"a\u{0}\":1}".into(),
            0,
            "header, byte 11: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        (two((0, 4), (5, 6)), 6, "array `b`: data_offsets [5, 6] leave a hole: the tensor before ends at 4"),
        (two((0, 4), (3, 6)), 6, "array `b`: data_offsets [3, 6] overlap the tensor before, which ends at 4"),
        (two((0, 4), (0, 4)), 4, "array `b`: data_offsets [0, 4] overlap the tensor before, which ends at 4"),
        (one("[4]", 1, 5), 5, "array `x`: data_offsets [1, 5] leave a hole: the tensor before ends at 0"),
        (one("[4]", 4, 0), 4, "array `x`: data_offsets [4, 0] end before they begin"),
        (
            one("[4]", 0, 4),
            3,
            "array `x`: data_offsets [0, 4] lead past the end of the file, which has 3 bytes of data",
        ),
        (
            one("[18446744073709551615]", 0, u64::MAX),
            3,
            "array `x`: data_offsets [0, 18446744073709551615] lead past the end",
        ),
        (
            one("[4]", 0, 4),
            5,
            "1 bytes follow the data, which end at byte 65; the header or the file is damaged",
        ),
        (
            one("[5]", 0, 4),
            4,
            "array `x`: the data are cut short: 5 bytes are needed from byte 61 on, but only 4 are there",
        ),
        (
            one("[3]", 0, 4),
            4,
            "array `x`: 1 bytes follow the data, which end at byte 64; the header or the file is damaged",
        ),
        (one("[4294967296,4294967296]", 0, 4), 4, "array `x`: Storage size calculation overflowed"),
        ("{}".into(), 1, "1 bytes follow the data, which end at byte 10; the header or the file is damaged"),
    ] {
        let found = refusal(Format::Safetensors, &safetensors(&header, &vec![0; data]));
        assert!(found.starts_with(expected), "{header:.60}: {found}");
    }
}

#[test]
fn safetensors_header_lengths_that_are_none() {
    for (file, expected) in [
        (&b""[..], "not a .safetensors file: it is empty"),
        (b"\x02\0\0\0", "not a .safetensors file: it starts with `\\x02\\x00\\x00\\x00`"),
        (
            b"\xff\xff\xff\xff\xff\xff\xff\xff{}",
            "the header claims 18446744073709551615 bytes, but at most 100000000 are accepted; the file is damaged",
        ),
        (
            b"\x01\xe1\xf5\x05\0\0\0\0{}",
            "the header claims 100000001 bytes, but at most 100000000 are accepted; the file is damaged",
        ),
        (
            b"\x00\xe1\xf5\x05\0\0\0\0{}",
            "the header claims 100000000 bytes, but only 2 follow; the file was cut short or is damaged",
        ),
    ] {
        assert_eq!(refusal(Format::Safetensors, file), expected);
    }
}

#[test]
fn safetensors_data_may_start_anywhere_and_metadata_is_passed_over() {
    let file = safetensors(
        r#" {"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
        &1.5f32.to_le_bytes(),
    );
    assert_eq!(read(Format::Safetensors, &file).unwrap()[0].1.to_vec::<f32>().unwrap(), [1.5]);
}

fn archive(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Where the only member's fields stand in the central directory, before those in its local header.
fn central(file: &[u8]) -> usize {
    file.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap()
}

/// Changes a field of the only member in both places where ZIP keeps it.
fn patch(file: &mut [u8], local: usize, in_central: usize, value: u32) {
    let central = central(file);
    file[local..local + 4].copy_from_slice(&value.to_le_bytes());
    file[central + in_central..central + in_central + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn npz_members_with_names_that_are_none() {
    let content = npy_of_shape("(1,)", &[0; 4]);
    for (name, expected) in [
        ("../x.npy", "the name `../x.npy` leads out of the archive; give the array a plain name"),
        ("a/../../x.npy", "the name `a/../../x.npy` leads out of the archive"),
        ("a\\..\\x.npy", "the name `a\\..\\x.npy` leads out of the archive"),
        ("readme.txt", "the name `readme.txt` is not a .npy member, so it is no array"),
        ("archive/data.pkl", "the name `archive/data.pkl` is not a .npy member"),
        ("folder/", "the name `folder/` is not a .npy member"),
    ] {
        let found = refusal(Format::Npz, &archive(&[(name, &content)], CompressionMethod::Stored));
        assert!(found.starts_with(expected), "{name}: {found}");
    }
    // The writer would clean these, so they are written over names of the same length.
    for (written, name) in [("aetc/x.npy", "/etc/x.npy"), ("a_x.npy", "a\0x.npy")] {
        let mut file = archive(&[(written, &content)], CompressionMethod::Stored);
        let positions: Vec<_> =
            (0..file.len()).filter(|&at| file[at..].starts_with(written.as_bytes())).collect();
        for at in positions {
            file[at..at + name.len()].copy_from_slice(name.as_bytes());
        }
        assert!(refusal(Format::Npz, &file).starts_with("the name `"), "{name}");
    }
}

#[test]
fn npz_members_that_repeat_or_overlap() {
    let content = npy_of_shape("(1,)", &[0; 4]);
    let mut twice = archive(&[("a.npy", &content), ("b.npy", &content)], CompressionMethod::Stored);
    let positions: Vec<_> = (0..twice.len()).filter(|&at| twice[at..].starts_with(b"b.npy")).collect();
    for at in positions {
        twice[at] = b'a';
    }
    assert_eq!(
        refusal(Format::Npz, &twice),
        "damaged or unsupported archive: two members have the same name"
    );

    // The second entry of the central directory leads to the first member's bytes.
    let mut overlapping = archive(&[("a.npy", &content), ("b.npy", &content)], CompressionMethod::Stored);
    let second = central(&overlapping);
    overlapping[second + 42..second + 46].copy_from_slice(&[0; 4]);
    assert_eq!(refusal(Format::Npz, &overlapping), "damaged or unsupported archive: members overlap");
}

#[test]
fn npz_members_that_lie_about_their_size() {
    let content = npy_of_shape("(1024,)", &[0; 4096]);
    let length = content.len() as u32;
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let honest = archive(&[("x.npy", &content)], method);
        assert_eq!(read(Format::Npz, &honest).unwrap()[0].1.numel(), 1024);
        for (size, expected) in [
            (length + 1, "1 bytes follow the data"),
            (
                length - 1,
                "the data are cut short: 4096 bytes are needed from byte 68 on, but only 4095 are there",
            ),
            (20, "the header claims 58 bytes, but only 10 follow"),
        ] {
            let mut file = honest.clone();
            patch(&mut file, 22, 24, size);
            if method == CompressionMethod::Stored {
                patch(&mut file, 18, 20, size);
            }
            let found = refusal(Format::Npz, &file);
            // A stored member that claims a byte more reaches into the directory, which is seen before.
            let overlaps = found == "damaged or unsupported archive: members overlap";
            assert!(overlaps || found.contains(expected), "{method} {size}: {found}");
        }
    }
}

#[test]
fn a_deflated_member_that_would_unpack_to_more_than_deflate_can_is_never_unpacked() {
    let claim = "(1000000000,)";
    let mut file = archive(&[("x.npy", &npy_of_shape(claim, &[0; 4096]))], CompressionMethod::Deflated);
    patch(&mut file, 22, 24, 4_000_000_067);
    let found = refusal(Format::Npz, &file);
    assert!(
        found.starts_with("array `x`: damaged or unsupported archive: ")
            && found.ends_with(" packed bytes cannot be the 4000000067 bytes that the member claims to hold"),
        "{found}"
    );
    // Sizes that contradict each other are refused as well, wherever the lie is.
    let mut file = archive(&[("x.npy", &npy_of_shape("(8,)", &[0; 32]))], CompressionMethod::Stored);
    patch(&mut file, 22, 24, 1000);
    assert!(refusal(Format::Npz, &file).contains("cannot be the 1000 bytes that the member claims to hold"));
}

#[test]
fn a_deflated_member_that_unpacks_to_other_than_its_size_is_noticed_when_read() {
    // The member holds 8 numbers more, or fewer, than its header and its directory agree on.
    for (real, claimed) in [(72, 64), (56, 64)] {
        let content = npy_of_shape("(64,)", &vec![0; real * 4]);
        let mut file = archive(&[("x.npy", &content)], CompressionMethod::Deflated);
        let length = content.len() - real * 4 + claimed * 4;
        patch(&mut file, 22, 24, length as u32);
        let mut container = Container::new(Cursor::new(&file), Format::Npz).unwrap();
        let found = container.read(0).unwrap_err().to_string();
        assert!(found.starts_with("<memory>: array `x`: damaged or unsupported archive: "), "{found}");
    }
}

#[test]
fn npz_members_whose_checksum_is_wrong_or_whose_data_do_not_unpack() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let values: Vec<u8> = (0..4096u32).map(|n| (n * n / 7) as u8).collect();
        let honest = archive(&[("x.npy", &npy_of_shape("(1024,)", &values))], method);
        let mut wrong = honest.clone();
        patch(&mut wrong, 14, 16, 12345);
        assert_eq!(
            refusal(Format::Npz, &wrong),
            "array `x`: damaged or unsupported archive: Invalid checksum"
        );
        let mut flipped = honest.clone();
        let data = central(&flipped) - 40;
        flipped[data] ^= 0x10;
        let found = refusal(Format::Npz, &flipped);
        assert!(found.starts_with("array `x`: damaged or unsupported archive: "), "{found}");
    }
}

#[test]
fn npz_archives_that_are_none() {
    assert_eq!(refusal(Format::Npz, b""), "not a .npz file: it is empty");
    for file in [&b"PK"[..], b"PK\x03\x04", b"PK\x05\x06", b"PK\x05\x06.................."] {
        let found = refusal(Format::Npz, file);
        assert!(found.starts_with("damaged or unsupported archive: "), "{found}");
    }
    let honest = archive(&[("x.npy", &npy_of_shape("(1,)", &[0; 4]))], CompressionMethod::Stored);
    let mut uncounted = honest.clone();
    let end = uncounted.len() - 22;
    uncounted[end + 8..end + 12].copy_from_slice(&[0; 4]);
    assert_eq!(
        refusal(Format::Npz, &uncounted),
        "damaged or unsupported archive: it lists no member, although something comes before the list"
    );
    let prefixed = [b"before", &honest[..]].concat();
    assert_eq!(refusal(Format::Npz, &prefixed), "not a .npz file: it starts with `beforePK\\x03`");
    let mut method = archive(&[("x.npy", &npy_of_shape("(1,)", &[0; 4]))], CompressionMethod::Stored);
    let at = central(&method) + 10;
    method[at] = 14;
    method[8] = 14;
    let found = refusal(Format::Npz, &method);
    assert!(found.contains("archive: ") && !found.contains("I/O"), "{found}");
}

#[test]
fn an_empty_archive_has_no_array_to_choose() {
    let container =
        Container::new(Cursor::new(archive(&[], CompressionMethod::Stored)), Format::Npz).unwrap();
    assert_eq!(
        container.find(None).unwrap_err().to_string(),
        "<memory>: one array is wanted, and the file has no named arrays"
    );
}

#[test]
fn an_array_that_is_not_there_is_refused_with_those_that_are() {
    let path = golden_path("stored.npz");
    let said = |path: String| io::load(path).unwrap_err().to_string();
    let file = path.display();
    assert_eq!(
        said(format!("{file}")),
        format!(
            "{file}: one array is wanted, and the file holds 3: `weight`, `folder/ü`, `arr_0`; append `:` and a name to the path"
        )
    );
    assert_eq!(
        said(format!("{file}:wieght")),
        format!("{file}: there is no array `wieght`; the file holds 3: `weight`, `folder/ü`, `arr_0`")
    );
    let npy = golden_path("v1.npy");
    assert_eq!(
        said(format!("{}:x", npy.display())),
        format!("{}: there is no array `x`; the file has no named arrays", npy.display())
    );
    let mut container = io::open(npy).unwrap();
    assert!(
        container
            .read(1)
            .unwrap_err()
            .to_string()
            .ends_with("there is no array `1`; the file has no named arrays")
    );
}

#[test]
fn a_file_cut_short_after_it_was_opened_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["v1.npy", "fortran.npy", "stored.npz", "plain.safetensors"] {
        let path = folder.path().join(name);
        std::fs::write(&path, golden_file(name)).unwrap();
        let mut container = io::open(&path).unwrap();
        let last = container.entries().len() - 1;
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(100).unwrap();
        let found = container.read(last).unwrap_err().to_string();
        assert!(found.contains("cut short while being read") || found.contains("archive: "), "{found}");
    }
}

#[test]
fn a_file_of_no_known_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for (content, expected) in [
        (
            "Dear diary, today",
            "unknown format: it starts with `Dear diar`; known are .npy, .npz and .safetensors files, and Zarr stores",
        ),
        ("", "unknown format: it is empty; known are .npy, .npz and .safetensors files, and Zarr stores"),
    ] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(io::open(&path).unwrap_err().to_string(), format!("{}: {expected}", path.display()));
    }
}

#[test]
fn a_file_whose_ending_is_that_of_another_format_is_told_by_its_start() {
    let folder = tempfile::tempdir().unwrap();
    for (name, expected) in [
        ("table.npy", "not a .npy file: it starts with `a,b\\n1,2\\n`"),
        ("table.npz", "not a .npz file: it starts with `a,b\\n1,2\\n3`"),
        ("table.safetensors", "not a .safetensors file: it starts with `a,b\\n1,2\\n3`"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, "a,b\n1,2\n3,4\n").unwrap();
        assert_eq!(io::open(&path).unwrap_err().to_string(), format!("{}: {expected}", path.display()));
    }
}

#[test]
fn what_is_not_a_regular_file_is_never_read() {
    let folder = tempfile::tempdir().unwrap();
    let said = |path: &std::path::Path| io::open(path).unwrap_err().to_string();
    assert!(said(folder.path()).ends_with(
        "it is a folder; give the path of a regular .npy, .npz or .safetensors file, or of a Zarr store"
    ));
    assert!(said(&folder.path().join("none.npy")).contains("cannot open it: "));
    #[cfg(unix)]
    {
        assert!(said("/dev/zero".as_ref()).starts_with("/dev/zero: it is a device"));
        let pipe = folder.path().join("pipe.npy");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(said(&pipe).contains("it is a pipe"));
        let socket = folder.path().join("socket.npy");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(said(&socket).contains("it is a socket"));
    }
}

/// On Windows what follows a colon is no part of a file's name.
#[cfg(unix)]
#[test]
fn a_path_with_a_colon_of_its_own_still_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a:b.npz");
    std::fs::write(&path, golden_file("stored.npz")).unwrap();
    assert_eq!(io::locate(&path), (&*path, None));
    let with_name = folder.path().join("a:b.npz:x:0");
    assert_eq!(io::locate(&with_name), (&*path, Some("x:0")));
    let missing = folder.path().join("none.npz:x");
    assert!(io::load(&missing).unwrap_err().to_string().contains("none.npz: cannot open it"));
}
