//! Owns `zs completions SHELL`. It does not know the options (`args.rs`).

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Result;
use crate::terminal;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    // Buffered, because the generator panics if the output is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "zs", &mut script);
    terminal::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
