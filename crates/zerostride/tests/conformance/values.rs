//! Owns values as bit patterns: their way into a tensor and out of it, and distances between them. A complex
//! element is two patterns.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride::{DType, Element, Tensor, bf16, f16};
use zerostride_ops::with_type;

/// Patterns of one dtype.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    pub(crate) dtype: DType,
    pub(crate) bits: Vec<u64>,
}

impl Values {
    pub(crate) fn is_complex(&self) -> bool {
        self.dtype.to_real() != self.dtype
    }

    /// Patterns per element.
    pub(crate) fn width(&self) -> usize {
        1 + usize::from(self.is_complex())
    }

    pub(crate) fn of(tensor: &Tensor) -> Values {
        let dtype = tensor.dtype();
        let bytes = with_type!(dtype, T => {
            let stored: Vec<_> = tensor.to_vec::<T>().unwrap().into_iter().map(|value| value.store()).collect();
            cast_slice(&stored).to_vec()
        });
        Values { dtype, bits: from_bytes(&bytes, dtype.to_real().item_size()) }
    }

    pub(crate) fn tensor(&self, shape: &[usize]) -> Tensor {
        let bytes = to_bytes(&self.bits, self.dtype.to_real().item_size());
        with_type!(self.dtype, T => {
            let elements = bytes.chunks_exact(size_of::<<T as Element>::Stored>());
            let values: Vec<T> = elements.map(|bytes| T::load(bytemuck::pod_read_unaligned(bytes))).collect();
            Tensor::from_vec(values, shape).unwrap()
        })
    }

    /// One pattern as a number.
    pub(crate) fn number(&self, pattern: usize) -> f64 {
        number(self.dtype, self.bits[pattern])
    }

    /// One element, for people.
    pub(crate) fn show(&self, element: usize) -> String {
        match (self.dtype, self.is_complex()) {
            (DType::Bool, _) => (self.bits[element] != 0).to_string(),
            (_, true) => format!("({:?}, {:?})", self.number(2 * element), self.number(2 * element + 1)),
            (DType::U64, _) => self.bits[element].to_string(),
            (_, false) if is_float(self.dtype) => format!("{:e}", self.number(element)),
            _ => signed(self.dtype, self.bits[element]).to_string(),
        }
    }
}

pub(crate) fn is_float(dtype: DType) -> bool {
    matches!(dtype.to_real(), DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

/// The value of a pattern; integers beyond 2^53 are rounded.
pub(crate) fn number(dtype: DType, bits: u64) -> f64 {
    match dtype.to_real() {
        DType::F16 => f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::F64 => f64::from_bits(bits),
        DType::U64 => bits as f64,
        other => signed(other, bits) as f64,
    }
}

fn signed(dtype: DType, bits: u64) -> i64 {
    let unused = 64 - 8 * dtype.item_size() as u32;
    if dtype.is_signed_int() { (bits << unused) as i64 >> unused } else { bits as i64 }
}

/// Half the gap between 1 and the next number of the float dtype.
pub(crate) fn epsilon(dtype: DType) -> f64 {
    match dtype.to_real() {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        DType::F32 => 2f64.powi(-24),
        _ => 2f64.powi(-53),
    }
}

/// How many floats of the dtype lie between two patterns; `None` if one is NaN and the other is not, or if
/// they are zeros of different sign.
pub(crate) fn ulps(dtype: DType, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (number(dtype, a), number(dtype, b));
    if x.is_nan() || y.is_nan() {
        return (x.is_nan() && y.is_nan()).then_some(0);
    }
    if x == 0.0 && y == 0.0 {
        return (a == b).then_some(0);
    }
    let sign = 1i128 << (8 * dtype.to_real().item_size() - 1);
    let line = |bits: u64| if i128::from(bits) >= sign { sign - i128::from(bits) } else { i128::from(bits) };
    Some(line(a).abs_diff(line(b)) as u64)
}

/// Whether the patterns are the same, any NaN being every NaN.
pub(crate) fn same(dtype: DType, a: u64, b: u64) -> bool {
    a == b || (is_float(dtype) && number(dtype, a).is_nan() && number(dtype, b).is_nan())
}

fn from_bytes(bytes: &[u8], size: usize) -> Vec<u64> {
    let pattern = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    bytes.chunks_exact(size).map(pattern).collect()
}

fn to_bytes(bits: &[u64], size: usize) -> Vec<u8> {
    let mut bytes = vec![0; bits.len() * size];
    for (bytes, bits) in cast_slice_mut::<u8, u8>(&mut bytes).chunks_exact_mut(size).zip(bits) {
        bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
    }
    bytes
}

/// The smallest positive number of the float dtype.
pub(crate) fn smallest(dtype: DType) -> f64 {
    number(dtype, 1)
}
