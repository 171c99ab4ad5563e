//! Owns `cargo xtask docs`: the repository's documents as a site, made by Sphinx as `docs/conf.py` says.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, python, root, run, web};

/// What makes the site: the generator, its reader of Markdown, and its looks.
const REQUIREMENTS: [&str; 3] = ["sphinx>=9,<10", "myst-parser==5.2.0", "furo==2025.12.19"];

/// Makes the site where there is a Python for it, as `cargo xtask test` does.
pub(crate) fn test() -> Outcome {
    if python::python().is_some() {
        return build(None);
    }
    eprintln!("\nleft out: the site of documents, which needs python3 of 3.11 or later");
    Ok(())
}

/// Makes the site in a folder, `target/site` unless another is named. A link that leads nowhere is an error.
pub(crate) fn build(folder: Option<&str>) -> Outcome {
    let python = python::python().ok_or("the site needs python3 of 3.11 or later")?;
    let folder = folder.map_or_else(|| python::target().join("site"), PathBuf::from);
    let own = python::environment(python, &python::target().join("docs-environment"))?;
    python::pip(&own, &[&["install"], &REQUIREMENTS[..]].concat())?;
    let page = web::build(folder.join("page").to_str(), true);
    let mut sphinx = Command::new(&own);
    sphinx.args("-m sphinx --quiet --fail-on-warning --keep-going --conf-dir docs".split(' '));
    match &page {
        Ok(_) => drop(sphinx.args(["--tag", "page"])),
        Err(reason) => eprintln!("\nLEFT OUT: the page that explains shapes: {reason}"),
    }
    run(sphinx.arg(root()).arg(&folder))?;
    // A server and a reader look for the front page under this name.
    fs::copy(folder.join("README.html"), folder.join("index.html"))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    eprintln!("\n{}: open index.html", folder.display());
    Ok(())
}
