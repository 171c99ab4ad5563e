//! Owns reductions: the loop over blocks of neighbouring results and the leaves of each, divided among threads along
//! whichever is longer. The tree in which leaves meet is the kernels'; threads cannot change it.

use std::ops::Range;

use zerostride_kernels::{Fold, LEAF, Panel, Reducer};
use zerostride_ops::DType;
use zerostride_shape::{Shape, contiguous_strides};

use super::access::{Input, Output};
use super::crew;
use super::machine::Tiles;
use super::program::{Compiled, Kind};
use crate::Result;
use crate::plan::{GRAIN, Program, Source, TILE};
use crate::tensor::Block;

/// Reduced elements that one task takes at least: a power of two of leaves.
const GROUP: usize = 64 * LEAF;

/// Parts that the groups of one block are divided into, at most twice as many.
const PARTS: usize = 64;

struct Reduction<'a> {
    reducer: &'a Reducer,
    compiled: Compiled,
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
    let reduction = Reduction {
        reducer,
        compiled: Compiled::new(program, &vec![Kind::Vector; program.loads.len()], false),
        inputs,
        reduced: reduced.numel(),
        columns,
    };
    // Whole blocks of results, as many as are worth a thread.
    let blocks = GRAIN.div_ceil(columns.saturating_mul(reduced.numel()).max(1));
    let parts = out.parts(columns.saturating_mul(blocks));
    crew::for_each(parts, || reduction.machine(columns), |machine, out| reduction.part(machine, out, dtype))
}

impl Reduction<'_> {
    fn part(&self, machine: &mut Tiles<'_>, mut out: Output<'_>, dtype: DType) -> Result<()> {
        let Range { start, end } = out.columns();
        let mut results = vec![0u128; (self.columns * dtype.item_size()).div_ceil(size_of::<u128>())];
        for first in (start..end).step_by(self.columns) {
            let columns = first..end.min(first + self.columns);
            let results = &mut bytemuck::cast_slice_mut(&mut results)[..columns.len() * dtype.item_size()];
            let mut fold = match self.reduced.div_ceil(GROUP) {
                groups @ 0..2 => self.leaves(machine, &columns, 0..groups)?,
                groups => self.groups(&columns, groups)?,
            };
            fold.finish(results);
            out.store(columns, results);
        }
        Ok(())
    }

    /// The fold of all groups of leaves. Threads take a power of two of them at a time, so that the tree is that of one
    /// pass.
    fn groups(&self, columns: &Range<usize>, groups: usize) -> Result<Box<dyn Fold>> {
        let step = (groups / PARTS).max(1).next_power_of_two();
        let mut folds: Vec<Option<Box<dyn Fold>>> = Vec::new();
        folds.resize_with(groups.div_ceil(step), || None);
        let machine = || self.machine(columns.len());
        let part = |machine: &mut Tiles<'_>, (index, fold): (usize, &mut Option<Box<dyn Fold>>)| {
            self.leaves(machine, columns, index * step..groups.min((index + 1) * step))
                .map(|folded| *fold = Some(folded))
        };
        crew::for_each(folds.iter_mut().enumerate(), machine, part)?;
        let mut folds = folds.into_iter().flatten();
        let mut all = folds.next().expect("there are groups");
        folds.for_each(|fold| all.append(fold));
        Ok(all)
    }

    fn leaves(
        &self,
        machine: &mut Tiles<'_>,
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
            let panel = Panel { rows: rows.len(), row_step: columns.len(), columns: columns.len(), column_step: 1 };
            fold.take(tile, &panel, first);
        }
        Ok(fold)
    }

    /// Tiles for one leaf of that many columns.
    fn machine(&self, columns: usize) -> Tiles<'_> {
        Tiles::new(&self.compiled, LEAF.min(self.reduced).max(1) * columns)
    }
}
