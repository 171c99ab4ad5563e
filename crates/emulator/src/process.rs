//! Owns the running of tests in a process of their own, and with this library as the driver: a process takes
//! its driver from the environment, and has one. It does not know what is tested.

use std::env;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::PathBuf;
use std::process::Command;

/// What the environment of such a process has.
const INSIDE: &str = "ZEROSTRIDE_EMULATED";

/// This library as a program opens it, which Cargo makes beside the tests that depend on it.
///
/// # Panics
/// If it is not there.
pub fn library() -> PathBuf {
    let mut path = env::current_exe().expect("a test is a file");
    path.set_file_name(format!("{DLL_PREFIX}zerostride_emulator{DLL_SUFFIX}"));
    assert!(path.is_file(), "{} is built beside the tests", path.display());
    path
}

/// The program that runs, once more: by the emulator that Cargo has started it with, if that is what it
/// needs.
///
/// # Panics
/// If the program is not to be found.
pub fn again() -> Command {
    let program = env::current_exe().expect("a test is a file");
    let runner = env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER");
    let runner = runner.ok().filter(|_| cfg!(target_arch = "aarch64"));
    let mut words = runner.iter().flat_map(|runner| runner.split(' '));
    let Some(emulator) = words.next() else { return Command::new(program) };
    let mut command = Command::new(emulator);
    command.args(words).arg(program);
    command
}

/// Runs the body of a test in a process of its own, whose environment has these variables and names this
/// library as the driver.
///
/// # Panics
/// If the body does.
pub fn emulated<Body: FnOnce()>(variables: &[(&str, &str)], body: Body) {
    if env::var_os(INSIDE).is_some() {
        return body();
    }
    let name = std::any::type_name::<Body>();
    let name = name.split_once("::").map_or(name, |(_, test)| test).trim_end_matches("::{{closure}}");
    let mut test = again();
    test.args(["--exact", name, "--nocapture"]).env("ZEROSTRIDE_CUDA", library()).env(INSIDE, "");
    let output = test.envs(variables.iter().copied()).output().expect("a test runs");
    let [said, told] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{told}");
    print!("{said}");
}
