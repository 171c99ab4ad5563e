//! Zarr stores in the shell: operands and results, replacement, kills, and stores that are broken or meant to
//! break something.

#![cfg(all(unix, feature = "zarr"))]

mod common;

use std::fs;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::{names, zs_in};

#[test]
fn a_store_is_an_operand_and_a_result_like_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |args: &[&str]| {
        let run = zs_in(at, args);
        assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
        run.stdout
    };
    run(&["eval", "rand(3000, 5, seed=1)", "-o", "x.npy"]);
    run(&["eval", "x", "x=x.npy", "-o", "x.zarr"]);
    run(&["eval", "x", "x=x.npy", "-o", "plain.zarr", "--compress", "none"]);
    assert_eq!(run(&["info", "x.zarr"]), "x.zarr: 1 array, 58.6 KiB\n  -  f32  (3000, 5)  58.6 KiB\n");
    for (from, to) in [("x.npy", "a.npy"), ("x.zarr", "b.npy"), ("plain.zarr", "c.npy")] {
        run(&["eval", "(x - x.mean(0)) / x.std(0)", &format!("x={from}"), "-o", to]);
    }
    let [a, b, c] = ["a.npy", "b.npy", "c.npy"].map(|name| fs::read(at.join(name)).unwrap());
    assert!(a == b && a == c);
    // The input is the output.
    run(&["eval", "x * 0 + 1", "x=x.zarr", "-o", "x.zarr", "--force"]);
    assert_eq!(run(&["eval", "x.sum()", "x=x.zarr"]), "tensor(15000.)\n");
    let refused = zs_in(at, &["eval", "x", "x=x.npy", "-o", "x.zarr"]);
    assert_eq!((refused.status, refused.stderr.contains("it exists already")), (2, true));
    assert_eq!(names(at), ["a.npy", "b.npy", "c.npy", "plain.zarr", "x.npy", "x.zarr"]);
}

#[test]
fn a_kill_leaves_a_complete_store_or_none_and_a_folder_that_says_what_it_is() {
    let times = if std::env::var_os("ZEROSTRIDE_LONG").is_some() { 100 } else { 8 };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let zs = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zs"));
        command.args(args).current_dir(at);
        command
    };
    assert!(zs(&["eval", "rand(2**20, 16)", "-o", "x.npy"]).status().unwrap().success());
    let args = ["eval", "x * 2 - x.mean(0)", "x=x.npy", "-o", "y.zarr", "--compress", "none", "--quiet"];
    let started = Instant::now();
    assert!(zs(&args).status().unwrap().success());
    let takes = started.elapsed();
    let complete = names(&at.join("y.zarr"));
    for round in 0..times {
        fs::remove_dir_all(at.join("y.zarr")).ok();
        let mut child = zs(&args).spawn().unwrap();
        std::thread::sleep(
            takes.mul_f64((f64::from(round) * 0.618).fract() * 1.2).max(Duration::from_millis(1)),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        for name in names(at) {
            match &*name {
                "x.npy" => {}
                "y.zarr" => assert!(names(&at.join("y.zarr")) == complete, "round {round}"),
                other => {
                    assert!(other.starts_with(".zerostride-") && other.ends_with(".tmp"), "{other}");
                    fs::remove_dir_all(at.join(other)).unwrap();
                }
            }
        }
    }
}

/// `zs` within a gibibyte of address space, on a store of shape (4, 6) in chunks of (2, 3) with parts of it
/// replaced.
fn hostile(change: (&str, &str), chunk: &[u8]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("x.zarr");
    fs::create_dir_all(&store).unwrap();
    let metadata = r#"{"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#;
    assert!(metadata.contains(change.0));
    fs::write(store.join("zarr.json"), metadata.replace(change.0, change.1)).unwrap();
    fs::write(store.join("c.0.0"), chunk).unwrap();
    let script = "ulimit -v 1048576; exec \"$0\" eval 'x + 1' x=x.zarr -o y.npy";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_zs")]).current_dir(folder.path());
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stderr).replace('\n', " ");
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(folder.path().join("y.npy").exists(), status.success());
    (status.code().unwrap_or_else(|| panic!("killed: {said}")), said)
}

#[test]
fn every_hostile_store_gets_its_message() {
    let codecs = r#""little"}}]"#;
    let zstd = r#""little"}}, {"name": "zstd", "configuration": {"level": 1, "checksum": false}}]"#;
    let good = [0; 24];
    for (change, chunk, status, part) in [
        (("4, 6", "4, 6"), &good[..], 0, ""),
        // What is not there is the fill value.
        (("4, 6", "40, 6"), &good, 0, ""),
        (("4, 6", "4611686018427387904, 4"), &good, 2, "overflow"),
        (("4, 6", "1099511627776, 1099511627776"), &good, 2, "overflow"),
        (("4, 6", "1099511627776, 2"), &good, 2, "no space left on device"),
        (
            ("2, 3", "0, 3"),
            &good,
            2,
            "zarr.json: `chunk_shape` has to be a list of whole numbers, none of them 0",
        ),
        (("2, 3", "1073741824, 3"), &good, 2, "a chunk of x.zarr takes 38654705664 bytes while it is read"),
        (("2, 3", "18446744073709551615, 3"), &good, 2, "no memory can hold a chunk"),
        (("2, 3", "3"), &good, 2, "chunks have 1 dimensions, and the array has 2"),
        (("float32", "string"), &good, 2, "dtype `string` does not exist here"),
        ((codecs, zstd), &good, 2, "c.0.0: it does not unpack as Zstandard: "),
        (("\"bytes\"", "\"zfpy\""), &good, 2, "the codec `zfpy` is not read"),
        (("4, 6", "4, 6"), &good[1..], 2, "c.0.0: a chunk has 23 bytes, and exactly 24 are right"),
        (("4, 6", "4, 6"), &[0; 100], 2, "c.0.0: a chunk has 100 bytes, and exactly 24 are right"),
        (("\"zarr_format\": 3", "\"zarr_format\": 2"), &good, 2, "version 2 is not read"),
        (("{\"zarr", "[[[{\"zarr"), &good, 2, "zarr.json: "),
    ] {
        let (found, said) = hostile(change, chunk);
        assert_eq!(found, status, "{change:?}: {said}");
        assert!(said.contains(part), "{change:?}: {said}");
    }
}
