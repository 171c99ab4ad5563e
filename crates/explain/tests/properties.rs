//! What holds for every text: it lines up, keeps to its page, and takes little time.

use proptest::collection::vec;
use proptest::prelude::*;
use zerostride_explain::{Explanation, Lang, Operand, Options, Page};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_columns_line_up_and_the_page_is_kept(
        shapes in vec(vec(prop::sample::select(&[1, 1, 2, 7, 1000][..]), 0..18), 1..6),
        width in 40usize..120,
        unicode: bool,
        lang in prop::sample::select(&Lang::ALL[..]),
    ) {
        let operands: Vec<Operand> = shapes.iter().map(|shape| Operand::new(shape)).collect();
        let explanation = Explanation::new(operands, Options::default());
        let text = explanation.text(&Page { width, unicode, lang, ..Page::default() });
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

#[test]
fn thousands_of_operands_are_explained_without_a_search_for_repairs() {
    let operands = (0..3000).map(|i| Operand::new(&[2 + i % 2])).collect();
    let explanation = Explanation::new(operands, Options::default());
    assert!(explanation.repairs().is_empty());
    assert!(explanation.error().is_some() && explanation.text(&Page::default()).len() < 1_000_000);
}
