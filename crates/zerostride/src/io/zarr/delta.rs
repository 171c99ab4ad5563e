//! Owns the codec `delta`: elements as the differences to their predecessors. It does not know chunks.
//!
//! Source: `numcodecs/delta.py`.

use half::f16;
use zerostride_ops::{Category, DType};

use super::unpack::room;
use crate::io::elements::Encoding;

/// The dtypes of elements and of the differences that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delta {
    pub(super) dtype: Encoding,
    pub(super) stored: Encoding,
}

impl Delta {
    /// The same, where the codec `bytes` stores the differences, in its order.
    pub(super) fn stored_as(self, swapped: bool) -> Delta {
        let dtype = Encoding { swapped: false, ..self.dtype };
        Delta { dtype, stored: Encoding { swapped, ..self.stored } }
    }

    /// The size of an element in bytes.
    pub(super) fn item_size(self) -> usize {
        self.dtype.dtype.item_size()
    }

    /// The size of the differences of so many bytes of elements.
    pub(super) fn encoded_bytes(self, bytes: usize) -> usize {
        (bytes / self.item_size()).saturating_mul(self.stored.dtype.item_size())
    }

    /// Adds the differences up in the dtype of the elements, as `numpy.cumsum` does.
    pub(super) fn decode(self, mut packed: Vec<u8>) -> Result<Vec<u8>, String> {
        let (item, stored) = (self.item_size(), self.stored.dtype);
        if self.dtype.dtype.category() == Category::Int && stored.category() != Category::Int {
            return Err("the differences of integers are stored as floats".into());
        }
        let mut bytes = room(packed.len() / stored.item_size() * item)?;
        // Both are little-endian in between.
        let swap = |encoding: Encoding, bytes: &mut [u8]| {
            Encoding { swapped: encoding.is_big_endian(), ..encoding }.decode(bytes);
        };
        swap(self.stored, &mut packed);
        let steps = packed.chunks_exact(stored.item_size()).zip(bytes.chunks_exact_mut(item));
        macro_rules! floats {
            ($type:ty, $from:expr) => {{
                let mut sum = <$type>::default();
                for (step, out) in steps {
                    sum += $from(float(step, stored));
                    out.copy_from_slice(&sum.to_le_bytes());
                }
            }};
        }
        match self.dtype.dtype {
            DType::F16 => floats!(f16, f16::from_f64),
            DType::F32 => floats!(f32, |step| step as f32),
            DType::F64 => floats!(f64, f64::from),
            _ => {
                let mut sum = 0u64;
                for (step, out) in steps {
                    sum = sum.wrapping_add(integer(step, stored));
                    out.copy_from_slice(&sum.to_le_bytes()[..item]);
                }
            }
        }
        swap(self.dtype, &mut bytes);
        Ok(bytes)
    }
}

/// A little-endian integer, modulo 2^64.
fn integer(bytes: &[u8], dtype: DType) -> u64 {
    let is_negative = dtype.is_signed_int() && bytes.last().is_some_and(|&byte| byte >= 128);
    let mut wide = [if is_negative { 255 } else { 0 }; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

/// A little-endian number as a float.
fn float(bytes: &[u8], dtype: DType) -> f64 {
    match (dtype, bytes) {
        (DType::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f64(),
        (DType::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
        (DType::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ if dtype.is_signed_int() => integer(bytes, dtype) as i64 as f64,
        _ => integer(bytes, dtype) as f64,
    }
}
