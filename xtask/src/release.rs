//! Owns `cargo xtask release --check`: what must hold before a version is published. It publishes nothing;
//! RELEASING.md says what does.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Outcome, root, run};

/// The crates that go to crates.io, each after those that it uses.
const PUBLISHED: [(&str, &str); 8] = [
    ("zerostride-shape", "crates/shape"),
    ("zerostride-ops", "crates/ops"),
    ("zerostride-code", "crates/code"),
    ("zerostride-kernels", "crates/kernels"),
    ("zerostride-cuda", "crates/cuda"),
    ("zerostride", "crates/zerostride"),
    ("zerostride-explain", "crates/explain"),
    ("zerostride-cli", "crates/cli"),
];

/// What every package holds beside its sources.
const BESIDE: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// The most that a file of a package takes: golden answers and pictures stay in the repository.
const LARGEST_FILE_BYTES: u64 = 256 << 10;

/// Checks what is written down, builds the packages from themselves alone, and reports all that is wrong.
pub(crate) fn check() -> Outcome {
    let read = |name: &str| fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"));
    let (manifest, changes) = (read("Cargo.toml")?, read("CHANGELOG.md")?);
    let mut problems = written_down(&manifest, &changes);
    for (name, folder) in PUBLISHED {
        problems.extend(contents(name, &root().join(folder)).err());
    }
    let packages = |but: &str| {
        let named = PUBLISHED.iter().filter(move |(name, _)| *name != but);
        named.flat_map(|(name, _)| ["--package", name]).collect::<Vec<_>>()
    };
    problems.extend(cargo("package --locked", &packages("")).err());
    problems.extend(tool("deny", "check", &[]).err());
    // There is nothing to compare a first version with, and `kernels` promises nothing.
    if versions(&changes).count() > 1 {
        problems.extend(tool("semver-checks", "", &packages("zerostride-kernels")).err());
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// What is wrong in the workspace's manifest and the list of changes.
fn written_down(manifest: &str, changes: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let value = |key: &str| {
        let mut lines = manifest.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        lines.next().unwrap_or("").trim_matches('"')
    };
    if value("repository").is_empty() {
        problems.push("Cargo.toml: `repository` is empty: state the repository's address".to_owned());
    }
    let exact = format!("version = \"={}\"", value("version"));
    for line in manifest.lines().filter(|line| line.starts_with("zerostride") && !line.contains(&exact)) {
        problems.push(format!("Cargo.toml: state {exact} in: {line}"));
    }
    if versions(changes).next() != Some(value("version")) {
        problems.push(format!("CHANGELOG.md: the newest version is not {}", value("version")));
    }
    problems
}

/// The versions that the list of changes tells of, newest first.
fn versions(changes: &str) -> impl Iterator<Item = &str> {
    let titles = changes.lines().filter_map(|line| line.strip_prefix("## "));
    titles.filter(|title| title.starts_with(char::is_numeric)).filter_map(|title| title.split(' ').next())
}

/// Whether a package holds what it should, and no more.
fn contents(name: &str, folder: &Path) -> Outcome {
    let mut list = Command::new(env!("CARGO"));
    list.args(["package", "--list", "--allow-dirty", "--package", name]).current_dir(root());
    let output = list.output().map_err(|error| format!("cargo package: {error}"))?;
    let list = String::from_utf8_lossy(&output.stdout);
    let files: Vec<&str> = list.lines().collect();
    if let Some(missing) = BESIDE.iter().find(|file| !files.contains(file)) {
        return Err(format!("{name}: {missing} is not in the package"));
    }
    let len = |file: &&&str| fs::metadata(folder.join(file)).map_or(0, |data| data.len());
    match files.iter().find(|file| **file != "Cargo.lock" && len(file) > LARGEST_FILE_BYTES) {
        Some(large) => Err(format!("{name}: {large} is too large for a package")),
        None => Ok(()),
    }
}

fn cargo(command: &str, rest: &[&str]) -> Outcome {
    run(Command::new(env!("CARGO")).args(command.split(' ').filter(|word| !word.is_empty())).args(rest))
}

/// Runs a command that Cargo can be given, where it is installed.
fn tool(name: &str, command: &str, rest: &[&str]) -> Outcome {
    let is_there = Command::new(format!("cargo-{name}")).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("\nLEFT OUT: cargo {name}; `cargo install --locked cargo-{name}` installs it");
        return Ok(());
    }
    cargo(&format!("{name} {command}"), rest)
}
