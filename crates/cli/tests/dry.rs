//! A dry run: it tells what the result would be and finds what is wrong, as far as that needs no elements,
//! and computes nothing.

mod common;

use std::fs;
use std::path::Path;

use common::{Run, names, zs_in};
use serde_json::Value;

/// A folder with the files that expressions of this test are about.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, expression) in [
        ("x.npy", "[[3, 1, 2], [6, 5, 4]]"),
        ("w.npy", "[1, 2, 2, 4]"),
        ("f.npy", "rand(4, 1, 3, seed=1)"),
        ("i.npy", "[[0, 1], [1, 0]]"),
    ] {
        done(folder.path(), &["eval", expression, "-o", name]);
    }
    folder
}

fn done(folder: &Path, args: &[&str]) -> Run {
    let run = zs_in(folder, args);
    assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
    run
}

/// The arguments that evaluate an expression of the files.
fn eval(expression: &str) -> Vec<&str> {
    let bindings = ["x=x.npy", "w=w.npy", "f=f.npy", "i=i.npy"];
    let words: Vec<&str> = expression.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let used = bindings.into_iter().filter(|binding| words.contains(&&binding[..1]));
    ["eval", expression].into_iter().chain(used).collect()
}

/// What a dry run says to programs.
fn dry(folder: &Path, expression: &str) -> Value {
    let run = done(folder, &[&eval(expression)[..], &["--dry-run", "--json"]].concat());
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn the_shape_and_the_dtype_are_those_of_the_result() {
    let folder = folder();
    let at = folder.path();
    for expression in [
        "x * 0.5",
        "rand(3, 2) + ones(2, dtype=f64)",
        "arange(5)",
        "arange(0, 1, 0.25)",
        "linspace(0, 1, 5)",
        "eye(3, dtype=i16)",
        "full((2, 1), True)",
        "clone(x)",
        "f.sort(1)[0]",
        "x.sort(0)[1]",
        "corrcoef(x)",
        "x.cov(fweights=x[0])",
        "cov(f[:, 0].T, correction=0, fweights=tensor([1, 0, 2, 1]), aweights=w.float())",
        "argsort(f)",
        "x.topk(2)[0]",
        "f.topk(0, 1)[1]",
        "(x > 2).cumsum(1)",
        "f.cumprod(-1)",
        "x.diff()",
        "f.diff(2, 0)",
        "x.diff(9)",
        "x.roll(1)",
        "x.roll([1, 2], [0, 1])",
        "f.tril()",
        "x.triu(1)",
        "x.repeat(2, 1, 3)",
        "f.tile(2)",
        "x.repeat_interleave(3)",
        "f.repeat_interleave(2, -1)",
        "count_nonzero(f)",
        "x.count_nonzero(1)",
        "searchsorted(w, x)",
        "x.gather(1, i)",
        "x.take(i)",
        "x.take_along_dim(x.argsort(1), 1)",
        "f.take_along_dim(f.argsort(0))",
        "x.index_select(1, i[0])",
        "cat([x, x.to('f64')], 1)",
        "cat([f, f], -3)",
        "stack([w, w], -1)",
        "hstack([x, x])",
        "hstack([w, w])",
        "vstack([w, w])",
        "dstack([x, x])",
        "dstack([w, w])",
        "x[i]",
        "f[i, 0]",
        "f[..., i]",
        "f[i, :, i]",
        "f[:, 0, i]",
        "f[None, i, ..., None]",
        "f[0, :, [[1], [2]]]",
        "x.add_(1) * 2",
        "f.mul_(x[0]).sub_(1)",
    ] {
        let told = dry(at, expression);
        done(at, &[&eval(expression)[..], &["-o", "y.npy", "--force"]].concat());
        let listed = done(at, &["info", "y.npy"]).stdout;
        let row: Vec<&str> = listed.lines().nth(1).unwrap().split("  ").collect();
        let shape = row[3].replace(",)", ")").replace('(', "[").replace(')', "]").replace(' ', "");
        assert_eq!(
            (told["dtype"].as_str().unwrap(), told["shape"].to_string()),
            (row[2], shape),
            "{expression}"
        );
    }
}

#[test]
fn nothing_is_computed_and_nothing_written() {
    let folder = folder();
    let at = folder.path();
    let before = names(at);
    let content = fs::read(at.join("x.npy")).unwrap();
    for expression in [
        "x // 0",
        "x.floor_divide_(0)",
        "gather(x, 1, x)",
        "x[[9]]",
        "x.add_(1)",
        "sort(x // 0)[0] + 1",
        "rand(2**14, 2**14).argsort()",
    ] {
        done(at, &[&eval(expression)[..], &["--dry-run", "-o", "y.npy"]].concat());
    }
    assert_eq!((names(at), fs::read(at.join("x.npy")).unwrap()), (before, content));
}

#[test]
fn what_is_wrong_is_found_without_elements() {
    let folder = folder();
    let at = folder.path();
    for (expression, more, status, part) in [
        ("x.sort(5)", &[][..], 1, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
        ("sort(x.to('c64'))", &[], 1, "Sort does not support complex dtypes"),
        ("x.topk(4)", &[], 1, "selected index k out of range"),
        ("cat([x, w])", &[], 1, "Tensors must have same number of dimensions"),
        ("x.gather(1, w)", &[], 1, "Index tensor must have the same number of dimensions as input tensor"),
        ("x[i, i, i]", &[], 1, "too many indices for tensor of dimension 2"),
        ("x.add_(0.5)", &[], 1, "result type Float can't be cast to the desired output type Long"),
        ("arange(3, 1)", &[], 1, "upper bound and lower bound inconsistent with step sign"),
        ("w.add_(x[:, :1])", &[], 1, "output with shape [4] doesn't match the broadcast shape"),
        ("x[0].add_(1)", &[], 2, "only a tensor can be written to"),
        (
            "sort(x[:, None] + x)",
            &["--policy", "mutual_stretch=error"],
            1,
            "the policy refuses mutual_stretch",
        ),
        ("rand(10**3, 10**3).argsort()", &["--max-memory", "1MB"], 2, "this takes 3.8 MiB of memory"),
        ("x + 1", &["-o", "x.npy"], 2, "x.npy: it exists already"),
        ("x + 1", &["-o", "no/y.npy"], 2, "no/y.npy: cannot open its folder"),
        ("x.to('bf16')", &["-o", "y.npy"], 2, "y.npy: dtype `bf16` does not exist in NPY"),
        ("x.to('c128')", &["-o", "y.safetensors"], 2, "dtype `c128` does not exist in safetensors"),
    ] {
        let run = zs_in(at, &[&eval(expression)[..], &["--dry-run"], more].concat());
        assert_eq!((run.status, run.stdout.as_str()), (status, ""), "{expression}: {}", run.stderr);
        assert!(run.stderr.replace('\n', " ").contains(part), "{expression}: {}", run.stderr);
    }
}

#[test]
fn a_shape_that_depends_on_elements_is_not_guessed() {
    let folder = folder();
    for (expression, underlined) in [
        ("x[x > 2].sum()", "x[x > 2]"),
        ("1 + nonzero(x)", "nonzero(x)"),
        ("x.unique()", "x.unique()"),
        ("x.masked_select(x > 2)", "x.masked_select(x > 2)"),
        ("repeat_interleave(w, w)", "repeat_interleave(w, w)"),
    ] {
        let run = done(folder.path(), &[&eval(expression)[..], &["--dry-run"]].concat());
        let expected = "note: the shape of this depends on elements, which a dry run does not compute";
        assert!(run.stdout.is_empty() && run.stderr.starts_with(expected), "{}", run.stderr);
        assert!(run.stderr.contains(&"^".repeat(underlined.len())), "{}", run.stderr);
        let told = dry(folder.path(), expression);
        assert_eq!(
            (&told["version"], &told["shape"], &told["dtype"]),
            (&1.into(), &Value::Null, &Value::Null)
        );
    }
}

#[test]
fn a_result_that_is_printed_counts_as_memory() {
    let folder = folder();
    let at = folder.path();
    done(at, &["eval", "rand(1000, 300)", "-o", "x.npy", "--force"]);
    let memory = |more: &[&str]| {
        let args = [&["eval", "x * 2", "x=x.npy", "--dry-run", "--json"], more].concat();
        let told: Value = serde_json::from_str(&done(at, &args).stdout).unwrap();
        told["memory"].as_u64().unwrap()
    };
    assert!(memory(&[]) >= memory(&["-o", "y.npy"]) + 1_200_000);
    for dry in [&[][..], &["--dry-run"]] {
        let run = zs_in(at, &[&["eval", "x * 2", "x=x.npy", "--max-memory", "1MB"], dry].concat());
        assert_eq!(run.status, 2, "{}", run.stdout);
        let said = run.stderr.replace('\n', " ");
        assert!(said.contains("the result (1200000 bytes) stays in memory; write it to a file"), "{said}");
    }
}

#[test]
fn bytes_that_are_read_at_once_count() {
    let folder = folder();
    for (expression, bytes) in
        [("x + 1", 48), ("x.add_(1)", 48), ("sort(x)[0] + x", 96), ("cat([x, x])", 96), ("x[i] * x[0]", 128)]
    {
        assert_eq!(dry(folder.path(), expression)["bytes_read"], bytes, "{expression}");
        let args = [&eval(expression)[..], &["-o", "y.npy", "--force", "--json"]].concat();
        let told: Value = serde_json::from_str(&done(folder.path(), &args).stdout).unwrap();
        assert_eq!(told["bytes_read"], bytes, "{expression}");
    }
}
