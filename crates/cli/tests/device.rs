//! `zs eval --device` on emulated GPUs.

use std::process::Output;

use assert_cmd::Command;

/// Runs `zs eval` where the driver is emulated, of devices with a cache as large as theirs.
fn eval(arguments: &[&str]) -> Output {
    let mut zs = Command::cargo_bin("zs").expect("the shell is built");
    zs.env("ZEROSTRIDE_CUDA", zerostride_emulator::library()).env("ZEROSTRIDE_EMULATOR_CACHE", "4194304");
    zs.arg("eval").args(arguments).output().expect("the shell runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn a_device_gives_what_the_cpu_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let [x, out, wanted] = ["x.npy", "out.npy", "wanted.npy"].map(|name| folder.path().join(name));
    let [x, out, wanted] = [&x, &out, &wanted].map(|path| path.to_str().expect("a name"));
    assert!(eval(&["linspace(-3, 3, 3000).reshape(60, 50)", "-o", x]).status.success());
    let x = &*format!("x={x}");
    for formula in [
        "softmax(x, 1)",
        "(x - x.mean(0)).square().sum(1), exp(x).amax()",
        "x.T @ x",
        "x[3] * y",
        "y + [1, 2, 3], [[4.5]] * y",
        "arange(50) * x[2:4], cat([y, [[4.]]], 0), x.argmax(1) + 1",
        "zeros(3).add_([1, 2, 3]), full_like(y, 2) - y, isin(y, [2, 5])",
        "where(y > [[2]], y, tensor([[7.]]))",
    ] {
        let on = |device| eval(&[formula, x, "y=[[2], [3]]:f32", "--device", device]);
        let (found, wanted) = (on("cuda"), on("cpu"));
        assert!(found.status.success(), "{}", text(&found.stderr));
        assert_eq!(text(&found.stdout), text(&wanted.stdout));
    }
    for (device, path) in [("cuda:1", out), ("cpu", wanted)] {
        assert!(eval(&["tanh(x) + 1", x, "--device", device, "-o", path]).status.success());
    }
    assert_eq!(std::fs::read(out).expect("a file"), std::fs::read(wanted).expect("a file"));
}

#[test]
fn a_device_computes_in_pieces_within_a_limit() {
    let [formula, x] = ["softmax(x, 1)", "x=rand(100, 1024)"];
    let wanted = text(&eval(&[formula, x]).stdout).to_owned();
    let on_device = |limit| eval(&[formula, x, "--device", "cuda", "--plan", "--max-memory", limit]);
    for (limit, how) in [("10MB", "on cuda:0: exp"), ("900000", "on cuda:0 in 9 pieces of 12 rows: exp")] {
        let output = on_device(limit);
        let told = text(&output.stderr);
        assert!(told.contains(how), "{told}");
        assert_eq!(text(&output.stdout), wanted);
    }
    let output = on_device("700000");
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("the result (409600 bytes) stays on cuda:0; allow more memory"), "{told}");
}

#[test]
fn a_device_that_is_not_there_is_told() {
    let output = eval(&["x + 1", "x=[1, 2]", "--device", "cuda:7"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no device cuda:7: NVIDIA's driver has 2"));
    let output = eval(&["x + 1", "x=[1, 2]", "--device", "tpu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no device 'tpu'"), "{}", text(&output.stderr));
}
