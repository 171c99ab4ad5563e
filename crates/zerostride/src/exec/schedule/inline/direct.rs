//! Owns single operations on rows: the code that a plan would run, on rows in place, without a plan and
//! divided as that would be. It does not know who may touch the elements (`desk.rs`).

use super::gather;
use super::loops::Loops;
use super::ready_operand::AsReadyOperand;
use super::row::Row;
use super::share::share_out;
use crate::Result;
use crate::exec::body::{Compiled, LoadKind};
use crate::exec::elements::{ElementSlice, NEAR_STEPS, StridedDims};
use crate::plan::{Cost, LEAST_PRINTED_ROW_BYTES};

/// Nanoseconds of work on few elements below which it is faster to copy them and to run a kernel.
const LEAST_NANOS: usize = 100;

/// Elements that are a few apart from which on code is faster than copies, of which kernels compute.
const LEAST_STEPPED_ELEMENTS: usize = 1 << 10;

/// Bytes of the narrowest elements that code takes from whole vectors where they are a few apart.
const LEAST_STEPPED_ITEM: usize = 4;

/// Elements of which a part of a row is a multiple.
const PART_ELEMENTS: usize = 512;

/// An operation by rows.
pub(super) struct Direct<const N: usize> {
    code: &'static Compiled,
    cost: Cost,
    /// Elements of a row, then how many rows, then what leads from rows to rows.
    dims: StridedDims<N>,
}

impl<const N: usize> Direct<N> {
    /// `None` where there is little to do, where elements of rows are far apart or of other dtypes than the
    /// operation computes in, or where the operation is not printed by now.
    pub(super) fn new(
        row: &'static Row,
        cost: Cost,
        values: &[impl AsReadyOperand; N],
        loops: &Loops<N>,
    ) -> Option<Direct<N>> {
        let is_little = loops.numel <= gather::GATHERED_ELEMENTS && cost.nanos() < LEAST_NANOS;
        if is_little || !row.reads(values) {
            return None;
        }
        let dims = loops.joined();
        let &(len, steps) = dims.get().first()?;
        let item = row.inferred.compute.item_size();
        let is_short = len * item < LEAST_PRINTED_ROW_BYTES;
        if is_short && dims.get().len() > 1 {
            return None;
        }
        let is_stepped = item >= LEAST_STEPPED_ITEM && loops.numel >= LEAST_STEPPED_ELEMENTS;
        let code = if steps.iter().all(|step| [0, 1].contains(step)) {
            let splats = (0..N).filter(|&operand| steps[operand] == 0).map(|operand| 1 << operand).sum();
            row.code(splats)
        } else if is_stepped && steps.iter().all(|step| NEAR_STEPS.contains(step)) {
            let kind = |step: isize| match step {
                0 => LoadKind::Splat,
                1 => LoadKind::Vector,
                _ => LoadKind::Stepped(step),
            };
            row.stepped_code(&steps.map(kind))
        } else {
            None
        };
        let code = code.filter(|code| code.is_printed_for(loops.numel))?;
        Some(Direct { code, cost, dims })
    }

    /// Whether it may refuse some value when others are written.
    pub(super) fn may_fault(&self) -> bool {
        self.code.may_fault()
    }

    /// Writes the result's elements; over those of the first operand, which have their dtype, if it is
    /// `None`.
    ///
    /// # Errors
    /// The operation refuses some value.
    pub(super) fn run(&self, operands: &[Option<ElementSlice<'_>>; N], out: &mut [u8]) -> Result<()> {
        let item = self.code.item;
        if self.cost.is_divided() {
            let (row, grain) = (self.dims.get()[0].0, self.cost.grain());
            // Whole rows, or a part of the only one.
            let part = match self.dims.get().len() {
                1 => grain.next_multiple_of(PART_ELEMENTS),
                _ => (grain / row).max(1) * row,
            };
            share_out(self.cost, (out, item), part, |first, out| self.run_part(operands, first, out))
        } else {
            self.run_part(operands, 0, out)
        }
    }

    /// Writes some of the result's elements, the first of which has that number.
    fn run_part(
        &self,
        operands: &[Option<ElementSlice<'_>>; N],
        mut first: usize,
        mut out: &mut [u8],
    ) -> Result<()> {
        let (item, dims) = (self.code.item, self.dims.get());
        let (row, apart) = dims[0];
        let step = |dim: usize, operand: usize| dims.get(dim).map_or(0, |(_, steps)| steps[operand]);
        while !out.is_empty() {
            // A shift: a division would take as long as a hundred elements.
            let numel = out.len() >> item.trailing_zeros();
            let (groups, count, len) = match *dims {
                // All rows of some groups.
                [_, (rows, _), (groups, _), ..]
                    if numel >= row * rows && first.is_multiple_of(row * rows) =>
                {
                    let group = row * rows;
                    ((numel / group).min(groups - first / group % groups), rows, row)
                }
                [_, (rows, _), ..] => (1, (numel / row).min(rows - first / row % rows), row),
                _ => (1, 1, numel),
            };
            let own;
            (own, out) = out.split_at_mut(groups * count * len * item);
            let offsets = self.dims.offsets(first);
            let load = |operand: usize| {
                let (elements, across) = (operands[operand]?.at(offsets[operand]), step(1, operand));
                Some(match apart[operand] {
                    0 if groups == 1 => elements.rows(count, 1, across),
                    1 if groups == 1 => elements.rows(count, len, across),
                    apart => {
                        let along = if apart == 0 { (1, 1) } else { (len, apart) };
                        elements.grouped_rows((groups, step(2, operand)), (count, across), along)
                    }
                })
            };
            let loads = std::array::from_fn::<_, N, _>(load);
            self.code.run_anywhere((groups, count, len), &loads, own)?;
            first += groups * count * len;
        }
        Ok(())
    }
}
