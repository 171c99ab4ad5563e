//! Owns the queue of devices: what is launched, in which order, and that no kernel touches other memory than
//! its operands. It does not know plans.
//!
//! The driver runs the work of a device in the order in which it is given, and one thread at a time gives it
//! some, so that what an operation enqueues is one after the other. Memory is freed in the same order: a
//! kernel that is still to run has its operands, though no tensor may be left.

use std::collections::HashMap;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::{Arc, MutexGuard};

use zerostride_code::print::Unprintable;
use zerostride_code::print::ptx::{
    self, Argument, LeavesForm, LeavesLoop, LevelLoop, MapForm, MapLoop, ProductCodes, ProductForm,
    ProductLoop, ReductionCodes, THREADS,
};
use zerostride_code::{Code, Type};
use zerostride_cuda::{Gpu, Kernel, Memory};
use zerostride_kernels::PRODUCT_CHAIN;
use zerostride_ops::DType;
use zerostride_shape::{Layout, Shape};

use super::record::Missing;
use super::reduction::Reduced;
use crate::fork::{Guarded, Lock};
use crate::memory::{Shared, Storage};
use crate::{Device, Error, Result, Tensor};

/// Kernels that are kept for loops to come.
const MOST_KERNELS: usize = 1024;

/// What a kernel is printed from, with the number of its device.
#[derive(Clone, PartialEq, Eq, Hash)]
enum KernelKey {
    Map(Arc<Code>, MapForm),
    Leaves { reduced: Arc<Reduced>, form: LeavesForm, ends: bool },
    Level { reduced: Arc<Reduced>, ends: bool },
    Product(Arc<ProductCodes>, ProductForm),
}

static KERNELS: Lock<Option<HashMap<(usize, KernelKey), Kernel>>> = Lock::new(Guarded::Devices, None);

/// An error of a device's driver.
fn failure(index: usize, error: &zerostride_cuda::Error) -> Error {
    Error::Device { device: Device::Cuda(index), reason: error.to_string() }
}

/// Why a step does not run.
#[derive(Debug)]
pub(super) enum Refusal {
    /// An operation has no code.
    Missing(Missing),
    /// There is no kernel of this loop.
    Printer(Unprintable),
    /// The device has no memory left for so many bytes, which are needed besides operands and result.
    Memory(usize),
    Error(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Error(error)
    }
}

impl From<Unprintable> for Refusal {
    fn from(error: Unprintable) -> Refusal {
        Refusal::Printer(error)
    }
}

/// Memory of a device that is there while `'a` lasts, and then until the work is done that was enqueued.
#[derive(Clone, Copy)]
pub(super) struct DeviceBytes<'a> {
    start: u64,
    len: u64,
    alive: PhantomData<&'a ()>,
}

impl<'a> DeviceBytes<'a> {
    /// The storage of a tensor that is on a device.
    pub(super) fn of_tensor(tensor: &'a Tensor) -> DeviceBytes<'a> {
        assert_ne!(tensor.device(), Device::Cpu);
        let storage = tensor.storage();
        DeviceBytes {
            start: storage.start().addr().get() as u64,
            len: storage.len() as u64,
            alive: PhantomData,
        }
    }

    pub(super) fn of_memory(memory: &'a Memory) -> DeviceBytes<'a> {
        DeviceBytes { start: memory.address(), len: memory.len() as u64, alive: PhantomData }
    }
}

/// An operand of a loop.
#[derive(Clone)]
pub(super) enum DeviceOperand<'a> {
    /// The bits of a number.
    Number(u64),
    /// Elements in memory, the first so many bytes into it, with distances in bytes along each dimension.
    Elements { piece: DeviceBytes<'a>, first: i64, strides: Vec<i64> },
}

impl DeviceOperand<'_> {
    /// The operand as a kernel's argument.
    ///
    /// # Panics
    /// If an element of the loop is outside of the memory.
    fn argument(&self, sizes: &[u32], ty: Type) -> Argument {
        match self {
            DeviceOperand::Number(bits) => Argument::Number(*bits),
            DeviceOperand::Elements { piece, first, strides } => {
                assert_eq!(strides.len(), sizes.len());
                let (mut low, mut high) = (i128::from(*first), i128::from(*first));
                for (&size, &stride) in sizes.iter().zip(strides) {
                    let reach = i128::from(stride) * (i128::from(size) - 1);
                    if reach < 0 { low += reach } else { high += reach }
                }
                let is_inside = low >= 0 && high + i128::from(ty.bytes()) <= piece.len.into();
                assert!(is_inside || sizes.contains(&0), "elements of the loop are in its operands");
                Argument::Elements {
                    address: piece.start.wrapping_add_signed(*first),
                    strides: strides.clone(),
                }
            }
        }
    }
}

fn arguments(
    operands: &[DeviceOperand<'_>],
    sizes: &[u32],
    types: impl Iterator<Item = Type>,
) -> Vec<Argument> {
    operands.iter().zip(types).map(|(operand, ty)| operand.argument(sizes, ty)).collect()
}

/// The reduction as it is printed: what it ends with is stored, or its accumulators are.
fn printed(reduced: &Reduced, ends: bool) -> ReductionCodes<'_> {
    let ending = ends.then_some(&reduced.ending);
    let Reduced { step, before, merge, empty, .. } = reduced;
    ReductionCodes { step, before: before.as_ref().map(|(code, count)| (code, *count)), merge, ending, empty }
}

/// The most bytes that [`Queue::reduce`] holds at once, of so many results, each of so many leaves: the
/// accumulators of a level of the tree, and those that the next one stores.
pub(super) fn tree_bytes(reduced: &Reduced, results: u64, leaves: u32) -> u64 {
    let stored = |left: u32| if left == 1 { 0 } else { u64::from(left) };
    let level = LevelLoop { results: 1, left: leaves, from: Vec::new(), to: Vec::new() };
    let own: u64 = reduced.step.result_types().map(|ty| u64::from(ty.bytes())).sum();
    own.saturating_mul(results).saturating_mul(stored(leaves) + stored(level.left_after()))
}

/// A device that only this thread gives work to.
pub(super) struct Queue {
    gpu: &'static Gpu,
    kernels: MutexGuard<'static, Option<HashMap<(usize, KernelKey), Kernel>>>,
}

impl Queue {
    pub(super) fn of(index: usize) -> Result<Queue> {
        // The lock first, so that a fork finds the driver's own free.
        let kernels = KERNELS.lock();
        let gpu = Gpu::open(index).map_err(|error| failure(index, &error))?;
        Ok(Queue { gpu, kernels })
    }

    pub(super) fn device(&self) -> Device {
        Device::Cuda(self.gpu.index())
    }

    /// The bytes of the device's second-level cache.
    pub(super) fn cache_bytes(&self) -> u64 {
        self.gpu.cache_bytes()
    }

    fn failure(&self, error: &zerostride_cuda::Error) -> Error {
        failure(self.gpu.index(), error)
    }

    /// Memory for a tensor of a shape.
    pub(super) fn memory_of(&self, bytes: usize, shape: &Shape) -> Result<Memory> {
        self.gpu.allocate(bytes).map_err(|error| match error.is_out_of_memory() {
            true => Error::OutOfMemory { bytes, shape: shape.clone() },
            false => self.failure(&error),
        })
    }

    /// Memory that a step needs besides its operands and its result.
    pub(super) fn allocate(&self, bytes: usize) -> Result<Memory, Refusal> {
        self.gpu.allocate(bytes).map_err(|error| match error.is_out_of_memory() {
            true => Refusal::Memory(bytes),
            false => self.failure(&error).into(),
        })
    }

    /// The bytes in memory from a place on, once all work before is done.
    ///
    /// # Panics
    /// If there are fewer.
    pub(super) fn download(&self, from: DeviceBytes<'_>, first: u64, to: &mut [u8]) -> Result<()> {
        assert!(first.checked_add(to.len() as u64).is_some_and(|end| end <= from.len));
        // SAFETY: the range is in memory that is there, and only the queue, which is locked, gives work that
        // writes there.
        unsafe { self.gpu.download(from.start + first, to) }.map_err(|error| self.failure(&error))
    }

    /// Launches a kernel, which is printed if it is not kept.
    ///
    /// # Safety
    /// What it touches with these arguments is memory of the device that is there.
    unsafe fn launch(
        &mut self,
        source: KernelKey,
        blocks: u32,
        arguments: &[u64],
        print: impl FnOnce() -> Result<ptx::Kernel, Unprintable>,
    ) -> Result<(), Refusal> {
        if blocks == 0 {
            return Ok(());
        }
        let (kernels, key) = (self.kernels.get_or_insert_default(), (self.gpu.index(), source));
        if !kernels.contains_key(&key) {
            let ptx::Kernel { name, text } = print()?;
            if kernels.len() >= MOST_KERNELS {
                kernels.clear();
            }
            let kernel = self.gpu.kernel(&text, name).map_err(|error| failure(self.gpu.index(), &error))?;
            kernels.insert(key.clone(), kernel);
        }
        // SAFETY: the loop has made the arguments for the form that the kernel is printed of; the caller
        // vouches for the memory, which is freed in the order of the queue.
        let launched = unsafe { self.gpu.launch(&kernels[&key], (blocks, THREADS), arguments) };
        launched.map_err(|error| self.failure(&error).into())
    }

    /// An element-wise loop: operands are the inputs of the code and its results, which share no memory with
    /// others unless they are the same elements.
    ///
    /// # Panics
    /// If an element is outside of its operand.
    pub(super) fn map(
        &mut self,
        code: &Arc<Code>,
        sizes: &[u32],
        operands: &[DeviceOperand<'_>],
    ) -> Result<(), Refusal> {
        let types = code.inputs().iter().copied().chain(code.result_types());
        let loops = MapLoop { sizes: sizes.to_vec(), operands: arguments(operands, sizes, types) };
        let form = loops.form(code)?;
        let (blocks, words) = (loops.blocks(&form), loops.arguments(&form));
        // SAFETY: the elements of all operands are inside of memory that is there.
        unsafe {
            self.launch(KernelKey::Map(Arc::clone(code), form.clone()), blocks, &words, || {
                ptx::map(code, &form)
            })
        }
    }

    /// Reduces the last dimensions of a loop, and writes contiguous results, one after the other in row-major
    /// order, from a byte of each target on. Operands are the inputs of the step but the accumulators.
    ///
    /// # Panics
    /// If an element is outside of its operand or target.
    pub(super) fn reduce(
        &mut self,
        reduced: &Arc<Reduced>,
        (kept, along): (&[u32], &[u32]),
        operands: &[DeviceOperand<'_>],
        targets: &[(DeviceBytes<'_>, u64)],
        (lanes, leaf): (u32, u32),
    ) -> Result<(), Refusal> {
        let count: u32 = kept.iter().product();
        let sizes: Vec<u32> = kept.iter().chain(along).copied().collect();
        let mut loops = LeavesLoop {
            kept: kept.to_vec(),
            reduced: along.to_vec(),
            operands: arguments(operands, &sizes, reduced.step.inputs().iter().copied()),
            results: Vec::new(),
            lanes,
            leaf,
        };
        let mut left = loops.leaves();
        let form = loops.form(&printed(reduced, left == 1))?;
        let accumulators = |queue: &Queue, left: u32| -> Result<Vec<Memory>, Refusal> {
            let bytes = |ty: Type| count as usize * left as usize * ty.bytes() as usize;
            reduced.step.result_types().map(|ty| queue.allocate(bytes(ty))).collect()
        };
        let last: Vec<u64> = targets
            .iter()
            .zip(reduced.ending.result_types())
            .map(|(&(piece, first), ty)| {
                let bytes = u64::from(count) * u64::from(ty.bytes());
                assert!(
                    first.checked_add(bytes).is_some_and(|end| end <= piece.len),
                    "results are in a target"
                );
                piece.start + first
            })
            .collect();
        let addresses = |memory: &[Memory]| memory.iter().map(Memory::address).collect::<Vec<u64>>();
        // Each is freed after the launch that reads it, in the order of the queue.
        let mut memory = if left == 1 { Vec::new() } else { accumulators(self, left)? };
        loops.results = if left == 1 { last.clone() } else { addresses(&memory) };
        let (blocks, words) = (loops.blocks(&form), loops.arguments(&form));
        let source = KernelKey::Leaves { reduced: Arc::clone(reduced), form: form.clone(), ends: left == 1 };
        let reduction = printed(reduced, left == 1);
        // SAFETY: the elements of all operands are inside of memory that is there, and so are the results.
        unsafe { self.launch(source, blocks, &words, || ptx::leaves(&reduction, &form)) }?;
        while left > 1 {
            let mut level = LevelLoop { results: count, left, from: addresses(&memory), to: Vec::new() };
            left = level.left_after();
            let next = if left == 1 { Vec::new() } else { accumulators(self, left)? };
            level.to = if left == 1 { last.clone() } else { addresses(&next) };
            let source = KernelKey::Level { reduced: Arc::clone(reduced), ends: left == 1 };
            let print = || ptx::level(&printed(reduced, left == 1));
            // SAFETY: as above; as many accumulators are left as were stored, and as many are stored as the
            // next level has.
            unsafe { self.launch(source, level.blocks(), &level.arguments(), print) }?;
            memory = next;
        }
        Ok(())
    }

    /// Products of matrices: a batch, the lines of each factor and the elements of a line, which are some,
    /// with the parts of both factors. Results are contiguous from a byte of the target on.
    ///
    /// # Panics
    /// If an element is outside of its factor or the target.
    pub(super) fn product(
        &mut self,
        codes: &Arc<ProductCodes>,
        (batch, lines, depth): (&[u32], [u32; 2], u32),
        factors: [Vec<DeviceOperand<'_>>; 2],
        (target, first): (DeviceBytes<'_>, u64),
    ) -> Result<(), Refusal> {
        let of_factor = |(parts, lines): (&Vec<DeviceOperand<'_>>, u32)| {
            let sizes = [batch, &[lines, depth]].concat();
            let types = codes.widen.inputs().iter().copied();
            arguments(parts, &sizes, types).swap_remove(0)
        };
        let [left, right] = &factors;
        let factors = [(left, lines[0]), (right, lines[1])].map(of_factor);
        let result = target.start + first;
        let loops =
            ProductLoop { batch: batch.to_vec(), lines, depth, factors, result, chain: PRODUCT_CHAIN };
        let form = loops.form()?;
        let numel = batch.iter().chain(&lines).map(|&size| u64::from(size)).product::<u64>();
        let item: u64 = codes.ending.result_types().map(|ty| u64::from(ty.bytes())).sum();
        assert!(first + numel * item <= target.len, "results are in the target");
        let (blocks, words) = (loops.blocks(codes), loops.arguments(codes));
        let source = KernelKey::Product(Arc::clone(codes), form.clone());
        // SAFETY: the elements of both factors are inside of memory that is there, and so are the results.
        unsafe { self.launch(source, blocks, &words, || ptx::product(codes, &form)) }
    }
}

/// A tensor on memory of a device.
pub(super) fn tensor(device: Device, memory: Memory, layout: Layout, dtype: DType) -> Tensor {
    let address = ptr::without_provenance_mut(memory.address() as usize);
    let (start, len) = (NonNull::new(address).unwrap_or(NonNull::dangling()), memory.len());
    Tensor::new(Shared::lent(Storage::on_device(start, len, device, Box::new(memory))), layout, dtype)
}

/// A tensor on so many bytes of a device, of any values.
pub(crate) fn empty(index: usize, bytes: usize, layout: Layout, dtype: DType) -> Result<Tensor> {
    let queue = Queue::of(index)?;
    let memory = queue.memory_of(bytes, layout.shape())?;
    Ok(tensor(queue.device(), memory, layout, dtype))
}

/// Bytes as elements of a tensor on a device.
pub(crate) fn upload(index: usize, bytes: &[u8], layout: Layout, dtype: DType) -> Result<Tensor> {
    let queue = Queue::of(index)?;
    let memory = queue.memory_of(bytes.len(), layout.shape())?;
    // SAFETY: the memory has as many bytes, and is known here alone.
    unsafe { queue.gpu.upload(bytes, memory.address()) }.map_err(|error| queue.failure(&error))?;
    Ok(tensor(queue.device(), memory, layout, dtype))
}

/// The bytes from the lowest to the highest element of a tensor that is on a device, once all work before is
/// done.
pub(crate) fn download(tensor: &Tensor, to: &mut [u8]) -> Result<()> {
    let Device::Cuda(index) = tensor.device() else { unreachable!("the tensor is on a device") };
    let reach = tensor.reach();
    assert_eq!(to.len(), reach.len());
    Queue::of(index)?.download(DeviceBytes::of_tensor(tensor), reach.start as u64, to)
}
