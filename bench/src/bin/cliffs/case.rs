//! Owns the cases of the search: random shapes, strides, dtypes and formulas, and how zerostride computes
//! them. A seed gives the same cases on every machine. It does not know the other libraries, nor times.

use serde::Serialize;
use zerostride::{DType, Expr, Result, Slice, Tensor};

/// Elements of the largest result and of the largest operand.
const LARGEST: usize = 10_000_000;

/// Elements of the smallest loop: below, calls cost more than elements, which other workloads measure.
const SMALLEST: usize = 1000;

/// Dtypes and NumPy's names for them, the common ones more often.
const DTYPES: [(DType, &str); 12] = [
    (DType::F32, "float32"),
    (DType::F64, "float64"),
    (DType::I32, "int32"),
    (DType::I64, "int64"),
    (DType::U8, "uint8"),
    (DType::I16, "int16"),
    (DType::F32, "float32"),
    (DType::F64, "float64"),
    (DType::F32, "float32"),
    (DType::Bool, "bool"),
    (DType::F16, "float16"),
    (DType::C64, "complex64"),
];

/// Formulas with their number of operands, the common ones more often.
const FORMULAS: [(&str, usize); 9] = [
    ("copy", 1),
    ("add", 2),
    ("add", 2),
    ("less", 2),
    ("sqrt", 1),
    ("normalise", 3),
    ("sum", 1),
    ("amax", 1),
    ("dot", 2),
];

/// Whether both libraries compute a formula in a dtype, with sums that can be compared.
fn fits(formula: &str, dtype: DType) -> bool {
    match dtype {
        DType::F32 | DType::F64 => true,
        DType::F16 => !matches!(formula, "sum" | "dot"),
        DType::C64 => matches!(formula, "copy" | "add" | "normalise" | "sum" | "dot"),
        DType::Bool => matches!(formula, "copy" | "add" | "less"),
        _ => formula != "sqrt",
    }
}

/// A pseudo-random generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 ^ self.0 >> 29).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 24) as usize % limit
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// A view of new memory, which both sides make.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Operand {
    /// Sizes of the memory.
    memory: Vec<usize>,
    /// The step of the view along each dimension, negative for backwards.
    steps: Vec<isize>,
    /// The dimension of the memory that is each dimension of the view.
    order: Vec<usize>,
    /// The shape that it is then stretched to.
    shape: Vec<usize>,
}

impl Operand {
    fn draw(random: &mut Random, shape: &[usize]) -> Operand {
        let ndim = shape.len();
        let mut order: Vec<usize> = (0..ndim).collect();
        if random.below(2) == 0 {
            (1..ndim).rev().for_each(|dim| order.swap(dim, random.below(dim + 1)));
        }
        let (stretches, steps) = (random.below(3) == 0, random.below(4) == 0);
        let (mut memory, mut all_steps) = (vec![0; ndim], vec![1; ndim]);
        for (dim, &place) in order.iter().enumerate() {
            let stretched = stretches && random.below(2) == 0;
            let step: isize = if steps { random.of(&[1, 1, 2, 3, -1]) } else { 1 };
            memory[place] = if stretched { 1 } else { shape[dim] * step.unsigned_abs() };
            all_steps[place] = if stretched { 1 } else { step };
        }
        if memory.iter().product::<usize>() > LARGEST {
            return Operand {
                memory: shape.to_vec(),
                steps: vec![1; ndim],
                order: (0..ndim).collect(),
                shape: shape.to_vec(),
            };
        }
        Operand { memory, steps: all_steps, order, shape: shape.to_vec() }
    }

    fn tensor(&self, dtype: DType) -> Result<Tensor> {
        let values: Vec<u8> = (0..self.memory.iter().product::<usize>()).map(|at| (at % 7) as u8).collect();
        let mut tensor = Tensor::from_vec(values, &self.memory)?.to_dtype(dtype)?;
        for (dim, &step) in self.steps.iter().enumerate().filter(|(_, step)| **step != 1) {
            tensor = tensor.slice(dim as isize, Slice::from(..).step_by(step))?;
        }
        let order: Vec<isize> = self.order.iter().map(|&place| place as isize).collect();
        let shape: Vec<isize> = self.shape.iter().map(|&size| size as isize).collect();
        tensor.permute(&order)?.expand(&shape)
    }

    /// The strides as text, such as `[0, 1]`.
    pub(crate) fn strides(&self) -> Vec<isize> {
        let stride = |dim: usize| {
            let place = self.order[dim];
            let stretched = self.memory[place] == 1 && self.shape[dim] > 1;
            let stride = self.memory[place + 1..].iter().product::<usize>() as isize * self.steps[place];
            if stretched { 0 } else { stride }
        };
        (0..self.shape.len()).map(stride).collect()
    }
}

/// One computation.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) formula: &'static str,
    /// The dimension that a reduction reduces.
    pub(crate) dim: usize,
    pub(crate) dtype: (DType, &'static str),
    pub(crate) operands: Vec<Operand>,
}

impl Case {
    /// The next case; of one formula, if that is given.
    pub(crate) fn draw(random: &mut Random, formula: Option<&str>) -> Case {
        loop {
            let case = Case::any(random);
            if case.numel() >= SMALLEST && formula.is_none_or(|formula| formula == case.formula) {
                return case;
            }
        }
    }

    /// Whether there is such a formula.
    pub(crate) fn knows(formula: &str) -> bool {
        FORMULAS.iter().any(|(known, _)| *known == formula)
    }

    fn any(random: &mut Random) -> Case {
        let ndim = 1 + random.below(5);
        let most = random.of(&[10_000, 300_000, 3_000_000, LARGEST]);
        let mut shape = vec![1; ndim];
        let mut left = most;
        for size in &mut shape {
            let share = (left as f64).powf((1 + random.below(100)) as f64 / 100.0) as usize;
            let small = random.of(&[1, 2, 3, 4, 5, 7, 8, 16, 33]).min(left);
            *size = if random.below(4) == 0 { small } else { share.max(1) };
            left = (left / *size).max(1);
        }
        (1..ndim).rev().for_each(|dim| shape.swap(dim, random.below(dim + 1)));
        let (formula, operands) = random.of(&FORMULAS);
        let dtype = loop {
            let dtype = random.of(&DTYPES);
            if fits(formula, dtype.0) {
                break dtype;
            }
        };
        let operands = (0..operands).map(|_| Operand::draw(random, &shape)).collect();
        Case { formula, dim: random.below(ndim), dtype, operands }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.operands[0].shape
    }

    fn numel(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether the result has fewer dimensions than the operands.
    pub(crate) fn reduces(&self) -> bool {
        matches!(self.formula, "sum" | "amax" | "dot")
    }

    /// Bytes that have to be read and written at least.
    pub(crate) fn traffic(&self) -> (usize, usize) {
        let item = self.dtype.0.item_size();
        let read = self.operands.iter().map(|operand| operand.memory.iter().product::<usize>() * item).sum();
        let written = match self.formula {
            "less" => self.numel(),
            _ if self.reduces() => self.numel() / self.shape()[self.dim] * item,
            _ => self.numel() * item,
        };
        (read, written)
    }

    /// A function that computes it repeatedly.
    pub(crate) fn ready(&self) -> Result<impl Fn() -> Result<Tensor>> {
        let tensors: Vec<Tensor> =
            self.operands.iter().map(|operand| operand.tensor(self.dtype.0)).collect::<Result<_>>()?;
        let (x, dim) = (Expr::from(&tensors[0]), self.dim as isize);
        let expr = match self.formula {
            "copy" => x,
            "add" => x + &tensors[1],
            "less" => x.lt(&tensors[1]),
            "sqrt" => x.sqrt(),
            "normalise" => (x - &tensors[1]) * &tensors[2],
            "sum" => x.sum(dim),
            "dot" => (x * &tensors[1]).sum(dim),
            _ => x.amax(dim),
        };
        let copies = self.formula == "copy";
        Ok(move || if copies { tensors[0].clone_elements() } else { expr.eval() })
    }
}
