//! Owns the check that every row of the table of operations has been asked about: answers and gradients of
//! PyTorch are in `spec/golden`, and the errors of mathematical functions in `docs/accuracy.md`. It does not
//! know what these say: the tests of the crates do.

use std::fs;

use zerostride_ops::{Class, Derivative, Effort, Op, Rule};

use crate::root;

/// The files of answers.
const ANSWERS: [&str; 5] = ["ops_unary", "ops_special", "ops_binary", "ops_ternary", "reductions"];

/// Rows that PyTorch has as a keyword of another function, or as one of its results.
const PARTS: [&str; 5] = ["div_trunc", "frexp_exponent", "frexp_mantissa", "gelu_tanh", "round_decimals"];

/// Of a real number it is 0 or pi.
const WITHOUT_ERROR: Op = Op::Angle;

/// What rows are asked about.
struct Answers {
    values: String,
    gradients: String,
    errors: String,
}

/// Checks every row.
pub(crate) fn check(problems: &mut Vec<String>) {
    let mut read = |name: &str| {
        let text = fs::read_to_string(root().join(name));
        text.unwrap_or_else(|error| {
            problems.push(format!("{name}: {error}"));
            String::new()
        })
    };
    let answers = Answers {
        values: ANSWERS.map(|name| read(&format!("spec/golden/{name}.json"))).concat(),
        gradients: read("spec/golden/gradients.json"),
        errors: read("docs/accuracy.md"),
    };
    problems.extend(Op::ALL.iter().flat_map(|&op| answers.missing(op)));
}

impl Answers {
    /// What there is not of a row.
    fn missing(&self, op: Op) -> Vec<String> {
        let (name, info) = (op.name(), op.info());
        let quoted = format!("\"{name}\"");
        let mut missing = Vec::new();
        if !PARTS.contains(&name) && !self.values.contains(&quoted) {
            let how = match info.class {
                Class::Unary | Class::Binary => "`cargo xtask golden pointwise`",
                Class::Reduce => "a line in reductions.py, `cargo xtask golden reductions`",
                Class::Nary | Class::Formula => {
                    "a name in operations.py, or a line in pointwise.py or reductions.py, `cargo xtask golden`"
                }
            };
            missing.push(format!("{name}: spec/golden has no answers of PyTorch; {how}"));
        }
        let has_gradient =
            matches!(info.derivative, Derivative::rule | Derivative::parts) && info.rule != Rule::bool;
        if has_gradient && !self.gradients.contains(&quoted) {
            missing.push(format!(
                "{name}: spec/golden has no gradient; a line in gradients.py, `cargo xtask golden gradients`"
            ));
        }
        let is_function = info.class == Class::Unary && info.effort == Some(Effort::function);
        if is_function && op != WITHOUT_ERROR && !self.errors.contains(&format!("\n| `{name}` |")) {
            missing.push(format!("{name}: docs/accuracy.md has no row for its errors"));
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_nobody_asked_about_is_reported() {
        let answers = |values: &str, gradients: &str, errors: &str| Answers {
            values: values.to_owned(),
            gradients: gradients.to_owned(),
            errors: errors.to_owned(),
        };
        let all = answers("[\"erf\"]", "[\"erf\"]", "\n| `erf` |");
        assert_eq!(all.missing(Op::Erf).len(), 0);
        assert_eq!(all.missing(Op::Erfc).len(), 3);
        assert_eq!(answers("[\"erfc\"]", "[\"erf\"]", "\n| `erf` |").missing(Op::Erf).len(), 1);
        // A comparison has no gradient, and no error.
        assert_eq!(all.missing(Op::Eq).len(), 1);
    }
}
