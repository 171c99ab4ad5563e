//! Owns the short cut of small operations: one row of the table on a few elements, where a plan would cost more than the
//! arithmetic; and one step of a plan on a few, where panels would. Nothing here waits, and nothing but the result is
//! allocated. It knows no rules: whatever is unusual, an error among them, it leaves to the long way by returning `None`.

use std::cell::RefCell;
use std::sync::OnceLock;

use smallvec::SmallVec;
use zerostride_kernels::{MapKernel, cast_kernel, map_kernel, store_scalar};
use zerostride_ops::{Bucket, DType, Inferred, Op, Scalar, Typed};
use zerostride_shape::{Layout, Shape, Strides, broadcast_size};

use crate::Tensor;
use crate::expr::{Expr, Kind};
use crate::plan::{Instruction, Leaf, Load, Plan, Source, Step, Work};
use crate::tensor::{Fresh, Hazards, Reading, Storage};

/// Elements beyond which the plan is as fast.
const MOST: usize = 256;

/// Dimensions beyond which shapes need memory of their own.
const MOST_DIMS: usize = 6;

/// What an operation reads. Code that is made for tensors alone has no more to ask about them.
pub(crate) trait Value {
    /// What promotion needs to know; `None` if it has to be computed first.
    fn typed(&self) -> Option<Typed>;

    /// Where a tensor's elements lie.
    fn layout(&self) -> Option<&Layout>;

    /// A tensor's memory.
    fn storage(&self) -> Option<&Storage>;

    /// A bare number.
    fn number(&self) -> Option<Scalar>;

    /// Whether a tensor has been written to since it was captured.
    fn has_changed(&self) -> bool;
}

impl Value for &Tensor {
    #[inline]
    fn typed(&self) -> Option<Typed> {
        Some(Tensor::typed(self))
    }

    #[inline]
    fn layout(&self) -> Option<&Layout> {
        Some(Tensor::layout(self))
    }

    #[inline]
    fn storage(&self) -> Option<&Storage> {
        Some(Tensor::storage(self))
    }

    #[inline]
    fn number(&self) -> Option<Scalar> {
        None
    }

    #[inline]
    fn has_changed(&self) -> bool {
        false
    }
}

/// Any operand.
#[derive(Clone, Copy)]
pub(crate) enum Any<'a> {
    /// A tensor, and how often it had been written to when it was captured, if it was.
    Tensor(&'a Tensor, Option<u64>),
    /// A bare number.
    Number(Scalar),
    /// What has to be computed first.
    Other,
}

impl<'a> Any<'a> {
    pub(crate) fn of(expr: &'a Expr) -> Any<'a> {
        match &expr.node().kind {
            Kind::Leaf { tensor, version } => Any::Tensor(tensor, *version),
            Kind::Number(number) => Any::Number(*number),
            _ => Any::Other,
        }
    }

    fn tensor(&self) -> Option<&'a Tensor> {
        match *self {
            Any::Tensor(tensor, _) => Some(tensor),
            Any::Number(_) | Any::Other => None,
        }
    }
}

impl Value for Any<'_> {
    fn typed(&self) -> Option<Typed> {
        match self {
            Any::Tensor(tensor, _) => Some(Tensor::typed(tensor)),
            Any::Number(number) => Some(Typed { dtype: number.dtype(), bucket: Bucket::Number }),
            Any::Other => None,
        }
    }

    fn layout(&self) -> Option<&Layout> {
        self.tensor().map(Tensor::layout)
    }

    fn storage(&self) -> Option<&Storage> {
        self.tensor().map(|tensor| &**Tensor::storage(tensor))
    }

    fn number(&self) -> Option<Scalar> {
        match *self {
            Any::Number(number) => Some(number),
            Any::Tensor(..) | Any::Other => None,
        }
    }

    fn has_changed(&self) -> bool {
        matches!(self, Any::Tensor(tensor, Some(captured)) if *captured != Tensor::storage(tensor).version())
    }
}

/// The operands in step with the result.
struct Loops<const N: usize> {
    /// The result's sizes, of which there are few: a shape is made only once the result exists.
    sizes: [usize; MOST_DIMS],
    ndim: usize,
    numel: usize,
    /// The dimensions of more than one element, innermost first, and how many they are.
    lens: [usize; MOST_DIMS],
    count: usize,
    /// Each operand's strides along those, 0 where it is stretched.
    strides: [[isize; MOST_DIMS]; N],
    /// Whether an operand's elements lie next to each other in the result's order.
    dense: [bool; N],
}

impl<const N: usize> Loops<N> {
    /// Those of a single element.
    const SINGLE: Loops<N> = Loops {
        sizes: [1; MOST_DIMS],
        ndim: 0,
        numel: 1,
        lens: [1; MOST_DIMS],
        count: 0,
        strides: [[0; MOST_DIMS]; N],
        dense: [true; N],
    };

    /// Walks along the dimensions of operands, from the right; `None` if they do not broadcast, or the result has no
    /// elements or too many.
    #[inline(always)]
    fn walk(&mut self, values: &[impl Value; N]) -> Option<()> {
        let mut dims = [(&[][..], &[][..]); N];
        for (dims, value) in dims.iter_mut().zip(values) {
            if let Some(layout) = value.layout() {
                *dims = (&**layout.shape(), &layout.strides()[..layout.ndim()]);
                self.ndim = self.ndim.max(layout.ndim());
            }
        }
        for from_right in 0..self.ndim {
            let (mut size, mut steps) = (1, [0; N]);
            for (step, (sizes, strides)) in steps.iter_mut().zip(dims) {
                if let Some(dim) = sizes.len().checked_sub(from_right + 1) {
                    size = broadcast_size(size, sizes[dim])?;
                    *step = if sizes[dim] == 1 { 0 } else { strides[dim] };
                }
            }
            *self.sizes.get_mut(self.ndim - 1 - from_right)? = size;
            self.push(size, steps)?;
        }
        Some(())
    }

    /// Adds a dimension outside of the others.
    #[inline(always)]
    fn push(&mut self, size: usize, steps: [isize; N]) -> Option<()> {
        if size != 1 {
            *self.lens.get_mut(self.count)? = size;
            for (operand, step) in steps.into_iter().enumerate() {
                self.strides[operand][self.count] = step;
                self.dense[operand] &= step == self.numel as isize;
            }
            self.count += 1;
            self.numel = self.numel.checked_mul(size).filter(|numel| (1..=MOST).contains(numel))?;
        }
        Some(())
    }

    #[inline]
    fn sizes(&self) -> &[usize] {
        &self.sizes[..self.ndim]
    }
}

impl Loops<1> {
    /// The loops of a step.
    fn of(shape: &Shape, strides: &Strides) -> Option<Loops<1>> {
        let mut loops = Loops::SINGLE;
        shape.iter().zip(strides).rev().try_for_each(|(&size, &stride)| loops.push(size, [stride]))?;
        Some(loops)
    }
}

/// What computes an operation, and in which dtypes.
#[derive(Clone, Copy)]
struct Row {
    inferred: Inferred,
    kernel: MapKernel,
}

impl Row {
    /// The row of an operation on operands that mean what they say. Mostly they are of one dtype; then it is looked up.
    #[inline]
    fn of<const N: usize>(op: Op, values: &[impl Value; N]) -> Option<Row> {
        static UNIFORM: [[OnceLock<Option<Row>>; DType::ALL.len()]; Op::ALL.len()] =
            [const { [const { OnceLock::new() }; DType::ALL.len()] }; Op::ALL.len()];
        let mut typed = [Typed::dimensioned(DType::Bool); N];
        for (typed, value) in typed.iter_mut().zip(values) {
            *typed = value.typed()?;
        }
        let first = typed[0];
        if first.bucket == Bucket::Dimensioned && typed.iter().all(|typed| *typed == first) {
            let place = &UNIFORM[op as usize][first.dtype as usize];
            return *place.get_or_init(|| Row::infer(op, &typed));
        }
        Row::infer(op, &typed)
    }

    #[cold]
    fn infer(op: Op, typed: &[Typed]) -> Option<Row> {
        let inferred = op.infer(typed).ok()?;
        let plain = match op {
            // Numbers among their operands have rules of their own, and some are other operations (`Expr::map`).
            Op::Pow | Op::Lerp | Op::Where => typed.iter().all(|typed| typed.bucket != Bucket::Number),
            Op::Ldexp => false,
            // So have operands of halves that are none.
            _ => !inferred.compute.is_half() || typed.iter().all(|typed| typed.dtype == inferred.compute),
        };
        if plain { Row::new(op, inferred) } else { None }
    }

    fn new(op: Op, inferred: Inferred) -> Option<Row> {
        Some(Row { inferred, kernel: map_kernel(op, inferred.compute)? })
    }
}

/// The operation's result.
#[inline]
pub(crate) fn apply<const N: usize>(op: Op, values: &[impl Value; N]) -> Option<Tensor> {
    let mut loops = Loops::SINGLE;
    loops.walk(values)?;
    run(&Row::of(op, values)?, values, &loops)
}

/// The value of an expression that is one operation on tensors and numbers.
pub(crate) fn evaluate(expr: &Expr) -> Option<Tensor> {
    let Kind::Map { op, operands, compute } = &expr.node().kind else { return None };
    let inferred = Inferred { compute: *compute, result: expr.meta().ok()?.dtype() };
    match &operands[..] {
        [a] => evaluate_map(*op, inferred, &[a].map(Any::of)),
        [a, b] => evaluate_map(*op, inferred, &[a, b].map(Any::of)),
        [a, b, c] => evaluate_map(*op, inferred, &[a, b, c].map(Any::of)),
        _ => None,
    }
}

fn evaluate_map<const N: usize>(op: Op, inferred: Inferred, values: &[Any<'_>; N]) -> Option<Tensor> {
    let has_to_be_computed = |value: &Any<'_>| matches!(value, Any::Other);
    if values.iter().any(has_to_be_computed) {
        return None;
    }
    let mut loops = Loops::SINGLE;
    loops.walk(values)?;
    run(&Row::new(op, inferred)?, values, &loops)
}

/// Writes the operation's result over its first operand, the target, whose version counts it; `None` if nothing has
/// been done.
#[inline]
pub(crate) fn apply_in_place<const N: usize>(
    op: Op,
    target: &Tensor,
    values: &[impl Value; N],
) -> Option<()> {
    let mut loops = Loops::SINGLE;
    loops.walk(values)?;
    let row = Row::of(op, values)?;
    let result = row.inferred.result;
    if loops.sizes() != target.shape() || result != target.dtype() || !loops.dense[0] {
        return None;
    }
    let len = loops.numel * result.item_size();
    let mut writing = target.storage().try_write()?;
    // Another operand of the same storage cannot be read now.
    let mut others = storages_of(values);
    others[0] = None;
    with_desk(|Desk { hazards, tiles }| {
        let reading = Reading::of(others, hazards)?;
        let [out, tiles @ ..] = &mut **tiles;
        let out = bytes(out, len);
        let mut storages = std::array::from_fn(|place| reading.bytes(place));
        storages[0] = writing.bytes();
        fill(&row, values, storages, &loops, out, tiles)?;
        let start = target.storage_offset() * result.item_size();
        writing.bytes_mut()[start..][..len].copy_from_slice(out);
        Some(())
    })
}

/// The result of a plan that is one element-wise step: its instructions one after the other, each on all elements.
pub(super) fn run_plan(plan: &Plan) -> Option<Tensor> {
    let [Step { work: Work::Map { shape, program, out, out_offset: 0 }, .. }] = &plan.passes.steps[..] else {
        return None;
    };
    let loops = Loops::of(shape, out)?;
    if !loops.dense[0] || plan.leaves.len() > MOST_LEAVES {
        return None;
    }
    let buffer = &plan.passes.buffers[plan.result()];
    let mut result = Fresh::arbitrary(loops.numel * buffer.dtype.item_size())?;
    with_desk(|Desk { hazards, tiles }| {
        let mut storages = [None; MOST_LEAVES];
        for (storage, leaf) in storages.iter_mut().zip(&plan.leaves) {
            *storage = Some(&**leaf.tensor.storage());
        }
        let reading = Reading::of(storages, hazards)?;
        let has_changed =
            |leaf: &Leaf| leaf.version.is_some_and(|captured| captured != leaf.tensor.storage().version());
        if plan.leaves.iter().any(has_changed) {
            return None;
        }
        let mut tiles = tiles.iter_mut();
        let mut registers: SmallVec<[&[u8]; TILES]> = SmallVec::new();
        for (instruction, &dtype) in program.instructions.iter().zip(&program.dtypes) {
            let (tile, len) = (tiles.next()?, loops.numel * dtype.item_size());
            registers.push(match instruction {
                Instruction::Load(load) => {
                    let Load { source: Source::Leaf(leaf), strides, offset, .. } = &program.loads[*load]
                    else {
                        return None;
                    };
                    let own = Loops::of(shape, strides)?;
                    elements(dtype.item_size(), *offset, reading.bytes(*leaf), &own, 0, tile)
                }
                Instruction::Splat(number) => {
                    let tile = bytes(tile, len);
                    splat(*number, dtype, tile);
                    tile
                }
                Instruction::Cast(from) => {
                    let tile = bytes(tile, len);
                    cast_kernel(program.dtypes[*from], dtype)(registers[*from], tile);
                    tile
                }
                Instruction::Map { op, compute, operands } => {
                    let tile = bytes(tile, len);
                    let inputs: SmallVec<[&[u8]; 4]> =
                        operands.iter().map(|&operand| registers[operand]).collect();
                    map_kernel(*op, *compute)?(&inputs, tile).ok()?;
                    tile
                }
            });
        }
        result.bytes_mut().copy_from_slice(registers[program.result]);
        Some(())
    })?;
    Some(Tensor::new(result.share(), Layout::contiguous(buffer.shape.clone()), buffer.dtype))
}

#[inline]
fn run<const N: usize>(row: &Row, values: &[impl Value; N], loops: &Loops<N>) -> Option<Tensor> {
    let result = row.inferred.result;
    let mut out = Fresh::arbitrary(loops.numel * result.item_size())?;
    with_desk(|Desk { hazards, tiles }| {
        let reading = Reading::of(storages_of(values), hazards)?;
        if values.iter().any(Value::has_changed) {
            return None;
        }
        let storages = std::array::from_fn(|place| reading.bytes(place));
        fill(row, values, storages, loops, out.bytes_mut(), &mut tiles[1..])
    })?;
    Some(Tensor::new(out.share(), Layout::contiguous_of(loops.sizes()).ok()?, result))
}

#[inline(always)]
fn storages_of<const N: usize>(values: &[impl Value; N]) -> [Option<&Storage>; N] {
    let mut storages = [None; N];
    for (storage, value) in storages.iter_mut().zip(values) {
        *storage = value.storage();
    }
    storages
}

/// Computes the result's elements from operands whose storages are given.
#[inline(always)]
fn fill<const N: usize>(
    row: &Row,
    values: &[impl Value; N],
    storages: [&[u8]; N],
    loops: &Loops<N>,
    out: &mut [u8],
    tiles: &mut [Tile],
) -> Option<()> {
    let compute = row.inferred.compute;
    let mut inputs = [&[][..]; N];
    let tiles = tiles.as_chunks_mut::<2>().0;
    for (operand, ([tile, other], input)) in tiles.iter_mut().zip(&mut inputs).enumerate() {
        let value = &values[operand];
        if let Some(number) = value.number() {
            let tile = bytes(tile, loops.numel * compute.item_size());
            splat(number, compute, tile);
            *input = tile;
            continue;
        }
        let dtype = value.typed()?.dtype;
        *input =
            elements(dtype.item_size(), value.layout()?.offset(), storages[operand], loops, operand, tile);
        if dtype != compute {
            let converted = bytes(other, loops.numel * compute.item_size());
            cast_kernel(dtype, compute)(input, converted);
            *input = converted;
        }
    }
    (row.kernel)(&inputs, out).ok()
}

/// The elements of an operand, stretched: where they lie if they lie there in order, else gathered.
#[inline(always)]
fn elements<'a, const N: usize>(
    item: usize,
    first: isize,
    storage: &'a [u8],
    loops: &Loops<N>,
    operand: usize,
    tile: &'a mut Tile,
) -> &'a [u8] {
    if loops.dense[operand] {
        return &storage[first as usize * item..][..loops.numel * item];
    }
    let tile = bytes(tile, loops.numel * item);
    let (lens, strides) = (&loops.lens[..loops.count], &loops.strides[operand]);
    match item {
        1 => gather::<1>(storage, first, strides, lens, tile),
        2 => gather::<2>(storage, first, strides, lens, tile),
        4 => gather::<4>(storage, first, strides, lens, tile),
        8 => gather::<8>(storage, first, strides, lens, tile),
        _ => gather::<16>(storage, first, strides, lens, tile),
    }
    tile
}

/// Copies elements of `N` bytes, whose dimensions are given innermost first.
fn gather<const N: usize>(
    storage: &[u8],
    first: isize,
    strides: &[isize; MOST_DIMS],
    lens: &[usize],
    tile: &mut [u8],
) {
    let (storage, tile) = (storage.as_chunks::<N>().0, tile.as_chunks_mut::<N>().0);
    match *lens {
        [] => tile.fill(storage[first as usize]),
        [_] => line(storage, first, strides[0], tile),
        [len, _] => {
            let (mut rest, mut first) = (tile, first);
            while rest.len() >= len {
                let row;
                (row, rest) = rest.split_at_mut(len);
                line(storage, first, strides[0], row);
                first += strides[1];
            }
        }
        [ref inner @ .., len] => {
            let part = tile.len() / len;
            for (index, part) in (0..).zip(tile.chunks_exact_mut(part)) {
                let first = first + index * strides[inner.len()];
                gather::<N>(storage.as_flattened(), first, strides, inner, part.as_flattened_mut());
            }
        }
    }
}

/// Copies elements at a distance from each other.
#[inline(always)]
fn line<T: Copy>(storage: &[T], first: isize, stride: isize, tile: &mut [T]) {
    let mut at = first;
    for place in tile {
        *place = storage[at as usize];
        at += stride;
    }
}

/// Fills a tile with a number.
fn splat(number: Scalar, dtype: DType, tile: &mut [u8]) {
    let mut element = [0; 16];
    let item = dtype.item_size();
    store_scalar(number, dtype, &mut element[..item]);
    match item {
        1 => repeat::<1>(&element, tile),
        2 => repeat::<2>(&element, tile),
        4 => repeat::<4>(&element, tile),
        8 => repeat::<8>(&element, tile),
        _ => repeat::<16>(&element, tile),
    }
}

/// Fills a tile with the first of some elements of `N` bytes.
fn repeat<const N: usize>(elements: &[u8], tile: &mut [u8]) {
    tile.as_chunks_mut::<N>().0.fill(elements.as_chunks::<N>().0[0]);
}

/// Room for the elements of one operand of the widest dtype.
type Tile = [u128; MOST];

fn bytes(tile: &mut Tile, len: usize) -> &mut [u8] {
    &mut bytemuck::cast_slice_mut(tile)[..len]
}

/// Tiles of a thread: one for each instruction of a plan; or one for a result, and two for each of up to three operands.
const TILES: usize = 16;

/// The most operands of a plan.
const MOST_LEAVES: usize = 4;

/// What a thread works with.
struct Desk {
    hazards: Hazards,
    tiles: Box<[Tile; TILES]>,
}

/// Lends the thread's desk.
#[inline]
fn with_desk<R>(work: impl FnOnce(&mut Desk) -> Option<R>) -> Option<R> {
    thread_local! {
        static DESK: RefCell<Desk> =
            RefCell::new(Desk { hazards: Hazards::new(), tiles: Box::new([[0; MOST]; TILES]) });
    }
    // A thread that is ending has none.
    DESK.try_with(|desk| work(&mut desk.borrow_mut())).ok()?
}

#[cfg(test)]
mod tests {
    use zerostride_ops::Class;

    use super::*;
    use crate::Result;

    /// The same sequence of choices in every run (SplitMix64).
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            ((mixed ^ (mixed >> 29)) % bound as u64) as usize
        }

        /// Numbers around zero of a shape that mostly goes with others, seen through some view.
        fn tensor(&mut self, dtype: DType) -> Tensor {
            let ndim = self.below(4);
            let sizes = [4, 3, if self.below(20) == 0 { 0 } else { 2 }];
            let shape: Vec<usize> =
                sizes[3 - ndim..].iter().map(|&size| if self.below(3) > 0 { size } else { 1 }).collect();
            let numel: usize = shape.iter().product();
            let numbers: Vec<f64> = (0..2 * numel + 3).map(|_| self.below(9) as f64 * 0.75 - 3.0).collect();
            let base = Tensor::from_slice(&numbers, &[numbers.len()]).unwrap().to_dtype(dtype).unwrap();
            let signed: Vec<isize> = shape.iter().map(|&size| size as isize).collect();
            let step = 1 + self.below(2) as isize;
            let part = base.slice(0, Some(1), Some(1 + numel as isize * step), step).unwrap();
            let tensor = part.reshape(&signed).unwrap();
            match self.below(4) {
                0 => tensor.t().unwrap_or(tensor),
                1 => tensor.flip(&(0..shape.len() as isize).collect::<Vec<_>>()).unwrap(),
                2 => tensor.unsqueeze(0).unwrap().expand(&[&[2][..], &signed].concat()).unwrap(),
                _ => tensor,
            }
        }
    }

    fn bytes_of(tensor: &Tensor) -> (DType, Vec<usize>, Vec<u8>) {
        (tensor.dtype(), tensor.shape().to_vec(), tensor.with_bytes(<[u8]>::to_vec).unwrap())
    }

    fn applied(op: Op, values: &[Any<'_>]) -> Option<Tensor> {
        match *values {
            [a] => apply(op, &[a]),
            [a, b] => apply(op, &[a, b]),
            [a, b, c] => apply(op, &[a, b, c]),
            _ => None,
        }
    }

    /// What the plan gives at length, and its short cut, if it has one.
    fn planned(op: Op, operands: &[Expr]) -> Result<Tensor> {
        let plan = Expr::map(op, operands.iter().cloned()).plan()?;
        let result = super::super::run_at_length(&plan)?;
        if let Some(short) = run_plan(&plan) {
            assert_eq!(bytes_of(&short), bytes_of(&result), "{op:?} {operands:?}");
        }
        Ok(result)
    }

    #[test]
    fn a_small_formula_gives_what_it_gives_at_length() {
        let mut random = Random(3);
        let mut taken = 0;
        for _ in 0..1000 {
            let dtype = DType::ALL[random.below(15)];
            let [a, b, c] = [(); 3].map(|()| Expr::current(&random.tensor(dtype)));
            let formulas = [
                (&a - &b) * &a + &c,
                a.abs() * 2 + b.t() * &c,
                (&a + 0.5).sqrt() * (&b - 1),
                (&a * &b).to_dtype(DType::F32).gelu_tanh() - &c,
            ];
            for formula in formulas {
                let Ok(plan) = formula.plan() else { continue };
                if let Some(short) = run_plan(&plan) {
                    taken += 1;
                    let result = super::super::run_at_length(&plan).unwrap();
                    assert_eq!(bytes_of(&short), bytes_of(&result), "{formula}");
                }
            }
        }
        assert!(taken > 500, "{taken}");
    }

    #[test]
    fn every_operation_gives_what_its_plan_gives_or_nothing() {
        let mut random = Random(1);
        let (mut taken, mut left) = (0, 0);
        for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
            let arity = match op {
                Op::Where | Op::Lerp => 3,
                _ if op.info().class == Class::Nary => continue,
                _ => 1 + usize::from(op.info().class == Class::Binary),
            };
            for _ in 0..300 {
                let dtype = DType::ALL[random.below(15)];
                let dtypes: Vec<DType> = (0..arity)
                    .map(|_| if random.below(4) == 0 { DType::ALL[random.below(15)] } else { dtype })
                    .collect();
                let tensors: Vec<Tensor> = dtypes.iter().map(|&dtype| random.tensor(dtype)).collect();
                let number =
                    (random.below(5) == 0).then(|| [Scalar::Int(2), Scalar::Float(0.5)][random.below(2)]);
                let mut values: Vec<Any<'_>> =
                    tensors.iter().map(|tensor| Any::Tensor(tensor, None)).collect();
                let mut operands: Vec<Expr> = tensors.iter().map(Expr::current).collect();
                if let (Some(number), true) = (number, arity > 1) {
                    values[arity - 1] = Any::Number(number);
                    operands[arity - 1] = Expr::from(number);
                }
                let Some(result) = applied(op, &values) else {
                    left += 1;
                    continue;
                };
                taken += 1;
                let planned = planned(op, &operands).unwrap();
                assert_eq!(bytes_of(&result), bytes_of(&planned), "{op:?} {tensors:?}");
                let one = evaluate(&Expr::map(op, operands.iter().cloned()));
                assert_eq!(one.as_ref().map(bytes_of), Some(bytes_of(&planned)), "{op:?} {tensors:?}");
            }
        }
        assert!(taken > left / 4, "{taken} taken, {left} left");
    }

    #[test]
    fn every_in_place_operation_writes_what_its_plan_writes_and_counts() {
        let mut random = Random(2);
        let mut taken = 0;
        let has_method = |op: &&Op| op.info().in_place.is_some() && **op != Op::Lerp && **op != Op::NanToNum;
        for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()).filter(has_method) {
            for _ in 0..100 {
                let dtype = DType::ALL[random.below(15)];
                let (target, other) = (random.tensor(dtype), random.tensor(dtype));
                let values = [Any::Tensor(&target, None), Any::Tensor(&other, None)];
                let unary = op.info().class == Class::Unary;
                let operands = [Expr::current(&target.clone_elements().unwrap()), Expr::current(&other)];
                let version = target.storage().version();
                let planned = planned(op, if unary { &operands[..1] } else { &operands });
                let written = match unary {
                    true => apply_in_place(op, &target, &[values[0]]),
                    false => apply_in_place(op, &target, &values),
                };
                if written.is_some() {
                    taken += 1;
                    let planned = planned.unwrap();
                    assert_eq!(bytes_of(&target), bytes_of(&planned), "{op:?} {target:?} {other:?}");
                    assert_eq!(target.storage().version(), version + 1);
                }
            }
        }
        assert!(taken > 200, "{taken}");
    }

    #[test]
    fn what_is_in_use_or_has_changed_is_left_to_the_plan() {
        let x = Tensor::ones(&[3]).unwrap();
        let captured = Expr::from(&x) + 1.0;
        assert!(evaluate(&captured).is_some());
        let own = Any::Tensor(&x, None);
        assert!(apply_in_place(Op::Neg, &x, &[own]).is_some());
        assert!(evaluate(&captured).is_none());
        assert!(apply_in_place(Op::Add, &x, &[own, own]).is_none());
        let writing = x.storage().try_write();
        assert!(apply(Op::Add, &[own, own]).is_none());
        drop(writing);
        assert!(apply(Op::Add, &[own, own]).is_some());
    }
}
