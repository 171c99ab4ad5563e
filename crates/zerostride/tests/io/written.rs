//! What is written reads back, appears whole or not at all, and replaces what it should.

use std::fs;
use std::path::Path;

use zerostride::io::{self, Format};
use zerostride::{DType, Slice};

use crate::{elements, pattern_tensor};

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_dtype_and_shape_comes_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let mut rank64 = [1; 64];
    rank64[5] = 3;
    rank64[60] = 2;
    for format in ["npy", "npz", "safetensors"] {
        let path = folder.path().join(format!("x.{format}"));
        for dtype in DType::ALL {
            for shape in [&[][..], &[0], &[1], &[2, 3], &[2, 0, 3], &[4, 1, 5], &rank64] {
                let tensor = pattern_tensor(dtype, shape);
                let lacking = if format == "safetensors" { DType::C128 } else { DType::BF16 };
                if dtype == lacking {
                    assert!(io::save(&path, &tensor).is_err());
                    continue;
                }
                io::save(&path, &tensor).unwrap();
                let back = io::load(&path).unwrap();
                assert_eq!((back.dtype(), back.shape()), (dtype, shape));
                assert_eq!(elements(&back), elements(&tensor));
            }
        }
    }
}

#[test]
fn views_are_written_as_the_elements_they_show() {
    let folder = tempfile::tempdir().unwrap();
    let x = pattern_tensor(DType::I16, &[3, 1, 4]);
    let views = [
        x.permute(&[2, 0, 1]),
        x.slice(2, Slice::from(..).step_by(-1)),
        x.slice(0, Slice::from(1..).step_by(2)),
        x.expand(&[2, 3, 5, 4]),
        x.select(2, 3),
        x.narrow(0, 3, 0),
    ];
    for view in views.map(Result::unwrap) {
        for format in ["npy", "npz", "safetensors"] {
            let path = folder.path().join(format!("x.{format}"));
            io::save(&path, &view).unwrap();
            let back = io::load(&path).unwrap();
            assert_eq!(back.shape(), view.shape());
            assert_eq!(back.to_vec::<i16>().unwrap(), view.to_vec::<i16>().unwrap());
        }
    }
}

#[test]
fn names_come_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let tensor = pattern_tensor(DType::F32, &[2]);
    let names = ["b", "a", "with space", "layer.0/weight", "ü", "quote\"\\", "x:0"];
    for format in ["npz", "safetensors"] {
        let path = folder.path().join(format!("x.{format}"));
        io::save_all(&path, &names.map(|name| (name, &tensor))).unwrap();
        let mut expected = names;
        // Safetensors sorts.
        if format == "safetensors" {
            expected.sort();
        }
        let read: Vec<_> = io::load_all(&path).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(read, expected);
        assert_eq!(io::load(folder.path().join(format!("x.{format}:x:0"))).unwrap().shape(), [2]);
    }
}

#[test]
fn an_unnamed_array_is_called_as_numpy_calls_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz");
    io::save(&path, &pattern_tensor(DType::U8, &[2])).unwrap();
    assert_eq!(io::load_all(&path).unwrap()[0].0, "arr_0");
    let path = folder.path().join("x.npy");
    io::save(&path, &pattern_tensor(DType::U8, &[2])).unwrap();
    assert_eq!(io::load_all(&path).unwrap()[0].0, io::UNNAMED);
}

#[test]
fn a_refused_write_leaves_the_folder_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let fine = pattern_tensor(DType::F32, &[2]);
    let (bf16, c128) = (pattern_tensor(DType::BF16, &[2]), pattern_tensor(DType::C128, &[2]));
    fs::write(folder.path().join("old.npz"), "old").unwrap();
    for (name, tensors, expected) in [
        (
            "x.txt",
            vec![("a", &fine)],
            "the ending says no known format; write to .npy, .npz, .safetensors or .zarr",
        ),
        (
            "x",
            vec![("a", &fine)],
            "the ending says no known format; write to .npy, .npz, .safetensors or .zarr",
        ),
        (
            "x.npy",
            vec![("a", &bf16)],
            "dtype `bf16` does not exist in NPY and NPZ; write to .safetensors, or convert to f32 first",
        ),
        (
            "old.npz",
            vec![("a", &fine), ("b", &bf16)],
            "array `b`: dtype `bf16` does not exist in NPY and NPZ; write to .safetensors, or convert to f32 first",
        ),
        (
            "x.safetensors",
            vec![("a", &c128)],
            "array `a`: dtype `c128` does not exist in safetensors; write to .npy or .npz, or convert to c64 first",
        ),
        (
            "x.safetensors",
            vec![("__metadata__", &fine)],
            "array `__metadata__`: the name `__metadata__` is reserved in safetensors; give the array another",
        ),
        (
            "x.npz",
            vec![("../a", &fine)],
            "array `../a`: the name `../a` leads out of the archive; give the array a plain name",
        ),
        (
            "x.npz",
            vec![("/a", &fine)],
            "array `/a`: the name `/a` leads out of the archive; give the array a plain name",
        ),
        (
            "x.npz",
            vec![("a", &fine), ("a", &fine)],
            "the name `a` is given twice; each array needs a name of its own",
        ),
        (
            "x.npy",
            vec![("a", &fine), ("b", &fine)],
            "a .npy file holds one array, not 2; write to .npz or .safetensors",
        ),
        ("x.npy", vec![], "a .npy file holds one array, not 0; write to .npz or .safetensors"),
    ] {
        let path = folder.path().join(name);
        let error = io::save_all(&path, &tensors).unwrap_err().to_string();
        assert_eq!(error, format!("{}: {expected}", path.display()));
        assert_eq!(names_in(folder.path()), ["old.npz"]);
        assert_eq!(fs::read(folder.path().join("old.npz")).unwrap(), b"old");
    }
}

#[test]
fn a_folder_that_does_not_exist_is_the_system_s_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none").join("x.npy");
    let error = io::save(&path, &pattern_tensor(DType::F32, &[2])).unwrap_err().to_string();
    let expected = format!("{}: cannot open its folder: ", path.display());
    assert!(error.starts_with(&expected) && !error.contains(".zerostride-"), "{error}");
}

#[test]
fn formats_without_arrays_are_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["npz", "safetensors"] {
        let path = folder.path().join(format!("x.{format}"));
        io::save_all(&path, &[]).unwrap();
        assert_eq!(Some(io::open(&path).unwrap().format()), Format::from_path(&path));
        assert!(io::load_all(&path).unwrap().is_empty());
    }
}

#[test]
fn the_output_may_be_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    io::save(&path, &pattern_tensor(DType::F32, &[2, 3])).unwrap();
    let tensor = io::load(&path).unwrap();
    io::save(&path, &tensor).unwrap();
    assert_eq!(elements(&io::load(&path).unwrap()), elements(&tensor));
    assert_eq!(names_in(folder.path()), ["x.npy"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use zerostride::Tensor;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn numbers(count: usize) -> Tensor {
        pattern_tensor(DType::I32, &[count])
    }

    #[test]
    fn a_symbolic_link_stays_and_its_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let (file, link) = (inner.join("file.npy"), folder.path().join("link.npy"));
        io::save(&file, &numbers(1)).unwrap();
        symlink("inner/file.npy", &link).unwrap();
        io::save(&link, &numbers(3)).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(io::load(&file).unwrap().shape(), [3]);
        assert_eq!(names_in(&inner), ["file.npy"]);

        let dangling = folder.path().join("dangling.npy");
        symlink("nowhere.npy", &dangling).unwrap();
        let error = io::save(&dangling, &numbers(3)).unwrap_err().to_string();
        assert!(error.contains("cannot follow the link"), "{error}");
    }

    #[test]
    fn another_hard_link_keeps_the_old_content() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("file.npy"), folder.path().join("other.npy"));
        io::save(&file, &numbers(1)).unwrap();
        fs::hard_link(&file, &other).unwrap();
        io::save(&file, &numbers(3)).unwrap();
        assert_eq!(io::load(&file).unwrap().shape(), [3]);
        assert_eq!(io::load(&other).unwrap().shape(), [1]);
    }

    #[test]
    fn a_new_file_is_as_readable_as_any_other_and_a_replaced_one_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (file, plain) = (folder.path().join("file.npy"), folder.path().join("plain"));
        io::save(&file, &numbers(1)).unwrap();
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(&file), mode(&plain));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        io::save(&file, &numbers(3)).unwrap();
        assert_eq!(mode(&file), 0o640);
    }

    #[test]
    fn a_read_only_file_and_what_is_no_file_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file.npy");
        io::save(&file, &numbers(1)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        let error = io::save(&file, &numbers(3)).unwrap_err().to_string();
        assert!(error.ends_with("it is read-only; make it writable or choose another name"), "{error}");
        assert_eq!(io::load(&file).unwrap().shape(), [1]);

        let inner = folder.path().join("inner.npy");
        fs::create_dir(&inner).unwrap();
        assert!(io::save(&inner, &numbers(3)).unwrap_err().to_string().contains("it is a folder"));
        let pipe = folder.path().join("pipe.npy");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(io::save(&pipe, &numbers(3)).unwrap_err().to_string().contains("it is a pipe"));
    }
}
