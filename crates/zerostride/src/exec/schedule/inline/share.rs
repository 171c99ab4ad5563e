//! Owns the division of elements in cache among threads. It does not know what is done to them.

use crate::plan::Cost;
use crate::threads::parts;
use crate::{interrupt, num_threads};

/// Divides elements of so many bytes among threads, where their cost is worth it: each part is as many
/// elements, and comes with the number of its first one. It is too short to be interrupted.
///
/// # Errors
/// That of the first part that has one.
pub(super) fn share_out<E: Send>(
    cost: Cost,
    (out, item): (&mut [u8], usize),
    part: usize,
    work: impl Fn(usize, &mut [u8]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let numel = out.len() / item;
    // One thread takes all at once: each part has a cost of its own.
    let part = if num_threads() == 1 { numel } else { part };
    let parts = out.chunks_mut(part * item).enumerate();
    let work = |(): &mut (), (index, out): (usize, &mut [u8])| work(index * part, out);
    interrupt::put_off(|| parts::for_each_of(cost.effort(numel), parts, || (), work))
}
