//! What people read, as a whole: the tour, the help, explanations, errors. Review a change with
//! `cargo insta review`.

mod common;

use common::{Run, zs};

/// A run as a terminal shows it.
fn session(args: &[&str]) -> String {
    let Run { status, stdout, stderr } = zs(args);
    let quoted = args.iter().map(|arg| match arg.contains(|c: char| " ()[]*'<>|&;".contains(c)) {
        true => format!(" \"{arg}\""),
        false => format!(" {arg}"),
    });
    format!("$ zs{}\n{stdout}{stderr}[{status}]\n", quoted.collect::<String>())
}

#[test]
fn tour() {
    insta::assert_snapshot!(session(&[]));
}

#[test]
fn help() {
    for command in ["", "explain", "eval", "info", "completions", "man"] {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|arg| !arg.is_empty()).collect();
        insta::assert_snapshot!(format!("help {command}").trim_end().replace(' ', "_"), session(&args));
    }
}

#[test]
fn explanations() {
    let sessions = [
        session(&["explain", "5,1,4,1", "3,1,2"]),
        session(&["explain", "x=32,10", "y=32", "--op", "mul"]),
        session(&["explain", "1,3,1", "3,1,7", "--in-place", "--op", "+"]),
        session(&["explain", "5,1,4,1", "3,1,2", "--format", "json"]),
        session(&["explain", "(5,2,4,1)", "[3,1,1]", "--format", "json"]),
    ];
    insta::assert_snapshot!(sessions.join("\n"));
}

#[test]
fn policies() {
    let loss = |expression: &str, rules: &[&str]| {
        let line = ["eval", expression, "output=[[0.5], [1], [2]]", "target=[1.0, 2, 3]"];
        session(&[&line[..], rules].concat())
    };
    let sessions = [
        loss("((output - target) ** 2).mean()", &["--policy", "mutual_stretch=error"]),
        loss(
            "((output - target) ** 2).mean()",
            &["--policy", "mutual_stretch=warn", "--policy", "same_numel=warn"],
        ),
        loss("((output.squeeze() - target) ** 2).mean()", &["--policy", "mutual_stretch=error"]),
        loss("output * target", &["--policy", "max_bytes=16"]),
        loss("output.sub(2).maximum(target)", &["--policy", "rank_added=error", "--dry-run"]),
        loss("output", &["--policy", "mutual=error"]),
        loss("output", &["--policy", "stretched=forbid"]),
    ];
    insta::assert_snapshot!(sessions.join("\n"));
}

#[test]
fn errors_of_the_language() {
    let of = |expression: &str| session(&["eval", expression]);
    let sessions = [
        of("(x + 1"),
        of("x + * 2"),
        of("a < b < c"),
        of("a and b"),
        of("a if b else c"),
        of("x = 3"),
        of("größe + 1"),
        of("1e999"),
        of("3 + 9223372036854775808"),
        of("2x"),
        of("sqr(2)"),
        of("average([1, 2])"),
        of("torch.exp(1)"),
        of("sum + 1"),
        of("[1].shape"),
        of("[1].sum"),
        of("[[1, 2], [3]]"),
        of("1 / 0"),
        of("zeros(2).expand(-1, 2, size=3)"),
        of("div(1, [2], rounding_mode='up')"),
    ];
    insta::assert_snapshot!(sessions.join("\n"));
}

#[test]
fn errors_of_the_engine() {
    let sessions = [
        session(&["eval", "(x - mean(x, 1)) / 2", "x=[[1.0, 2, 3], [4, 5, 6]]"]),
        session(&["eval", "exp(x) + y[:, None] * 2", "x=[[1, 2, 3], [4, 5, 6]]", "y=[1, 2, 3, 4, 5]"]),
        session(&["eval", "x.add_(y)", "x=[[1, 2, 3]]", "y=[[1], [2]]"]),
        session(&["eval", "x.add_(0.5)", "x=[1]"]),
        session(&["eval", "-m", "m=[True]"]),
        session(&["eval", "1 + x ** -1", "x=[1]"]),
        session(&["eval", "x @ y", "x=ones(2,3)", "y=ones(2,3)"]),
        session(&["eval", "x.reshape(4)", "x=[1, 2, 3]"]),
        session(&["eval", "x & 1.5", "x=[1]"]),
    ];
    insta::assert_snapshot!(sessions.join("\n"));
}

#[test]
fn errors_of_arguments() {
    let sessions = [
        session(&["explain", "3,True"]),
        session(&["explain", "3", "4x5"]),
        session(&["explain", "3", "3", "--op", "ad"]),
        session(&["explain", "3", "3", "--op", "where"]),
        session(&["explain", "3", "-o", "picture.png"]),
        session(&["eval", "x", "x"]),
        session(&["eval", "x", "x=[1]:f33"]),
        session(&["eval", "x", "x=[1, 300]:u8"]),
        session(&["eval", "x", "x=[1, nan]:i32"]),
        session(&["eval", "x", "x=1j:f32"]),
        session(&["eval", "x", "x=image.png"]),
        session(&["eval", "x + Y", "x=1", "y=2"]),
        session(&["eval", "--pln", "x"]),
        session(&["eval", "x", "x=1", "-o", "out.txt"]),
        session(&["eval", "zeros(10000, 10000)", "--max-memory", "64MiB"]),
        session(&["info", "missing.npy"]),
    ];
    // What the system says of the last.
    let missing = std::io::Error::from_raw_os_error(2).to_string();
    insta::assert_snapshot!(sessions.join("\n").replace(&missing, "No such file or directory (os error 2)"));
}
