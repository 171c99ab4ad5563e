//! Owns the properties: fused equals step by step, both equal the oracle, and neither threads nor layouts
//! show.

use proptest::prelude::*;
use zerostride::{DType, Expr, Tensor, keepdim};

use crate::oracle::Array;
use crate::tree::{Random, bits, leaf, relaid, tree};

const SHAPES: [&[usize]; 7] = [&[], &[5], &[0], &[3, 4], &[4, 4], &[2, 3, 4], &[3, 0, 2]];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn fused_equals_step_by_step(seed: u64, shape in 0..SHAPES.len(), depth in 1..6usize) {
        let tree = tree(&mut Random(seed), SHAPES[shape], depth, false);
        let evaluated = |step| tree.expr(step).and_then(|expr| expr.eval());
        match (evaluated(false), evaluated(true)) {
            (Ok(fused), Ok(stepped)) => {
                prop_assert_eq!((fused.dtype(), fused.shape()), (stepped.dtype(), stepped.shape()), "{:?}", tree);
                prop_assert_eq!(bits(&fused), bits(&stepped), "{:?}", tree);
            }
            (Err(fused), Err(stepped)) => prop_assert_eq!(fused.to_string(), stepped.to_string()),
            (fused, stepped) => prop_assert!(false, "{:?} but {:?}", fused, stepped),
        }
    }

    #[test]
    fn exact_trees_equal_the_oracle(seed: u64, shape in 0..SHAPES.len(), depth in 1..6usize) {
        let tree = tree(&mut Random(seed), SHAPES[shape], depth, true);
        let ours = tree.expr(false).and_then(|expr| expr.to_dtype(DType::F64).eval());
        match (ours, tree.array()) {
            (Ok(ours), Some(array)) => {
                prop_assert_eq!(Array::new(ours.shape(), ours.to_vec::<f64>()?), array, "{:?}", tree);
            }
            (Err(_), None) => {}
            (ours, array) => prop_assert!(false, "{:?} but {:?}: {:?}", ours, array, tree),
        }
    }
}

/// Computations large enough to be divided among threads.
fn large(row: &Tensor, x: &Tensor) -> Vec<Expr> {
    let shifted = x - x.amax(keepdim(1)).unwrap();
    let exponentials = shifted.exp();
    vec![
        Expr::from(row).exp() * x,
        (x * x).sum(0),
        (x * 0.5 + row).sum(1),
        Expr::from(x).sum(..),
        Expr::from(x).var(..),
        Expr::from(x).argmax(..),
        &exponentials / exponentials.sum(keepdim(1)),
        (x.unsqueeze(1).unwrap() - row).square().sum(-1),
    ]
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    for dtype in [DType::F32, DType::F64, DType::BF16] {
        let mut random = Random(7);
        let (row, x) = (leaf(&mut random, &[331], dtype), leaf(&mut random, &[611, 331], dtype));
        let results = [1, 2, 3, 16].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| -> Vec<_> {
                large(&row, &x).iter().map(|expr| bits(&expr.eval().unwrap())).collect()
            })
        });
        assert!(results.iter().all(|other| *other == results[0]), "{dtype}");
    }
}

#[test]
fn the_bits_do_not_depend_on_the_layout() {
    let mut random = Random(11);
    let (row, x) = (leaf(&mut random, &[331], DType::F32), leaf(&mut random, &[611, 331], DType::F32));
    let (row, x) = (row.contiguous().unwrap(), x.contiguous().unwrap());
    let wanted: Vec<_> = large(&row, &x).iter().map(|expr| bits(&expr.eval().unwrap())).collect();
    let mut layouts = 0;
    while layouts < 6 {
        let other = relaid(&mut random, x.alias());
        if bits(&other) != bits(&x) {
            continue;
        }
        layouts += 1;
        let found: Vec<_> = large(&row, &other).iter().map(|expr| bits(&expr.eval().unwrap())).collect();
        assert!(found == wanted, "strides {:?}", other.strides());
    }
}

#[test]
fn what_crosses_over_is_copied_whatever_the_distance_of_its_rows() {
    const ROWS: usize = 70;
    for dtype in [DType::U8, DType::BF16, DType::F32, DType::F64] {
        // A power of two apart, on which the way depends, or nearly.
        for columns in [255, 256, 512, 1000, 1024, 2048, 4096] {
            let numbers = Tensor::arange(0, (columns * ROWS) as i64, 1).unwrap().to_dtype(dtype).unwrap();
            let x = numbers.reshape(&[columns as isize, ROWS as isize]).unwrap();
            let copied = x.t().unwrap().contiguous().unwrap();
            let [from, to] = [&x, &copied]
                .map(|tensor| tensor.to_dtype(DType::F64).and_then(|wide| wide.to_vec::<f64>()).unwrap());
            let crossed = (0..from.len()).map(|at| from[at % columns * ROWS + at / columns]);
            assert!(to.into_iter().eq(crossed), "{columns} columns of {dtype}");
        }
    }
}
