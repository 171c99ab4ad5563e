//! candle as a peer: its tensors on the CPU, and the functions of candle-nn where it has one.

use std::rc::Rc;

use candle_core::{DType, Device, Result, Tensor, WithDType};
use zerostride_bench::{Case, Element, Kind, Operand, Peer, Task, Values, serve, values};

/// The formulas, as candle's users write them.
const FORMULAS: &[(&str, fn(&[Tensor]) -> Result<Tensor>)] = &[
    ("add", |t| if t[0].dims() == t[1].dims() { &t[0] + &t[1] } else { t[0].broadcast_add(&t[1]) }),
    ("add_scalar", |t| &t[0] + 2.5),
    ("transposed", |t| &t[0] + t[1].t()?),
    ("normalise", |t| {
        t[0].broadcast_sub(&t[1])?.broadcast_div(&t[2])?.broadcast_mul(&t[3])?.broadcast_add(&t[4])
    }),
    ("gelu", |t| {
        let x = &t[0];
        let cubic = (x + ((x * x)? * x)? * 0.044715)?;
        (x * 0.5)? * ((cubic * 0.79788456)?.tanh()? + 1.0)?
    }),
    ("gelu_call", |t| t[0].gelu()),
    ("image", |t| (t[0].to_dtype(DType::F32)? / 255.0)?.broadcast_sub(&t[1])?.broadcast_div(&t[2])),
    ("where", |t| {
        let shape = t[1].shape();
        t[0].broadcast_as(shape)?.where_cond(&t[1], &t[2].broadcast_as(shape)?)
    }),
    ("squared_distance", |t| t[0].broadcast_sub(&t[1])?.sqr()?.sum(2)),
    ("exp_outer", |t| t[0].exp()?.broadcast_mul(&t[1].exp()?)),
    ("sum_outer", |t| t[0].sum(0)),
    ("sum_inner", |t| t[0].sum(1)),
    ("layer_norm", |t| candle_nn::ops::layer_norm(&t[0], &t[1], &t[2], 1e-5)),
    ("softmax", |t| candle_nn::ops::softmax_last_dim(&t[0])),
    ("rbf", |t| t[0].broadcast_sub(&t[1])?.sqr()?.sum(2)?.neg()?.exp()?.sum(1)),
    ("matmul", |t| t[0].broadcast_matmul(&t[1])),
    ("chain_1", |t| chain(&t[0], 1)),
    ("chain_4", |t| chain(&t[0], 4)),
    ("chain_8", |t| chain(&t[0], 8)),
    ("chain_12", |t| chain(&t[0], 12)),
];

fn chain(x: &Tensor, length: usize) -> Result<Tensor> {
    (0..length).try_fold(x.clone(), |x, link| if link.is_multiple_of(2) { x * 1.001 } else { x + 0.5 })
}

struct Candle;

impl Peer for Candle {
    fn hello(&self) -> (String, String) {
        ("candle".into(), env!("VERSION_CANDLE_CORE").into())
    }

    fn prepare(&mut self, task: &Task) -> std::result::Result<Case, String> {
        let formula = FORMULAS.iter().find(|(name, _)| *name == task.formula).ok_or("no such function")?.1;
        let tensors: Rc<[Tensor]> =
            task.operands.iter().enumerate().map(|(seed, operand)| tensor(seed, operand)).collect();
        // Formulas that candle refuses fail at once.
        formula(&tensors).map_err(|error| error.to_string())?;
        Ok(Case::fresh(move || formula(&tensors).expect("computed before"), read))
    }
}

fn tensor(seed: usize, operand: &Operand) -> Tensor {
    fn make<T: Element + WithDType>(seed: usize, operand: &Operand) -> Tensor {
        let values: Vec<T> = values(seed, operand.numel(), operand.low, operand.high);
        Tensor::from_vec(values, operand.shape.clone(), &Device::Cpu).expect("the shape has as many elements")
    }
    match operand.dtype {
        // A condition is u8.
        Kind::Bool => {
            let values: Vec<bool> = values(seed, operand.numel(), operand.low, operand.high);
            let values: Vec<u8> = values.into_iter().map(u8::from).collect();
            Tensor::from_vec(values, operand.shape.clone(), &Device::Cpu)
                .expect("the shape has as many elements")
        }
        Kind::U8 => make::<u8>(seed, operand),
        Kind::I32 => make::<i32>(seed, operand),
        Kind::Bf16 => make::<half::bf16>(seed, operand),
        Kind::F32 => make::<f32>(seed, operand),
        Kind::F64 => make::<f64>(seed, operand),
    }
}

fn read(tensor: &Tensor) -> Values {
    let wide = tensor.to_dtype(DType::F64).and_then(|wide| wide.flatten_all()?.to_vec1());
    (tensor.dims().to_vec(), wide.expect("numbers"))
}

fn main() {
    serve(Candle);
}
