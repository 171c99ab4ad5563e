//! Every sentence is in the catalogue, in each language, with the same variables, and is in use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};

/// The keys of a catalogue, each with its variables.
type Catalogue = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn catalogue(lang: &str) -> Catalogue {
    let text = fs::read_to_string(root().join(format!("i18n/{lang}.ftl"))).unwrap();
    let resource = fluent_syntax::parser::parse(text).expect("the catalogue is well formed");
    let mut catalogue = Catalogue::new();
    for entry in resource.body {
        let Entry::Message(message) = entry else { continue };
        let mut variables = BTreeSet::new();
        collect(message.value.as_ref().expect("a message says something"), &mut variables);
        let former = catalogue.insert(message.id.name.clone(), variables);
        assert!(former.is_none(), "{lang}: {} is there twice", message.id.name);
    }
    catalogue
}

fn collect(pattern: &Pattern<String>, variables: &mut BTreeSet<String>) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else { continue };
        let inline = match expression {
            Expression::Inline(inline) => inline,
            Expression::Select { selector, variants } => {
                variants.iter().for_each(|variant| collect(&variant.value, variables));
                selector
            }
        };
        let InlineExpression::VariableReference { id } = inline else {
            panic!("only variables are put into sentences")
        };
        variables.insert(id.name.clone());
    }
}

/// The sources of the crate, each with its path.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("src")];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                // Unit tests stand at the end of a file, and speak to those who read them.
                let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                sources.push((path, code));
            }
        }
    }
    sources
}

/// The keys that the sources ask for, each with the variables it is given.
fn asked() -> Catalogue {
    let mut asked = Catalogue::new();
    for (path, code) in sources() {
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code: String = code.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        for call in code.split("say!(").skip(1) {
            // The arguments, up to the bracket that closes the call.
            let mut depth = 1;
            let end = call.find(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth == 0
            });
            let Some((_, arguments)) = call[..end.expect("a call is closed")].split_once(", ") else {
                continue;
            };
            let Some(arguments) = arguments.trim_start().strip_prefix('"') else { continue };
            let (key, arguments) = arguments.split_once('"').expect("a key is quoted");
            let words: Vec<&str> = arguments.split_whitespace().collect();
            let names = words.windows(2).filter(|pair| pair[1] == "=").map(|pair| pair[0].to_owned());
            let names: BTreeSet<String> = names.collect();
            if let Some(former) = asked.insert(key.to_owned(), names.clone()) {
                assert_eq!(former, names, "{}: {key} is given other variables elsewhere", path.display());
            }
        }
    }
    asked
}

#[test]
fn both_languages_say_the_same_things_with_the_same_variables() {
    assert_eq!(catalogue("en"), catalogue("it"));
}

#[test]
fn the_catalogue_has_what_is_asked_for_and_nothing_else() {
    assert_eq!(catalogue("en"), asked());
}

/// The string literals of a source, outside comments.
fn literals(code: &str) -> Vec<String> {
    let mut literals = Vec::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let mut characters = line.chars();
        let mut literal: Option<String> = None;
        while let Some(character) = characters.next() {
            match (&mut literal, character) {
                (Some(text), '\\') => text.extend(characters.next()),
                (Some(_), '"') => literals.extend(literal.take()),
                (Some(text), other) => text.push(other),
                (None, '"') => literal = Some(String::new()),
                // A quote as a character opens nothing.
                (None, '\'') if line.contains("'\"'") => {
                    drop(characters.by_ref().take(2).collect::<String>())
                }
                (None, _) => {}
            }
        }
        // A literal that goes on in the next line is as good as closed here.
        literals.extend(literal);
    }
    literals
}

#[test]
fn no_sentence_stands_outside_the_catalogue() {
    // Words for programmers (`expect`), the words of markup, and the error of a language that does not exist.
    let is_code = |line: &str| line.contains(".expect(");
    for (path, code) in sources() {
        let name = path.strip_prefix(root().join("src")).unwrap().to_string_lossy().replace('\\', "/");
        if ["html/style.rs", "svg/style.rs", "theme.rs", "lang.rs"].contains(&name.as_str()) {
            continue;
        }
        let code: Vec<&str> = code.lines().filter(|line| !is_code(line)).collect();
        for literal in literals(&code.join("\n")) {
            let is_markup = ["<", ">", "=", "zs-"].iter().any(|sign| literal.contains(sign));
            let word = |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic());
            let words = literal.split([' ', ',', '.']).filter(word).count();
            assert!(is_markup || words < 2, "{name}: {literal:?} belongs into the catalogue");
        }
    }
}
