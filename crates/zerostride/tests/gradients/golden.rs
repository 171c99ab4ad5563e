//! Gradients of every row against PyTorch's (`spec/golden/gradients.py`), and the gradients of these
//! gradients.

use std::path::Path;

use serde_json::Value;
use zerostride::{Argument, Arguments, Complex64, DType, Expr, Op, Tensor, call};

/// How far a value may be off, relative to its own size or that of the gradient's largest finite element.
const TOLERANCE: f64 = 1e-12;

fn number(value: &Value) -> f64 {
    match value {
        Value::String(word) => word.parse().expect("a word is an infinity or NaN"),
        number => number.as_f64().expect("a value is a number"),
    }
}

/// A value as its parts; a real one has one.
fn parts(value: &Value) -> Vec<f64> {
    value.as_array().map_or_else(|| vec![number(value)], |parts| parts.iter().map(number).collect())
}

fn sizes(value: &Value) -> Vec<usize> {
    let sizes = value.as_array().expect("a shape is a list");
    sizes.iter().map(|size| size.as_u64().expect("a size is a number") as usize).collect()
}

fn tensor(operand: &Value) -> Tensor {
    let shape = sizes(&operand["shape"]);
    let values = operand["values"].as_array().expect("values are a list");
    let parts: Vec<Vec<f64>> = match &operand["dtype"] {
        Value::String(dtype) if dtype == "bool" => {
            let flags: Vec<bool> = values.iter().map(|value| value.as_bool().expect("a flag")).collect();
            return Tensor::from_vec(flags, &shape).expect("the values have the shape");
        }
        _ => values.iter().map(parts).collect(),
    };
    let tensor = match operand["dtype"].as_str() {
        Some("float64") => Tensor::from_vec(parts.iter().map(|part| part[0]).collect::<Vec<f64>>(), &shape),
        Some("int64") => {
            Tensor::from_vec(parts.iter().map(|part| part[0] as i64).collect::<Vec<i64>>(), &shape)
        }
        Some("complex128") => Tensor::from_vec(
            parts.iter().map(|part| Complex64::new(part[0], part[1])).collect::<Vec<Complex64>>(),
            &shape,
        ),
        other => panic!("{other:?} is no dtype of the file"),
    };
    tensor.expect("the values have the shape")
}

/// The numbers by which the script weighs elements, in an expression's dtype and shape.
fn spread(function: impl Fn(usize) -> f64, like: &Expr) -> Expr {
    let (shape, dtype) = (like.shape().unwrap(), like.dtype().unwrap());
    let values: Vec<f64> = (0..shape.iter().product()).map(function).collect();
    Tensor::from_vec(values, shape).unwrap().to_dtype(dtype).unwrap().into()
}

fn argument(value: &Value) -> Argument {
    match value {
        Value::Null => Argument::None,
        Value::Bool(flag) => Argument::Number((*flag).into()),
        Value::Array(dims) => Argument::Dims(dims.iter().map(|dim| dim.as_i64().unwrap() as isize).collect()),
        Value::Number(number) if number.is_i64() => Argument::Number(number.as_i64().unwrap().into()),
        Value::String(word) if word.parse::<f64>().is_err() => Argument::Word(word.clone()),
        other => Argument::Number(number(other).into()),
    }
}

/// What is wrong with a gradient, if something is.
fn difference(got: &Expr, want: &Value, op: &str) -> Option<String> {
    let got = match got.eval() {
        Ok(got) => got,
        Err(error) => return Some(error.to_string()),
    };
    let got: Vec<f64> = match got.dtype() {
        DType::C128 => got.to_vec::<Complex64>().unwrap().iter().flat_map(|z| [z.re, z.im]).collect(),
        _ => got.to_vec::<f64>().unwrap(),
    };
    let want: Vec<f64> = want.as_array().unwrap().iter().flat_map(parts).collect();
    let finite = want.iter().filter(|value| value.is_finite() && value.abs() < 1e100);
    let scale = finite.fold(0.0, |scale: f64, value| scale.max(value.abs())).min(1e3);
    let is_close = |got: f64, want: f64| {
        got == want
            || (got.is_nan() && want.is_nan())
            || (got - want).abs() <= TOLERANCE * (want.abs() + scale) + 1e-15
            || allowed(op, got, want)
    };
    let is_same = got.len() == want.len() && got.iter().zip(&want).all(|(&got, &want)| is_close(got, want));
    (!is_same).then(|| format!("{got:?}\n    not {want:?}"))
}

/// Where another answer than PyTorch's is as good.
fn allowed(op: &str, got: f64, want: f64) -> bool {
    match op {
        // PyTorch's trigamma has ten digits, and no poles.
        "digamma" | "lgamma" => {
            (got - want).abs() <= 2e-9 * want.abs() || (got == f64::INFINITY && want > 1e30)
        }
        // PyTorch divides infinities by each other.
        "copysign" => want.is_nan(),
        // Some powers are products and roots, whose derivatives meet infinities at 0 and beyond.
        "pow" => got.is_nan() && (want == 0.0 || want.is_infinite()) || (got == -want && want.is_infinite()),
        // PyTorch multiplies by a sixth in f32.
        "hardsigmoid" => (got - want).abs() <= 1e-7 * want.abs(),
        // Of NaN PyTorch's vector code gives the slope above 0.
        "celu" | "elu" | "selu" => got.is_nan() || want.is_nan(),
        // PyTorch's second derivative at 0 of powers below 2 is NaN; that of a constant is 0.
        "norm" => got == 0.0 && want.is_nan(),
        // Products with NaN are NaN here, whatever else is a factor.
        "prod" => got.is_nan() && want == 0.0,
        _ => false,
    }
}

#[test]
fn gradients_of_every_row_are_those_of_pytorch() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/golden/gradients.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        let name = case["op"].as_str().unwrap();
        let op = Op::from_name(name);
        seen.extend(op);
        let operands: Vec<Expr> =
            case["operands"].as_array().unwrap().iter().map(|operand| tensor(operand).into()).collect();
        let arguments = Arguments {
            positional: operands.iter().cloned().map(Argument::Expr).collect(),
            named: case["arguments"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (name.clone(), argument(value)))
                .collect(),
        };
        let mut label = format!("{name} {}", case["arguments"]);
        case["operands"]
            .as_array()
            .unwrap()
            .iter()
            .for_each(|operand| label += &format!(" {}", operand["values"]));
        let variables: Vec<&Expr> = operands
            .iter()
            .filter(|x| x.dtype().is_ok_and(|dtype| dtype.item_size() >= 8 && dtype != DType::I64))
            .collect();
        let result = match op {
            Some(op) => call(op, arguments).unwrap(),
            None => operands[0].matmul(&operands[1]),
        };
        let attempt = || {
            let cotangent = spread(|index| 0.25 + ((7 * index) % 5) as f64 / 4.0, &result);
            let gradients = result.vjp(cotangent, &variables)?;
            let seconds = case["second"].as_array().map(|_| {
                let weights = gradients.iter().map(|gradient| {
                    (gradient.clone(), spread(|index| 1.0 - ((3 * index) % 4) as f64 / 4.0, gradient))
                });
                zerostride::vjp(&weights.collect::<Vec<_>>(), &variables)
            });
            Ok::<_, zerostride::Error>((gradients, seconds.transpose()?))
        };
        match attempt() {
            Err(error) => wrong.push(format!("{label}\n    {error}")),
            Ok((gradients, seconds)) => {
                for (place, gradient) in gradients.iter().enumerate() {
                    let found = difference(gradient, &case["gradients"][place], name);
                    wrong.extend(found.map(|found| format!("{label}, operand {place}\n    {found}")));
                }
                for (place, second) in seconds.iter().flatten().enumerate() {
                    let found = difference(second, &case["second"][place], name);
                    wrong.extend(found.map(|found| format!("{label}, second, operand {place}\n    {found}")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the gradients differ:\n{}", wrong.len(), wrong.join("\n"));
    let is_asked = |op: &Op| op.info().derivative != zerostride_ops::Derivative::none;
    let missing: Vec<&str> =
        Op::ALL.iter().filter(|op| is_asked(op) && !seen.contains(op)).map(|op| op.name()).collect();
    // The file asks by `div` and `round`, and what is a bool has no gradient.
    assert_eq!(missing, ["div_trunc", "floor_divide", "round_decimals", "isclose"]);
}
