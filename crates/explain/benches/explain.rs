//! Times explanations: they are made when a person has made a mistake, and must be there at once whatever the
//! shapes are.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use zerostride_explain::{Explanation, Lang, Operand, Options, Page};
use zerostride_ops::Op;

/// Sixteen operands of rank 64, of which each is stretched in most dimensions; the last one fits only if it
/// may.
fn wide(fits: bool) -> Vec<Operand> {
    let size = |operand: usize, dim: usize| match (dim % 16 == operand, dim % 16 < 2) {
        (true, true) => 3,
        _ => 1,
    };
    let shape = |operand: usize| -> Vec<usize> { (0..64).map(|dim| size(operand, dim)).collect() };
    let mut operands: Vec<Operand> = (0..16).map(|operand| Operand::new(&shape(operand))).collect();
    if !fits {
        operands[15].shape[0] = 2;
    }
    operands
}

fn small() -> Vec<Operand> {
    vec![Operand::new(&[32, 1]).named("output"), Operand::new(&[32]).named("target")]
}

fn explanations(criterion: &mut Criterion) {
    let cases = [
        ("2 operands", small(), Some(Op::Sub)),
        ("rank 64, 16 operands", wide(true), None),
        ("rank 64, 16 operands, failing", wide(false), None),
    ];
    for (name, operands, op) in cases {
        let explain = || {
            let options = Options { op, ..Options::default() };
            Explanation::new(black_box(&operands).clone(), options)
        };
        assert_eq!(explain().error().is_some(), name.ends_with("failing"));
        criterion.bench_function(&format!("{name}: explained"), |bencher| bencher.iter(explain));
        for lang in Lang::ALL {
            let page = Page { lang, ..Page::default() };
            criterion.bench_function(&format!("{name}: and as text, {lang}"), |bencher| {
                bencher.iter(|| explain().text(&page));
            });
        }
        criterion
            .bench_function(&format!("{name}: and as JSON"), |bencher| bencher.iter(|| explain().json()));
        criterion.bench_function(&format!("{name}: and as a picture"), |bencher| {
            bencher.iter(|| explain().svg(Lang::En));
        });
        criterion.bench_function(&format!("{name}: and as a report"), |bencher| {
            bencher.iter(|| explain().html(Lang::En));
        });
    }
}

criterion_group!(benches, explanations);
criterion_main!(benches);
