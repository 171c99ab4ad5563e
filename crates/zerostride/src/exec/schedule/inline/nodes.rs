//! Owns expressions of so few elements that a plan would cost more than it saves: node by node, each on all
//! of its elements, which stay in cache for the next. It does not know how a node is computed (`mod.rs`,
//! `reduce.rs`).
//!
//! Measured on 2026-11-25 with AVX2, in ns with nodes and with plans: `x * row + col` of (4, 3) 469 and 1492,
//! softmax of (4, 30) 7129 and 13190, mean squared error of (4, 300) 3046 and 8242.

use std::borrow::Cow;

use smallvec::SmallVec;
use zerostride_ops::{DType, Inferred, Scalar, Typed};
use zerostride_shape::Layout;

use super::convert::convert;
use super::gather::{self, Tile, in_order};
use super::loops::Loops;
use super::reduce::Reduction;
use super::{Operation, Row, Value, direct, reading};
use crate::Tensor;
use crate::exec::elements::ElementSlice;
use crate::expr::{Expr, Kind};
use crate::memory::Fresh;
use crate::plan::{Cost, by_part};

/// The most nodes.
const MOST_NODES: usize = 32;

/// The most operands of a node.
const MOST_OPERANDS: usize = 3;

/// The most storages that are read.
const MOST_STORAGES: usize = 4;

/// Bytes of intermediate results that take about as long as a plan of one step, where they would stay in
/// registers.
const PLANNED_BYTES: usize = 12 << 10;

/// The same of a step that reduces.
const REDUCED_BYTES: usize = 128 << 10;

/// The value of an expression.
pub(super) fn evaluate(expr: &Expr) -> Option<Tensor> {
    let mut order = NodeOrder::new();
    order.take(expr)?;
    let meta = expr.meta().ok()?;
    let result = reading(&order.storages, |storages, tiles| order.run(|own| storages[own], tiles))?;
    Some(Tensor::new(result.share(), Layout::contiguous(meta.shape.clone()), meta.dtype()))
}

/// Writes the value of an expression to a tensor of its shape and dtype, whose elements are contiguous, once
/// all of it is computed: the tensor may be an operand. `None` if nothing has been done.
pub(super) fn evaluate_into(expr: &Expr, target: &Tensor) -> Option<()> {
    let meta = expr.meta().ok()?;
    let fits = *meta.shape == *target.shape() && meta.dtype() == target.dtype() && target.is_contiguous();
    if !fits {
        return None;
    }
    let mut order = NodeOrder::new();
    order.take(expr)?;
    if order.leaves().any(|(leaf, _)| leaf.meets_elsewhere(target)) {
        return None;
    }
    let mut writing = target.storage().try_write()?;
    // The target's storage is claimed for writing, and not read as the others are.
    let (own, mut others) = (order.storage(target), order.storages);
    if let Some(own) = own {
        others[own] = Value::Other;
    }
    reading(&others, |storages, tiles| {
        let bytes = |storage| if Some(storage) == own { writing.bytes() } else { storages[storage] };
        let result = order.run(bytes, tiles)?;
        writing.bytes_mut()[target.reach()].copy_from_slice(result.bytes());
        Some(())
    })
}

/// The nodes of an expression, each after its operands.
struct NodeOrder<'a> {
    nodes: SmallVec<[Node<'a>; MOST_NODES]>,
    /// A tensor for each storage.
    storages: [Value<'a>; MOST_STORAGES],
    /// Nodes that have been visited.
    visited: usize,
    /// Bytes that nodes write for each other and read, and those of copies; and how many of them are worth
    /// it.
    handed: usize,
    most: usize,
}

struct Node<'a> {
    expr: &'a Expr,
    /// The operands' indices in the order.
    operands: [u8; MOST_OPERANDS],
    /// The node whose elements it has: another one if it is a view.
    owner: u8,
    /// The last node that reads its elements.
    last: u8,
}

impl<'a> NodeOrder<'a> {
    fn new() -> NodeOrder<'a> {
        let storages = [Value::Other; MOST_STORAGES];
        NodeOrder { nodes: SmallVec::new(), storages, visited: 0, handed: 0, most: PLANNED_BYTES }
    }

    /// Takes in an expression; `None` where there is too much to do, or a node of a kind that is not
    /// evaluated here.
    fn take(&mut self, expr: &'a Expr) -> Option<()> {
        if !is_computed(expr) {
            return None;
        }
        self.visit(expr)?;
        (self.handed <= self.most).then_some(())
    }

    /// The index of a node in the order, after its operands.
    fn visit(&mut self, expr: &'a Expr) -> Option<u8> {
        if let Some(index) = self.nodes.iter().position(|node| node.expr.id() == expr.id()) {
            return Some(index as u8);
        }
        self.visited += 1;
        if self.visited > MOST_NODES {
            return None;
        }
        let (kind, meta) = (&expr.node().kind, expr.meta().ok()?);
        let numel = meta.shape.numel();
        let mut copied = 0;
        let cost = match kind {
            Kind::Leaf { tensor, .. } => {
                self.note(tensor)?;
                None
            }
            Kind::Number(_) | Kind::View { .. } => None,
            Kind::Map { op, operands, compute } => {
                let inferred = Inferred { compute: *compute, result: meta.dtype() };
                let is_read = |(position, operand): (usize, &Expr)| {
                    operand.is_number()
                        || operand.dtype().is_ok_and(|own| own == direct::read(*op, inferred, position))
                };
                if numel > gather::GATHERED_ELEMENTS && !operands.iter().enumerate().all(is_read) {
                    return None;
                }
                // Stretched operands are mostly copied.
                let is_stretched = |operand: &&Expr| {
                    !operand.is_number() && operand.shape().is_ok_and(|shape| *shape != *meta.shape)
                };
                copied = operands.iter().filter(is_stretched).count() * compute.item_size();
                Some(Cost::of_operation(*op, inferred, operands.len(), numel))
            }
            Kind::Cast { operand, dtype } => {
                if numel > gather::GATHERED_ELEMENTS && by_part(operand.dtype().ok()?, *dtype).is_some() {
                    return None;
                }
                Some(Cost::of_copying(*dtype, numel))
            }
            Kind::Reduce { operand, .. } => {
                self.most += REDUCED_BYTES;
                let meta = operand.meta().ok()?;
                Some(Cost::of_reading(meta.dtype(), meta.shape.numel()))
            }
            Kind::Input(_) | Kind::Matmul { .. } | Kind::Failed { .. } => return None,
        };
        if cost.is_some_and(|cost| numel == 0 || cost.is_divided()) {
            return None;
        }
        self.handed += 2 * copied * numel;
        let mut operands = [0; MOST_OPERANDS];
        for (index, operand) in kind.operands().iter().enumerate() {
            *operands.get_mut(index)? = self.visit(operand)?;
        }
        let own = self.nodes.len() as u8;
        let mut owner = own;
        for &operand in &operands[..kind.operands().len()] {
            let read = self.nodes[operand as usize].owner;
            self.nodes[read as usize].last = own;
            let operand = self.nodes[read as usize].expr;
            if is_computed(operand) {
                let meta = operand.meta().ok()?;
                self.handed += 2 * meta.shape.numel() * meta.dtype().item_size();
            }
            if matches!(kind, Kind::View { .. }) {
                owner = read;
            }
        }
        self.nodes.push(Node { expr, operands, owner, last: own });
        Some(own)
    }

    /// Makes room for a tensor's storage.
    fn note(&mut self, tensor: &'a Tensor) -> Option<()> {
        if self.storage(tensor).is_none() {
            let is_free = |storage: &&mut Value<'_>| matches!(storage, Value::Other);
            *self.storages.iter_mut().find(is_free)? = Value::Tensor(tensor, None);
        }
        Some(())
    }

    fn storage(&self, tensor: &Tensor) -> Option<usize> {
        let is_own = |own: &Value<'_>| own.tensor().is_some_and(|own| own.shares_storage(tensor));
        self.storages.iter().position(is_own)
    }

    /// Operands in memory, and how often they had been written to when they were captured.
    fn leaves(&self) -> impl Iterator<Item = (&'a Tensor, Option<u64>)> {
        self.nodes.iter().filter_map(|node| match &node.expr.node().kind {
            Kind::Leaf { tensor, version } => Some((tensor, *version)),
            _ => None,
        })
    }

    /// The elements of the last node, given the bytes of storages. `None` if an operand has been written to
    /// since it was captured, there is no memory, or a node finds something wrong with values.
    fn run<'b>(&self, storage: impl Fn(usize) -> &'b [u8], tiles: &mut [Tile]) -> Option<Fresh> {
        if self.leaves().any(|(leaf, captured)| Value::Tensor(leaf, captured).has_changed()) {
            return None;
        }
        let mut values: SmallVec<[Known<'_>; MOST_NODES]> = SmallVec::new();
        let mut blocks: SmallVec<[Option<Fresh>; MOST_NODES]> = SmallVec::new();
        for (own, Node { expr, operands, .. }) in self.nodes.iter().enumerate() {
            let (kind, meta) = (&expr.node().kind, expr.meta().ok()?);
            let value = |operand: usize| values[operands[operand] as usize].value();
            let bytes = |operand: usize| {
                let owner = self.nodes[operands[operand] as usize].owner as usize;
                match (&blocks[owner], &self.nodes[owner].expr.node().kind) {
                    (Some(block), _) => block.bytes(),
                    (None, Kind::Leaf { tensor, .. }) => {
                        storage(self.storage(tensor).expect("every operand has been noted"))
                    }
                    (None, _) => &[],
                }
            };
            let computed = match kind {
                Kind::Map { op, operands, compute } => {
                    let inferred = Inferred { compute: *compute, result: meta.dtype() };
                    let row = Row::new(*op, inferred, operands.len())?;
                    let block = match operands.len() {
                        1 => map(&row, [0].map(value), [0].map(bytes), tiles),
                        2 => map(&row, [0, 1].map(value), [0, 1].map(bytes), tiles),
                        _ => map(&row, [0, 1, 2].map(value), [0, 1, 2].map(bytes), tiles),
                    };
                    Some(block?)
                }
                Kind::Cast { dtype, .. } => Some(cast(value(0), bytes(0), *dtype)?),
                Kind::Reduce { .. } => {
                    let reduction = Reduction::new(expr, value(0).layout()?, value(0).typed()?.dtype)?;
                    Some(reduction.run(bytes(0))?)
                }
                _ => None,
            };
            if own + 1 == self.nodes.len() {
                return computed;
            }
            let mut number = None;
            let layout = match kind {
                Kind::Leaf { tensor, .. } => Cow::Borrowed(tensor.layout()),
                Kind::Number(own) => {
                    number = Some(*own);
                    Cow::Owned(Layout::default())
                }
                Kind::View { view, .. } => Cow::Owned(view.apply(value(0).layout()?).ok()?),
                _ => Cow::Owned(Layout::contiguous(meta.shape.clone())),
            };
            values.push(Known { layout, typed: meta.typed, number });
            blocks.push(computed);
            // A result that has been read for the last time gives its memory to the next.
            for &operand in &operands[..kind.operands().len()] {
                let owner = self.nodes[operand as usize].owner as usize;
                if usize::from(self.nodes[owner].last) == own {
                    blocks[owner] = None;
                }
            }
        }
        None
    }
}

/// Whether a node has elements of its own.
fn is_computed(expr: &Expr) -> bool {
    matches!(expr.node().kind, Kind::Map { .. } | Kind::Cast { .. } | Kind::Reduce { .. })
}

/// The value of a node that has been evaluated.
struct Known<'a> {
    layout: Cow<'a, Layout>,
    typed: Typed,
    number: Option<Scalar>,
}

impl Known<'_> {
    fn value(&self) -> Value<'_> {
        self.number.map_or(Value::Elements(&self.layout, self.typed), Value::Number)
    }
}

/// The elements of an operation's result.
fn map<const N: usize>(
    row: &Row,
    values: [Value<'_>; N],
    bytes: [&[u8]; N],
    tiles: &mut [Tile],
) -> Option<Fresh> {
    let mut loops = Loops::single();
    loops.walk(&values)?;
    let operation = Operation { row, values: &values, loops: &loops };
    let route = operation.route()?;
    let mut block = Fresh::arbitrary(loops.numel.checked_mul(row.inferred.result.item_size())?)?;
    operation.compute(&route, bytes, block.bytes_mut(), tiles)?;
    Some(block)
}

/// Elements converted to another dtype.
fn cast(value: Value<'_>, bytes: &[u8], dtype: DType) -> Option<Fresh> {
    let mut loops = Loops::single();
    loops.walk(&[value])?;
    let (from, layout) = (value.typed()?.dtype, value.layout()?);
    let mut copy = None;
    let slice = ElementSlice { bytes, item: from.item_size(), first: layout.offset() };
    let elements = in_order(slice, &loops, 0, &mut copy)?;
    if elements.len() < loops.numel * from.item_size() {
        return None;
    }
    let mut block = Fresh::arbitrary(loops.numel.checked_mul(dtype.item_size())?)?;
    convert(from, dtype, &elements[..loops.numel * from.item_size()], block.bytes_mut());
    Some(block)
}
