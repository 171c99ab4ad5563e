//! Owns the test that the corpus asks every operation of the table about every dtype.

use std::collections::HashSet;

use zerostride::{DType, Op};

use crate::corpus::{Case, Corpus, Operand};

/// The rows that a case exercises: PyTorch's functions with keywords are rows of their own here.
fn rows(case: &Case) -> Vec<Op> {
    let has = |keyword: &str, value: &str| {
        case.kwargs.iter().any(|(name, given)| name == keyword && given.as_str() == Some(value))
    };
    match &case.op[..] {
        "frexp" => vec![Op::FrexpMantissa, Op::FrexpExponent],
        "div" if has("rounding_mode", "trunc") => vec![Op::DivTrunc],
        "gelu" if has("approximate", "tanh") => vec![Op::GeluTanh],
        "round" if case.kwargs.iter().any(|(name, _)| name == "decimals") => vec![Op::RoundDecimals],
        name => Op::from_name(name).into_iter().collect(),
    }
}

#[test]
fn every_operation_is_asked_about_every_dtype() {
    let mut asked: HashSet<(Op, DType)> = HashSet::new();
    for name in ["ops_unary", "ops_special", "ops_binary", "ops_ternary", "reductions"] {
        for case in Corpus::open(name).cases() {
            for (_, operand) in &case.operands {
                if let Operand::Tensor { values, .. } = operand {
                    asked.extend(rows(&case).into_iter().map(|op| (op, values.dtype)));
                }
            }
        }
    }
    let missing: Vec<_> = Op::ALL
        .iter()
        .flat_map(|&op| DType::ALL.map(|dtype| (op, dtype)))
        .filter(|pair| !asked.contains(pair))
        .collect();
    assert!(missing.is_empty(), "PyTorch was not asked about {missing:?}: `cargo xtask golden` asks it");
}
