//! Owns the messages about unknown names, and the guess what was meant. It does not know what known names
//! mean.

use zerostride::{DType, Op};

use super::bindings::{Bindings, CONSTANTS};
use super::functions;
use crate::expr::{Problem, Span};
use crate::words::{say, write_instead};

/// Names in other libraries, and the equivalent here.
#[rustfmt::skip]
const ELSEWHERE: [(&str, &[&str]); 4] = [
    ("average", &["mean(x, dim)"]),
    ("power", &["pow(x, y)", "x ** y"]),
    ("mod", &["remainder(x, y)", "x % y"]),
    ("invert", &["bitwise_not(x)", "~x"]),
];

/// The modules whose functions have no prefix here.
const MODULES: [&str; 7] = ["torch", "np", "numpy", "zs", "zerostride", "math", "F"];

/// An unknown name.
pub(super) fn unknown<'a>(name: &'a str, span: Span, bound: impl Iterator<Item = &'a str>) -> Problem {
    let problem = Problem::new(say!("unknown-name", name = name), span);
    if is_function(name) {
        return Problem::new(say!("is-a-function", name = name), span)
            .help(say!("call-it", call = format!("{name}(x)")));
    }
    if MODULES.contains(&name) {
        return problem.help(say!("functions-stand-alone"));
    }
    let constants = CONSTANTS.iter().map(|(constant, _)| *constant);
    // Any one-letter name is one substitution away from any other, so only another case counts as close.
    let likely = |meant: &&str| name.len() > 1 || meant.eq_ignore_ascii_case(name);
    match closest(name, bound.chain(constants)).filter(likely) {
        Some(meant) => problem.help(say!("did-you-mean", name = meant)),
        None => problem.help(say!("names-get-values", name = name)),
    }
}

/// An unknown function or method.
pub(super) fn unknown_function(name: &str, span: Span, bound: &Bindings) -> Problem {
    if bound.contains_key(name) {
        return Problem::new(say!("is-no-function", name = name), span)
            .help(say!("to-multiply-write", product = "*"));
    }
    let problem = Problem::new(say!("unknown-function", name = name), span);
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return problem.help(write_instead(instead));
    }
    match closest(name, function_names()) {
        Some(meant) => problem.help(say!("did-you-mean", name = meant)),
        None => problem,
    }
}

/// An unknown attribute, `x.name`.
pub(super) fn unknown_attribute(name: &str, span: Span) -> Problem {
    if is_function(name) {
        return Problem::new(say!("is-a-method", name = name), span)
            .help(say!("call-method", call = format!("x.{name}()")));
    }
    match name {
        "shape" | "dtype" | "ndim" | "size" => {
            Problem::new(say!("is-no-tensor", name = name), span).help(say!("add-dry-run"))
        }
        _ => Problem::new(say!("unknown-attribute", name = name), span).help(say!("attributes")),
    }
}

/// Whether a name is that of an operation or another function.
pub(crate) fn is_function(name: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Functions of the Python package that an expression has no use for.
    const PYTHONS: [&str; 27] = [
        // Objects of Python and of other libraries.
        "as_tensor",
        "asarray",
        "from_dlpack",
        "from_numpy",
        "unique_all",
        // Answers that are no tensors.
        "broadcast_shapes",
        "can_cast",
        "promote_types",
        "result_type",
        "finfo",
        "iinfo",
        "is_complex",
        "is_floating_point",
        "is_tensor",
        "numel",
        // Functions of functions, commands of the shell, and the process.
        "evaluate",
        "explain",
        "fuse",
        "get_num_threads",
        "grad",
        "jvp",
        "manual_seed",
        "open",
        "set_num_threads",
        "show_config",
        "value_and_grad",
        "vjp",
    ];

    #[test]
    fn every_function_is_in_the_list_once() {
        let listing = functions::listing().into_iter().flat_map(|(_, calls)| calls);
        let listed: Vec<String> = listing
            .flat_map(|call| {
                let names = call.split('(').next().unwrap_or_default().split(", ");
                names.map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        for name in operation_names().chain(functions::names()) {
            assert_eq!(listed.iter().filter(|listed| *listed == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn the_shell_has_pythons_functions() {
        let stubs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/python/zerostride/__init__.pyi");
        let stubs = fs::read_to_string(stubs).unwrap();
        let names = stubs.lines().filter_map(|line| line.strip_prefix("def ")?.split('(').next());
        let names: Vec<&str> = names.filter(|name| !name.starts_with('_')).collect();
        assert!(names.len() > 250, "{}", names.len());
        let missing: Vec<_> =
            names.iter().filter(|name| !is_function(name) && !PYTHONS.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn pythons_functions_have_pythons_parameters() {
        let rows =
            fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/src/functions")).unwrap();
        let mut compared = 0;
        for row in rows {
            for line in fs::read_to_string(row.unwrap().path()).unwrap().lines() {
                let parts: Vec<&str> = line.split('"').collect();
                let (["    both " | "    function ", name, " ", theirs, ..], Some(own)) =
                    (&parts[..], parts.get(1).and_then(|name| functions::parameters(name)))
                else {
                    continue;
                };
                let names = |text: &str| -> Vec<String> {
                    let name = |part: &str| part.split('=').next().unwrap_or_default().trim().to_owned();
                    text.split(',').map(name).filter(|name| !name.is_empty() && name != "*").collect()
                };
                let theirs = names(theirs);
                for parameter in names(own) {
                    assert!(theirs.contains(&parameter), "{name}({own}): {parameter}");
                }
                compared += 1;
            }
        }
        assert!(compared > 40, "{compared}");
    }
}
