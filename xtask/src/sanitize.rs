//! Owns `cargo xtask sanitize`: the tests of the crates with unsafe code, under AddressSanitizer. It needs no other
//! toolchain: the stable compiler carries the sanitizer and is told to let it be used.

use std::process::Command;

use crate::{Outcome, run};

/// Every read and write outside of memory that is allocated, or after it has been freed, stops the test that does it.
pub(crate) fn address(filter: &[&str]) -> Outcome {
    let mut cargo = Command::new(env!("CARGO"));
    // With a target named, build scripts and macros are built without the sanitizer.
    cargo.args(["test", "--no-fail-fast", "--target", &host()?, "--target-dir", "target/sanitize"]);
    cargo.args(["--package", "zerostride-kernels", "--package", "zerostride", "--lib", "--tests", "--"]);
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    // What the pool keeps is never freed, which is no leak.
    run(cargo.args(filter).env("ASAN_OPTIONS", "detect_leaks=0"))
}

/// The triple that the compiler builds for.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say what it builds for".to_owned())
}
