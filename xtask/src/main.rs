//! The repository's own commands, one module each; this file only selects.

#![forbid(unsafe_code)]

mod aarch64;
mod accuracy;
mod answers;
mod bench;
mod circles;
mod columns;
mod docs;
mod generate;
mod golden;
mod modules;
mod oldest;
mod python;
mod reference;
mod release;
mod repository;
mod sanitize;
mod sections;
mod source;
mod stubs;
mod test;
mod tidy;
mod web;

use std::process::ExitCode;

use repository::{Outcome, root, run};

const HELP: &str = "\
cargo xtask COMMAND

  bench             measure side by side with the peers; `cargo xtask bench --help`
  accuracy [NAME]   search every f32 for the largest error of each function and write docs/accuracy.md's table of them,
                    which takes some minutes
  accuracy f64 [NAME,...] [--samples N]  search so many random f64 (a million) instead, beside MPFR
  test              all checks: format, lints, tests, documentation and its site, repository rules
  test --python     the tests of the Python package alone, in a virtual environment of their own
  test --free-threaded  those tests in a free-threaded Python (python3.14t or later), with the GIL off
  test --sdist      those tests on the package built from its source distribution, which takes minutes
  test --web        the tests of the page alone, in Chromium
  test --aarch64    the tests of the kernels and the engine on aarch64, under an emulator elsewhere, and whether
                    all layouts and random formulas have the bits of this processor, which takes an hour or two
  sanitize [FILTER] the tests of the crates with unsafe code, under AddressSanitizer
  sanitize --python [ARGUMENT...] those of the Python package; arguments are pytest's
  golden [PART...]  rebuild the golden answers in spec/golden (installs PyTorch, 5 GB, into .venv)
  web [FOLDER]      build the page of crates/web as static files, in target/page
  docs [FOLDER]     the documents and the page as a site, in target/site; Sphinx checks their links
  release --check   what must hold before a version is published; builds the packages
  gen               rewrite what is generated from the tables: docs/operations.md, the stubs of the Python package and
                    their page, docs/python/reference.md
  tidy              the repository rules alone
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["test"] => test::run(),
        ["test", "--python"] => python::test(false),
        ["test", "--sdist"] => python::test(true),
        ["test", "--free-threaded"] => python::test_free_threaded(),
        ["test", "--web"] => web::test(),
        ["test", "--aarch64"] => aarch64::run(),
        ["sanitize", ref filter @ ..] => sanitize::address(filter),
        ["golden", ref parts @ ..] => golden::run_parts(parts),
        ["bench", script @ ("functions" | "arrange"), ref words @ ..] => bench::compare(script, words),
        ["bench", ref words @ ..] => bench::bench(words),
        ["accuracy", "f64", ref words @ ..] => accuracy::sample(words),
        ["accuracy"] => accuracy::write(""),
        ["accuracy", name] => accuracy::write(name),
        ["release", "--check"] => release::check(),
        ["web"] => web::build(None, false).map(|_| ()),
        ["web", folder] => web::build(Some(folder), false).map(|_| ()),
        ["docs"] => docs::build(None),
        ["docs", folder] => docs::build(Some(folder)),
        ["gen"] => generate::write(),
        ["tidy"] => tidy::run(),
        ["help" | "--help" | "-h"] | [] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown command: {}\n\n{HELP}", words.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
