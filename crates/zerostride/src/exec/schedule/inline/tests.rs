//! Holds the short cuts to what plans give.

use zerostride_kernels::Isa;
use zerostride_ops::{self as ops, Category, Class, DType, Op, Scalar};

use super::gather::GATHERED_ELEMENTS;
use super::*;
use crate::{Dims, Result, Slice, keepdim};

/// Without it nothing is taken on rows.
fn has_threaded_code() -> bool {
    Isa::active() != Isa::Portable
}

/// The same sequence of choices in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ (mixed >> 29)) % bound as u64) as usize
    }

    /// Numbers around zero of a shape that mostly goes with others, seen through some view.
    fn tensor(&mut self, dtype: DType) -> Tensor {
        let ndim = self.below(4);
        let sizes = [4, 3, if self.below(20) == 0 { 0 } else { 2 }];
        let shape: Vec<usize> =
            sizes[3 - ndim..].iter().map(|&size| if self.below(3) > 0 { size } else { 1 }).collect();
        let numel: usize = shape.iter().product();
        let numbers: Vec<f64> = (0..2 * numel + 3).map(|_| self.below(9) as f64 * 0.75 - 3.0).collect();
        let base = Tensor::from_slice(&numbers, &[numbers.len()]).unwrap().to_dtype(dtype).unwrap();
        let signed: Vec<isize> = shape.iter().map(|&size| size as isize).collect();
        let step = 1 + self.below(2) as isize;
        let part = base.slice(0, Slice::from(1..1 + numel as isize * step).step_by(step)).unwrap();
        let tensor = part.reshape(&signed).unwrap();
        match self.below(4) {
            0 => tensor.t().unwrap_or(tensor),
            1 => tensor.flip(&(0..shape.len() as isize).collect::<Vec<_>>()).unwrap(),
            2 => tensor.unsqueeze(0).unwrap().expand(&[&[2][..], &signed].concat()).unwrap(),
            _ => tensor,
        }
    }
}

/// Dtype, shape and elements; all NaN are one, since nothing is promised of their bits.
fn bytes_of(tensor: &Tensor) -> (DType, Vec<usize>, Vec<u8>) {
    let one = match tensor.dtype().category() {
        Category::Bool | Category::Int => tensor.alias(),
        Category::Float | Category::Complex => {
            let nan = Tensor::full(&[], f64::NAN, tensor.dtype()).unwrap();
            nan.where_(tensor.isnan().unwrap(), tensor).unwrap()
        }
    };
    (tensor.dtype(), tensor.shape().to_vec(), one.with_bytes(<[u8]>::to_vec).unwrap())
}

fn applied(op: Op, values: &[ReadyOperand<'_>]) -> Option<Tensor> {
    match *values {
        [a] => apply(op, &[a]),
        [a, b] => apply(op, &[a, b]),
        [a, b, c] => apply(op, &[a, b, c]),
        _ => None,
    }
}

/// So many numbers.
fn sequence(len: i32, dtype: DType, number: impl Fn(i32) -> f64) -> Tensor {
    let numbers: Vec<f64> = (0..len).map(number).collect();
    Tensor::from_slice(&numbers, &[numbers.len()]).unwrap().to_dtype(dtype).unwrap()
}

/// Numbers of a sequence from one on, in a shape.
fn part(sequence: &Tensor, start: isize, shape: &[isize]) -> Tensor {
    let end = start + shape.iter().product::<isize>();
    sequence.slice(0, start..end).unwrap().reshape(shape).unwrap()
}

/// Whether a formula has a value and takes a short cut, which then gives what its plan gives at length.
fn is_taken(formula: &Expr, short_cut: impl Fn(&Expr) -> Option<Tensor>) -> bool {
    let Ok(plan) = formula.plan() else { return false };
    let Some(short) = short_cut(formula) else { return false };
    let result = crate::exec::run_with_claims(&plan).unwrap().swap_remove(0);
    assert_eq!(bytes_of(&short), bytes_of(&result), "{formula:?} {:?} {:?}", plan.dtype(), plan.shape());
    true
}

/// The short cut of a plan that is one step.
fn run_plan_of(formula: &Expr) -> Option<Tensor> {
    run_plan(&formula.plan().ok()?)
}

/// What the plan gives at length, and its short cut, if it has one.
fn planned(op: Op, operands: &[Expr]) -> Result<Tensor> {
    let plan = Expr::map(op, operands.iter().cloned()).plan()?;
    let result = crate::exec::run_with_claims(&plan)?.swap_remove(0);
    if let Some(short) = run_plan(&plan) {
        assert_eq!(bytes_of(&short), bytes_of(&result), "{op:?} {operands:?}");
    }
    Ok(result)
}

#[test]
fn a_small_formula_gives_what_it_gives_at_length() {
    let mut random = Random(3);
    let mut taken = 0;
    for _ in 0..1000 {
        let dtype = DType::ALL[random.below(15)];
        let [a, b, c] = [(); 3].map(|()| Expr::current(&random.tensor(dtype)));
        let formulas = [
            (&a - &b) * &a + &c,
            a.abs() * 2 + b.t() * &c,
            (&a + 0.5).sqrt() * (&b - 1),
            (&a * &b).to_dtype(DType::F32).gelu_tanh() - &c,
            (&a - a.mean(keepdim(-1))) * &b,
            (&a + &b).sum(0) * c.amax(0),
            (&a * &b).t().to_dtype(DType::F64).prod(-1),
        ];
        for formula in formulas {
            taken += usize::from(is_taken(&formula, nodes::evaluate));
        }
    }
    assert!(taken > 2000, "{taken}");
}

#[test]
fn a_formula_on_rows_gives_what_it_gives_at_length() {
    let mut taken = 0;
    for dtype in DType::ALL {
        let base = sequence(9000, dtype, |number| f64::from(number * 7 % 31) * 0.375 - 3.0);
        let part = |start, shape: &[isize]| part(&base, start, shape);
        for [rows, columns] in [[2, 300], [5, 1000], [64, 64], [70, 65], [3, 129]] {
            let (row, column) = (part(5, &[columns]), part(7, &[rows, 1]));
            let wide = part(1, &[rows, columns + 3]).narrow(1, 2, columns).unwrap();
            for x in [part(3, &[rows, columns]), wide.alias(), wide.flip(&[0]).unwrap()] {
                let formulas = [
                    Expr::current(&x) * &row + &column,
                    (Expr::current(&x) - &column) / &row * 2,
                    Expr::current(&row.flip(&[0]).unwrap()) * &column - &x,
                    Expr::current(&x).maximum(&column).to_dtype(DType::F32) + 0.5,
                ];
                for formula in formulas {
                    taken += usize::from(is_taken(&formula, run_plan_of));
                }
            }
        }
    }
    assert!(taken > 400, "{taken}");
}

#[test]
fn a_formula_with_reductions_gives_what_its_plan_gives() {
    let mut taken = 0;
    for dtype in DType::ALL {
        let base = sequence(3000, dtype, |number| f64::from(number * 7 % 31) * 0.375 - 3.0);
        let part = |start, shape: &[isize]| Expr::current(&part(&base, start, shape));
        for [rows, columns] in [[1, 300], [300, 1], [20, 33], [33, 20], [4, 257], [257, 4], [3, 700]] {
            let (row, column) = (part(5, &[columns]), part(7, &[rows, 1]));
            for x in [part(1, &[rows, columns]), part(2, &[columns, rows]).t()] {
                let centred = &x - x.mean(keepdim(-1));
                let formulas = [
                    x.softmax(-1),
                    x.softmax(0),
                    x.logsumexp(-1),
                    &centred / (x.var_corrected(keepdim(-1), 0.0) + 1e-5).sqrt() * &row + &row,
                    (&centred * &column).square().sum(..),
                    (&x * &row).amax(keepdim(0)) + &x,
                    x.gt(0).any(1) | x.argmax(-1).eq(2),
                    (&x + &column).to_dtype(DType::F32).sum(0),
                    x.where_(x.gt(&row), &column).sum(1),
                ];
                for formula in formulas {
                    taken += usize::from(is_taken(&formula, nodes::evaluate));
                }
            }
        }
    }
    assert!(taken > if has_threaded_code() { 700 } else { 600 }, "{taken}");
}

#[test]
fn a_formula_is_written_over_its_own_operands() {
    let operands = || [1, 2].map(|seed| Tensor::rand(&[17, 20], seed).unwrap());
    let formulas = |x: &Tensor, y: &Tensor| {
        let [x, y] = [x, y].map(Expr::current);
        [(&x - x.mean(keepdim(-1))) * &y, x.softmax(-1), &y + x.flip(&[0, 1]), &x - &y]
    };
    for index in 0..4 {
        let ([x, y], [same, other]) = (operands(), operands());
        let expected = crate::exec::run_with_claims(&formulas(&same, &other)[index].plan().unwrap())
            .unwrap()
            .swap_remove(0);
        let version = x.storage().version();
        evaluate_into(&formulas(&x, &y)[index], &x).unwrap();
        assert_eq!((bytes_of(&x), x.storage().version()), (bytes_of(&expected), version + 1), "{index}");
        // What lies elsewhere in the same storage is read before it is written, too.
        let [first, second] = [0, 1].map(|half| x.narrow(0, half * 8, 9).unwrap());
        let sum = (Expr::current(&first) + &second) * 2;
        let expected = crate::exec::run_with_claims(&sum.plan().unwrap()).unwrap().swap_remove(0);
        evaluate_into(&sum, &second).unwrap();
        assert_eq!(bytes_of(&second), bytes_of(&expected));
    }
}

#[test]
fn a_formula_on_more_gives_what_it_gives_at_length() {
    let mut taken = 0;
    for dtype in DType::ALL {
        let base = sequence(4000, dtype, |number| f64::from(number % 17) * 0.75 - 3.0);
        let part = |start, shape: &[isize]| part(&base, start, shape);
        let of_length = |len: isize| {
            let twice = part(3, &[2 * len]).slice(0, Slice::from(..).step_by(2)).unwrap();
            vec![
                part(1, &[len]),
                part(1607, &[len]),
                part(5, &[1]),
                twice,
                part(9, &[len]).flip(&[0]).unwrap(),
            ]
        };
        // More than tiles hold, of which some lie in order and others cross over, and some are stretched.
        let crossing = part(2, &[300, 7]).t().unwrap();
        let grids = vec![part(1, &[7, 300]), crossing, part(5, &[300]), part(4, &[7, 1]), part(8, &[1])];
        for operands in [of_length(257), of_length(1000), of_length(1501), grids] {
            let operands: Vec<Expr> = operands.iter().map(Expr::current).collect();
            for first in 0..operands.len() {
                let [a, b, c] = [0, 1, 2].map(|at| &operands[(first + at) % operands.len()]);
                let formulas = [(a - b) * a + c, (a * 2).lt(b) & c, (c - a) * 0.5 + b, -(a * b).abs()];
                for formula in formulas {
                    taken += usize::from(is_taken(&formula, run_plan_of));
                }
            }
        }
    }
    assert!(taken > 500, "{taken}");
}

#[test]
fn every_operation_gives_what_its_plan_gives_or_nothing() {
    let mut random = Random(1);
    let (mut taken, mut left) = (0, 0);
    for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
        let arity = match op {
            Op::Where | Op::Lerp => 3,
            _ if op.info().class == Class::Nary => continue,
            _ => 1 + usize::from(op.info().class == Class::Binary),
        };
        for _ in 0..300 {
            let dtype = DType::ALL[random.below(15)];
            let dtypes: Vec<DType> = (0..arity)
                .map(|_| if random.below(4) == 0 { DType::ALL[random.below(15)] } else { dtype })
                .collect();
            let tensors: Vec<Tensor> = dtypes.iter().map(|&dtype| random.tensor(dtype)).collect();
            let number =
                (random.below(5) == 0).then(|| [Scalar::Int(2), Scalar::Float(0.5)][random.below(2)]);
            let mut values: Vec<ReadyOperand<'_>> =
                tensors.iter().map(|tensor| ReadyOperand::Tensor(tensor, None)).collect();
            let mut operands: Vec<Expr> = tensors.iter().map(Expr::current).collect();
            if let (Some(number), true) = (number, arity > 1) {
                values[arity - 1] = ReadyOperand::Number(number);
                operands[arity - 1] = Expr::from(number);
            }
            let Some(result) = applied(op, &values) else {
                left += 1;
                continue;
            };
            taken += 1;
            let planned = planned(op, &operands).unwrap();
            assert_eq!(bytes_of(&result), bytes_of(&planned), "{op:?} {tensors:?}");
            let one = evaluate(&Expr::map(op, operands.iter().cloned()));
            assert_eq!(one.as_ref().map(bytes_of), Some(bytes_of(&planned)), "{op:?} {tensors:?}");
        }
    }
    assert!(taken > left / 4, "{taken} taken, {left} left");
}

#[test]
fn a_copy_has_the_elements_of_the_view() {
    let mut random = Random(9);
    let check = |view: &Tensor, is_taken: bool| {
        let expr = Expr::current(view);
        let copy = evaluate(&expr);
        assert_eq!(copy.is_some(), is_taken, "{:?}", view.layout());
        let Some(copy) = copy else { return };
        assert!(copy.is_contiguous() && !copy.shares_storage(view));
        let planned = crate::exec::run_with_claims(&expr.plan().unwrap()).unwrap().swap_remove(0);
        assert_eq!(bytes_of(&copy), bytes_of(&planned), "{:?}", view.layout());
    };
    for dtype in DType::ALL {
        (0..100).map(|_| random.tensor(dtype)).for_each(|view| check(&view, view.numel() > 0));
        let x = Tensor::arange(0, 6000, 1).unwrap().to_dtype(dtype).unwrap().reshape(&[20, 300]).unwrap();
        check(&x, true);
        check(&x.t().unwrap().slice(0, Slice::from(7..).step_by(3)).unwrap(), true);
        check(&x.flip(&[0, 1]).unwrap(), true);
        check(&x.slice(1, Slice::from(1..).step_by(2)).unwrap().expand(&[3, 20, 150]).unwrap(), true);
    }
    // What lies in order is divided among threads, until the result is not to stay in the caches.
    let x = Tensor::rand(&[1 << 19], 1).unwrap();
    check(&x.slice(0, 5..).unwrap(), true);
    check(&x.reshape(&[1 << 10, 1 << 9]).unwrap().t().unwrap(), false);
    let tensor = Tensor::ones(&[3]).unwrap();
    let captured = Expr::from(&tensor);
    tensor.add_(1).unwrap();
    assert!(evaluate(&captured).is_none());
}

#[test]
fn what_is_written_to_a_view_is_what_a_plan_writes_there() {
    let numbers = [Scalar::Bool(true), Scalar::Int(-7), Scalar::Float(2.75), Scalar::Float(f64::NAN)];
    let mut taken = [0; 2];
    for (seed, dtype) in (0..200).flat_map(|seed| DType::ALL.map(|dtype| (seed, dtype))) {
        let target = || match seed {
            0 => part(&sequence(2000, dtype, f64::from), 3, &[2, 900]).narrow(1, 5, 700).unwrap(),
            _ => Random(seed).tensor(dtype),
        };
        let source = match seed {
            0 => part(&sequence(1500, dtype, f64::from), 7, &[2, 700]),
            _ => Random(1000 + seed).tensor(dtype),
        };
        let views = [ReadyOperand::Tensor(&source, None)].into_iter();
        for value in views.chain(numbers.map(ReadyOperand::Number)) {
            let (short, long) = (target(), target());
            let is_taken = copy_into(value, &short).is_some();
            taken[usize::from(is_taken)] += 1;
            if is_taken {
                let expr = value.tensor().map_or_else(|| value.number().unwrap().into(), Expr::current);
                let expr = expr.to_dtype(dtype).broadcast_to(long.shape());
                crate::exec::run_into(&expr, &long).unwrap();
            }
            // All of the storage, since nothing is to be written beside the view.
            let [short, long] = [short, long].map(|x| x.storage().try_write().unwrap().bytes_mut().to_vec());
            assert!(short == long, "{dtype:?} {seed} {:?} to {:?}", source.layout(), target().layout());
        }
    }
    assert!(taken.iter().all(|&times| times > 2000), "{taken:?}");
    let (x, y) = (Tensor::ones(&[4, 4]).unwrap(), Tensor::zeros(&[4, 4]).unwrap());
    let version = x.storage().version();
    assert!(copy_into(ReadyOperand::Tensor(&x.t().unwrap(), None), &x).is_none(), "shared memory");
    assert!(copy_into(ReadyOperand::Tensor(&y, Some(y.storage().version() + 1)), &x).is_none(), "changed");
    assert!(
        copy_into(ReadyOperand::Tensor(&y, None), &x.narrow(0, 1, 1).unwrap()).is_none(),
        "another shape"
    );
    assert_eq!(x.storage().version(), version);
    assert!(copy_into(ReadyOperand::Tensor(&y, None), &x).is_some());
    assert_eq!(x.storage().version(), version + 1);
}

#[test]
fn short_rows_give_what_stretched_copies_give() {
    for dtype in [DType::F32, DType::F64, DType::F16, DType::I16, DType::Bool] {
        for width in [31, 32, 63, 64, 65, 100, 127, 128, 200] {
            let of = |shape: &[usize], seed| {
                let numbers = Tensor::rand(shape, seed).unwrap().mul(9).unwrap();
                numbers.sub(4).unwrap().to_dtype(dtype).unwrap()
            };
            let (x, y) = (of(&[3, 1, 17, 1], 1), of(&[2, 1, width], 2));
            let stretched = crate::broadcast_tensors(&[&x, &y]).unwrap();
            let copies: Vec<Tensor> = stretched.iter().map(|view| view.clone_elements().unwrap()).collect();
            let formulas = |x: &Tensor, y: &Tensor| {
                let (x, y) = (Expr::current(x), Expr::current(y));
                [&x + &y, x.lt(&y), (&x + &y) * &y, x.where_(x.eq(&y), &y)]
            };
            for (short, long) in formulas(&x, &y).into_iter().zip(formulas(&copies[0], &copies[1])) {
                let wanted = bytes_of(&long.eval().unwrap());
                assert_eq!(bytes_of(&short.eval().unwrap()), wanted, "{short:?} {dtype} {width}");
                let plan = short.plan().unwrap();
                assert_eq!(
                    bytes_of(&crate::exec::run_with_claims(&plan).unwrap()[0]),
                    wanted,
                    "{short:?} {dtype} {width}"
                );
            }
            let over = copies[0].clone_elements().unwrap();
            over.mul_(&y).unwrap();
            assert_eq!(bytes_of(&over), bytes_of(&copies[0].mul(&copies[1]).unwrap()), "{dtype} {width}");
        }
    }
}

#[test]
fn every_in_place_operation_writes_what_its_plan_writes_and_counts() {
    let mut random = Random(2);
    let mut taken = 0;
    let has_method = |op: &&Op| op.info().in_place.is_some() && **op != Op::Lerp && **op != Op::NanToNum;
    for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()).filter(has_method) {
        for _ in 0..100 {
            let dtype = DType::ALL[random.below(15)];
            let (target, other) = (random.tensor(dtype), random.tensor(dtype));
            let values = [ReadyOperand::Tensor(&target, None), ReadyOperand::Tensor(&other, None)];
            let unary = op.info().class == Class::Unary;
            let operands = [Expr::current(&target.clone_elements().unwrap()), Expr::current(&other)];
            let version = target.storage().version();
            let planned = planned(op, if unary { &operands[..1] } else { &operands });
            let written = match unary {
                true => apply_into(op, &[values[0]], &target),
                false => apply_into(op, &values, &target),
            };
            if written.is_some() {
                taken += 1;
                let planned = planned.unwrap();
                assert_eq!(bytes_of(&target), bytes_of(&planned), "{op:?} {target:?} {other:?}");
                assert_eq!(target.storage().version(), version + 1);
            }
        }
    }
    assert!(taken > 200, "{taken}");
}

/// Views of some numbers with shapes that go together, whose elements lie in rows; but for the last two.
fn rows(dtype: DType) -> Vec<Tensor> {
    let numbers: Vec<f64> = (0..9000).map(|number| f64::from(number % 17) * 0.75 - 3.0).collect();
    let base = Tensor::from_slice(&numbers, &[9000]).unwrap().to_dtype(dtype).unwrap();
    let part = |start: isize, shape: &[isize]| {
        let numel: isize = shape.iter().product();
        base.slice(0, start..start + numel).unwrap().reshape(shape).unwrap()
    };
    vec![
        part(1, &[3, 5, 520]),
        part(7, &[3, 1, 520]),
        part(3, &[5, 520]).flip(&[0]).unwrap(),
        part(2, &[3, 5, 530]).slice(2, 5..525).unwrap(),
        part(9, &[520]),
        part(4, &[5, 1]),
        part(5, &[1]),
        part(6, &[520, 5, 3]).permute(&[2, 1, 0]).unwrap(),
        part(8, &[5, 1040]).slice(1, Slice::from(..).step_by(2)).unwrap(),
    ]
}

#[test]
fn every_operation_on_rows_gives_what_its_plan_gives() {
    let (mut direct, mut over_rows, mut copied) = (0, 0, 0);
    for &op in Op::ALL.iter().filter(|op| matches!(op.info().class, Class::Unary | Class::Binary)) {
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::I32, DType::U8, DType::Bool, DType::C64] {
            let tensors = rows(dtype);
            let target = Tensor::full(&[3, 5, 520], 0, dtype).unwrap();
            for (index, a) in tensors.iter().enumerate() {
                let b = &tensors[(3 * index + 2) % tensors.len()];
                let values = [ReadyOperand::Tensor(a, None), ReadyOperand::Tensor(b, None)];
                let number = [values[0], ReadyOperand::Number(Scalar::Int(2))];
                let operands = [Expr::current(a), Expr::current(b)];
                let cases: &[(&[ReadyOperand<'_>], Vec<Expr>)] = match op.info().class {
                    Class::Unary => &[(&values[..1], operands[..1].to_vec())],
                    _ => &[
                        (&values, operands.to_vec()),
                        (&number, vec![operands[0].clone(), Expr::from(Scalar::Int(2))]),
                    ],
                };
                for (values, operands) in cases {
                    let Some(result) = applied(op, values) else { continue };
                    direct += usize::from(result.numel() > GATHERED_ELEMENTS);
                    // No code has complex numbers in memory.
                    copied += usize::from(result.numel() > GATHERED_ELEMENTS && dtype == DType::C64);
                    let planned = planned(op, operands).unwrap();
                    assert_eq!(bytes_of(&result), bytes_of(&planned), "{op:?} {dtype} {index}");
                    let expr = Expr::map(op, operands.iter().cloned());
                    if evaluate_into(&expr, &target).is_some() {
                        assert_eq!(bytes_of(&target), bytes_of(&planned), "{op:?} {dtype} {index}");
                    }
                    let over = a.clone_elements().unwrap();
                    let values = [ReadyOperand::Tensor(&over, None), *values.last().unwrap()];
                    let done = match op.info().class {
                        Class::Unary => apply_into(op, &[values[0]], &over),
                        _ => apply_into(op, &values, &over),
                    };
                    if done.is_some() {
                        over_rows += usize::from(over.numel() > GATHERED_ELEMENTS);
                        assert_eq!(bytes_of(&over), bytes_of(&planned), "{op:?} {dtype} {index} in place");
                    }
                }
            }
        }
    }
    assert!(!has_threaded_code() || direct > 1000 && over_rows > 500, "{direct} {over_rows}");
    assert!(copied > 100, "{copied}");
}

#[test]
fn a_choice_between_rows_gives_what_its_plan_gives() {
    let mut direct = 0;
    for dtype in DType::ALL {
        let (conditions, tensors) = (rows(DType::Bool), rows(dtype));
        for (index, condition) in conditions.iter().enumerate() {
            let [a, b] = [3, 5].map(|step| &tensors[(index + step) % tensors.len()]);
            let values = [condition, a, b].map(|tensor| ReadyOperand::Tensor(tensor, None));
            let Some(result) = apply(Op::Where, &values) else { continue };
            direct += usize::from(result.numel() > GATHERED_ELEMENTS);
            let planned = planned(Op::Where, &[condition, a, b].map(Expr::current)).unwrap();
            assert_eq!(bytes_of(&result), bytes_of(&planned), "{dtype} {index}");
        }
    }
    assert!(!has_threaded_code() || direct > 40, "{direct}");
}

#[test]
fn every_reduction_gives_what_its_plan_gives() {
    let mut taken = [0; 2];
    for &op in ops::Reduction::ALL {
        for dtype in DType::ALL {
            // Zeros among them are negative.
            let numbers: Vec<f64> =
                (0..6400).map(|number| f64::from(number * 7 % 31) * -0.75 + 9.0).collect();
            let base = Tensor::from_slice(&numbers, &[6400]).unwrap().neg().unwrap().to_dtype(dtype).unwrap();
            let views = |shape: &[isize]| {
                let x = base.slice(0, 0..shape.iter().product()).unwrap().reshape(shape).unwrap();
                let narrow = x.slice(-1, 1..).unwrap();
                [x.flip(&[0]).unwrap(), narrow, x.transpose(0, -1).unwrap(), x]
            };
            let shapes = [
                &[40, 160][..],
                &[160, 40],
                &[2500, 2],
                &[2, 2500],
                &[4, 160, 10],
                &[5, 8, 160],
                &[6400],
                &[80, 1, 80],
            ];
            for x in shapes.into_iter().flat_map(views) {
                for dim in (0..x.ndim() as isize).map(Some).chain([None]) {
                    let dims = dim.map_or(Dims::from(..), Dims::from);
                    let expr = Expr::reduce(op, Expr::current(&x), &dims, 1.0);
                    let Ok(plan) = expr.plan() else { continue };
                    let short = evaluate(&expr);
                    taken[usize::from(short.is_some())] += 1;
                    if let Some(short) = short {
                        let planned = crate::exec::run_with_claims(&plan).unwrap().swap_remove(0);
                        assert_eq!(bytes_of(&short), bytes_of(&planned), "{op:?} over {dim:?} of {x:?}");
                    }
                }
            }
        }
    }
    assert!(taken[1] > 2000, "{taken:?}");
}

#[test]
fn every_product_gives_what_its_plan_gives() {
    let mut random = Random(17);
    let mut taken = [0; 2];
    for _ in 0..3000 {
        let dtype = DType::ALL[random.below(15)];
        let [a, b] = [(); 2].map(|()| Expr::current(&random.tensor(dtype)));
        let product = match random.below(3) {
            0 => a.matmul(b.transpose(-2, -1)),
            1 => a.matmul(a.transpose(-2, -1)),
            _ => a.matmul(&b),
        };
        taken[0] += usize::from(is_taken(&product, evaluate));
        taken[1] += usize::from(is_taken(&(product * 2.0 + b).relu(), evaluate));
    }
    assert!(taken[0] > 500 && taken[1] > 100, "{taken:?}");
    let long = Expr::current(&Tensor::ones(&[1 << 10, 1 << 9]).unwrap());
    assert!(evaluate(&long.matmul(long.t())).is_none());
}

#[test]
fn a_reduction_or_product_of_what_has_changed_or_is_in_use_is_left_to_the_plan() {
    let x = Tensor::ones(&[300]).unwrap();
    for of in [|x: Expr| x.sum(0), |x: Expr| x.matmul(&x)] {
        let (captured, current) = (of(Expr::from(&x)), of(Expr::current(&x)));
        assert!(evaluate(&captured).is_some());
        let writing = x.storage().try_write();
        assert!(evaluate(&current).is_none());
        drop(writing);
        x.add_(1).unwrap();
        assert!(evaluate(&captured).is_none() && evaluate(&current).is_some());
    }
    assert!(evaluate(&Expr::current(&Tensor::ones(&[1 << 20]).unwrap()).sum(0)).is_none());
}

#[test]
fn what_is_in_use_or_has_changed_is_left_to_the_plan() {
    let x = Tensor::ones(&[3]).unwrap();
    let captured = Expr::from(&x) + 1.0;
    assert!(evaluate(&captured).is_some());
    let own = ReadyOperand::Tensor(&x, None);
    assert!(apply_into(Op::Neg, &[own], &x).is_some());
    assert!(evaluate(&captured).is_none());
    assert!(apply_into(Op::Add, &[own, own], &x).is_some());
    let writing = x.storage().try_write();
    assert!(apply(Op::Add, &[own, own]).is_none());
    drop(writing);
    assert!(apply(Op::Add, &[own, own]).is_some());
    let sum = Expr::current(&x) + 1.0;
    let version = x.storage().version();
    let writing = x.storage().try_write();
    assert!(evaluate_into(&sum, &x).is_none() && x.storage().version() == version);
    drop(writing);
    assert!(evaluate_into(&sum, &x).is_some() && x.storage().version() == version + 1);
    assert!(evaluate_into(&sum, &Tensor::ones(&[1, 3]).unwrap()).is_none());
    assert!(evaluate_into(&sum, &Tensor::ones(&[3]).unwrap()).is_some());
}

/// Nodes are evaluated one after the other, each of them apart from writes of other threads.
#[test]
fn a_formula_has_the_value_of_one_moment() {
    let x = Tensor::zeros(&[5]).unwrap();
    let now = || Expr::current(&x);
    std::thread::scope(|scope| {
        let add = || (0..2000).for_each(|_| (now() * 1.0 + 1.0).eval_into(&x).unwrap());
        let writers = [scope.spawn(add), scope.spawn(add)];
        while !writers.iter().all(|writer| writer.is_finished()) {
            let zero = (now() * 2.0 - now() - now()).eval().unwrap();
            assert_eq!(zero.to_vec::<f32>().unwrap(), [0.0; 5]);
        }
    });
    assert_eq!(x.to_vec::<f32>().unwrap(), [4000.0; 5], "no write is lost");
}

#[test]
fn conversions_do_not_depend_on_how_many_there_are() {
    let special =
        [f64::NAN, f64::INFINITY, -f64::INFINITY, -0.0, 1e-9, -2.5, 3.7, 300.6, -40_000.9, 3e9, -1e19, 1e300];
    for (from, to) in DType::ALL.into_iter().flat_map(|from| DType::ALL.map(|to| (from, to))) {
        let numbers = sequence(300, DType::F64, |i| special[i as usize % special.len()] + f64::from(i / 12));
        let x = numbers.to_dtype(from).unwrap();
        let all = bytes_of(&x.to_dtype(to).unwrap()).2;
        let few = |start| bytes_of(&x.narrow(0, start, 30).unwrap().to_dtype(to).unwrap()).2;
        let parts = (0..10).flat_map(|part| few(30 * part));
        assert!(all == parts.collect::<Vec<u8>>(), "{from:?} to {to:?}");
    }
}
