//! Owns `zs` without a command: the tour, the examples of documents that teach broadcasting, evaluated and
//! drawn. It does not know the examples (`stops.rs`).

mod stops;

use std::io::Write;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use zerostride::{Expr, Op, Tensor};
use zerostride_explain::{Explanation, Operand, Options};

use crate::elements::elements;
use crate::evaluate::{self, Bindings, Budget, Value};
use crate::expr;
use crate::failure::{Report, Result};
use crate::shape_text::{ShapeText, Sizes};
use crate::value_text::{self, Binding, Source};
use crate::{terminal, words};
use stops::{Example, Show, Stop, TOUR};

const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const PROMPT: Style = Style::new().bold();

pub(crate) fn tour() -> Result<ExitCode> {
    let mut out = terminal::stdout();
    for section in TOUR {
        let [title, text] = [section.title, section.text].map(|key| words::sentence(key, &[]));
        let rule = "─".repeat(title.chars().count());
        writeln!(out, "{HEADING}{title}\n{rule}{HEADING:#}\n{text}\n")?;
        for stop in section.stops {
            writeln!(out, "{}", run(stop)?)?;
            if !stop.remark.is_empty() {
                writeln!(out, "{}\n", words::sentence(stop.remark, &[]))?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

impl Example {
    /// The command that shows this example alone.
    fn command(&self) -> String {
        let all =
            |arguments: &[&str]| arguments.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(" ");
        match self {
            Example::Shapes { shapes, in_place } => {
                format!("zs explain {} --op add{}", all(shapes), if *in_place { " --in-place" } else { "" })
            }
            Example::Values { expression, bindings, .. } => {
                format!("zs eval {} {}", quoted(expression), all(bindings))
            }
        }
    }
}

/// The argument quoted for a shell.
fn quoted(argument: &str) -> String {
    if argument.contains(['(', '[', ' ', '*']) { format!("'{argument}'") } else { argument.to_owned() }
}

/// The drawing, and the command that draws it or prints the result below it.
fn run(stop: &Stop) -> Result<String> {
    let (explanation, printed) = match stop.example {
        Example::Shapes { shapes, in_place } => (shapes_only(shapes, in_place)?, None),
        Example::Values { op, expression, bindings } => with_values(op, expression, bindings)?,
    };
    let text = explanation.text(&terminal::page());
    let drawn = match stop.show {
        Show::Whole => text,
        // The first paragraph is the headline, the second the picture.
        Show::Picture => text.split_inclusive("\n\n").take(2).collect(),
        Show::Result => String::new(),
    };
    let drawn = drawn.trim_end();
    let command = format!("{PROMPT}$ {}{PROMPT:#}", stop.example.command());
    Ok(match printed {
        None => format!("{command}\n{drawn}\n"),
        Some(printed) if drawn.is_empty() => format!("{command}\n{printed}\n"),
        Some(printed) => format!("{drawn}\n\n{command}\n{printed}\n"),
    })
}

fn shapes_only(shapes: &[&str], in_place: bool) -> Result<Explanation> {
    let operand = |text: &&str| {
        let ShapeText { name, sizes } =
            ShapeText::parse(text).map_err(|problem| Report::in_text(problem, text))?;
        match sizes {
            Sizes::Given(sizes) => Ok(Operand { name, ..Operand::new(&sizes) }),
            Sizes::Symbolic(_) | Sizes::File(_) | Sizes::Values(_) => unreachable!("the tour gives sizes"),
        }
    };
    let operands = shapes.iter().map(operand).collect::<Result<Vec<_>>>()?;
    Ok(Explanation::new(operands, Options { op: Some(Op::Add), in_place, ..Options::default() }))
}

/// The operands with their elements, and the result as PyTorch prints it, if there is one.
fn with_values(op: Op, expression: &str, bindings: &[&str]) -> Result<(Explanation, Option<String>)> {
    let budget = Budget::default();
    let mut values = Bindings::new();
    let mut operands = Vec::new();
    for argument in bindings {
        let binding = Binding::parse(argument)?;
        let Source::Written(start) = binding.source else { unreachable!("the tour reads no files") };
        let value = value_text::written(argument, start, &budget)?;
        let tensor = match &value {
            Value::Number(number) => Tensor::scalar(*number)?,
            Value::Tensor(tensor) => tensor.eval()?,
            _ => unreachable!("a value is a number or a tensor"),
        };
        operands.push(
            Operand::new(tensor.shape()).named(binding.name).dtype(tensor.dtype()).values(elements(&tensor)?),
        );
        values.insert(binding.name.to_owned(), value);
    }
    let ast = expr::parse(expression).map_err(|problem| Report::in_text(problem, expression))?;
    let result = evaluate::evaluate(&ast, &values, &budget).and_then(|part| part.tensor());
    let result: Option<Tensor> = result.ok().map(|expr: Expr| expr.eval()).transpose()?;
    let options =
        Options { op: Some(op), result: result.as_ref().map(elements).transpose()?, ..Options::default() };
    Ok((Explanation::new(operands, options), result.map(|result| result.to_string())))
}
