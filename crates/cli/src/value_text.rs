//! Owns the `NAME=VALUE` arguments of `zs eval`: the name, and the value, which is a file or an expression
//! without names with an optional `:dtype`. It does not know how an expression is evaluated.

use std::path::Path;

use zerostride::DType;

use crate::evaluate::{self, Bindings, Budget, Fault, Part, Value};
use crate::expr::{self, Ast, Kind, Problem, Span};
use crate::failure::{Failure, Report, Result};
use crate::file_text::{is_standard_input, names_file};
use crate::name_text::{is_name, split_name};
use crate::words::say;

/// A parsed `NAME=VALUE` argument.
#[derive(Debug)]
pub(crate) struct Binding<'a> {
    /// The whole argument.
    pub(crate) argument: &'a str,
    pub(crate) name: &'a str,
    pub(crate) source: Source<'a>,
}

/// Where a value is.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    /// An array in a file.
    File(&'a str),
    /// Written in the argument, from this byte on.
    Written(usize),
}

impl<'a> Binding<'a> {
    /// Splits an argument.
    pub(crate) fn parse(argument: &'a str) -> Result<Binding<'a>> {
        let Some((name, value, start)) = split_name(argument) else {
            let problem = Problem::new(say!("name-and-value"), (0..argument.len()).into());
            return Err(Report::in_text(problem, argument).into());
        };
        // A name can only be that of a file here.
        let is_file = is_name(value) && !evaluate::has_meaning(value) && Path::new(value).is_file();
        let source = if is_file || names_file(value) { Source::File(value) } else { Source::Written(start) };
        Ok(Binding { argument, name, source })
    }
}

impl Binding<'_> {
    /// Whether the value is that of standard input.
    pub(crate) fn is_standard_input(&self) -> bool {
        matches!(self.source, Source::File(text) if is_standard_input(text))
    }
}

/// The value written in an argument from byte `start` on.
pub(crate) fn written(argument: &str, start: usize, budget: &Budget) -> Result<Value> {
    let report = |fault: Fault| Failure::from(fault.report(argument));
    let no_value = |problem| Failure::from(Report::in_text(problem, argument).help(say!("a-value-is")));
    let (text, dtype) = split_dtype(argument, start).map_err(|problem| report(problem.into()))?;
    // Blanks replace the name, so that spans are those in the argument.
    let text = " ".repeat(start) + text;
    if text.trim().is_empty() {
        let problem = Problem::new(say!("value-missing"), (argument.len()..argument.len()).into());
        return Err(no_value(problem));
    }
    let ast = expr::parse(&text).map_err(no_value)?;
    refuse_names(&ast).map_err(no_value)?;
    let part = evaluate::evaluate(&ast, &Bindings::new(), budget).map_err(report)?;
    value(part, dtype).map_err(report)
}

/// Refuses names in a value. The first name was probably meant as a file, or as a quoted word.
fn refuse_names(ast: &Ast) -> Result<(), Problem> {
    let stranger = ast
        .nodes()
        .iter()
        .find(|node| matches!(&node.kind, Kind::Name(name) if !evaluate::has_meaning(name)));
    match stranger {
        Some(node) => Err(Problem::new(say!("neither-number-nor-file"), node.span)),
        None => Ok(()),
    }
}

fn value(part: Part, dtype: Option<DType>) -> Result<Value, Fault> {
    match (dtype, &part.value) {
        (Some(dtype), _) => Ok(Value::Tensor(part.converted(dtype)?)),
        (None, Value::Number(_) | Value::Unsigned(_)) => Ok(part.value),
        (None, _) => Ok(Value::Tensor(part.tensor()?)),
    }
}

/// Splits `[[1, 2]]:f32`. A colon inside brackets is part of a slice.
fn split_dtype(argument: &str, start: usize) -> Result<(&str, Option<DType>), Problem> {
    let whole = &argument[start..];
    let Some((value, name)) = whole.rsplit_once(':') else { return Ok((whole, None)) };
    if name.contains([']', ')']) {
        return Ok((whole, None));
    }
    let at = argument.len() - name.len();
    let span = Span::from(at..argument.len());
    match evaluate::dtype(name.trim()) {
        Ok(dtype) => Ok((value, Some(dtype))),
        Err(_) => {
            let problem = Problem::new(say!("unknown-dtype", name = name.trim()), span);
            let dtypes = DType::ALL.map(DType::name);
            Err(match evaluate::closest_dtype(name.trim()) {
                Some(meant) => problem.help(say!("did-you-mean", name = meant)),
                None => problem.help(say!("there-are", names = dtypes.join(", "))),
            })
        }
    }
}
