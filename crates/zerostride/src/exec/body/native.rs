//! Owns programs as machine code: how they are recorded, when they are printed, and which codes are kept. It
//! does not know where elements are (`machine.rs`).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use once_cell::race::OnceBox;
use smallvec::SmallVec;
use zerostride_code::{Builder, Read, Row, Type, Value, Write};
use zerostride_kernels::{
    Isa, Native, Printing, Recorded, Tuning, is_by_parts, memory_types, reciprocal_for_bytes, record,
    record_cast, record_load, record_quotient, record_quotient_of_byte, record_step, record_store,
    store_scalar,
};
use zerostride_ops::{Category, DType, Op, Reduction};

use super::load_kind::LoadKind;
use crate::fork::{Guarded, Lock};
use crate::plan::{Instruction, Program, Register};

/// Bytes of the parts that code reads and writes for elements with more.
const PART_BYTES: usize = 8;

/// Codes that are kept for programs to come.
const MOST_CODES: usize = 1024;

/// An instruction of a program, without the values of numbers: those are operands of the code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Line {
    Load(usize),
    Number,
    Cast(Register),
    Map(Op, DType, SmallVec<[Register; 4]>),
    /// The quotient of an integer of 8 bits by a number, whose reciprocal and its error are operands, too.
    QuotientOfByte(Register),
}

/// What becomes of the elements of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::exec) enum End {
    Stored(Write),
    /// They enter accumulators of a reduction: those of a row so many in turn.
    Along(Reduction, u32),
    /// The same, those of all rows one for each element of a row.
    Across(Reduction),
}

/// All that a code depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CodeKey {
    /// The dtypes of loads and how they are read.
    loads: Vec<(DType, Read)>,
    lines: Vec<(Line, DType)>,
    /// The divisors of integers that may be zero.
    divisors: Vec<Register>,
    result: Register,
    end: End,
    /// As [`Row`] has them, of the loads.
    prefetch_bytes: Vec<u32>,
}

/// A program that may become machine code.
pub(in crate::exec) struct ProgramCode {
    source: CodeKey,
    /// As [`Printed`] has it.
    parts: usize,
    /// Of the numbers by which integers of 8 bits are divided.
    reciprocals: Vec<[f32; 2]>,
    /// Elements that were computed so far, at most [`Printing::WORTH_ELEMENTS`] and some.
    computed: AtomicUsize,
    cached: OnceBox<Option<Arc<Native>>>,
    streaming: OnceBox<Option<Arc<Native>>>,
}

/// The machine code of a program.
#[derive(Clone, Copy)]
pub(super) struct Printed<'a> {
    pub code: &'a Native,
    /// Elements that it has for one of the program: two where each part is computed by itself.
    pub parts: usize,
}

impl Printed<'_> {
    /// Where in an element of so many bytes the operands begin that it is: one for each part, unless that is
    /// an element of the code's.
    pub(super) fn parts_of(&self, item: usize) -> impl Iterator<Item = usize> + use<> {
        (0..item / self.parts).step_by(PART_BYTES)
    }
}

impl ProgramCode {
    /// The program, unless it has what no code has: accumulators or parts beside a fault that is looked for.
    pub(super) fn new(program: &Program, kinds: &[LoadKind], end: End) -> Option<ProgramCode> {
        let mut divisors: Vec<Register> = program.divisors().collect();
        divisors.sort_unstable();
        divisors.dedup();
        let is_of_one = memory_types(program.dtypes[program.result]).len() == 1;
        let is_told = is_of_one && matches!(end, End::Stored(_));
        if !is_told && !divisors.is_empty() {
            return None;
        }
        // Complex numbers that are only added, subtracted or negated are computed as twice as many floats.
        let of_parts = is_of_parts(program, kinds);
        let own = |dtype: DType| if of_parts { dtype.to_real() } else { dtype };
        let read = |kind: &LoadKind| match kind {
            LoadKind::Vector => Read::Vector,
            LoadKind::Splat => Read::Splat,
            LoadKind::Stepped(step) => Read::Stepped(i8::try_from(*step).ok()),
        };
        let line = |instruction: &Instruction| match instruction {
            Instruction::Load(load) => Line::Load(*load),
            Instruction::Splat(_) => Line::Number,
            Instruction::Cast(from) => Line::Cast(*from),
            Instruction::Map { op, compute, operands } => Line::Map(*op, own(*compute), operands.clone()),
        };
        let dtypes = program.dtypes.iter().map(|&dtype| own(dtype));
        let mut lines: Vec<(Line, DType)> = program.instructions.iter().map(line).zip(dtypes).collect();
        let mut reciprocals = Vec::new();
        for (at, instruction) in program.instructions.iter().enumerate() {
            if let Some((byte, reciprocal)) = quotient_of_byte(program, instruction) {
                lines[at].0 = Line::QuotientOfByte(byte);
                reciprocals.push(reciprocal);
            }
        }
        let source = CodeKey {
            loads: program
                .loads
                .iter()
                .zip(kinds)
                .map(|(load, kind)| (own(load.dtype), read(kind)))
                .collect(),
            lines,
            divisors,
            result: program.result,
            end,
            prefetch_bytes: vec![0; program.loads.len()],
        };
        let (computed, cached, streaming) = (AtomicUsize::new(0), OnceBox::new(), OnceBox::new());
        let parts = if of_parts { 2 } else { 1 };
        Some(ProgramCode { source, parts, reciprocals, computed, cached, streaming })
    }

    /// The same code, which asks for contiguous elements of each load so many bytes before they are read.
    pub(super) fn prefetching(mut self, bytes: &[u32]) -> ProgramCode {
        self.source.prefetch_bytes.copy_from_slice(bytes);
        self
    }

    /// Whether there is code for the program, which is printed now if it is worth that before so many
    /// elements are computed.
    pub(super) fn is_printed_for(&self, elements: usize) -> bool {
        self.printed(1, elements, Write::Cached).is_some()
    }

    /// Whether an element may be a fault. The code then has one more operand before the result and after it:
    /// bytes for the elements of a row, which become 1 where one is.
    pub(super) fn may_fault(&self) -> bool {
        !self.source.divisors.is_empty()
    }

    /// The numbers that its operands are beyond those of the program.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f32> {
        self.reciprocals.iter().flatten().copied()
    }

    /// What becomes of elements.
    pub(super) fn end(&self) -> End {
        self.source.end
    }

    /// The code for some rows of `len` elements, if the program is printed by now: from then on there always
    /// is one. Its operands are the loads, then the numbers, both in order, then accumulators, if it ends
    /// with these, then the result.
    pub(super) fn printed(&self, rows: usize, len: usize, write: Write) -> Option<Printed<'_>> {
        let code = self.native(rows, len, write)?;
        Some(Printed { code, parts: self.parts })
    }

    fn native(&self, rows: usize, len: usize, write: Write) -> Option<&Native> {
        let is_wanted = match Printing::active() {
            Printing::Never => false,
            Printing::Worth => self.cached.get().is_some() || self.is_worth(rows, len),
            Printing::Always => true,
        };
        let of = |end| kept(CodeKey { end, ..self.source.clone() });
        let cached =
            is_wanted.then(|| self.cached.get_or_init(|| Box::new(of(self.source.end))).as_deref())??;
        match (write, self.source.end) {
            (Write::NonTemporal, End::Stored(_)) => {
                let streaming = self.streaming.get_or_init(|| Box::new(of(End::Stored(Write::NonTemporal))));
                Some(streaming.as_deref().unwrap_or(cached))
            }
            _ => Some(cached),
        }
    }

    /// Whether enough elements were computed or are about to be, which it counts.
    fn is_worth(&self, rows: usize, len: usize) -> bool {
        let more = rows.saturating_mul(len);
        let worth = |computed: usize| computed >= Printing::WORTH_ELEMENTS;
        worth(self.computed.load(Ordering::Relaxed))
            || worth(self.computed.fetch_add(more, Ordering::Relaxed).saturating_add(more))
    }
}

/// The integer of 8 bits that an instruction divides by a number, if multiplications do, and what these are
/// by.
fn quotient_of_byte(program: &Program, instruction: &Instruction) -> Option<(Register, [f32; 2])> {
    let Instruction::Map { op: Op::Div, compute: DType::F32, operands } = instruction else { return None };
    let &[byte, number] = &operands[..] else { return None };
    let Instruction::Cast(from) = program.instructions[byte] else { return None };
    let Instruction::Splat(number) = program.instructions[number] else { return None };
    let mut bytes = [0; 4];
    store_scalar(number, DType::F32, &mut bytes);
    let is_byte = matches!(program.dtypes[from], DType::U8 | DType::I8);
    let reciprocal = is_byte.then(|| reciprocal_for_bytes(f32::from_ne_bytes(bytes)))??;
    Some((byte, reciprocal))
}

/// Whether a program computes each part of contiguous complex numbers from the same parts of others.
fn is_of_parts(program: &Program, kinds: &[LoadKind]) -> bool {
    let is_alone = |instruction: &Instruction| match instruction {
        Instruction::Load(load) => kinds[*load] == LoadKind::Vector,
        Instruction::Map { op, .. } => is_by_parts(*op),
        Instruction::Splat(_) | Instruction::Cast(_) => false,
    };
    program.dtypes.iter().all(|dtype| dtype.category() == Category::Complex)
        && program.instructions.iter().all(is_alone)
}

/// Whether there may be code by which the values of a program enter accumulators.
pub(super) fn may_be_printed(program: &Program) -> bool {
    Printing::active() != Printing::Never && program.divisors().next().is_none()
}

/// Whether a program that runs on so many elements for the first time is worth printing.
pub(in crate::exec) fn is_worth_printing(elements: usize) -> bool {
    match Printing::active() {
        Printing::Never => false,
        Printing::Worth => elements >= Printing::WORTH_ELEMENTS,
        Printing::Always => true,
    }
}

/// The code of a program, which is printed if it is not kept; `None` where there is none.
fn kept(source: CodeKey) -> Option<Arc<Native>> {
    static CODES: Lock<Option<HashMap<CodeKey, Option<Arc<Native>>>>> = Lock::new(Guarded::Codes, None);
    if let Some(code) = CODES.lock().get_or_insert_default().get(&source) {
        return code.clone();
    }
    let code = source.row().and_then(|row| print(&row)).map(Arc::new);
    let mut codes = CODES.lock();
    let codes = codes.get_or_insert_default();
    if codes.len() >= MOST_CODES {
        codes.clear();
    }
    codes.insert(source, code.clone());
    code
}

/// The code of a row in memory; `None` where none is printed. The assembler makes a table for the first one,
/// which a fork waits for: a child has no thread that completes it.
fn print(row: &Row) -> Option<Native> {
    static HAS_PRINTED: Lock<bool> = Lock::new(Guarded::FirstCode, false);
    let mut has_printed = HAS_PRINTED.lock();
    if *has_printed {
        drop(has_printed);
        return Native::of(row);
    }
    let code = Native::of(row);
    *has_printed = code.is_some();
    code
}

impl CodeKey {
    /// The program as a code; `None` if an operation has none.
    fn row(&self) -> Option<Row> {
        let mut code = Builder::new();
        let is_number = |(line, _): &&(Line, DType)| *line == Line::Number;
        let is_quotient = |(line, _): &&(Line, DType)| matches!(line, Line::QuotientOfByte(_));
        let numbers = self.lines.iter().filter(is_number);
        let parts = self.lines.iter().filter(is_quotient).flat_map(|line| [line; 2]);
        let numbers = numbers.chain(parts).map(|(_, dtype)| (*dtype, Read::Number));
        let (mut inputs, mut reads) = (Vec::new(), Vec::new());
        for (dtype, read) in self.loads.iter().copied().chain(numbers) {
            let types = memory_types(dtype);
            let values: SmallVec<[Value; 2]> = types.iter().map(|&ty| code.input(ty)).collect();
            inputs.push(values);
            reads.extend(types.iter().map(|_| of_part(read, types.len())));
        }
        let mut number = self.loads.len()..;
        let mut part = self.loads.len() + self.lines.iter().filter(is_number).count()..;
        let tuning = Tuning::active();
        let multiplies = |compute: DType| match compute {
            DType::F32 => tuning.divide_f32_by_reciprocal,
            _ => tuning.divide_f64_by_reciprocal || Isa::active() == Isa::Avx512,
        };
        let is_one = |register: Register| match self.lines[register].0 {
            Line::Number => true,
            Line::Load(load) => self.loads[load].1 == Read::Splat,
            Line::Cast(_) | Line::Map(..) | Line::QuotientOfByte(_) => false,
        };
        let mut registers: Vec<Recorded> = Vec::new();
        for (line, dtype) in &self.lines {
            registers.push(match line {
                Line::Load(load) => record_load(&mut code, *dtype, &inputs[*load]),
                Line::Number => record_load(&mut code, *dtype, &inputs[number.next()?]),
                Line::Cast(from) => record_cast(&mut code, self.lines[*from].1, *dtype, registers[*from]),
                Line::QuotientOfByte(byte) => {
                    let reciprocal =
                        [part.next()?, part.next()?].map(|at| record_load(&mut code, *dtype, &inputs[at]));
                    record_quotient_of_byte(&mut code, registers[*byte], reciprocal)
                }
                Line::Map(op, compute, by) => {
                    let operands: SmallVec<[Recorded; 4]> =
                        by.iter().map(|&operand| registers[operand]).collect();
                    let quotient = match (op, &operands[..]) {
                        (Op::Div, &[a, one]) if is_one(by[1]) && multiplies(*compute) => {
                            record_quotient(&mut code, *compute, a, one)
                        }
                        _ => None,
                    };
                    match quotient {
                        Some(quotient) => quotient,
                        None => record(&mut code, *op, *compute, &operands)?,
                    }
                }
            });
        }
        let (_, dtype) = self.lines[self.result];
        let mut results = record_store(&mut code, dtype, registers[self.result]);
        debug_assert_ne!(code.ty(results[0]), Type::Mask);
        let write = match self.end {
            End::Stored(_) if results.len() > 1 => Write::Part,
            End::Stored(write) => write,
            End::Along(op, _) | End::Across(op) => {
                let held = code.input(code.ty(results[0]));
                let held = record_load(&mut code, dtype, &[held]);
                let next = record_step(&mut code, op, dtype, held, registers[self.result])?;
                results = record_store(&mut code, dtype, next);
                reads.push(if let End::Along(_, count) = self.end {
                    Read::Along(count)
                } else {
                    Read::Across
                });
                Write::Cached
            }
        };
        let mut writes = vec![write; results.len()];
        if !self.divisors.is_empty() {
            // Rows that follow each other have the same bytes.
            let seen = code.input(Type::W8);
            let mut seen = record_load(&mut code, DType::Bool, &[seen]);
            for &divisor in &self.divisors {
                let is_zero =
                    record(&mut code, Op::LogicalNot, self.lines[divisor].1, &[registers[divisor]])?;
                seen = record(&mut code, Op::LogicalOr, DType::Bool, &[seen, is_zero])?;
            }
            reads.push(Read::Vector);
            results.extend(record_store(&mut code, DType::Bool, seen));
            writes.push(Write::Cached);
        }
        let code = code.finish(&results);
        let of_load =
            |(&bytes, values): (&u32, &SmallVec<[Value; 2]>)| std::iter::repeat_n(bytes, values.len());
        let prefetch_bytes = self.prefetch_bytes.iter().zip(&inputs).flat_map(of_load).collect();
        Some(Row { code, reads, writes, prefetch_bytes })
    }
}

/// How a part of elements is read that are so many values each.
fn of_part(read: Read, parts: usize) -> Read {
    let apart = |elements: i8| elements.checked_mul(parts as i8);
    match read {
        Read::Vector if parts > 1 => Read::Part,
        Read::Stepped(step) => Read::Stepped(step.and_then(apart)),
        read => read,
    }
}
