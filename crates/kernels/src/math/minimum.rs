//! Owns functions of `f32` near their minimum. They are so flat there that the errors of a general formula
//! would put results of neighbours in the wrong order; what is rounded here rises with the distance from the
//! minimum by more than its own errors. It does not know what the functions are elsewhere.
//!
//! The constants come from `coefficients/minimum.py`.

use super::short_poly;
use crate::lane::{Lane, rare};

/// A function near its minimum: its value at `place + off` is the minimum and `off² · above(off)`.
pub(super) struct Minimum<const N: usize> {
    /// Both in two words.
    place: (f32, f32),
    value: (f32, f32),
    above: [f32; N],
    /// The largest distance.
    reach: f32,
}

pub(super) const GELU: Minimum<4> = Minimum {
    place: (-0.75179154, 1.211445e-8),
    value: (-0.16997121, 5.264809e-9),
    above: [0.215747, 0.12942831, -0.0045575327, -0.022788161],
    reach: 7.0 / 128.0,
};
pub(super) const GELU_TANH: Minimum<2> = Minimum {
    place: (-0.75246143, 1.1339628e-8),
    value: (-0.17004076, 5.8927503e-9),
    above: [0.21519984, 0.12917201],
    reach: 1.0 / 128.0,
};
pub(super) const SILU: Minimum<2> = Minimum {
    place: (-1.2784646, 1.29792825e-8),
    value: (-0.27846456, 1.29792825e-8),
    above: [0.10890639, 0.048882514],
    reach: 3.0 / 256.0,
};

impl<const N: usize> Minimum<N> {
    /// The function near its minimum, and `usual` elsewhere.
    #[inline(always)]
    pub(super) fn or<V: Lane>(&self, x: V, usual: V) -> V {
        let [place, place_low, value, value_low, reach] =
            [self.place.0, self.place.1, self.value.0, self.value.1, self.reach].map(|c| V::num(c.into()));
        // It is exact there.
        let off = x - place;
        rare!(off.abs().lt(reach), usual, {
            let off = off - place_low;
            value + (off * off).mul_add(short_poly(off, &self.above), value_low)
        })
    }
}
