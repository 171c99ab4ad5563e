//! Tensors on the pages of files have the elements that are read; other forms of elements than memory's are
//! refused.

use std::path::Path;

use zerostride::io::{self, Sink};
use zerostride::stream::Options;
use zerostride::{Error, Expr, Result, Tensor};

use crate::{elements, golden_path, npy};

fn map(path: impl AsRef<Path>) -> Result<Tensor> {
    // SAFETY: no program changes the golden files, nor files in a folder of a test's own.
    unsafe { io::map(path) }
}

#[test]
fn what_is_mapped_has_the_elements_that_are_read() {
    let mut paths = ["v1", "v2", "v3", "scalar", "empty", "rank64", "fortran"]
        .map(|name| golden_path(name).with_extension("npy"))
        .to_vec();
    let tensors = golden_path("plain.safetensors");
    for entry in io::open(&tensors).unwrap().entries() {
        paths.push(format!("{}:{}", tensors.display(), entry.name().unwrap()).into());
    }
    let mut refused = Vec::new();
    for path in paths {
        let read = io::load(&path).unwrap();
        match map(&path) {
            Ok(mapped) => {
                assert_eq!((mapped.dtype(), mapped.shape()), (read.dtype(), read.shape()), "{path:?}");
                assert_eq!(elements(&mapped), elements(&read), "{path:?}");
                assert!(matches!(mapped.fill_(0).unwrap_err().root(), Error::ReadOnly));
            }
            Err(error) => refused.push(error.to_string().split(": ").skip(1).collect::<Vec<_>>().join(": ")),
        }
    }
    assert_eq!(
        refused,
        ["array `b1`: it cannot be mapped: bools are checked when they are read; read it instead"]
    );
}

#[test]
fn what_lies_otherwise_than_in_memory_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let array = |descr: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}")
    };
    std::fs::create_dir(folder.path().join("x.zarr")).unwrap();
    for (path, reason) in [
        (
            file("swapped.npy", &npy(&array(">f8", "(1,)"), &[0; 8])),
            "its numbers are in the other byte order",
        ),
        (file("bools.npy", &npy(&array("|b1", "(1,)"), &[2])), "bools are checked when they are read"),
        (file("near.npy", &npy(&array("<f8", "(1,)"), &[0; 8])), "its elements are not aligned"),
        (
            format!("{}:weight", golden_path("stored.npz").display()).into(),
            "an archive has its elements in members, packed or not aligned",
        ),
        (folder.path().join("x.zarr"), "a store has its elements in chunks"),
    ] {
        let error = map(&path).unwrap_err().to_string();
        assert!(error.ends_with(&format!("it cannot be mapped: {reason}; read it instead")), "{error}");
    }
    for (path, reason) in [
        (file("short.npy", &npy(&array("<f4", "(1099511627776,)"), &[0; 8])), "the data are cut short"),
        (file("none.npy", b""), "not a .npy file"),
        (folder.path().join("absent.npy"), "cannot open it"),
    ] {
        let error = map(&path).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn results_are_the_bits_of_what_is_read_and_outlive_the_name_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let [path, out] = ["x.npy", "y.npy"].map(|name| folder.path().join(name));
    let x = Tensor::rand(&[5000, 5], 1).unwrap();
    io::save(&path, &x).unwrap();
    let formula = |x: &Expr| (x - x.mean(0)) / x.std(0);
    let mapped = map(&path).unwrap();
    #[cfg(unix)]
    std::fs::remove_file(&path).unwrap();
    let expected = formula(&x.into()).eval().unwrap();
    let formula = formula(&mapped.into());
    assert_eq!(elements(&formula.eval().unwrap()), elements(&expected));
    formula.eval_to(&mut Sink::create(&out).unwrap(), Options::new().piece_rows(700)).unwrap();
    assert_eq!(elements(&io::load(&out).unwrap()), elements(&expected));
}
