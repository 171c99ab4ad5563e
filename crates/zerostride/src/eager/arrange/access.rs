//! Owns the access of these functions to the bytes of tensors: claims on all of them at once, by a function
//! of a name, then slices. It does not know what is done with the bytes.

use std::sync::Arc;

use crate::memory::{Access, Named};
use crate::{Error, Result, Tensor};

struct Name(&'static str);

impl Named for Name {
    fn name(&self) -> String {
        self.0.to_owned()
    }
}

fn named(function: &'static str) -> Option<Arc<dyn Named>> {
    Some(Arc::new(Name(function)))
}

/// Lets `read` see the bytes that each tensor reaches, from its lowest element to its highest.
pub(super) fn read<const N: usize, R>(
    function: &'static str,
    tensors: [&Tensor; N],
    read: impl FnOnce([&[u8]; N]) -> Result<R>,
) -> Result<R> {
    let access = Access::wait(tensors.map(|tensor| tensor.claim(false)), named(function))?;
    read(tensors.map(|tensor| access.guard(tensor.storage()).bytes(tensor.reach())))
}

/// Lets `write` change the bytes that a target reaches while it sees those of the sources, which lie in other
/// storages.
///
/// # Panics
/// If a source shares the target's storage.
pub(super) fn write<const N: usize, R>(
    function: &'static str,
    target: &Tensor,
    sources: [&Tensor; N],
    write: impl FnOnce(&mut [u8], [&[u8]; N]) -> Result<R>,
) -> Result<R> {
    if !target.is_writable() {
        return Err(Error::ReadOnly);
    }
    let claims = sources.map(|tensor| tensor.claim(false)).into_iter().chain([target.claim(true)]);
    let mut access = Access::wait(claims, named(function))?;
    let mut guard = access.split_off(target.storage());
    let bytes = sources.map(|tensor| access.guard(tensor.storage()).bytes(tensor.reach()));
    write(guard.bytes_mut(target.reach()), bytes)
}
