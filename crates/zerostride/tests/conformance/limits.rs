//! Owns the test of bare numbers that a dtype may not hold: what comes out, or the refusal.

use zerostride::{Argument, Arguments, DType, Error, Expr, Op, Scalar, Tensor, call};

use crate::corpus;

/// A call, as `spec/golden/limits.py` makes it.
fn answer(name: &str, dtype: DType, number: Scalar) -> Result<Tensor, Error> {
    let x = Tensor::from_vec(vec![1, 0, 2], &[3]).unwrap().to_dtype(dtype).unwrap();
    let operand = || Argument::Expr(Expr::from(&x));
    let value = Argument::Number(number);
    let (positional, named) = match name {
        "add" | "sub" => (vec![operand(), operand()], vec![("alpha".to_owned(), value)]),
        "addcmul" | "addcdiv" => (vec![operand(), operand(), operand()], vec![("value".to_owned(), value)]),
        "masked_fill" => (vec![operand(), Argument::Expr(Expr::from(&x).ne(0)), value], vec![]),
        "fill_" => return x.fill_(number).map(|()| x),
        "full" => return Tensor::full(&[2], number, dtype),
        "arange" => return Tensor::arange_as(number, number, 1, dtype),
        "linspace" => return Tensor::linspace_as(0, number, 3, dtype),
        _ => (vec![operand(), value], vec![]),
    };
    call(Op::from_name(name).unwrap(), Arguments { positional, named })?.eval()
}

#[test]
fn numbers_are_converted_or_refused_as_in_pytorch() {
    let json = corpus::json("limits.json");
    let (mut refused, mut wrong) = (0, Vec::new());
    for case in json["cases"].as_array().unwrap() {
        let (name, number) = (case["fn"].as_str().unwrap(), corpus::number(&case["number"]));
        let found = answer(name, case["dtype"].as_str().unwrap().parse().unwrap(), number);
        let fits = match (&found, case["error"]["text"].as_str()) {
            (Ok(found), None) => case["result"].as_array().is_none_or(|result| {
                let result: Vec<i64> = result.iter().map(|number| number.as_i64().unwrap()).collect();
                found.to_dtype(DType::I64).unwrap().to_vec::<i64>().unwrap() == result
            }),
            (Err(error), Some(text)) => {
                refused += 1;
                error.to_string() == text && corpus::class_name(error.class()) == case["error"]["class"]
            }
            _ => false,
        };
        if !fits {
            wrong.push(format!("{case}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused > 300, "{refused}");
}
