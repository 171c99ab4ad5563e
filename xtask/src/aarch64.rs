//! Owns `cargo xtask test --aarch64`: the tests of code that has a NEON form, built for aarch64 and run by an
//! emulator, and whether they compute the bits of this processor. It measures nothing, since emulated time is
//! meaningless.

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
    "test --no-fail-fast --package zerostride --lib --test fused --test reductions --test plan \
     --test conformance --test gradients --test shapes",
];

/// QEMU ends the children of a program that forks while its other threads run.
const NOT_EMULATED: &str = "a_child_has_all_tensors_whatever_other_threads_of_its_parent_were_at";

/// The ignored tests of the engine that print a digest for each of their cases.
const DIGESTS: [&str; 2] = [
    "every_layout::every_operation_of_every_dtype_in_every_layout",
    "random::random_expressions_on_any_number_of_threads",
];

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
        let mut command = cargo(test);
        // On an aarch64 machine they run natively.
        if cfg!(not(target_arch = "aarch64")) {
            println!("skipped, since QEMU cannot run it: {NOT_EMULATED}");
            command.args(["--", "--skip", NOT_EMULATED]);
        }
        failures.extend(run_command(&mut command).err());
    }
    if cfg!(not(target_arch = "aarch64")) {
        failures.extend(DIGESTS.iter().filter_map(|test| compare(test).err()));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Checks that the kernels compile for NEON, where the target's library is there or rustup adds it.
pub(crate) fn check() -> Outcome {
    if !has_standard_library() {
        let _ = Command::new("rustup").args(["target", "add", TARGET]).status();
    }
    if !has_standard_library() {
        println!("left out: the compiler has no library for {TARGET}, and `rustup target add` cannot get it");
        return Ok(());
    }
    let check = ["check", "--package", "zerostride-kernels", "--all-targets", "--target", TARGET];
    run_command(Command::new(env!("CARGO")).args(check))
}

/// Cargo with these arguments, for aarch64.
fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments.split(' ')).args(["--target", TARGET]);
    if cfg!(not(target_arch = "aarch64")) {
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{EMULATOR} -L {SYSROOT}"));
    }
    command
}

/// Holds the digests that a test prints on aarch64 to those of this processor.
fn compare(test: &str) -> Outcome {
    const FUSED: &str = "test --package zerostride --test fused";
    let mut own = Command::new(env!("CARGO"));
    own.args(FUSED.split(' '));
    let [own, other] = [own, cargo(FUSED)].map(|mut command| {
        let command = command.args(["--", test, "--exact", "--ignored", "--nocapture"]);
        let output = command.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("{test}: {}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let digests = text.lines().filter_map(|line| line.split_once("digest: "));
        Ok::<_, String>(digests.map(|(_, digest)| digest.to_owned()).collect::<Vec<String>>())
    });
    let (own, other) = (own?, other?);
    let differ: Vec<&str> = own
        .iter()
        .zip(&other)
        .filter(|(own, other)| own != other)
        .map(|(own, _)| own.split_once(": ").map_or(&**own, |(case, _)| case))
        .collect();
    if own.is_empty() || own.len() != other.len() {
        return Err(format!("{test}: {} cases here, {} on aarch64", own.len(), other.len()));
    }
    println!("{test}: {} cases, {} of which differ on aarch64", own.len(), differ.len());
    if differ.is_empty() { Ok(()) } else { Err(format!("{test} differs on aarch64: {}", differ.join(", "))) }
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
