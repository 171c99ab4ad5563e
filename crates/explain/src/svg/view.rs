//! Owns `View`: which dimensions of the result are drawn, how many cells of each, and what is drawn of an
//! operand. It does not know positions (`cubes.rs`).

use zerostride_shape::{Role, Size};

use crate::alignment::{Column, is_misfit};
use crate::explanation::Explanation;

/// The largest sizes of which every cell is drawn: of depth, rows and columns.
const DRAWN: [Size; 3] = [5, 6, 6];
/// The cells before the gap, for larger sizes.
const BEFORE_GAP: Size = 3;

/// What is drawn of a broadcast.
pub(super) struct View<'a> {
    columns: &'a [Column],
    misfit: Vec<bool>,
    /// The columns drawn as depth, rows and columns.
    pub(super) axes: [Option<usize>; 3],
    /// The columns of which one slice is drawn.
    pub(super) hidden: Vec<usize>,
}

/// A cell along one axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The cell at an index.
    At(Size),
    /// Cells that are left out.
    Gap,
}

/// One axis of one operand.
pub(super) struct Axis {
    /// The dimension of the result.
    pub(super) dim: usize,
    /// The size of the operand itself; `None` where it does not have the dimension.
    pub(super) own: Option<Size>,
    /// The size of the result, if there is one.
    pub(super) result: Option<Size>,
    /// The size that it is drawn with.
    pub(super) extent: Size,
    pub(super) role: Role,
    /// Whether the operand is one of those that disagree about this dimension.
    pub(super) misfit: bool,
    pub(super) slots: Vec<Slot>,
}

impl Axis {
    /// Whether the operand's only cell is drawn more than once.
    pub(super) fn is_spread(&self) -> bool {
        self.role != Role::Kept && self.extent > 1
    }
}

/// What a view shows of one operand, or of the result.
pub(super) struct Body {
    /// Depth, rows, columns.
    pub(super) axes: [Option<Axis>; 3],
    /// Of the hidden dimensions: the number of slices that it has itself, and the number that it is stretched
    /// to, if that is known.
    pub(super) slices: Option<(u128, Option<u128>)>,
    /// Whether it has no elements.
    pub(super) is_empty: bool,
}

impl<'a> View<'a> {
    pub(super) fn new(explanation: &Explanation, columns: &'a [Column]) -> View<'a> {
        let misfit: Vec<bool> =
            columns.iter().map(|column| is_misfit(explanation, columns, column)).collect();
        // Dimensions that fail are always drawn; then the last ones whose size is not 1 throughout.
        let is_plain = |column: &Column| column.result == Some(1);
        let mut order: Vec<usize> = (0..columns.len()).rev().collect();
        order.sort_by_key(|&at| (!misfit[at], is_plain(&columns[at])));
        let telling = columns.iter().filter(|column| !is_plain(column)).count();
        let mut drawn: Vec<usize> = order.iter().copied().take(3.min(telling.max(2))).collect();
        drawn.sort_unstable();
        let axis = |from_last: usize| drawn.len().checked_sub(from_last).map(|at| drawn[at]);
        let hidden =
            (0..columns.len()).filter(|at| !drawn.contains(at) && !is_plain(&columns[*at])).collect();
        View { columns, misfit, axes: [axis(3), axis(2), axis(1)], hidden }
    }

    /// What is drawn of operand `i`.
    pub(super) fn operand(&self, i: usize) -> Body {
        let axis = |kind: usize| {
            let at = self.axes[kind]?;
            let column = &self.columns[at];
            let own = column.sizes[i];
            // If sizes disagree, each operand is drawn with its own; so is one that would be stretched to
            // size 0.
            let extent = column.result.filter(|result| *result != 0).or(own).unwrap_or(1);
            let role = if column.result.is_some() { column.roles[i] } else { Role::Kept };
            let slots = slots(extent, kind);
            let (dim, result) = (column.dim, column.result);
            let misfit = self.misfit[at] && column.is_wrong(i);
            Some(Axis { dim, own, result, extent, role, misfit, slots })
        };
        let own = |at: &usize| self.columns[*at].sizes[i].unwrap_or(1) as u128;
        let is_empty = self.columns.iter().any(|column| column.sizes[i] == Some(0));
        Body { axes: [axis(0), axis(1), axis(2)], slices: self.slices(own), is_empty }
    }

    /// What is drawn of the result, if there is one.
    pub(super) fn result(&self) -> Option<Body> {
        let sizes: Vec<Size> = self.columns.iter().map(|column| column.result).collect::<Option<_>>()?;
        let axis = |kind: usize| {
            let at = self.axes[kind]?;
            let (dim, extent) = (self.columns[at].dim, sizes[at]);
            let (own, result, role) = (Some(extent), Some(extent), Role::Kept);
            Some(Axis { dim, own, result, extent, role, misfit: false, slots: slots(extent, kind) })
        };
        let slices = self.slices(|at| sizes[*at] as u128);
        Some(Body { axes: [axis(0), axis(1), axis(2)], slices, is_empty: sizes.contains(&0) })
    }

    fn slices(&self, own: impl Fn(&usize) -> u128) -> Option<(u128, Option<u128>)> {
        let result = |at: &usize| self.columns[*at].result.map(|size| size as u128);
        let seen = self.hidden.iter().map(result).try_fold(1u128, |slices, size| slices.checked_mul(size?));
        let own = self.hidden.iter().map(own).fold(1, u128::saturating_mul);
        (!self.hidden.is_empty()).then_some((own, seen))
    }
}

fn slots(extent: Size, kind: usize) -> Vec<Slot> {
    if extent <= DRAWN[kind] {
        return (0..extent).map(Slot::At).collect();
    }
    let before = (0..BEFORE_GAP).map(Slot::At);
    before.chain([Slot::Gap, Slot::At(extent - 1)]).collect()
}
