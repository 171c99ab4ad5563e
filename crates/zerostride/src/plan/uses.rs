//! Owns the decision which nodes of an expression get a buffer and which are fused into the step that uses
//! them. It does not know programs (`lower.rs`).
//!
//! A node is computed once for each element of its own shape. It therefore gets a buffer where it would be
//! stretched (hoisting), where windows overlap, or where steps or views would compute it again; everything
//! else is fused. The exception: a shared node that is larger than all its operands and larger than the
//! result is computed again, because evaluation must never hold a stretched array. It is held nevertheless
//! where it would be computed again in very many contexts, or is seen through very many views, so that the
//! work never grows faster than the expression.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use zerostride_shape::{InternalOverlap, Layout, Shape};

use super::program::GRAIN_ELEMENTS;
use super::reduction::ReduceNode;
use crate::expr::{Expr, Kind, View, operands_first};
use crate::{Tensor, interrupt};

/// A value that is used in more contexts than this is held in memory, however large it is.
const MOST_WAYS: usize = 16;

/// A value with more views between it and a loop gets a buffer: each node below would be seen through all of
/// them.
const MOST_VIEWS: usize = 32;

/// Elements of a reduction beyond which it is not computed twice so that steps can read its results in two
/// orders.
const MOST_AGAIN_ELEMENTS: usize = 64;

/// In which order the dimensions of a table lie that is computed from operands smaller than itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// In the order in which each step reads it: it is computed for each.
    AsRead,
    /// In row-major order, in which it is computed once.
    AsTheyAre,
}

/// How a node's value gets into the loop of a step: the views between them, innermost first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    step: usize,
    pub(crate) chain: Vec<View>,
}

/// The nodes with buffers of their own.
#[derive(Debug, Default)]
pub(crate) struct Buffered {
    nodes: HashMap<usize, Use>,
    /// Reductions of a few elements each that the step which reads the results computes itself.
    unrolled: HashSet<usize>,
}

/// How a node with a buffer is used.
#[derive(Debug)]
struct Use {
    /// By a loop larger than the node.
    stretched: bool,
    /// By one step, in one context.
    once: bool,
    /// Whether it is computed for each order of its dimensions in which it is read.
    again: bool,
    /// Whether reductions of everything compute it themselves.
    passed: bool,
}

impl Buffered {
    pub(crate) fn contains(&self, expr: &Expr) -> bool {
        self.nodes.contains_key(&expr.id())
    }

    /// The number of elements of each result of a reduction that the step which reads them computes itself.
    pub(crate) fn unrolled(&self, expr: &Expr) -> Option<usize> {
        self.unrolled.contains(&expr.id()).then(|| ReduceNode::of(expr)?.few()).flatten()
    }

    /// Whether the node has a buffer because it is smaller than the loop that uses it.
    pub(crate) fn is_hoisted(&self, expr: &Expr) -> bool {
        self.nodes.get(&expr.id()).is_some_and(|node| node.stretched)
    }

    /// Whether the node of that identity is in a buffer that one step reads, in one way.
    pub(crate) fn is_used_once(&self, id: usize) -> bool {
        self.nodes.get(&id).is_some_and(|node| node.once)
    }

    /// Whether the node is computed for each order of its dimensions in which steps want it: so it is read
    /// row by row, and need never be whole.
    pub(crate) fn is_computed_again(&self, expr: &Expr) -> bool {
        self.nodes.get(&expr.id()).is_some_and(|node| node.again)
    }

    /// Gives a node a buffer that turns out to need one.
    pub(crate) fn add(&mut self, expr: &Expr) {
        let own = Use { stretched: false, once: true, again: false, passed: false };
        self.nodes.entry(expr.id()).or_insert(own);
    }

    /// Whether a step that reduces everything computes the node rather than read it: no step over rows runs
    /// together with that step, so that the node would have to be whole.
    pub(crate) fn is_passed(&self, step: &Expr, expr: &Expr) -> bool {
        self.nodes.get(&expr.id()).is_some_and(|node| node.passed) && reduces_all(step)
    }
}

/// Nodes that are operands in memory or views of them, each with its operand and how it is seen.
pub(crate) type Reads<'e> = HashMap<usize, Read<'e>>;

/// An operand in memory, seen through views.
pub(crate) struct Read<'e> {
    pub(crate) tensor: &'e Tensor,
    pub(crate) version: Option<u64>,
    pub(crate) layout: Cow<'e, Layout>,
}

/// The nodes that are only read; where a view needs another layout of its operand, the operand is `forced`
/// into memory.
fn reads<'e>(order: &[&'e Expr], forced: &mut HashSet<usize>) -> Reads<'e> {
    let mut reads: Reads<'e> = HashMap::new();
    for expr in order {
        let read = match &expr.node().kind {
            Kind::Leaf { tensor, version } => {
                Some(Read { tensor, version: *version, layout: Cow::Borrowed(tensor.layout()) })
            }
            Kind::View { operand, view } if !forced.contains(&operand.id()) => {
                reads.get(&operand.id()).and_then(|read| match view.apply(&read.layout) {
                    Ok(layout) => Some(Read { layout: Cow::Owned(layout), ..*read }),
                    Err(_) => {
                        forced.insert(operand.id());
                        None
                    }
                })
            }
            _ => None,
        };
        reads.extend(read.map(|read| (expr.id(), read)));
    }
    reads
}

/// Decides for every node of some expressions; `forced` are nodes that a view needs in memory.
pub(super) fn analyse<'e>(
    roots: &[&'e Expr],
    forced: &mut HashSet<usize>,
    tables: Tables,
) -> (Buffered, Reads<'e>) {
    let order = operands_first(roots.iter().copied(), |_| true);
    let reads = reads(&order, forced);
    let is_read = |expr: &Expr| expr.is_number() || reads.contains_key(&expr.id());
    let (largest, below) = (largest_operands(&order, |_, _| false), largest_operands(&order, is_light));
    let result = roots.iter().map(|root| shape(root).numel()).max().unwrap_or(0);
    let mut contexts: HashMap<usize, HashSet<Context>> = HashMap::new();
    let mut buffered = Buffered::default();
    let (mut apart, mut reductions): (HashSet<usize>, HashSet<usize>) = Default::default();
    for expr in order.iter().rev() {
        interrupt::check();
        let mut own = contexts.remove(&expr.id()).unwrap_or_default();
        let numel = shape(expr).numel();
        let blow_up = numel > largest[&expr.id()] && numel > result;
        let stretched = own.iter().any(|context| repeats(shape(expr), &context.chain));
        let most_views = if blow_up { 8 * MOST_VIEWS } else { MOST_VIEWS };
        let readers = own.iter().filter(|context| !apart.contains(&context.step)).count();
        let is_far = || own.iter().any(|context| context.chain.len() >= most_views);
        let buffer = match &expr.node().kind {
            Kind::Leaf { .. } | Kind::Input(_) | Kind::Number(_) | Kind::Failed { .. } => false,
            Kind::View { .. } => !is_read(expr) && is_far(),
            Kind::Cast { operand, .. } if is_read(operand) => false,
            _ if is_elementwise(expr) => {
                stretched || (readers > 1 && !blow_up) || own.len() > MOST_WAYS || is_far()
            }
            _ => true,
        };
        let is_root = roots.iter().any(|root| root.id() == expr.id());
        let is_given = is_root || forced.contains(&expr.id());
        // What would be written to be reduced again is not, if it is computed from much less.
        let is_unrolled = || {
            let read_once = own.len() == 1 && own.iter().all(|context| reductions.contains(&context.step));
            let operand = expr.node().kind.operands().first();
            let grows =
                operand.is_some_and(|operand| shape(operand).numel() > largest[&operand.id()].max(result));
            read_once && grows && !stretched && ReduceNode::of(expr).is_some_and(|own| own.few().is_some())
        };
        if buffer && !is_given && is_unrolled() {
            buffered.unrolled.insert(expr.id());
        } else if buffer || is_given {
            // Others would read what is strided again for each of their rows.
            if ReduceNode::of(expr).is_some_and(|own| own.is_along_rows()) {
                reductions.insert(expr.id());
            }
            // Whatever is computed twice must be cheap.
            let is_cheap = || ReduceNode::of(expr).is_none_or(|own| own.elements() <= MOST_AGAIN_ELEMENTS);
            let grows = numel > below[&expr.id()] && numel > result;
            let computes = !matches!(expr.node().kind, Kind::View { .. } | Kind::Matmul { .. });
            let again = grows && computes && !is_given && (own.len() == 1 || is_cheap());
            let passed = readers < own.len()
                && is_elementwise(expr)
                && !is_given
                && !stretched
                && own.len() <= MOST_WAYS
                && !is_far();
            let once = own.len() == 1 && !is_root;
            buffered.nodes.insert(expr.id(), Use { stretched, once, again, passed });
            own.retain(|context| passed && apart.contains(&context.step));
            own.insert(Context { step: expr.id(), chain: Vec::new() });
            if tables == Tables::AsTheyAre && roots.len() > 1 && reduces_all(expr) {
                apart.insert(expr.id());
            }
        }
        for operand in expr.node().kind.operands() {
            // It makes no difference how often an operand is read.
            if is_read(operand) && !forced.contains(&operand.id()) {
                continue;
            }
            let entering = contexts.entry(operand.id()).or_default();
            let ways = buffered.unrolled(expr).unwrap_or(1);
            entering.extend(own.iter().flat_map(|context| {
                let way = |way| Context {
                    step: context.step,
                    chain: entry(expr, operand, (ways > 1).then_some(way), &context.chain),
                };
                (0..ways).map(way)
            }));
        }
    }
    (buffered, reads)
}

/// The views between an operand and the loop of its user, given those of the user, and which of the elements
/// is wanted that each result of an unrolled reduction has.
pub(crate) fn entry(user: &Expr, operand: &Expr, element: Option<usize>, chain: &[View]) -> Vec<View> {
    let first = match (&user.node().kind, element) {
        (Kind::Reduce { dims, keepdim, .. }, Some(element)) => {
            let (dim, index) = (dims[0] as isize, element as isize);
            Some(match keepdim {
                true => View::Narrow { dim, start: index, length: 1 },
                false => View::Select { dim, index },
            })
        }
        (kind, _) => first_view(kind, user, operand),
    };
    first.into_iter().chain(chain.iter().cloned()).collect()
}

fn first_view(kind: &Kind, user: &Expr, operand: &Expr) -> Option<View> {
    match kind {
        Kind::View { view, .. } => Some(view.clone()),
        Kind::Map { .. } if shape(operand) != shape(user) => Some(View::BroadcastTo(shape(user)[..].into())),
        Kind::Reduce { dims, keepdim: false, .. } if is_elementwise(user) => {
            Some(View::SqueezeDims(dims.iter().map(|&dim| dim as isize).collect()))
        }
        _ => None,
    }
}

/// Whether the views show an element of that shape more than once.
fn repeats(shape: &Shape, chain: &[View]) -> bool {
    let stretches =
        |view: &View| matches!(view, View::Expand(_) | View::BroadcastTo(_) | View::Unfold { .. });
    if !chain.iter().any(stretches) {
        return false;
    }
    let layout = Layout::contiguous(shape.clone());
    let seen = chain.iter().try_fold(layout, |layout, view| view.apply(&layout));
    seen.is_ok_and(|layout| layout.has_internal_overlap() != InternalOverlap::No)
}

/// Whether each element of the node's value is computed from one of each operand's.
pub(super) fn is_elementwise(expr: &Expr) -> bool {
    match &expr.node().kind {
        Kind::Map { .. } | Kind::Cast { .. } => true,
        Kind::Reduce { .. } => ReduceNode::of(expr).is_some_and(|reduction| reduction.is_of_one()),
        _ => false,
    }
}

/// Whether a node is one result of many elements.
pub(super) fn reduces_all(expr: &Expr) -> bool {
    shape(expr).numel() == 1 && ReduceNode::of(expr).is_some_and(|own| own.elements() > GRAIN_ELEMENTS)
}

/// Whether the results of a reduction are more than its operands, given their number, and cost little to
/// compute again.
fn is_light(expr: &Expr, operands: usize) -> bool {
    ReduceNode::of(expr).is_some_and(|own| own.elements() <= MOST_AGAIN_ELEMENTS)
        && shape(expr).numel() > operands
}

/// For each node the element count of its largest operand in memory, where nodes that `pass`, given that of
/// their own operands, are none.
fn largest_operands(order: &[&Expr], pass: impl Fn(&Expr, usize) -> bool) -> HashMap<usize, usize> {
    let mut largest = HashMap::new();
    for expr in order {
        let kind = &expr.node().kind;
        let operands = kind.operands();
        let below = operands.iter().map(|operand| match &operand.node().kind {
            Kind::View { .. } => largest[&operand.id()],
            _ if is_elementwise(operand) || pass(operand, largest[&operand.id()]) => largest[&operand.id()],
            _ => shape(operand).numel(),
        });
        largest.insert(expr.id(), below.max().unwrap_or(0));
    }
    largest
}

/// The shape of a node of a plan, none of which has failed.
pub(crate) fn shape(expr: &Expr) -> &Shape {
    &expr.node().meta.as_ref().expect("a plan is only made of expressions without errors").shape
}
