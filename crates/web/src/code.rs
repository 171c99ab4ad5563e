//! Owns the programs that the page offers to copy: the same operation in several libraries. It does not know
//! whether the operation works; the programs show what the libraries say.

use zerostride_explain::Operand;
use zerostride_ops::{Complex64, DType, Op, Rule};
use zerostride_shape::Size;

use crate::combined::reduction_call;
use crate::operand::nested_text;
use crate::state::Operation::{Einsum, Map, Matmul, Reduce};
use crate::state::State;

/// A library's name and the program.
pub(crate) type Code = (&'static str, String);

/// The program in every library.
pub(crate) fn programs(state: &State, operands: &[Operand]) -> [Code; 5] {
    let python = |library| python(library, state, operands);
    [
        ("PyTorch", python(&TORCH)),
        ("NumPy", python(&NUMPY)),
        ("JAX", python(&JAX)),
        ("zerostride, Python", python(&ZEROSTRIDE)),
        ("zerostride, Rust", rust(state, operands)),
    ]
}

/// What differs between Python's array libraries.
struct Library {
    module: &'static str,
    import: &'static str,
    /// The function that makes an array of a list.
    array: &'static str,
    /// A dtype as an argument.
    dtype: fn(DType) -> Option<String>,
    /// An array of random numbers, of sizes with commas and of a shape, and whether it needs another import.
    random: fn(&str, &str) -> String,
    random_import: &'static str,
    broadcast: &'static str,
    /// Whether names are those of PyTorch, with methods in place, rather than those of the array API.
    has_torch_names: bool,
}

const TORCH: Library = Library {
    module: "torch",
    import: "import torch\n",
    array: "tensor",
    dtype: |dtype| stated(dtype).map(|dtype| format!("torch.{}", dtype.torch_name())),
    random: |sizes, _| format!("torch.rand({})", if sizes.is_empty() { "()" } else { sizes }),
    random_import: "",
    broadcast: "broadcast_tensors",
    has_torch_names: true,
};

const NUMPY: Library = Library {
    module: "np",
    import: "import numpy as np\n",
    array: "array",
    dtype: |dtype| Some(format!("{:?}", numpy_name(dtype))),
    random: |sizes, _| format!("np.random.rand({sizes})"),
    random_import: "",
    broadcast: "broadcast_arrays",
    has_torch_names: false,
};

const JAX: Library = Library {
    module: "jnp",
    import: "import jax.numpy as jnp\n",
    dtype: |dtype| Some(format!("{:?}", dtype.torch_name())),
    random: |_, shape| format!("jax.random.uniform(jax.random.key(0), {shape})"),
    random_import: "import jax\n",
    ..NUMPY
};

const ZEROSTRIDE: Library = Library {
    module: "zs",
    import: "import zerostride as zs\n",
    dtype: |dtype| stated(dtype).map(|dtype| format!("zs.{}", dtype.torch_name())),
    random: |sizes, _| format!("zs.rand({})", if sizes.is_empty() { "()" } else { sizes }),
    ..TORCH
};

/// One line for each operand: its name, the values as a nested list or the sizes, the dtype.
fn operands(
    operands: &[Operand],
    line: impl Fn(&str, Result<String, &[Size]>, Option<DType>, usize) -> String,
) -> String {
    let mut lines = String::new();
    for (at, operand) in operands.iter().enumerate() {
        let content = match &operand.values {
            Some(values) => Ok(nested_text(&operand.shape, values)),
            None => Err(&operand.shape[..]),
        };
        lines += &line(name(operand), content, operand.dtype, at);
        lines.push('\n');
    }
    lines
}

fn name(operand: &Operand) -> &str {
    operand.name.as_deref().unwrap_or_default()
}

/// Sizes with commas, and as a tuple.
fn sizes(shape: &[Size]) -> (String, String) {
    let sizes = shape.iter().map(Size::to_string).collect::<Vec<_>>().join(", ");
    let tuple = if shape.len() == 1 { format!("({sizes},)") } else { format!("({sizes})") };
    (sizes, tuple)
}

fn python(library: &Library, state: &State, given: &[Operand]) -> String {
    let lines = operands(given, |name, content, dtype, _| match content {
        Ok(values) => {
            let dtype =
                dtype.and_then(library.dtype).map_or(String::new(), |dtype| format!(", dtype={dtype}"));
            format!("{name} = {}.{}({values}{dtype})", library.module, library.array)
        }
        Err(shape) => {
            let (sizes, tuple) = sizes(shape);
            format!("{name} = {}", (library.random)(&sizes, &tuple))
        }
    });
    let is_random = given.iter().any(|operand| operand.values.is_none());
    let imports = if is_random { library.random_import } else { "" };
    format!("{imports}{}\n{lines}{}\n", library.import, python_call(library, state, given))
}

fn python_call(library: &Library, state: &State, given: &[Operand]) -> String {
    let names: Vec<&str> = given.iter().map(name).collect();
    let Library { module, has_torch_names, .. } = *library;
    let call = |function: &str| format!("{module}.{function}({})", names.join(", "));
    let value = match (state.op, &names[..]) {
        (Some(Map(op)), [a, b]) => {
            let info = op.info();
            let plain = match info.symbol {
                Some(symbol) => format!("{a} {symbol} {b}"),
                None => call(op.name()),
            };
            match (state.in_place, info.in_place, info.symbol) {
                (true, Some(method), _) if has_torch_names => return format!("{a}.{method}({b})"),
                // Arrays of JAX never change.
                (true, ..) if module == JAX.module => return format!("{a} = {a}.at[...].set({plain})"),
                (true, _, Some(symbol)) if info.rule != Rule::bool => return format!("{a} {symbol}= {b}"),
                _ => plain,
            }
        }
        (Some(Map(Op::Where)), [_, _, _]) => call("where"),
        (Some(Reduce(op)), [x]) => {
            let (keep, name) = match op {
                _ if has_torch_names => ("keepdim", op.name()),
                Op::Amax => ("keepdims", "max"),
                Op::Amin => ("keepdims", "min"),
                _ => ("keepdims", op.name()),
            };
            reduction_call(x, name, &state.dim, state.keepdim, keep)
        }
        (Some(Matmul), [a, b]) => format!("{a} @ {b}"),
        (Some(Einsum), _) => format!("{module}.einsum(\"{}\", {})", state.equation, names.join(", ")),
        _ => call(library.broadcast),
    };
    format!("result = {value}")
}

/// NumPy's name of a dtype; NumPy has no bfloat16.
fn numpy_name(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 => "float32",
        other => other.torch_name(),
    }
}

fn rust(state: &State, given: &[Operand]) -> String {
    let mut code = operands(given, |name, content, dtype, at| match content {
        Ok(values) => {
            let values = match dtype {
                Some(DType::DEFAULT_FLOAT) => with_points(&values),
                Some(DType::C64 | DType::C128) => with_complex(&values),
                _ => values.replace("True", "true").replace("False", "false"),
            };
            let made = match values.starts_with('[') {
                true => format!("tensor!{values}"),
                false => format!("Tensor::scalar({values})?"),
            };
            let convert = dtype
                .filter(|dtype| *dtype != DType::Bool || !values.contains(['t', 'f']))
                .filter(|dtype| *dtype != DType::C64)
                .and_then(stated)
                .map_or(String::new(), |dtype| format!(".to_dtype(DType::{dtype:?})?"));
            format!("let {name} = {made}{convert};")
        }
        Err(shape) => format!("let {name} = Tensor::rand(&[{}], {})?;", sizes(shape).0, at + 1),
    });
    code += &rust_call(state, given);
    let names = [
        ("Complex32", "Complex32::"),
        ("DType", "DType::"),
        ("Tensor", "Tensor::"),
        ("broadcast_tensors", "broadcast_tensors("),
        ("einsum", "einsum("),
        ("keepdim", "keepdim("),
        ("tensor", "tensor!"),
    ];
    let used: Vec<&str> =
        names.iter().filter(|(_, call)| code.contains(call)).map(|(name, _)| *name).collect();
    let import = if let [one] = used[..] { one.to_owned() } else { format!("{{{}}}", used.join(", ")) };
    format!("use zerostride::{import};\n\n{code}\n")
}

fn rust_call(state: &State, given: &[Operand]) -> String {
    let names: Vec<&str> = given.iter().map(name).collect();
    let all = names.iter().map(|name| format!("&{name}")).collect::<Vec<_>>().join(", ");
    let value = match (state.op, &names[..]) {
        (Some(Map(op)), [a, b]) => match (op.info().in_place, state.in_place) {
            (Some(method), true) => return format!("{a}.{method}(&{b})?;"),
            _ => format!("{a}.{}(&{b})?", op.name()),
        },
        (Some(Map(Op::Where)), [condition, yes, no]) => format!("{yes}.where_(&{condition}, &{no})?"),
        (Some(Reduce(op)), [x]) => {
            let dims = match &state.dim {
                none if none.is_empty() => "..".to_owned(),
                several if several.contains(',') => format!("[{several}]"),
                one => one.clone(),
            };
            let dims = if state.keepdim { format!("keepdim({dims})") } else { dims };
            format!("{x}.{}({dims})?", op.name())
        }
        (Some(Matmul), [a, b]) => format!("{a}.matmul(&{b})?"),
        (Some(Einsum), _) => format!("einsum(\"{}\", [{all}]).eval()?", state.equation),
        _ => format!("broadcast_tensors(&[{all}])?"),
    };
    format!("let result = {value};")
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

/// Numbers as complex ones, of which a program is made into c128 afterwards.
fn with_complex(values: &str) -> String {
    let mut text = String::new();
    for piece in values.split_inclusive([',', ']']) {
        let number = piece.trim_end_matches([',', ']']);
        let start = number.find(|c: char| !['[', ' '].contains(&c)).unwrap_or(number.len());
        text += &number[..start];
        text += &match number[start..].parse::<Complex64>() {
            Ok(Complex64 { re, im }) => format!("Complex32::new({re:?}, {im:?})"),
            Err(_) => number[start..].to_owned(),
        };
        text += &piece[number.len()..];
    }
    text
}

/// The dtype, unless the values have it as they are written.
fn stated(dtype: DType) -> Option<DType> {
    (![DType::I64, DType::DEFAULT_FLOAT].contains(&dtype)).then_some(dtype)
}
