//! The tests of the kernels through their public names. They are built against the library, and need no
//! second build of it, which takes minutes.

mod chains;
mod codes;
mod elementwise;
mod neighbours;
mod pack;
mod pairwise;
mod printed;
mod processors;
mod products;
mod ptx;
mod quotients;
mod record;
mod reduce;
mod rows;
