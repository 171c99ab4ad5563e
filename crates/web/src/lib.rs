//! The web page's half in WebAssembly: it computes what the page in `page/` shows, on the reader's machine.
//!
//! The page calls one function, [`answer`]: the argument is its state, as the fragment of its address; the
//! result is all that it shows, as JSON in the reader's language. JavaScript only puts that into the page.
//! `cargo xtask web` builds the page into a folder of static files. This crate does not explain anything
//! itself (`zerostride-explain`).

#![deny(unsafe_code)]
// A `Size` is a `usize` only where that has 64 bits.
#![allow(clippy::unnecessary_cast, clippy::useless_conversion)]

#[allow(unsafe_code)]
pub mod abi;
mod answer;
mod code;
mod combined;
mod letters;
mod operand;
mod state;
mod values;
mod words;

pub use answer::answer;
