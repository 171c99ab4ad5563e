//! Arrays larger than memory through `zs`: bounded memory, the same result, and whatever happens meanwhile,
//! an output that is complete or absent.

#![cfg(unix)]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use common::{names, zs_in};

/// Writes an array of zeros whose file takes no room on the disk.
fn sparse(path: &Path, rows: usize, columns: usize) {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    header += &" ".repeat(117 - header.len());
    let mut file = File::create(path).unwrap();
    file.write_all(b"\x93NUMPY\x01\x00\x76\x00").unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.write_all(b"\n").unwrap();
    file.set_len(128 + 4 * (rows * columns) as u64).unwrap();
}

/// `zs` in a folder, started by a shell that first runs `before`, such as limits on the process.
fn limited(folder: &Path, before: &str, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("{before}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_zs")]).args(args).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const STANDARDISED: [&str; 5] = ["eval", "(x + 1 - x.mean(0)) * (x.std(0) + 2)", "x=x.npy", "-o", "y.npy"];

/// Takes seconds over 8 GiB, and its result little room on the disk.
const SUMMED: [&str; 5] = ["eval", "((x + 1 - x.mean(0)) * (x.std(0) + 2)).sum(1)", "x=x.npy", "-o", "y.npy"];

#[test]
fn a_gibibyte_passes_through_a_sixteenth_of_it() {
    let folder = tempfile::tempdir().unwrap();
    sparse(&folder.path().join("x.npy"), 1 << 22, 64);
    let args =
        ["eval", "(x + 1 - x.mean(0)).sum(1)", "x=x.npy", "-o", "y.npy", "--max-memory", "64MiB", "--json"];
    let Output { status, stdout, stderr } =
        limited(folder.path(), "ulimit -v 524288", &args).output().unwrap();
    assert!(status.success(), "{}", text(&stderr));
    let summary: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(
        (&summary["bytes_read"], &summary["bytes_written"]),
        (&(2u64 << 30).into(), &(1u64 << 24).into())
    );
    assert_eq!((&summary["passes"], &summary["shape"][0]), (&2.into(), &(1 << 22).into()));
    assert!(summary["memory"].as_u64().unwrap() <= 64 << 20, "{summary}");
    if let Some(peak) = summary["peak_resident"].as_u64() {
        assert!(peak < 128 << 20, "{summary}");
    }
    assert_eq!(fs::metadata(folder.path().join("y.npy")).unwrap().len(), 128 + (1 << 24));
}

#[test]
fn what_has_to_be_whole_is_refused_by_name_if_it_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    sparse(&folder.path().join("x.npy"), 1 << 20, 64);
    for (expression, part) in [
        (
            "x.T + 1",
            "x.npy (268435456 bytes) has to be in memory whole, because rows of the result are not rows of it",
        ),
        (
            "x.T @ x",
            "x.npy (268435456 bytes) has to be in memory whole, because a product sums over its rows in one order, that of the whole: write a.T @ b as (a[:, :, None] * b[:, None, :]).sum(0), which goes in pieces, or allow more memory",
        ),
        (
            "x[:, None] - x[:1000]",
            "x.npy (268435456 bytes) has to be in memory whole, because every row of the result needs all of it",
        ),
    ] {
        let run =
            zs_in(folder.path(), &["eval", expression, "x=x.npy", "-o", "y.npy", "--max-memory", "64MiB"]);
        assert_eq!(run.status, 2, "{expression}: {}", run.stderr);
        assert!(run.stderr.replace('\n', " ").contains(part), "{expression}: {}", run.stderr);
    }
    assert_eq!(names(folder.path()), ["x.npy"]);
}

#[test]
fn a_product_over_rows_goes_in_pieces_as_its_message_says() {
    let folder = tempfile::tempdir().unwrap();
    let run = zs_in(folder.path(), &["eval", "rand(2**20, 16, seed=1)", "-o", "x.npy"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let run = zs_in(
        folder.path(),
        &[
            "eval",
            "(x[:, :, None] * x[:, None, :]).sum(0)",
            "x=x.npy",
            "-o",
            "y.npy",
            "--max-memory",
            "32MiB",
        ],
    );
    assert_eq!(run.status, 0, "{}", run.stderr);
    let run =
        zs_in(folder.path(), &["eval", "((y - x.T @ x) / y).abs().amax() < 1e-4", "x=x.npy", "y=y.npy"]);
    assert_eq!(run.stdout, "tensor(True)\n", "{}", run.stderr);
}

#[test]
fn ctrl_c_ends_after_a_piece_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    sparse(&folder.path().join("x.npy"), 1 << 25, 64);
    let child = limited(folder.path(), ":", &SUMMED).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!((status.code(), text(&stderr).trim()), (Some(130), "error: the evaluation was interrupted"));
    assert_eq!(names(folder.path()), ["x.npy"]);
}

#[test]
fn a_file_that_is_cut_short_meanwhile_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    sparse(&path, 1 << 25, 64);
    let child = limited(folder.path(), ":", &SUMMED).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let said = text(&stderr).replace('\n', " ");
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("x.npy: "), "{said}");
    assert!(said.contains("cut short"), "{said}");
    assert_eq!(names(folder.path()), ["x.npy"]);
}

#[test]
fn what_an_archive_could_not_write_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    sparse(&folder.path().join("x.npy"), 1 << 18, 64);
    let args = ["eval", "x + 1", "x=x.npy", "-o", "y.npz"];
    let Output { status, stderr, .. } =
        limited(folder.path(), "trap '' XFSZ; ulimit -f 10000", &args).output().unwrap();
    assert_eq!(status.code(), Some(2));
    let said = text(&stderr);
    assert!(said.starts_with("error: y.npz: cannot write it: File too large"), "{said}");
    assert!(!said.contains("ZipWriter"), "{said}");
    assert_eq!(names(folder.path()), ["x.npy"]);
}

#[test]
fn a_kill_at_any_moment_leaves_a_complete_file_or_none() {
    let times = if std::env::var_os("ZEROSTRIDE_LONG").is_some() { 100 } else { 8 };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    sparse(&at.join("x.npy"), 1 << 19, 64);
    let started = Instant::now();
    assert!(limited(at, ":", &STANDARDISED).status().unwrap().success());
    let takes = started.elapsed();
    let complete = fs::read(at.join("y.npy")).unwrap();
    for round in 0..times {
        fs::remove_file(at.join("y.npy")).ok();
        let mut child = limited(at, ":", &STANDARDISED).spawn().unwrap();
        std::thread::sleep(takes.mul_f64((round as f64 * 0.618).fract() * 1.2));
        child.kill().unwrap();
        let _: ExitStatus = child.wait().unwrap();
        for name in names(at) {
            match &*name {
                "x.npy" => {}
                "y.npy" => assert!(fs::read(at.join("y.npy")).unwrap() == complete, "round {round}"),
                other => {
                    assert!(other.starts_with(".zerostride-") && other.ends_with(".tmp"), "{other}");
                    fs::remove_file(at.join(other)).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_limit_on_files_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    sparse(&folder.path().join("x.npy"), 1 << 18, 64);
    let Output { status, stderr, .. } =
        limited(folder.path(), "trap '' XFSZ; ulimit -f 10000", &STANDARDISED).output().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(text(&stderr).contains("y.npy: cannot write it: File too large"), "{}", text(&stderr));
    assert_eq!(names(folder.path()), ["x.npy"]);
}

#[test]
fn a_full_disk_is_met_before_anything_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    sparse(&folder.path().join("x.npy"), 1 << 18, 64);
    fs::create_dir(folder.path().join("small")).unwrap();
    let mount = "mount -t tmpfs -o size=8m tmpfs small && touch small/mounted";
    let script = format!("{mount} || exit 77; \"$0\" \"$@\"; status=$?; ls -A small; exit $status");
    let args = ["eval", "x + 1", "x=x.npy", "-o", "small/y.npy"];
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", &script, env!("CARGO_BIN_EXE_zs")])
        .args(args)
        .current_dir(folder.path());
    let Ok(Output { status, stdout, stderr }) = command.output() else {
        return eprintln!("not tested: there is no unshare(1) to mount a small disk with");
    };
    if status.code() != Some(2) && !text(&stderr).contains("small/y.npy") {
        return eprintln!("not tested: a small disk cannot be mounted here: {}", text(&stderr));
    }
    assert_eq!((status.code(), text(&stdout).trim()), (Some(2), "mounted"));
    let said = text(&stderr).replace('\n', " ");
    assert!(said.contains("small/y.npy: cannot write it: no space left on device: 67108992 bytes"), "{said}");
}
