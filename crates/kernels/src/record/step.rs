//! Owns the recording of reductions: what an accumulator and an element become. It does not know in which
//! order elements come, which is that of the tree (`reduce`).

use zerostride_code::Builder;
use zerostride_ops::{DType, Reduction};

use super::{Recorded, record};

/// Appends what a reduction that holds an element makes of it and the next one, both of a dtype, as folds do.
/// `None` for other reductions. Two that are held are combined by the same step, with `held` the one of the
/// elements to the left.
///
/// ```
/// use zerostride_code::{Builder, Type};
/// use zerostride_kernels::{Recorded, record_step};
/// use zerostride_ops::{DType, Reduction};
/// let mut code = Builder::new();
/// let [held, x] = [(); 2].map(|()| Recorded::Real(code.input(Type::F32)));
/// let Some(Recorded::Real(most)) = record_step(&mut code, Reduction::Amax, DType::F32, held, x) else {
///     unreachable!("it holds the largest element");
/// };
/// let code = code.finish(&[most]);
/// let of = |held: f32, x: f32| f32::from_bits(code.run(&[held.to_bits().into(), x.to_bits().into()])[0] as u32);
/// assert_eq!((of(1.0, 2.0), of(2.0, 1.0)), (2.0, 2.0));
/// assert!(of(f32::NAN, 1.0).is_nan() && of(1.0, f32::NAN).is_nan());
/// ```
pub fn record_step(
    code: &mut Builder,
    op: Reduction,
    dtype: DType,
    held: Recorded,
    element: Recorded,
) -> Option<Recorded> {
    record(code, op.step()?, dtype, &[element, held])
}
