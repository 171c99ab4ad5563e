//! Owns `zs explain SHAPE...`. It does not know how an explanation is drawn (`zerostride-explain`).

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use zerostride::{Argument, Arguments, Op, Tensor, call, io};
use zerostride_explain::{DRAWN_ELEMENTS, Explanation, Lang, Operand, Options, Page};
use zerostride_ops::{Class, Default, Kind};
use zerostride_shape::broadcast_shape;

use super::{output, symbolic};
use crate::args::{ExplainArgs, Format};
use crate::elements::elements;
use crate::evaluate::{self, Budget, Value, refused};
use crate::expr::Problem;
use crate::failure::{Failure, Report, Result, Status};
use crate::shape_text::{ShapeText, Sizes};
use crate::words::{self, say};
use crate::{file_text, terminal, value_text};

pub(crate) fn explain(args: &ExplainArgs) -> Result<ExitCode> {
    if let Some(lang) = args.lang {
        words::speak(lang);
    }
    let format = match &args.output {
        Some(path) => format_of(path, args.format)?,
        None => args.format.unwrap_or(Format::Text),
    };
    if format == Format::Json {
        // Programs read it, whatever the language of their user.
        words::speak(Lang::En);
    }
    let write = |text: &str| match &args.output {
        Some(path) => Ok(io::save_bytes(path, text.as_bytes(), args.force)?),
        None => Ok::<_, Failure>(terminal::stdout().write_all(text.as_bytes())?),
    };
    output::force_needs_a_file(args.force, args.output.is_some())?;
    if let Some(path) = &args.output {
        output::keep_what_is_there(path, args.force)?;
    }
    let shapes = parse(&args.shapes)?;
    let op = args.op.as_deref().map(|name| operation(name, args.shapes.len())).transpose()?;
    if shapes.iter().any(|shape| matches!(shape.sizes, Sizes::Symbolic(_))) {
        if format != Format::Text {
            return Err(Report::usage(say!("named-sizes-in-text")).into());
        }
        write(&symbolic::text(&symbolic(shapes)?, args.in_place)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let given = match read(args, shapes, op) {
        // A program that reads JSON gets errors as JSON, too.
        Err(Failure::Report(report)) if (report.status, format) == (Status::Mismatch, Format::Json) => {
            write(&(zerostride_explain::refusal_json(&report.message) + "\n"))?;
            return Ok(Status::Mismatch.into());
        }
        given => given?,
    };
    let result = op.and_then(|op| result(op, args.in_place, &given));
    let operands = given.into_iter().map(|given| given.operand).collect();
    let explanation =
        Explanation::new(operands, Options { op, in_place: args.in_place, result, ..Options::default() });
    let render = |page: Page| match format {
        Format::Text => explanation.text(&page),
        Format::Json => explanation.json() + "\n",
        Format::Svg => explanation.svg(words::lang()),
        Format::Html => explanation.html(words::lang()),
    };
    write(&render(match args.output {
        Some(_) => Page { lang: words::lang(), ..Page::default() },
        None => terminal::page(),
    }))?;
    Ok(match explanation.error() {
        Some(_) => Status::Mismatch.into(),
        None => ExitCode::SUCCESS,
    })
}

/// Parses the SHAPE arguments, whose names differ.
fn parse(texts: &[String]) -> Result<Vec<ShapeText>> {
    let mut names = HashSet::new();
    let parse = |text: &String| {
        let shape = ShapeText::parse(text).map_err(|problem| Report::in_text(problem, text))?;
        match &shape.name {
            Some(name) if !names.insert(name.clone()) => {
                let problem = Problem::new(say!("has-a-shape", name = &**name), (0..name.len()).into());
                Err(Report::in_text(problem, text).into())
            }
            _ => Ok(shape),
        }
    };
    texts.iter().map(parse).collect()
}

/// The operands, of which a size is a name.
fn symbolic(shapes: Vec<ShapeText>) -> Result<Vec<symbolic::Operand>> {
    let operand = |(number, ShapeText { name, sizes }): (usize, ShapeText)| {
        let numbers = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect();
        let sizes = match sizes {
            Sizes::Symbolic(sizes) => sizes,
            Sizes::Given(sizes) => numbers(&sizes),
            Sizes::File(file) => numbers(&file_text::look(&file, 0)?.0),
            Sizes::Values(_) => {
                return Err(Report::usage(say!("values-and-names")).into());
            }
        };
        let letter = || char::from(b'a' + (number % 26) as u8).to_string();
        Ok(symbolic::Operand { name: name.unwrap_or_else(letter), sizes })
    };
    shapes.into_iter().enumerate().map(operand).collect()
}

const ENDINGS: [(&str, Format); 4] =
    [("txt", Format::Text), ("json", Format::Json), ("svg", Format::Svg), ("html", Format::Html)];

/// The format, which the file ending selects; another `--format` is a mistake.
fn format_of(path: &Path, wanted: Option<Format>) -> Result<Format> {
    let ending = path.extension().unwrap_or_default();
    let found = ENDINGS.into_iter().find(|(name, _)| ending.eq_ignore_ascii_case(name));
    match (found, wanted) {
        (Some((_, format)), wanted) if wanted.is_none_or(|wanted| wanted == format) => Ok(format),
        (_, Some(wanted)) => {
            let name = ENDINGS.iter().find(|(_, format)| *format == wanted).map_or("", |(name, _)| name);
            let path = path.display().to_string();
            Err(Report::usage(say!("format-ends-in", path = path, ending = name))
                .help(say!("ending-decides"))
                .into())
        }
        (_, None) => Err(Report::usage(say!("unknown-ending", path = path.display().to_string()))
            .help(say!("explanation-endings"))
            .into()),
    }
}

/// Reads the operands, and refuses dtypes that the operation refuses.
fn read(args: &ExplainArgs, shapes: Vec<ShapeText>, op: Option<Op>) -> Result<Vec<Given>> {
    let budget = Budget::default();
    let given = shapes.into_iter().zip(&args.shapes).map(|(shape, text)| Given::read(shape, text, &budget));
    let given = given.collect::<Result<Vec<_>>>()?;
    op.map_or(Ok(()), |op| check_dtypes(op, args.in_place, &given))?;
    Ok(given)
}

/// Tries the operation on one element of each operand, if all dtypes are known: an error can then only be
/// about dtypes.
fn check_dtypes(op: Op, in_place: bool, given: &[Given]) -> Result {
    let one = |Given { operand, .. }: &Given| {
        let shape = vec![1; operand.shape.len()];
        operand.dtype.and_then(|dtype| Tensor::full(&shape, 1, dtype).ok())
    };
    let Some(ones) = given.iter().map(one).collect::<Option<Vec<Tensor>>>() else { return Ok(()) };
    // Operations with required arguments beside operands are not checked.
    let Ok(result) = call(op, arguments(&ones)) else { return Ok(()) };
    let tried = match in_place {
        true => result.eval_into(&ones[0]),
        false => result.shape().map(drop),
    };
    match tried.map_err(|error| refused(&error)) {
        Err(report) if report.status == Status::Mismatch => Err(report.into()),
        _ => Ok(()),
    }
}

/// Makes the arguments of a call of tensors.
fn arguments<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Arguments {
    let positional =
        tensors.into_iter().map(|tensor| Argument::Expr(zerostride::Operand::from(tensor).into())).collect();
    Arguments { positional, named: Vec::new() }
}

/// A SHAPE argument: the operand, with its values if they are known and few.
struct Given {
    operand: Operand,
    tensor: Option<Tensor>,
}

impl Given {
    fn read(ShapeText { name, sizes }: ShapeText, text: &str, budget: &Budget) -> Result<Given> {
        let (operand, tensor) = match sizes {
            Sizes::Given(sizes) => (Operand::new(&sizes), None),
            Sizes::Symbolic(_) => unreachable!("shapes with names were explained before"),
            Sizes::File(file) => {
                let (shape, dtype, tensor) = file_text::look(&file, DRAWN_ELEMENTS)?;
                (Operand { dtype, ..Operand::new(&shape) }, tensor)
            }
            Sizes::Values(start) => {
                let tensor = match value_text::written(text, start, budget)? {
                    Value::Number(number) => Tensor::scalar(number)?,
                    Value::Unsigned(number) => Tensor::from_slice(&[number], &[])?,
                    Value::Tensor(tensor) => tensor.eval()?,
                    _ => unreachable!("a value is a number or a tensor"),
                };
                (Operand::new(tensor.shape()).dtype(tensor.dtype()), Some(tensor))
            }
        };
        let values = tensor.as_ref().map(elements).transpose()?;
        Ok(Given { operand: Operand { name, values, ..operand }, tensor })
    }
}

/// The elements of the result, if those of all operands are known and there are few of them.
///
/// If shapes or dtypes do not fit there is no result, and the explanation says why.
fn result(op: Op, in_place: bool, given: &[Given]) -> Option<Vec<String>> {
    let tensors: Vec<&Tensor> = given.iter().map(|given| given.tensor.as_ref()).collect::<Option<_>>()?;
    let shapes: Vec<&[usize]> = tensors.iter().map(|tensor| tensor.shape()).collect();
    broadcast_shape(&shapes).ok().filter(|shape| shape.numel() <= DRAWN_ELEMENTS)?;
    let result = call(op, arguments(tensors.iter().copied())).ok()?.eval().ok()?;
    let result = if in_place { result.to_dtype(tensors[0].dtype()).ok()? } else { result };
    elements(&result).ok()
}

/// The operation of that name or symbol, if it takes so many operands.
fn operation(name: &str, operands: usize) -> Result<Op> {
    let by_symbol = || {
        let class = if operands == 1 { Class::Unary } else { Class::Binary };
        Op::ALL.iter().copied().find(|op| op.info().symbol == Some(name) && op.info().class == class)
    };
    let Some(op) = Op::from_name(name).or_else(by_symbol) else {
        if name == "@" || evaluate::is_product(name) {
            return Err(Report::usage(say!("is-a-product", name = name))
                .help(say!("explain-element-wise"))
                .help(say!("shape-of-product"))
                .into());
        }
        if evaluate::is_function(name) {
            return Err(Report::usage(say!("is-not-element-wise", name = name))
                .help(say!("explain-element-wise"))
                .into());
        }
        let report = Report::usage(say!("unknown-operation", name = name));
        return Err(match evaluate::closest_operation(name) {
            Some(meant) => report.help(say!("did-you-mean", name = meant)),
            None => report.help(say!("operations-have-names")),
        }
        .into());
    };
    if op.info().class == Class::Reduce {
        return Err(Report::usage(say!("combines-dimensions", name = name))
            .help(say!("explain-element-wise"))
            .into());
    }
    let signature = op.signature();
    let taken = signature.arguments.iter().filter(|argument| argument.kind == Kind::Operand);
    let needed = taken.clone().filter(|argument| argument.default == Default::Required).count();
    let most = taken.count();
    if operands < needed || operands > most {
        let range = match needed == most {
            true => most.to_string(),
            false => say!("from-to", first = needed, last = most),
        };
        let message = say!("takes-operands", name = name, most = most, range = range, count = operands);
        return Err(Report::usage(message).help(say!("called-as", usage = op.usage())).into());
    }
    Ok(op)
}
