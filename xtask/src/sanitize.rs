//! Owns `cargo xtask sanitize`: the tests of the crates with unsafe code, and of the Python package, under
//! AddressSanitizer. It does not know what they test. The stable compiler contains the sanitizer, so no other
//! toolchain is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, python, root, run};

/// The package's tests that measure memory or time, both of which the sanitizer needs itself.
const COUNTING: &str = "not leak and not cluster and not within_its_limit and not threads_run_meanwhile";

/// Any access outside allocated memory, or after it was freed, aborts the test.
pub(crate) fn address(filter: &[&str]) -> Outcome {
    match filter {
        ["--python", rest @ ..] => package(rest),
        _ => {
            let mut cargo = cargo("test")?;
            cargo.args(["--no-fail-fast", "--package", "zerostride-kernels", "--package", "zerostride"]);
            run(cargo.args(["--lib", "--tests", "--"]).args(filter))
        }
    }
}

/// The target folder for builds with the sanitizer.
fn target() -> PathBuf {
    python::target().join("sanitize")
}

fn cargo(command: &str) -> Result<Command, String> {
    let mut cargo = Command::new(env!("CARGO"));
    // With an explicit target, build scripts and macros are built without the sanitizer.
    cargo.args([command, "--target", &host()?, "--target-dir"]).arg(target());
    // The pool and Python keep memory until the process ends, which is no leak.
    cargo.env("ASAN_OPTIONS", "detect_leaks=0");
    // Stack frames are several times as large.
    cargo.env("RUST_MIN_STACK", (16 << 20).to_string());
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    Ok(cargo)
}

/// Runs the tests of the Python package on a module with the sanitizer, in the environment that `cargo xtask
/// test` has created.
fn package(arguments: &[&str]) -> Outcome {
    run(cargo("build")?.args(["--package", "zerostride-python", "--lib"]))?;
    let parent = target().join("package");
    let package = parent.join("zerostride");
    copied(&root().join("crates/python/python/zerostride"), &package)?;
    let module = target().join(host()?).join("debug/lib_zerostride.so");
    fs::copy(module, package.join("_zerostride.abi3.so")).map_err(|error| format!("the module: {error}"))?;
    let mut pytest = Command::new(python::own());
    pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-k", COUNTING, "crates/python"]);
    // Python is built without the sanitizer, so its runtime must be loaded first. Python's own allocator
    // would hide the bounds of allocations.
    pytest.env("LD_PRELOAD", runtime()?).env("PYTHONMALLOC", "malloc").env("PYTHONPATH", parent);
    run(pytest.args(arguments).env("ASAN_OPTIONS", "detect_leaks=0"))
}

/// Copies the files of a folder to a new one.
fn copied(from: &Path, to: &Path) -> Outcome {
    let copy = || -> std::io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), to.join(entry.file_name()))?;
            }
        }
        Ok(())
    };
    copy().map_err(|error| format!("{} cannot be copied: {error}", from.display()))
}

/// The sanitizer's runtime library, which comes with the C compiler.
fn runtime() -> Result<String, String> {
    let output = Command::new("cc").arg("-print-file-name=libasan.so").output();
    let output = output.map_err(|error| format!("cc: {error}"))?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if Path::new(&path).is_absolute() { Ok(path) } else { Err("the C compiler has no libasan.so".to_owned()) }
}

/// The triple that the compiler builds for.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say what it builds for".to_owned())
}
