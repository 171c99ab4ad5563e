//! Owns element-wise steps: the walk over panels, divided among threads. It does not know kernels or memory.

use std::ops::RangeInclusive;

use once_cell::race::OnceBox;
use smallvec::SmallVec;
use zerostride_code::Write;
use zerostride_kernels::{CACHE_LINE_BYTES, Printing, fence};
use zerostride_ops::DType;
use zerostride_shape::{Shape, Strides};

use crate::Result;
use crate::exec::body::{Compiled, LoadKind, Machine, is_worth_printing};
use crate::exec::cache;
use crate::exec::elements::{
    NEAR_STEPS, PanelOperand, PanelShare, PanelWriter, StridedElements, Window, Written,
};
use crate::memory::Block;
use crate::plan::{Cost, ElementSource, Load, PanelWalk, Program, RowForm, TILE_ELEMENTS};
use crate::threads::parts;

/// The most parts that a large loop is divided into.
const MOST_PANEL_PARTS: usize = 64;

/// Bytes from which on a row is worth non-temporal stores: shorter rows leave many cache lines written in
/// part. Rows that do not begin at a line have two such ends each.
const STREAM_ROW_BYTES: usize = 1 << 10;
const STREAM_UNALIGNED_ROW_BYTES: usize = 8 << 10;

/// Runs a program for each element of a window of `shape`, and writes results at these strides from an offset
/// on.
pub(super) fn run<'a>(
    (shape, program): (&Shape, &Program),
    (strides, offset): (&Strides, isize),
    window: &Window<'_>,
    read: impl Fn(ElementSource) -> Block<'a>,
    (block, dtype): (Block<'a>, DType),
) -> Result<()> {
    if shape.numel() == 0 {
        return Ok(());
    }
    let part = &looped(window.shape(shape));
    let item = dtype.item_size();
    let mut written = Written::new(block, item, (part, steps(strides), offset));
    let mut out = written.output();
    // `None` stands for the elements that the step overwrites.
    let inputs = program.loads.iter().enumerate().map(|(index, load)| {
        let (block, read_item) = (read(load.source), load.dtype.item_size());
        let (strides, offset) = (steps(&load.strides), load.offset + window.moved(index));
        if read_item == item && out.is_same(&block, strides, offset) {
            return None;
        }
        let elements = StridedElements::read(block, read_item, (part, strides, offset), &out);
        Some(elements.expect("what a step overwrites at other offsets has been copied first"))
    });
    let inputs: SmallVec<[Option<StridedElements<'_>>; 6]> = inputs.collect();
    let in_place = inputs.iter().any(Option::is_none);
    let loops = program.kept.get(PreparedMap::default);
    let loops = if in_place { &loops.in_place } else { &loops.apart };
    let is_printed = |kept: &PreparedLoop| kept.compiled.is_printed_for(0);
    let printed = is_worth_printing(shape.numel()) || loops[0].get().is_some_and(is_printed);
    let make = || PreparedLoop::new((shape, program), (strides, dtype), window, [in_place, printed]);
    let PreparedLoop { walk, compiled, cost } = loops[usize::from(printed)].get_or_init(|| Box::new(make()));
    let long = walk.form(steps(strides)) == RowForm::Dense
        && walk.row() * item >= least_streamed(walk, strides, item);
    // In place, a line is in cache when it is written: it has just been read.
    let write = match in_place {
        true => Write::Cached,
        false => cache::write(cost.bytes(), part.numel() * item, long && !window.read_next),
    };
    let copies = write == Write::Cached && !in_place && program.is_copy();
    let own = out.elements();
    let worker = || {
        let machine = Machine::new(compiled, TILE_ELEMENTS.max(walk.row()));
        let elements = inputs.iter().map(|input| input.as_ref().unwrap_or(own));
        let operand = |elements| PanelOperand::new(elements, walk, cost.bytes());
        let operands: SmallVec<[PanelOperand<'_>; 6]> = elements.map(operand).collect();
        (machine, operands, PanelWriter::new(own, walk))
    };
    let least = cost.panel(window.steps.is_some());
    let shares = PanelShare::of(&mut out, walk, window.grain(least.max(part.numel() / MOST_PANEL_PARTS)));
    parts::for_each_of(cost.effort(part.numel()), shares, worker, |(machine, operands, writer), share| {
        if copies && writer.is_copy_of(&operands[0]) {
            writer.copy(share, &operands[0]);
            return Ok(());
        }
        let done =
            writer.compute(share, operands, |sizes, feeds, sink| machine.run(sizes, feeds, sink, write));
        if write == Write::NonTemporal {
            fence();
        }
        done
    })
}

/// Bytes from which on rows of elements of `item` bytes at these strides are worth non-temporal stores.
fn least_streamed(walk: &PanelWalk, strides: &Strides, item: usize) -> usize {
    let (across, count) = walk.across();
    let apart = steps(strides)[across].unsigned_abs() * count * item;
    if apart.is_multiple_of(CACHE_LINE_BYTES) { STREAM_ROW_BYTES } else { STREAM_UNALIGNED_ROW_BYTES }
}

/// Whether several operands are streamed.
fn is_of_streams(program: &Program) -> bool {
    let is_stream = |load: &&Load| load.strides.iter().all(|&stride| stride != 0);
    program.loads.iter().filter(is_stream).nth(1).is_some()
}

/// The shape of a loop, which has a dimension at least.
fn looped(shape: Shape) -> Shape {
    if shape.ndim() == 0 { Shape::new(&[1]).unwrap_or_default() } else { shape }
}

/// Strides in such a loop.
fn steps(strides: &Strides) -> &[isize] {
    if strides.is_empty() { &[1] } else { strides }
}

/// What is prepared for a program: its loop out of place and in place, before and after it is printed.
#[derive(Default)]
struct PreparedMap {
    apart: [OnceBox<PreparedLoop>; 2],
    in_place: [OnceBox<PreparedLoop>; 2],
}

/// A program prepared for a loop.
struct PreparedLoop {
    walk: PanelWalk,
    compiled: Compiled,
    cost: Cost,
}

impl PreparedLoop {
    fn new(
        (shape, program): (&Shape, &Program),
        (out, dtype): (&Strides, DType),
        window: &Window<'_>,
        [in_place, printed]: [bool; 2],
    ) -> PreparedLoop {
        let loads = program.loads.iter().map(|load| (steps(&load.strides), load.dtype.item_size()));
        let all: Vec<(&[isize], usize)> =
            std::iter::once((steps(out), dtype.item_size())).chain(loads).collect();
        let cost = Cost::new(program, shape);
        // Windows are divided among threads by their caller.
        let grain = cost.panel(window.steps.is_some());
        let shape = looped(shape.clone());
        let written = shape.numel().saturating_mul(dtype.item_size());
        let of_whole = cache::prefetch_bytes(cost.bytes(), written, is_of_streams(program));
        let ahead = |load: &Load| match in_place {
            true => 0,
            false => window.prefetch_bytes(load, cost.bytes(), of_whole),
        };
        let ahead: Vec<u32> = program.loads.iter().map(ahead).collect();
        let made = |walk: PanelWalk| {
            let kind = |&(strides, _): &(&[isize], usize)| match walk.form(strides) {
                RowForm::Splat => LoadKind::Splat,
                RowForm::Stepped(step) => LoadKind::Stepped(step),
                RowForm::Dense | RowForm::Scattered => LoadKind::Vector,
            };
            let kinds: Vec<LoadKind> = all[1..].iter().map(kind).collect();
            (Compiled::new(program, &kinds, in_place).prefetching(&ahead), walk)
        };
        // Stages start for each row; code has the loop over rows. It reads strided rows, too, where those of
        // results are contiguous.
        let is_read = |(compiled, walk): &(Compiled, PanelWalk)| {
            let is_stepped =
                |(strides, _): &(&[isize], usize)| matches!(walk.form(strides), RowForm::Stepped(_));
            let is_known = walk.form(all[0].0) == RowForm::Dense || !all.iter().any(is_stepped);
            // As many elements are computed now, or have been before.
            is_known && compiled.is_printed_for(Printing::WORTH_ELEMENTS)
        };
        let of_code = |near: RangeInclusive<isize>| {
            let unjoined = PanelWalk::unjoined(&shape, &all, grain, near.clone()).map(made).filter(is_read);
            unjoined.or_else(|| Some(made(PanelWalk::new(&shape, &all, grain, near))).filter(is_read))
        };
        let of_code = printed.then(|| of_code(NEAR_STEPS).or_else(|| of_code(1..=1))).flatten();
        let (compiled, walk) = of_code.unwrap_or_else(|| {
            let (compiled, walk) = made(PanelWalk::new(&shape, &all, grain, 1..=1));
            let walk = if compiled.is_direct() { walk } else { walk.tiled() };
            (compiled, walk)
        });
        PreparedLoop { walk, compiled, cost }
    }
}
