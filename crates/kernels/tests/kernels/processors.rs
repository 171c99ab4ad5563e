//! Runs this binary's tests of chains, rows and divisions again with each row of the tuning table forced.

use std::env;
use std::process::Command;

use zerostride_kernels::Tuning;

/// This binary once more, which the system cannot start by itself where an emulator runs it.
fn again() -> Command {
    let binary = env::current_exe().unwrap();
    match env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER") {
        Ok(emulator) if cfg!(target_arch = "aarch64") => {
            let mut words = emulator.split(' ');
            let mut command = Command::new(words.next().unwrap());
            command.args(words).arg(binary);
            command
        }
        _ => Command::new(binary),
    }
}

#[test]
fn chains_pass_their_tests_with_every_row() {
    for row in Tuning::ALL.into_iter().filter(|&row| row != Tuning::active()) {
        let output = again()
            .args(["chains::", "quotients::", "rows::"])
            .env("ZEROSTRIDE_PROCESSOR", row.name)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {text}", row.name);
        assert!(!text.contains("running 0 tests"), "{}: {text}", row.name);
    }
}

#[test]
fn a_row_that_does_not_exist_is_refused() {
    let output = again().args(["quotients::"]).env("ZEROSTRIDE_PROCESSOR", "zen9").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("there are generic, zen, zen5"), "{text}");
}
