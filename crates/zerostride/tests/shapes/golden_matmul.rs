//! Matrix products of all ranks and dtypes, against `matmul.json`.

use zerostride::{DType, Tensor};

use crate::corpus::{Differences, json, list, refusal, values};

/// `(k + start) mod 7 - 3` for k = 0, 1, 2, ...
pub(crate) fn filled(shape: &[usize], start: i64, dtype: DType) -> Tensor {
    let count: usize = shape.iter().product();
    let numbers: Vec<i64> = (0..count as i64).map(|k| (k + start) % 7 - 3).collect();
    Tensor::from_slice(&numbers, shape).unwrap().to_dtype(dtype).unwrap()
}

#[test]
fn products_of_all_ranks_are_pytorchs() {
    let file = json("matmul.json");
    let mut differences = Differences::default();
    for case in file["cases"].as_array().unwrap() {
        let (a, b) = (list::<usize>(&case["a"]), list::<usize>(&case["b"]));
        for dtype in
            [DType::F32, DType::F64, DType::I64, DType::I16, DType::F16, DType::BF16, DType::C64, DType::C128]
        {
            let (a, b) = (filled(&a, 1, dtype), filled(&b, 4, dtype));
            let found = a.matmul(&b);
            let right = match (&found, case.get("error")) {
                (Ok(found), None) => {
                    let wanted =
                        case["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap());
                    found.dtype() == dtype
                        && found.shape() == list::<usize>(&case["shape"])
                        && wanted.eq(values(found))
                }
                (Err(error), Some(wanted)) => refusal(error) == *wanted,
                _ => false,
            };
            let shown = found.map(|found| (found.shape().to_vec(), values(&found)));
            differences.check(right, || format!("{dtype}: {case}\n    {shown:?}"));
        }
    }
    differences.finish(8 * 1024);
}

#[test]
fn dtypes_multiply_or_are_refused_as_in_pytorch() {
    let file = json("matmul.json");
    let mut differences = Differences::default();
    for case in file["dtypes"].as_array().unwrap() {
        let [left, right_dtype] = ["a", "b"].map(|key| case[key].as_str().unwrap().parse::<DType>().unwrap());
        let kinds: [(&str, &[usize], &[usize]); 4] = [
            ("mm", &[2, 3], &[3, 2]),
            ("dot", &[3], &[3]),
            ("mv", &[2, 3], &[3]),
            ("bmm", &[2, 2, 3], &[2, 3, 2]),
        ];
        for (kind, a, b) in kinds {
            let product = Tensor::full(a, 1, left).unwrap().matmul(Tensor::full(b, 1, right_dtype).unwrap());
            let right = match &product {
                // The array API, which is followed for unsigned types, multiplies all numbers.
                Ok(product) if left == right_dtype => {
                    let wider = matches!(left, DType::U16 | DType::U32 | DType::U64);
                    product.dtype() == left
                        && (wider || case[kind].as_str().map(str::parse) == Some(Ok(left)))
                }
                Ok(_) => false,
                Err(error) => refusal(error) == case[kind],
            };
            let shown = product.map(|product| product.dtype()).map_err(|error| error.to_string());
            differences.check(right, || {
                format!("{kind} of {left} and {right_dtype}: {shown:?}, not {}", case[kind])
            });
        }
    }
    differences.finish(4 * 225);
}
