//! The three shell lines of `examples/README.md` compute what NumPy computes (`examples/data/make.py`).

use std::path::Path;
use std::process::Command;

use zerostride::{DType, Tensor, io};

/// What an expression of the page gives for arrays in `examples/data`. Fails if the page does not have it.
fn computed(expression: &str, bindings: &[&str]) -> Tensor {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("examples/README.md")).expect("the page is there");
    let quoted =
        if expression.contains('\'') { format!("\"{expression}\"") } else { format!("'{expression}'") };
    assert!(page.contains(&format!("$ zs eval {quoted} {}", bindings[0])), "the page lacks {expression}");

    let folder = tempfile::tempdir().expect("there is room for a folder");
    let file = folder.path().join("result.npy");
    let output = file.to_str().expect("the path is UTF-8");
    let mut zs = Command::new(env!("CARGO_BIN_EXE_zs"));
    zs.args(["eval", expression]).args(bindings).args(["-o", output]).current_dir(&root);
    let run = zs.output().expect("zs starts");
    assert!(run.status.success() && run.stdout.is_empty() && run.stderr.is_empty(), "{run:?}");
    io::load(&file).expect("the result can be read")
}

fn data(name: &str) -> Tensor {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data").join(name);
    io::load(path).expect("the data can be read")
}

#[test]
fn the_photograph_has_numpys_bits() {
    let (mean, std) = ("mean=[0.485, 0.456, 0.406]", "std=[0.229, 0.224, 0.225]");
    let found = computed("(img / 255 - mean) / std", &["img=examples/data/photo.npy", mean, std]);
    let expected = data("photo_expected.npy").to_vec::<f32>().unwrap();
    let pixels = data("photo.npy").to_vec::<u8>().unwrap();
    assert_eq!(found.shape(), [214, 320, 3]);
    for (index, found) in found.iter::<f32>().unwrap().enumerate() {
        let expected = expected[usize::from(pixels[index]) * 3 + index % 3];
        assert_eq!(found.to_bits(), expected.to_bits(), "element {index}");
    }
}

#[test]
fn the_table_is_numpys() {
    let found = computed("(x - x.mean(0)) / x.std(0)", &["x=examples/data/wine.npy"]);
    let expected = data("wine_expected.npy");
    assert_eq!(found.shape(), expected.shape());
    // NumPy sums in another order, so that its last bits differ.
    for (found, expected) in found.iter::<f64>().unwrap().zip(expected.iter::<f64>().unwrap()) {
        assert!((found - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{found} is not {expected}");
    }
}

#[test]
fn the_distances_are_numpys() {
    let expression = "(x.to('f32')[:, None] - x.to('f32')).square().sum(-1)";
    let found = computed(expression, &["x=examples/data/digits.npy"]);
    let rows = data("digits_expected_rows.npy");
    for (at, row) in [0, 1, 898, 1796].into_iter().enumerate() {
        let expected = rows.select(0, at as isize).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(found.select(0, row).unwrap().to_vec::<f32>().unwrap(), expected, "row {row}");
    }
    let sums = found.to_dtype(DType::F64).unwrap().sum(1).unwrap();
    assert_eq!(sums.to_vec::<f64>().unwrap(), data("digits_expected_sums.npy").to_vec::<f64>().unwrap());
}
