//! Owns the messages about unknown names, and the guess what was meant. It does not know what known names
//! mean.

use zerostride::{DType, Op};

use super::{Bindings, CONSTANTS, functions};
use crate::expr::{Problem, Span};

/// Names in other libraries, and the equivalent here.
#[rustfmt::skip]
const ELSEWHERE: [(&str, &str); 6] = [
    ("average", "write mean(x, dim)"),
    ("power", "write pow(x, y), or x ** y"),
    ("mod", "write remainder(x, y), or x % y"),
    ("invert", "write bitwise_not(x), or ~x"),
    ("concatenate", "write cat([a, b], dim)"),
    ("randn", "write rand(3, 4, seed=1)"),
];

/// The modules whose functions have no prefix here.
const MODULES: [&str; 7] = ["torch", "np", "numpy", "zs", "zerostride", "math", "F"];

/// An unknown name.
pub(super) fn unknown<'a>(name: &'a str, span: Span, bound: impl Iterator<Item = &'a str>) -> Problem {
    let problem = Problem::new(format!("unknown name `{name}`"), span);
    if is_function(name) {
        return Problem::new(format!("`{name}` is a function"), span)
            .help(format!("call it, as in {name}(x)"));
    }
    if MODULES.contains(&name) {
        return problem.help("functions stand alone: exp(x), not torch.exp(x)");
    }
    let constants = CONSTANTS.iter().map(|(constant, _)| *constant);
    // Any one-letter name is one substitution away from any other, so only another case counts as close.
    let likely = |meant: &&str| name.len() > 1 || meant.eq_ignore_ascii_case(name);
    match closest(name, bound.chain(constants)).filter(likely) {
        Some(meant) => problem.help(format!("did you mean `{meant}`?")),
        None => problem
            .help(format!("names get their values after the expression, as in {name}=5 or {name}=x.npy")),
    }
}

/// An unknown function or method.
pub(super) fn unknown_function(name: &str, span: Span, bound: &Bindings) -> Problem {
    if bound.contains_key(name) {
        return Problem::new(format!("`{name}` is not a function"), span).help("to multiply, write `*`");
    }
    let problem = Problem::new(format!("unknown function `{name}`"), span);
    if let Some((_, advice)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return problem.help(*advice);
    }
    match closest(name, function_names()) {
        Some(meant) => problem.help(format!("did you mean `{meant}`?")),
        None => problem,
    }
}

/// An unknown attribute, `x.name`.
pub(super) fn unknown_attribute(name: &str, span: Span) -> Problem {
    if is_function(name) {
        return Problem::new(format!("`{name}` is a method"), span)
            .help(format!("call it, as in x.{name}()"));
    }
    match name {
        "shape" | "dtype" | "ndim" | "size" => Problem::new(format!("`{name}` is not a tensor"), span)
            .help("for the shape and dtype of the result, add --dry-run"),
        _ => Problem::new(format!("unknown attribute `{name}`"), span)
            .help("there are .T, .mT, .real and .imag"),
    }
}

fn is_function(name: &str) -> bool {
    Op::from_name(name).is_some() || functions::find(name).is_some()
}

fn operation_names() -> impl Iterator<Item = &'static str> {
    Op::ALL.iter().flat_map(|op| std::iter::once(op.name()).chain(op.info().aliases.iter().copied()))
}

fn function_names() -> impl Iterator<Item = &'static str> {
    let in_place = Op::ALL.iter().filter_map(|op| op.info().in_place);
    operation_names().chain(in_place).chain(functions::names())
}

/// The operation that was probably meant.
pub(crate) fn closest_operation(name: &str) -> Option<&'static str> {
    closest(name, operation_names())
}

/// The dtype that was probably meant.
pub(crate) fn closest_dtype(name: &str) -> Option<&'static str> {
    closest(name, DType::ALL.iter().flat_map(|dtype| [dtype.name(), dtype.torch_name()]))
}

/// The closest candidate by edit distance, at most one edit in three letters.
fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 64 {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
