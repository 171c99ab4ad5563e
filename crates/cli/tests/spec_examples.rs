//! S1 to S16: the examples of the documents that taught broadcasting, typed into the shell.

mod common;

use common::{Run, zs};

/// What `zs explain` says of shapes: the result's shape, or PyTorch's line and the failing dimension.
fn explained(args: &[&str]) -> Result<Vec<u64>, (String, Option<u64>)> {
    let Run { status, stdout, stderr } = zs(&[&["explain", "--format", "json"], args].concat());
    assert_eq!(stderr, "");
    let json: serde_json::Value = serde_json::from_str(&stdout).expect("one line of JSON");
    if status == 0 {
        return Ok(json["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).collect());
    }
    assert_eq!((status, &json["broadcastable"]), (1, &false.into()));
    Err((json["error"]["message"].as_str().unwrap().to_owned(), json["error"]["dim"].as_u64()))
}

/// The same by computing with ones.
fn computed(expression: &str, bindings: &[&str]) -> Result<String, String> {
    let run = zs(&[&["eval", expression], bindings].concat());
    match run.status {
        0 => Ok(run.stdout),
        1 => Err(run.stderr.lines().next().unwrap().strip_prefix("error: ").unwrap().to_owned()),
        other => panic!("exit status {other}: {}", run.stderr),
    }
}

/// A sum of ones of two shapes, by `zs eval`: its shape as the dry run shows it, or PyTorch's line.
fn sum_of_ones(a: &str, b: &str) -> Result<String, String> {
    computed("a + b", &["--dry-run", &format!("a=ones({a})"), &format!("b=ones({b})")])
}

/// Explained and computed the same.
fn broadcasts(a: &str, b: &str, shape: &[u64]) {
    assert_eq!(explained(&[a, b]), Ok(shape.to_vec()), "{a} {b}");
    let line = sum_of_ones(a, b).unwrap();
    assert!(line.starts_with(&format!("f32 {shape:?}, ")), "{line}");
}

fn refused(a: &str, b: &str, message: &str, dim: u64) {
    assert_eq!(explained(&[a, b]), Err((message.to_owned(), Some(dim))), "{a} {b}");
    assert_eq!(sum_of_ones(a, b), Err(message.to_owned()));
}

fn prints(expression: &str, bindings: &[&str], text: &str) {
    assert_eq!(computed(expression, bindings).unwrap(), format!("{text}\n"));
}

#[test]
fn s1_a_single_row_is_stretched() {
    broadcasts("(4,3)", "(1,3)", &[4, 3]);
}

#[test]
fn s2_the_document_says_rank_0_but_it_is_rank_1_with_size_0() {
    let line = "The size of tensor a (0) must match the size of tensor b (4) at non-singleton dimension 1";
    refused("(0,)", "(3,4)", line, 1);
}

#[test]
fn s3_trailing_dimensions_are_compared() {
    broadcasts("(5,3,4,1)", "(3,1,1)", &[5, 3, 4, 1]);
}

#[test]
fn s4_two_and_three_differ() {
    let line = "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1";
    refused("(5,2,4,1)", "(3,1,1)", line, 1);
}

#[test]
fn s5_the_missing_dimension_is_added_as_1() {
    broadcasts("(5,1,4,1)", "(3,1,2)", &[5, 3, 4, 2]);
    let as_written = computed("a + b[None, :]", &["--dry-run", "a=ones(5,1,4,1)", "b=ones(3,1,2)"]).unwrap();
    assert!(as_written.starts_with("f32 [5, 3, 4, 2], "), "{as_written}");
}

#[test]
fn s6_a_row_and_a_column_make_a_table() {
    prints(
        "[[1, 2, 3]] + [[4], [5], [6]]",
        &[],
        "tensor([[5, 6, 7],\n        [6, 7, 8],\n        [7, 8, 9]])",
    );
}

#[test]
fn s7_a_number_goes_with_every_shape() {
    prints("[[1, 2, 3]] * 5", &[], "tensor([[ 5, 10, 15]])");
    prints("x * y", &["x=[[1, 2, 3]]", "y=5"], "tensor([[ 5, 10, 15]])");
    prints("x * y", &["x=[[1, 2, 3]]", "y=5:i64"], "tensor([[ 5, 10, 15]])");
}

#[test]
fn s8_both_steps_are_printed() {
    let line = "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1";
    refused("(1,2,3)", "(3,3)", line, 1);
    let run = zs(&["explain", "1,2,3", "3,3"]);
    assert!(run.stdout.contains("Step 1: are the shapes compatible?"), "{}", run.stdout);
    let run = zs(&["explain", "1,3", "3,1"]);
    assert!(run.stdout.contains("Step 2: what is the resulting shape?"), "{}", run.stdout);
}

#[test]
fn s9_equal_shapes_always_broadcast() {
    broadcasts("(5,7,3)", "(5,7,3)", &[5, 7, 3]);
}

#[test]
fn s10_an_empty_tensor_has_one_dimension_of_size_0() {
    let line = "The size of tensor a (0) must match the size of tensor b (2) at non-singleton dimension 1";
    refused("(0,)", "(2,2)", line, 1);
}

#[test]
fn s11_both_operands_may_be_stretched() {
    broadcasts("(5,1,4,1)", "(3,1,1)", &[5, 3, 4, 1]);
}

#[test]
fn s12_lining_up_is_not_necessary() {
    broadcasts("(1,)", "(3,1,7)", &[3, 1, 7]);
}

#[test]
fn s13_in_place_stretches_the_operand() {
    assert_eq!(explained(&["5,3,4,1", "3,1,1", "--in-place"]), Ok(vec![5, 3, 4, 1]));
    let line = computed("x.add_(y)", &["--dry-run", "x=ones(5,3,4,1)", "y=ones(3,1,1)"]).unwrap();
    assert!(line.starts_with("f32 [5, 3, 4, 1], "), "{line}");
}

#[test]
fn s14_in_place_never_stretches_the_target_and_todays_text_is_not_the_documents() {
    let line = "output with shape [1, 3, 1] doesn't match the broadcast shape [3, 3, 7]";
    assert_eq!(explained(&["1,3,1", "3,1,7", "--in-place"]), Err((line.to_owned(), None)));
    assert_eq!(computed("x.add_(y)", &["x=ones(1,3,1)", "y=ones(3,1,7)"]), Err(line.to_owned()));
}

#[test]
fn s15_the_printed_matrices_of_the_guide() {
    for (a, b, text) in [
        ("a=[[1, 2], [3, 4]]", "b=10", "tensor([[11, 12],\n        [13, 14]])"),
        ("a=[[1, 2, 3], [4, 5, 6]]", "b=[10, 20, 30]", "tensor([[11, 22, 33],\n        [14, 25, 36]])"),
        (
            "a=[[1, 2], [3, 4], [5, 6]]",
            "b=[[10], [20], [30]]",
            "tensor([[11, 12],\n        [23, 24],\n        [35, 36]])",
        ),
        ("a=[[1], [2], [3]]", "b=[10, 20]", "tensor([[11, 21],\n        [12, 22],\n        [13, 23]])"),
    ] {
        prints("a + b", &[a, b], text);
    }
}

#[test]
fn s16_what_the_guide_calls_an_error_is_none() {
    broadcasts("(1,3)", "(2,1)", &[2, 3]);
    prints("f + g", &["f=[[1, 2, 3]]", "g=[[10], [20]]"], "tensor([[11, 12, 13],\n        [21, 22, 23]])");
}

#[test]
fn the_rule_is_not_the_maximum() {
    broadcasts("(0,)", "(1,)", &[0]);
    broadcasts("()", "(2,3)", &[2, 3]);
}

#[test]
fn the_tour_shows_every_example_and_names_the_mistakes() {
    let Run { status, stdout, stderr } = zs(&[]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    // Lines may break anywhere in prose.
    let prose = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "(4, 3) and (1, 3) broadcast to (4, 3)", // S1
        "The size of tensor a (0) must match the size of tensor b (4) at non-singleton dimension 1", // S2
        "not because \"a has rank 0\"",          // S2, S10
        "(5, 3, 4, 1) and (3, 1, 1) broadcast to (5, 3, 4, 1)", // S3, S13
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1", // S4, S8
        "(5, 1, 4, 1) and (3, 1, 2) broadcast to (5, 3, 4, 2)", // S5
        "tensor([[5, 6, 7],",                    // S6
        "tensor([[ 5, 10, 15]])",                // S7
        "(5, 7, 3)",                             // S9
        "(5, 1, 4, 1) and (3, 1, 1) broadcast to (5, 3, 4, 1)", // S11
        "(1,) and (3, 1, 7) broadcast to (3, 1, 7)", // S12
        "output with shape [1, 3, 1] doesn't match the broadcast shape [3, 3, 7]", // S14
        "an older text for this error",          // S14
        "tensor([[11, 12],\n        [13, 14]])", // S15
        "tensor([[11, 22, 33],",                 // S15
        "tensor([[11, 12],\n        [23, 24],",  // S15
        "tensor([[11, 21],",                     // S15
        "tensor([[11, 12, 13],\n        [21, 22, 23]])", // S16
        "its example of an ERROR. They go together", // S16
        "a size of 1 takes the OTHER size",      // the "max" rule
    ] {
        assert!(stdout.contains(text) || prose.contains(text), "the tour lacks {text:?}");
    }
}
