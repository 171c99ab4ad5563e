//! Owns the variance: each lane in two passes while it is in cache, lanes and leaves by their moments.
//!
//! Source: Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.

use std::marker::PhantomData;
use std::ops::{Add, Mul, Sub};

use num_complex::{Complex32, Complex64};
use zerostride_ops::Element;

use super::rule::{Rule, Steps};

/// `var`, with `count - correction` degrees of freedom.
#[derive(Clone, Copy)]
pub(super) struct Variance<T> {
    pub(super) correction: f64,
    pub(super) kind: PhantomData<T>,
}

/// Samples' counts, means and sums of squared deviations, in f64.
#[derive(Clone, Copy)]
pub(super) struct Moments<M, const W: usize> {
    count: [f64; W],
    mean: [M; W],
    squares: [f64; W],
}

/// A dtype whose elements are samples.
pub(super) trait Sample: Element {
    /// f64, or a pair of them.
    type Mean: Mean;
    fn sample(stored: Self::Stored) -> Self::Mean;
}

/// What means are computed in.
pub(super) trait Mean:
    Copy + Send + 'static + Add<Output = Self> + Sub<Output = Self> + Mul<f64, Output = Self>
{
    const ZERO: Self;
    fn square(self) -> f64;
}

impl Mean for f64 {
    const ZERO: f64 = 0.0;
    #[inline(always)]
    fn square(self) -> f64 {
        self * self
    }
}

impl Mean for Complex64 {
    const ZERO: Complex64 = Complex64::ZERO;
    #[inline(always)]
    fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
}

macro_rules! samples {
    ($($type:ty => $mean:ty: $sample:expr;)*) => {
        $(impl Sample for $type {
            type Mean = $mean;
            #[inline(always)]
            fn sample(stored: Self) -> $mean { $sample(stored) }
        })*
    };
}

samples! {
    f32 => f64: f64::from;
    f64 => f64: |v| v;
    Complex32 => Complex64: |v: Complex32| Complex64::new(v.re.into(), v.im.into());
    Complex64 => Complex64: |v| v;
}

/// The sums over lanes of a term of each element.
#[inline(always)]
fn sums<T: Sample, M: Copy + Add<Output = M>, const W: usize>(
    steps: &Steps<'_, T, W>,
    zero: M,
    term: impl Fn(T::Stored, usize) -> M,
) -> [M; W] {
    let mut acc = [zero; W];
    for step in 0..steps.count {
        let row = steps.row(step);
        for lane in 0..W {
            acc[lane] = acc[lane] + term(row[lane], lane);
        }
    }
    if steps.tail == 0 {
        return acc;
    }
    // A copy, so that what the loop above holds stays in registers: lanes are counted only here.
    let mut all = acc;
    for (lane, &element) in steps.tail().iter().enumerate() {
        all[lane] = all[lane] + term(element, lane);
    }
    all
}

impl<T: Sample> Rule for Variance<T> {
    type In = T;
    type Out = f64;
    type One = Moments<T::Mean, 1>;
    type Side<const W: usize> = Moments<T::Mean, W>;
    const STEPS: usize = 16;

    #[inline(always)]
    fn empty() -> Self::One {
        Moments { count: [0.0], mean: [T::Mean::ZERO], squares: [0.0] }
    }

    #[inline(always)]
    fn lane<const W: usize>(acc: Self::Side<W>, steps: &Steps<'_, T, W>) -> Self::Side<W> {
        let lane_count = |lane: usize| (steps.count + usize::from(lane < steps.tail)) as f64;
        let mut count = [0.0; W];
        for (lane, count) in count.iter_mut().enumerate() {
            *count = lane_count(lane);
        }
        let mut mean = sums(steps, T::Mean::ZERO, |element, _| T::sample(element));
        for lane in 0..W {
            mean[lane] = mean[lane] * (1.0 / count[lane].max(1.0));
        }
        let squares = sums(steps, 0.0, |element, lane| (T::sample(element) - mean[lane]).square());
        Self::merge(&acc, &Moments { count, mean, squares })
    }

    #[inline(always)]
    fn merge<const W: usize>(left: &Self::Side<W>, right: &Self::Side<W>) -> Self::Side<W> {
        let mut merged = *left;
        for lane in 0..W {
            let (a, b) = (left.count[lane], right.count[lane]);
            let share = b / (a + b).max(1.0);
            let delta = right.mean[lane] - left.mean[lane];
            // Samples that are not there must not bring their difference in.
            let between = if a == 0.0 || b == 0.0 { 0.0 } else { delta.square() * (a * share) };
            merged.count[lane] = a + b;
            merged.mean[lane] = if a == 0.0 { right.mean[lane] } else { left.mean[lane] + delta * share };
            merged.squares[lane] = left.squares[lane] + right.squares[lane] + between;
        }
        merged
    }

    #[inline(always)]
    fn gather<const W: usize>(ones: &[Self::One; W]) -> Self::Side<W> {
        Moments {
            count: ones.map(|one| one.count[0]),
            mean: ones.map(|one| one.mean[0]),
            squares: ones.map(|one| one.squares[0]),
        }
    }

    #[inline(always)]
    fn scatter<const W: usize>(side: &Self::Side<W>, ones: &mut [Self::One; W]) {
        for (lane, one) in ones.iter_mut().enumerate() {
            *one =
                Moments { count: [side.count[lane]], mean: [side.mean[lane]], squares: [side.squares[lane]] };
        }
    }

    #[inline(always)]
    fn result(&self, one: Self::One) -> f64 {
        one.squares[0] / (one.count[0] - self.correction).max(0.0)
    }
}
