//! Owns `cargo xtask sanitize`: the tests of the crates with unsafe code, and those of the Python package,
//! under AddressSanitizer. It needs no other toolchain: the stable compiler carries the sanitizer and is told
//! to let it be used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, python, root, run};

/// The package's tests that count memory or time, which the sanitizer takes for itself.
const COUNTING: &str = "not leak and not cluster and not within_its_limit and not threads_run_meanwhile";

/// Every read and write outside of memory that is allocated, or after it has been freed, stops the test that
/// does it.
pub(crate) fn address(filter: &[&str]) -> Outcome {
    match filter {
        ["--python", rest @ ..] => package(rest),
        _ => {
            let mut cargo = cargo("test")?;
            cargo.args(["--no-fail-fast", "--package", "zerostride-kernels", "--package", "zerostride"]);
            run(cargo.args(["--features", "zerostride/zarr", "--lib", "--tests", "--"]).args(filter))
        }
    }
}

/// Where everything is built with the sanitizer.
fn target() -> PathBuf {
    python::target().join("sanitize")
}

fn cargo(command: &str) -> Result<Command, String> {
    let mut cargo = Command::new(env!("CARGO"));
    // With a target named, build scripts and macros are built without the sanitizer.
    cargo.args([command, "--target", &host()?, "--target-dir"]).arg(target());
    // What the pool keeps is never freed, which is no leak; nor is what Python keeps to its end.
    cargo.env("ASAN_OPTIONS", "detect_leaks=0");
    // Frames are several times as large.
    cargo.env("RUST_MIN_STACK", (16 << 20).to_string());
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    Ok(cargo)
}

/// The tests of the Python package on a module with the sanitizer, in the environment that `cargo xtask test`
/// has made.
fn package(arguments: &[&str]) -> Outcome {
    run(cargo("build")?.args(["--package", "zerostride-python", "--lib"]))?;
    let parent = target().join("package");
    let package = parent.join("zerostride");
    copied(&root().join("crates/python/python/zerostride"), &package)?;
    let module = target().join(host()?).join("debug/lib_zerostride.so");
    fs::copy(module, package.join("_zerostride.abi3.so")).map_err(|error| format!("the module: {error}"))?;
    let mut pytest = Command::new(python::own());
    pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-k", COUNTING, "crates/python"]);
    // Python itself has no sanitizer: the runtime must be there before it. Its own allocator would hide the
    // borders.
    pytest.env("LD_PRELOAD", runtime()?).env("PYTHONMALLOC", "malloc").env("PYTHONPATH", parent);
    run(pytest.args(arguments).env("ASAN_OPTIONS", "detect_leaks=0"))
}

/// The files of a folder, in a new one.
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

/// The sanitizer's runtime as a library, which the C compiler has.
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
