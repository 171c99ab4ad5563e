//! `zs explain SHAPE...`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use zerostride::Op;
use zerostride_explain::{Explanation, Operand, Options, Page};
use zerostride_ops::{Class, Default, Kind};

use super::output;
use crate::args::{ExplainArgs, Format};
use crate::failure::{Report, Result, Status};
use crate::shape_text::{ShapeText, Sizes};
use crate::{file_text, terminal};

pub(crate) fn explain(args: &ExplainArgs) -> Result<ExitCode> {
    if let Some(path) = &args.output {
        check_ending(path, args.format)?;
    }
    let op = args.op.as_deref().map(|name| operation(name, args.shapes.len())).transpose()?;
    let operands = args.shapes.iter().map(|text| operand(text)).collect::<Result<Vec<_>>>()?;
    let options = Options { op, in_place: args.in_place, ..Options::default() };
    let explanation = Explanation::new(operands, options);
    let render = |page: &Page| match args.format {
        Format::Text => explanation.text(page),
        Format::Json => explanation.json() + "\n",
    };
    match &args.output {
        Some(path) => output::write_text(path, &render(&Page::default()))
            .map_err(|error| Report::usage(format!("{}: cannot write it: {error}", path.display())))?,
        None => terminal::stdout().write_all(render(&terminal::page()).as_bytes())?,
    }
    Ok(match explanation.error() {
        Some(_) => Status::Mismatch.into(),
        None => ExitCode::SUCCESS,
    })
}

/// The ending says what the file holds; a format that says otherwise is a mistake.
fn check_ending(path: &Path, format: Format) -> Result {
    let (ending, name) = match format {
        Format::Text => ("txt", "text"),
        Format::Json => ("json", "JSON"),
    };
    match path.extension() {
        Some(found) if found.eq_ignore_ascii_case(ending) => Ok(()),
        _ => Err(Report::usage(format!("{}: a file of {name} ends in .{ending}", path.display()))
            .help("--format text goes to .txt, --format json to .json")
            .into()),
    }
}

fn operand(text: &str) -> Result<Operand> {
    let ShapeText { name, sizes } =
        ShapeText::parse(text).map_err(|problem| Report::in_text(problem, text))?;
    let operand = match sizes {
        Sizes::Given(sizes) => Operand::new(&sizes),
        Sizes::File(file) => {
            let entry = file_text::entry(&file)?;
            Operand { dtype: entry.dtype(), ..Operand::new(entry.shape()) }
        }
    };
    Ok(Operand { name, ..operand })
}

/// The operation of that name or symbol, if it takes so many operands.
fn operation(name: &str, operands: usize) -> Result<Op> {
    let by_symbol = || {
        let class = if operands == 1 { Class::Unary } else { Class::Binary };
        Op::ALL.iter().copied().find(|op| op.info().symbol == Some(name) && op.info().class == class)
    };
    let Some(op) = Op::from_name(name).or_else(by_symbol) else {
        let report = Report::usage(format!("unknown operation `{name}`"));
        return Err(match crate::evaluate::closest_operation(name) {
            Some(meant) => report.help(format!("did you mean `{meant}`?")),
            None => report.help("operations have PyTorch's names, as in --op add, or symbols, as in --op +"),
        }
        .into());
    };
    if op.info().class == Class::Reduce {
        return Err(Report::usage(format!("`{name}` combines dimensions and does not broadcast"))
            .help("explain element-wise operations, as in --op add")
            .into());
    }
    let signature = op.info().signature();
    let taken = signature.arguments.iter().filter(|argument| argument.kind == Kind::Operand);
    let needed = taken.clone().filter(|argument| argument.default == Default::Required).count();
    let most = taken.count();
    if operands < needed || operands > most {
        let range = if needed == most { most.to_string() } else { format!("{needed} to {most}") };
        let noun = if most == 1 { "operand" } else { "operands" };
        return Err(Report::usage(format!("`{name}` takes {range} {noun}, and {operands} shapes are given"))
            .help(format!("it is called as {}", op.usage()))
            .into());
    }
    Ok(op)
}
