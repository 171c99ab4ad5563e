//! Holds reductions to one tree: the same bits however elements are grouped, laid out and read, on every
//! instruction set.

use bytemuck::{cast_slice, cast_slice_mut};
use half::{bf16, f16};
use smallvec::SmallVec;
use zerostride_code::Builder;
use zerostride_kernels::{
    Isa, LEAF_ELEMENTS, Recorded, ReducePanel, Reducer, cast_kernel, lane_rows, lanes, record_step,
    record_store, stored_type,
};
use zerostride_ops::{Category, DType, Reduction};

fn column(rows: usize) -> ReducePanel {
    ReducePanel { rows, width: 1, columns: 1, column_step: 0, row_step: 1, leaf: LEAF_ELEMENTS }
}

/// Feeds `values` as one column, in folds of `leaves` leaves each.
fn sum(values: &[f32], leaves: usize) -> f32 {
    let reducer = Reducer::new(Reduction::Sum, DType::F32, DType::F32, values.len(), 0.0);
    let mut whole = reducer.start(1);
    for (chunk, values) in values.chunks(LEAF_ELEMENTS * leaves).enumerate() {
        let mut part = reducer.start(1);
        for (leaf, values) in values.chunks(LEAF_ELEMENTS).enumerate() {
            part.leaves(cast_slice(values), &column(values.len()), (chunk * leaves + leaf) * LEAF_ELEMENTS);
        }
        whole.append(part);
    }
    let mut out = [0.0f32];
    whole.finish(cast_slice_mut(&mut out));
    out[0]
}

/// Numbers of a dtype that folds take, some of them special.
fn elements(dtype: DType, count: usize) -> Vec<u8> {
    let number = |i: usize| match i.wrapping_mul(2_654_435_761) >> 8 {
        random if random % 97 == 0 => -0.0,
        random if random % 1501 == 0 => f64::NEG_INFINITY,
        random => (random % 20_000) as f64 / 1000.0 - 7.0,
    };
    let bytes = |i: usize| -> SmallVec<[u8; 16]> {
        let number = number(i);
        match dtype {
            DType::Bool => SmallVec::from_slice(&[if number > 12.9 { [1, 2, 128, 255][i % 4] } else { 0 }]),
            DType::U8 => SmallVec::from_slice(&[(number * 20.0) as u8]),
            DType::I8 => SmallVec::from_slice(&((number * 10.0) as i8).to_ne_bytes()),
            DType::U16 => SmallVec::from_slice(&((number * 5000.0) as u16).to_ne_bytes()),
            DType::I16 => SmallVec::from_slice(&((number * 2000.0) as i16).to_ne_bytes()),
            DType::U32 => SmallVec::from_slice(&((number * 100.0) as u32).to_ne_bytes()),
            DType::I32 => SmallVec::from_slice(&((number * 100.0) as i32).to_ne_bytes()),
            DType::I64 => SmallVec::from_slice(&((number * 100.0) as i64).to_ne_bytes()),
            DType::U64 => SmallVec::from_slice(&((number * 100.0) as u64).to_ne_bytes()),
            DType::F16 => SmallVec::from_slice(&f16::from_f64(number).to_ne_bytes()),
            DType::BF16 => SmallVec::from_slice(&bf16::from_f64(number).to_ne_bytes()),
            DType::F32 => SmallVec::from_slice(&(number as f32).to_ne_bytes()),
            DType::F64 => SmallVec::from_slice(&number.to_ne_bytes()),
            _ => SmallVec::from_iter([number as f32, 1.5].iter().flat_map(|part| part.to_ne_bytes())),
        }
    };
    (0..count).flat_map(bytes).collect()
}

/// Makes some of the later elements NaNs, all of different bits.
fn put_nans(dtype: DType, elements: &mut [u8]) {
    let size = dtype.item_size();
    let nan = |at: usize| match dtype {
        DType::F32 => Some(u64::from(f32::NAN.to_bits()) | at as u64),
        DType::F64 => Some(f64::NAN.to_bits() | at as u64),
        _ => None,
    };
    for (at, element) in elements.chunks_exact_mut(size).enumerate().skip(150).step_by(97) {
        if let Some(bits) = nan(at) {
            element.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
    }
}

/// The results of `columns` reductions, whose elements are taken row by row, or as a panel.
fn reduce(
    reducer: &Reducer,
    isa: Isa,
    (elements, item): (&[u8], usize),
    (rows, columns): (usize, usize),
    panel: Option<ReducePanel>,
) -> Vec<u8> {
    // Aligned to any element.
    let mut aligned = vec![0u64; elements.len().div_ceil(8)];
    cast_slice_mut::<u64, u8>(&mut aligned)[..elements.len()].copy_from_slice(elements);
    let elements = &cast_slice::<u64, u8>(&aligned)[..elements.len()];
    let mut fold = reducer.start_on(isa, columns).unwrap();
    match panel {
        Some(panel) => fold.leaves(elements, &panel, 0),
        None => {
            for (first, count) in lane_rows(rows, 0..rows) {
                let begins: Vec<usize> =
                    (0..count).map(|row| (first + row * lanes(rows)) * columns).collect();
                let (whole, rest) = begins.split_at(count.saturating_sub(1) / 16 * 16);
                fold.rows(elements, whole, first, false);
                fold.rows(elements, rest, first + whole.len() * lanes(rows), true);
            }
        }
    }
    let mut out = vec![0u64; columns * item.div_ceil(8)];
    let out: &mut [u8] = &mut cast_slice_mut(&mut out)[..columns * item];
    fold.finish(out);
    out.to_vec()
}

#[test]
fn every_way_on_every_instruction_set_has_the_bits_of_rows_on_the_portable_one() {
    let floats = [
        Reduction::Sum,
        Reduction::Prod,
        Reduction::Amax,
        Reduction::Amin,
        Reduction::Argmax,
        Reduction::Argmin,
        Reduction::Var,
    ];
    let cases: [(DType, &[Reduction]); 14] = [
        (DType::F32, &floats),
        (DType::F64, &floats),
        (DType::F16, &floats[..1]),
        (DType::BF16, &floats[..1]),
        (DType::I64, &floats[..6]),
        (DType::I32, &floats[..6]),
        (DType::U64, &floats[..6]),
        (DType::U32, &floats[..4]),
        (DType::I16, &floats[..4]),
        (DType::U16, &floats[..4]),
        (DType::I8, &floats[..4]),
        (DType::U8, &floats[..4]),
        (
            DType::Bool,
            &[
                Reduction::All,
                Reduction::Any,
                Reduction::Sum,
                Reduction::Prod,
                Reduction::Amax,
                Reduction::Amin,
            ],
        ),
        (DType::C64, &[Reduction::Sum, Reduction::Prod, Reduction::Var]),
    ];
    for (dtype, op) in cases.iter().flat_map(|(dtype, ops)| ops.iter().map(|&op| (*dtype, op))) {
        let few = [1, 17, 100, 200, 1023, 1100, 2500].map(|rows| [1, 5, 33].map(|columns| (rows, columns)));
        // As many leaves as a vector has elements, rows that are far apart, and rows of a lane that share
        // sets of caches.
        for (rows, columns) in
            few.into_iter().flatten().chain([(20_000, 1), (9, 5000), (64, 16), (1100, 256)])
        {
            let mut across = elements(dtype, rows * columns);
            if columns != 5
                && matches!(op, Reduction::Amax | Reduction::Amin | Reduction::Argmax | Reduction::Argmin)
            {
                put_nans(dtype, &mut across);
            }
            let size = dtype.item_size();
            let along: Vec<u8> = (0..columns)
                .flat_map(|column| (0..rows).map(move |row| (row * columns + column) * size))
                .flat_map(|at| across[at..][..size].iter().copied())
                .collect();
            // Between the elements of a result are those of others.
            let others = &[0xa5; 32][..2 * size];
            let apart = along.chunks(size).flat_map(|own| [own, others].concat()).collect();
            // f16 and bf16 have the bits of the same numbers in f32.
            let is_half = matches!(dtype, DType::F16 | DType::BF16);
            let compute = if is_half { DType::F32 } else { dtype };
            let mut wide = vec![0; rows * columns * compute.item_size()];
            cast_kernel(dtype, compute)(&across, &mut wide);
            let plain = Reducer::new(op, compute, compute, rows, 1.0);
            let reducer = Reducer::new(op, compute, dtype, rows, 1.0);
            let result = match op {
                Reduction::All | Reduction::Any => DType::Bool,
                Reduction::Argmax | Reduction::Argmin => DType::I64,
                Reduction::Prod => compute,
                _ => compute.to_real(),
            };
            let parts =
                if op == Reduction::Var { 1 } else { compute.item_size() / compute.to_real().item_size() };
            let item = result.item_size() * parts;
            let size = (rows, columns);
            let expected = reduce(&plain, Isa::Portable, (&wide, item), size, None);
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_supported()) {
                let narrow = ReducePanel {
                    rows,
                    width: columns,
                    columns: 1,
                    column_step: 0,
                    row_step: columns,
                    leaf: LEAF_ELEMENTS,
                };
                let each = ReducePanel {
                    rows,
                    width: 1,
                    columns,
                    column_step: rows,
                    row_step: 1,
                    leaf: LEAF_ELEMENTS,
                };
                let apart_panel = ReducePanel { column_step: 3 * rows, row_step: 3, ..each };
                let ways = [(&across, None), (&across, Some(narrow)), (&along, Some(each))];
                // Order-free reductions do not gather strided leaves.
                let with_tree =
                    dtype.category() > Category::Int || matches!(op, Reduction::Argmax | Reduction::Argmin);
                let apart = with_tree.then_some((&apart, Some(apart_panel)));
                for (elements, panel) in ways.into_iter().chain(apart) {
                    let found = reduce(&reducer, isa, (elements, item), size, panel);
                    assert!(found == expected, "{op:?} of {dtype:?} {size:?}, {isa}, {panel:?}");
                }
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_how_leaves_are_grouped() {
    let values: Vec<f32> =
        (0..77_777).map(|i| ((i * 2_654_435_761_u64) % 1_000) as f32 * 0.37 - 150.0).collect();
    let bits: Vec<u32> = [1, 2, 4, 8, 64, 128].map(|leaves| sum(&values, leaves).to_bits()).to_vec();
    assert!(bits.iter().all(|&other| other == bits[0]), "{bits:?}");
}

#[test]
fn a_search_finds_the_first_extreme_across_lanes() {
    let mut values = vec![0.0f32; 3000];
    (values[700], values[701], values[2500]) = (5.0, 5.0, 5.0);
    for (op, expected) in [(Reduction::Argmax, 700), (Reduction::Argmin, 0)] {
        let mut fold = Reducer::new(op, DType::F32, DType::F32, values.len(), 0.0).start(1);
        for (leaf, values) in values.chunks(LEAF_ELEMENTS).enumerate() {
            fold.leaves(cast_slice(values), &column(values.len()), leaf * LEAF_ELEMENTS);
        }
        let mut out = [0i64];
        fold.finish(cast_slice_mut(&mut out));
        assert_eq!(out[0], expected, "{op:?}");
    }
}

#[test]
fn a_search_of_integers_knows_the_ends_of_their_range() {
    fn found<T: bytemuck::Pod>(op: Reduction, dtype: DType, values: &[T]) -> Vec<i64> {
        let reducer = Reducer::new(op, dtype, dtype, values.len(), 0.0);
        let isas = Isa::ALL.into_iter().filter(|isa| isa.is_supported());
        let results = isas.map(|isa| {
            let mut fold = reducer.start_on(isa, 1).unwrap();
            fold.leaves(cast_slice(values), &column(values.len()), 0);
            let mut out = [0i64];
            fold.finish(cast_slice_mut(&mut out));
            out[0]
        });
        results.collect()
    }
    for len in [3, 100, 200, 1024] {
        let all = |expected: usize, found: Vec<i64>| {
            assert!(found.iter().all(|&at| at == expected as i64), "{expected} of {len}: {found:?}");
        };
        let (mut signed, mut unsigned, mut short) = (vec![0i64; len], vec![1u64 << 63; len], vec![0i32; len]);
        (signed[len - 2], signed[len - 1]) = (i64::MIN, i64::MAX);
        (unsigned[len - 2], unsigned[len - 1]) = (0, u64::MAX);
        (short[len - 2], short[len - 1]) = (i32::MIN, i32::MAX);
        for (op, expected) in [(Reduction::Argmin, len - 2), (Reduction::Argmax, len - 1)] {
            all(expected, found(op, DType::I64, &signed));
            all(expected, found(op, DType::U64, &unsigned));
            all(expected, found(op, DType::I32, &short));
            // Elements with the bits of NaN, and elements that never beat the first.
            all(
                0,
                found(op, DType::I64, &vec![if op == Reduction::Argmax { i64::MIN } else { i64::MAX }; len]),
            );
            all(0, found(op, DType::U64, &vec![if op == Reduction::Argmax { 0 } else { u64::MAX }; len]));
            all(0, found(op, DType::I32, &vec![-1; len]));
        }
    }
}

#[test]
fn every_byte_but_0_is_a_true_bool() {
    for len in [1, 7, 200, 1024, 5000] {
        let truths: Vec<u8> = (0..len).map(|i| [1, 2, 128, 255][i % 4]).collect();
        for false_at in [None, Some(0), Some(len - 1)] {
            let mut truths = truths.clone();
            if let Some(at) = false_at {
                truths[at] = 0;
            }
            let (any, all) = (truths.iter().any(|&byte| byte != 0), false_at.is_none());
            let count = truths.iter().filter(|&&byte| byte != 0).count() as i64;
            for (op, compute, wanted) in [
                (Reduction::Sum, DType::I64, count),
                (Reduction::Prod, DType::I64, all.into()),
                (Reduction::Amax, DType::Bool, any.into()),
                (Reduction::Amin, DType::Bool, all.into()),
                (Reduction::All, DType::Bool, all.into()),
                (Reduction::Any, DType::Bool, any.into()),
            ] {
                let reducer = Reducer::new(op, compute, DType::Bool, len, 0.0);
                for panel in [None, Some(column(len))] {
                    let found =
                        reduce(&reducer, Isa::active(), (&truths, compute.item_size()), (len, 1), panel);
                    let mut number = [0; 8];
                    number[..found.len()].copy_from_slice(&found);
                    assert_eq!(
                        i64::from_le_bytes(number),
                        wanted,
                        "{op:?} of {len}, {false_at:?}, {panel:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_long_sum_of_equal_numbers_does_not_drift() {
    // One accumulator would be off by a percent; here only the sixteen steps of a lane and the tree's height
    // round.
    let exact = 0.1 * (1 << 22) as f32;
    let found = sum(&vec![0.1; 1 << 22], 1);
    assert!((found - exact).abs() <= 4.0 * f32::EPSILON * exact, "{found} for {exact}");
}

/// Numbers as elements of a dtype that accumulators have.
fn elements_of(dtype: DType, values: &[f64]) -> Vec<u64> {
    let bits = |&value: &f64| match dtype {
        DType::F32 => (value as f32).to_bits().into(),
        DType::F64 => value.to_bits(),
        DType::I32 | DType::U32 => (value * 1000.0) as u32 as u64,
        _ => (value * 1e15) as u64,
    };
    values.iter().map(bits).collect()
}

fn bytes_of(dtype: DType, elements: &[u64]) -> Vec<u8> {
    elements.iter().flat_map(|bits| bits.to_le_bytes()[..dtype.item_size()].to_vec()).collect()
}

#[test]
fn recorded_steps_accumulate_as_folds_do() {
    let all = Reduction::ALL.iter().flat_map(|&op| DType::ALL.iter().map(move |&dtype| (op, dtype)));
    let is_truth = |op: Reduction| matches!(op, Reduction::All | Reduction::Any);
    let is_held = |&(op, dtype): &(Reduction, DType)| {
        let reducer = Reducer::new(op, dtype, dtype, LEAF_ELEMENTS, 0.0);
        let is_own = Reducer::takes_computed(op, dtype, LEAF_ELEMENTS) == dtype;
        reducer.accumulator().is_some() && is_own && (!is_truth(op) || dtype == DType::I32)
    };
    let held: Vec<_> = all.filter(is_held).collect();
    assert_eq!(held.len(), 20, "{held:?}");
    for (op, dtype) in held {
        let mut code = Builder::new();
        let [held, element] = [(); 2].map(|()| Recorded::Real(code.input(stored_type(dtype))));
        let next = record_step(&mut code, op, dtype, held, element).unwrap();
        let results = record_store(&mut code, dtype, next);
        let code = code.finish(&results);
        for len in [1, 5, 127, 128, 130, 1000, 1024, 1025, 5000] {
            let mut values: Vec<f64> =
                (0..len).map(|i| ((i * 7919 % 1013) as f64 / 512.0 - 1.0).exp()).collect();
            if len == 130 {
                values[77] = f64::NAN;
            }
            let mut elements = elements_of(dtype, &values);
            if is_truth(op) {
                elements.iter_mut().for_each(|bits| *bits = (*bits % 5 < 4) as u64);
            }
            let reducer = Reducer::new(op, dtype, dtype, len, 0.0);
            // Accumulators of few integers would hold less than is folded.
            let Some(empty) = reducer.accumulator() else {
                assert!(len < 128 && dtype.category() == Category::Int, "{op:?} of {len} {dtype}");
                continue;
            };
            assert_eq!(empty.len(), dtype.item_size());
            let mut padded = [0; 8];
            padded[..empty.len()].copy_from_slice(&empty);
            let (empty, lanes) = (u64::from_le_bytes(padded), lanes(len));
            let mut wanted = vec![0; if is_truth(op) { 1 } else { dtype.item_size() }];
            let mut fold = reducer.start(1);
            fold.leaves(&bytes_of(dtype, &elements), &column(len), 0);
            fold.finish(&mut wanted);

            // Leaf by leaf, as what each lane of a leaf has accumulated.
            let mut found = wanted.clone();
            let accumulated = elements.chunks(LEAF_ELEMENTS).flat_map(|leaf| {
                let mut held = vec![empty; lanes];
                for (at, &element) in leaf.iter().enumerate() {
                    held[at % lanes] = code.run(&[held[at % lanes], element])[0];
                }
                held
            });
            let accumulated: Vec<u64> = accumulated.collect();
            let panel = ReducePanel { leaf: lanes, ..column(accumulated.len()) };
            fold.start(1);
            fold.leaves(&bytes_of(dtype, &accumulated), &panel, 0);
            fold.finish(&mut found);
            assert_eq!(found, wanted, "{op:?} of {len} {dtype}");
        }
    }
}
