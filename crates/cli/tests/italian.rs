//! The shell in Italian: every sentence exists in both languages, and what people read, as a whole. Review a
//! change with `cargo insta review`.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use common::{Run, folder, zs_in, zs_in_italian};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The keys of a catalogue, each with its variables.
fn catalogue(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("i18n").join(name)).unwrap();
    let mut catalogue = BTreeMap::new();
    let mut of: Option<(String, BTreeSet<String>)> = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let begins = line.split_once(" =").filter(|(key, _)| !key.contains(' ') && !key.is_empty());
        if let Some((key, _)) = begins {
            catalogue.extend(of.replace((key.to_owned(), BTreeSet::new())));
        }
        if let Some((_, variables)) = &mut of {
            let names = line.split("{ $").skip(1).filter_map(|rest| rest.split(' ').next());
            variables.extend(names.map(str::to_owned));
        }
    }
    catalogue.extend(of);
    assert!(!catalogue.is_empty(), "{name}");
    catalogue
}

/// The code of the crate without its unit tests.
fn code() -> String {
    let (mut folders, mut code) = (vec![root().join("src")], String::new());
    while let Some(folder) = folders.pop() {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]").next().unwrap_or_default();
                let is_code = |line: &&str| !line.trim_start().starts_with("//");
                code += &text.lines().filter(is_code).collect::<Vec<_>>().join("\n");
            }
        }
    }
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The keys that the code asks for.
fn asked() -> BTreeSet<String> {
    let code = code();
    let calls = code.split("say!(").skip(1).filter_map(|call| call.trim_start().strip_prefix('"'));
    let said = calls.filter_map(|call| call.split('"').next());
    let tour = code.split('"').filter(|text| text.starts_with("tour-"));
    said.chain(tour).map(str::to_owned).collect()
}

#[test]
fn both_languages_say_the_same_things_with_the_same_variables() {
    assert_eq!(catalogue("en.ftl"), catalogue("it.ftl"));
}

#[test]
fn the_catalogues_have_what_is_asked_for_and_nothing_else() {
    let help = |key: &String| !key.starts_with("help-") || key == "help-exit-status" || asked().contains(key);
    let known: Vec<BTreeSet<String>> = ["en.ftl", "engine.it.ftl", "help.it.ftl"]
        .map(|name| catalogue(name).into_keys().filter(help).collect())
        .into();
    let all: BTreeSet<String> = known.iter().flatten().cloned().collect();
    assert_eq!(all.len(), known.iter().map(BTreeSet::len).sum::<usize>(), "a key stands in two files");
    let asked: BTreeSet<String> = asked().into_iter().filter(|key| !key.contains("$")).collect();
    assert_eq!(all.difference(&asked).collect::<Vec<_>>(), Vec::<&String>::new(), "not in use");
    assert_eq!(asked.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "not in a catalogue");
}

/// A run as an Italian terminal shows it.
fn session(folder: &Path, args: &[&str]) -> String {
    let Run { status, stdout, stderr } = zs_in_italian(folder, args);
    format!("$ zs {}\n{stdout}{stderr}[{status}]\n", args.join(" "))
}

#[test]
fn tour() {
    insta::assert_snapshot!(session(folder().path(), &[]));
}

#[test]
fn help() {
    let folder = folder();
    let pages =
        [&["--help"][..], &["explain", "--help"], &["eval", "--help"], &["eval", "-h"], &["help", "info"]];
    insta::assert_snapshot!(pages.map(|args| session(folder.path(), args)).join("\n"));
}

#[test]
fn answers() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("t.csv"), "city,price\nRoma,3\nTorino,4.5\n").unwrap();
    fs::write(at.join("n.csv"), "1,2\n3,4\n").unwrap();
    zs_in(at, &["eval", "[[1, 2, 3]]", "-o", "x.npy"]);
    let sessions = [
        &["info", "x.npy", "t.csv", "n.csv"][..],
        &["eval", "x + y", "x=x.npy", "y=[1, 2]"],
        &["eval", "x.mean(0)", "x=t.csv:price"],
        &["eval", "x.mean(0)", "x=t.csv:city"],
        &["eval", "x.sum(0)", "x=x.npy", "--dry-run"],
        &["eval", "x + z", "x=1", "y=2"],
        &["eval", "x - y", "x=[True]", "y=[False]"],
        &["eval", "x.add_(y)", "x=[[1, 2, 3]]", "y=[[1], [2]]"],
        &["eval", "where(x, 1, 0)", "x=[1, 2]"],
        &["eval", "x.reshape(4)", "x=[1, 2, 3]"],
        &["eval", "x.sum(3)", "x=[1, 2, 3]"],
        &["eval", "1 // 0"],
        &["eval", "a and b"],
        &["eval", "(1 + 2"],
        &["eval", "x", "x=manca.npy"],
        &["eval", "x", "x=1", "-o", "x.npy"],
        &["eval", "x * y", "x=[[1], [2]]", "y=[1, 2]", "--policy", "mutual_stretch=error"],
        &["eval", "x", "--policy", "mutual=error"],
        &["eval", "x", "--thread", "2"],
        &["eval", "x", "--threads", "2", "--threads", "3"],
        &["explian", "3"],
        &["explain"],
        &["explain", "n,1", "m,3"],
        &["explain", "2,-3"],
        &["eval", "zeros(10000, 10000)", "--max-memory", "64MiB"],
    ];
    insta::assert_snapshot!(sessions.map(|args| session(at, args)).join("\n"));
}

#[test]
fn programs_read_the_same_in_every_language() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("t.csv"), "a,b\n1,x\n").unwrap();
    for args in [
        &["explain", "2,3", "4", "--format", "json"][..],
        &["explain", "x=[1, 2]", "y=[True]", "--op", "lshift", "--format", "json"],
        &["explain", "x=[1, 2]", "y=[1.5]", "--op", "&", "--format", "json"],
        &["info", "t.csv", "missing.npy", "--json"],
        &["eval", "[1, 2]", "--json"],
        &["eval", "x.sum()", "x=[1, 2]", "--dry-run", "--json"],
    ] {
        let (english, italian) = (zs_in(at, args), zs_in_italian(at, args));
        assert_eq!((english.status, english.stdout), (italian.status, italian.stdout), "{args:?}");
    }
}

#[test]
fn the_option_of_explain_decides_over_the_locale() {
    let folder = folder();
    let args = ["explain", "2,3", "4", "--op", "ad", "--lang"];
    let italian = zs_in(folder.path(), &[&args[..], &["it"]].concat());
    let english = zs_in_italian(folder.path(), &[&args[..], &["en"]].concat());
    assert!(italian.stderr.contains("operazione sconosciuta `ad`"), "{}", italian.stderr);
    assert!(english.stderr.contains("unknown operation `ad`"), "{}", english.stderr);
    assert_eq!((italian.status, english.status), (2, 2));
}
