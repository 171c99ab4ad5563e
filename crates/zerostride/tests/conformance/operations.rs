//! Owns the tests of element-wise operations and conversions: each case of the corpus, called by name.

use zerostride::{Argument, Arguments, Op, Result, Tensor, call};

use crate::corpus::{Case, Corpus, argument};
use crate::findings::Findings;

/// The call as the case makes it.
pub(crate) fn arguments(case: &Case) -> Arguments {
    let mut arguments = Arguments::default();
    for (name, operand) in &case.operands {
        let operand = Argument::Expr(operand.expr());
        match name {
            None => arguments.positional.push(operand),
            Some(name) => arguments.named.push(((*name).to_owned(), operand)),
        }
    }
    arguments.named.extend(case.kwargs.iter().map(|(name, value)| (name.clone(), argument(value))));
    arguments
}

pub(crate) fn run(case: &Case) -> Result<Vec<Tensor>> {
    let eval = |op: Op| call(op, arguments(case))?.eval();
    match &case.op[..] {
        "frexp" => Ok(vec![eval(Op::FrexpMantissa)?, eval(Op::FrexpExponent)?]),
        name => Ok(vec![eval(Op::from_name(name).unwrap_or_else(|| panic!("no operation `{name}`")))?]),
    }
}

fn conforms(name: &'static str) {
    let corpus = Corpus::open(name);
    let mut findings = Findings::of(name);
    assert!(corpus.len() > 0);
    corpus.cases().for_each(|case| findings.compare(&case, run(&case)));
    findings.conclude();
}

#[test]
fn operations_on_one_tensor_answer_as_pytorch() {
    conforms("ops_unary");
    conforms("ops_special");
}

#[test]
fn operations_on_two_tensors_answer_as_pytorch() {
    conforms("ops_binary");
}

#[test]
fn operations_with_numbers_answer_as_pytorch() {
    conforms("ops_scalar");
}

#[test]
fn operations_on_three_tensors_answer_as_pytorch() {
    conforms("ops_ternary");
}

#[test]
fn conversions_answer_as_pytorch() {
    let corpus = Corpus::open("casts");
    let mut findings = Findings::of("casts");
    for case in corpus.cases() {
        let to = case.to.expect("a conversion has a target");
        findings.compare(&case, case.operands[0].1.expr().to_dtype(to).eval().map(|tensor| vec![tensor]));
    }
    findings.conclude();
}
