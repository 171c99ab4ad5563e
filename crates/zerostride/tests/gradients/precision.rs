//! Derivatives where terms of their formulas would cancel: near zeros, ends of domains and limits.

use zerostride::{Argument, Arguments, DType, Expr, Op, Tensor, call};

/// Derivatives in f64, by mpmath with 200 digits.
const EXACT: [(Op, f64, f64); 22] = [
    (Op::Sinc, 1e-9, -3.289868133696453e-9),
    (Op::Sinc, 1e-4, -0.0003289868101226756),
    (Op::Sinc, 0.3, -0.9020281301388888),
    (Op::Sinc, 0.32, -0.9501303854986679),
    (Op::Sinc, -1e-30, 3.289868133696453e-30),
    (Op::Tanh, 10.0, 8.244614455767397e-9),
    (Op::Tanh, -19.0, 1.2556531168192118e-16),
    (Op::Tanh, 25.0, 7.714999391855671e-22),
    (Op::Sigmoid, 20.0, 2.061153613941849e-9),
    (Op::Sigmoid, 40.0, 4.248354255291589e-18),
    (Op::Sigmoid, -3.0, 0.04517665973091213),
    (Op::Expm1, -37.0, 8.533047625744066e-17),
    (Op::Expm1, -50.0, 1.9287498479639178e-22),
    (Op::Asin, 1.0 - f64::EPSILON / 2.0, 67108864.0),
    (Op::Asin, -(1.0 - 1.0 / (1u64 << 30) as f64), 23170.475011315586),
    (Op::Acos, 1.0 - f64::EPSILON, -47453132.81212578),
    (Op::Acosh, 1.0 + f64::EPSILON, 47453132.81212577),
    (Op::Acosh, 1.0 + 1.0 / (1u64 << 30) as f64, 23170.475000525992),
    (Op::Atanh, 1.0 - f64::EPSILON / 2.0, 4503599627370496.0),
    (Op::Atanh, -(1.0 - 1.0 / (1u64 << 40) as f64), 549755813888.25),
    (Op::GeluTanh, -5.5, -4.676552810807415e-8),
    (Op::GeluTanh, -4.0, -0.0003351231971226708),
];

fn apply(op: Op, x: &Tensor) -> Expr {
    let positional = vec![Argument::Expr(x.into())];
    call(op, Arguments { positional, ..Arguments::default() }).unwrap()
}

fn derivative(op: Op, x: &Tensor) -> Vec<f64> {
    let y = apply(op, x);
    let one = Tensor::full(x.shape(), 1.0, y.dtype().unwrap()).unwrap();
    let slope = y.vjp(&one, &[x]).unwrap()[0].eval().unwrap();
    slope.to_dtype(DType::F64).unwrap().to_vec().unwrap()
}

#[test]
fn derivatives_of_f64_keep_their_digits_where_terms_would_cancel() {
    for (op, x, want) in EXACT {
        let got = derivative(op, &Tensor::from_slice(&[x], &[1]).unwrap())[0];
        assert!((got / want - 1.0).abs() < 1e-13, "{op:?}'({x:e}) is {got:e}, not {want:e}");
    }
}

#[test]
fn derivatives_of_f32_are_those_of_f64() {
    let steps = (0..30).map(|step| 0.5f32.powi(step));
    let near = steps.clone().flat_map(|step| [1.0 + step, 1.0 - step, step, 1.37 * step]);
    // Larger ones of f32 are near to zeros of functions that have a period.
    let far = steps.take(15).map(|step| 2.3 / step);
    let points: Vec<f32> = near.chain(far).flat_map(|x| [x, -x]).collect();
    let single = Tensor::from_slice(&points, &[points.len()]).unwrap();
    let double = single.to_dtype(DType::F64).unwrap();
    let has_rule = |op: &&Op| {
        let info = op.info();
        info.class == zerostride_ops::Class::Unary
            && info.derivative == zerostride_ops::Derivative::rule
            && info.domain.contains(zerostride_ops::Category::Float)
    };
    let mut seen = 0;
    for &op in Op::ALL.iter().filter(has_rule) {
        let (got, want) = (derivative(op, &single), derivative(op, &double));
        seen += 1;
        for ((x, got), want) in points.iter().zip(got).zip(want) {
            // Below, f32 has subnormal numbers and zeros; above, none.
            let is_held = (1e-30..1e30).contains(&want.abs());
            let is_near = (got - want).abs() <= 1e-4 * want.abs();
            assert!(is_near || !is_held, "{op:?}'({x:e}) is {got:e}, not {want:e}");
        }
    }
    assert!(seen > 30, "only {seen} rows were asked");
}

#[test]
fn the_second_derivative_of_sinc_at_0_is_its_limit() {
    let x = Tensor::from_slice(&[0.0, 1e-9, 1e-3], &[3]).unwrap();
    let ones = Tensor::full(&[3], 1.0, DType::F64).unwrap();
    let first = &apply(Op::Sinc, &x).vjp(&ones, &[&x]).unwrap()[0];
    let second: Vec<f64> = first.vjp(&ones, &[&x]).unwrap()[0].eval().unwrap().to_vec().unwrap();
    let limit = -std::f64::consts::PI.powi(2) / 3.0;
    assert!(second.iter().all(|slope| (slope / limit - 1.0).abs() < 1e-5), "{second:?}");
}
