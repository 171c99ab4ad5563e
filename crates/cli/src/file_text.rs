//! Owns arguments that name an array in a file, as `m.safetensors:weight`: the lookup of its header, and its
//! loading. It does not know formats (the engine's `io`).

use std::fs;
use std::io::{Cursor, Read, stdin};
use std::path::Path;

use zerostride::io::{self, Container, Format, Printable};
use zerostride::{DType, Tensor};

use crate::evaluate::Budget;
use crate::failure::Result;
use crate::name_text::is_name;
use crate::table;
use crate::words::{engine, say};

/// The argument and the output that are standard input and output.
pub(crate) const STANDARD: &str = "-";

/// How much of a file is read to see whether it is a table.
const START_BYTES: u64 = 1 << 16;

/// What an `.npy` file, and an `.npz` file starts with.
const MAGICS: [(&[u8], Format); 2] = [(b"\x93NUMPY", Format::Npy), (b"PK\x03\x04", Format::Npz)];

/// Whether a path is that of a table, by its ending.
pub(crate) fn is_table(path: &Path) -> bool {
    has_tabs(path) || path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
}

/// Whether a path is that of a table with tabs between its cells.
pub(crate) fn has_tabs(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"))
}

/// Whether a file is read once and as a whole: standard input, a pipe.
fn is_stream(file: &str) -> bool {
    let is_special = || fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir());
    is_standard(file) || is_special()
}

fn is_standard(file: &str) -> bool {
    [STANDARD, "/dev/stdin"].contains(&file)
}

/// Splits `file:name`, where the name is that of a column or an array.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((file, name)) if !Path::new(text).exists() => (file, Some(name)),
        _ => (text, None),
    }
}

/// The file and the column or array of an argument that names a table or a stream, which are read whole.
pub(crate) fn locate_whole(text: &str) -> Option<(&str, Option<&str>)> {
    let (file, name) = split(text);
    (is_table(Path::new(file)) || is_stream(file) || holds_table(file)).then_some((file, name))
}

/// Whether a file whose ending says no format begins as a table.
fn holds_table(file: &str) -> bool {
    let path = Path::new(file);
    if Format::from_path(path).is_some() || !path.is_file() {
        return false;
    }
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    if start.len() as u64 == START_BYTES {
        // The last line may be cut.
        start.truncate(start.iter().rposition(|&byte| byte == b'\n').unwrap_or_default());
    }
    read.is_ok() && table::begins(&start)
}

/// Whether an argument names standard input.
pub(crate) fn is_standard_input(text: &str) -> bool {
    is_standard(split(text).0)
}

/// What messages call a file.
pub(crate) fn shown(file: &str) -> String {
    if file == STANDARD { say!("standard-input") } else { Printable(file).to_string() }
}

/// The bytes of a file, or of standard input.
///
/// # Errors
/// It cannot be read.
pub(crate) fn bytes_of(file: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match file {
        STANDARD => stdin().lock().read_to_end(&mut bytes).map(|_| bytes),
        file => fs::read(file),
    };
    read.map_err(|error| {
        let problem = say!("cannot-read-it", error = engine::of_system(&error));
        table::in_file(&shown(file), problem).into()
    })
}

/// The format that bytes begin as; a table begins as none.
pub(crate) fn format_of(bytes: &[u8]) -> Option<Format> {
    MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, format)| *format)
}

/// The array of a table or a stream; `None` if the argument names another file.
pub(crate) fn read_whole(text: &str, budget: &Budget) -> Result<Option<Tensor>> {
    let Some((file, column)) = locate_whole(text) else { return Ok(None) };
    let (name, bytes) = (shown(file), bytes_of(file)?);
    budget.note_read(bytes.len() as u64);
    let Some(format) = format_of(&bytes) else {
        return table::read(&bytes, &name, column, budget).map(Some);
    };
    let mut container = Container::named(&name, Cursor::new(bytes), format)?;
    let index = container.find(column)?;
    let entry = &container.entries()[index];
    budget.take(entry.bytes()).map_err(|message| table::in_file(&name, message))?;
    Ok(Some(container.read(index)?))
}

/// Whether an argument names a file rather than being a shape or a value: by the file ending, which may have
/// a colon after it, by that of a Zarr store in which it is, or because there is such a file, if its name can
/// be neither a number nor the name of a size.
pub(crate) fn names_file(text: &str) -> bool {
    let (file, _) = io::locate(Path::new(text));
    let is_store = |folder| Format::from_path(folder) == Some(Format::Zarr);
    let is_value = |text: &str| is_name(text) || text.parse::<f64>().is_ok();
    let is_there = || file.is_file() && !file.to_str().is_some_and(is_value);
    let whole = split(text).0;
    is_table(Path::new(whole))
        || is_stream(whole)
        || Format::from_path(file).is_some()
        || file.ancestors().any(is_store)
        || is_there()
}

/// The shape and dtype of the array that an argument names, by its header, and the array if it has at most
/// `most` elements.
pub(crate) fn look(text: &str, most: usize) -> Result<(Vec<usize>, Option<DType>, Option<Tensor>)> {
    if let Some(tensor) = read_whole(text, &Budget::default())? {
        let (shape, dtype) = (tensor.shape().to_vec(), tensor.dtype());
        return Ok((shape, Some(dtype), (tensor.numel() <= most).then_some(tensor)));
    }
    let (file, name) = io::locate(Path::new(text));
    let container = io::open(file)?;
    let entry = &container.entries()[container.find(name)?];
    let is_small = entry.shape().iter().product::<usize>() <= most;
    let tensor = is_small.then(|| io::load(text)).transpose()?;
    Ok((entry.shape().to_vec(), entry.dtype(), tensor))
}

/// The array that an argument names, memory-mapped.
#[allow(unsafe_code)]
pub(crate) fn map(text: &str) -> zerostride::Result<Tensor> {
    // SAFETY: this program writes to no existing file: results appear under new names. It cannot check that
    // no other program changes the file meanwhile; the help of `--mmap` says that none must, and the user has
    // chosen it.
    unsafe { io::map(text) }
}
