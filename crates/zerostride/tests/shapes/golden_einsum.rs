//! Sums of products by equation, against `einsum.json`.

use serde_json::Value;
use zerostride::{DType, Tensor, einsum};

use crate::corpus::{Differences, json, list, refusal, values};
use crate::golden_matmul::filled;

#[test]
fn sums_of_products_are_pytorchs() {
    let file = json("einsum.json");
    let mut differences = Differences::default();
    for case in file["cases"].as_array().unwrap() {
        let equation = case["equation"].as_str().unwrap();
        let shapes = case["shapes"].as_array().unwrap();
        for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::C64, DType::C128] {
            let operands: Vec<Tensor> = (1..)
                .step_by(3)
                .zip(shapes)
                .map(|(start, shape)| filled(&list(shape), start, dtype))
                .collect();
            let found = einsum(equation, &operands).eval();
            let right = match (&found, case.get("error")) {
                (Ok(found), None) => {
                    let wanted =
                        case["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap());
                    let result = if dtype == DType::I32 { sum_of_i32(&case["int32"]) } else { dtype };
                    found.dtype() == result
                        && found.shape() == list::<usize>(&case["shape"])
                        && wanted.eq(values(found))
                }
                (Err(error), Some(wanted)) => refusal(error.root()) == *wanted,
                _ => false,
            };
            let shown = found.map(|found| (found.dtype(), found.shape().to_vec(), values(&found)));
            differences.check(right, || format!("{dtype}: {case}\n    {shown:?}"));
        }
    }
    differences.finish(6 * 800);
}

/// PyTorch adds up integers as i64, and refuses to multiply those sums as matrices with what it has not added
/// up.
fn sum_of_i32(recorded: &Value) -> DType {
    recorded.as_str().map_or(DType::I64, |name| name.parse().unwrap())
}

#[test]
fn dtypes_meet_or_are_refused_as_in_pytorch() {
    let file = json("einsum.json");
    let mut differences = Differences::default();
    for case in file["dtypes"].as_array().unwrap() {
        let [left, right_dtype] = ["a", "b"].map(|key| case[key].as_str().unwrap().parse::<DType>().unwrap());
        for (equation, b) in [("ij,jk->ik", [3, 2]), ("ij,ij->i", [2, 3]), ("ij,ij->ij", [2, 3])] {
            let operands =
                [Tensor::full(&[2, 3], 1, left).unwrap(), Tensor::full(&b, 1, right_dtype).unwrap()];
            let found = einsum(equation, &operands).eval();
            // The array API is followed for unsigned types, and `mul` has tests of its own.
            let is_ours =
                [left, right_dtype].iter().any(|dtype| matches!(dtype, DType::U16 | DType::U32 | DType::U64));
            let right = match &found {
                _ if equation == "ij,ij->ij" && (is_ours || case[equation] == "complex32") => true,
                Ok(found) if left == right_dtype && is_ours => found.dtype() == left,
                Ok(found) => case[equation].as_str().map(str::parse) == Some(Ok(found.dtype())),
                Err(error) => refusal(error.root()) == case[equation],
            };
            let shown = found.map(|found| found.dtype()).map_err(|error| error.to_string());
            differences.check(right, || {
                format!("{equation} of {left} and {right_dtype}: {shown:?}, not {}", case[equation])
            });
        }
    }
    differences.finish(3 * 225);
}

#[test]
fn an_output_in_another_order_is_a_view_and_a_number_takes_the_dtype_of_the_others() {
    let x = Tensor::arange(0, 6, 1).unwrap().reshape(&[2, 3]).unwrap();
    let view = einsum("ij->ji", [&x]).as_view().unwrap();
    assert!(view.shares_storage(&x) && view.shape() == [3, 2]);
    let halves = x.to_dtype(DType::F16).unwrap();
    let scaled = einsum(",ij->i", [zerostride::Expr::from(0.5), (&halves).into()]).eval().unwrap();
    assert_eq!((scaled.dtype(), values(&scaled)), (DType::F16, vec![1.5, 6.0]));
}

#[test]
fn a_sum_of_products_stores_no_products() {
    let x = Tensor::ones(&[300, 400]).unwrap();
    for equation in ["ij,ij->i", "ij,ij->j", "ij,ij->", "ij,ij,ij->i"] {
        let operands = vec![&x; equation.matches(',').count() + 1];
        let plan = einsum(equation, operands).plan().unwrap();
        assert!(plan.scratch_bytes() < 1 << 18, "{equation}: {plan}");
    }
}

#[test]
fn a_contraction_is_one_product_of_the_operands_where_they_lie() {
    let (x, y, z) =
        (Tensor::ones(&[30, 40]).unwrap(), Tensor::ones(&[40, 20]).unwrap(), Tensor::ones(&[40]).unwrap());
    let batches = (Tensor::ones(&[5, 30, 40]).unwrap(), Tensor::ones(&[5, 40, 20]).unwrap());
    for (equation, operands) in [
        ("ij,jk->ik", [&x, &y]),
        ("ij,jk->ki", [&x, &y]),
        ("jk,ij->ik", [&y, &x]),
        ("ij,kj->ik", [&x, &x]),
        ("ij,ik->jk", [&x, &x]),
        ("ij,j->i", [&x, &z]),
        ("j,ij->i", [&z, &x]),
        ("bij,bjk->bik", [&batches.0, &batches.1]),
    ] {
        let plan = einsum(equation, operands).plan().unwrap();
        assert_eq!((plan.passes(), plan.scratch_bytes()), (1, 0), "{equation}: {plan}");
    }
}
