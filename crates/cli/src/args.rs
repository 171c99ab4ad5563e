//! Owns the command line: commands, options and their help. It does not know what a command does.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use zerostride::Device;
use zerostride_explain::Lang;

use crate::{bytes, policy, threads};

/// Examples come first, since they are what help is read for most.
const TEMPLATE: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}{after-help}";

const EXAMPLES: &str = "\
Examples:
  zs                                         the tour: what broadcasting does
  zs explain 5,1,4,1 3,1,2                   what happens to these shapes
  zs explain x=32,10 y=32 --op mul           why they do not go together
  zs eval '[[1, 2, 3]] + [[4], [5], [6]]'    compute
  zs eval 'x - x.mean(0)' x=a.npy -o b.npy   files in, a file out
  zs info model.safetensors                  what is in a file
";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  zs explain 5,1,4,1 3,1,2
  zs explain n,1 m
  zs explain '(1, 3, 1)' '(3, 1, 7)' --in-place --op add
  zs explain image=photo.npy mean=3 --op sub
  zs explain m.safetensors:weight 1024 --format json
  zs explain 'row=[[1, 2, 3]]' 'column=[[4], [5], [6]]' --op add
  zs explain pred=32,1 target=32 --op sub -o loss.svg
  zs explain 5,2,4,1 3,1,1 --lang it
";

const EVAL_EXAMPLES: &str = "\
Examples:
  zs eval '[[1, 2, 3]] * 5'
  zs eval '(x - mean(x, 0, keepdim=True)) / std(x, 0)' x=table.npy
  zs eval 'where(m, x, 0)' x=a.npz:x m=a.npz:mask -o kept.npy
  zs eval '((a[:, None] - b) ** 2).sum(-1)' 'a=rand(99,8)' 'b=rand(99,8)' --plan
  zs eval 'x @ w' x=x.npy w=m.safetensors:weight --dry-run
  zs eval '(y - t).abs().mean()' y=y.npy t=t.npy --policy mutual_stretch=error
  zs eval '(x - x.mean(0)) / x.std(0)' x=huge.npy -o y.npy --max-memory 256MiB
  zs eval 'x.mean(0), x.std(0)' x=huge.npy
  zs eval 'price.median()' price=table.csv:price --json
  cat x.npy | zs eval 'x * 2' x=- -o - | zs eval 'x.max(0)' x=-
";

const EVAL_NOTES: &str = "\
The language is a small part of Python's: + - * / // % ** @ & | ^ << >> ~ and comparisons, calls f(x, 0, keepdim=True), \
methods x.sum(0), x.T, indices x[:, None], x[..., ::-1] and x[x > 0], lists as tensors, the constants inf, nan, pi and e. \
Functions have PyTorch's names; `zs help functions` lists them. A bare number stays a number, as in Python, and takes the dtype of the tensor it meets.";

/// The exit statuses, for scripts.
const EXIT_STATUS: &str = "\
Exit status: 0 done; 1 shapes, dtypes or values do not go together; 2 the command line is not understood, a file cannot be read \
or written, or there is too little memory; 130 ended by Ctrl-C (143 by SIGTERM, 129 by SIGHUP).";

const INFO_EXAMPLES: &str = "\
Examples:
  zs info photo.npy
  zs info weights.npz model.safetensors
  zs info table.csv
  zs info climate.zarr --json
  cat x.npy | zs info -
";

/// PyTorch's broadcasting in the shell: explain shapes, compute with arrays in files.
#[derive(Debug, Parser)]
#[command(name = "zs", bin_name = "zs", version, before_help = EXAMPLES, after_help = EXIT_STATUS, help_template = TEMPLATE, max_term_width = 100,
    disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// What to do; without a command, the tour.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Whether to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Draw what broadcasting does to shapes, or why it cannot.
    Explain(ExplainArgs),
    /// Compute an expression of arrays.
    Eval(EvalArgs),
    /// List the arrays in files: names, dtypes, shapes, bytes.
    Info(InfoArgs),
    /// Print a script that completes commands in a shell.
    Completions(CompletionsArgs),
    /// Print a manual page.
    Man(PageArgs),
    /// Print help, about one command if it is named; `functions` lists those of expressions.
    Help(PageArgs),
}

impl Command {
    /// The number of threads that `--threads` gives, if it is given.
    pub(crate) fn threads(&self) -> Option<NonZeroUsize> {
        match self {
            Command::Eval(args) => args.threads,
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
#[command(before_help = EXPLAIN_EXAMPLES, after_help = EXIT_STATUS, help_template = TEMPLATE)]
pub(crate) struct ExplainArgs {
    /// Sizes (5,1,4,1 or '(5, 1)' or '()', some of them names: n,1), a file that has them, or values ('[[1,
    /// 2]]', 5:i64); NAME= in front if wanted.
    #[arg(required = true, value_name = "SHAPE")]
    pub(crate) shapes: Vec<String>,
    /// The operation, by name or symbol.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) op: Option<String>,
    /// Write the result into the first operand.
    #[arg(long)]
    pub(crate) in_place: bool,
    /// For people or for programs; by default as the ending of FILE says, or else text.
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// The language, en or it; by default that of the locale (LC_ALL, LC_MESSAGES, LANG), or else English.
    #[arg(long, value_name = "LANG")]
    pub(crate) lang: Option<Lang>,
    /// Write to a file instead of standard output: .txt, .json, .svg or .html.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if there is one.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The shapes lined up, the steps, the repairs, for a terminal.
    Text,
    /// One line of JSON, stable.
    Json,
    /// The picture: cubes, and arrows where they are stretched.
    Svg,
    /// A page with the picture and the text, which needs no other file.
    Html,
}

#[derive(Debug, Args)]
#[command(before_help = EVAL_EXAMPLES, after_help = format!("{EVAL_NOTES}\n\n{EXIT_STATUS}"), help_template = TEMPLATE)]
pub(crate) struct EvalArgs {
    /// The expression.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) expression: String,
    /// Values of names: 5, 2.5, '[[1, 2]]', '[[1, 2]]:f32', x.npy, m.safetensors:weight, a.npz:x,
    /// s.zarr/path, t.csv, t.csv:column, or - for standard input (npy, npz or CSV).
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) bindings: Vec<String>,
    /// Write the result to a file, .npy, .npz, .safetensors, .zarr, .csv or .tsv, or to standard output (-),
    /// instead of printing it; once for each of several results.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// What `-o -` writes to standard output; npy if nothing is said.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<StreamFormat>,
    /// Compute on this device: `cpu`, `cuda` or `cuda:1`; files are then read whole. Results have the same
    /// bits.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: Device,
    /// Compute with this many threads; by default as RAYON_NUM_THREADS says, or else with one for each core.
    #[arg(long, value_name = "N", value_parser = threads::read)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Hold at most so much in memory, as in 512MiB, and refuse what needs more; by default half of what is
    /// available.
    #[arg(long, value_name = "SIZE", value_parser = bytes::read)]
    pub(crate) max_memory: Option<u64>,
    /// Compute on the pages of .npy and .safetensors files instead of reading these. No other program may
    /// change the files meanwhile: the result would be wrong, or zs would be ended by SIGBUS.
    #[arg(long)]
    pub(crate) mmap: bool,
    /// What to do about implicit broadcasts: CLASS=allow|warn|error or max_bytes=SIZE; may be repeated. The
    /// classes are rank_added, stretched, mutual_stretch, same_numel and blow_up, which is a result of more
    /// than max_bytes, or else 1GiB.
    #[arg(long, value_name = "RULE", value_parser = policy::read)]
    pub(crate) policy: Vec<policy::Rule>,
    /// Replace the output file if there is one, once the result is complete.
    #[arg(long)]
    pub(crate) force: bool,
    /// How to pack the chunks of a .zarr result; lz4 if nothing is said.
    #[arg(long, value_name = "HOW")]
    pub(crate) compress: Option<Compress>,
    /// The version of the format of a .zarr result; 3 if nothing is said.
    #[arg(long, value_name = "VERSION")]
    pub(crate) zarr_format: Option<ZarrFormat>,
    /// First say on standard error what will run: passes, operations, bytes, and how files are read.
    #[arg(long)]
    pub(crate) plan: bool,
    /// Check everything and say what the result would be, what is read and how much memory that takes; do
    /// nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show no progress.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print the results as a line of JSON; with -o sum up what has been written, and with --dry-run what
    /// would be.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamFormat {
    /// As NumPy writes arrays.
    Npy,
    /// A line for each row.
    Csv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compress {
    /// Not at all: as fast as the disk.
    None,
    /// By LZ4 in Blosc, with shuffled bytes.
    Lz4,
    /// By gzip.
    Gzip,
    /// By Zstandard, slowly.
    Zstd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ZarrFormat {
    /// For readers that have no version 3.
    #[value(name = "2")]
    V2,
    /// The newest.
    #[value(name = "3")]
    V3,
}

#[derive(Debug, Args)]
#[command(before_help = INFO_EXAMPLES, after_help = EXIT_STATUS, help_template = TEMPLATE)]
pub(crate) struct InfoArgs {
    /// Files: .npy, .npz, .safetensors, .csv, .tsv, Zarr stores, or - for standard input (npy, npz or CSV);
    /// one array as m.npz:x. Without any, what computes here: the instruction set, whether formulas become
    /// machine code, the threads.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print a line of JSON.
    #[arg(long, requires = "files")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// The command that the page is about; without one, it is about zs.
    pub(crate) command: Option<String>,
}
