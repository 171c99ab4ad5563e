//! Owns tables of numbers as text: CSV, with or without a line of names. It does not know where the text
//! comes from.

use std::io::{self, Write};

use csv::{ReaderBuilder, StringRecord, Trim};
use zerostride::{DType, Tensor};

use crate::elements::{TABLE, exact};
use crate::evaluate::Budget;
use crate::failure::{Failure, Report, Result};

/// The characters between cells; the one that the first line has most of is taken.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// Reads a table: i64 if all cells are whole numbers, else f64; an empty cell is NaN. With a name, only the
/// column of that name.
///
/// # Errors
/// Lines of different lengths; a cell that is no number; no column of that name; too little memory.
pub(crate) fn read(text: &[u8], file: &str, column: Option<&str>, budget: &Budget) -> Result<Tensor> {
    let refused = |message: String| Failure::from(Report::usage(format!("{file}: {message}")));
    let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let count = |separator: u8| first.iter().filter(|&&byte| byte == separator).count();
    let separator = SEPARATORS.into_iter().rev().max_by_key(|&separator| count(separator));
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .trim(Trim::All)
        .delimiter(separator.unwrap_or(b','))
        .from_reader(text);
    let mut record = StringRecord::new();
    let (mut wide, mut whole): (Vec<f64>, Option<Vec<i64>>) = (Vec::new(), Some(Vec::new()));
    let (mut names, mut rows, mut width): (Option<Vec<String>>, usize, usize) = (None, 0, 0);
    while reader.read_record(&mut record).map_err(|error| refused(error.to_string()))? {
        let is_first = rows == 0 && names.is_none();
        if is_first && record.iter().any(|cell| number(cell).is_none()) {
            names = Some(record.iter().map(str::to_owned).collect());
            continue;
        }
        let line = record.position().map_or(0, csv::Position::line);
        let place = column.map(|name| place(name, names.as_deref())).transpose().map_err(refused)?;
        let before = wide.len();
        for (number, cell) in record.iter().enumerate() {
            if place.is_some_and(|place| place != number) {
                continue;
            }
            let value = self::number(cell).ok_or_else(|| {
                let of = names.as_ref().and_then(|names| names.get(number));
                let of =
                    of.map_or_else(|| format!("column {}", number + 1), |name| format!("column `{name}`"));
                refused(format!("line {line}, {of}: `{cell}` is not a number"))
            })?;
            wide.push(value);
            whole = whole.and_then(|mut whole| {
                whole.push(cell.parse().ok()?);
                Some(whole)
            });
        }
        (width, rows) = (wide.len() - before, rows + 1);
    }
    if let (Some(name), 0) = (column, rows) {
        place(name, names.as_deref()).map_err(refused)?;
    }
    let dtype = if whole.is_some() { DType::I64 } else { DType::F64 };
    let shape = if column.is_some() { vec![rows] } else { vec![rows, width] };
    budget.take_tensor(&shape, dtype).map_err(refused)?;
    Ok(match whole {
        Some(whole) => Tensor::from_vec(whole, &shape)?,
        None => Tensor::from_vec(wide, &shape)?,
    })
}

/// A cell as a number; an empty one is NaN.
fn number(cell: &str) -> Option<f64> {
    if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() }
}

/// The place of a column.
fn place(name: &str, names: Option<&[String]>) -> Result<usize, String> {
    let names = names.ok_or_else(|| format!("there is no column `{name}`: no line of names comes first"))?;
    let known = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    names
        .iter()
        .position(|known| known == name)
        .ok_or_else(|| format!("there is no column `{name}`; there are {}", known()))
}

/// Writes a tensor of at most two dimensions, a line for each row.
///
/// # Errors
/// More dimensions; the text cannot be written.
pub(crate) fn write(tensor: &Tensor, out: &mut dyn Write) -> Result {
    check(tensor.shape())?;
    let width = if tensor.ndim() == 2 { tensor.shape()[1] } else { 1 };
    let mut writer = csv::Writer::from_writer(out);
    for row in exact(tensor, &TABLE)?.chunks(width.max(1)) {
        writer.write_record(row).map_err(io::Error::other)?;
    }
    Ok(writer.flush()?)
}

/// Refuses shapes that no table has.
pub(crate) fn check(shape: &[usize]) -> Result {
    match shape.len() {
        0..=2 => Ok(()),
        ndim => Err(Report::usage(format!("a table has at most two dimensions, and the result has {ndim}"))
            .help("write .npy, or reshape it, as in x.flatten(1)")
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
            ("-inf,nan\n", None, &[1, 2], "[\"-Infinity\",\"NaN\"]"),
            ("9007199254740993\n", None, &[1, 1], "[9007199254740993]"),
            ("", None, &[0, 0], "[]"),
        ] {
            let tensor = read(text, column).unwrap();
            assert_eq!(tensor.shape(), shape, "{text}");
            assert_eq!(format!("[{}]", exact(&tensor, &crate::elements::JSON).unwrap().join(",")), expected);
        }
    }

    #[test]
    fn what_is_no_table_of_numbers_says_where() {
        for (text, column, message) in [
            ("a,b\n1,x\n", None, "t.csv: line 2, column `b`: `x` is not a number"),
            ("1,2\n3,x\n", None, "t.csv: line 2, column 2: `x` is not a number"),
            ("1,2\n", Some("a"), "t.csv: there is no column `a`: no line of names comes first"),
            ("b,c\n1,2\n", Some("a"), "t.csv: there is no column `a`; there are `b`, `c`"),
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
        assert!(write(&x, &mut text).is_ok());
        assert_eq!(String::from_utf8(text.clone()).unwrap(), "0.1,nan\n-3e300,inf\n");
        let back = super::read(&text, "t.csv", None, &Budget::default()).unwrap_or_else(|_| unreachable!());
        assert_eq!(exact(&back, &TABLE).unwrap(), exact(&x, &TABLE).unwrap());
    }
}
