//! What holds for every explanation: repairs do what they say, and the picture lines up.

use proptest::collection::vec;
use proptest::prelude::*;
use zerostride_explain::{Class, Explanation, Operand, Options, Page};
use zerostride_ops::Op;
use zerostride_shape::{Layout, Shape, broadcast_shape};

/// Applies a call as it is printed, such as `b.unsqueeze(-1)`, to a shape; the result's shape for the calls that are
/// whole operations.
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

fn shapes(operands: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<usize>>> {
    vec(vec(prop::sample::select(&[0, 1, 1, 2, 2, 3, 3, 4, 6][..]), 0..5), operands)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_repair_broadcasts_to_the_shape_it_claims(shapes in shapes(2..4), in_place: bool) {
        let operands = shapes.iter().map(|shape| Operand::new(shape)).collect();
        let options = Options { op: Some(Op::Add), in_place, ..Options::default() };
        let explanation = Explanation::new(operands, options);
        let shapes: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
        for repair in explanation.repairs().iter().chain(explanation.alternatives()) {
            let name = &explanation.names()[repair.operand];
            let reached = apply(&repair.call, name, &shapes, repair.operand);
            if repair.call.contains(".add") {
                prop_assert_eq!(&reached, &repair.shape);
                if repair.call.contains(".add_") {
                    prop_assert_eq!(shapes[repair.operand], &repair.shape[..]);
                }
                continue;
            }
            prop_assert_eq!(&reached, &repair.view);
            let mut changed = shapes.clone();
            changed[repair.operand] = &reached;
            prop_assert_eq!(broadcast_shape(&changed).unwrap(), &repair.shape[..]);
            if in_place && explanation.error().is_some() {
                prop_assert_eq!(changed[0], &repair.shape[..], "the target fits");
            }
            let larger = shapes.iter().all(|shape| shape.iter().product::<usize>() < repair.shape.numel());
            prop_assert_eq!(repair.mutual_stretch, larger);
        }
        prop_assert!(explanation.repairs().len() <= 5);
        prop_assert_eq!(explanation.shape().is_some(), explanation.error().is_none());
        prop_assert!(explanation.alternatives().is_empty() || explanation.classes().contains(&Class::MutualStretch));
    }

    #[test]
    fn the_columns_line_up_and_the_page_is_kept(
        shapes in vec(vec(prop::sample::select(&[1, 1, 2, 7, 1000][..]), 0..18), 1..6),
        width in 40usize..120,
        unicode: bool,
    ) {
        let operands: Vec<Operand> = shapes.iter().map(|shape| Operand::new(shape)).collect();
        let explanation = Explanation::new(operands, Options::default());
        let text = explanation.text(&Page { width, unicode, ..Page::default() });
        // The error's line is PyTorch's, whatever its length.
        for line in text.lines().skip(usize::from(explanation.error().is_some())) {
            prop_assert!(line.chars().count() <= width, "{line}");
        }
        let rows = shapes.len() + 1;
        let lines: Vec<&str> = text.lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("  dim  ")) {
            let block = lines[at..at + rows].iter().chain([&lines[at + rows + 1]]);
            let ends: Vec<Vec<usize>> = block.map(|line| ends_of_words(line)).collect();
            for row in &ends {
                prop_assert_eq!(&row[1..], &ends[0][1..], "\n{}", text);
            }
        }
        prop_assert!(serde_json::from_str::<serde_json::Value>(&explanation.json()).is_ok());
    }
}

fn ends_of_words(line: &str) -> Vec<usize> {
    let line: Vec<char> = line.chars().collect();
    let ends = |at: &usize| line[*at] != ' ' && line.get(at + 1).is_none_or(|next| *next == ' ');
    (0..line.len()).filter(ends).collect()
}

/// The first repair offered.
fn first(shapes: &[&[usize]]) -> String {
    let operands = shapes.iter().map(|shape| Operand::new(shape)).collect();
    Explanation::new(operands, Options::default()).repairs()[0].call.clone()
}

#[test]
fn the_repair_an_expert_would_choose_comes_first() {
    let table: [(&[&[usize]], &str); 11] = [
        (&[&[32, 10], &[32]], "b.unsqueeze(-1)"),
        (&[&[8, 12, 64], &[8, 64]], "b.unsqueeze(1)"),
        (&[&[8, 12, 64], &[8]], "b[:, None, None]"),
        (&[&[32, 64, 56, 56], &[64]], "b[:, None, None]"),
        (&[&[64], &[32, 64, 56, 56]], "a[:, None, None]"),
        (&[&[8, 12, 7, 9], &[8, 7]], "b[:, None, :, None]"),
        (&[&[2, 3], &[3, 2]], "b.t()"),
        (&[&[4, 2, 3], &[4, 3, 2]], "b.transpose(-2, -1)"),
        (&[&[8, 3, 32, 48], &[8, 32, 48, 3]], "b.permute(0, 3, 1, 2)"),
        (&[&[2, 1, 3], &[5, 2, 3]], "a.squeeze(1)"),
        (&[&[6], &[2, 3]], "b.reshape(6)"),
    ];
    for (shapes, call) in table {
        assert_eq!(first(shapes), call, "{shapes:?}");
    }
}

#[test]
fn thousands_of_operands_are_explained_without_a_search_for_repairs() {
    let operands = (0..3000).map(|i| Operand::new(&[2 + i % 2])).collect();
    let explanation = Explanation::new(operands, Options::default());
    assert!(explanation.repairs().is_empty());
    assert!(explanation.error().is_some() && explanation.text(&Page::default()).len() < 1_000_000);
}
