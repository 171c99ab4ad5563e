//! Whatever expression the bytes describe, the fused evaluation agrees with an oracle that stretches
//! everything: the same values, or an error in both. Values are i64, whose arithmetic is exact, so that there
//! is nothing to tolerate.
//!
//! The bytes are a program for a stack: each pushes a tensor or applies an operation or a view to the topmost
//! values.

#![no_main]

mod oracle;

use libfuzzer_sys::fuzz_target;
use oracle::Array;
use zerostride::{Expr, Op, Slice, Tensor, keepdim};

/// Elements beyond which a value is not combined further: the oracle is slow.
const LARGEST: usize = 4096;

struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.0.next().map_or(0, |&byte| usize::from(byte) % bound)
    }

    /// A dimension, now and then one that does not exist, negative ones included.
    fn dim(&mut self) -> isize {
        self.below(11) as isize - 5
    }
}

/// A value on both paths; `None` is an error.
#[derive(Clone)]
struct Pair {
    expr: Expr,
    array: Option<Array>,
}

fn leaf(bytes: &mut Bytes<'_>) -> Pair {
    let shape: Vec<usize> = (0..bytes.below(5)).map(|_| bytes.below(4)).collect();
    let numel = shape.iter().product();
    let start = bytes.below(256) as i64 - 128;
    let data: Vec<i64> = (0..numel).map(|i| start.wrapping_add(i as i64 * 37).wrapping_mul(1 + i as i64 % 3)).collect();
    let tensor = Tensor::from_slice(&data, &shape).expect("a small tensor");
    Pair { expr: (&tensor).into(), array: Some(Array { shape, data }) }
}

fn binary(a: &Pair, b: &Pair, choice: usize) -> Pair {
    let (op, scalar): (Op, fn(i64, i64) -> i64) = match choice {
        0 => (Op::Add, i64::wrapping_add),
        1 => (Op::Sub, i64::wrapping_sub),
        2 => (Op::Mul, i64::wrapping_mul),
        3 => (Op::Maximum, i64::max),
        4 => (Op::Minimum, i64::min),
        5 => (Op::BitwiseAnd, |a, b| a & b),
        6 => (Op::BitwiseXor, |a, b| a ^ b),
        _ => (Op::BitwiseOr, |a, b| a | b),
    };
    let expr = match op {
        Op::Add => a.expr.add(&b.expr),
        Op::Sub => a.expr.sub(&b.expr),
        Op::Mul => a.expr.mul(&b.expr),
        Op::Maximum => a.expr.maximum(&b.expr),
        Op::Minimum => a.expr.minimum(&b.expr),
        Op::BitwiseAnd => a.expr.bitwise_and(&b.expr),
        Op::BitwiseXor => a.expr.bitwise_xor(&b.expr),
        _ => a.expr.bitwise_or(&b.expr),
    };
    let array = a.array.as_ref().zip(b.array.as_ref()).and_then(|(a, b)| oracle::zip(a, b, scalar));
    Pair { expr, array }
}

fn unary(a: &Pair, choice: usize, bytes: &mut Bytes<'_>) -> Pair {
    let of = |expr: Expr, f: &dyn Fn(&Array) -> Option<Array>| Pair { expr, array: a.array.as_ref().and_then(f) };
    match choice {
        0 => of(a.expr.neg(), &|a| Some(a.map(i64::wrapping_neg))),
        1 => of(a.expr.abs(), &|a| Some(a.map(i64::wrapping_abs))),
        2 => of(a.expr.square(), &|a| Some(a.map(|value| value.wrapping_mul(value)))),
        3 => {
            let dim = bytes.dim();
            of(a.expr.sum(dim), &|a| a.reduce(dim, false, 0, i64::wrapping_add))
        }
        4 => {
            let dim = bytes.dim();
            of(a.expr.sum(keepdim(dim)), &|a| a.reduce(dim, true, 0, i64::wrapping_add))
        }
        5 => {
            let dim = bytes.dim();
            of(a.expr.amax(keepdim(dim)), &|a| {
                let empty = a.wrap(dim).and_then(|dim| a.shape.get(dim).copied()) == Some(0);
                if empty { None } else { a.reduce(dim, true, i64::MIN, i64::max) }
            })
        }
        6 => {
            let dim = bytes.dim();
            of(a.expr.unsqueeze(dim), &|a| a.unsqueeze(dim))
        }
        7 => {
            let (dim0, dim1) = (bytes.dim(), bytes.dim());
            of(a.expr.transpose(dim0, dim1), &|a| a.transpose(dim0, dim1))
        }
        8 => {
            let (dim, step) = (bytes.dim(), [1, 2, -1, -2][bytes.below(4)]);
            let start = [None, Some(0), Some(1), Some(-1)][bytes.below(4)];
            of(a.expr.slice(dim, Slice { start, stop: None, step }), &|a| a.slice(dim, start, step))
        }
        9 => of(a.expr.flip(&[-1]), &|a| if a.shape.is_empty() { Some(a.clone()) } else { a.slice(-1, None, -1) }),
        10 => of(a.expr.reshape(&[-1]), &|a| (!a.data.is_empty() || !a.shape.is_empty()).then(|| a.ravel())),
        _ => {
            let sizes: Vec<usize> = (0..bytes.below(5)).map(|_| bytes.below(4)).collect();
            of(a.expr.broadcast_to(&sizes), &|a| oracle::stretch(a, &sizes))
        }
    }
}

fuzz_target!(|program: &[u8]| {
    let mut bytes = Bytes(program.iter());
    let mut stack = vec![leaf(&mut bytes)];
    while bytes.0.len() > 0 && stack.len() < 32 {
        let top = stack[stack.len() - 1].clone();
        let large = top.array.as_ref().is_none_or(|array| array.data.len() > LARGEST);
        let next = match bytes.below(32) {
            0..6 => leaf(&mut bytes),
            choice @ 6..14 if !large => {
                let other = stack[bytes.below(stack.len())].clone();
                binary(&other, &top, choice - 6)
            }
            choice @ 14..26 if !large => unary(&top, choice - 14, &mut bytes),
            _ => leaf(&mut bytes),
        };
        stack.push(next);
    }
    for Pair { expr, array } in stack {
        match (expr.eval(), array) {
            (Ok(tensor), Some(array)) => {
                assert_eq!(tensor.shape(), array.shape, "{expr:?}");
                assert_eq!(tensor.to_vec::<i64>().expect("an i64 tensor"), array.data, "{expr:?}");
            }
            (Err(_), None) => {}
            (result, array) => panic!("{expr:?}: {result:?}, but the oracle says {:?}", array.map(|array| array.shape)),
        }
    }
});
