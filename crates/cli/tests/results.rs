//! Several results, results for programs, tables, and standard input and output.

mod common;

use std::fs;
use std::process::{Command, Output, Stdio};

use common::{zs, zs_in};

/// A run with an input.
fn piped(args: &[&str], input: &[u8]) -> Output {
    use std::io::Write;
    let mut zs = Command::new(env!("CARGO_BIN_EXE_zs"));
    let run = zs.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = run.spawn().unwrap();
    // What is refused is not read.
    let _ = run.stdin.take().unwrap().write_all(input);
    run.wait_with_output().unwrap()
}

#[test]
fn functions_of_python_give_pythons_answers() {
    let x = "x=[[1.5, 2, 9], [4, 3, 8]]";
    for (expression, printed) in [
        ("x.max()", "tensor(9.)"),
        ("x.min(1)[1]", "tensor([0, 1])"),
        ("max(x, 3)[0]", ""),
        ("x.max([[3], [5]])", "tensor([[3., 3., 9.],\n        [5., 5., 8.]])"),
        ("x.median()", "tensor(3.)"),
        ("x.median(0)[0]", "tensor([1.5000, 2.0000, 8.0000])"),
        ("x.quantile(0.5)", "tensor(3.5000)"),
        ("quantile(x, [0, 1], 1, interpolation='lower').shape", ""),
        ("x.kthvalue(2)[0]", "tensor([2., 4.])"),
        ("x.var_mean(1, keepdim=True)[1]", "tensor([[4.1667],\n        [5.0000]])"),
        ("x.clip(2, 8)", "tensor([[2., 2., 8.],\n        [4., 3., 8.]])"),
        (
            "x.equal(x), x.allclose(x + 1e-7)",
            "x.equal(x):\ntensor(True)\nx.allclose(x + 1e-7):\ntensor(True)",
        ),
        ("x.isin([2, 3])", "tensor([[False,  True, False],\n        [False,  True, False]])"),
        ("mv(x, x[0])", "tensor([87.2500, 84.0000])"),
        ("mm(x, x)", ""),
        ("x.chunk(2, 1)[1]", "tensor([[9.],\n        [8.]])"),
        (
            "meshgrid(x[:, 0], x[0])[1]",
            "tensor([[1.5000, 2.0000, 9.0000],\n        [1.5000, 2.0000, 9.0000]])",
        ),
        ("bucketize(x[0], [2, 5])", "tensor([0, 0, 2])"),
        ("scatter(x, 1, [[0]], value=0)[0]", "tensor([0., 2., 9.])"),
        (
            "index_put(x, ([0, 1], [1, 2]), x[0, 0])[:, 1:]",
            "tensor([[1.5000, 9.0000],\n        [3.0000, 1.5000]])",
        ),
        ("ones_like(x, dtype='<i2').sum()", "tensor(6)"),
        ("x.ravel().frexp()", "mantissa"),
    ] {
        let run = zs(&["eval", expression, x]);
        match printed {
            "" => assert!(run.status > 0 && run.stderr.contains("error: "), "{expression}: {}", run.stdout),
            "mantissa" => assert!(run.stdout.contains("[0]:\ntensor([0.7500,"), "{}", run.stdout),
            printed => assert_eq!(run.stdout.trim_end(), printed, "{expression}: {}", run.stderr),
        }
    }
}

#[test]
fn several_results_are_written_in_one_reading() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |args: &[&str]| zs_in(at, args);
    assert_eq!(run(&["eval", "rand(500, 3, seed=1)", "-o", "x.npy"]).status, 0);
    let told = run(&["eval", "x.mean(0), x.std(0)", "x=x.npy", "-o", "m.npy", "-o", "s.npy", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((&told["passes"], &told["bytes_read"]), (&1.into(), &6000.into()));
    assert_eq!(told["output"], serde_json::json!(["m.npy", "s.npy"]));
    for (expression, file) in [("x.mean(0)", "m.npy"), ("x.std(0)", "s.npy")] {
        assert_eq!(run(&["eval", expression, "x=x.npy", "-o", "one.npy", "--force"]).status, 0);
        assert!(fs::read(at.join("one.npy")).unwrap() == fs::read(at.join(file)).unwrap());
    }
    let refused = run(&["eval", "x.mean(0), x.std(0)", "x=x.npy", "-o", "one.npy", "--force"]);
    assert!(refused.stderr.contains("there are 2 results, and 1 output"), "{}", refused.stderr);
    assert_eq!(run(&["eval", "x, y", "x=1", "y=2"]).stdout, "x:\ntensor(1)\ny:\ntensor(2)\n");
}

#[test]
fn programs_get_json() {
    let printed = |expression: &str| zs(&["eval", expression, "x=[[nan, inf], [1, -2.5]]", "--json"]).stdout;
    let line = r#"{"version":1,"results":[{"name":null,"dtype":"f32","shape":[2,2],"data":[["NaN","Infinity"],[1.0,-2.5]]}]}"#;
    assert_eq!(printed("x"), format!("{line}\n"));
    let line = r#"{"version":1,"results":[{"name":null,"dtype":"c64","shape":[],"data":[1.0,2.0]}]}"#;
    assert_eq!(printed("(1 + 2j) * ones()"), format!("{line}\n"));
    let folder = tempfile::tempdir().unwrap();
    zs_in(folder.path(), &["eval", "zeros(2, 3)", "-o", "x.npy"]);
    let run = zs_in(folder.path(), &["info", "x.npy", "y.npy", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.status, 2);
    assert_eq!(told["files"][0]["arrays"][0]["shape"], serde_json::json!([2, 3]));
    assert!(told["files"][1]["error"].as_str().unwrap().starts_with("y.npy: cannot open it"));
}

#[test]
fn tables_and_arrays_go_through_pipes() {
    let table = b"a,b\n1,2\n3,4\n";
    let run = piped(&["eval", "x * 2", "x=-", "-o", "-", "--format", "csv"], table);
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "2,4\n6,8\n");
    let npy = piped(&["eval", "x", "x=-:b", "-o", "-"], table).stdout;
    assert!(npy.starts_with(b"\x93NUMPY"));
    assert_eq!(String::from_utf8(piped(&["eval", "x", "x=-"], &npy).stdout).unwrap(), "tensor([2, 4])\n");
    let refused = piped(&["eval", "x + y", "x=-", "y=-"], table);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("standard input can be read once"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), table).unwrap();
    let run = zs_in(folder.path(), &["eval", "x[:, None] * 0.5", "x=t.csv:a", "-o", "half.csv"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("half.csv")).unwrap(), "0.5\n1.5\n");
    let run = zs_in(folder.path(), &["eval", "x[None, None]", "x=t.csv", "-o", "cube.csv"]);
    assert!(
        run.stderr.contains("a table has at most two dimensions, and the result has 4"),
        "{}",
        run.stderr
    );
}

#[test]
fn manual_pages_have_the_helps_examples() {
    let page = zs(&["man", "eval"]).stdout;
    let (_, examples) = page.split_once(".SH EXAMPLES\n.nf\n").unwrap();
    assert!(examples.starts_with("zs eval \\(aq[[1, 2, 3]] * 5\\(aq\n"), "{examples}");
}
