//! Times the rules of shapes: what every operation pays before an element is touched.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use zerostride_shape::{Layout, Shape, broadcast_shapes};

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

criterion_group!(benches, rules);
criterion_main!(benches);
