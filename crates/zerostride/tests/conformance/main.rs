//! Every operation against PyTorch's committed answers, by the corpus' rules of comparison
//! (`spec/README.md`).

#![cfg(feature = "io")]

mod compare;
mod corpus;
mod coverage;
mod exceptions;
mod findings;
mod limits;
mod mistakes;
mod operations;
mod powers;
mod promotion;
mod reductions;
mod values;
