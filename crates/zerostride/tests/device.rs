//! Tensors on emulated GPUs: the bits of the CPU, PyTorch's rules, and refusals by name of what has no
//! kernel. Each test has a process of its own.

use std::ops::ControlFlow;

use zerostride::io::{self, Source};
use zerostride::stream::{InMemory, Options, Passes, Progress, eval_all_to};
use zerostride::{
    Argument, Arguments, Category, Complex64, DType, Device, Error, Expr, Plan, Result, Slice, Tensor, call,
    cat, eval_all, keepdim, move_all, tensor,
};
use zerostride_emulator::emulated;
use zerostride_ops::Reduction;

/// The value of a formula of tensors on a GPU has the bits and the layout that it has on the CPU.
fn assert_same(operands: &[Tensor], formula: impl Fn(&[Tensor]) -> Result<Tensor>) {
    let wanted = formula(operands).unwrap();
    let moved: Vec<Tensor> = operands.iter().map(|x| x.cuda().unwrap()).collect();
    for (moved, own) in moved.iter().zip(operands) {
        assert_eq!((moved.device(), moved.strides()), (Device::Cuda(0), own.clone().strides()));
    }
    let found = formula(&moved).unwrap();
    assert_eq!(found.device(), Device::Cuda(0));
    assert_eq!(
        (found.dtype(), found.shape(), found.strides()),
        (wanted.dtype(), wanted.shape(), wanted.strides())
    );
    assert_eq!(bits(&found), bits(&wanted));
}

/// The bits of each element, of which all NaNs have the same.
fn bits(x: &Tensor) -> Vec<u64> {
    let elements = x.cpu().unwrap().to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
    elements.into_iter().map(|element| if element.is_nan() { 1 } else { element.to_bits() }).collect()
}

fn matrix(rows: usize, columns: usize) -> Tensor {
    (Tensor::rand(&[rows, columns], 7).unwrap() * 8.0 - 4.0).eval().unwrap()
}

#[test]
fn elements_go_to_a_device_and_come_back_in_their_layout() {
    emulated(&[], || {
        let x = matrix(3, 5);
        for x in [
            x.alias(),
            x.t().unwrap(),
            x.select(0, 1).unwrap(),
            x.expand(&[2, 3, 5]).unwrap(),
            Tensor::zeros(&[0, 3]).unwrap(),
            tensor![true].reshape(&[]).unwrap(),
        ] {
            let moved = x.cuda().unwrap();
            assert_eq!(
                (moved.device(), moved.shape(), moved.dtype()),
                (Device::Cuda(0), x.shape(), x.dtype())
            );
            assert_eq!(moved.cpu().unwrap().to_string(), x.to_string());
            let again = moved.to(Device::Cuda(1)).unwrap();
            assert_eq!(again.device(), Device::Cuda(1));
            let back = again.cpu().unwrap();
            assert!(back.eq(&x).unwrap().all(..).unwrap().item::<bool>().unwrap());
            assert_eq!(back.strides(), x.clone_elements().unwrap().strides());
        }
        let moved = x.cuda().unwrap();
        assert!(moved.cuda().unwrap().shares_storage(&moved));
        assert_eq!(moved.at::<f32>(&[1, 2]).unwrap(), x.at::<f32>(&[1, 2]).unwrap());
    });
}

#[test]
fn element_wise_formulas_have_the_bits_of_the_cpu() {
    emulated(&[], || {
        let (x, row, column) = (matrix(7, 12), matrix(1, 12), matrix(7, 1));
        assert_same(&[x.alias(), row.alias(), column.alias()], |x| (&x[0] + &x[1] * &x[2]).eval());
        assert_same(&[x.alias(), row.alias()], |x| (Expr::from(x[0].t()?).exp() - x[1].t()?).eval());
        assert_same(&[x.alias()], |x| x[0].sin());
        assert_same(&[x.alias()], |x| (Expr::from(&x[0]).sigmoid() * 0.5).to_dtype(DType::BF16).eval());
        assert_same(&[x.alias()], |x| x[0].where_(&x[0].gt(0.5)?, 2));
        assert_same(&[x.to_dtype(DType::I32).unwrap()], |x| x[0].floor_divide(3));
        assert_same(&[x.slice(1, Slice { start: Some(1), stop: None, step: 3 }).unwrap()], |x| {
            x[0].mul(&x[0])
        });
        let complex = x.to_dtype(DType::C64).unwrap();
        assert_same(&[complex], |x| (&x[0] * &x[0]).eval()?.real());
    });
}

#[test]
fn integers_are_divided_unless_one_is_by_zero() {
    emulated(&[], || {
        for dtype in [DType::U8, DType::I16, DType::U32, DType::I64] {
            let x = (matrix(9, 130) * 1000).eval().unwrap().to_dtype(dtype).unwrap();
            let y = (x.t().unwrap().reshape(&[9, 130]).unwrap().bitwise_or(1)).unwrap();
            let column = y.slice(1, Slice::from(..1)).unwrap();
            assert_same(&[x.alias(), y.alias()], |x| x[0].floor_divide(&x[1]));
            assert_same(&[x.alias(), y.alias()], |x| (Expr::from(&x[0]).fmod(&x[1]) + &x[1]).sum(0).eval());
            assert_same(&[x.alias(), column], |x| (Expr::from(&x[0]).remainder(&x[1]) % 7).eval());
            let [x, y] = [x, y].map(|x| x.cuda().unwrap());
            let zeros = y.sub(&y).unwrap();
            let formulas = [
                Expr::from(&x).floor_divide(&zeros) + 1,
                Expr::from(&x).fmod(Expr::from(&y) * &zeros),
                Expr::from(&x).remainder(&zeros).sum(1),
                Expr::from(7).floor_divide(Expr::from(&zeros).sum(1)),
                (Expr::from(&x) % &y)
                    .floor_divide(y.sum(keepdim(1)).unwrap().sub(y.sum(keepdim(1)).unwrap()).unwrap()),
            ];
            for formula in formulas {
                assert!(matches!(formula.eval().unwrap_err().root(), Error::ZeroDivision), "{dtype}");
            }
            assert!(matches!(x.remainder_(&zeros).unwrap_err().root(), Error::ZeroDivision));
        }
    });
}

#[test]
fn products_of_matrices_have_the_bits_of_the_cpu() {
    emulated(&[], || {
        let dtypes = [DType::U8, DType::I32, DType::I64, DType::F16, DType::BF16];
        let floats = [DType::F32, DType::F64, DType::C64, DType::C128];
        for dtype in dtypes.into_iter().chain(floats) {
            let of = |rows, columns| matrix(rows, columns).to_dtype(dtype).unwrap();
            let (x, y) = (of(35, 133), of(133, 21));
            assert_same(&[x.alias(), y.alias()], |x| x[0].matmul(&x[1]));
            assert_same(&[x.t().unwrap(), y.t().unwrap()], |x| x[0].t()?.matmul(&x[1].t()?));
            let (tall, row) = (of(70, 260), of(1, 260));
            assert_same(&[tall.alias(), row.select(0, 0).unwrap()], |x| x[0].matmul(&x[1]));
            assert_same(&[row.select(0, 0).unwrap(), tall.t().unwrap()], |x| x[0].matmul(&x[1]));
            assert_same(&[row.select(0, 0).unwrap()], |x| x[0].matmul(&x[0]));
            let batch = of(6, 35).reshape(&[2, 3, 5, 7]).unwrap();
            assert_same(&[batch.alias(), of(14, 4).reshape(&[2, 1, 7, 4]).unwrap()], |x| x[0].matmul(&x[1]));
            assert_same(&[batch, of(7, 4)], |x| x[0].flip(&[0, 3])?.matmul(&x[1]));
            assert_same(&[of(3, 0), of(0, 2)], |x| x[0].matmul(&x[1]));
            assert_same(&[of(0, 3), of(3, 2)], |x| x[0].matmul(&x[1]));
        }
        let (x, w, bias) = (matrix(9, 40), matrix(5, 40), matrix(1, 5));
        assert_same(&[x.alias(), w.alias(), bias], |x| {
            (Expr::from(&x[0]).exp().matmul(x[1].t()?) + &x[2]).sigmoid().sum(0).eval()
        });
        assert_same(&[x.alias(), w.alias()], |x| zerostride::einsum("ij,kj->ki", [&x[0], &x[1]]).eval());
        let loss = |x: &[Tensor]| Expr::from(&x[0]).matmul(x[1].t().unwrap()).square().sum(..);
        for place in [0, 1] {
            assert_same(&[x.alias(), w.alias()], |x| {
                loss(x).grad(&[&x[0], &x[1]])?.swap_remove(place).eval()
            });
        }
    });
}

#[test]
fn views_share_the_memory_of_a_device() {
    emulated(&[], || {
        let x = matrix(4, 6);
        let moved = x.cuda().unwrap();
        for view in [
            |x: &Tensor| x.t(),
            |x: &Tensor| x.select(0, 2),
            |x: &Tensor| x.reshape(&[2, 12]),
            |x: &Tensor| x.unsqueeze(1)?.expand(&[4, 3, 6]),
        ] {
            let (wanted, found) = (view(&x).unwrap(), view(&moved).unwrap());
            assert!(found.shares_storage(&moved));
            assert_eq!(found.cpu().unwrap().to_string(), wanted.to_string());
            assert_eq!(found.add(1).unwrap().cpu().unwrap().to_string(), wanted.add(1).unwrap().to_string());
        }
    });
}

#[test]
fn reductions_have_the_bits_of_the_cpu() {
    emulated(&[], || {
        let x = matrix(9, 1500);
        let dims: [&[isize]; 3] = [&[0], &[1], &[0, 1]];
        for dims in dims {
            assert_same(&[x.alias()], |x| x[0].sum(dims));
            assert_same(&[x.alias()], |x| x[0].amax(dims));
            assert_same(&[x.alias()], |x| x[0].amin(dims));
            assert_same(&[x.alias()], |x| x[0].mean(dims));
            assert_same(&[x.to_dtype(DType::F16).unwrap()], |x| x[0].sum(dims));
            assert_same(&[x.to_dtype(DType::I8).unwrap()], |x| x[0].sum(dims));
            assert_same(&[x.to_dtype(DType::I16).unwrap()], |x| x[0].amin(dims));
            assert_same(&[x.gt(3.9).unwrap()], |x| x[0].any(dims));
            assert_same(&[x.gt(-3.9).unwrap()], |x| x[0].all(dims));
            assert_same(&[x.gt(0).unwrap()], |x| x[0].sum(dims));
            assert_same(&[x.t().unwrap()], |x| x[0].square()?.sum(dims));
        }
        let complex = (x.to_dtype(DType::C64).unwrap() * Complex64::new(1.0, 2.0)).eval().unwrap();
        assert_same(&[complex], |x| x[0].sum([1])?.imag());
        assert_same(&[Tensor::zeros(&[0, 3]).unwrap()], |x| x[0].sum([0]));
        assert_same(&[Tensor::zeros(&[3, 0]).unwrap()], |x| x[0].sum([0]));
    });
}

/// Whatever the CPU reduces, of whatever dtype, by the table.
#[test]
fn every_reduction_has_a_kernel_with_the_bits_of_the_cpu() {
    emulated(&[], || {
        let x = (matrix(3, 130) * 10).eval().unwrap();
        let mut reduced = 0;
        for (op, dtype) in Reduction::ALL.iter().flat_map(|&op| DType::ALL.map(|dtype| (op, dtype))) {
            let of = |x: &Tensor, dim: i64| {
                let positional = vec![Argument::Expr(x.into()), dim.into()];
                let part = call(op.op(), Arguments { positional, named: Vec::new() })?.eval()?;
                if part.dtype().category() == Category::Complex { part.real() } else { Ok(part) }
            };
            let x = x.to_dtype(dtype).unwrap();
            // What the CPU refuses is no kernel's business.
            if of(&x, 1).is_ok() {
                reduced += 1;
                assert_same(&[x.alias()], |x| of(&x[0], 1));
                assert_same(&[x.t().unwrap()], |x| of(&x[0], 0));
            }
        }
        assert!(reduced > 80, "only {reduced} of the reductions and dtypes");
    });
}

#[test]
fn variances_and_products_have_the_bits_of_the_cpu() {
    emulated(&[], || {
        for count in [0, 1, 15, 16, 17, 100, 127, 128, 200, 1023, 1024, 1500, 5000] {
            let rows = (matrix(3, count) * 100.0 + 1000.0).eval().unwrap();
            for x in [rows.alias(), rows.t().unwrap()] {
                let dim = if x.shape()[0] == 3 { 1 } else { 0 };
                for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128] {
                    let mut x = x.to_dtype(dtype).unwrap();
                    if dtype.category() == Category::Complex {
                        x = (Expr::from(&x) * Complex64::new(0.01, 0.02)).eval().unwrap();
                        assert_same(&[x.alias()], |x| x[0].prod([dim])?.real());
                        assert_same(&[x.alias()], |x| x[0].prod([dim])?.imag());
                    }
                    assert_same(&[x.alias()], |x| x[0].var([dim]));
                    assert_same(&[x], |x| x[0].square()?.std([dim]));
                }
            }
        }
        let x = matrix(9, 300);
        assert_same(&[x.alias()], |x| Expr::from(&x[0]).var_corrected(.., 0.5).eval());
        for special in [f64::NAN, f64::INFINITY, 1e308] {
            let x = x.to_dtype(DType::F64).unwrap();
            x.select(1, 140).unwrap().fill_(special).unwrap();
            x.select(1, 3).unwrap().fill_(-special).unwrap();
            assert_same(&[x.alias()], |x| x[0].var([1]));
            assert_same(&[x.to_dtype(DType::F32).unwrap()], |x| x[0].var([1]));
        }
    });
}

#[test]
fn the_first_of_the_most_extreme_elements_is_found() {
    emulated(&[], || {
        // Few values, so that most extremes are there several times.
        let x = matrix(5, 1500).round().unwrap();
        let dtypes = [DType::F16, DType::F32, DType::F64, DType::I8, DType::I32, DType::I64, DType::U64];
        for dtype in dtypes {
            let x = x.abs().unwrap().to_dtype(dtype).unwrap();
            for dim in [0, 1] {
                assert_same(&[x.alias()], |x| x[0].argmax([dim]));
                assert_same(&[x.alias()], |x| x[0].argmin([dim]));
            }
            assert_same(&[x.alias()], |x| x[0].argmax(..));
            assert_same(&[x.slice(1, Slice { start: Some(0), stop: Some(90), step: 1 }).unwrap()], |x| {
                x[0].argmin([1])
            });
        }
        assert_same(&[x.neg().unwrap().to_dtype(DType::I64).unwrap()], |x| x[0].argmax([1]));
        for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for (first, last) in [(0, 1499), (17, 1100), (700, 701)] {
                let x = x.contiguous().unwrap().clone_elements().unwrap();
                x.select(1, last).unwrap().fill_(special).unwrap();
                x.select(1, first).unwrap().fill_(special).unwrap();
                assert_same(&[x.alias()], |x| x[0].argmax([1]));
                assert_same(&[x.alias()], |x| x[0].argmin([1]));
            }
            let all = Tensor::full(&[2, 300], special, DType::F32).unwrap();
            assert_same(&[all.alias()], |x| x[0].argmax([1]));
            assert_same(&[all], |x| x[0].argmin([1]));
        }
        let most = Tensor::full(&[3, 40], i64::MIN, DType::I64).unwrap();
        assert_same(&[most], |x| x[0].argmax([1]));
        assert_same(&[matrix(4, 70)], |x| Expr::from(&x[0]).exp().argmax(1).add(1).eval());
    });
}

#[test]
fn fused_reductions_of_pairs_and_softmax_have_the_bits_of_the_cpu() {
    emulated(&[], || {
        let (a, b) = (matrix(20, 3), matrix(33, 3));
        let distances =
            |x: &[Tensor]| Ok::<_, Error>((x[0].unsqueeze(1)? - x[1].unsqueeze(0)?).square().sum(-1));
        assert_same(&[a.alias(), b.alias()], |x| distances(x)?.eval());
        assert_same(&[a, b], |x| distances(x)?.neg().exp().sum(1).eval());
        let x = matrix(6, 300);
        for dim in [0, 1] {
            assert_same(&[x.alias()], |x| x[0].softmax(dim));
            assert_same(&[x.alias()], |x| x[0].log_softmax(dim));
        }
        let several = |x: &Tensor| {
            let exp = Expr::from(x).exp();
            eval_all(&[exp.sum(1), &exp / exp.sum(0), exp.sum(1)])
        };
        let (found, wanted) = (several(&x.cuda().unwrap()).unwrap(), several(&x).unwrap());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found.cpu().unwrap().to_string(), wanted.to_string());
            assert_eq!(found.device(), Device::Cuda(0));
        }
    });
}

#[test]
fn functions_of_views_and_copies_run_on_the_device() {
    emulated(&[], || {
        let x = matrix(4, 6);
        assert_same(&[x.alias(), x.square().unwrap()], |x| cat(&[&x[0], &x[1]], 1));
        assert_same(&[x.alias()], |x| x[0].repeat(&[2, 3]));
        assert_same(&[x.alias()], |x| x[0].roll(&[1], &[0]));
        assert_same(&[x.alias()], |x| x[0].tril(0));
        assert_same(&[x.alias()], |x| x[0].flip(&[0, 1])?.contiguous());
        assert_same(&[x], |x| x[0].t()?.reshape(&[-1]));
    });
}

#[test]
fn gradients_are_computed_on_the_device() {
    emulated(&[], || {
        let gradient = |x: &Tensor| {
            let loss = (Expr::from(x).tanh() * x).sum(..);
            loss.grad(&[x]).unwrap()[0].eval().unwrap()
        };
        let x = matrix(5, 40);
        assert_eq!(bits(&gradient(&x.cuda().unwrap())), bits(&gradient(&x)));
    });
}

#[test]
fn in_place_methods_write_on_the_device() {
    emulated(&[], || {
        let write = |x: &Tensor| {
            x.add_(1).unwrap();
            x.select(0, 1).unwrap().mul_(x.select(0, 2).unwrap()).unwrap();
            x.add_(x.t().unwrap().clone()).unwrap();
            Expr::from(x).sub(x.t().unwrap()).eval_into(x).unwrap();
            x.slice(1, Slice { start: None, stop: None, step: 2 }).unwrap().fill_(3).unwrap();
            let out = x.add(0).unwrap();
            (Expr::from(x) * 2).sum(0).eval_into(&out.select(0, 0).unwrap()).unwrap();
            x.copy_(&out).unwrap();
        };
        let (x, moved) = (matrix(4, 4), matrix(4, 4).cuda().unwrap());
        let captured = Expr::from(&moved) + 1;
        write(&x);
        write(&moved);
        assert_eq!(moved.cpu().unwrap().to_string(), x.to_string());
        assert!(matches!(captured.eval().unwrap_err().root(), Error::Modified { .. }));
    });
}

#[test]
fn a_copy_crosses_from_one_device_to_another() {
    emulated(&[], || {
        let x = matrix(4, 6);
        let places = [Device::Cpu, Device::Cuda(0), Device::Cuda(1)];
        for (from, to) in places.iter().flat_map(|from| places.map(|to| (*from, to))) {
            let copy = |source: &Tensor, target: &Tensor| {
                // Rows are stretched, numbers are converted, and a view is written to.
                let part =
                    target.t().unwrap().slice(1, Slice { start: Some(1), stop: None, step: 2 }).unwrap();
                part.copy_(source.select(0, 1).unwrap().unsqueeze(1).unwrap()).unwrap();
                target.select(0, 0).unwrap().copy_(source.select(0, 3).unwrap().flip(&[0]).unwrap()).unwrap();
                target.select(0, 2).unwrap().copy_(source.sum(..).unwrap()).unwrap();
            };
            for dtype in [DType::F32, DType::F64, DType::I16, DType::Bool] {
                let (source, wanted) = (x.to(from).unwrap(), Tensor::ones(&[4, 6]).unwrap());
                let wanted = wanted.to_dtype(dtype).unwrap();
                let target = wanted.clone_elements().unwrap().to(to).unwrap();
                copy(&source, &target);
                copy(&x, &wanted);
                assert_eq!((target.device(), bits(&target)), (to, bits(&wanted)), "{from} to {to}");
            }
        }
        let (row, moved) = (matrix(1, 6).select(0, 0).unwrap(), x.cuda().unwrap());
        let message = |done: Result<()>| done.unwrap_err().root().to_string();
        assert_eq!(message(moved.t().unwrap().copy_(&row)), message(x.t().unwrap().copy_(&row)));
        assert_eq!(
            message(moved.expand(&[2, 4, 6]).unwrap().copy_(&row)),
            message(x.expand(&[2, 4, 6]).unwrap().copy_(&row))
        );
    });
}

#[test]
fn expressions_are_moved_with_their_tensors() {
    emulated(&[], || {
        let (x, y) = (matrix(3, 4), matrix(3, 1));
        let common = Expr::from(&x.cuda().unwrap()) * &y;
        let exprs = [common.sum(0), &common + 1, Expr::from(2)];
        let moved = move_all(&exprs, Device::Cuda(0)).unwrap();
        let wanted = (Expr::from(&x) * &y).sum(0).eval().unwrap();
        assert_eq!(bits(&moved[0].eval().unwrap()), bits(&wanted));
        assert_eq!(moved[1].eval().unwrap().device(), Device::Cuda(0));
        assert_eq!(move_all(&exprs, Device::Cpu).unwrap()[0].eval().unwrap().device(), Device::Cpu);
        y.fill_(0).unwrap();
        assert!(matches!(move_all(&exprs, Device::Cuda(0)).unwrap_err().root(), Error::Modified { .. }));
    });
}

#[test]
fn operands_on_different_devices_are_pytorchs_error() {
    emulated(&[], || {
        let x = tensor![1.0, 2.0];
        let (first, second) = (x.cuda().unwrap(), x.to(Device::Cuda(1)).unwrap());
        let message = |error: Error| error.root().to_string();
        let wanted =
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and";
        assert_eq!(message(first.add(&x).unwrap_err()), format!("{wanted} cpu!"));
        assert_eq!(message(x.add(&first).unwrap_err()), format!("{wanted} cpu!"));
        assert_eq!(message(first.add(&second).unwrap_err()), format!("{wanted} cuda:1!"));
        assert_eq!(message(first.add_(&x).unwrap_err()), format!("{wanted} cpu!"));
        assert_eq!(message(x.add_(&first).unwrap_err()), format!("{wanted} cpu!"));
        // Without dimensions a tensor on the CPU is a number.
        let number = tensor![3.0].reshape(&[]).unwrap();
        assert_eq!(first.mul(&number).unwrap().to_vec::<f32>().unwrap(), [3.0, 6.0]);
        assert_eq!(number.sub(&first).unwrap().to_vec::<f32>().unwrap(), [2.0, 1.0]);
        assert_eq!(message(number.add_(first.select(0, 0).unwrap()).unwrap_err()), format!("{wanted} cpu!"));
    });
}

#[test]
fn what_has_no_kernel_is_refused_by_name() {
    emulated(&[], || {
        let x = matrix(4, 4).cuda().unwrap();
        let i = tensor![4, 6].cuda().unwrap();
        let refused: [(Result<Tensor>, &str); 2] = [(i.gcd(&i), "gcd"), (x.cumsum(0), "cumsum")];
        for (result, name) in refused {
            let error = result.unwrap_err();
            let wanted = format!("{name} has no kernel for cuda:0; move its operands with .cpu()");
            assert_eq!(error.root().to_string(), wanted);
        }
        let (sort, index) =
            (x.sort(0, false).map(drop), x.index_select(0, &tensor![1, 3].cuda().unwrap()).map(drop));
        for (result, name) in [(sort, "sort"), (index, "indexing")] {
            let wanted = format!("{name} has no kernel for cuda:0; move its operands with .cpu()");
            assert_eq!(result.unwrap_err().root().to_string(), wanted);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.npy");
        io::save(&path, &matrix(4, 4)).unwrap();
        let beside = (Expr::from(&Source::open(&path).unwrap()) + &x).eval().unwrap_err();
        let wanted = "evaluation of files has no kernel for cuda:0; move its operands with .cpu()";
        assert_eq!(beside.root().to_string(), wanted);
        assert!(x.add(1).is_ok());
    });
}

/// Formulas of a matrix and a row, whose rows are followed in each way, or cannot be.
type Formula = fn(&Expr, &Expr) -> Expr;

#[rustfmt::skip]
const IN_PIECES: [(&str, Formula); 20] = [
    ("map", |x, row| x * row + 1),
    ("rows", |x, _| x.sum(1)),
    ("columns", |x, _| x.sum(0)),
    ("long rows", |x, _| (x.unsqueeze(2).expand(&[40, 12, 100]) * 1.5).exp().var([1, 2])),
    ("number", |x, _| x.var(..)),
    ("kept dimensions", |x, row| x.amax(keepdim(1)) - row),
    ("standardised", |x, _| (x - x.mean(0)) / x.std(0)),
    ("standardised twice", |x, _| { let z = (x - x.mean(0)) / x.std(0); &z - z.sum(0) }),
    ("layer norm", |x, _| (x - x.mean(keepdim(1))) / x.std(keepdim(1))),
    ("softmax of rows", |x, _| x.softmax(1)),
    ("softmax of columns", |x, _| x.softmax(0)),
    ("search", |x, _| x.argmax(0) + x.argmin(0)),
    ("complex", |x, _| (x.to_dtype(DType::C64) * Complex64::new(1.0, 2.0)).sum(1).imag()),
    ("division", |x, _| { let n = (x.abs() + 1).to_dtype(DType::I32); (&n * 7).floor_divide(&n).sum(1) }),
    ("product", |x, _| x.matmul(x.t())),
    ("product of sums", |x, _| (x + 1).exp().matmul(x.sum(0))),
    ("transposed", |x, _| x.exp().t() + 1),
    ("finer rows", |x, _| (x.exp().reshape(&[80, 6]) + 1).sum(1)),
    ("diagonal", |x, _| x.matmul(x.t()).diagonal(0, 0, 1) + 1),
    ("slices", |x, _| x.narrow(0, 1, 39) - x.flip(&[0]).narrow(0, 0, 39)),
];

#[test]
fn pieces_on_a_device_have_the_bits_and_the_layout_of_the_whole() {
    emulated(&[], || {
        let (x, row) = (matrix(40, 12), matrix(1, 12));
        let there = [&x, &row].map(|x| Expr::from(&x.cuda().unwrap()));
        for (name, formula) in IN_PIECES {
            let wanted = formula(&Expr::from(&x), &Expr::from(&row)).eval().unwrap();
            let formula = formula(&there[0], &there[1]);
            for rows in [1, 7, 100] {
                let found = formula.eval_with(Options::new().piece_rows(rows)).unwrap();
                assert_eq!((found.device(), found.strides()), (Device::Cuda(0), wanted.strides()), "{name}");
                assert_eq!(bits(&found), bits(&wanted), "{name} in pieces of {rows} rows");
            }
        }
    });
}

#[test]
fn an_evaluation_takes_no_more_memory_of_a_device_than_it_says_and_may() {
    const ALL: usize = 1 << 20;
    emulated(&[("ZEROSTRIDE_EMULATOR_MEMORY", "1048576")], || {
        let (x, row) = (matrix(40, 12), matrix(1, 12));
        let there = [&x, &row].map(|x| Expr::from(&x.cuda().unwrap()));
        let free = ALL - 4 * (x.numel() + row.numel());
        for (name, formula) in IN_PIECES {
            let wanted = bits(&formula(&Expr::from(&x), &Expr::from(&row)).eval().unwrap());
            let formula = [formula(&there[0], &there[1])];
            let mut taken = Vec::new();
            let mut passes = Passes::of_in_memory(&formula, None);
            let refused = loop {
                let Ok(found) = &passes else { break passes.unwrap_err() };
                let memory = found.memory();
                // No more than that is left.
                let other = Tensor::zeros(&[free - memory as usize]).unwrap().to_dtype(DType::U8);
                let other = other.unwrap().cuda().unwrap();
                assert_eq!(bits(&found.run(None).unwrap()), wanted, "{name} in {memory} bytes");
                drop(other);
                taken.push(memory);
                passes = Passes::of_in_memory(&formula, Some(memory - 1));
            };
            assert!(matches!(refused.root(), Error::Memory { .. }), "{name}: {refused}");
            assert!(taken.windows(2).all(|two| two[1] < two[0]), "{name}: {taken:?}");
            if name.starts_with("softmax") {
                assert!(taken.len() > 3 && taken[taken.len() - 1] < taken[0] * 3 / 5, "{name}: {taken:?}");
            }
        }
    });
}

#[test]
fn reductions_over_pairs_in_tiles_have_the_bits_of_the_cpu() {
    emulated(&[], || {
        // Fewer lines than a tile has, and more; elements beyond one accumulator's.
        for (rows, columns, depth) in [(16, 16, 1), (17, 70, 3), (70, 33, 40), (15, 40, 4), (20, 20, 130)] {
            for (dtype, batch) in [(DType::F32, &[][..]), (DType::F64, &[3]), (DType::F16, &[])] {
                let of = |lines: usize| {
                    let x = Tensor::rand(&[batch, &[lines, depth]].concat(), lines as u64).unwrap();
                    (x * 8.0 - 4.0).to_dtype(dtype).eval().unwrap()
                };
                let (a, b) = (of(rows), of(columns).flip(&[-1]).unwrap());
                let reductions = |a: &Tensor, b: &Tensor| {
                    let (a, b) = (Expr::from(a).unsqueeze(-2), Expr::from(b).unsqueeze(-3));
                    let apart = &b - &a;
                    [
                        apart.square().sum(-1),
                        (-apart.abs().sum(-1)).exp(),
                        (&a * &b).amax(-1),
                        (&a / (&b * &b)).amin(-1),
                        apart.prod(-1),
                        a.gt(&b).all(-1),
                        apart.var(-1),
                        apart.argmax(-1),
                    ]
                };
                let (there, here) = (reductions(&a.cuda().unwrap(), &b.cuda().unwrap()), reductions(&a, &b));
                for (found, wanted) in there.iter().zip(&here) {
                    let [found, wanted] = [found, wanted].map(|expr| bits(&expr.eval().unwrap()));
                    assert_eq!(found, wanted, "{rows} x {columns} x {depth} {dtype}");
                }
            }
        }
    });
}

#[test]
fn a_table_of_pairs_is_no_larger_on_a_device_than_its_cache() {
    emulated(&[("ZEROSTRIDE_EMULATOR_CACHE", "8192")], || {
        let (a, b) = (matrix(120, 16), matrix(100, 16));
        let sums = |a: &Tensor, b: &Tensor| {
            let distances = (Expr::from(&a.unsqueeze(1).unwrap()) - b).square().sum(-1);
            [(-&distances).exp().sum(1), distances.softmax(1).amax(1)]
        };
        let there = sums(&a.cuda().unwrap(), &b.cuda().unwrap());
        for (found, wanted) in there.iter().zip(&sums(&a, &b)) {
            assert_eq!(bits(&found.eval().unwrap()), bits(&wanted.eval().unwrap()));
            let memory = Passes::of_in_memory(std::slice::from_ref(found), None).unwrap().memory();
            assert!(memory < 8192 + 4 * 120, "{memory}");
        }
    });
}

#[test]
fn a_limit_on_a_device_is_told_with_what_needs_more() {
    emulated(&[], || {
        let x = Expr::from(&matrix(40, 12).cuda().unwrap());
        let message = |formula: &Expr, limit| {
            let error = formula.eval_with(Options::new().max_memory(limit)).unwrap_err();
            error.root().to_string()
        };
        let allowed =
            |needed, limit| format!("{needed} bytes of memory are needed, and {limit} may be taken: ");
        assert_eq!(
            message(&x.exp(), 1919),
            allowed(1920, 1919) + "the result (1920 bytes) stays on cuda:0; allow more memory"
        );
        let (exp, columns) = ("exp(a - amax(a, (1), keepdim=True))", "(1), keepdim=True");
        let softmax = format!("{exp} / sum({exp}, {columns})");
        assert_eq!(
            message(&x.softmax(1), 1950),
            allowed(1972, 1950)
                + &format!("{softmax} is computed 1 row at a time, which takes 52 bytes; allow more memory")
        );
        assert_eq!(
            message(&x.softmax(1).sum(..), 100),
            allowed(2084, 100)
                + &format!(
                    "sum({softmax}, (0, 1)) is computed at once, which takes 2080 bytes; allow more memory"
                )
        );
        assert_eq!(
            message(&(x.matmul(x.t()).diagonal(0, 0, 1) + 1), 6000),
            allowed(6560, 6000) + "a @ a.t() (6400 bytes) has to be on cuda:0 whole; allow more memory"
        );
        assert_eq!(
            message(&(x.exp().diagonal(0, 0, 1) + 1), 40),
            allowed(48, 40) + "at once the results take 48 bytes, and in pieces more; allow more memory"
        );
        assert_eq!(
            x.softmax(1).passes_in_memory(Some(2500)).unwrap().to_string(),
            format!(
                "on cuda:0 in 4 pieces of 10 rows: {softmax}\nreads 0 bytes; result 1920 bytes, memory at most 2440 bytes"
            )
        );
    });
}

#[test]
fn results_of_a_device_are_written_where_the_program_says() {
    emulated(&[], || {
        let x = matrix(40, 12);
        let (mut sums, mut told) = (InMemory::default(), 0);
        let mut watch = |progress: Progress| {
            told += 1;
            assert!(progress.written <= progress.to_write);
            ControlFlow::Continue(())
        };
        let options = Options::new().piece_rows(10).watch(&mut watch);
        eval_all_to(&[Expr::from(&x.cuda().unwrap()).sum(1)], &mut [&mut sums], options).unwrap();
        assert_eq!(told, 5);
        let sums = sums.into_tensor().unwrap();
        assert_eq!((sums.device(), bits(&sums)), (Device::Cpu, bits(&x.sum(1).unwrap())));
        let there = Expr::from(&x.cuda().unwrap());
        let results = Passes::of_in_memory(&[there.exp(), there.exp(), there.clone()], Some(6000)).unwrap();
        let results = results.run_all(None).unwrap();
        assert!(!results[0].shares_storage(&results[1]));
        assert!(results.iter().all(|result| !result.shares_storage(there.as_tensor().unwrap())));
        let stop = &mut |_: Progress| ControlFlow::Break(());
        let stopped = there.exp().eval_with(Options::new().max_memory(2000).watch(stop)).unwrap_err();
        assert!(matches!(stopped.root(), Error::Interrupted));
    });
}

#[test]
fn a_device_without_memory_refuses_and_goes_on() {
    emulated(&[("ZEROSTRIDE_EMULATOR_MEMORY", "1000")], || {
        let x = Tensor::ones(&[100]).unwrap().cuda().unwrap();
        let error = x.unsqueeze(1).unwrap().add(&x).unwrap_err();
        assert_eq!(error.root().to_string(), "cannot allocate 40000 bytes for a tensor of shape [100, 100]");
        // The accumulators of 196 leaves.
        let error = x.expand(&[20, 100, 100]).unwrap().sum(..).unwrap_err();
        assert_eq!(
            error.root().to_string(),
            "cannot allocate 784 bytes that are needed to compute a tensor of shape []"
        );
        for _ in 0..10 {
            assert_eq!(x.add(1).unwrap().sum(..).unwrap().item::<f32>().unwrap(), 200.0);
        }
    });
}

#[test]
fn a_lost_device_refuses_everything_and_the_cpu_goes_on() {
    emulated(&[("ZEROSTRIDE_EMULATOR_LAUNCHES", "1")], || {
        let x = tensor![1.0, 2.0].cuda().unwrap();
        assert_eq!(x.add(1).unwrap().to_vec::<f32>().unwrap(), [2.0, 3.0]);
        let _ = x.add(1);
        for _ in 0..2 {
            let error = x.to_vec::<f32>().unwrap_err().to_string();
            assert!(error.starts_with("cuda:0: CUDA error: unspecified launch failure"), "{error}");
            assert!(x.add(1).is_err());
        }
        assert_eq!(tensor![1.0].add(1).unwrap().to_vec::<f32>().unwrap(), [2.0]);
    });
}

#[test]
fn threads_share_a_device() {
    emulated(&[], || {
        let x = matrix(8, 8).cuda().unwrap();
        let wanted = x.add(&x).unwrap().to_string();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| assert_eq!(x.add(&x).unwrap().to_string(), wanted)));
            }
        });
    });
}

#[test]
fn a_plan_runs_on_either_side() {
    emulated(&[], || {
        let x = matrix(3, 4);
        let template = (Expr::from(&x) * 2).plan().unwrap().template(&[&x]);
        let moved = template.run(&[&x.cuda().unwrap()]).unwrap();
        assert_eq!(moved.device(), Device::Cuda(0));
        assert_eq!(bits(&moved), bits(&template.run(&[&x]).unwrap()));
        let plan = Plan::of(&[Expr::from(&x.cuda().unwrap()).exp()]).unwrap();
        assert_eq!(bits(&plan.run().unwrap()), bits(&x.exp().unwrap()));
    });
}

#[test]
fn without_a_driver_nothing_else_is_affected() {
    emulated(&[("ZEROSTRIDE_CUDA", "no-such-driver")], || {
        let error = tensor![1].cuda().unwrap_err().to_string();
        assert!(error.starts_with("cuda:0: NVIDIA's driver cannot be used (no-such-driver): "), "{error}");
        assert_eq!(tensor![1].add(1).unwrap().to_vec::<i64>().unwrap(), [2]);
    });
}
