//! Owns the memory of tensors, and the claims that say which operation may touch which of its bytes. It does
//! not know dtypes, shapes or tensors.
//!
//! Memory comes from the system in regions (`region.rs`), which storages share and the pool uses again
//! (`pool.rs`). A storage gives access to its bytes only against a claim (`storage.rs`). There is one
//! protocol for claims, with three speeds: an operation waits its turn for ranges of bytes, or takes whole
//! storages briefly if no operation uses them (`borrow.rs`), or only notes what it reads (`hazard.rs`).
//! `access.rs` claims all storages of an operation at once.

mod access;
mod borrow;
mod hazard;
pub mod pool;
#[allow(unsafe_code)]
mod region;
#[allow(unsafe_code)]
mod storage;

pub(crate) use access::Access;
pub(crate) use borrow::{Claim, Holder, Named, Request};
pub(crate) use hazard::Hazards;
pub(crate) use pool::Shared;
pub(crate) use region::share_heap;
pub(crate) use storage::{Block, Fresh, Guard, Reading, Storage};

/// Forgets the claims and caches of threads of the parent process: for the only thread of a child.
fn forget_other_threads() {
    borrow::forget_waits();
    hazard::forget_other_threads();
    pool::forget_other_threads();
}
