//! Owns `zs completions SHELL`. It does not know the options (`args.rs`).

use std::io::Write;
use std::process::ExitCode;

use crate::args::CompletionsArgs;
use crate::failure::Result;
use crate::{help_text, terminal};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    // Buffered, because the generator panics if the output is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help_text::command(), "zs", &mut script);
    terminal::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
