//! Owns `zs info [FILE]...`. It does not know formats (the engine's `io`).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use zerostride::io::{self, Entry, Printable};

use crate::args::InfoArgs;
use crate::failure::{Report, Result, Status};
use crate::{bytes, report, terminal};

pub(crate) fn info(args: &InfoArgs) -> Result<ExitCode> {
    let mut status = ExitCode::SUCCESS;
    let mut out = terminal::stdout();
    if args.files.is_empty() {
        out.write_all(zerostride::show_config().as_bytes())?;
    }
    if args.json {
        return json_of(&args.files);
    }
    for path in &args.files {
        match describe(path) {
            Ok(text) => out.write_all(text.as_bytes())?,
            // The other files may be fine.
            Err(error) => {
                out.flush()?;
                report::draw(&Report::of_engine(&error), &mut anstream::stderr().lock())?;
                status = Status::Usage.into();
            }
        }
    }
    Ok(status)
}

/// A line about all files; one that cannot be read has an error instead of arrays.
fn json_of(paths: &[PathBuf]) -> Result<ExitCode> {
    let mut status = ExitCode::SUCCESS;
    let mut files = Vec::new();
    for path in paths {
        let (mut format, mut arrays, mut error) = (Value::Null, Value::Null, Value::Null);
        match io::open(path) {
            Ok(container) => {
                format = container.format().to_string().trim_start_matches('.').into();
                arrays = container.entries().iter().filter(|entry| entry.is_array()).map(array).collect();
            }
            Err(refusal) => {
                error = refusal.to_string().into();
                status = Status::Usage.into();
            }
        }
        files.push(
            json!({"path": path.to_string_lossy(), "format": format, "arrays": arrays, "error": error}),
        );
    }
    writeln!(terminal::stdout(), "{}", json!({"version": 1, "files": files}))?;
    Ok(status)
}

fn array(entry: &Entry) -> Value {
    json!({
        "name": entry.name(),
        "dtype": entry.dtype_name(),
        "shape": entry.is_described().then(|| entry.shape()),
        "bytes": entry.bytes(),
        "big_endian": entry.is_big_endian(),
        "fortran_order": entry.is_fortran(),
        "error": entry.refusal(),
    })
}

/// The file and its arrays, in columns.
fn describe(path: &Path) -> zerostride::Result<String> {
    let container = io::open(path)?;
    let entries = container.entries();
    let total: u64 = entries.iter().map(Entry::bytes).fold(0, u64::saturating_add);
    let arrays = entries.iter().filter(|entry| entry.is_array()).count();
    let count = if arrays == 1 { "1 array".to_owned() } else { format!("{arrays} arrays") };
    let count = if arrays == entries.len() { count } else { format!("{count} of {} members", entries.len()) };
    let mut text = format!("{}: {count}, {}\n", Printable(&path.to_string_lossy()), bytes::show(total));

    let rows: Vec<[String; 4]> = entries.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    for (row, entry) in rows.iter().zip(entries) {
        let [name, dtype, shape, size] = row;
        let [w0, w1, w2, w3] = widths;
        let line = format!("  {name:<w0$}  {dtype:<w1$}  {shape:<w2$}  {size:>w3$}{}", remarks(entry));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    Ok(text)
}

fn row(entry: &Entry) -> [String; 4] {
    [
        Printable(entry.name().unwrap_or("-")).to_string(),
        Printable(entry.dtype_name()).to_string(),
        if entry.is_described() { python_tuple(entry.shape()) } else { "-".to_owned() },
        bytes::show(entry.bytes()),
    ]
}

fn remarks(entry: &Entry) -> String {
    let remarks = [
        (entry.is_big_endian(), "  big-endian"),
        (entry.is_fortran(), "  Fortran order"),
        (entry.dtype().is_none() && entry.is_array(), "  cannot be read"),
    ];
    let remarks: String = remarks.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text).collect();
    match entry.refusal() {
        // Of an array without dtype and shape, only the reason why it cannot be read is shown.
        Some(why) if !entry.is_described() && entry.is_array() => format!("{remarks}: {why}"),
        _ => remarks,
    }
}

fn python_tuple(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" })
}
