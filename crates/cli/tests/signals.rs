//! Ctrl-C and the other signals that ask for an end: it comes soon, whatever is going on, and leaves nothing
//! behind.

#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{names, zs_in};

/// Minutes of work in little memory, and minutes of work in functions that run at once.
const LONG: [&str; 2] =
    ["exp(sin(rand(400000, 1) + rand(1, 400000))).sum()", "sort(rand(2**28).sin())[0].sum()"];

/// The signals and their exit statuses; without SIGHUP where these tests run under nohup.
fn signals() -> Vec<(&'static str, i32)> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    let all = [("INT", 130), ("TERM", 143), ("HUP", 129)];
    all[..if ignored & 1 == 1 { 2 } else { 3 }].to_vec()
}

/// Starts `zs` by a shell that first runs `before`.
fn start(folder: &Path, before: &str, args: &[&str]) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_zs")]);
    command.args(args).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn send(child: &Child, signal: &str) {
    let arguments = [format!("-{signal}"), child.id().to_string()];
    assert!(Command::new("kill").args(arguments).status().unwrap().success());
}

/// The exit status, which must come within seconds of a busy machine.
fn status(child: &mut Child) -> Option<i32> {
    let asked = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if asked.elapsed() > Duration::from_secs(10) {
            child.kill().unwrap();
            panic!("it goes on");
        }
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_ends_what_is_computed_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    for expression in LONG {
        for (signal, expected) in signals() {
            for output in [&[][..], &["-o", "y.npy"]] {
                let mut child = start(folder.path(), ":", &[&["eval", expression], output].concat());
                sleep(Duration::from_millis(300));
                send(&child, signal);
                assert_eq!(status(&mut child), Some(expected), "{expression} {output:?}");
                assert!(names(folder.path()).is_empty(), "{expression} {output:?}");
            }
        }
    }
}

#[test]
fn a_signal_ends_what_is_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(zs_in(folder.path(), &["eval", "rand(2**22, 16)", "-o", "x.npy"]).status, 0);
    for (signal, expected) in signals() {
        // The temporary file is there while the rows are computed.
        let args = [
            "eval",
            "(x[:, :, None] * x[:, None, :]).sum(2).sin().exp().sin().exp() + x",
            "x=x.npy",
            "-o",
            "y.npy",
        ];
        let mut child = start(folder.path(), ":", &args);
        let begun = Instant::now();
        while names(folder.path()).len() < 2 && begun.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(1));
        }
        send(&child, signal);
        assert_eq!(status(&mut child), Some(expected));
        assert_eq!(names(folder.path()), ["x.npy"]);
    }
}

/// As under nohup.
#[test]
fn a_hangup_that_was_to_be_ignored_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), "trap '' HUP", &["eval", LONG[0], "-o", "y.npy"]);
    sleep(Duration::from_millis(300));
    send(&child, "HUP");
    sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it has ended");
    send(&child, "INT");
    assert_eq!(status(&mut child), Some(130));
}
