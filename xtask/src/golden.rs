//! Owns `cargo xtask golden`: an environment with PyTorch, and the scripts that record its answers. It does
//! not know what they record.

use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, python, root, run};

/// The versions whose answers are in the repository.
const REQUIREMENTS: [&str; 6] = [
    "torch==2.15.0",
    "numpy==2.4.6",
    "gmpy2==2.3.2",
    "mpmath==1.3.0",
    "safetensors==0.8.0",
    "ml_dtypes==0.6.0",
];

/// Parts with scripts of their own, beside those of `generate.py`.
const SCRIPTS: [(&str, &str); 4] = [
    ("math", "spec/golden/math/explog.py"),
    ("math", "spec/golden/math/special.py"),
    ("math", "spec/golden/math/complex_ends.py"),
    ("io", "spec/golden/io/make.py"),
];

/// The Python of the environment, which is made unless it is there.
pub(crate) fn python() -> Result<PathBuf, String> {
    let own = python::environment("python3", &root().join(".venv").join("golden"))?;
    python::pip(&own, &[&["install"], &REQUIREMENTS[..]].concat())?;
    Ok(own)
}

/// Rebuilds parts of the golden answers, or all of them.
pub(crate) fn run_parts(parts: &[&str]) -> Outcome {
    let python = python()?;
    for (_, script) in SCRIPTS.iter().filter(|(part, _)| parts.is_empty() || parts.contains(part)) {
        run(Command::new(&python).arg(script))?;
    }
    let rest: Vec<&&str> = parts.iter().filter(|part| SCRIPTS.iter().all(|(own, _)| own != *part)).collect();
    if parts.is_empty() || !rest.is_empty() {
        run(Command::new(&python).arg("spec/golden/generate.py").args(rest))?;
    }
    Ok(())
}
