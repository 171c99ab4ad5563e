//! Owns the part of a step that is run at a time: all of it, or some steps of its outermost dimension. It
//! does not know what a step does.

use std::cell::Cell;

use smallvec::SmallVec;
use zerostride_kernels::{Fold, Reducer};
use zerostride_shape::Shape;

use crate::exec::cache;
use crate::plan::Load;

/// The part of a step that is run.
pub(in crate::exec) struct Window<'a> {
    /// How many steps of the outermost dimension; `None` for all of the loop.
    pub(in crate::exec) steps: Option<usize>,
    /// For each load the elements that it begins after its own first one; none for all of the loop.
    pub(in crate::exec) moved: &'a [isize],
    /// Whether a step that is run next reads the result while it is in the caches.
    pub(in crate::exec) read_next: bool,
    /// Whether enough other windows are run at the same time for all threads.
    pub(in crate::exec) one_of_many: bool,
    /// The fold of the window before, if the step is a reduction that one thread runs.
    pub(in crate::exec) fold: Option<&'a Cell<KeptFold>>,
}

/// A fold of a reduction and the most results that it may be started for.
pub(in crate::exec) type KeptFold = Option<(Reducer, usize, Box<dyn Fold>)>;

impl Window<'static> {
    /// All of a step.
    pub(in crate::exec) const ALL: Window<'static> =
        Window { steps: None, moved: &[], read_next: false, one_of_many: false, fold: None };
}

impl Window<'_> {
    /// The loop's shape.
    pub(in crate::exec) fn shape(&self, whole: &Shape) -> Shape {
        let Some(steps) = self.steps else { return whole.clone() };
        let mut sizes: SmallVec<[usize; 6]> = whole.as_ref().into();
        sizes[0] = steps;
        Shape::new(&sizes).expect("a part of a shape is one")
    }

    /// The elements that are worth a thread of their own, given how many are for a whole loop.
    pub(in crate::exec) fn grain(&self, whole: usize) -> usize {
        if self.one_of_many { usize::MAX / 2 } else { whole }
    }

    /// How many bytes before they are read the elements of a load are prefetched, by a loop that touches so
    /// many bytes: so many of a whole loop, else those of the next window, if they come from memory, which
    /// what computes from caches leaves unused.
    pub(in crate::exec) fn prefetch_bytes(&self, load: &Load, touched: usize, of_whole: usize) -> u32 {
        let moves = load.strides.last().is_some_and(|&step| step != 0);
        let of_next = |steps: usize| {
            let elements = usize::try_from(load.strides[0]).ok()?.checked_mul(steps)?;
            elements.checked_mul(load.dtype.item_size())
        };
        let bytes = match self.steps {
            None => Some(of_whole),
            Some(steps) if moves && cache::comes_from_memory(touched) && load.source.buffer().is_none() => {
                of_next(steps)
            }
            Some(_) => None,
        };
        bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0)
    }

    /// The elements that a load begins after its own first one, by its number.
    pub(in crate::exec) fn moved(&self, load: usize) -> isize {
        self.moved.get(load).copied().unwrap_or(0)
    }
}
