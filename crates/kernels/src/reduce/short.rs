//! Owns reductions of a few dozen contiguous elements each. A vector reduces one result at each of its
//! positions, and elements are transposed in registers. It does not know what is accumulated (`monoid.rs`).

use super::fold::ReducePanel;
use super::monoid::Monoid;
use super::vector::{LoadVector, MAX_VECTOR_LEN, Vector};

/// Reduces each line of contiguous elements in order. Returns whether there are at least as many results and
/// elements as a vector has positions; otherwise it does nothing.
#[inline(always)]
pub(super) fn take<M: Monoid, S: LoadVector<Value = M::Vector>>(
    state: &mut [<M::Vector as Vector>::Elem],
    elements: &[S::Elem],
    panel: &ReducePanel,
) -> bool {
    let &ReducePanel { rows, columns, column_step, .. } = panel;
    let len = M::Vector::LEN;
    if columns < len || rows < len {
        return false;
    }
    for column in (0..columns).step_by(len) {
        // The last vector overlaps the one before.
        let column = column.min(columns - len);
        let mut lines = [&elements[..0]; MAX_VECTOR_LEN];
        for place in 0..len {
            lines[place] = &elements[(column + place) * column_step..][..rows];
        }
        let mut acc = M::Vector::splat(M::empty());
        for block in 0..rows / len {
            acc = M::block(acc, crossed::<S>(&lines, block * len));
        }
        let left = rows % len;
        if left > 0 {
            let values = crossed::<S>(&lines, rows - len);
            acc = values[len - left..len].iter().copied().fold(acc, M::step);
        }
        acc.store(&mut state[column..]);
    }
    true
}

/// A square of elements, transposed: vector `i` has element `i` of each line. Each stage interleaves the
/// vectors of the first half with those of the second, which exchanges one bit of the numbers of vectors and
/// elements.
#[inline(always)]
fn crossed<S: LoadVector>(lines: &[&[S::Elem]; MAX_VECTOR_LEN], at: usize) -> [S::Value; MAX_VECTOR_LEN] {
    let len = S::Value::LEN;
    let mut block = [S::values(&lines[0][at..]); MAX_VECTOR_LEN];
    for place in 0..len {
        block[place] = S::values(&lines[place][at..]);
    }
    for _ in 0..len.ilog2() {
        let before = block;
        for half in 0..len / 2 {
            [block[2 * half], block[2 * half + 1]] = before[half].interleaved(before[half + len / 2]);
        }
    }
    block
}
