//! Owns the variance: some rows in two passes while they are in cache, then by their moments.
//!
//! Source: Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.

use std::marker::PhantomData;
use std::ops::Range;

use zerostride_ops::DType;

use super::rule::{Rows, Rule, Side, Steps};
use super::vector::Vector;
use crate::lane::{Lane, Mask};

/// `var`, with `count - correction` degrees of freedom, of samples of one or two parts side by side.
pub(super) struct Variance<V> {
    pub(super) correction: f64,
    pub(super) parts: usize,
    pub(super) kind: PhantomData<fn(V)>,
}

/// Samples' counts, means and sums of squared deviations, in f64.
#[derive(Clone, Copy)]
pub(super) struct Moments<T> {
    count: T,
    mean: T,
    squares: T,
}

/// Rows of one pass.
const ROWS: usize = 16;

/// The moments of some rows, and of as many places of one more as there are.
#[inline(always)]
fn moments<V: Vector<Elem = <V as Lane>::Elem> + Lane>(
    steps: &Steps<'_, <V as Lane>::Elem, impl Rows>,
    rows: Range<usize>,
    side: Side,
    tail: Option<(V, usize)>,
) -> Moments<V::Wide> {
    let (zero, one) = (V::Wide::num(0.0), V::Wide::num(1.0));
    let number = rows.len() as f64;
    let mut sum = zero;
    for step in rows.clone() {
        sum = sum + steps.load::<V>(step, side).widen();
    }
    // Divisions are slow, and the same for all places but at the end.
    let (mut count, mut reciprocal) = (V::Wide::num(number), V::Wide::num(1.0 / number.max(1.0)));
    let mut last = (zero, zero);
    if let Some((value, places)) = tail {
        // What a place has counts once, what it does not have not at all.
        last = (value.widen(), V::Wide::from_fn(|i| if i < places { 1.0 } else { 0.0 }));
        sum = sum + last.0 * last.1;
        count = count + last.1;
        reciprocal = one / count.max(one);
    }
    let mean = sum * reciprocal;
    let mut squares = zero;
    for step in rows {
        let off = steps.load::<V>(step, side).widen() - mean;
        squares = squares + off * off;
    }
    if tail.is_some() {
        let off = last.0 - mean;
        squares = squares + off * off * last.1;
    }
    Moments { count, mean, squares }
}

impl<V> Rule for Variance<V>
where
    V: Vector<Elem = <V as Lane>::Elem, One: Lane<Elem = <V as Lane>::Elem>> + Lane,
{
    type Vector = V;
    type One = Variance<V::One>;
    type State = Moments<Vec<f64>>;
    type Acc = Moments<V::Wide>;
    type Out = f64;
    const RESULT: DType = DType::F64;

    fn empty(len: usize) -> Self::State {
        Moments { count: vec![0.0; len], mean: vec![0.0; len], squares: vec![0.0; len] }
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
        mut acc: Option<[Self::Acc; G]>,
        steps: &Steps<'_, <V as Lane>::Elem, impl Rows>,
        sides: [Side; G],
    ) -> [Self::Acc; G] {
        let zero = V::Wide::num(0.0);
        let empty = Moments { count: zero, mean: zero, squares: zero };
        let rows = steps.count + usize::from(steps.tail > 0);
        for begin in (0..rows).step_by(ROWS) {
            let whole = begin..steps.count.min(begin + ROWS);
            let ends = steps.tail > 0 && begin + ROWS >= rows;
            let mut all = [empty; G];
            for g in 0..G {
                let tail = if ends { steps.tail::<V>(sides[g]) } else { None };
                all[g] = moments::<V>(steps, whole.clone(), sides[g], tail);
                if let Some(acc) = &acc {
                    all[g] = Self::merge(acc[g], all[g]);
                }
            }
            acc = Some(all);
        }
        acc.unwrap_or([empty; G])
    }

    #[inline(always)]
    fn merge(left: Self::Acc, right: Self::Acc) -> Self::Acc {
        let (zero, a, b) = (V::Wide::num(0.0), left.count, right.count);
        // Divisions are slow, and most counts are equal.
        let share = match (!a.eq(b)).any() {
            true => b / (a + b).max(V::Wide::num(1.0)),
            false => V::Wide::num(0.5),
        };
        let delta = right.mean - left.mean;
        // Samples that are not there must not bring their difference in.
        let none = a.eq(zero);
        let between = V::Wide::select(none | b.eq(zero), zero, delta * delta * (a * share));
        Moments {
            count: a + b,
            mean: V::Wide::select(none, right.mean, left.mean + delta * share),
            squares: left.squares + right.squares + between,
        }
    }

    fn results(&self, state: &Self::State, len: usize) -> impl Iterator<Item = f64> {
        let sums = state.squares[..len].chunks(self.parts).map(|parts| parts.iter().sum::<f64>());
        let counts = state.count.iter().step_by(self.parts);
        sums.zip(counts).map(|(squares, count)| squares / (count - self.correction).max(0.0))
    }
}
