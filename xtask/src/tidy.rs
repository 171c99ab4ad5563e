//! Owns the repository's rules that can be checked: dependencies between crates, files with unsafe code,
//! headers of files, generated text, answers of PyTorch. It does not have rules that need judgement.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Outcome, answers, circles, columns, generate, modules, root};

/// The crates of this repository that each crate may use: dependencies point down.
const ARROWS: [(&str, &[&str]); 13] = [
    ("crates/shape", &[]),
    ("crates/ops", &["shape"]),
    ("crates/code", &[]),
    ("crates/kernels", &["ops", "code"]),
    ("crates/cuda", &[]),
    ("crates/emulator", &[]),
    ("crates/zerostride", &["shape", "ops", "code", "kernels", "cuda"]),
    ("crates/explain", &["shape", "ops"]),
    ("crates/cli", &["shape", "ops", "zerostride", "explain"]),
    ("crates/python", &["shape", "ops", "zerostride", "explain"]),
    ("crates/web", &["shape", "ops", "explain"]),
    ("bench", &["zerostride"]),
    ("xtask", &["ops"]),
];

/// The only files with unsafe code.
const UNSAFE: &[&str] = &[
    "crates/kernels/src/isa.rs",
    "crates/kernels/src/lane/instructions.rs",
    "crates/kernels/src/matmul/dots.rs",
    "crates/kernels/src/matmul/tile.rs",
    // Printed bytes become a function.
    "crates/kernels/src/native.rs",
    "crates/kernels/tests/kernels/pack.rs",
    // Call printed code, the tests on memory beside pages that may not be touched.
    "crates/kernels/benches/printed.rs",
    "crates/kernels/tests/kernels/printed.rs",
    "crates/kernels/src/pack/fixed.rs",
    "crates/kernels/src/pack/plane.rs",
    "crates/kernels/src/pack/row.rs",
    "crates/kernels/src/pack/mod.rs",
    "crates/kernels/src/pack/transpose.rs",
    "crates/kernels/src/reduce/rule.rs",
    // The functions of NVIDIA's driver are C, called here and emulated there.
    "crates/cuda/src/driver.rs",
    "crates/cuda/tests/emulated.rs",
    "crates/emulator/src/driver.rs",
    // Passes on the user's guarantee that no process changes a mapped file.
    "crates/cli/src/file_text.rs",
    // The system is asked whether a signal was to be ignored.
    "crates/cli/src/interrupt.rs",
    // Python's own protocols are C: calls, and sharing of memory.
    "crates/python/src/entry.rs",
    "crates/python/src/memory/buffer.rs",
    "crates/python/src/memory/cuda.rs",
    "crates/python/src/memory/dlpack.rs",
    "crates/python/src/memory/exchange.rs",
    "crates/python/src/memory/numpy.rs",
    "crates/python/src/team.rs",
    "crates/zerostride/src/exec/elements/access.rs",
    "crates/zerostride/src/threads/crew.rs",
    "crates/zerostride/src/threads/helpers.rs",
    "crates/zerostride/src/threads/parts.rs",
    "crates/zerostride/src/threads/processor.rs",
    "crates/zerostride/src/exec/body/machine.rs",
    // Kernels touch what their arguments say.
    "crates/zerostride/src/exec/device/queue.rs",
    "crates/zerostride/src/exec/elements/operand.rs",
    "crates/zerostride/src/exec/elements/rows.rs",
    "crates/zerostride/src/fork.rs",
    "crates/zerostride/src/io/map.rs",
    "crates/zerostride/src/memory/guard.rs",
    "crates/zerostride/src/memory/region.rs",
    "crates/zerostride/src/memory/storage.rs",
    "crates/zerostride/src/ndarray.rs",
    "crates/zerostride/src/tensor/lent.rs",
    "crates/zerostride/src/tensor/scope.rs",
    // Loops with non-temporal stores: the limit that the benchmark compares with.
    "bench/src/bin/stream.rs",
    // Allocators that count or fail, for the tests of memory use.
    "crates/zerostride/tests/allocations.rs",
    "crates/zerostride/tests/depth.rs",
    // Maps files that only the test uses.
    "crates/zerostride/tests/io/mapped.rs",
    "crates/zerostride/tests/plan.rs",
];

/// Crates whose root forbids unsafe code altogether.
const SAFE: [&str; 5] = ["crates/shape", "crates/ops", "crates/code", "crates/explain", "xtask"];

/// One-time initialisations that a fork may find half made, in the sources that begin so, and what to use:
/// PyO3's release the GIL, and other threads wait for those of the standard library.
const HALF_MADE: [(&str, [&str; 2], &str); 5] = [
    ("crates/python/src/", ["PyOnceLock", "intern!("], "once.rs"),
    ("crates/ops/src/", ["OnceLock", "LazyLock"], "once_cell::race"),
    ("crates/kernels/src/", ["OnceLock", "LazyLock"], "once_cell::race"),
    ("crates/cuda/src/", ["OnceLock", "LazyLock"], "once_cell::race"),
    ("crates/zerostride/src/", ["OnceLock", "LazyLock"], "once_cell::race"),
];

/// Generated files, whose lines may have any length.
const WRITTEN: [&str; 2] = ["bench/records/", "docs/python/reference.md"];

/// Checks every rule and reports all violations.
pub(crate) fn run() -> Outcome {
    let mut problems = Vec::new();
    for (name, allowed) in ARROWS {
        arrows(name, allowed, &mut problems);
    }
    let mut sources = Vec::new();
    let paths = files(&root());
    let names: Vec<String> = paths.iter().map(|path| relative(path)).collect();
    for (path, name) in paths.iter().zip(names.clone()) {
        match fs::read_to_string(path) {
            Ok(text) => {
                lines(&name, &text, &mut problems);
                named_sources(&name, &text, &names, &mut problems);
                if name.ends_with(".rs") {
                    source(&name, &text, &mut problems);
                    sources.push((name, text));
                }
            }
            Err(error) => problems.push(format!("{name}: {error}")),
        }
    }
    modules::check(&sources, &mut problems);
    circles::check(&sources, &mut problems);
    for name in SAFE {
        forbids_unsafe(name, &mut problems);
    }
    answers::check(&mut problems);
    problems.extend(generate::check().err());
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// Reports sources that are named between backquotes and are not there.
fn named_sources(name: &str, text: &str, names: &[String], problems: &mut Vec<String>) {
    let is_named = |quoted: &&str| quoted.ends_with(".rs") && !quoted.contains(['{', '…', '*', ' ']);
    for (index, line) in text.lines().enumerate() {
        for quoted in line.split('`').skip(1).step_by(2).filter(is_named) {
            if !names.iter().any(|name| format!("/{name}").ends_with(&format!("/{quoted}"))) {
                problems.push(format!("{name}:{}: there is no `{quoted}`", index + 1));
            }
        }
    }
}

fn arrows(name: &str, allowed: &[&str], problems: &mut Vec<String>) {
    let Ok(manifest) = fs::read_to_string(root().join(name).join("Cargo.toml")) else {
        return problems.push(format!("{name}: no Cargo.toml"));
    };
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
    let own = dependencies.split("\n[").next().unwrap_or("");
    for line in own.lines().filter(|line| line.starts_with("zerostride")) {
        let used = line.split(['.', ' ', '=']).next().unwrap_or("");
        let short = used.strip_prefix("zerostride-").unwrap_or(used);
        if !allowed.contains(&short) {
            problems.push(format!("{name} must not use {used}: arrows point down (ARCHITECTURE.md)"));
        }
    }
}

fn source(name: &str, text: &str, problems: &mut Vec<String>) {
    if !text.starts_with("//!") {
        problems.push(format!("{name}: a file opens with `//!`: what it owns, what it does not know"));
    }
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let is_unsafe =
        |line: &str| ["{", "fn", "impl"].iter().any(|next| line.contains(&["unsafe", next].join(" ")));
    for (sources, made, instead) in HALF_MADE {
        let may_be_half_made = |line: &str| made.iter().any(|made| line.contains(made));
        if name.starts_with(sources) && text.lines().filter(is_code).any(may_be_half_made) {
            let made = made.join(" or ");
            problems.push(format!("{name}: {made} may be found half made by a fork: use {instead}"));
        }
    }
    if text.lines().filter(is_code).any(is_unsafe) && !UNSAFE.contains(&name) {
        problems.push(format!("{name}: unsafe code belongs in {}", UNSAFE.join(", ")));
    }
    if [["TO", "DO"], ["FIX", "ME"]].iter().any(|marker| text.contains(&marker.concat())) {
        problems.push(format!("{name}: something is left to do"));
    }
}

fn lines(name: &str, text: &str, problems: &mut Vec<String>) {
    if WRITTEN.iter().any(|written| name.starts_with(written)) {
        return;
    }
    for line in columns::too_long(ending(Path::new(name)), text) {
        problems.push(format!("{name}:{line}: a comment or a paragraph ends at column 110"));
    }
}

fn forbids_unsafe(name: &str, problems: &mut Vec<String>) {
    let roots = ["src/lib.rs", "src/main.rs"].map(|file| root().join(name).join(file));
    for path in roots.iter().filter(|path| path.exists()) {
        if !fs::read_to_string(path).is_ok_and(|text| text.contains("#![forbid(unsafe_code)]")) {
            problems.push(format!("{}: lacks #![forbid(unsafe_code)]", relative(path)));
        }
    }
}

/// Every source and document of the repository, except expected failures of compile tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir()
            && !name.starts_with('.')
            && !["target", "ui", "corpus", "artifacts"].contains(&&*name)
        {
            found.extend(files(&path));
        } else if columns::endings().any(|known| known == ending(&path)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(name: &str, text: &str) -> usize {
        let mut problems = Vec::new();
        source(name, text, &mut problems);
        problems.len()
    }

    #[test]
    fn a_file_without_header_or_with_unsafe_code_elsewhere_is_reported() {
        assert_eq!(problems("crates/shape/src/shape.rs", "//! Owns shapes.\nfn f() {}"), 0);
        assert_eq!(problems("crates/shape/src/shape.rs", "fn f() {}"), 1);
        let code = ["//! Owns.\nfn f() { unsafe", "{ g() } }"].join(" ");
        assert_eq!(problems("crates/shape/src/shape.rs", &code), 1);
        assert_eq!(problems(UNSAFE[0], &code), 0);
    }
    #[test]
    fn a_source_that_is_named_exists() {
        let names = ["crates/shape/src/shape.rs".to_owned()];
        let problems = |text: &str| {
            let mut problems = Vec::new();
            named_sources("A.md", text, &names, &mut problems);
            problems
        };
        let quoted = ["`", "`"].join("ape.rs");
        assert_eq!(problems("`shape.rs` and `src/shape.rs` are there, and `a.rs(b)` is no name"), [""; 0]);
        assert_eq!(problems(&format!("as\n{quoted} says")), [format!("A.md:2: there is no {quoted}")]);
    }
}
