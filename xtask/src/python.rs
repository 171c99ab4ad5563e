//! Owns the tests of the Python package, which run in a virtual environment of their own, as users install
//! it. It does not know what they test.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::{Outcome, root, run};

/// The oldest Python that the package supports.
const OLDEST: (u32, u32) = (3, 11);

const PACKAGE: &str = "./crates/python";

/// Free-threaded Pythons that PyO3 supports. They have no stable ABI before 3.15, so that the package is
/// compiled for each version: PyO3 leaves out its feature `abi3-py311` by itself.
const FREE_THREADED: [&str; 2] = ["python3.14t", "python3.15t"];

/// Installs the package and runs its tests. If there is no Python that is new enough, reports that and tests
/// nothing.
///
/// The package has the library that is built as the other tests are, with checks that a release does not
/// have. From its source distribution it is built anew, as by users, which takes minutes.
pub(crate) fn test(of_source_distribution: bool) -> Outcome {
    let Some(python) = python() else {
        eprintln!(
            "\nleft out: the tests of the Python package, which need python3 of {}.{} or later",
            OLDEST.0, OLDEST.1
        );
        return Ok(());
    };
    let own = environment(python, &target().join(ENVIRONMENT))?;
    let package = if of_source_distribution { source_distribution(&own)? } else { built_as_tests(&own)? };
    install(&own, &package, "--profile=release")?;
    run(Command::new(own).args(PYTEST).env("ZEROSTRIDE_CUDA", emulator()?))
}

/// The library that the tests use as NVIDIA's driver.
fn emulator() -> Result<PathBuf, String> {
    run(Command::new(env!("CARGO")).args(["build", "--quiet", "--package", "zerostride-emulator"]))?;
    Ok(target().join("debug").join(format!("{DLL_PREFIX}zerostride_emulator{DLL_SUFFIX}")))
}

/// The tests of the package in a free-threaded Python, with the GIL off.
pub(crate) fn test_free_threaded() -> Outcome {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let python = FREE_THREADED.into_iter().find(is_there);
    let python = python.ok_or_else(|| format!("there is none of {}", FREE_THREADED.join(", ")))?;
    let own = environment(python, &target().join("python-tests-free-threaded"))?;
    install(&own, PACKAGE, "--profile=dev")?;
    // Another package that is imported beside ours must not bring the GIL back.
    run(Command::new(own).args(PYTEST).env("PYTHON_GIL", "0"))
}

/// The virtual environment of the tests.
const ENVIRONMENT: &str = "python-tests";

/// One process for each processor: most tests have a thread of their own.
const PYTEST: [&str; 8] = ["-m", "pytest", "--quiet", "crates/python", "-n", "auto", "--maxprocesses", "8"];

/// Makes a virtual environment in a folder unless it is there, and returns its Python.
pub(crate) fn environment(python: &str, folder: &Path) -> Result<PathBuf, String> {
    let own = python_of(folder);
    if !own.exists() {
        run(Command::new(python).args(["-m", "venv"]).arg(folder))?;
    }
    Ok(own)
}

/// Installs a package with what its tests need. The profile is that of a library that is not built yet.
fn install(python: &Path, package: &str, profile: &str) -> Outcome {
    // pip would not install the package again over the same version.
    pip(python, &["uninstall", "--yes", "zerostride"])?;
    let mut install = pip_command(python, &["install", &format!("{package}[test]")]);
    run(install.env("MATURIN_PEP517_ARGS", profile))
}

/// Installs the package alone, with a release's optimisation, into the environment of a Python.
pub(crate) fn install_release(python: &Path) -> Outcome {
    pip(python, &["install", "--force-reinstall", "--no-deps", PACKAGE])
}

/// Makes a folder that is the package with the library built already, and returns its path.
///
/// The library is built beside a test, whichever: alone it would have fewer features of a few dependencies
/// than the tests of all members have, and the engine would be compiled again for it, which takes minutes.
fn built_as_tests(python: &Path) -> Result<String, String> {
    let mut build = Command::new(env!("CARGO"));
    build.args("build --workspace --features zerostride/ndarray --lib --test compile".split(' '));
    run(build.env("PYO3_PYTHON", python))?;
    let folder = target().join("python-package");
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    let package = root().join(PACKAGE);
    copy_folder(&package.join("python"), &folder).map_err(failed)?;
    for name in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(package.join(name), folder.join(name)).map_err(failed)?;
    }
    let library = target().join("debug").join(format!("{DLL_PREFIX}_zerostride{DLL_SUFFIX}"));
    let module = if cfg!(windows) { "_zerostride.pyd" } else { "_zerostride.abi3.so" };
    fs::copy(library, folder.join("zerostride").join(module)).map_err(failed)?;
    let project = fs::read_to_string(package.join("pyproject.toml")).map_err(failed)?;
    fs::write(folder.join("pyproject.toml"), with_setuptools(&project)?).map_err(failed)?;
    Ok(folder.display().to_string())
}

/// The package's description with a builder that compiles nothing.
fn with_setuptools(project: &str) -> Result<String, String> {
    let dynamic = "dynamic = [\"version\"]";
    let (_, described) = project
        .split_once("[project]\n")
        .filter(|(_, described)| described.contains(dynamic))
        .ok_or_else(|| format!("{PACKAGE}/pyproject.toml: there is no `[project]` with `{dynamic}`"))?;
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    let described = described.replace(dynamic, &version);
    Ok(format!(
        "[build-system]\nrequires = [\"setuptools>=77\"]\nbuild-backend = \"setuptools.build_meta\"\n\n\
         [project]\n{described}\n\
         [tool.setuptools]\npackages.find = {{}}\npackage-data.\"*\" = [\"*\"]\n"
    ))
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

/// Makes the package's source distribution and returns its path.
fn source_distribution(python: &Path) -> Result<String, String> {
    let folder = target().join("sdist");
    let failed = |error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    pip(python, &["install", "build"])?;
    run(Command::new(python).args(["-m", "build", "--sdist", PACKAGE, "--outdir"]).arg(&folder))?;
    let made = fs::read_dir(&folder).map_err(failed)?.next();
    let made = made.ok_or_else(|| format!("{}: nothing was made", folder.display()))?;
    Ok(made.map_err(failed)?.path().display().to_string())
}

/// Runs pip in the environment of a Python.
pub(crate) fn pip(python: &Path, arguments: &[&str]) -> Outcome {
    run(&mut pip_command(python, arguments))
}

fn pip_command(python: &Path, arguments: &[&str]) -> Command {
    let mut pip = Command::new(python);
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

/// The Python of the tests' virtual environment.
pub(crate) fn own() -> PathBuf {
    python_of(&target().join(ENVIRONMENT))
}

fn python_of(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Where Cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
