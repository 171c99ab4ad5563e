//! Owns the decision which operands of a reduction are copied first, so that all of them are read in the
//! order of memory. It does not make the copies (`lower.rs`).

use smallvec::SmallVec;
use zerostride_kernels::lanes;
use zerostride_shape::Shape;

use super::program::{ElementSource, GRAIN_ELEMENTS, Load};

/// How often a loop reads each element of an operand from which on these are worth copying once, and the most
/// bytes of them.
const LEAST_READS: usize = 8;
const MOST_COPIED_BYTES: usize = 1 << 20;

/// Whether a loop over so many elements reads few elements again and again.
pub(super) fn is_worth_a_copy(elements: usize, item: usize, of_loop: usize) -> bool {
    of_loop >= GRAIN_ELEMENTS
        && elements > 1
        && elements.saturating_mul(LEAST_READS) <= of_loop
        && elements.saturating_mul(item) <= MOST_COPIED_BYTES
}

/// The loads of a reduction over some dimensions of a loop that are to be copied, and the dimension that is
/// innermost in the copies: the one that is so in larger operands, whose vectors the others would have to be
/// gathered for, or where all are small the reduced one, since few neighbouring results fill no vector.
pub(super) fn turned(
    loads: &[Load],
    sizes: &Shape,
    reduced: &[usize],
) -> Option<(usize, SmallVec<[usize; 4]>)> {
    let dims = |load: &Load| -> SmallVec<[(usize, usize); 8]> {
        let steps = load.strides.iter().map(|stride| stride.unsigned_abs()).enumerate();
        steps.filter(|&(dim, step)| step > 0 && sizes[dim] > 1).collect()
    };
    let nearest = |load: &Load| dims(load).iter().min_by_key(|dim| dim.1).map(|dim| dim.0);
    let is_small = |load: &&Load| {
        let elements = dims(load).iter().map(|dim| sizes[dim.0]).product();
        elements == 1 || is_worth_a_copy(elements, load.dtype.item_size(), sizes.numel())
    };
    let count: usize = reduced.iter().map(|&dim| sizes[dim]).product();
    let last = reduced.iter().copied().rfind(|&dim| sizes[dim] > 1)?;
    let mut larger = loads.iter().filter(|load| !is_small(load)).map(nearest);
    let innermost = match larger.next() {
        Some(first) => first.filter(|_| larger.all(|other| other == first))?,
        None => last,
    };
    let has_lines = !reduced.contains(&innermost) || innermost == last && lanes(count) > 1;
    let lies_otherwise = |load: &Load| load.strides[innermost] != 0 && nearest(load) != Some(innermost);
    let wanted: SmallVec<[usize; 4]> =
        (0..loads.len()).filter(|&load| lies_otherwise(&loads[load])).collect();
    // A step that computes rows as they are wanted would have to compute all of them first.
    let outermost = (0..sizes.ndim()).find(|dim| sizes[*dim] > 1 && !reduced.contains(dim))?;
    let is_there = |&load: &usize| match loads[load].source {
        ElementSource::Leaf(_) => true,
        ElementSource::Buffer(_) => loads[load].strides[outermost] == 0,
    };
    let is_worth_it = loads.len() > 1 && has_lines && !wanted.is_empty() && wanted.iter().all(is_there);
    is_worth_it.then_some((innermost, wanted))
}
