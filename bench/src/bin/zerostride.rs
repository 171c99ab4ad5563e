//! zerostride as a peer: each formula as its users would write it, built anew for every evaluation.

use std::rc::Rc;

use zerostride::{DType, Expr, Op, Result, Tensor, bf16, keepdim};
use zerostride_bench::{Case, Element, Kind, Operand, Peer, Task, Values, serve, values};

type Formula = fn(&[Tensor]) -> Expr;
type Method = fn(&[Tensor]) -> Result<Tensor>;
type Writer = fn(&[Tensor], &Tensor) -> Result<()>;

/// The formulas, as expressions of their operands.
const FORMULAS: &[(&str, Formula)] = &[
    ("add", |t| &t[0] + &t[1]),
    ("add_scalar", |t| &t[0] + 2.5),
    ("transposed", |t| &t[0] + Expr::from(&t[1]).t()),
    ("normalise", |t| (&t[0] - &t[1]) / &t[2] * &t[3] + &t[4]),
    ("gelu", |t| {
        let x = &t[0];
        0.5 * x * (1.0 + (0.797_884_56f64 * (x + 0.044_715 * x * x * x)).tanh())
    }),
    ("gelu_call", |t| Expr::from(&t[0]).gelu_tanh()),
    ("image", |t| (&t[0] / 255.0 - &t[1]) / &t[2]),
    ("where", |t| Expr::from(&t[1]).where_(&t[0], &t[2])),
    ("squared_distance", |t| (&t[0] - &t[1]).square().sum(-1)),
    ("exp_outer", |t| Expr::from(&t[0]).exp() * Expr::from(&t[1]).exp()),
    ("sum_outer", |t| Expr::from(&t[0]).sum(0)),
    ("sum_inner", |t| Expr::from(&t[0]).sum(1)),
    ("layer_norm", |t| {
        let x = Expr::from(&t[0]);
        let centred = &x - x.mean(keepdim(-1));
        centred / (x.var_corrected(keepdim(-1), 0.0) + 1e-5).sqrt() * &t[1] + &t[2]
    }),
    ("softmax", |t| Expr::from(&t[0]).softmax(-1)),
    ("rbf", |t| (-(&t[0] - &t[1]).square().sum(-1)).exp().sum(-1)),
    ("matmul", |t| Expr::from(&t[0]).matmul(&t[1])),
    ("product", |t| Expr::from(&t[0]).matmul(&t[1])),
    ("chain_1", |t| chain(&t[0], 1)),
    ("chain_4", |t| chain(&t[0], 4)),
    ("chain_8", |t| chain(&t[0], 8)),
    ("chain_12", |t| chain(&t[0], 12)),
];

/// Single operations, for which a method is shorter.
const METHODS: &[(&str, Method)] = &[
    ("add", |t| t[0].add(&t[1])),
    ("add_scalar", |t| t[0].add(2.5)),
    ("sum_outer", |t| t[0].sum(0)),
    ("sum_inner", |t| t[0].sum(1)),
    ("softmax", |t| t[0].softmax(-1)),
    ("matmul", |t| t[0].matmul(&t[1])),
    ("product", |t| t[0].matmul(&t[1])),
];

/// The same into given memory.
const WRITERS: &[(&str, Writer)] = &[
    ("add", |t, out| Tensor::apply_out(Op::Add, [(&t[0]).into(), (&t[1]).into()], out)),
    ("add_scalar", |t, out| Tensor::apply_out(Op::Add, [(&t[0]).into(), 2.5.into()], out)),
];

/// Multiplications and additions in turn.
fn chain(x: &Tensor, length: usize) -> Expr {
    let link = |value: Expr, i: usize| if i.is_multiple_of(2) { value * 1.001 } else { value + 0.5 };
    (0..length).fold(Expr::from(x), link)
}

struct Zerostride;

impl Peer for Zerostride {
    fn hello(&self) -> (String, String) {
        ("zerostride".into(), env!("CARGO_PKG_VERSION").into())
    }

    fn prepare(&mut self, task: &Task) -> Result<Case, String> {
        let tensors: Rc<[Tensor]> =
            task.operands.iter().enumerate().map(|(seed, operand)| tensor(seed, operand)).collect();
        if task.formula == "add_in_place" {
            let x = tensors[0].alias();
            return Ok(Case::in_place(move || tensors[0].add_(&tensors[1]).expect(FITS), move || read(&x)));
        }
        let expression = find(FORMULAS, &task.formula).ok_or("no such formula")?;
        let operands = Rc::clone(&tensors);
        let case = match find(METHODS, &task.formula) {
            Some(method) => Case::fresh(move || method(&operands).expect(FITS), read),
            None => Case::fresh(move || expression(&operands).eval().expect(FITS), read),
        };
        let zeros = Tensor::zeros(&task.shape).and_then(|zeros| zeros.to_dtype(dtype(task.dtype)));
        let out = zeros.map_err(|error| error.to_string())?;
        Ok(match find(WRITERS, &task.formula) {
            Some(write) => case.reuse(move || write(&tensors, &out).expect(FITS)),
            None => case.reuse(move || expression(&tensors).eval_into(&out).expect(FITS)),
        })
    }
}

const FITS: &str = "the table's shapes go together";

fn read(value: &Tensor) -> Values {
    let wide = value.to_dtype(DType::F64).and_then(|wide| wide.to_vec::<f64>());
    (value.shape().to_vec(), wide.expect("enough memory"))
}

fn find<F: Copy>(table: &[(&str, F)], name: &str) -> Option<F> {
    table.iter().find(|(row, _)| *row == name).map(|(_, formula)| *formula)
}

fn dtype(kind: Kind) -> DType {
    match kind {
        Kind::Bool => DType::Bool,
        Kind::U8 => DType::U8,
        Kind::I32 => DType::I32,
        Kind::Bf16 => DType::BF16,
        Kind::F32 => DType::F32,
        Kind::F64 => DType::F64,
    }
}

fn tensor(seed: usize, operand: &Operand) -> Tensor {
    fn make<T: Element + zerostride::Element>(seed: usize, operand: &Operand) -> Tensor {
        let values: Vec<T> = values(seed, operand.numel(), operand.low, operand.high);
        Tensor::from_vec(values, &operand.shape).expect("enough memory")
    }
    match operand.dtype {
        Kind::Bool => make::<bool>(seed, operand),
        Kind::U8 => make::<u8>(seed, operand),
        Kind::I32 => make::<i32>(seed, operand),
        Kind::Bf16 => make::<bf16>(seed, operand),
        Kind::F32 => make::<f32>(seed, operand),
        Kind::F64 => make::<f64>(seed, operand),
    }
}

fn main() {
    serve(Zerostride);
}
