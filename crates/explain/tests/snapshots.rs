//! What a reader sees: the source documents' examples S1 to S16, errors and extremes, as text in each
//! language and as JSON, and the examples as pictures.

mod pictures;

use zerostride_explain::{Explanation, Lang, Operand, Options, Page};
use zerostride_ops::{DType, Op};

fn shapes(shapes: &[&[usize]]) -> Vec<Operand> {
    shapes.iter().map(|shape| Operand::new(shape)).collect()
}

fn adding() -> Options {
    Options { op: Some(Op::Add), ..Options::default() }
}

fn in_place() -> Options {
    Options { in_place: true, ..adding() }
}

fn with_result<T: ToString>(op: Op, result: &[T]) -> Options {
    let result = Some(result.iter().map(T::to_string).collect());
    Options { op: Some(op), result, ..Options::default() }
}

fn values(shape: &[usize], values: &[i64]) -> Operand {
    Operand::new(shape).dtype(DType::I64).values(values)
}

/// The text in English and in Italian, and the JSON.
fn written(explanation: &Explanation) -> String {
    let text = |lang: Lang| {
        let text = explanation.text(&Page { lang, ..Page::default() });
        for line in text.lines().skip(1) {
            assert!(line.chars().count() <= 80, "wider than the page: {line}");
            assert_eq!(line, line.trim_end(), "blanks at the end of a line");
        }
        text
    };
    let [english, italian] = Lang::ALL.map(text);
    format!("{english}\n=====\n{italian}\n=====\n{}\n", explanation.json())
}

/// The examples of the source documents, which are looked at as pictures too: `tests/pictures` has them.
macro_rules! drawn {
    ($($name:ident: $operands:expr, $options:expr;)*) => {
        $(#[test]
        fn $name() {
            let explanation = Explanation::new($operands, $options);
            insta::assert_snapshot!(written(&explanation));
            pictures::assert_stands(stringify!($name), &explanation);
        })*
    };
}

macro_rules! looks {
    ($($name:ident: $operands:expr, $options:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(written(&Explanation::new($operands, $options)));
        })*
    };
}

drawn! {
    s01_the_single_row_is_stretched_not_copied: shapes(&[&[4, 3], &[1, 3]]), adding();
    s02_an_empty_tensor_does_not_meet_four_columns: shapes(&[&[0], &[3, 4]]), adding();
    s03_trailing_ones: shapes(&[&[5, 3, 4, 1], &[3, 1, 1]]), Options::default();
    s04_two_and_three_do_not_meet: shapes(&[&[5, 2, 4, 1], &[3, 1, 1]]), Options::default();
    s05_both_are_stretched:
        vec![Operand::new(&[5, 1, 4, 1]).named("x"), Operand::new(&[3, 1, 2]).named("y")], adding();
    s06_row_and_column: vec![values(&[1, 3], &[1, 2, 3]), values(&[3, 1], &[4, 5, 6])],
        with_result(Op::Add, &[5, 6, 7, 6, 7, 8, 7, 8, 9]);
    s07_a_row_times_a_number: vec![values(&[1, 3], &[1, 2, 3]), values(&[], &[5])],
        with_result(Op::Mul, &[5, 10, 15]);
    s08_two_rows_and_three: shapes(&[&[1, 2, 3], &[3, 3]]), adding();
    s09_same_shapes_always_broadcast: shapes(&[&[5, 7, 3], &[5, 7, 3]]), Options::default();
    s10_an_empty_tensor_and_a_matrix: shapes(&[&[0], &[2, 2]]), Options::default();
    s11_only_the_second_dimension_grows: shapes(&[&[5, 1, 4, 1], &[3, 1, 1]]), adding();
    s12_one_element_and_three_dimensions: shapes(&[&[1], &[3, 1, 7]]), adding();
    s13_in_place: shapes(&[&[5, 3, 4, 1], &[3, 1, 1]]), in_place();
    s14_a_target_is_never_stretched: shapes(&[&[1, 3, 1], &[3, 1, 7]]), in_place();
    s15a_matrix_and_number: vec![values(&[2, 2], &[1, 2, 3, 4]), values(&[], &[10])],
        with_result(Op::Add, &[11, 12, 13, 14]);
    s15b_matrix_and_row: vec![values(&[2, 3], &[1, 2, 3, 4, 5, 6]), values(&[3], &[10, 20, 30])],
        with_result(Op::Add, &[11, 22, 33, 14, 25, 36]);
    s15c_matrix_and_column: vec![values(&[3, 2], &[1, 2, 3, 4, 5, 6]), values(&[3, 1], &[10, 20, 30])],
        with_result(Op::Add, &[11, 12, 23, 24, 35, 36]);
    s15d_column_and_row: vec![values(&[3, 1], &[1, 2, 3]), values(&[2], &[10, 20])],
        with_result(Op::Add, &[11, 21, 12, 22, 13, 23]);
    s16_not_an_error: vec![values(&[1, 3], &[1, 2, 3]), values(&[2, 1], &[10, 20])],
        with_result(Op::Add, &[11, 12, 13, 21, 22, 23]);
}

looks! {
    zero_dimensional_operands: shapes(&[&[], &[]]), adding();
    a_one_takes_the_other_size_even_zero: shapes(&[&[2, 1], &[1, 0]]), adding();
    the_silent_loss: vec![Operand::new(&[32, 1]).named("pred"), Operand::new(&[32]).named("target")],
        Options { op: Some(Op::Sub), ..Options::default() };
    fifty_thousand_squared: shapes(&[&[50_000], &[50_000, 1]]), Options { op: Some(Op::Sub), ..Options::default() };
    a_mean_without_keepdim: vec![Operand::new(&[32, 10]).named("x"), Operand::new(&[32]).named("m")],
        Options { op: Some(Op::Sub), ..Options::default() };
    a_bias_for_each_channel:
        vec![Operand::new(&[32, 64, 56, 56]).named("x"), Operand::new(&[64]).named("bias")], adding();
    channels_last_and_first:
        vec![Operand::new(&[224, 224, 3]).named("photo"), Operand::new(&[3, 224, 224]).named("noise")], adding();
    a_transposed_matrix: shapes(&[&[2, 3], &[3, 2]]), adding();
    two_lengths: shapes(&[&[3], &[4]]), adding();
    three_operands_of_which_one_does_not_fit:
        vec![Operand::new(&[4, 1]).named("mask"), Operand::new(&[4, 3]).named("x"), Operand::new(&[4]).named("y")],
        Options { op: Some(Op::Where), ..Options::default() };
    a_mismatch_before_the_longest_operand: shapes(&[&[3], &[4], &[5, 1, 1]]), Options::default();
    in_place_into_fewer_dimensions: shapes(&[&[3], &[1, 3]]), in_place();
    in_place_into_the_smaller: shapes(&[&[3], &[2, 3]]), in_place();
    more_elements_than_memory: shapes(&[&[1 << 40, 1], &[1, 1 << 40]]), adding();
    sixty_five_dimensions: shapes(&[&[1; 65], &[2]]), adding();
    sixty_four_dimensions: vec![Operand::new(&[1; 64]), Operand::new(&[2; 40])], adding();
    sixteen_operands: (0..16).map(|i| Operand::new(&[[1, 4][i % 2], [3, 1, 1][i % 3], 5])).collect(), Options::default();
    no_operands: vec![], Options::default();
    a_name_cannot_command_the_terminal: vec![Operand::new(&[2]).named("\u{1b}[31mred\n"), Operand::new(&[1])], adding();
}

#[test]
fn plain_pages_are_ascii_and_as_narrow_as_asked() {
    let operands = vec![Operand::new(&[5, 1, 4, 1]), Operand::new(&[3, 1, 2])];
    let page = Page { width: 40, unicode: false, ..Page::default() };
    let text = Explanation::new(operands, adding()).text(&page);
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn colour_changes_no_character() {
    for operands in [shapes(&[&[5, 1, 4, 1], &[3, 1, 2]]), shapes(&[&[2, 3], &[3, 2]])] {
        let explanation = Explanation::new(operands, adding());
        let coloured = explanation.text(&Page { colour: true, ..Page::default() });
        assert!(coloured.contains("\u{1b}["));
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, code)) = rest.split_once("\u{1b}[") {
            plain.push_str(before);
            rest = code.split_once('m').expect("a style ends with m").1;
        }
        plain.push_str(rest);
        assert_eq!(plain, explanation.text(&Page::default()));
    }
}
