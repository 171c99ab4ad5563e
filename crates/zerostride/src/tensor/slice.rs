//! Owns `Slice`, the indices of one dimension that a slice takes, made of Rust's ranges. It does not know the
//! size of the dimension (`Layout::slice` does).

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// The indices of a dimension that a slice takes: Python's `start:stop:step`.
///
/// Made with `into()` from a range of `i32`, `isize` or `usize`. As in Python, negative bounds count from the
/// end of the dimension, and bounds beyond it are cut off.
///
/// ```
/// use zerostride::{Slice, tensor};
/// let x = tensor![0, 1, 2, 3, 4];
/// assert_eq!(x.slice(0, 1..3)?.to_vec::<i64>()?, [1, 2]);
/// assert_eq!(x.slice(0, -2..)?.to_vec::<i64>()?, [3, 4]);
/// assert_eq!(x.slice(0, ..=-2)?.to_vec::<i64>()?, [0, 1, 2, 3]);
/// assert_eq!(x.slice(0, 3..100)?.to_vec::<i64>()?, [3, 4]);
/// assert_eq!(x.slice(0, Slice::from(1..).step_by(2))?.to_vec::<i64>()?, [1, 3]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The first index; `None` is the first in the direction of the step.
    pub start: Option<isize>,
    /// The index before which to stop; `None` is the end in the direction of the step.
    pub stop: Option<isize>,
    /// The difference of one index to the next, which may be negative but not zero.
    pub step: isize,
}

impl Slice {
    /// `start:stop`, for bounds of which one counts from the end: clippy takes `1..-1` for an empty range.
    ///
    /// ```
    /// use zerostride::{Slice, tensor};
    /// assert_eq!(tensor![0, 1, 2, 3, 4].slice(0, Slice::new(1, -1))?.to_vec::<i64>()?, [1, 2, 3]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn new(start: isize, stop: isize) -> Slice {
        Slice { start: Some(start), stop: Some(stop), step: 1 }
    }

    /// Every `step`-th index of a range; with a negative step from its last index backwards.
    ///
    /// Source: the slices of the crate ndarray, `s![1..4;-1]`. Python's `1:4:-1` is empty.
    ///
    /// ```
    /// use zerostride::{Slice, tensor};
    /// let x = tensor![0, 1, 2, 3, 4];
    /// assert_eq!(x.slice(0, Slice::from(1..4).step_by(-1))?.to_vec::<i64>()?, [3, 2, 1]);
    /// assert_eq!(x.slice(0, Slice::from(..).step_by(-2))?.to_vec::<i64>()?, [4, 2, 0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    pub fn step_by(self, step: isize) -> Slice {
        if step >= 0 {
            return Slice { step, ..self };
        }
        // An index before the first one, which no index from the end can name.
        let none = isize::MIN;
        let before = |bound: isize| bound.checked_sub(1).filter(|&last| last != -1);
        Slice {
            start: self.stop.map(|stop| before(stop).unwrap_or(none)),
            stop: self.start.and_then(before),
            step,
        }
    }
}

impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Slice {
        Slice { start: None, stop: None, step: 1 }
    }
}

/// The bound after an index; there is none after the last one.
fn after(last: isize) -> Option<isize> {
    if last == -1 { None } else { last.checked_add(1) }
}

/// A bound as an index. No dimension is longer than `isize::MAX`, so larger bounds are cut off to it.
trait Bound {
    fn index(self) -> isize;
}

macro_rules! slice_from {
    ($($int:ty)*) => {
        $(impl Bound for $int {
            fn index(self) -> isize {
                isize::try_from(self).unwrap_or(isize::MAX)
            }
        }

        impl From<Range<$int>> for Slice {
            fn from(range: Range<$int>) -> Slice {
                Slice { start: Some(range.start.index()), stop: Some(range.end.index()), step: 1 }
            }
        }

        impl From<RangeInclusive<$int>> for Slice {
            fn from(range: RangeInclusive<$int>) -> Slice {
                Slice { start: Some(range.start().index()), stop: after(range.end().index()), step: 1 }
            }
        }

        impl From<RangeFrom<$int>> for Slice {
            fn from(range: RangeFrom<$int>) -> Slice {
                Slice { start: Some(range.start.index()), ..Slice::from(..) }
            }
        }

        impl From<RangeTo<$int>> for Slice {
            fn from(range: RangeTo<$int>) -> Slice {
                Slice { stop: Some(range.end.index()), ..Slice::from(..) }
            }
        }

        impl From<RangeToInclusive<$int>> for Slice {
            fn from(range: RangeToInclusive<$int>) -> Slice {
                Slice { stop: after(range.end.index()), ..Slice::from(..) }
            }
        })*
    };
}

slice_from!(i32 isize usize);

#[cfg(test)]
mod tests {
    use zerostride_shape::{Layout, Shape};

    use super::*;

    /// The indices that a slice takes of a dimension.
    fn indices(slice: Slice, size: usize) -> Vec<isize> {
        let line = Layout::contiguous(Shape::new(&[size]).unwrap());
        let view = line.slice(0, slice.start, slice.stop, slice.step).unwrap();
        (0..view.numel() as isize).map(|at| view.offset() + at * view.strides()[0]).collect()
    }

    #[test]
    fn a_slice_takes_what_the_range_takes_of_a_slice_of_rust() {
        let line: Vec<isize> = (0..5).collect();
        for start in 0..=5usize {
            assert_eq!(indices((start..).into(), 5), line[start..]);
            assert_eq!(indices((..start).into(), 5), line[..start]);
            for end in start..=5 {
                assert_eq!(indices((start..end).into(), 5), line[start..end]);
                let backwards: Vec<isize> = line[start..end].iter().rev().copied().collect();
                assert_eq!(indices(Slice::from(start..end).step_by(-1), 5), backwards, "{start}..{end}");
            }
            for last in start..5 {
                assert_eq!(indices((start..=last).into(), 5), line[start..=last]);
                assert_eq!(indices((..=last).into(), 5), line[..=last]);
            }
        }
        assert_eq!(indices((..).into(), 5), line);
    }

    #[test]
    fn bounds_from_the_end_and_beyond_it_are_those_of_python() {
        assert_eq!(indices((-2..).into(), 5), [3, 4]);
        assert_eq!(indices((-3..-1).into(), 5), [2, 3]);
        assert_eq!(indices((..=-1).into(), 5), [0, 1, 2, 3, 4]);
        let last = -2;
        assert_eq!(indices((1..=last).into(), 5), [1, 2, 3]);
        assert_eq!(indices((-100..2).into(), 5), [0, 1]);
        assert_eq!(indices((3..100).into(), 5), [3, 4]);
        assert_eq!(indices((3..usize::MAX).into(), 5), [3, 4]);
        assert_eq!(indices((3..=usize::MAX).into(), 5), [3, 4]);
        assert!(indices(Slice::new(3, 1), 5).is_empty());
        assert_eq!(indices(Slice::from(-100..-3).step_by(-1), 5), [1, 0]);
        assert_eq!(indices(Slice::from(-2..).step_by(-1), 5), [4, 3]);
        assert!(indices(Slice::from(..0).step_by(-1), 5).is_empty());
    }
}
