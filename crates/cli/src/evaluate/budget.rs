//! Owns the limit on memory, `--max-memory`: what operands and results may take together.

use std::cell::Cell;

use zerostride::DType;

use crate::bytes;

/// Bytes that may be taken, and those that are.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limit: Option<u64>,
    taken: Cell<u64>,
}

impl Budget {
    /// A limit in bytes; `None` is none.
    pub(crate) fn new(limit: Option<u64>) -> Budget {
        Budget { limit, taken: Cell::new(0) }
    }

    /// Takes bytes for something, before they are allocated.
    ///
    /// # Errors
    /// A message, if the limit does not allow them.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), String> {
        let taken = self.taken.get().saturating_add(bytes);
        match self.limit {
            Some(limit) if taken > limit => Err(format!(
                "this takes {} of memory, {} in all, and --max-memory allows {}",
                bytes::show(bytes),
                bytes::show(taken),
                bytes::show(limit)
            )),
            _ => {
                self.taken.set(taken);
                Ok(())
            }
        }
    }

    /// The bytes that may still be taken; `None` is any number.
    pub(crate) fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.taken.get()))
    }

    /// Takes bytes for a tensor.
    ///
    /// # Errors
    /// As [`Budget::take`].
    pub(crate) fn take_tensor(&self, shape: &[usize], dtype: DType) -> Result<(), String> {
        let sizes = shape.iter().map(|&size| size as u64);
        self.take(sizes.fold(dtype.item_size() as u64, u64::saturating_mul))
    }
}
