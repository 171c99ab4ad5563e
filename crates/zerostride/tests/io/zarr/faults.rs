//! Whatever fails, a store is complete or absent; and what is replaced, and what is not.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use zerostride::io::{Sink, Source, load, save};
use zerostride::stream::Options;
use zerostride::{DType, Expr, Tensor};

use super::memory::Memory;
use super::message;
use crate::golden_path;

#[test]
fn whichever_call_fails_the_store_is_complete_or_absent() {
    for name in ["ragged", "zstd", "shards-end", "holes"] {
        let good = Memory::of(&golden_path("all.zarr").join(name));
        let run = |left: usize| {
            let (from, to) = (good.clone(), Memory::new());
            // One count for reads and writes.
            let to = Memory { calls: good.calls.clone(), ..to };
            from.calls.let_through(left);
            let written = from.source(None).and_then(|source| {
                let x = Expr::from(&source);
                let mut sink = Sink::of_store(Box::new(to.clone()));
                (&x + x.amax(0)).eval_to(&mut sink, Options::new().piece_rows(1))
            });
            let failed = from.calls.have_failed();
            from.calls.let_through(usize::MAX);
            (written, failed, to)
        };
        let (written, _, to) = run(usize::MAX);
        written.unwrap();
        let complete = to.files.lock().unwrap().clone();
        for left in 0.. {
            let (written, failed, to) = run(left);
            let is_complete = to.complete.load(Ordering::SeqCst) == 1;
            if !failed {
                written.unwrap();
                assert!(is_complete && *to.files.lock().unwrap() == complete);
                break;
            }
            let said = message(written);
            assert!(
                said.starts_with("<memory>: cannot ") && said.ends_with(": injected"),
                "{name} {left}: {said}"
            );
            assert!(!is_complete, "{name} {left}");
        }
    }
}

#[test]
fn a_store_takes_the_place_of_a_store_of_one_array_and_of_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let x = Tensor::arange(0, 6, 1).unwrap();
    save(at("x.zarr"), &x).unwrap();
    // What is read is the old content, and then the new one is there.
    let source = Expr::from(&Source::open(at("x.zarr")).unwrap());
    (&source + 1).eval_to(&mut Sink::create(at("x.zarr")).unwrap(), Options::new()).unwrap();
    assert_eq!(load(at("x.zarr")).unwrap().to_vec::<i64>().unwrap(), [1, 2, 3, 4, 5, 6]);
    let said = message(Sink::create_new(at("x.zarr")));
    assert!(said.ends_with("it exists already; choose another name, or allow it to be replaced"), "{said}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("x.zarr", at("link.zarr")).unwrap();
        save(at("link.zarr"), &x).unwrap();
        assert_eq!(load(at("x.zarr")).unwrap().to_vec::<i64>().unwrap(), [0, 1, 2, 3, 4, 5]);
        fs::remove_file(at("link.zarr")).unwrap();
    }

    fs::create_dir(at("papers.zarr")).unwrap();
    fs::write(at("papers.zarr").join("thesis.txt"), "years of work").unwrap();
    assert!(message(Sink::create(at("papers.zarr"))).contains("it is not a Zarr store; move it away"));
    fs::write(at("file.zarr"), "years of work").unwrap();
    assert!(message(Sink::create(at("file.zarr"))).contains("it is not a Zarr store; move it away"));
    fs::create_dir(at("group.zarr")).unwrap();
    fs::write(at("group.zarr").join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    assert!(message(Sink::create(at("group.zarr"))).contains("it is a group of arrays; move it away"));
    // What is no part of the store would go with it.
    fs::write(at("x.zarr").join("notes.txt"), "years of work").unwrap();
    let said = message(Sink::create(at("x.zarr")));
    assert!(
        said.contains("it holds `notes.txt`, which is no part of a Zarr array and would be lost"),
        "{said}"
    );
    assert_eq!(message(Sink::check(at("x.zarr"), true, Some((DType::F32, &[3])))), said);
    fs::remove_file(at("x.zarr").join("notes.txt")).unwrap();
    fs::create_dir_all(at("x.zarr").join("c/0")).unwrap();
    fs::write(at("x.zarr").join("c/0/1"), "a chunk").unwrap();
    Sink::check(at("x.zarr"), true, Some((DType::F32, &[3]))).unwrap();
    fs::write(at("x.zarr").join("c/0/draft"), "years of work").unwrap();
    let draft = Path::new("c").join("0").join("draft");
    assert!(message(Sink::create(at("x.zarr"))).contains(&format!("`{}`", draft.display())));
    fs::remove_dir_all(at("x.zarr").join("c")).unwrap();
    // What was begun and not finished leaves nothing.
    drop(Sink::create(at("y.zarr")).unwrap());
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["file.zarr", "group.zarr", "papers.zarr", "x.zarr"]);
}
