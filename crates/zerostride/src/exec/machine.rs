//! Owns the running of compiled programs on rows of elements: where each stage reads and writes. It holds stages to what
//! feeds and sinks promise; who makes those (`operand.rs`) vouches for them. It does not know how a program became
//! stages (`program.rs`), nor where rows lie in a tensor.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};
use smallvec::SmallVec;
use zerostride_kernels::{PackDim, Stores, pack};

use super::program::{Compiled, Kind, Place, Stage, Work};
use crate::Result;

/// Rows of bytes at even distances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// Bytes from one row to the next.
    pub(super) step: isize,
    pub(super) count: usize,
    /// Bytes of a row.
    pub(super) bytes: usize,
}

/// Rows that a program reads: a row has the elements of a load, one after the other, or one for all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feed<'a> {
    at: *const u8,
    rows: Rows,
    lasting: PhantomData<&'a [u8]>,
}

impl Feed<'_> {
    /// # Safety
    /// While `'a` lasts, the rows are readable, initialised and aligned to their elements. Nobody writes them but a
    /// machine that runs this feed with a sink of the same address and step, and elements of the same size.
    pub(super) unsafe fn new(at: *const u8, rows: Rows) -> Self {
        Feed { at, rows, lasting: PhantomData }
    }
}

impl<'a> Feed<'a> {
    /// One row.
    fn tile(bytes: &'a [u8]) -> Feed<'a> {
        let rows = Rows { step: 0, count: 1, bytes: bytes.len() };
        Feed { at: bytes.as_ptr(), rows, lasting: PhantomData }
    }
}

/// Rows that a program writes.
#[derive(Debug)]
pub(crate) struct Sink<'a> {
    at: *mut u8,
    rows: Rows,
    lasting: PhantomData<&'a mut [u8]>,
}

impl Sink<'_> {
    /// # Safety
    /// While `'a` lasts, the rows are writable and aligned to their elements, apart from each other, and nobody else
    /// touches them, but for the feeds that say so.
    pub(super) unsafe fn new(at: *mut u8, rows: Rows) -> Self {
        Sink { at, rows, lasting: PhantomData }
    }
}

impl<'a> Sink<'a> {
    /// One row.
    fn tile(bytes: &'a mut [u8]) -> Sink<'a> {
        let rows = Rows { step: 0, count: 1, bytes: bytes.len() };
        Sink { at: bytes.as_mut_ptr(), rows, lasting: PhantomData }
    }
}

/// A cache line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Line([u8; 64]);

impl Line {
    /// Memory for that many bytes at least.
    pub(super) fn zeroed(bytes: usize) -> Vec<Line> {
        vec![Line([0; 64]); bytes.div_ceil(size_of::<Line>())]
    }

    pub(super) fn bytes_mut(lines: &mut [Line]) -> &mut [u8] {
        bytemuck::cast_slice_mut(lines)
    }
}

/// One thread's tiles.
pub(crate) struct Machine<'a> {
    compiled: &'a Compiled,
    memory: Vec<Line>,
    /// Elements that a tile has room for.
    row: usize,
    /// Where tiles and numbers begin in `memory`, in bytes.
    tiles: SmallVec<[usize; 8]>,
    numbers: SmallVec<[usize; 8]>,
}

impl<'a> Machine<'a> {
    /// Tiles for rows of at most `row` elements.
    pub(crate) fn new(compiled: &'a Compiled, row: usize) -> Machine<'a> {
        let mut end = 0;
        let mut place = |bytes: usize| {
            let start = end;
            end += bytes.next_multiple_of(size_of::<Line>());
            start
        };
        let tiles = compiled.tiles.iter().map(|item| place(item * row)).collect();
        let copies = |everywhere: bool| if everywhere { row } else { 1 };
        let numbers: SmallVec<[usize; 8]> =
            compiled.numbers.iter().map(|number| place(number.item * copies(number.everywhere))).collect();
        let mut memory = Line::zeroed(end);
        for (number, &start) in compiled.numbers.iter().zip(&numbers) {
            let dims = [PackDim { len: copies(number.everywhere), from: 0, to: number.item as isize }];
            let to = memory.as_mut_ptr().cast::<u8>().wrapping_add(start);
            // SAFETY: the number's bytes are read; its place in `memory` has room for as many copies.
            unsafe { pack(number.item, &dims, number.bytes.as_ptr(), to) };
        }
        Machine { compiled, memory, row, tiles, numbers }
    }

    /// Runs the program on some rows of `len` elements.
    ///
    /// # Panics
    /// If there is not a feed for each load, a feed or the sink has fewer rows or elements, or a row does not fit into
    /// the tiles.
    pub(crate) fn run(
        &mut self,
        rows: usize,
        len: usize,
        feeds: &[Feed<'_>],
        sink: &mut Sink<'_>,
        stores: Stores,
    ) -> Result<()> {
        let compiled = self.compiled;
        assert!(len <= self.row);
        assert!(rows <= sink.rows.count && len * compiled.item <= sink.rows.bytes);
        assert_eq!(feeds.len(), compiled.loads.len());
        for (feed, (kind, item)) in feeds.iter().zip(&compiled.loads) {
            let elements = if *kind == Kind::Splat { 1 } else { len };
            assert!(rows <= feed.rows.count && elements * item <= feed.rows.bytes);
        }
        for row in 0..rows as isize {
            for stage in &compiled.stages {
                let slots: SmallVec<[*const u8; 8]> = stage
                    .inputs
                    .iter()
                    .map(|(place, _)| match *place {
                        Place::Load(load) => feeds[load].at.wrapping_offset(row * feeds[load].rows.step),
                        Place::Number(number) => self.address(self.numbers[number]),
                        Place::Tile(tile) => self.address(self.tiles[tile]),
                    })
                    .collect();
                let (out, stores) = match stage.out {
                    Some(tile) => (self.address(self.tiles[tile]), Stores::Cached),
                    None => (sink.at.wrapping_offset(row * sink.rows.step), stores),
                };
                // SAFETY: the checks above hold the rows of feeds and sink to `len` elements of the sizes that the
                // program was compiled for, and so do the tiles' rows. A stage writes no tile that it reads, for
                // a tile is only shared once it has been read for the last time, by an earlier stage; and the sink only
                // over feeds that allow it, which no stage but a chain does where the program is compiled in place.
                unsafe { run(stage, len, &slots, out, stores)? };
            }
        }
        Ok(())
    }

    fn address(&mut self, start: usize) -> *mut u8 {
        self.memory.as_mut_ptr().cast::<u8>().wrapping_add(start)
    }
}

/// # Safety
/// The slots are what the stage reads, for `len` elements, or one where the stage reads one for all; `out` is writable
/// for `len` elements and overlaps no slot, except that a chain may have it at the address of one with elements of the
/// same size. All are aligned to their elements.
unsafe fn run(stage: &Stage, len: usize, slots: &[*const u8], out: *mut u8, stores: Stores) -> Result<()> {
    // SAFETY: as the caller says.
    let read =
        |input: usize| unsafe { std::slice::from_raw_parts(slots[input], len * stage.inputs[input].1) };
    // SAFETY: as the caller says; only one of the arms that are not a chain makes the slice.
    let write = || unsafe { std::slice::from_raw_parts_mut(out, len * stage.item) };
    match &stage.work {
        // SAFETY: as the caller says.
        Work::Chain(chain) => unsafe { chain.run(len, slots, out, stores) },
        Work::Cast(cast) => cast(read(0), write()),
        Work::Map(map) => {
            let inputs: SmallVec<[&[u8]; 4]> = (0..slots.len()).map(read).collect();
            map(&inputs, write())?;
        }
        // SAFETY: as the caller says; a load that the result is written over may be the result.
        Work::Copy => unsafe { out.copy_from(slots[0], len * stage.item) },
        Work::Repeat => {
            let dims = [PackDim { len, from: 0, to: stage.item as isize }];
            // SAFETY: as the caller says.
            unsafe { pack(stage.item, &dims, slots[0], out) };
        }
    }
    Ok(())
}

/// One thread's tiles for a program whose loads are tiles too.
pub(crate) struct Tiles<'a> {
    machine: Machine<'a>,
    loads: Vec<Vec<Line>>,
    result: Vec<Line>,
}

impl<'a> Tiles<'a> {
    /// Tiles for at most `len` elements at a time.
    pub(crate) fn new(compiled: &'a Compiled, len: usize) -> Tiles<'a> {
        let loads = compiled.loads.iter().map(|(_, item)| Line::zeroed(len * item)).collect();
        Tiles { machine: Machine::new(compiled, len), loads, result: Line::zeroed(len * compiled.item) }
    }

    /// Runs the program on `len` elements: `load` fills the tile of each load. Returns the result's tile.
    pub(crate) fn run(&mut self, len: usize, mut load: impl FnMut(usize, &mut [u8])) -> Result<&[u8]> {
        let compiled = self.machine.compiled;
        let bytes = |item: usize| len * item;
        let mut feeds: SmallVec<[Feed<'_>; 8]> = SmallVec::new();
        for (index, (tile, (_, item))) in self.loads.iter_mut().zip(&compiled.loads).enumerate() {
            let tile = &mut Line::bytes_mut(tile)[..bytes(*item)];
            load(index, tile);
            feeds.push(Feed::tile(tile));
        }
        let result = &mut Line::bytes_mut(&mut self.result)[..bytes(compiled.item)];
        self.machine.run(1, len, &feeds, &mut Sink::tile(result), Stores::Cached)?;
        Ok(&Line::bytes_mut(&mut self.result)[..bytes(compiled.item)])
    }
}
