//! Zarr stores: what zarr-python wrote and reads, what is damaged, what fails, what is replaced.

mod damaged;
mod faults;
mod memory;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use zerostride::io::{Compression, Sink, Source, load, open, save};
use zerostride::stream::Options;
use zerostride::{DType, Expr, Result, Tensor};

use crate::{elements, golden_path, pattern, pattern_tensor};

fn message(result: Result<impl Sized>) -> String {
    result.map(drop).unwrap_err().to_string()
}

#[test]
fn what_zarr_python_wrote_is_read() {
    let store = golden_path("all.zarr");
    let container = open(&store).unwrap();
    let mut read = 0;
    for entry in container.entries() {
        let name = entry.name().unwrap();
        let path = PathBuf::from(format!("{}:{name}", store.display()));
        if name == "text" {
            assert!(message(load(path)).contains("dtype `fixed_length_utf32` does not exist here"));
            continue;
        }
        if name == "blosc" {
            assert!(message(load(path)).contains("the codec `blosc` is not read"));
            continue;
        }
        let dtype = entry.dtype().unwrap();
        let expected = if name.starts_with("holes") {
            let mut expected: Vec<u8> = std::iter::repeat_n(7.5f32.to_ne_bytes(), 48).flatten().collect();
            expected[48..96].copy_from_slice(&pattern(DType::F32, 12));
            expected
        } else {
            elements(&pattern_tensor(dtype, entry.shape()))
        };
        assert!(elements(&load(&path).unwrap()) == expected, "{name}");
        // In the smallest pieces, of a lazy source.
        let source = Expr::from(&Source::open(&path).unwrap());
        let found = source.eval_with(Options::new().piece_rows(1)).unwrap();
        assert!(elements(&found) == expected, "{name}");
        read += 1;
    }
    assert_eq!((read, container.entries().len()), (41, 43));
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
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let mut sink = Sink::create(&path).unwrap().compress(compression);
        Expr::from(&x).eval_to(&mut sink, Options::new().max_memory(64 << 20)).unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 5);
        assert!(elements(&load(&path).unwrap()) == elements(&x), "{compression:?}");
    }
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
        let compression = [Compression::None, Compression::Gzip, Compression::Zstd][number % 3];
        for (name, shape) in [("matrix", &[7, 5][..]), ("scalar", &[]), ("empty", &[0, 3])] {
            let path = folder.path().join(format!("{dtype}-{name}.zarr"));
            let mut sink = Sink::create(path).unwrap().compress(compression);
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
