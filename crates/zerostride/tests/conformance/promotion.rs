//! Owns the tests of promotion: every pair of dtypes in every bucket, and what may be cast to what.

use serde_json::Value;
use zerostride::{Bucket, DType, Typed, can_cast, promote_types, result_type};

use crate::corpus;

/// A table's header: the dtypes, or what a bare number of each category counts as.
fn entries(json: &Value, bucket: Bucket) -> Vec<Typed> {
    match bucket {
        Bucket::Number => {
            [DType::Bool, DType::I64, DType::F32, DType::C64].map(|dtype| Typed { dtype, bucket }).to_vec()
        }
        _ => {
            let dtype = |name: &Value| name.as_str().unwrap().parse().unwrap();
            json["dtypes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| Typed { dtype: dtype(name), bucket })
                .collect()
        }
    }
}

/// PyTorch refuses to promote the wide unsigned types with others of their size or category; the array API
/// promotes them where a dtype holds both, and gives way to floats and complex numbers.
fn array_api(a: DType, b: DType) -> Option<DType> {
    use DType::{BF16, Bool, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let (unsigned, other) = if matches!(a, U16 | U32 | U64) { (a, b) } else { (b, a) };
    match (unsigned, other) {
        (unsigned, Bool | U8) => Some(unsigned),
        (U16, U32) | (U32, U16) => Some(U32),
        (U16 | U32, U64) | (U64, U16 | U32) => Some(U64),
        (U16, I8 | I16 | I32) => Some(I32),
        (U16 | U32, I64) | (U32, I8 | I16 | I32) => Some(I64),
        (_, F16 | BF16 | F32 | F64 | C64 | C128) => Some(other),
        _ => None,
    }
}

#[test]
fn dtypes_meet_as_in_pytorch_in_every_bucket() {
    let json = corpus::json("promotion.json");
    let buckets = [("dimensioned", Bucket::Dimensioned), ("0d", Bucket::ZeroDim), ("number", Bucket::Number)];
    let (mut compared, mut refused, mut wrong) = (0, 0, Vec::new());
    let mut check = |a: Typed, b: Typed, ours: Option<DType>, cell: &Value| {
        compared += 1;
        let wanted = match cell.as_str() {
            // In PyTorch f16 and bf16 with complex numbers give pairs of these, which are not among our
            // dtypes.
            Some("complex32" | "bcomplex32") => Some(DType::C64),
            Some(name) => Some(name.parse().unwrap()),
            None => {
                refused += 1;
                array_api(a.dtype, b.dtype)
            }
        };
        if ours != wanted {
            wrong.push(format!("{a:?} with {b:?}: {ours:?}, wanted {wanted:?}"));
        }
    };
    for (first, a) in buckets {
        for (second, b) in buckets {
            for (row, a) in entries(&json, a).into_iter().enumerate() {
                for (column, b) in entries(&json, b).into_iter().enumerate() {
                    let cell = &json[format!("{first}_{second}")][row][column];
                    if !cell.is_null() {
                        check(a, b, result_type(&[a, b]).ok(), cell);
                    }
                }
            }
        }
    }
    for (row, a) in entries(&json, Bucket::Dimensioned).into_iter().enumerate() {
        for (column, b) in entries(&json, Bucket::Dimensioned).into_iter().enumerate() {
            check(a, b, promote_types(a.dtype, b.dtype).ok(), &json["promote_types"][row][column]);
        }
    }
    println!("{compared} pairs, {refused} of them refused by PyTorch and left to the array API");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 4 * 225 && refused > 0);
}

#[test]
fn a_refused_promotion_speaks_as_pytorch() {
    let json = corpus::json("promotion.json");
    for (row, a) in DType::ALL.into_iter().enumerate() {
        for (column, b) in DType::ALL.into_iter().enumerate() {
            let Err(error) = promote_types(a, b) else { continue };
            let index = json["promote_types"][row][column]["error"].as_u64().unwrap();
            assert_eq!(error.to_string(), json["errors"][index as usize]["text"].as_str().unwrap());
        }
    }
}

#[test]
fn casts_are_allowed_as_in_pytorch() {
    let json = corpus::json("promotion.json");
    for (row, from) in DType::ALL.into_iter().enumerate() {
        for (column, to) in DType::ALL.into_iter().enumerate() {
            assert_eq!(
                can_cast(from, to),
                json["can_cast"][row][column].as_bool().unwrap(),
                "{from} to {to}"
            );
        }
    }
}
