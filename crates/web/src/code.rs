//! Owns the programs that the page offers to copy: the same broadcast in PyTorch, NumPy and zerostride. It
//! does not know whether the broadcast works; the programs show what the libraries say.

use std::fmt::Write as _;

use zerostride_explain::Explanation;
use zerostride_ops::{DType, Op};
use zerostride_shape::Size;

use crate::operand::nested_text;
use crate::state::OPERATIONS;

/// A library's name and the program.
pub(crate) type Code = (&'static str, String);

/// The program in every library.
pub(crate) fn programs(explanation: &Explanation) -> [Code; 3] {
    [("PyTorch", pytorch(explanation)), ("NumPy", numpy(explanation)), ("zerostride", rust(explanation))]
}

/// The operation of two operands; `None` for other numbers of operands, of which only the broadcast is
/// written.
fn binary(explanation: &Explanation) -> Option<(Op, &str, &str)> {
    match (explanation.options().op, explanation.names()) {
        (Some(op), [a, b]) => Some((op, a, b)),
        _ => None,
    }
}

/// One line for each operand: its name, the values as a nested list or the shape without brackets, the dtype.
fn operands(
    explanation: &Explanation,
    line: impl Fn(&str, Result<String, String>, Option<DType>, usize) -> String,
) -> String {
    let mut lines = String::new();
    for (at, (operand, name)) in explanation.operands().iter().zip(explanation.names()).enumerate() {
        let sizes: Vec<String> = operand.shape.iter().map(Size::to_string).collect();
        let content = match &operand.values {
            Some(values) => Ok(nested_text(&operand.shape, values)),
            None => Err(sizes.join(", ")),
        };
        lines += &line(name, content, operand.dtype, at);
        lines.push('\n');
    }
    lines
}

fn pytorch(explanation: &Explanation) -> String {
    let mut code = "import torch\n\n".to_owned();
    code += &operands(explanation, |name, content, dtype, _| match (content, dtype) {
        (Ok(values), dtype) => {
            let dtype =
                stated(dtype).map_or(String::new(), |dtype| format!(", dtype=torch.{}", dtype.torch_name()));
            format!("{name} = torch.tensor({values}{dtype})")
        }
        (Err(sizes), _) => format!("{name} = torch.rand({})", if sizes.is_empty() { "()" } else { &sizes }),
    });
    code += &match binary(explanation) {
        Some((op, a, b)) => match (op.info().in_place, explanation.options().in_place) {
            (Some(method), true) => format!("{a}.{method}({b})"),
            _ => format!("result = {}", infix(op, a, b, "torch.", op.name())),
        },
        None => format!("result = torch.broadcast_tensors({})", explanation.names().join(", ")),
    };
    code + "\n"
}

fn numpy(explanation: &Explanation) -> String {
    let mut code = "import numpy as np\n\n".to_owned();
    code += &operands(explanation, |name, content, dtype, _| match (content, dtype) {
        (Ok(values), Some(dtype)) => format!("{name} = np.array({values}, dtype={:?})", numpy_name(dtype)),
        (Ok(values), None) => format!("{name} = np.array({values})"),
        (Err(sizes), _) => format!("{name} = np.random.rand({sizes})"),
    });
    code += &match binary(explanation) {
        Some((op, a, b)) => {
            let spelt = OPERATIONS.iter().find(|(one, _)| *one == op).map_or("", |(_, spelt)| spelt);
            match (op.info().symbol, explanation.options().in_place) {
                (Some(symbol), true) if op.info().rule != zerostride_ops::Rule::bool => {
                    format!("{a} {symbol}= {b}")
                }
                _ => format!("result = {}", infix(op, a, b, "np.", spelt)),
            }
        }
        None => format!("result = np.broadcast_arrays({})", explanation.names().join(", ")),
    };
    code + "\n"
}

/// `a + b`, or a call if there is no symbol.
fn infix(op: Op, a: &str, b: &str, module: &str, name: &str) -> String {
    match op.info().symbol {
        Some(symbol) => format!("{a} {symbol} {b}"),
        None => format!("{module}{name}({a}, {b})"),
    }
}

/// NumPy's name of a dtype; NumPy has no bfloat16.
fn numpy_name(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 => "float32",
        other => other.torch_name(),
    }
}

fn rust(explanation: &Explanation) -> String {
    let mut code = String::new();
    code += &operands(explanation, |name, content, dtype, at| match (content, dtype) {
        (Ok(values), dtype) => {
            let values = if dtype == Some(DType::DEFAULT_FLOAT) { with_points(&values) } else { values };
            let made = match values.starts_with('[') {
                true => format!("tensor!{values}"),
                false => format!("Tensor::scalar({values})?"),
            };
            let convert =
                stated(dtype).map_or(String::new(), |dtype| format!(".to_dtype(DType::{dtype:?})?"));
            format!("let {name} = {made}{convert};")
        }
        (Err(sizes), _) => format!("let {name} = Tensor::rand(&[{sizes}], {})?;", at + 1),
    });
    match binary(explanation) {
        Some((op, a, b)) => match (op.info().in_place, explanation.options().in_place) {
            (Some(method), true) => write!(code, "{a}.{method}(&{b})?;"),
            _ => write!(code, "let result = {a}.{}(&{b})?;", op.name()),
        },
        None => {
            let names: Vec<String> = explanation.names().iter().map(|name| format!("&{name}")).collect();
            write!(code, "let result = broadcast_tensors(&[{}])?;", names.join(", "))
        }
    }
    .expect("a String takes all text");
    let names = [
        ("DType", "DType::"),
        ("Tensor", "Tensor::"),
        ("broadcast_tensors", "broadcast_tensors("),
        ("tensor", "tensor!"),
    ];
    let used: Vec<&str> =
        names.iter().filter(|(_, call)| code.contains(call)).map(|(name, _)| *name).collect();
    let import = if let [one] = used[..] { one.to_owned() } else { format!("{{{}}}", used.join(", ")) };
    format!("use zerostride::{import};\n\n{code}\n")
}

/// Numbers with a point or an exponent, by which Rust distinguishes floats from integers.
fn with_points(values: &str) -> String {
    let mut text = String::new();
    for piece in values.split_inclusive([',', ']']) {
        let number = piece.trim_end_matches([',', ']']);
        let whole = number.ends_with(|last: char| last.is_ascii_digit()) && !number.contains(['.', 'e', 'E']);
        text += number;
        text += if whole { ".0" } else { "" };
        text += &piece[number.len()..];
    }
    text
}

/// The dtype, unless the values have it as they are written.
fn stated(dtype: Option<DType>) -> Option<DType> {
    dtype.filter(|dtype| ![DType::I64, DType::DEFAULT_FLOAT].contains(dtype))
}
