//! Guards the bridge between `spec/` and the doctests (`src/spec.rs`): a document that is not compiled proves
//! nothing.

use std::fs;
use std::path::Path;

#[test]
fn every_document_of_the_specification_is_a_doctest() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let bridge = include_str!("../src/spec.rs");
    let mut documents = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // The README describes the golden answers and has no Rust.
        if name.ends_with(".md") && name != "README.md" {
            assert!(bridge.contains(&format!("spec/{name}\"")), "src/spec.rs does not include {name}");
            documents += 1;
        }
    }
    assert!(documents > 0);
}
