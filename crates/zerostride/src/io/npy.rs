//! Owns the NPY format, versions 1.0 to 3.0: the preamble, the meaning of `descr`, and the writing of
//! headers. It does not know the header's grammar (`literal.rs`) nor where the bytes come from.
//!
//! Source: NumPy enhancement proposal 1; `numpy/lib/format.py`.

use std::io::{self, Read, Write};

use zerostride_ops::DType;

use crate::{Result, Tensor};

use super::Format;
use super::elements::Encoding;
use super::entry::{Entry, EntryDtype};
use super::literal::{self, Descr};
use crate::error::file::{FileError, HeaderLimit, Problem};

/// The magic number of NPY files.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header accepted, in bytes. A shape of 64 dimensions needs less than 2 KiB; only records can
/// have more.
const MAX_HEADER: u64 = 1 << 20;

/// NumPy's other names of codes: letters, and words.
const ALIASES: [(&str, &str); 16] = [
    ("b1", "? bool bool_"),
    ("i1", "b int8 byte"),
    ("u1", "B uint8 ubyte"),
    ("i2", "h int16 short"),
    ("u2", "H uint16 ushort"),
    ("i4", "i int32 intc"),
    ("u4", "I uint32 uintc"),
    ("i8", "q n p int64 int int_ intp longlong"),
    ("u8", "Q N P uint64 uint uintp ulonglong"),
    ("f2", "e float16 half"),
    ("f4", "f float32 single"),
    ("f8", "d float64 float double"),
    ("c8", "F complex64 csingle"),
    ("c16", "D complex128 complex cdouble"),
    (LONG[0], "l long"),
    (LONG[1], "L ulong"),
];

/// C's `long` and `unsigned long`, which have 32 bits on Windows.
const LONG: [&str; 2] = if size_of::<std::ffi::c_long>() == 8 { ["i8", "u8"] } else { ["i4", "u4"] };

/// Reads the header of an array in a file, or member of an archive, of `length` bytes.
///
/// `reader` is at the first byte, and is left at the first byte of the data.
pub(super) fn read_header(
    name: Option<String>,
    reader: &mut dyn Read,
    length: u64,
) -> Result<Entry, Problem> {
    let mut preamble = Vec::with_capacity(12);
    read_more(reader, 8, &mut preamble)?;
    let version = preamble.strip_prefix(MAGIC).and_then(|version| version.first_chunk::<2>());
    let Some(&[major, minor]) = version else {
        return Err(Problem::NotThisFormat { format: Format::Npy, start: preamble });
    };
    let width = match (major, minor) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        _ => return Err(Problem::Version { major, minor }),
    };
    read_more(reader, width, &mut preamble)?;
    let start = preamble.len() as u64;
    if start < 8 + width {
        return Err(Problem::Truncated { offset: 8, needed: width, found: start - 8 });
    }
    let claimed = preamble[8..].iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte));
    let rest = length.saturating_sub(start);
    if claimed > rest {
        return Err(Problem::HeaderLength { length: claimed, limit: HeaderLimit::File(rest) });
    }
    if claimed > MAX_HEADER {
        return Err(Problem::HeaderLength { length: claimed, limit: HeaderLimit::Format(MAX_HEADER) });
    }
    let mut text = vec![0; claimed as usize];
    reader.read_exact(&mut text).map_err(Problem::reading)?;
    let header = literal::parse(&text, start)?;
    Entry::new(name, kind(header.descr), &header.shape, header.fortran_order, start + claimed, rest - claimed)
}

/// Appends the next `count` bytes, or fewer at the end of the file.
fn read_more(reader: &mut dyn Read, count: u64, bytes: &mut Vec<u8>) -> Result<(), Problem> {
    reader.take(count).read_to_end(bytes).map(drop).map_err(Problem::reading)
}

fn kind(descr: Descr<'_>) -> EntryDtype {
    let text = match descr {
        Descr::Simple(text) => text,
        Descr::Structured(text) => {
            let advice = "is a record, which is not supported; save each field as an array of its own";
            return EntryDtype::Unknown { name: text.into_owned(), advice };
        }
    };
    kind_of(text)
}

/// The dtype of a notation that is no record.
pub(super) fn kind_of(text: &str) -> EntryDtype {
    known(text).map_or_else(
        || EntryDtype::Unknown { name: text.to_owned(), advice: advice(text) },
        EntryDtype::Known,
    )
}

/// The encoding of a dtype in one of NumPy's notations: a code or letter with a byte order, such as `<f4` and
/// `<f`, or one without, or a word, such as `float32`, in this machine's order.
fn known(text: &str) -> Option<Encoding> {
    let (order, code) = match text.strip_prefix(['<', '>', '=', '|']) {
        Some(code) => (&text[..1], code),
        None => ("", text),
    };
    let is_alias = |aliases: &str| {
        (order.is_empty() || code.len() == 1) && aliases.split(' ').any(|alias| alias == code)
    };
    let code = ALIASES.iter().find(|(_, aliases)| is_alias(aliases)).map_or(code, |(code, _)| code);
    let dtype = DType::of_numpy_code(code)?;
    let swapped = match order {
        "<" => cfg!(target_endian = "big"),
        ">" => cfg!(target_endian = "little"),
        _ => false,
    };
    Some(Encoding { dtype, swapped })
}

/// Why an array of a dtype that zerostride does not have is not read.
fn advice(descr: &str) -> &'static str {
    match descr.trim_start_matches(['<', '>', '=', '|']) {
        code if code.starts_with('O') => {
            "means pickled Python objects, and pickles are never read because reading one can run any code; save numbers"
        }
        "V2" => {
            "means two bytes without a meaning, which is how NumPy saves ml_dtypes.bfloat16; save it with safetensors, or as float32"
        }
        code if code.starts_with('V') => {
            "means bytes without a meaning; save a dtype of numbers, as with .view('uint8')"
        }
        code if code.starts_with(['S', 'U', 'a']) => "is text, which is not supported; save numbers",
        code if code.starts_with(['M', 'm']) => {
            "is a date or a duration; save the numbers, as with .view('int64')"
        }
        "f16" | "c32" | "f12" | "c24" => "is a platform's long double; save it as float64 or complex128",
        _ => {
            "is not one that zerostride knows; save it as one of '|b1', '|u1' to '<u8', '|i1' to '<i8', '<f2' to '<f8', '<c8', '<c16'"
        }
    }
}

/// NumPy's notation of a dtype in this machine's byte order, if it has the dtype.
pub(super) fn descr(dtype: DType) -> Option<String> {
    let code = dtype.numpy_code()?;
    let order = match dtype.item_size() {
        1 => '|',
        _ if cfg!(target_endian = "big") => '>',
        _ => '<',
    };
    Some(format!("{order}{code}"))
}

/// The header of a row-major array in this machine's byte order, byte for byte as `numpy.save` writes it.
pub(super) fn header(dtype: DType, shape: &[usize]) -> Result<Vec<u8>, Problem> {
    let Some(descr) = descr(dtype) else {
        let advice = "does not exist in NPY and NPZ; write to .safetensors, or convert to f32 first";
        return Err(Problem::DType { name: dtype.name().to_owned(), advice });
    };
    let sizes = match shape {
        [size] => format!("{size},"),
        sizes => sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Spaces so that the first size can grow to 20 digits and rows be appended to the file in place, as in
    // NumPy.
    if let Some(first) = shape.first() {
        let room = 21 - first.to_string().len();
        text.extend(std::iter::repeat_n(' ', room));
    }
    // The header ends with a line feed, and the data start at a multiple of 64 bytes.
    let start = (10 + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', start - 10 - text.len() - 1));
    text.push('\n');

    let mut bytes = Vec::with_capacity(start);
    bytes.extend(MAGIC);
    bytes.extend([1, 0]);
    // 64 sizes of 20 digits are far below version 1.0's limit of 65535 bytes.
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    Ok(bytes)
}

/// Writes an array's data after its [`header`].
pub(super) fn write_data(dtype: DType, elements: &[u8], writer: &mut dyn Write) -> io::Result<()> {
    Encoding { dtype, swapped: false }.write(elements, writer)
}

/// Writes one array.
pub(super) fn write(file: &str, tensor: &Tensor, out: &mut dyn Write) -> Result<()> {
    let failed = |problem| FileError::new(file, None, problem);
    let header = header(tensor.dtype(), tensor.shape()).map_err(failed)?;
    let written = tensor.with_bytes(|elements| {
        out.write_all(&header)?;
        write_data(tensor.dtype(), elements, out)
    })?;
    written.map_err(|error| failed(Problem::writing(error)).into())
}
