//! Owns the reading of the corpus files on shapes: JSON values, tables of small integers, and refusals. It
//! does not know what the cases ask.

use std::path::PathBuf;

use serde_json::Value;
use zerostride::{Error, ErrorClass, Expr, Tensor};

fn golden(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "spec", "golden", name].iter().collect()
}

/// The content of a JSON file.
pub(crate) fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap()
}

/// The rows of a member of an NPZ file; a vector has rows of one number.
pub(crate) fn rows(name: &str, member: &str) -> Vec<Vec<i8>> {
    let arrays = zerostride::io::load_all(golden(name)).unwrap();
    let (_, table) = arrays.into_iter().find(|(own, _)| own == member).unwrap();
    let width: usize = table.shape()[1..].iter().product();
    table.to_vec::<i8>().unwrap().chunks(width).map(<[i8]>::to_vec).collect()
}

/// A left-aligned shape that ends at the first -1.
pub(crate) fn left_aligned(row: &[i8]) -> Vec<usize> {
    row.iter().map_while(|&size| usize::try_from(size).ok()).collect()
}

/// A list of sizes or strides.
pub(crate) fn list<T: TryFrom<i64>>(value: &Value) -> Vec<T> {
    let number = |number: &Value| T::try_from(number.as_i64().unwrap()).ok().unwrap();
    value.as_array().unwrap_or_else(|| panic!("no list: {value}")).iter().map(number).collect()
}

/// The elements of a real tensor as f64.
pub(crate) fn values(tensor: &Tensor) -> Vec<f64> {
    Expr::from(tensor).to_dtype(zerostride::DType::F64).eval().unwrap().to_vec().unwrap()
}

/// Class and text of an error, as a refusal in the corpus.
pub(crate) fn refusal(error: &Error) -> Value {
    let class = match error.class() {
        ErrorClass::Runtime => "RuntimeError",
        ErrorClass::Index => "IndexError",
        ErrorClass::Value => "ValueError",
        ErrorClass::Type => "TypeError",
        ErrorClass::NotImplemented => "NotImplementedError",
    };
    serde_json::json!({ "class": class, "text": error.to_string() })
}

/// Collects what differs, so that one run shows all of it.
#[derive(Default)]
pub(crate) struct Differences {
    lines: Vec<String>,
    cases: usize,
}

impl Differences {
    pub(crate) fn check(&mut self, same: bool, line: impl FnOnce() -> String) {
        self.cases += 1;
        if !same {
            self.lines.push(line());
        }
    }

    /// # Panics
    /// If something differed, or fewer cases were seen than the corpus has.
    pub(crate) fn finish(self, at_least: usize) {
        // Neighbours tend to be alike: forty from all over.
        let shown =
            self.lines.iter().step_by(self.lines.len() / 40 + 1).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.lines.is_empty(), "{} of {} cases differ:\n{shown}", self.lines.len(), self.cases);
        assert!(self.cases >= at_least, "only {} of {at_least} cases were seen", self.cases);
    }
}
