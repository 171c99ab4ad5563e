//! Owns the tests of reductions: exact for integers, bools and extremes; for sums of floats and what is built on them
//! within a bound on the error, stated below.

use zerostride::{Result, Tensor};

use crate::compare::{self, Closeness};
use crate::corpus::{Case, Corpus};
use crate::findings::Findings;
use crate::operations;
use crate::values::{Values, is_float};

fn run(case: &Case) -> Result<Vec<Tensor>> {
    if case.op != "sum_to_size" {
        return operations::run(case);
    }
    let size: Vec<usize> =
        case.kwargs[0].1.as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect();
    Ok(vec![case.operands[0].1.expr().sum_to_size(&size).eval()?])
}

fn closeness(case: &Case, values: &Values) -> Closeness {
    match &case.op[..] {
        _ if !is_float(values.dtype) => Closeness::Bits,
        "amax" | "amin" => Closeness::Bits,
        _ if values.is_complex() => Closeness::Norm(16.0),
        _ => Closeness::Ulps(4),
    }
}

#[test]
fn reductions_answer_as_pytorch() {
    let corpus = Corpus::open("reductions");
    let mut findings = Findings::of("reductions");
    for case in corpus.cases() {
        let rule = |values: &Values| (closeness(&case, values), compare::wanted(&case, values).to_vec());
        findings.compare_by(&case, run(&case), rule);
    }
    findings.conclude();
}
