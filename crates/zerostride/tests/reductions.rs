//! What reductions promise: the same bits however elements lie and however many threads there are, in one
//! pass or step by step, and errors that grow with the logarithm of the length.

use std::env;
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rayon::{ThreadPool, ThreadPoolBuilder};
use zerostride::{DType, Element, Expr, Op, Tensor, cat, keepdim, stack};
use zerostride_ops::{Category, with_type};

#[path = "fused/sizes.rs"]
mod sizes;

use sizes::{SIZES, few};

/// So many threads, which are started once.
fn pool(threads: usize) -> Arc<ThreadPool> {
    static POOLS: Mutex<Vec<Arc<ThreadPool>>> = Mutex::new(Vec::new());
    let mut pools = POOLS.lock().unwrap();
    if let Some(pool) = pools.iter().find(|pool| pool.current_num_threads() == threads) {
        return pool.clone();
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    pools.push(pool.clone());
    pool
}

/// The bytes of a value, computed on that many threads.
fn bytes(expr: &Expr, threads: usize) -> Vec<u8> {
    let value = pool(threads).install(|| expr.eval().unwrap().contiguous().unwrap());
    with_type!(value.dtype(), T => {
        let stored: Vec<_> = value.to_vec::<T>().unwrap().into_iter().map(T::store).collect();
        bytemuck::cast_slice(&stored).to_vec()
    })
}

/// The same values in a layout that begins somewhere, has gaps, is turned, or goes backwards.
fn relaid(x: &Tensor, layout: usize) -> Tensor {
    let dims: Vec<isize> = (0..x.ndim() as isize).rev().collect();
    match layout {
        0 => x.alias(),
        1 => x.permute(&dims).unwrap().contiguous().unwrap().permute(&dims).unwrap(),
        2 => x.flip(&dims[..1]).unwrap().contiguous().unwrap().flip(&dims[..1]).unwrap(),
        3 => stack(&[x, x], -1).unwrap().select(-1, 1).unwrap(),
        _ => cat(&[x, x], -1).unwrap().narrow(-1, 0, *x.shape().last().unwrap() as isize).unwrap(),
    }
}

/// A tensor and the same values in other layouts.
fn layouts(shape: &[usize]) -> Vec<Tensor> {
    let x = Tensor::rand(shape, 7).unwrap();
    [0, 1, 4].iter().map(|&layout| relaid(&x, layout)).collect()
}

#[test]
fn layouts_and_threads_do_not_change_a_bit() {
    let shapes: [&[usize]; 9] = [
        &[3000, 70],
        &[5000, 130],
        &[1040, 200],
        &[1025, 9],
        &[5, 130, 33],
        &[70_000],
        &[2100, 3],
        &[40, 17, 9],
        &[200_001, 2],
    ];
    for shape in shapes {
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
                    x.exp().sum(dim),
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
                        "{expr:?}: layout {layout}, {threads} threads"
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
                assert!(bytes(fused, threads) == expected, "{fused:?} of ({rows}, {columns}, {depth})");
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
        let [column, plane] = [ndim - 1, 0].map(|dim| {
            let one = Tensor::rand(shape, 9).unwrap().narrow(dim, 0, 1).unwrap();
            one.contiguous().unwrap()
        });
        for (layout, x) in layouts(shape).iter().enumerate() {
            let last = x.flip(&[0, ndim - 1]).unwrap();
            for x in [Expr::from(x), Expr::from(&last)] {
                let values = (&x - &row).exp();
                let stored = Expr::from(&values.eval().unwrap());
                let scaled = &x * &column - &plane;
                let stored_too = Expr::from(&scaled.eval().unwrap());
                let copied = Expr::from(&x.eval().unwrap().contiguous().unwrap());
                for dims in &sets {
                    let dims = &dims[..];
                    let reductions = |x: &Expr| {
                        let mut all = vec![x.sum(dims), x.amax(dims), x.var(dims), x.gt(1.5).all(dims)];
                        all.extend((dims.len() == 1).then(|| x.argmin(dims[0])));
                        all
                    };
                    for (one, other) in [(&values, &stored), (&scaled, &stored_too), (&x, &copied)] {
                        for (found, expected) in reductions(one).iter().zip(&reductions(other)) {
                            let expected = bytes(expected, 1);
                            for threads in [1, 3] {
                                assert!(
                                    bytes(found, threads) == expected,
                                    "{found:?} over {dims:?} of {shape:?}, layout {layout}, {threads} threads"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Every reduction that there is for elements of that dtype.
fn reductions(x: &Expr, dims: &[isize], dtype: DType) -> Vec<Expr> {
    let mut all = vec![x.sum(dims), x.prod(keepdim(dims)), x.all(dims), x.any(keepdim(dims))];
    if dtype.category() < Category::Complex {
        all.extend([x.amax(dims), x.amin(keepdim(dims))]);
    }
    all.extend((Category::Int..Category::Complex).contains(&dtype.category()).then(|| x.argmax(dims[0])));
    if dtype.category() >= Category::Float {
        all.extend([x.var_corrected(dims, 0.0), x.mean(dims)]);
    }
    all
}

/// Plans of one step on elements in cache, and of several, of which all or none have elements to compute.
#[test]
fn small_plans_have_the_bits_of_one_operation_after_the_other() {
    let value = |tensor: Tensor| bytes(&Expr::from(&tensor), 1);
    for shape in [&[4, 8][..], &[8, 128], &[3, 1, 40], &[130, 5], &[20, 2, 7], &[1, 200], &[5, 1], &[2, 0]] {
        for (dtype, layout) in DType::ALL.iter().flat_map(|&dtype| [0, 1, 3].map(|layout| (dtype, layout))) {
            let x = Expr::from(&relaid(&numbers(shape, dtype), layout));
            let row = Expr::from(&numbers(&shape[shape.len() - 1..], dtype));
            let column = Expr::from(&x.narrow(-1, 0, shape[shape.len() - 1].min(1) as isize).eval().unwrap());
            for sum in [x.clone(), &x + &row, &x * &column + &x] {
                let stored = Expr::from(&sum.eval().unwrap().contiguous().unwrap());
                for dims in [&[-1][..], &[0], &[0, -1]] {
                    let all = |x: &Expr| -> Vec<Expr> {
                        let is_empty = shape.contains(&0);
                        let is_defined = |found: &Expr| !is_empty || found.shape().is_ok();
                        reductions(x, dims, dtype).into_iter().filter(is_defined).collect()
                    };
                    for (found, expected) in all(&sum).into_iter().zip(all(&stored)) {
                        // The second run finds what the first one has prepared.
                        let plan = found.plan().unwrap();
                        for _ in 0..2 {
                            assert!(
                                value(plan.run().unwrap()) == bytes(&expected, 1),
                                "{found:?} over {dims:?} of {dtype}, layout {layout}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Elements of formulas that code lets enter accumulators, which are wider than many dtypes: neighbours,
/// rows, and rows of few neighbours, of numbers that overflow their dtype in a sum.
#[test]
fn elements_of_every_dtype_enter_accumulators_as_they_are_stored() {
    let large = |shape: &[usize], dtype: DType| {
        let wide = (Expr::from(&Tensor::rand(shape, 5).unwrap()) * 2f64.powi(40)).to_dtype(DType::I64);
        let is_whole = dtype.category() <= Category::Int;
        Expr::from(&if is_whole { wide.to_dtype(dtype).eval().unwrap() } else { numbers(shape, dtype) })
    };
    for shape in [[130, 600], [1030, 70], [17_000, 4]] {
        for &dtype in DType::ALL.iter().filter(|dtype| dtype.category() < Category::Complex) {
            let x = large(&shape, dtype);
            let (row, column) = (large(&shape[1..], dtype), large(&[shape[0], 1], dtype));
            for value in [x.maximum(&row), &x * &column, x.gt(&row)] {
                let (stored, dtype) = (value.eval().unwrap(), value.dtype().unwrap());
                let stored = Expr::from(&stored.contiguous().unwrap());
                for dims in [&[-1][..], &[0], &[0, 1]] {
                    let all = |x: &Expr| reductions(x, dims, dtype);
                    for (found, expected) in all(&value).into_iter().zip(all(&stored)) {
                        let expected = bytes(&expected, 1);
                        for threads in [1, 3] {
                            assert!(
                                bytes(&found, threads) == expected,
                                "{found:?} over {dims:?} of {dtype}, {shape:?}, {threads} threads"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Pairs of a few columns: what is not of pairs is joined in tiles then, and not accumulated.
#[test]
fn sums_over_pairs_of_integers_do_not_overflow_their_dtype() {
    for dtype in [DType::U8, DType::I16, DType::I32, DType::U32, DType::I64] {
        let large = |shape: &[usize], seed: u64| {
            let wide = (Expr::from(&Tensor::rand(shape, seed).unwrap()) * 2f64.powi(40)).to_dtype(DType::I64);
            Expr::from(&wide.to_dtype(dtype).eval().unwrap())
        };
        let value = large(&[5, 400, 1], 1).maximum(large(&[400, 64], 2));
        let stored = Expr::from(&value.eval().unwrap());
        for (found, expected) in reductions(&value, &[1], dtype).iter().zip(&reductions(&stored, &[1], dtype))
        {
            // The second run finds what the first one has printed.
            for threads in [1, 3, 1] {
                assert!(bytes(found, threads) == bytes(expected, 1), "{found:?} of {dtype}");
            }
        }
    }
}

/// Asserts that elements are reduced over sets of dimensions to the bits of their copies, on any number of
/// threads.
fn assert_reduced_as(x: &Tensor, copy: &Expr, sets: &[&[isize]], dtype: DType, name: &str) {
    for dims in sets {
        let found = reductions(&Expr::from(x), dims, dtype).into_iter();
        for (found, expected) in found.zip(reductions(copy, dims, dtype)) {
            let expected = bytes(&expected, 1);
            for threads in [1, 3] {
                assert!(bytes(&found, threads) == expected, "{found:?} over {dims:?} of {dtype}, {name}");
            }
        }
    }
}

/// Numbers, among them zeros of both signs.
fn numbers(shape: &[usize], dtype: DType) -> Tensor {
    let x = (Expr::from(&Tensor::rand(shape, 9).unwrap()) * 6.0 - 3.0).round();
    if dtype == DType::U8 { x.abs() } else { x * 0.75 }.to_dtype(dtype).eval().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if env::var_os("ZEROSTRIDE_LONG").is_some() { 5000 } else { 200 }))]

    #[test]
    fn no_size_or_layout_changes_a_bit(
        sizes in vec(select(&SIZES[..]), 1..4).prop_map(few),
        dtype in select(&[DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::U8, DType::C64][..]),
        layout in 0..5usize,
        program in 0..5usize,
        reduced in 1..8usize,
    ) {
        let dims: Vec<isize> = (0..sizes.len()).filter(|dim| reduced >> dim & 1 == 1).map(|dim| dim as isize).collect();
        let dims = if dims.is_empty() { vec![0] } else { dims };
        let x = numbers(&sizes, dtype);
        let (first, last) = (x.narrow(0, 0, 1).unwrap(), x.narrow(-1, 0, 1).unwrap());
        let value = |x: &Tensor| match program {
            0 => Expr::from(x),
            1 => (x * x).exp(),
            2 => x - &first,
            3 => x * &last + x,
            _ => Expr::from(x).ne(&last),
        };
        let (found, stored) = (value(&relaid(&x, layout)), value(&x).eval().unwrap().contiguous().unwrap());
        let dtype = stored.dtype();
        for (found, expected) in reductions(&found, &dims, dtype).iter().zip(&reductions(&Expr::from(&stored), &dims, dtype)) {
            let expected = bytes(expected, 1);
            for threads in [1, 3] {
                prop_assert!(bytes(found, threads) == expected, "{found:?} over {dims:?}, {threads} threads");
            }
        }
    }
}

#[test]
fn many_stretched_rows_of_few_elements_are_reduced_to_the_bits_of_their_copies() {
    for (rows, columns) in [(9000, 8), (40_000, 2)] {
        for dtype in [DType::U8, DType::I32, DType::F32, DType::F64] {
            let row = numbers(&[1, columns], dtype).expand(&[rows, -1]).unwrap();
            let column = numbers(&[rows as usize, 1], dtype).expand(&[-1, columns as isize]).unwrap();
            for x in [row.t().unwrap(), row, column.t().unwrap(), column] {
                let copy = Expr::from(&x.contiguous().unwrap());
                for dim in [0, 1] {
                    let found = reductions(&Expr::from(&x), &[dim], dtype);
                    for (found, expected) in found.iter().zip(&reductions(&copy, &[dim], dtype)) {
                        assert!(bytes(found, 1) == bytes(expected, 1), "{found:?} over {dim}, {rows} rows");
                    }
                }
            }
        }
    }
}

#[test]
fn stretched_and_permuted_elements_are_reduced_to_the_bits_of_their_copies() {
    use DType::{BF16, Bool, C64, F32, F64, I32, I64, U8};
    let sets: [&[isize]; 7] = [&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let cases: [([usize; 3], &[DType]); 4] = [
        ([4, 3, 5], &[Bool, U8, I32, I64, BF16, F32, F64, C64]),
        ([7, 130, 2], &[U8, I32, BF16, F32, C64]),
        ([2, 1, 1100], &[I32, F32, F64]),
        ([1, 3000, 1], &[BF16, F32]),
    ];
    for (sizes, dtypes) in cases {
        for (order, stretched) in orders.iter().flat_map(|order| (0..8).map(move |mask| (order, mask))) {
            let shape = order.map(|dim| sizes[dim as usize] as isize);
            let in_memory = |dim: usize| if stretched >> dim & 1 == 1 { 1 } else { sizes[dim] };
            for &dtype in dtypes {
                let x = numbers(&[0, 1, 2].map(in_memory), dtype).permute(order).unwrap();
                let x = x.flip(&[1]).unwrap().expand(&shape).unwrap();
                let copy = Expr::from(&x.clone_elements().unwrap());
                let name = format!("{shape:?}, order {order:?}, {stretched:b}");
                assert_reduced_as(&x, &copy, &sets, dtype, &name);
            }
        }
    }
}

#[test]
fn several_dimensions_of_permuted_elements_are_reduced_to_the_bits_of_their_copies() {
    let sizes = [2, 70, 3, 30];
    let sets: [&[isize]; 6] = [&[0, 1, 2], &[1, 2], &[0, 2, 3], &[1, 3], &[0, 1, 3], &[2, 3]];
    for (order, dtype) in [[0, 2, 3, 1], [0, 2, 1, 3], [3, 1, 0, 2], [2, 3, 1, 0]]
        .into_iter()
        .flat_map(|order: [usize; 4]| [DType::F32, DType::F64, DType::I16].map(|dtype| (order, dtype)))
    {
        let back = [0, 1, 2, 3].map(|dim| order.iter().position(|&own| own == dim).unwrap() as isize);
        let x = numbers(&order.map(|dim| sizes[dim]), dtype).permute(&back).unwrap();
        let copy = Expr::from(&x.row_major().unwrap());
        assert_reduced_as(&x, &copy, &sets, dtype, &format!("order {order:?}"));
    }
}

#[test]
fn one_element_is_reduced_to_itself_but_for_zeros_and_dtypes() {
    let specials = [-0.0, 0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.5];
    let x = Tensor::from_vec(specials.to_vec(), &[6, 1]).unwrap();
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let x = Expr::from(&x.to_dtype(dtype).unwrap());
        let column = x.eval().unwrap();
        let two = cat(&[&column, &Tensor::full(&[6, 1], 0.0, dtype).unwrap()], 1).unwrap();
        assert_eq!(bytes(&x.sum(1), 1), bytes(&Expr::from(&two).sum(1), 1), "{dtype}");
        for same in [x.prod(1), x.amax(1), x.amin(keepdim(1))] {
            assert_eq!(bytes(&same, 1), bytes(&x, 1), "{same:?} of {dtype}");
        }
        assert_eq!(bytes(&x.any(1), 1), [0, 0, 1, 1, 1, 1]);
        // It is fused with what surrounds it.
        let fused = x.exp().sum(1) + 1;
        assert_eq!(fused.plan().unwrap().passes(), 1);
        assert_eq!(bytes(&fused, 1), bytes(&(x.exp().squeeze_dims(&[1]) + 1), 1));
    }
    let truths = Tensor::from_vec(vec![0u8, 5], &[2, 1]).unwrap();
    assert_eq!(bytes(&Expr::from(&truths).all(1), 1), [0, 1]);
    assert_eq!(truths.sum(1).unwrap().to_vec::<i64>().unwrap(), [0, 5]);
}

#[test]
fn a_few_elements_that_lie_apart_are_reduced_by_operations_on_them() {
    use DType::{BF16, Bool, F16, F32, F64, I8, I64, U8, U64};
    let extremes =
        [f64::NAN, f64::INFINITY, -0.0, 0.0, f64::NEG_INFINITY, 1e30, -1e30, 255.0, -0.0, 0.0, 3.5];
    // In f16 and bf16, each sum would round differently than all of them together.
    let extreme = |at: usize| extremes[at * at % extremes.len()];
    let plain = |at: usize| (at * at % 97) as f64 * 21.25;
    let all = (2..=9).flat_map(|count| [(count, &extreme as &dyn Fn(usize) -> f64), (count, &plain)]);
    for (count, value) in all {
        let values: Vec<f64> = (0..count * 7 * 33).map(value).collect();
        let values = Tensor::from_vec(values, &[count, 7, 33]).unwrap();
        for dtype in [Bool, U8, I8, U64, I64, F16, BF16, F32, F64] {
            let x = values.to_dtype(dtype).unwrap();
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2]] {
                let across = x.permute(&order).unwrap().flip(&[0, 2]).unwrap();
                // Along memory the kernels reduce them.
                let dim = order.iter().position(|&dim| dim == 0).unwrap() as isize;
                let along = across.movedim(&[dim], &[2]).unwrap().clone_elements().unwrap();
                for reduce in [Expr::sum as fn(&Expr, isize) -> Expr, Expr::amax, Expr::amin] {
                    let expected = reduce(&Expr::from(&along), 2).eval().unwrap();
                    // No short cut of small operations leads to a target with gaps.
                    let target = Tensor::full(expected.shape(), 1.0, expected.dtype()).unwrap();
                    let target = stack(&[&target, &target], -1).unwrap().select(-1, 0).unwrap();
                    let across = reduce(&Expr::from(&across), dim);
                    across.eval_into(&target).unwrap();
                    let [found, expected] = [target, expected].map(|value| bytes(&Expr::from(&value), 1));
                    assert_eq!(found, expected, "{across:?} of {count} {dtype}, order {order:?}");
                }
            }
        }
        let plan = Expr::from(&values).amax(0).plan().unwrap();
        let few = if count <= 8 { (count - 1) * 7 * 33 } else { 0 };
        assert_eq!((plan.operations(Op::Maximum), plan.passes()), (few, 1), "{plan}");
    }
    // Steps of softmax run together with its reductions.
    let x = Expr::from(&Tensor::rand(&[500, 4, 64], 1).unwrap());
    assert!(x.softmax(1).plan().unwrap().operations(Op::Amax) > 0);
}

#[test]
fn many_short_rows_are_reduced_by_operations_on_their_elements() {
    const ROWS: usize = 17_000;
    let extremes =
        [f64::NAN, f64::INFINITY, -0.0, 0.0, f64::NEG_INFINITY, 1e30, -1e30, 255.0, -0.0, 0.0, 3.5];
    // Any NaN stands for any.
    let numbers = |expr: &Expr, threads: usize| {
        let value = Expr::from(&pool(threads).install(|| expr.eval()).unwrap());
        bytes(&value.where_(value.eq(&value), 77), 1)
    };
    // Rows of `count` elements, with gaps between them where they are wider.
    for (count, width) in [(2, 2), (2, 3), (3, 3), (3, 4), (4, 4), (4, 5), (5, 5)] {
        let rows = |seed: usize, dtype: DType| {
            let value = |at: usize| match at % 5 {
                0 => extremes[at * seed % extremes.len()],
                _ => (at * at * seed % 97) as f64 * 21.25,
            };
            let values = Tensor::from_vec((0..ROWS * width).map(value).collect(), &[ROWS, width]).unwrap();
            values.to_dtype(dtype).unwrap().narrow(1, 0, count).unwrap()
        };
        for dtype in [DType::Bool, DType::U8, DType::I32, DType::U64, DType::F16, DType::F32, DType::F64] {
            let (x, y) = (rows(3, dtype), rows(7, dtype));
            let column = y.narrow(0, 0, 1).unwrap();
            let last_first = x.flip(&[0]).unwrap();
            let values: [&dyn Fn(isize, isize) -> Expr; 4] = [
                &|first, len| Expr::from(&x.narrow(0, first, len).unwrap()),
                &|first, len| x.narrow(0, first, len).unwrap() * y.narrow(0, first, len).unwrap(),
                &|first, len| last_first.narrow(0, first, len).unwrap() + &column,
                &|first, len| {
                    Expr::from(&x.narrow(0, first, len).unwrap()).gt(y.narrow(0, first, len).unwrap())
                },
            ];
            for value in values {
                let whole = value(0, ROWS as isize);
                let found = reductions(&whole, &[-1], whole.dtype().unwrap());
                // Folds reduce a few of them at a time.
                let parts: Vec<Vec<Expr>> = (0..ROWS as isize)
                    .step_by(1000)
                    .map(|first| {
                        let part = value(first, 1000).eval().unwrap().contiguous().unwrap();
                        reductions(&Expr::from(&part), &[-1], part.dtype())
                    })
                    .collect();
                for (place, found) in found.iter().enumerate() {
                    let expected: Vec<u8> = parts.iter().flat_map(|part| numbers(&part[place], 1)).collect();
                    for threads in [1, 3] {
                        assert!(
                            numbers(found, threads) == expected,
                            "{found:?} of {count} of {width} {dtype}, {threads} threads"
                        );
                    }
                }
            }
        }
        let (x, y) = (rows(3, DType::F32), rows(7, DType::F32));
        // Steps that read the results have those of reductions by themselves.
        for reduce in [Expr::sum as fn(&Expr, _) -> Expr, Expr::amax] {
            let most = reduce(&Expr::from(&x), keepdim(-1));
            let stored = Expr::from(&most.eval().unwrap());
            let [found, expected] = [&most, &stored].map(|most| numbers(&((&x - most).exp() * &y).sum(0), 3));
            assert!(found == expected, "{most:?} of {count} of {width}");
        }
        let plan = (&x * &y).sum(-1).plan().unwrap();
        let is_apart = count <= 4 && width <= 4;
        assert_eq!(plan.operations(Op::Sum) == 0, is_apart, "{count} of {width}: {plan}");
    }
}

#[test]
fn what_repeats_itself_is_reduced_once() {
    let x = Tensor::rand(&[500, 1, 40], 3).unwrap().expand(&[500, 300, 40]).unwrap();
    let x = Expr::from(&x);
    let plan = x.exp().sum(2).plan().unwrap();
    assert_eq!(plan.operations(Op::Exp), 500 * 40);
    assert_eq!(plan.shape(), &[500, 300][..]);
    assert_eq!(x.amax(1).plan().unwrap().operations(Op::Amax), 0);
    // What follows reads it stretched.
    assert_eq!((x.sum(keepdim(2)) * &x).plan().unwrap().operations(Op::Sum), 500 * 40);
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
        let point = Expr::from(&Tensor::rand(&[columns, 1, 9], 5).unwrap());
        let others = Expr::from(&Tensor::rand(&[1, rows, 9], 6).unwrap());
        let distances = (&point - &others).square().sum(-1);
        let kernel = (-&distances).exp().sum(-1);
        let by_hand = apart((-apart(distances)).exp()).sum(-1);
        for (together, apart) in [(x.softmax(1), softmax), (normalised, slowly), (kernel, by_hand)] {
            let plan = together.plan().unwrap();
            assert_eq!(plan.to_string().contains("run together"), rows * columns > 8192, "{plan}");
            let expected = bytes(&apart, 1);
            for threads in [1, 2, 3, 16] {
                assert!(bytes(&together, threads) == expected, "{together:?} on {threads} threads");
            }
        }
    }
}

#[test]
fn what_is_computed_on_results_alone_belongs_to_their_pass() {
    let x = Expr::from(&Tensor::rand(&[70, 1500], 3).unwrap());
    let whole = (&x * 1000.0).to_dtype(DType::I32);
    let (a, b) = (Tensor::rand(&[50, 1, 5], 1).unwrap(), Tensor::rand(&[1, 61, 5], 2).unwrap());
    let (largest, distances) = (whole.amax(1), (&a - &b).square().sum(-1));
    // Each with the results that it goes on with, and how.
    type Finish = fn(Expr) -> Expr;
    let finished: [(Expr, Expr, Finish); 7] = [
        (x.mean(1), x.sum(1), |sums| sums / 1500.0),
        (x.var(0).sqrt(), x.var(0), |variances| variances.sqrt()),
        ((x.sum(1) * 2.0).exp().to_dtype(DType::F64), x.sum(1), |sums| {
            (sums * 2.0).exp().to_dtype(DType::F64)
        }),
        (whole.sum(keepdim(0)) / 7, whole.sum(keepdim(0)), |sums| sums / 7),
        (&largest + &largest, largest.clone(), |largest| &largest + &largest),
        (x.sum(..).sqrt(), x.sum(..), |sum| sum.sqrt()),
        (distances.sqrt() + 1.0, distances.clone(), |squares| squares.sqrt() + 1.0),
    ];
    for (together, results, finish) in finished {
        let plan = together.plan().unwrap();
        assert_eq!(plan.passes(), results.plan().unwrap().passes(), "{plan}");
        let apart = finish(Expr::from(&results.eval().unwrap()));
        let expected = bytes(&apart, 1);
        for threads in [1, 3, 16] {
            assert!(bytes(&together, threads) == expected, "{together:?} on {threads} threads");
        }
        let target = Tensor::full(plan.shape(), 0.0, plan.dtype()).unwrap();
        together.eval_into(&target).unwrap();
        assert!(bytes(&Expr::from(&target), 1) == expected, "{together:?} into memory");
    }
    // Results that something else reads are there for both.
    let sums = x.sum(1);
    assert_eq!((&sums * 2.0 + x.amax(1) * &sums).plan().unwrap().operations(Op::Sum), 70 * 1500);
}

#[test]
fn norms_over_pairs_have_the_bits_of_norms_of_what_is_stored() {
    for (rows, columns, depth) in [(4, 16, 1), (50, 61, 5), (7, 130, 70), (5, 33, 1024)] {
        let a = Tensor::rand(&[rows, 1, depth], 1).unwrap();
        let b = Tensor::rand(&[columns, depth], 2).unwrap();
        let differences = &a - &b;
        let (wide, stored) = (differences.to_dtype(DType::F64), Expr::from(&differences.eval().unwrap()));
        let squares = (&wide * &wide).sum(-1);
        assert!(bytes(&squares, 2) == bytes(&stored.to_dtype(DType::F64).square().sum(-1), 1));
        for p in [1.0, 2.0, 3.0] {
            let expected = bytes(&Expr::from(&differences.eval().unwrap()).norm(p, -1), 1);
            for threads in [1, 3] {
                assert!(
                    bytes(&differences.norm(p, -1), threads) == expected,
                    "{rows}, {columns}, {depth}: {p}"
                );
            }
        }
    }
}

#[test]
fn rows_computed_before_are_read_where_they_lie_whatever_is_written() {
    for n in [2047, 5000] {
        let x = Tensor::rand(&[2, 3, n], 7).unwrap().to_dtype(DType::F64).unwrap();
        for layout in 0..4 {
            let x = Expr::from(&relaid(&x, layout));
            let together = [x.softmax(1), x.log_softmax(1), &x / x.square().sum(keepdim(1))];
            let both = [x.softmax(1), x.softmax(1).sum(0)];
            for value in together {
                let expected = bytes(&value, 1);
                for threads in [1, 2] {
                    let target = Tensor::full(&[2, 3, n], -1.0, DType::F64).unwrap();
                    pool(threads).install(|| value.eval_into(&target)).unwrap();
                    assert!(bytes(&Expr::from(&target), 1) == expected, "{value:?} in layout {layout}");
                }
            }
            let results = pool(2).install(|| zerostride::eval_all(&both)).unwrap();
            for (result, value) in results.iter().zip(&both) {
                assert!(bytes(&Expr::from(result), 1) == bytes(value, 1), "{value:?} in layout {layout}");
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
fn each_part_of_complex_numbers_has_a_variance() {
    let x = Expr::from(&Tensor::from_vec(vec![1.0, 0.0, 2.0], &[3]).unwrap().to_dtype(DType::C64).unwrap());
    let var = |correction: f64| x.var_corrected(0, correction).eval().unwrap().item::<f32>().unwrap();
    assert_eq!(var(1.0), 1.0);
    // No degrees of freedom: infinite for the real part, 0 / 0 for the other.
    assert!(var(3.0).is_nan());
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

#[test]
fn few_elements_are_reduced_within_a_longer_reduction() {
    let apart = |expr: Expr| Expr::from(&expr.eval().unwrap());
    for dtype in [DType::F32, DType::F64, DType::F16] {
        for (rows, columns, few) in [(40, 300, 3), (7, 1500, 2), (3, 5000, 8), (30, 129, 5), (40, 300, 9)] {
            let point = Expr::from(&Tensor::rand(&[rows, 1, few], 5).unwrap()).to_dtype(dtype) - 0.5;
            let others = Expr::from(&Tensor::rand(&[1, columns, few], 6).unwrap()).to_dtype(dtype);
            let differences = apart(point) - &apart(others);
            let each: [fn(&Expr, bool) -> Expr; 4] = [
                |x, keeps| if keeps { x.square().sum(keepdim(-1)) } else { x.square().sum(-1) },
                |x, keeps| if keeps { x.amax(keepdim(-1)) } else { x.amax(-1) },
                |x, keeps| if keeps { x.amin(keepdim(-1)) } else { x.amin(-1) },
                |x, keeps| if keeps { x.prod(keepdim(-1)) } else { x.prod(-1) },
            ];
            for (each, keeps) in each.into_iter().flat_map(|each| [(each, false), (each, true)]) {
                let dim = if keeps { -2 } else { -1 };
                let (within, table) = (each(&differences, keeps), apart(each(&differences, keeps)));
                let together = (-&within).exp().sum(dim);
                let plan = together.plan().unwrap();
                let is_one = few <= 8 && dtype != DType::F16;
                assert_eq!(plan.passes() == 1, is_one, "{few} of {dtype}: {plan}");
                let expected = bytes(&(-&table).exp().sum(dim), 1);
                for threads in [1, 2] {
                    assert!(bytes(&together, threads) == expected, "{together:?} of {few} {dtype}");
                }
            }
        }
    }
}

#[test]
fn operands_stretched_over_some_results_are_read_where_each_line_is() {
    let apart = |expr: Expr| Expr::from(&expr.eval().unwrap());
    // Blocks of results begin where the stretched operand does, but end elsewhere in it.
    for (reduced, [a, b, c]) in [(2, [2, 6, 512]), (2, [4, 3, 1024]), (16, [5, 7, 64]), (3, [3, 5, 256])] {
        let z = Expr::from(&Tensor::rand(&[reduced, a, b, c], 3).unwrap());
        let y = Expr::from(&Tensor::rand(&[a, 1, c], 4).unwrap());
        let table = apart(&z * &y + 1.0);
        for dim in [0, 1, 2, 3] {
            let together = (&z * &y + 1.0).sum(dim);
            for threads in [1, 2] {
                let expected = bytes(&table.sum(dim), threads);
                assert!(bytes(&together, threads) == expected, "{reduced} x {a} x {b} x {c} over {dim}");
            }
        }
    }
}
