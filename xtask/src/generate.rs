//! Owns what is generated from the tables: `docs/operations.md`, and the paths of the stubs of the Python
//! package (`stubs.rs`) and their page (`reference.rs`). It does not know operations and functions, only
//! their rows.

use std::fmt::Write;

use zerostride_ops::{Derivative, Domain, Function, Op, Rule};

use crate::{Outcome, reference, root, sections, stubs};

const FILE: &str = "docs/operations.md";

/// Everything that is generated, by its path.
fn generated() -> Result<[(&'static str, String); 3], String> {
    Ok([(FILE, operations()), (stubs::FILE, stubs::text()?), (reference::FILE, reference::text()?)])
}

/// Rewrites the files.
pub(crate) fn write() -> Outcome {
    generated()?.into_iter().try_for_each(|(name, text)| {
        std::fs::write(root().join(name), text).map_err(|error| format!("cannot write {name}: {error}"))
    })
}

/// An error if a file is not what the tables give.
pub(crate) fn check() -> Outcome {
    generated()?.into_iter().try_for_each(|(name, text)| {
        let found = std::fs::read_to_string(root().join(name));
        match found.map_err(|error| format!("cannot read {name}: {error}"))? == text {
            true => Ok(()),
            false => Err(format!("{name} is not what the tables say; run `cargo xtask gen`")),
        }
    })
}

fn operations() -> String {
    let mut text = String::from(
        "# Operations\n\n\
         Generated from the tables by `cargo xtask gen`. Names, arguments and results are PyTorch's. *Computes in*\n\
         lists the categories of dtype after promotion; others are refused when the expression is built. *Gradient*\n\
         says where an operation has none, or one that is zero everywhere ([gradients](python/gradients.md)).\n",
    );
    for (class, title, note) in sections::OPERATIONS {
        let _ = write!(
            text,
            "\n## {title}\n\n{note}\n\n| call | also | computes in | result | gradient | |\n|---|---|---|---|---|---|\n"
        );
        for op in Op::ALL.iter().filter(|op| op.info().class == class) {
            let _ = writeln!(text, "{}", row(*op));
        }
    }
    for (section, title, note) in sections::FUNCTIONS {
        let _ = write!(text, "\n## {title}\n\n{note}\n\n| call | also | |\n|---|---|---|\n");
        for info in
            Function::ALL.iter().map(|function| function.info()).filter(|info| info.section == section)
        {
            let (name, also) = (info.names[0], info.names[1..].iter().map(|name| format!("`{name}`")));
            let also = also.collect::<Vec<_>>().join(" ");
            let _ = writeln!(text, "| `{name}({})` | {also} | {} |", info.arguments, info.doc.trim());
        }
    }
    text
}

fn row(op: Op) -> String {
    let info = op.info();
    // `and` and `or` appear in drawings only; they are no operators between tensors.
    let operator = info.symbol.filter(|symbol| !symbol.contains(char::is_alphabetic));
    let names = operator.iter().chain(info.aliases).chain(&info.in_place);
    let also: Vec<String> = names.map(|name| format!("`{}`", name.replace('|', "\\|"))).collect();
    format!(
        "| `{}` | {} | {} | {} | {} | {} |",
        op.usage(),
        also.join(" "),
        domain(info.domain),
        result(info.rule),
        gradient(info.derivative),
        info.doc.trim().replace('|', "\\|")
    )
}

fn gradient(derivative: Derivative) -> &'static str {
    match derivative {
        Derivative::rule | Derivative::parts => "",
        Derivative::zero => "zero",
        Derivative::none => "none",
    }
}

fn domain(domain: Domain) -> &'static str {
    match domain {
        Domain::any => "everything",
        Domain::numeric => "integers, floats, complex",
        Domain::real => "bool, integers, floats",
        Domain::ordered => "integers, floats",
        Domain::integral => "bool, integers",
        Domain::integer => "integers",
        Domain::floats => "floats",
        Domain::inexact => "floats, complex",
        Domain::complexes => "complex",
    }
}

fn result(rule: Rule) -> &'static str {
    match rule {
        Rule::common => "the common dtype",
        Rule::float => "the common dtype; f32 for bool and integers",
        Rule::float_real => "real; f32 for bool and integers",
        Rule::real => "the common dtype; real for complex",
        Rule::bool => "bool",
        Rule::int => "i32",
        Rule::bool_to_int => "the common dtype; i64 for bool",
        Rule::complex => "the complex dtype of the float",
        Rule::double => "f64 or c128",
        Rule::sum => "the same dtype; i64 for bool and integers",
        Rule::index => "i64",
        Rule::truth => "bool; u8 for u8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_generated_is_what_the_tables_say() {
        check().unwrap();
    }
}
