//! Owns what is computed on a device within a limit: by one plan, or value after value in pieces, each of
//! which is written to its place in the value. It does not know files, nor how a piece is computed (`exec`).
//!
//! A piece of a result has the temporaries of its own rows alone, so that fewer rows take less memory. What
//! all rows need is computed before, in pieces as well, and held until the end.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use zerostride_shape::{Layout, checked_bytes};

use super::cut::{cut, shape};
use super::division::{Observed, bytes};
use crate::exec::{device, device_scratch_into};
use crate::expr::{Expr, View, leading, operands_first};
use crate::plan::Plan;
use crate::{Device, Error, Result, Tensor};

/// What is computed on a device.
pub(super) struct OnDevice {
    pub(super) index: usize,
    pub(super) way: Way,
    /// The most bytes held there at once besides operands.
    pub(super) bytes: u64,
}

/// How results are computed.
pub(super) enum Way {
    /// All by one plan.
    AtOnce(Box<Plan>),
    /// One value after the other, those first that others need, the results last.
    InPieces(Vec<DeviceValue>),
}

/// A value that is computed on a device.
pub(super) struct DeviceValue {
    pub(super) expr: Expr,
    pub(super) is_result: bool,
    layout: Layout,
    rows: Option<Rows>,
}

/// The rows of a value that has some.
struct Rows {
    /// Their dimension.
    dim: usize,
    /// How many there are, how many a piece has, and what the bounds of pieces are multiples of.
    count: usize,
    piece: usize,
    quantum: usize,
}

impl OnDevice {
    /// The way to compute expressions within `limit` bytes: at once if that is enough and no number of
    /// `rows` is wanted in a piece.
    pub(super) fn new(roots: &[Expr], index: usize, limit: u64, rows: Option<usize>) -> Result<OnDevice> {
        let plan = Plan::of(roots)?;
        let bytes = (plan.output_bytes() as u64).saturating_add(device::scratch_bytes(&plan));
        let fits = bytes <= limit;
        if !fits || rows.is_some() {
            match OnDevice::in_pieces(values(roots, &plan.passes.layouts), index, limit, rows) {
                // Values that all rows need may take more than the results do at once.
                Err(Error::Memory { .. }) if fits => {}
                Err(Error::Memory { needed, .. }) if needed > bytes => {
                    let reason = format!(
                        "at once the results take {bytes} bytes, and in pieces more; allow more memory"
                    );
                    return Err(Error::Memory { needed: bytes, limit, reason });
                }
                found => return found,
            }
        }
        Ok(OnDevice { index, way: Way::AtOnce(Box::new(plan)), bytes })
    }

    /// The way to compute values one after the other.
    fn in_pieces(
        mut values: Vec<DeviceValue>,
        index: usize,
        limit: u64,
        rows: Option<usize>,
    ) -> Result<OnDevice> {
        let held = values.iter().map(|value| bytes(&value.expr)).fold(0, u64::saturating_add);
        if held > limit {
            return Err(Error::Memory { needed: held, limit, reason: blame(&values, Device::Cuda(index)) });
        }
        let scratch = values.iter_mut().map(|value| value.divide(held, limit, rows));
        let most = scratch.collect::<Result<Vec<u64>>>()?.into_iter().max().unwrap_or(0);
        Ok(OnDevice { index, way: Way::InPieces(values), bytes: held.saturating_add(most) })
    }
}

impl fmt::Display for OnDevice {
    /// One line for each value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = Device::Cuda(self.index);
        let values = match &self.way {
            Way::AtOnce(plan) => {
                return plan.roots.iter().try_for_each(|root| writeln!(f, "on {device}: {}", root.formula()));
            }
            Way::InPieces(values) => values,
        };
        values.iter().try_for_each(|value| {
            let text = value.expr.formula();
            match value.rows {
                Some(Rows { count, piece, .. }) if piece < count => {
                    writeln!(f, "on {device} in {} pieces of {piece} rows: {text}", count.div_ceil(piece))
                }
                _ => writeln!(f, "on {device}: {text}"),
            }
        })
    }
}

/// The values that are computed for expressions whose values lie in layouts.
fn values(roots: &[Expr], layouts: &[Layout]) -> Vec<DeviceValue> {
    let (mut values, mut needed) = (Vec::new(), HashSet::new());
    for (root, layout) in roots.iter().zip(layouts).rev() {
        values.push(DeviceValue::new(root, layout.clone(), true, &mut needed));
    }
    // A value is found after all that need it.
    for node in operands_first(roots, |_| true).into_iter().rev() {
        if needed.contains(&node.id()) {
            let layout = Layout::contiguous(shape(node).clone());
            values.push(DeviceValue::new(node, layout, false, &mut needed));
        }
    }
    values.reverse();
    values
}

/// Which of the values held is to blame, and what to do.
fn blame(values: &[DeviceValue], device: Device) -> String {
    let largest = values.iter().max_by_key(|value| bytes(&value.expr)).expect("there is a result");
    let size = bytes(&largest.expr);
    match largest.is_result {
        true => format!("the result ({size} bytes) stays on {device}; allow more memory"),
        false => {
            format!(
                "{} ({size} bytes) has to be on {device} whole; allow more memory",
                largest.expr.formula()
            )
        }
    }
}

impl DeviceValue {
    /// A value in one piece; the values that all its rows need are added to those `needed`.
    fn new(expr: &Expr, layout: Layout, is_result: bool, needed: &mut HashSet<usize>) -> DeviceValue {
        let own = shape(expr);
        let rows = leading(own).filter(|_| own.numel() > 0).map(|dim| {
            let (count, mut observed) = (own[dim], Observed::default());
            let (_, quantum) = cut([(expr, dim)], 0..count, &mut observed);
            needed.extend(observed.wholes.iter().map(|whole| whole.expr.id()));
            Rows { dim, count, piece: count, quantum }
        });
        DeviceValue { expr: expr.clone(), is_result, layout, rows }
    }

    /// Chooses pieces beside `held` bytes of the limit, the largest that fit, or of about `wanted` rows, and
    /// returns the most bytes that computing one takes.
    fn divide(&mut self, held: u64, limit: u64, wanted: Option<usize>) -> Result<u64> {
        if let (Some(rows), Some(wanted)) = (&mut self.rows, wanted) {
            rows.piece = (wanted / rows.quantum).max(1).saturating_mul(rows.quantum).min(rows.count);
        }
        loop {
            let scratch = self.scratch()?;
            let needed = held.saturating_add(scratch);
            let smaller = self.rows.as_mut().filter(|rows| rows.piece > rows.quantum);
            match smaller {
                _ if needed <= limit => return Ok(scratch),
                Some(rows) => rows.piece = (rows.piece / 2 / rows.quantum).max(1) * rows.quantum,
                None => return Err(Error::Memory { needed, limit, reason: self.blame(scratch) }),
            }
        }
    }

    /// The most bytes that computing a piece takes besides operands and the value itself.
    fn scratch(&self) -> Result<u64> {
        let Some(Rows { dim, count, piece, .. }) = self.rows else {
            return device_scratch_into(&self.expr, &self.layout);
        };
        let scratch = |rows: usize| {
            let (start, length) = ((count - rows) as isize, rows as isize);
            let place = View::Narrow { dim: dim as isize, start, length }.apply(&self.layout)?;
            let (part, _) = cut([(&self.expr, dim)], 0..rows, &mut Observed::default());
            device_scratch_into(&part[0], &place)
        };
        // The last piece may be shorter, and has a plan of its own then.
        match count % piece {
            0 => scratch(piece),
            last => Ok(scratch(piece)?.max(scratch(last)?)),
        }
    }

    /// Says that the smallest piece takes too much.
    fn blame(&self, scratch: u64) -> String {
        let text = self.expr.formula();
        match self.rows {
            None => format!("{text} is computed at once, which takes {scratch} bytes; allow more memory"),
            Some(Rows { piece, .. }) => {
                let rows = if piece == 1 { "1 row".to_owned() } else { format!("{piece} rows") };
                format!("{text} is computed {rows} at a time, which takes {scratch} bytes; allow more memory")
            }
        }
    }

    /// Memory for the value on a device.
    pub(super) fn allocate(&self, index: usize) -> Result<Tensor> {
        let dtype = self.expr.dtype()?;
        let bytes = checked_bytes(shape(&self.expr), dtype.item_size())?;
        device::empty(index, bytes, self.layout.clone(), dtype)
    }

    /// The dimension of the rows and those of each piece; `None` if the value has none.
    pub(super) fn pieces(&self) -> Option<(usize, impl ExactSizeIterator<Item = Range<usize>>)> {
        let Rows { dim, count, piece, .. } = *self.rows.as_ref()?;
        let end = move |start: usize| count.min(start.saturating_add(piece));
        Some((dim, (0..count).step_by(piece).map(move |start| start..end(start))))
    }

    /// The place of some rows in the memory of the value.
    pub(super) fn place(&self, whole: &Tensor, rows: Range<usize>) -> Result<Tensor> {
        let dim = self.rows.as_ref().map_or(0, |rows| rows.dim);
        whole.narrow(dim as isize, rows.start as isize, rows.len() as isize)
    }
}
