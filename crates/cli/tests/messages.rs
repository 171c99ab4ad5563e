//! What is said about command lines, limits and names, in which colours, and how long it may be.

mod common;

use std::fs;
use std::process::Command;

use common::{fails, folder, ok, zs, zs_in};

#[test]
fn a_number_of_threads_has_a_limit_wherever_it_is_said() {
    let with = |variable: &str, args: &[&str]| {
        let mut zs = assert_cmd::Command::cargo_bin("zs").unwrap();
        let output = zs.env("RAYON_NUM_THREADS", variable).args(args).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for number in ["1", "2", "1024", "0", ""] {
        assert_eq!(with(number, &["eval", "rand(500, 500).sum()"]), (Some(0), String::new()), "{number}");
    }
    let (status, said) = with("1000000000", &["eval", "rand(500, 500).sum()"]);
    assert_eq!(status, Some(2));
    assert!(said.contains("RAYON_NUM_THREADS=1000000000: at most 1024 threads"), "{said}");
    for text in ["abc", "-1"] {
        let (status, said) = with(text, &["eval", "1"]);
        let problem = format!("RAYON_NUM_THREADS={text}: set it to a number of threads, or unset it");
        assert!(status == Some(2) && said.contains(&problem), "{said}");
    }
    assert_eq!(with("1000000000", &["eval", "1", "--threads", "2"]).0, Some(2));
    assert_eq!(with("1000000000", &["explain", "[[1, 2]]"]).0, Some(2));
    assert!(with("1", &["eval", "1", "--threads", "1000000000"]).1.contains("write a number from 1 to 1024"));
}

#[test]
fn too_little_memory_is_told_with_the_limit_that_was_given() {
    let folder = folder();
    let args = ["eval", "rand(1000, 1000) + 1", "-o", "y.npy", "--max-memory", "4016046"];
    let said = fails(folder.path(), &args, 2).replace('\n', " ");
    let parts = ["--max-memory allows 4016046 bytes: ", "1 row is the least that can be computed at a time"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    ok(folder.path(), &["eval", "rand(1000, 3)", "-o", "x.npy"]);
    let args = ["eval", "x[:, None] - x", "x=x.npy", "--max-memory", "30000"];
    let said = fails(folder.path(), &args, 2).replace('\n', " ");
    let parts = ["--max-memory allows 29.3 KiB: ", "1 row of x.npy is the least that can be read at a time"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
}

#[test]
fn names_in_files_do_not_steer_the_terminal() {
    let folder = folder();
    let header = "{\"a\u{202e}b\u{200f}\u{1b}\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}"
        .replace('\u{1b}', "\\u001b");
    let content = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0]].concat();
    fs::write(folder.path().join("x.safetensors"), content).unwrap();
    let listed = ok(folder.path(), &["info", "x.safetensors"]);
    assert!(listed.contains(r"a\u{202e}b\u{200f}\u{1b}") && !listed.contains('\u{202e}'), "{listed:?}");
}

#[test]
fn monstrous_names_are_not_repeated() {
    let folder = folder();
    let name = "q".repeat(500);
    let policy = format!("{name}=error");
    for args in [
        &["eval", &*name][..],
        &["eval", &format!("{name}(2)")],
        &["eval", &format!("sum([1], {name}=3)")],
        &["eval", "x", &format!("x=1:{name}")],
        &["eval", "1", "--policy", &policy],
        &["explain", "3", "--op", &name],
        &["man", &name],
        &[&name],
    ] {
        let said = fails(folder.path(), args, 2);
        assert!(!said.contains(&name[..100]), "{said}");
    }
}

#[test]
fn colours_follow_the_option_and_the_environment() {
    let styled = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("zs"));
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(variable);
        }
        let output = command.args(args).envs(variables.iter().copied()).output().unwrap();
        output.stdout.contains(&0x1b) || output.stderr.contains(&0x1b)
    };
    for args in [&["explain", "3", "4"][..], &["eval", "x"], &["explain", "5x3"]] {
        assert!(!styled(args, &[]));
        assert!(styled(&[args, &["--color", "always"]].concat(), &[]));
        assert!(styled(&[args, &["--color", "always"]].concat(), &[("NO_COLOR", "1")]));
        assert!(styled(args, &[("CLICOLOR_FORCE", "1")]));
        assert!(!styled(&[args, &["--color", "never"]].concat(), &[("CLICOLOR_FORCE", "1")]));
        assert!(!styled(args, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    }
}

#[test]
fn a_command_line_that_is_not_understood_keeps_to_the_colours_that_it_asks_for() {
    let styled = |args: &[&str]| {
        let mut zs = assert_cmd::Command::cargo_bin("zs").unwrap();
        let output = zs.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(if args.contains(&"--help") { 0 } else { 2 }));
        output.stdout.contains(&0x1b) || output.stderr.contains(&0x1b)
    };
    for args in [&["frobnicate"][..], &["eval", "--threads", "0"], &["--help"]] {
        assert!(styled(args));
        assert!(!styled(&[&["--color", "never"], args].concat()));
        assert!(!styled(&[args, &["--color=never"]].concat()));
    }
}

#[test]
fn help_has_help_and_fits_a_terminal() {
    assert_eq!(zs(&["help"]).stdout, zs(&["--help"]).stdout);
    assert_eq!(zs(&["help", "eval"]).stdout, zs(&["eval", "--help"]).stdout);
    assert!(zs(&["help", "--help"]).stdout.contains("Usage: zs help [OPTIONS] [COMMAND]"));
    for command in [&[][..], &["explain"], &["eval"], &["info"]] {
        let help = zs(&[command, &["--help"]].concat()).stdout;
        let examples = help.split("\n\n").next().unwrap();
        assert!(
            examples.starts_with("Examples:") && examples.lines().all(|line| line.len() <= 80),
            "{examples}"
        );
        assert!(help.contains("Exit status: 0 done; 1 "));
    }
}

#[test]
fn monstrous_expressions_are_refused_in_time() {
    let folder = folder();
    // A command line of Windows has 32,767 characters.
    let most = if cfg!(windows) { 30_000 } else { 100_000 };
    let nested = "(".repeat(most / 2) + "1" + &")".repeat(most / 2);
    let digits = "9".repeat(most);
    for text in [nested, digits, "é".repeat(most / 2)] {
        let stderr = fails(folder.path(), &["eval", &text], 2);
        assert!(stderr.len() < 2000, "a long text is shown in part: {} bytes", stderr.len());
    }
    // However many operations depend on each other, the stack and time hold out.
    let times = most / 5;
    let [one, two] = [times + 1, 2 * times + 2].map(|sum| sum.to_string());
    for (text, value) in [
        ("1+".repeat(times) + "1", format!("tensor({one})")),
        ("x+".repeat(times) + "x", format!("tensor([{one:>0$}, {two}])", two.len())),
        ("x".to_owned() + &".T".repeat(times), "tensor([1, 2])".to_owned()),
        ("x".to_owned() + &".T.exp().log()".repeat(times / 7), "tensor([1., 2.])".to_owned()),
    ] {
        let operand = text.contains('x').then_some("x=[1, 2]");
        let eval = |options: &[&'static str]| -> Vec<&str> {
            ["eval", &text].into_iter().chain(operand).chain(options.iter().copied()).collect()
        };
        assert_eq!(ok(folder.path(), &eval(&[])).trim(), value);
        ok(folder.path(), &eval(&["--dry-run"]));
        // The plan is printed beside the result.
        let planned = zs_in(folder.path(), &eval(&["--plan", "--policy", "mutual_stretch=warn"]));
        assert!(planned.status == 0 && planned.stderr.contains("scratch"), "{:.1000}", planned.stderr);
    }
}

#[test]
fn one_is_no_plural() {
    let folder = folder();
    for (args, line) in [
        (&["eval", "x.max(), x.sum()", "x=[1, 2]", "-o", "y.npy"][..], "there are 2 results, and 1 output"),
        (&["eval", "x", "x=[1, 2]", "-o", "y.npy", "-o", "z.npy"], "there is 1 result, and 2 outputs"),
        (&["explain", "3", "--op", "add"], "`add` takes 2 operands, and 1 shape is given"),
        (&["explain", "3", "3", "--op", "exp"], "`exp` takes 1 operand, and 2 shapes are given"),
        (&["eval", "exp([1], 2)"], "exp() takes 1 positional argument but 2 were given"),
        (&["eval", "xlogy([1], 2, 3)"], "xlogy() takes 2 positional arguments but 3 were given"),
    ] {
        let said = fails(folder.path(), args, 2);
        assert!(said.starts_with(&format!("error: {line}")), "{said}");
    }
}

/// How a value is written is told where it was not understood, and nowhere else.
#[test]
fn a_value_that_was_understood_is_not_explained() {
    let folder = folder();
    let help =
        |status, value: &str| fails(folder.path(), &["eval", "x", value], status).contains("a value is");
    for value in ["x=", "x=foo", "x=[1", "x=1 2"] {
        assert!(help(2, value), "{value}");
    }
    for (status, value) in [(2, "x=[300]:u8"), (2, "x=[1]:f33"), (1, "x=[1, 2] + [1, 2, 3]"), (2, "x=1 / 0")]
    {
        assert!(!help(status, value), "{value}");
    }
}

/// As `x.to(float)` in PyTorch.
#[test]
fn dtypes_have_pythons_and_pytorchs_names() {
    let folder = folder();
    for (expression, value, printed) in [
        ("x.to(float)", "x=1", "tensor(1., dtype=torch.float64)"),
        ("x.astype(int)", "x=1.5", "tensor(1)"),
        ("x.to(bool)", "x=[0, 2]", "tensor([False,  True])"),
        ("x", "x=1:torch.float32", "tensor(1.)"),
        ("x.to('torch.int')", "x=1", "tensor(1, dtype=torch.int32)"),
        ("arange(2, dtype=f64) + x", "x=1", "tensor([1., 2.], dtype=torch.float64)"),
        ("sum(x, dtype=f32)", "x=[1, 2]", "tensor(3.)"),
        ("x.sum(dtype='u8')", "x=[200, 100]", "tensor(44, dtype=torch.uint8)"),
        ("x.mean(0, dtype=float)", "x=[1, 2]", "tensor(1.5000, dtype=torch.float64)"),
        ("x.softmax(0, dtype=f64)", "x=[1, 1]", "tensor([0.5000, 0.5000], dtype=torch.float64)"),
        ("mean(dtype=f64, input=x)", "x=[1, 2]", "tensor(1.5000, dtype=torch.float64)"),
        ("x.prod(dtype=None)", "x=[3, 2]", "tensor(6)"),
        ("linspace(0, 4, 3, dtype=int) * x", "x=1", "tensor([0, 2, 4])"),
    ] {
        assert_eq!(ok(folder.path(), &["eval", expression, value]), format!("{printed}\n"));
    }
    let said = fails(folder.path(), &["eval", "x.to(torch.float32)", "x=1"], 2);
    assert!(said.contains("functions and dtypes stand alone: exp(x) and f32"), "{said}");
}

#[test]
fn the_list_of_functions_has_them_all() {
    let list = zs(&["help", "functions"]).stdout;
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    let calls = [
        "abs, absolute(input)",
        "sum(input, dim=None, keepdim=False, *, dtype=None)",
        "mm(input, mat2)",
        "topk(input, k,",
        "einsum(equation, *operands)",
        "rand(*size, seed=None)",
        "isin(elements, test_elements,",
        "to(input, dtype)",
    ];
    for call in calls {
        assert!(list.contains(call), "{call}");
    }
}
