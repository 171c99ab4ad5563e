//! Owns the tests of the Python package, which run in a virtual environment of their own, as users install
//! it. It does not know what they test.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, root, run};

/// The oldest Python that the package supports.
const OLDEST: (u32, u32) = (3, 11);

const PACKAGE: &str = "./crates/python";

/// Installs the package and runs its tests. If there is no Python that is new enough, reports that and tests
/// nothing.
///
/// The package is built with the profile of the other tests, which shares their kernels and has checks that a
/// release does not. From its source distribution it is built anew, as by users, which takes minutes.
pub(crate) fn test(of_source_distribution: bool) -> Outcome {
    let Some(python) = python() else {
        eprintln!(
            "\nleft out: the tests of the Python package, which need python3 of {}.{} or later",
            OLDEST.0, OLDEST.1
        );
        return Ok(());
    };
    if !own().exists() {
        run(Command::new(python).args(["-m", "venv"]).arg(environment()))?;
    }
    let package = if of_source_distribution { source_distribution()? } else { PACKAGE.to_owned() };
    // pip would not install the package again over the same version.
    pip(&["uninstall", "--yes", "zerostride"])?;
    let profile = if of_source_distribution { "--profile=release" } else { "--profile=dev" };
    run(pip_command(&["install", &format!("{package}[test]")]).env("MATURIN_PEP517_ARGS", profile))?;
    run(Command::new(own()).args(["-m", "pytest", "--quiet", "crates/python"]))
}

/// Makes the package's source distribution and returns its path.
fn source_distribution() -> Result<String, String> {
    let folder = target().join("sdist");
    let failed = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    pip(&["install", "build"])?;
    run(Command::new(own()).args(["-m", "build", "--sdist", PACKAGE, "--outdir"]).arg(&folder))?;
    let made = fs::read_dir(&folder).map_err(failed)?.next();
    let made = made.ok_or_else(|| format!("{}: nothing was made", folder.display()))?;
    Ok(made.map_err(failed)?.path().display().to_string())
}

fn pip(arguments: &[&str]) -> Outcome {
    run(&mut pip_command(arguments))
}

fn pip_command(arguments: &[&str]) -> Command {
    let mut pip = Command::new(own());
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
    pip
}

/// A Python that is new enough.
pub(crate) fn python() -> Option<&'static str> {
    let check =
        format!("import sys, venv, ensurepip; sys.exit(sys.version_info < ({}, {}))", OLDEST.0, OLDEST.1);
    let is_new =
        |name: &&str| Command::new(name).args(["-c", &check]).output().is_ok_and(|out| out.status.success());
    ["python3", "python", "python3.13", "python3.12", "python3.11"].into_iter().find(is_new)
}

/// The virtual environment of the tests.
fn environment() -> PathBuf {
    target().join("python-tests")
}

/// Its Python.
pub(crate) fn own() -> PathBuf {
    environment().join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Where Cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
