//! Owns integers that are divided by what may be zero: whole formulas have the quotients and remainders of
//! exact arithmetic wherever their operands are, and are refused wherever a zero is. And bytes that numbers
//! divide.

use zerostride::{DType, Error, Expr, Slice, Tensor};

use crate::tree::Random;

/// Rows and their elements: enough to be printed at their first use, with rows of more elements than are
/// looked at together, and too few.
const SHAPES: [[usize; 2]; 5] = [[9000, 8], [551, 127], [14, 5001], [1, 70_000], [3, 40]];

const DTYPES: [DType; 8] =
    [DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I32, DType::U64, DType::I64];

/// Integers of all lengths, none of them zero.
fn integers(random: &mut Random, sizes: [usize; 2], dtype: DType) -> Tensor {
    let mut integer =
        || ((random.next() << 24 ^ random.next()) as i64) >> (random.next() % 64) | 1 << (random.next() % 7);
    let all = (0..sizes[0] * sizes[1]).map(|_| integer()).collect::<Vec<i64>>();
    Tensor::from_vec(all, &sizes).unwrap().to_dtype(dtype).unwrap()
}

/// Divisors in several layouts: contiguous, reversed along rows, every other element, transposed, a row, a
/// column.
fn divisors(random: &mut Random, [rows, len]: [usize; 2], dtype: DType) -> Vec<Tensor> {
    let mut random = |sizes| integers(random, sizes, dtype);
    vec![
        random([rows, len]),
        random([rows, len]).flip(&[1]).unwrap(),
        random([rows, 2 * len]).slice(1, Slice::from(..).step_by(2)).unwrap(),
        random([len, rows]).transpose(0, 1).unwrap(),
        random([1, len]),
        random([rows, 1]),
    ]
}

fn exact(x: &Tensor) -> Vec<i128> {
    match x.dtype() {
        DType::U64 => x.to_vec::<u64>().unwrap().into_iter().map(i128::from).collect(),
        _ => x.to_dtype(DType::I64).unwrap().to_vec::<i64>().unwrap().into_iter().map(i128::from).collect(),
    }
}

/// An integer as one of a dtype, which keeps its low bits.
fn wrapped(dtype: DType, integer: i128) -> i128 {
    let bits = 8 * dtype.item_size();
    let low = integer & ((1 << bits) - 1);
    if dtype.is_signed_int() && low >> (bits - 1) == 1 { low - (1 << bits) } else { low }
}

#[test]
fn quotients_and_remainders_are_exact_wherever_operands_are() {
    let mut random = Random(5);
    for (shape, dtype) in SHAPES.into_iter().flat_map(|shape| DTYPES.map(|dtype| (shape, dtype))) {
        let x = integers(&mut random, shape, dtype);
        for y in divisors(&mut random, shape, dtype) {
            let formula = (Expr::from(&x).floor_divide(&y) ^ Expr::from(&x).remainder(&y)) - &x;
            let ([x, y], found) = (
                [exact(&x), exact(&y.expand(&shape.map(|size| size as isize)).unwrap())],
                formula.eval().unwrap(),
            );
            let wanted = x.iter().zip(&y).map(|(&x, &y)| {
                let below = i128::from(x % y != 0 && (x < 0) != (y < 0));
                let floored = x / y - below;
                let [floored, rest] = [floored, x - floored * y].map(|part| wrapped(dtype, part));
                wrapped(dtype, (floored ^ rest) - x)
            });
            assert!(exact(&found).into_iter().eq(wanted), "{shape:?} {dtype}");
        }
    }
}

#[test]
fn a_zero_is_found_wherever_it_is() {
    let mut random = Random(6);
    for shape in SHAPES {
        let x = integers(&mut random, shape, DType::I32);
        for y in divisors(&mut random, shape, DType::I32) {
            let [rows, len] = [y.shape()[0], y.shape()[1]];
            for [row, column] in [[0, 0], [rows / 2, len / 3], [rows - 1, len - 1]] {
                let place = y.select(0, row as isize).unwrap().select(0, column as isize).unwrap();
                let before = place.item::<i32>().unwrap();
                place.fill_(0).unwrap();
                let formulas = [
                    Expr::from(&x).floor_divide(&y) + 1,
                    Expr::from(&x).div_trunc(&y).sum(..),
                    (Expr::from(&x) + &x).fmod(&y).to_dtype(DType::C128) * 2,
                ];
                for formula in formulas {
                    assert!(matches!(formula.eval().unwrap_err().root(), Error::ZeroDivision), "{shape:?}");
                }
                assert!(matches!(x.remainder(&y).unwrap_err().root(), Error::ZeroDivision), "{shape:?}");
                place.fill_(before).unwrap();
            }
            assert!((Expr::from(&x).floor_divide(&y) + 1).eval().is_ok());
        }
    }
}

/// Where a byte is multiplied by a reciprocal, other operands that the same number divides are not.
#[test]
fn bytes_are_divided_by_numbers_as_floats_are() {
    for (dtype, low) in [(DType::U8, 0), (DType::I8, -128)] {
        // Printed at its first use.
        let all: Vec<i64> = (0..1 << 17).map(|i| low + i % 256).collect();
        let bytes = Tensor::from_vec(all, &[512, 256]).unwrap().to_dtype(dtype).unwrap();
        let floats = bytes.to_dtype(DType::F32).unwrap();
        let others = Expr::from(&floats).mul(1.37).eval().unwrap();
        for number in [255.0, 127.5, -3.0, 0.1, 1e-40, 0.0, f64::INFINITY] {
            let of = |x: &Tensor| (Expr::from(x) / number - &others / number).eval().unwrap();
            let [found, expected] = [of(&bytes), of(&floats)].map(|x| x.to_vec::<f32>().unwrap());
            let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert!(bits(found) == bits(expected), "{dtype} / {number}");
            let alone = bytes.div(number).unwrap().to_vec::<f32>().unwrap();
            let each = floats.to_vec::<f32>().unwrap().into_iter().map(|x| x / number as f32).collect();
            assert!(bits(alone) == bits(each), "{dtype} / {number}");
        }
    }
}
