//! `zs eval EXPR [NAME=VALUE]...`.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use zerostride::io::Format;
use zerostride::{Expr, Tensor};

use crate::args::EvalArgs;
use crate::evaluate::{self, Bindings, Budget, Fault, Value};
use crate::expr::{self, Ast, Kind, Problem};
use crate::failure::{Failure, Report, Result};
use crate::value_text::{self, Binding, Source};
use crate::{bytes, file_text, policy, terminal};

pub(crate) fn eval(args: &EvalArgs) -> Result<ExitCode> {
    let source = &args.expression;
    // Everything that can be wrong with the command line alone comes before any file is read.
    if let Some(path) = &args.output {
        check_ending(path)?;
    }
    refuse_option(source)?;
    let ast = expr::parse(source).map_err(|problem| Report::in_text(problem, source))?;
    let bindings = parse_bindings(&args.bindings)?;
    warn_unused(&ast, &bindings)?;
    if let Some(threads) = args.threads {
        set_threads(threads.get())?;
    }

    policy::draw_warnings(source);
    let _policy = policy::of_rules(&args.policy).enter();
    let budget = Budget::new(args.max_memory);
    let mut values = Bindings::new();
    for binding in &bindings {
        values.insert(binding.name.to_owned(), load(binding, &budget, args.dry_run)?);
    }
    let result = evaluate::evaluate(&ast, &values, &budget).map_err(|fault| fault.report(source))?;
    let span = result.span;
    let expression = result.tensor().map_err(|fault| fault.report(source))?;
    // The tensors are in the expression now; their names would only keep them alive.
    drop(values);
    compute(args, &expression, &budget, &|error| Fault::engine(error, span).report(source).into())
}

/// Plans, checks the memory, runs, prints or writes. `refused` says of an error in which expression it was met.
fn compute(
    args: &EvalArgs,
    expression: &Expr,
    budget: &Budget,
    refused: &dyn Fn(zerostride::Error) -> Failure,
) -> Result<ExitCode> {
    let plan = expression.plan().map_err(refused)?;
    let needed = (plan.output_bytes() as u64).saturating_add(plan.scratch_bytes() as u64);
    budget.take(needed).map_err(Report::usage)?;
    if args.plan {
        writeln!(anstream::stderr().lock(), "{plan}")?;
    }
    if args.dry_run {
        zerostride::policy::check(expression).map_err(refused)?;
        let (dtype, shape) = (expression.dtype().map_err(refused)?, expression.shape().map_err(refused)?);
        writeln!(terminal::stdout(), "{dtype} {shape:?}, {}", bytes::show(plan.output_bytes() as u64))?;
        return Ok(ExitCode::SUCCESS);
    }
    let result = expression.eval().map_err(refused)?;
    match &args.output {
        Some(path) => zerostride::io::save(path, &result)?,
        None => writeln!(terminal::stdout(), "{result}")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn check_ending(path: &Path) -> Result {
    match Format::from_path(path) {
        Some(_) => Ok(()),
        None => Err(Report::usage(format!("{}: the ending says no known format", path.display()))
            .help("results are written to .npy, .npz or .safetensors")
            .into()),
    }
}

/// An expression may begin with a minus, so that a misspelt option looks like one.
fn refuse_option(source: &str) -> Result {
    match source.strip_prefix("--") {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Err(Report::usage(format!("unknown option `{source}`"))
                .help("`zs eval --help` lists the options; of two minus signs, put the second one in parentheses: -(-x)")
                .into())
        }
        _ => Ok(()),
    }
}

fn parse_bindings(arguments: &[String]) -> Result<Vec<Binding<'_>>> {
    let bindings = arguments.iter().map(|argument| Binding::parse(argument)).collect::<Result<Vec<_>>>()?;
    let mut names = HashSet::new();
    match bindings.iter().find(|binding| !names.insert(binding.name)) {
        Some(Binding { name, argument, .. }) => {
            let problem = Problem::new(format!("`{name}` has a value already"), (0..name.len()).into());
            Err(Report::in_text(problem, argument).into())
        }
        None => Ok(bindings),
    }
}

/// A name that the expression does not mention is probably misspelt in one of the two places.
fn warn_unused(ast: &Ast, bindings: &[Binding<'_>]) -> Result {
    let used: HashSet<&str> = ast
        .nodes()
        .iter()
        .filter_map(|node| if let Kind::Name(name) = &node.kind { Some(&**name) } else { None })
        .collect();
    for Binding { name, .. } in bindings.iter().filter(|binding| !used.contains(binding.name)) {
        writeln!(anstream::stderr().lock(), "note: the expression does not use `{name}`")?;
    }
    Ok(())
}

fn set_threads(threads: usize) -> Result {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Report::usage(format!("cannot start {threads} threads: {error}")).into())
}

/// The value of a name. In a dry run a file gives its shape and dtype only, and zeros stand for its elements.
fn load(binding: &Binding<'_>, budget: &Budget, dry_run: bool) -> Result<Value> {
    let text = match binding.source {
        Source::File(text) => text,
        Source::Written(start) => return value_text::written(binding.argument, start, budget),
    };
    let entry = file_text::entry(text)?;
    budget.take(entry.bytes()).map_err(|message| Report::usage(format!("{text}: {message}")))?;
    let tensor = match entry.dtype() {
        Some(dtype) if dry_run => Tensor::full(entry.shape(), 0, dtype)?,
        // An array of another dtype is refused by the reader, in its words.
        _ => file_text::load(text)?,
    };
    Ok(tensor.into())
}
