//! Random expressions over random shapes: gradients against dual numbers (`dual.rs`), and gradients of
//! gradients against central differences.

use proptest::prelude::*;
use zerostride::{Expr, Slice, Tensor, keepdim};

use crate::dual::{Dual, broadcast};

/// Numbers from a seed, for choices.
struct Choice(u64);

impl Choice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % count
    }
}

/// Keeps `maximum` from ties, where differences are those of neither operand: no multiple of the inputs'
/// steps, and hardly that of another `maximum`, as `maximum(a + offset, square(a) + offset)` is a tie at 0
/// and 1.
fn offset(choose: &mut Choice) -> f64 {
    3.7e-4 + choose.below(1 << 20) as f64 * 1e-11
}

/// An expression and what the oracle has of it.
type Pair = (Expr, Dual);

fn unary((expr, dual): Pair, choose: &mut Choice) -> Pair {
    match choose.below(7) {
        0 => (expr.sin(), dual.map(|x| (x.sin(), x.cos()))),
        1 => (expr.tanh(), dual.map(|x| (x.tanh(), 1.0 - x.tanh().powi(2)))),
        2 => (expr.square(), dual.map(|x| (x * x, 2.0 * x))),
        3 => (-expr, dual.map(|x| (-x, -1.0))),
        4 => (
            expr.sigmoid(),
            dual.map(|x| (1.0 / (1.0 + (-x).exp()), (-x).exp() / (1.0 + (-x).exp()).powi(2))),
        ),
        5 => ((expr.square() + 1.0).sqrt(), dual.map(|x| (x.hypot(1.0), x / x.hypot(1.0)))),
        _ => ((expr * 0.5).exp(), dual.map(|x| ((x / 2.0).exp(), (x / 2.0).exp() / 2.0))),
    }
}

fn binary(a: Pair, b: Pair, choose: &mut Choice) -> Pair {
    match choose.below(5) {
        0 => (a.0 + b.0, a.1.zip(&b.1, |x, y| (x + y, 1.0, 1.0))),
        1 => (a.0 - b.0, a.1.zip(&b.1, |x, y| (x - y, 1.0, -1.0))),
        2 => (
            a.0 / (b.0.square() + 1.0),
            a.1.zip(&b.1, |x, y| {
                let bottom = y * y + 1.0;
                (x / bottom, 1.0 / bottom, -2.0 * x * y / (bottom * bottom))
            }),
        ),
        3 => {
            let smooth = |x: f64, y: f64| if x > y { (x, 1.0, 0.0) } else { (y, 0.0, 1.0) };
            let offset = offset(choose);
            (a.0.maximum(b.0 + offset), a.1.zip(&b.1, |x, y| smooth(x, y + offset)))
        }
        _ => (a.0 * b.0, a.1.zip(&b.1, |x, y| (x * y, y, x))),
    }
}

fn reduction((expr, dual): Pair, choose: &mut Choice) -> Pair {
    let ndim = dual.shape.len();
    if ndim == 0 || dual.shape.contains(&0) {
        return (expr, dual);
    }
    let dim = choose.below(ndim);
    let at = dim as isize;
    let (count, kept) = (dual.shape[dim] as f64, choose.below(2) == 0);
    let dims = if kept { keepdim(at) } else { at.into() };
    let (expr, mut dual) = match choose.below(4) {
        0 => (expr.sum(dims), dual.fold(dim, |x, y| (x + y, 1.0, 1.0))),
        1 => (expr.mean(dims), dual.fold(dim, |x, y| (x + y, 1.0, 1.0)).map(|x| (x / count, 1.0 / count))),
        2 => (expr.prod(dims), dual.fold(dim, |x, y| (x * y, y, x))),
        _ => {
            let sum = dual.map(|x| (x.exp(), x.exp())).fold(dim, |x, y| (x + y, 1.0, 1.0));
            (expr.logsumexp(dims), sum.map(|x| (x.ln(), 1.0 / x)))
        }
    };
    if !kept {
        dual.shape.remove(dim);
    }
    (expr, dual)
}

fn view((expr, dual): Pair, choose: &mut Choice) -> Pair {
    let shape = dual.shape.clone();
    if shape.is_empty() {
        return (expr.unsqueeze(0).expand(&[2]), dual.gather(&[2], |_| vec![]));
    }
    let dim = choose.below(shape.len());
    let (at, size) = (dim as isize, shape[dim]);
    let moved = |place: &[usize], to: usize| {
        let mut place = place.to_vec();
        place[dim] = to;
        place
    };
    match choose.below(7) {
        0 => {
            let mut turned = shape.clone();
            turned.swap(dim, 0);
            let swapped = |place: &[usize]| {
                let mut place = place.to_vec();
                place.swap(dim, 0);
                place
            };
            (expr.transpose(at, 0), dual.gather(&turned, swapped))
        }
        1 => (expr.flip(&[at]), dual.gather(&shape, |place| moved(place, size - 1 - place[dim]))),
        2 if size > 1 => {
            let short = moved(&shape, size - 1);
            (expr.narrow(at, 1, size as isize - 1), dual.gather(&short, |place| moved(place, place[dim] + 1)))
        }
        3 if size > 0 => {
            let short = moved(&shape, size.div_ceil(2));
            (
                expr.slice(at, Slice::from(..).step_by(2)),
                dual.gather(&short, |place| moved(place, place[dim] * 2)),
            )
        }
        4 if size > 0 => {
            let mut short = shape.clone();
            short.remove(dim);
            let index = |place: &[usize]| [&place[..dim], &[size - 1], &place[dim..]].concat();
            (expr.select(at, -1), dual.gather(&short, index))
        }
        5 if size > 1 => {
            let mut windows = moved(&shape, size - 1);
            windows.push(2);
            let index = |place: &[usize]| {
                let (&within, place) = place.split_last().unwrap();
                moved(place, place[dim] + within)
            };
            (expr.unfold(at, 2, 1), dual.gather(&windows, index))
        }
        _ => {
            let numel = shape.iter().product();
            let flat = Dual { shape: vec![numel], ..dual };
            (expr.reshape(&[numel as isize]), flat)
        }
    }
}

/// A random expression over the inputs, which all can broadcast.
fn grown(depth: usize, inputs: &[Pair], choose: &mut Choice) -> Pair {
    if depth == 0 {
        return inputs[choose.below(inputs.len())].clone();
    }
    let below = grown(depth - 1, inputs, choose);
    match choose.below(6) {
        0 | 1 => unary(below, choose),
        2 => reduction(below, choose),
        3 => view(below, choose),
        _ => {
            let other = grown(depth - 1, inputs, choose);
            let is_same = |(a, b): (&usize, &usize)| a == b || *a == 1 || *b == 1;
            let (one, two) = (&below.1.shape, &other.1.shape);
            let meets = one.iter().rev().zip(two.iter().rev()).all(is_same);
            if meets && broadcast(one, two).iter().product::<usize>() < 200 {
                binary(below, other, choose)
            } else {
                unary(below, choose)
            }
        }
    }
}

/// Inputs of shapes that broadcast to (3, 2, 4), or to (3, 0, 4), and numbers for their elements.
fn inputs(choose: &mut Choice) -> Vec<(Vec<usize>, Vec<f64>)> {
    let whole = if choose.below(6) == 0 { [3, 0, 4] } else { [3, 2, 4] };
    let shapes = (0..1 + choose.below(3)).map(|_| {
        let shape =
            whole[choose.below(4).min(3)..].iter().map(|&size| if choose.below(3) == 0 { 1 } else { size });
        shape.collect::<Vec<usize>>()
    });
    let shapes: Vec<_> = shapes.collect();
    let numbers = |shape: Vec<usize>| {
        let values = (0..shape.iter().product()).map(|_| choose.below(4001) as f64 / 2000.0 - 1.0).collect();
        (shape, values)
    };
    shapes.into_iter().map(numbers).collect()
}

fn paired(inputs: &[(Vec<usize>, Vec<f64>)]) -> (Vec<Tensor>, Vec<Pair>) {
    let count = inputs.iter().map(|(_, values)| values.len()).sum();
    let mut first = 0;
    let pairs = inputs.iter().map(|(shape, values)| {
        let tensor = Tensor::from_slice(values, shape).unwrap();
        let dual = Dual::input(shape, values, first, count);
        first += values.len();
        (tensor.alias(), (Expr::from(&tensor), dual))
    });
    pairs.unzip()
}

fn close(got: f64, want: f64, tolerance: f64) -> bool {
    (got - want).abs() <= tolerance * (1.0 + want.abs().max(got.abs())) || (got.is_nan() && want.is_nan())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gradients_of_random_expressions_are_those_of_dual_numbers(seed in any::<u64>()) {
        let mut choose = Choice(seed);
        let given = inputs(&mut choose);
        let (tensors, pairs) = paired(&given);
        let (expr, dual) = grown(1 + choose.below(5), &pairs, &mut choose);
        prop_assert_eq!(expr.shape().unwrap(), &dual.shape[..]);
        let weights: Vec<f64> = (0..dual.values.len()).map(|place| 0.5 + (place % 3) as f64).collect();
        let cotangent = Tensor::from_slice(&weights, &dual.shape).unwrap();
        let variables: Vec<&Tensor> = tensors.iter().collect();
        let gradients = expr.vjp(&cotangent, &variables).unwrap();
        let mut input = 0;
        for (gradient, tensor) in gradients.iter().zip(&tensors) {
            prop_assert_eq!(gradient.shape().unwrap(), tensor.shape());
            for got in gradient.eval().unwrap().to_vec::<f64>().unwrap() {
                let want: f64 = dual.slopes.iter().zip(&weights).map(|(slopes, weight)| slopes[input] * weight).sum();
                prop_assert!(close(got, want, 1e-9), "{expr:?}: {got}, not {want}, with respect to input {input}");
                input += 1;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gradients_of_gradients_are_those_of_differences(seed in any::<u64>()) {
        // The sum of the gradient's elements, each with a weight, at the inputs.
        let slope = |given: &[(Vec<usize>, Vec<f64>)], choose: &mut Choice| {
            let (tensors, pairs) = paired(given);
            let (expr, _) = grown(1 + choose.below(4), &pairs, choose);
            let variables: Vec<&Tensor> = tensors.iter().collect();
            let weighed = |gradient: &Expr| gradient.clone() * 0.75;
            let first = expr.sum(..).grad(&variables).unwrap();
            let total = first.iter().map(|gradient| weighed(gradient).sum(..)).reduce(|a, b| a + b).unwrap();
            (total, tensors)
        };
        let mut choose = Choice(seed);
        let given = inputs(&mut choose);
        let state = choose.0;
        let (total, tensors) = slope(&given, &mut choose);
        let variables: Vec<&Tensor> = tensors.iter().collect();
        let second = total.grad(&variables).unwrap();
        for (number, gradient) in second.iter().enumerate() {
            let got = gradient.eval().unwrap().to_vec::<f64>().unwrap();
            for (place, got) in got.into_iter().enumerate().take(4) {
                let at = |step: f64| {
                    let mut moved = given.clone();
                    moved[number].1[place] += step;
                    slope(&moved, &mut Choice(state)).0.eval().unwrap().item::<f64>().unwrap()
                };
                let want = (at(1e-6) - at(-1e-6)) / 2e-6;
                prop_assert!(close(got, want, 1e-3), "{total:?}: {got}, not {want}, input {number} at {place}");
            }
        }
    }
}
