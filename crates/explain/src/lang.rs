//! Owns `Lang`, the languages of an explanation, and the lookup of sentences in the catalogue (`i18n/`). It
//! does not know when a sentence is used nor the language of a user's environment.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};

/// A language that explanations are written in.
///
/// ```
/// use zerostride_explain::Lang;
///
/// assert_eq!("it".parse(), Ok(Lang::It));
/// assert_eq!(Lang::of_locale("it_CH.UTF-8"), Some(Lang::It));
/// assert_eq!(Lang::of_locale("fr_FR"), None);
/// assert_eq!(Lang::It.tag(), "it");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Italian.
    It,
}

impl Lang {
    /// Every language.
    pub const ALL: [Lang; 2] = [Lang::En, Lang::It];

    /// The language's tag, as HTML and `--lang` have it.
    pub const fn tag(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::It => "it",
        }
    }

    /// The language that a locale such as `it_IT.UTF-8` names, if it is one of these.
    pub fn of_locale(locale: &str) -> Option<Lang> {
        let tag = locale.split(['_', '-', '.', '@']).next()?;
        Lang::ALL.into_iter().find(|lang| lang.tag().eq_ignore_ascii_case(tag))
    }

    /// The sentence of a key, with its variables inserted.
    pub(crate) fn say(self, key: &str, variables: &[(&'static str, FluentValue<'_>)]) -> String {
        let bundle = self.bundle();
        let pattern = bundle.get_message(key).and_then(|message| message.value());
        let pattern = pattern.expect("a test holds both catalogues to the keys in use");
        let arguments = FluentArgs::from_iter(variables.iter().cloned());
        let mut errors = Vec::new();
        let text = bundle.format_pattern(pattern, Some(&arguments), &mut errors).into_owned();
        debug_assert!(errors.is_empty(), "{key}: {errors:?}");
        text
    }

    /// The catalogue, parsed at its first use.
    fn bundle(self) -> &'static FluentBundle<FluentResource> {
        static ENGLISH: OnceLock<FluentBundle<FluentResource>> = OnceLock::new();
        static ITALIAN: OnceLock<FluentBundle<FluentResource>> = OnceLock::new();
        match self {
            Lang::En => ENGLISH.get_or_init(|| read(self, include_str!("../i18n/en.ftl"))),
            Lang::It => ITALIAN.get_or_init(|| read(self, include_str!("../i18n/it.ftl"))),
        }
    }
}

fn read(lang: Lang, catalogue: &str) -> FluentBundle<FluentResource> {
    let plurals = lang.tag().parse().expect("a tag of two letters names a language");
    let mut bundle = FluentBundle::new_concurrent(vec![plurals]);
    // Both languages are written from left to right, so marks that isolate directions are not needed.
    bundle.set_use_isolating(false);
    let resource = FluentResource::try_new(catalogue.to_owned()).expect("a test reads both catalogues");
    bundle.add_resource(resource).expect("a test holds keys to be unique");
    bundle
}

/// A number that selects a plural. A number that a float cannot hold is printed exactly, as text; its form is
/// the plural.
pub(crate) fn count(count: u128) -> FluentValue<'static> {
    const EXACT: u128 = 1 << f64::MANTISSA_DIGITS;
    if count < EXACT { (count as f64).into() } else { count.to_string().into() }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.tag())
    }
}

impl FromStr for Lang {
    type Err = UnknownLang;

    fn from_str(tag: &str) -> Result<Lang, UnknownLang> {
        Lang::of_locale(tag).ok_or_else(|| UnknownLang(tag.to_owned()))
    }
}

/// The error for a language without a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLang(pub String);

impl fmt::Display for UnknownLang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tags = Lang::ALL.map(Lang::tag).join(", ");
        write!(f, "unknown language '{}': there are {tags}", self.0)
    }
}

impl std::error::Error for UnknownLang {}

/// `say!(lang, "key", name = value, ...)`: the sentence of a key.
macro_rules! say {
    ($lang:expr, $key:literal $(, $name:ident = $value:expr)* $(,)?) => {
        $lang.say($key, &[$((stringify!($name), $value.into())),*])
    };
}
pub(crate) use say;
