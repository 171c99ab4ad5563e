//! Owns a search for bounded solutions of a linear Diophantine equation: can a sum of bounded multiples of
//! strides equal a target? It does not know layouts; `overlap.rs` reduces questions about memory to this one.

use crate::dims::Dims;

/// `factor * x` with x in `0..=bound`. Both are positive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term {
    pub(crate) factor: i128,
    pub(crate) bound: i128,
}

/// The answer of a search with limited effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    TooHard,
}

/// Steps after which a search gives up: far more than ordinary views need, and less than a millisecond.
pub(crate) const EFFORT: u32 = 1 << 12;

/// Whether `sum(factor * x) == target` has a solution with every x in `0..=bound`.
///
/// Every step of the search takes one from `effort`.
///
/// `factor` and `factor * bound / 2` are at most `isize::MAX`, so nothing overflows `i128`.
pub(crate) fn solvable(terms: &[Term], target: i128, effort: &mut u32) -> Answer {
    let mut sorted: Dims<Term> = terms.iter().copied().filter(|term| term.bound > 0).collect();
    sorted.sort_unstable_by_key(|term| core::cmp::Reverse(term.factor));
    let mut terms: Dims<Term> = Dims::default();
    for term in sorted.iter() {
        match terms.last_mut() {
            Some(last) if last.factor == term.factor => last.bound += term.bound,
            _ => terms.push(*term),
        }
    }
    Search { tails: tails(&terms), terms, effort }.from(0, target)
}

/// What the terms from one position on can sum to.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    /// Every sum is a multiple of this; 0 for no terms.
    gcd: i128,
    /// The largest sum.
    max: i128,
    /// Every multiple of `gcd` up to `max` is a sum, as in a contiguous block.
    dense: bool,
}

fn tails(terms: &[Term]) -> Dims<Tail> {
    let mut tails = Dims::filled(terms.len() + 1, Tail { gcd: 0, max: 0, dense: true });
    for (at, term) in terms.iter().enumerate().rev() {
        let rest = tails[at + 1];
        let gcd = gcd(term.factor, rest.gcd);
        tails[at] = Tail {
            gcd,
            max: rest.max + term.factor * term.bound,
            // Copies of the dense range, shifted by the factor, leave no gap if they touch.
            dense: rest.dense && (rest.gcd == 0 || (gcd == rest.gcd && term.factor <= rest.max + gcd)),
        };
    }
    tails
}

struct Search<'a> {
    terms: Dims<Term>,
    tails: Dims<Tail>,
    effort: &'a mut u32,
}

impl Search<'_> {
    /// Whether the terms from position `at` on can sum to `target`.
    fn from(&mut self, at: usize, target: i128) -> Answer {
        let tail = self.tails[at];
        if target < 0 || target > tail.max {
            return Answer::No;
        }
        if tail.gcd == 0 {
            return Answer::Yes;
        }
        if target % tail.gcd != 0 {
            return Answer::No;
        }
        if tail.dense {
            return Answer::Yes;
        }
        let Term { factor, bound } = self.terms[at];
        let rest = self.tails[at + 1];
        // The remaining terms must sum to what this term leaves: at most their maximum, and a multiple of
        // their gcd.
        let least = (target - rest.max).max(0).div_euclid(factor)
            + i128::from((target - rest.max).max(0) % factor != 0);
        let most = bound.min(target / factor);
        let (first, step) = congruent(factor, target, rest.gcd);
        let mut x = least + (first - least).rem_euclid(step);
        if rest.dense {
            return if x <= most { Answer::Yes } else { Answer::No };
        }
        while x <= most {
            if *self.effort == 0 {
                return Answer::TooHard;
            }
            *self.effort -= 1;
            match self.from(at + 1, target - factor * x) {
                Answer::No => x += step,
                answer => return answer,
            }
        }
        Answer::No
    }
}

/// The solutions of `factor * x = target (mod modulus)`, as the smallest one and the distance between two.
///
/// A solution exists, since the caller has checked that gcd(factor, modulus) divides the target.
fn congruent(factor: i128, target: i128, modulus: i128) -> (i128, i128) {
    let common = gcd(factor, modulus);
    let (factor, target, modulus) = (factor / common, target / common, modulus / common);
    // The inverse of the factor, by Euclid's extended algorithm.
    let (mut old, mut rest) = (factor.rem_euclid(modulus), modulus);
    let (mut inverse, mut next) = (1i128, 0i128);
    while rest != 0 {
        let quotient = old / rest;
        (old, rest) = (rest, old - quotient * rest);
        (inverse, next) = (next, inverse - quotient * next);
    }
    let first = target.rem_euclid(modulus) * inverse.rem_euclid(modulus) % modulus;
    (first, modulus)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_RANK;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn brute(terms: &[Term], target: i128) -> bool {
        match terms {
            [] => target == 0,
            [term, rest @ ..] => (0..=term.bound).any(|x| brute(rest, target - term.factor * x)),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_trying_everything(
            terms in prop::collection::vec((1i128..40, 0i128..6), 0..5),
            target in -5i128..300,
        ) {
            let terms: Vec<Term> = terms.into_iter().map(|(factor, bound)| Term { factor, bound }).collect();
            let expected = if brute(&terms, target) { Answer::Yes } else { Answer::No };
            prop_assert_eq!(solvable(&terms, target, &mut { EFFORT }), expected);
        }
    }

    #[test]
    fn the_largest_terms_do_not_overflow() {
        let max = isize::MAX as i128;
        let terms = [
            Term { factor: max, bound: 2 },
            Term { factor: 1, bound: 2 * max },
            Term { factor: max - 1, bound: 2 },
        ];
        assert_eq!(solvable(&terms, 4 * max, &mut { EFFORT }), Answer::Yes);
        let terms: Vec<Term> =
            (0..2 * MAX_RANK as i128).map(|i| Term { factor: max - 2 * i, bound: 2 }).collect();
        assert_ne!(solvable(&terms, max, &mut { EFFORT }), Answer::No);
        assert_eq!(solvable(&terms, 1, &mut { EFFORT }), Answer::No);
    }
}
