//! Owns the repository's root and the running of programs there. It does not know commands.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a command: an error is a message for the user.
pub(crate) type Outcome = Result<(), String>;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Runs a program in the repository's root and prints its command line.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    let shown = words.join(" ");
    eprintln!("\n$ {shown}");
    let status =
        command.current_dir(root()).status().map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed: {status}")) }
}
