//! Owns the running of compiled programs on rows of elements: where each stage reads and writes. It holds
//! stages to the lengths of feeds and sinks, for whose addresses `elements/operand.rs` vouches. It does not
//! know how a program became stages (`program.rs`), nor where rows are in a tensor.

use smallvec::SmallVec;
use zerostride_code::Write;
use zerostride_kernels::{CACHE_LINE_BYTES, Fault, LEAF_ELEMENTS, PackDim, copy_row, lanes, pack};

use super::load_kind::LoadKind;
use super::native::{End, Printed};
use super::program::{Compiled, Stage, StageInput, StageWork};
use crate::Result;
use crate::exec::elements::{ElementSlice, Feed, RowAddress, RowSink, Scratch, StridedRange};
use crate::plan::TILE_ELEMENTS;

/// Elements of a row that are looked at for faults at a time.
const FAULT_ELEMENTS: usize = TILE_ELEMENTS;

/// One thread's tiles, which code has no use for.
pub(crate) struct Machine<'a> {
    compiled: &'a Compiled,
    memory: Scratch,
    /// Elements that a tile has room for: whole cache lines.
    room: usize,
    /// What each tile repeats, if it does.
    repeated: SmallVec<[Option<Repeated>; 4]>,
}

/// What a code takes.
type Arguments = SmallVec<[*mut u8; 24]>;

/// Calls of a code, whose operands are always so many bytes further in the next one.
struct Calls<'a> {
    code: Printed<'a>,
    arguments: Arguments,
    /// The addresses of operands in the first call, and bytes from call to call.
    operands: SmallVec<[RowAddress; 12]>,
}

impl Calls<'_> {
    /// Makes the call with a number, on some rows of `len` elements.
    ///
    /// # Safety
    /// The code may be called with these operands.
    unsafe fn run(&mut self, number: usize, rows: usize, len: usize) {
        let Calls { code, arguments, operands } = self;
        for (argument, operand) in arguments.iter_mut().zip(operands) {
            *argument = operand.from(number as isize).first;
        }
        // SAFETY: as the caller says.
        unsafe { code.code.call(arguments.as_mut_ptr(), len * code.parts, rows) };
    }

    /// Lets the accumulators be at an address, which are the last operand.
    fn enter(&mut self, held: *mut u8) {
        self.operands.last_mut().expect("there is a result").first = held;
    }
}

/// The bytes of an element, and how often a tile has it.
type Repeated = ([u8; 16], usize);

impl<'a> Machine<'a> {
    /// Tiles for at least `room` elements.
    pub(crate) fn new(compiled: &'a Compiled, room: usize) -> Machine<'a> {
        let room = room.next_multiple_of(CACHE_LINE_BYTES);
        let repeated = SmallVec::from_elem(None, compiled.tiles.len());
        Machine { compiled, memory: Scratch::new(0), room, repeated }
    }

    /// Runs the program on some groups of rows of `len` elements.
    ///
    /// # Panics
    /// If there is not a feed for each load, a feed or the sink has fewer groups, rows or elements, or
    /// elements at other distances, or a row does not fit into the tiles.
    pub(crate) fn run(
        &mut self,
        (groups, rows, len): (usize, usize, usize),
        feeds: &[Feed<'_>],
        sink: &mut RowSink<'_>,
        write: Write,
    ) -> Result<()> {
        let compiled = self.compiled;
        compiled.check((groups, rows, len), feeds, sink);
        let all = groups.saturating_mul(rows);
        if let Some(code) = compiled.code.as_ref().and_then(|code| code.printed(all, len, write)) {
            let loads = feeds.iter().map(Feed::grouped_place);
            // SAFETY: the check above holds the rows of feeds and sink to `len` elements of the sizes that
            // the program was compiled for.
            return unsafe { compiled.store(code, (groups, rows, len), loads, sink.grouped_place()) };
        }
        for group in 0..groups as isize {
            let place = |(place, step): (RowAddress, isize)| place.along(group * step);
            let loads: SmallVec<[RowAddress; 4]> =
                feeds.iter().map(|feed| place(feed.grouped_place())).collect();
            // SAFETY: as above, of this group.
            unsafe { self.run_stages(rows, len, &loads, place(sink.grouped_place()))? };
        }
        Ok(())
    }

    /// Runs the program's stages on some rows of loads, which write to the rows of `out`.
    ///
    /// # Panics
    /// If a row does not fit into the tiles.
    ///
    /// # Safety
    /// As [`Compiled::check`] has found.
    unsafe fn run_stages(
        &mut self,
        rows: usize,
        len: usize,
        loads: &[RowAddress],
        out: RowAddress,
    ) -> Result<()> {
        let compiled = self.compiled;
        // Stages take turns on as many rows as their tiles have room for.
        let together = if compiled.is_direct() { rows } else { self.room / len.max(1) };
        assert!(together > 0 || rows == 0);
        let bytes = room(&mut self.memory, compiled.tiles.iter().sum::<usize>() * self.room);
        let (memory, size) = (bytes.as_mut_ptr(), bytes.len());
        let tile = |index: usize, rows: usize, is_one: bool| {
            let start = compiled.tiles[..index].iter().sum::<usize>() * self.room;
            let step = if is_one { 0 } else { len * compiled.tiles[index] };
            debug_assert!(start + rows * step <= size);
            RowAddress { first: memory.wrapping_add(start), step: step as isize }
        };
        let mut first = 0;
        while first < rows {
            let rows = together.min(rows - first);
            for stage in &compiled.stages {
                let mut places: SmallVec<[RowAddress; 4]> = SmallVec::new();
                for &(input, _) in &stage.inputs {
                    places.push(match input {
                        StageInput::Load(load) => loads[load].from(first as isize),
                        StageInput::Number(number) => {
                            RowAddress { first: compiled.numbers[number].0.as_ptr().cast_mut(), step: 0 }
                        }
                        StageInput::Tile(index) => tile(index, rows, self.repeated[index].is_some()),
                    });
                }
                let mut written = rows;
                if let (StageWork::Repeat, Some(index)) = (&stage.work, stage.out) {
                    let mut element = [0; 16];
                    // SAFETY: the input is an element of the stage's size.
                    unsafe { element.as_mut_ptr().copy_from(places[0].first, stage.item) };
                    let is_one = rows == 1 || places[0].step == 0;
                    let is_there =
                        self.repeated[index].is_some_and(|(known, count)| known == element && len <= count);
                    if is_one && is_there {
                        continue;
                    }
                    self.repeated[index] = is_one.then_some((element, len));
                    written = if is_one { 1 } else { rows };
                }
                let out = match stage.out {
                    Some(index) => tile(index, rows, false),
                    None => out.from(first as isize),
                };
                // SAFETY: the caller's check holds the rows of feeds and sink to `len` elements of the sizes
                // that the program was compiled for, and tiles have room for these rows. A stage writes no
                // tile that it reads, for a tile is only shared once it has been read for the last time, by
                // an earlier stage; and the sink only over feeds that allow it, which only a copy does where
                // the program is compiled in place.
                unsafe { run(stage, written, len, &places, out)? };
            }
            first += rows;
        }
        Ok(())
    }
}

impl Compiled {
    /// Runs a code of the program on some groups of rows, and stores what it computes. Beside each place
    /// stands how many bytes further the next group begins.
    ///
    /// # Errors
    /// An element is a fault. Others may be written.
    ///
    /// # Safety
    /// As [`Compiled::check`] has found.
    unsafe fn store(
        &self,
        code: Printed<'_>,
        (groups, rows, len): (usize, usize, usize),
        loads: impl Iterator<Item = (RowAddress, isize)> + Clone,
        (out, out_step): (RowAddress, isize),
    ) -> Result<()> {
        if !self.may_fault() {
            if groups > 1 {
                let mut calls = self.calls(code, loads, &[((out, self.item), out_step)]);
                // SAFETY: as the caller says.
                (0..groups).for_each(|group| unsafe { calls.run(group, rows, len) });
            } else {
                let loads = loads.map(|(place, _)| place);
                // SAFETY: as the caller says.
                unsafe { self.run_code(code, rows, len, loads, &[(out, self.item)]) };
            }
            return Ok(());
        }
        for group in 0..groups as isize {
            for first in (0..len).step_by(FAULT_ELEMENTS) {
                let mut faults = [0; FAULT_ELEMENTS];
                let seen = (RowAddress { first: faults.as_mut_ptr(), step: 0 }, 1);
                let loads = loads.clone().zip(&self.loads).map(|((place, step), &(kind, item))| {
                    place.along(group * step + first as isize * kind.step() * item as isize)
                });
                let out = out.along(group * out_step + (first * self.item) as isize);
                let len = FAULT_ELEMENTS.min(len - first);
                // SAFETY: as the caller says, and there is a byte for each of these elements.
                unsafe { self.run_code(code, rows, len, loads, &[seen, (out, self.item), seen]) };
                if faults[..len] != [0; FAULT_ELEMENTS][..len] {
                    return Err(Fault::ZeroDivision.into());
                }
            }
        }
        Ok(())
    }

    /// Runs a code of the program on some rows. `loads` and `ends`, the operands behind loads and numbers,
    /// are addresses in the first row and their distances from row to row; the latter with their bytes.
    ///
    /// # Safety
    /// As [`Compiled::check_feeds`] has found, and the last operands are what the code asks for.
    unsafe fn run_code(
        &self,
        code: Printed<'_>,
        rows: usize,
        len: usize,
        loads: impl Iterator<Item = RowAddress>,
        ends: &[(RowAddress, usize)],
    ) {
        let mut arguments = self.arguments(code, loads, ends);
        // SAFETY: the code is that of this program, whose loads and result have `len` elements in each row,
        // or one that is read for all, and numbers have one. The result's elements are apart from all others
        // or those of a contiguous load of the same size.
        unsafe { code.code.call(arguments.as_mut_ptr(), len * code.parts, rows) };
    }

    /// What a code of the program takes: addresses, their distances from row to row, and those between
    /// elements.
    fn arguments(
        &self,
        code: Printed<'_>,
        loads: impl Iterator<Item = RowAddress>,
        ends: &[(RowAddress, usize)],
    ) -> Arguments {
        let loads = loads.zip(&self.loads).map(|(place, &(_, item))| (place, item));
        let number = |(bytes, item): &([u8; 16], usize)| {
            (RowAddress { first: bytes.as_ptr().cast_mut(), step: 0 }, *item)
        };
        let bytes = |distance: isize| std::ptr::without_provenance_mut(distance as usize);
        let (mut arguments, mut steps): (Arguments, SmallVec<[*mut u8; 12]>) = Default::default();
        for (RowAddress { first, step }, item) in
            loads.chain(self.numbers.iter().map(number)).chain(ends.iter().copied())
        {
            for part in code.parts_of(item) {
                arguments.push(first.wrapping_add(part));
                steps.push(bytes(step));
            }
        }
        arguments.extend(steps);
        for &(kind, item) in &self.loads {
            if matches!(kind, LoadKind::Stepped(_)) {
                code.parts_of(item).for_each(|_| arguments.push(bytes(kind.step() * item as isize)));
            }
        }
        arguments
    }

    /// The code that hands elements of some rows of `len` to accumulators, if it is printed by now.
    fn accumulating_code(&self, rows: usize, len: usize) -> Option<Printed<'_>> {
        self.accumulating.as_ref()?.printed(rows, len, Write::Cached)
    }

    /// Calls of a code of the program. Beside each operand stands how many bytes it is further in each call;
    /// numbers are where they are.
    fn calls<'c>(
        &self,
        code: Printed<'c>,
        loads: impl Iterator<Item = (RowAddress, isize)> + Clone,
        ends: &[((RowAddress, usize), isize)],
    ) -> Calls<'c> {
        let places: SmallVec<[(RowAddress, usize); 2]> = ends.iter().map(|(end, _)| *end).collect();
        let arguments = self.arguments(code, loads.clone().map(|(place, _)| place), &places);
        let loads = loads.zip(&self.loads).map(|((_, further), &(_, item))| (item, further));
        let numbers = self.numbers.iter().map(|&(_, item)| (item, 0));
        let ends = ends.iter().map(|&((_, item), further)| (item, further));
        let operands = loads.chain(numbers).chain(ends);
        let further = operands.flat_map(|(item, further)| code.parts_of(item).map(move |_| further));
        let operands =
            arguments.iter().zip(further).map(|(&first, step)| RowAddress { first, step }).collect();
        Calls { code, arguments, operands }
    }

    /// Hands the elements of some rows to accumulators: those of a row in turn to the ones in so many bytes,
    /// and to others with each leaf, leaf after leaf and row after row.
    ///
    /// # Panics
    /// If there is not a feed for each load, a feed has fewer rows or elements, or elements at other
    /// distances, or there are other accumulators.
    fn accumulate(
        &self,
        code: Printed<'_>,
        (rows, len): (usize, usize),
        feeds: &[Feed<'_>],
        (held, bytes): (&mut [u8], usize),
    ) {
        self.check_feeds((1, rows, len), feeds);
        let leaves = len.div_ceil(LEAF_ELEMENTS);
        let is_own = |end| matches!(end, End::Along(_, count) if count as usize == bytes / self.item);
        let is_own = self.accumulating.as_ref().is_some_and(|code| is_own(code.end()));
        assert!(held.len() == rows * leaves * bytes && is_own);
        let held = held.as_mut_ptr();
        let calls_from = |leaf: usize, is_along: bool| {
            // The leaves of a row go through the rows of one call, and rows through calls, or the other way
            // round.
            let steps =
                |of_leaf: isize, of_row: isize| if is_along { (of_leaf, of_row) } else { (of_row, of_leaf) };
            let loads = feeds.iter().zip(&self.loads).map(|(feed, (kind, item))| {
                let of_leaf = kind.step() * (LEAF_ELEMENTS * item) as isize;
                let (step, further) = steps(of_leaf, feed.rows.step);
                let first = feed.place().along(leaf as isize * of_leaf).first;
                (RowAddress { first, step }, further)
            });
            let (step, further) = steps(bytes as isize, (leaves * bytes) as isize);
            let end = (RowAddress { first: held.wrapping_add(leaf * bytes), step }, self.item);
            self.calls(code, loads, &[(end, further); 2])
        };
        // SAFETY, of all calls: each row has these leaves in all feeds, and each leaf has accumulators of its
        // own, as many as the code takes.
        if leaves <= 1 {
            // SAFETY: see above.
            return unsafe { calls_from(0, false).run(0, rows, len) };
        }
        let (whole, rest) = (len / LEAF_ELEMENTS, len % LEAF_ELEMENTS);
        let mut wholes = calls_from(0, true);
        let mut rests = (rest > 0).then(|| calls_from(whole, true));
        for row in 0..rows {
            // SAFETY: see above.
            unsafe { wholes.run(row, whole, LEAF_ELEMENTS) };
            if let Some(rests) = &mut rests {
                // SAFETY: see above.
                unsafe { rests.run(row, 1, rest) };
            }
        }
    }

    /// Hands the elements of some of these rows of `len`, lane by lane, to as many accumulators, which are
    /// all `empty` before, and lets them be taken. A lane has a first row and a number of rows, `step` rows
    /// apart.
    ///
    /// # Panics
    /// If there is not a feed for each load, a feed has fewer rows or elements, or elements at other
    /// distances, there are other accumulators, or a lane has other rows.
    fn accumulate_lanes(
        &self,
        code: Printed<'_>,
        ((rows, len), feeds): ((usize, usize), &[Feed<'_>]),
        (lanes, step): (impl Iterator<Item = (usize, usize)>, usize),
        (empty, held): (&[u8], &mut [u8]),
        mut take: impl FnMut(&[u8], usize),
    ) {
        self.check_feeds((1, rows, len), feeds);
        let is_own = self.accumulating.as_ref().is_some_and(|code| matches!(code.end(), End::Across(_)));
        assert!(is_own && empty.len() == self.item && len.checked_mul(self.item) == Some(held.len()));
        let loads = feeds.iter().map(|feed| {
            let RowAddress { first, step: to_next } = feed.place();
            (RowAddress { first, step: to_next.wrapping_mul(step as isize) }, to_next)
        });
        let ends = [empty.as_ptr().cast_mut(), held.as_mut_ptr()];
        let ends = ends.map(|first| ((RowAddress { first, step: 0 }, self.item), 0));
        let mut calls = self.calls(code, loads, &ends);
        for (first, count) in lanes {
            if count == 0 {
                repeat(empty, held);
            } else {
                assert!(first + (count - 1) * step < rows);
                calls.enter(held.as_mut_ptr());
                // SAFETY: the feeds have these rows, and there is an accumulator for each of their elements.
                unsafe { calls.run(first, count, len) };
            }
            take(held, first);
        }
    }

    /// Hands elements of pairs to accumulators, which are all `empty` before: for each of `lines` lines
    /// those of every lane, one after the other, `len` of each, which the rows of the lane enter out of
    /// `depth` rows. The elements of a load are the rows, the same for all lines, or, if it is read as a
    /// splat, `depth` for each line.
    ///
    /// # Panics
    /// If a load has other elements, or there are other accumulators.
    pub(super) fn accumulate_pairs(
        &self,
        (lines, depth, len): (usize, usize, usize),
        loads: &[&[u8]],
        (empty, held): (&[u8], &mut [u8]),
    ) {
        let (code, lanes) = (self.accumulating_code(lines * depth, len), lanes(depth));
        let (code, bytes) = (code.expect("it has been printed"), len * self.item);
        let is_own = self.accumulating.as_ref().is_some_and(|code| matches!(code.end(), End::Across(_)));
        assert!(is_own && empty.len() == self.item && held.len() == lines * lanes * bytes);
        assert_eq!(loads.len(), self.loads.len());
        for (load, &(kind, item)) in loads.iter().zip(&self.loads) {
            let elements = if kind == LoadKind::Splat { lines } else { len };
            assert!(!matches!(kind, LoadKind::Stepped(_)) && load.len() == elements * depth * item);
        }
        let (held, empty) = (held.as_mut_ptr(), empty.as_ptr().cast_mut());
        for lane in 0..lanes {
            let places = loads.iter().zip(&self.loads).map(|(load, &(kind, item))| {
                let (row, further) = match kind {
                    LoadKind::Splat => (item, depth * item),
                    _ => (len * item, 0),
                };
                let first = load.as_ptr().cast_mut().wrapping_add(lane * row);
                (RowAddress { first, step: (lanes * row) as isize }, further as isize)
            });
            let ends = [(empty, 0), (held.wrapping_add(lane * bytes), (lanes * bytes) as isize)];
            let ends = ends.map(|(first, further)| ((RowAddress { first, step: 0 }, self.item), further));
            let mut calls = self.calls(code, places, &ends);
            for line in 0..lines {
                // SAFETY: the loads have these rows of elements, and each lane of a line has accumulators of
                // its own.
                unsafe { calls.run(line, (depth - lane).div_ceil(lanes), len) };
            }
        }
    }

    /// # Panics
    /// If there is not a feed for each load, a feed or the sink has fewer groups, rows or elements, or
    /// elements at other distances.
    fn check(&self, (groups, rows, len): (usize, usize, usize), feeds: &[Feed<'_>], sink: &RowSink<'_>) {
        assert!(sink.rows.have(groups, rows) && fits(len, self.item, sink.rows.bytes));
        self.check_feeds((groups, rows, len), feeds);
    }

    /// # Panics
    /// If there is not a feed for each load, or one has fewer groups, rows or elements, or elements at other
    /// distances.
    fn check_feeds(&self, (groups, rows, len): (usize, usize, usize), feeds: &[Feed<'_>]) {
        assert_eq!(feeds.len(), self.loads.len());
        for (feed, (kind, item)) in feeds.iter().zip(&self.loads) {
            let (elements, apart) = match *kind {
                LoadKind::Splat => (1, feed.apart),
                LoadKind::Vector | LoadKind::Stepped(_) => (len, kind.step()),
            };
            let has_rows = feed.rows.have(groups, rows) && fits(elements, *item, feed.rows.bytes);
            assert!(has_rows && apart == feed.apart);
        }
    }

    /// Runs the program on contiguous elements, as many of each load as there are results or a broadcast
    /// scalar: all at once, or tile by tile.
    ///
    /// # Panics
    /// If a load has fewer elements, or a kernel finds them not aligned.
    pub(in crate::exec) fn run_in_order(&self, loads: &[&[u8]], out: &mut [u8]) -> Result<()> {
        let numel = out.len() / self.item;
        let is_at_once = self.is_direct() || self.is_printed_for(numel);
        let most = if is_at_once { numel.max(1) } else { TILE_ELEMENTS };
        let mut machine = Machine::new(self, most.min(numel));
        for (first, out) in (0..).step_by(most).zip(out.chunks_mut(most * self.item)) {
            let len = out.len() / self.item;
            let mut feeds: SmallVec<[Feed<'_>; 4]> = SmallVec::new();
            for (bytes, &(kind, item)) in loads.iter().zip(&self.loads) {
                let (first, len) = if kind == LoadKind::Splat { (0, 1) } else { (first, len) };
                feeds.push(ElementSlice { bytes, item, first }.rows(1, len, 0));
            }
            machine.run((1, 1, len), &feeds, &mut RowSink::lines(out, 1, len * self.item), Write::Cached)?;
        }
        Ok(())
    }

    /// Runs a program that is printed, and so needs neither tiles nor alignment, on some groups of rows of
    /// `len` elements, and writes the results to `out`, row after row. One load may be `None`: the rows of
    /// `out` themselves.
    ///
    /// # Errors
    /// An element is a fault. Others may be written.
    ///
    /// # Panics
    /// If the program is not printed by now, `out` is no room for the rows without more, there is not a load
    /// for each of the program's, one has fewer groups, rows or elements, or what is written over is more
    /// than one load or of another size than the results.
    pub(in crate::exec) fn run_anywhere(
        &self,
        (groups, rows, len): (usize, usize, usize),
        loads: &[Option<Feed<'_>>],
        out: &mut [u8],
    ) -> Result<()> {
        let row = len.checked_mul(self.item).expect("rows are in memory");
        assert!(groups.checked_mul(rows).and_then(|all| all.checked_mul(row)) == Some(out.len()));
        assert!(loads.iter().filter(|load| load.is_none()).count() < 2);
        let sink = RowSink::groups(out, groups, rows, row);
        let mut feeds: SmallVec<[Feed<'_>; 4]> = SmallVec::new();
        for (load, kind) in loads.iter().zip(&self.loads) {
            feeds.push(load.unwrap_or_else(|| {
                assert_eq!(*kind, (LoadKind::Vector, self.item));
                // SAFETY: the code below runs with both, and the element is as large as the result's.
                unsafe { sink.feed() }
            }));
        }
        self.check((groups, rows, len), &feeds, &sink);
        let code = self.code.as_ref().and_then(|code| code.printed(groups * rows, len, Write::Cached));
        let code = code.expect("the program is printed");
        let loads = feeds.iter().map(Feed::grouped_place);
        // SAFETY: the check above holds the rows of feeds and sink to `len` elements of the sizes that the
        // program was compiled for.
        unsafe { self.store(code, (groups, rows, len), loads, sink.grouped_place()) }
    }
}

/// Whether so many elements are in so many bytes; rows too long to be counted are in no memory.
fn fits(len: usize, item: usize, bytes: usize) -> bool {
    len.checked_mul(item).is_some_and(|len| len <= bytes)
}

/// So many bytes of a tile, which becomes larger where it has fewer.
pub(super) fn room(tile: &mut Scratch, bytes: usize) -> &mut [u8] {
    if tile.bytes_mut().len() < bytes {
        *tile = Scratch::new(bytes);
    }
    &mut tile.bytes_mut()[..bytes]
}

/// Fills bytes with copies of some.
fn repeat(of: &[u8], to: &mut [u8]) {
    let mut done = of.len().min(to.len());
    to[..done].copy_from_slice(&of[..done]);
    while done < to.len() {
        let more = done.min(to.len() - done);
        to.copy_within(..more, done);
        done += more;
    }
}

/// # Safety
/// The places have that many rows of what the stage reads, `len` elements each, or one where the stage reads
/// one for all; `out` is writable for as many rows and overlaps none of them, except that a copy may have it
/// at the rows that it reads. All are aligned to their elements.
unsafe fn run(stage: &Stage, rows: usize, len: usize, places: &[RowAddress], out: RowAddress) -> Result<()> {
    for row in 0..rows as isize {
        let from = |input: usize| places[input].from(row).first;
        let to = out.from(row).first;
        // SAFETY: as the caller says.
        let read =
            |input: usize| unsafe { std::slice::from_raw_parts(from(input), len * stage.inputs[input].1) };
        // SAFETY: as the caller says; only one of the arms makes the slice.
        let write = || unsafe { std::slice::from_raw_parts_mut(to, len * stage.item) };
        match &stage.work {
            StageWork::Cast(cast) => cast(read(0), write()),
            StageWork::Map(map) => {
                let inputs: SmallVec<[&[u8]; 4]> = (0..places.len()).map(read).collect();
                map(&inputs, write())?;
            }
            // SAFETY: as the caller says.
            StageWork::Copy => unsafe { copy_row(from(0), to, len * stage.item) },
            StageWork::Repeat => {
                let dims = [PackDim { len, from: 0, to: stage.item as isize }];
                // SAFETY: as the caller says.
                unsafe { pack(stage.item, &dims, from(0), to) };
            }
        }
    }
    Ok(())
}

/// The accumulators of some lines, which the elements of those from one on are to enter.
#[derive(Clone, Copy)]
pub(crate) struct Held<'e> {
    /// Those of a leaf before the first element.
    pub(crate) empty: &'e [u8],
    pub(crate) first: usize,
    pub(crate) lines: usize,
}

/// One thread's tiles for a program whose loads are tiles too.
pub(crate) struct Tiles<'a> {
    compiled: &'a Compiled,
    /// Nothing where the value is a load.
    machine: Option<Machine<'a>>,
    /// Of loads that are not read in place, as large as they were needed so far.
    loads: SmallVec<[Scratch; 4]>,
    /// Where their elements are, if they are there by now.
    loaded: SmallVec<[Option<Loaded>; 4]>,
    result: Scratch,
}

/// The equal lines of a tile: the place of their first element, the steps of the loop that they have, and how
/// many they are.
type Loaded = (isize, StridedRange, usize);

impl<'a> Tiles<'a> {
    /// Tiles for at most `len` elements at a time, of a program whose value is its only load if it `is_load`.
    pub(crate) fn new(compiled: &'a Compiled, len: usize, is_load: bool) -> Tiles<'a> {
        let loads = compiled.loads.iter().map(|_| Scratch::new(0)).collect();
        let machine = (!is_load).then(|| Machine::new(compiled, len));
        let loaded = compiled.loads.iter().map(|_| None).collect();
        Tiles { compiled, machine, loads, loaded, result: Scratch::new(0) }
    }

    /// Whether there is code by which the elements of leaves enter accumulators.
    pub(crate) fn accumulates(&self) -> bool {
        self.compiled.accumulating_code(0, LEAF_ELEMENTS).is_some()
    }

    /// Lets accumulators be taken, one for each element of a row, that are all `empty` before the elements of
    /// a lane enter them by another program: of each load those that are `in_place`, or else as many rows of
    /// a tile as `load` fills, one if all are the same. Whether it did: not without code, nor if a tile would
    /// have more than `most` elements.
    ///
    /// # Panics
    /// If a load has fewer rows or elements, the tiles have room for less than a row, or a lane has other
    /// rows.
    pub(crate) fn accumulate_lanes<'b>(
        &'b mut self,
        (program, empty): (&Compiled, &[u8]),
        (rows, len, most): (usize, usize, usize),
        lanes: (impl Iterator<Item = (usize, usize)>, usize),
        in_place: impl Fn(usize) -> Result<Feed<'b>, usize>,
        mut load: impl FnMut(usize, &mut [u8]),
        take: impl FnMut(&[u8], usize),
    ) -> bool {
        let Some(code) = program.accumulating_code(rows, len) else { return false };
        let mut feeds: SmallVec<[Feed<'_>; 4]> = SmallVec::new();
        let tiles = self.loads.iter_mut().zip(&mut self.loaded).zip(&program.loads);
        for (index, ((tile, loaded), &(kind, item))) in tiles.enumerate() {
            let line = if kind == LoadKind::Splat { 1 } else { len };
            feeds.push(match in_place(index) {
                Ok(feed) => feed,
                Err(own) if own.saturating_mul(line) > most => return false,
                Err(own) => {
                    *loaded = None;
                    let bytes = room(tile, own * line * item);
                    load(index, bytes);
                    let step = if own < rows { 0 } else { line as isize };
                    ElementSlice { bytes, item, first: 0 }.rows(rows, line, step)
                }
            });
        }
        let held = room(&mut self.result, len * empty.len());
        program.accumulate_lanes(code, ((rows, len), &feeds), lanes, (empty, held), take);
        true
    }

    /// So many accumulators of the tile that they are in.
    pub(crate) fn held(&mut self, count: usize) -> &[u8] {
        room(&mut self.result, count * self.compiled.item)
    }

    /// Runs the program on some lines of `len` elements, whose results or accumulators are in a tile
    /// afterwards. A load is read in place where `in_place` gives its memory and the distance of its lines;
    /// else `load` fills its tile, line after line. Of lines that are all the same `known` says which one
    /// they are, and how many are in the tile, one or all; they may be there already.
    ///
    /// # Panics
    /// If there is no code by which elements enter accumulators, or there are more lines than these have.
    pub(crate) fn run<'b>(
        &'b mut self,
        (lines, len): (usize, usize),
        held: Option<Held<'_>>,
        in_place: impl Fn(usize) -> Option<(ElementSlice<'b>, isize)>,
        known: impl Fn(usize) -> Option<Loaded>,
        mut load: impl FnMut(usize, &mut [u8]),
    ) -> Result<&'b [u8]> {
        let compiled = self.compiled;
        let mut feeds: SmallVec<[Feed<'_>; 4]> = SmallVec::new();
        let tiles = self.loads.iter_mut().zip(&mut self.loaded).zip(&compiled.loads);
        for (index, ((tile, loaded), &(kind, item))) in tiles.enumerate() {
            let line = if kind == LoadKind::Splat { 1 } else { len };
            // A load that is the value itself is wanted in one piece.
            let is_wanted = |step| self.machine.is_some() || lines <= 1 || step == line as isize;
            let in_place = in_place(index).filter(|&(_, step)| is_wanted(step));
            let (slice, step) = in_place.unwrap_or_else(|| {
                let wanted = known(index);
                let held = wanted.map_or(lines, |(_, _, lines)| lines);
                let bytes = held * line * item;
                if tile.bytes_mut().len() < bytes {
                    *loaded = None;
                }
                let tile = room(tile, bytes);
                if wanted.is_none() || *loaded != wanted {
                    load(index, tile);
                }
                *loaded = wanted;
                let step = if held < lines { 0 } else { line as isize };
                (ElementSlice { bytes: tile, item, first: 0 }, step)
            });
            if self.machine.is_none() {
                return Ok(slice.row(lines * line));
            }
            feeds.push(slice.rows(lines, line, step));
        }
        if let Some(Held { empty, first, lines: all }) = held {
            let code = compiled.accumulating_code(lines, len.min(LEAF_ELEMENTS));
            let line = len.div_ceil(LEAF_ELEMENTS) * empty.len();
            let tile = room(&mut self.result, all * line);
            let own = &mut tile[first * line..][..lines * line];
            repeat(empty, own);
            compiled.accumulate(code.expect("it is printed"), (lines, len), &feeds, (own, empty.len()));
            return Ok(tile);
        }
        // Contiguous lines are one line.
        let joined = || {
            let is_vector = compiled.loads.iter().all(|&(kind, _)| kind == LoadKind::Vector);
            is_vector.then(|| feeds.iter().map(|feed| feed.joined()).collect()).flatten()
        };
        let (count, len, feeds) = match joined() {
            Some(joined) => (1, lines * len, joined),
            None => (lines, len, feeds),
        };
        let result = room(&mut self.result, count * len * compiled.item);
        let mut sink = RowSink::lines(result, count, len * compiled.item);
        let machine = self.machine.as_mut().expect("what is no load is computed");
        machine.run((1, count, len), &feeds, &mut sink, Write::Cached)?;
        Ok(result)
    }
}

/// One thread's tile for the results of a reduction, and the program that they go through, with a tile of its
/// own.
pub(crate) struct ResultTile<'a> {
    /// Bytes of a result.
    item: usize,
    results: Scratch,
    finish: Option<(&'a Compiled, Scratch)>,
}

impl<'a> ResultTile<'a> {
    /// A tile for at most `len` results of `item` bytes, which are the only load of the program that they go
    /// through, if they do.
    pub(crate) fn new(finish: Option<&'a Compiled>, len: usize, item: usize) -> ResultTile<'a> {
        let finish = finish.map(|finish| (finish, Scratch::new(len * finish.item)));
        ResultTile { item, results: Scratch::new(len * item), finish }
    }

    /// What becomes of `len` results that `fill` fills the tile with.
    pub(crate) fn finished(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<&[u8]> {
        let ResultTile { item, results, finish } = self;
        let results = &mut results.bytes_mut()[..len * *item];
        fill(results)?;
        let Some((program, tile)) = finish else { return Ok(results) };
        let finished = &mut tile.bytes_mut()[..len * program.item];
        program.run_in_order(&[results], finished)?;
        Ok(finished)
    }
}
