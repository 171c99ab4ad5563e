//! Zarr stores: what zarr-python wrote and reads, what is damaged, what fails, what is replaced.

mod damaged;
mod faults;
mod memory;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use zerostride::io::{Compression, Sink, Source, ZarrFormat, load, open, save};
use zerostride::stream::Options;
use zerostride::{DType, Expr, Result, Tensor};

use crate::{elements, golden_path, pattern, pattern_tensor};

const COMPRESSIONS: [Compression; 4] =
    [Compression::None, Compression::Lz4, Compression::Gzip, Compression::Zstd];

fn message(result: Result<impl Sized>) -> String {
    result.map(drop).unwrap_err().to_string()
}

/// Arrays that are not read, and what is said.
const REFUSED: [(&str, &str); 5] = [
    ("text", "dtype"),
    ("date", "dtype `<M8[ns]` is a date or a duration"),
    ("packbits", "the codec `numcodecs.packbits` is not read; blosc, gzip"),
    ("scaled", "the codec `fixedscaleoffset` is not read"),
    ("lzma", "the codec `lzma` is not read"),
];

/// The elements of the arrays of `make_zarr.py`.
fn expected(name: &str, dtype: DType, shape: &[usize]) -> Vec<u8> {
    let numel = shape.iter().product();
    let numbers = |number: fn(i64) -> i64| {
        let numbers: Vec<i64> = (0..numel as i64).map(number).collect();
        elements(&Tensor::from_slice(&numbers, shape).unwrap().to_dtype(dtype).unwrap())
    };
    let same = |element: &[u8]| element.repeat(numel);
    let f32s = |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>();
    match name {
        "fill-nan" => same(&f32s(&[f32::NAN])),
        "fill-half-nan" => same(&0x7e00u16.to_ne_bytes()),
        "fill-inf" => same(&f32s(&[f32::INFINITY])),
        "fill-minus-inf" => same(&f32s(&[f32::NEG_INFINITY])),
        "fill-one" => same(&1i64.to_ne_bytes()),
        "fill-true" => same(&[1]),
        "fill-complex" => same(&f32s(&[f32::NEG_INFINITY, 2.0])),
        "fill-null" => same(&[0; 4]),
        name if name.starts_with("holes") => {
            let mut expected = f32s(&[7.5; 48]);
            expected[48..96].copy_from_slice(&pattern(DType::F32, 12));
            expected
        }
        // The numbers of version 3 are squared.
        "delta-i4-little" | "delta-i4-big" | "delta-u2-little" | "delta-u2-big" | "delta-f8-little"
        | "delta-f8-big" => numbers(|number| number * number),
        name if name.starts_with("delta") || name == "bitround" => numbers(|number| number),
        _ => elements(&pattern_tensor(dtype, shape)),
    }
}

#[test]
fn what_zarr_python_wrote_is_read() {
    for (store, counts) in [("all.zarr", (81, 83)), ("version2.zarr", (71, 75))] {
        let store = golden_path(store);
        let container = open(&store).unwrap();
        let mut read = 0;
        for entry in container.entries() {
            let name = entry.name().unwrap();
            let path = PathBuf::from(format!("{}:{name}", store.display()));
            if let Some((_, part)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
                let said = message(load(path));
                assert!(said.contains(part), "{said}");
                continue;
            }
            let expected = expected(name, entry.dtype().unwrap(), entry.shape());
            assert!(elements(&load(&path).unwrap()) == expected, "{}", path.display());
            // A member by its path, in the smallest pieces, of a lazy source.
            let source = Expr::from(&Source::open(store.join(name)).unwrap());
            let found = source.eval_with(Options::new().piece_rows(1)).unwrap();
            assert!(elements(&found) == expected, "{name}");
            read += 1;
        }
        assert_eq!((read, container.entries().len()), counts);
    }
}

#[test]
fn what_is_written_reads_back_in_every_dtype_shape_and_compression() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    for dtype in DType::ALL {
        for shape in [&[3000, 7][..], &[5], &[], &[0, 3], &[1, 1, 4, 2]] {
            let x = pattern_tensor(dtype, shape);
            save(&path, &x).unwrap();
            assert!(elements(&load(&path).unwrap()) == elements(&x), "{dtype} {shape:?}");
        }
    }
    // Several chunks, of which the last goes on behind the end.
    let x = Tensor::arange(0, 2 * 2_500_000, 1).unwrap().reshape(&[2, 2_500_000]).unwrap();
    for compression in COMPRESSIONS {
        for format in [ZarrFormat::V2, ZarrFormat::V3] {
            if format == ZarrFormat::V2 && matches!(compression, Compression::Gzip | Compression::Zstd) {
                continue;
            }
            let mut sink = Sink::create(&path).unwrap().compress(compression).zarr_format(format);
            Expr::from(&x).eval_to(&mut sink, Options::new().max_memory(64 << 20)).unwrap();
            assert_eq!(fs::read_dir(&path).unwrap().count(), 5);
            assert_eq!(path.join(".zarray").exists(), format == ZarrFormat::V2);
            assert!(elements(&load(&path).unwrap()) == elements(&x), "{compression:?} {format:?}");
        }
    }
    let mut sink = Sink::create(&path).unwrap().zarr_format(ZarrFormat::V2);
    let bf16 = Expr::from(&pattern_tensor(DType::BF16, &[3]));
    let said = message(bf16.eval_to(&mut sink, Options::new()));
    assert!(said.contains("dtype `bf16` does not exist in version 2 of Zarr"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A Python with zarr, if there is one: `ZEROSTRIDE_ZARR_PYTHON`, or `python3`.
fn python() -> Option<String> {
    let python = std::env::var("ZEROSTRIDE_ZARR_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = Command::new(&python).args(["-c", "import zarr; assert zarr.__version__ >= '3'"]).output();
    found.is_ok_and(|output| output.status.success()).then_some(python)
}

#[test]
fn zarr_python_reads_what_is_written() {
    let Some(python) = python() else {
        return eprintln!("not tested: there is no Python with zarr 3; ZEROSTRIDE_ZARR_PYTHON can name one");
    };
    let folder = tempfile::tempdir().unwrap();
    let dtypes = DType::ALL.into_iter().filter(|dtype| *dtype != DType::BF16);
    for (number, dtype) in dtypes.enumerate() {
        for (name, shape) in [("matrix", &[700, 50][..]), ("scalar", &[]), ("empty", &[0, 3])] {
            let path = folder.path().join(format!("{dtype}-{name}.zarr"));
            let format = [ZarrFormat::V2, ZarrFormat::V3][number / 4 % 2];
            let mut sink = Sink::create(path).unwrap().compress(COMPRESSIONS[number % 4]).zarr_format(format);
            Expr::from(&pattern_tensor(dtype, shape)).eval_to(&mut sink, Options::new()).unwrap();
        }
    }
    let script = "
import sys, zarr, numpy as np
from pathlib import Path
count = 0
for path in sorted(Path(sys.argv[1]).glob('*.zarr')):
    array = zarr.open_array(path, mode='r')
    found = np.asarray(array[...])
    data = np.array([(37 * j + 11) % 256 for j in range(found.nbytes)], np.uint8)
    if found.dtype.kind == 'b':
        data &= 1
    assert found.tobytes() == data.tobytes(), path
    count += 1
print(count)
";
    let output = Command::new(python).args(["-c", script]).arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "42");
}
