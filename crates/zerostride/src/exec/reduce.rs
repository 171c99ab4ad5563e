//! Owns reductions: the loop over blocks of neighbouring results and the leaves of each, divided among threads along
//! whichever is longer. The tree in which leaves meet is the kernels'; threads cannot change it.

use std::ops::Range;

use smallvec::SmallVec;
use zerostride_kernels::{Fold, LEAF, Panel, Reducer};
use zerostride_ops::DType;
use zerostride_shape::{Shape, Strides, coalesce, contiguous_strides, order_dims};

use super::access::{Input, Output};
use super::crew;
use super::machine::{Line, Tiles};
use super::pairwise::Pairs;
use super::program::{Compiled, Kind};
use crate::Result;
use crate::plan::{GRAIN, Instruction, Load, Program, Source, TILE};
use crate::tensor::Block;

/// Reduced elements that one task takes at least: a power of two of leaves.
const GROUP: usize = 64 * LEAF;

/// Parts that the groups of one block are divided into, at most twice as many.
const PARTS: usize = 64;

/// Elements of all rows and columns of a tile.
const AREA: usize = TILE;

/// Results that are read across memory at once.
const ACROSS: usize = 2048;

struct Reduction<'a> {
    reducer: &'a Reducer,
    compiled: Compiled,
    inputs: Vec<Input<'a>>,
    reduced: usize,
    /// Results of a block.
    columns: usize,
    /// Results at even distances, if elements are reduced where they lie.
    direct: Option<usize>,
}

/// Reduces the values of a program over `kept` and `reduced` to one result for each element of `kept`.
pub(super) fn run<'a>(
    reducer: &Reducer,
    (kept, reduced): (&Shape, &Shape),
    program: &Program,
    read: impl Fn(Source) -> Block<'a>,
    (block, offset): (Block<'a>, isize),
    dtype: DType,
) -> Result<()> {
    if kept.numel() == 0 {
        return Ok(());
    }
    // Results in the order in which operands lie, whatever order they are wanted in.
    let contiguous = contiguous_strides(kept);
    let of_kept = program.loads.iter().map(|load| &load.strides[..kept.ndim()]);
    let strides: Vec<&[isize]> = of_kept.chain([&contiguous[..]]).collect();
    let (ordered, strides) = order_dims(kept, &strides);
    let (ordered, strides) =
        coalesce(&ordered, &strides.iter().map(|strides| &strides[..]).collect::<Vec<_>>());
    let (out_strides, strides) = strides.split_last().expect("the output has strides");
    let out = Output::new(block, dtype.item_size(), &ordered, out_strides, offset);
    let input = |(load, strides): (&Load, &Strides)| {
        let strides: SmallVec<[isize; 8]> =
            strides.iter().chain(&load.strides[kept.ndim()..]).copied().collect();
        let place = (&strides[..], load.offset);
        let input = Input::new(read(load.source), load.dtype.item_size(), (&ordered, reduced), place, &out);
        input.expect("a reduction writes into memory of its own")
    };
    let inputs: Vec<Input<'_>> = program.loads.iter().zip(strides).map(input).collect();
    if let Some(pairs) = Pairs::find(reducer.op(), program, &ordered, reduced, strides) {
        return pairs.run(&inputs, out);
    }
    let (columns, direct) = blocks(&ordered, reduced, program, strides, kept.ndim());
    let aligned = || inputs.first().is_some_and(|input| input.panel(0..1, 0..1, &out).is_some());
    let direct = direct.filter(|_| reduced.numel() > 0 && aligned());
    let columns =
        if direct.is_some() { columns } else { columns.min((AREA / reduced.numel().clamp(1, LEAF)).max(1)) };
    let reduction = Reduction {
        reducer,
        compiled: Compiled::new(program, &vec![Kind::Vector; program.loads.len()], false),
        inputs,
        reduced: reduced.numel(),
        columns,
        direct,
    };
    // Whole blocks of results, as many as are worth a thread.
    let blocks = GRAIN.div_ceil(columns.saturating_mul(reduced.numel()).max(1));
    let parts = out.parts(columns.saturating_mul(blocks));
    crew::for_each(parts, || reduction.machine(columns), |machine, out| reduction.part(machine, out, dtype))
}

/// How many results make a block, and how many are at even distances if elements can be reduced where they lie.
fn blocks(
    kept: &Shape,
    reduced: &Shape,
    program: &Program,
    strides: &[Strides],
    split: usize,
) -> (usize, Option<usize>) {
    let (inner, count) = (kept.last().copied().unwrap_or(1), reduced.numel());
    let innermost = |strides: &[isize]| strides.last().copied().unwrap_or(1);
    let column_step = |load: usize| innermost(&strides[load]);
    let row_step = |load: usize| innermost(&program.loads[load].strides[split..]);
    let alone = matches!(program.instructions[program.result], Instruction::Load(_));
    if alone && reduced.ndim() <= 1 && row_step(0) >= 0 && column_step(0) >= 0 {
        // A lane of a few elements is no vector.
        if row_step(0) == 1 && (count >= ALONG || kept.numel() == 1) {
            let columns = if count < LEAF { AREA / count.max(1) } else { 1 };
            return (columns.clamp(1, inner), Some(inner));
        }
        if (column_step(0) == 1 && (inner >= 16 || kept.ndim() <= 1)) || kept.numel() == 1 {
            return (inner.min(ACROSS), Some(inner));
        }
    }
    let across = (0..program.loads.len()).any(|load| column_step(load) == 1);
    let along = (0..program.loads.len()).any(|load| row_step(load) == 1);
    let columns = if along && !across && count >= ALONG { 1 } else { AREA / count.clamp(1, LEAF) };
    (columns.clamp(1, kept.numel()), None)
}

/// Reduced elements from which on they have lanes of their own.
const ALONG: usize = 128;

impl Reduction<'_> {
    fn part(&self, machine: &mut Option<Tiles<'_>>, mut out: Output<'_>, dtype: DType) -> Result<()> {
        let Range { start, end } = out.columns();
        let mut results = Line::zeroed(self.columns * dtype.item_size());
        let mut first = start;
        while first < end {
            let even = self.direct.map_or(end, |inner| (first / inner + 1) * inner);
            let columns = first..end.min(first + self.columns).min(even);
            let results = &mut Line::bytes_mut(&mut results)[..columns.len() * dtype.item_size()];
            let mut fold = match self.reduced.div_ceil(GROUP) {
                groups @ 0..2 => self.leaves(machine, &columns, 0..groups, &out)?,
                groups => self.groups(&columns, groups, &out)?,
            };
            fold.finish(results);
            out.store(columns.clone(), results);
            first = columns.end;
        }
        Ok(())
    }

    /// The fold of all groups of leaves. Threads take a power of two of them at a time, so that the tree is that of one
    /// pass.
    fn groups(&self, columns: &Range<usize>, groups: usize, out: &Output<'_>) -> Result<Box<dyn Fold>> {
        let step = (groups / PARTS).max(1).next_power_of_two();
        let mut folds: Vec<Option<Box<dyn Fold>>> = Vec::new();
        folds.resize_with(groups.div_ceil(step), || None);
        let machine = || self.machine(columns.len());
        let part = |machine: &mut Option<Tiles<'_>>, (index, fold): (usize, &mut Option<Box<dyn Fold>>)| {
            self.leaves(machine, columns, index * step..groups.min((index + 1) * step), out)
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
        machine: &mut Option<Tiles<'_>>,
        columns: &Range<usize>,
        groups: Range<usize>,
        out: &Output<'_>,
    ) -> Result<Box<dyn Fold>> {
        let mut fold = self.reducer.start(columns.len());
        let end = self.reduced.min(groups.end * GROUP);
        let start = groups.start * GROUP;
        let Some(machine) = machine else {
            let (elements, panel) = self.inputs[0]
                .panel(columns.clone(), start..end, out)
                .expect("the results of a block are at even distances");
            fold.take(elements, &panel, start);
            return Ok(fold);
        };
        for first in (start..end).step_by(LEAF) {
            let rows = first..end.min(first + LEAF);
            let tile = machine.run(rows.len() * columns.len(), |load, tile| {
                self.inputs[load].load(columns.clone(), rows.clone(), tile);
            })?;
            let panel =
                Panel { rows: rows.len(), row_step: columns.len(), columns: columns.len(), column_step: 1 };
            fold.take(tile, &panel, first);
        }
        Ok(fold)
    }

    /// Tiles for one leaf of that many columns, if elements are not reduced where they lie.
    fn machine(&self, columns: usize) -> Option<Tiles<'_>> {
        let tiles = || Tiles::new(&self.compiled, LEAF.min(self.reduced).max(1) * columns);
        self.direct.is_none().then(tiles)
    }
}
