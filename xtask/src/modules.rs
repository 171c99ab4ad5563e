//! Owns the order of the modules of `zerostride` and of `exec`: each may use those before it, none after it.
//! It does not know what they do (ARCHITECTURE.md). Only paths are checked, not methods, which are found
//! through their types.

use std::collections::HashMap;

use crate::source::Source;

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

/// The folder of the crate.
const FOLDER: &str = "crates/zerostride/src/";

/// Checks the sources of the crate among all sources, by their names in the repository.
pub(crate) fn check(sources: &[(String, String)], problems: &mut Vec<String>) {
    let own = || sources.iter().filter_map(|(name, text)| Some((name.strip_prefix(FOLDER)?, &**text)));
    let Some((_, root)) = own().find(|(name, _)| *name == "lib.rs") else {
        return problems.push(format!("{FOLDER}: no lib.rs"));
    };
    let owners = owners(root);
    for (name, text) in own() {
        let paths = paths(name, text);
        if name != "lib.rs" {
            file(name, name, &paths, (&["crate"], &ORDER), &owners, problems);
        }
        if let Some(inside) = name.strip_prefix("exec/") {
            file(name, inside, &paths, (&["crate", "exec"], &EXEC), &HashMap::new(), problems);
        }
    }
}

/// The paths in a file from the crate's root, those that start with `super` among them.
fn paths<'a>(name: &'a str, text: &'a str) -> Vec<Vec<&'a str>> {
    let modules: Vec<&str> = name.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
    let source = Source::read(text);
    let all = source.imports.into_iter().map(|import| import.path).chain(source.paths);
    let absolute = |path: Vec<&'a str>| {
        let above = path.iter().take_while(|word| **word == "super").count();
        match above {
            0 => path,
            _ => [&["crate"], &modules[..modules.len().saturating_sub(above)], &path[above..]].concat(),
        }
    };
    all.map(absolute).collect()
}

/// Checks one file, whose path starts with its module: the modules that its paths with `prefix` use.
fn file(
    name: &str,
    path: &str,
    paths: &[Vec<&str>],
    (prefix, order): (&[&str], &[&str]),
    owners: &HashMap<String, String>,
    problems: &mut Vec<String>,
) {
    let module = path.split('/').next().unwrap_or("").trim_end_matches(".rs");
    let rank = |module: &str| order.iter().position(|other| *other == module);
    let Some(own) = rank(module) else {
        return problems.push(format!("{name}: the module `{module}` has no place in the order of modules"));
    };
    for used in paths.iter().filter_map(|path| path.strip_prefix(prefix)?.first()) {
        let owner = owners.get(*used).map_or(*used, |owner| &**owner);
        if rank(owner).is_some_and(|other| other > own) {
            let prefix = prefix.join("::");
            problems.push(format!("{name}: `{module}` must not use `{prefix}::{used}`: arrows point down"));
        }
    }
}

/// The names that the crate's root re-exports, with their modules.
fn owners(root: &str) -> HashMap<String, String> {
    let imports = Source::read(root).imports.into_iter().filter(|import| import.is_public);
    imports.map(|import| (import.name.to_owned(), import.path[0].to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_that_points_up_is_reported() {
        let owners = owners("pub use plan::{Plan, Template};\npub use error::{Error, Result};");
        let problems = |module: &str, text: &str| {
            let mut problems = Vec::new();
            file("a.rs", module, &paths("a.rs", text), (&["crate"], &ORDER), &owners, &mut problems);
            problems.len()
        };
        assert_eq!(problems("expr", "use crate::{Error, tensor};"), 0);
        assert_eq!(problems("expr", "use crate::{Error, Plan};"), 1);
        assert_eq!(problems("expr", "fn f() { crate::plan::g() }"), 1);
        assert_eq!(problems("plan", "use crate::exec;"), 1);
        assert_eq!(problems("unheard_of", ""), 1);
        let paths = paths("exec/body/a.rs", "use crate::exec::{cache, schedule::inline};");
        let mut inside = Vec::new();
        let exec: &[&str] = &["crate", "exec"];
        file("exec/body/a.rs", "body/a.rs", &paths, (exec, &EXEC), &HashMap::new(), &mut inside);
        assert_eq!(inside.len(), 1);
    }

    #[test]
    fn a_path_through_super_is_one_from_the_root() {
        let text = "use super::{a, b};\nuse super::super::schedule::inline;\nuse super::super::super::plan;";
        let found: Vec<String> =
            paths("exec/body/a.rs", text).into_iter().map(|path| path.join("::")).collect();
        let expected =
            ["crate::exec::body::a", "crate::exec::body::b", "crate::exec::schedule::inline", "crate::plan"];
        assert_eq!(found, expected);
        assert_eq!(paths("exec/mod.rs", "use super::plan;"), [["crate", "plan"]]);
    }
}
