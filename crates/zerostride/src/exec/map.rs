//! Owns element-wise steps: the loop over tiles, divided among threads. It does not know kernels or memory.

use std::ops::Range;

use zerostride_ops::DType;
use zerostride_shape::{Shape, Strides};

use super::access::{Input, Output};
use super::crew;
use super::program::{Compiled, Machine};
use crate::Result;
use crate::plan::{GRAIN, Program, Source, TILE};
use crate::tensor::Block;

/// Where a load of the program comes from; `None` is the very elements that the step overwrites.
type Operand<'a> = Option<Input<'a>>;

/// Runs a program for each element of `shape`.
pub(super) fn run<'a>(
    shape: &Shape,
    program: &Program,
    read: impl Fn(Source) -> Block<'a>,
    (block, strides, offset): (Block<'a>, &Strides, isize),
    dtype: DType,
) -> Result<()> {
    if shape.numel() == 0 {
        return Ok(());
    }
    let out = Output::new(block, dtype.item_size(), shape, strides, offset);
    let operand = |load: &crate::plan::Load| {
        let block = read(load.source);
        if load.dtype.item_size() == dtype.item_size() && out.is_same(&block, &load.strides, load.offset) {
            return None;
        }
        let grids = (shape, &Shape::scalar());
        let input = Input::new(block, load.dtype.item_size(), grids, (&load.strides, load.offset), &out);
        Some(input.expect("what a step overwrites at other places has been copied first"))
    };
    let operands: Vec<Operand<'_>> = program.loads.iter().map(operand).collect();
    let compiled = Compiled::new(program);
    let tile = TILE.min(shape.numel());
    crew::for_each(out.parts(GRAIN), || compiled.machine(tile), |machine, out| part(machine, &operands, out))
}

fn part(machine: &mut Machine<'_>, operands: &[Operand<'_>], mut out: Output<'_>) -> Result<()> {
    let Range { start, end } = out.columns();
    for first in (start..end).step_by(TILE) {
        let columns = first..end.min(first + TILE);
        let tile = machine.run(columns.len(), |load, tile| match &operands[load] {
            Some(input) => input.load(columns.clone(), 0..1, tile),
            None => out.load(columns.clone(), tile),
        })?;
        out.store(columns, tile);
    }
    Ok(())
}
