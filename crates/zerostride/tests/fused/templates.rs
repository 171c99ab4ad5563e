//! Templates on operands that begin elsewhere in their storages than those that they were made of.

use zerostride::{DType, Expr, Result, Slice, Tensor};

type View = fn(&Tensor) -> Result<Tensor>;
type Formula = fn(&Tensor, &Tensor) -> Expr;

const VIEWS: [View; 5] = [
    |x| Ok(x.alias()),
    |x| x.flip(&[0, 1]),
    |x| x.transpose(0, 1)?.flip(&[0]),
    |x| x.slice(1, Slice::from(1..).step_by(2)),
    |x| x.narrow(0, 0, 1)?.expand(&[5, -1]),
];

const FORMULAS: [Formula; 7] = [
    |x, y| Expr::from(x) * 2.0 + y,
    |x, _| Expr::from(x).exp(),
    |x, y| (Expr::from(x) * y).sum(0),
    |x, y| (Expr::from(x) - Expr::from(x).mean(1).unsqueeze(1)) / y,
    |x, y| (Expr::from(x) + y).amax(..),
    |x, y| Expr::from(x).matmul(Expr::from(y).t()),
    |x, y| Expr::from(x).flip(&[0]) + Expr::from(y).narrow(0, 0, 1),
];

/// The part of a line of numbers that begins there, as a view of that shape.
fn part(line: &Tensor, first: isize, [rows, columns]: [isize; 2], view: View) -> Tensor {
    view(&line.narrow(0, first, rows * columns).unwrap().view(&[rows, columns]).unwrap()).unwrap()
}

#[test]
fn a_template_runs_wherever_its_operands_begin() {
    for dtype in [DType::F64, DType::F32] {
        let line = Tensor::arange(1, 120_000, 1).unwrap().to_dtype(dtype).unwrap();
        for shape in [[1, 3], [3, 4], [33, 70], [170, 400]] {
            for (view, formula) in VIEWS.iter().flat_map(|view| FORMULAS.map(|formula| (*view, formula))) {
                let operands = |first: [isize; 2]| first.map(|first| part(&line, first, shape, view));
                for made in [[0, 50_000], [7, 3]] {
                    let [x, y] = operands(made);
                    let template = formula(&x, &y).plan().unwrap().template(&[&x, &y]);
                    for first in [made, [1, 2], [20_001, 0], [51_000, 50_999]] {
                        let [x, y] = operands(first);
                        let bits = |found: Tensor| -> Vec<u64> {
                            let found = found.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
                            found.into_iter().map(f64::to_bits).collect()
                        };
                        let found = template.run(&[&x, &y]).unwrap();
                        assert_eq!(bits(found), bits(formula(&x, &y).eval().unwrap()), "{shape:?} {first:?}");
                    }
                }
            }
        }
    }
}
