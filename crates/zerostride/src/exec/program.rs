//! Owns the running of a program over tiles. It does not know where tiles come from or go to.

use bytemuck::cast_slice_mut;
use zerostride_kernels::{CastKernel, MapKernel, cast_kernel, map_kernel, store_scalar};
use zerostride_ops::DType;

use crate::Result;
use crate::plan::{Instruction, Program, Register};

/// A program with its kernels looked up; shared by the threads that run it.
pub(crate) struct Compiled<'a> {
    program: &'a Program,
    kernels: Vec<Kernel>,
}

enum Kernel {
    /// The tile is filled by the caller, or was once and for all.
    None,
    Cast(CastKernel),
    Map(MapKernel),
}

impl<'a> Compiled<'a> {
    pub(crate) fn new(program: &'a Program) -> Compiled<'a> {
        let kernel = |(instruction, &dtype): (&Instruction, &DType)| match instruction {
            Instruction::Load(_) | Instruction::Splat(_) => Kernel::None,
            Instruction::Cast(from) => Kernel::Cast(cast_kernel(program.dtypes[*from], dtype)),
            Instruction::Map { op, compute, .. } => {
                Kernel::Map(map_kernel(*op, *compute).expect("inference keeps operations to their domain"))
            }
        };
        let kernels = program.instructions.iter().zip(&program.dtypes).map(kernel).collect();
        Compiled { program, kernels }
    }

    /// The tiles that one thread needs, for at most `len` elements at a time.
    pub(crate) fn machine(&self, len: usize) -> Machine<'_> {
        let tile = |(instruction, &dtype): (&Instruction, &DType)| {
            let mut tile = Tile::new(len, dtype);
            if let Instruction::Splat(number) = instruction {
                let (first, rest) = tile.bytes_mut(len).split_at_mut(dtype.item_size());
                store_scalar(*number, dtype, first);
                rest.chunks_exact_mut(first.len()).for_each(|element| element.copy_from_slice(first));
            }
            tile
        };
        let tiles = self.program.instructions.iter().zip(&self.program.dtypes).map(tile).collect();
        Machine { compiled: self, tiles }
    }
}

/// One thread's registers.
pub(crate) struct Machine<'a> {
    compiled: &'a Compiled<'a>,
    tiles: Vec<Tile>,
}

impl Machine<'_> {
    /// Runs the program on `len` elements: `load` fills the tile of each load. Returns the result's tile.
    pub(crate) fn run(&mut self, len: usize, mut load: impl FnMut(usize, &mut [u8])) -> Result<&[u8]> {
        let program = self.compiled.program;
        for (register, (instruction, kernel)) in
            program.instructions.iter().zip(&self.compiled.kernels).enumerate()
        {
            let (done, rest) = self.tiles.split_at_mut(register);
            let out = rest[0].bytes_mut(len);
            let input = |register: &Register| done[*register].bytes(len);
            match (instruction, kernel) {
                (Instruction::Load(index), _) => load(*index, out),
                (Instruction::Cast(from), Kernel::Cast(cast)) => cast(input(from), out),
                (Instruction::Map { operands, .. }, Kernel::Map(map)) => {
                    let inputs: smallvec::SmallVec<[&[u8]; 4]> = operands.iter().map(input).collect();
                    map(&inputs, out)?;
                }
                _ => {}
            }
        }
        Ok(self.tiles[program.result].bytes(len))
    }
}

/// Memory for the elements of one register, aligned for every dtype.
struct Tile {
    words: Vec<u128>,
    item: usize,
}

impl Tile {
    fn new(len: usize, dtype: DType) -> Tile {
        let item = dtype.item_size();
        Tile { words: vec![0; (len * item).div_ceil(size_of::<u128>())], item }
    }

    fn bytes(&self, len: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..len * self.item]
    }

    fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        &mut cast_slice_mut(&mut self.words)[..len * self.item]
    }
}
