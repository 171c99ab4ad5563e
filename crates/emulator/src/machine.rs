//! Owns the running of a module, thread by thread: blocks with shared memory and barriers. It does not know
//! who printed it.

use crate::parse::{Act, Source, Space, TABLES};
use crate::{Memory, Module, POISON};

/// Instructions after which a thread is taken to be in an endless loop.
const MAX_STEPS: u64 = 1 << 24;

/// Shared memory of a block, and who used each byte since the last barrier.
struct Shared {
    bytes: Vec<u8>,
    written: Vec<Option<usize>>,
    read: Vec<Option<usize>>,
}

impl Shared {
    fn new(bytes: u64) -> Shared {
        let count = bytes as usize;
        let poison = POISON.to_le_bytes().into_iter().cycle().take(count).collect();
        Shared { bytes: poison, written: vec![None; count], read: vec![None; count] }
    }

    fn barrier(&mut self) {
        self.written.fill(None);
        self.read.fill(None);
    }

    fn read(&mut self, thread: usize, address: u64, bytes: u64) -> u64 {
        let place = address as usize..(address + bytes) as usize;
        let are_there = self.written[place.clone()].iter().all(|by| by.is_none_or(|by| by == thread));
        assert!(are_there, "what another thread writes is read");
        self.read[place.clone()].fill(Some(thread));
        self.bytes[place].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    fn write(&mut self, thread: usize, address: u64, bytes: u64, bits: u64) {
        let place = address as usize..(address + bytes) as usize;
        let mut users = self.written[place.clone()].iter().chain(&self.read[place.clone()]);
        assert!(users.all(|by| by.is_none_or(|by| by == thread)), "what another thread uses is written");
        self.written[place.clone()].fill(Some(thread));
        self.bytes[place].copy_from_slice(&bits.to_le_bytes()[..bytes as usize]);
    }
}

/// Why a thread stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Barrier,
    Return,
}

struct Thread {
    number: usize,
    block: u64,
    registers: Vec<u64>,
    place: usize,
}

impl Thread {
    fn of(&self, source: Source) -> u64 {
        match source {
            Source::Register(register) => self.registers[register],
            Source::Number(bits) => bits,
            Source::Thread => self.number as u64,
            Source::Block => self.block,
        }
    }

    /// An address, which is a multiple of the bytes that are accessed.
    fn address(&self, first: Source, offset: u64, bytes: u64) -> u64 {
        let address = self.of(first).wrapping_add(offset);
        assert!(address.is_multiple_of(bytes), "{address:#x} is not aligned to {bytes} bytes");
        address
    }

    /// Runs until the thread stops.
    fn run(&mut self, module: &Module, arguments: &[u64], memory: &mut Memory, shared: &mut Shared) -> Stop {
        for _ in 0..MAX_STEPS {
            let act = &module.acts[self.place];
            self.place += 1;
            match act {
                &Act::Pure { run, bits, to, from: [a, b, c] } => {
                    self.registers[to] = run(self.of(a), self.of(b), self.of(c)) & (u64::MAX >> (64 - bits));
                }
                Act::Load { space, bytes, to, address, offset } => {
                    let first = self.address(*address, *offset, bytes * to.len() as u64);
                    for (at, &to) in (first..).step_by(*bytes as usize).zip(to) {
                        self.registers[to] = match space {
                            Space::Argument => (arguments[at as usize / 8] >> (8 * (at % 8))) & mask(*bytes),
                            Space::Global if at >= TABLES => module.tables[(at - TABLES) as usize / 8],
                            Space::Global => memory.read(at, *bytes),
                            Space::Shared => shared.read(self.number, at, *bytes),
                        };
                    }
                }
                Act::Store { space, bytes, from, address, offset } => {
                    let first = self.address(*address, *offset, bytes * from.len() as u64);
                    for (at, &from) in (first..).step_by(*bytes as usize).zip(from) {
                        let bits = self.registers[from];
                        match space {
                            Space::Argument => unreachable!("arguments are only read"),
                            Space::Global => memory.write(at, *bytes, bits),
                            Space::Shared => shared.write(self.number, at, *bytes, bits),
                        }
                    }
                }
                &Act::Jump { to, predicate } => {
                    if predicate.is_none_or(|(register, holds)| (self.registers[register] != 0) == holds) {
                        self.place = to;
                    }
                }
                Act::Barrier => return Stop::Barrier,
                Act::Return => return Stop::Return,
            }
        }
        panic!("a thread does not end");
    }
}

fn mask(bytes: u64) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

impl Module {
    /// Runs all blocks of a launch.
    ///
    /// # Panics
    /// If the kernel does what it must not: it touches what is not there or not aligned, threads use shared
    /// memory at once or do not meet at a barrier, or one does not end.
    pub fn run(&self, blocks: u32, arguments: &[u64], memory: &mut Memory) {
        run(self, blocks, arguments, memory);
    }
}

fn run(module: &Module, blocks: u32, arguments: &[u64], memory: &mut Memory) {
    assert_eq!(8 * arguments.len() as u64, module.argument_bytes, "bytes of arguments");
    let mut threads: Vec<Thread> = (0..module.threads)
        .map(|number| Thread { number, block: 0, registers: Vec::new(), place: 0 })
        .collect();
    for block in 0..blocks {
        let mut shared = Shared::new(module.shared_bytes);
        for thread in &mut threads {
            (thread.block, thread.place) = (block.into(), 0);
            thread.registers.clear();
            thread.registers.extend(module.widths.iter().map(|bits| POISON & (u64::MAX >> (64 - bits))));
        }
        loop {
            let mut run = |thread: &mut Thread| thread.run(module, arguments, memory, &mut shared);
            let stops: Vec<Stop> = threads.iter_mut().map(&mut run).collect();
            assert!(stops.iter().all(|&stop| stop == stops[0]), "a thread ends while others wait for it");
            if stops[0] == Stop::Return {
                break;
            }
            shared.barrier();
        }
    }
}
