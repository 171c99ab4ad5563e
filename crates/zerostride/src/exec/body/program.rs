//! Owns the making of stages from a program: chains, whose running values stay in registers, and block
//! kernels for the instructions that no chain has. It does not know where elements are, nor how many there
//! are.

use smallvec::SmallVec;
use zerostride_code::Write;
use zerostride_kernels::{
    CastKernel, Chain, ChainOperand, Isa, Link, MapKernel, cast_kernel, map_kernel, store_scalar,
};
use zerostride_ops::DType;

use super::native::{End, ProgramCode};
use crate::plan::{Instruction, Program, Register};

/// How a program reads a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadKind {
    /// One element for each result.
    Vector,
    /// The same, with a stride of so many elements.
    Stepped(isize),
    /// A broadcast scalar.
    Splat,
}

/// Where a stage reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum StageInput {
    Load(usize),
    Number(usize),
    Tile(usize),
}

/// What a stage does with the elements of its inputs.
pub(in crate::exec) enum StageWork {
    Chain(Box<Chain>),
    Cast(CastKernel),
    Map(MapKernel),
    Copy,
    /// The first element of the only input, again and again.
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
    /// The bytes of the program's numbers.
    pub(in crate::exec) numbers: Vec<[u8; 16]>,
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
        let paths = builder.paths();
        for (register, path) in paths.iter().enumerate() {
            if builder.stored[register].is_none() && builder.wanted[register] {
                builder.stage(register, path.as_ref());
            }
        }
        builder.finish();
        let item = program.dtypes[program.result].item_size();
        let Builder { stages, numbers, tiles, .. } = builder;
        let code = ProgramCode::new(program, kinds, End::Stored(Write::Cached)).map(Box::new);
        Compiled { stages, numbers, tiles, loads, item, code, accumulating: None }
    }

    /// The same, whose elements may also enter accumulators.
    pub(in crate::exec) fn accumulating(self, program: &Program, end: End) -> Compiled {
        let kinds: Vec<LoadKind> = self.loads.iter().map(|&(kind, _)| kind).collect();
        let accumulating = ProgramCode::new(program, &kinds, end).map(Box::new);
        Compiled { accumulating, ..self }
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

    /// The chain that does everything, if one does.
    pub(in crate::exec) fn one_chain(&self) -> Option<&Chain> {
        match &self.stages[..] {
            [Stage { work: StageWork::Chain(chain), .. }] if self.is_direct() => Some(chain),
            _ => None,
        }
    }
}

/// A chain: the register in memory that it starts with, and its instructions, each with the position of the
/// running value among its operands.
type Path = (Register, Vec<(Register, usize)>);

struct Builder<'a> {
    program: &'a Program,
    kinds: &'a [LoadKind],
    in_place: bool,
    /// How often each register is the result or an operand of instructions that are in no stage yet.
    uses: Vec<usize>,
    /// Whether each register must be in memory.
    wanted: Vec<bool>,
    /// Where stages read registers that are in memory already.
    stored: Vec<Option<StageInput>>,
    numbers: Vec<[u8; 16]>,
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
                let mut bytes = [0; 16];
                store_scalar(*number, dtype, &mut bytes[..dtype.item_size()]);
                numbers.push(bytes);
                Some(StageInput::Number(numbers.len() - 1))
            }
            _ => None,
        };
        let stored = program.instructions.iter().zip(&program.dtypes).map(stored).collect();
        let wanted = (0..count).map(|register| register == program.result).collect();
        Builder {
            program,
            kinds,
            in_place,
            uses,
            wanted,
            stored,
            numbers,
            stages: Vec::new(),
            tiles: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Chooses for each instruction whether it goes on with the chain of one of its operands, the longest
    /// one, and marks what must be in memory for that. No chain is left to a block kernel.
    fn paths(&mut self) -> Vec<Option<Path>> {
        let mut paths: Vec<Option<Path>> = Vec::new();
        for (register, instruction) in self.program.instructions.iter().enumerate() {
            let reads = operands(instruction);
            if reads.is_empty() {
                paths.push(None);
                continue;
            }
            let mut best: Option<Path> = None;
            for (position, &operand) in reads.iter().enumerate() {
                let is_only = self.uses[operand] == 1 && operand != self.program.result;
                let longer = paths[operand].as_ref().filter(|_| is_only);
                let longer = longer.map(|(first, links)| (*first, &links[..]));
                let alone = (operand, &[][..]);
                let extended = longer.into_iter().chain([alone]).find_map(|(first, links)| {
                    let links: Vec<_> = links.iter().copied().chain([(register, position)]).collect();
                    self.chain(first, &links).map(|_| (first, links))
                });
                // A strided load is gathered into registers once: its chain goes on rather than being stored
                // and read again.
                let len = |path: &Option<Path>| {
                    path.as_ref().map_or((0, false), |(first, links)| (links.len(), self.is_stepped(*first)))
                };
                if len(&extended) > len(&best) {
                    best = extended;
                }
            }
            let running = best.as_ref().filter(|(_, links)| links.len() == 1).map(|(first, _)| *first);
            let position = best.as_ref().and_then(|(_, links)| links.last()).map(|&(_, position)| position);
            for (at, &operand) in reads.iter().enumerate() {
                self.wanted[operand] |= Some(at) != position || running == Some(operand);
            }
            paths.push(best);
        }
        paths
    }

    /// Whether a register is a strided load.
    fn is_stepped(&self, register: Register) -> bool {
        matches!(self.stored[register], Some(StageInput::Load(load)) if matches!(self.kinds[load], LoadKind::Stepped(_)))
    }

    /// The chain of instructions, each with the position of the running value among its operands, and what it
    /// reads.
    fn chain(&self, first: Register, links: &[(Register, usize)]) -> Option<(Chain, Inputs)> {
        let program = self.program;
        let mut inputs = Inputs::new();
        let mut feed = |register: Register| {
            let slot = inputs.len();
            let input = self.stored[register].unwrap_or(StageInput::Tile(usize::MAX));
            inputs.push((input, program.dtypes[register].item_size()));
            match input {
                StageInput::Load(load) => match self.kinds[load] {
                    LoadKind::Splat => ChainOperand::Splat(slot),
                    LoadKind::Stepped(step) => ChainOperand::Stepped(slot, step),
                    LoadKind::Vector => ChainOperand::Vector(slot),
                },
                StageInput::Number(_) => ChainOperand::Splat(slot),
                StageInput::Tile(_) => ChainOperand::Vector(slot),
            }
        };
        let start = (feed(first), program.dtypes[first]);
        let link = |&(register, position): &(Register, usize)| match &program.instructions[register] {
            Instruction::Map { op, compute, operands } => {
                let others = operands.iter().enumerate().filter(|&(at, _)| at != position);
                let others = others.map(|(_, &operand)| feed(operand)).collect();
                Link::Map { op: *op, compute: *compute, place: position, others }
            }
            _ => Link::Cast(program.dtypes[register]),
        };
        let chain: Vec<Link> = links.iter().map(link).collect();
        let last = links.last().map_or(first, |&(register, _)| register);
        Chain::new(Isa::active(), start, &chain, program.dtypes[last]).map(|chain| (chain, inputs))
    }

    /// Adds the stage whose result is a register.
    fn stage(&mut self, register: Register, path: Option<&Path>) {
        let (work, inputs) = match path {
            Some((first, links)) => {
                let (chain, inputs) =
                    self.chain(*first, links).expect("the path was found with the same chain");
                (StageWork::Chain(Box::new(chain)), inputs)
            }
            None => {
                let instruction = &self.program.instructions[register];
                let inputs = operands(instruction).iter().map(|&operand| self.everywhere(operand)).collect();
                let work = match instruction {
                    Instruction::Map { op, compute, .. } => StageWork::Map(
                        map_kernel(*op, *compute).expect("inference keeps operations to their domain"),
                    ),
                    Instruction::Cast(from) => {
                        let dtypes = &self.program.dtypes;
                        StageWork::Cast(cast_kernel(dtypes[*from], dtypes[register]))
                    }
                    Instruction::Load(_) | Instruction::Splat(_) => unreachable!("they are stored"),
                };
                (work, inputs)
            }
        };
        // A block kernel does not write over what it reads.
        let direct =
            register == self.program.result && (matches!(work, StageWork::Chain(_)) || !self.in_place);
        let item = self.program.dtypes[register].item_size();
        let out = (!direct).then(|| self.tile(item));
        // Tiles that no other stage reads are free for results of later ones.
        let own = [(register, 0)];
        let done = path.map_or(&own[..], |(_, links)| links);
        for &operand in done.iter().flat_map(|&(done, _)| operands(&self.program.instructions[done])) {
            self.uses[operand] -= 1;
        }
        for &(input, _) in &inputs {
            let is_read = |(own, &uses): (&Option<StageInput>, &usize)| *own == Some(input) && uses > 0;
            if let StageInput::Tile(tile) = input
                && !self.stored.iter().zip(&self.uses).any(is_read)
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

    /// Where a register has one element for each result.
    fn everywhere(&mut self, register: Register) -> (StageInput, usize) {
        let item = self.program.dtypes[register].item_size();
        let input = self.stored[register].expect("what an instruction reads is computed before it");
        let is_one = match input {
            StageInput::Load(load) => self.kinds[load] == LoadKind::Splat,
            StageInput::Number(_) => true,
            StageInput::Tile(_) => false,
        };
        if !is_one {
            return (input, item);
        }
        let (tile, inputs) = (self.tile(item), [(input, item)].into_iter().collect());
        self.stages.push(Stage { work: StageWork::Repeat, inputs, out: Some(tile), item });
        (StageInput::Tile(tile), item)
    }

    /// Copies the result to its own memory if no stage has computed it there.
    fn finish(&mut self) {
        let result = self.program.result;
        let Some(input) = self.stored[result] else { return };
        let item = self.program.dtypes[result].item_size();
        let (work, read) = match self.chain(result, &[]) {
            Some((chain, _)) => (StageWork::Chain(Box::new(chain)), (input, item)),
            None => (StageWork::Copy, self.everywhere(result)),
        };
        self.stages.push(Stage { work, inputs: [read].into_iter().collect(), out: None, item });
    }
}
