//! Owns the elements of operands: computed from their index alone, and equal in every peer and language. It
//! does not know workloads.

use serde::{Deserialize, Serialize};

/// The dtypes of the workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Kind {
    Bool,
    U8,
    I32,
    Bf16,
    F32,
    F64,
}

impl Kind {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Kind::Bool | Kind::U8 => 1,
            Kind::Bf16 => 2,
            Kind::I32 | Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    /// The relative error that two correct results may differ by, after a handful of roundings.
    pub fn tolerance(self) -> f64 {
        match self {
            Kind::Bool | Kind::U8 | Kind::I32 => 0.0,
            Kind::Bf16 => 2e-2,
            Kind::F32 => 2e-5,
            Kind::F64 => 1e-12,
        }
    }

    /// The dtype's name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::U8 => "u8",
            Kind::I32 => "i32",
            Kind::Bf16 => "bf16",
            Kind::F32 => "f32",
            Kind::F64 => "f64",
        }
    }
}

/// A type that operands of Rust peers can have.
pub trait Element: Copy + 'static {
    /// From a number in the operand's range.
    fn from_number(number: f64) -> Self;
    /// For comparison with other peers.
    fn number(self) -> f64;
}

/// `number as f32` first, so that f32 and the 16-bit floats are rounded alike in every peer.
macro_rules! elements {
    ($($type:ty: $from:expr, $to:expr;)*) => {
        $(impl Element for $type {
            fn from_number(number: f64) -> $type {
                $from(number)
            }
            fn number(self) -> f64 {
                $to(self)
            }
        })*
    };
}

elements! {
    bool: |x: f64| x >= 0.5, f64::from;
    u8: |x: f64| x as u8, f64::from;
    i32: |x: f64| x.floor() as i32, f64::from;
    f32: |x: f64| x as f32, f64::from;
    f64: |x: f64| x, |x: f64| x;
    half::bf16: |x: f64| half::bf16::from_f32(x as f32), f64::from;
}

/// Operands repeat after a prime number of elements: rows differ whatever their length, and large operands
/// are made as fast as by a copy.
const PERIOD: usize = 65_521;

/// The elements of operand number `seed`: uniform in `low..high`, from a hash of the index.
pub fn values<T: Element>(seed: usize, numel: usize, low: f64, high: f64) -> Vec<T> {
    let element = |index: usize| {
        // Source: Chris Wellons, "Prospecting for Hash Functions": lowbias32.
        let mut x = (index as u32 + 1).wrapping_add((seed as u32).wrapping_mul(0x9e37_79b9));
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        x ^= x >> 16;
        T::from_number(low + f64::from(x >> 8) / 16_777_216.0 * (high - low))
    };
    let block: Vec<T> = (0..numel.min(PERIOD)).map(element).collect();
    let mut values = Vec::with_capacity(numel);
    while values.len() < numel {
        values.extend_from_slice(&block[..PERIOD.min(numel - values.len())]);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_those_that_other_languages_make() {
        // Computed by the same lines in Python.
        assert_eq!(values::<f32>(1, 3, 0.0, 1.0), [0.622_319_6, 0.029_774_547, 0.060_723_007]);
    }

    #[test]
    fn elements_stay_in_their_range_and_repeat_after_a_prime() {
        let values = values::<f32>(2, PERIOD + 2, -1.0, 1.0);
        assert!(values.iter().all(|x| (-1.0..1.0).contains(x)));
        assert_eq!(values[..2], values[PERIOD..]);
    }
}
