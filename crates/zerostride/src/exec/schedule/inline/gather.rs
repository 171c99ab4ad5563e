//! Owns contiguous copies of an operand's elements, broadcast to the result's shape: of a few, and of any
//! number. It does not know what they are for.

use bytemuck::NoUninit;
use smallvec::SmallVec;
use zerostride_kernels::{copy_slice, pack_dense};

use super::loops::Loops;
use crate::exec::elements::{ElementSlice, StridedDims};
use crate::memory::Fresh;

/// Elements that are gathered into a tile, without preparing a copy.
pub(super) const GATHERED_ELEMENTS: usize = 256;

/// The elements of an operand, broadcast: where they are if they are contiguous, else gathered.
#[inline(always)]
pub(super) fn elements<'a, const N: usize>(
    slice: ElementSlice<'a>,
    loops: &Loops<N>,
    operand: usize,
    tile: &'a mut Tile,
) -> &'a [u8] {
    if loops.dense[operand] {
        return slice.row(loops.numel);
    }
    let tile = bytes(tile, loops.numel * slice.item);
    let (lens, strides) = loops.of_operand(operand);
    let mut to = 1;
    let dim = |(&len, &stride): (&usize, &isize)| {
        let dim = (len, [stride, to]);
        to *= len as isize;
        dim
    };
    copy(StridedDims::joined(lens.iter().zip(strides).map(dim)), slice, (tile, 0));
    tile
}

/// Contiguous elements: an operand's own, or copies.
pub(super) enum InOrder<'a> {
    Own(&'a [u8]),
    Copies(Fresh),
}

impl InOrder<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            InOrder::Own(bytes) => bytes,
            InOrder::Copies(fresh) => fresh.bytes(),
        }
    }
}

/// Any number of elements of an operand, broadcast; the only one of a broadcast scalar. `None` if there is no
/// memory for copies.
pub(super) fn in_order<'a, const N: usize>(
    slice: ElementSlice<'a>,
    loops: &Loops<N>,
    operand: usize,
) -> Option<InOrder<'a>> {
    if loops.is_one(operand) || loops.dense[operand] {
        let len = if loops.is_one(operand) { 1 } else { loops.numel };
        return Some(InOrder::Own(slice.row(len)));
    }
    let mut copies = Fresh::arbitrary(loops.numel * slice.item)?;
    pack(slice, loops, operand, copies.bytes_mut());
    Some(InOrder::Copies(copies))
}

/// Copies all elements of an operand, broadcast, to contiguous memory, by a prepared copy.
pub(super) fn pack<const N: usize>(slice: ElementSlice<'_>, loops: &Loops<N>, operand: usize, to: &mut [u8]) {
    let ElementSlice { bytes, item, first } = slice;
    let (lens, strides) = loops.of_operand(operand);
    let dims: SmallVec<[_; 4]> =
        lens.iter().zip(strides).rev().map(|(&len, step)| (len, step * item as isize)).collect();
    pack_dense(item, &dims, bytes, first as usize * item, to);
}

/// Copies elements to another storage, each from its first one on, along dimensions with the strides of both.
pub(super) fn copy(
    mut dims: StridedDims<2>,
    ElementSlice { bytes: from, item, first }: ElementSlice<'_>,
    (to, to_first): (&mut [u8], isize),
) {
    fn copy<const N: usize>(
        (outer, (len, steps)): (&StridedDims<2>, (usize, [isize; 2])),
        (from, to): (&[u8], &mut [u8]),
        firsts: [isize; 2],
    ) {
        let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
        for offsets in outer.walk(0) {
            let [first, to_first] = [0, 1].map(|side| firsts[side] + offsets[side]);
            line(from, (first, steps[0]), to, (to_first, steps[1]), len);
        }
    }
    let inner = dims.take_inner();
    let (loops, bytes, firsts) = ((&dims, inner), (from, to), [first, to_first]);
    match item {
        1 => copy::<1>(loops, bytes, firsts),
        2 => copy::<2>(loops, bytes, firsts),
        4 => copy::<4>(loops, bytes, firsts),
        8 => copy::<8>(loops, bytes, firsts),
        _ => copy::<16>(loops, bytes, firsts),
    }
}

/// Copies so many elements, with the strides of both sides.
#[inline(always)]
fn line<T: NoUninit>(
    from: &[T],
    (first, step): (isize, isize),
    to: &mut [T],
    (to_first, to_step): (isize, isize),
    len: usize,
) {
    if to_step == 1 {
        let to = &mut to[to_first as usize..][..len];
        match step {
            0 => to.fill(from[first as usize]),
            1 => copy_slice(&from[first as usize..][..len], to),
            _ => to.iter_mut().zip(0..).for_each(|(to, at)| *to = from[(first + at * step) as usize]),
        }
        return;
    }
    for at in 0..len as isize {
        to[(to_first + at * to_step) as usize] = from[(first + at * step) as usize];
    }
}

/// Room for the elements of one operand of the widest dtype.
pub(super) type Tile = [u128; GATHERED_ELEMENTS];

pub(super) fn bytes(tile: &mut Tile, len: usize) -> &mut [u8] {
    &mut bytemuck::cast_slice_mut(tile)[..len]
}
