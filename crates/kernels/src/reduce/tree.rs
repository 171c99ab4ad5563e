//! Owns the tree in which partial results meet, and the walk over the lanes of a leaf. It does not know what is
//! accumulated (`rule.rs`).

use std::any::Any;
use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_ops::Element;

use super::rule::{Rule, SIDE, Steps, merge_slices};
use super::{Fold, LEAF, Panel};
use crate::cast::CastKernel;
use crate::isa;

type Stored<R> = <<R as Rule>::In as Element>::Stored;

/// The tree over leaves: a stack of complete subtrees, one for each digit 1 of the number of leaves taken.
pub(super) struct Tree<R: Rule> {
    rule: R,
    /// From the rule's results to those that are wanted.
    cast: Option<CastKernel>,
    columns: usize,
    lanes: usize,
    leaves: usize,
    /// The results of the leaf under way, and its accumulators.
    results: Vec<R::One>,
    partial: Vec<R::One>,
    /// The subtree of `2^height` leaves, by height; only those of the digits 1 count.
    subtrees: Vec<Vec<R::One>>,
}

/// How the lanes of a leaf are walked: `turns` times over `places` neighbours in memory.
struct Walk {
    turns: usize,
    places: usize,
    /// Elements from a turn's first row to the next one's.
    turn_stride: usize,
    /// Elements from a step of a lane to the next.
    stride: usize,
    /// Places that are the same lane, one for each result.
    columns: usize,
}

impl<R: Rule> Tree<R> {
    pub(super) fn new(rule: R, columns: usize, lanes: usize, cast: Option<CastKernel>) -> Self {
        let results = vec![R::empty(); columns];
        Tree { rule, cast, columns, lanes, leaves: 0, results, partial: Vec::new(), subtrees: Vec::new() }
    }

    /// Takes a subtree of `2^height` leaves from `results`.
    #[inline(always)]
    fn push(&mut self, mut height: usize) {
        let added = 1 << height;
        while self.leaves >> height & 1 == 1 {
            merge_slices::<R>(&self.subtrees[height], &mut self.results);
            height += 1;
        }
        self.leaves += added;
        if self.subtrees.len() <= height {
            self.subtrees.resize_with(height + 1, || vec![R::empty(); self.columns]);
        }
        std::mem::swap(&mut self.subtrees[height], &mut self.results);
    }

    #[inline(always)]
    fn take_leaves(&mut self, elements: &[Stored<R>], panel: &Panel, first: usize) {
        for start in (0..panel.rows).step_by(LEAF) {
            let rows = LEAF.min(panel.rows - start);
            self.leaf(&elements[start * panel.row_step..], &Panel { rows, ..*panel }, first + start);
            self.push(0);
        }
    }

    /// Reduces one leaf to `results`.
    #[inline(always)]
    fn leaf(&mut self, elements: &[Stored<R>], panel: &Panel, first: usize) {
        let (lanes, columns) = (self.lanes, self.columns);
        // Results that are next to each other, lane after lane if the lanes are too.
        let along = panel.row_step == 1;
        let dense = panel.column_step == 1 && panel.row_step == columns && columns < NARROW;
        let width = if along { 1 } else { columns };
        let walk = if along || (dense && lanes > 1) {
            let places = lanes * width;
            Walk { turns: 1, places, turn_stride: 0, stride: places, columns: width }
        } else {
            let stride = lanes * panel.row_step;
            Walk { turns: lanes, places: width, turn_stride: panel.row_step, stride, columns: width }
        };
        let mut partial = std::mem::take(&mut self.partial);
        partial.resize(walk.places, R::empty());
        for column in (0..columns).step_by(width) {
            let elements = &elements[column * panel.column_step..];
            self.walk(elements, panel.rows, &walk, first, &mut partial);
            let mut left = walk.places;
            while left > width {
                left /= 2;
                let (low, high) = partial[..2 * left].split_at_mut(left);
                merge_slices::<R>(low, high);
                low.copy_from_slice(high);
            }
            self.results[column..column + width].copy_from_slice(&partial[..width]);
        }
        self.partial = partial;
    }

    /// The accumulators of all places.
    #[inline(always)]
    fn walk(&self, elements: &[Stored<R>], rows: usize, walk: &Walk, first: usize, out: &mut [R::One]) {
        let sides = walk.places / SIDE * SIDE;
        self.chunks::<SIDE>(elements, rows, walk, first, 0..sides, out);
        if sides < walk.places {
            self.single(elements, rows, walk, first, sides..walk.places, out);
        }
    }

    /// The accumulators of some places, one at a time: nothing for vectors, so compiled once for all instruction sets.
    #[inline(never)]
    fn single(
        &self,
        elements: &[Stored<R>],
        rows: usize,
        walk: &Walk,
        first: usize,
        places: Range<usize>,
        out: &mut [R::One],
    ) {
        self.chunks::<1>(elements, rows, walk, first, places, out);
    }

    /// The accumulators of some places, `W` at a time. A turn takes the lane that has its binary digits in reverse, so
    /// that the lanes that meet first follow each other: only one accumulator for each level waits.
    #[inline(always)]
    fn chunks<const W: usize>(
        &self,
        elements: &[Stored<R>],
        rows: usize,
        walk: &Walk,
        first: usize,
        places: Range<usize>,
        out: &mut [R::One],
    ) {
        let count = places.len() / W;
        let levels = walk.turns.ilog2() as usize;
        let mut waiting = vec![R::gather(&[R::empty(); W]); if count > 0 { levels * count } else { 0 }];
        for turn in 0..walk.turns {
            let lane = turn.reverse_bits() >> 1 >> (usize::BITS as usize - 1 - levels);
            // Rows from the lane's first on, in steps that take a row for each lane.
            let left = rows.saturating_sub(lane);
            let (steps, tail) = match self.lanes / walk.turns {
                1 => (left.div_ceil(self.lanes), 0),
                lanes => (left / lanes, left % lanes * walk.columns),
            };
            // Few rows at a time: memory likes to be read in order.
            let mut step = 0;
            loop {
                let last = steps + usize::from(tail > 0) - step <= R::STEPS;
                for chunk in 0..count {
                    let place = places.start + chunk * W;
                    let start = (lane * walk.turn_stride + step * walk.stride + place).min(elements.len());
                    let out: &mut [R::One; W] =
                        out[place..].first_chunk_mut().expect("every place has its result");
                    let mut acc = if step == 0 { R::gather(&[R::empty(); W]) } else { R::gather(out) };
                    acc = R::lane(
                        acc,
                        &Steps {
                            elements: &elements[start..],
                            stride: walk.stride,
                            count: R::STEPS.min(steps - step),
                            tail: if last { tail.saturating_sub(place).min(W) } else { 0 },
                            first: first + lane + step * self.lanes,
                            advance: self.lanes,
                            places: std::array::from_fn(|at| ((place + at) / walk.columns) as u32),
                        },
                    );
                    if last {
                        let mut level = 0;
                        while turn >> level & 1 == 1 {
                            acc = R::merge(&waiting[level * count + chunk], &acc);
                            level += 1;
                        }
                        if turn + 1 < walk.turns {
                            waiting[level * count + chunk] = acc;
                        }
                    }
                    R::scatter(&acc, out);
                }
                if last {
                    break;
                }
                step += R::STEPS;
            }
        }
    }
}

/// Columns below which rows are taken several at a time.
const NARROW: usize = 64;

/// The taking of a panel, to be compiled for each instruction set.
struct Take<'a, R: Rule> {
    tree: &'a mut Tree<R>,
    elements: &'a [Stored<R>],
    panel: &'a Panel,
    first: usize,
}

impl<R: Rule> isa::Task for Take<'_, R> {
    #[inline(always)]
    fn run(self) {
        self.tree.take_leaves(self.elements, self.panel, self.first);
    }
}

impl<R: Rule> Fold for Tree<R> {
    fn take(&mut self, elements: &[u8], panel: &Panel, first: usize) {
        let elements: &[Stored<R>] = cast_slice(elements);
        assert!(panel.columns == self.columns && (panel.row_step == 1 || panel.column_step == 1));
        isa::run_widest(Take { tree: self, elements, panel, first });
    }

    fn append(&mut self, other: Box<dyn Fold>) {
        let mut other = other.into_any().downcast::<Self>().expect("folds of one reduction are of one kind");
        for height in (0..other.subtrees.len()).rev().filter(|height| other.leaves >> height & 1 == 1) {
            std::mem::swap(&mut self.results, &mut other.subtrees[height]);
            self.push(height);
        }
    }

    fn finish(&mut self, out: &mut [u8]) {
        let mut heights = (0..self.subtrees.len()).filter(|height| self.leaves >> height & 1 == 1);
        match heights.next() {
            Some(lowest) => std::mem::swap(&mut self.results, &mut self.subtrees[lowest]),
            None => self.results.fill(R::empty()),
        }
        for height in heights {
            merge_slices::<R>(&self.subtrees[height], &mut self.results);
        }
        let results = self.results.iter().map(|&one| self.rule.result(one).store());
        match self.cast {
            Some(cast) => cast(cast_slice(&results.collect::<Vec<_>>()), out),
            None => {
                let out: &mut [<R::Out as Element>::Stored] = cast_slice_mut(out);
                out.iter_mut().zip(results).for_each(|(out, result)| *out = result);
            }
        }
        self.leaves = 0;
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
