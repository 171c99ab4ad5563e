//! An emulation of NVIDIA's driver that runs the kernels which zerostride prints, thread by thread, for tests
//! where there is no GPU.
//!
//! Two faces: Rust's, [`Module`] and [`Memory`], for tests of single kernels, and C's, a library with the
//! entry points of `libcuda` (`driver.rs`), which a program opens in its place. It takes the printed subset
//! of PTX and refuses the rest by name. It shares no code with the printer.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod driver;
mod machine;
mod memory;
mod names;
mod parse;
mod process;

pub use memory::Memory;
pub use parse::Module;
pub use process::{again, emulated, library};

/// Bits of registers and memory that were never written.
const POISON: u64 = 0xa5a5_a5a5_a5a5_a5a5;
