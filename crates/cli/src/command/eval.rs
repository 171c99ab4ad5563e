//! Owns `zs eval EXPR [NAME=VALUE]...`. It does not know the language (`expr/`) nor how an expression runs.

use std::collections::HashSet;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::time::Instant;

use zerostride::io;
use zerostride::stream::Passes;
use zerostride::{Device, Error, Expr, Plan, Tensor};

use super::output::{self, Target};
use super::progress::Progress;
use super::results::{self, Results};
use super::summary::{self, Summary};
use crate::args::EvalArgs;
use crate::evaluate::{self, Bindings, Budget, Fault, Value};
use crate::expr::{self, Ast, Kind, Problem};
use crate::failure::{Failure, Report, Result, Status};
use crate::value_text::{self, Binding, Source};
use crate::words::say;
use crate::{bytes, file_text, interrupt, policy, table, terminal};

/// The command that a message shows.
const TWO_RESULTS: &str = "zs eval 'x.mean(0), x.std(0)' x=x.npy -o mean.npy -o std.npy";

pub(crate) fn eval(args: &EvalArgs) -> Result<ExitCode> {
    let done = run(args);
    if let Err(Failure::Report(report)) = &done
        && (report.status, args.json) == (Status::Unknown, true)
    {
        writeln!(terminal::stdout(), "{}", summary::json(None, &args.output, None))?;
    }
    done
}

fn run(args: &EvalArgs) -> Result<ExitCode> {
    let source = &args.expression;
    // All that can be wrong with the command line is checked before a file is read.
    output::check(args)?;
    refuse_option(source)?;
    let (ast, comma) = expr::parse_results(source).map_err(|problem| Report::in_text(problem, source))?;
    let bindings = parse_bindings(&args.bindings)?;
    warn_unused(&ast, &bindings)?;
    interrupt::watch();

    policy::draw_warnings(source);
    let _policy = policy::of_rules(&args.policy).enter();
    let budget = Budget::new(args.max_memory, args.dry_run, args.device);
    let mut values = Bindings::new();
    for binding in &bindings {
        let whole = writes(&ast) || args.device != Device::Cpu;
        let value = load(binding, &budget, args, whole)?;
        values.insert(binding.name.to_owned(), placed(value, &budget)?);
    }
    let result = evaluate::evaluate(&ast, &values, &budget).map_err(|fault| fault.report(source))?;
    let span = result.span;
    let results = Results::of(result, comma.is_some(), &ast, source).map_err(|fault| fault.report(source))?;
    let results = Results { exprs: moved(&results.exprs, &budget)?, ..results };
    // The expressions hold the tensors; these references would only keep them alive.
    drop(values);
    let (found, outputs) = (results.exprs.len(), args.output.len());
    if outputs > 0 && outputs != found {
        return Err(Report::usage(say!("results-and-outputs", results = found, outputs = outputs))
            .help(say!("output-for-each", command = TWO_RESULTS))
            .into());
    }
    compute(args, &results, &budget, args.device, &|error| Fault::engine(error, span).report(source).into())
}

/// Plans, checks the memory, runs, prints or writes. What a device has computed is then on the CPU, and is
/// printed or written as other tensors are. `refused` makes a report of an error in the expression.
fn compute(
    args: &EvalArgs,
    results: &Results,
    budget: &Budget,
    device: Device,
    refused: &dyn Fn(Error) -> Failure,
) -> Result<ExitCode> {
    let exprs = &results.exprs[..];
    let plan = Plan::of(exprs).map_err(refused)?;
    // Errors of files and memory are not mistakes in the text.
    let failed = |error| match &error {
        Error::Memory { needed, limit, reason } => too_little(*needed, *limit, reason, budget).into(),
        Error::Io(file) if is_closed(file) => Failure::BrokenPipe,
        Error::Io(_) | Error::Interrupted => Failure::from(error),
        _ => refused(error),
    };
    // Files are read and written in pieces, and a device computes in pieces where memory is limited; an
    // evaluation without any runs at once, and a dry run has nothing on a device.
    let has_inputs = exprs.iter().any(Expr::has_inputs);
    let passes = match &args.output[..] {
        _ if device != Device::Cpu && args.dry_run => None,
        _ if device != Device::Cpu => Some(Passes::of_in_memory(exprs, budget.left()).map_err(failed)?),
        [] if has_inputs => Some(Passes::of_in_memory(exprs, budget.left()).map_err(failed)?),
        [] => None,
        _ => Some(Passes::of(exprs, budget.left()).map_err(failed)?),
    };
    let arrays = exprs.iter().map(|expr| Ok((expr.dtype()?, expr.shape()?)));
    let arrays = arrays.collect::<zerostride::Result<Vec<_>>>().map_err(refused)?;
    let summary = Summary::new(&arrays, &plan, passes.as_ref(), budget);
    if passes.is_none() {
        budget.take(summary.memory - budget.taken()).map_err(Report::usage)?;
    }
    for (path, array) in args.output.iter().zip(&arrays) {
        Target::check(path, args, Some(*array))?;
    }
    if args.plan && device == args.device {
        writeln!(anstream::stderr().lock(), "{plan}")?;
        if let Some(passes) = passes.as_ref().filter(|_| has_inputs || device != Device::Cpu) {
            writeln!(anstream::stderr().lock(), "{passes}")?;
        }
    }
    if args.dry_run {
        exprs.iter().try_for_each(zerostride::policy::check).map_err(refused)?;
        let mut out = terminal::stdout();
        if args.json {
            writeln!(out, "{}", summary::json(Some(&summary), &args.output, None))?;
            return Ok(ExitCode::SUCCESS);
        }
        for (name, (dtype, shape)) in results.names.iter().zip(&arrays) {
            let label = if name.is_empty() { String::new() } else { format!("{name}: ") };
            let bytes =
                shape.iter().fold(dtype.item_size() as u64, |bytes, &size| bytes.saturating_mul(size as u64));
            writeln!(out, "{label}{dtype} {shape:?}, {}", bytes::show(bytes))?;
        }
        if has_inputs || summary.read > 0 {
            let [read, memory] = [summary.read, summary.memory].map(bytes::show);
            let passes = summary.passes;
            writeln!(out, "{}", say!("reads-and-holds", read = read, passes = passes, memory = memory))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let started = Instant::now();
    let mut progress = Progress::new(args.quiet);
    let mut tell = |piece| progress.tell(piece);
    if let Some(passes) = passes.as_ref().filter(|_| device != Device::Cpu) {
        let found = interrupt::in_order(|| passes.run_all(Some(&mut tell)));
        progress.clear();
        let found = found.and_then(|found| found.iter().map(Tensor::cpu).collect());
        let found: Vec<Tensor> = found.map_err(failed)?;
        let exprs = found.into_iter().map(Expr::from).collect();
        let results = Results { exprs, names: results.names.clone() };
        return compute(args, &results, budget, Device::Cpu, refused);
    }
    let (Some(passes), false) = (&passes, args.output.is_empty()) else {
        let tensors = match &passes {
            Some(passes) => interrupt::in_order(|| passes.run_all(Some(&mut tell))),
            None => plan.run_all(),
        };
        progress.clear();
        let (tensors, mut out) = (tensors.map_err(failed)?, terminal::stdout());
        match args.json {
            true => results::print_json(&results.names, &tensors, &mut out)?,
            false => results::print(&results.names, &tensors, &mut out)?,
        }
        return Ok(ExitCode::SUCCESS);
    };
    let mut targets = Vec::new();
    let done = interrupt::in_order(|| {
        for path in &args.output {
            targets.push(Target::open(path, args)?);
        }
        passes.run_all_to(&mut targets.iter_mut().map(Target::output).collect::<Vec<_>>(), Some(&mut tell))
    });
    progress.clear();
    done.map_err(failed)?;
    targets.into_iter().try_for_each(|target| target.finish(args.force))?;
    if args.json {
        let line = summary::json(Some(&summary), &args.output, Some(started.elapsed()));
        writeln!(terminal::stdout(), "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether an output's reader has closed it.
fn is_closed(error: &io::FileError) -> bool {
    matches!(error.problem(), io::Problem::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe)
}

/// The report of a limit that is too low, with what is reserved already.
fn too_little(needed: u64, limit: u64, reason: &str, before: &Budget) -> Report {
    // Available memory does not include what is reserved already.
    let taken = before.left().map_or(0, |_| before.taken());
    let [needed, limit] = bytes::show_apart([needed, limit].map(|bytes| bytes.saturating_add(taken)));
    Report::usage(match before.left() {
        Some(_) => say!("memory-needed-allowed", needed = needed, limit = limit, reason = reason),
        None => say!("memory-needed-available", needed = needed, limit = limit, reason = reason),
    })
}

/// Whether an expression has in-place methods, which write to tensors and not to files.
fn writes(ast: &Ast) -> bool {
    ast.nodes()
        .iter()
        .any(|node| matches!(&node.kind, Kind::Call(call) if evaluate::is_in_place(&call.function.text)))
}

/// Reports a misspelt option, which looks like an expression that begins with a minus.
fn refuse_option(source: &str) -> Result {
    match source.strip_prefix("--") {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Err(Report::usage(say!("unknown-option", option = source)).help(say!("list-of-options")).into())
        }
        _ => Ok(()),
    }
}

fn parse_bindings(arguments: &[String]) -> Result<Vec<Binding<'_>>> {
    let bindings = arguments.iter().map(|argument| Binding::parse(argument)).collect::<Result<Vec<_>>>()?;
    let mut names = HashSet::new();
    match bindings.iter().find(|binding| !names.insert(binding.name)) {
        Some(Binding { name, argument, .. }) => {
            let problem = Problem::new(say!("has-a-value", name = *name), (0..name.len()).into());
            Err(Report::in_text(problem, argument).into())
        }
        None if bindings.iter().filter(|binding| binding.is_standard_input()).count() > 1 => {
            Err(Report::usage(say!("standard-input-once")).into())
        }
        None => Ok(bindings),
    }
}

/// Warns of a name that the expression does not use, which is probably misspelt in one of the two places.
fn warn_unused(ast: &Ast, bindings: &[Binding<'_>]) -> Result {
    let used: HashSet<&str> = ast
        .nodes()
        .iter()
        .filter_map(|node| if let Kind::Name(name) = &node.kind { Some(&**name) } else { None })
        .collect();
    for Binding { name, .. } in bindings.iter().filter(|binding| !used.contains(binding.name)) {
        writeln!(anstream::stderr().lock(), "{}", say!("unused-name", name = *name))?;
    }
    Ok(())
}

/// Expressions of tensors that are where the evaluation runs.
fn moved(exprs: &[Expr], budget: &Budget) -> Result<Vec<Expr>> {
    Ok(budget.moved(exprs).map_err(|error| Report::usage(error.to_string()))?)
}

/// The same of a name's value, if it is a tensor.
fn placed(value: Value, budget: &Budget) -> Result<Value> {
    match value {
        Value::Tensor(expr) => Ok(moved(&[expr], budget)?.swap_remove(0).into()),
        _ => Ok(value),
    }
}

/// The value of a name. A file is opened, and read when the expression runs. It is loaded `whole` if the
/// expression writes to tensors or runs on a device, and mapped with `--mmap`.
fn load(binding: &Binding<'_>, budget: &Budget, args: &EvalArgs, whole: bool) -> Result<Value> {
    let text = match binding.source {
        Source::File(text) => text,
        Source::Written(start) => return value_text::written(binding.argument, start, budget),
    };
    if let Some(tensor) = file_text::read_whole(text, budget)? {
        return Ok(tensor.into());
    }
    if args.mmap {
        return Ok(file_text::map(text)?.into());
    }
    let source = io::Source::open(text)?;
    if !whole {
        return Ok(Expr::from(&source).into());
    }
    budget.take(source.entry().bytes()).map_err(|message| table::in_file(text, message))?;
    budget.note_read(source.entry().bytes());
    let stands_in = budget.is_dry();
    let tensor =
        if stands_in { evaluate::stand_in(source.shape(), source.dtype())? } else { io::load(text)? };
    Ok(tensor.into())
}
