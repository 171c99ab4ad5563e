//! Owns the variance: moments of a few rows while these are in cache, and the combination of moments. It does
//! not know the tree.
//!
//! Source: Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances",
//! 1979.

use std::marker::PhantomData;
use std::ops::Range;

use zerostride_ops::DType;

use super::rule::{RowSequence, RowStarts, Rule, Side};
use super::vector::{Vector, crossed};
use crate::lane::{Arithmetic, Register, Select, rare};

/// `var`, with `count - correction` degrees of freedom, of samples of one or two parts.
pub(super) struct Variance<V> {
    pub(super) correction: f64,
    pub(super) parts: usize,
    pub(super) kind: PhantomData<fn(V)>,
}

/// Counts, means and sums of squared deviations, in f64.
#[derive(Clone, Copy)]
pub(crate) struct Moments<T> {
    pub(crate) count: T,
    pub(crate) mean: T,
    pub(crate) squares: T,
}

/// Rows of one pass.
pub(crate) const PASS_ROWS: usize = 16;

impl<T: Arithmetic> Moments<T> {
    /// Those of samples near a value, from the sums of what they are off it and of the squares of that.
    #[inline(always)]
    pub(crate) fn near(value: T, [count, reciprocal]: [T; 2], [sums, squares]: [T; 2]) -> Moments<T> {
        let mean = sums * reciprocal;
        Moments { count, mean: value + mean, squares: squares - sums * mean }
    }

    /// Those of the samples of both, which are `wide` if they are f64.
    #[inline(always)]
    pub(crate) fn merge(self, right: Moments<T>, wide: bool) -> Moments<T> {
        let (zero, a, b) = (T::num(0.0), self.count, right.count);
        // Divisions are slow, and most counts are equal.
        let share = rare!(!a.eq(b), T::num(0.5), b / (a + b).max(T::num(1.0)));
        let delta = right.mean - self.mean;
        let mut between = delta * delta * (a * share);
        if wide {
            // Missing samples have no weight, but the square of an f64 may overflow.
            between = T::select(a.eq(zero) | b.eq(zero), zero, between);
        }
        Moments {
            count: a + b,
            mean: self.mean + delta * share,
            squares: self.squares + right.squares + between,
        }
    }
}

impl<T: Arithmetic> Select<T::Mask> for Moments<T> {
    #[inline(always)]
    fn select(mask: T::Mask, yes: Self, no: Self) -> Self {
        Moments {
            count: T::select(mask, yes.count, no.count),
            mean: T::select(mask, yes.mean, no.mean),
            squares: T::select(mask, yes.squares, no.squares),
        }
    }
}

/// The moments of some rows, and of one more element for some positions, in `G` vectors.
///
/// One pass sums deviations from a value near all rows, and their squares. For f32 that value is the first
/// row: its own deviation from the mean is one of those whose squares are summed, so that cancellation grows
/// at most with the number of rows. f64 has no digits to spare: there the value is the mean, which a pass
/// before has found.
#[inline(always)]
fn moments<V: Vector<Elem = <V as Arithmetic>::Elem> + Register, const G: usize>(
    steps: &RowSequence<'_, <V as Arithmetic>::Elem, impl RowStarts>,
    rows: Range<usize>,
    sides: [Side; G],
    ends: bool,
) -> [Moments<V::Wide>; G] {
    let (zero, one) = (V::Wide::num(0.0), V::Wide::num(1.0));
    let number = rows.len() as f64;
    // Divisions are slow, and the same for all positions except at the end.
    let (count, reciprocal) = (V::Wide::num(number), V::Wide::num(1.0 / number.max(1.0)));
    let mut all = [Moments { count, mean: zero, squares: zero }; G];
    let (mut lasts, mut reciprocals) = ([(zero, zero); G], [reciprocal; G]);
    for g in 0..G {
        if let Some((value, places)) = if ends { steps.tail::<V>(sides[g]) } else { None } {
            // A position with an element counts once, any other not at all.
            lasts[g] = (value.widen(), V::Wide::from_fn(|i| if i < places { 1.0 } else { 0.0 }));
            all[g].count = count + lasts[g].1;
            reciprocals[g] = one / all[g].count.max(one);
        }
    }
    let mut near = [zero; G];
    if size_of::<<V as Arithmetic>::Elem>() == size_of::<f64>() {
        for step in rows.clone() {
            for g in 0..G {
                near[g] = near[g] + steps.load_wide::<V>(step, sides[g]);
            }
        }
        for g in 0..G {
            near[g] = (near[g] + lasts[g].0 * lasts[g].1) * reciprocals[g];
        }
    } else {
        for g in 0..G {
            near[g] = if rows.is_empty() { lasts[g].0 } else { steps.load_wide::<V>(rows.start, sides[g]) };
        }
    }
    let (mut sums, mut squares) = ([zero; G], [zero; G]);
    for step in rows {
        for g in 0..G {
            let off = steps.load_wide::<V>(step, sides[g]) - near[g];
            sums[g] = sums[g] + off;
            squares[g] = off.mul_add(off, squares[g]);
        }
    }
    for g in 0..G {
        if ends {
            let off = (lasts[g].0 - near[g]) * lasts[g].1;
            sums[g] = sums[g] + off;
            squares[g] = off.mul_add(off, squares[g]);
        }
        all[g] = Moments::near(near[g], [all[g].count, reciprocals[g]], [sums[g], squares[g]]);
    }
    all
}

impl<V> Rule for Variance<V>
where
    V: Vector<Elem = <V as Arithmetic>::Elem, One: Register<Elem = <V as Arithmetic>::Elem>> + Register,
{
    type Vector = V;
    type Load = V;
    type One = Variance<V::One>;
    type State = Moments<Vec<f64>>;
    type Acc = Moments<V::Wide>;
    type Out = f64;
    const RESULT: DType = DType::F64;
    // The moments of a vector of f32 are two vectors of f64 each.
    const AT_ONCE: usize = if size_of::<<V as Arithmetic>::Elem>() < size_of::<f64>() { 2 } else { 4 };
    const IN_PARTS: bool = false;

    fn empty(len: usize) -> Self::State {
        Moments { count: vec![0.0; len], mean: vec![0.0; len], squares: vec![0.0; len] }
    }

    #[inline(always)]
    fn none() -> Self::Acc {
        let zero = V::Wide::num(0.0);
        Moments { count: zero, mean: zero, squares: zero }
    }

    #[inline(always)]
    fn read(state: &Self::State, at: usize) -> Self::Acc {
        Moments {
            count: V::Wide::load(&state.count[at..]),
            mean: V::Wide::load(&state.mean[at..]),
            squares: V::Wide::load(&state.squares[at..]),
        }
    }

    #[inline(always)]
    fn write(acc: Self::Acc, state: &mut Self::State, at: usize) {
        acc.count.store(&mut state.count[at..]);
        acc.mean.store(&mut state.mean[at..]);
        acc.squares.store(&mut state.squares[at..]);
    }

    #[inline(always)]
    fn steps<const G: usize>(
        mut acc: [Self::Acc; G],
        fresh: bool,
        steps: &RowSequence<'_, <V as Arithmetic>::Elem, impl RowStarts>,
        sides: [Side; G],
    ) -> [Self::Acc; G] {
        let rows = steps.all();
        // Most leaves: no accumulator to combine with, and equally many elements at all positions.
        if fresh && (1..=PASS_ROWS).contains(&rows) && !steps.has_tail() {
            return moments::<V, G>(steps, 0..rows, sides, false);
        }
        for begin in (0..rows).step_by(PASS_ROWS) {
            let whole = begin..steps.count().min(begin + PASS_ROWS);
            let all = moments::<V, G>(steps, whole, sides, begin + PASS_ROWS >= rows);
            for g in 0..G {
                acc[g] = if fresh && begin == 0 { all[g] } else { Self::merge(acc[g], all[g]) };
            }
        }
        acc
    }

    #[inline(always)]
    fn merge(left: Self::Acc, right: Self::Acc) -> Self::Acc {
        left.merge(right, size_of::<<V as Arithmetic>::Elem>() == size_of::<f64>())
    }

    #[inline(always)]
    fn crossed<const BY: usize>(one: Self::Acc, other: Self::Acc) -> [Self::Acc; 2] {
        let count = crossed::<V::Wide, BY>(one.count, other.count);
        let mean = crossed::<V::Wide, BY>(one.mean, other.mean);
        let squares = crossed::<V::Wide, BY>(one.squares, other.squares);
        [
            Moments { count: count[0], mean: mean[0], squares: squares[0] },
            Moments { count: count[1], mean: mean[1], squares: squares[1] },
        ]
    }

    fn results(&self, state: &Self::State, len: usize) -> impl Iterator<Item = f64> {
        let squares = state.squares[..len].chunks(self.parts);
        let counts = state.count.iter().step_by(self.parts);
        // Each part has a variance, so that one part without degrees of freedom is NaN.
        squares.zip(counts).map(|(parts, count)| {
            parts.iter().map(|squares| squares / (count - self.correction).max(0.0)).sum()
        })
    }
}
