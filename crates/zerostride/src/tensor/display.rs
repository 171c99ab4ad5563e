//! Owns the printed form of a tensor: PyTorch's, character by character, with its default options. It does
//! not know how elements are stored: it reads those it prints one index at a time.
//!
//! Source: PyTorch `torch/_tensor_str.py`, measured in `spec/golden/printing.json`.

use std::fmt::{self, Write};

use zerostride_ops::{Complex32, Complex64, DType, bf16, f16};

use crate::Device;

/// Digits after the decimal point, unless a format says how many.
pub(crate) const PRECISION: usize = 4;
/// A tensor of more elements is summarised.
const THRESHOLD: usize = 1000;
/// Elements shown at each end of a summarised dimension.
const EDGE_ITEMS: usize = 3;
/// Columns of a line.
const LINE_WIDTH: usize = 80;
/// Elements beyond which even a summary is not printed. Dimensions of up to six elements are never
/// summarised, so a view of shape `[2] * 60` would print 2^60 of them. PyTorch has no such limit.
const MOST_PRINTED: usize = 1 << 20;

const PREFIX: &str = "tensor(";

/// An element as it is printed: every dtype's values fit without rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PrintedElement {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Complex(Complex64),
}

macro_rules! from_element {
    ($($from:ty => $variant:ident;)*) => {
        $(impl From<$from> for PrintedElement {
            fn from(value: $from) -> PrintedElement {
                PrintedElement::$variant(value.into())
            }
        })*
    };
}

from_element! {
    bool => Bool;
    u8 => Unsigned; u16 => Unsigned; u32 => Unsigned; u64 => Unsigned;
    i8 => Signed; i16 => Signed; i32 => Signed; i64 => Signed;
    f16 => Float; bf16 => Float; f32 => Float; f64 => Float;
    Complex64 => Complex;
}

impl From<Complex32> for PrintedElement {
    fn from(value: Complex32) -> PrintedElement {
        PrintedElement::Complex(Complex64::new(value.re.into(), value.im.into()))
    }
}

/// The text of `str(torch_tensor)` with so many digits after the decimal point. `read` gives the element at
/// an index; it is called once for each element printed.
pub(crate) fn format(
    device: Device,
    dtype: DType,
    shape: &[usize],
    precision: usize,
    read: &mut dyn FnMut(&[usize]) -> PrintedElement,
) -> String {
    let numel = shape.iter().fold(1usize, |numel, &size| numel.saturating_mul(size));
    let summarise = numel > THRESHOLD;
    let printed = shape.iter().fold(1usize, |count, &size| {
        let shown = if summarise { size.min(2 * EDGE_ITEMS) } else { size };
        count.saturating_mul(shown)
    });
    let too_many = printed > MOST_PRINTED;

    let mut text = String::from(PREFIX);
    if numel == 0 {
        text.push_str("[]");
    } else if too_many {
        text.push_str("...");
    } else {
        let mut values = Vec::with_capacity(printed);
        gather(shape, summarise, &mut Vec::with_capacity(shape.len()), read, &mut values);
        let cells = cells(&values, precision);
        Brackets { summarise, per_line: cells.width + 2, cells: &mut cells.texts.into_iter() }.write(
            &mut text,
            shape,
            PREFIX.len(),
        );
    }

    let mut suffixes = Vec::new();
    if device != Device::Cpu {
        suffixes.push(format!("device='{device}'"));
    }
    if too_many || (numel == 0 && shape.len() != 1) {
        suffixes.push(format!("size={}", Tuple(shape)));
    }
    // An empty tensor has no elements that would show its dtype, so only the default dtype is omitted.
    let evident = match dtype {
        DType::F32 => true,
        DType::Bool | DType::I64 | DType::C64 => numel != 0,
        _ => false,
    };
    if !evident {
        suffixes.push(format!("dtype=torch.{}", dtype.torch_name()));
    }
    push_suffixes(&mut text, &suffixes);
    text
}

/// The indices of a dimension that are shown.
fn shown(size: usize, summarise: bool) -> impl Iterator<Item = usize> {
    let (head, tail) =
        if summarise && size > 2 * EDGE_ITEMS { (EDGE_ITEMS, size - EDGE_ITEMS) } else { (size, size) };
    (0..head).chain(tail..size)
}

/// Reads the elements that are shown, in row-major order.
fn gather(
    rest: &[usize],
    summarise: bool,
    index: &mut Vec<usize>,
    read: &mut dyn FnMut(&[usize]) -> PrintedElement,
    values: &mut Vec<PrintedElement>,
) {
    let Some((&size, rest)) = rest.split_first() else {
        values.push(read(index));
        return;
    };
    for at in shown(size, summarise) {
        index.push(at);
        gather(rest, summarise, index, read, values);
        index.pop();
    }
}

/// The padded texts of elements, and the width with which PyTorch decides where lines break.
struct Cells {
    texts: Vec<String>,
    width: usize,
}

fn cells(values: &[PrintedElement], precision: usize) -> Cells {
    match values {
        [PrintedElement::Complex(_), ..] => {
            let parts = |part: fn(Complex64) -> f64| -> Vec<f64> {
                values
                    .iter()
                    .map(|value| if let PrintedElement::Complex(z) = value { part(*z) } else { 0.0 })
                    .collect()
            };
            let (re, im) = (parts(|z| z.re), parts(|z| z.im));
            let (real, imag) = (FloatFormat::of(&re, precision), FloatFormat::of(&im, precision));
            let text = |(&re, &im): (&f64, &f64)| {
                let im = imag.cell(im);
                let im = im.trim_start();
                let plus = if im.starts_with('-') { "" } else { "+" };
                format!("{}{plus}{im}j", real.cell(re))
            };
            Cells { texts: re.iter().zip(&im).map(text).collect(), width: real.width + imag.width + 1 }
        }
        [PrintedElement::Float(_), ..] => {
            let floats: Vec<f64> = values
                .iter()
                .map(|value| if let PrintedElement::Float(value) = value { *value } else { 0.0 })
                .collect();
            let format = FloatFormat::of(&floats, precision);
            Cells { texts: floats.iter().map(|&value| format.cell(value)).collect(), width: format.width }
        }
        _ => {
            let texts: Vec<String> = values.iter().map(whole).collect();
            let width = texts.iter().map(String::len).max().unwrap_or(1);
            Cells { texts: texts.into_iter().map(|text| format!("{text:>width$}")).collect(), width }
        }
    }
}

/// An element of a dtype that is neither float nor complex.
fn whole(value: &PrintedElement) -> String {
    match *value {
        PrintedElement::Bool(true) => "True".to_owned(),
        PrintedElement::Bool(false) => "False".to_owned(),
        PrintedElement::Signed(value) => value.to_string(),
        PrintedElement::Unsigned(value) => value.to_string(),
        PrintedElement::Float(value) => value.to_string(),
        PrintedElement::Complex(value) => value.to_string(),
    }
}

/// The notation for the floats of one tensor, which depends on all of them.
struct FloatFormat {
    notation: Notation,
    precision: usize,
    /// The width of the widest finite element other than 0; infinities and NaN may be wider.
    width: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Notation {
    /// `1.`: every finite element is an integer.
    Integral,
    /// `1.0000`
    Fixed,
    /// `1.0000e+00`
    Scientific,
}

impl FloatFormat {
    fn of(values: &[f64], precision: usize) -> FloatFormat {
        let finite = || values.iter().copied().filter(|value| value.is_finite() && *value != 0.0);
        let (least, most) = finite().fold((f64::INFINITY, 0f64), |(least, most), value| {
            (least.min(value.abs()), most.max(value.abs()))
        });
        // If no finite element differs from 0, the ratio is 0 and the notation integral, as in PyTorch.
        let notation = if most > 0.0 && (most / least > 1000.0 || most > 1e8 || least < 1e-4) {
            Notation::Scientific
        } else if finite().all(|value| value == value.ceil()) {
            Notation::Integral
        } else {
            Notation::Fixed
        };
        let format = FloatFormat { notation, precision, width: 1 };
        let width = finite().map(|value| format.text(value).len()).max().unwrap_or(1);
        FloatFormat { width, ..format }
    }

    fn text(&self, value: f64) -> String {
        if value.is_nan() {
            return "nan".to_owned();
        }
        if value.is_infinite() {
            return value.to_string();
        }
        match self.notation {
            Notation::Integral => format!("{value:.0}."),
            Notation::Fixed => format!("{value:.*}", self.precision),
            Notation::Scientific => scientific(value, self.precision),
        }
    }

    fn cell(&self, value: f64) -> String {
        format!("{:>width$}", self.text(value), width = self.width)
    }
}

/// The number as C prints it: the exponent has a sign and at least two digits.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// Writes the brackets, commas and line breaks around the elements.
struct Brackets<'a> {
    summarise: bool,
    /// Columns that an element and its comma take.
    per_line: usize,
    cells: &'a mut dyn Iterator<Item = String>,
}

impl Brackets<'_> {
    fn write(&mut self, text: &mut String, shape: &[usize], indent: usize) {
        let Some((&size, inner)) = shape.split_first() else {
            text.extend(self.cells.next());
            return;
        };
        text.push('[');
        let per_line =
            if inner.is_empty() { (LINE_WIDTH.saturating_sub(indent) / self.per_line).max(1) } else { 1 };
        let cut = self.summarise && size > 2 * EDGE_ITEMS;
        let count = if cut { 2 * EDGE_ITEMS + 1 } else { size };
        for at in 0..count {
            if at > 0 {
                text.push(',');
                if inner.is_empty() && at % per_line != 0 {
                    text.push(' ');
                } else {
                    // PyTorch writes a blank line for each outer dimension whose index changes.
                    text.extend(std::iter::repeat_n('\n', inner.len().max(1)));
                    text.extend(std::iter::repeat_n(' ', indent + 1));
                }
            }
            match (cut && at == EDGE_ITEMS, inner.is_empty()) {
                (true, true) => text.push_str(" ..."),
                (true, false) => text.push_str("..."),
                (false, _) => self.write(text, inner, indent + 1),
            }
        }
        text.push(']');
    }
}

/// Appends `size=` and `dtype=`, on a new line if the last one is too long.
fn push_suffixes(text: &mut String, suffixes: &[String]) {
    // PyTorch counts one column more than the last line has, two if it is the only line.
    let mut column = text.rfind('\n').map_or(text.len() + 2, |newline| text.len() - newline + 1);
    for suffix in suffixes {
        if column + suffix.len() + 2 > LINE_WIDTH {
            text.push_str(",\n");
            text.extend(std::iter::repeat_n(' ', PREFIX.len()));
            column = PREFIX.len() + suffix.len();
        } else {
            text.push_str(", ");
            column += suffix.len() + 2;
        }
        text.push_str(suffix);
    }
    text.push(')');
}

/// Sizes as a Python tuple: `()`, `(3,)`, `(0, 3)`.
struct Tuple<'a>(&'a [usize]);

impl fmt::Display for Tuple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        for (at, size) in self.0.iter().enumerate() {
            write!(f, "{}{size}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(dtype: DType, shape: &[usize], read: &mut dyn FnMut(&[usize]) -> PrintedElement) -> String {
        super::format(Device::Cpu, dtype, shape, PRECISION, read)
    }

    #[test]
    fn what_is_on_a_device_says_so() {
        let text = super::format(Device::Cuda(1), DType::I32, &[0, 3], PRECISION, &mut |_| {
            unreachable!("there are none")
        });
        assert_eq!(text, "tensor([], device='cuda:1', size=(0, 3), dtype=torch.int32)");
    }

    fn ints(shape: &[usize]) -> String {
        let mut next = 0;
        format(DType::I64, shape, &mut |_| {
            next += 1;
            PrintedElement::Signed(next - 1)
        })
    }

    fn floats(values: &[f64]) -> String {
        format(DType::F32, &[values.len()], &mut |index| PrintedElement::Float(values[index[0]]))
    }

    #[test]
    fn brackets_nest_and_columns_align() {
        assert_eq!(ints(&[]), "tensor(0)");
        assert_eq!(ints(&[3]), "tensor([0, 1, 2])");
        assert_eq!(ints(&[2, 6]), "tensor([[ 0,  1,  2,  3,  4,  5],\n        [ 6,  7,  8,  9, 10, 11]])");
        assert_eq!(ints(&[2, 1, 2]), "tensor([[[0, 1]],\n\n        [[2, 3]]])");
    }

    #[test]
    fn floats_share_one_notation() {
        for (values, text) in [
            (&[1.0, 2.0][..], "tensor([1., 2.])"),
            (&[1.5, -0.25], "tensor([ 1.5000, -0.2500])"),
            (&[0.0, -0.0], "tensor([0., -0.])"),
            (&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY], "tensor([nan, inf, -inf])"),
            (&[1.0, f64::INFINITY], "tensor([1., inf])"),
            (&[1e-5, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
            (&[1e300], "tensor([1.0000e+300])"),
            (&[1.0, 2000.0], "tensor([1.0000e+00, 2.0000e+03])"),
        ] {
            assert_eq!(floats(values), text);
        }
    }

    #[test]
    fn complex_numbers_carry_a_sign_between_their_parts() {
        let values = [Complex64::new(1.0, -2.0), Complex64::new(0.5, f64::NAN)];
        let text = format(DType::C128, &[2], &mut |index| PrintedElement::Complex(values[index[0]]));
        assert_eq!(text, "tensor([1.0000-2.j, 0.5000+nanj], dtype=torch.complex128)");
    }

    #[test]
    fn empty_tensors_show_what_nothing_else_does() {
        let empty = |dtype, shape: &[usize]| {
            format(dtype, shape, &mut |_| unreachable!("an empty tensor has no elements"))
        };
        assert_eq!(empty(DType::F32, &[0]), "tensor([])");
        assert_eq!(empty(DType::I64, &[0]), "tensor([], dtype=torch.int64)");
        assert_eq!(empty(DType::F32, &[0, 3]), "tensor([], size=(0, 3))");
    }

    #[test]
    fn only_printed_elements_are_read() {
        let mut reads = 0;
        let text = format(DType::U64, &[1 << 40, 1 << 20], &mut |_| {
            reads += 1;
            PrintedElement::Unsigned(u64::MAX)
        });
        assert_eq!(reads, 36);
        assert!(text.starts_with(
            "tensor([[18446744073709551615, 18446744073709551615, 18446744073709551615,\n          ..., 1844"
        ));
    }

    #[test]
    fn a_summary_that_cannot_be_short_is_left_out() {
        let text = format(DType::F32, &[2; 22], &mut |_| unreachable!("nothing is printed"));
        assert!(text.starts_with("tensor(...,\n       size=(2, 2,"), "{text}");
    }
}
