//! Owns the search for changes of one operand with which it broadcasts with the others: those that a reader
//! would think of, as far as they fit. It does not rank or check them: `mod.rs` applies every candidate.

use zerostride_shape::{Shape, Size, broadcast_size};

use super::change::Change;

/// The highest rank for which all insertions of dimensions are tried, at most 2^8 for each operand, and the
/// most operands for which they are. An explanation then takes at most about a millisecond.
const EXHAUSTIVE: (usize, usize) = (8, 4);
/// The highest rank for which all permutations are tried, at most 4! of them.
const PERMUTED_RANK: usize = 4;

/// The changes of an operand of shape `own` with which it broadcasts with `rest`, the broadcast shape of the
/// others. The target of an in-place operation must also have as many dimensions in the end.
pub(crate) fn of(own: &Shape, rest: &Shape, others: &[&[Size]], is_target: bool) -> Vec<Change> {
    let mut found = Vec::new();
    if is_small(own.len().max(rest.len()), others.len() + 1) {
        insert_everywhere(own, rest, is_target, &mut Vec::new(), &mut found);
    } else {
        insert_once(own, rest, &mut found);
    }
    drop_ones(own, rest, &mut found);
    permute(own, rest, &mut found);
    regroup(own, rest, others, &mut found);
    found
}

/// Whether the search can afford to be exhaustive.
pub(super) fn is_small(ndim: usize, operands: usize) -> bool {
    ndim <= EXHAUSTIVE.0 && operands <= EXHAUSTIVE.1
}

/// Whether an operand with these sizes, from the right, broadcasts with `rest`.
fn fits(sizes_from_right: impl Iterator<Item = Size>, rest: &[Size]) -> bool {
    rest.iter().rev().zip(sizes_from_right).all(|(&rest, own)| broadcast_size(rest, own).is_some())
}

/// Aligns the sizes of `own` from the right: each goes under the next size of `rest` that it broadcasts with,
/// or a new dimension is inserted. `placed` holds the decisions so far: whether each dimension is new.
fn insert_everywhere(
    own: &[Size],
    rest: &[Size],
    fill: bool,
    placed: &mut Vec<bool>,
    found: &mut Vec<Change>,
) {
    let under = rest.len().checked_sub(placed.len() + 1).map(|at| rest[at]);
    let Some((&size, left)) = own.split_last() else {
        let filled = if fill { rest.len().saturating_sub(placed.len()) } else { 0 };
        let ndim = placed.len() + filled;
        let new = placed.iter().enumerate().filter(|(_, new)| **new).map(|(at, _)| ndim - 1 - at);
        let dims: Vec<usize> = (0..filled).chain(new.collect::<Vec<_>>().into_iter().rev()).collect();
        if !dims.is_empty() {
            found.push(Change::Unsqueeze(dims));
        }
        return;
    };
    if under.is_none_or(|under| broadcast_size(under, size).is_some()) {
        placed.push(false);
        insert_everywhere(left, rest, fill, placed, found);
        placed.pop();
    }
    if under.is_some() {
        placed.push(true);
        insert_everywhere(own, rest, fill, placed, found);
        placed.pop();
    }
}

/// One new dimension, at each position.
fn insert_once(own: &[Size], rest: &[Size], found: &mut Vec<Change>) {
    // Inserting it before or after a dimension of size 1 gives the same shape.
    for dim in (0..=own.len()).filter(|&dim| dim == 0 || own[dim - 1] != 1) {
        let (left, right) = own.split_at(dim);
        if fits(right.iter().rev().copied().chain([1]).chain(left.iter().rev().copied()), rest) {
            found.push(Change::Unsqueeze(vec![dim]));
        }
    }
}

/// One dimension of size 1 dropped, or all of them.
fn drop_ones(own: &[Size], rest: &[Size], found: &mut Vec<Change>) {
    let ones: Vec<usize> = (0..own.len()).filter(|&dim| own[dim] == 1).collect();
    // Of adjacent dimensions of size 1, dropping any gives the same shape.
    for &dim in ones.iter().filter(|&&dim| own.get(dim + 1) != Some(&1)) {
        if fits(own[..dim].iter().chain(&own[dim + 1..]).rev().copied(), rest) {
            found.push(Change::Squeeze(vec![dim]));
        }
    }
    if ones.len() > 1 && fits(own.iter().rev().copied().filter(|&size| size != 1), rest) {
        found.push(Change::Squeeze(ones));
    }
}

/// All permutations of few dimensions; of many, the exchange of the last two.
fn permute(own: &[Size], rest: &[Size], found: &mut Vec<Change>) {
    let identity: Vec<usize> = (0..own.len()).collect();
    let mut orders = Vec::new();
    if own.len() <= PERMUTED_RANK {
        orders_of(&identity, &mut Vec::new(), &mut orders);
    } else {
        let mut swapped = identity.clone();
        swapped.swap(own.len() - 2, own.len() - 1);
        orders.push(swapped);
    }
    orders.retain(|order| *order != identity && fits(order.iter().rev().map(|&dim| own[dim]), rest));
    found.extend(orders.into_iter().map(Change::Permute));
}

fn orders_of(left: &[usize], chosen: &mut Vec<usize>, orders: &mut Vec<Vec<usize>>) {
    if left.is_empty() {
        orders.push(chosen.clone());
    }
    for (at, &dim) in left.iter().enumerate() {
        let others: Vec<usize> = left[..at].iter().chain(&left[at + 1..]).copied().collect();
        chosen.push(dim);
        orders_of(&others, chosen, orders);
        chosen.pop();
    }
}

/// The sizes of another operand with the same number of elements.
fn regroup(own: &Shape, rest: &[Size], others: &[&[Size]], found: &mut Vec<Change>) {
    for &other in others {
        let same_numel = Shape::new(other).is_ok_and(|other| other.numel() == own.numel());
        if same_numel && *own != *other && own.numel() > 1 && fits(other.iter().rev().copied(), rest) {
            found.push(Change::Reshape(other.to_vec()));
        }
    }
}
