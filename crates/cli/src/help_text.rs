//! Owns the command line in the user's language: the texts of `args.rs`, which are in English, replaced by
//! those of `i18n/help.it.ftl`, and the refusals of the parser. It does not know what the options are.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory, Error, FromArgMatches};
use zerostride_explain::Lang;

use crate::args::Cli;
use crate::failure::Report;
use crate::words::{self, say};

/// The headings in Italian, which the parser takes as constants.
const COMMANDS: &str = "Comandi";
const ARGUMENTS: &str = "Argomenti";
const OPTIONS: &str = "Opzioni";
const TEMPLATE: &str = "{before-help}{about-with-newline}\nUso: {usage}\n\n{all-args}{after-help}";

/// The commands and options, with their help in the user's language.
pub(crate) fn command() -> Command {
    match words::lang() {
        Lang::It => translated(Cli::command(), "zs"),
        _ => Cli::command(),
    }
}

/// Parses a command line.
///
/// # Errors
/// It is wrong, or asks for help or the version.
pub(crate) fn parse<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> Result<Cli, Error> {
    let matches = command().try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches)
}

/// The key of a command's texts.
fn key(path: &str, what: &str) -> String {
    format!("help-{path}-{what}")
}

/// The text of a key; all keys are in the catalogue, which a test checks.
fn text(path: &str, what: &str) -> String {
    words::sentence(&key(path, what), &[])
}

/// A command with the texts of the catalogue. The parser's own words, which are English only, are replaced or
/// left out: headings, placeholders, default and possible values.
fn translated(command: Command, path: &str) -> Command {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let usage = if path == "zs" { usage.to_owned() } else { format!("zs {usage}") };
    let usage = usage.replace("[OPTIONS]", "[OPZIONI]").replace("[COMMAND]", "[COMANDO]");
    let (has_examples, has_notes) = (command.get_before_help().is_some(), command.get_after_help().is_some());
    let flag = |name: &'static str, short, action| {
        Arg::new(name).short(short).long(name).action(action).help(text("zs", name)).help_heading(OPTIONS)
    };
    // Under headings of their own, arguments would be sorted by name.
    // The options of `zs` itself, which all commands have, come last.
    let mut places = if path == "zs" { 900.. } else { 0.. };
    let mut command = command
        .about(text(path, "about"))
        .help_template(TEMPLATE)
        .override_usage(usage)
        .subcommand_help_heading(COMMANDS)
        .disable_help_flag(true)
        .mut_args(|argument| {
            translated_argument(argument, path).display_order(places.next().unwrap_or_default())
        })
        .arg(flag("help", 'h', ArgAction::Help));
    if path == "zs" {
        command = command.disable_version_flag(true).arg(flag("version", 'V', ArgAction::Version));
    }
    if has_examples {
        command = command.before_help(text(path, "examples"));
    }
    if has_notes {
        let notes = if path == "eval" { text(path, "notes") + "\n\n" } else { String::new() };
        command = command.after_help(notes + &say!("help-exit-status"));
    }
    command.mut_subcommands(|command| {
        let path = command.get_name().to_owned();
        translated(command, &path)
    })
}

fn translated_argument(argument: Arg, path: &str) -> Arg {
    let what = argument.get_id().to_string();
    let mut help = text(path, &what);
    let heading = if argument.is_positional() { ARGUMENTS } else { OPTIONS };
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let values =
        if argument.get_action().takes_values() { argument.get_possible_values() } else { Vec::new() };
    let (described, bare): (Vec<_>, Vec<_>) = values.iter().partition(|value| value.get_help().is_some());
    let mut long = help.clone();
    if !described.is_empty() {
        let names: Vec<&str> = described.iter().map(|value| value.get_name()).collect();
        help += &format!(" [{}]", say!("help-values", values = names.join(", ")));
        long += &format!("\n\n{}", say!("help-described-values"));
        for name in names {
            long += &format!("\n- {name}: {}", text(path, &format!("{what}-{name}")));
        }
        long += "\n";
    }
    let more =
        [("default", defaults), ("values", bare.iter().map(|value| value.get_name().to_owned()).collect())];
    for (kind, values) in more.into_iter().filter(|(_, values)| !values.is_empty()) {
        let values = values.join(", ");
        let note = match kind {
            "default" => say!("help-default", value = values),
            _ => say!("help-values", values = values),
        };
        help += &format!(" [{note}]");
        long += &format!("\n[{note}]");
    }
    let argument = argument.help(help).long_help(long).help_heading(heading);
    match argument.get_action().takes_values() {
        true => argument.hide_default_value(true).hide_possible_values(true),
        false => argument,
    }
}

/// The parser's refusal as a report; `None` where the parser's own words are right, which are English.
pub(crate) fn refusal(error: &Error) -> Option<Report> {
    if words::lang() == Lang::En {
        return None;
    }
    let value = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        ContextValue::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let of = |kind| value(kind).unwrap_or_default();
    let argument = of(ContextKind::InvalidArg);
    let message = match error.kind() {
        ErrorKind::UnknownArgument => say!("parser-unknown-argument", argument = argument),
        ErrorKind::InvalidSubcommand => {
            say!("parser-unknown-command", name = of(ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingRequiredArgument => say!("parser-missing", argument = argument),
        ErrorKind::InvalidValue if of(ContextKind::InvalidValue).is_empty() => {
            say!("parser-value-missing", argument = argument)
        }
        ErrorKind::InvalidValue => {
            say!("parser-invalid-value", value = of(ContextKind::InvalidValue), argument = argument)
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            let value = of(ContextKind::InvalidValue);
            say!("parser-refused-value", value = value, argument = argument, why = why)
        }
        ErrorKind::ArgumentConflict => match of(ContextKind::PriorArg) {
            other if other == argument => say!("parser-twice", argument = argument),
            other => say!("parser-conflict", argument = argument, other = other),
        },
        _ => return None,
    };
    let mut report = Report::usage(message);
    let similar = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    if let Some(meant) = similar.into_iter().find_map(value) {
        report = report.help(say!("did-you-mean", name = meant));
    }
    if let Some(values) = value(ContextKind::ValidValue) {
        report = report.help(say!("help-values", values = values));
    }
    Some(report.help(say!("parser-see-help")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The keys of a command's texts, and those of the commands in it.
    fn keys(command: &Command, path: &str, keys: &mut BTreeSet<String>) {
        let mut add = |what: &str| assert!(keys.insert(key(path, what)), "{path} {what}");
        assert!(command.get_about().is_some(), "{path}");
        add("about");
        command.get_before_help().into_iter().for_each(|_| add("examples"));
        for argument in
            command.get_arguments().filter(|argument| argument.get_id() != "color" || path == "zs")
        {
            assert!(argument.get_help().is_some(), "{path}: {argument}");
            add(argument.get_id().as_str());
            let values = argument.get_possible_values();
            for value in values.iter().filter(|value| value.get_help().is_some()) {
                add(&format!("{}-{}", argument.get_id(), value.get_name()));
            }
        }
        for command in command.get_subcommands() {
            self::keys(command, command.get_name(), keys);
        }
    }

    #[test]
    fn every_text_of_the_help_has_a_translation() {
        let mut wanted = BTreeSet::new();
        keys(&Cli::command(), "zs", &mut wanted);
        wanted.extend(["zs-help", "zs-version", "eval-notes"].map(|key| format!("help-{key}")));
        let texts = include_str!("../i18n/help.it.ftl").lines().filter_map(|line| line.split_once(" ="));
        let found =
            texts.map(|(key, _)| key).filter(|key| key.starts_with("help-") && key.matches('-').count() > 1);
        let general = ["help-exit-status", "help-described-values"];
        let found: BTreeSet<String> = found.filter(|key| !general.contains(key)).map(str::to_owned).collect();
        assert_eq!(found, wanted);
    }
}
