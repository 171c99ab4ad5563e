//! Owns the making of stages from a program, one block kernel for each instruction, and of the code that runs
//! instead once it is printed. It does not know where elements are, nor how many there are.

use smallvec::SmallVec;
use zerostride_code::Write;
use zerostride_kernels::{CastKernel, MapKernel, Printing, cast_kernel, map_kernel, store_scalar};
use zerostride_ops::DType;

use super::load_kind::LoadKind;
use super::native::{End, ProgramCode};
use crate::plan::{Instruction, Program, Register};

/// Where a stage reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum StageInput {
    Load(usize),
    Number(usize),
    Tile(usize),
}

/// What a stage does with the elements of its inputs.
pub(in crate::exec) enum StageWork {
    Cast(CastKernel),
    Map(MapKernel),
    Copy,
    /// The first element of the only input, again and again. Nothing else is written to its tile.
    Repeat,
}

/// What a stage reads, with the bytes of an element.
pub(in crate::exec) type Inputs = SmallVec<[(StageInput, usize); 4]>;

/// A pass over the elements of a row.
pub(in crate::exec) struct Stage {
    pub(in crate::exec) work: StageWork,
    pub(in crate::exec) inputs: Inputs,
    /// A tile, or the memory of the result.
    pub(in crate::exec) out: Option<usize>,
    /// Bytes of an element of the result.
    pub(in crate::exec) item: usize,
}

/// A program as stages; shared by the threads that run it.
pub(crate) struct Compiled {
    pub(in crate::exec) stages: Vec<Stage>,
    /// The program's numbers, and what code has beside them, as elements, and the bytes that each has.
    pub(in crate::exec) numbers: Vec<([u8; 16], usize)>,
    /// Bytes of an element of each tile.
    pub(in crate::exec) tiles: Vec<usize>,
    /// How each load is read, and the bytes of its elements.
    pub(in crate::exec) loads: Vec<(LoadKind, usize)>,
    /// Bytes of an element of the result.
    pub(in crate::exec) item: usize,
    /// The same program as machine code, where it is worth that.
    pub(in crate::exec) code: Option<Box<ProgramCode>>,
    /// The same, whose elements enter accumulators.
    pub(in crate::exec) accumulating: Option<Box<ProgramCode>>,
}

impl Compiled {
    /// A program whose loads are of these kinds; `in_place` if the result may be written over a load.
    pub(crate) fn new(program: &Program, kinds: &[LoadKind], in_place: bool) -> Compiled {
        let loads =
            program.loads.iter().zip(kinds).map(|(load, &kind)| (kind, load.dtype.item_size())).collect();
        let mut builder = Builder::new(program, kinds, in_place);
        for register in 0..program.instructions.len() {
            if builder.stored[register].is_none() && builder.uses[register] > 0 {
                builder.stage(register);
            }
        }
        builder.finish();
        let item = program.dtypes[program.result].item_size();
        let Builder { stages, mut numbers, tiles, .. } = builder;
        let code = ProgramCode::new(program, kinds, End::Stored(Write::Cached)).map(Box::new);
        for number in code.iter().flat_map(|code| code.numbers()) {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&number.to_ne_bytes());
            numbers.push((bytes, 4));
        }
        Compiled { stages, numbers, tiles, loads, item, code, accumulating: None }
    }

    /// The program that the results of a reduction go through, if they do.
    pub(in crate::exec) fn finish(program: Option<&Program>) -> Option<&Compiled> {
        program.map(|finish| finish.kept.get(|| Compiled::new(finish, &[LoadKind::Vector], false)))
    }

    /// The same, whose elements may also enter accumulators.
    pub(in crate::exec) fn accumulating(self, program: &Program, end: End) -> Compiled {
        let kinds: Vec<LoadKind> = self.loads.iter().map(|&(kind, _)| kind).collect();
        let accumulating = ProgramCode::new(program, &kinds, end).map(Box::new);
        Compiled { accumulating, ..self }
    }

    /// The same, whose code asks for contiguous elements of each load so many bytes before they are read.
    pub(in crate::exec) fn prefetching(self, bytes: &[u32]) -> Compiled {
        let [code, accumulating] =
            [self.code, self.accumulating].map(|code| code.map(|code| Box::new(code.prefetching(bytes))));
        Compiled { code, accumulating, ..self }
    }

    /// Whether elements go from the loads straight to the result.
    pub(crate) fn is_direct(&self) -> bool {
        self.tiles.is_empty()
    }

    /// Whether the program is printed as soon as it runs on so many elements: where these may enter
    /// accumulators, the code that does that.
    pub(in crate::exec) fn is_printed_for(&self, elements: usize) -> bool {
        let code = self.accumulating.as_ref().or(self.code.as_ref());
        code.is_some_and(|code| code.is_printed_for(elements))
    }

    /// Whether an element may be a fault, which code finds only when others are written.
    pub(in crate::exec) fn may_fault(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.may_fault())
    }

    /// Whether there is code for the program, or will be.
    pub(in crate::exec) fn has_code(&self) -> bool {
        self.code.is_some() && Printing::active() != Printing::Never
    }
}

struct Builder<'a> {
    program: &'a Program,
    kinds: &'a [LoadKind],
    in_place: bool,
    /// How often each register is the result or an operand of instructions that are in no stage yet.
    uses: Vec<usize>,
    /// Where stages read registers that are in memory already.
    stored: Vec<Option<StageInput>>,
    /// The tiles that repeat registers of one element.
    repeated: Vec<Option<usize>>,
    numbers: Vec<([u8; 16], usize)>,
    stages: Vec<Stage>,
    /// Bytes of an element of each tile, and the tiles that have been read for the last time.
    tiles: Vec<usize>,
    free: Vec<usize>,
}

/// The registers that an instruction reads.
fn operands(instruction: &Instruction) -> &[Register] {
    match instruction {
        Instruction::Load(_) | Instruction::Splat(_) => &[],
        Instruction::Cast(from) => std::slice::from_ref(from),
        Instruction::Map { operands, .. } => operands,
    }
}

impl<'a> Builder<'a> {
    fn new(program: &'a Program, kinds: &'a [LoadKind], in_place: bool) -> Builder<'a> {
        let count = program.instructions.len();
        let (mut uses, mut numbers) = (vec![0; count], Vec::new());
        for &operand in program.instructions.iter().flat_map(operands) {
            uses[operand] += 1;
        }
        uses[program.result] += 1;
        let stored = |(instruction, &dtype): (&Instruction, &DType)| match instruction {
            Instruction::Load(load) => Some(StageInput::Load(*load)),
            Instruction::Splat(number) => {
                let (mut bytes, item) = ([0; 16], dtype.item_size());
                store_scalar(*number, dtype, &mut bytes[..item]);
                numbers.push((bytes, item));
                Some(StageInput::Number(numbers.len() - 1))
            }
            _ => None,
        };
        let stored = program.instructions.iter().zip(&program.dtypes).map(stored).collect();
        Builder {
            program,
            kinds,
            in_place,
            uses,
            stored,
            repeated: vec![None; count],
            numbers,
            stages: Vec::new(),
            tiles: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds the stage that computes a register.
    fn stage(&mut self, register: Register) {
        let Program { instructions, dtypes, result, .. } = self.program;
        let read = operands(&instructions[register]);
        let inputs: Inputs = read.iter().map(|&operand| self.everywhere(operand)).collect();
        let work = match &instructions[register] {
            Instruction::Map { op, compute, .. } => {
                StageWork::Map(map_kernel(*op, *compute).expect("inference keeps operations to their domain"))
            }
            Instruction::Cast(from) => StageWork::Cast(cast_kernel(dtypes[*from], dtypes[register])),
            Instruction::Load(_) | Instruction::Splat(_) => unreachable!("they are stored"),
        };
        // A kernel does not write over what it reads.
        let direct = register == *result && !self.in_place;
        let item = dtypes[register].item_size();
        let out = (!direct).then(|| self.tile(item));
        // Tiles that no other stage reads are free for results of later ones.
        for &operand in read {
            self.uses[operand] -= 1;
        }
        for &(input, _) in &inputs {
            let is_read = |(own, &uses): (&Option<StageInput>, &usize)| *own == Some(input) && uses > 0;
            if let StageInput::Tile(tile) = input
                && !self.stored.iter().zip(&self.uses).any(is_read)
                && !self.repeated.contains(&Some(tile))
                && !self.free.contains(&tile)
            {
                self.free.push(tile);
            }
        }
        self.stages.push(Stage { work, inputs, out, item });
        self.stored[register] = out.map(StageInput::Tile);
    }

    /// A tile for elements of so many bytes.
    fn tile(&mut self, item: usize) -> usize {
        let free = self.free.iter().position(|&tile| self.tiles[tile] == item);
        free.map(|at| self.free.swap_remove(at)).unwrap_or_else(|| {
            self.tiles.push(item);
            self.tiles.len() - 1
        })
    }

    /// Where a register is in memory, and whether as one element for all results.
    fn place(&self, register: Register) -> (StageInput, bool) {
        let input = self.stored[register].expect("what an instruction reads is computed before it");
        let is_one = match input {
            StageInput::Load(load) => self.kinds[load] == LoadKind::Splat,
            StageInput::Number(_) => true,
            StageInput::Tile(_) => false,
        };
        (input, is_one)
    }

    /// Where a register has one element for each result.
    fn everywhere(&mut self, register: Register) -> (StageInput, usize) {
        let item = self.program.dtypes[register].item_size();
        let input = match self.place(register) {
            (input, false) => input,
            (input, true) => StageInput::Tile(self.repeated[register].unwrap_or_else(|| {
                self.tiles.push(item);
                let (tile, inputs) = (self.tiles.len() - 1, [(input, item)].into_iter().collect());
                self.stages.push(Stage { work: StageWork::Repeat, inputs, out: Some(tile), item });
                self.repeated[register] = Some(tile);
                tile
            })),
        };
        (input, item)
    }

    /// Copies the result to its own memory if no stage has computed it there.
    fn finish(&mut self) {
        let result = self.program.result;
        if self.stored[result].is_some() {
            let item = self.program.dtypes[result].item_size();
            // In place, the element may be where it is repeated.
            let (work, input) = match self.place(result) {
                (input, true) if !self.in_place => (StageWork::Repeat, input),
                _ => (StageWork::Copy, self.everywhere(result).0),
            };
            let inputs = [(input, item)].into_iter().collect();
            self.stages.push(Stage { work, inputs, out: None, item });
        }
    }
}
