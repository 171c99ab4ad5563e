//! Owns the recording of the variance: what moments and an element become, and its moments at the end, as the
//! folds of `reduce` have them. It does not know in which order elements come, which is that of the tree.
//!
//! Folds take the elements of a lane in passes. Here an element comes alone, so that accumulators are those
//! of the passes before and those of the pass under way. To merge them with no samples changes no bit.

use zerostride_code::{Builder, Value};

use crate::lane::record::{Symbol, Truth, append, record as on_lanes};
use crate::lane::{Arithmetic, Lane, Select, rare};
use crate::reduce::{Moments, PASS_ROWS};

/// How many elements of a lane are gone over before the next ones.
pub const MOMENTS_PASS: u32 = PASS_ROWS as u32;

type F64 = Symbol<f64>;

/// What is accumulated of the variance of elements, or of one of their parts: seven numbers of f64, which are
/// zeros at first.
#[derive(Clone, Copy)]
struct HeldMoments {
    /// Of the passes before.
    before: Moments<F64>,
    /// How many elements of this pass have been taken; less than zero while their sum is found.
    count: F64,
    /// A value near the elements of this pass.
    near: F64,
    /// The sums of what these are off it, and of the squares of that.
    sums: [F64; 2],
}

/// The numbers that a part has.
pub const MOMENTS: usize = 7;

impl HeldMoments {
    fn new(values: [Value; MOMENTS]) -> HeldMoments {
        let [samples, mean, squares, count, near, off, off_squares] = values.map(Symbol::new);
        HeldMoments {
            before: Moments { count: samples, mean, squares },
            count,
            near,
            sums: [off, off_squares],
        }
    }

    fn values(self) -> [Value; MOMENTS] {
        let HeldMoments {
            before: Moments { count: samples, mean, squares },
            count,
            near,
            sums: [off, off_squares],
        } = self;
        [samples, mean, squares, count, near, off, off_squares].map(|symbol| symbol.0)
    }

    /// The moments of all elements so far.
    fn moments(self, wide: bool) -> Moments<F64> {
        let reciprocal = F64::num(1.0) / self.count.max(F64::num(1.0));
        self.before.merge(Moments::near(self.near, [self.count, reciprocal], self.sums), wide)
    }

    /// Those of nothing but passes before.
    fn of(before: Moments<F64>) -> HeldMoments {
        let zero = F64::num(0.0);
        HeldMoments { before, count: zero, near: zero, sums: [zero; 2] }
    }

    /// The same at the beginning of a pass, if one is complete.
    fn begun(self, wide: bool) -> HeldMoments {
        let is_complete = self.count.eq(F64::num(PASS_ROWS as f64));
        rare!(is_complete, self, HeldMoments::of(self.moments(wide)))
    }

    /// With an element, of which the pass knows a value that is near.
    fn with(self, element: F64) -> HeldMoments {
        let off = element - self.near;
        HeldMoments { sums: [self.sums[0] + off, off.mul_add(off, self.sums[1])], ..self }
    }
}

impl Select<Truth> for HeldMoments {
    fn select(mask: Truth, yes: HeldMoments, no: HeldMoments) -> HeldMoments {
        let (yes, no) = (yes.values(), no.values());
        HeldMoments::new(std::array::from_fn(|at| append(|code| code.select(mask.0, yes[at], no[at]))))
    }
}

/// Appends what moments and an element of f32 become.
pub fn record_moments(code: &mut Builder, held: [Value; MOMENTS], element: Value) -> [Value; MOMENTS] {
    on_lanes(code, || {
        let (held, element) = (HeldMoments::new(held).begun(false), Symbol::<f32>::new(element).widen());
        let near = Select::select(held.count.eq(F64::num(0.0)), element, held.near);
        HeldMoments { near, count: held.count + F64::num(1.0), ..held }.with(element).values()
    })
}

/// Appends what moments and an element of f64 become, of whose pass all elements have been summed.
pub fn record_wide_moments(code: &mut Builder, held: [Value; MOMENTS], element: Value) -> [Value; MOMENTS] {
    on_lanes(code, || {
        let held = HeldMoments::new(held);
        let (is_first, count) = (held.count.lt(F64::num(0.0)), held.count.abs());
        let mean = rare!(is_first, held.near, held.near * (F64::num(1.0) / count));
        HeldMoments { near: mean, count, ..held }.with(Symbol::new(element)).values()
    })
}

/// Appends how an element of f64 is summed before the elements of its pass become moments.
pub fn record_summed(code: &mut Builder, held: [Value; MOMENTS], element: Value) -> [Value; MOMENTS] {
    on_lanes(code, || {
        let held = HeldMoments::new(held).begun(true);
        HeldMoments { near: held.near + Symbol::new(element), count: held.count - F64::num(1.0), ..held }
            .values()
    })
}

/// Appends the moments of two groups of elements, which are `wide` if they are f64.
pub fn record_merged_moments(
    code: &mut Builder,
    [left, right]: [[Value; MOMENTS]; 2],
    wide: bool,
) -> [Value; MOMENTS] {
    on_lanes(code, || {
        let [left, right] = [left, right].map(|held| HeldMoments::new(held).moments(wide));
        HeldMoments::of(left.merge(right, wide)).values()
    })
}

/// Appends the variance, in f64, of elements of one or two parts.
pub fn record_variance(code: &mut Builder, parts: &[[Value; MOMENTS]], correction: f64, wide: bool) -> Value {
    on_lanes(code, || {
        let moments: Vec<Moments<F64>> =
            parts.iter().map(|&held| HeldMoments::new(held).moments(wide)).collect();
        let freedom = (moments[0].count - F64::num(correction)).max(F64::num(0.0));
        let of = moments.into_iter().map(|part| part.squares / freedom);
        of.reduce(|sum, part| sum + part).expect("an element has a part").0
    })
}
