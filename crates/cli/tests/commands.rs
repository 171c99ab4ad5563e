//! What each command does with good and bad command lines: results on standard output, the rest on standard
//! error, and the exit status.

mod common;

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use common::{fails, folder, ok, zs, zs_in};

#[test]
fn eval_prints_what_pytorch_prints() {
    let folder = folder();
    for (args, text) in [
        (&["1 + 2"][..], "tensor(3)"),
        (&["1 / 3"], "tensor(0.3333)"),
        (&["-x", "x=3"], "tensor(-3)"),
        (&["x * 2", "x=[1, 2]:u8"], "tensor([2, 4], dtype=torch.uint8)"),
        (&["x > 1", "x=[1, 2]"], "tensor([False,  True])"),
        (&["[1, 2.5] / 2"], "tensor([0.5000, 1.2500])"),
        (&["x.T @ x", "x=[[1, 2], [3, 4]]"], "tensor([[10, 14],\n        [14, 20]])"),
        (&["einsum('ij,j->i', x, [10, 1])", "x=[[1, 2], [3, 4]]"], "tensor([12, 34])"),
        (&["einsum('ii', x) + einsum(',i->', 2, [1, 2])", "x=[[1, 2], [3, 4]]"], "tensor(11)"),
        (&["round(x, 1)", "x=[0.25, 1.75]"], "tensor([0.2000, 1.8000])"),
        (&["x[:, None] - x[None]", "x=[1, 2]"], "tensor([[ 0, -1],\n        [ 1,  0]])"),
        (&["x[::-1]", "x=[1, 2, 3]"], "tensor([3, 2, 1])"),
        (&["x[..., 0]", "x=[[1, 2], [3, 4]]"], "tensor([1, 3])"),
        (&["x[-1, 1:]", "x=[[1, 2], [3, 4]]"], "tensor([4])"),
        (&["where(x > 1, x, 0)", "x=[1, 2]"], "tensor([0, 2])"),
        (&["x.where(x > 1, -1)", "x=[1, 2]"], "tensor([-1,  2])"),
        (&["std(x, 0, keepdim=True)", "x=[[1.0], [3.0]]"], "tensor([[1.4142]])"),
        (&["x.sum((0, 1))", "x=[[1, 2], [3, 4]]"], "tensor(10)"),
        (&["x.sum(axis=0, keepdims=True)", "x=[[1, 2], [3, 4]]"], "tensor([[4, 6]])"),
        (&["div(7, x, rounding_mode='floor')", "x=[2, -2]"], "tensor([ 3, -4])"),
        (&["x.to('f64') / 3", "x=[1]"], "tensor([0.3333], dtype=torch.float64)"),
        (&["x.to(bfloat16)", "x=[1]"], "tensor([1.], dtype=torch.bfloat16)"),
        (&["clamp(x, max=2)", "x=[1, 2, 3]"], "tensor([1, 2, 2])"),
        (&["cat([x, y]).reshape(2, -1)", "x=[1, 2]", "y=[3, 4]"], "tensor([[1, 2],\n        [3, 4]])"),
        (&["stack((x, y), dim=1)", "x=[1, 2]", "y=[3, 4]"], "tensor([[1, 3],\n        [2, 4]])"),
        (&["arange(2, 8, 3)"], "tensor([2, 5])"),
        (&["zeros(2, 1, dtype=i32)"], "tensor([[0],\n        [0]], dtype=torch.int32)"),
        (&["full((2,), 1.5)"], "tensor([1.5000, 1.5000])"),
        (&["tensor([0.1], dtype='f64') * 3"], "tensor([0.3000], dtype=torch.float64)"),
        (&["eye(2)"], "tensor([[1., 0.],\n        [0., 1.]])"),
        (&["expand(x, -1, 2)", "x=[[1], [2]]"], "tensor([[1, 1],\n        [2, 2]])"),
        (&["~(x == 1) & True", "x=[1, 2]"], "tensor([False,  True])"),
        (&["x ** 2 + inf", "x=[1.0]"], "tensor([inf])"),
        (&["e", "e=5"], "tensor(5)"),
        (&["div(-7, 2, rounding_mode='trunc')"], "tensor(-3)"),
        (&["div(-7, 2, rounding_mode='floor')"], "tensor(-4)"),
        (&["9007199254740993 == 9007199254740992.0"], "tensor(False)"),
        (&["-1 // inf"], "tensor(-1.)"),
        (&["~False"], "tensor(-1)"),
        (&["logical_and(2, 0)"], "tensor(False)"),
        (&["[1 + 2j]"], "tensor([1.+2.j])"),
        (&["x + 1", "x=2j"], "tensor(1.+2.j)"),
        (&["[]"], "tensor([])"),
        (&["x.add_(1) * 2", "x=[1, 2]"], "tensor([4, 6])"),
        (&["x.add_(1).mul_(2)", "x=[1, 2]"], "tensor([4, 6])"),
    ] {
        assert_eq!(ok(folder.path(), &[&["eval"], args].concat()), format!("{text}\n"), "{args:?}");
    }
}

#[test]
fn numbers_among_themselves_keep_their_precision() {
    let folder = folder();
    let root = ok(folder.path(), &["eval", "(x * sqrt(2)) ** 2 == x * x * 2", "x=[3.0]:f64"]);
    // The root of 2 in double precision squares back to within a rounding; in single precision it would not.
    let distance = ok(folder.path(), &["eval", "abs((x * sqrt(2)) ** 2 - x * x * 2) < 1e-14", "x=[3.0]:f64"]);
    assert!(root.starts_with("tensor(["));
    assert_eq!(distance, "tensor([True])\n");
}

#[test]
fn files_go_in_and_out() {
    let folder = folder();
    let at = folder.path();
    assert_eq!(ok(at, &["eval", "arange(6).reshape(2, 3)", "-o", "x.npy"]), "");
    assert_eq!(ok(at, &["eval", "x * 0.5", "x=x.npy", "-o", "half.safetensors"]), "");
    assert_eq!(ok(at, &["eval", "x + y", "x=half.safetensors:arr_0", "y=x.npy", "-o", "y.npz"]), "");
    assert_eq!(
        ok(at, &["eval", "x", "x=y.npz:arr_0"]),
        "tensor([[0.0000, 1.5000, 3.0000],\n        [4.5000, 6.0000, 7.5000]])\n"
    );
    assert_eq!(
        ok(at, &["info", "x.npy", "half.safetensors"]),
        "x.npy: 1 array, 48 bytes\n  -  i64  (2, 3)  48 bytes\n\
         half.safetensors: 1 array, 24 bytes\n  arr_0  f32  (2, 3)  24 bytes\n"
    );
    assert!(ok(at, &["explain", "x=x.npy", "row=3"]).contains("(2, 3)"));
}

#[test]
fn mapped_files_give_what_files_that_are_read_give() {
    let folder = folder();
    let at = folder.path();
    ok(at, &["eval", "rand(50, 4, seed=1)", "-o", "x.npy"]);
    ok(at, &["eval", "x", "x=x.npy", "-o", "x.npz"]);
    for expression in ["(x - x.mean(0)) / x.std(0)", "x.T @ x", "sort(x, 0)[0]", "x[x > 0.5]"] {
        let read = ok(at, &["eval", expression, "x=x.npy"]);
        assert_eq!(ok(at, &["eval", "--mmap", expression, "x=x.npy"]), read, "{expression}");
    }
    // The file that is mapped goes on while another one takes its name, which Windows refuses.
    #[cfg(unix)]
    {
        ok(at, &["eval", "--mmap", "x * 0 + arange(50).unsqueeze(1)", "x=x.npy", "-o", "x.npy", "--force"]);
        let sums = ok(at, &["eval", "--mmap", "x.sum(0)", "x=x.npy"]);
        assert_eq!(sums, "tensor([1225., 1225., 1225., 1225.])\n");
    }
    let refused = fails(at, &["eval", "--mmap", "x + 1", "x=x.npz:arr_0"], 2);
    assert!(refused.contains("x.npz: array `arr_0`: it cannot be mapped: an archive"), "{refused}");
    let refused = fails(at, &["eval", "--mmap", "x.add_(1)", "x=x.npy"], 1);
    assert!(refused.contains("the tensor is read-only"), "{refused}");
}

/// The answers are PyTorch's.
#[test]
fn elements_are_picked_moved_ordered_and_counted() {
    let folder = folder();
    for (expression, text) in [
        ("x[x > 2]", "tensor([3, 6, 5, 4])"),
        ("x[[1, 0]]", "tensor([[6, 5, 4],\n        [3, 1, 2]])"),
        ("x[:, [0, 2]]", "tensor([[3, 2],\n        [6, 4]])"),
        ("x[[0, 1], [2, 0]]", "tensor([2, 6])"),
        ("x[True]", "tensor([[[3, 1, 2],\n         [6, 5, 4]]])"),
        ("x[None, -1]", "tensor([[6, 5, 4]])"),
        ("x.sort(-1)[0]", "tensor([[1, 2, 3],\n        [4, 5, 6]])"),
        ("x.sort(-1)[1]", "tensor([[1, 2, 0],\n        [2, 1, 0]])"),
        ("x.sort(-1, descending=True)[0]", "tensor([[3, 2, 1],\n        [6, 5, 4]])"),
        ("x.argsort(dim=0, descending=True)", "tensor([[1, 1, 1],\n        [0, 0, 0]])"),
        ("x.topk(2)[0]", "tensor([[3, 2],\n        [6, 5]])"),
        ("x.topk(1, largest=False)[1]", "tensor([[1],\n        [2]])"),
        ("x.unique()", "tensor([1, 2, 3, 4, 5, 6])"),
        ("x.gather(1, [[2], [0]])", "tensor([[2],\n        [6]])"),
        ("x.take([0, 5])", "tensor([3, 4])"),
        ("x.take_along_dim(x.argsort(1), 1)", "tensor([[1, 2, 3],\n        [4, 5, 6]])"),
        ("x.index_select(1, [2, 2])", "tensor([[2, 2],\n        [4, 4]])"),
        ("x.masked_select(x % 2 == 0)", "tensor([2, 6, 4])"),
        ("(x > 2).nonzero()", "tensor([[0, 0],\n        [1, 0],\n        [1, 1],\n        [1, 2]])"),
        ("(x > 2).count_nonzero()", "tensor(4)"),
        ("(x > 2).count_nonzero(0)", "tensor([2, 1, 1])"),
        ("searchsorted(w, [2, 5])", "tensor([1, 4])"),
        ("searchsorted(w, [2, 5], right=True)", "tensor([3, 4])"),
        ("x.cumsum(1)", "tensor([[ 3,  4,  6],\n        [ 6, 11, 15]])"),
        ("x.cumprod(0)", "tensor([[ 3,  1,  2],\n        [18,  5,  8]])"),
        ("x.diff()", "tensor([[-2,  1],\n        [-1, -1]])"),
        ("x.diff(1, 0)", "tensor([[3, 4, 2]])"),
        ("x.roll(1, 1)", "tensor([[2, 3, 1],\n        [4, 6, 5]])"),
        ("x.roll(2)", "tensor([[5, 4, 3],\n        [1, 2, 6]])"),
        ("x.tril()", "tensor([[3, 0, 0],\n        [6, 5, 0]])"),
        ("x.triu(1)", "tensor([[0, 1, 2],\n        [0, 0, 4]])"),
        ("x.repeat_interleave(2, 1)", "tensor([[3, 3, 1, 1, 2, 2],\n        [6, 6, 5, 5, 4, 4]])"),
        ("x.repeat_interleave([2, 0], 0)", "tensor([[3, 1, 2],\n        [3, 1, 2]])"),
        ("hstack([w, w])", "tensor([1, 2, 2, 4, 1, 2, 2, 4])"),
        ("vstack([w, w])", "tensor([[1, 2, 2, 4],\n        [1, 2, 2, 4]])"),
        ("dstack([w, w]).sum()", "tensor(18)"),
        ("x.flip(0)", "tensor([[6, 5, 4],\n        [3, 1, 2]])"),
    ] {
        let bindings = ["x=[[3, 1, 2], [6, 5, 4]]", "w=[1, 2, 2, 4]"];
        let used =
            bindings.into_iter().filter(|binding| expression.contains(binding.split('=').next().unwrap()));
        let args: Vec<&str> = ["eval", expression].into_iter().chain(used).collect();
        assert_eq!(ok(folder.path(), &args), format!("{text}\n"), "{expression}");
    }
}

#[test]
fn exit_status_1_is_for_shapes_and_dtypes() {
    let folder = folder();
    for (args, line) in [(&["explain", "2", "3"][..], ""), (&["explain", "--format", "json", "2", "3"], "")] {
        let run = zs_in(folder.path(), args);
        assert_eq!((run.status, run.stderr.as_str()), (1, line), "{args:?}");
        assert!(run.stdout.contains("The size of tensor a (2)"), "the explanation is the result");
    }
    for (args, line) in [
        (
            &["eval", "x + y", "x=[1, 2]", "y=[1, 2, 3]"][..],
            "The size of tensor a (2) must match the size of tensor b (3)",
        ),
        (&["eval", "x - y", "x=[True]", "y=[True]"], "Subtraction, the `-` operator, with two bool tensors"),
        (&["eval", "x // 0", "x=[1]"], "ZeroDivisionError"),
        (&["eval", "x ** -1", "x=[1]"], "Integers to negative integer powers are not allowed."),
        (
            &["eval", "x.add_(0.5)", "x=[1]"],
            "result type Float can't be cast to the desired output type Long",
        ),
        (
            &["eval", "x + y", "x=[1]:u64", "y=[1]:i8"],
            "Promotion for uint16, uint32, uint64 types is not supported",
        ),
        (&["eval", "x[5]", "x=[1]"], "index 5 is out of bounds for dimension 0 with size 1"),
        (&["eval", "x[0, 0]", "x=[1]"], "too many indices for tensor of dimension 1"),
        (&["eval", "x[..., ...]", "x=[1]"], "an index can only have a single ellipsis ('...')"),
        (&["eval", "x[[0, 2]]", "x=[1]"], "index 2 is out of bounds for dimension 0 with size 1"),
        (&["eval", "x[[True, False]]", "x=[1]"], "The shape of the mask [2] at index 0 does not match"),
        (&["eval", "x[[0.5]]", "x=[1]"], "tensors used as indices must be long, int, byte or bool tensors"),
        (
            &["eval", "x.expand(3)", "x=[1, 2]"],
            "The expanded size of the tensor (3) must match the existing size (2)",
        ),
        (&["eval", "[[1, 2], [3]]"], "expected sequence of length 2 at dim 1 (got 1)"),
        (&["eval", "mean(x)", "x=[1]"], "mean"),
        (&["eval", "sort(x)", "x=[1j]"], "Sort does not support complex dtypes"),
        (&["eval", "x.mm(x[0])", "x=[[1, 2]]"], "mm(): mat2 must be a matrix, got a tensor of 1 dimension"),
        (&["eval", "x.mv(x)", "x=[[1, 2]]"], "mv(): vec must be a vector, got a tensor of 2 dimensions"),
        (&["eval", "x.bmm(x)", "x=[[1, 2]]"], "bmm(): input must be a batch of matrices (3 dimensions), got"),
        (&["eval", "dot(x[0], x)", "x=[[1, 2]]"], "dot(): tensor must be a vector, got"),
        (&["eval", "x.max(0)", "x=zeros(0, 3)"], "max(): Expected reduction dim 0 to have non-zero size."),
        (&["eval", "min(x)", "x=zeros(0, 3)"], "min(): Expected reduction dim to be specified"),
        (&["eval", "x.aminmax(dim=0)", "x=zeros(0, 3)"], "aminmax(): Expected reduction dim 0"),
        (
            &["explain", "n,1", "m", "--op", "add", "--in-place"],
            "output with shape [n, 1] doesn't match the broadcast shape [n, m]",
        ),
        (
            &["eval", "a + b", "a=zeros(1).expand(1099511627776, 1)", "b=zeros(1).expand(1, 1099511627776)"],
            "1099511627776",
        ),
    ] {
        let stderr = fails(folder.path(), args, 1);
        assert!(
            stderr.starts_with("error: ") && stderr.lines().next().unwrap().contains(line),
            "{args:?}: {stderr}"
        );
    }
}

#[test]
fn exit_status_2_is_for_command_lines_and_files() {
    let folder = folder();
    fs::write(folder.path().join("broken.npy"), b"\x93NUMPY").unwrap();
    for args in [
        &["frobnicate"][..],
        &["explain"],
        &["explain", "3", "--format", "png"],
        &["explain", "3", "--lang", "fr"],
        &["explain", "-1,3", "3"],
        &["explain", "3,4L"],
        &["explain", "3,True"],
        &["explain", "3,[4]"],
        &["explain", "100000000000000000000000000"],
        &["explain", "3", "3", "--op", "sum"],
        &["explain", "3", "--op", "add"],
        &["explain", "3", "3", "--op", "ad"],
        &["explain", "n", "3", "--op", "ad"],
        &["explain", "n", "--op", "add"],
        &["explain", "n", "3", "--op", "sum"],
        &["explain", "a=3", "a=3"],
        &["explain", "missing.npy"],
        &["explain", "3", "-o", "picture.png"],
        &["explain", "[1, 2]:f33"],
        &["explain", "3", "--format", "json", "-o", "x.txt"],
        &["eval"],
        &["eval", ""],
        &["eval", "x +"],
        &["eval", "x"],
        &["eval", "x", "x"],
        &["eval", "x", "x="],
        &["eval", "x", "1x=3"],
        &["eval", "x", "x=1", "x=2"],
        &["eval", "x", "x=[1]:f33"],
        &["eval", "x", "x=[300]:u8"],
        &["eval", "x", "x=missing.npy"],
        &["eval", "x", "x=broken.npy"],
        &["eval", "x", "x=[1, [2]]"],
        &["eval", "sqr(x)", "x=1"],
        &["eval", "sum(x, 0, False, 1)", "x=[1]"],
        &["eval", "1 / 0"],
        &["eval", "div(5, 0, rounding_mode='trunc')"],
        &["eval", "div(x, 2, rounding_mode='up')", "x=[1]"],
        &["eval", "gelu(x, approximate='foo')", "x=[0.5]"],
        &["eval", "clamp(x)", "x=[1]"],
        &["eval", "clamp(x, None)", "x=[1]"],
        &["eval", "norm(x, p='nuc')", "x=[0.5]"],
        &["eval", "x.expand(2, 2).add_(1)", "x=[[1], [2]]"],
        &["eval", "x[0].add_(1) + x", "x=[1, 2]"],
        &["eval", "x.add_(1) + x", "x=[1] + 1"],
        &["eval", "9223372036854775807 + 1"],
        &["eval", "1", "-o", "out.txt"],
        &["eval", "1", "-o", "no/such/folder/out.npy"],
        &["eval", "1", "--threads", "0"],
        &["eval", "1", "--threads", "1025"],
        &["eval", "1", "--threads", "99999999999999999999"],
        &["help", "frobnicate"],
        &["eval", "1", "--max-memory", "much"],
        &["eval", "1", "--policy", "x"],
        &["eval", "zeros(1000000)", "--max-memory", "1MB"],
        &["info", "missing.npy"],
        &["info", "."],
        &["completions", "tcsh"],
        &["man", "frobnicate"],
    ] {
        let stderr = fails(folder.path(), args, 2);
        assert!(stderr.starts_with("error: "), "{args:?}: {stderr}");
    }
    assert!(!folder.path().join("out.txt").exists());
}

/// What a row of the table is not is told apart from what does not exist.
#[test]
fn products_and_other_functions_are_no_element_wise_operations() {
    for (name, said) in [
        ("matmul", "`matmul` combines dimensions, as products of matrices do"),
        ("@", "`@` combines dimensions, as products of matrices do"),
        ("bmm", "`bmm` combines dimensions, as products of matrices do"),
        ("sort", "`sort` does not work element by element"),
        ("quantile", "`quantile` does not work element by element"),
        ("nonsense", "unknown operation `nonsense`"),
    ] {
        let told = fails(folder().path(), &["explain", "3,4", "4,5", "--op", name], 2);
        assert!(told.starts_with(&format!("error: {said}\nhelp: ")), "{told}");
    }
    // What is advised works.
    let shape = ok(folder().path(), &["eval", "a @ b", "a=zeros(3, 4)", "b=zeros(4, 5)", "--dry-run"]);
    assert_eq!(shape, "f32 [3, 5], 60 bytes\n");
}

#[test]
fn info_without_files_says_what_computes() {
    let said = zs(&["info"]).stdout;
    let names: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["zerostride", "instructions", "code", "threads"], "{said}");
}

#[test]
fn info_goes_on_after_a_file_that_cannot_be_read() {
    let folder = folder();
    ok(folder.path(), &["eval", "eye(2)", "-o", "x.npy"]);
    let run = zs_in(folder.path(), &["info", "missing.npy", "x.npy"]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (2, "x.npy: 1 array, 16 bytes\n  -  f32  (2, 2)  16 bytes\n")
    );
    assert!(run.stderr.contains("missing.npy"));
}

#[test]
fn a_dry_run_reads_headers_and_writes_nothing() {
    let folder = folder();
    let at = folder.path();
    ok(at, &["eval", "arange(6).reshape(2, 3)", "-o", "x.npy"]);
    let line = ok(at, &["eval", "(x / 2).sum(0)", "x=x.npy", "--dry-run", "-o", "out.npy"]);
    assert!(line.starts_with("f32 [3], 12 bytes\nreads 48 bytes in 1 pass, holds at most "), "{line}");
    assert!(!at.join("out.npy").exists());
    fails(at, &["eval", "x + ones(2)", "x=x.npy", "--dry-run"], 1);
}

#[test]
fn a_plan_goes_to_standard_error_and_counts_the_hoisted_row() {
    let folder = folder();
    let run = zs_in(
        folder.path(),
        &["eval", "exp(row) * x", "row=rand(300)", "x=rand(200,300)", "--plan", "--dry-run"],
    );
    assert_eq!((run.status, run.stdout.as_str()), (0, "f32 [200, 300], 234.4 KiB\n"));
    assert!(run.stderr.contains("exp"), "{}", run.stderr);
}

#[test]
fn memory_is_limited_before_it_is_taken() {
    let folder = folder();
    let limited = |args: &[&str], status| {
        // Each thread has rows on their way.
        let limits = ["--max-memory", "8MiB", "--threads", "2"];
        let run = zs_in(folder.path(), &[&["eval"], args, &limits].concat());
        assert_eq!(run.status, status, "{args:?}: {}", run.stderr);
    };
    limited(&["a + b", "a=zeros(1000,1)", "b=zeros(1,1000)"], 0);
    limited(&["a + b", "a=zeros(4000,1)", "b=zeros(1,4000)"], 2);
    limited(&["((a - b) ** 2).sum(-1)", "a=zeros(1000,1,64)", "b=zeros(1,1000,64)"], 0);
    limited(&["zeros(10000, 10000)"], 2);
    limited(&["repeat(x, 10000, 1000)", "x=[1]"], 2);
    limited(&["x[zeros(2000000, dtype=i64)].sum()", "x=[1]"], 2);
    limited(&["x[x < 0, 0].sum()", "x=rand(1000)"], 1);
    limited(&["x.repeat_interleave([1000000, 2000000]).sum()", "x=[1, 2]"], 2);
    limited(&["arange(10 ** 12)"], 2);
    limited(&["linspace(0, 1, 10 ** 12)"], 2);
    limited(&["eye(10 ** 6)"], 2);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = folder();
    let line = |threads| {
        let args =
            ["eval", "exp(x).sum()", "x=rand(1000,1000)", "-o", "s.npy", "--force", "--threads", threads];
        ok(folder.path(), &args);
        fs::read(folder.path().join("s.npy")).unwrap()
    };
    assert_eq!(line("1"), line("2"));
    assert_eq!(line("1"), line("3"));
}

#[test]
fn an_explanation_refuses_what_an_evaluation_refuses() {
    let folder = folder();
    for (args, expression, operands) in [
        (&["[1]:u64", "[1]:i8", "--op", "add"][..], "a + b", ["a=[1]:u64", "b=[1]:i8"]),
        (&["[1]:f16", "[[1]]:i8", "--op", "<<"], "a << b", ["a=[1]:f16", "b=[[1]]:i8"]),
        (&["[1]:i64", "0.5:f32", "--op", "add", "--in-place"], "a.add_(b)", ["a=[1]:i64", "b=0.5:f32"]),
        (&["[[1, 2], [3]]"], "[[1, 2], [3]]", ["", ""]),
    ] {
        let operands = operands.into_iter().filter(|operand| !operand.is_empty());
        let evaluated = ["eval", expression].into_iter().chain(operands).collect::<Vec<_>>();
        let message = fails(folder.path(), &evaluated, 1).lines().next().unwrap().to_owned();
        let explained = [&["explain"], args].concat();
        assert_eq!(fails(folder.path(), &explained, 1).lines().next().unwrap(), message);
        // In JSON it stands where the errors of shapes are.
        let run = zs_in(folder.path(), &[&explained[..], &["--format", "json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.status, run.stderr.as_str(), &json["broadcastable"]), (1, "", &false.into()));
        assert_eq!(format!("error: {}", json["error"]["message"].as_str().unwrap()), message);
    }
    // Unknown dtypes are no mistake.
    ok(folder.path(), &["explain", "3", "[1]:i8", "--op", "<<"]);
}

#[test]
fn values_are_drawn_where_they_are_given() {
    let folder = folder();
    let at = folder.path();
    ok(at, &["eval", "x", "x=[[4], [5], [6]]:i16", "-o", "column.npy"]);
    let text = ok(at, &["explain", "row=[[1, 2, 3]]", "column.npy", "--op", "add"]);
    for part in ["[[5, 6, 7],", "row before and after", "9 elements, 72 B as i64"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (args, part) in [
        (&["[1, 2]:i64", "5:i64", "--op", "mul"][..], "[ 5, 10]"),
        (&["[[0.5], [2.0]]", "[True, False]:bool", "--op", "mul"], "[[0.5,  0.],"),
        (&["x=[[1.5, 2.5]]:f16", "--op", "neg"], "[[-1.5, -2.5]]"),
        (&["x=[[1j, 2]]", "[[1], [2]]", "--op", "mul"], "[[0.+1.j, 2.+0.j]]"),
    ] {
        let text = ok(at, &[&["explain"], args].concat());
        assert!(text.contains(part), "{args:?}: {text}");
    }
    // Nothing is computed for operands that are large or do not go together.
    ok(at, &["eval", "zeros(300, 300)", "-o", "large.npy"]);
    assert!(ok(at, &["explain", "large.npy", "5:f32", "--op", "add"]).contains("(300, 300)"));
    let run = zs_in(at, &["explain", "[[1, 2, 3]]", "[1, 2]:i64", "--op", "add", "--format", "html"]);
    assert_eq!((run.status, run.stderr.as_str()), (1, ""));
}

#[test]
fn the_language_and_the_characters_are_those_of_the_locale() {
    let explain = |variables: &[(&str, &str)], args: &[&str]| {
        let mut zs = assert_cmd::Command::cargo_bin("zs").unwrap();
        for variable in ["LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG"] {
            zs.env_remove(variable);
        }
        let output = zs.envs(variables.iter().copied()).arg("explain").args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (english, italian) = ("broadcast to", "il broadcasting di");
    for (variables, args, part) in [
        (&[][..], &["2", "1"][..], english),
        (&[("LANG", "it_IT.UTF-8")], &["2", "1"], italian),
        (&[("LANG", "it_IT.UTF-8"), ("LC_MESSAGES", "en_GB.UTF-8")], &["2", "1"], english),
        (&[("LANG", "en_GB.UTF-8"), ("LC_ALL", "it")], &["2", "1"], italian),
        (&[("LANG", "de_DE.UTF-8")], &["2", "1"], english),
        (&[("LANG", "it_IT.UTF-8")], &["2", "1", "--lang", "en"], english),
        (&[], &["2", "1", "--lang", "it"], italian),
        (&[("LC_ALL", "it_IT.UTF-8")], &["2", "1", "--format", "svg"], italian),
    ] {
        assert!(explain(variables, args).contains(part), "{variables:?} {args:?}");
    }
    assert!(explain(&[("LC_ALL", "C")], &["5,1", "3"]).is_ascii());
    assert!(explain(&[], &["5,1", "3"]).contains("1→3"));
    // An error's line is PyTorch's in every language.
    assert!(explain(&[("LANG", "it")], &["2", "3"]).starts_with("The size of tensor a (2) must match"));
}

#[test]
fn rank_64_is_explained_and_more_is_refused() {
    let folder = folder();
    let ones = |rank: usize| vec!["1"; rank].join(",");
    assert!(ok(folder.path(), &["explain", &ones(64), "2"]).contains('2'));
    for rank in [65, 50_000] {
        let run = zs_in(folder.path(), &["explain", &ones(rank), "2"]);
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert!(run.stdout.len() < 4096, "a shape that is refused is not drawn");
    }
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    for args in [
        &[][..],
        &["explain", "5,1,4,1", "3,1,2"],
        &["completions", "bash"],
        &["man"],
        &["eval", "zeros(1000)"],
        &["eval", "zeros(100000)", "-o", "-"],
        &["eval", "zeros(100000)", "-o", "-", "--format", "csv"],
        &["help", "functions"],
    ] {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("zs"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn completions_and_manual_pages_are_generated() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = zs(&["completions", shell]);
        assert!(run.status == 0 && run.stdout.contains("explain"), "{shell}");
    }
    for (args, title) in [(&["man"][..], ".TH zs 1"), (&["man", "eval"], ".TH zs-eval 1")] {
        let run = zs(args);
        assert!(run.status == 0 && run.stdout.contains(title), "{args:?}: {}", run.stdout);
    }
}

#[test]
fn long_chains_are_evaluated_without_exhausting_the_stack() {
    let folder = folder();
    for (step, text) in
        [(" + x", "tensor([991])"), (".T", "tensor([1])"), (".sum(0, keepdim=True)", "tensor([1])")]
    {
        let chain = "x".to_owned() + &step.repeat(990);
        assert_eq!(ok(folder.path(), &["eval", &chain, "x=[1]"]), format!("{text}\n"), "{step}");
    }
}
