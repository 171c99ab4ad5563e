//! Reductions over pairs of rows and columns, by kernels and by printed code, against the same reductions of
//! a table of all pairs.

use zerostride::{DType, Expr, Tensor, keepdim};

type Formula = fn(&Expr, &Expr, &Expr) -> Expr;

/// Formulas of `a` (n, 1, k), `b` (m, k) and weights (k), some of which have kernels.
const FORMULAS: &[(&str, Formula)] = &[
    ("squared difference", |a, b, _| (a - b).square()),
    ("absolute difference", |a, b, _| (a - b).abs()),
    ("weighted", |a, b, w| (a - b).square() * w),
    ("fourth power", |a, b, _| (a - b).square() * (b - a).square()),
    ("ratio", |a, b, _| (a - b).abs() / (a.abs() + b.abs())),
    ("larger", |a, b, _| a.maximum(b)),
    ("unequal", |a, b, _| a.ne(b).to_dtype(DType::F32)),
    ("whole", |a, b, _| (a * 10).floor() * b),
];

/// The elements as they are in memory.
fn bits(tensor: &Tensor) -> Vec<u64> {
    tensor.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn pairs_are_reduced_with_the_bits_of_a_table_of_them() {
    let reductions: &[fn(&Expr) -> Expr] = &[
        |x| x.sum(-1),
        |x| x.amax(-1),
        |x| x.amin(keepdim(-1)),
        |x| x.prod(-1),
        |x| x.mean(-1).exp() * 2,
        |x| x.argmin(-1),
        |x| x.var(-1),
        |x| x.gt(0.25).sum(-1),
        |x| x.gt(0.9).any(-1),
        |x| (x * 100).to_dtype(DType::I32).amax(-1),
    ];
    // Of one lane, of 16 and of 64; some columns more than a block has, fewer than a vector beyond them.
    for (rows, columns, depth) in [(5, 16, 1), (33, 1100, 3), (70, 81, 17), (9, 150, 130), (6, 30, 1024)] {
        for dtype in [DType::F32, DType::F64, DType::F16] {
            let random = |shape: &[usize], seed| Tensor::rand(shape, seed).unwrap().to_dtype(dtype).unwrap();
            let (a, b, w) = (random(&[rows, depth], 1), random(&[columns, depth], 2), random(&[depth], 3));
            // Columns may also lie side by side, and rows apart.
            let turned = Expr::from(b.t().unwrap().row_major().unwrap().t().unwrap());
            let apart = Expr::from(random(&[rows, 2 * depth], 1)).slice(1, ..).slice(1, ..depth as isize);
            let (a, b, w) = (Expr::from(&a), Expr::from(&b), Expr::from(&w));
            for (name, formula) in FORMULAS {
                for (a, b) in [(&a, &b), (&apart, &turned)] {
                    let table = Expr::from(formula(&a.unsqueeze(1), b, &w).eval().unwrap());
                    for (nth, reduce) in reductions.iter().enumerate() {
                        let fused = reduce(&formula(&a.unsqueeze(1), b, &w)).eval().unwrap();
                        let stored = reduce(&table).eval().unwrap();
                        assert_eq!(fused.shape(), stored.shape());
                        let place = bits(&fused).iter().zip(bits(&stored)).position(|(a, b)| *a != b);
                        assert_eq!(
                            place, None,
                            "{name}, reduction {nth}, {rows} x {columns} x {depth} of {dtype}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn batches_of_pairs_have_rows_and_columns_of_their_own() {
    let (a, b) = (Tensor::rand(&[4, 40, 6], 1).unwrap(), Tensor::rand(&[4, 90, 6], 2).unwrap());
    let formula = |a: &Tensor, b: &Tensor| {
        let difference = a.unsqueeze(-2).unwrap() - b.unsqueeze(-3).unwrap();
        (difference.abs() * 0.5 + 1).sum(-1).eval().unwrap()
    };
    let all = formula(&a, &b);
    for batch in 0..4 {
        let one = formula(&a.select(0, batch).unwrap(), &b.select(0, batch).unwrap());
        assert!(bits(&all.select(0, batch).unwrap()) == bits(&one), "batch {batch}");
    }
}

/// What acts between bodies, as forces do: places (n, 1, k) and (m, k), and a weight for each pair (n, m, 1).
/// Which operand lies along vectors depends on what is summed, and of few coordinates none does.
#[test]
fn what_acts_between_bodies_is_reduced_with_the_bits_of_a_table() {
    let actions: &[Formula] = &[|a, b, w| (a - b) * w, |_, b, w| b * w, |a, b, _| a.maximum(b)];
    let reductions: &[fn(&Expr, isize) -> Expr] = &[
        |x, dim| x.sum(dim),
        |x, dim| x.amax(keepdim(dim)) + 1,
        |x, dim| x.prod(dim),
        |x, dim| x.argmin(dim),
        |x, dim| x.to_dtype(DType::F32).var(dim),
        |x, dim| x.gt(0.25).any(dim),
    ];
    // Of one lane, of 16 and of 64.
    for (n, m, k) in
        [(200, 140, 3), (30, 1100, 2), (40, 5000, 1), (64, 130, 17), (300, 110, 3), (300, 20, 40)]
    {
        for dtype in [DType::F32, DType::F64, DType::I32] {
            let random = |shape: &[usize], seed| {
                let random = Tensor::rand(shape, seed).unwrap();
                let scale = if dtype == DType::I32 { 100.0 } else { 1.0 };
                Expr::from((random * scale).eval().unwrap().to_dtype(dtype).unwrap())
            };
            let (a, b, w) = (random(&[n, k], 1), random(&[m, k], 2), random(&[n, m], 3));
            let turned = |x: &Expr| Expr::from(x.eval().unwrap().t().unwrap().row_major().unwrap()).t();
            let apart = random(&[m, 2 * k], 2).slice(1, ..k as isize);
            let layouts =
                [(&a, &b, &w), (&turned(&a), &b, &w), (&a, &turned(&b), &turned(&w)), (&a, &apart, &w)];
            for (layout, (a, b, w)) in layouts.into_iter().enumerate() {
                for (action, of) in actions.iter().enumerate() {
                    let act = || of(&a.unsqueeze(1), b, &w.unsqueeze(-1));
                    let table = Expr::from(act().eval().unwrap());
                    for (nth, reduce) in
                        reductions.iter().enumerate().filter(|(nth, _)| (nth + layout) % 3 == action)
                    {
                        for dim in [0, 1] {
                            let (fused, stored) = (reduce(&act(), dim), reduce(&table, dim));
                            assert!(
                                bits(&fused.eval().unwrap()) == bits(&stored.eval().unwrap()),
                                "action {action}, reduction {nth} over {dim}, {n} x {m} x {k} of {dtype}, {layout}"
                            );
                        }
                    }
                }
            }
        }
    }
}
