//! Owns the restriction of an expression to some rows: the same operations on fewer elements. It does not know where
//! elements come from, nor who chooses the rows (`division.rs`).
//!
//! Indices of one dimension, the *cut*, are followed from the result down to operands. What does not depend on them is
//! wanted whole, and so is what they cannot be followed through: a part of it is then taken.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_shape::{Layout, Shape, Strides};

use crate::expr::{Expr, Input, Kind, Operands, View, leading};

/// Whoever hands out the values that a restricted expression is made of.
pub(super) trait Supply {
    /// Some rows of an array that is not in memory.
    fn rows(&mut self, input: &Arc<dyn Input>, rows: Range<usize>) -> Expr;

    /// All of an array that is not in memory, or of what is computed once for all rows. `unfollowed` tells of a value that
    /// depends on the rows in a way that cannot be followed.
    fn whole(&mut self, expr: &Expr, unfollowed: bool) -> Expr;
}

/// Rows of a matrix product that are multiplied together: pieces hold whole blocks of them, so that the bits stay.
const BLOCK: usize = 128;

/// An expression for the indices `rows` of dimension `dim` of another one's value, and what the bounds of `rows` must be
/// multiples of, unless they are the value's own, for the bits to be those of the whole.
pub(super) fn cut(expr: &Expr, dim: usize, rows: Range<usize>, supply: &mut dyn Supply) -> (Expr, usize) {
    let mut cutter = Cutter { supply, known: HashMap::new(), quantum: 1 };
    let part = cutter.part(expr, Cut { dim, rows, scale: Some((1, 1)) });
    (part, cutter.quantum)
}

/// Indices of a node's dimension. `scale` tells by which fraction they follow from the root's, if by one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Cut {
    dim: usize,
    rows: Range<usize>,
    scale: Option<(usize, usize)>,
}

struct Cutter<'a> {
    supply: &'a mut dyn Supply,
    known: HashMap<(usize, Cut), Expr>,
    quantum: usize,
}

impl Cutter<'_> {
    /// Part of a value along a dimension whose size is not 1.
    fn part(&mut self, expr: &Expr, cut: Cut) -> Expr {
        let key = (expr.id(), cut);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let cut = &key.1;
        let part = self.followed(expr, cut).unwrap_or_else(|| {
            let whole = self.value(expr, true);
            let (start, length) = (cut.rows.start as isize, cut.rows.len() as isize);
            whole.view(View::Narrow { dim: cut.dim as isize, start, length })
        });
        self.known.insert(key, part.clone());
        part
    }

    /// As `part`; `None` if the indices cannot be followed further down.
    fn followed(&mut self, expr: &Expr, cut: &Cut) -> Option<Expr> {
        let mut sizes: SmallVec<[usize; 8]> = shape(expr).iter().copied().collect();
        sizes[cut.dim] = cut.rows.len();
        let part = Shape::new(&sizes).ok()?;
        match &expr.node().kind {
            Kind::Number(_) | Kind::Leaf { .. } | Kind::Failed { .. } => None,
            Kind::Input(input) => {
                (leading(input.shape()) == Some(cut.dim)).then(|| self.supply.rows(input, cut.rows.clone()))
            }
            Kind::Cast { operand, .. } => {
                let operand = self.part(operand, cut.clone());
                Some(expr.with_operands(Operands::from_iter([operand]), part))
            }
            Kind::Map { operands, .. } => {
                let operands = operands.iter().map(|operand| self.aligned(operand, sizes.len(), cut));
                let operands: Operands = operands.collect();
                Some(expr.with_operands(operands, part))
            }
            Kind::Reduce { operand, dims, keepdim, .. } => {
                let kept = (0..shape(operand).ndim()).filter(|dim| !dims.contains(dim)).nth(cut.dim);
                let dim = if *keepdim { cut.dim } else { kept? };
                let operand = self.part(operand, Cut { dim, ..cut.clone() });
                Some(expr.with_operands(Operands::from_iter([operand]), part))
            }
            Kind::Matmul { factors: [a, b] } => self.product(expr, a, b, part, cut),
            Kind::View { operand, view } => self.view(expr, operand, view, part, cut),
        }
    }

    /// An operand that is stretched to a value of `ndim` dimensions.
    fn aligned(&mut self, operand: &Expr, ndim: usize, cut: &Cut) -> Expr {
        let sizes = shape(operand);
        match cut.dim.checked_sub(ndim - sizes.ndim()) {
            Some(dim) if sizes[dim] != 1 => self.part(operand, Cut { dim, ..cut.clone() }),
            _ => self.value(operand, false),
        }
    }

    /// A product by batches, or by whole blocks of the left factor's rows.
    fn product(&mut self, expr: &Expr, a: &Expr, b: &Expr, part: Shape, cut: &Cut) -> Option<Expr> {
        let batches = part.ndim() - [a, b].iter().filter(|factor| shape(factor).ndim() > 1).count();
        let batch = |factor: &Expr| {
            let dims = shape(factor).ndim().saturating_sub(2);
            let dim = cut.dim.checked_sub(batches - dims.min(batches));
            dim.filter(|&dim| dim < dims && shape(factor)[dim] != 1)
        };
        let (left, right) = if cut.dim < batches {
            (batch(a), batch(b))
        } else if cut.dim == batches && shape(a).ndim() > 1 {
            self.require(cut, BLOCK)?;
            (Some(shape(a).ndim() - 2), None)
        } else {
            return None;
        };
        let mut factor = |factor: &Expr, dim: Option<usize>| match dim {
            Some(dim) => self.part(factor, Cut { dim, ..cut.clone() }),
            None => self.value(factor, false),
        };
        let operands = [factor(a, left), factor(b, right)];
        Some(expr.with_operands(Operands::from_iter(operands), part))
    }

    fn view(&mut self, expr: &Expr, operand: &Expr, view: &View, part: Shape, cut: &Cut) -> Option<Expr> {
        let (from, to) = (shape(operand), shape(expr));
        let Range { start, end } = cut.rows;
        let is_cut = |dim: isize| dim.rem_euclid(to.ndim().max(1) as isize) as usize == cut.dim;
        // Rows of the operand at other places than the root's.
        let moved = |rows: Range<usize>| Cut { dim: cut.dim, rows, scale: None };
        match view {
            View::Narrow { dim, start: first, .. } if is_cut(*dim) => {
                let first = first.rem_euclid(from[cut.dim].max(1) as isize) as usize;
                Some(self.part(operand, moved(first + start..first + end)))
            }
            View::Slice { dim, step, .. } if is_cut(*dim) => {
                let first = probe(from, view)?.offset() as usize / (cut.dim + 1);
                let at = |index: usize| (first as isize + index as isize * step) as usize;
                let (low, high) = if *step > 0 { (at(start), at(end - 1)) } else { (at(end - 1), at(start)) };
                let rows = self.part(operand, moved(low..high + 1));
                Some(rows.view(View::Slice { dim: *dim, start: None, stop: None, step: *step }))
            }
            View::Flip(dims) if dims.iter().any(|&dim| is_cut(dim)) => {
                let size = from[cut.dim];
                Some(self.part(operand, moved(size - end..size - start)).view(view.clone()))
            }
            View::Unfold { dim, size, step } => {
                let window = dim.rem_euclid(from.ndim().max(1) as isize) as usize;
                let rows = if window == cut.dim {
                    moved(start * *step as usize..(end - 1) * *step as usize + *size as usize)
                } else {
                    (cut.dim < from.ndim()).then(|| cut.clone())?
                };
                Some(self.part(operand, rows).view(view.clone()))
            }
            View::Expand(_) | View::BroadcastTo(_) => {
                let operand = self.aligned(operand, to.ndim(), cut);
                Some(operand.view(View::BroadcastTo(part[..].into())))
            }
            View::Reshape(_) | View::Flatten(..) => self.reshaped(operand, to, part, cut),
            View::Diagonal { .. } => None,
            _ => {
                let stride = *probe(from, view)?.strides().get(cut.dim)?;
                let dim = usize::try_from(stride).ok()?.checked_sub(1)?;
                let operand = self.part(operand, Cut { dim, ..cut.clone() });
                // One row is not a dimension to drop.
                let dropped = |(dim, &size): (usize, &usize)| (size == 1).then_some(dim as isize);
                let ones = || from.iter().enumerate().filter_map(dropped);
                Some(operand.view(match view {
                    View::Squeeze => View::SqueezeDims(ones().collect()),
                    View::SqueezeDims(dims) => {
                        let wanted =
                            |one: &isize| dims.iter().any(|dim| dim.rem_euclid(from.ndim() as isize) == *one);
                        View::SqueezeDims(ones().filter(wanted).collect())
                    }
                    other => other.clone(),
                }))
            }
        }
    }

    /// The same elements in the same order: rows are followed through the leading dimension, or through one before which
    /// no size changes.
    fn reshaped(&mut self, operand: &Expr, to: &Shape, part: Shape, cut: &Cut) -> Option<Expr> {
        let from = shape(operand);
        let reshape = View::Reshape(part.iter().map(|&size| size as isize).collect());
        if from.ndim() > cut.dim && from[..=cut.dim] == to[..=cut.dim] {
            return Some(self.part(operand, cut.clone()).view(reshape));
        }
        let (dim, numel) = (leading(from)?, to.numel());
        if leading(to) != Some(cut.dim) || numel == 0 {
            return None;
        }
        let (own, others) = (numel / to[cut.dim], numel / from[dim]);
        self.require(cut, others / gcd(own, others))?;
        let rows = cut.rows.start * own / others..(cut.rows.end * own).div_ceil(others);
        let scale = cut.scale.map(|(times, over)| {
            let common = gcd(times * own, over * others);
            (times * own / common, over * others / common)
        });
        Some(self.part(operand, Cut { dim, rows, scale }).view(reshape))
    }

    /// Asks for bounds that are multiples of a number at this node; `None` if the root's rows do not decide that.
    fn require(&mut self, cut: &Cut, multiple: usize) -> Option<()> {
        let (times, over) = cut.scale?;
        let wanted = multiple.checked_mul(over)?;
        self.quantum = lcm(self.quantum, wanted / gcd(times, wanted))?;
        Some(())
    }

    /// A value that all rows share. Views of what is in memory stay views, and the rest is computed once.
    fn value(&mut self, expr: &Expr, unfollowed: bool) -> Expr {
        match &expr.node().kind {
            Kind::Leaf { .. } | Kind::Number(_) => expr.clone(),
            Kind::View { operand, .. } => {
                let operand = self.value(operand, unfollowed);
                expr.with_operands(Operands::from_iter([operand]), shape(expr).clone())
            }
            _ => self.supply.whole(expr, unfollowed),
        }
    }
}

/// The view of a layout whose strides are the numbers of its dimensions, counted from 1.
fn probe(shape: &Shape, view: &View) -> Option<Layout> {
    let strides: SmallVec<[isize; 8]> = (1..=shape.ndim() as isize).collect();
    let layout = Layout::new(shape.clone(), Strides::new(&strides).ok()?, 0).ok()?;
    view.apply(&layout).ok()
}

/// The shape of a node without errors.
pub(super) fn shape(expr: &Expr) -> &Shape {
    &expr.node().meta.as_ref().expect("only expressions without errors are cut").shape
}

pub(super) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The least common multiple; `None` if there is none that fits.
pub(super) fn lcm(a: usize, b: usize) -> Option<usize> {
    (a / gcd(a, b)).checked_mul(b)
}
