//! Owns polynomials whose first coefficients are double words: the last steps of Horner's rule decide the
//! accuracy.

use super::dw::{Dw, fast_two_sum, two_sum};
use super::poly;
use crate::lane::Lane;

/// A minimax polynomial: the first coefficients as double words, the others as single floats.
pub(super) struct Polynomial<const LEADING: usize, const REST: usize> {
    pub(super) leading: [(f64, f64); LEADING],
    pub(super) rest: [f64; REST],
}

impl<const LEADING: usize, const REST: usize> Polynomial<LEADING, REST> {
    /// The value at `x`, to about 2^-58 if the rest contributes little.
    #[inline(always)]
    pub(super) fn at<W: Lane<Elem = f64>>(&self, x: Dw<W>) -> Dw<W> {
        let mut sum: Dw<W> = poly(x.hi, &self.rest).into();
        for &c in self.leading.iter().rev() {
            // The sum never cancels, so that its low parts may be added in single words.
            let (c, product) = (Dw::<W>::splat(c), sum * x);
            let s = two_sum(c.hi, product.hi);
            sum = fast_two_sum(s.hi, s.lo + (c.lo + product.lo));
        }
        sum
    }
}
