//! Owns `zs man [COMMAND]`. It does not know the options (`args.rs`).

use std::io::Write;
use std::process::ExitCode;

use crate::args::PageArgs;
use crate::failure::{Report, Result};
use crate::words::say;
use crate::{help_text, terminal};

pub(crate) fn man(args: &PageArgs) -> Result<ExitCode> {
    let mut zs = help_text::command();
    zs.build();
    let (page, title) = match &args.command {
        None => (&zs, "zs".to_owned()),
        Some(name) => match zs.find_subcommand(name) {
            Some(command) => (command, format!("zs-{name}")),
            None => {
                let names: Vec<&str> = zs.get_subcommands().map(clap::Command::get_name).collect();
                let report = Report::usage(say!("no-command", name = &**name));
                return Err(report.help(say!("there-are", names = names.join(", "))).into());
            }
        },
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone()).title(title).render(&mut text)?;
    if let Some(examples) = page.get_before_help() {
        text.extend(section(&examples.to_string()).into_bytes());
    }
    terminal::stdout().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The section with the examples that the help begins with.
fn section(examples: &str) -> String {
    let mut section = ".SH EXAMPLES\n.nf\n".to_owned();
    for line in examples.lines().filter_map(|line| line.strip_prefix("  ")) {
        section += &line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        section.push('\n');
    }
    section + ".fi\n"
}
