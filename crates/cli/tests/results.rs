//! Several results, results for programs, tables, and standard input and output.

mod common;

use std::fs;
use std::process::{Command, Output, Stdio};

use common::{zs, zs_in};

/// A run with an input.
fn piped(args: &[&str], input: &[u8]) -> Output {
    use std::io::Write;
    let mut zs = Command::new(env!("CARGO_BIN_EXE_zs"));
    let run = zs.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = run.spawn().unwrap();
    // What is refused is not read.
    let _ = run.stdin.take().unwrap().write_all(input);
    run.wait_with_output().unwrap()
}

#[test]
fn functions_of_python_give_pythons_answers() {
    let x = "x=[[1.5, 2, 9], [4, 3, 8]]";
    for (expression, printed) in [
        ("x.max()", "tensor(9.)"),
        ("x.min(1)[1]", "tensor([0, 1])"),
        ("max(x, 3)[0]", ""),
        ("x.max([[3], [5]])", "tensor([[3., 3., 9.],\n        [5., 5., 8.]])"),
        ("x.median()", "tensor(3.)"),
        ("x.median(0)[0]", "tensor([1.5000, 2.0000, 8.0000])"),
        ("x.quantile(0.5)", "tensor(3.5000)"),
        ("quantile(x, [0, 1], 1, interpolation='lower').shape", ""),
        ("x.kthvalue(2)[0]", "tensor([2., 4.])"),
        ("x.var_mean(1, keepdim=True)[1]", "tensor([[4.1667],\n        [5.0000]])"),
        ("x.clip(2, 8)", "tensor([[2., 2., 8.],\n        [4., 3., 8.]])"),
        (
            "x.equal(x), x.allclose(x + 1e-7)",
            "x.equal(x):\ntensor(True)\nx.allclose(x + 1e-7):\ntensor(True)",
        ),
        ("x.isin([2, 3])", "tensor([[False,  True, False],\n        [False,  True, False]])"),
        ("mv(x, x[0])", "tensor([87.2500, 84.0000])"),
        ("mm(x, x)", ""),
        ("x.chunk(2, 1)[1]", "tensor([[9.],\n        [8.]])"),
        (
            "meshgrid(x[:, 0], x[0])[1]",
            "tensor([[1.5000, 2.0000, 9.0000],\n        [1.5000, 2.0000, 9.0000]])",
        ),
        ("bucketize(x[0], [2, 5])", "tensor([0, 0, 2])"),
        ("scatter(x, 1, [[0]], value=0)[0]", "tensor([0., 2., 9.])"),
        (
            "index_put(x, ([0, 1], [1, 2]), x[0, 0])[:, 1:]",
            "tensor([[1.5000, 9.0000],\n        [3.0000, 1.5000]])",
        ),
        ("ones_like(x, dtype='<i2').sum()", "tensor(6)"),
        ("x.ravel().frexp().mantissa[:2]", "tensor([0.7500, 0.5000])"),
        (
            "x.max(1).indices, x.sort(0).values[1]",
            "x.max(1).indices:\ntensor([2, 2])\nx.sort(0).values[1]:\ntensor([4., 3., 9.])",
        ),
        ("x.var_mean(1).mean - x.mean(1)", "tensor([0., 0.])"),
        ("x.topk(2).mode", ""),
        ("max(x, x).values", ""),
    ] {
        let run = zs(&["eval", expression, x]);
        match printed {
            "" => assert!(run.status > 0 && run.stderr.contains("error: "), "{expression}: {}", run.stdout),
            printed => assert_eq!(run.stdout.trim_end(), printed, "{expression}: {}", run.stderr),
        }
    }
}

#[test]
fn several_results_are_written_in_one_reading() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |args: &[&str]| zs_in(at, args);
    assert_eq!(run(&["eval", "rand(500, 3, seed=1)", "-o", "x.npy"]).status, 0);
    let told = run(&["eval", "x.mean(0), x.std(0)", "x=x.npy", "-o", "m.npy", "-o", "s.npy", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((&told["passes"], &told["bytes_read"]), (&1.into(), &6000.into()));
    assert_eq!(told["output"], serde_json::json!(["m.npy", "s.npy"]));
    for (expression, file) in [("x.mean(0)", "m.npy"), ("x.std(0)", "s.npy")] {
        assert_eq!(run(&["eval", expression, "x=x.npy", "-o", "one.npy", "--force"]).status, 0);
        assert!(fs::read(at.join("one.npy")).unwrap() == fs::read(at.join(file)).unwrap());
    }
    let refused = run(&["eval", "x.mean(0), x.std(0)", "x=x.npy", "-o", "one.npy", "--force"]);
    assert!(refused.stderr.contains("there are 2 results, and 1 output"), "{}", refused.stderr);
    assert_eq!(run(&["eval", "x, y", "x=1", "y=2"]).stdout, "x:\ntensor(1)\ny:\ntensor(2)\n");
}

/// As torch's types of results are called.
#[test]
fn the_names_of_results_that_are_printed_can_be_asked_for() {
    let calls = ["sort()", "topk(1)", "median(0)", "max(0)", "aminmax()", "std_mean()", "frexp()"];
    for call in calls {
        let call = format!("x.{call}");
        let printed = zs(&["eval", &format!("{call}, x"), "x=[3, 1, 2.5]"]).stdout;
        let parts: Vec<&str> = printed.split_inclusive(":\n").collect();
        let names: Vec<&str> = printed.lines().filter_map(|line| line.strip_suffix(':')).collect();
        assert_eq!((names.len(), names[2]), (3, "x"), "{printed}");
        for (name, part) in names.iter().zip(&parts[1..3]) {
            assert!(name.starts_with(&format!("{call}.")), "{name}");
            let alone = zs(&["eval", name, "x=[3, 1, 2.5]"]).stdout;
            assert!(part.starts_with(&alone), "{name}: {alone}");
        }
    }
    let refused = zs(&["eval", "x.sort().foo", "x=[1]"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("there are .values, .indices"), "{}", refused.stderr);
}

#[test]
fn random_numbers_differ_from_call_to_call_and_not_from_run_to_run() {
    let json = |args: &[&str]| -> Vec<serde_json::Value> {
        let run = zs(&[&["eval", "--json"], args].concat());
        let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        told["results"].as_array().unwrap().iter().map(|result| result["data"].clone()).collect()
    };
    let calls = "a, b, rand(4), randn(4), rand(4, seed=9), rand(4), rand_like(a), randn_like(a), randint(9, [20]), randint(9, [20]), randperm(20), randperm(20)";
    let args = [calls, "a=rand(4)", "b=rand(4)"];
    let found = json(&args);
    assert_eq!(found, json(&args));
    for (place, one) in found.iter().enumerate() {
        assert!(!found[..place].contains(one), "{found:?}");
    }
    // Operands come first, and a seed that is given is not counted.
    let seeds = ["0", "1", "2"].map(|seed| json(&[&format!("rand(4, seed={seed})")]).remove(0));
    assert_eq!(found[..3], seeds);
    assert_eq!(found[5], json(&["rand(4, seed=4)"])[0]);
}

#[test]
fn random_integers_are_in_their_range() {
    let drawn = ["randint(2, 5, [99]).unique()", "randint(3, 99).unique()", "randperm(5).sort().values"];
    for (drawn, wanted) in drawn.into_iter().zip(["2, 3, 4", "0, 1, 2", "0, 1, 2, 3, 4"]) {
        assert_eq!(zs(&["eval", drawn]).stdout, format!("tensor([{wanted}])\n"), "{drawn}");
    }
    let refused = zs(&["eval", "randint(3)"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("`size` is missing"), "{}", refused.stderr);
}

#[test]
fn programs_get_json() {
    let printed = |expression: &str| zs(&["eval", expression, "x=[[nan, inf], [1, -2.5]]", "--json"]).stdout;
    let line = r#"{"version":1,"results":[{"name":null,"dtype":"f32","shape":[2,2],"data":[["NaN","Infinity"],[1.0,-2.5]]}]}"#;
    assert_eq!(printed("x"), format!("{line}\n"));
    let line = r#"{"version":1,"results":[{"name":null,"dtype":"c64","shape":[],"data":[1.0,2.0]}]}"#;
    assert_eq!(printed("(1 + 2j) * ones()"), format!("{line}\n"));
    let folder = tempfile::tempdir().unwrap();
    zs_in(folder.path(), &["eval", "zeros(2, 3)", "-o", "x.npy"]);
    let run = zs_in(folder.path(), &["info", "x.npy", "y.npy", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.status, 2);
    assert_eq!(told["files"][0]["arrays"][0]["shape"], serde_json::json!([2, 3]));
    assert!(told["files"][1]["error"].as_str().unwrap().starts_with("y.npy: cannot open it"));
}

#[test]
fn tables_and_arrays_go_through_pipes() {
    let table = b"a,b\n1,2\n3,4\n";
    let run = piped(&["eval", "x * 2", "x=-", "-o", "-", "--format", "csv"], table);
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "2,4\n6,8\n");
    let npy = piped(&["eval", "x", "x=-:b", "-o", "-"], table).stdout;
    assert!(npy.starts_with(b"\x93NUMPY"));
    assert_eq!(String::from_utf8(piped(&["eval", "x", "x=-"], &npy).stdout).unwrap(), "tensor([2, 4])\n");
    let refused = piped(&["eval", "x + y", "x=-", "y=-"], table);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("standard input can be read once"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), table).unwrap();
    let run = zs_in(folder.path(), &["eval", "x[:, None] * 0.5", "x=t.csv:a", "-o", "half.csv"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("half.csv")).unwrap(), "0.5\n1.5\n");
    let run = zs_in(folder.path(), &["eval", "x[None, None]", "x=t.csv", "-o", "cube.csv"]);
    assert!(
        run.stderr.contains("a table has at most two dimensions, and the result has 4"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_empty_input_is_an_error_and_a_line_of_names_a_table_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for name in ["e.csv", "e.npy", "e.npz", "e.safetensors"] {
        fs::write(at.join(name), "").unwrap();
        for args in [&["info", name][..], &["eval", "x.sum()", &format!("x={name}")]] {
            let run = zs_in(at, args);
            let is_told = run.stderr.starts_with(&format!("error: {name}: "));
            assert!(is_told && run.stderr.contains("it is empty"), "{args:?}: {}", run.stderr);
            assert_eq!(run.status, 2);
        }
    }
    for args in [&["eval", "x.sum()", "x=-"][..], &["info", "-"], &["explain", "-", "3"]] {
        let run = piped(args, b"");
        assert_eq!(run.status.code(), Some(2), "{args:?}");
        assert_eq!(String::from_utf8(run.stderr).unwrap(), "error: standard input: it is empty\n");
    }
    for line in ["[[1, 2], [3, 4]]", "(1.5)"] {
        for args in [&["eval", "x.sum()", "x=-"][..], &["info", "-"]] {
            let run = piped(args, line.as_bytes());
            let said = format!("error: standard input: its only line, `{line}`, would be names: numbers");
            assert_eq!(run.status.code(), Some(2), "{args:?}");
            assert!(String::from_utf8(run.stderr).unwrap().starts_with(&said), "{line}");
        }
    }
    let printed = piped(&["eval", "x, x.sum(0)", "x=-"], b"a,b\n").stdout;
    let printed = String::from_utf8(printed).unwrap();
    assert!(printed.contains("tensor([], size=(0, 2), dtype=torch.int64)"), "{printed}");
    assert!(printed.contains("tensor([0, 0])"), "{printed}");
    let listed = piped(&["info", "-"], b"a,b\n").stdout;
    assert!(String::from_utf8(listed).unwrap().contains("(0, 2)"));
}

#[test]
fn a_table_with_words_says_which_columns_are_numbers() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.csv"), "name,price,is new\nball,2.5,True\ncup,4,False\n").unwrap();
    let run = zs_in(folder.path(), &["eval", "x.sum(0)", "x=t.csv"]);
    let expected = "error: t.csv: line 2, column `name`: `ball` is not a number\nhelp: take one of the columns of \
                    numbers, as t.csv:price: `price`, `is new`\n";
    assert_eq!((run.status, &run.stderr[..]), (2, expected));
    assert_eq!(
        zs_in(folder.path(), &["eval", "x.sum()", "x=t.csv:price"]).stdout,
        "tensor(6.5000, dtype=torch.float64)\n"
    );
    let masked = zs_in(folder.path(), &["eval", "p[n]", "p=t.csv:price", "n=t.csv:is new"]).stdout;
    assert_eq!(masked, "tensor([2.5000], dtype=torch.float64)\n");
}

#[test]
fn streams_are_called_by_their_names() {
    let npy = piped(&["eval", "arange(9)", "-o", "-"], b"").stdout;
    let told = |args: &[&str], input: &[u8]| String::from_utf8(piped(args, input).stderr).unwrap();
    assert!(told(&["eval", "x", "x=-:y"], &npy).starts_with("error: standard input: there is no array `y`"));
    for args in [&["eval", "x", "x=-"][..], &["info", "-"]] {
        let said = told(args, &npy[..130]);
        assert!(said.starts_with("error: standard input: the data are cut short"), "{said}");
    }
}

/// What a whole number of a table has no mean of is said with what helps, which does.
#[test]
fn the_mean_of_whole_numbers_is_refused_with_advice_that_works() {
    let table = b"a,b\n1,2\n3,5\n";
    let refused = String::from_utf8(piped(&["eval", "x.mean(0)", "x=-"], table).stderr).unwrap();
    assert!(refused.contains("help: convert the operand, as in x.to(f64)"), "{refused}");
    let run = piped(&["eval", "x.to(f64).mean(0)", "x=-", "-o", "-", "--format", "csv"], table);
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "2.0\n3.5\n");
}

#[test]
fn tables_have_tabs_where_the_ending_says_so_and_columns_one_name_each() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("t.tsv"), "a\tb\ta\n1\t2\t3\n").unwrap();
    assert_eq!(zs_in(at, &["eval", "x * 2", "x=t.tsv", "-o", "u.tsv"]).status, 0);
    assert_eq!(fs::read_to_string(at.join("u.tsv")).unwrap(), "2\t4\t6\n");
    assert_eq!(zs_in(at, &["eval", "x", "x=t.tsv:b"]).stdout, "tensor([2])\n");
    for args in [&["eval", "x", "x=t.tsv:a"][..], &["info", "t.tsv:a"]] {
        let run = zs_in(at, args);
        assert_eq!((run.status, run.stderr.as_str()), (2, "error: t.tsv: 2 columns are called `a`\n"));
    }
}

#[test]
fn one_array_of_a_file_is_listed_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    zs_in(at, &["eval", "zeros(2, 3)", "-o", "x.safetensors"]);
    fs::write(at.join("t.csv"), "a,b\n1,2.5\n").unwrap();
    let run = zs_in(at, &["info", "x.safetensors:arr_0", "t.csv:b"]);
    let expected = "x.safetensors:arr_0: 1 array, 24 bytes\n  arr_0  f32  (2, 3)  24 bytes\n\
                    t.csv:b: a table of 1 row and 2 columns, 8 bytes\n  b  f64  (1,)  8 bytes\n";
    assert_eq!((run.status, run.stdout.as_str()), (0, expected), "{}", run.stderr);
    let run = zs_in(at, &["info", "x.safetensors:y", "t.csv:c"]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("x.safetensors: there is no array `y`"), "{}", run.stderr);
    assert!(run.stderr.contains("t.csv: there is no column `c`"), "{}", run.stderr);
}

#[test]
fn files_without_an_ending_are_read_by_their_content() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    zs_in(at, &["eval", "[4, 5]", "-o", "x.npy"]);
    fs::create_dir(at.join("data")).unwrap();
    for name in ["noext", "data/noext", "5", "n"] {
        fs::copy(at.join("x.npy"), at.join(name)).unwrap();
    }
    for value in ["x=noext", "x=data/noext", "x=./noext", "x=./5"] {
        assert_eq!(zs_in(at, &["eval", "x", value]).stdout, "tensor([4, 5])\n", "{value}");
    }
    // A number stays a number, and the name of a size that name.
    assert_eq!(zs_in(at, &["eval", "x", "x=5"]).stdout, "tensor(5)\n");
    assert!(zs_in(at, &["explain", "n", "1"]).stdout.starts_with("a, b: (n,), (1,) broadcast to (n,)\n"));
    assert!(zs_in(at, &["explain", "data/noext", "1"]).stdout.starts_with("a and b: (2,) and (1,)"));
}

#[cfg(unix)]
#[test]
fn tables_are_read_by_their_content_where_the_ending_says_no_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let long = (0..20_000).map(|row| format!("{row},{row}\n")).collect::<String>();
    for (name, text, printed) in [
        ("named.txt", "a,b\n1,2\n3,4\n", "tensor([[1, 2],\n        [3, 4]])"),
        ("bare.dat", "1;2.5\n", "tensor([[1.0000, 2.5000]], dtype=torch.float64)"),
        ("tabs", "1\t2\n", "tensor([[1, 2]])"),
        ("spaces", " 1   2\n 3  -4\n", "tensor([[ 1,  2],\n        [ 3, -4]])"),
        (
            "savetxt.txt",
            "1.000000000000000000e+00 2.000000000000000000e+00\n",
            "tensor([[1., 2.]], dtype=torch.float64)",
        ),
        ("long", &long, "tensor([[    0,     0],"),
    ] {
        fs::write(path(name), text).unwrap();
        let run = zs(&["eval", "x", &format!("x={}", path(name))]);
        assert!(run.status == 0 && run.stdout.starts_with(printed), "{name}: {}{}", run.stdout, run.stderr);
    }
    assert_eq!(zs(&["eval", "x", &format!("x={}:b", path("named.txt"))]).stdout, "tensor([2, 4])\n");
    assert!(zs(&["info", &path("named.txt")]).stdout.contains("a table of 2 rows and 2 columns"));
    for (name, text) in
        [("diary", "Dear diary,\ntoday\n"), ("word", "hello\n"), ("words", "1 by one\n2 by two\n")]
    {
        fs::write(path(name), text).unwrap();
        let run = zs(&["eval", "x", &format!("x={}", path(name))]);
        let refused = run.stderr.contains("unknown format: it starts with");
        assert!(run.status == 2 && refused, "{name}: {}", run.stderr);
    }
}

#[test]
fn integers_that_only_u64_holds_are_no_other_numbers() {
    let x = "x=[18446744073709551615, 1]:u64";
    for (expression, printed) in [
        ("x", "tensor([18446744073709551615,                    1], dtype=torch.uint64)"),
        ("x == 18446744073709551615", "tensor([ True, False])"),
        ("x > 9223372036854775808", "tensor([ True, False])"),
        (
            "18446744073709551615 - x",
            "tensor([                   0, 18446744073709551614], dtype=torch.uint64)",
        ),
        (
            "where(x == 1, x, 18446744073709551614)",
            "tensor([18446744073709551614,                    1], dtype=torch.uint64)",
        ),
        ("clamp(x, 5, 18446744073709551614)[0]", "tensor(18446744073709551614, dtype=torch.uint64)"),
        ("full([1], 18446744073709551615, dtype=u64)", "tensor([18446744073709551615], dtype=torch.uint64)"),
        ("x.to(f64) + 18446744073709551615", "tensor([3.6893e+19, 1.8447e+19], dtype=torch.float64)"),
        ("18446744073709551615", "tensor(18446744073709551615, dtype=torch.uint64)"),
        ("n * x[1]", "tensor(18446744073709551615, dtype=torch.uint64)"),
        ("[0.5, 18446744073709551615]", "tensor([5.0000e-01, 1.8447e+19])"),
    ] {
        let run = zs(&["eval", expression, x, "n=18446744073709551615"]);
        assert_eq!(run.stdout.trim_end(), printed, "{expression}: {}", run.stderr);
    }
    for (expression, dtype) in [
        ("18446744073709551615 + 1", "i64"),
        ("~18446744073709551615", "i64"),
        ("[1, 2] + 18446744073709551615", "i64"),
        ("[1, 18446744073709551615]", "i64"),
        ("x.to(u8) == 18446744073709551615", "u8"),
        ("s.add_(18446744073709551615)", "i64"),
        ("full([1], 18446744073709551615)", "i64"),
        ("[-1, 18446744073709551615]", "i64"),
    ] {
        let run = zs(&["eval", expression, x, "s=[1, 2]"]);
        let refusal = format!("error: 18446744073709551615 does not fit in {dtype}\n");
        assert!(run.status == 2 && run.stderr.contains(&refusal), "{expression}: {}", run.stderr);
    }
    let run = zs(&["eval", "y", "y=18446744073709551615:i64"]);
    assert!(run.stderr.starts_with("error: 18446744073709551615 does not fit in i64\n"), "{}", run.stderr);
}

#[test]
fn pipes_are_read_as_standard_input_is() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let table = b"a,b\n1,2\n3,4\n";
    for args in [&["eval", "x[:, 0]", "x=pipe"][..], &["eval", "x", "x=./pipe:a"]] {
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, table).unwrap()
        });
        assert_eq!(zs_in(folder.path(), args).stdout, "tensor([1, 3])\n", "{args:?}");
        writer.join().unwrap();
    }
    let named = piped(&["eval", "x.sum()", "x=/dev/stdin"], table).stdout;
    assert_eq!(String::from_utf8(named).unwrap(), "tensor(10)\n");
    let twice = piped(&["eval", "x + y", "x=/dev/stdin", "y=-"], table).stderr;
    assert!(String::from_utf8(twice).unwrap().contains("standard input can be read once"));
}

#[test]
fn manual_pages_have_the_helps_examples() {
    let page = zs(&["man", "eval"]).stdout;
    let (_, examples) = page.split_once(".SH EXAMPLES\n.nf\n").unwrap();
    assert!(examples.starts_with("zs eval \\(aq[[1, 2, 3]] * 5\\(aq\n"), "{examples}");
}
