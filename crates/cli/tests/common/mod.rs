//! Running `zs` as a user does.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;

/// What a run of `zs` left behind.
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `zs` in a folder, without colours and without what the caller's environment says about them.
pub(crate) fn zs_in(folder: &Path, args: &[&str]) -> Run {
    zs_with(folder, args, None)
}

/// Runs `zs` as an Italian user does.
pub(crate) fn zs_in_italian(folder: &Path, args: &[&str]) -> Run {
    zs_with(folder, args, Some("it_IT.UTF-8"))
}

fn zs_with(folder: &Path, args: &[&str], lang: Option<&str>) -> Run {
    let mut command = Command::cargo_bin("zs").expect("the binary is built with its tests");
    for variable in
        ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG"]
    {
        command.env_remove(variable);
    }
    command.envs(lang.map(|lang| ("LANG", lang)));
    let output = command.current_dir(folder).args(args).output().expect("zs starts");
    Run {
        status: output.status.code().expect("zs is not killed by a signal"),
        stdout: String::from_utf8(output.stdout).expect("zs writes UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("zs writes UTF-8"),
    }
}

/// Runs `zs` where no file matters.
pub(crate) fn zs(args: &[&str]) -> Run {
    zs_in(Path::new("."), args)
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A folder that the test alone uses.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Runs `zs`, which must succeed silently but for its result.
pub(crate) fn ok(folder: &Path, args: &[&str]) -> String {
    let Run { status, stdout, stderr } = zs_in(folder, args);
    assert_eq!((status, stderr.as_str()), (0, ""), "{args:?}");
    stdout
}

/// Runs `zs`, which must fail without a result; the answer is what it says.
pub(crate) fn fails(folder: &Path, args: &[&str], expected: i32) -> String {
    let Run { status, stdout, stderr } = zs_in(folder, args);
    assert_eq!((status, stdout.as_str()), (expected, ""), "{args:?}: {stderr}");
    stderr
}
