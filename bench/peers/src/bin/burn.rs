//! burn as a peer: its tensors on the CPU backend. Ranks are types in burn, so each formula is written for
//! one rank, and operands get leading sizes of 1 beforehand.

use std::cell::RefCell;
use std::rc::Rc;

use burn_tensor::activation::{gelu_approximate, softmax};
use burn_tensor::{DType, Device, Tensor, TensorData};
use zerostride_bench::{Case, Kind, Peer, Task, Values, serve, values};

struct Burn;

impl Peer for Burn {
    fn hello(&self) -> (String, String) {
        ("burn".into(), env!("VERSION_BURN_FLEX").into())
    }

    fn prepare(&mut self, task: &Task) -> Result<Case, String> {
        if !matches!(task.dtype, Kind::F32 | Kind::F64 | Kind::Bf16) {
            return Err("measured for floats only".into());
        }
        let rank = task.operands.iter().map(|operand| operand.shape.len()).max();
        match rank.unwrap_or(0) {
            1 => one(task),
            2 => two(task),
            3 => three(task),
            4 => four(task),
            _ => Err("no such rank here".into()),
        }
    }
}

/// An operand of a rank, in the task's dtype.
fn operand<const D: usize>(task: &Task, index: usize) -> Tensor<D> {
    let operand = &task.operands[index];
    let mut shape = vec![1; D - operand.shape.len()];
    shape.extend(&operand.shape);
    let values: Vec<f64> = values(index, operand.numel(), operand.low, operand.high);
    let (data, dtype) = match operand.dtype {
        Kind::F64 => (TensorData::new(values, shape), DType::F64),
        Kind::Bf16 => (narrowed(values, shape, |x| half::bf16::from_f32(x as f32)), DType::BF16),
        Kind::U8 => (narrowed(values, shape, |x| x.floor() as f32), DType::F32),
        _ => (narrowed(values, shape, |x| x as f32), DType::F32),
    };
    Tensor::from_data(data, (&Device::flex(), dtype))
}

fn narrowed<T: burn_tensor::Element>(values: Vec<f64>, shape: Vec<usize>, to: fn(f64) -> T) -> TensorData {
    TensorData::new(values.into_iter().map(to).collect::<Vec<T>>(), shape)
}

fn operands<const D: usize>(task: &Task) -> Rc<[Tensor<D>]> {
    (0..task.operands.len()).map(|index| operand(task, index)).collect()
}

fn read<const D: usize>(tensor: &Tensor<D>) -> Values {
    let elements = tensor.to_data().convert::<f64>().try_to_vec().expect("numbers");
    (tensor.dims().to_vec(), elements)
}

/// Computes values of a rank by a formula of operands of a rank; cloning a tensor copies no elements.
fn case<const D: usize, const R: usize>(
    task: &Task,
    formula: fn(&[Tensor<D>]) -> Tensor<R>,
) -> Result<Case, String> {
    let operands = operands::<D>(task);
    Ok(Case::fresh(move || formula(&operands), read))
}

fn one(task: &Task) -> Result<Case, String> {
    match task.formula.as_str() {
        "add" => case::<1, 1>(task, |t| t[0].clone() + t[1].clone()),
        _ => Err("no such function".into()),
    }
}

fn two(task: &Task) -> Result<Case, String> {
    match task.formula.as_str() {
        "add" => case::<2, 2>(task, |t| t[0].clone() + t[1].clone()),
        "add_scalar" => case::<2, 2>(task, |t| t[0].clone() + 2.5),
        "transposed" => case::<2, 2>(task, |t| t[0].clone() + t[1].clone().transpose()),
        "normalise" => {
            case::<2, 2>(task, |t| (t[0].clone() - t[1].clone()) / t[2].clone() * t[3].clone() + t[4].clone())
        }
        "gelu" => case::<2, 2>(task, |t| {
            let x = &t[0];
            let cube = x.clone() * x.clone() * x.clone();
            x.clone() * 0.5 * (((x.clone() + cube * 0.044715) * 0.79788456).tanh() + 1.0)
        }),
        "gelu_call" => case::<2, 2>(task, |t| gelu_approximate(t[0].clone())),
        "where" => {
            let (x, row) = (operand::<2>(task, 1), operand::<2>(task, 2));
            let values: Vec<bool> = values(0, task.operands[0].numel(), 0.0, 1.0);
            let data = TensorData::new(values, task.operands[0].shape.clone());
            let condition = Tensor::<2, burn_tensor::Bool>::from_data(data, &Device::flex());
            let dims = x.dims();
            // `mask_where` takes the other value where the condition is true.
            let compute =
                move || row.clone().expand(dims).mask_where(condition.clone().expand(dims), x.clone());
            Ok(Case::fresh(compute, read))
        }
        "exp_outer" => case::<2, 2>(task, |t| t[0].clone().exp() * t[1].clone().exp()),
        "add_in_place" => {
            let x = Rc::new(RefCell::new(operand::<2>(task, 0)));
            let row = operand::<2>(task, 1);
            let result = Rc::clone(&x);
            let add = move || x.borrow_mut().inplace(|x| x + row.clone());
            Ok(Case::in_place(add, move || read(&result.borrow())))
        }
        "sum_outer" => case::<2, 1>(task, |t| t[0].clone().sum_dim(0).squeeze_dim(0)),
        "sum_inner" => case::<2, 1>(task, |t| t[0].clone().sum_dim(1).squeeze_dim(1)),
        "layer_norm" => case::<2, 2>(task, |t| {
            let (var, mean) = t[0].clone().var_mean_bias(1);
            (t[0].clone() - mean) / (var + 1e-5).sqrt() * t[1].clone() + t[2].clone()
        }),
        "softmax" => case::<2, 2>(task, |t| softmax(t[0].clone(), 1)),
        "chain_1" => case::<2, 2>(task, |t| chain(&t[0], 1)),
        "chain_4" => case::<2, 2>(task, |t| chain(&t[0], 4)),
        "chain_8" => case::<2, 2>(task, |t| chain(&t[0], 8)),
        "chain_12" => case::<2, 2>(task, |t| chain(&t[0], 12)),
        _ => Err("no such function".into()),
    }
}

fn chain(x: &Tensor<2>, length: usize) -> Tensor<2> {
    (0..length).fold(x.clone(), |x, link| if link.is_multiple_of(2) { x * 1.001 } else { x + 0.5 })
}

fn three(task: &Task) -> Result<Case, String> {
    fn distances(t: &[Tensor<3>]) -> Tensor<2> {
        (t[0].clone() - t[1].clone()).square().sum_dim(2).squeeze_dim(2)
    }
    match task.formula.as_str() {
        "squared_distance" => case::<3, 2>(task, distances),
        "rbf" => case::<3, 1>(task, |t| (-distances(t)).exp().sum_dim(1).squeeze_dim(1)),
        "matmul" => case::<3, 3>(task, |t| t[0].clone().matmul(t[1].clone())),
        _ => Err("no such function".into()),
    }
}

fn four(task: &Task) -> Result<Case, String> {
    match task.formula.as_str() {
        "add" => case::<4, 4>(task, |t| t[0].clone() + t[1].clone()),
        "image" => {
            let operand_of_bytes = &task.operands[0];
            let values: Vec<u8> =
                values(0, operand_of_bytes.numel(), operand_of_bytes.low, operand_of_bytes.high);
            let data = TensorData::new(values, operand_of_bytes.shape.clone());
            let x = Tensor::<4, burn_tensor::Int>::from_data(data, (&Device::flex(), DType::U8));
            let (mean, std) = (operand::<4>(task, 1), operand::<4>(task, 2));
            Ok(Case::fresh(move || (x.clone().float() / 255.0 - mean.clone()) / std.clone(), read))
        }
        _ => Err("no such function".into()),
    }
}

fn main() {
    serve(Burn);
}
