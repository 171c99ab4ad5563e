//! Owns the short cut of small operations: one row of the table on a few elements, where a plan would cost more than the
//! arithmetic. Nothing here waits, and nothing but the result is allocated. It knows no rules: whatever is unusual, an
//! error among them, it leaves to the plan by returning `None`.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::OnceLock;

use zerostride_kernels::{MapKernel, cast_kernel, map_kernel, store_scalar};
use zerostride_ops::{Bucket, DType, Inferred, Op, Scalar, Typed};
use zerostride_shape::{Layout, Shape, broadcast_onto};

use crate::Tensor;
use crate::expr::{Expr, Kind};
use crate::tensor::{Fresh, Reading};

/// Elements beyond which the plan is as fast.
const MOST: usize = 256;

/// Dimensions beyond which shapes need memory of their own.
const MOST_DIMS: usize = 6;

/// The result's sizes, of which there are few: a `Shape` is made only once the result exists.
#[derive(Clone, Copy)]
struct Sizes {
    sizes: [usize; MOST_DIMS],
    ndim: usize,
}

impl Sizes {
    /// Ones.
    #[inline]
    fn ones(ndim: usize) -> Option<Sizes> {
        (ndim <= MOST_DIMS).then_some(Sizes { sizes: [1; MOST_DIMS], ndim })
    }

    fn of(shape: &Shape) -> Option<Sizes> {
        let mut sizes = Sizes::ones(shape.ndim())?;
        sizes.sizes[..shape.ndim()].copy_from_slice(shape);
        Some(sizes)
    }

    /// The elements, where they are few.
    #[inline]
    fn numel(&self) -> Option<usize> {
        let numel = self.iter().fold(1usize, |numel, &size| numel.saturating_mul(size));
        (1..=MOST).contains(&numel).then_some(numel)
    }
}

impl Deref for Sizes {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        &self.sizes[..self.ndim]
    }
}

/// What one operation reads.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    /// A tensor, and how often it had been written to when it was captured, if it was.
    Tensor(&'a Tensor, Option<u64>),
    /// A bare number.
    Number(Scalar),
    /// What has to be computed first.
    Other,
}

impl<'a> Value<'a> {
    fn of(expr: &'a Expr) -> Value<'a> {
        match &expr.node().kind {
            Kind::Leaf { tensor, version } => Value::Tensor(tensor, *version),
            Kind::Number(number) => Value::Number(*number),
            _ => Value::Other,
        }
    }

    fn typed(&self) -> Option<Typed> {
        match self {
            Value::Tensor(tensor, _) => Some(tensor.typed()),
            Value::Number(number) => Some(Typed { dtype: number.dtype(), bucket: Bucket::Number }),
            Value::Other => None,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Value::Tensor(tensor, _) => tensor.shape(),
            Value::Number(_) | Value::Other => &[],
        }
    }
}

/// The operation's result.
#[inline]
pub(crate) fn apply<const N: usize>(op: Op, values: &[Value<'_>; N]) -> Option<Tensor> {
    let (sizes, inferred) = infer(op, values)?;
    run(op, inferred, values, &sizes)
}

/// The value of an expression that is one operation on tensors and numbers.
pub(crate) fn evaluate(expr: &Expr) -> Option<Tensor> {
    let Kind::Map { op, operands, compute } = &expr.node().kind else { return None };
    let meta = expr.meta().ok()?;
    let (sizes, inferred) = (Sizes::of(&meta.shape)?, Inferred { compute: *compute, result: meta.dtype() });
    match &operands[..] {
        [a] => run(*op, inferred, &[a].map(Value::of), &sizes),
        [a, b] => run(*op, inferred, &[a, b].map(Value::of), &sizes),
        [a, b, c] => run(*op, inferred, &[a, b, c].map(Value::of), &sizes),
        _ => None,
    }
}

/// Writes the operation's result over its first operand, the target, whose version counts it; `None` if nothing has
/// been done.
pub(crate) fn apply_in_place<const N: usize>(op: Op, target: &Tensor, values: &[Value<'_>; N]) -> Option<()> {
    let (sizes, Inferred { compute, result }) = infer(op, values)?;
    if *sizes != *target.shape() || result != target.dtype() || !target.is_contiguous() {
        return None;
    }
    let len = sizes.numel()? * result.item_size();
    let mut writing = target.storage().try_write()?;
    // Another operand of the same storage cannot be read now.
    let mut readings = [const { None }; N];
    read(&values[1..], &mut readings[1..])?;
    with_tiles(|[out, tiles @ ..]| {
        let out = bytes(out, len);
        let mut storages = readings.each_ref().map(reading_bytes);
        storages[0] = writing.bytes();
        fill(op, compute, values, storages, &sizes, out, tiles)?;
        let start = target.storage_offset() * result.item_size();
        writing.bytes_mut()[start..][..len].copy_from_slice(out);
        Some(())
    })
}

/// Sizes and dtypes of an operation that means what it says.
#[inline]
fn infer<const N: usize>(op: Op, values: &[Value<'_>; N]) -> Option<(Sizes, Inferred)> {
    let mut typed = [Typed::dimensioned(DType::Bool); N];
    let mut ndim = 0;
    for (typed, value) in typed.iter_mut().zip(values) {
        *typed = value.typed()?;
        ndim = ndim.max(value.shape().len());
    }
    let mut sizes = Sizes::ones(ndim)?;
    if !values.iter().all(|value| broadcast_onto(&mut sizes.sizes[..ndim], value.shape())) {
        return None;
    }
    let inferred = dtypes(op, &typed)?;
    let plain = match op {
        // Numbers among their operands have rules of their own, and some are other operations (`Expr::map`).
        Op::Pow | Op::Lerp | Op::Where => typed.iter().all(|typed| typed.bucket != Bucket::Number),
        Op::Ldexp => false,
        // So have operands of halves that are none.
        _ => !inferred.compute.is_half() || typed.iter().all(|typed| typed.dtype == inferred.compute),
    };
    plain.then_some((sizes, inferred))
}

/// The operation's dtypes. Operands mostly are of one dtype; then they are looked up.
#[inline]
fn dtypes<const N: usize>(op: Op, typed: &[Typed; N]) -> Option<Inferred> {
    static UNIFORM: Table<Inferred> = table();
    let first = typed[0];
    if first.bucket == Bucket::Dimensioned && typed.iter().all(|typed| *typed == first) {
        let place = &UNIFORM[op as usize][first.dtype as usize];
        return *place.get_or_init(|| op.infer(typed).ok());
    }
    op.infer(typed).ok()
}

#[inline]
fn run<const N: usize>(op: Op, inferred: Inferred, values: &[Value<'_>; N], sizes: &Sizes) -> Option<Tensor> {
    let Inferred { compute, result } = inferred;
    let mut out = Fresh::arbitrary(sizes.numel()? * result.item_size())?;
    let mut readings = [const { None }; N];
    read(values, &mut readings)?;
    let storages = readings.each_ref().map(reading_bytes);
    with_tiles(|[_, tiles @ ..]| fill(op, compute, values, storages, sizes, out.bytes_mut(), tiles))?;
    drop(readings);
    Some(Tensor::new(out.share(), Layout::contiguous(Shape::new(sizes).ok()?), result))
}

/// Claims the storages of tensors for a moment; `None` if one is being written, or has been since it was captured.
#[inline]
fn read<'a>(values: &[Value<'a>], readings: &mut [Option<Reading<'a>>]) -> Option<()> {
    for (value, reading) in values.iter().zip(readings) {
        if let Value::Tensor(tensor, captured) = value {
            let storage = tensor.storage();
            *reading = Some(storage.try_read()?);
            if captured.is_some_and(|captured| captured != storage.version()) {
                return None;
            }
        }
    }
    Some(())
}

#[inline]
fn reading_bytes<'a>(reading: &'a Option<Reading<'_>>) -> &'a [u8] {
    reading.as_ref().map_or(&[], Reading::bytes)
}

/// Computes the result's elements from operands whose storages are given.
#[inline]
fn fill<const N: usize>(
    op: Op,
    compute: DType,
    values: &[Value<'_>; N],
    storages: [&[u8]; N],
    sizes: &Sizes,
    out: &mut [u8],
    tiles: &mut [Tile],
) -> Option<()> {
    let kernel = kernel(op, compute)?;
    let numel = sizes.numel()?;
    let len = numel * compute.item_size();
    let mut inputs = [&[][..]; N];
    let tiles = tiles.as_chunks_mut::<2>().0;
    for (((input, value), storage), [tile, other]) in inputs.iter_mut().zip(values).zip(storages).zip(tiles) {
        *input = match value {
            Value::Tensor(tensor, _) => {
                let elements = elements(tensor, storage, sizes, numel, tile);
                if tensor.dtype() == compute {
                    elements
                } else {
                    let converted = bytes(other, len);
                    cast_kernel(tensor.dtype(), compute)(elements, converted);
                    converted
                }
            }
            Value::Number(number) => {
                let tile = bytes(tile, len);
                splat(*number, compute, tile);
                tile
            }
            Value::Other => return None,
        };
    }
    kernel(&inputs, out).ok()
}

/// The elements of a tensor, stretched to `sizes`: where they lie if they lie there in order, else gathered.
fn elements<'a>(
    tensor: &Tensor,
    storage: &'a [u8],
    sizes: &Sizes,
    numel: usize,
    tile: &'a mut Tile,
) -> &'a [u8] {
    let (item, layout) = (tensor.dtype().item_size(), tensor.layout());
    // Of the same number of elements only where nothing is stretched.
    if layout.numel() == numel && layout.is_contiguous() {
        return &storage[layout.offset() as usize * item..][..numel * item];
    }
    let tile = bytes(tile, numel * item);
    match item {
        1 => gather::<1>(storage, layout, sizes, tile),
        2 => gather::<2>(storage, layout, sizes, tile),
        4 => gather::<4>(storage, layout, sizes, tile),
        8 => gather::<8>(storage, layout, sizes, tile),
        _ => gather::<16>(storage, layout, sizes, tile),
    }
    tile
}

/// Copies elements of `N` bytes in row-major order of `sizes`, to which the layout is stretched.
fn gather<const N: usize>(storage: &[u8], layout: &Layout, sizes: &Sizes, tile: &mut [u8]) {
    let (storage, tile) = (storage.as_chunks::<N>().0, tile.as_chunks_mut::<N>().0);
    let mut strides = [0; MOST_DIMS];
    let own = layout.shape().iter().zip(layout.strides().iter());
    for (stride, (&size, &own)) in strides[sizes.ndim - layout.ndim()..].iter_mut().zip(own) {
        *stride = if size > 1 { own } else { 0 };
    }
    let outer = sizes.ndim.saturating_sub(1);
    let (row_len, step) = (sizes.sizes[outer], strides[outer]);
    let (mut index, mut first) = ([0; MOST_DIMS], layout.offset());
    for row in tile.chunks_exact_mut(row_len) {
        match step {
            0 => row.fill(storage[first as usize]),
            // A call costs more than a few elements do.
            1 if row_len > 16 => row.copy_from_slice(&storage[first as usize..][..row_len]),
            _ => {
                for (place, at) in row.iter_mut().zip(0..) {
                    *place = storage[(first + at * step) as usize];
                }
            }
        }
        for dim in (0..outer).rev() {
            index[dim] += 1;
            first += strides[dim];
            if index[dim] < sizes.sizes[dim] {
                break;
            }
            first -= strides[dim] * sizes.sizes[dim] as isize;
            index[dim] = 0;
        }
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

/// A tile for a result, and two for each of up to three operands.
type Tiles = [Tile; 7];

/// Lends the thread's tiles.
#[inline]
fn with_tiles<R>(work: impl FnOnce(&mut Tiles) -> Option<R>) -> Option<R> {
    thread_local! {
        static TILES: RefCell<Box<Tiles>> = RefCell::new(Box::new([[0; MOST]; 7]));
    }
    // A thread that is ending has none.
    TILES.try_with(|tiles| work(&mut tiles.borrow_mut())).ok()?
}

/// The kernel of an operation, looked up once.
fn kernel(op: Op, compute: DType) -> Option<&'static MapKernel> {
    static KERNELS: Table<MapKernel> = table();
    KERNELS[op as usize][compute as usize].get_or_init(|| map_kernel(op, compute)).as_ref()
}

/// What is known of each operation for each dtype.
type Table<T> = [[OnceLock<Option<T>>; DType::ALL.len()]; Op::ALL.len()];

const fn table<T>() -> Table<T> {
    [const { [const { OnceLock::new() }; DType::ALL.len()] }; Op::ALL.len()]
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

    fn applied(op: Op, values: &[Value<'_>]) -> Option<Tensor> {
        match *values {
            [a] => apply(op, &[a]),
            [a, b] => apply(op, &[a, b]),
            [a, b, c] => apply(op, &[a, b, c]),
            _ => None,
        }
    }

    fn planned(op: Op, operands: &[Expr]) -> Result<Tensor> {
        super::super::run(&Expr::map(op, operands.iter().cloned()).plan()?)
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
                let mut values: Vec<Value<'_>> =
                    tensors.iter().map(|tensor| Value::Tensor(tensor, None)).collect();
                let mut operands: Vec<Expr> = tensors.iter().map(Expr::current).collect();
                if let (Some(number), true) = (number, arity > 1) {
                    values[arity - 1] = Value::Number(number);
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
                let values = [Value::Tensor(&target, None), Value::Tensor(&other, None)];
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
        let own = Value::Tensor(&x, None);
        assert!(apply_in_place(Op::Neg, &x, &[own]).is_some());
        assert!(evaluate(&captured).is_none());
        assert!(apply_in_place(Op::Add, &x, &[own, own]).is_none());
        let writing = x.storage().try_write();
        assert!(apply(Op::Add, &[own, own]).is_none());
        drop(writing);
        assert!(apply(Op::Add, &[own, own]).is_some());
    }
}
