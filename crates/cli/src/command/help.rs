//! Owns `zs help [COMMAND]`, `zs help functions`, and the answer to a command line that asks for help or is
//! wrong. It does not know the options (`args.rs`) nor the functions.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{ColorChoice, ValueEnum};

use crate::args::PageArgs;
use crate::failure::{Result, Status};
use crate::words::say;
use crate::{evaluate, help_text, report, terminal};

/// The page that is about no command: the list of functions.
const FUNCTIONS: &str = "functions";

pub(crate) fn help(args: &PageArgs) -> Result<ExitCode> {
    if args.command.as_deref() == Some(FUNCTIONS) {
        terminal::stdout().write_all(functions().as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let asked = ["zs"].into_iter().chain(args.command.as_deref()).chain(["--help"]);
    match help_text::parse(asked) {
        Err(text) => answer(&text),
        Ok(_) => unreachable!("the parser answers --help itself"),
    }
}

/// The functions of expressions, as they are called.
fn functions() -> String {
    let mut text = wrapped(&mut say!("functions-called-as").split(' '), "", " ");
    for (title, calls) in evaluate::listing() {
        text += &format!("\n{title}:\n");
        text += &wrapped(&mut calls.iter().map(String::as_str), "  ", "  ");
    }
    text
}

/// Pieces in lines that the terminal is wide enough for, each line behind an indent.
fn wrapped(pieces: &mut dyn Iterator<Item = &str>, indent: &str, between: &str) -> String {
    let width = terminal::width();
    let (mut text, mut line) = (String::new(), String::new());
    for piece in pieces {
        let length = |text: &str| text.chars().count();
        if !line.is_empty() && length(&line) + length(between) + length(piece) > width {
            text += &(std::mem::take(&mut line) + "\n");
        }
        line += if line.is_empty() { indent } else { between };
        line += piece;
    }
    text + &line + "\n"
}

/// Prints what the parser returns instead of a command: help, the version, an error.
pub(crate) fn answer(answer: &clap::Error) -> Result<ExitCode> {
    terminal::set_color(wanted_color(env::args_os()));
    let text = answer.render().ansi().to_string();
    if !answer.use_stderr() {
        terminal::stdout().write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(report) = help_text::refusal(answer) {
        return Err(report.into());
    }
    anstream::stderr().write_all(report::shortened(&text).as_bytes())?;
    Ok(Status::Usage.into())
}

/// The value of `--color` in a command line that cannot be parsed.
fn wanted_color(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let arguments: Vec<_> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    let separate = arguments.windows(2).filter(|pair| pair[0] == "--color").map(|pair| &*pair[1]);
    let joined = arguments.iter().filter_map(|argument| argument.strip_prefix("--color="));
    let mut choices = separate.chain(joined).filter_map(|choice| ColorChoice::from_str(choice, true).ok());
    choices.next().unwrap_or_default()
}
