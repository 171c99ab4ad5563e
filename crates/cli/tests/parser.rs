//! What the expression language accepts, how it groups, and where exactly it finds a mistake.

use zerostride_cli::expr::{Ast, Binary, Item, Kind, NodeId, parse};

/// The tree with every group in parentheses: `(sub (neg x) 1)`.
fn grouped(source: &str) -> String {
    let ast = parse(source).unwrap_or_else(|problem| panic!("{source}: {problem:?}"));
    show(&ast, ast.root())
}

fn show(ast: &Ast, id: NodeId) -> String {
    let all = |ids: &[NodeId]| ids.iter().map(|&id| show(ast, id)).collect::<Vec<_>>().join(" ");
    match &ast[id].kind {
        Kind::Number(number) => number.to_string(),
        Kind::Unsigned(number) => number.to_string(),
        Kind::None => "None".to_owned(),
        Kind::Word(word) => format!("'{word}'"),
        Kind::Name(name) => name.to_string(),
        Kind::List(ids) => format!("[{}]", all(ids)),
        Kind::Tuple(ids) => format!("(tuple {})", all(ids)),
        Kind::Unary(op, operand) => format!("({} {})", op.name(), show(ast, *operand)),
        Kind::Binary(op, left, right) => {
            let name = match op {
                Binary::Op(op) => op.name(),
                Binary::Matmul => "matmul",
            };
            format!("({name} {} {})", show(ast, *left), show(ast, *right))
        }
        Kind::Call(call) => {
            let receiver = call.receiver.map(|id| show(ast, id) + ".").unwrap_or_default();
            let arguments = call.arguments.iter().map(|argument| match &argument.keyword {
                Some(keyword) => format!(" {}={}", keyword.text, show(ast, argument.value)),
                None => format!(" {}", show(ast, argument.value)),
            });
            format!("(call {receiver}{}{})", call.function.text, arguments.collect::<String>())
        }
        Kind::Attribute(id, name) => format!("{}.{}", show(ast, *id), name.text),
        Kind::Index(id, items) => {
            let items = items.iter().map(|item| match item {
                Item::At(id) => show(ast, *id),
                Item::Ellipsis(_) => "...".to_owned(),
                Item::Slice { parts, .. } => {
                    parts.map(|part| part.map(|id| show(ast, id)).unwrap_or_default()).join(":")
                }
            });
            format!("{}[{}]", show(ast, *id), items.collect::<Vec<_>>().join(", "))
        }
    }
}

#[test]
fn operators_group_as_in_python() {
    for (source, tree) in [
        ("a + b * c", "(add a (mul b c))"),
        ("a - b - c", "(sub (sub a b) c)"),
        ("(a - (b - c))", "(sub a (sub b c))"),
        ("-x ** 2", "(neg (pow x 2))"),
        ("2 ** -x", "(pow 2 (neg x))"),
        ("a ** b ** c", "(pow a (pow b c))"),
        ("-x.T ** -y[0]", "(neg (pow x.T (neg y[0])))"),
        ("-a * b", "(mul (neg a) b)"),
        ("a @ b * c", "(mul (matmul a b) c)"),
        ("a // b % c / d", "(div (remainder (floor_divide a b) c) d)"),
        (
            "a | b ^ c & d << 1 + 2",
            "(bitwise_or a (bitwise_xor b (bitwise_and c (bitwise_left_shift d (add 1 2)))))",
        ),
        ("a & b == c | d", "(eq (bitwise_and a b) (bitwise_or c d))"),
        ("(a < b) & (b >= c)", "(bitwise_and (lt a b) (ge b c))"),
        ("a != b", "(ne a b)"),
        ("~m & +n", "(bitwise_and (bitwise_not m) (positive n))"),
        ("a >> b >> c", "(bitwise_right_shift (bitwise_right_shift a b) c)"),
        ("a\n + \t b", "(add a b)"),
    ] {
        assert_eq!(grouped(source), tree, "{source}");
    }
}

#[test]
fn calls_methods_and_indices_are_read() {
    for (source, tree) in [
        ("exp(x)", "(call exp x)"),
        ("zeros()", "(call zeros)"),
        ("std(x, 0, keepdim=True)", "(call std x 0 keepdim=True)"),
        ("x.sum((0, 1),)", "(call x.sum (tuple 0 1))"),
        ("x.T.mT", "x.T.mT"),
        ("div(a, b, rounding_mode='floor')", "(call div a b rounding_mode='floor')"),
        ("x[:, None]", "x[::, None]"),
        ("x[..., 1:3]", "x[..., 1:3:]"),
        ("x[::-1]", "x[::(neg 1)]"),
        ("x[1::2][0]", "x[1::2][0]"),
        ("x[-1, m, (0, 1)]", "x[(neg 1), m, (tuple 0 1)]"),
        ("(x + y)[0].sum()", "(call (add x y)[0].sum)"),
        ("[[1, 2.5], [-3, True,]]", "[[1 2.5] [(neg 3) True]]"),
        ("()", "(tuple )"),
        ("(1,)", "(tuple 1)"),
        ("((1))", "1"),
        ("[].sum()", "(call [].sum)"),
        ("f(None, \"tanh\")", "(call f None 'tanh')"),
    ] {
        assert_eq!(grouped(source), tree, "{source}");
    }
}

#[test]
fn numbers_are_read_as_python_reads_them() {
    for (source, value) in [
        ("0", "0"),
        ("00", "0"),
        ("1_000", "1000"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551615", "18446744073709551615"),
        ("1e-5", "1e-5"),
        (".5", "0.5"),
        ("5.", "5.0"),
        ("1_0.2_5e1_0", "102500000000.0"),
        ("2j", "(0+2j)"),
        ("1.5e1j", "(0+15j)"),
        ("1e-400", "0.0"),
    ] {
        assert_eq!(grouped(source), value, "{source}");
    }
}

/// Each mistake with the text it underlines.
#[test]
fn a_mistake_is_found_where_it_is() {
    for (source, span, message) in [
        ("", "", "the expression is empty"),
        ("  \t", "", "the expression is empty"),
        ("x +", "", "expected an operand, but the expression ends here"),
        ("x + * y", "*", "expected an operand, found `*`"),
        ("x y", "y", "expected an operator, found a name"),
        ("x 5", "5", "expected an operator, found a number"),
        ("x 'a'", "'a'", "expected an operator, found a quoted word"),
        ("(x + 1", "(", "this `(` is never closed"),
        ("f(x, ", "(", "this `(` is never closed"),
        ("[1, 2", "[", "this `[` is never closed"),
        ("x[1", "[", "this `[` is never closed"),
        ("x + 1)", ")", "this `)` closes nothing"),
        ("[1, 2)", ")", "this `)` does not close the `[`"),
        ("(1]", "]", "this `]` does not close the `(`"),
        ("f(x y)", "y", "expected `,` or `)`, found a name"),
        ("f(,)", ",", "expected an operand, found `,`"),
        ("f(a=1, b)", "b", "an argument without a name follows one with a name"),
        ("f(1=2)", "=", "expected `,` or `)`, found `=`"),
        ("f((a)=2)", "=", "expected `,` or `)`, found `=`"),
        ("y = x", "=", "expected an operator, found `=`"),
        ("a < b < c", "<", "comparisons do not chain"),
        ("a and b", "and", "`and` is not part of the language"),
        ("not a", "not", "`not` is not part of the language"),
        ("a if b else c", "if", "`if` is not part of the language"),
        ("lambda", "lambda", "`lambda` is not part of the language"),
        ("a && b", "&&", "`&&` is not part of the language"),
        ("!a", "!", "`!` is not part of the language"),
        ("a × b", "×", "`×` is not part of the language"),
        ("a ≤ b", "≤", "`≤` is not part of the language"),
        ("größe + 1", "größe", "names are made of ASCII letters, digits and `_`"),
        ("é", "é", "names are made of ASCII letters, digits and `_`"),
        ("a + 🦀", "🦀", "unexpected character `🦀`"),
        ("a ; b", ";", "unexpected character `;`"),
        ("a \u{1b}[31m", "\u{1b}", "unexpected character `\\u{1b}`"),
        ("x[]", "[]", "an index is missing"),
        ("x[1:2:3:4]", "1:2:3", "a slice has three parts"),
        ("x[,]", ",", "expected an index, found `,`"),
        ("... + 1", "...", "`...` stands only in an index, as in `x[..., 0]`"),
        ("x.", "", "expected the name of a method, but the expression ends here"),
        ("x.1", ".1", "expected an operator, found a number"),
        ("(x)(1)", "(", "only functions and methods can be called"),
        ("f(x)(1)", "(", "only functions and methods can be called"),
        ("2x", "2x", "a number runs into a name"),
        ("2 + 3é", "3é", "a number runs into a name"),
        ("0x1f", "0x1f", "a number runs into a name"),
        ("1__0", "1__0", "in a number, `_` stands between two digits"),
        ("1_", "1_", "in a number, `_` stands between two digits"),
        ("012", "012", "an integer does not start with 0"),
        ("1e999", "1e999", "this number is too large for a float"),
        ("1 + 1e999j", "1e999j", "this number is too large for a float"),
        ("18446744073709551616", "18446744073709551616", "this integer does not fit in 64 bits"),
        ("-9223372036854775808 ** 2", "-9223372036854775808", "this integer does not fit in 64 bits"),
        ("-9223372036854775809", "9223372036854775809", "this integer does not fit in 64 bits"),
        ("'abc", "'abc", "this quote is never closed"),
        ("'a\\n'", "'a", "quoted words have no escapes"),
    ] {
        let problem = parse(source).expect_err(source);
        assert_eq!(problem.message, message, "{source}");
        assert_eq!(&source[problem.span.start..problem.span.end], span, "{source}");
    }
}

#[test]
fn spans_cover_parts_without_the_parentheses_around_them() {
    let source = "(a + b) * exp( c )";
    let spans = parse(source)
        .unwrap()
        .nodes()
        .iter()
        .map(|node| &source[node.span.start..node.span.end])
        .collect::<Vec<_>>();
    assert_eq!(spans, ["a", "b", "a + b", "c", "exp( c )", source]);
}

#[test]
fn monstrous_texts_are_refused_in_linear_time() {
    let started = std::time::Instant::now();
    for (text, message) in [
        ("(".repeat(100_000) + "1" + &")".repeat(100_000), "the expression is nested more than 200 deep"),
        ("[".repeat(100_000), "the expression is nested more than 200 deep"),
        ("f(".repeat(100_000), "the expression is nested more than 200 deep"),
        ("x[".repeat(100_000), "the expression is nested more than 200 deep"),
        ("-".repeat(100_000) + "1", "the expression is nested more than 200 deep"),
        ("2**".repeat(100_000), "the expression is nested more than 200 deep"),
        ("9".repeat(10_000_000), "this integer does not fit in 64 bits"),
        ("9".repeat(1_000_000) + ".5", "this number is too large for a float"),
        ("1+".repeat(600_000) + "1", "the expression has more than 1048576 parts"),
        (format!("[{}]", "1,".repeat(2_000_000)), "the expression has more than 1048576 parts"),
        ("a".repeat(1_000_000) + " b", "expected an operator, found a name"),
        ("é".repeat(500_000), "names are made of ASCII letters, digits and `_`"),
        (" ".repeat(1_000_000), "the expression is empty"),
    ] {
        let problem = parse(&text).expect_err(message);
        assert_eq!(problem.message, message);
        assert!(text.get(problem.span.start..problem.span.end).is_some());
    }
    assert!(parse(&("0.".to_owned() + &"1".repeat(1_000_000))).is_ok());
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn what_is_within_the_limits_is_accepted() {
    assert!(parse(&("(".repeat(199) + "1" + &")".repeat(199))).is_ok());
    assert!(parse(&("1".to_owned() + &"+1".repeat(500_000))).is_ok());
    assert!(parse(&("x.T".to_owned() + &".T".repeat(1_000_000))).is_ok());
    assert!(parse(&format!("[{}]", "1,".repeat(1_000_000))).is_ok());
}
