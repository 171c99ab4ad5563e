//! Owns how the text of a Rust file is read for rules about it: as words and signs, without comments, strings
//! and tests, and from them what the file defines and which paths it names. Macros are not expanded, and
//! methods and fields not followed. It does not know where a path leads.

/// What a file says about its module.
#[derive(Default)]
pub(crate) struct Source<'a> {
    /// The modules in files of their own that it declares.
    pub(crate) children: Vec<&'a str>,
    /// The items that it defines, modules within the file among them.
    pub(crate) items: Vec<&'a str>,
    /// What its `use` declarations bring into scope.
    pub(crate) imports: Vec<Import<'a>>,
    /// The paths that its code names, single words among them. In a module within the file, `super` is the
    /// file's own module.
    pub(crate) paths: Vec<Vec<&'a str>>,
}

/// One name that a `use` declaration brings into scope.
pub(crate) struct Import<'a> {
    pub(crate) path: Vec<&'a str>,
    /// The name in the file's scope, or `*` for all that the path's module has.
    pub(crate) name: &'a str,
    /// Whether other files see the name.
    pub(crate) is_public: bool,
}

impl<'a> Source<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        let tokens = without_tests(&tokens(text));
        let mut source = Self::default();
        // The depth of braces, and that at which each module within the file was opened.
        let (mut depth, mut modules) = (0, Vec::new());
        let mut at = 0;
        while let Some(&token) = tokens.get(at) {
            let next = |ahead: usize| tokens.get(at + ahead).copied().unwrap_or("");
            match token {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    modules.pop_if(|opened| *opened == depth);
                }
                // `pub(in path)` uses nothing.
                "pub" if next(1) == "(" => at += tokens[at..].iter().take_while(|&&word| word != ")").count(),
                "mod" if next(2) == ";" => {
                    source.children.push(next(1));
                    at += 2;
                }
                "mod" if next(2) == "{" => {
                    source.items.push(next(1));
                    modules.push(depth);
                    at += 1;
                }
                "use" if next(1) != "<" => {
                    let is_public = at > 0 && ["pub", ")"].contains(&tokens[at - 1]);
                    at += 1;
                    for (mut path, name) in tree(&tokens, &mut at) {
                        leave(&mut path, modules.len());
                        source.imports.push(Import { path, name, is_public });
                    }
                }
                "macro_rules" if depth == 0 => {
                    source.items.push(next(2));
                    at += 2;
                }
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static"
                    if depth == 0 && next(1) != "fn" =>
                {
                    source.items.push(next(1));
                    at += 1;
                }
                _ if is_word(token) && !(at > 0 && [".", "$", "::"].contains(&tokens[at - 1])) => {
                    let mut path = vec![token];
                    while let ["::", word, ..] = tokens[at + 1..]
                        && is_word(word)
                    {
                        path.push(word);
                        at += 2;
                    }
                    leave(&mut path, modules.len());
                    source.paths.push(path);
                }
                _ => {}
            }
            at += 1;
        }
        source
    }
}

/// Makes a path in so many modules within a file one in the file's own module.
fn leave(path: &mut Vec<&str>, modules: usize) {
    let above = path.iter().take_while(|word| **word == "super").count().min(modules);
    if above > 0 {
        path.splice(..above, ["self"]);
    }
}

/// The paths of a `use` declaration up to its end, with the names that they get.
fn tree<'a>(tokens: &[&'a str], at: &mut usize) -> Vec<(Vec<&'a str>, &'a str)> {
    let (mut found, mut path) = (Vec::new(), Vec::new());
    let finish = |path: &mut Vec<&'a str>, found: &mut Vec<_>| {
        if let Some(&name) = path.last() {
            found.push((std::mem::take(path), name));
        }
    };
    while let Some(&token) = tokens.get(*at) {
        match token {
            ";" | "}" => break,
            "," => finish(&mut path, &mut found),
            "::" => {}
            "{" => {
                *at += 1;
                let inside = tree(tokens, at);
                found.extend(inside.into_iter().map(|(rest, name)| match (&*rest, path.last()) {
                    // `a::{self}` is `a`.
                    (["self"], Some(&own)) => (path.clone(), if name == "self" { own } else { name }),
                    _ => ([&path[..], &rest].concat(), name),
                }));
                path.clear();
            }
            "as" => {
                *at += 1;
                finish(&mut path, &mut found);
                if let (Some((_, name)), Some(other)) = (found.last_mut(), tokens.get(*at)) {
                    *name = other;
                }
            }
            "*" => found.push((std::mem::take(&mut path), "*")),
            word => path.push(word),
        }
        *at += 1;
    }
    finish(&mut path, &mut found);
    found
}

/// The tokens without items that only tests have.
fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let (mut kept, mut rest) = (Vec::new(), tokens);
    while let Some((&first, others)) = rest.split_first() {
        let condition = rest.strip_prefix(&["#", "[", "cfg", "("]).unwrap_or(&[]);
        let condition = condition.split(|token| *token == "]").next().unwrap_or(&[]);
        let is_of_tests = condition.iter().enumerate().any(|(at, token)| {
            *token == "test" && !condition.contains(&"any") && !condition[..at].ends_with(&["not", "("])
        });
        if is_of_tests {
            let item = &rest[5 + condition.len()..];
            rest = &item[end_of_item(item)..];
        } else {
            kept.push(first);
            rest = others;
        }
    }
    kept
}

/// The number of tokens up to the end of the item at the front.
fn end_of_item(tokens: &[&str]) -> usize {
    let mut depth = 0;
    let ends = |token: &&str| {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        depth == 0 && ["}", ";"].contains(token)
    };
    tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1)
}

fn is_word(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// The words and signs of a text, `::` being one, without blanks, comments, strings and lifetimes.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        if rest.starts_with("//") {
            length = rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            length = rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if let Some(end) = string(rest) {
            length = end;
        } else if first == '\'' {
            length = quoted(rest);
        } else if !first.is_whitespace() {
            if is_letter(first) {
                length = word(rest);
            } else if rest.starts_with("::") {
                length = 2;
            }
            tokens.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    tokens
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of the word at the front.
fn word(text: &str) -> usize {
    text.find(|letter| !is_letter(letter)).unwrap_or(text.len())
}

/// The length of the string at the front, if there is one, raw or not.
fn string(text: &str) -> Option<usize> {
    let body = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let raw = body.strip_prefix('r').map(|raw| raw.trim_start_matches('#'));
    let inside = raw.unwrap_or(body).strip_prefix('"')?;
    let before = text.len() - inside.len();
    let end = if let Some(raw) = raw {
        let end = format!("\"{}", "#".repeat(body.len() - 1 - raw.len()));
        inside.find(&end).map(|at| at + end.len())
    } else {
        let mut is_escaped = false;
        let ends = |letter| {
            let ends = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        };
        inside.find(ends).map(|at| at + 1)
    };
    Some(end.map_or(text.len(), |end| before + end))
}

/// The length of the character or lifetime at the front.
fn quoted(text: &str) -> usize {
    let mut letters = text[1..].char_indices();
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), Some((_, letter))) => {
            let from = 2 + letter.len_utf8();
            text[from..].find('\'').map_or(text.len(), |at| from + at + 1)
        }
        (Some(_), Some((at, '\''))) => at + 2,
        _ => 1 + word(&text[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_tests_are_not_read() {
        let text = "//! crate::a\n/* b */ fn f<'a>(c: &'a str) { g('\"', '\\'', \"h\\\"::i\", br#\"j\"k\"#); }\n\
                    #[cfg(all(test, unix))]\nmod tests { use crate::l; }\n#[cfg(test)]\nmod m;\n\
                    #[cfg(not(test))]\nuse n::o;";
        let source = Source::read(text);
        assert_eq!(source.paths.concat(), ["c", "str", "g", "cfg", "not", "test"]);
        assert_eq!((&*source.items, &*source.children), (&["f"][..], &[][..]));
        assert_eq!(source.imports[0].path, ["n", "o"]);
    }

    #[test]
    fn imports_have_every_form() {
        let text =
            "pub use a::{self, b as c, d::{e, *}};\npub(in crate::f) use g;\nmod h { use super::super::i; }";
        let imports = Source::read(text).imports;
        let told = imports.iter().map(|import| {
            format!("{}{} {}", if import.is_public { "+" } else { "" }, import.path.join("::"), import.name)
        });
        let expected = ["+a a", "+a::b c", "+a::d::e e", "+a::d *", "+g g", "self::super::i i"];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn items_and_paths_are_those_of_the_file() {
        let text =
            "struct A { b: super::B }\nconst C: usize = D::E;\nimpl A { fn f(&self) { self.b.c(d::e()) } }";
        let source = Source::read(text);
        assert_eq!(source.items, ["A", "C"]);
        assert!(source.paths.contains(&vec!["super", "B"]) && source.paths.contains(&vec!["d", "e"]));
        assert!(!source.paths.contains(&vec!["c"]));
    }
}
