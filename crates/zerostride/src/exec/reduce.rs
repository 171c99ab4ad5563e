//! Owns reductions: the loop over blocks of neighbouring results and the leaves of each, divided among threads along
//! whichever is longer. The tree in which leaves meet is the kernels'; threads cannot change it.

use std::ops::Range;

use zerostride_kernels::{Fold, LEAF, Reducer};
use zerostride_ops::DType;
use zerostride_shape::{Shape, contiguous_strides};

use super::access::{Input, Output};
use super::join;
use super::program::{Compiled, Machine};
use crate::Result;
use crate::plan::{GRAIN, Program, Source, TILE};
use crate::tensor::Block;

/// Reduced elements that one task takes at least: a power of two of leaves.
const GROUP: usize = 64 * LEAF;

struct Reduction<'a> {
    reducer: &'a Reducer,
    compiled: Compiled<'a>,
    inputs: Vec<Input<'a>>,
    reduced: usize,
    /// Results that share a tile.
    columns: usize,
}

/// Reduces the values of a program over `kept` and `reduced` to one result for each element of `kept`.
pub(super) fn run<'a>(
    reducer: &Reducer,
    (kept, reduced): (&Shape, &Shape),
    program: &Program,
    read: impl Fn(Source) -> Block<'a>,
    block: Block<'a>,
    dtype: DType,
) -> Result<()> {
    if kept.numel() == 0 {
        return Ok(());
    }
    let out = Output::new(block, dtype.item_size(), kept, &contiguous_strides(kept), 0);
    let input = |load: &crate::plan::Load| {
        let strides = (&load.strides[..], load.offset);
        let input = Input::new(read(load.source), load.dtype.item_size(), (kept, reduced), strides, &out);
        input.expect("a reduction writes into memory of its own")
    };
    let inputs = program.loads.iter().map(input).collect();
    let columns = (TILE / reduced.numel().clamp(1, LEAF)).min(kept.numel()).max(1);
    let reduction =
        Reduction { reducer, compiled: Compiled::new(program), inputs, reduced: reduced.numel(), columns };
    reduction.divide(out, dtype)
}

impl Reduction<'_> {
    fn divide(&self, out: Output<'_>, dtype: DType) -> Result<()> {
        let Range { start, end } = out.columns();
        let blocks = (end - start).div_ceil(self.columns);
        if blocks < 2 || (end - start).saturating_mul(self.reduced) < 2 * GRAIN {
            return self.part(out, dtype);
        }
        let (left, right) = out.split(start + blocks / 2 * self.columns);
        let (left, right) = join(|| self.divide(left, dtype), || self.divide(right, dtype));
        left.and(right)
    }

    fn part(&self, mut out: Output<'_>, dtype: DType) -> Result<()> {
        let Range { start, end } = out.columns();
        let mut results = vec![0u128; (self.columns * dtype.item_size()).div_ceil(size_of::<u128>())];
        let mut machine = self.machine(self.columns);
        for first in (start..end).step_by(self.columns) {
            let columns = first..end.min(first + self.columns);
            let results = &mut bytemuck::cast_slice_mut(&mut results)[..columns.len() * dtype.item_size()];
            let mut fold = match self.reduced.div_ceil(GROUP) {
                groups @ 0..2 => self.leaves(&mut machine, &columns, 0..groups)?,
                groups => self.groups(&columns, 0..groups)?,
            };
            fold.finish(results);
            out.store(columns, results);
        }
        Ok(())
    }

    /// The fold of some groups of leaves: halves of a power of two of them meet, so that the tree is that of one pass.
    fn groups(&self, columns: &Range<usize>, groups: Range<usize>) -> Result<Box<dyn Fold>> {
        if groups.len() < 2 {
            return self.leaves(&mut self.machine(columns.len()), columns, groups);
        }
        let middle = groups.start + groups.len().next_power_of_two() / 2;
        let (left, right) =
            join(|| self.groups(columns, groups.start..middle), || self.groups(columns, middle..groups.end));
        let mut left = left?;
        left.append(right?);
        Ok(left)
    }

    fn leaves(
        &self,
        machine: &mut Machine<'_>,
        columns: &Range<usize>,
        groups: Range<usize>,
    ) -> Result<Box<dyn Fold>> {
        let mut fold = self.reducer.start(columns.len());
        let end = self.reduced.min(groups.end * GROUP);
        for first in (groups.start * GROUP..end).step_by(LEAF) {
            let rows = first..end.min(first + LEAF);
            let tile = machine.run(rows.len() * columns.len(), |load, tile| {
                self.inputs[load].load(columns.clone(), rows.clone(), tile);
            })?;
            fold.leaf(tile, first);
        }
        Ok(fold)
    }

    /// Tiles for one leaf of that many columns.
    fn machine(&self, columns: usize) -> Machine<'_> {
        self.compiled.machine(LEAF.min(self.reduced).max(1) * columns)
    }
}
