//! A file that is written anew after it was opened is refused, however soon and however alike the new content
//! is; one whose name another file takes is read as it was.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use zerostride::io::{self, Source};
use zerostride::{Expr, Tensor};

const ROWS: usize = 4000;

/// The same array in every format that is one file.
fn write(folder: &Path, ending: &str) -> std::path::PathBuf {
    let x = Tensor::rand(&[ROWS, 3], 1).unwrap();
    let path = folder.join(format!("x.{ending}"));
    io::save(&path, &x).unwrap();
    path
}

/// Ways to write a file anew under the same name and in the same place, all in the tick of the clock in which
/// it was written.
type Rewrite = fn(&mut Vec<u8>);

fn replaced(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    bytes[at..][..to.len()].copy_from_slice(to);
}

fn rewrites(ending: &str) -> Vec<(&'static str, Rewrite)> {
    let mut rewrites: Vec<(&str, Rewrite)> = vec![
        ("longer", |bytes| bytes.extend([0; 12])),
        ("shorter", |bytes| bytes.truncate(bytes.len() - 12)),
        ("empty", Vec::clear),
        ("the first bytes", |bytes| bytes[0] ^= 1),
        ("the last bytes", |bytes| *bytes.last_mut().unwrap() ^= 1),
    ];
    match ending {
        "safetensors" => rewrites.push(("another dtype", |bytes| replaced(bytes, b"F32", b"I32"))),
        _ => {
            rewrites.push(("another dtype", |bytes| replaced(bytes, b"<f4", b"<i4")));
            rewrites.push(("another order", |bytes| replaced(bytes, b"False", b"True ")));
        }
    }
    rewrites
}

#[test]
fn a_file_written_anew_is_no_longer_read() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["npy", "npz", "safetensors"] {
        for (what, rewrite) in rewrites(ending) {
            let path = write(folder.path(), ending);
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            let source = Source::open(&path).unwrap();
            let mut container = io::open(&path).unwrap();
            assert!(Expr::from(&source).sum(0).eval().is_ok());
            let mut bytes = fs::read(&path).unwrap();
            rewrite(&mut bytes);
            fs::write(&path, &bytes).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
            let errors = [
                Expr::from(&source).sum(0).eval().unwrap_err(),
                Expr::from(&source).narrow(0, 7, 2).eval().unwrap_err(),
                container.read(0).unwrap_err(),
            ];
            for error in errors.map(|error| error.to_string()) {
                let wanted =
                    ["was replaced or changed since it was opened", "was cut short while being read"];
                assert!(
                    wanted.iter().any(|wanted| error.contains(wanted)) && error.contains(ending),
                    "{ending}, {what}: {error}"
                );
            }
        }
    }
}

#[test]
fn elements_that_change_in_the_middle_are_seen_by_the_time() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["npy", "npz", "safetensors"] {
        let path = write(folder.path(), ending);
        let source = Source::open(&path).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let later = SystemTime::now() + Duration::from_secs(5);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        let error = Expr::from(&source).sum(0).eval().unwrap_err().to_string();
        assert!(error.contains("was replaced or changed since it was opened"), "{error}");
        assert!(Source::open(&path).is_ok());
    }
}

#[test]
#[cfg(unix)]
fn a_file_whose_name_another_takes_is_read_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["npy", "npz", "safetensors"] {
        let path = write(folder.path(), ending);
        let source = Source::open(&path).unwrap();
        let before = Expr::from(&source).sum(0).eval().unwrap().to_vec::<f32>().unwrap();
        io::save(&path, &Tensor::zeros(&[2]).unwrap()).unwrap();
        fs::rename(&path, folder.path().join("other")).unwrap();
        assert_eq!(Expr::from(&source).sum(0).eval().unwrap().to_vec::<f32>().unwrap(), before);
    }
}
