//! Owns the sentences of the shell in the user's language: `say!`, which takes them from `i18n/`. The
//! language is the process's: English until `run` has asked the locale. It does not know when a sentence is
//! used.

pub(crate) mod engine;

use std::sync::atomic::{AtomicU8, Ordering};

use zerostride_explain::{Catalogue, Lang, Value};

static CATALOGUE: Catalogue = Catalogue::new(
    &[include_str!("../../i18n/en.ftl")],
    &[
        include_str!("../../i18n/it.ftl"),
        include_str!("../../i18n/help.it.ftl"),
        include_str!("../../i18n/engine.it.ftl"),
    ],
);

static LANG: AtomicU8 = AtomicU8::new(Lang::En as u8);

/// Sets the language of the process.
pub(crate) fn speak(lang: Lang) {
    LANG.store(lang as u8, Ordering::Relaxed);
}

/// The language of the process.
pub(crate) fn lang() -> Lang {
    Lang::ALL[usize::from(LANG.load(Ordering::Relaxed))]
}

/// The sentence of a key; `say!` calls it.
pub(crate) fn sentence(key: &str, variables: &[(&'static str, Value<'_>)]) -> String {
    CATALOGUE.say(lang(), key, variables)
}

/// `say!("key", name = value, ...)`: the sentence of a key.
macro_rules! say {
    ($key:literal $(, $name:ident = $value:expr)* $(,)?) => {
        // A function of its own, so that the variables take no stack of a recursive caller.
        std::convert::identity(|| {
            $crate::words::sentence($key, &[$((stringify!($name), zerostride_explain::Value::from($value))),*])
        })()
    };
}
pub(crate) use say;

/// What to write instead of something: one text, or one of two.
pub(crate) fn write_instead(texts: &[&str]) -> String {
    match texts {
        [text, other] => say!("write-or", text = *text, other = *other),
        _ => say!("write", text = texts.concat()),
    }
}
