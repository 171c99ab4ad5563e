//! Owns `cargo xtask golden`: an environment with PyTorch of its own, and the scripts that question it.

use std::process::Command;

use crate::{Outcome, root, run};

/// The versions whose answers the repository holds.
const REQUIREMENTS: [&str; 4] = ["torch==2.15.0", "numpy==2.4.6", "gmpy2", "mpmath"];

/// Rebuilds parts of the golden answers, or all of them.
pub(crate) fn run_parts(parts: &[&str]) -> Outcome {
    let environment = root().join(".venv").join("golden");
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(REQUIREMENTS))?;
    run(Command::new(&python).arg("spec/golden/generate.py").args(parts))
}
