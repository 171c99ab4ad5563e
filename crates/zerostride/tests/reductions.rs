//! What reductions promise: the same bits however elements lie and however many threads there are, in one pass or step by
//! step, and errors that grow with the logarithm of the length.

use rayon::ThreadPoolBuilder;
use zerostride::{DType, Expr, Op, Tensor, keepdim};

/// The bytes of a value, computed on that many threads.
fn bytes(expr: &Expr, threads: usize) -> Vec<u8> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let value = pool.install(|| expr.eval().unwrap().contiguous().unwrap());
    match value.dtype() {
        DType::F32 => value.to_vec::<f32>().unwrap().iter().flat_map(|v| v.to_ne_bytes()).collect(),
        DType::F64 => value.to_vec::<f64>().unwrap().iter().flat_map(|v| v.to_ne_bytes()).collect(),
        DType::I64 => value.to_vec::<i64>().unwrap().iter().flat_map(|v| v.to_ne_bytes()).collect(),
        DType::I32 => value.to_vec::<i32>().unwrap().iter().flat_map(|v| v.to_ne_bytes()).collect(),
        DType::Bool => value.to_vec::<bool>().unwrap().iter().map(|&v| v.into()).collect(),
        other => unreachable!("no test reduces to {other}"),
    }
}

/// A tensor and the same values in other layouts.
fn layouts(shape: &[usize]) -> Vec<Tensor> {
    let x = Tensor::rand(shape, 7).unwrap();
    let dims: Vec<isize> = (0..shape.len() as isize).rev().collect();
    let transposed = x.permute(&dims).unwrap().contiguous().unwrap().permute(&dims).unwrap();
    let doubled = zerostride::cat(&[&x, &x], -1).unwrap();
    let narrowed = doubled.narrow(-1, 0, *shape.last().unwrap() as isize).unwrap();
    vec![x, transposed, narrowed]
}

#[test]
fn layouts_and_threads_do_not_change_a_bit() {
    for shape in [&[3000, 70][..], &[5, 130, 33], &[70_000], &[2100, 3], &[40, 17, 9], &[200_001, 2]] {
        let reductions = |x: &Tensor| {
            let x = Expr::from(x);
            let mut all = vec![x.sum(..), x.argmax(..), x.var(..), x.amin(..)];
            for dim in 0..shape.len() as isize {
                all.extend([
                    x.sum(dim),
                    x.amax(dim),
                    x.argmin(dim),
                    x.var(dim),
                    x.prod(dim),
                    x.gt(0.9).any(dim),
                ]);
            }
            all
        };
        let layouts = layouts(shape);
        let expected: Vec<Vec<u8>> = reductions(&layouts[0]).iter().map(|expr| bytes(expr, 1)).collect();
        for (layout, x) in layouts.iter().enumerate() {
            for threads in [1, 2, 3, 16] {
                for (index, expr) in reductions(x).iter().enumerate() {
                    assert!(
                        bytes(expr, threads) == expected[index],
                        "{expr}: layout {layout}, {threads} threads"
                    );
                }
            }
        }
    }
}

#[test]
fn a_fused_reduction_has_the_bits_of_its_steps() {
    for (rows, columns, depth) in
        [(37, 50, 3), (300, 41, 64), (5, 16, 127), (4, 33, 200), (9, 48, 1023), (5, 70, 1024)]
    {
        let a = Tensor::rand(&[rows, 1, depth], 1).unwrap();
        let b = Tensor::rand(&[1, columns, depth], 2).unwrap();
        let (x, y) = (Expr::from(&a), Expr::from(&b));
        let fused = [
            (&x - &y).square().sum(-1),
            (&y - &x).abs().sum(-1),
            (&x * &y).sum(-1),
            (&x + &y).amax(-1),
            (&x - &y).amin(-1),
            (&y - &x).amax(-1),
        ];
        let difference = (&x - &y).eval().unwrap();
        let (forwards, total) = (Expr::from(&difference), Expr::from(&(&x + &y).eval().unwrap()));
        let product = Expr::from(&(&x * &y).eval().unwrap());
        let step = |expr: Expr| Expr::from(&expr.eval().unwrap());
        let steps = [
            step(forwards.square()).sum(-1),
            step(forwards.abs()).sum(-1),
            product.sum(-1),
            total.amax(-1),
            forwards.amin(-1),
            step(-&forwards).amax(-1),
        ];
        for (fused, steps) in fused.iter().zip(&steps) {
            let expected = bytes(steps, 1);
            for threads in [1, 2, 3, 16] {
                assert!(bytes(fused, threads) == expected, "{fused} of ({rows}, {columns}, {depth})");
            }
        }
    }
}

#[test]
fn reductions_of_any_dims_have_the_bits_of_those_of_values_in_memory() {
    for shape in [
        &[300, 70][..],
        &[2100, 3],
        &[5, 130, 33],
        &[4, 200, 2, 17],
        &[3000, 1],
        &[1, 70, 1],
        &[40, 9],
        &[9, 1040],
    ] {
        let ndim = shape.len() as isize;
        let mut sets: Vec<Vec<isize>> = (0..ndim).map(|dim| vec![dim]).collect();
        sets.extend((0..ndim).flat_map(|a| (a + 1..ndim).map(move |b| vec![a, b])));
        let row = Tensor::rand(&shape[shape.len() - 1..], 8).unwrap();
        for (layout, x) in layouts(shape).iter().enumerate() {
            let last = x.flip(&[0, ndim - 1]).unwrap();
            for x in [Expr::from(x), Expr::from(&last)] {
                let values = (&x - &row).exp();
                let stored = Expr::from(&values.eval().unwrap());
                let copied = Expr::from(&x.eval().unwrap().contiguous().unwrap());
                for dims in &sets {
                    let dims = &dims[..];
                    let reductions = |x: &Expr| {
                        let mut all = vec![x.sum(dims), x.amax(dims), x.var(dims), x.gt(1.5).all(dims)];
                        all.extend((dims.len() == 1).then(|| x.argmin(dims[0])));
                        all
                    };
                    for (one, other) in [(&values, &stored), (&x, &copied)] {
                        for (found, expected) in reductions(one).iter().zip(&reductions(other)) {
                            let expected = bytes(expected, 1);
                            for threads in [1, 3] {
                                assert!(
                                    bytes(found, threads) == expected,
                                    "{found} over {dims:?} of {shape:?}, layout {layout}, {threads} threads"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn steps_that_run_together_have_the_bits_of_steps_apart() {
    let apart = |expr: Expr| Expr::from(&expr.eval().unwrap());
    // Rows by the dozen, and rows too long to be held beside the result.
    for (rows, columns) in [(1500, 700), (30, 65), (7, 40_000)] {
        let x = Expr::from(&Tensor::rand(&[rows, columns], 3).unwrap());
        let gain = Expr::from(&Tensor::rand(&[columns], 4).unwrap());
        let softmax = {
            let exponentials = apart((&x - &apart(x.amax(keepdim(1)))).exp());
            &exponentials / &apart(exponentials.sum(keepdim(1)))
        };
        let (mean, variance) = (x.mean(keepdim(1)), x.var_corrected(keepdim(1), 0.0));
        let root = (&variance + 1e-5).sqrt();
        let normalised = (&x - &mean) / &root * &gain;
        let slowly = (&x - &apart(mean)) / &apart(root) * &gain;
        let point = Expr::from(&Tensor::rand(&[columns, 1, 8], 5).unwrap());
        let others = Expr::from(&Tensor::rand(&[1, rows, 8], 6).unwrap());
        let distances = (&point - &others).square().sum(-1);
        let kernel = (-&distances).exp().sum(-1);
        let by_hand = apart((-apart(distances)).exp()).sum(-1);
        for (together, apart) in [(x.softmax(1), softmax), (normalised, slowly), (kernel, by_hand)] {
            let plan = together.plan().unwrap();
            assert_eq!(plan.to_string().contains("run together"), rows * columns > 8192, "{plan}");
            let expected = bytes(&apart, 1);
            for threads in [1, 2, 3, 16] {
                assert!(bytes(&together, threads) == expected, "{together} on {threads} threads");
            }
        }
    }
}

#[test]
fn columns_do_not_run_together() {
    let x = Expr::from(&Tensor::rand(&[2000, 300], 3).unwrap());
    let both = (&x - x.mean(keepdim(0))) / x.std(keepdim(0));
    let plan = both.plan().unwrap();
    assert!(!plan.to_string().contains("run together"), "{plan}");
}

#[test]
fn long_sums_stay_close_to_the_exact_one() {
    let x = Tensor::rand(&[1 << 22], 5).unwrap();
    let exact: f64 = x.to_vec::<f32>().unwrap().into_iter().map(f64::from).sum();
    for x in
        [Expr::from(&x), Expr::from(&x).reshape(&[-1, 4]).t().sum(1), Expr::from(&x).reshape(&[4, -1]).sum(0)]
    {
        let found = f64::from(x.sum(..).eval().unwrap().to_vec::<f32>().unwrap()[0]);
        assert!((found - exact).abs() <= 2.0 * f64::from(f32::EPSILON) * exact, "{found} for {exact}");
    }
}

#[test]
fn a_variance_survives_a_large_mean() {
    let x = Tensor::rand(&[100_000], 6).unwrap().to_dtype(DType::F64).unwrap();
    let far = (Expr::from(&x) + 1e8).var(..).eval().unwrap().to_vec::<f64>().unwrap()[0];
    let near = Expr::from(&x).var(..).eval().unwrap().to_vec::<f64>().unwrap()[0];
    // The sum rounds each element to a multiple of 1.5e-8.
    assert!((far - near).abs() < 1e-8 * near, "{far} for {near}");
}

#[test]
fn steps_of_plans_that_run_together_count_their_operations_once() {
    let x = Expr::from(&Tensor::rand(&[1000, 600], 3).unwrap());
    assert_eq!(x.softmax(1).plan().unwrap().operations(Op::Exp), 600_000);
}
