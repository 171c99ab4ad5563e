//! Shapes, views, in-place writes, joining, products, limits and threads: against PyTorch's committed answers
//! (`spec/README.md`) and against oracles that share no code with the engine.

#![cfg(feature = "io")]

mod aliasing;
mod corpus;
mod golden_einsum;
mod golden_in_place;
mod golden_matmul;
mod golden_orders;
mod golden_shapes;
mod golden_views;
mod handles;
mod limits;
mod products;
mod threads;
mod versions;
mod windows;
