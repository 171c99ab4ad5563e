//! The command `zs`: zerostride in the shell, and the expression language that it reads.
//!
//! [`run`] is the whole program. [`expr`] is the parser of the language, public for tests. This crate parses,
//! calls and renders; it does not decide anything about shapes, dtypes or values.

#![deny(unsafe_code)]

mod args;
mod bytes;
mod command;
mod elements;
mod evaluate;
pub mod expr;
mod failure;
mod file_text;
mod help_text;
mod interrupt;
mod name_text;
mod operand_name;
mod policy;
mod report;
mod shape_text;
mod table;
mod terminal;
mod threads;
mod value_text;
mod words;

use std::env;
use std::process::ExitCode;

use args::Command;
use failure::Failure;

/// Runs the program on the process's arguments and returns its exit status.
pub fn run() -> ExitCode {
    zerostride::stream::save_addresses();
    words::speak(terminal::lang_of_locale());
    let done = match help_text::parse(env::args_os()) {
        Err(answer) => command::answer(&answer),
        Ok(cli) => {
            terminal::set_color(cli.color);
            threads::start(cli.command.as_ref().and_then(Command::threads)).and_then(|()| match cli.command {
                None => command::tour(),
                Some(Command::Explain(args)) => command::explain(&args),
                Some(Command::Eval(args)) => command::eval(&args),
                Some(Command::Info(args)) => command::info(&args),
                Some(Command::Completions(args)) => command::completions(&args),
                Some(Command::Man(args)) => command::man(&args),
                Some(Command::Help(args)) => command::help(&args),
            })
        }
    };
    match done {
        Ok(status) => status,
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Report(report)) => {
            // If standard error is closed, too, only the exit status is left.
            let _ = report::draw(&report, &mut anstream::stderr().lock());
            report.status.into()
        }
    }
}
