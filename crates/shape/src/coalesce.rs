//! Owns the simplification of loops over several operands: fewer dimensions, in an order with better
//! locality. It does not know what the loops do nor where the operands start.

use alloc::vec::Vec;

use crate::dims::Dims;
use crate::shape::{Shape, Size, Stride, Strides};

/// The same loop with as few dimensions as possible: dimensions of size 1 are dropped, and neighbouring
/// dimensions merged if every operand walks both with a single stride.
///
/// Shapes: `strides` holds one slice for each operand, all as long as `shape`. The row-major order of the
/// elements is kept. A shape without elements becomes `[0]`, one with a single element `[]`.
///
/// # Panics
/// If an operand has fewer strides than `shape` has sizes, or if `shape` is not a valid [`Shape`].
///
/// Source: after PyTorch's `TensorIteratorBase::coalesce_dimensions`.
///
/// ```
/// use zerostride_shape::coalesce;
///
/// // (2, 3, 4) contiguous, with a column (2, 1, 1) that is stretched.
/// let (shape, strides) = coalesce(&[2, 3, 4], &[&[12, 4, 1], &[1, 0, 0]]);
/// assert_eq!(shape, [2, 12]);
/// assert_eq!(strides[0], [12, 1]);
/// assert_eq!(strides[1], [1, 0]);
/// ```
pub fn coalesce(shape: &[Size], strides: &[&[Stride]]) -> (Shape, Vec<Strides>) {
    if shape.contains(&0) {
        return pack(Dims::filled(1, 0), strides.iter().map(|_| Dims::filled(1, 0)));
    }
    let mut sizes: Dims<Size> = Dims::default();
    let mut merged: Vec<Dims<Stride>> = strides.iter().map(|_| Dims::default()).collect();
    for (dim, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
        let steps_evenly = |(operand, outer): (&&[Stride], &Dims<Stride>)| {
            outer.last().is_some_and(|&outer| outer as i128 == size as i128 * operand[dim] as i128)
        };
        if !sizes.is_empty() && strides.iter().zip(&merged).all(steps_evenly) {
            let last = sizes.len() - 1;
            sizes[last] *= size;
            for (operand, inner) in merged.iter_mut().zip(strides) {
                operand[last] = inner[dim];
            }
        } else {
            sizes.push(size);
            for (operand, inner) in merged.iter_mut().zip(strides) {
                operand.push(inner[dim]);
            }
        }
    }
    pack(sizes, merged.into_iter())
}

/// The order, outermost first, in which PyTorch lays out the dimensions of the result of an element-wise
/// operation; `None` if that is row-major. It is the order of [`order_dims`].
///
/// Shapes: `strides` holds one slice for each operand, all as long as `shape`, 0 where it is stretched.
///
/// # Panics
/// If an operand has fewer strides than `shape` has sizes.
///
/// Source: after PyTorch's `TensorIteratorBase::reorder_dimensions`.
///
/// ```
/// use zerostride_shape::result_order;
///
/// assert_eq!(result_order(&[2, 3], &[&[3, 1], &[0, 1]]), None);
/// // A transposed matrix, and a row that is stretched.
/// assert_eq!(result_order(&[2, 3], &[&[1, 2], &[0, 1]]), Some(vec![1, 0]));
/// ```
pub fn result_order(shape: &[Size], strides: &[&[Stride]]) -> Option<Vec<usize>> {
    let order = order_of(shape, strides);
    (!order.is_sorted()).then(|| order.iter().copied().collect())
}

/// The same loop with its dimensions ordered for locality: by stride, largest outermost. The first operand
/// decides, and where its strides are equal or 0, the next ones.
///
/// For element-wise work only, since the order of the elements changes. Shapes and strides are as in
/// [`coalesce`], which usually gets the result. Negative strides are compared by absolute value; a stride of
/// 0 does not decide.
///
/// # Panics
/// As [`coalesce`].
///
/// Source: after PyTorch's `TensorIteratorBase::reorder_dimensions`.
///
/// ```
/// use zerostride_shape::{coalesce, order_dims};
///
/// // Two transposed matrices are one run of memory.
/// let (shape, strides) = order_dims(&[3, 2], &[&[1, 3], &[1, 3]]);
/// let strides: Vec<&[isize]> = strides.iter().map(|strides| &**strides).collect();
/// let (shape, strides) = coalesce(&shape, &strides);
/// assert_eq!(shape, [6]);
/// assert_eq!(strides[1], [1]);
/// ```
pub fn order_dims(shape: &[Size], strides: &[&[Stride]]) -> (Shape, Vec<Strides>) {
    let order = order_of(shape, strides);
    let sizes = order.iter().map(|&dim| shape[dim]).collect();
    pack(sizes, strides.iter().map(|operand| order.iter().map(|&dim| operand[dim]).collect()))
}

/// The same loop with dimensions reversed where necessary, so that in each of them the first operand whose
/// stride is not 0 has a positive one. Returns the new strides, and how far each operand's first element has
/// moved.
///
/// ```
/// use zerostride_shape::turn_dims;
///
/// let (strides, firsts) = turn_dims(&[4, 3], &[&[-3, 0], &[3, -1]]);
/// assert_eq!((&strides[0][..], firsts[0]), (&[3, 0][..], -9));
/// assert_eq!((&strides[1][..], firsts[1]), (&[-3, 1][..], 9 - 2));
/// ```
pub fn turn_dims(shape: &[Size], strides: &[&[Stride]]) -> (Vec<Strides>, Vec<Stride>) {
    let is_turned = |dim: usize| {
        let step = strides.iter().map(|operand| operand[dim]).find(|&step| step != 0);
        shape[dim] > 1 && step.is_some_and(|step| step < 0)
    };
    let turned: Dims<usize> = (0..shape.len()).filter(|&dim| is_turned(dim)).collect();
    let turn = |operand: &&[Stride]| {
        let (mut own, mut first): (Dims<Stride>, _) = (operand.iter().copied().collect(), 0);
        for &dim in &*turned {
            first += (shape[dim] - 1) as Stride * own[dim];
            own[dim] = -own[dim];
        }
        (Strides::from_dims(own), first)
    };
    strides.iter().map(turn).unzip()
}

/// The dimensions in the order of their strides, outermost first.
fn order_of(shape: &[Size], strides: &[&[Stride]]) -> Dims<usize> {
    // Innermost first, by insertion. A sort would need a total order, and where strides are 0 the order is
    // partial.
    let mut order: Dims<usize> = (0..shape.len()).rev().collect();
    for next in 1..order.len() {
        let mut at = next;
        for inner in (0..next).rev() {
            match is_outside(shape, strides, order[inner], order[at]) {
                Some(true) => {
                    order.swap(inner, at);
                    at = inner;
                }
                Some(false) => break,
                None => {}
            }
        }
    }
    order.reverse();
    order
}

/// Whether dimension `a` should be outside dimension `b`; `None` if no operand decides.
fn is_outside(shape: &[Size], strides: &[&[Stride]], a: usize, b: usize) -> Option<bool> {
    for operand in strides {
        let (step_a, step_b) = (operand[a].unsigned_abs(), operand[b].unsigned_abs());
        if step_a == 0 || step_b == 0 {
            continue;
        }
        if step_a != step_b {
            return Some(step_a > step_b);
        }
        // With equal strides the longer dimension is outside.
        if shape[a] > shape[b] {
            return Some(true);
        }
    }
    None
}

fn pack(sizes: Dims<Size>, strides: impl Iterator<Item = Dims<Stride>>) -> (Shape, Vec<Strides>) {
    let shape =
        Shape::from_dims(sizes).expect("the sizes of an existing shape, reordered or merged, fit as before");
    (shape, strides.map(Strides::from_dims).collect())
}
