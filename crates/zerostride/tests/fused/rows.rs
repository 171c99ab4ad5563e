//! Owns loops over short rows that are large enough to be printed at their first use: whole formulas have the
//! bits of their operations one by one, wherever rows are, and whether or not each operation has code.

use zerostride::{DType, Expr, Slice, Tensor};

use crate::tree::bits;

/// Elements from which on a formula is printed at its first use, and some.
const ELEMENTS: usize = 70_000;

/// Operands of a loop over rows of `len` elements: contiguous, reversed along rows, every other element,
/// every other row, transposed, a row, a column.
fn operands(len: usize, dtype: DType) -> Vec<Tensor> {
    let (rows, mut seed) = (ELEMENTS.div_ceil(len), 0);
    let mut random = |sizes: [usize; 2]| {
        seed += 1;
        let numbers = Expr::from(&Tensor::rand(&sizes, seed).unwrap()) * 100.0 + 1.0;
        numbers.to_dtype(dtype).eval().unwrap()
    };
    vec![
        random([rows, len]),
        random([rows, len]).flip(&[1]).unwrap(),
        random([rows, 2 * len]).slice(1, Slice::from(..).step_by(2)).unwrap(),
        random([2 * rows, len]).slice(0, Slice::from(..).step_by(2)).unwrap(),
        random([len, rows]).transpose(0, 1).unwrap(),
        random([1, len]),
        random([rows, 1]),
    ]
}

/// The value of an expression, to go on from.
fn alone(expr: Expr) -> Expr {
    Expr::from(&expr.eval().unwrap())
}

#[test]
fn short_rows_have_the_bits_of_each_operation_alone() {
    for (len, dtype) in
        [(8, DType::F32), (30, DType::F32), (64, DType::F64), (127, DType::F32), (300, DType::I32)]
    {
        let operands = operands(len, dtype);
        let of = |at: usize| Expr::from(&operands[at % operands.len()]);
        for at in 0..operands.len() {
            let [x, y, z] = [of(at), of(at + 1), of(at + 3)];
            let wanted = alone(alone(alone(&x - &y) * alone(&z + &x)) - &z);
            let formula = (&x - &y) * (&z + &x) - &z;
            let evaluated = |expr: &Expr| bits(&expr.eval().unwrap());
            assert_eq!(evaluated(&formula), evaluated(&wanted), "rows of {len} {dtype} from operand {at}");
            for dim in [0, 1] {
                let [formula, wanted] = [&formula, &wanted].map(|expr| [expr.sum(dim), expr.amax(dim)]);
                for (formula, wanted) in formula.iter().zip(&wanted) {
                    let [formula, wanted] = [formula, wanted].map(evaluated);
                    assert_eq!(formula, wanted, "rows of {len} {dtype} from operand {at} over {dim}");
                }
            }
        }
    }
}

#[test]
fn short_rows_are_read_where_they_are_without_code_too() {
    // No code has the least common multiple.
    let operands = operands(127, DType::I32);
    for at in 0..operands.len() {
        let [x, y] = [0, 1].map(|next| Expr::from(&operands[(at + next) % operands.len()]));
        let wanted = alone(x.lcm(alone(-&y)));
        assert_eq!(bits(&x.lcm(-&y).eval().unwrap()), bits(&wanted.eval().unwrap()), "from operand {at}");
    }
}

/// Operands of a loop over groups of rows: whole, the same for all rows of a group, the same for all groups,
/// one element for each row, groups in reverse, every other row, every other element.
fn grouped(shape: [usize; 3], dtype: DType) -> Vec<Tensor> {
    let ([groups, rows, len], mut seed) = (shape, 0);
    let mut random = |sizes: [usize; 3]| {
        seed += 1;
        let numbers = Expr::from(&Tensor::rand(&sizes, seed).unwrap()) * 100.0 + 1.0;
        numbers.to_dtype(dtype).eval().unwrap()
    };
    let every_other = || Slice::from(..).step_by(2);
    vec![
        random(shape),
        random([groups, 1, len]),
        random([1, rows, len]),
        random([groups, rows, 1]),
        random(shape).flip(&[0]).unwrap(),
        random([groups, 2 * rows, len]).slice(1, every_other()).unwrap(),
        random([groups, rows, 2 * len]).slice(2, every_other()).unwrap(),
    ]
}

#[test]
fn groups_of_rows_have_the_bits_of_contiguous_elements() {
    let shapes = [[280, 4, 64], [70, 3, 40], [9, 5, 1600], [1030, 2, 32], [40, 7, 16]];
    for (shape, dtype) in shapes.into_iter().flat_map(|shape| [(shape, DType::F32), (shape, DType::I64)]) {
        let operands = grouped(shape, dtype);
        let sizes = shape.map(|size| size as isize);
        let whole = |x: &Tensor| x.expand(&sizes).unwrap().row_major().unwrap();
        for at in 0..operands.len() {
            let [x, y, z] = [0, 1, 3].map(|next| &operands[(at + next) % operands.len()]);
            let [own_x, own_y, own_z] = [x, y, z].map(whole);
            let name = format!("{shape:?} {dtype} from operand {at}");
            let formula = |x: &Tensor, y: &Tensor, z: &Tensor| (x - y) * z - y;
            let (expr, wanted) = (formula(x, y, z), bits(&formula(&own_x, &own_y, &own_z).eval().unwrap()));
            let added = bits(&own_x.add(&own_y).unwrap());
            let numel: usize = shape.iter().product();
            // Before the loops are printed, and after that.
            for uses in [1, ELEMENTS / numel] {
                for _ in 1..uses {
                    expr.eval().unwrap();
                    x.add(y).unwrap();
                }
                assert_eq!(bits(&expr.eval().unwrap()), wanted, "{name}");
                assert_eq!(bits(&x.add(y).unwrap()), added, "{name}");
                let target = own_x.clone();
                target.add_(y).unwrap();
                assert_eq!(bits(&target), added, "{name}");
            }
        }
    }
}

#[test]
fn a_zero_in_any_group_is_found() {
    let [x, y] = [1, 2].map(|number| Tensor::full(&[300, 4, 64], number, DType::I32).unwrap());
    let halves = Tensor::full(&[300, 1, 64], 2, DType::I32).unwrap();
    for (group, place) in [(0, 0), (150, 63), (299, 7)] {
        let zero = |divisors: &Tensor, is_zero: bool| {
            let number = if is_zero { 0 } else { 2 };
            divisors
                .select(0, group)
                .unwrap()
                .select(0, 0)
                .unwrap()
                .select(0, place)
                .unwrap()
                .fill_(number)
                .unwrap();
        };
        for divisors in [&y, &halves] {
            for is_zero in [true, false] {
                zero(divisors, is_zero);
                let quotient = Expr::from(&x).floor_divide(divisors) + &x;
                for _ in 0..3 {
                    assert_eq!([x.floor_divide(divisors).is_err(), quotient.eval().is_err()], [is_zero; 2]);
                }
            }
        }
    }
}
