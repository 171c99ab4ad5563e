//! What holds for repairs: every one that is offered, tried as it is printed, does what it says; and the
//! first is the one that an expert would choose.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use zerostride_explain::{Class, Explanation, Hint, Operand, Options};
use zerostride_ops::Op;
use zerostride_shape::{Layout, Shape, broadcast_shape};

/// How many failing pairs, and how many failing triples.
const FAILURES: usize = 10_000;

/// Applies a call as it is printed, such as `b.unsqueeze(-1)`, to a shape; the result's shape for the calls
/// that are whole operations.
fn apply(call: &str, name: &str, shapes: &[&[usize]], operand: usize) -> Shape {
    let layout = Layout::contiguous(Shape::new(shapes[operand]).unwrap());
    let call = call.strip_prefix(name).unwrap();
    if let Some(index) = call.strip_prefix('[') {
        let news: Vec<bool> = index.trim_end_matches(']').split(", ").map(|item| item == "None").collect();
        let news = news.iter().enumerate().filter(|(_, new)| **new).map(|(dim, _)| dim as isize);
        return news.fold(layout, |layout, dim| layout.unsqueeze(dim).unwrap()).shape().clone();
    }
    let call = call.strip_prefix('.').unwrap();
    let (method, arguments) = call.split_once('(').unwrap();
    let (arguments, rest) = arguments.split_once(')').unwrap();
    let numbers: Vec<isize> = arguments.split(", ").filter_map(|number| number.parse().ok()).collect();
    let view = match (method, rest) {
        ("unsqueeze", "") => layout.unsqueeze(numbers[0]),
        ("squeeze", "") if numbers.is_empty() => layout.squeeze(),
        ("squeeze", "") => layout.squeeze_dim(numbers[0]),
        ("t", "") => layout.t(),
        ("transpose", "") => layout.transpose(numbers[0], numbers[1]),
        ("permute", "") => layout.permute(&numbers),
        ("reshape", "") => layout.view(&numbers),
        ("expand", ".clone()") => layout.expand(&numbers),
        ("add" | "add_", "") => return broadcast_shape(shapes).unwrap(),
        _ => panic!("an unknown call: {call}"),
    };
    view.unwrap().shape().clone()
}

fn explained(shapes: &[&[usize]], in_place: bool) -> Explanation {
    let operands = shapes.iter().map(|shape| Operand::new(shape)).collect();
    Explanation::new(operands, Options { op: Some(Op::Add), in_place, ..Options::default() })
}

/// Every repair and alternative holds; the answer is whether there was an error to repair.
fn check(shapes: &[&[usize]], in_place: bool) -> bool {
    let explanation = explained(shapes, in_place);
    for repair in explanation.repairs().iter().chain(explanation.alternatives()) {
        let said = format!("{shapes:?}, in place: {in_place}: {repair:?}");
        assert_eq!(explanation.repaired(repair).shape(), Some(&repair.shape), "{said}");
        let name = &explanation.names()[repair.operand];
        let reached = apply(&repair.call, name, shapes, repair.operand);
        if repair.call.contains(".add") {
            assert_eq!(reached, repair.shape, "{said}");
            assert!(!repair.call.contains(".add_") || shapes[repair.operand] == &*repair.shape, "{said}");
            continue;
        }
        assert_eq!(reached, repair.view, "{said}");
        let mut changed = shapes.to_vec();
        changed[repair.operand] = &reached;
        assert_eq!(broadcast_shape(&changed).unwrap(), repair.shape, "{said}");
        if in_place && explanation.error().is_some() {
            assert_eq!(*changed[0], *repair.shape, "the target fits: {said}");
        }
        let larger = shapes.iter().all(|shape| shape.iter().product::<usize>() < repair.shape.numel());
        assert_eq!(repair.mutual_stretch, larger, "{said}");
    }
    assert!(explanation.repairs().len() <= 5);
    assert_eq!(explanation.shape().is_some(), explanation.error().is_none());
    assert!(explanation.alternatives().is_empty() || explanation.classes().contains(&Class::MutualStretch));
    explanation.error().is_some()
}

/// Shapes of so many operands, until so many of them have failed to broadcast; those that do are checked too.
fn check_until_enough_fail(operands: usize) {
    let sizes = prop::sample::select(&[0, 1, 1, 2, 2, 3, 3, 4, 6][..]);
    let shapes = (vec(vec(sizes, 0..6), operands), any::<bool>());
    let mut runner = TestRunner::deterministic();
    let (mut failures, mut repaired) = (0, 0);
    while failures < FAILURES {
        let (shapes, in_place) = shapes.new_tree(&mut runner).expect("nothing is rejected").current();
        let shapes: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
        failures += usize::from(check(&shapes, in_place));
        repaired += usize::from(!explained(&shapes, in_place).repairs().is_empty());
    }
    // Most random triples disagree in more than one operand, which no single change mends.
    assert!(repaired > FAILURES / 10, "repairs are found for {repaired} of {failures}");
}

#[test]
fn every_repair_of_ten_thousand_failing_pairs_does_what_it_says() {
    check_until_enough_fail(2);
}

#[test]
fn every_repair_of_ten_thousand_failing_triples_does_what_it_says() {
    check_until_enough_fail(3);
}

#[test]
fn the_repair_an_expert_would_choose_comes_first() {
    let table: [(&[&[usize]], &str); 17] = [
        // A statistic of each row, the dimension of which was dropped.
        (&[&[32, 10], &[32]], "b.unsqueeze(-1)"),
        (&[&[8, 12, 64], &[8, 12]], "b.unsqueeze(-1)"),
        (&[&[8, 12, 64], &[8, 64]], "b.unsqueeze(1)"),
        (&[&[8, 12, 64], &[8]], "b[:, None, None]"),
        // A bias for each channel of images, on either side.
        (&[&[32, 64, 56, 56], &[64]], "b[:, None, None]"),
        (&[&[64], &[32, 64, 56, 56]], "a[:, None, None]"),
        (&[&[8, 12, 7, 9], &[8, 7]], "b[:, None, :, None]"),
        // A mask of keys for the scores of attention.
        (&[&[8, 12, 64, 64], &[8, 64]], "b[:, None, None, :]"),
        // A table of all differences, the first operand along the rows.
        (&[&[500], &[400]], "a.unsqueeze(-1)"),
        (&[&[500, 3], &[400, 3]], "a.unsqueeze(1)"),
        // Matrices and images the wrong way round.
        (&[&[2, 3], &[3, 2]], "b.t()"),
        (&[&[4, 2, 3], &[4, 3, 2]], "b.transpose(-2, -1)"),
        (&[&[8, 3, 32, 48], &[8, 32, 48, 3]], "b.permute(0, 3, 1, 2)"),
        (&[&[2, 1, 3], &[5, 2, 3]], "a.squeeze(1)"),
        (&[&[6], &[2, 3]], "b.reshape(6)"),
        // Two operands go together, the third does not.
        (&[&[8, 1], &[8, 5], &[8]], "c.unsqueeze(-1)"),
        (&[&[16, 3, 8, 8], &[3, 1, 1], &[3]], "c[:, None, None]"),
    ];
    for (shapes, call) in table {
        let operands = shapes.iter().map(|shape| Operand::new(shape)).collect();
        let explanation = Explanation::new(operands, Options::default());
        assert_eq!(explanation.repairs()[0].call, call, "{shapes:?}");
    }
}

#[test]
fn a_loss_of_a_column_and_a_row_is_warned_about_with_the_way_out() {
    let loss = vec![Operand::new(&[32, 1]).named("output"), Operand::new(&[32]).named("target")];
    let loss = Explanation::new(loss, Options { op: Some(Op::Sub), ..Options::default() });
    assert!(loss.classes().contains(&Class::MutualStretch));
    let ways: Vec<&str> = loss.alternatives().iter().map(|repair| &*repair.call).collect();
    assert_eq!(ways, ["output.squeeze(-1)", "target.unsqueeze(-1)"]);
}

#[test]
fn a_mean_by_row_is_told_of_keepdim() {
    let row = explained(&[&[32, 10], &[32]], false);
    assert_eq!(row.repairs()[0].hint, Some(Hint::KeepDim { of: 0, dims: vec![1] }));
}

#[test]
fn a_target_that_is_too_small_changes_places_with_the_operand() {
    let swapped = explained(&[&[3], &[2, 3]], true);
    assert!(swapped.repairs().iter().any(|repair| repair.call == "b.add_(a)"), "{:?}", swapped.repairs());
}
