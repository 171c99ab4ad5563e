//! The web face of zerostride: what the page in `page/` shows, worked out in WebAssembly on the reader's
//! machine.
//!
//! The page asks one thing, [`answer`]: its state goes in as the fragment of its address, and everything that
//! it shows comes back as JSON, in the reader's language. There is no logic in JavaScript beyond putting that
//! into the page. `cargo xtask web` builds the page into a folder of static files. This floor explains
//! nothing itself (`zerostride-explain`).

#![deny(unsafe_code)]

#[allow(unsafe_code)]
pub mod abi;
mod answer;
mod code;
mod operand;
mod state;
mod words;

pub use answer::answer;
