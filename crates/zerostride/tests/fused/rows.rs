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
