//! Owns launches on the emulated device: its memory as elements of types, and each launch as a file for
//! `bench/gpu_launches.py`. It does not know what is computed.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

use zerostride_code::Type;
use zerostride_emulator::Module;

/// Memory in pieces, each with elements of a type.
#[derive(Clone, PartialEq)]
pub(super) struct Memory {
    /// What is computed in it.
    pub label: String,
    /// Whether elements have either sign where a NaN decides.
    pub signs_are_open: bool,
    types: Vec<Type>,
    bytes: zerostride_emulator::Memory,
}

impl Memory {
    pub(super) fn new(label: String) -> Memory {
        Memory { label, signs_are_open: false, types: Vec::new(), bytes: Default::default() }
    }

    /// The address of a piece of so many bytes, which is as much behind an aligned one as is asked for.
    pub(super) fn add(&mut self, ty: Type, bytes: usize, behind: u64) -> u64 {
        self.types.push(ty);
        self.bytes.add(bytes, behind)
    }

    pub(super) fn read(&mut self, address: u64, count: u64) -> u64 {
        self.bytes.read(address, count)
    }

    pub(super) fn write(&mut self, address: u64, count: u64, bits: u64) {
        self.bytes.write(address, count, bits);
    }
}

/// Runs all blocks of a launch, and writes it as a file if a folder is named for that, by
/// `ZEROSTRIDE_PTX_LAUNCHES`.
pub(super) fn launch(text: &str, blocks: u32, arguments: &[u64], memory: &mut Memory) {
    let module = Module::parse(text);
    let Some(folder) = env::var_os("ZEROSTRIDE_PTX_LAUNCHES") else {
        return module.run(blocks, arguments, &mut memory.bytes);
    };
    let before = memory.bytes.clone();
    module.run(blocks, arguments, &mut memory.bytes);
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{:06}.launch", COUNT.fetch_add(1, Ordering::Relaxed));
    let pieces: Vec<String> = memory
        .bytes
        .pieces()
        .zip(&memory.types)
        .map(|((start, bytes), ty)| format!("[\"{start:x}\", {}, \"{ty}\"]", bytes.len()))
        .collect();
    let words: Vec<String> = arguments.iter().map(|word| format!("\"{word:x}\"")).collect();
    let mut file = format!(
        "{{\"label\": \"{}\", \"signs_open\": {}, \"entry\": \"{}\", \"blocks\": {blocks}, \"arguments\": [{}], \
         \"pieces\": [{}], \"text\": {}}}\n{text}",
        memory.label,
        memory.signs_are_open,
        module.name,
        words.join(", "),
        pieces.join(", "),
        text.len()
    )
    .into_bytes();
    [&before, &memory.bytes]
        .into_iter()
        .flat_map(|memory| memory.pieces())
        .for_each(|(_, bytes)| file.extend(bytes));
    fs::write(Path::new(&folder).join(name), file).expect("the launch is written");
}
