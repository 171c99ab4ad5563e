//! Owns the way from an expression to steps: each node with a buffer becomes a step, and everything fused
//! into it an instruction of that step's program. It does not know memory blocks (`memory.rs`) or threads
//! (`exec`).

use std::collections::{HashMap, HashSet};
use std::mem;

use smallvec::SmallVec;
use zerostride_ops::DType;
use zerostride_shape::{ErrorClass, Layout, Shape};

use super::cost::Cost;
use super::order::{by_phase, by_rows};
use super::product;
use super::program::{
    Buffer, ElementSource, GRAIN_ELEMENTS, Instruction, Load, Program, Register, Step, Work,
};
use super::reduction::{DimOrder, ReduceNode, lying};
use super::turned::{is_worth_a_copy, turned};
use super::uses::{Buffered, Read, Reads, Tables, analyse, entry, reduces_all, shape};
use crate::expr::{Expr, Kind, Meta, View};
use crate::{Error, Result, Tensor, interrupt};

/// An operand of the plan, with the number of writes it had seen when it was captured, if it was.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) tensor: Tensor,
    pub(crate) version: Option<u64>,
    /// The plan's offset minus the tensor's own `storage_offset`, in elements: a template runs on operands
    /// that begin elsewhere in their storage than those it was made with.
    pub(crate) moved: isize,
}

/// A plan and its clones read the same elements.
impl Clone for Leaf {
    fn clone(&self) -> Leaf {
        Leaf { tensor: self.tensor.alias(), ..*self }
    }
}

impl Leaf {
    pub(crate) fn new(tensor: &Tensor, version: Option<u64>) -> Leaf {
        Leaf { tensor: tensor.alias(), version, moved: 0 }
    }

    /// The operand, for a run.
    ///
    /// # Errors
    /// It is not in memory.
    pub(crate) fn present(&self) -> Result<&Leaf> {
        if self.tensor.is_absent() {
            let message =
                "an operand of the plan is not in memory: evaluate the expression instead".to_owned();
            return Err(Error::Argument { class: ErrorClass::Value, message });
        }
        Ok(self)
    }

    /// Refuses an operand that has been written to since it was captured.
    pub(crate) fn check(&self, found: u64) -> Result<()> {
        match self.version.filter(|&captured| captured != found) {
            Some(captured) => {
                Err(Error::Modified { shape: self.tensor.shape_value().clone(), captured, found })
            }
            None => Ok(()),
        }
    }

    /// The byte at which the plan counts the first of its elements in memory.
    pub(crate) fn first_byte(&self) -> usize {
        let moved = self.moved.wrapping_mul(self.tensor.dtype().item_size() as isize);
        self.tensor.reach().start.wrapping_add_signed(moved)
    }

    /// Whether two operands, with the versions they were captured at, are the same.
    pub(super) fn is_same(one: (&Tensor, Option<u64>), other: (&Tensor, Option<u64>)) -> bool {
        one.1 == other.1
            && one.0.shares_storage(other.0)
            && one.0.layout() == other.0.layout()
            && one.0.dtype() == other.0.dtype()
    }
}

/// A result that is repeated this often is computed once and held, however large it is.
const MOST_COPIES: usize = 8;

/// What lowering yields.
#[derive(Default)]
pub(crate) struct Lowered {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) steps: Vec<Step>,
    /// The buffer of each expression.
    pub(crate) results: SmallVec<[usize; 1]>,
}

/// A node that has to be in memory, its dimensions in an order, before the step that reads it.
struct Missing<'e>(&'e Expr, DimOrder);

/// Lowers expressions without errors, each wanted in a layout. Where a value turns out to need memory of its
/// own, lowering starts again with that value forced into a buffer; each round forces at least one more node,
/// so the loop ends.
pub(super) fn lower(roots: &[(&Expr, &Layout)], tables: Tables) -> Lowered {
    let (mut forced, exprs) = (HashSet::new(), roots.iter().map(|(root, _)| *root).collect::<Vec<_>>());
    loop {
        let (buffered, reads) = analyse(&exprs, &mut forced, tables);
        let mut lowerer = Lowerer {
            buffered,
            reads,
            roots,
            tables,
            forced: Vec::new(),
            done: HashMap::new(),
            computed: Vec::new(),
            leaves: HashMap::new(),
            turned: HashMap::new(),
            lowered: Lowered::default(),
        };
        lowerer.steps();
        if lowerer.forced.is_empty() {
            let mut lowered = lowerer.lowered;
            if tables == Tables::AsTheyAre {
                let is_apart = |step: &Step| !lowerer.computed[step.output].1.is_empty();
                lowered.steps = by_phase(lowered.steps, &lowered.buffers, is_apart);
            } else if lowerer.computed.iter().any(|(_, order)| !order.is_empty()) {
                let order = |buffer: usize| &lowerer.computed[buffer].1;
                let rows = |step: &Step| {
                    let sources = step.work.sources().filter_map(ElementSource::buffer);
                    let turned = sources.chain([step.output]).any(|buffer| !order(buffer).is_empty());
                    let rows = match &step.work {
                        Work::Reduce { kept, .. } => kept.first().copied(),
                        // The loop of an element-wise step may be one dimension.
                        Work::Map { .. } => {
                            let first = order(step.output).first().copied().unwrap_or(0);
                            lowered.buffers[step.output].shape.get(first).copied()
                        }
                        Work::Matmul { .. } => None,
                    };
                    Some((rows?, turned))
                };
                lowered.steps = by_rows(lowered.steps, rows);
            }
            return lowered;
        }
        forced.extend(lowerer.forced);
    }
}

struct Lowerer<'e, 'a> {
    buffered: Buffered,
    reads: Reads<'e>,
    /// The expressions and the layouts in which their values are wanted.
    roots: &'a [(&'e Expr, &'a Layout)],
    tables: Tables,
    /// Nodes that should have had a buffer.
    forced: Vec<usize>,
    /// The buffer of each node that has one, for each order of its dimensions that is wanted, and how its
    /// value lies there.
    done: HashMap<(usize, DimOrder), (usize, Layout)>,
    /// The node of each buffer.
    computed: Vec<(usize, DimOrder)>,
    /// The places of operands in the plan.
    leaves: HashMap<Identity<'e>, usize>,
    /// The copies of what loads of loops read, with the dimension that is innermost there.
    turned: HashMap<(Load, Shape, usize), Load>,
    lowered: Lowered,
}

/// Equal for operands that are the same by [`Leaf::is_same`].
type Identity<'e> = (usize, Option<u64>, DType, &'e Layout);

/// A step that is being made, and the nodes between its own and the one whose register comes next.
struct Making<'e> {
    expr: &'e Expr,
    order: DimOrder,
    program: Program,
    /// The node of each load.
    operands: Vec<&'e Expr>,
    /// Registers of nodes, seen through views.
    emitted: HashMap<(usize, Vec<View>), Register>,
    path: Vec<Fused<'e>>,
}

/// A node that is computed within a step.
struct Fused<'e> {
    expr: &'e Expr,
    /// The views that it is seen through.
    chain: Vec<View>,
    /// Those of its operands so far.
    operands: SmallVec<[Register; 4]>,
}

impl<'e> Making<'e> {
    fn new(expr: &'e Expr, order: DimOrder) -> Making<'e> {
        let (program, operands, emitted, path) = Default::default();
        Making { expr, order, program, operands, emitted, path }
    }

    /// Gives the innermost node the register of its next operand, converted to its dtype.
    fn take(&mut self, register: Register) {
        let Making { program, path, .. } = self;
        let fused = path.last_mut().expect("an operand belongs to a node");
        fused.operands.push(match &fused.expr.node().kind {
            Kind::Map { compute: dtype, .. } | Kind::Cast { dtype, .. } => {
                program.converted(register, *dtype)
            }
            _ => register,
        });
    }

    /// The register of the innermost node, whose operands all have registers.
    fn compute(&mut self) -> Register {
        let Fused { expr, chain, operands } = self.path.pop().expect("there is a node to compute");
        let program = &mut self.program;
        let register = match &expr.node().kind {
            Kind::Map { op, compute, .. } => {
                program.map(*op, *compute, operands, expr.meta().map_or(*compute, |meta| meta.dtype()))
            }
            Kind::Reduce { .. } => ReduceNode::of(expr)
                .and_then(|reduction| match &operands[..] {
                    &[element] => reduction.of_one(element, program),
                    elements => reduction.of_registers(elements, program),
                })
                .expect("other reductions have steps of their own"),
            Kind::View { .. } | Kind::Cast { .. } => operands[0],
            Kind::Leaf { .. }
            | Kind::Number(_)
            | Kind::Matmul { .. }
            | Kind::Input(_)
            | Kind::Failed { .. } => {
                unreachable!("products have buffers, inputs are read before, and failures have no plan")
            }
        };
        self.emitted.insert((expr.id(), chain), register);
        register
    }
}

impl<'e> Lowerer<'e, '_> {
    /// All steps, each behind those whose results it reads, those of each expression behind those of the
    /// expressions before it.
    fn steps(&mut self) {
        for &(root, out) in self.roots {
            let (mut makings, own) = (Vec::new(), (root.id(), DimOrder::new()));
            if !self.done.contains_key(&own) {
                makings.push(Making::new(root, DimOrder::new()));
            }
            while let Some(making) = makings.last_mut() {
                interrupt::check();
                match self.work(making) {
                    Ok((work, held)) => {
                        self.push_step(making.expr, &making.order, (work, held));
                        makings.pop();
                    }
                    Err(Missing(node, order)) => makings.push(Making::new(node, order)),
                }
            }
            // Reductions and products fill contiguous memory of their own, and repeated elements are held
            // once: any other layout of the result takes a copy.
            if self.done[&own].1 != *out {
                self.copy(root, out.clone());
            }
            let result = self.done[&own].0;
            self.lowered.results.push(result);
        }
    }

    /// The work that computes the node's value, and the layout of that value: repeated elements are held
    /// once.
    fn work(&mut self, making: &mut Making<'e>) -> Result<(Work, Layout), Missing<'e>> {
        let expr = making.expr;
        let shape = shape(expr);
        let wanted = self.roots.iter().find(|(root, _)| root.id() == expr.id()).map(|(_, out)| *out);
        Ok(match (&expr.node().kind, ReduceNode::of(expr)) {
            (_, Some(reduction)) if !reduction.is_of_one() => {
                let register = self.emit(making, reduction.operand)?;
                self.turn(making, &reduction);
                // Unless it is the last step, other steps should be able to run together with it.
                reduction.plan(register, mem::take(&mut making.program), (wanted.is_some(), &making.order))
            }
            (Kind::Matmul { factors: [a, b] }, _) => {
                let (a_source, a_layout) = self.in_memory(a)?;
                let (b_source, b_layout) = self.in_memory(b)?;
                let dtype = expr.meta().map_or(DType::F32, Meta::dtype);
                let work = product::plan(dtype, (a_source, &a_layout), (b_source, &b_layout));
                (work, Layout::contiguous(shape.clone()))
            }
            _ => {
                let result = self.emit(making, expr)?;
                let mut program = mem::take(&mut making.program);
                program.result = result;
                let held = once(&program, shape);
                let wanted = wanted.filter(|_| held == *shape).cloned();
                let layout = wanted.unwrap_or_else(|| lying(&held, &making.order));
                (Work::map(held, program, &layout), layout)
            }
        })
    }

    /// Adds a step for a node whose dimensions lie in an order; `held` is the layout of the node's value in
    /// the buffer.
    fn push_step(&mut self, expr: &Expr, order: &DimOrder, (work, held): (Work, Layout)) {
        let (whole, own) = (shape(expr), held.shape().clone());
        let hoisted = self.buffered.is_hoisted(expr) || own != *whole;
        let layout = if own == *whole {
            held
        } else {
            held.broadcast_to(whole).expect("sizes differ where they are 1")
        };
        let mut work = self.finish(work);
        if let Work::Map { program, .. } | Work::Reduce { program, .. } = &mut work {
            program.complete();
        }
        self.push((expr, order), own, layout, (hoisted, work));
    }

    /// Adds a step that fills a buffer of shape `own`; from then on the node's value has this layout there.
    fn push(
        &mut self,
        (expr, order): (&Expr, &DimOrder),
        own: Shape,
        layout: Layout,
        (hoisted, work): (bool, Work),
    ) {
        let dtype = expr.meta().map_or(DType::F32, Meta::dtype);
        let Lowered { buffers, steps, .. } = &mut self.lowered;
        let output = buffers.len();
        buffers.push(Buffer { dtype, shape: own, slot: output });
        steps.push(Step { text: expr.formula(), output, dead: Vec::new(), hoisted, work });
        self.computed.push((expr.id(), order.clone()));
        self.done.insert((expr.id(), order.clone()), (output, layout));
    }

    /// Merges an element-wise step over the results of the reduction before it into that reduction, if
    /// nothing else reads these results: the step then runs before they are written. Any other step is
    /// returned unchanged. So is one that divides integers: a device looks for zero divisors in memory.
    fn finish(&mut self, mut work: Work) -> Work {
        let Lowered { buffers, steps, .. } = &mut self.lowered;
        let Work::Map { shape, program: finish, out, out_offset: 0 } = &mut work else { return work };
        let ([load], Some(last)) = (&finish.loads[..], steps.last_mut()) else { return work };
        let results = &buffers[last.output];
        let node = &self.computed[last.output];
        let are_results = load.source == ElementSource::Buffer(last.output)
            && (load.offset, &load.strides) == (0, out)
            && shape.ndim() < 2
            && finish.divisors().next().is_none()
            && out.iter().all(|&stride| stride == 1)
            && shape.numel() == results.shape.numel();
        match &mut last.work {
            Work::Reduce { finish: place @ None, .. }
                if are_results && self.buffered.is_used_once(node.0) =>
            {
                finish.complete();
                *place = Some(Box::new(mem::take(finish)));
                self.done.remove(node);
                self.computed.pop();
                buffers.pop();
                steps.pop().expect("there is a last step").work
            }
            _ => work,
        }
    }

    /// Adds a step that copies a node's value into a new buffer, in layout `to`.
    fn copy(&mut self, expr: &Expr, to: Layout) {
        let order = DimOrder::new();
        let (buffer, layout) = self.done[&(expr.id(), order.clone())].clone();
        let work = copying(expr, (ElementSource::Buffer(buffer), layout), &to);
        self.push((expr, &order), to.shape().clone(), to, (false, work));
    }

    /// Adds a step that copies each element of an operand once, without gaps.
    fn gather(&mut self, expr: &Expr, (source, layout): (ElementSource, Layout)) {
        let (own, seen, work) = gathering(expr, (source, layout), &DimOrder::new());
        self.push((expr, &DimOrder::new()), own, seen, (true, work));
    }

    /// Lets a reduction read copies of the operands that had better lie otherwise. They are made before the
    /// steps that may run together with this one.
    fn turn(&mut self, making: &mut Making<'e>, reduction: &ReduceNode<'_>) {
        let (sizes, reduced) = reduction.dims();
        let Some((innermost, turned)) = turned(&making.program.loads, sizes, reduced) else { return };
        for index in turned {
            let load = &mut making.program.loads[index];
            let key = (load.clone(), sizes.clone(), innermost);
            *load = match self.turned.get(&key) {
                Some(copy) => copy.clone(),
                None => {
                    let copy = self.copy_before(making.operands[index], &key);
                    self.turned.entry(key).or_insert(copy).clone()
                }
            };
        }
    }

    /// The load of a copy, in which a dimension is innermost, of what a load reads of a node in a loop of
    /// these sizes.
    fn copy_before(&mut self, expr: &Expr, (load, sizes, innermost): &(Load, Shape, usize)) -> Load {
        let layout = Layout::new(sizes.clone(), load.strides.clone(), load.offset).expect("it is read so");
        let others = (0..sizes.ndim()).filter(|dim| dim != innermost);
        let order = others.chain([*innermost]).collect();
        let (own, seen, work) = gathering(expr, (load.source, layout), &order);
        let Lowered { buffers, steps, .. } = &mut self.lowered;
        let output = buffers.len();
        let maker = load.source.buffer().and_then(|own| steps.iter().position(|step| step.output == own));
        let step = Step { text: expr.formula(), output, dead: Vec::new(), hoisted: true, work };
        steps.insert(maker.map_or(0, |maker| maker + 1), step);
        buffers.push(Buffer { dtype: load.dtype, shape: own, slot: output });
        self.computed.push((expr.id(), DimOrder::new()));
        let (_, strides, offset) = seen.into_parts();
        Load { source: ElementSource::Buffer(output), dtype: load.dtype, strides, offset }
    }

    /// The memory of a factor; a view of an existing value is used where it will do.
    fn in_memory(&mut self, factor: &'e Expr) -> Result<(ElementSource, Layout), Missing<'e>> {
        let (mut expr, mut views) = (factor, Vec::new());
        while let Kind::View { operand, view } = &expr.node().kind
            && !self.buffered.contains(expr)
            && !self.reads.contains_key(&expr.id())
        {
            views.push((operand, view));
            expr = operand;
        }
        let order = DimOrder::new();
        let place = if self.is_missing(expr, &order) { None } else { self.place(expr, &order) };
        let (source, mut layout) = place.ok_or(Missing(expr, order))?;
        for (operand, view) in views.into_iter().rev() {
            match view.apply(&layout) {
                Ok(seen) => layout = seen,
                Err(_) => {
                    self.settle(operand)?;
                    return self.in_memory(factor);
                }
            }
        }
        Ok((source, layout))
    }

    /// The memory of a value that has been computed, or is an operand or a view of one.
    fn place(&mut self, expr: &Expr, order: &DimOrder) -> Option<(ElementSource, Layout)> {
        if let Some((buffer, layout)) = self.done.get(&(expr.id(), order.clone())) {
            return Some((ElementSource::Buffer(*buffer), layout.clone()));
        }
        let Read { tensor, version, layout } = self.reads.get(&expr.id())?;
        let (leaves, layout) = (&mut self.lowered.leaves, layout.clone().into_owned());
        let identity = (tensor.storage().address(), *version, tensor.dtype(), tensor.layout());
        let leaf = *self.leaves.entry(identity).or_insert_with(|| {
            leaves.push(Leaf::new(tensor, *version));
            leaves.len() - 1
        });
        Some((ElementSource::Leaf(leaf), layout))
    }

    /// Makes a value contiguous in memory, because a view needs it so: a value with another layout is copied,
    /// a fused one is computed there.
    fn settle(&mut self, expr: &'e Expr) -> Result<(), Missing<'e>> {
        let order = DimOrder::new();
        if self.done.contains_key(&(expr.id(), order.clone())) {
            self.copy(expr, Layout::contiguous(shape(expr).clone()));
            return Ok(());
        }
        self.forced.push(expr.id());
        self.buffered.add(expr);
        Err(Missing(expr, order))
    }

    /// The register of a node's value in the loop of a step. Where a missing value ended the walk, the walk
    /// goes on from its path.
    fn emit(&mut self, making: &mut Making<'e>, first: &'e Expr) -> Result<Register, Missing<'e>> {
        loop {
            let register = match making.path.last() {
                None => self.enter(making, first, Vec::new())?,
                Some(&Fused { expr, ref chain, ref operands }) => {
                    let (nth, all) = (operands.len(), expr.node().kind.operands());
                    let (operand, element) = match self.buffered.unrolled(expr) {
                        Some(count) => (all.first().filter(|_| nth < count), Some(nth)),
                        None => (all.get(nth), None),
                    };
                    match operand {
                        Some(operand) => {
                            let chain = entry(expr, operand, element, chain);
                            self.enter(making, operand, chain)?
                        }
                        None => Some(making.compute()),
                    }
                }
            };
            match register {
                Some(register) if making.path.is_empty() => return Ok(register),
                Some(register) => making.take(register),
                None => {}
            }
        }
    }

    /// The register of a node's value seen through `chain`, if it need not be computed; otherwise the node
    /// becomes the innermost one.
    fn enter(
        &mut self,
        making: &mut Making<'e>,
        expr: &'e Expr,
        chain: Vec<View>,
    ) -> Result<Option<Register>, Missing<'e>> {
        if let Some(number) = expr.number() {
            // An operand takes the dtype unrounded by its own.
            let dtype = making.path.last().and_then(|user| match &user.expr.node().kind {
                Kind::Map { compute: dtype, .. } | Kind::Cast { dtype, .. } => Some(*dtype),
                _ => None,
            });
            return Ok(Some(making.program.splat(number, dtype.unwrap_or(number.dtype()))));
        }
        let key = (expr.id(), chain);
        if let Some(&register) = making.emitted.get(&key) {
            return Ok(Some(register));
        }
        let (id, chain) = key;
        let order = self.order(making, expr, &chain);
        let is_passed = self.buffered.is_passed(making.expr, expr);
        if self.is_missing(expr, &order) && id != making.expr.id() && !is_passed {
            return Err(Missing(expr, order));
        }
        let Some(place) = Some(()).filter(|()| !is_passed).and_then(|()| self.place(expr, &order)) else {
            making.path.push(Fused { expr, chain, operands: SmallVec::new() });
            return Ok(None);
        };
        let register = self.load(making, expr, place, &chain)?;
        making.emitted.insert((id, chain), register);
        Ok(Some(register))
    }

    /// The order of dimensions in which a step reads a node through views: as it reduces them, or as its own
    /// results lie.
    fn order(&self, step: &Making<'_>, expr: &Expr, chain: &[View]) -> DimOrder {
        let is_apart = || !step.order.is_empty() || (self.roots.len() > 1 && reduces_all(step.expr));
        let order = match ReduceNode::of(step.expr).filter(|own| !own.is_of_one()) {
            _ if !self.buffered.is_computed_again(expr) => None,
            // What is reduced as a whole is computed for that alone, though it lies in row-major order, too.
            _ if self.tables == Tables::AsTheyAre => is_apart().then(|| (0..shape(expr).ndim()).collect()),
            Some(reduction) => reduction.order(shape(expr), chain),
            None => chain.is_empty().then(|| step.order.clone()),
        };
        order.unwrap_or_default()
    }

    /// Whether a node is to have a buffer and has none yet with its dimensions in that order.
    fn is_missing(&self, expr: &Expr, order: &DimOrder) -> bool {
        self.buffered.contains(expr) && !self.done.contains_key(&(expr.id(), order.clone()))
    }

    /// As `enter`, for a value in memory.
    fn load(
        &mut self,
        making: &mut Making<'e>,
        expr: &'e Expr,
        (source, mut layout): (ElementSource, Layout),
        chain: &[View],
    ) -> Result<Register, Missing<'e>> {
        let own = layout.clone();
        for (index, view) in chain.iter().enumerate() {
            match view.apply(&layout) {
                Ok(seen) => layout = seen,
                Err(_) => {
                    // The node that this view belongs to is seen through as many views as follow it in the
                    // chain.
                    let behind = chain.len() - index - 1;
                    let user = making.path.iter().rposition(|user| user.chain.len() == behind);
                    let user = user.expect("every view is some node's");
                    making.path.truncate(user + 1);
                    self.settle(&making.path[user].expr.node().kind.operands()[0])?;
                    let place =
                        self.place(expr, &DimOrder::new()).expect("a copy of the value lies in order");
                    return self.load(making, expr, place, chain);
                }
            }
        }
        let dtype = expr.meta().map_or(DType::F32, Meta::dtype);
        if matches!(source, ElementSource::Leaf(_)) && is_gathered_again(&own, &layout, dtype.item_size()) {
            self.gather(expr, (source, own));
            let place = self.place(expr, &DimOrder::new()).expect("it has been copied");
            return self.load(making, expr, place, chain);
        }
        let (_, strides, offset) = layout.into_parts();
        let register = making.program.push_load(Load { source, dtype, strides, offset });
        if making.operands.len() < making.program.loads.len() {
            making.operands.push(expr);
        }
        Ok(register)
    }
}

/// A copy that has each element of a node's value once, without gaps and with its dimensions in an order: its
/// shape, how the value lies there, and the work.
fn gathering(
    expr: &Expr,
    (source, layout): (ElementSource, Layout),
    order: &DimOrder,
) -> (Shape, Layout, Work) {
    let (shape, strides, offset) = layout.into_parts();
    let is_stretched = strides.iter().map(|&stride| stride == 0);
    let sizes: SmallVec<[usize; 8]> =
        shape.iter().zip(is_stretched).map(|(&size, once)| if once { 1 } else { size }).collect();
    let own = Shape::new(&sizes).expect("no size is larger than the value's");
    let from = Layout::new(own.clone(), strides, offset).expect("fewer of the value's elements");
    let to = lying(&own, order);
    let work = copying(expr, (source, from), &to);
    let seen = to.broadcast_to(&shape).expect("sizes differ where they are 1");
    (own, seen, work)
}

/// The work that copies a node's value to layout `to`.
fn copying(expr: &Expr, (source, from): (ElementSource, Layout), to: &Layout) -> Work {
    let dtype = expr.meta().map_or(DType::F32, Meta::dtype);
    let (shape, strides, offset) = from.into_parts();
    let mut program = Program::default();
    program.result = program.push_load(Load { source, dtype, strides, offset });
    program.complete();
    Work::map(shape, program, to)
}

/// Whether a loop would gather the few elements of an operand, which have gaps between them, again and again
/// along the dimensions in which it is stretched. Operands in whose order some elements are contiguous lie as
/// other operands may, too.
fn is_gathered_again(own: &Layout, seen: &Layout, item: usize) -> bool {
    let dims = |layout: &Layout| {
        let dims = layout.shape().iter().copied().zip(layout.strides().iter().copied());
        dims.filter(|&(size, _)| size > 1).collect::<SmallVec<[(usize, isize); 8]>>()
    };
    let elements: usize = dims(own).iter().filter(|dim| dim.1 != 0).map(|dim| dim.0).product();
    is_worth_a_copy(elements, item, seen.numel())
        && dims(own).iter().all(|dim| dim.1 != 1)
        && dims(seen).iter().any(|dim| dim.1 == 0)
}

/// The shape at which a program computes each distinct element once, to be copied afterwards: size 1 where
/// all its operands are stretched. The full shape where that saves little, where nothing is computed, or
/// where the copies would be few and come from main memory.
fn once(program: &Program, shape: &Shape) -> Shape {
    let is_repeated = |dim: usize| program.loads.iter().all(|load| load.strides[dim] == 0);
    let computes =
        program.instructions.iter().any(|instruction| matches!(instruction, Instruction::Map { .. }));
    let mut sizes: SmallVec<[usize; 8]> = shape.as_ref().into();
    (0..sizes.len()).filter(|&dim| is_repeated(dim)).for_each(|dim| sizes[dim] = sizes[dim].min(1));
    let held = sizes.iter().product::<usize>();
    let are_worth_it = held <= GRAIN_ELEMENTS || held <= shape.numel() / MOST_COPIES;
    match Shape::new(&sizes) {
        Ok(held) if computes && are_worth_it && Cost::new(program, shape).is_divided() => held,
        _ => shape.clone(),
    }
}
