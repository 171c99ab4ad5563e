//! Times the parts of an evaluation by themselves: the rules of shapes, planning, a tiny operation, and each
//! kind of loop in the L2 cache, where nothing but the loop itself costs time. Side by side with other
//! libraries: `cargo xtask bench`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use zerostride::policy::{Action, Class, Policy};
use zerostride::{DType, Expr, Result, Slice, Tensor, keepdim};
use zerostride_shape::{Layout, Shape, broadcast_shapes};

fn uniform(shape: &[usize], seed: u64) -> Tensor {
    Tensor::rand(shape, seed).expect("enough memory")
}

/// What every operation pays before an element is touched.
fn rules(criterion: &mut Criterion) {
    criterion.bench_function("broadcast of rank 2", |bencher| {
        bencher.iter(|| broadcast_shapes(black_box(&[&[1, 3], &[3, 1]])));
    });
    criterion.bench_function("broadcast of rank 5, three operands", |bencher| {
        bencher.iter(|| broadcast_shapes(black_box(&[&[5, 1, 4, 1, 3], &[2, 1, 6, 1], &[3]])));
    });
    let shape = Shape::new(&[32, 64, 56, 56]).expect("a small shape");
    let layout = Layout::contiguous(shape);
    criterion.bench_function("view: transpose, then narrow", |bencher| {
        bencher.iter(|| black_box(&layout).transpose(0, 1).and_then(|view| view.narrow(2, 8, 40)));
    });
    let row = Layout::contiguous(Shape::new(&[64, 1, 1]).expect("a small shape"));
    criterion.bench_function("view: expand", |bencher| {
        bencher.iter(|| black_box(&row).expand(&[32, 64, 56, 56]));
    });
}

fn planning(criterion: &mut Criterion) {
    let (x, row, col) = (uniform(&[128, 256], 1), uniform(&[256], 2), uniform(&[128, 1], 3));
    let sum = &x + &row;
    criterion.bench_function("plan: x + row", |bencher| bencher.iter(|| black_box(&sum).plan()));
    criterion.bench_function("build and plan: normalise", |bencher| {
        bencher.iter(|| ((&x - &col) / &col * &row + &row).plan());
    });
    let centred = Expr::from(&x) - x.mean(keepdim(-1)).expect("a float");
    criterion
        .bench_function("plan: a row's norm", |bencher| bencher.iter(|| centred.square().sum(-1).plan()));
}

fn tiny(criterion: &mut Criterion) {
    let (x, y) = (uniform(&[1, 3], 1), uniform(&[3, 1], 2));
    criterion.bench_function("tiny: (1, 3) + (3, 1)", |bencher| bencher.iter(|| black_box(&x).add(&y)));
    let scope = Policy::new().with(Class::MutualStretch, Action::Allow).enter();
    criterion
        .bench_function("tiny: the same under a policy", |bencher| bencher.iter(|| black_box(&x).add(&y)));
    drop(scope);
    let out = Tensor::zeros(&[3, 3]).expect("enough memory");
    let sum = &x + &y;
    criterion.bench_function("tiny: the same into memory", |bencher| bencher.iter(|| sum.eval_into(&out)));
}

/// Loops over 128 x 512 elements, into memory that is there.
fn loops(criterion: &mut Criterion) {
    let (x, y) = (uniform(&[128, 512], 1), uniform(&[128, 512], 2));
    let (row, col, wide) = (uniform(&[512], 3), uniform(&[128, 1], 4), uniform(&[512, 128], 5));
    let bytes = (&x * 255).to_dtype(DType::U8).eval().expect("numbers");
    let half = x.to_dtype(DType::BF16).expect("numbers");
    let link = |value: Expr, i: usize| if i.is_multiple_of(2) { value * 1.001 } else { value + 0.5 };
    let cases: [(&str, Expr); 14] = [
        ("chain of 1", (0..1).fold(Expr::from(&x), link)),
        ("chain of 4", (0..4).fold(Expr::from(&x), link)),
        ("chain of 12", (0..12).fold(Expr::from(&x), link)),
        ("two operands", &x + &y),
        ("row", &x + &row),
        ("column", &x + &col),
        ("outer", &col + &row),
        ("pack: transposed", &x + Expr::from(&wide).t()),
        (
            "pack: every third",
            &x + Expr::from(&uniform(&[128, 1536], 6)).slice(1, Slice::from(..).step_by(3)),
        ),
        ("convert: u8 to f32", bytes / 255.0),
        ("convert: bf16", half + 1.0),
        ("exp", Expr::from(&x).exp()),
        ("sum of rows", Expr::from(&x).sum(1)),
        ("sum of columns", Expr::from(&x).sum(0)),
    ];
    let mut group = criterion.benchmark_group("128x512");
    group.throughput(Throughput::Elements(128 * 512));
    for (name, expression) in cases {
        let out = like(&expression).expect("enough memory");
        group.bench_function(name, |bencher| bencher.iter(|| expression.eval_into(&out)));
    }
    group.finish();
}

fn like(expression: &Expr) -> Result<Tensor> {
    Tensor::zeros(expression.shape()?)?.to_dtype(expression.dtype()?)
}

criterion_group!(benches, rules, planning, tiny, loops);
criterion_main!(benches);
