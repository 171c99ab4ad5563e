//! Files that others wrote are read exactly, and ours are theirs byte for byte.

use std::collections::HashMap;

use zerostride::io::{self, Format};
use zerostride::{DType, Tensor};

use crate::{elements, golden_file, golden_path, pattern, pattern_tensor, read};

const CODES: [(&str, DType); 14] = [
    ("b1", DType::Bool),
    ("u1", DType::U8),
    ("u2", DType::U16),
    ("u4", DType::U32),
    ("u8", DType::U64),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("f2", DType::F16),
    ("f4", DType::F32),
    ("f8", DType::F64),
    ("c8", DType::C64),
    ("c16", DType::C128),
];

fn assert_pattern(tensor: &Tensor, dtype: DType, shape: &[usize]) {
    assert_eq!(tensor.dtype(), dtype);
    assert_eq!(tensor.shape(), shape);
    assert_eq!(elements(tensor), pattern(dtype, shape.iter().product()), "{dtype} {shape:?}");
}

#[test]
fn every_version_of_npy_reads_alike() {
    for name in ["v1.npy", "v2.npy", "v3.npy"] {
        assert_pattern(&io::load(golden_path(name)).unwrap(), DType::F32, &[2, 3]);
    }
}

#[test]
fn scalars_empty_arrays_and_rank_64_read() {
    assert_pattern(&io::load(golden_path("scalar.npy")).unwrap(), DType::F64, &[]);
    assert_pattern(&io::load(golden_path("empty.npy")).unwrap(), DType::I16, &[2, 0, 3]);
    let mut shape = [1; 64];
    shape[63] = 2;
    assert_pattern(&io::load(golden_path("rank64.npy")).unwrap(), DType::U16, &shape);
}

#[test]
fn fortran_order_reads_as_row_major_and_is_told() {
    let container = io::open(golden_path("fortran.npy")).unwrap();
    let entry = &container.entries()[0];
    assert!(entry.is_fortran() && !entry.is_big_endian());
    assert_eq!((entry.name(), entry.dtype(), entry.bytes()), (None, Some(DType::I32), 96));
    assert_pattern(&io::load(golden_path("fortran.npy")).unwrap(), DType::I32, &[2, 3, 4]);
}

#[test]
fn every_dtype_reads_in_every_byte_and_dimension_order_from_deflated_members() {
    let container = io::open(golden_path("layouts.npz")).unwrap();
    let dtypes = HashMap::from(CODES);
    for entry in container.entries() {
        let (code, layout) = entry.name().unwrap().split_once('-').unwrap();
        assert_eq!(
            entry.is_big_endian(),
            layout.starts_with("big") && !code.ends_with('1'),
            "{code}-{layout}"
        );
        assert_eq!(entry.is_fortran(), layout.ends_with('f'), "{code}-{layout}");
    }
    let arrays = io::load_all(golden_path("layouts.npz")).unwrap();
    assert_eq!(arrays.len(), 14 * 5);
    for (name, tensor) in arrays {
        assert_pattern(&tensor, dtypes[name.split('-').next().unwrap()], &[2, 3, 4]);
    }
}

#[test]
fn stored_members_read_in_order_and_by_name() {
    let container = io::open(golden_path("stored.npz")).unwrap();
    let names: Vec<_> = container.entries().iter().map(|entry| entry.name().unwrap()).collect();
    assert_eq!(names, ["weight", "folder/ü", "arr_0"]);
    for (name, dtype, shape) in [
        ("arr_0", DType::F32, &[2, 3][..]),
        ("weight", DType::C128, &[2, 2]),
        ("folder/ü", DType::Bool, &[5]),
    ] {
        let path = format!("{}:{name}", golden_path("stored.npz").display());
        assert_pattern(&io::load(path).unwrap(), dtype, shape);
    }
}

#[test]
fn every_safetensors_dtype_of_ours_reads() {
    let dtypes = HashMap::from(CODES);
    let arrays = io::load_all(golden_path("plain.safetensors")).unwrap();
    assert_eq!(arrays.len(), 13 + 3);
    for (name, tensor) in arrays {
        match &*name {
            "bfloat16" => assert_pattern(&tensor, DType::BF16, &[2, 3]),
            "scalar" => assert_pattern(&tensor, DType::F32, &[]),
            "empty" => assert_pattern(&tensor, DType::F64, &[0, 3]),
            code => assert_pattern(&tensor, dtypes[code], &[2, 3, 4]),
        }
    }
}

#[test]
fn a_dtype_that_we_lack_is_listed_and_refused_only_when_read() {
    let path = golden_path("all.safetensors");
    let mut container = io::open(&path).unwrap();
    let index = container.find(Some("float8")).unwrap();
    let entry = &container.entries()[index];
    assert_eq!((entry.dtype(), entry.dtype_name(), entry.bytes()), (None, "F8_E4M3", 4));
    assert_eq!(
        container.read(index).unwrap_err().to_string(),
        format!(
            "{}: array `float8`: dtype `F8_E4M3` is not one that zerostride has; save it as F32, BF16 or another of its dtypes",
            path.display()
        )
    );
    let index = container.find(Some("bfloat16")).unwrap();
    assert_pattern(&container.read(index).unwrap(), DType::BF16, &[2, 3]);
}

#[test]
fn numpy_dtypes_that_we_lack_are_listed_and_refused_with_advice() {
    let mut container = io::open(golden_path("unsupported.npz")).unwrap();
    for (name, dtype, advice) in [
        ("object", "|O", "means pickled Python objects, and pickles are never read"),
        ("record", "[('a', '<f4'), ('b', '<i2', (3,))]", "is a record, which is not supported"),
        ("text", "<U2", "is text"),
        ("ascii", "|S2", "is text"),
        ("bytes", "|V3", "means bytes without a meaning"),
        ("bfloat16", "<V2", "which is how NumPy saves ml_dtypes.bfloat16; save it with safetensors"),
        ("date", "<M8[ns]", "is a date or a duration"),
        ("long", "<f16", "is a platform's long double"),
    ] {
        let index = container.find(Some(name)).unwrap();
        let entry = &container.entries()[index];
        assert_eq!((entry.dtype(), entry.dtype_name()), (None, dtype));
        let error = container.read(index).unwrap_err().to_string();
        assert!(
            error.contains(&format!("array `{name}`: dtype `{dtype}` ")) && error.contains(advice),
            "{error}"
        );
    }
    let fine = container.find(Some("fine")).unwrap();
    assert_pattern(&container.read(fine).unwrap(), DType::F32, &[2, 3]);
}

#[test]
fn npy_files_are_those_of_numpy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let mut rank64 = [1; 64];
    rank64[63] = 2;
    for (name, dtype, shape) in [
        ("v1.npy", DType::F32, &[2, 3][..]),
        ("scalar.npy", DType::F64, &[]),
        ("empty.npy", DType::I16, &[2, 0, 3]),
        ("rank64.npy", DType::U16, &rank64),
    ] {
        io::save(&path, &pattern_tensor(dtype, shape)).unwrap();
        assert!(std::fs::read(&path).unwrap() == golden_file(name), "{name}");
    }
}

#[test]
fn npz_members_are_those_of_numpy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz");
    let tensor = pattern_tensor(DType::F32, &[2, 3]);
    io::save_all(&path, &[("a", &tensor), ("ü", &tensor)]).unwrap();
    let mut archive = zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
    for name in ["a.npy", "ü.npy"] {
        let mut member = Vec::new();
        std::io::copy(&mut archive.by_name(name).unwrap(), &mut member).unwrap();
        assert!(member == golden_file("v1.npy"));
    }
}

#[test]
fn safetensors_files_are_those_of_the_reference_implementation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let arrays = io::load_all(golden_path("plain.safetensors")).unwrap();
    // In any order: the format has an order of its own.
    let references: Vec<_> = arrays.iter().rev().map(|(name, tensor)| (&**name, tensor)).collect();
    io::save_all(&path, &references).unwrap();
    assert!(std::fs::read(&path).unwrap() == golden_file("plain.safetensors"));
}

#[test]
fn the_content_tells_npy_and_npz_whatever_the_ending() {
    let folder = tempfile::tempdir().unwrap();
    for (golden, name) in
        [("v1.npy", "a.npz"), ("v1.npy", "b"), ("stored.npz", "c.npy"), ("plain.safetensors", "d.bin")]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, golden_file(golden)).unwrap();
        assert_eq!(Some(io::open(&path).unwrap().format()), Format::from_path(golden), "{name}");
    }
}

#[test]
fn any_nonzero_bool_reads_as_one() {
    let file = crate::npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", &[0, 1, 7]);
    assert_eq!(elements(&read(Format::Npy, &file).unwrap()[0].1), [0, 1, 1]);
    let file = crate::safetensors(r#"{"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}"#, &[255, 0]);
    assert_eq!(elements(&read(Format::Safetensors, &file).unwrap()[0].1), [1, 0]);
}

#[test]
fn dtypes_are_read_in_each_notation_of_numpy() {
    for (notations, dtype) in [
        ("|b1 <b1 >b1 b1 ? |? bool bool_", DType::Bool),
        ("|i1 i1 b <b int8 byte", DType::I8),
        ("|u1 B uint8 ubyte", DType::U8),
        ("<i2 h <h int16 short", DType::I16),
        ("<u2 H uint16 ushort", DType::U16),
        ("<i4 i <i =i int32 intc", DType::I32),
        ("<u4 I uint32 uintc", DType::U32),
        ("<i8 i8 |i8 q <q p n int64 int int_ intp longlong", DType::I64),
        ("<u8 Q N P uint64 uint uintp ulonglong", DType::U64),
        ("<f2 e <e float16 half", DType::F16),
        ("<f4 f <f |f4 float32 single", DType::F32),
        ("<f8 f8 |f8 =f8 d <d float64 float double", DType::F64),
        ("<c8 F <F complex64 csingle", DType::C64),
        ("<c16 D |c16 complex128 complex cdouble", DType::C128),
    ] {
        for descr in notations.split(' ') {
            let file = crate::npy(
                &format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,)}}"),
                &vec![0; dtype.item_size()],
            );
            assert_eq!(read(Format::Npy, &file).unwrap()[0].1.dtype(), dtype, "{descr}");
        }
    }
    let long = if cfg!(windows) { (DType::I32, 4) } else { (DType::I64, 8) };
    for descr in ["l", "<l", "long"] {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,)}}");
        assert_eq!(read(Format::Npy, &crate::npy(&header, &vec![0; long.1])).unwrap()[0].1.dtype(), long.0);
    }
    let swapped = |descr: &str| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,)}}");
        read(Format::Npy, &crate::npy(&header, &[0x40, 0x49, 0x0f, 0xdb])).unwrap()[0]
            .1
            .item::<f32>()
            .unwrap()
    };
    assert_eq!([swapped(">f4"), swapped(">f")], [std::f32::consts::PI; 2]);
}
