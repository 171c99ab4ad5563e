//! Owns `Repair`, a change that makes operands broadcast: which ones are shown, and in which order. It does
//! not know how candidates are found (`candidates.rs`) nor what a change does (`change.rs`).

mod candidates;
mod change;

use std::cmp::Reverse;
use std::collections::HashSet;

use zerostride_ops::Op;
use zerostride_shape::{Broadcast, Layout, Shape, Size, broadcast_shape, check_in_place, is_mutual_stretch};

use change::Change;

/// The most repairs that are shown; more would not help.
const SHOWN: usize = 5;
/// How many of them may lead to a mutual stretch, if there are others and if there are none.
const SHOWN_MUTUAL: [usize; 2] = [1, 3];
/// How many alternatives to a mutual stretch are shown.
const SHOWN_ALTERNATIVES: usize = 2;
/// The most operands for which repairs are searched, which bounds the time for hostile input.
const SOUGHT: usize = 64;

/// A change of one operand with which all of them broadcast, applied and checked before it is offered.
///
/// ```
/// use zerostride_explain::{Explanation, Hint, Operand, Options};
///
/// let refused = Explanation::new(vec![Operand::new(&[32, 10]), Operand::new(&[32])], Options::default());
/// let repair = &refused.repairs()[0];
/// assert_eq!((repair.operand, &*repair.call), (1, "b.unsqueeze(-1)"));
/// assert_eq!((&repair.view[..], &repair.shape[..]), (&[32, 1][..], &[32, 10][..]));
/// assert_eq!(repair.hint, Some(Hint::KeepDim { of: 0, dims: vec![1] }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The operand that changes.
    pub operand: usize,
    /// The change, as PyTorch and this project write it.
    pub call: String,
    /// The shape of the changed operand.
    pub view: Shape,
    /// The shape of the result.
    pub shape: Shape,
    /// Whether the result has more elements than every operand, which is often not what was meant.
    pub mutual_stretch: bool,
    /// When the repair is right, or what to mind.
    pub hint: Option<Hint>,
}

/// What a reader should know about a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The operand has the shape of a reduction of operand `of` over `dims`, whose dimensions `keepdim=True`
    /// would have kept.
    KeepDim {
        /// The operand that may have been reduced.
        of: usize,
        /// The dimensions that are missing.
        dims: Vec<usize>,
    },
    /// The elements are regrouped in row-major order, which is right only if they are meant in that order.
    ElementOrder,
    /// The result is a new tensor; the target is not written to.
    NewTensor,
}

/// What repairs are ordered by: mutual stretch, cost, elements and dimensions of the result, kind of change,
/// elements of the operand that changes, its position.
type Rank = (bool, usize, Size, usize, usize, Size, Reverse<isize>);

/// The operands that do not broadcast, or do so suspiciously.
pub(crate) struct Problem<'a> {
    pub(crate) shapes: &'a [&'a [Size]],
    pub(crate) names: &'a [String],
    pub(crate) op: Option<Op>,
    pub(crate) in_place: bool,
    pub(crate) same_dtype: bool,
}

/// A change that works, with its rank; the smallest is the best.
struct Ranked {
    operand: usize,
    change: Change,
    view: Shape,
    shape: Shape,
    rank: Rank,
}

impl Ranked {
    fn is_mutual(&self) -> bool {
        self.rank.0
    }
}

impl Problem<'_> {
    /// What makes the operands broadcast, the best first.
    pub(crate) fn repairs(&self) -> Vec<Repair> {
        let (mut mutual, mut straight): (Vec<_>, Vec<_>) =
            self.ranked().into_iter().partition(Ranked::is_mutual);
        mutual.truncate(SHOWN_MUTUAL[usize::from(straight.is_empty())]);
        straight.truncate(SHOWN - mutual.len());
        straight.into_iter().chain(mutual).filter_map(|ranked| self.repair(ranked)).collect()
    }

    /// Changes with which operands that broadcast to `result` would have the shape of the largest of them as
    /// result. Since nothing is wrong, they are searched for few operands of few dimensions only.
    pub(crate) fn alternatives(&self, result: &Shape) -> Vec<Repair> {
        if !candidates::is_small(result.ndim(), self.shapes.len()) {
            return Vec::new();
        }
        let smaller = |ranked: &Ranked| !ranked.is_mutual() && ranked.shape.numel() < result.numel();
        let alternatives = self.ranked().into_iter().filter(smaller).take(SHOWN_ALTERNATIVES);
        alternatives.filter_map(|ranked| self.repair(ranked)).collect()
    }

    fn ranked(&self) -> Vec<Ranked> {
        if self.shapes.len() > SOUGHT {
            return Vec::new();
        }
        let operands = 0..self.shapes.len();
        let mut ranked: Vec<Ranked> = operands.flat_map(|operand| self.of_operand(operand)).collect();
        ranked.sort_by_key(|ranked| ranked.rank);
        // Of several calls that lead to the same view, the first is the simplest. Of the permutations of one
        // operand only the one with the lowest cost is likely to be meant.
        let (mut seen, mut permuted) = (HashSet::new(), HashSet::new());
        ranked.retain(|Ranked { operand, change, view, .. }| {
            seen.insert((*operand, view.clone()))
                && (!matches!(change, Change::Permute(_)) || permuted.insert(*operand))
        });
        ranked
    }

    fn repair(&self, ranked: Ranked) -> Option<Repair> {
        let operand = ranked.operand;
        let repair = Repair {
            operand,
            call: ranked.change.call(&self.names[operand], self.shapes[operand].len()),
            hint: self.hint(operand, &ranked.change),
            mutual_stretch: ranked.is_mutual(),
            view: ranked.view,
            shape: ranked.shape,
        };
        self.holds(&repair).then_some(repair)
    }

    /// The final check of a repair, on all operands and without assumptions.
    fn holds(&self, repair: &Repair) -> bool {
        let mut shapes = self.shapes.to_vec();
        shapes[repair.operand] = &repair.view;
        Broadcast::new(&shapes).is_ok_and(|broadcast| *broadcast.shape() == repair.shape)
    }

    fn of_operand(&self, operand: usize) -> Vec<Ranked> {
        let others: Vec<&[Size]> = self.without(operand);
        // If the others do not broadcast, changing this one does not help.
        let (Ok(own), Ok(rest)) = (Shape::new(self.shapes[operand]), broadcast_shape(&others)) else {
            return Vec::new();
        };
        let layout = Layout::contiguous(own);
        let is_target = self.in_place && operand == 0;
        let mut ranked: Vec<Ranked> = candidates::of(layout.shape(), &rest, &others, is_target)
            .into_iter()
            .filter_map(|change| {
                let view = change.apply(&layout)?.shape().clone();
                let shape = broadcast_shape(&[&rest, &view]).ok()?;
                let target = if is_target { &*view } else { self.shapes[0] };
                if self.in_place && check_in_place(target, &shape).is_err() {
                    return None;
                }
                self.rank(operand, change, view, shape)
            })
            .collect();
        if self.in_place {
            ranked.extend(self.of_target(operand, &layout, &rest));
        }
        ranked
    }

    /// The repairs for a target that would have to grow.
    fn of_target(&self, operand: usize, layout: &Layout, rest: &Shape) -> Vec<Ranked> {
        let Ok(shape) = broadcast_shape(&[layout.shape(), rest]) else { return Vec::new() };
        let mut changes = Vec::new();
        let info = self.op.map(Op::info);
        if operand == 0 {
            changes.push(Change::Enlarge(shape.clone()));
            changes.extend(info.map(|info| Change::OutOfPlace(info.name, self.names[1..].join(", "))));
        } else if let (2, Some(info)) = (self.shapes.len(), info)
            && let (true, Some(method)) = (info.commutative && self.same_dtype, info.in_place)
            && *layout.shape() == shape
        {
            changes.push(Change::Swap(method, self.names[0].clone()));
        }
        let rank = |change: Change| {
            let view = change.apply(layout)?.shape().clone();
            self.rank(operand, change, view, shape.clone())
        };
        changes.into_iter().filter_map(rank).collect()
    }

    fn rank(&self, operand: usize, change: Change, view: Shape, shape: Shape) -> Option<Ranked> {
        // A result that is empty only because an empty operand was stretched over the others is no repair.
        let numel = shape.numel();
        if numel == 0 && self.shapes.iter().any(|shape| !shape.contains(&0)) {
            return None;
        }
        let is_mutual = is_mutual_stretch(&shape, self.shapes);
        // Dimensions are moved under equal ones; moving them so that they do not meet would be a guess.
        if is_mutual && matches!(change, Change::Permute(_)) {
            return None;
        }
        let cost = change.cost() + usize::from(self.in_place && operand == 0);
        // In an outer product the first operand gets the new dimension, so that it runs along the rows.
        // Otherwise the smaller operand changes, and of two equal ones the later.
        let (own, place) = match is_mutual {
            true => (0, -(operand as isize)),
            false => (self.shapes[operand].iter().product(), operand as isize),
        };
        let rank = (is_mutual, cost, numel, shape.ndim(), change.kind(), own, Reverse(place));
        Some(Ranked { operand, change, view, shape, rank })
    }

    fn hint(&self, operand: usize, change: &Change) -> Option<Hint> {
        match change {
            Change::Unsqueeze(_) if self.in_place && operand == 0 => None,
            Change::Unsqueeze(dims) => {
                let own = self.shapes[operand];
                let reduced = |other: &&[Size]| {
                    let (lost, kept): (Vec<_>, Vec<_>) =
                        other.iter().enumerate().partition(|(dim, _)| dims.contains(dim));
                    // A reduction over a dimension of size 1 loses nothing.
                    lost.len() == dims.len()
                        && lost.iter().all(|(_, size)| **size != 1)
                        && kept.iter().map(|(_, size)| *size).eq(own)
                };
                let of = self.shapes.iter().position(reduced)?;
                Some(Hint::KeepDim { of, dims: dims.clone() })
            }
            Change::Reshape(_) => Some(Hint::ElementOrder),
            Change::Enlarge(_) | Change::OutOfPlace(..) => Some(Hint::NewTensor),
            Change::Squeeze(_) | Change::Permute(_) | Change::Swap(..) => None,
        }
    }

    fn without(&self, operand: usize) -> Vec<&[Size]> {
        let others = self.shapes.iter().enumerate().filter(|(i, _)| *i != operand);
        others.map(|(_, shape)| *shape).collect()
    }
}
