//! Owns the way through the loop of an element-wise step: which elements are worked on together, in what order, and
//! where the loop may be divided. It does not touch elements, and does not know what is computed.
//!
//! A panel is some rows of neighbouring elements. A row runs along one dimension, with everything inside it; the rows
//! are steps of a dimension further out. Operands are read where they lie if a row of them is dense or a single
//! element, and packed into a tile otherwise.

use smallvec::SmallVec;
use zerostride_shape::Shape;

use crate::plan::{GRAIN, TILE};

/// One number for each dimension of a loop.
pub(super) type Index = SmallVec<[usize; 6]>;

/// Elements that make a row worth a pass of its own; shorter rows are joined.
const ROW: usize = 1024;

/// Elements of a panel where something is packed.
const PANEL: usize = 4 * TILE;

/// Bytes of all packed rows of a panel: less than the first level of cache, for there is also what is not packed.
const PACKED: usize = 16 << 10;

/// Rows and columns of a panel where an operand's neighbours lie across the rows: the rows fill the cache lines that the
/// columns touch, and the columns are few enough for these lines to stay in the cache.
const ACROSS: (usize, usize) = (32, 512);

/// Rows are of a multiple of this many elements if they may be, so that registers are full.
const EVEN: usize = 128;

/// How a row of a panel lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One element after the other.
    Dense,
    /// One element for all.
    Splat,
    /// Neither.
    Scattered,
}

/// A part of a loop: in each dimension, the first index and the number of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: Index,
    pub(super) len: Index,
}

impl Part {
    pub(super) fn numel(&self) -> usize {
        self.len.iter().product()
    }

    /// Elements of a row, for a part that is a panel.
    pub(super) fn row_len(&self, walk: &Walk) -> usize {
        self.len[walk.row_dims()].iter().product()
    }

    /// Whether another part lies inside this one.
    pub(super) fn contains(&self, other: &Part) -> bool {
        let same_rank = self.start.len() == other.start.len();
        let own = self.start.iter().zip(&self.len);
        same_rank
            && own.zip(other.start.iter().zip(&other.len)).all(|((&start, &len), (&first, &count))| {
                start <= first && count <= len && first - start <= len - count
            })
    }

    /// Two parts, the second from an index of a dimension on.
    ///
    /// # Panics
    /// If the index lies outside the part.
    pub(super) fn split(mut self, dim: usize, middle: usize) -> (Part, Part) {
        let left = middle - self.start[dim];
        assert!(left <= self.len[dim]);
        let mut right = self.clone();
        (right.start[dim], right.len[dim]) = (middle, self.len[dim] - left);
        self.len[dim] = left;
        (self, right)
    }
}

/// How a loop of at least one dimension is walked.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    shape: Shape,
    /// The dimension that a row runs along.
    along: usize,
    /// The dimension whose steps are the rows; without any, there is one row.
    across: Option<usize>,
    /// Steps of each dimension in one panel.
    units: Index,
}

impl Walk {
    /// A walk in step with all operands, of which it gets the strides and the bytes of an element.
    ///
    /// # Panics
    /// If the loop has no dimensions.
    pub(super) fn new(shape: &Shape, operands: &[(&[isize], usize)]) -> Walk {
        let ndim = shape.ndim();
        let (mut along, mut inner) = (ndim - 1, 1);
        while along > 0 && inner * shape[along] < ROW {
            inner *= shape[along];
            along -= 1;
        }
        let mut walk =
            Walk { shape: shape.clone(), along, across: along.checked_sub(1), units: shape.as_ref().into() };
        let scattered: SmallVec<[(&[isize], usize); 8]> =
            operands.iter().copied().filter(|(strides, _)| walk.form(strides) == Form::Scattered).collect();
        let neighbours = scattered.iter().find_map(|(strides, _)| walk.neighbours_across(strides));
        let packed: usize = scattered.iter().map(|(_, item)| item).sum();
        let row = match neighbours {
            Some(_) => ACROSS.1,
            None if packed > 0 => (PACKED / packed).clamp(ROW / 4, TILE),
            None => GRAIN,
        };
        walk.units[along] = even_chunk(shape[along], inner, row);
        walk.across = neighbours.or(walk.across);
        walk.units[..along].fill(1);
        if let Some(across) = walk.across {
            let rows = match neighbours {
                Some(_) => ACROSS.0,
                None => (if packed > 0 { PANEL } else { GRAIN }) / walk.row(),
            };
            walk.units[across] = rows.clamp(1, shape[across]);
        }
        walk
    }

    /// The same walk for rows that pass through tiles.
    pub(super) fn tiled(mut self) -> Walk {
        if self.row() > TILE {
            let inner = self.units[self.along + 1..].iter().product();
            self.units[self.along] = even_chunk(self.shape[self.along], inner, TILE);
        }
        self
    }

    /// The dimension outside the rows along which the operand's neighbours lie, if it is outside.
    fn neighbours_across(&self, strides: &[isize]) -> Option<usize> {
        let steps = (0..strides.len()).filter(|&dim| strides[dim] != 0 && self.shape[dim] > 1);
        let nearest = steps.min_by_key(|&dim| strides[dim].unsigned_abs())?;
        (nearest < self.along && self.shape[nearest] > 1).then_some(nearest)
    }

    /// The most elements of a row.
    pub(super) fn row(&self) -> usize {
        self.units[self.along..].iter().product()
    }

    /// The most rows of a panel.
    pub(super) fn rows(&self) -> usize {
        self.across.map_or(1, |across| self.units[across])
    }

    /// The dimension whose steps are the rows of a panel.
    pub(super) fn across(&self) -> Option<usize> {
        self.across
    }

    /// The dimensions of a row, outermost first.
    pub(super) fn row_dims(&self) -> std::ops::Range<usize> {
        self.along..self.shape.ndim()
    }

    /// How a row of an operand lies in memory.
    pub(super) fn form(&self, strides: &[isize]) -> Form {
        let steps = || self.row_dims().filter(|&dim| self.units[dim] > 1);
        if steps().all(|dim| strides[dim] == 0) {
            return Form::Splat;
        }
        let end = steps().rev().try_fold(1, |expected, dim| {
            (strides[dim] == expected).then(|| expected * self.shape[dim] as isize)
        });
        if end.is_some() { Form::Dense } else { Form::Scattered }
    }

    /// The whole loop.
    pub(super) fn all(&self) -> Part {
        Part { start: Index::from_elem(0, self.shape.ndim()), len: self.shape.as_ref().into() }
    }

    /// Where a part may be divided into about equal ones without dividing panels.
    pub(super) fn middle(&self, part: &Part) -> Option<(usize, usize)> {
        let dim = (0..=self.along).find(|&dim| part.len[dim] > self.units[dim])?;
        let panels = part.len[dim].div_ceil(self.units[dim]);
        Some((dim, part.start[dim] + panels / 2 * self.units[dim]))
    }

    /// Visits the panels of a part: rows are continued first, then come the next rows.
    pub(super) fn panels<E>(
        &self,
        part: &Part,
        mut visit: impl FnMut(&Part) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut order: SmallVec<[usize; 6]> =
            (0..self.along).filter(|&dim| Some(dim) != self.across).chain(self.across).collect();
        order.push(self.along);
        let mut panel = part.clone();
        let end = |dim: usize| part.start[dim] + part.len[dim];
        for &dim in &order {
            panel.len[dim] = self.units[dim].min(part.len[dim]);
        }
        if part.numel() == 0 {
            return Ok(());
        }
        loop {
            visit(&panel)?;
            let mut dims = order.iter().rev();
            loop {
                let Some(&dim) = dims.next() else { return Ok(()) };
                panel.start[dim] += panel.len[dim];
                if panel.start[dim] < end(dim) {
                    panel.len[dim] = self.units[dim].min(end(dim) - panel.start[dim]);
                    break;
                }
                panel.start[dim] = part.start[dim];
                panel.len[dim] = self.units[dim].min(part.len[dim]);
            }
        }
    }
}

/// Steps of `inner` elements for rows of at most `limit` elements: about equal ones, in full registers where possible.
fn even_chunk(size: usize, inner: usize, limit: usize) -> usize {
    let most = (limit / inner).clamp(1, size);
    let equal = size.div_ceil(size.div_ceil(most));
    // Steps whose elements are a multiple of `EVEN`: a power of two, so that only the inner elements' own twos help.
    let step = EVEN >> inner.trailing_zeros().min(EVEN.trailing_zeros());
    match equal.next_multiple_of(step) {
        _ if equal == size => size,
        even if even <= most => even,
        _ if most >= step => most / step * step,
        _ => most,
    }
}
