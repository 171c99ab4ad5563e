//! What becomes of files that are written: which names are refused, what is replaced, what is said where
//! nothing can be written.

mod common;

use std::fs;
#[cfg(unix)]
use std::process::Command;

use common::{fails, folder, ok};

/// Where a file that is open cannot be renamed over, it is refused, and stays.
#[cfg(windows)]
#[test]
fn an_output_that_is_an_input_is_replaced_or_refused_and_stays() {
    let folder = folder();
    let at = folder.path();
    ok(at, &["eval", "arange(3)", "-o", "x.npy"]);
    let run = common::zs_in(at, &["eval", "x + x", "x=x.npy", "-o", "x.npy", "--force"]);
    let expected = if run.status == 0 { "tensor([0, 2, 4])\n" } else { "tensor([0, 1, 2])\n" };
    assert!(run.status == 0 || run.stderr.contains("x.npy: cannot give it its name"), "{}", run.stderr);
    assert_eq!(ok(at, &["eval", "x", "x=x.npy"]), expected);
    assert_eq!(common::names(at), ["x.npy"]);
}

#[cfg(unix)]
#[test]
fn the_output_may_be_one_of_the_inputs() {
    let folder = folder();
    let at = folder.path();
    let shown = |name: &str| ok(at, &["eval", "x", &format!("x={name}")]);
    ok(at, &["eval", "arange(3)", "-o", "x.npy"]);
    // The same path.
    ok(at, &["eval", "x[::-1] + x", "x=x.npy", "-o", "x.npy", "--force"]);
    assert_eq!(shown("x.npy"), "tensor([2, 2, 2])\n");
    // A hard link keeps the old content.
    fs::hard_link(at.join("x.npy"), at.join("hard.npy")).unwrap();
    ok(at, &["eval", "x + y", "x=x.npy", "y=hard.npy", "-o", "hard.npy", "--force"]);
    assert_eq!(
        (shown("x.npy").as_str(), shown("hard.npy").as_str()),
        ("tensor([2, 2, 2])\n", "tensor([4, 4, 4])\n")
    );
    // A symbolic link leads to the file.
    std::os::unix::fs::symlink("x.npy", at.join("soft.npy")).unwrap();
    ok(at, &["eval", "x + y", "x=x.npy", "y=soft.npy", "-o", "soft.npy", "--force"]);
    assert_eq!(shown("x.npy"), "tensor([4, 4, 4])\n");
    assert!(at.join("soft.npy").is_symlink());
    // A failure leaves the file as it was.
    fails(at, &["eval", "x + ones(2)", "x=x.npy", "-o", "x.npy", "--force"], 1);
    fails(at, &["eval", "x // 0", "x=x.npy", "-o", "x.npy", "--force"], 1);
    let stderr = fails(at, &["eval", "x + 1", "x=x.npy", "-o", "x.npy"], 2);
    assert!(stderr.contains("x.npy: it exists already") && stderr.contains("--force"), "{stderr}");
    assert!(shown("x.npy").starts_with("tensor("));
    let left: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{left:?}");
}

#[test]
fn an_unknown_ending_is_refused_before_anything_is_read() {
    let folder = folder();
    let stderr = fails(folder.path(), &["eval", "x", "x=missing.npy", "-o", "out.txt"], 2);
    assert!(stderr.contains("out.txt") && !stderr.contains("missing.npy"), "{stderr}");
}

#[test]
fn an_output_that_cannot_be_is_refused_before_anything_is_read() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("file"), "").unwrap();
    let long = "n".repeat(300) + ".npy";
    for name in ["no/such/folder/y.npy", "y.npy/", "file/y.npy", &long] {
        for dry in [&[][..], &["--dry-run"]] {
            let said = fails(at, &[&["eval", "x", "x=missing.npy", "-o", name], dry].concat(), 2);
            let elsewhere = ["missing.npy", ".zerostride-"];
            assert!(elsewhere.iter().all(|name| !said.contains(name)), "{name}: {said}");
        }
    }
    // The dtype is known once the expression is, and the elements are not needed for that.
    for dry in [&[][..], &["--dry-run"]] {
        let args = ["eval", "rand(10).to('bf16')", "-o", "y.npy"];
        let said = fails(at, &[&args, dry].concat(), 2);
        assert!(said.contains("y.npy: dtype `bf16` does not exist in NPY"), "{said}");
    }
}

#[test]
fn two_results_never_go_to_one_file() {
    let folder = folder();
    let at = folder.path();
    fs::create_dir(at.join("sub")).unwrap();
    let pairs = [["p.npy", "p.npy"], ["sub/k.npy", "./sub/../sub/k.npy"], ["t.csv", "./t.csv"], ["-", "-"]];
    for [one, other] in pairs {
        for more in [&[][..], &["--force"], &["--dry-run"]] {
            // The error comes before a file is read.
            let args = [&["eval", "x, x + 1", "x=missing.npy", "-o", one, "-o", other], more].concat();
            let said = fails(at, &args, 2);
            assert!(said.starts_with("error: two results are written to "), "{args:?}: {said}");
        }
    }
    assert_eq!(common::names(at), ["sub"]);
    #[cfg(unix)]
    {
        ok(at, &["eval", "1", "-o", "p.npy"]);
        std::os::unix::fs::symlink("p.npy", at.join("link.npy")).unwrap();
        fails(at, &["eval", "1, 2", "-o", "p.npy", "-o", "link.npy", "--force"], 2);
    }
    ok(at, &["eval", "1, 2", "-o", "sub/k.npy", "-o", "k.npy"]);
}

#[test]
fn options_that_would_change_nothing_are_refused_with_what_they_need() {
    let folder = folder();
    let at = folder.path();
    for (args, problem) in [
        (&["eval", "x", "--format", "csv"][..], "--format says what goes to standard output"),
        (&["eval", "x", "--format", "npy", "-o", "y.npy"], "--format says what goes to standard output"),
        (&["eval", "x", "--compress", "gzip", "-o", "y.npy"], "--compress is for .zarr results"),
        (&["eval", "x", "--compress", "none"], "--compress is for .zarr results"),
        (&["eval", "x", "--zarr-format", "3", "-o", "y.csv"], "--zarr-format is for .zarr results"),
        (&["eval", "x", "--force"], "--force replaces a file, and there is no -o"),
        (&["explain", "3", "--force"], "--force replaces a file, and there is no -o"),
    ] {
        let operand = if args[0] == "eval" { &["x=missing.npy"][..] } else { &[] };
        let said = fails(at, &[args, operand].concat(), 2);
        assert!(said.starts_with(&format!("error: {problem}")) && said.contains("\nhelp: "), "{said}");
    }
    ok(at, &["eval", "1", "--compress", "gzip", "--zarr-format", "2", "-o", "y.zarr"]);
    ok(at, &["eval", "1, 2", "--format", "csv", "-o", "y.npy", "-o", "-"]);
}

#[test]
fn explanations_go_to_files_too() {
    let folder = folder();
    let at = folder.path();
    assert_eq!(ok(at, &["explain", "3", "3,1", "-o", "x.txt"]), "");
    assert!(fs::read_to_string(at.join("x.txt")).unwrap().contains("(3, 3)"));
    for (file, format, start) in [
        ("x.json", "json", "{\"version\":1,"),
        ("x.svg", "svg", "<svg "),
        ("x.html", "html", "<!doctype html>\n<html lang=\"en\">"),
    ] {
        assert_eq!(ok(at, &["explain", "3", "3,1", "--format", format, "-o", file]), "");
        let written = fs::read_to_string(at.join(file)).unwrap();
        assert!(written.starts_with(start), "{written}");
        // Without a format the ending decides.
        assert_eq!(ok(at, &["explain", "3", "3,1", "-o", file, "--force"]), "");
        assert_eq!(fs::read_to_string(at.join(file)).unwrap(), written);
        assert_eq!(ok(at, &["explain", "3", "3,1", "--format", format]), written);
    }
}

/// As the output of an evaluation does.
#[cfg(unix)]
#[test]
fn an_explanation_replaces_a_file_only_if_it_is_told_to_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let at = folder.path();
    ok(at, &["explain", "3", "-o", "x.svg"]);
    let first = fs::read(at.join("x.svg")).unwrap();
    let mode = |name: &str| fs::metadata(at.join(name)).unwrap().permissions().mode();
    fs::write(at.join("plain"), "").unwrap();
    assert_eq!(mode("x.svg"), mode("plain"), "it is made as other files are");

    let refused = fails(at, &["explain", "4", "-o", "x.svg"], 2);
    assert!(refused.contains("x.svg: it exists already") && refused.contains("--force"), "{refused}");
    assert_eq!(fs::read(at.join("x.svg")).unwrap(), first);

    std::os::unix::fs::symlink("x.svg", at.join("link.svg")).unwrap();
    fs::set_permissions(at.join("x.svg"), fs::Permissions::from_mode(0o640)).unwrap();
    ok(at, &["explain", "4", "-o", "link.svg", "--force"]);
    assert!(at.join("link.svg").is_symlink() && fs::read(at.join("x.svg")).unwrap() != first);
    assert_eq!(mode("x.svg") & 0o777, 0o640);

    assert!(Command::new("mkfifo").arg(at.join("pipe.svg")).status().unwrap().success());
    let refused = fails(at, &["explain", "4", "-o", "pipe.svg", "--force"], 2);
    assert!(refused.contains("pipe.svg: ") && refused.contains("it is a pipe; move it away"), "{refused}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_an_error() {
    for args in [&["help"][..], &["--help"], &["--version"], &["man"], &["eval", "1"], &["explain", "3"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("zs"));
        let output = command.args(args).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(said.starts_with("error: cannot write the output: "), "{said}");
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("zs"));
    let output = command.args(["eval", "1", "-o", "-"]).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: standard output: cannot write it: "), "{said}");
}
