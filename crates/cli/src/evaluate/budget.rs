//! Owns what the operands and the expression of an evaluation share: the limit of their memory
//! (`--max-memory`), whether it is a dry run, which computes nothing, the device where it runs, and the seeds
//! of random numbers. It does not know what the memory is for.

use std::cell::Cell;

use zerostride::{DType, Device, Expr, Tensor, move_all};

use crate::bytes;
use crate::words::say;

/// The limit in bytes, the bytes reserved, and the bytes that have been read so far; the next seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    limit: Option<u64>,
    taken: Cell<u64>,
    read: Cell<u64>,
    seed: Cell<u64>,
    is_dry: bool,
    device: Device,
}

impl Budget {
    /// A budget of so many bytes, `None` for no limit, of an evaluation on a device.
    pub(crate) fn new(limit: Option<u64>, is_dry: bool, device: Device) -> Budget {
        Budget { limit, is_dry, device, ..Budget::default() }
    }

    /// Expressions of tensors that are where the evaluation runs. A dry run moves none.
    ///
    /// # Errors
    /// As [`move_all`].
    pub(crate) fn moved(&self, exprs: &[Expr]) -> zerostride::Result<Vec<Expr>> {
        if self.is_dry || self.device == Device::Cpu {
            return Ok(exprs.to_vec());
        }
        move_all(exprs, self.device)
    }

    /// A new tensor, where the evaluation runs.
    ///
    /// # Errors
    /// As [`Tensor::to`].
    pub(crate) fn placed(&self, tensor: Tensor) -> zerostride::Result<Tensor> {
        tensor.to(self.device)
    }

    /// Whether placeholders replace all that would be computed or read.
    pub(crate) fn is_dry(&self) -> bool {
        self.is_dry
    }

    /// Reserves bytes before they are allocated.
    ///
    /// # Errors
    /// A message, if the limit does not allow them.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), String> {
        let taken = self.taken.get().saturating_add(bytes);
        match self.limit {
            Some(limit) if taken > limit => {
                let [all, limit] = bytes::show_apart([taken, limit]);
                Err(match self.taken.get() {
                    0 => say!("memory-taken", amount = all, limit = limit),
                    others => {
                        let [amount, others] = [bytes, others].map(bytes::show);
                        say!("memory-taken-besides", amount = amount, others = others, limit = limit)
                    }
                })
            }
            _ => {
                self.taken.set(taken);
                Ok(())
            }
        }
    }

    /// The bytes reserved so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// A seed that no call before had: 0, 1, 2 and so on, so that numbers are independent of each other, and
    /// the same in the next evaluation.
    pub(crate) fn next_seed(&self) -> u64 {
        self.seed.replace(self.seed.get() + 1)
    }

    /// Counts bytes that are read from files before the expression runs.
    pub(crate) fn note_read(&self, bytes: u64) {
        self.read.set(self.read.get().saturating_add(bytes));
    }

    /// The bytes that have been read.
    pub(crate) fn read(&self) -> u64 {
        self.read.get()
    }

    /// The bytes that can still be reserved; `None` for no limit.
    pub(crate) fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.taken.get()))
    }

    /// Reserves the bytes of a tensor.
    ///
    /// # Errors
    /// As [`Budget::take`].
    pub(crate) fn take_tensor(&self, shape: &[usize], dtype: DType) -> Result<(), String> {
        let sizes = shape.iter().map(|&size| size as u64);
        self.take(sizes.fold(dtype.item_size() as u64, u64::saturating_mul))
    }
}
