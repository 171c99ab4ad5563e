//! Owns `cargo xtask web`: the page of `crates/web` as a folder of static files, with its module built for
//! WebAssembly. It does not know the page.
//!
//! The module is in a script, as base64, because a page that is opened from a folder may not fetch files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{Outcome, root, run as run_command};

const TARGET: &str = "wasm32-unknown-unknown";

/// The page's own files, which are copied as they are.
const PAGE: [&str; 4] = ["index.html", "page.css", "page.js", "icon.svg"];

/// What the page has in place of its links to the documents and the project.
const LINKS: &str = "    <!-- links -->\n";

/// Builds the page into a folder, `target/page` unless another is named. As a part of the site it leads back
/// to that, alone to the repository once there is one.
pub(crate) fn build(folder: Option<&str>, is_in_site: bool) -> Result<PathBuf, String> {
    let module = module()?;
    let folder = folder.map_or_else(|| target_dir().join("page"), PathBuf::from);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    for name in PAGE {
        fs::copy(root().join("crates/web/page").join(name), folder.join(name)).map_err(failed)?;
    }
    let repository = env!("CARGO_PKG_REPOSITORY");
    let links = match (is_in_site, repository) {
        (true, _) => links("../docs/start.html", "../index.html"),
        (false, "") => String::new(),
        (false, repository) => links(&format!("{repository}/tree/main/docs"), repository),
    };
    let index = folder.join("index.html");
    let page = fs::read_to_string(&index).map_err(failed)?;
    fs::write(&index, page.replace(LINKS, &links)).map_err(failed)?;
    let bytes = fs::read(&module).map_err(|error| format!("{}: {error}", module.display()))?;
    let engine = format!("\"use strict\";\nconst ZEROSTRIDE = \"{}\";\n", STANDARD.encode(&bytes));
    fs::write(folder.join("engine.js"), engine).map_err(failed)?;
    eprintln!("\n{}: open index.html; the module has {} bytes", folder.display(), bytes.len());
    Ok(folder)
}

fn links(documents: &str, project: &str) -> String {
    let link = |word: &str, to: &str| format!("    <a href=\"{to}\" data-word=\"{word}\"></a>\n");
    link("documents", documents) + &link("project", project)
}

/// Builds the page and tests it in Chromium; if there is none, reports that.
pub(crate) fn test() -> Outcome {
    let starts = |program: &str| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let missing: Vec<&str> =
        ["chromium", "chromedriver"].into_iter().filter(|program| !starts(program)).collect();
    if !missing.is_empty() {
        eprintln!(
            "\nLEFT OUT: the page in Chromium; {} is missing (Debian: chromium, chromium-driver)",
            missing.join(", ")
        );
        return Ok(());
    }
    let folder = build(None, false)?;
    // As all tests are built, so that nothing is built twice.
    let tests = "test --workspace --features zerostride/ndarray --test browser -- --ignored --test-threads=1";
    run_command(Command::new(env!("CARGO")).args(tests.split(' ')).env("ZEROSTRIDE_PAGE", folder))
}

/// Builds the module and returns its path.
fn module() -> Result<PathBuf, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args("rustc --package zerostride-web --lib --crate-type cdylib --profile web --target".split(' '));
    cargo.arg(TARGET);
    if !has_target() {
        with_debian_compiler(&mut cargo)?;
    }
    run_command(&mut cargo)?;
    Ok(target_dir().join(TARGET).join("web/zerostride_web.wasm"))
}

fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Whether the compiler in use comes with the target's standard library.
fn has_target() -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists())
}

/// Makes cargo use the compiler that `wasm-setup.sh` unpacks, and build the standard library with it.
fn with_debian_compiler(cargo: &mut Command) -> Outcome {
    let folder = target_dir().join("wasm-compiler");
    run_command(Command::new(root().join("xtask/wasm-setup.sh")).arg(&folder))?;
    let usr = folder.join("root/usr");
    let libraries = fs::read_dir(usr.join("lib")).map_err(|error| format!("{}: {error}", usr.display()))?;
    let libraries = libraries.flatten().map(|entry| entry.path());
    let library = libraries.into_iter().find(|path| path.to_string_lossy().ends_with("-linux-gnu"));
    let sysroot =
        Command::new("rustc").args(["--print", "sysroot"]).output().map_err(|error| error.to_string())?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot.stdout).trim());
    let linkers = fs::read_dir(sysroot.join("lib/rustlib")).map_err(|error| error.to_string())?;
    let linker = linkers.flatten().map(|entry| entry.path().join("bin/rust-lld")).find(|path| path.exists());
    let (Some(library), Some(linker)) = (library, linker) else {
        return Err("the unpacked compiler lacks its libraries, or this one its linker rust-lld".to_owned());
    };
    cargo.args(["-Zbuild-std=std,panic_abort", "--ignore-rust-version"]);
    cargo.env("LD_LIBRARY_PATH", library).env("RUSTC", usr.join("bin/rustc")).env("RUSTC_BOOTSTRAP", "1");
    cargo.env("RUSTC_WORKSPACE_WRAPPER", root().join("xtask/wasm-rustc.sh"));
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    Ok(())
}
