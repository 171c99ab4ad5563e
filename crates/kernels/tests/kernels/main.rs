//! The tests of the kernels through their public names. They are built against the library, and need no
//! second build of it, which takes minutes.

mod codes;
mod elements;
mod elementwise;
mod neighbours;
mod pack;
mod pairwise;
mod printed;
mod processors;
mod products;
mod ptx;
mod record;
mod reduce;
