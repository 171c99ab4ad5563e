//! Owns the memory of tensors, and the claims that say which operation may touch which of its bytes. It does
//! not know dtypes, shapes or tensors.
//!
//! Memory comes from the system in regions (`region.rs`), which storages share and the pool uses again
//! (`pool.rs`). A storage (`storage.rs`) gives access to its bytes only against a claim (`guard.rs`). There
//! is one protocol for claims, with three speeds: an operation waits its turn for ranges of bytes, or takes
//! whole storages briefly if no operation uses them (`borrow.rs`), or only notes what it reads (`hazard.rs`).
//! `access.rs` claims all storages of an operation at once.

mod access;
mod borrow;
#[allow(unsafe_code)]
mod guard;
mod hazard;
pub mod pool;
#[allow(unsafe_code)]
mod region;
#[allow(unsafe_code)]
mod storage;

pub(crate) use access::Access;
pub(crate) use borrow::{Claim, Holder, Named, Request};
pub(crate) use guard::{Block, Fresh, Guard};
pub(crate) use hazard::Hazards;
pub(crate) use pool::Shared;
pub(crate) use region::share_heap;
pub(crate) use storage::{Reading, Storage};
