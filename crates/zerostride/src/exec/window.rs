//! Owns the part of a step that is run at a time: all of it, or some steps of its outermost dimension. It does not know
//! what a step does.

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_shape::Shape;

/// Which steps of a loop's outermost dimension are run.
pub(super) enum Window {
    All,
    Steps(Range<usize>),
}

impl Window {
    /// The loop's shape.
    pub(super) fn shape(&self, whole: &Shape) -> Shape {
        match self {
            Window::All => whole.clone(),
            Window::Steps(steps) => {
                let mut sizes: SmallVec<[usize; 6]> = whole.as_ref().into();
                sizes[0] = steps.len();
                Shape::new(&sizes).expect("a part of a shape is one")
            }
        }
    }

    /// The elements before the first, of an operand with these strides.
    pub(super) fn offset(&self, strides: &[isize]) -> isize {
        match self {
            Window::All => 0,
            Window::Steps(steps) => steps.start as isize * strides[0],
        }
    }
}
