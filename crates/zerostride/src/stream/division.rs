//! Owns the division of expressions over arrays that are not in memory: which values are computed in which
//! pass over them, and which are held in memory meanwhile. It does not know how a pass runs (`run.rs`) nor
//! how large pieces are (`passes.rs`).
//!
//! A reduction over the rows is a *target*: it gets a pass, or shares one, and its value is known afterwards.
//! Values that all rows need are computed from targets, and arrays read whole, before the pass that uses
//! them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use zerostride_kernels::{LEAF_ELEMENTS, Reducer};
use zerostride_shape::Shape;

use super::cut::{Supply, cut, gcd, lcm, shape};
use crate::expr::{Expr, Input, Kind, View, leading, operands_first};
use crate::{Result, Tensor};

/// A value that is computed in pieces.
#[derive(Debug)]
pub(super) struct PiecewiseValue {
    /// The node of the expression.
    pub(super) node: Expr,
    /// The expression that is cut: the node itself, or the elements that it reduces, the reduced dimensions
    /// first.
    pub(super) body: Expr,
    /// The dimension of the body whose indices are rows.
    pub(super) dim: usize,
    /// The number of rows, and the number that bounds of pieces are multiples of.
    pub(super) rows: usize,
    pub(super) quantum: usize,
    /// Whether pieces are reduced to one result, or are parts of it.
    pub(super) folds: bool,
    /// Which result it is, if it is the value of one of the expressions.
    pub(super) result: Option<usize>,
    /// The inputs that pieces read, and the values that all pieces need.
    pub(super) inputs: Vec<Arc<dyn Input>>,
    pub(super) wholes: Vec<Whole>,
    held: Needed,
}

/// A value that all rows need.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    pub(super) expr: Expr,
    /// Whether rows of it would do, but could not be followed to it.
    pub(super) unfollowed: bool,
}

/// The bytes that must be in memory before a value can be computed, and the rounds of passes until they are.
#[derive(Clone, Copy, Debug, Default)]
struct Needed {
    bytes: u64,
    round: usize,
}

/// All targets of some expressions in an order in which they can be computed; an expression may be one.
pub(super) struct Division {
    /// Targets that share a pass.
    pub(super) passes: Vec<Vec<Arc<PiecewiseValue>>>,
    targets: HashMap<usize, Option<Arc<PiecewiseValue>>>,
    /// The expressions that are no targets, by their numbers: they are computed when all passes are done.
    pub(super) in_memory: Vec<usize>,
}

/// The longest chain of reductions over inputs that depend on each other.
pub(super) fn rounds(roots: &[Expr]) -> usize {
    let mut rounds: HashMap<usize, usize> = HashMap::new();
    for node in operands_first(roots, |node| node.node().lazy) {
        let kind = &node.node().kind;
        let below = kind.operands().iter().filter_map(|operand| rounds.get(&operand.id())).max();
        let own = usize::from(matches!(kind, Kind::Reduce { .. }));
        rounds.insert(node.id(), below.map_or(0, |below| below + own));
    }
    roots.iter().filter_map(|root| rounds.get(&root.id())).max().copied().unwrap_or(0)
}

impl Division {
    /// No division: inputs are read whole, and all `count` expressions are computed in memory.
    pub(super) fn none(count: usize) -> Division {
        Division { passes: Vec::new(), targets: HashMap::new(), in_memory: (0..count).collect() }
    }

    /// The division of expressions. One is computed in memory if it reads nothing else and `held` tells that
    /// its value stays there.
    pub(super) fn new(roots: &[Expr], held: &[bool]) -> Division {
        let mut division = Division::none(0);
        // A target is known before the values that use it.
        for node in operands_first(roots, |node| node.node().lazy) {
            division.target(node);
        }
        let results = roots.iter().zip(held).enumerate().map(|(number, (root, &held))| {
            let target = division.result(root, held)?;
            Some(Arc::new(PiecewiseValue { result: Some(number), ..target }))
        });
        let results: Vec<Option<Arc<PiecewiseValue>>> = results.collect();
        let wanted = roots.iter().zip(&results).flat_map(|(root, target)| match target {
            Some(target) => target.wholes.iter().map(|whole| &whole.expr).collect(),
            None => vec![root],
        });
        let mut found = division.collect(wanted);
        division.in_memory = (0..roots.len()).filter(|&number| results[number].is_none()).collect();
        found.extend(results.into_iter().flatten());
        division.group(found);
        division
    }

    /// The way in which an expression gets its value in pieces, if there is one that holds no more than its
    /// evaluation in memory.
    fn result(&mut self, root: &Expr, held: bool) -> Option<PiecewiseValue> {
        let in_memory_bytes = self.hold(root).bytes.saturating_add(bytes(root));
        let divided = root.node().lazy || !held;
        let target = leading(shape(root)).filter(|_| divided).and_then(|dim| self.part(root, dim))?;
        (target.held.bytes <= in_memory_bytes).then_some(target)
    }

    /// Whether a node's value comes out of a pass.
    pub(super) fn is_target(&self, node: &Expr) -> bool {
        matches!(self.targets.get(&node.id()), Some(Some(_)))
    }

    /// The targets below nodes that are wanted whole, each once.
    fn collect<'e>(&'e self, wholes: impl IntoIterator<Item = &'e Expr>) -> Vec<Arc<PiecewiseValue>> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut left: Vec<&Expr> = wholes.into_iter().collect();
        left.reverse();
        while let Some(expr) = left.pop() {
            if !expr.node().lazy || !seen.insert(expr.id()) {
                continue;
            }
            match self.targets.get(&expr.id()) {
                Some(Some(target)) => {
                    found.push(Arc::clone(target));
                    left.extend(target.wholes.iter().rev().map(|whole| &whole.expr));
                }
                _ => left.extend(expr.node().kind.operands().iter().rev()),
            }
        }
        found
    }

    /// Visits the nodes that a whole value is computed from: nodes over inputs, down to targets and inputs.
    pub(super) fn each(&self, expr: &Expr, seen: &mut HashSet<usize>, visit: &mut dyn FnMut(&Expr)) {
        let mut left = vec![expr];
        while let Some(expr) = left.pop() {
            if expr.node().lazy && seen.insert(expr.id()) {
                visit(expr);
                if !self.is_target(expr) {
                    left.extend(expr.node().kind.operands().iter().rev());
                }
            }
        }
    }

    /// Targets of one round that read the same rows share a pass.
    fn group(&mut self, mut found: Vec<Arc<PiecewiseValue>>) {
        found.sort_by_key(|target| target.held.round);
        let together = |one: &PiecewiseValue, other: &PiecewiseValue| {
            let shared = |input: &Arc<dyn Input>| other.inputs.iter().any(|known| Arc::ptr_eq(known, input));
            let read_alike = match one.inputs.is_empty() {
                true => other.inputs.is_empty(),
                false => one.inputs.iter().any(shared),
            };
            one.rows == other.rows && read_alike
        };
        let mut round = 0;
        for target in found {
            if self.passes.get(round).is_some_and(|pass| pass[0].held.round < target.held.round) {
                round = self.passes.len();
            }
            // A target may read what several passes read, which become one.
            let (mut pass, mut place) = (Vec::new(), self.passes.len());
            for index in (round..self.passes.len()).rev() {
                if self.passes[index].iter().any(|known| together(known, &target)) {
                    pass.splice(0..0, self.passes.remove(index));
                    place = index;
                }
            }
            pass.push(target);
            self.passes.insert(place, pass);
        }
    }

    /// The bytes held so that a value can be computed in memory, without the value itself.
    fn hold(&mut self, expr: &Expr) -> Needed {
        let (mut held, mut seen, mut left) = (Needed::default(), HashSet::new(), vec![expr]);
        while let Some(expr) = left.pop() {
            if !expr.node().lazy || !seen.insert(expr.id()) {
                continue;
            }
            let mut add = |bytes: u64| held.bytes = held.bytes.saturating_add(bytes);
            if let Some(target) = self.target(expr) {
                add(bytes(expr).saturating_add(target.held.bytes));
                held.round = held.round.max(target.held.round + 1);
                continue;
            }
            if matches!(expr.node().kind, Kind::Input(_)) {
                add(bytes(expr));
            }
            left.extend(expr.node().kind.operands());
        }
        held
    }

    /// The way in which a node over inputs gets its value in pieces, if it is a reduction and there is one
    /// that holds no more than what it reduces.
    fn target(&mut self, node: &Expr) -> Option<Arc<PiecewiseValue>> {
        if let Some(known) = self.targets.get(&node.id()) {
            return known.clone();
        }
        let Kind::Reduce { operand, dims, op, compute, .. } = &node.node().kind else { return None };
        let sizes = shape(operand);
        let along = leading(shape(node)).and_then(|dim| self.part(node, dim));
        let folded = dims.iter().position(|&dim| sizes[dim] != 1).and_then(|dim| {
            let kept = (0..sizes.ndim()).filter(|dim| !dims.contains(dim));
            let order: SmallVec<[isize; 4]> =
                dims.iter().copied().chain(kept).map(|dim| dim as isize).collect();
            let reduced: usize = dims.iter().map(|&dim| sizes[dim]).product();
            let dtype = operand.dtype().ok()?;
            let elements = operand.to_dtype(Reducer::takes(*op, *compute, dtype, reduced));
            let in_order = order.iter().enumerate().all(|(place, &dim)| place as isize == dim);
            let body = if in_order { elements } else { elements.view(View::Permute(order)) };
            // Pieces are whole leaves of the tree.
            let row = reduced / sizes[dims[dim]].max(1);
            let target = self.piecewise(node, body, dim, true)?;
            Some(PiecewiseValue {
                quantum: lcm(target.quantum, LEAF_ELEMENTS / gcd(LEAF_ELEMENTS, row))?,
                ..target
            })
        });
        // Few elements, as those of another target, are reduced in memory.
        let in_memory = self.hold(operand).bytes;
        let best = [along, folded].into_iter().flatten().min_by_key(|target| target.held.bytes);
        let best = best.filter(|target| target.held.bytes <= in_memory).map(Arc::new);
        self.targets.insert(node.id(), best.clone());
        best
    }

    /// A value of which each piece is a part.
    fn part(&mut self, node: &Expr, dim: usize) -> Option<PiecewiseValue> {
        self.piecewise(node, node.clone(), dim, false)
    }

    fn piecewise(&mut self, node: &Expr, body: Expr, dim: usize, folds: bool) -> Option<PiecewiseValue> {
        let rows = shape(&body)[dim];
        if shape(&body).numel() == 0 {
            return None;
        }
        let mut observed = Observed::default();
        let (_, quantum) = cut([(&body, dim)], 0..rows, &mut observed);
        let mut held = Needed::default();
        for Whole { expr, .. } in &observed.wholes {
            let below = self.hold(expr);
            let own = if matches!(expr.node().kind, Kind::Input(_)) || self.is_target(expr) {
                0
            } else {
                bytes(expr)
            };
            held.bytes = held.bytes.saturating_add(below.bytes).saturating_add(own);
            held.round = held.round.max(below.round);
        }
        let mut inputs: Vec<Arc<dyn Input>> = Vec::new();
        for (input, _) in observed.inputs {
            if !inputs.iter().any(|known| Arc::ptr_eq(known, &input)) {
                inputs.push(input);
            }
        }
        let wholes = observed.wholes;
        let node = node.clone();
        Some(PiecewiseValue { node, body, dim, rows, quantum, folds, result: None, inputs, wholes, held })
    }
}

/// The expressions of targets that are cut, each with its dimension of rows.
pub(super) fn bodies(targets: &[Arc<PiecewiseValue>]) -> impl Iterator<Item = (&Expr, usize)> {
    targets.iter().map(|target| (&target.body, target.dim))
}

/// The bytes of a value.
pub(super) fn bytes(expr: &Expr) -> u64 {
    let item = expr.dtype().map_or(1, |dtype| dtype.item_size());
    (shape(expr).numel() as u64).saturating_mul(item as u64)
}

/// Records the inputs and values of a restricted expression, and gives stand-ins for them.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) inputs: Vec<(Arc<dyn Input>, Range<usize>)>,
    pub(super) wholes: Vec<Whole>,
    known: HashMap<(usize, Range<usize>), Expr>,
}

impl Observed {
    /// The rows that are read of each input, once, however often they are wanted.
    pub(super) fn joined(mut self) -> Vec<(Arc<dyn Input>, Range<usize>)> {
        self.inputs.sort_by_key(|(input, rows)| (Arc::as_ptr(input).addr(), rows.start));
        let mut joined: Vec<(Arc<dyn Input>, Range<usize>)> = Vec::new();
        for (input, rows) in self.inputs {
            match joined.last_mut() {
                Some((last, joined)) if Arc::ptr_eq(last, &input) && rows.start <= joined.end => {
                    joined.end = joined.end.max(rows.end);
                }
                _ => joined.push((input, rows)),
            }
        }
        joined
    }
}

impl Supply for Observed {
    fn rows(&mut self, input: &Arc<dyn Input>, rows: Range<usize>) -> Expr {
        let key = (Arc::as_ptr(input).addr(), rows.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        self.inputs.push((Arc::clone(input), rows.clone()));
        let shape = part_of(input.shape(), rows.len());
        let part = stand_in(shape.and_then(|shape| Tensor::absent(input.dtype(), shape)));
        self.known.insert(key, part.clone());
        part
    }

    fn whole(&mut self, expr: &Expr, unfollowed: bool) -> Expr {
        let key = (expr.id(), 0..0);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        self.wholes.push(Whole { expr: expr.clone(), unfollowed });
        let whole = stand_in(expr.meta().and_then(|meta| Tensor::absent(meta.dtype(), meta.shape.clone())));
        self.known.insert(key, whole.clone());
        whole
    }
}

/// The shape of some rows of an array.
pub(super) fn part_of(shape: &[usize], rows: usize) -> Result<Shape> {
    let mut sizes: SmallVec<[usize; 8]> = shape.into();
    if let Some(dim) = leading(shape) {
        sizes[dim] = rows;
    }
    Ok(Shape::new(&sizes)?)
}

/// A part of a value that exists is a value that exists.
fn stand_in(tensor: Result<Tensor>) -> Expr {
    Expr::from(tensor.expect("a part has a shape if the whole has"))
}
