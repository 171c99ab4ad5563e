//! Owns tables of numbers and truth values as text: CSV, or with spaces between numbers, with or without a
//! line of names. It does not know where the text comes from.

use std::borrow::Cow;
use std::io::{BufWriter, Write};

use csv::{Reader, ReaderBuilder, StringRecord, Trim};
use zerostride::{DType, Tensor};

use crate::elements::{TABLE, exact};
use crate::evaluate::Budget;
use crate::failure::{Failure, Report, Result};
use crate::words::say;

/// The characters between cells; the one that the first line has most of is taken.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// The records of a table, one by one.
struct Rows<'a> {
    reader: Reader<&'a [u8]>,
    record: StringRecord,
    /// Whether the first line has quotes and the next has none, so that numbers in it are names.
    has_quoted_names: bool,
    /// The line of names, if there is one.
    names: Option<Vec<String>>,
    /// How many records follow it, so far.
    count: usize,
}

/// The first two lines that are not blank.
fn first_lines(text: &[u8]) -> [&[u8]; 2] {
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    [(); 2].map(|()| lines.next().unwrap_or_default())
}

/// The text with tabs between cells, where spaces are between numbers, as NumPy and R write them.
fn with_separators(text: &[u8]) -> Cow<'_, [u8]> {
    fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
        line.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty())
    }
    let [first, second] = first_lines(text);
    let numbers = if second.is_empty() { first } else { second };
    let is_number = |cell: &[u8]| str::from_utf8(cell).is_ok_and(|cell| Cell::of(cell).is_some());
    let has_separators = first.iter().chain(second).any(|byte| SEPARATORS.contains(byte));
    if has_separators || cells(numbers).count() < 2 || !cells(numbers).all(is_number) {
        return text.into();
    }
    let lines = text.split(|&byte| byte == b'\n').map(|line| cells(line).collect::<Vec<_>>().join(&b'\t'));
    lines.collect::<Vec<_>>().join(&b'\n').into()
}

impl<'a> Rows<'a> {
    /// The records of a text whose cells have separators.
    fn new(text: &'a [u8]) -> Rows<'a> {
        let [first, second] = first_lines(text);
        let has_quoted_names = first.contains(&b'"') && !second.contains(&b'"');
        let count = |separator: u8| first.iter().filter(|&&byte| byte == separator).count();
        let separator = SEPARATORS.into_iter().rev().max_by_key(|&separator| count(separator));
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).trim(Trim::All).delimiter(separator.unwrap_or(b','));
        let (reader, record) = (builder.from_reader(text), StringRecord::new());
        Rows { reader, record, has_quoted_names, names: None, count: 0 }
    }

    /// Goes to the next record, past the line of names: a first line with a cell that is no number, or in
    /// quotes that the next line has not.
    ///
    /// # Errors
    /// It has not as many cells as the first, or is no text; there is no line at all, or nothing but a line
    /// of names that are meant as numbers.
    fn next(&mut self) -> Result<bool, String> {
        while self.reader.read_record(&mut self.record).map_err(|error| error.to_string())? {
            let is_first = self.count == 0 && self.names.is_none();
            let has_names =
                || self.has_quoted_names || self.record.iter().any(|cell| Cell::of(cell).is_none());
            if is_first && has_names() {
                self.names = Some(self.record.iter().map(str::to_owned).collect());
                continue;
            }
            self.count += 1;
            return Ok(true);
        }
        match &self.names {
            _ if self.count > 0 => Ok(false),
            None => Err(say!("table-empty")),
            Some(names) if !self.has_quoted_names && names.iter().all(|name| is_numbers(name)) => {
                Err(say!("table-of-one-line", line = names.join(", ")))
            }
            Some(_) => Ok(false),
        }
    }

    /// The place of a column.
    ///
    /// # Errors
    /// No column has that name, or several have it.
    fn place(&self, name: &str) -> Result<usize, String> {
        let names = self.names.as_ref().ok_or_else(|| say!("no-column-without-names", name = name))?;
        let mut places = names.iter().enumerate().filter(|(_, known)| *known == name).map(|(place, _)| place);
        match (places.next(), places.count()) {
            (Some(place), 0) => Ok(place),
            (Some(_), others) => Err(say!("columns-of-one-name", count = others + 1, name = name)),
            (None, _) => Err(say!("no-column", name = name, names = listed(names))),
        }
    }

    /// The refusal of a table for such a cell, which tells the columns of numbers if all are wanted.
    fn refused(&self, file: &str, place: usize, is_whole: bool) -> Report {
        let report = in_file(file, self.no_number(place));
        let named = self.names.iter().flatten().zip(&self.record).filter(|_| is_whole);
        let numbers = named.filter(|(_, cell)| Cell::of(cell).is_some()).map(|(name, _)| name);
        let numbers = numbers.collect::<Vec<_>>();
        let Some(first) = numbers.first() else { return report };
        let (argument, columns) = (format!("{file}:{first}"), listed(&numbers));
        report.help(say!("take-a-column", argument = argument, columns = columns))
    }

    /// The refusal of a cell of the record.
    fn no_number(&self, place: usize) -> String {
        let line = self.record.position().map_or(0, csv::Position::line);
        let name = self.names.as_ref().and_then(|names| names.get(place));
        let column = match name {
            Some(name) => say!("column-named", name = &**name),
            None => say!("column-numbered", number = place + 1),
        };
        say!("no-number-in", line = line, column = column, cell = &self.record[place])
    }
}

/// Names as a list.
fn listed(names: &[impl std::fmt::Display]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Whether a name is nothing but numbers between spaces and brackets, as other programs print arrays.
fn is_numbers(name: &str) -> bool {
    let is_between = |char: char| char.is_whitespace() || "()[]{}".contains(char);
    name.split(is_between).all(|part| Cell::of(part).is_some())
}

/// A cell that is a number, a truth value, or empty.
struct Cell {
    value: f64,
    /// The same, if it is a whole number or a truth value.
    whole: Option<i64>,
    dtype: DType,
}

impl Cell {
    /// `None` if it is something else.
    fn of(cell: &str) -> Option<Cell> {
        let (value, whole, dtype) = match cell {
            "True" | "TRUE" | "true" => (1.0, Some(1), DType::Bool),
            "False" | "FALSE" | "false" => (0.0, Some(0), DType::Bool),
            "" | "NA" => (f64::NAN, None, DType::F64),
            number => match number.parse() {
                Ok(whole) => (whole as f64, Some(whole), DType::I64),
                Err(_) => (number.parse().ok()?, None, DType::F64),
            },
        };
        Some(Cell { value, whole, dtype })
    }
}

/// The dtype that holds cells of two.
fn joined(one: Option<DType>, other: DType) -> DType {
    one.filter(|one| one.category() > other.category()).unwrap_or(other)
}

/// The dtype of no cells.
const EMPTY: DType = DType::I64;

/// Reads a table: bools if all cells are true or false, i64 if all are whole numbers, else f64; an empty cell
/// and `NA` are NaN. With a name, only the column of that name.
///
/// # Errors
/// No lines, or lines of different lengths; a cell that is no number; no column of that name, or several; too
/// little memory.
pub(crate) fn read(text: &[u8], file: &str, column: Option<&str>, budget: &Budget) -> Result<Tensor> {
    let refused = |message: String| Failure::from(in_file(file, message));
    let text = with_separators(text);
    let mut rows = Rows::new(&text);
    let (mut wide, mut whole): (Vec<f64>, Option<Vec<i64>>) = (Vec::new(), Some(Vec::new()));
    let mut dtype = None;
    let mut more = rows.next().map_err(refused)?;
    let place = column.map(|name| rows.place(name)).transpose().map_err(refused)?;
    let width = rows.names.as_ref().map_or(rows.record.len(), Vec::len);
    while more {
        for (at, cell) in rows.record.iter().enumerate() {
            if place.is_some_and(|place| place != at) {
                continue;
            }
            let cell = Cell::of(cell).ok_or_else(|| rows.refused(file, at, column.is_none()))?;
            wide.push(cell.value);
            dtype = Some(joined(dtype, cell.dtype));
            whole = whole.zip(cell.whole).map(|(mut all, whole)| {
                all.push(whole);
                all
            });
        }
        more = rows.next().map_err(refused)?;
    }
    let dtype = dtype.unwrap_or(EMPTY);
    let shape = if column.is_some() { vec![rows.count] } else { vec![rows.count, width] };
    budget.take_tensor(&shape, dtype).map_err(refused)?;
    Ok(match whole {
        Some(whole) if dtype == DType::Bool => {
            Tensor::from_vec(whole.into_iter().map(|own| own != 0).collect(), &shape)?
        }
        Some(whole) => Tensor::from_vec(whole, &shape)?,
        None => Tensor::from_vec(wide, &shape)?,
    })
}

/// Whether text begins as a table: its first line, or the one after a line of names, has numbers alone.
pub(crate) fn begins(text: &[u8]) -> bool {
    let text = with_separators(text);
    let mut rows = Rows::new(&text);
    let has_row = rows.next().is_ok_and(|has_row| has_row);
    let mut cells = rows.record.iter();
    has_row && cells.all(|cell| Cell::of(cell).is_some()) && rows.record.iter().any(|cell| !cell.is_empty())
}

/// What a table holds: the whole of it, and its columns if these have names, or one column.
pub(crate) struct Content {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// `None` where a column is no numbers, or one column was asked for.
    pub(crate) whole: Option<DType>,
    pub(crate) named: Vec<Column>,
}

/// A column with a name.
pub(crate) struct Column {
    pub(crate) name: String,
    /// The dtype that it is read in, or why it is not.
    pub(crate) dtype: Result<DType, String>,
}

/// Looks through a table, or at one column of it, without keeping its elements.
///
/// # Errors
/// No lines, lines of different lengths, or no text; no column of that name, or several.
pub(crate) fn look(text: &[u8], column: Option<&str>) -> Result<Content, String> {
    let text = with_separators(text);
    let mut rows = Rows::new(&text);
    let mut columns: Vec<Result<Option<DType>, String>> = Vec::new();
    while rows.next()? {
        columns.resize(rows.record.len(), Ok(None));
        for (at, cell) in rows.record.iter().enumerate() {
            if let Ok(dtype) = columns[at] {
                let cell = Cell::of(cell).ok_or_else(|| rows.no_number(at));
                columns[at] = cell.map(|cell| Some(joined(dtype, cell.dtype)));
            }
        }
    }
    if let Some(names) = &rows.names {
        columns.resize(names.len(), Ok(None));
    }
    let dtype = columns.iter().flatten().flatten().fold(None, |all, &own| Some(joined(all, own)));
    let dtype = dtype.unwrap_or(EMPTY);
    let place = column.map(|name| rows.place(name)).transpose()?;
    let is_whole = place.is_none() && columns.iter().all(Result::is_ok);
    let (count, whole) = (columns.len(), is_whole.then_some(dtype));
    let named = rows.names.into_iter().flatten().zip(columns).enumerate();
    let named = named.filter(|(at, _)| place.is_none_or(|place| place == *at));
    let named = named.map(|(_, (name, dtype))| Column { name, dtype: dtype.map(|own| own.unwrap_or(EMPTY)) });
    let named = named.collect();
    Ok(Content { rows: rows.count, columns: count, whole, named })
}

/// A problem of a table.
pub(crate) fn in_file(file: &str, problem: String) -> Report {
    Report::usage(say!("in-file", file = file, problem = problem))
}

/// Writes a tensor of at most two dimensions, a line for each row. No number needs quotes.
///
/// # Errors
/// More dimensions; the text cannot be written.
pub(crate) fn write(tensor: &Tensor, separator: &str, out: &mut dyn Write) -> Result {
    check(tensor.shape())?;
    let width = if tensor.ndim() == 2 { tensor.shape()[1] } else { 1 };
    let mut out = BufWriter::new(out);
    for row in exact(tensor, &TABLE)?.chunks(width.max(1)) {
        writeln!(out, "{}", row.join(separator))?;
    }
    Ok(out.flush()?)
}

/// Refuses shapes that no table has.
pub(crate) fn check(shape: &[usize]) -> Result {
    match shape.len() {
        0..=2 => Ok(()),
        ndim => Err(Report::usage(say!("table-has-two-dims", ndim = ndim))
            .help(say!("write-npy-or-reshape"))
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, column: Option<&str>) -> Result<Tensor, String> {
        super::read(text.as_bytes(), "t.csv", column, &Budget::default()).map_err(|failure| match failure {
            Failure::Report(report) => report.message,
            Failure::BrokenPipe => unreachable!("nothing is written"),
        })
    }

    #[test]
    fn tables_are_read_with_names_and_without() {
        for (text, column, shape, expected) in [
            ("1,2\n3,4\n", None, &[2, 2][..], "[1,2,3,4]"),
            ("a,b\n1,2\n3,4", None, &[2, 2], "[1,2,3,4]"),
            ("a;b\r\n1; 2.5\r\n3;\r\n", None, &[2, 2], "[1.0,2.5,3.0,\"NaN\"]"),
            ("a\tb\n1\tx\n", Some("a"), &[1], "[1]"),
            ("1 2 3\n", None, &[1, 3], "[1,2,3]"),
            ("  1.5e0  2\n-3 NA \n", None, &[2, 2], "[1.5,2.0,-3.0,\"NaN\"]"),
            ("a  b\n\n1  2\n", Some("b"), &[1], "[2]"),
            ("price in EUR\n1\n2\n", None, &[2, 1], "[1,2]"),
            ("a,b\n1,True\n2,False\n", Some("b"), &[2], "[true,false]"),
            ("TRUE,false\n", None, &[1, 2], "[true,false]"),
            ("a,b\n1,True\n2,False\n", None, &[2, 2], "[1,1,2,0]"),
            ("True,1.5\n", None, &[1, 2], "[1.0,1.5]"),
            ("-inf,nan\n", None, &[1, 2], "[\"-Infinity\",\"NaN\"]"),
            ("9007199254740993\n", None, &[1, 1], "[9007199254740993]"),
            ("a,b\n", None, &[0, 2], "[]"),
            ("a,b\n", Some("b"), &[0], "[]"),
            // Quotes make names of numbers, but not where all cells have them.
            ("\"2019\",\"2020\"\n1,2\n", Some("2020"), &[1], "[2]"),
            ("\n\"2019\"\n\n1\n", None, &[1, 1], "[1]"),
            ("\"2019\",\"2020\"\n\"1\",\"2\"\n", None, &[2, 2], "[2019,2020,1,2]"),
            ("2019,2020\n1,2\n", None, &[2, 2], "[2019,2020,1,2]"),
        ] {
            let tensor = read(text, column).unwrap();
            assert_eq!(tensor.shape(), shape, "{text}");
            assert_eq!(format!("[{}]", exact(&tensor, &crate::elements::JSON).unwrap().join(",")), expected);
        }
    }

    #[test]
    fn a_look_finds_what_is_read() {
        for text in [
            "1 2\n3 4\n",
            "a b\nTrue NA\nFalse 1\n",
            "true\nFALSE\n",
            "1,2\n3,4\n",
            "a,b\n1,2\n3,4.5",
            "a;b\r\n1; 2.5\r\n3;\r\n",
            "a,b\n",
        ] {
            let content = look(text.as_bytes(), None).unwrap();
            let tensor = read(text, None).unwrap();
            assert_eq!(content.whole, Some(tensor.dtype()), "{text}");
            assert_eq!([content.rows, content.columns], tensor.shape(), "{text}");
            for Column { name, dtype } in content.named {
                let column = read(text, Some(&name)).unwrap();
                assert_eq!((dtype.unwrap(), content.rows), (column.dtype(), column.numel()), "{text}");
            }
        }
        let content = look(b"a,b\n1,x\n2,y\n", None).unwrap();
        assert_eq!((content.whole, content.columns), (None, 2));
        assert_eq!(content.named[1].dtype, Err("line 2, column `b`: `x` is not a number".to_owned()));
        assert!(look(b"1,2\n3\n", None).is_err() && look(b"", None).is_err());
    }

    #[test]
    fn what_is_no_table_of_numbers_says_where() {
        for (text, column, message) in [
            ("a,b\n1,x\n", None, "t.csv: line 2, column `b`: `x` is not a number"),
            ("1,2\n3,x\n", None, "t.csv: line 2, column 2: `x` is not a number"),
            ("1,2\n", Some("a"), "t.csv: there is no column `a`: no line of names comes first"),
            ("b,c\n1,2\n", Some("a"), "t.csv: there is no column `a`; there are `b`, `c`"),
            ("a,b,a\n1,2,3\n", Some("a"), "t.csv: 2 columns are called `a`"),
            ("", None, "t.csv: it is empty"),
            ("\n\n", Some("a"), "t.csv: it is empty"),
        ] {
            assert_eq!(read(text, column).unwrap_err(), message);
        }
        let said = read("1,2\n3\n", None).unwrap_err();
        assert!(said.contains("line: 2") && said.contains("previous record has 2 fields"), "{said}");
    }

    #[test]
    fn what_is_written_reads_back() {
        let x = Tensor::from_slice(&[0.1f64, f64::NAN, -3e300, f64::INFINITY], &[2, 2]).unwrap();
        let mut text = Vec::new();
        assert!(write(&x, ",", &mut text).is_ok());
        assert_eq!(String::from_utf8(text.clone()).unwrap(), "0.1,nan\n-3e300,inf\n");
        let back = super::read(&text, "t.csv", None, &Budget::default()).unwrap_or_else(|_| unreachable!());
        assert_eq!(exact(&back, &TABLE).unwrap(), exact(&x, &TABLE).unwrap());
    }
}
