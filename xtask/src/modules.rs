//! Owns the order of the modules of `zerostride` and of `exec`: each may use those before it, none after it.
//! It does not know what they do (ARCHITECTURE.md). Only paths are checked, not methods, which are found
//! through their types.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The modules from the lowest to the highest.
const ORDER: [&str; 18] = [
    "caller",
    "device",
    "error",
    "fork",
    "interrupt",
    "threads",
    "memory",
    "tensor",
    "expr",
    "plan",
    "policy",
    "exec",
    "stream",
    "eager",
    "ndarray",
    "io",
    "spec",
    "lib",
];

/// The modules of `exec` from the lowest to the highest.
const EXEC: [&str; 6] = ["cache", "elements", "body", "schedule", "device", "mod"];

/// Checks the sources of the crate in a folder.
pub(crate) fn check(folder: &Path, sources: &[(String, String)], problems: &mut Vec<String>) {
    let Ok(root) = fs::read_to_string(folder.join("lib.rs")) else {
        return problems.push(format!("{}: no lib.rs", folder.display()));
    };
    let owners = owners(&root);
    for (name, text) in sources {
        let text = absolute(name, text);
        if name != "lib.rs" {
            file(name, name, &text, ("crate::", &ORDER), &owners, problems);
        }
        if let Some(inside) = name.strip_prefix("exec/") {
            file(name, inside, &text, ("crate::exec::", &EXEC), &HashMap::new(), problems);
        }
    }
}

/// The text of a file with paths from the crate's root instead of those that start with `super`.
fn absolute(name: &str, text: &str) -> String {
    let path = name.trim_end_matches(".rs").trim_end_matches("/mod");
    let modules: Vec<&str> = path.split('/').collect();
    let mut absolute = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("super::") {
        let mut above = 1;
        rest = after;
        while let Some(after) = rest.strip_prefix("super::") {
            above += 1;
            rest = after;
        }
        let owner = &modules[..modules.len().saturating_sub(above)];
        absolute.extend([before, "crate::"]);
        absolute.extend(owner.iter().flat_map(|module| [module, "::"]));
    }
    absolute + rest
}

/// Checks one file, whose path starts with its module: the modules that its paths with `prefix` use.
fn file(
    name: &str,
    path: &str,
    text: &str,
    (prefix, order): (&str, &[&str]),
    owners: &HashMap<String, String>,
    problems: &mut Vec<String>,
) {
    let module = path.split('/').next().unwrap_or("").trim_end_matches(".rs");
    let rank = |module: &str| order.iter().position(|other| *other == module);
    let Some(own) = rank(module) else {
        return problems.push(format!("{name}: the module `{module}` has no place in the order of modules"));
    };
    for used in used(text, prefix) {
        let owner = owners.get(&used).map_or(&*used, |owner| &**owner);
        if rank(owner).is_some_and(|other| other > own) {
            problems.push(format!("{name}: `{module}` must not use `{prefix}{used}`: arrows point down"));
        }
    }
}

/// The names that the crate's root re-exports, with their modules.
fn owners(root: &str) -> HashMap<String, String> {
    let mut owners = HashMap::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or("");
        if let Some((module, names)) = statement.split_once("::") {
            for name in words(names) {
                owners.insert(name.to_owned(), module.to_owned());
            }
        }
    }
    owners
}

/// The names after a prefix in the code of a file without its tests.
fn used(text: &str, prefix: &str) -> Vec<String> {
    let code = text.split("\nmod tests {").next().unwrap_or("");
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut used = Vec::new();
    // `$crate` is in macros, which are used elsewhere.
    for (at, _) in code.match_indices(prefix).filter(|(at, _)| !code[..*at].ends_with('$')) {
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => used.extend(heads(list)),
            None => used.extend(words(rest).next().map(str::to_owned)),
        }
    }
    used
}

/// The first segments of the paths in a list, up to its end.
fn heads(list: &str) -> Vec<String> {
    let (mut depth, mut heads, mut start) = (0, Vec::new(), true);
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            _ if start && !character.is_whitespace() => {
                heads.extend(words(&list[at..]).next().map(str::to_owned));
                start = false;
            }
            _ => {}
        }
    }
    heads
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_uses_is_found_in_every_form() {
        let text = "//! crate::io\nuse crate::{Error, plan::{Plan, Cost}, exec};\nfn f() { crate::tensor::g() }\n\
                    #[cfg(test)]\nmod tests {\nuse crate::io;\n}";
        assert_eq!(used(text, "crate::"), ["Error", "plan", "exec", "tensor"]);
    }

    #[test]
    fn an_arrow_that_points_up_is_reported() {
        let owners = owners("pub use plan::{Plan, Template};\npub use error::{Error, Result};");
        let problems = |module: &str, text: &str| {
            let mut problems = Vec::new();
            file("a.rs", module, text, ("crate::", &ORDER), &owners, &mut problems);
            problems.len()
        };
        assert_eq!(problems("expr", "use crate::{Error, tensor};"), 0);
        assert_eq!(problems("expr", "use crate::{Error, Plan};"), 1);
        assert_eq!(problems("plan", "use crate::exec;"), 1);
        assert_eq!(problems("unheard_of", ""), 1);
        let mut inside = Vec::new();
        let text = "use crate::exec::{cache, schedule::inline};";
        file("exec/body/a.rs", "body/a.rs", text, ("crate::exec::", &EXEC), &HashMap::new(), &mut inside);
        assert_eq!(inside.len(), 1);
    }

    #[test]
    fn a_path_through_super_is_one_from_the_root() {
        let text = "use super::{a, b};\nuse super::super::schedule::inline;\nuse super::super::super::plan;";
        let found = "use crate::exec::body::{a, b};\nuse crate::exec::schedule::inline;\nuse crate::plan;";
        assert_eq!(absolute("exec/body/a.rs", text), found);
        assert_eq!(absolute("exec/mod.rs", "use super::plan;"), "use crate::plan;");
    }
}
