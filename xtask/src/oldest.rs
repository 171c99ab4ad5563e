//! Owns the check with the oldest Rust that the packages promise to work with. It does not know the other
//! checks.

use std::process::{Command, Stdio};

use crate::{Outcome, root, run};

/// What users build.
const PACKAGES: [&str; 2] = ["zerostride-cli", "zerostride-python"];

/// Checks the packages with the version that the workspace states, which is installed if there is a `rustup`.
/// Without one it reports that and checks nothing.
pub(crate) fn test() -> Outcome {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", version, "--profile", "minimal", "--no-self-update"]);
    let is_there = install.stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("\nleft out: the check with Rust {version}, which `rustup` does not install here");
        return Ok(());
    }
    let mut check = Command::new("rustup");
    check.args(["run", version, "cargo", "check", "--locked"]);
    check.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    // The running command's own toolchain is not the one to check with.
    ["RUSTC", "CARGO", "RUSTUP_TOOLCHAIN"].iter().for_each(|name| {
        check.env_remove(name);
    });
    run(check.current_dir(root()))
}
