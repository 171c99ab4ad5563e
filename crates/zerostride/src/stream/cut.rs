//! Owns the restriction of expressions to some rows: the same operations on fewer elements. It does not
//! know where elements come from, nor how rows are chosen (`division.rs`).
//!
//! Indices of one dimension, the *cut*, are followed from the result down to operands. A value that does not
//! depend on them is needed whole, and so is one that they cannot be followed through: a part of it is then
//! taken.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_shape::{Layout, Shape, Strides};

use crate::expr::{Expr, Input, Kind, Operands, View, leading};
use crate::interrupt;

/// The source of the values that a restricted expression is made of.
pub(super) trait Supply {
    /// Some rows of an array that is not in memory.
    fn rows(&mut self, input: &Arc<dyn Input>, rows: Range<usize>) -> Expr;

    /// All of an array that is not in memory, or of a value that is computed once for all rows. `unfollowed`
    /// marks a value that depends on the rows in a way that cannot be followed.
    fn whole(&mut self, expr: &Expr, unfollowed: bool) -> Expr;
}

/// Expressions for the indices `rows` of one dimension of each value, with what they share made once; and
/// what the bounds of `rows` must be multiples of, unless they are the value's own, for the bits to be those
/// of the whole.
pub(super) fn cut<'e>(
    values: impl IntoIterator<Item = (&'e Expr, usize)>,
    rows: Range<usize>,
    supply: &mut dyn Supply,
) -> (Vec<Expr>, usize) {
    let mut cutter = Cutter { supply, known: HashMap::new(), quantum: 1 };
    let part = |(expr, dim)| cutter.walk(expr, Cut { dim, rows: rows.clone(), scale: Some((1, 1)) });
    (values.into_iter().map(part).collect(), cutter.quantum)
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

/// A part that has to be made before the part that is made of it.
struct Missing<'e>(&'e Expr, Cut);

type Made<'e, T> = Result<T, Missing<'e>>;

impl Cutter<'_> {
    /// Part of the root's value along a dimension whose size is not 1: parts are made operands first, without
    /// recursion.
    fn walk(&mut self, root: &Expr, cut: Cut) -> Expr {
        if let Ok(known) = self.part(root, cut.clone()) {
            return known;
        }
        let mut path = vec![(root, cut)];
        loop {
            interrupt::check();
            let (expr, cut) = path.last().expect("the root's part is made last");
            match self.make(expr, cut) {
                Ok(part) => {
                    let (expr, cut) = path.pop().expect("the part that has been made");
                    self.known.insert((expr.id(), cut), part.clone());
                    if path.is_empty() {
                        return part;
                    }
                }
                Err(Missing(operand, cut)) => path.push((operand, cut)),
            }
        }
    }

    fn make<'e>(&mut self, expr: &'e Expr, cut: &Cut) -> Made<'e, Expr> {
        Ok(self.followed(expr, cut)?.unwrap_or_else(|| {
            let whole = self.value(expr, true);
            let (start, length) = (cut.rows.start as isize, cut.rows.len() as isize);
            whole.view(View::Narrow { dim: cut.dim as isize, start, length })
        }))
    }

    /// Part of an operand's value along a dimension whose size is not 1.
    fn part<'e>(&self, expr: &'e Expr, cut: Cut) -> Made<'e, Expr> {
        let key = (expr.id(), cut);
        self.known.get(&key).cloned().ok_or(Missing(expr, key.1))
    }

    /// As `make`; `None` if the indices cannot be followed further down.
    fn followed<'e>(&mut self, expr: &'e Expr, cut: &Cut) -> Made<'e, Option<Expr>> {
        let mut sizes: SmallVec<[usize; 8]> = shape(expr).iter().copied().collect();
        sizes[cut.dim] = cut.rows.len();
        let Ok(part) = Shape::new(&sizes) else { return Ok(None) };
        Ok(match &expr.node().kind {
            Kind::Number(_) | Kind::Leaf { .. } | Kind::Failed { .. } => None,
            Kind::Input(input) => {
                (leading(input.shape()) == Some(cut.dim)).then(|| self.supply.rows(input, cut.rows.clone()))
            }
            Kind::Cast { operand, .. } => {
                let operand = self.part(operand, cut.clone())?;
                Some(expr.with_operands(Operands::from_iter([operand]), part))
            }
            Kind::Map { operands, .. } => {
                let operands = operands.iter().map(|operand| self.aligned(operand, sizes.len(), cut));
                let operands = operands.collect::<Made<'e, Operands>>()?;
                Some(expr.with_operands(operands, part))
            }
            Kind::Reduce { operand, dims, keepdim, .. } => {
                let kept = (0..shape(operand).ndim()).filter(|dim| !dims.contains(dim)).nth(cut.dim);
                let Some(dim) = (if *keepdim { Some(cut.dim) } else { kept }) else { return Ok(None) };
                let operand = self.part(operand, Cut { dim, ..cut.clone() })?;
                Some(expr.with_operands(Operands::from_iter([operand]), part))
            }
            Kind::Matmul { factors: [a, b] } => self.product(expr, a, b, part, cut)?,
            Kind::View { operand, view } => self.view(expr, operand, view, part, cut)?,
        })
    }

    /// An operand that is stretched to a value of `ndim` dimensions.
    fn aligned<'e>(&mut self, operand: &'e Expr, ndim: usize, cut: &Cut) -> Made<'e, Expr> {
        let sizes = shape(operand);
        match cut.dim.checked_sub(ndim - sizes.ndim()) {
            Some(dim) if sizes[dim] != 1 => self.part(operand, Cut { dim, ..cut.clone() }),
            _ => Ok(self.value(operand, false)),
        }
    }

    /// A product by batches, or by rows of the left factor.
    fn product<'e>(
        &mut self,
        expr: &'e Expr,
        a: &'e Expr,
        b: &'e Expr,
        part: Shape,
        cut: &Cut,
    ) -> Made<'e, Option<Expr>> {
        let batches = part.ndim() - [a, b].iter().filter(|factor| shape(factor).ndim() > 1).count();
        let batch = |factor: &Expr| {
            let dims = shape(factor).ndim().saturating_sub(2);
            let dim = cut.dim.checked_sub(batches - dims.min(batches));
            dim.filter(|&dim| dim < dims && shape(factor)[dim] != 1)
        };
        let (left, right) = if cut.dim < batches {
            (batch(a), batch(b))
        } else if cut.dim == batches && shape(a).ndim() > 1 {
            (Some(shape(a).ndim() - 2), None)
        } else {
            return Ok(None);
        };
        let mut factor = |factor: &'e Expr, dim: Option<usize>| match dim {
            Some(dim) => self.part(factor, Cut { dim, ..cut.clone() }),
            None => Ok(self.value(factor, false)),
        };
        let operands = [factor(a, left)?, factor(b, right)?];
        Ok(Some(expr.with_operands(Operands::from_iter(operands), part)))
    }

    fn view<'e>(
        &mut self,
        expr: &Expr,
        operand: &'e Expr,
        view: &View,
        part: Shape,
        cut: &Cut,
    ) -> Made<'e, Option<Expr>> {
        let (from, to) = (shape(operand), shape(expr));
        let Range { start, end } = cut.rows;
        let is_cut = |dim: isize| dim.rem_euclid(to.ndim().max(1) as isize) as usize == cut.dim;
        // Rows of the operand at other places than the root's.
        let moved = |rows: Range<usize>| Cut { dim: cut.dim, rows, scale: None };
        Ok(Some(match view {
            View::Narrow { dim, start: first, .. } if is_cut(*dim) => {
                let first = first.rem_euclid(from[cut.dim].max(1) as isize) as usize;
                self.part(operand, moved(first + start..first + end))?
            }
            View::Slice { dim, step, .. } if is_cut(*dim) => {
                let Some(probe) = probe(from, view) else { return Ok(None) };
                let first = probe.offset() as usize / (cut.dim + 1);
                let at = |index: usize| (first as isize + index as isize * step) as usize;
                let (low, high) = if *step > 0 { (at(start), at(end - 1)) } else { (at(end - 1), at(start)) };
                let rows = self.part(operand, moved(low..high + 1))?;
                rows.view(View::Slice { dim: *dim, start: None, stop: None, step: *step })
            }
            View::Flip(dims) if dims.iter().any(|&dim| is_cut(dim)) => {
                let size = from[cut.dim];
                self.part(operand, moved(size - end..size - start))?.view(view.clone())
            }
            View::Unfold { dim, size, step } => {
                let window = dim.rem_euclid(from.ndim().max(1) as isize) as usize;
                let rows = if window == cut.dim {
                    moved(start * *step as usize..(end - 1) * *step as usize + *size as usize)
                } else if cut.dim < from.ndim() {
                    cut.clone()
                } else {
                    return Ok(None);
                };
                self.part(operand, rows)?.view(view.clone())
            }
            View::Expand(_) | View::BroadcastTo(_) => {
                let operand = self.aligned(operand, to.ndim(), cut)?;
                operand.view(View::BroadcastTo(part[..].into()))
            }
            View::Reshape(_) | View::Flatten(..) => return self.reshaped(operand, to, part, cut),
            View::Diagonal { .. } => return Ok(None),
            _ => {
                let stride = probe(from, view).and_then(|probe| probe.strides().get(cut.dim).copied());
                let dim = stride.and_then(|stride| usize::try_from(stride).ok()?.checked_sub(1));
                let Some(dim) = dim else { return Ok(None) };
                let operand = self.part(operand, Cut { dim, ..cut.clone() })?;
                // One row is not a dimension to drop.
                let dropped = |(dim, &size): (usize, &usize)| (size == 1).then_some(dim as isize);
                let ones = || from.iter().enumerate().filter_map(dropped);
                operand.view(match view {
                    View::Squeeze => View::SqueezeDims(ones().collect()),
                    View::SqueezeDims(dims) => {
                        let wanted =
                            |one: &isize| dims.iter().any(|dim| dim.rem_euclid(from.ndim() as isize) == *one);
                        View::SqueezeDims(ones().filter(wanted).collect())
                    }
                    other => other.clone(),
                })
            }
        }))
    }

    /// The same elements in the same order: rows are followed through the leading dimension, or through one
    /// before which no size changes.
    fn reshaped<'e>(
        &mut self,
        operand: &'e Expr,
        to: &Shape,
        part: Shape,
        cut: &Cut,
    ) -> Made<'e, Option<Expr>> {
        let from = shape(operand);
        let reshape = View::Reshape(part.iter().map(|&size| size as isize).collect());
        if from.ndim() > cut.dim && from[..=cut.dim] == to[..=cut.dim] {
            return Ok(Some(self.part(operand, cut.clone())?.view(reshape)));
        }
        let (Some(dim), numel) = (leading(from), to.numel()) else { return Ok(None) };
        if leading(to) != Some(cut.dim) || numel == 0 {
            return Ok(None);
        }
        let (own, others) = (numel / to[cut.dim], numel / from[dim]);
        if self.require(cut, others / gcd(own, others)).is_none() {
            return Ok(None);
        }
        let rows = cut.rows.start * own / others..(cut.rows.end * own).div_ceil(others);
        let scale = cut.scale.map(|(times, over)| {
            let common = gcd(times * own, over * others);
            (times * own / common, over * others / common)
        });
        Ok(Some(self.part(operand, Cut { dim, rows, scale })?.view(reshape)))
    }

    /// Asks for bounds that are multiples of a number at this node; `None` if the root's rows do not decide
    /// that.
    fn require(&mut self, cut: &Cut, multiple: usize) -> Option<()> {
        let (times, over) = cut.scale?;
        let wanted = multiple.checked_mul(over)?;
        self.quantum = lcm(self.quantum, wanted / gcd(times, wanted))?;
        Some(())
    }

    /// A value that all rows share. Views of tensors in memory stay views; everything else is computed once.
    fn value(&mut self, expr: &Expr, unfollowed: bool) -> Expr {
        let (mut views, mut viewed) = (Vec::new(), expr);
        while let Kind::View { operand, .. } = &viewed.node().kind {
            views.push(viewed);
            viewed = operand;
        }
        let value = match &viewed.node().kind {
            Kind::Leaf { .. } | Kind::Number(_) => viewed.clone(),
            _ => self.supply.whole(viewed, unfollowed),
        };
        let see = |value, view: &Expr| view.with_operands(Operands::from_iter([value]), shape(view).clone());
        views.into_iter().rev().fold(value, see)
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
