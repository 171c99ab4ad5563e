//! Owns what is known of the terminal and its user: how wide it is, whether to style, which characters and
//! which language. It does not know what is written.

use std::env;
use std::io::StdoutLock;

use anstream::{AutoStream, ColorChoice};
use zerostride_explain::{Lang, Page};

/// Columns where there is no terminal to ask.
const DEFAULT_WIDTH: usize = 80;
/// Wider lines are hard to read.
const MAX_WIDTH: usize = 100;

/// Decides about styles for the whole process.
pub(crate) fn set_color(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Standard output; styles are removed where a terminal or its user does not take them.
pub(crate) fn stdout() -> AutoStream<StdoutLock<'static>> {
    anstream::stdout().lock()
}

/// The columns of the terminal.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0).min(MAX_WIDTH))
}

/// The page to lay explanations out for. Styles are always asked for: the streams take them out.
pub(crate) fn page() -> Page {
    let unicode = locale(["LC_ALL", "LC_CTYPE", "LANG"]).is_none_or(|locale| has_unicode(&locale));
    Page { width: width(), unicode, colour: true, lang: lang() }
}

/// The language of the locale; English if it is none of those that there are.
pub(crate) fn lang() -> Lang {
    let locale = locale(["LC_ALL", "LC_MESSAGES", "LANG"]);
    locale.and_then(|locale| Lang::of_locale(&locale)).unwrap_or_default()
}

/// The first of these variables that says anything decides.
fn locale(variables: [&str; 3]) -> Option<String> {
    variables.into_iter().filter_map(|name| env::var(name).ok()).find(|value| !value.is_empty())
}

/// Whether a locale such as `it_IT.UTF-8` writes all characters; where it names no charset, it is taken to,
/// except for the portable ones, which promise ASCII and no more.
fn has_unicode(locale: &str) -> bool {
    match locale.split_once('.') {
        Some((_, charset)) => charset.to_ascii_lowercase().starts_with("utf"),
        None => !matches!(locale, "C" | "POSIX"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_charsets_without_arrows_get_none() {
        for (locale, unicode) in [
            ("it_IT.UTF-8", true),
            ("en_US.utf8", true),
            ("C.UTF-8", true),
            ("it_IT", true),
            ("C", false),
            ("POSIX", false),
            ("it_IT.ISO-8859-1", false),
        ] {
            assert_eq!(has_unicode(locale), unicode, "{locale}");
        }
    }
}
