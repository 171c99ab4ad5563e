//! Owns `cargo xtask test`: every check in one command. It does not know what a check does.

use std::process::Command;
use std::time::Instant;

use crate::{Outcome, aarch64, docs, oldest, python, run as run_command, tidy, web};

/// The tests that compute much, once more: few of them compute enough for a formula to be printed.
const PRINTED: &str = "tests with formulas printed at their first use";

/// Cargo's checks, with the reason to run each.
const CARGO: [(&str, &str); 7] = [
    ("format", "fmt --all --check"),
    ("tests", "test --workspace --no-fail-fast --features zerostride/ndarray"),
    (
        PRINTED,
        "test --workspace --features zerostride/ndarray --test fused --test reductions --test plan \
         --test conformance --test gradients --test shapes",
    ),
    ("lean build", "check --package zerostride --no-default-features"),
    ("build without options", "check --package zerostride-cli --no-default-features"),
    ("lints", "clippy --workspace --all-targets --features zerostride/ndarray -- -D warnings"),
    ("documentation", "doc --workspace --no-deps --features zerostride/ndarray"),
];

/// Runs every check, so that one failure does not hide another.
pub(crate) fn run() -> Outcome {
    let cargo = |name: &str, arguments: &str| {
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments.split(' ')).env("RUSTDOCFLAGS", "-D warnings");
        if name == PRINTED {
            command.env("ZEROSTRIDE_CODE", "printed");
        }
        run_command(&mut command)
    };
    let timed = |name: &'static str, check: &dyn Fn() -> Outcome| {
        let start = Instant::now();
        let outcome = check();
        (name, outcome, start.elapsed().as_secs())
    };
    let mut outcomes = vec![timed("repository rules", &tidy::run)];
    outcomes.extend(CARGO.map(|(name, arguments)| timed(name, &|| cargo(name, arguments))));
    outcomes.push(timed("code for NEON", &aarch64::check));
    outcomes.push(timed("the oldest Rust", &oldest::test));
    outcomes.push(timed("the Python package", &|| python::test(false)));
    outcomes.push(timed("the page", &web::test));
    outcomes.push(timed("the site", &docs::test));
    for (name, _, seconds) in &outcomes {
        eprintln!("{seconds:>5} s  {name}");
    }
    let failures: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome, _)| outcome.err().map(|error| format!("{name}: {error}")))
        .collect();
    if failures.is_empty() {
        eprintln!("\nall checks passed");
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}
