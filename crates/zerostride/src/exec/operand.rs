//! Owns what an element-wise step reads and writes, panel by panel: where a row lies, what must be packed first and
//! scattered afterwards. It makes the feeds and sinks that machines run on, and so vouches for their addresses, with
//! what `access.rs` has proved of the whole loop. It does not know what is computed.

use smallvec::SmallVec;
use zerostride_kernels::{Pack, PackDim};

use super::access::{Elements, Output};
use super::machine::{Feed, Rows, Scratch, Sink};
use crate::plan::{Form, Part, Walk};

/// The sizes of a panel's dimensions, with the bytes from one element to the next.
type Distances = SmallVec<[PackDim; 12]>;

/// Elements in step with a walk, and a tile for those of a panel that cannot be used where they lie.
struct Panels<'a> {
    elements: &'a Elements<'a>,
    walk: &'a Walk,
    form: Form,
    tile: Scratch,
    /// The copy of panels of so many rows of so many elements.
    copy: Option<((usize, usize), Pack)>,
}

/// Elements that one thread reads.
pub(super) struct Operand<'a> {
    panels: Panels<'a>,
    /// The panel whose elements are in the tile: its first element, rows and elements of a row.
    packed: Option<(isize, usize, usize)>,
}

/// Elements that one thread writes: a part of the loop, which it has to itself.
pub(super) struct Target<'a> {
    panels: Panels<'a>,
    part: Part,
}

impl<'a> Panels<'a> {
    fn new(elements: &'a Elements<'a>, walk: &'a Walk) -> Panels<'a> {
        Panels { elements, walk, form: walk.form(elements.strides()), tile: Scratch::new(0), copy: None }
    }

    fn item(&self) -> usize {
        self.elements.item()
    }

    /// The number of the panel's first element.
    ///
    /// # Panics
    /// If the panel is not inside the loop, or is more or less than its rows.
    fn first(&self, panel: &Part) -> isize {
        assert!(panel.is_within(self.elements.shape()));
        // Rows that follow each other along a dimension end where the panel does.
        assert_eq!(self.walk.row_of(panel) * self.walk.rows_of(panel), panel.numel());
        self.elements.element(&panel.start)
    }

    /// The rows of a panel where they lie.
    fn rows(&self, panel: &Part) -> Rows {
        let (across, steps) = self.walk.across();
        let len = if self.form == Form::Splat { 1 } else { self.walk.row_of(panel) };
        let step = self.elements.strides()[across] * (steps * self.item()) as isize;
        Rows { step, count: self.walk.rows_of(panel), bytes: len * self.item() }
    }

    /// The rows of a panel in the tile. Rows that are all the same are one.
    fn tile_rows(&self, panel: &Part) -> Rows {
        let rows = self.rows(panel);
        Rows { step: if rows.step == 0 { 0 } else { self.walk.pitch(self.item()) as isize }, ..rows }
    }

    /// The copy of a panel, made of the distances of its elements. Panels that have as many rows and elements of a row
    /// have the same.
    fn copy(&mut self, panel: &Part, make: impl FnOnce(&Distances) -> Pack) -> &Pack {
        let own = (self.walk.rows_of(panel), self.walk.row_of(panel));
        let copy = self.copy.take().filter(|(panel, _)| *panel == own);
        let (_, pack) = self.copy.insert(copy.unwrap_or_else(|| (own, make(&self.distances(panel)))));
        pack
    }

    /// The distances of a panel's elements, where they lie and in the tile: from row to row, then inside a row.
    fn distances(&self, panel: &Part) -> Distances {
        let (item, strides) = (self.item(), self.elements.strides());
        let (rows, tile_rows) = (self.rows(panel), self.tile_rows(panel));
        let mut dims = Distances::new();
        dims.push(PackDim { len: rows.count, from: rows.step, to: tile_rows.step });
        let mut width = self.walk.row_of(panel) * item;
        for (at, dim) in self.walk.row_dims().enumerate() {
            // The first dimension may go on beyond the row.
            let len = if at == 0 { self.walk.row_of(panel) / self.walk.inner() } else { panel.len[dim] };
            width /= len;
            dims.push(PackDim { len, from: strides[dim] * item as isize, to: width as isize });
        }
        dims
    }

    /// Room for the largest panel of the walk.
    fn tile(&mut self) -> *mut u8 {
        if self.tile.bytes_mut().is_empty() {
            self.tile = Scratch::new(self.walk.tile(self.elements.strides(), self.item()));
        }
        self.tile.bytes_mut().as_mut_ptr()
    }
}

impl<'a> Operand<'a> {
    /// Elements that the step reads in step with a walk.
    pub(super) fn new(elements: &'a Elements<'a>, walk: &'a Walk) -> Operand<'a> {
        Operand { panels: Panels::new(elements, walk), packed: None }
    }

    /// The rows of a panel.
    ///
    /// # Safety
    /// While the feed lives, nobody writes these elements, but for a machine that has it with a sink of the same rows.
    ///
    /// # Panics
    /// If the panel is not inside the loop.
    unsafe fn feed(&mut self, panel: &Part) -> Feed<'_> {
        let panels = &mut self.panels;
        let first = panels.first(panel);
        let at = panels.elements.address(first);
        if panels.form != Form::Scattered {
            // SAFETY: the rows' elements are elements of the panel, which lies inside the loop, all of whose elements
            // are in a block that is readable and initialised; the caller excludes writers.
            return unsafe { Feed::new(at, panels.rows(panel)) };
        }
        let rows = panels.tile_rows(panel);
        let columns = panels.walk.row_of(panel);
        let tile = panels.tile();
        let holds = |&(packed, count, row): &(isize, usize, usize)| {
            packed == first && rows.count <= count && columns <= row
        };
        if !self.packed.as_ref().is_some_and(holds) {
            let item = panels.item();
            let copy = panels.copy(panel, |dims| {
                // Rows that are all the same are one.
                let same = dims[0].from == 0;
                Pack::new(item, &dims[usize::from(same)..])
            });
            // SAFETY: the dimensions lead to the panel's elements, as above, and to places in the tile, which has room
            // for the largest panel of the walk.
            unsafe { copy.run(at, tile) };
            self.packed = Some((first, rows.count, columns));
        }
        // SAFETY: the rows are in the tile, which is borrowed as long as the feed lives.
        unsafe { Feed::new(tile, rows) }
    }
}

impl<'a> Target<'a> {
    /// The whole loop.
    pub(super) fn new(output: &'a mut Output<'_>, walk: &'a Walk) -> Target<'a> {
        let panels = Panels::new(output.elements(), walk);
        Target { part: Part::whole(panels.elements.shape()), panels }
    }

    /// The elements of the whole loop.
    pub(super) fn elements(&self) -> &'a Elements<'a> {
        self.panels.elements
    }

    pub(super) fn part(&self) -> &Part {
        &self.part
    }

    /// Parts of as many elements as are worth a thread, without dividing panels.
    pub(super) fn parts(self, grain: usize) -> SmallVec<[Target<'a>; 1]> {
        let (mut parts, mut rest) = (SmallVec::new(), SmallVec::<[_; 1]>::new());
        rest.push(self);
        while let Some(target) = rest.pop() {
            match target.panels.walk.middle(&target.part).filter(|_| target.part.numel() >= 2 * grain) {
                Some((dim, middle)) => {
                    let (left, right) = target.split(dim, middle);
                    rest.extend([right, left]);
                }
                None => parts.push(target),
            }
        }
        parts
    }

    /// Two parts, the second from an index of a dimension on.
    ///
    /// # Panics
    /// If the index lies outside the part.
    fn split(self, dim: usize, middle: usize) -> (Target<'a>, Target<'a>) {
        let Panels { elements, walk, .. } = self.panels;
        let (left, right) = self.part.split(dim, middle);
        let target = |part| Target { panels: Panels::new(elements, walk), part };
        (target(left), target(right))
    }

    /// Hands out the rows of a panel: what operands have there, and where results go.
    ///
    /// # Panics
    /// If the panel is not inside this part.
    pub(super) fn panel<E>(
        &mut self,
        panel: &Part,
        operands: &mut [Operand<'_>],
        compute: impl FnOnce(usize, usize, &[Feed<'_>], &mut Sink<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        assert!(self.part.contains(panel));
        // SAFETY: inputs read other elements than their step writes; what is the target's own is of the same panel of
        // a part that only this thread touches, and `operands` is borrowed until the machine is done.
        let feeds: SmallVec<[Feed<'_>; 8]> =
            operands.iter_mut().map(|operand| unsafe { operand.feed(panel) }).collect();
        let panels = &mut self.panels;
        let at = panels.elements.address(panels.first(panel));
        let (rows, columns) = (panels.rows(panel), panels.walk.row_of(panel));
        if panels.form != Form::Scattered {
            // SAFETY: the rows' elements are the panel's, in a block that is writable; no two of them share memory, and
            // only this part touches its own.
            let mut sink = unsafe { Sink::new(at, rows) };
            return compute(rows.count, columns, &feeds, &mut sink);
        }
        let (tile_rows, tile) = (panels.tile_rows(panel), panels.tile());
        // SAFETY: the tile has room for the largest panel of the walk.
        let mut sink = unsafe { Sink::new(tile, tile_rows) };
        compute(rows.count, columns, &feeds, &mut sink)?;
        let item = panels.item();
        let back = panels.copy(panel, |dims| {
            let back: Distances =
                dims.iter().map(|dim| PackDim { from: dim.to, to: dim.from, ..*dim }).collect();
            Pack::new(item, &back)
        });
        // SAFETY: the dimensions lead to the rows in the tile and to the panel's elements, which are this part's to write.
        unsafe { back.run(tile, at) };
        Ok(())
    }

    /// Whether the elements of a panel are best copied from an operand as they are, without a tile.
    pub(super) fn is_copy_of(&self, operand: &Operand<'_>) -> bool {
        let forms = [self.panels.form, operand.panels.form];
        self.panels.item() == operand.panels.item() && forms.contains(&Form::Scattered)
    }

    /// Copies a panel straight from where an operand's elements lie.
    ///
    /// # Panics
    /// If the panel is not inside this part, or the elements are of another size.
    pub(super) fn copy(&mut self, panel: &Part, operand: &Operand<'_>) {
        let (own, other) = (&mut self.panels, &operand.panels);
        let item = own.item();
        assert!(self.part.contains(panel) && item == other.item());
        let (from, to) = (other.first(panel), own.first(panel));
        let (from, to) = (other.elements.address(from), own.elements.address(to));
        let copy = own.copy(panel, |dims| {
            let read = other.distances(panel);
            let both: Distances =
                dims.iter().zip(&read).map(|(to, from)| PackDim { to: to.from, ..*from }).collect();
            Pack::new(item, &both)
        });
        // SAFETY: the dimensions lead to the panel's elements on both sides, which lie inside the loop, all of whose
        // elements are in blocks that are readable and initialised, and writable. Inputs read other elements than their
        // step writes, and this part's own are only touched here.
        unsafe { copy.run(from, to) };
    }
}
