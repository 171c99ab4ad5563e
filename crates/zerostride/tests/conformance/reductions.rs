//! Owns the tests of reductions: exact for integers, bools and extremes; for sums of floats and what is built
//! on them within a bound on the error, stated below.

use zerostride::{Result, Tensor};

use crate::compare::{self, Closeness};
use crate::corpus::{Case, Corpus, Operand};
use crate::findings::{Findings, Rule};
use crate::operations;
use crate::values::{Values, epsilon, is_float};

fn run(case: &Case) -> Result<Vec<Tensor>> {
    if case.op != "sum_to_size" {
        return operations::run(case);
    }
    let size: Vec<usize> =
        case.kwargs[0].1.as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect();
    Ok(vec![case.operands[0].1.expr().sum_to_size(&size).eval()?])
}

/// The bound on the error, for each result over `n` elements `x`, in half gaps at 1 (`eps`):
///
/// - sums: `(n + 2) eps sum |x|`, a mean's divided by `n`;
/// - products: `(n + 2) eps` of the result;
/// - `logsumexp` and `log_softmax`, which subtract the largest element: `8 eps (max |x| + |result|)`;
/// - `layer_norm` and `cosine_similarity`, in which terms cancel: `8 eps` of the largest result, or of 1;
/// - variances, norms and `softmax`: `16 eps` of the result.
fn closeness(case: &Case, values: &Values, wanted: &[u64]) -> Closeness {
    let op = &case.op[..];
    if !is_float(values.dtype) || matches!(op, "amax" | "amin") {
        return Closeness::Bits;
    }
    if values.is_complex() {
        return Closeness::Norm(16.0);
    }
    let Operand::Tensor { values: input, .. } = &case.operands[0].1 else {
        unreachable!("a reduction of a number")
    };
    let sizes =
        (0..input.bits.len() / input.width()).map(|element| input.number(element * input.width()).abs());
    let (total, largest) = sizes
        .filter(|size| size.is_finite())
        .fold((0.0, 0f64), |(total, largest), size| (total + size, largest.max(size)));
    let results = wanted.len().max(1);
    let reduced = (input.bits.len() / input.width()).div_ceil(results) as f64;
    let eps = epsilon(values.dtype);
    let wanted_most =
        wanted.iter().map(|&bits| crate::values::number(values.dtype, bits).abs()).fold(0.0, f64::max);
    let bound = |result: f64| match op {
        "sum" | "nansum" | "sum_to_size" => (reduced + 2.0) * eps * total.min(reduced * largest),
        "mean" | "nanmean" => (reduced + 2.0) * eps * largest,
        "prod" => (reduced + 2.0) * eps * result.abs(),
        "layer_norm" | "cosine_similarity" => 8.0 * eps * wanted_most.max(1.0),
        "logsumexp" | "log_softmax" => 8.0 * eps * (largest + result.abs()),
        _ => 16.0 * eps * result.abs(),
    };
    let smallest = |result: f64| bound(result).max(crate::values::smallest(values.dtype));
    Closeness::Absolute(
        wanted.iter().map(|&bits| smallest(crate::values::number(values.dtype, bits))).collect(),
    )
}

#[test]
fn reductions_answer_as_pytorch() {
    let corpus = Corpus::open("reductions");
    let mut findings = Findings::of("reductions");
    for case in corpus.cases() {
        let rule = |values: &Values| {
            let wanted = compare::wanted(&case, values).to_vec();
            // Where PyTorch's sum leaves the range on its way, so may any other.
            Rule { closeness: closeness(&case, values, &wanted), wanted, torch: true }
        };
        findings.compare_by(&case, run(&case), rule);
    }
    findings.conclude();
}
