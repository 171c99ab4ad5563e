//! Owns reductions of a few dozen neighbours each: as many results as a vector has places are reduced side by side, and their
//! elements cross over in registers. It does not know what is accumulated (`monoid.rs`), nor who has so few (`tree.rs`).

use super::Panel;
use super::monoid::Monoid;
use super::vector::{LONGEST, Source, Vector};

/// Takes all elements of results, which are next to each other, into accumulators in order. Whether there are as many results
/// and elements as a vector has places.
#[inline(always)]
pub(super) fn take<M: Monoid, S: Source<Value = M::Vector>>(
    state: &mut [<M::Vector as Vector>::Elem],
    elements: &[S::Elem],
    panel: &Panel,
) -> bool {
    let &Panel { rows, columns, column_step, .. } = panel;
    let len = M::Vector::LEN;
    if columns < len || rows < len {
        return false;
    }
    for column in (0..columns).step_by(len) {
        // The last ones may be some of those before once more.
        let column = column.min(columns - len);
        let mut lines = [&elements[..0]; LONGEST];
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

/// A vector of the elements at some place of the first lines, one of those at the next place, and so on. After each stage, which
/// interleaves the vectors of the first half with those of the second, one more bit of the numbers of vectors and of elements
/// has changed sides.
#[inline(always)]
fn crossed<S: Source>(lines: &[&[S::Elem]; LONGEST], at: usize) -> [S::Value; LONGEST] {
    let len = S::Value::LEN;
    let mut block = [S::values(&lines[0][at..]); LONGEST];
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
