//! Owns the running of plans: memory for results, threads, tiles. `Plan` goes in, a tensor comes out. It does not
//! decide what is fused or hoisted (`plan`).

#[allow(unsafe_code)]
mod access;
mod map;
pub(crate) mod matmul;
mod program;
mod reduce;

use std::sync::Arc;

use zerostride_ops::{OpError, can_cast};
use zerostride_shape::{InternalOverlap, Layout, Overlap, check_in_place, checked_bytes};

use crate::expr::Expr;
use crate::plan::{Buffer, Leaf, Plan, Source, Step, Work, deaths};
use crate::tensor::{Block, Claim, Guard, Section, Storage};
use crate::{Error, Result, Tensor};

/// Elements below which a loop is not worth dividing among threads.
const GRAIN: usize = 1 << 16;

/// Runs a plan; its last step writes `target` where one is given.
pub(crate) fn run(plan: &Plan, target: Option<&Tensor>) -> Result<Tensor> {
    let memory = Memory::claim(&plan.leaves, target)?;
    let mut slots: Vec<Option<Storage>> = std::iter::repeat_with(|| None).take(plan.buffers.len()).collect();
    let deaths = deaths(&plan.steps, &plan.buffers);
    for (index, (step, dead)) in plan.steps.iter().zip(deaths).enumerate() {
        let last = index + 1 == plan.steps.len();
        let buffer = &plan.buffers[step.output];
        match target.filter(|_| last) {
            Some(target) => {
                let out = memory.guard(target).block(target.reach(), true);
                run_step(step, plan, &memory, &slots, out)?;
            }
            None => {
                let mut storage = match slots[buffer.slot].take() {
                    Some(storage) => storage,
                    None => allocate(buffer)?,
                };
                if let Work::Matmul { a, b, .. } = &step.work {
                    let (a, b) =
                        (factor(a.source, plan, &memory, &slots), factor(b.source, plan, &memory, &slots));
                    matmul::run(&step.work, a, b, storage.bytes_mut());
                } else {
                    run_step(step, plan, &memory, &slots, storage.block_mut())?;
                }
                slots[buffer.slot] = Some(storage);
            }
        }
        dead.into_iter().for_each(|slot| slots[slot] = None);
    }
    let result = &plan.buffers[plan.result()];
    match (target, slots[result.slot].take()) {
        (Some(target), _) => Ok(target.clone()),
        (None, Some(storage)) => {
            Ok(Tensor::new(Arc::new(storage), Layout::contiguous(result.shape.clone()), result.dtype))
        }
        (None, None) => unreachable!("the last step has written its slot"),
    }
}

fn run_step(
    step: &Step,
    plan: &Plan,
    memory: &Memory,
    slots: &[Option<Storage>],
    out: Block<'_>,
) -> Result<()> {
    let buffer = &plan.buffers[step.output];
    // A dying operand lies in the output's own block, which is out of its slot while the step runs.
    let read = |source: Source| match source {
        Source::Leaf(leaf) => {
            let tensor = &plan.leaves[leaf].tensor;
            memory.guard(tensor).block(tensor.reach(), false)
        }
        Source::Buffer(index) => match &slots[plan.buffers[index].slot] {
            Some(storage) => storage.block(),
            None => out.clone(),
        },
    };
    match &step.work {
        Work::Map { shape, program, out: strides, out_offset } => {
            map::run(shape, program, read, (out.clone(), strides, *out_offset), buffer.dtype)
        }
        Work::Reduce { op, compute, correction, kept, reduced, program } => {
            let reducer = zerostride_kernels::Reducer::new(*op, *compute, reduced.numel(), *correction);
            reduce::run(&reducer, (kept, reduced), program, read, out.clone(), buffer.dtype)
        }
        Work::Matmul { .. } => unreachable!("a matrix product is written to memory of its own"),
    }
}

/// The elements of a factor of a matrix product.
fn factor<'a>(
    source: Source,
    plan: &'a Plan,
    memory: &'a Memory,
    slots: &'a [Option<Storage>],
) -> matmul::Elements<'a> {
    match source {
        Source::Leaf(leaf) => {
            let tensor = &plan.leaves[leaf].tensor;
            let reach = tensor.reach();
            let first = reach.start / tensor.dtype().item_size();
            matmul::Elements { bytes: memory.guard(tensor).bytes(reach), first }
        }
        Source::Buffer(index) => {
            let storage =
                slots[plan.buffers[index].slot].as_ref().expect("a factor is computed before its product");
            matmul::Elements { bytes: storage.bytes(), first: 0 }
        }
    }
}

fn allocate(buffer: &Buffer) -> Result<Storage> {
    let bytes = checked_bytes(&buffer.shape, buffer.dtype.item_size())?;
    Storage::zeroed(bytes).ok_or_else(|| Error::OutOfMemory { bytes, shape: buffer.shape.clone() })
}

/// Bytes of tiles that a step needs on all threads.
pub(crate) fn tile_bytes(step: &Step) -> usize {
    let program = match &step.work {
        Work::Map { program, .. } | Work::Reduce { program, .. } => program,
        Work::Matmul { .. } => return 0,
    };
    let threads = if step.visits() < GRAIN { 1 } else { rayon::current_num_threads() };
    program::machine_bytes(program) * threads
}

/// Permission on all storages that a plan touches.
struct Memory {
    guards: Vec<(usize, Guard)>,
}

impl Memory {
    /// Waits for the operands and the target, in the order of their addresses so that no two evaluations wait for
    /// each other.
    fn claim(leaves: &[Leaf], target: Option<&Tensor>) -> Result<Memory> {
        let mut wanted: Vec<(&Arc<Storage>, Vec<Claim>)> = Vec::new();
        let reads = leaves.iter().map(|leaf| (&leaf.tensor, false));
        for (tensor, write) in reads.chain(target.map(|target| (target, true))) {
            let claim = Claim { bytes: tensor.reach(), write };
            match wanted.iter_mut().find(|(storage, _)| Arc::ptr_eq(storage, tensor.storage())) {
                Some((_, claims)) => claims.push(claim),
                None => wanted.push((tensor.storage(), vec![claim])),
            }
        }
        wanted.sort_by_key(|(storage, _)| Arc::as_ptr(storage) as usize);
        let guards: Vec<(usize, Guard)> = wanted
            .into_iter()
            .map(|(storage, claims)| Ok((Arc::as_ptr(storage) as usize, Guard::acquire(storage, claims)?)))
            .collect::<Result<_>>()?;
        let memory = Memory { guards };
        for leaf in leaves {
            let found = memory.guard(&leaf.tensor).version_before();
            if found != leaf.version {
                let shape = leaf.tensor.shape_value().clone();
                return Err(Error::Modified { shape, captured: leaf.version, found });
            }
        }
        Ok(memory)
    }

    fn guard(&self, tensor: &Tensor) -> &Guard {
        let address = Arc::as_ptr(tensor.storage()) as usize;
        let (_, guard) =
            self.guards.iter().find(|(own, _)| *own == address).expect("every tensor of a plan is claimed");
        guard
    }
}

/// Evaluates into an existing tensor, whose shape and dtype stay.
pub(crate) fn run_into(expr: &Expr, out: &Tensor) -> Result<()> {
    let meta = expr.meta()?;
    check_in_place(out.shape(), &meta.shape)?;
    if !can_cast(meta.dtype(), out.dtype()) {
        return Err(OpError::Cast { from: meta.dtype(), to: out.dtype() }.into());
    }
    if out.layout().has_internal_overlap() != InternalOverlap::No {
        return Err(Error::WriteToExpanded);
    }
    let plan = Plan::into_layout(&expr.to_dtype(out.dtype()), out.layout())?;
    if reads_elsewhere(&plan, out) {
        // What it reads may be overwritten before it is read: the result is computed first, then copied.
        let result = expr.to_dtype(out.dtype()).materialise()?;
        let copy = Plan::into_layout(&Expr::from(&result), out.layout())?;
        return run(&copy, Some(out)).map(drop);
    }
    run(&plan, Some(out)).map(drop)
}

/// Whether a plan reads elements of its target at other places than it writes them, or in other passes.
fn reads_elsewhere(plan: &Plan, out: &Tensor) -> bool {
    let shares = |leaf: &Leaf| leaf.tensor.shares_storage(out);
    let [Step { work: Work::Map { program, out: strides, out_offset, .. }, .. }] = &plan.steps[..] else {
        return plan.leaves.iter().any(shares);
    };
    program.loads.iter().any(|load| match load.source {
        Source::Leaf(leaf) => {
            let leaf = &plan.leaves[leaf];
            let same = load.strides == *strides && load.offset == *out_offset && load.dtype == out.dtype();
            shares(leaf) && !same && leaf.tensor.layout().overlap(out.layout()) != Overlap::None
        }
        Source::Buffer(_) => false,
    })
}

/// Runs a parallel section on the pool's threads, on which a wait for its parts is a wait inside the section.
fn in_pool<R: Send>(section: impl FnOnce() -> R + Send) -> R {
    if rayon::current_thread_index().is_some() { section() } else { rayon::scope(|_| section()) }
}

/// Both tasks, side by side if a thread is free.
fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let _section = Section::enter();
    rayon::join(a, b)
}
