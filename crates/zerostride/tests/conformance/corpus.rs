//! Owns the reading of a corpus file: the cases with their operands, keywords and answers. It does not know
//! how answers are compared.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;
use zerostride::{Argument, Complex64, DType, ErrorClass, Expr, Scalar};

use crate::values::Values;

/// The content of `NAME.json`, with the patterns of `NAME.npz`.
pub(crate) struct Corpus {
    json: Value,
    pools: HashMap<usize, Vec<u64>>,
}

/// What was asked, and what PyTorch answered.
pub(crate) struct Case {
    pub(crate) op: String,
    /// In order; a name where it was given by keyword.
    pub(crate) operands: Vec<(Option<&'static str>, Operand)>,
    pub(crate) kwargs: Vec<(String, Value)>,
    pub(crate) answer: Answer,
    /// The result rounded once from the exact one.
    pub(crate) reference: Option<Vec<u64>>,
    /// The result with every step rounded.
    pub(crate) stepwise: Option<Vec<u64>>,
    /// Elements without a defined answer.
    pub(crate) undefined: Vec<usize>,
    /// The target of a conversion.
    pub(crate) to: Option<DType>,
}

#[derive(Clone)]
pub(crate) enum Operand {
    Tensor { values: Values, shape: Vec<usize> },
    Number(Scalar),
}

pub(crate) enum Answer {
    /// One result, or the two of `frexp`.
    Results(Vec<Result>),
    Refusal {
        class: String,
        text: String,
    },
}

pub(crate) struct Result {
    /// `None` for a dtype outside the fifteen.
    pub(crate) values: Option<Values>,
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
}

pub(crate) fn golden(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "spec", "golden", name].iter().collect()
}

pub(crate) fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap()
}

impl Corpus {
    pub(crate) fn open(name: &'static str) -> Corpus {
        let arrays = zerostride::io::load_all(golden(&format!("{name}.npz"))).unwrap();
        let pools = arrays.iter().map(|(_, tensor)| (tensor.dtype().item_size(), Values::of(tensor).bits));
        Corpus { json: json(&format!("{name}.json")), pools: pools.collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.json["cases"].as_array().unwrap().len()
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = Case> {
        self.json["cases"].as_array().unwrap().iter().map(|row| self.case(&self.object(row)))
    }

    /// A row of the table of cases as an object: a layout names its keys, some of whose values many cases
    /// share.
    fn object(&self, row: &Value) -> Value {
        let mut numbers = row.as_array().unwrap().iter();
        let mut next = || numbers.next().unwrap();
        let layout = &self.json["layouts"][next().as_u64().unwrap() as usize];
        let keys =
            |half: usize| layout[half].as_array().unwrap().iter().map(|key| key.as_str().unwrap().to_owned());
        let mut case = serde_json::Map::new();
        case.extend(keys(0).map(|key| (key, self.json["values"][next().as_u64().unwrap() as usize].clone())));
        case.extend(keys(1).map(|key| (key, next().clone())));
        assert_eq!(numbers.len(), 0, "a row has a number for each key");
        Value::Object(case)
    }

    fn case(&self, case: &Value) -> Case {
        let operand = |key: &'static str| {
            let named = !matches!(key, "a" | "b" | "c");
            case.get(key).map(|operand| (named.then_some(key), self.operand(key, operand, case)))
        };
        let answer = match (&case["error"], &case["outputs"]) {
            (Value::Number(index), _) => {
                let error = &self.json["errors"][index.as_u64().unwrap() as usize];
                let text = |key: &str| error[key].as_str().unwrap().to_owned();
                Answer::Refusal { class: text("class"), text: text("text") }
            }
            (_, Value::Array(outputs)) => {
                Answer::Results(outputs.iter().map(|output| self.result(output)).collect())
            }
            _ => Answer::Results(vec![self.result(case)]),
        };
        let beside = |key: &str| {
            let Answer::Results(results) = &answer else { return None };
            let (at, values) = (case[key].as_u64()?, results[0].values.as_ref()?);
            Some(self.patterns(values.dtype, at, (values.bits.len() / values.width()) as u64).bits)
        };
        Case {
            op: case["op"].as_str().unwrap().to_owned(),
            operands: ["a", "b", "c", "min", "max", "weight", "bias"]
                .into_iter()
                .filter_map(operand)
                .collect(),
            kwargs: case["kwargs"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
            reference: beside("reference"),
            stepwise: beside("stepwise"),
            undefined: sizes(&case["undefined"]),
            to: case["to"].as_str().map(|name| name.parse().unwrap()),
            answer,
        }
    }

    fn operand(&self, key: &str, operand: &Value, case: &Value) -> Operand {
        match operand.as_str() {
            None => Operand::Number(number(&operand["number"])),
            Some(name) => {
                let input = &self.json["inputs"][name];
                let values = self.stored(input).unwrap();
                let own = &case[format!("{key}_shape")];
                let shape = match if own.is_null() { &case["in_shape"] } else { own } {
                    Value::Null if name.starts_with("0d/") => Vec::new(),
                    Value::Null => vec![input["n"].as_u64().unwrap() as usize],
                    shape => sizes(shape),
                };
                Operand::Tensor { values, shape }
            }
        }
    }

    fn result(&self, result: &Value) -> Result {
        let shape = match &result["shape"] {
            Value::Null => vec![result["n"].as_u64().unwrap() as usize],
            shape => sizes(shape),
        };
        Result { values: self.stored(result), dtype: result["dtype"].as_str().unwrap().to_owned(), shape }
    }

    fn stored(&self, tensor: &Value) -> Option<Values> {
        let dtype = tensor["dtype"].as_str().unwrap().parse().ok()?;
        Some(self.patterns(dtype, tensor["at"].as_u64().unwrap(), tensor["n"].as_u64().unwrap()))
    }

    fn patterns(&self, dtype: DType, at: u64, n: u64) -> Values {
        let mut values = Values { dtype, bits: Vec::new() };
        let length = n as usize * values.width();
        values.bits = self.pools[&dtype.to_real().item_size()][at as usize..][..length].to_vec();
        values
    }
}

impl Operand {
    pub(crate) fn expr(&self) -> Expr {
        match self {
            Operand::Tensor { values, shape, .. } => Expr::from(values.tensor(shape)),
            Operand::Number(number) => (*number).into(),
        }
    }
}

fn sizes(list: &Value) -> Vec<usize> {
    list.as_array().into_iter().flatten().map(|size| size.as_u64().unwrap() as usize).collect()
}

/// A number in the corpus' notation.
pub(crate) fn number(value: &Value) -> Scalar {
    match value {
        Value::Bool(flag) => Scalar::Bool(*flag),
        Value::Number(number) => Scalar::Int(number.as_i64().unwrap()),
        Value::Object(object) => match (&object.get("float"), &object.get("complex")) {
            (Some(float), _) => Scalar::Float(hexadecimal(float)),
            (_, Some(parts)) => {
                Scalar::Complex(Complex64::new(hexadecimal(&parts[0]), hexadecimal(&parts[1])))
            }
            _ => panic!("no number: {value}"),
        },
        _ => panic!("no number: {value}"),
    }
}

/// C99's notation of a float: `-0x1.8p+1`.
fn hexadecimal(value: &Value) -> f64 {
    let text = value.as_str().unwrap();
    let Some((mantissa, exponent)) = text.split_once('p') else { return text.parse().unwrap() };
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, mantissa),
    };
    let (whole, fraction) = digits.strip_prefix("0x").unwrap().split_once('.').unwrap_or((&digits[2..], ""));
    let integer = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap() as f64;
    sign * integer * 2f64.powi(exponent.parse::<i32>().unwrap() - 4 * fraction.len() as i32)
}

/// A keyword as an argument of a call.
pub(crate) fn argument(value: &Value) -> Argument {
    match value {
        Value::Null => Argument::None,
        Value::String(word) => Argument::Word(word.clone()),
        Value::Array(dims) => Argument::Dims(dims.iter().map(|dim| dim.as_i64().unwrap() as isize).collect()),
        other => Argument::Expr(number(other).into()),
    }
}

/// Python's name of a class of exceptions.
pub(crate) fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Runtime => "RuntimeError",
        ErrorClass::Index => "IndexError",
        ErrorClass::Value => "ValueError",
        ErrorClass::Type => "TypeError",
        ErrorClass::NotImplemented => "NotImplementedError",
    }
}
