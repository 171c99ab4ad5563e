//! Owns `zs eval EXPR [NAME=VALUE]...`. It does not know the language (`expr/`) nor how an expression runs.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use zerostride::io::{self, Compression, Format, Sink};
use zerostride::{Error, Expr};

use super::output;
use super::progress::Progress;
use super::summary::{self, Summary};
use crate::args::{self, Compress, EvalArgs};
use crate::evaluate::{self, Bindings, Budget, Fault, Value};
use crate::expr::{self, Ast, Kind, Problem};
use crate::failure::{Failure, Report, Result, Status};
use crate::value_text::{self, Binding, Source};
use crate::{bytes, file_text, interrupt, policy, terminal};

pub(crate) fn eval(args: &EvalArgs) -> Result<ExitCode> {
    let done = run(args);
    if let Err(Failure::Report(report)) = &done
        && (report.status, args.json) == (Status::Unknown, true)
    {
        writeln!(terminal::stdout(), "{}", summary::json(None, args.output.as_deref(), None))?;
    }
    done
}

fn run(args: &EvalArgs) -> Result<ExitCode> {
    let source = &args.expression;
    // All that can be wrong with the command line is checked before a file is read.
    check_output(args)?;
    refuse_option(source)?;
    let ast = expr::parse(source).map_err(|problem| Report::in_text(problem, source))?;
    let bindings = parse_bindings(&args.bindings)?;
    warn_unused(&ast, &bindings)?;
    interrupt::watch();

    policy::draw_warnings(source);
    let _policy = policy::of_rules(&args.policy).enter();
    let budget = Budget::new(args.max_memory, args.dry_run);
    let mut values = Bindings::new();
    for binding in &bindings {
        values.insert(binding.name.to_owned(), load(binding, &budget, args, writes(&ast))?);
    }
    let result = evaluate::evaluate(&ast, &values, &budget).map_err(|fault| fault.report(source))?;
    let span = result.span;
    let expression = result.tensor().map_err(|fault| fault.report(source))?;
    // The expression holds the tensors; these references would only keep them alive.
    drop(values);
    compute(args, &expression, &budget, &|error| Fault::engine(error, span).report(source).into())
}

/// Plans, checks the memory, runs, prints or writes. `refused` makes a report of an error in the expression.
fn compute(
    args: &EvalArgs,
    expression: &Expr,
    budget: &Budget,
    refused: &dyn Fn(Error) -> Failure,
) -> Result<ExitCode> {
    let plan = expression.plan().map_err(refused)?;
    // Errors of files and memory are not mistakes in the text.
    let failed = |error| match &error {
        Error::Memory { needed, limit, reason } => too_little(*needed, *limit, reason, budget).into(),
        Error::Io(_) | Error::Interrupted => Failure::from(error),
        _ => refused(error),
    };
    // Files are read and written in pieces; an evaluation without any runs in memory.
    let passes = match &args.output {
        Some(_) => Some(expression.passes(budget.left()).map_err(failed)?),
        None if expression.has_inputs() => Some(expression.passes_in_memory(budget.left()).map_err(failed)?),
        None => None,
    };
    let summary = Summary::new(&plan, passes.as_ref(), budget);
    if passes.is_none() {
        budget.take(summary.memory - budget.taken()).map_err(Report::usage)?;
    }
    if let Some(path) = &args.output {
        Sink::check(path, args.force, Some((plan.dtype(), &plan.shape()[..])))?;
    }
    if args.plan {
        writeln!(anstream::stderr().lock(), "{plan}")?;
        if let Some(passes) = passes.as_ref().filter(|_| expression.has_inputs()) {
            writeln!(anstream::stderr().lock(), "{passes}")?;
        }
    }
    if args.dry_run {
        zerostride::policy::check(expression).map_err(refused)?;
        let mut out = terminal::stdout();
        if args.json {
            writeln!(out, "{}", summary::json(Some(&summary), args.output.as_deref(), None))?;
            return Ok(ExitCode::SUCCESS);
        }
        let result = bytes::show(plan.output_bytes() as u64);
        writeln!(out, "{} {:?}, {result}", plan.dtype(), &plan.shape()[..])?;
        if expression.has_inputs() || summary.read > 0 {
            let [read, memory] = [summary.read, summary.memory].map(bytes::show);
            let times =
                if summary.passes == 1 { "1 pass".to_owned() } else { format!("{} passes", summary.passes) };
            writeln!(out, "reads {read} in {times}, holds at most {memory}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let started = Instant::now();
    let mut progress = Progress::new(args.quiet);
    let mut tell = |piece| progress.tell(piece);
    let (Some(path), Some(passes)) = (&args.output, &passes) else {
        let result = match &passes {
            Some(passes) => interrupt::in_order(|| passes.run(Some(&mut tell))),
            None => plan.run(),
        };
        progress.clear();
        writeln!(terminal::stdout(), "{}", result.map_err(failed)?)?;
        return Ok(ExitCode::SUCCESS);
    };
    let compression = match args.compress {
        Compress::None => Compression::None,
        Compress::Lz4 => Compression::Lz4,
        Compress::Gzip => Compression::Gzip,
        Compress::Zstd => Compression::Zstd,
    };
    let format = match args.zarr_format {
        args::ZarrFormat::V2 => io::ZarrFormat::V2,
        args::ZarrFormat::V3 => io::ZarrFormat::V3,
    };
    let done = interrupt::in_order(|| {
        let sink = if args.force { Sink::create(path)? } else { Sink::create_new(path)? };
        passes.run_to(&mut sink.compress(compression).zarr_format(format), Some(&mut tell))
    });
    progress.clear();
    done.map_err(failed)?;
    if args.json {
        let line = summary::json(Some(&summary), Some(path), Some(started.elapsed()));
        writeln!(terminal::stdout(), "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The report of a limit that is too low, with what is reserved already.
fn too_little(needed: u64, limit: u64, reason: &str, before: &Budget) -> Report {
    // Available memory does not include what is reserved already.
    let taken = before.left().map_or(0, |_| before.taken());
    let [needed, limit] = bytes::show_apart([needed, limit].map(|bytes| bytes.saturating_add(taken)));
    let whose = match before.left() {
        Some(_) => format!("--max-memory allows {limit}"),
        None => format!("{limit} may be taken, half of what is available now"),
    };
    Report::usage(format!("{needed} of memory are needed, and {whose}: {reason}"))
}

/// Whether an expression has in-place methods, which write to tensors and not to files.
fn writes(ast: &Ast) -> bool {
    ast.nodes()
        .iter()
        .any(|node| matches!(&node.kind, Kind::Call(call) if evaluate::is_in_place(&call.function.text)))
}

/// Checks the output before any file is read.
fn check_output(args: &EvalArgs) -> Result {
    match &args.output {
        None if args.json && !args.dry_run => {
            Err(Report::usage("--json sums up what is written to a file; add -o FILE, or --dry-run").into())
        }
        None => Ok(()),
        Some(path) => {
            check_ending(path)?;
            output::keep_what_is_there(path, args.force)?;
            Ok(Sink::check(path, args.force, None)?)
        }
    }
}

fn check_ending(path: &Path) -> Result {
    match Format::from_path(path) {
        Some(_) => Ok(()),
        None => Err(Report::usage(format!("{}: the ending says no known format", path.display()))
            .help("results are written to .npy, .npz, .safetensors or .zarr")
            .into()),
    }
}

/// Reports a misspelt option, which looks like an expression that begins with a minus.
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

/// Warns of a name that the expression does not use, which is probably misspelt in one of the two places.
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

/// The value of a name. A file is opened, and read when the expression runs. It is loaded at once if the
/// expression `writes` to tensors, and mapped with `--mmap`.
fn load(binding: &Binding<'_>, budget: &Budget, args: &EvalArgs, writes: bool) -> Result<Value> {
    let text = match binding.source {
        Source::File(text) => text,
        Source::Written(start) => return value_text::written(binding.argument, start, budget),
    };
    if args.mmap {
        return Ok(file_text::map(text)?.into());
    }
    let source = io::Source::open(text)?;
    if !writes {
        return Ok(Expr::from(&source).into());
    }
    budget.take(source.entry().bytes()).map_err(|message| Report::usage(format!("{text}: {message}")))?;
    budget.note_read(source.entry().bytes());
    let stands_in = budget.is_dry();
    let tensor =
        if stands_in { evaluate::stand_in(source.shape(), source.dtype())? } else { io::load(text)? };
    Ok(tensor.into())
}
