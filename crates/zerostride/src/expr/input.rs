//! Owns `Input`: an operand of expressions whose elements are not in memory. It does not know where they are
//! stored nor when they are read (`stream`).

use std::fmt;
use std::ops::Range;

use zerostride_ops::DType;

use crate::Result;

/// An array whose elements are read when they are needed, some rows at a time.
///
/// `io::Source` is one, of an array in a file. Elements are in row-major order, in this machine's byte order;
/// a *row* is one index of the first dimension whose size is not 1, and an array of one element or no
/// dimensions is one row.
///
/// ```
/// use std::ops::Range;
/// use std::sync::Arc;
/// use zerostride::{DType, Expr, Result, stream::Input};
///
/// /// The numbers 0, 1, 2, ... as bytes, of which there are more than fit in memory.
/// #[derive(Debug)]
/// struct Counter;
///
/// impl Input for Counter {
///     fn name(&self) -> String { "counter".into() }
///     fn dtype(&self) -> DType { DType::U8 }
///     fn shape(&self) -> &[usize] { &[1 << 20] }
///     fn read(&self, rows: Range<usize>, out: &mut [u8]) -> Result<()> {
///         out.iter_mut().zip(rows).for_each(|(byte, row)| *byte = row as u8);
///         Ok(())
///     }
/// }
///
/// assert_eq!(Expr::input(Arc::new(Counter)).sum(..).eval()?.item::<i64>()?, 255 * 128 * (1 << 12));
/// # Ok::<(), zerostride::Error>(())
/// ```
pub trait Input: Send + Sync + fmt::Debug {
    /// Its name in messages, such as the file's path.
    fn name(&self) -> String;

    /// The dtype of the elements.
    fn dtype(&self) -> DType;

    /// The sizes of the dimensions.
    fn shape(&self) -> &[usize];

    /// Reads these rows into `out`, which has their length and is zero at first. Bools are bytes of 0 and 1.
    ///
    /// # Errors
    /// An input or output error, or elements that cannot be decoded.
    fn read(&self, rows: Range<usize>, out: &mut [u8]) -> Result<()>;

    /// Whether reading in order is much faster than any other order. Then one thread reads, from the first
    /// row on.
    fn is_sequential(&self) -> bool {
        false
    }

    /// The number of rows that are stored together: pieces begin at multiples of it where memory allows.
    fn chunk(&self) -> usize {
        1
    }

    /// The most bytes of memory that `read` needs besides `out`, such as for a decompressed chunk.
    fn scratch(&self) -> u64 {
        0
    }
}

/// The dimension whose indices are rows: the first whose size is not 1.
pub(crate) fn leading(shape: &[usize]) -> Option<usize> {
    shape.iter().position(|&size| size != 1)
}

/// The number of rows of an array.
pub(crate) fn rows(shape: &[usize]) -> usize {
    leading(shape).map_or(1, |dim| shape[dim])
}
