//! Reductions printed as PTX: the bits of the reducers of this crate, for many lengths, along memory and
//! across it, of fused formulas, in several accumulators.

use zerostride_code::print::ptx::{
    Argument, LeavesLoop, LevelLoop, ReductionCodes as Printed, leaves, level,
};
use zerostride_code::{Binary, Builder, Code, Type, Value};
use zerostride_kernels::{
    LEAF_ELEMENTS, MOMENTS, MOMENTS_PASS, Recorded, ReducePanel, Reducer, lanes, record_merged_moments,
    record_moments, record_step, record_summed, record_variance, record_wide_moments, stored_type,
};
use zerostride_ops::{Category, DType, Reduction};

use super::super::codes::{Random, element_bytes};
use super::super::elements::aligned;
use super::are_same;
use super::launch::{Memory, launch};

/// A reduction as codes.
struct Codes {
    step: Code,
    before: Option<Code>,
    merge: Code,
    ending: Code,
    empty: Vec<u64>,
}

impl Codes {
    /// The reduction of elements of a dtype, each of so many parts, which are accumulated by themselves in
    /// `held`.
    fn new(op: Reduction, dtype: DType, held: Type) -> Codes {
        let parts = if dtype.category() == Category::Complex { 2 } else { 1 };
        let stored = stored_type(dtype);
        if op == Reduction::Var {
            return Codes::variance(stored);
        }
        let mut step = Builder::new();
        let elements: Vec<_> = (0..parts).map(|_| step.input(stored)).collect();
        let before: Vec<_> = (0..parts).map(|_| step.input(held)).collect();
        let after: Vec<_> = elements
            .iter()
            .zip(&before)
            .map(|(&element, &before)| {
                let element = step.convert(held, element);
                next(&mut step, op, before, element)
            })
            .collect();
        let mut merge = Builder::new();
        let left: Vec<_> = (0..parts).map(|_| merge.input(held)).collect();
        let right: Vec<_> = (0..parts).map(|_| merge.input(held)).collect();
        let both: Vec<_> = left.iter().zip(&right).map(|(&a, &b)| next(&mut merge, op, a, b)).collect();
        let mut ending = Builder::new();
        let last: Vec<_> = (0..parts).map(|_| ending.input(held)).collect();
        let result: Vec<_> = last.iter().map(|&last| ending.convert(stored, last)).collect();
        let empty = match op {
            Reduction::Prod if held.is_word() => 1,
            Reduction::Sum if held.is_word() => 0,
            _ => {
                let dtype = if held == Type::F32 { DType::F32 } else { DType::F64 };
                let bytes = Reducer::new(op, dtype, dtype, 1, 0.0).accumulator().expect("an accumulator");
                bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
            }
        };
        Codes {
            step: step.finish(&after),
            before: None,
            merge: merge.finish(&both),
            ending: ending.finish(&result),
            empty: vec![empty; parts],
        }
    }

    /// The variance of elements of f32 or f64, without a correction.
    fn variance(stored: Type) -> Codes {
        let wide = stored == Type::F64;
        let inputs = |code: &mut Builder| [(); MOMENTS].map(|()| code.input(Type::F64));
        let code = |record: fn(&mut Builder, [Value; MOMENTS], Value) -> [Value; MOMENTS]| {
            let mut code = Builder::new();
            let (element, held) = (code.input(stored), inputs(&mut code));
            let next = record(&mut code, held, element);
            code.finish(&next)
        };
        let mut merge = Builder::new();
        let both = [inputs(&mut merge), inputs(&mut merge)];
        let both = record_merged_moments(&mut merge, both, wide);
        let mut ending = Builder::new();
        let last = inputs(&mut ending);
        let result = record_variance(&mut ending, &[last], 0.0, wide);
        let result = ending.convert(stored, result);
        Codes {
            step: code(if wide { record_wide_moments } else { record_moments }),
            before: wide.then(|| code(record_summed)),
            merge: merge.finish(&both),
            ending: ending.finish(&[result]),
            empty: vec![0; MOMENTS],
        }
    }

    fn printed(&self, is_last: bool) -> Printed<'_> {
        let Codes { step, before, merge, ending, empty } = self;
        let before = before.as_ref().map(|code| (code, MOMENTS_PASS));
        Printed { step, before, merge, ending: is_last.then_some(ending), empty }
    }
}

/// The kernels of a reduction of each number of lanes, along memory and across it, and that of a level.
pub(super) fn kernels(op: Reduction, dtype: DType) -> Vec<String> {
    let codes = Codes::new(op, dtype, stored_type(dtype));
    let reduction = codes.printed(true);
    let mut texts = vec![level(&reduction).expect("a level that can be printed").text];
    for (rows, is_across) in [(100, false), (200, false), (200, true), (5000, false), (5000, true)] {
        let strides = if is_across { vec![8, 64] } else { vec![64, 8] };
        let loops = LeavesLoop {
            kept: vec![8],
            reduced: vec![rows],
            operands: vec![Argument::Elements { address: 0, strides }],
            results: Vec::new(),
            lanes: lanes(rows as usize) as u32,
            leaf: LEAF_ELEMENTS as u32,
        };
        let form = loops.form(&reduction).expect("a reduction that can be printed");
        texts.push(leaves(&reduction, &form).expect("a reduction that can be printed").text);
    }
    texts
}

/// What a reduction makes of an accumulator and an element.
fn next(code: &mut Builder, op: Reduction, held: Value, element: Value) -> Value {
    let dtype = match code.ty(held) {
        Type::F32 => DType::F32,
        Type::F64 => DType::F64,
        _ => DType::I64,
    };
    match record_step(code, op, dtype, Recorded::Real(held), Recorded::Real(element)) {
        Some(Recorded::Real(next)) => next,
        step => panic!("{op:?} of {dtype:?} is {step:?}"),
    }
}

/// Launches leaves and then levels until each result has one accumulator; returns the results of each part.
fn reduce(codes: &Codes, mut loops: LeavesLoop, is_across: bool, memory: &mut Memory) -> Vec<Vec<u64>> {
    let results: u32 = loops.kept.iter().product();
    let types = |code: &Code| code.result_types().collect::<Vec<Type>>();
    let mut left = loops.leaves();
    let stored = |left: u32| types(if left == 1 { &codes.ending } else { &codes.step });
    let places = |memory: &mut Memory, left: u32| -> Vec<u64> {
        let count = (results * left) as usize;
        stored(left).into_iter().map(|ty| memory.add(ty, count * element_bytes(ty), 0)).collect()
    };
    loops.results = places(memory, left);
    let reduction = codes.printed(left == 1);
    let form = loops.form(&reduction).expect("a reduction that can be printed");
    assert_eq!(form.is_across, is_across, "{loops:?}");
    let kernel = leaves(&reduction, &form).expect("a reduction that can be printed");
    launch(&kernel.text, loops.blocks(&form), &loops.arguments(&form), memory);
    let mut from = loops.results;
    while left > 1 {
        let mut next = LevelLoop { results, left, from, to: Vec::new() };
        left = next.left_after();
        next.to = places(memory, left);
        let kernel = level(&codes.printed(left == 1)).expect("a level that can be printed");
        launch(&kernel.text, next.blocks(), &next.arguments(), memory);
        from = next.to;
    }
    let read = |(address, ty): (u64, Type)| {
        let own = element_bytes(ty) as u64;
        (0..u64::from(results)).map(|nth| memory.read(address + nth * own, own)).collect()
    };
    from.into_iter().zip(stored(1)).map(read).collect()
}

/// The bits of each part of each result of the reducer of this crate. The elements of a result are
/// contiguous.
fn wanted(op: Reduction, dtype: DType, elements: &[u8], [columns, rows]: [usize; 2]) -> Vec<Vec<u64>> {
    let reducer = Reducer::new(op, dtype, dtype, rows, 0.0);
    assert_eq!(Reducer::takes(op, dtype, dtype, rows), dtype);
    let words = aligned(elements);
    let mut fold = reducer.start(columns);
    let panel = ReducePanel { rows, width: 1, columns, column_step: rows, row_step: 1, leaf: LEAF_ELEMENTS };
    fold.leaves(&bytemuck::cast_slice(&words)[..elements.len()], &panel, 0);
    let mut out = vec![0u128; (columns * dtype.item_size()).div_ceil(16)];
    let bytes: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut out)[..columns * dtype.item_size()];
    fold.finish(bytes);
    let own = element_bytes(stored_type(dtype));
    let parts = dtype.item_size() / own;
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let all: Vec<u64> = bytes.chunks(own).map(word).collect();
    (0..parts).map(|part| all.iter().skip(part).step_by(parts).copied().collect()).collect()
}

/// Where elements are: those of a result next to each other, or the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Along,
    Across,
}

/// Holds a reduction of elements of a dtype to the reducer.
fn check(op: Reduction, dtype: DType, [columns, rows]: [usize; 2], order: Order, random: &mut Random) {
    let stored = stored_type(dtype);
    let own = element_bytes(stored);
    let parts = dtype.item_size() / own;
    let held = if matches!(stored, Type::F16 | Type::BF16) { Type::F32 } else { stored };
    let has_nan = rows > 200 && columns > 1 && held.is_float();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let element = |random: &mut Random| match stored {
        _ if stored.is_word() => random.element(stored),
        _ => {
            let number = (random.bits() >> 40) as f64 / 2f64.powi(23) - 1.0;
            let number = if op == Reduction::Prod { 1.0 + number / 8.0 } else { number };
            match stored {
                Type::F16 => half::f16::from_f64(number).to_bits().into(),
                Type::BF16 => half::bf16::from_f64(number).to_bits().into(),
                Type::F32 => (number as f32).to_bits().into(),
                _ => number.to_bits(),
            }
        }
    };
    let mut bytes: Vec<u8> =
        (0..columns * rows * parts).flat_map(|_| element(random).to_le_bytes()[..own].to_vec()).collect();
    if has_nan {
        let nan = match stored {
            Type::F16 => 0x7e01u64,
            Type::BF16 => 0x7fc1,
            Type::F32 => 0x7fc0_0001,
            _ => 0x7ff8_0000_0000_0001,
        };
        bytes[150 * own * parts..][..own].copy_from_slice(&nan.to_le_bytes()[..own]);
    }
    let wanted = wanted(op, dtype, &bytes, [columns, rows]);
    let mut memory = Memory::new(format!("{op:?} of {rows} {dtype} {order:?}, {columns} results"));
    let item = dtype.item_size() as u64;
    let address = memory.add(stored, bytes.len(), 0);
    let strides = match order {
        Order::Along => [rows as u64 * item, item],
        Order::Across => [item, columns as u64 * item],
    };
    for (nth, element) in bytes.chunks(item as usize).enumerate() {
        let (column, row) = ((nth / rows) as u64, (nth % rows) as u64);
        for (part, part_bytes) in element.chunks(own).enumerate() {
            let place = address + column * strides[0] + row * strides[1] + (part * own) as u64;
            memory.write(place, own as u64, word(part_bytes));
        }
    }
    let operands = (0..parts)
        .map(|part| Argument::Elements {
            address: address + (part * own) as u64,
            strides: strides.iter().map(|&stride| stride as i64).collect(),
        })
        .collect();
    let loops = LeavesLoop {
        kept: vec![columns as u32],
        reduced: vec![rows as u32],
        operands,
        results: Vec::new(),
        lanes: lanes(rows) as u32,
        leaf: LEAF_ELEMENTS as u32,
    };
    let codes = Codes::new(op, dtype, held);
    let found = reduce(&codes, loops, order == Order::Across, &mut memory);
    for (found, wanted) in found.iter().flatten().zip(wanted.iter().flatten()) {
        assert!(are_same(stored, *found, *wanted), "{}: {found:#x}, not {wanted:#x}", memory.label);
    }
}

const LENGTHS: [usize; 18] =
    [1, 2, 5, 63, 127, 128, 129, 200, 1000, 1023, 1024, 1025, 1030, 2047, 2048, 3500, 5000, 9000];

#[test]
fn reductions_printed_as_ptx_have_the_bits_of_the_tree() {
    let floats = [Reduction::Sum, Reduction::Prod, Reduction::Amax, Reduction::Amin, Reduction::Var];
    let cases: [(DType, &[Reduction]); 12] = [
        (DType::F32, &floats),
        (DType::F64, &floats),
        (DType::F16, &floats[..1]),
        (DType::BF16, &floats[..1]),
        (DType::C64, &floats[..1]),
        (DType::C128, &floats[..1]),
        (DType::I64, &floats[..2]),
        (DType::U64, &floats[..2]),
        (DType::I32, &floats[..2]),
        (DType::U16, &floats[..2]),
        (DType::I8, &floats[..2]),
        (DType::U8, &floats[..2]),
    ];
    let mut random = Random(9);
    for (dtype, op) in cases.iter().flat_map(|(dtype, ops)| ops.iter().map(|&op| (*dtype, op))) {
        for rows in LENGTHS {
            for columns in [1, 3, 40] {
                check(op, dtype, [columns, rows], Order::Along, &mut random);
                if columns > 1 {
                    check(op, dtype, [columns, rows], Order::Across, &mut random);
                }
            }
        }
    }
}

#[test]
fn sums_printed_as_ptx_have_the_bits_of_the_tree_for_every_length() {
    let mut random = Random(10);
    for rows in (1..2100).step_by(7) {
        check(Reduction::Sum, DType::F32, [2, rows], Order::Along, &mut random);
        check(Reduction::Sum, DType::F32, [2, rows], Order::Across, &mut random);
    }
}

#[test]
fn trees_of_several_levels_have_the_bits_of_the_tree() {
    let mut random = Random(11);
    // 5, 256, 257 and 600 leaves: one level above them, and two.
    for (columns, rows) in [(3, 5000), (1, 256 << 10), (1, (256 << 10) + 1), (2, 600_000)] {
        check(Reduction::Sum, DType::F32, [columns, rows], Order::Along, &mut random);
    }
}

#[test]
fn fused_sums_over_any_dimensions_have_the_bits_of_the_tree() {
    let mut step = Builder::new();
    let [x, y, scale, held] = [(); 4].map(|()| step.input(Type::F32));
    let difference = step.binary(Binary::Sub, x, y);
    let square = step.binary(Binary::Mul, difference, difference);
    let term = step.binary(Binary::Mul, square, scale);
    let sum = step.binary(Binary::Add, held, term);
    let codes = Codes { step: step.finish(&[sum]), ..Codes::new(Reduction::Sum, DType::F32, Type::F32) };
    let random = &mut Random(12);
    let number = |random: &mut Random| u64::from(((random.bits() >> 40) as f32 / 1e6 - 8.0).to_bits());
    for sizes in [[3, 5, 4, 300], [1, 7, 11, 12], [2, 3, 130, 1], [4, 2, 33, 40], [1, 1, 3, 5000]] {
        for order in [[0, 1, 2, 3], [2, 3, 0, 1], [1, 3, 0, 2], [3, 2, 1, 0], [0, 2, 1, 3]] {
            let mut memory = Memory::new(format!("fused sum of {sizes:?} in order {order:?}"));
            let mut strides = vec![0i64; 4];
            let mut step = 4;
            for dim in order.into_iter().rev() {
                strides[dim] = step;
                step *= sizes[dim];
            }
            let [x, y] = [step, 4 * sizes[3]].map(|bytes| memory.add(Type::F32, bytes as usize, 0));
            (0..step as u64 / 4).for_each(|nth| memory.write(x + 4 * nth, 4, number(random)));
            (0..sizes[3] as u64).for_each(|nth| memory.write(y + 4 * nth, 4, number(random)));
            let scale = number(random);
            // `y` is stretched along all dimensions but the last.
            let operands = vec![
                Argument::Elements { address: x, strides: strides.clone() },
                Argument::Elements { address: y, strides: vec![0, 0, 0, 4] },
                Argument::Number(scale),
            ];
            let (results, reduced) = ((sizes[0] * sizes[1]) as usize, (sizes[2] * sizes[3]) as usize);
            let term = |nth: usize, memory: &mut Memory| {
                let (nth, mut rest) = (nth as i64, nth as i64);
                let mut place = x;
                for dim in (0..4).rev() {
                    place += ((rest % sizes[dim]) * strides[dim]) as u64;
                    rest /= sizes[dim];
                }
                let stretched = memory.read(y + 4 * (nth % sizes[3]) as u64, 4);
                codes.step.run(&[memory.read(place, 4), stretched, scale, 0])[0]
            };
            let terms: Vec<u8> = (0..results * reduced)
                .flat_map(|nth| (term(nth, &mut memory) as u32).to_le_bytes())
                .collect();
            let wanted = wanted(Reduction::Sum, DType::F32, &terms, [results, reduced]);
            let loops = LeavesLoop {
                kept: vec![sizes[0] as u32, sizes[1] as u32],
                reduced: vec![sizes[2] as u32, sizes[3] as u32],
                operands,
                results: Vec::new(),
                lanes: lanes(reduced) as u32,
                leaf: LEAF_ELEMENTS as u32,
            };
            let is_across = loops.form(&codes.printed(true)).expect("a reduction").is_across;
            assert_eq!(reduce(&codes, loops, is_across, &mut memory), wanted, "{sizes:?} in order {order:?}");
        }
    }
}

#[test]
fn a_reduction_of_nothing_is_the_empty_accumulator() {
    let codes = Codes::new(Reduction::Amax, DType::F32, Type::F32);
    let mut memory = Memory::new("reduction of nothing".to_owned());
    let operands = vec![Argument::Elements { address: memory.add(Type::F32, 0, 0), strides: vec![0, 4] }];
    let loops = LeavesLoop {
        kept: vec![20],
        reduced: vec![0],
        operands,
        results: Vec::new(),
        lanes: lanes(0) as u32,
        leaf: LEAF_ELEMENTS as u32,
    };
    let lowest = u64::from(f32::NEG_INFINITY.to_bits());
    assert_eq!(reduce(&codes, loops, false, &mut memory), [vec![lowest; 20]]);
}
