//! Holds recorded code, as its interpreter runs it, to the kernels that the compiler made of the same bodies:
//! the same bits for every operation, dtype and conversion. So does the machine code that is printed of it.

use zerostride_code::{Builder, Code, Value};
use zerostride_kernels::{
    Recorded, reciprocal_for_bytes, record, record_cast, record_load, record_quotient,
    record_quotient_of_byte, record_scalar, record_store, store_scalar, stored_type,
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
    if dtype.category() == Category::Complex {
        return Recorded::Complex(code.input(ty), code.input(ty));
    }
    let stored = code.input(ty);
    record_load(code, dtype, &[stored])
}

/// The code that stores an element.
fn finished(mut code: Builder, dtype: DType, element: Recorded) -> Code {
    let results: Vec<Value> = match element {
        Recorded::Real(_) => record_store(&mut code, dtype, element).to_vec(),
        Recorded::Complex(re, im) => vec![re, im],
    };
    code.finish(&results)
}

/// Numbers of so many bytes.
fn words(bytes: &[u8], size: usize) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(size).map(word).collect()
}

/// The element whose parts are the results of a code.
fn stored(results: &[u64], dtype: DType) -> Vec<u8> {
    let part = stored_type(dtype).bits() as usize / 8;
    results.iter().flat_map(|bits| bits.to_le_bytes()[..part].to_vec()).collect()
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
    ends.extend((-1..=1).flat_map(|n| [(1 << 51) + n, -(1 << 51) + n]));
    ends.retain(|n| (least..=most).contains(n));
    ends.sort_unstable();
    ends.dedup();
    let count = ends.len();
    let number = |n: i128| n.to_le_bytes()[..dtype.item_size()].to_vec();
    (0..count.pow(arity.min(2) as u32))
        .map(|i| (0..arity).map(|place| number(ends[[i, i / count, i * 7][place.min(2)] % count])).collect())
        .collect()
}

/// The recorded code of an operation or conversion, with rows of elements of its operands.
pub(super) struct Recording {
    pub what: What,
    pub operands: Vec<DType>,
    pub result: DType,
    pub code: Code,
    pub rows: Rows,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Operation(Op, DType),
    Conversion,
}

impl Recording {
    pub(super) fn name(&self) -> String {
        match self.what {
            What::Operation(op, compute) => format!("{op:?} {compute}"),
            What::Conversion => format!("{} to {}", self.operands[0], self.result),
        }
    }

    /// The rows as the code reads them: one number for each part.
    pub(super) fn numbers(&self) -> Vec<Vec<u64>> {
        self.rows.iter().map(|row| self.of_parts(row)).collect()
    }

    fn of_parts(&self, row: &[Vec<u8>]) -> Vec<u64> {
        let part = |dtype: DType| stored_type(dtype).bits() as usize / 8;
        self.operands.iter().zip(row).flat_map(|(&dtype, bytes)| words(bytes, part(dtype))).collect()
    }

    /// Holds the code, and the machine code that is printed of it, to the elements of a kernel.
    fn assert_kernel(&self, want: &[u8]) {
        let numbers = self.numbers();
        let results: Vec<Vec<u64>> = numbers.iter().map(|row| self.code.run(row)).collect();
        for ((row, results), want) in self.rows.iter().zip(&results).zip(want.chunks(self.result.item_size()))
        {
            let got = stored(results, self.result);
            assert_same(&got, want, self.result, || format!("{} of {row:?}", self.name()));
        }
        #[cfg(has_code)]
        super::printed::assert_printed(&self.code, &numbers, &results, || self.name());
    }
}

/// Each operation in each dtype that it computes in. Returns those that have no code.
pub(super) fn each_operation(mut each: impl FnMut(Recording)) -> Vec<(Op, DType)> {
    let mut random = Random(6);
    let mut missing = Vec::new();
    for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
        for compute in REAL.into_iter().chain(COMPLEX) {
            let Some((operands, result)) = signature(op, compute) else { continue };
            let mut code = Builder::new();
            let inputs: Vec<Recorded> = operands.iter().map(|&dtype| input(&mut code, dtype)).collect();
            let Some(element) = record(&mut code, op, compute, &inputs) else {
                missing.push((op, compute));
                continue;
            };
            let code = finished(code, result, element);
            let rows = rows(op, &operands, &mut random);
            each(Recording { what: What::Operation(op, compute), operands, result, code, rows });
        }
    }
    missing
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
        let what = What::Operation(Op::Div, compute);
        Recording { what, operands: vec![compute; 2], result: compute, code, rows }.assert_kernel(&want);
    }
}

/// The numbers that users divide pictures by, and those beside which there is no way but a division.
#[test]
fn a_quotient_of_a_byte_is_that_of_a_division() {
    let mut code = Builder::new();
    let [byte, reciprocal, error] = [(); 3].map(|()| input(&mut code, DType::F32));
    let quotient = record_quotient_of_byte(&mut code, byte, [reciprocal, error]);
    let code = finished(code, DType::F32, quotient);
    let whole: Vec<f32> = (1..=1000u16).map(f32::from).collect();
    for number in whole.iter().flat_map(|&n| [n, n / 2.0, n / 1000.0, n * 1e16, n * 1e-19]) {
        let Some(reciprocal) = reciprocal_for_bytes(number) else { continue };
        for byte in -128..=255i16 {
            let byte = f32::from(byte);
            let operands = [byte, reciprocal[0], reciprocal[1]].map(|x| x.to_bits().into());
            assert_eq!(code.run(&operands), [(byte / number).to_bits().into()], "{byte} / {number}");
        }
    }
    assert!(whole.iter().all(|&number| reciprocal_for_bytes(number).is_some()));
    let others = [0.0, -0.0, -3.0, f32::INFINITY, f32::NAN, 1e-44, 1e38];
    assert!(others.iter().all(|&number| reciprocal_for_bytes(number).is_none()));
}

/// The conversion from each dtype to each.
pub(super) fn each_conversion(mut each: impl FnMut(Recording)) {
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
        let rows: Rows = elements.chunks(from.item_size()).map(|bytes| vec![bytes.to_vec()]).collect();
        for &to in &all {
            let mut code = Builder::new();
            let element = input(&mut code, from);
            let element = record_cast(&mut code, from, to, element);
            let code = finished(code, to, element);
            let rows = rows.clone();
            each(Recording { what: What::Conversion, operands: vec![from], result: to, code, rows });
        }
    }
}

/// Operations with each of the dtypes that they compute in, as far as they are recorded: the count shows that
/// none is left out.
pub(crate) const RECORDED: usize = 937;

#[test]
fn every_recording_has_the_bits_of_its_kernel() {
    let mut recorded = 0;
    let missing = each_operation(|recording| {
        let What::Operation(op, compute) = recording.what else { return };
        recorded += 1;
        recording.assert_kernel(&mapped(op, compute, recording.result, &recording.rows));
    });
    let integers = || REAL.into_iter().filter(|dtype| dtype.category() == Category::Int);
    let loops: Vec<(Op, DType)> =
        LOOPS.iter().flat_map(|&op| integers().map(move |dtype| (op, dtype))).collect();
    assert_eq!(missing, loops);
    assert_eq!(recorded, RECORDED, "a new row is recorded for more dtypes: write how many there are now");
}

#[test]
fn every_recorded_conversion_has_the_bits_of_its_kernel() {
    each_conversion(|recording| {
        let elements: Vec<u8> = recording.rows.iter().flatten().flatten().copied().collect();
        recording.assert_kernel(&converted(&elements, recording.operands[0], recording.result));
    });
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
            let results = finished(code, dtype, element).run(&[]);
            assert_eq!(stored(&results, dtype), want, "{scalar:?} {dtype}");
        }
    }
}
