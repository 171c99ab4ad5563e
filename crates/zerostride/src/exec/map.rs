//! Owns element-wise steps: the walk over panels, divided among threads. It does not know kernels or memory.

use zerostride_kernels::{Stores, fence};
use zerostride_ops::DType;
use zerostride_shape::{Shape, Strides};

use super::access::{Input, Output};
use super::cache;
use super::crew;
use super::machine::Machine;
use super::operand::{Operand, Target};
use super::program::{Compiled, Kind};
use crate::Result;
use crate::plan::{Form, GRAIN, Instruction, Load, Program, Source, Walk};
use crate::tensor::Block;

/// The most parts that a large loop is divided into, up to twice as many.
const PARTS: usize = 64;

/// Bytes of a row that are worth writing past the caches: less would leave many lines written in part.
const STREAM: usize = 1 << 10;

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
    // A loop has at least one dimension.
    let single = [1];
    let (shape, scalar) = match shape.ndim() {
        0 => (&Shape::new(&[1])?, true),
        _ => (shape, false),
    };
    let steps = |strides: &'_ Strides| {
        if scalar { Strides::new(&single).unwrap_or_default() } else { strides.clone() }
    };
    let out_strides = steps(strides);
    let mut out = Output::new(block, dtype.item_size(), shape, &out_strides, offset);
    // `None` is the very elements that the step overwrites.
    let input = |load: &Load| {
        let block = read(load.source);
        let strides = steps(&load.strides);
        if load.dtype.item_size() == dtype.item_size() && out.is_same(&block, &strides, load.offset) {
            return None;
        }
        let grids = (shape, &Shape::scalar());
        let input = Input::new(block, load.dtype.item_size(), grids, (&strides, load.offset), &out);
        Some(input.expect("what a step overwrites at other places has been copied first"))
    };
    let inputs: Vec<Option<Input<'_>>> = program.loads.iter().map(input).collect();
    let in_place = inputs.iter().any(Option::is_none);
    let loads: Vec<Strides> = program.loads.iter().map(|load| steps(&load.strides)).collect();
    let items = program.loads.iter().map(|load| load.dtype.item_size());
    let operands = loads.iter().map(|strides| &**strides).zip(items);
    let all: Vec<(&[isize], usize)> =
        std::iter::once((&*out_strides, dtype.item_size())).chain(operands).collect();
    let walk = Walk::new(shape, &all);
    let kind = |strides: &Strides| if walk.form(strides) == Form::Splat { Kind::Splat } else { Kind::Vector };
    let kinds: Vec<Kind> = loads.iter().map(kind).collect();
    let compiled = Compiled::new(program, &kinds, in_place);
    let walk = if compiled.is_direct() { walk } else { walk.tiled() };
    let written = shape.numel().saturating_mul(dtype.item_size());
    let long = walk.form(&out_strides) == Form::Dense && walk.row() * dtype.item_size() >= STREAM;
    let streams = long && !in_place && written > cache::last_level() / 2;
    let stores = if streams { Stores::Streaming } else { Stores::Cached };
    let copies = !streams && !in_place && matches!(program.instructions[..], [Instruction::Load(_)]);
    let target = Target::new(&mut out, &walk);
    let own = target.elements();
    let worker = || {
        let elements = inputs.iter().map(|input| input.as_ref().map_or(own, Input::elements));
        let operands = elements.map(|elements| Operand::new(elements, &walk)).collect();
        Worker { machine: Machine::new(&compiled, walk.row()), operands, copies }
    };
    let parts = target.parts(GRAIN.max(shape.numel() / PARTS));
    crew::for_each(parts.into_iter(), worker, |worker, part| worker.run(part, &walk, stores))
}

/// What one thread works with.
struct Worker<'a> {
    machine: Machine<'a>,
    operands: Vec<Operand<'a>>,
    /// Whether the program computes nothing.
    copies: bool,
}

impl Worker<'_> {
    fn run(&mut self, mut target: Target<'_>, walk: &Walk, stores: Stores) -> Result<()> {
        let Worker { machine, operands, copies } = self;
        let part = target.part().clone();
        if *copies && target.is_copy_of(&operands[0]) {
            return walk.panels(&part, |panel| {
                target.copy(panel, &operands[0]);
                Ok(())
            });
        }
        let done = walk.panels(&part, |panel| {
            target
                .panel(panel, operands, |rows, len, feeds, sink| machine.run(rows, len, feeds, sink, stores))
        });
        if stores == Stores::Streaming {
            fence();
        }
        done
    }
}
