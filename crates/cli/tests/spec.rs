//! The documents are the tests: every `console` block of `spec/`, `examples/`, the front page and
//! `docs/shell.md` is run, and what `zs` writes must be what stands there, character for character.
//!
//! In a block, a line that starts with `$ zs` is a command (with quotes as in a shell, nothing else of it),
//! and the lines below it are what a terminal shows; `# exit 1` as the last of them is an exit status other
//! than 0. Commands run with two threads, where a copy of `examples/data` lies at `examples/data`.
//!
//! After a wanted change, `ZS_SPEC=write cargo test -p zerostride-cli --test spec` writes the new answers
//! into the documents; read the difference before committing it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a folder, in order, that end so.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let paths =
        fs::read_dir(folder).expect("the folder exists").map(|entry| entry.expect("it can be read").path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    paths.sort();
    paths
}

/// A folder with the data that the documents speak of.
fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let data = folder.path().join("examples/data");
    fs::create_dir_all(&data).expect("there is room for a folder");
    for file in files(&root().join("examples/data"), "npy") {
        fs::copy(&file, data.join(file.file_name().expect("a file has a name")))
            .expect("there is room for a copy");
    }
    folder
}

/// Splits at blanks outside single or double quotes, which go away.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut in_word) = (None, false);
    for character in line.chars() {
        match quote {
            None if character.is_whitespace() => in_word = false,
            Some(open) if character == open => quote = None,
            _ => {
                if !in_word {
                    words.push(String::new());
                    in_word = true;
                }
                match character {
                    '\'' | '"' if quote.is_none() => quote = Some(character),
                    _ => words.last_mut().expect("a word has begun").push(character),
                }
            }
        }
    }
    assert_eq!(quote, None, "a quote is not closed: {line}");
    words
}

/// What a terminal shows of a command: both streams as they come, and the exit status if it is not 0.
fn shown(command: &str, folder: &Path) -> String {
    let words = words(command);
    assert_eq!(
        words.first().map(String::as_str),
        Some("zs"),
        "a console block runs `zs` only; write ```sh: {command}"
    );
    let (mut reader, writer) = std::io::pipe().expect("there is a pipe");
    let mut zs = Command::new(env!("CARGO_BIN_EXE_zs"));
    for variable in
        ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG"]
    {
        zs.env_remove(variable);
    }
    // A plan's scratch memory grows with the threads.
    zs.env("RAYON_NUM_THREADS", "2");
    zs.args(&words[1..]).current_dir(folder).stdin(Stdio::null());
    let mut child = zs
        .stdout(writer.try_clone().expect("a pipe can be shared"))
        .stderr(writer)
        .spawn()
        .expect("zs starts");
    // The command holds the writing end, which must be closed here before the reading one can come to an end.
    drop(zs);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("zs writes UTF-8");
    match child.wait().expect("zs ends").code() {
        Some(0) => {}
        Some(code) => text += &format!("# exit {code}\n"),
        None => panic!("killed by a signal: {command}"),
    }
    text
}

/// The document with the answers that its commands give now.
fn rerun(document: &str, folder: &Path) -> String {
    let mut written = String::new();
    let mut in_console = false;
    for line in document.lines() {
        if !in_console || line == "```" {
            in_console = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ") {
            written += &format!("{line}\n{}", shown(command, folder));
            continue;
        } else {
            // An answer, which the command has just given anew.
            continue;
        }
        written += line;
        written.push('\n');
    }
    written
}

/// The picture is the one in `docs/`, or becomes it.
fn check_picture(picture: &Path, is_writing: bool) {
    let name = picture.file_name().expect("a picture has a name");
    let stands = root().join("docs").join(name);
    if is_writing {
        fs::copy(picture, &stands).expect("a picture can be written");
    }
    let [stands, now] = [&stands, picture].map(|path| fs::read_to_string(path).unwrap_or_default());
    assert!(stands == now, "docs/{}: drawn otherwise now", name.display());
}

#[test]
fn every_document_shows_what_zs_shows() {
    let documents = [files(&root().join("spec"), "md"), files(&root().join("examples"), "md")].concat();
    for path in documents.into_iter().chain([root().join("README.md"), root().join("docs/shell.md")]) {
        let document = fs::read_to_string(&path).expect("a document is UTF-8");
        let workplace = workplace();
        let now = rerun(&document, workplace.path());
        let is_writing = std::env::var_os("ZS_SPEC").is_some_and(|mode| mode == "write");
        for picture in files(workplace.path(), "svg") {
            check_picture(&picture, is_writing);
        }
        if is_writing {
            fs::write(&path, now).expect("a document can be written");
            continue;
        }
        for (number, (stands, now)) in document.lines().zip(now.lines()).enumerate() {
            assert_eq!(stands, now, "{}:{}: left stands there, right is so", path.display(), number + 1);
        }
        assert_eq!(
            document.lines().count(),
            now.lines().count(),
            "{}: lines are missing at the end",
            path.display()
        );
    }
}

#[test]
fn words_are_split_as_a_shell_splits_them() {
    assert_eq!(
        words("zs eval '[[1, 2]] * x' x=\"[3, 4]\"  ''"),
        ["zs", "eval", "[[1, 2]] * x", "x=[3, 4]", ""]
    );
    assert_eq!(words("x.to('f32')"), ["x.to(f32)"]);
    assert_eq!(words("\"x.to('f32')\""), ["x.to('f32')"]);
}
