//! Owns what an element-wise step reads and writes, panel by panel: where a row is, what must be packed
//! first and scattered afterwards. It makes the feeds and sinks that machines run on, and so vouches for
//! their addresses, with what `access.rs` has proved of the whole loop. It does not know what is computed.

use std::convert::Infallible;
use std::ops::Range;
use std::ptr;

use smallvec::SmallVec;
use zerostride_kernels::{Pack, PackDim, Tuning};

use super::access::{StepOutput, StridedElements, back};
use super::rows::{Feed, Groups, RowSink, Rows, Scratch};
use crate::exec::cache;
use crate::plan::{Panel, PanelWalk, RowForm};

/// Row strides that are multiples of so many bytes alias in L1: their lines map to few sets, and a transposed
/// copy evicts them before it has filled them.
const ALIASED_BYTES: usize = 2 << 10;

/// The sizes of a panel's dimensions, with the bytes from one element to the next.
type Distances = SmallVec<[PackDim; 12]>;

/// Strided elements with the walk over their panels, and a tile for the panels that a stage cannot read or
/// write in place.
struct Panels<'a> {
    elements: &'a StridedElements<'a>,
    walk: &'a PanelWalk,
    form: RowForm,
    tile: Scratch,
    /// The prepared copy for panels of that many groups, rows and elements of a row.
    copy: Option<((usize, usize, usize), Pack)>,
}

/// Elements that one thread reads.
pub(in crate::exec) struct PanelOperand<'a> {
    panels: Panels<'a>,
    /// What makes copies of panels.
    pack: fn(usize, &[PackDim]) -> Pack,
    /// The panel whose elements are in the tile: its first element, rows and elements of a row.
    packed: Option<(isize, usize, usize)>,
}

/// Panels of what a step writes, by their numbers, that no other share has.
pub(in crate::exec) struct PanelShare<'a> {
    elements: &'a StridedElements<'a>,
    walk: &'a PanelWalk,
    numbers: Range<usize>,
}

/// What one thread writes with.
pub(in crate::exec) struct PanelWriter<'a>(Panels<'a>);

impl<'a> Panels<'a> {
    fn new(elements: &'a StridedElements<'a>, walk: &'a PanelWalk) -> Panels<'a> {
        Panels { elements, walk, form: walk.form(elements.strides), tile: Scratch::new(0), copy: None }
    }

    fn item(&self) -> usize {
        self.elements.item
    }

    /// The stride of a row that is read or written in place, in elements.
    fn apart(&self) -> isize {
        if let RowForm::Stepped(step) = self.form { step } else { 1 }
    }

    /// The number of the panel's first element.
    ///
    /// # Panics
    /// If the panel is not inside the loop.
    fn first(&self, panel: &Panel) -> isize {
        assert!(panel.is_within(self.elements.sizes));
        self.elements.element(&panel.start)
    }

    /// The rows of a panel in memory.
    fn rows(&self, panel: &Panel) -> Rows {
        let ((across, steps), strides) = (self.walk.across(), self.elements.strides);
        let len = if self.form == RowForm::Splat { 1 } else { panel.row() };
        let step = strides[across] * (steps * self.item()) as isize;
        let groups = self.walk.outside().map_or(Groups::ONE, |outside| Groups {
            count: panel.groups(),
            step: strides[outside] * self.item() as isize,
        });
        Rows { groups, step, count: panel.rows(), bytes: len * self.item() }
    }

    /// The rows of a panel without groups in the tile. Where the panel's rows are all the same row, the tile
    /// has it once.
    fn tile_rows(&self, panel: &Panel) -> Rows {
        let rows = self.rows(panel);
        let step = if rows.step == 0 { 0 } else { self.walk.pitch(self.item()) as isize };
        Rows { groups: Groups::ONE, step, ..rows }
    }

    /// Whether a transposed copy to these rows goes through a tile, because the row stride aliases in L1
    /// (`ALIASED_BYTES`).
    fn aliases_beside(&self, source: &Panels<'_>) -> bool {
        let (across, steps) = self.walk.across();
        let apart = |panels: &Panels<'_>| panels.elements.strides[across].unsigned_abs();
        // A transposed copy keeps as many lines open as a line has elements: twice as many for bytes as for
        // two-byte elements.
        let aliased = if self.item() == 1 { ALIASED_BYTES / 2 } else { ALIASED_BYTES };
        steps == 1 && apart(source) == 1 && (apart(self) * self.item()).is_multiple_of(aliased)
    }

    /// The copy of a panel, made of the distances of its elements. Panels that have as many rows and elements
    /// of a row have the same.
    fn copy(&mut self, panel: &Panel, make: impl FnOnce(&Distances) -> Pack) -> &Pack {
        let own = (panel.groups(), panel.rows(), panel.row());
        let copy = self.copy.take().filter(|(panel, _)| *panel == own);
        let (_, pack) = self.copy.insert(copy.unwrap_or_else(|| (own, make(&self.distances(panel)))));
        pack
    }

    /// The distances of a panel's elements, in their memory and in the tile: from group to group if there are
    /// groups, from row to row, then inside a row.
    fn distances(&self, panel: &Panel) -> Distances {
        let (item, strides) = (self.item(), self.elements.strides);
        let (rows, tile_rows) = (self.rows(panel), self.tile_rows(panel));
        let mut dims = Distances::new();
        if self.walk.outside().is_some() {
            dims.push(PackDim { len: rows.groups.count, from: rows.groups.step, to: tile_rows.groups.step });
        }
        dims.push(PackDim { len: rows.count, from: rows.step, to: tile_rows.step });
        let mut width = panel.row() * item;
        for (at, dim) in self.walk.row_dims().enumerate() {
            // The first dimension may go on beyond the row.
            let len = if at == 0 { panel.row() / self.walk.inner() } else { panel.len[dim] };
            width /= len;
            dims.push(PackDim { len, from: strides[dim] * item as isize, to: width as isize });
        }
        dims
    }

    /// Whether rows from an element on are in the memory of the loop's elements.
    fn hold(&self, first: isize, rows: &Rows) -> bool {
        let item = self.item();
        let further = |step: isize, count: usize| step / item as isize * (count as isize - 1);
        let last = first + further(rows.step, rows.count) + further(rows.groups.step, rows.groups.count);
        let reach = (rows.bytes / item - 1) as isize * self.apart();
        let holds = |row: isize| self.elements.holds(row + reach.min(0), reach.unsigned_abs() + 1);
        holds(first) && holds(last)
    }

    /// Room for the largest panel of the walk, which is to have these rows.
    ///
    /// # Panics
    /// If there is less.
    fn tile(&mut self, rows: &Rows) -> *mut u8 {
        if self.tile.bytes_mut().is_empty() {
            self.tile = Scratch::new(self.walk.tile(self.elements.strides, self.item()));
        }
        let before = rows.step.unsigned_abs() * rows.count.saturating_sub(1);
        self.tile.bytes_mut()[..before + rows.bytes].as_mut_ptr()
    }
}

impl<'a> PanelOperand<'a> {
    /// The panels of an operand of a step that touches `bytes`.
    pub(in crate::exec) fn new(
        elements: &'a StridedElements<'a>,
        walk: &'a PanelWalk,
        bytes: usize,
    ) -> PanelOperand<'a> {
        let pack = if cache::is_far(bytes) { Pack::far } else { Pack::new };
        PanelOperand { panels: Panels::new(elements, walk), pack, packed: None }
    }

    /// The rows of a panel.
    ///
    /// # Safety
    /// While the feed lives, no code writes these elements, but for a machine that has it with a sink of the
    /// same rows.
    ///
    /// # Panics
    /// If the panel is not inside the loop.
    unsafe fn feed(&mut self, panel: &Panel) -> Feed<'_> {
        let panels = &mut self.panels;
        let first = panels.first(panel);
        let at = panels.elements.address(first);
        if panels.form != RowForm::Scattered {
            let rows = panels.rows(panel);
            debug_assert!(panels.hold(first, &rows));
            // SAFETY: the rows' elements are elements of the panel, which lies inside the loop, all of whose
            // elements are in a block that is readable and initialised; the caller excludes writers.
            return unsafe { Feed::new(at, rows, panels.apart()) };
        }
        let rows = panels.tile_rows(panel);
        let columns = panel.row();
        let tile = panels.tile(&rows);
        let holds = |&(packed, count, row): &(isize, usize, usize)| {
            packed == first && rows.count <= count && columns <= row
        };
        if !self.packed.as_ref().is_some_and(holds) {
            let (item, pack) = (panels.item(), self.pack);
            let copy = panels.copy(panel, |dims| {
                // The tile has a repeated row once.
                let same = dims[0].from == 0;
                pack(item, &dims[usize::from(same)..])
            });
            // SAFETY: the dimensions lead to the panel's elements, as above, and to positions in the tile,
            // which has room for the largest panel of the walk.
            unsafe { copy.run(at, tile) };
            self.packed = Some((first, rows.count, columns));
        }
        // SAFETY: the rows are in the tile, which is borrowed as long as the feed lives.
        unsafe { Feed::new(tile, rows, 1) }
    }
}

impl<'a> PanelShare<'a> {
    /// All of an output in shares of as many panels, at least one, as have about that many elements.
    pub(in crate::exec) fn of(
        output: &'a mut StepOutput<'_>,
        walk: &'a PanelWalk,
        grain: usize,
    ) -> impl ExactSizeIterator<Item = PanelShare<'a>> {
        let elements = output.elements();
        let panels = walk.count(elements.sizes);
        let numel: usize = elements.sizes.iter().product();
        let shares = (numel / grain.max(1)).clamp(1, panels);
        let border = move |share: usize| share * panels / shares;
        (0..shares).map(move |share| PanelShare { elements, walk, numbers: border(share)..border(share + 1) })
    }
}

impl<'a> PanelWriter<'a> {
    /// For shares of an output with these elements and this walk.
    pub(in crate::exec) fn new(elements: &'a StridedElements<'a>, walk: &'a PanelWalk) -> PanelWriter<'a> {
        PanelWriter(Panels::new(elements, walk))
    }

    /// Computes the panels of a share: hands out their rows, what operands have there, and where results go.
    ///
    /// # Panics
    /// If the share is of another output.
    pub(in crate::exec) fn compute<E>(
        &mut self,
        share: PanelShare<'_>,
        operands: &mut [PanelOperand<'_>],
        mut compute: impl FnMut((usize, usize, usize), &[Feed<'_>], &mut RowSink<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (own, numbers) = self.panels(share);
        // Rows lead to elements of the panel on the walk that has found them.
        assert!(operands.iter().all(|operand| ptr::eq(operand.panels.walk, own.walk)));
        own.walk.panels(own.elements.sizes, numbers, |panel| {
            // SAFETY: inputs read other elements than their step writes; what is the target's own is of the
            // same panel of a share that only this thread has, and `operands` is borrowed until the machine
            // is done.
            let feeds: SmallVec<[Feed<'_>; 8]> =
                operands.iter_mut().map(|operand| unsafe { operand.feed(panel) }).collect();
            let at = own.elements.address(own.first(panel));
            let rows = own.rows(panel);
            let sizes = (rows.groups.count, rows.count, panel.row());
            if matches!(own.form, RowForm::Dense | RowForm::Splat) {
                debug_assert!(own.hold(own.first(panel), &rows));
                // SAFETY: the rows' elements are the panel's, in a block that is writable; no two of them
                // share memory, and only this part touches its own.
                let mut sink = unsafe { RowSink::new(at, rows) };
                return compute(sizes, &feeds, &mut sink);
            }
            let tile_rows = own.tile_rows(panel);
            let tile = own.tile(&tile_rows);
            // SAFETY: the tile has room for these rows.
            let mut sink = unsafe { RowSink::new(tile, tile_rows) };
            compute(sizes, &feeds, &mut sink)?;
            let item = own.item();
            let copy = own.copy(panel, |dims| Pack::new(item, &back(dims)));
            // SAFETY: the dimensions lead to the rows in the tile and to the panel's elements, which are this
            // thread's to write.
            unsafe { copy.run(tile, at) };
            Ok(())
        })
    }

    /// Copies the panels of a share straight from an operand's memory.
    ///
    /// # Panics
    /// If the share is of another output, or the elements are of another size.
    pub(in crate::exec) fn copy(
        &mut self,
        share: PanelShare<'_>,
        PanelOperand { panels: other, pack, .. }: &PanelOperand<'_>,
    ) {
        let (own, numbers) = self.panels(share);
        let item = own.item();
        assert!(item == other.item() && ptr::eq(other.walk, own.walk));
        let Ok(()) = own.walk.panels(own.elements.sizes, numbers, |panel| {
            let (from, to) = (other.first(panel), own.first(panel));
            let (from, to) = (other.elements.address(from), own.elements.address(to));
            let copy = own.copy(panel, |dims| {
                let read = other.distances(panel);
                let both: Distances =
                    dims.iter().zip(&read).map(|(to, from)| PackDim { to: to.from, ..*from }).collect();
                pack(item, &both)
            });
            // SAFETY: the dimensions lead to the panel's elements on both sides, which lie inside the loop,
            // all of whose elements are in blocks that are readable and initialised, and writable. Inputs
            // read other elements than their step writes, and a share's own are only touched by who has it.
            unsafe { copy.run(from, to) };
            Ok::<_, Infallible>(())
        });
    }

    /// The panels of an output, and the numbers of a share's.
    ///
    /// # Panics
    /// If the share is of another output.
    fn panels(&mut self, share: PanelShare<'_>) -> (&mut Panels<'a>, Range<usize>) {
        let PanelWriter(own) = self;
        assert!(ptr::eq(share.elements, own.elements) && ptr::eq(share.walk, own.walk));
        (own, share.numbers)
    }

    /// Whether panels are copied from an operand by `Pack`: contiguous rows where code is slower, and
    /// panels that would need a tile. Code reads strided rows faster.
    pub(in crate::exec) fn is_copy_of(&self, operand: &PanelOperand<'_>) -> bool {
        let forms = [self.0.form, operand.panels.form];
        self.0.item() == operand.panels.item()
            && match forms.contains(&RowForm::Scattered) {
                true => !self.0.aliases_beside(&operand.panels),
                false => Tuning::active().memcpy_rows && forms == [RowForm::Dense; 2],
            }
    }
}
