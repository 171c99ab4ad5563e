//! Owns the parts of a plan: steps, their programs and what these read and write. It does not know how a
//! program is made (`lower.rs`) or runs (`exec`).

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use once_cell::race::OnceBox;
use smallvec::SmallVec;
use zerostride_kernels::{may_fault, store_scalar};
use zerostride_ops::{Category, DType, Op, Reduction, Scalar};
use zerostride_shape::{Layout, Shape, Strides, coalesce, order_dims};

/// Elements of a tile: the program runs on that many at a time.
pub(crate) const TILE_ELEMENTS: usize = 2048;

/// Elements of a tile whose values are reduced: more, because a panel of a reduction has a longer set-up.
pub(crate) const REDUCED_TILE_ELEMENTS: usize = 2 * TILE_ELEMENTS;

/// Neighbouring results of a reduction whose rows are so short that tiles hold whole leaves of all of them.
pub(crate) const FEW_RESULTS: usize = 8;

/// Elements below which a loop is not worth dividing among threads.
pub(crate) const GRAIN_ELEMENTS: usize = 1 << 16;

/// Index of a tile in a program, each written once.
pub(crate) type Register = usize;

/// Where elements come from: an operand of the expression or the result of an earlier step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ElementSource {
    /// An operand, by its index among the plan's leaves.
    Leaf(usize),
    /// The result of a step, by its index among the plan's buffers.
    Buffer(usize),
}

impl ElementSource {
    /// The buffer, if it is one.
    pub(crate) fn buffer(self) -> Option<usize> {
        match self {
            ElementSource::Buffer(buffer) => Some(buffer),
            ElementSource::Leaf(_) => None,
        }
    }
}

/// An operand of a loop: one stride for each dimension of the loop, 0 where it is stretched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Load {
    pub(crate) source: ElementSource,
    pub(crate) dtype: DType,
    pub(crate) strides: Strides,
    pub(crate) offset: isize,
}

/// What fills one register.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Instruction {
    /// Elements of memory, by the index of the load.
    Load(usize),
    /// A broadcast scalar.
    Splat(Scalar),
    /// Another register, converted.
    Cast(Register),
    /// An element-wise operation of the table on registers of dtype `compute`.
    Map { op: Op, compute: DType, operands: SmallVec<[Register; 4]> },
}

/// A straight-line program over tiles: instruction `i` fills register `i`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) loads: Vec<Load>,
    pub(crate) instructions: Vec<Instruction>,
    /// The dtype of each register.
    pub(crate) dtypes: Vec<DType>,
    /// The register that is the program's value.
    pub(crate) result: Register,
    pub(crate) kept: Kept,
    /// The same for what runs at once.
    pub(crate) at_once: Kept,
    /// The same for the executor of devices.
    #[cfg(feature = "cuda")]
    pub(crate) on_device: Kept,
    /// The program that finds its divisors of zero.
    #[cfg(feature = "cuda")]
    zero_divisor: Kept,
    /// The instructions and loads so far, to find equal ones; empty once the program is complete.
    written: KnownInstructions,
}

/// Finds equal instructions and loads while a program is written.
#[derive(Clone, Debug, Default)]
struct KnownInstructions {
    registers: HashMap<(Same, DType), Register>,
    loads: HashMap<Load, usize>,
}

/// The key by which two instructions are equal. Numbers are compared by their bits: 0.0 is not -0.0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Same {
    Load(usize),
    Splat(Category, [u64; 2]),
    Cast(Register),
    Map(Op, DType, SmallVec<[Register; 4]>),
}

impl Same {
    fn new(instruction: &Instruction) -> Same {
        match instruction {
            Instruction::Load(load) => Same::Load(*load),
            Instruction::Splat(number) => Same::Splat(number.category(), bits(*number)),
            Instruction::Cast(from) => Same::Cast(*from),
            Instruction::Map { op, compute, operands } => Same::Map(*op, *compute, operands.clone()),
        }
    }
}

/// The bits of a number.
pub(super) fn bits(number: Scalar) -> [u64; 2] {
    match number {
        Scalar::Bool(value) => [value.into(), 0],
        Scalar::Int(value) => [value as u64, 0],
        Scalar::Float(value) => [value.to_bits(), 0],
        Scalar::Complex(value) => [value.re.to_bits(), value.im.to_bits()],
    }
}

/// A cell for what an executor compiles from a program, found again whenever the plan runs. The plan does not
/// look inside.
#[derive(Clone, Default)]
pub(crate) struct Kept(OnceBox<Arc<dyn Any + Send + Sync>>);

impl Kept {
    /// The content, made if there is none yet.
    ///
    /// # Panics
    /// If the content is of another type.
    pub(crate) fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        self.0
            .get_or_init(|| Box::new(Arc::new(make())))
            .downcast_ref()
            .expect("a program is run by one executor")
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

impl Program {
    /// The register of an instruction, which is added unless the program has an equal one.
    pub(crate) fn push(&mut self, instruction: Instruction, dtype: DType) -> Register {
        *self.written.registers.entry((Same::new(&instruction), dtype)).or_insert_with(|| {
            self.instructions.push(instruction);
            self.dtypes.push(dtype);
            self.instructions.len() - 1
        })
    }

    /// Whether the program's elements are those of its only load.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self.instructions[..], [Instruction::Load(_)])
    }

    /// Removes the last instruction, which no other one reads.
    pub(super) fn pop(&mut self) {
        if let (Some(instruction), Some(dtype)) = (self.instructions.pop(), self.dtypes.pop()) {
            self.written.registers.remove(&(Same::new(&instruction), dtype));
        }
    }

    /// Drops the tables that were needed to write the program.
    pub(super) fn complete(&mut self) {
        self.written = KnownInstructions::default();
    }

    /// The operations of the table that it runs.
    pub(super) fn operations(&self) -> impl Iterator<Item = Op> + '_ {
        self.instructions.iter().filter_map(|instruction| match instruction {
            Instruction::Map { op, .. } => Some(*op),
            _ => None,
        })
    }

    /// The divisors of integers, but for numbers other than zero: if an element of one is zero, the program
    /// ends in a fault.
    pub(crate) fn divisors(&self) -> impl Iterator<Item = Register> + '_ {
        let is_nonzero = |divisor: Register| match self.instructions[divisor] {
            Instruction::Splat(number) => {
                let (mut bytes, dtype) = ([0; 16], self.dtypes[divisor]);
                store_scalar(number, dtype, &mut bytes[..dtype.item_size()]);
                bytes != [0; 16]
            }
            _ => false,
        };
        self.instructions.iter().filter_map(move |instruction| match instruction {
            Instruction::Map { op, compute, operands } if may_fault(*op, *compute) => {
                Some(operands[1]).filter(|&divisor| !is_nonzero(divisor))
            }
            _ => None,
        })
    }

    /// The program that is true where this one divides integers by zero, made once; `None` if it cannot.
    #[cfg(feature = "cuda")]
    pub(crate) fn zero_divisor(&self) -> Option<&Program> {
        self.zero_divisor.get(|| self.finding_zero_divisors()).as_ref()
    }

    #[cfg(feature = "cuda")]
    fn finding_zero_divisors(&self) -> Option<Program> {
        let divisors: Vec<Register> = self.divisors().collect();
        if divisors.is_empty() {
            return None;
        }
        let unkept = Kept::default;
        let mut program = Program {
            kept: unkept(),
            at_once: unkept(),
            on_device: unkept(),
            zero_divisor: unkept(),
            ..self.clone()
        };
        let mut is_zero = |divisor: Register| {
            let compute = program.dtypes[divisor];
            program.map(Op::LogicalNot, compute, SmallVec::from_elem(divisor, 1), DType::Bool)
        };
        let found: Vec<Register> = divisors.into_iter().map(&mut is_zero).collect();
        let either =
            |a, b| program.map(Op::LogicalOr, DType::Bool, SmallVec::from_slice(&[a, b]), DType::Bool);
        program.result = found.into_iter().reduce(either)?;
        Some(program)
    }

    pub(crate) fn push_load(&mut self, load: Load) -> Register {
        let dtype = load.dtype;
        let index = *self.written.loads.entry(load.clone()).or_insert_with(|| {
            self.loads.push(load);
            self.loads.len() - 1
        });
        self.push(Instruction::Load(index), dtype)
    }

    /// Appends another program, whose loads are those that `load` says. The register of a value of it.
    pub(super) fn append(
        &mut self,
        other: &Program,
        value: Register,
        load: impl Fn(usize) -> Load,
    ) -> Register {
        let mut registers: Vec<Register> = Vec::new();
        for (instruction, &dtype) in other.instructions[..=value].iter().zip(&other.dtypes) {
            let own = |register: &Register| registers[*register];
            registers.push(match instruction {
                Instruction::Load(index) => self.push_load(load(*index)),
                Instruction::Splat(number) => self.splat(*number, dtype),
                Instruction::Cast(from) => self.push(Instruction::Cast(own(from)), dtype),
                Instruction::Map { op, compute, operands } => {
                    self.map(*op, *compute, operands.iter().map(own).collect(), dtype)
                }
            });
        }
        registers[value]
    }

    /// The register of a number.
    pub(super) fn splat(&mut self, number: Scalar, dtype: DType) -> Register {
        self.push(Instruction::Splat(number), dtype)
    }

    /// The register of an operation's result.
    pub(super) fn map(
        &mut self,
        op: Op,
        compute: DType,
        operands: SmallVec<[Register; 4]>,
        dtype: DType,
    ) -> Register {
        self.push(Instruction::Map { op, compute, operands }, dtype)
    }

    /// The same loads and instructions, whose value is converted to a dtype.
    pub(crate) fn ending_in(&self, dtype: DType) -> Program {
        let Program { loads, instructions, dtypes, result, .. } = self;
        let mut program = Program {
            loads: loads.clone(),
            instructions: instructions.clone(),
            dtypes: dtypes.clone(),
            ..Program::default()
        };
        program.result = program.converted(*result, dtype);
        program
    }

    /// The register of another one's value in a dtype.
    pub(super) fn converted(&mut self, register: Register, dtype: DType) -> Register {
        let from = self.dtypes[register];
        if from == dtype {
            return register;
        }
        let register = match by_part(from, dtype) {
            Some(part) => self.push(Instruction::Cast(register), part),
            None => register,
        };
        self.push(Instruction::Cast(register), dtype)
    }
}

/// The dtype of parts through which a conversion from or to complex numbers goes, where the direct kernel
/// takes elements one by one: conversions of parts have vector code.
pub(crate) fn by_part(from: DType, to: DType) -> Option<DType> {
    match (from.category(), to.category()) {
        (Category::Complex, Category::Int) => Some(from.to_real()),
        (Category::Complex, _) if to.is_half() => Some(from.to_real()),
        (_, Category::Complex) if from == DType::F16 => Some(to.to_real()),
        _ => None,
    }
}

/// One pass over memory.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The formula it computes, for people.
    pub(crate) text: String,
    /// The buffer it writes.
    pub(crate) output: usize,
    /// The slots that nothing reads or writes afterwards; that of the plan's result is none.
    pub(crate) dead: Vec<usize>,
    /// Whether the result is smaller than the loop that uses it: computed once, stretched later.
    pub(crate) hoisted: bool,
    pub(crate) work: Work,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// One result for each element of `shape`.
    Map { shape: Shape, program: Program, out: Strides, out_offset: isize },
    /// One result for each element of `kept`, from the elements of `reduced`, in row-major order. The strides
    /// of loads are those of `kept` followed by those of `reduced`; the output is contiguous. Results go
    /// through `finish` before they are written, a program whose only load they are.
    Reduce {
        op: Reduction,
        compute: DType,
        correction: f64,
        kept: Shape,
        reduced: Shape,
        program: Program,
        finish: Option<Box<Program>>,
    },
    /// A product of matrices, its batch dimensions in step with `batch`; strides of 0 stretch. The output is
    /// contiguous.
    Matmul { dtype: DType, a: Factor, b: Factor, batch: Shape, n: usize, m: usize, k: usize },
}

/// A factor of a matrix product: the batch strides, then row and column stride.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    pub(crate) source: ElementSource,
    pub(crate) batch: Strides,
    pub(crate) rows: isize,
    pub(crate) columns: isize,
    pub(crate) offset: isize,
}

impl Work {
    /// An element-wise step over a shape into a layout of it, its loops simplified.
    pub(super) fn map(shape: Shape, mut program: Program, out: &Layout) -> Work {
        let all = |out: &Strides, program: &Program| -> Vec<Strides> {
            std::iter::once(out.clone())
                .chain(program.loads.iter().map(|load| load.strides.clone()))
                .collect()
        };
        let (shape, ordered) = order_dims(&shape, &slices(&all(out.strides(), &program)));
        let (shape, mut merged) = coalesce(&shape, &slices(&ordered));
        for (load, strides) in program.loads.iter_mut().zip(merged.drain(1..)) {
            load.strides = strides;
        }
        let out_strides = merged.pop().unwrap_or_default();
        Work::Map { shape, program, out: out_strides, out_offset: out.offset() }
    }

    /// The program of a loop; a product has none.
    pub(crate) fn program(&self) -> Option<&Program> {
        match self {
            Work::Map { program, .. } | Work::Reduce { program, .. } => Some(program),
            Work::Matmul { .. } => None,
        }
    }

    /// Where the step reads.
    pub(super) fn sources(&self) -> impl Iterator<Item = ElementSource> + '_ {
        let factors = match self {
            Work::Map { .. } | Work::Reduce { .. } => None,
            Work::Matmul { a, b, .. } => Some([a.source, b.source]),
        };
        let loads = self.program().into_iter().flat_map(|program| &program.loads).map(|load| load.source);
        loads.chain(factors.into_iter().flatten())
    }

    /// Where the step reads, with the number of distinct elements.
    pub(crate) fn reads(&self) -> Vec<(ElementSource, DType, usize)> {
        match self {
            Work::Map { shape, program, .. } => distinct(program, shape.iter().copied()),
            Work::Reduce { kept, reduced, program, .. } => {
                distinct(program, kept.iter().chain(&**reduced).copied())
            }
            Work::Matmul { dtype, a, b, batch, n, m, k } => {
                let count = |factor: &Factor, rows: usize, columns: usize| {
                    let batches: usize = batch
                        .iter()
                        .zip(&*factor.batch)
                        .map(|(&size, &stride)| if stride == 0 { 1 } else { size })
                        .product();
                    (factor.source, *dtype, batches.saturating_mul(rows).saturating_mul(columns))
                };
                vec![count(a, *n, *k), count(b, *k, *m)]
            }
        }
    }
}

pub(super) fn distinct(
    program: &Program,
    sizes: impl Iterator<Item = usize> + Clone,
) -> Vec<(ElementSource, DType, usize)> {
    let elements = |load: &Load| {
        sizes.clone().zip(&*load.strides).fold(1usize, |count, (size, &stride)| match stride {
            0 if size > 0 => count,
            _ => count.saturating_mul(size),
        })
    };
    program.loads.iter().map(|load| (load.source, load.dtype, elements(load))).collect()
}

/// A result of a step.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    /// The block of memory that holds it; a buffer may take over the block of an operand that dies. There is
    /// one slot for each buffer; slots with higher numbers are local to a group.
    pub(crate) slot: usize,
}

/// The strides of several operands, borrowed.
pub(super) fn slices(strides: &[Strides]) -> Vec<&[isize]> {
    strides.iter().map(|strides| &**strides).collect()
}
