//! Owns `cargo xtask test --aarch64`: the tests of code that has a NEON form, built for aarch64 and run by an
//! emulator. It measures nothing, since emulated time is meaningless.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Outcome, run as run_command};

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";
/// The path of the C library that the emulated programs load, on Debian.
const SYSROOT: &str = "/usr/aarch64-linux-gnu";

/// The crates with code for NEON, the one that prints such code, and the engine that runs both.
const TESTS: [&str; 3] = [
    "test --no-fail-fast --package zerostride-code",
    "test --no-fail-fast --package zerostride-kernels",
    "test --no-fail-fast --package zerostride --lib",
];

/// QEMU ends the children of a program that forks while its other threads run.
const NOT_EMULATED: &str = "a_child_has_all_tensors_whatever_other_threads_of_its_parent_were_at";

/// Runs the tests, or reports what the machine lacks.
pub(crate) fn run() -> Outcome {
    let missing = missing();
    if !missing.is_empty() {
        return Err(format!(
            "tests for aarch64 need {}; on Debian and Ubuntu `xtask/aarch64-setup.sh` installs it",
            missing.join(", ")
        ));
    }
    let mut failures = Vec::new();
    for test in TESTS {
        let mut command = Command::new(env!("CARGO"));
        command.args(test.split(' ')).args(["--target", TARGET]);
        // On an aarch64 machine they run natively.
        if cfg!(not(target_arch = "aarch64")) {
            command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
            command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{EMULATOR} -L {SYSROOT}"));
            println!("skipped, since QEMU cannot run it: {NOT_EMULATED}");
            command.args(["--", "--skip", NOT_EMULATED]);
        }
        failures.extend(run_command(&mut command).err());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// What cross compilation and emulation lack on this machine.
fn missing() -> Vec<String> {
    if cfg!(target_arch = "aarch64") {
        return Vec::new();
    }
    let starts = |program: &str| {
        let status =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let mut missing = Vec::new();
    if !has_standard_library() {
        missing.push(format!("Rust's standard library for {TARGET}"));
    }
    for program in [LINKER, EMULATOR] {
        if !starts(program) {
            missing.push(format!("`{program}`"));
        }
    }
    if !Path::new(SYSROOT).exists() {
        missing.push(format!("a C library in {SYSROOT}"));
    }
    missing
}

/// Whether the compiler in use comes with the target's standard library.
fn has_standard_library() -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists())
}
