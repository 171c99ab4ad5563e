//! `zs`: PyTorch's broadcasting in the shell. Everything is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    zerostride_cli::run()
}
