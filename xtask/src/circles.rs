//! Owns the rule that files of a crate do not use each other in a circle, so that each can be read after
//! those that it uses. It does not know which modules lie above which (`modules.rs`). What counts as a use:
//!
//! - a path in code, and a `use` of an item, count for the file that defines the item: re-exports are
//!   followed, so that a `mod.rs` which only re-exports is in no circle. What no file is seen to define, as
//!   a macro may, counts for its module's file.
//! - A file that declares a child does not use it, nor does one that re-exports what a child has without
//!   mentioning the name itself. Otherwise a parent is a file like others: a child that uses what its
//!   `mod.rs` defines is in a circle with it if the `mod.rs` uses the child.
//! - Tests are left out. Methods, fields and macros called by their bare names are not followed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::source::{Import, Source};

/// Circles that are right as they are: a folder, its files in the circle, and the reason.
const EXCEPTIONS: [(&str, &[&str], &str); 2] = [
    (
        "crates/kernels/src/math/",
        &["exp.rs", "hyperbolic.rs", "log.rs", "normal_tail.rs", "power.rs", "real.rs", "trig.rs"],
        "`Real` is made of the constants of these functions, and the functions call each other on it",
    ),
    (
        "crates/shape/src/",
        &["error.rs", "shape.rs"],
        "a shape is checked when it is made, and the error about it has shapes",
    ),
];

/// The most re-exports that are followed from one path.
const MOST_REEXPORTS: usize = 16;

/// Checks all sources, by their names in the repository.
pub(crate) fn check(sources: &[(String, String)], problems: &mut Vec<String>) {
    let mut excused = BTreeSet::new();
    for (root, _) in sources.iter().filter(|(name, _)| name.contains("/src/")) {
        if root.ends_with("/lib.rs") || root.ends_with("/main.rs") {
            let uses = Crate::read(root, sources).uses();
            for circle in circles(&uses) {
                match EXCEPTIONS.iter().position(|exception| files(exception) == circle) {
                    Some(exception) => _ = excused.insert(exception),
                    None => problems.push(told(&circle, &uses)),
                }
            }
        }
    }
    for (place, (folder, ..)) in EXCEPTIONS.iter().enumerate() {
        if !excused.contains(&place) {
            problems.push(format!("{folder}: an exception of xtask/src/circles.rs is no circle any more"));
        }
    }
}

fn files((folder, files, _): &(&str, &[&str], &str)) -> BTreeSet<String> {
    files.iter().map(|file| format!("{folder}{file}")).collect()
}

/// The names that each file takes from each other file.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<&'a str>>>;

/// The files of a crate with their names, by their modules as `a::b`; that of the root is empty.
struct Crate<'a>(HashMap<String, (&'a str, Source<'a>)>);

impl<'a> Crate<'a> {
    /// Reads the crate with a root file.
    fn read(root: &'a str, sources: &'a [(String, String)]) -> Self {
        let texts: HashMap<&str, &str> = sources.iter().map(|(name, text)| (&**name, &**text)).collect();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        let (mut files, mut open) = (HashMap::new(), vec![(String::new(), root)]);
        while let Some((module, name)) = open.pop() {
            let source = Source::read(texts[name]);
            for child in &source.children {
                let child = join(&module, child);
                let path = format!("{folder}/{}", child.replace("::", "/"));
                let forms = [format!("{path}.rs"), format!("{path}/mod.rs")];
                let found = forms.iter().find_map(|form| texts.get_key_value(&**form));
                open.extend(found.map(|(name, _)| (child, *name)));
            }
            files.insert(module, (name, source));
        }
        Self(files)
    }

    fn uses(&self) -> Uses<'a> {
        let mut uses = Uses::new();
        for (module, (file, source)) in &self.0 {
            let mut add = |path: &[&'a str], import: Option<&Import<'_>>| {
                let Some((owner, name)) = self.resolve(module, path) else { return };
                let is_reexport = import.is_some_and(|import| {
                    let is_mentioned = source.paths.iter().any(|path| path[0] == import.name);
                    import.is_public && is_below(&owner, module) && !is_mentioned
                });
                // A module alone is not used, but what is taken from it.
                if owner != *module && !name.is_empty() && !is_reexport {
                    uses.entry(*file).or_default().entry(self.0[&owner].0).or_default().insert(name);
                }
            };
            for import in &source.imports {
                if import.name != "*" {
                    add(&import.path, Some(import));
                    continue;
                }
                for path in &source.paths {
                    let path = [&import.path[..], path].concat();
                    if self.defined(module, &path, 0).is_some() {
                        add(&path, Some(import));
                    }
                }
            }
            source.paths.iter().filter(|path| path.len() > 1).for_each(|path| add(path, None));
        }
        uses
    }

    /// The module that has what a path in a file leads to, and the name there, which is empty if the path
    /// leads to the module itself. None in other crates.
    fn resolve(&self, module: &str, path: &[&'a str]) -> Option<(String, &'a str)> {
        self.defined(module, path, 0).or_else(|| {
            let (mut at, mut rest) = self.start(module, path)?;
            while let Some((first, others)) = rest.split_first() {
                let Some(child) = self.child(&at, first) else { return Some((at, first)) };
                (at, rest) = (child, others);
            }
            Some((at, ""))
        })
    }

    /// The same, if a file is seen to define it.
    fn defined(&self, module: &str, path: &[&'a str], reexports: usize) -> Option<(String, &'a str)> {
        let (start, rest) = self.start(module, path)?;
        self.member(&start, rest, reexports)
    }

    /// The module at which a path in a file starts, and the rest of the path.
    fn start<'p>(&self, module: &str, path: &'p [&'a str]) -> Option<(String, &'p [&'a str])> {
        let (first, mut rest) = path.split_first()?;
        let parent = |module: &str| module.rsplit_once("::").map_or("", |(parent, _)| parent).to_owned();
        match *first {
            "crate" => Some((String::new(), rest)),
            "self" => Some((module.to_owned(), rest)),
            "super" => {
                let mut at = parent(module);
                while let Some(above) = rest.strip_prefix(&["super"]) {
                    (at, rest) = (parent(&at), above);
                }
                Some((at, rest))
            }
            name => {
                let source = &self.0[module].1;
                let is_imported = |import: &Import<'_>| import.name == name && import.path != [name];
                let is_local = source.children.contains(&name)
                    || source.items.contains(&name)
                    || source.imports.iter().any(is_imported);
                is_local.then(|| (module.to_owned(), path))
            }
        }
    }

    fn child(&self, module: &str, name: &str) -> Option<String> {
        Some(join(module, name)).filter(|child| self.0.contains_key(child))
    }

    /// What a path leads to from within a module, through at most so many re-exports.
    fn member(&self, module: &str, path: &[&'a str], reexports: usize) -> Option<(String, &'a str)> {
        let Some((&name, rest)) = path.split_first() else { return Some((module.to_owned(), "")) };
        if let Some(child) = self.child(module, name) {
            return self.member(&child, rest, reexports);
        }
        let source = &self.0[module].1;
        if source.items.contains(&name) {
            return Some((module.to_owned(), name));
        }
        if reexports == MOST_REEXPORTS {
            return None;
        }
        let through = |import: &Import<'a>, rest: &[&'a str]| {
            self.defined(module, &[&import.path[..], rest].concat(), reexports + 1)
        };
        let named = source.imports.iter().filter(|import| import.name == name && import.path != [name]);
        let globs = source.imports.iter().filter(|import| import.name == "*");
        named
            .map(|import| through(import, rest))
            .chain(globs.map(|import| through(import, path)))
            .find_map(|found| found)
    }
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

fn is_below(module: &str, parent: &str) -> bool {
    parent.is_empty() || module.strip_prefix(parent).is_some_and(|rest| rest.starts_with("::"))
}

/// The groups of files that all reach each other.
fn circles(uses: &Uses<'_>) -> Vec<BTreeSet<String>> {
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &file in uses.keys() {
        let (found, mut open) = (reached.entry(file).or_default(), vec![file]);
        while let Some(file) = open.pop() {
            let used = uses.get(file).into_iter().flat_map(BTreeMap::keys);
            open.extend(used.copied().filter(|used| found.insert(used)));
        }
    }
    let returns = |from: &str, to: &str| reached.get(from).is_some_and(|found| found.contains(to));
    let circle = |(file, found): (&&str, &BTreeSet<&str>)| -> BTreeSet<String> {
        found.iter().filter(|other| returns(other, file)).map(|&other| other.to_owned()).collect()
    };
    let circles: BTreeSet<_> = reached.iter().map(circle).filter(|circle| !circle.is_empty()).collect();
    circles.into_iter().collect()
}

/// The circle for the reader: a line for each use.
fn told(circle: &BTreeSet<String>, uses: &Uses<'_>) -> String {
    let mut told = format!("{} files use each other in a circle (xtask/src/circles.rs):", circle.len());
    for file in circle {
        for (used, names) in uses[&**file].iter().filter(|(used, _)| circle.contains(**used)) {
            let names: Vec<&str> = names.iter().copied().collect();
            told += &format!("\n  {file} uses of {used}: {}", names.join(", "));
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate with these files.
    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<(String, String)> =
            files.iter().map(|(name, text)| (format!("src/{name}"), (*text).to_owned())).collect();
        let uses = Crate::read("src/lib.rs", &sources).uses();
        let of =
            |circle: BTreeSet<String>| circle.iter().map(|file| &file[4..]).collect::<Vec<_>>().join(" ");
        circles(&uses).into_iter().map(of).collect()
    }

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let root = ("lib.rs", "mod a;\nmod b;\nmod c;");
        let a = ("a.rs", "use crate::b::B;\npub struct A;");
        assert_eq!(circles_of(&[root, a, ("b.rs", "pub struct B(super::a::A);")]), ["a.rs b.rs"]);
        assert_eq!(
            circles_of(&[root, a, ("b.rs", "pub struct B(super::c::C);"), ("c.rs", "struct C;")]),
            [""; 0]
        );
        let (b, c) =
            (("b.rs", "use crate::c;\nfn f() { c::g() }"), ("c.rs", "use crate::a;\nfn g(a: a::A) {}"));
        assert_eq!(circles_of(&[root, a, b, c]), ["a.rs b.rs c.rs"]);
    }

    #[test]
    fn a_parent_that_only_re_exports_is_in_no_circle() {
        let root = ("lib.rs", "mod parent;");
        let (a, b) = (("parent/a.rs", "pub struct A;"), ("parent/b.rs", "use super::A;\npub fn b(_: A) {}"));
        let parent = "mod a;\nmod b;\npub use a::A;\nuse b::b;";
        assert_eq!(circles_of(&[root, ("parent/mod.rs", parent), a, b]), [""; 0]);
        // It defines what the child uses, and calls the child.
        let parent = "mod b;\npub struct A;\nfn f() { b::b(A) }";
        assert_eq!(circles_of(&[root, ("parent/mod.rs", parent), b]), ["parent/b.rs parent/mod.rs"]);
        // It re-exports and uses what the child has.
        let parent = "mod b;\npub struct A;\npub use b::b;";
        assert_eq!(circles_of(&[root, ("parent/mod.rs", parent), b]), [""; 0]);
        let parent = "mod b;\npub struct A;\npub use b::b;\nfn f() { b(A) }";
        assert_eq!(circles_of(&[root, ("parent/mod.rs", parent), b]), ["parent/b.rs parent/mod.rs"]);
    }

    #[test]
    fn what_a_glob_brings_is_used_where_it_is_mentioned() {
        let (root, a) = (("lib.rs", "mod a;\nmod b;"), ("a.rs", "use crate::b::*;\npub fn a(b: B) {}"));
        assert_eq!(circles_of(&[root, a, ("b.rs", "pub struct B;\nuse crate::a::a;")]), ["a.rs b.rs"]);
        assert_eq!(circles_of(&[root, a, ("b.rs", "pub struct C;\nuse crate::a::a;")]), [""; 0]);
    }
}
