//! Forces each row of the tuning table. The engine's tests run on each of them.

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
fn every_row_can_be_forced() {
    for row in Tuning::ALL {
        let output = again()
            .args(["--exact", "processors::a_row_is_in_use"])
            .env("ZEROSTRIDE_PROCESSOR", row.name)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{}: {text}", row.name);
    }
}

#[test]
fn a_row_is_in_use() {
    let asked = env::var("ZEROSTRIDE_PROCESSOR");
    assert!(asked.is_err() || asked.as_deref() == Ok(Tuning::active().name));
}

#[test]
fn a_row_that_does_not_exist_is_refused() {
    let output = again()
        .args(["--exact", "processors::a_row_is_in_use"])
        .env("ZEROSTRIDE_PROCESSOR", "zen9")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("there are generic, zen, zen5"), "{text}");
}
