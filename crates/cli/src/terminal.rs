//! Owns the properties of the terminal and its user: width, styles, characters and language. It does not know
//! what is written.

use std::env;
use std::io::StdoutLock;

use anstream::{AutoStream, ColorChoice};
use zerostride_explain::{Lang, Page};

use crate::words;

/// The columns if there is no terminal.
const DEFAULT_WIDTH: usize = 80;
/// The most columns: longer lines are hard to read.
const MAX_WIDTH: usize = 100;

/// Sets whether the whole process writes styles.
pub(crate) fn set_color(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Standard output; styles are removed unless the terminal and its user accept them.
pub(crate) fn stdout() -> AutoStream<StdoutLock<'static>> {
    anstream::stdout().lock()
}

/// The columns of the terminal.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0).min(MAX_WIDTH))
}

/// The page that explanations are laid out for. It always has styles, which the streams remove if necessary.
pub(crate) fn page() -> Page {
    let unicode = locale(["LC_ALL", "LC_CTYPE", "LANG"]).is_none_or(|locale| has_unicode(&locale));
    Page { width: width(), unicode, colour: true, lang: words::lang() }
}

/// The language of the locale, or English.
pub(crate) fn lang_of_locale() -> Lang {
    let locale = locale(["LC_ALL", "LC_MESSAGES", "LANG"]);
    locale.and_then(|locale| Lang::of_locale(&locale)).unwrap_or_default()
}

/// The value of the first of these variables that is set.
fn locale(variables: [&str; 3]) -> Option<String> {
    variables.into_iter().filter_map(|name| env::var(name).ok()).find(|value| !value.is_empty())
}

/// Whether a locale such as `it_IT.UTF-8` has all characters. One without a charset is taken to, except for
/// `C` and `POSIX`, which guarantee ASCII only.
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
