//! Owns random expressions: trees over tensors of random shapes, dtypes and layouts, and their two
//! evaluations.

use zerostride::{Argument, Arguments, Element, Scalar, keepdim};
use zerostride::{DType, Expr, Op, Result, Tensor, call};
use zerostride_ops::with_type;

use crate::oracle::Array;

/// Numbers that follow from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 20
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

#[derive(Debug)]
pub(crate) enum Tree {
    Leaf(Tensor),
    Number(Scalar),
    Call(Op, Vec<Tree>),
    Cast(DType, Box<Tree>),
    Sum(Op, isize, bool, Box<Tree>),
    Flip(isize, Box<Tree>),
    Swap(isize, isize, Box<Tree>),
}

const UNARY: [Op; 9] =
    [Op::Neg, Op::Abs, Op::Exp, Op::Sin, Op::Sqrt, Op::Square, Op::Floor, Op::Sigmoid, Op::Isfinite];
const BINARY: [Op; 8] = [Op::Add, Op::Sub, Op::Mul, Op::Maximum, Op::Div, Op::Lt, Op::Atan2, Op::Pow];
const DTYPES: [DType; 8] =
    [DType::Bool, DType::U8, DType::I32, DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64];

/// A tensor of a shape with small values, in one of five layouts.
pub(crate) fn leaf(random: &mut Random, shape: &[usize], dtype: DType) -> Tensor {
    let values: Vec<i64> = (0..shape.iter().product()).map(|_| random.below(9) as i64 - 3).collect();
    let scale = random.of(&[1.0, 0.37]);
    let tensor = Tensor::from_vec(values, shape).unwrap();
    let tensor = if matches!(dtype, DType::Bool | DType::U8 | DType::I32) {
        tensor.to_dtype(dtype).unwrap()
    } else {
        (tensor * scale).to_dtype(dtype).eval().unwrap()
    };
    relaid(random, tensor)
}

/// The same values in another layout: permuted, reversed, every other element from an offset, or stretched.
pub(crate) fn relaid(random: &mut Random, tensor: Tensor) -> Tensor {
    let dims: Vec<isize> = (0..tensor.ndim() as isize).rev().collect();
    match random.below(5) {
        0 => tensor,
        1 => tensor.permute(&dims).unwrap().contiguous().unwrap().permute(&dims).unwrap(),
        2 => tensor.flip(&dims).unwrap().contiguous().unwrap().flip(&dims).unwrap(),
        3 => zerostride::stack(&[&tensor, &tensor], -1).unwrap().select(-1, 1).unwrap(),
        _ => match tensor.shape().iter().position(|&size| size > 1) {
            Some(dim) if dim % 2 == 0 => {
                let sizes: Vec<isize> = tensor.shape().iter().map(|&size| size as isize).collect();
                tensor.narrow(dim as isize, 0, 1).unwrap().expand(&sizes).unwrap()
            }
            _ => tensor,
        },
    }
}

/// A shape that broadcasts with `whole`.
fn part_of(random: &mut Random, whole: &[usize]) -> Vec<usize> {
    let dropped = if random.below(3) == 0 { random.below(whole.len() + 1) } else { 0 };
    whole[dropped..].iter().map(|&size| if random.below(3) == 0 { 1 } else { size }).collect()
}

/// A tree of that depth whose operands broadcast to `whole`; only f64 and exact operations if `exact`.
pub(crate) fn tree(random: &mut Random, whole: &[usize], depth: usize, exact: bool) -> Tree {
    let dtype = if exact { DType::F64 } else { random.of(&DTYPES) };
    if depth == 0 || random.below(8) == 0 {
        let shape = part_of(random, whole);
        return match random.below(6) {
            0 if exact => Tree::Number(Scalar::Int(random.below(5) as i64)),
            0 => Tree::Number(random.of(&[Scalar::Int(2), Scalar::Float(0.1), Scalar::Bool(true)])),
            _ => Tree::Leaf(leaf(random, &shape, dtype)),
        };
    }
    let mut child = || Box::new(tree(random, whole, depth - 1, exact));
    let (first, second) = (child(), child());
    match random.below(10) {
        0..2 if exact => Tree::Call(random.of(&[Op::Neg, Op::Abs]), vec![*first]),
        0..2 => Tree::Call(random.of(&UNARY), vec![*first]),
        2 if !exact => Tree::Cast(dtype, first),
        3 => Tree::Sum(random.of(&[Op::Sum, Op::Amax]), random.of(&[0, -1]), random.below(4) > 0, first),
        4 => Tree::Flip(random.of(&[0, -1]), first),
        5 if whole.len() > 1 && whole[0] == whole[1] => Tree::Swap(0, 1, first),
        _ if exact => Tree::Call(random.of(&[Op::Add, Op::Sub, Op::Maximum]), vec![*first, *second]),
        _ => Tree::Call(random.of(&BINARY), vec![*first, *second]),
    }
}

fn apply(op: Op, operands: Vec<Expr>) -> Result<Expr> {
    call(op, Arguments { positional: operands.into_iter().map(Argument::Expr).collect(), named: Vec::new() })
}

impl Tree {
    /// The tree as one expression; with `step`, each node is evaluated before it is used.
    pub(crate) fn expr(&self, step: bool) -> Result<Expr> {
        let node = match self {
            Tree::Leaf(tensor) => return Ok(tensor.into()),
            Tree::Number(number) => return Ok((*number).into()),
            Tree::Call(op, operands) => {
                apply(*op, operands.iter().map(|operand| operand.expr(step)).collect::<Result<_>>()?)?
            }
            Tree::Cast(dtype, operand) => operand.expr(step)?.to_dtype(*dtype),
            Tree::Sum(Op::Sum, dim, true, operand) => operand.expr(step)?.sum(keepdim([*dim])),
            Tree::Sum(Op::Sum, dim, false, operand) => operand.expr(step)?.sum([*dim]),
            Tree::Sum(_, dim, true, operand) => operand.expr(step)?.amax(keepdim([*dim])),
            Tree::Sum(_, dim, false, operand) => operand.expr(step)?.amax([*dim]),
            Tree::Flip(dim, operand) => operand.expr(step)?.flip(&[*dim]),
            Tree::Swap(a, b, operand) => operand.expr(step)?.transpose(*a, *b),
        };
        if step { Ok(node.eval()?.into()) } else { Ok(node) }
    }

    /// The oracle's value, of a tree that is exact.
    pub(crate) fn array(&self) -> Option<Array> {
        Some(match self {
            Tree::Leaf(tensor) => Array::new(tensor.shape(), tensor.to_vec::<f64>().ok()?),
            Tree::Number(Scalar::Int(number)) => Array::new(&[], vec![*number as f64]),
            Tree::Call(Op::Neg, operands) => operands[0].array()?.map(|x| -x),
            Tree::Call(Op::Abs, operands) => operands[0].array()?.map(f64::abs),
            Tree::Call(op, operands) => operands[0].array()?.zip(&operands[1].array()?, |a, b| match op {
                Op::Add => a + b,
                Op::Sub => a - b,
                _ => a.max(b),
            })?,
            Tree::Sum(Op::Sum, dim, keep, operand) => {
                operand.array()?.fold(*dim, *keep, 0.0, |a, b| a + b)?
            }
            Tree::Sum(_, dim, keep, operand) => {
                operand.array()?.fold(*dim, *keep, f64::NEG_INFINITY, f64::max)?
            }
            Tree::Flip(dim, operand) => operand.array()?.flip(*dim)?,
            Tree::Swap(a, b, operand) => operand.array()?.swap(*a as usize, *b as usize)?,
            Tree::Number(_) | Tree::Cast(..) => return None,
        })
    }
}

/// The bytes of the elements, any NaN being every NaN.
pub(crate) fn bits(tensor: &Tensor) -> Vec<u8> {
    with_type!(tensor.dtype(), T => {
        tensor.to_vec::<T>().unwrap().into_iter().flat_map(|value| {
            let nan = format!("{value:?}").replace("NaN", "nan");
            let stored = value.store();
            if nan.contains("nan") { nan.into_bytes() } else { bytemuck::bytes_of(&stored).to_vec() }
        }).collect()
    })
}
