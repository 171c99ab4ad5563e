//! Owns the tree that combines partial results, and the loops over the elements of a lane or a leaf. It does
//! not know what is accumulated (`rule.rs`).

mod gathered;
mod halved;

use std::any::Any;
use std::mem;

use bytemuck::{cast_slice, cast_slice_mut};
use smallvec::SmallVec;

use super::fold::{Fold, LEAF_ELEMENTS, ReducePanel, are_lanes};
use super::rule::{Elem, EvenStarts, RowSequence, RowStarts, Rule, Side};
use super::vector::Vector;
use crate::cast::CastKernel;
use crate::isa::Task;
use gathered::Gathered;
use halved::{Halved, push_one};

/// The tree over lanes: a stack of complete subtrees, one for each bit that is set in the number of lanes
/// taken. A leaf is a subtree whose height is that of its lanes.
///
/// Its rule is that on single elements. Only the functions that take elements are compiled for the vectors of
/// an instruction set; everything else is compiled once.
pub(super) struct Tree<O: Rule> {
    rule: O,
    take_rows: RowsTaker<O>,
    take_leaves: LeavesTaker<O>,
    /// From the rule's results to the dtype of the results.
    cast: Option<CastKernel>,
    /// Elements of the rule for each of the caller's: two for a complex number.
    parts: usize,
    /// Results of the current block, and of the largest one.
    columns: usize,
    most: usize,
    lanes: usize,
    taken: usize,
    /// Whether the current lane has rows.
    begun: bool,
    /// The accumulators of the current lane.
    current: O::State,
    /// Those of the lanes of some leaves, and their number.
    leaf: O::State,
    room: usize,
    /// The current leaves, if their elements are strided.
    gathered: Option<Gathered<Elem<O>>>,
    /// What the positions of a leaf add to the index of a row, and the number of contiguous results that this
    /// is for.
    numbers: Vec<Elem<O>>,
    width: usize,
    /// The subtree of `2^height` lanes, by height; those below the lowest one are never used.
    subtrees: Vec<O::State>,
    lowest: usize,
}

/// The functions that take rows and leaves, compiled for vectors.
type RowsTaker<O> = fn(&mut Tree<O>, &[Elem<O>], &[usize], usize, bool);
type LeavesTaker<O> = fn(&mut Tree<O>, &[Elem<O>], ReducePanel, usize);

/// The tree of a rule, which takes elements in the rule's vectors.
pub(super) fn tree<R: Rule>(
    rule: R::One,
    columns: usize,
    lanes: usize,
    parts: usize,
    cast: Option<CastKernel>,
) -> Tree<R::One> {
    let most = columns * parts;
    Tree {
        rule,
        take_rows: take_rows::<R>,
        take_leaves: take_leaves::<R>,
        cast,
        parts,
        columns: most,
        most,
        lanes,
        taken: 0,
        begun: false,
        current: R::empty(most),
        leaf: R::empty(0),
        room: 0,
        gathered: None,
        numbers: Vec::new(),
        width: 0,
        subtrees: Vec::new(),
        lowest: usize::MAX,
    }
}

impl<O: Rule> Tree<O> {
    /// Makes room for subtrees of up to that many lanes, and at least `2^lowest`.
    fn grow(&mut self, lanes: usize, lowest: usize) {
        let (known, heights) = (self.subtrees.len(), (usize::BITS - lanes.leading_zeros()) as usize);
        if known < heights || lowest < self.lowest {
            let lowest = lowest.min(self.lowest);
            self.subtrees.resize_with(known.max(heights), || O::empty(0));
            for height in (lowest..self.lowest.min(known)).chain(known.max(lowest)..heights) {
                self.subtrees[height] = O::empty(self.most);
            }
            self.lowest = lowest;
        }
    }

    /// Adds a subtree of `2^height` lanes from `current`, in the vectors that the caller is compiled for.
    #[inline(always)]
    fn push<V: Rule<State = O::State>>(&mut self, mut height: usize) {
        let added = 1 << height;
        self.grow(self.taken + added, height);
        while self.taken >> height & 1 == 1 {
            merge_states::<V>(&self.subtrees[height], &mut self.current, self.columns);
            height += 1;
        }
        self.taken += added;
        mem::swap(&mut self.subtrees[height], &mut self.current);
    }
}

/// The rows of a leaf. The panel's first row is reduced element `first` of a reduction in so many lanes.
#[inline(always)]
fn leaf_steps<'a, R: Rule>(
    elements: &'a [Elem<R>],
    panel: &ReducePanel,
    leaf: usize,
    (first, lanes): (usize, usize),
    looks: (&'a [Elem<R>], u64),
) -> RowSequence<'a, Elem<R>, EvenStarts> {
    let rows = panel.leaf.min(panel.rows - leaf * panel.leaf);
    let (whole, tail) = (rows >> lanes.ilog2(), rows & (lanes - 1));
    let row = first + leaf * panel.leaf;
    RowSequence::new(
        elements,
        EvenStarts(lanes * panel.width),
        (whole, tail * panel.width),
        (row, lanes),
        looks,
    )
}

/// Accumulates rows whose positions are contiguous.
#[inline(always)]
fn spread<R: Rule, P: RowStarts>(
    state: &mut R::State,
    fresh: bool,
    steps: &RowSequence<'_, Elem<R>, P>,
    places: usize,
) {
    let len = R::Vector::LEN;
    if places < len {
        for at in 0..places {
            let sides = [Side::of(at)];
            let [acc] = R::One::steps(begin::<R::One, 1>(state, fresh, sides), fresh, steps, sides);
            R::One::write(acc, state, at);
        }
        return;
    }
    // The last vector may overlap the one before, so its accumulator is read before that one is written.
    let last = begin::<R, 1>(state, fresh, [Side::of(places - len)]);
    let mut at = 0;
    // Of a leaf more vectors, so that memory is read in longer lines.
    while const { R::AT_ONCE == 8 && P::ARE_EVEN } && at + 8 * len <= places {
        spread_from::<R, 8>(state, fresh, steps, at);
        at += 8 * len;
    }
    while const { R::AT_ONCE >= 4 } && at + 4 * len <= places {
        spread_from::<R, 4>(state, fresh, steps, at);
        at += 4 * len;
    }
    while const { R::AT_ONCE == 2 } && at + 2 * len <= places {
        spread_from::<R, 2>(state, fresh, steps, at);
        at += 2 * len;
    }
    while at < places {
        let whole = at + len <= places;
        let (from, acc) =
            if whole { (at, begin::<R, 1>(state, fresh, [Side::of(at)])) } else { (places - len, last) };
        let [acc] = R::steps(acc, fresh, steps, [Side::of(from)]);
        R::write(acc, state, from);
        at += len;
    }
}

/// Accumulates rows in `G` vectors of positions.
#[inline(always)]
fn spread_from<R: Rule, const G: usize>(
    state: &mut R::State,
    fresh: bool,
    steps: &RowSequence<'_, Elem<R>, impl RowStarts>,
    at: usize,
) {
    let sides = Side::of(at).row(R::Vector::LEN, R::Vector::LEN);
    let acc = R::steps(begin::<R, G>(state, fresh, sides), fresh, steps, sides);
    for g in 0..G {
        R::write(acc[g], state, sides[g].at);
    }
}

/// The lanes of a leaf of one result, which are whole vectors, halved to one vector.
#[inline(always)]
fn alone<R: Rule>(
    state: &mut R::State,
    steps: &RowSequence<'_, Elem<R>, impl RowStarts>,
    lanes: usize,
) -> R::Acc {
    let len = R::Vector::LEN;
    // Without `const`, numbers of vectors that no leaf has would be compiled, too.
    match lanes / len {
        1 if const { are_lanes(R::Vector::LEN) } => halved::<R, 1>(steps, [Side::of(0)]),
        vectors if const { R::AT_ONCE == 2 } => by_groups::<R, 2>(steps, vectors),
        2 if const { are_lanes(2 * R::Vector::LEN) } => halved::<R, 2>(steps, Side::of(0).row(len, len)),
        vectors if const { R::AT_ONCE == 4 } => by_groups::<R, 4>(steps, vectors),
        4 if const { R::AT_ONCE == 8 && are_lanes(4 * R::Vector::LEN) } => {
            halved::<R, 4>(steps, Side::of(0).row(len, len))
        }
        8 if const { R::AT_ONCE == 8 && are_lanes(8 * R::Vector::LEN) } => {
            halved::<R, 8>(steps, Side::of(0).row(len, len))
        }
        _ if const { R::AT_ONCE == 8 && super::lanes(LEAF_ELEMENTS) / R::Vector::LEN > 8 } => {
            spread::<R, _>(state, true, steps, lanes);
            halve::<R>(state, lanes, R::Vector::LEN);
            R::read(state, 0)
        }
        _ => unreachable!("the lanes of a leaf are whole vectors"),
    }
}

/// Vectors of lanes, halved to one: `G` at once that are combined first, and what these became waits for its
/// neighbour in the tree.
#[inline(always)]
fn by_groups<R: Rule, const G: usize>(
    steps: &RowSequence<'_, Elem<R>, impl RowStarts>,
    vectors: usize,
) -> R::Acc {
    let (groups, len) = (vectors / G, R::Vector::LEN);
    let mut waiting = [R::none(); super::lanes(LEAF_ELEMENTS).ilog2() as usize];
    let mut all = R::none();
    for nth in 0..groups {
        // Neighbours in the tree are half of what is left apart.
        let low = nth.reverse_bits().checked_shr(usize::BITS - groups.ilog2()).unwrap_or(0);
        all = halved::<R, G>(steps, Side::of(low * len).row(groups * len, groups * len));
        let height = nth.trailing_ones() as usize;
        for waiting in &waiting[..height] {
            all = R::merge(*waiting, all);
        }
        waiting[height] = all;
    }
    all
}

/// `G` vectors of lanes, halved to one: all at once, so that memory is read in order. Out-of-order execution
/// overlaps one leaf with the next, so that interleaving leaves gains nothing.
#[inline(always)]
fn halved<R: Rule, const G: usize>(
    steps: &RowSequence<'_, Elem<R>, impl RowStarts>,
    sides: [Side; G],
) -> R::Acc {
    let mut acc = R::steps([R::none(); G], true, steps, sides);
    let mut left = G;
    while left > 1 {
        left /= 2;
        for low in 0..left {
            acc[low] = R::merge(acc[low], acc[low + left]);
        }
    }
    acc[0]
}

/// The accumulators of some vectors of positions, empty if they are `fresh`.
#[inline(always)]
fn begin<R: Rule, const G: usize>(state: &R::State, fresh: bool, sides: [Side; G]) -> [R::Acc; G] {
    let mut acc = [R::none(); G];
    if !fresh {
        for g in 0..G {
            acc[g] = R::read(state, sides[g].at);
        }
    }
    acc
}

/// Combines the upper half of some positions with the lower half until `width` are left.
#[inline(always)]
fn halve<R: Rule>(state: &mut R::State, mut left: usize, width: usize) {
    while left > width {
        left /= 2;
        let mut low = 0;
        while low + R::Vector::LEN <= left {
            R::write(R::merge(R::read(state, low), R::read(state, low + left)), state, low);
            low += R::Vector::LEN;
        }
        for low in low..left {
            let merged = R::One::merge(R::One::read(state, low), R::One::read(state, low + left));
            R::One::write(merged, state, low);
        }
    }
}

/// Copies accumulators.
#[inline(always)]
fn copy_states<R: Rule>(from: &R::State, to: &mut R::State, len: usize) {
    let mut at = 0;
    while at + R::Vector::LEN <= len {
        R::write(R::read(from, at), to, at);
        at += R::Vector::LEN;
    }
    (at..len).for_each(|at| R::One::write(R::One::read(from, at), to, at));
}

/// Combines each accumulator of `left` with its neighbour in `right`, in place.
#[inline(always)]
fn merge_states<R: Rule>(left: &R::State, right: &mut R::State, len: usize) {
    let mut at = 0;
    while at + R::Vector::LEN <= len {
        R::write(R::merge(R::read(left, at), R::read(right, at)), right, at);
        at += R::Vector::LEN;
    }
    for at in at..len {
        R::One::write(R::One::merge(R::One::read(left, at), R::One::read(right, at)), right, at);
    }
}

/// Bytes between lines of memory that share a set of L1, or a multiple of them, and the lines that a set has
/// room for. No more rows that are so far apart are read together, or what is prefetched of one evicts what
/// is of another: a sum of 1024 x 1024 f32 down its columns took 118 us instead of 77 (Zen 4, 2026-11-30).
const L1_WAY_BYTES: usize = 4 << 10;
const L1_WAYS: usize = 8;

/// Rows of the current lane, with contiguous columns, compiled for each instruction set.
struct TakeRows<'a, R: Rule> {
    tree: &'a mut Tree<R::One>,
    elements: &'a [Elem<R>],
    rows: &'a [usize],
    first: usize,
    ends: bool,
}

impl<R: Rule> Task for TakeRows<'_, R> {
    #[inline(always)]
    fn run(self) {
        let TakeRows { tree, elements, rows, mut first, ends } = self;
        let apart = rows.get(1).map_or(0, |second| second.abs_diff(rows[0])) * size_of::<Elem<R>>();
        let share_sets = const { R::IN_PARTS } && apart > 0 && apart.is_multiple_of(L1_WAY_BYTES);
        let most = if share_sets { L1_WAYS } else { rows.len() };
        let mut left = rows;
        // A lane without rows is begun, too.
        loop {
            let (part, rest) = left.split_at(most.min(left.len()));
            let numbers = (first, tree.lanes);
            let steps = RowSequence::new(elements, part, (part.len(), 0), numbers, (&[], tree.rule.flips()));
            spread::<R, _>(&mut tree.current, !tree.begun, &steps, tree.columns);
            (tree.begun, left) = (true, rest);
            if left.is_empty() {
                break;
            }
            first += part.len() * tree.lanes;
        }
        tree.begun = !ends;
        if ends {
            tree.push::<R>(0);
        }
    }
}

fn take_rows<R: Rule>(
    tree: &mut Tree<R::One>,
    elements: &[Elem<R>],
    rows: &[usize],
    first: usize,
    ends: bool,
) {
    R::Vector::run(TakeRows::<R> { tree, elements, rows, first, ends });
}

/// Whole leaves, in memory order, compiled for each instruction set.
struct TakeLeaves<'a, R: Rule> {
    tree: &'a mut Tree<R::One>,
    elements: &'a [Elem<R>],
    panel: ReducePanel,
    first: usize,
}

impl<R: Rule> Task for TakeLeaves<'_, R> {
    #[inline(always)]
    fn run(self) {
        let (tree, panel) = (&mut *self.tree, self.panel);
        tree.grow(tree.taken + panel.rows.div_ceil(panel.leaf) * tree.lanes, tree.lanes.ilog2() as usize);
        if panel.row_step == 1 && tree.lanes == 1 && R::lines(&mut tree.current, self.elements, &panel) {
            tree.push::<R>(0);
            return;
        }
        let room = (tree.lanes * panel.width).max(R::Vector::LEN);
        if room > tree.room {
            (tree.leaf, tree.room) = (R::empty(room), room);
        }
        if panel.width == 1 && tree.lanes >= R::Vector::LEN {
            self.alone();
        } else {
            self.in_rows();
        }
    }
}

impl<R: Rule> TakeLeaves<'_, R> {
    /// Takes the leaves of results whose elements are contiguous.
    #[inline(always)]
    fn alone(self) {
        let TakeLeaves { tree, elements, panel, first } = self;
        let (count, lanes, flips) = (panel.rows.div_ceil(panel.leaf), tree.lanes, tree.rule.flips());
        let mut halved = Halved::<R>::new();
        let (mut column, mut leaf) = (0, 0);
        while column < panel.columns && leaf < count {
            let elements = &elements[column * panel.column_step + leaf * panel.leaf * panel.row_step..];
            let elements = match &mut tree.gathered {
                Some(gathered) => gathered.leaf(elements, leaf),
                None => elements,
            };
            let steps = leaf_steps::<R>(elements, &panel, leaf, (first, lanes), (&tree.numbers, flips));
            let vector = alone::<R>(&mut tree.leaf, &steps, lanes);
            halved.push(vector, (tree.taken + leaf * lanes, column));
            leaf += 1;
            if leaf == count {
                (column, leaf) = (column + 1, 0);
            }
            if halved.count == R::Vector::LEN || column == panel.columns {
                halved.join((&mut tree.subtrees, tree.lanes), &mut tree.leaf);
            }
        }
        tree.taken += count * lanes;
    }

    /// Takes the leaves of groups of contiguous results.
    #[inline(always)]
    fn in_rows(self) {
        let TakeLeaves { tree, elements, panel, first } = self;
        let ReducePanel { width, columns, column_step, row_step, leaf: leaf_rows, .. } = panel;
        let (count, lanes, flips) = (panel.rows.div_ceil(panel.leaf), tree.lanes, tree.rule.flips());
        for column in 0..columns {
            for leaf in 0..count {
                let elements = &elements[column * column_step + leaf * leaf_rows * row_step..];
                let elements = match &mut tree.gathered {
                    Some(gathered) => gathered.leaf(elements, leaf),
                    None => elements,
                };
                let steps = leaf_steps::<R>(elements, &panel, leaf, (first, lanes), (&tree.numbers, flips));
                spread::<R, _>(&mut tree.leaf, true, &steps, lanes * width);
                halve::<R>(&mut tree.leaf, lanes * width, width);
                if columns == 1 {
                    // The results of all leaves are the same, and so those of subtrees.
                    copy_states::<R>(&tree.leaf, &mut tree.current, width);
                    tree.push::<R>(lanes.ilog2() as usize);
                    continue;
                }
                for at in 0..width {
                    let (taken, one) = (tree.taken + leaf * lanes, R::One::read(&tree.leaf, at));
                    push_one::<R>(&mut tree.subtrees, taken, lanes, column * width + at, one);
                }
            }
        }
        tree.taken += if columns == 1 { 0 } else { count * lanes };
    }
}

fn take_leaves<R: Rule>(tree: &mut Tree<R::One>, elements: &[Elem<R>], panel: ReducePanel, first: usize) {
    R::Vector::run(TakeLeaves::<R> { tree, elements, panel, first });
}

impl<O: Rule> Fold for Tree<O> {
    fn start(&mut self, columns: usize) {
        self.columns = columns * self.parts;
        assert!(self.columns <= self.most);
        (self.taken, self.begun) = (0, false);
    }

    fn rows(&mut self, elements: &[u8], rows: &[usize], first: usize, ends: bool) {
        let scaled: SmallVec<[usize; 16]>;
        let rows = if self.parts == 1 {
            rows
        } else {
            scaled = rows.iter().map(|row| row * self.parts).collect();
            &scaled
        };
        (self.take_rows)(self, cast_slice(elements), rows, first, ends);
    }

    fn leaves(&mut self, elements: &[u8], panel: &ReducePanel, first: usize) {
        assert_eq!(panel.columns * panel.width * self.parts, self.columns);
        let width = panel.width * self.parts;
        let (column_step, row_step) = (panel.column_step * self.parts, panel.row_step * self.parts);
        let panel = ReducePanel { width, column_step, row_step, ..*panel };
        if row_step == width {
            self.gathered = None;
        } else if !self.gathered.as_ref().is_some_and(|gathered| gathered.is_for(&panel)) {
            assert_eq!(width, self.parts, "only elements of one result lie apart");
            self.gathered = Some(Gathered::new(panel));
        }
        if width != self.width {
            (self.numbers, self.width) = (O::numbers(self.lanes * width, width), width);
        }
        (self.take_leaves)(self, cast_slice(elements), panel, first);
    }

    fn append(&mut self, other: Box<dyn Fold>) {
        let mut other = other.into_any().downcast::<Self>().expect("folds of one reduction are of one kind");
        for height in (0..other.subtrees.len()).rev().filter(|height| other.taken >> height & 1 == 1) {
            mem::swap(&mut self.current, &mut other.subtrees[height]);
            self.push::<O>(height);
        }
    }

    fn finish(&mut self, out: &mut [u8]) {
        let mut heights = (0..self.subtrees.len()).filter(|height| self.taken >> height & 1 == 1);
        match heights.next() {
            Some(lowest) => mem::swap(&mut self.current, &mut self.subtrees[lowest]),
            None => self.current = O::empty(self.most),
        }
        for height in heights {
            merge_states::<O>(&self.subtrees[height], &mut self.current, self.columns);
        }
        let results = self.rule.results(&self.current, self.columns);
        match self.cast {
            Some(cast) => cast(cast_slice(&results.collect::<Vec<_>>()), out),
            None => {
                let out: &mut [O::Out] = cast_slice_mut(out);
                out.iter_mut().zip(results).for_each(|(out, result)| *out = result);
            }
        }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
