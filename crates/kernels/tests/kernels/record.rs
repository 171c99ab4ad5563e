//! Holds recorded code, as its interpreter runs it, to the kernels that the compiler made of the same bodies:
//! the same bits for every operation, dtype and conversion. So does the machine code that is printed of it.

use zerostride_code::{Builder, Code, Value};
use zerostride_kernels::{
    Recorded, record, record_cast, record_load, record_quotient, record_scalar, record_store, store_scalar,
    stored_type,
};
use zerostride_ops::{Category, DType, Op, Scalar};

use super::elements::{REAL, Random, assert_same, converted, signature};
use super::neighbours::{Rows, SPECIAL, arguments, element, mapped};

const COMPLEX: [DType; 2] = [DType::C64, DType::C128];

/// The operations that have no code: their loops depend on the elements.
const LOOPS: [Op; 2] = [Op::Gcd, Op::Lcm];

/// An element of an input of each part.
fn input(code: &mut Builder, dtype: DType) -> Recorded {
    let ty = stored_type(dtype);
    let stored = if dtype.category() == Category::Complex {
        Recorded::Complex(code.input(ty), code.input(ty))
    } else {
        Recorded::Real(code.input(ty))
    };
    record_load(code, dtype, stored)
}

/// The code that stores an element.
fn finished(mut code: Builder, dtype: DType, element: Recorded) -> Code {
    let stored = record_store(&mut code, dtype, element);
    let results: Vec<Value> = match stored {
        Recorded::Real(value) => vec![value],
        Recorded::Complex(re, im) => vec![re, im],
    };
    code.finish(&results)
}

/// Numbers of so many bytes.
fn words(bytes: &[u8], size: usize) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(size).map(word).collect()
}

/// Rows as a code reads them: one number for each part.
#[cfg(has_code)]
fn numbers(dtypes: &[DType], rows: &Rows) -> Vec<Vec<u64>> {
    let part = |dtype: DType| stored_type(dtype).bits() as usize / 8;
    let row = |row: &Vec<Vec<u8>>| {
        dtypes.iter().zip(row).flat_map(|(&dtype, bytes)| words(bytes, part(dtype))).collect()
    };
    rows.iter().map(row).collect()
}

/// What a code stores for the stored elements of one row.
fn run(code: &Code, operands: &[(DType, Vec<u8>)], result: DType) -> Vec<u8> {
    let part = |dtype: DType| stored_type(dtype).bits() as usize / 8;
    let inputs: Vec<u64> = operands.iter().flat_map(|(dtype, bytes)| words(bytes, part(*dtype))).collect();
    let results = code.run(&inputs);
    results.iter().flat_map(|bits| bits.to_le_bytes()[..part(result)].to_vec()).collect()
}

/// Rows of numbers at which functions change their way and of any bits; no integer is divided by zero.
fn rows(op: Op, dtypes: &[DType], random: &mut Random) -> Rows {
    let compute = dtypes[0];
    let is_integer = compute.category() == Category::Int;
    let divides = is_integer && matches!(op, Op::FloorDivide | Op::DivTrunc | Op::Remainder | Op::Fmod);
    let mut rows = match compute.category() {
        Category::Float | Category::Complex => arguments(compute, dtypes.len(), 3000, random),
        Category::Int => ends(compute, dtypes.len()),
        Category::Bool => (0..1 << dtypes.len())
            .map(|bits| (0..dtypes.len()).map(|place| vec![(bits >> place & 1) as u8]).collect())
            .collect(),
    };
    if compute != DType::Bool {
        for _ in 0..2000 {
            let shift = random.next() % 64;
            let mut any =
                || (random.next() as i64 >> shift).to_le_bytes().repeat(2)[..compute.item_size()].to_vec();
            rows.push(dtypes.iter().map(|_| any()).collect());
        }
    }
    rows.retain(|row| !divides || row[1].iter().any(|&byte| byte != 0));
    rows
}

/// Rows of integers near the ends of their range and near zero, each beside each.
fn ends(dtype: DType, arity: usize) -> Rows {
    let (least, most) = dtype.int_range();
    let mut ends: Vec<i128> =
        (0..10).flat_map(|n| [least + n % 3, most - n % 3, n, -n, most / 2 + n % 2]).collect();
    ends.extend([15, 16, 31, 32, 33, 63, 64, 65, 100]);
    ends.retain(|n| (least..=most).contains(n));
    ends.sort_unstable();
    ends.dedup();
    let count = ends.len();
    let number = |n: i128| n.to_le_bytes()[..dtype.item_size()].to_vec();
    (0..count.pow(arity.min(2) as u32))
        .map(|i| (0..arity).map(|place| number(ends[[i, i / count, i * 7][place.min(2)] % count])).collect())
        .collect()
}

#[test]
fn every_recording_has_the_bits_of_its_kernel() {
    let mut random = Random(6);
    let (mut recorded, mut missing) = (0, Vec::new());
    for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
        for compute in REAL.into_iter().chain(COMPLEX) {
            let Some((dtypes, result)) = signature(op, compute) else { continue };
            let mut code = Builder::new();
            let operands: Vec<Recorded> = dtypes.iter().map(|&dtype| input(&mut code, dtype)).collect();
            let Some(element) = record(&mut code, op, compute, &operands) else {
                missing.push((op, compute));
                continue;
            };
            recorded += 1;
            let code = finished(code, result, element);
            let rows = rows(op, &dtypes, &mut random);
            let want = mapped(op, compute, result, &rows);
            for (row, want) in rows.iter().zip(want.chunks(result.item_size())) {
                let operands: Vec<(DType, Vec<u8>)> = dtypes.iter().copied().zip(row.clone()).collect();
                let got = run(&code, &operands, result);
                assert_same(&got, want, result, || format!("{op:?} {compute} of {row:?}"));
            }
            #[cfg(has_code)]
            super::printed::assert_printed(&code, &numbers(&dtypes, &rows), || format!("{op:?} {compute}"));
        }
    }
    let integers = || REAL.into_iter().filter(|dtype| dtype.category() == Category::Int);
    let loops: Vec<(Op, DType)> =
        LOOPS.iter().flat_map(|&op| integers().map(move |dtype| (op, dtype))).collect();
    assert_eq!(missing, loops);
    assert_eq!(recorded, 937, "rows that are recorded");
}

/// The numbers beside which quotients are no longer found without a division, and those within.
#[test]
fn a_quotient_by_one_number_is_that_of_a_division() {
    let mut random = Random(8);
    for compute in [DType::F32, DType::F64] {
        let mut code = Builder::new();
        let operands = [(); 2].map(|()| input(&mut code, compute));
        let quotient = record_quotient(&mut code, compute, operands[0], operands[1]).expect("floats");
        let code = finished(code, compute, quotient);
        let mut rows = rows(Op::Div, &[compute; 2], &mut random);
        for a in SPECIAL {
            for b in SPECIAL.iter().flat_map(|&b| [b, -b]) {
                rows.push(vec![element(compute, a, 0.0), element(compute, b, 0.0)]);
            }
        }
        let want = mapped(Op::Div, compute, compute, &rows);
        for (row, want) in rows.iter().zip(want.chunks(compute.item_size())) {
            let operands: Vec<(DType, Vec<u8>)> = row.iter().map(|bytes| (compute, bytes.clone())).collect();
            let got = run(&code, &operands, compute);
            assert_same(&got, want, compute, || format!("{compute} quotient of {row:?}"));
        }
        #[cfg(has_code)]
        super::printed::assert_printed(&code, &numbers(&[compute; 2], &rows), || {
            format!("quotient of {compute}")
        });
    }
}

#[test]
fn every_recorded_conversion_has_the_bits_of_its_kernel() {
    const BOUNDS: [f64; 12] = [
        0.5,
        1.5,
        127.9,
        255.5,
        32768.0,
        65535.9,
        2147483648.0,
        4294967296.0,
        9.223372036854775e18,
        9.3e18,
        1.8446744073709552e19,
        1e300,
    ];
    let all: Vec<DType> = REAL.into_iter().chain(COMPLEX).collect();
    let mut random = Random(7);
    for &from in &all {
        let mut elements = random.elements(from, 2000);
        for bound in BOUNDS.iter().flat_map(|&x| [x, -x, x.next_down(), -x.next_down()]) {
            let mut bytes = vec![0; from.item_size()];
            store_scalar(Scalar::Float(bound), from, &mut bytes);
            elements.extend(bytes);
        }
        for &to in &all {
            let mut code = Builder::new();
            let element = input(&mut code, from);
            let element = record_cast(&mut code, from, to, element);
            let code = finished(code, to, element);
            let want = converted(&elements, from, to);
            for (element, want) in elements.chunks(from.item_size()).zip(want.chunks(to.item_size())) {
                let got = run(&code, &[(from, element.to_vec())], to);
                assert_same(&got, want, to, || format!("{from} {element:?} to {to}"));
            }
            #[cfg(has_code)]
            {
                let rows: Rows =
                    elements.chunks(from.item_size()).map(|bytes| vec![bytes.to_vec()]).collect();
                super::printed::assert_printed(&code, &numbers(&[from], &rows), || format!("{from} to {to}"));
            }
        }
    }
}

#[test]
fn a_recorded_number_is_the_element_that_is_stored() {
    let scalars = [Scalar::Bool(true), Scalar::Int(-3), Scalar::Float(2.75), Scalar::Float(f64::NAN)];
    for dtype in REAL.into_iter().chain(COMPLEX) {
        for scalar in scalars {
            let mut code = Builder::new();
            let element = record_scalar(&mut code, scalar, dtype);
            let mut want = vec![0; dtype.item_size()];
            store_scalar(scalar, dtype, &mut want);
            assert_eq!(run(&finished(code, dtype, element), &[], dtype), want, "{scalar:?} {dtype}");
        }
    }
}
