//! Owns the recording of reductions: what an accumulator and an element become. It does not know in which
//! order elements come, which is that of the tree (`reduce`).

use zerostride_code::{Binary, Builder, Compare, Unary, Value};
use zerostride_ops::Reduction;

/// Appends what a reduction makes of an accumulator and an element, both floats of one type, as folds do
/// that have an [`accumulator`](crate::Reducer::accumulator). `None` for other reductions. Two accumulators
/// are combined by the same step, the one of the elements to the left first: a reduction whose elements
/// become something else before they are accumulated has none.
///
/// ```
/// use zerostride_code::{Builder, Type};
/// use zerostride_kernels::record_step;
/// use zerostride_ops::Reduction;
/// let mut code = Builder::new();
/// let (held, x) = (code.input(Type::F32), code.input(Type::F32));
/// let most = record_step(&mut code, Reduction::Amax, held, x).unwrap();
/// let code = code.finish(&[most]);
/// let of = |held: f32, x: f32| f32::from_bits(code.run(&[held.to_bits().into(), x.to_bits().into()])[0] as u32);
/// assert_eq!((of(1.0, 2.0), of(2.0, 1.0)), (2.0, 2.0));
/// assert!(of(f32::NAN, 1.0).is_nan() && of(1.0, f32::NAN).is_nan());
/// ```
pub fn record_step(code: &mut Builder, op: Reduction, held: Value, element: Value) -> Option<Value> {
    match op {
        Reduction::Sum => Some(code.binary(Binary::Add, held, element)),
        Reduction::Prod => Some(code.binary(Binary::Mul, held, element)),
        Reduction::Amax | Reduction::Amin => {
            let (less, more) = if op == Reduction::Amax { (element, held) } else { (held, element) };
            let stays = code.compare(Compare::Le, less, more);
            // The first NaN stays.
            let is_number = code.compare(Compare::Eq, held, held);
            let leaves = code.unary(Unary::Not, stays);
            let leaves = code.binary(Binary::And, leaves, is_number);
            Some(code.select(leaves, element, held))
        }
        Reduction::All | Reduction::Any | Reduction::Argmax | Reduction::Argmin | Reduction::Var => None,
    }
}

/// The accumulator of [`record_step`] before the first element. `None` for reductions that it has no step of.
///
/// ```
/// use zerostride_kernels::step_start;
/// use zerostride_ops::Reduction;
/// assert_eq!(step_start(Reduction::Prod), Some(1.0));
/// assert_eq!(step_start(Reduction::Amin), Some(f64::INFINITY));
/// assert_eq!(step_start(Reduction::Argmin), None);
/// ```
pub fn step_start(op: Reduction) -> Option<f64> {
    match op {
        Reduction::Sum => Some(0.0),
        Reduction::Prod => Some(1.0),
        Reduction::Amax => Some(f64::NEG_INFINITY),
        Reduction::Amin => Some(f64::INFINITY),
        Reduction::All | Reduction::Any | Reduction::Argmax | Reduction::Argmin | Reduction::Var => None,
    }
}
