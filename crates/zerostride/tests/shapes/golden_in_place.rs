//! What may be written: refused casts, refused shapes, overlapping memory and `out`, against `in_place.json`.

use serde_json::Value;
use zerostride::{Complex64, DType, Error, Expr, Op, Scalar, Tensor};

use crate::aliasing::{binary_methods, unary_methods};
use crate::corpus::{Differences, json, list, refusal, values};
use crate::windows::window;

/// An in-place method or function with `out`, called on the target and its operands.
fn call(name: &str, target: &Tensor, operands: &[Tensor]) -> Result<(), Error> {
    let other = |at: usize| Expr::from(&operands[at]);
    match name {
        "copy_" => target.copy_(&operands[0]),
        "fill_" => target.fill_(7),
        "zero_" => target.fill_(0),
        "clamp_" => target.clamp_(2, 4),
        "float_power_" => target.float_power_(&operands[0]),
        "addcmul_" => target.addcmul_(&operands[0], &operands[1], 1),
        "addcdiv_" => target.addcdiv_(&operands[0], &operands[1], 1),
        "lerp_" => target.lerp_(&operands[0], &operands[1]),
        "masked_fill_" => target.masked_fill_(operands[0].gt(3)?, -1),
        "maximum" => Tensor::apply_out(Op::Maximum, [target.into(), other(0).into()], target),
        "minimum" => Tensor::apply_out(Op::Minimum, [target.into(), other(0).into()], target),
        "where" => {
            let condition = operands[0].gt(3)?;
            Tensor::apply_out(Op::Where, [condition.into(), other(0).into(), other(1).into()], target)
        }
        "clamp" => other(0).clamp(other(1), other(1)).eval_into(target),
        "add(out)" => Tensor::apply_out(Op::Add, [other(0).into(), other(0).into()], target),
        "sum(out)" => other(0).unsqueeze(0).sum(0).eval_into(target),
        _ => match (unary_methods().remove(name), binary_methods().remove(name)) {
            (Some(method), _) => method(target),
            (_, Some(method)) => method(target, &operands[0]),
            _ => panic!("no such method: {name}"),
        },
    }
}

fn storages(dtype: DType) -> [Tensor; 2] {
    [1, 2].map(|start| Tensor::arange(start, start + 24, 1).unwrap().to_dtype(dtype).unwrap())
}

/// Numbers, and those that JSON cannot write, as text.
fn listed(value: &Value) -> Vec<f64> {
    let number = |number: &Value| match number {
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::String(text) => text.parse().unwrap(),
        number => number.as_f64().unwrap(),
    };
    value.as_array().unwrap().iter().map(number).collect()
}

fn close(a: &[f64], b: &[f64]) -> bool {
    let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 3e-7 * a.abs();
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Kinds of overlap that PyTorch does not find: it writes some elements twice, or reads what it has just
/// written, in an order that shows. Here the former is refused, and the latter reads what was there before.
const ORDER_SHOWS: [&str; 8] = [
    "overlapping target",
    "overlapping target, unfold",
    "every other of itself",
    "two windows that overlap",
    "one row of itself",
    "last row of itself",
    "first column of itself",
    "expanded row of itself",
];

#[test]
fn overlapping_operands_are_refused_or_computed_as_in_pytorch() {
    let file = json("in_place.json");
    let mut differences = Differences::default();
    for case in file["overlaps"].as_array().unwrap() {
        let (name, kind) = (case["fn"].as_str().unwrap(), case["kind"].as_str().unwrap());
        let [x, y] = storages(case["dtype"].as_str().unwrap().parse().unwrap());
        let operand = |operand: &Value| {
            let storage = if operand["storage"] == "x" { &x } else { &y };
            let offset = operand["offset"].as_u64().unwrap() as usize;
            window(storage, &list::<usize>(&operand["shape"]), &list::<usize>(&operand["strides"]), offset)
        };
        let operands: Vec<Tensor> = case["operands"].as_array().unwrap().iter().map(operand).collect();
        let (target, others) = operands.split_first().unwrap();
        let before = values(&x);
        let done = call(name, target, others);
        let right = match (&done, case.get("error")) {
            // A clamp to tensors has no `out` of its own here, and `eval_into` copies where PyTorch refuses.
            (Ok(()), Some(_)) if matches!(name, "clamp" | "sum(out)") => true,
            (Ok(()), Some(_)) => false,
            (Ok(()), None) => match case.get("storage") {
                // A sum into its own operand begins by overwriting it in PyTorch.
                Some(storage) => {
                    let own = name == "sum(out)" && others[0].shares_storage(target);
                    close(&values(&x), &listed(storage)) || own || ORDER_SHOWS.contains(&kind)
                }
                None => true,
            },
            (Err(_), _) if name == "clamp" => values(&x) == before,
            (Err(error), Some(wanted)) => refusal(error) == *wanted && values(&x) == before,
            // PyTorch lets these through: the one with a warning, the other because reductions do not look.
            (Err(Error::WriteToExpanded), None)
                if matches!(name, "masked_fill_" | "sum(out)") && kind.starts_with("expanded target") =>
            {
                values(&x) == before
            }
            // PyTorch gives `out` another shape.
            (Err(error), None) if list::<usize>(&case["shape"]) != target.shape() => {
                error.to_string().starts_with("output with shape")
            }
            (Err(error), None) => {
                matches!(error.root(), Error::WriteToExpanded) && ORDER_SHOWS.contains(&kind)
            }
        };
        let found = done.map(|()| values(&x));
        differences.check(right, || format!("{case}\n    {found:?}"));
    }
    differences.finish(1260);
}

#[test]
fn targets_that_would_have_to_grow_are_refused() {
    let file = json("in_place.json");
    let mut differences = Differences::default();
    for case in file["shapes"].as_array().unwrap() {
        let name = case["fn"].as_str().unwrap();
        let x = Tensor::ones(&list::<usize>(&case["target"])).unwrap();
        let y = Tensor::ones(&list::<usize>(&case["other"])).unwrap();
        let done = match name {
            "lerp_" => x.lerp_(&y, 0.5),
            "masked_fill_" => y.gt(0).and_then(|mask| x.masked_fill_(mask, 2)),
            "where" => y.gt(0).and_then(|condition| {
                Tensor::apply_out(Op::Where, [condition.into(), (&y).into(), (&y).into()], &x)
            }),
            _ => call(name, &x, &[y.alias(), y.alias()]),
        };
        let right = match (&done, case.get("error")) {
            (Ok(()), None) => list::<usize>(&case["shape"]) == x.shape(),
            (Err(error), Some(wanted)) => refusal(error) == *wanted,
            // PyTorch gives `out` another shape.
            (Err(error), None) => name == "where" && error.to_string().starts_with("output with shape"),
            (Ok(()), Some(_)) => false,
        };
        differences.check(right, || format!("{case}\n    {done:?}"));
    }
    for case in file["resizes"].as_array().unwrap() {
        let out = match case.get("out_strides").map(list::<usize>) {
            None => Tensor::zeros(&list::<usize>(&case["out"])).unwrap(),
            Some(strides) => window(&Tensor::zeros(&[6]).unwrap(), &list::<usize>(&case["out"]), &strides, 0),
        };
        let ones = |key: &str| Expr::from(Tensor::ones(&list::<usize>(&case[key])).unwrap());
        let done = match case["fn"].as_str().unwrap() {
            "add" => Tensor::apply_out(Op::Add, [ones("a").into(), ones("b").into()], &out),
            "exp" => Tensor::apply_out(Op::Exp, [ones("a").into()], &out),
            "sum" => ones("a").sum(0).eval_into(&out),
            "matmul" => ones("a").matmul(Tensor::ones(&[3, 3]).unwrap()).eval_into(&out),
            other => panic!("no such function: {other}"),
        };
        let right = match (&done, case.get("error")) {
            (Ok(()), None) => list::<usize>(&case["shape"]) == out.shape(),
            (Err(error), Some(wanted)) => refusal(error) == *wanted,
            (Err(error), None) => {
                list::<usize>(&case["shape"]) != out.shape()
                    && error.to_string().starts_with("output with shape")
            }
            (Ok(()), Some(_)) => false,
        };
        differences.check(right, || format!("{case}\n    {done:?}"));
    }
    differences.finish(126 + 101);
}

/// The number in brackets, as in `add_(0.5)`.
fn number(text: &str) -> Scalar {
    match text {
        "True" => Scalar::Bool(true),
        "2" => Scalar::Int(2),
        "0.5" => Scalar::Float(0.5),
        "1j" => Scalar::Complex(Complex64::new(0.0, 1.0)),
        other => panic!("no such number: {other}"),
    }
}

fn with_number(name: &str, target: &Tensor, number: Scalar) -> Result<(), Error> {
    match name {
        "add_" => target.add_(number),
        "mul_" => target.mul_(number),
        "div_" => target.div_(number),
        "pow_" => target.pow_(number),
        "fill_" => target.fill_(number),
        other => panic!("no such method: {other}"),
    }
}

fn with_out(name: &str, operand: &Tensor, dtype: DType) -> Result<(), Error> {
    let out = Tensor::full(if name == "sum(out)" { &[] } else { &[2] }, 1, dtype)?;
    let name = name.trim_end_matches("(out)");
    let op = *Op::ALL.iter().find(|op| op.name() == name).unwrap();
    match name {
        "sum" => Expr::from(operand).sum(0).eval_into(&out),
        "exp" | "abs" | "neg" => Tensor::apply_out(op, [operand.into()], &out),
        _ => Tensor::apply_out(op, [operand.into(), operand.into()], &out),
    }
}

#[test]
fn a_result_of_a_higher_category_is_not_cast_into_the_target() {
    let file = json("in_place.json");
    let dtypes: Vec<DType> = list_of_dtypes(&file["dtypes"]);
    // Where unsigned types meet others this library follows the array API.
    let ours = |dtype: DType| matches!(dtype, DType::U16 | DType::U32 | DType::U64);
    let ones = |dtype: DType| Tensor::full(&[2], 1, dtype).unwrap();
    let mut differences = Differences::default();
    let mut check = |what: String, code: &Value, done: Result<(), Error>| {
        let wanted = (code.as_u64().unwrap() as usize).checked_sub(1).map(|at| &file["cast_errors"][at]);
        // PyTorch's two small complex types are no dtypes here; complex64 takes their place.
        let alias = wanted.map(|wanted| {
            wanted.to_string().replace("ComplexHalf", "ComplexFloat").replace("BComplex32", "ComplexFloat")
        });
        let found = done.err().map(|error| refusal(&error));
        // `abs` and `neg` demand the very dtype of `out`, and `sum` takes any: PyTorch's other operations
        // cast within a category, and here all do.
        let irregular = ["abs(out)", "neg(out)", "sum(out)"].iter().any(|name| what.starts_with(name));
        let same = irregular || found.as_ref().map(ToString::to_string) == alias;
        differences.check(same, || format!("{what}: {found:?}, but PyTorch {wanted:?}"));
    };
    for (name, table) in file["casts"].as_object().unwrap() {
        for (&target, row) in dtypes.iter().zip(table.as_array().unwrap()) {
            if ours(target) {
                continue;
            }
            let what = format!("{name} of {target}");
            match (row, name.split_once('(')) {
                (Value::Array(row), with) => {
                    for (&other, code) in dtypes.iter().zip(row).filter(|(other, _)| !ours(**other)) {
                        let done = match with {
                            Some(_) => with_out(name, &ones(other), target),
                            None => call(name, &ones(target), &[ones(other)]),
                        };
                        check(format!("{what} with {other}"), code, done);
                    }
                }
                (code, Some((method, value))) => {
                    check(
                        what,
                        code,
                        with_number(method, &ones(target), number(value.trim_end_matches(')'))),
                    );
                }
                (code, None) => check(what, code, call(name, &ones(target), &[])),
            }
        }
    }
    differences.finish(12 * 12 * 24 + 12 * 28);
}

fn list_of_dtypes(names: &Value) -> Vec<DType> {
    names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().parse().unwrap()).collect()
}
