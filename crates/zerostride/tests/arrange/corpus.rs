//! Owns the reading of the corpus: tensors, indexes and answers. It does not know the functions.

use std::path::PathBuf;

use serde_json::Value;
use zerostride::{Complex64, DType, Error, ErrorClass, Index, Scalar, Tensor, stack};

/// A list of cases of a file.
pub(crate) fn cases(name: &str, list: &str) -> Vec<Value> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "spec", "golden", name].iter().collect();
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    file[list].as_array().unwrap().clone()
}

pub(crate) fn sizes(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect()
}

pub(crate) fn ints(value: &Value) -> Vec<isize> {
    match value {
        Value::Array(list) => list.iter().map(int).collect(),
        one => vec![int(one)],
    }
}

pub(crate) fn int(value: &Value) -> isize {
    value.as_i64().unwrap_or_else(|| panic!("no integer: {value}")) as isize
}

fn float(value: &Value) -> f64 {
    match value {
        Value::String(word) => word.parse().unwrap(),
        number => number.as_f64().unwrap(),
    }
}

/// A bare number; a list is a complex one.
pub(crate) fn number(value: &Value) -> Scalar {
    match value {
        Value::Bool(flag) => Scalar::Bool(*flag),
        Value::Array(parts) => Scalar::Complex(Complex64::new(float(&parts[0]), float(&parts[1]))),
        Value::Number(number) if number.is_i64() => Scalar::Int(number.as_i64().unwrap()),
        other => Scalar::Float(float(other)),
    }
}

/// The parts of a number: real and imaginary.
fn parts(value: &Value) -> [f64; 2] {
    match value {
        Value::Bool(flag) => [f64::from(u8::from(*flag)), 0.0],
        Value::Array(parts) => [float(&parts[0]), float(&parts[1])],
        other => [float(other), 0.0],
    }
}

/// The numbers of a tensor, exactly: every dtype's values in the corpus fit.
pub(crate) fn values(tensor: &Tensor) -> Vec<[f64; 2]> {
    let wide = tensor.to_dtype(DType::C128).unwrap().to_vec::<Complex64>().unwrap();
    wide.into_iter().map(|value| [value.re, value.im]).collect()
}

pub(crate) fn is_tensor(value: &Value) -> bool {
    value.get("dtype").is_some()
}

pub(crate) fn tensor(value: &Value) -> Tensor {
    let numbers: Vec<Complex64> = value["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| {
            let [re, im] = parts(value);
            Complex64::new(re, im)
        })
        .collect();
    let dtype: DType = value["dtype"].as_str().unwrap().parse().unwrap();
    Tensor::from_vec(numbers, &sizes(&value["shape"])).unwrap().to_dtype(dtype).unwrap()
}

/// The tensor in every kind of layout.
pub(crate) fn layouts(tensor: &Tensor) -> Vec<(&'static str, Tensor)> {
    let dims: Vec<isize> = (0..tensor.ndim() as isize).collect();
    let back: Vec<isize> = dims.iter().rev().copied().collect();
    vec![
        ("row-major", tensor.clone_elements().unwrap()),
        ("transposed", tensor.permute(&back).unwrap().clone_elements().unwrap().permute(&back).unwrap()),
        ("reversed", tensor.flip(&dims).unwrap().clone_elements().unwrap().flip(&dims).unwrap()),
        ("strided", stack(&[tensor, tensor], -1).unwrap().select(-1, 1).unwrap()),
    ]
}

pub(crate) fn items(values: &[Value]) -> Vec<Index> {
    values.iter().map(item).collect()
}

fn item(value: &Value) -> Index {
    match value {
        Value::Null => Index::NewDim,
        Value::Bool(flag) => (*flag).into(),
        Value::String(_) => Index::Ellipsis,
        Value::Number(at) => Index::At(at.as_i64().unwrap() as isize),
        value if is_tensor(value) => tensor(value).into(),
        value if value.get("index").is_some() => nested(&value["index"]).to_dtype(DType::I64).unwrap().into(),
        value if value.get("mask").is_some() => nested(&value["mask"]).to_dtype(DType::Bool).unwrap().into(),
        value => {
            let bound = |at: usize| value["slice"][at].as_i64().map(|bound| bound as isize);
            Index::Slice { start: bound(0), stop: bound(1), step: bound(2).unwrap_or(1) }
        }
    }
}

/// A tensor of nested lists of integers or bools.
fn nested(value: &Value) -> Tensor {
    match value {
        Value::Array(rows) if rows.is_empty() => Tensor::zeros(&[0]).unwrap(),
        Value::Array(rows) => {
            let rows: Vec<Tensor> = rows.iter().map(nested).collect();
            stack(&rows.iter().collect::<Vec<_>>(), 0).unwrap()
        }
        number => Tensor::scalar(parts(number)[0]).unwrap(),
    }
}

/// Class and text of an error, as a refusal in the corpus.
pub(crate) fn refusal(error: &Error) -> Value {
    let class = match error.class() {
        ErrorClass::Runtime => "RuntimeError",
        ErrorClass::Index => "IndexError",
        ErrorClass::Value => "ValueError",
        ErrorClass::Type => "TypeError",
        ErrorClass::NotImplemented => "NotImplementedError",
    };
    serde_json::json!({ "class": class, "text": error.to_string() })
}

/// What differs between a result and the answer; values to the bit, any NaN being every NaN.
pub(crate) fn difference(found: &Tensor, wanted: &Value) -> Option<String> {
    difference_but_for(found, wanted, 0.0)
}

/// As `difference`, where results may differ by so many units in the last place of the largest of them.
pub(crate) fn difference_but_for(found: &Tensor, wanted: &Value, units: f64) -> Option<String> {
    let dtype: DType = wanted["dtype"].as_str().unwrap().parse().unwrap();
    let unit = if dtype.to_real() == DType::F64 { f64::EPSILON } else { f32::EPSILON.into() };
    let finite = |value: &f64| value.is_finite();
    let wholes = wanted["values"].as_array().unwrap().iter().flat_map(parts).filter(finite);
    let allowed = units * unit * wholes.fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let same = |(a, b): (&[f64; 2], &Value)| {
        a.iter()
            .zip(parts(b))
            .all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || (a - b).abs() < allowed)
    };
    let (ours, theirs) = (values(found), wanted["values"].as_array().unwrap());
    let alike = found.dtype() == dtype
        && found.shape() == sizes(&wanted["shape"])
        && ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(same);
    (!alike).then(|| format!("{:?} {:?} {ours:?}", found.dtype(), found.shape()))
}
