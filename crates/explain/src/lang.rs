//! Owns `Lang`, the languages of an explanation, and `Catalogue`, the lookup of sentences in files such as
//! those of `i18n/`. It does not know when a sentence is used nor the language of a user's environment.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};

/// A variable of a sentence: a text, or a number, which may select a plural.
pub use fluent_bundle::FluentValue as Value;

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

    /// The sentence of a key of this crate's catalogue, with its variables inserted.
    pub(crate) fn say(self, key: &str, variables: &[(&'static str, Value<'_>)]) -> String {
        static CATALOGUE: Catalogue =
            Catalogue::new(&[include_str!("../i18n/en.ftl")], &[include_str!("../i18n/it.ftl")]);
        CATALOGUE.say(self, key, variables)
    }
}

/// The sentences of a program in every language, each under a key: files of
/// [Fluent](https://projectfluent.org), parsed when a language is first used.
///
/// ```
/// use zerostride_explain::{Catalogue, Lang};
///
/// static CATALOGUE: Catalogue = Catalogue::new(&["greeting = Hello, { $name }"], &["greeting = Ciao, { $name }"]);
/// assert_eq!(CATALOGUE.say(Lang::It, "greeting", &[("name", "Ada".into())]), "Ciao, Ada");
/// ```
#[derive(Debug)]
pub struct Catalogue {
    texts: [&'static [&'static str]; Lang::ALL.len()],
    bundles: [OnceLock<Bundle>; Lang::ALL.len()],
}

/// A parsed language.
struct Bundle(FluentBundle<FluentResource>);

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bundle")
    }
}

impl Catalogue {
    /// The catalogue of these files, of English and of Italian.
    pub const fn new(english: &'static [&'static str], italian: &'static [&'static str]) -> Catalogue {
        Catalogue { texts: [english, italian], bundles: [const { OnceLock::new() }; Lang::ALL.len()] }
    }

    /// The sentence of a key, with its variables inserted.
    ///
    /// # Panics
    /// The language's files have no such key, or cannot be read: a test of each catalogue's program holds
    /// them to the keys in use.
    pub fn say(&self, lang: Lang, key: &str, variables: &[(&'static str, Value<'_>)]) -> String {
        let bundle = &self.bundles[lang as usize].get_or_init(|| read(lang, self.texts[lang as usize])).0;
        let pattern = bundle.get_message(key).and_then(|message| message.value());
        let pattern = pattern.expect("a test holds both catalogues to the keys in use");
        let arguments = FluentArgs::from_iter(variables.iter().cloned());
        let mut errors = Vec::new();
        let text = bundle.format_pattern(pattern, Some(&arguments), &mut errors).into_owned();
        debug_assert!(errors.is_empty(), "{key}: {errors:?}");
        text
    }
}

fn read(lang: Lang, texts: &[&str]) -> Bundle {
    let plurals = lang.tag().parse().expect("a tag of two letters names a language");
    let mut bundle = FluentBundle::new_concurrent(vec![plurals]);
    // Both languages are written from left to right, so marks that isolate directions are not needed.
    bundle.set_use_isolating(false);
    for text in texts {
        let resource = FluentResource::try_new((*text).to_owned()).expect("a test reads both catalogues");
        bundle.add_resource(resource).expect("a test holds keys to be unique");
    }
    Bundle(bundle)
}

/// A number that selects a plural. A number that a float cannot hold is printed exactly, as text; its form is
/// the plural.
pub fn count(count: u128) -> Value<'static> {
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
