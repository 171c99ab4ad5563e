//! Owns the way from an expression to steps: each node with a buffer becomes a step, and everything fused into it an
//! instruction of that step's program. It does not know memory blocks (`memory.rs`) or threads (`exec`).

use std::collections::{HashMap, HashSet};
use std::mem;

use smallvec::SmallVec;
use zerostride_ops::{DType, Op};
use zerostride_shape::{Layout, Shape, Strides, coalesce, order_dims};

use super::cost::Cost;
use super::product;
use super::program::{Buffer, GRAIN, Instruction, Load, Program, Register, Source, Step, Work};
use super::reduction::Reduction;
use super::uses::{Buffered, analyse, entry, shape};
use crate::Tensor;
use crate::expr::{Expr, Kind, Meta, View};

/// An operand of the plan, with the number of writes it had seen when it was captured, if it was.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) tensor: Tensor,
    pub(crate) version: Option<u64>,
}

impl Leaf {
    /// Whether two operands, with the versions they were captured at, are the same.
    pub(super) fn is_same(one: (&Tensor, Option<u64>), other: (&Tensor, Option<u64>)) -> bool {
        one.1 == other.1
            && one.0.shares_storage(other.0)
            && one.0.layout() == other.0.layout()
            && one.0.dtype() == other.0.dtype()
    }
}

/// Copies of a result that make it worth holding however large it is.
const COPIES: usize = 8;

/// What lowering yields.
#[derive(Default)]
pub(crate) struct Lowered {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) steps: Vec<Step>,
}

/// A view that a fused value cannot be seen through: this node must be in memory first.
struct NeedsBuffer(usize);

/// Lowers an expression without errors. A value that turns out to need memory of its own starts it anew; each time
/// there is one more of those, so that it ends.
pub(crate) fn lower(root: &Expr, out: &Layout) -> Lowered {
    let mut forced = HashSet::new();
    loop {
        let buffered = analyse(root, &forced);
        let mut lowerer =
            Lowerer { buffered, root: (root.id(), out), done: HashMap::new(), lowered: Lowered::default() };
        match lowerer.buffer(root) {
            Ok(result) => {
                lowerer.copy_out(root, result);
                return lowerer.lowered;
            }
            Err(NeedsBuffer(node)) => forced.insert(node),
        };
    }
}

struct Lowerer<'a> {
    buffered: Buffered,
    /// The expression's own node and the layout its value is wanted in.
    root: (usize, &'a Layout),
    /// The buffer of each node that has one, and how its value lies there.
    done: HashMap<usize, (usize, Layout)>,
    lowered: Lowered,
}

/// Registers of nodes in one loop.
type Emitted = HashMap<(usize, Vec<View>), Register>;

impl Lowerer<'_> {
    /// The buffer that holds the node's value, computed by a step, and how the value lies in it.
    fn buffer(&mut self, expr: &Expr) -> Result<(usize, Layout), NeedsBuffer> {
        if let Some(known) = self.done.get(&expr.id()) {
            return Ok(known.clone());
        }
        let (work, held) = self.work(expr)?;
        Ok(self.push_step(expr, work, held))
    }

    /// What computes the node's value, and in which layout: what repeats itself is held once.
    fn work(&mut self, expr: &Expr) -> Result<(Work, Layout), NeedsBuffer> {
        let shape = shape(expr);
        let (root, out) = self.root;
        let is_root = expr.id() == root;
        Ok(match (&expr.node().kind, Reduction::of(expr)) {
            (_, Some(reduction)) if !reduction.is_of_one() => {
                let (work, shape) = self.reduce(&reduction, is_root)?;
                (work, Layout::contiguous(shape))
            }
            (Kind::Matmul { factors: [a, b] }, _) => {
                (self.matmul(expr, a, b)?, Layout::contiguous(shape.clone()))
            }
            _ => {
                let mut program = Program::default();
                program.result = self.compute(expr, &[], &mut program, &mut Emitted::new())?;
                let held = once(&program, shape);
                let in_place = is_root && held == *shape;
                let layout = if in_place { out.clone() } else { Layout::contiguous(held.clone()) };
                (map(held, program, &layout), layout)
            }
        })
    }

    /// Adds a step for a node; the buffer it writes, and how the value lies in it.
    fn push_step(&mut self, expr: &Expr, work: Work, held: Layout) -> (usize, Layout) {
        let (whole, own) = (shape(expr), held.shape().clone());
        let hoisted = self.buffered.is_hoisted(expr) || own != *whole;
        let layout = if own == *whole {
            held
        } else {
            held.broadcast_to(whole).expect("sizes differ where they are 1")
        };
        let dtype = expr.meta().map_or(DType::F32, Meta::dtype);
        let work = self.finish(work);
        let output = self.lowered.buffers.len();
        self.lowered.buffers.push(Buffer { dtype, shape: own, slot: output });
        self.lowered.steps.push(Step { text: expr.to_string(), output, dead: Vec::new(), hoisted, work });
        self.done.insert(expr.id(), (output, layout.clone()));
        (output, layout)
    }

    /// An element-wise step over the results of the reduction before it, element for element, together with that reduction, if
    /// nothing else reads them: results are computed on before they are written. Any other step as it is.
    fn finish(&mut self, mut work: Work) -> Work {
        let Lowered { buffers, steps, .. } = &mut self.lowered;
        let Work::Map { shape, program: finish, out, out_offset: 0 } = &mut work else { return work };
        let ([load], Some(last)) = (&finish.loads[..], steps.last_mut()) else { return work };
        let results = &buffers[last.output];
        let node = self.done.iter().find(|(_, (buffer, _))| *buffer == last.output).map(|(&node, _)| node);
        let are_results = load.source == Source::Buffer(last.output)
            && (load.offset, &load.strides) == (0, out)
            && shape.ndim() < 2
            && out.iter().all(|&stride| stride == 1)
            && shape.numel() == results.shape.numel();
        match (&mut last.work, node) {
            (Work::Reduce { finish: place @ None, .. }, Some(node))
                if are_results && self.buffered.is_used_once(node) =>
            {
                *place = Some(Box::new(mem::take(finish)));
                self.done.remove(&node);
                buffers.pop();
                steps.pop().expect("there is a last step").work
            }
            _ => work,
        }
    }

    /// Reductions and products fill memory of their own, and what repeats itself is there once: another layout takes a
    /// copy.
    fn copy_out(&mut self, expr: &Expr, (result, layout): (usize, Layout)) {
        if layout == *self.root.1 {
            return;
        }
        let dtype = self.lowered.buffers[result].dtype;
        let (shape, strides, offset) = layout.into_parts();
        let mut program = Program::default();
        program.result = program.push_load(Load { source: Source::Buffer(result), dtype, strides, offset });
        let output = self.lowered.buffers.len();
        let work = map(shape.clone(), program, self.root.1);
        let step = Step { text: expr.to_string(), output, dead: Vec::new(), hoisted: false, work };
        self.lowered.steps.push(step);
        self.lowered.buffers.push(Buffer { dtype, shape, slot: output });
    }

    /// The step of a reduction, and the shape of its results, which is 1 where they repeat themselves. Others are to run together
    /// with it unless it is the last.
    fn reduce(&mut self, reduction: &Reduction<'_>, is_last: bool) -> Result<(Work, Shape), NeedsBuffer> {
        let mut program = Program::default();
        let register = self.emit(reduction.operand, &[], &mut program, &mut Emitted::new())?;
        Ok(reduction.plan(register, program, is_last))
    }

    fn matmul(&mut self, product: &Expr, a: &Expr, b: &Expr) -> Result<Work, NeedsBuffer> {
        let (a_source, a_layout) = self.in_memory(a)?;
        let (b_source, b_layout) = self.in_memory(b)?;
        let dtype = product.node().meta.as_ref().map_or(DType::F32, |meta| meta.dtype());
        Ok(product::plan(dtype, (a_source, &a_layout), (b_source, &b_layout)))
    }

    /// Where a value lies, without computing it into a new place where a view of an old one will do.
    fn in_memory(&mut self, expr: &Expr) -> Result<(Source, Layout), NeedsBuffer> {
        match &expr.node().kind {
            Kind::Leaf { tensor, version } => Ok((self.leaf(tensor, *version), tensor.layout().clone())),
            Kind::View { operand, view } if !self.buffered.contains(expr) => {
                let (source, layout) = self.in_memory(operand)?;
                view.apply(&layout).map(|layout| (source, layout)).map_err(|_| NeedsBuffer(expr.id()))
            }
            _ => {
                let (buffer, layout) = self.buffer(expr)?;
                Ok((Source::Buffer(buffer), layout))
            }
        }
    }

    fn leaf(&mut self, tensor: &Tensor, version: Option<u64>) -> Source {
        let same = |leaf: &Leaf| Leaf::is_same((&leaf.tensor, leaf.version), (tensor, version));
        let known = self.lowered.leaves.iter().position(same);
        Source::Leaf(known.unwrap_or_else(|| {
            self.lowered.leaves.push(Leaf { tensor: tensor.clone(), version });
            self.lowered.leaves.len() - 1
        }))
    }

    /// The register of a node's value in a loop, seen through `chain`.
    ///
    /// This recurses as deep as expressions nest: what each kind of node needs lives in a function of its own, so that
    /// a level takes little of the stack.
    fn emit(
        &mut self,
        expr: &Expr,
        chain: &[View],
        program: &mut Program,
        emitted: &mut Emitted,
    ) -> Result<Register, NeedsBuffer> {
        if let Some(&register) = emitted.get(&(expr.id(), chain.to_vec())) {
            return Ok(register);
        }
        let register = if self.buffered.contains(expr) {
            self.result_of(expr, chain, program)?
        } else {
            self.compute(expr, chain, program, emitted)?
        };
        emitted.insert((expr.id(), chain.to_vec()), register);
        Ok(register)
    }

    /// As `emit`, for a node with a buffer of its own.
    fn result_of(
        &mut self,
        expr: &Expr,
        chain: &[View],
        program: &mut Program,
    ) -> Result<Register, NeedsBuffer> {
        let (buffer, layout) = self.buffer(expr)?;
        let Buffer { dtype, .. } = self.lowered.buffers[buffer];
        self.load(expr, Source::Buffer(buffer), dtype, &layout, chain, program)
    }

    /// As `emit`, for a node that is not read from a buffer of its own.
    fn compute(
        &mut self,
        expr: &Expr,
        chain: &[View],
        program: &mut Program,
        emitted: &mut Emitted,
    ) -> Result<Register, NeedsBuffer> {
        match &expr.node().kind {
            Kind::Leaf { tensor, version } => {
                let source = self.leaf(tensor, *version);
                self.load(expr, source, tensor.dtype(), tensor.layout(), chain, program)
            }
            Kind::Number(number) => Ok(program.splat(*number, number.dtype())),
            Kind::View { operand, view } => self.view((expr, operand, view), chain, program, emitted),
            Kind::Cast { operand, dtype } => self.operand((expr, operand), *dtype, chain, program, emitted),
            Kind::Map { op, operands, compute } => {
                self.map((expr, *op, operands, *compute), chain, program, emitted)
            }
            Kind::Reduce { .. } => self.element(expr, chain, program, emitted),
            Kind::Matmul { .. } | Kind::Input(_) | Kind::Failed { .. } => {
                unreachable!("products have buffers, inputs are read before, and failures have no plan")
            }
        }
    }

    fn view(
        &mut self,
        (expr, operand, view): (&Expr, &Expr, &View),
        chain: &[View],
        program: &mut Program,
        emitted: &mut Emitted,
    ) -> Result<Register, NeedsBuffer> {
        let through = entry(expr, operand, chain);
        self.emit(operand, &through, program, emitted).map_err(|NeedsBuffer(node)| match view {
            // The reshaped value itself must be in memory, whatever below could not be reshaped.
            View::Reshape(_) | View::Flatten(..) if !self.buffered.contains(operand) => {
                NeedsBuffer(operand.id())
            }
            _ => NeedsBuffer(node),
        })
    }

    /// A reduction of one element.
    fn element(
        &mut self,
        expr: &Expr,
        chain: &[View],
        program: &mut Program,
        emitted: &mut Emitted,
    ) -> Result<Register, NeedsBuffer> {
        let reduction = Reduction::of(expr).expect("only reductions reduce");
        let operand = reduction.operand;
        let register = self.emit(operand, &entry(expr, operand, chain), program, emitted)?;
        Ok(reduction.of_one(register, program).expect("other reductions have steps of their own"))
    }

    fn map(
        &mut self,
        (expr, op, operands, compute): (&Expr, Op, &[Expr], DType),
        chain: &[View],
        program: &mut Program,
        emitted: &mut Emitted,
    ) -> Result<Register, NeedsBuffer> {
        let mut registers = SmallVec::new();
        for operand in operands {
            registers.push(self.operand((expr, operand), compute, chain, program, emitted)?);
        }
        Ok(program.map(op, compute, registers, expr.meta().map_or(compute, |meta| meta.dtype())))
    }

    /// The register of an operand, converted; a number takes the dtype unrounded by its own.
    fn operand(
        &mut self,
        (user, operand): (&Expr, &Expr),
        dtype: DType,
        chain: &[View],
        program: &mut Program,
        emitted: &mut Emitted,
    ) -> Result<Register, NeedsBuffer> {
        if let Some(number) = operand.number() {
            return Ok(program.splat(number, dtype));
        }
        let register = self.emit(operand, &entry(user, operand, chain), program, emitted)?;
        Ok(program.converted(register, dtype))
    }

    fn load(
        &self,
        expr: &Expr,
        source: Source,
        dtype: DType,
        layout: &Layout,
        chain: &[View],
        program: &mut Program,
    ) -> Result<Register, NeedsBuffer> {
        let seen = chain.iter().try_fold(layout.clone(), |layout, view| view.apply(&layout));
        let (_, strides, offset) = seen.map_err(|_| NeedsBuffer(expr.id()))?.into_parts();
        Ok(program.push_load(Load { source, dtype, strides, offset }))
    }
}

/// The shape of what a program computes once, to be copied then: 1 where all that it reads is stretched. The shape itself where
/// that is little work, where nothing is computed, or where copies would come from memory and are few.
fn once(program: &Program, shape: &Shape) -> Shape {
    let is_repeated = |dim: usize| program.loads.iter().all(|load| load.strides[dim] == 0);
    let computes =
        program.instructions.iter().any(|instruction| matches!(instruction, Instruction::Map { .. }));
    let mut sizes: SmallVec<[usize; 8]> = shape.as_ref().into();
    (0..sizes.len()).filter(|&dim| is_repeated(dim)).for_each(|dim| sizes[dim] = sizes[dim].min(1));
    let held = sizes.iter().product::<usize>();
    let are_worth_it = held <= GRAIN || held <= shape.numel() / COPIES;
    match Shape::new(&sizes) {
        Ok(held) if computes && are_worth_it && Cost::new(program, shape).is_divided() => held,
        _ => shape.clone(),
    }
}

/// An element-wise step over a shape into a layout of it, its loops simplified.
pub(super) fn map(shape: Shape, mut program: Program, out: &Layout) -> Work {
    let all = |out: &Strides, program: &Program| -> Vec<Strides> {
        std::iter::once(out.clone()).chain(program.loads.iter().map(|load| load.strides.clone())).collect()
    };
    let (shape, ordered) = order_dims(&shape, &slices(&all(out.strides(), &program)));
    let (shape, mut merged) = coalesce(&shape, &slices(&ordered));
    for (load, strides) in program.loads.iter_mut().zip(merged.drain(1..)) {
        load.strides = strides;
    }
    let out_strides = merged.pop().unwrap_or_default();
    Work::Map { shape, program, out: out_strides, out_offset: out.offset() }
}

pub(crate) fn slices(strides: &[Strides]) -> Vec<&[isize]> {
    strides.iter().map(|strides| &**strides).collect()
}
