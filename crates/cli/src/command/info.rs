//! Owns `zs info [FILE]...`: what is in files, for people and for programs. It does not know formats (the
//! engine's `io`, `table.rs`).

use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;
use std::process::ExitCode;
use std::slice;

use serde_json::{Value, json};
use zerostride::DType;
use zerostride::io::{self, Container, Entry, Printable};
use zerostride_explain::Lang;

use crate::args::InfoArgs;
use crate::failure::{Failure, Result, Status};
use crate::file_text;
use crate::words::{self, say};
use crate::{bytes, report, table, terminal};

pub(crate) fn info(args: &InfoArgs) -> Result<ExitCode> {
    let mut status = ExitCode::SUCCESS;
    let mut out = terminal::stdout();
    if args.files.is_empty() {
        out.write_all(zerostride::show_config().as_bytes())?;
    }
    if args.json {
        return json_of(args);
    }
    for path in &args.files {
        match Listing::of(path) {
            Ok(listing) => out.write_all(listing.text(path).as_bytes())?,
            // The other files may be fine.
            Err(Failure::Report(refusal)) => {
                out.flush()?;
                report::draw(&refusal, &mut anstream::stderr().lock())?;
                status = Status::Usage.into();
            }
            Err(closed) => return Err(closed),
        }
    }
    Ok(status)
}

/// A line about all files, in English for every user, since programs read it; a file that cannot be read has
/// an error instead of arrays.
fn json_of(args: &InfoArgs) -> Result<ExitCode> {
    words::speak(Lang::En);
    let mut status = ExitCode::SUCCESS;
    let mut files = Vec::new();
    for path in &args.files {
        let (mut format, mut arrays, mut error) = (Value::Null, Value::Null, Value::Null);
        match Listing::of(path) {
            Ok(listing) => {
                format = listing.format.into();
                arrays = listing.arrays.iter().filter(|array| array.is_array).map(Array::json).collect();
            }
            Err(Failure::Report(refusal)) => {
                error = refusal.message.into();
                status = Status::Usage.into();
            }
            Err(closed) => return Err(closed),
        }
        files.push(
            json!({"path": path.to_string_lossy(), "format": format, "arrays": arrays, "error": error}),
        );
    }
    writeln!(terminal::stdout(), "{}", json!({"version": 1, "files": files}))?;
    Ok(status)
}

/// What is in a file.
struct Listing {
    format: String,
    /// As in `2 arrays`.
    headline: String,
    bytes: u64,
    arrays: Vec<Array>,
}

/// An array in a file, or another member of it.
struct Array {
    name: Option<String>,
    dtype: String,
    /// `None` where it is not known.
    shape: Option<Vec<usize>>,
    bytes: u64,
    is_array: bool,
    is_readable: bool,
    is_big_endian: bool,
    is_fortran: bool,
    refusal: Option<String>,
}

impl Listing {
    /// Reads headers, and of tables and streams everything. Behind a colon, one array or column is named.
    fn of(path: &Path) -> Result<Listing> {
        let text = path.to_string_lossy();
        let Some((file, name)) = file_text::locate_whole(&text) else {
            let (file, name) = io::locate(path);
            return Listing::of_container(&io::open(file)?, name);
        };
        let (bytes, file) = (file_text::bytes_of(file)?, file_text::shown(file));
        match file_text::format_of(&bytes) {
            Some(format) => {
                Listing::of_container(&Container::named(&file, Cursor::new(bytes), format)?, name)
            }
            None => {
                let content = table::look(&bytes, name);
                Ok(Listing::of_table(content.map_err(|problem| table::in_file(&file, problem))?))
            }
        }
    }

    fn of_container<R: Read + Seek>(container: &Container<R>, name: Option<&str>) -> Result<Listing> {
        let entries = match name {
            Some(_) => slice::from_ref(&container.entries()[container.find(name)?]),
            None => container.entries(),
        };
        let (all, arrays) = (entries.len(), entries.iter().filter(|entry| entry.is_array()).count());
        let headline = say!("arrays", count = arrays);
        Ok(Listing {
            format: container.format().to_string().trim_start_matches('.').to_owned(),
            headline: if arrays == all {
                headline
            } else {
                say!("of-members", arrays = headline, count = all)
            },
            bytes: entries.iter().map(Entry::bytes).fold(0, u64::saturating_add),
            arrays: entries.iter().map(Array::of_entry).collect(),
        })
    }

    /// The whole table, if it was asked for and all of it is numbers, and the columns that have names.
    fn of_table(content: table::Content) -> Listing {
        let table::Content { rows, columns, whole, named } = content;
        let whole = whole.map(|dtype| Array::of_cells(None, Ok(dtype), vec![rows, columns]));
        let bytes = whole.as_ref().map(|array| array.bytes);
        let named =
            named.into_iter().map(|column| Array::of_cells(Some(column.name), column.dtype, vec![rows]));
        let arrays: Vec<Array> = whole.into_iter().chain(named).collect();
        Listing {
            format: "csv".to_owned(),
            headline: say!("a-table", rows = rows, columns = columns),
            bytes: bytes.unwrap_or_else(|| arrays.iter().map(|array| array.bytes).sum()),
            arrays,
        }
    }

    /// The file and its arrays, in columns.
    fn text(&self, path: &Path) -> String {
        let file = file_text::shown(&path.to_string_lossy());
        let mut text = format!("{file}: {}, {}\n", self.headline, bytes::show(self.bytes));
        let rows: Vec<[String; 4]> = self.arrays.iter().map(Array::row).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let [w0, w1, w2, w3] = [width(0), width(1), width(2), width(3)];
        for ([name, dtype, shape, size], array) in rows.iter().zip(&self.arrays) {
            let line = format!("  {name:<w0$}  {dtype:<w1$}  {shape:<w2$}  {size:>w3$}{}", array.remarks());
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

impl Array {
    fn of_entry(entry: &Entry) -> Array {
        Array {
            name: entry.name().map(str::to_owned),
            dtype: entry.dtype_name().to_owned(),
            shape: entry.is_described().then(|| entry.shape().to_vec()),
            bytes: entry.bytes(),
            is_array: entry.is_array(),
            is_readable: entry.dtype().is_some(),
            is_big_endian: entry.is_big_endian(),
            is_fortran: entry.is_fortran(),
            refusal: entry.refusal(),
        }
    }

    /// Cells of a table that are read together.
    fn of_cells(name: Option<String>, dtype: Result<DType, String>, shape: Vec<usize>) -> Array {
        let item = dtype.as_ref().map_or(0, |dtype| dtype.item_size() as u64);
        Array {
            name,
            dtype: dtype.as_ref().map_or("-", |dtype| dtype.name()).to_owned(),
            bytes: shape.iter().fold(item, |bytes, &size| bytes.saturating_mul(size as u64)),
            shape: dtype.is_ok().then_some(shape),
            is_array: true,
            is_readable: dtype.is_ok(),
            is_big_endian: false,
            is_fortran: false,
            refusal: dtype.err(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "dtype": self.dtype,
            "shape": self.shape,
            "bytes": self.bytes,
            "big_endian": self.is_big_endian,
            "fortran_order": self.is_fortran,
            "error": self.refusal,
        })
    }

    fn row(&self) -> [String; 4] {
        [
            Printable(self.name.as_deref().unwrap_or("-")).to_string(),
            Printable(&self.dtype).to_string(),
            self.shape.as_ref().map_or_else(|| "-".to_owned(), |shape| python_tuple(shape)),
            if self.bytes == 0 && self.shape.is_none() { "-".to_owned() } else { bytes::show(self.bytes) },
        ]
    }

    fn remarks(&self) -> String {
        let unread = match &self.refusal {
            // Of an array without dtype and shape, only the reason why it cannot be read is shown.
            Some(why) if self.shape.is_none() => say!("cannot-be-read-since", why = &**why),
            _ => say!("cannot-be-read"),
        };
        let remarks = [
            (self.is_big_endian, say!("big-endian")),
            (self.is_fortran, say!("fortran-order")),
            (self.is_array && !self.is_readable, unread),
        ];
        remarks.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| format!("  {text}")).collect()
    }
}

fn python_tuple(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" })
}
