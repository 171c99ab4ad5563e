//! The limit: the bandwidth of this machine's memory for loops that only move a workload's bytes. It has two
//! modes: `fresh` writes with non-temporal stores (NT-STREAM), `reuse` with ordinary ones, which are faster
//! in caches. It does not know any library.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::sync::Arc;

use zerostride_bench::{Case, Peer, Task, serve};

/// A multiple of the elements of a vector in every instruction set; threads' parts are multiples of it.
const BLOCK: usize = 64;

/// The alignment of buffers.
const HUGE_PAGE: usize = 2 << 20;

/// Memory of f32 in huge pages, if the system grants them, so that page walks do not affect the limit.
struct Buffer {
    start: *mut f32,
    layout: Layout,
}

// SAFETY: the pointer is the buffer's own, and the loops below write to disjoint parts of it.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn new(len: usize) -> Buffer {
        let layout = Layout::from_size_align(len.max(BLOCK) * 4, HUGE_PAGE).expect("sizes are small");
        // SAFETY: the layout has at least the size of a block.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        #[cfg(target_os = "linux")]
        // SAFETY: advice about memory that is ours and has not been touched yet; it is harmless if refused.
        unsafe {
            libc::madvise(start.cast(), layout.size(), libc::MADV_HUGEPAGE);
        }
        // SAFETY: within its size. It is written once so that every page exists before a clock runs.
        unsafe { start.write_bytes(1, layout.size()) };
        Buffer { start: start.cast(), layout }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, freed once.
        unsafe { dealloc(self.start.cast(), self.layout) };
    }
}

/// Reads none, one or two arrays of f32 and writes one, or only reads.
#[derive(Clone, Copy)]
enum Kernel {
    Fill,
    Copy,
    Add,
    Read,
}

impl Kernel {
    /// The kernel that is most like the task in the bytes that it moves, and the elements of each of its
    /// arrays.
    fn like(task: &Task) -> (Kernel, usize) {
        let read = task.traffic() - task.result_bytes();
        let written = task.result_bytes();
        let kernel = match read as f64 / written as f64 {
            ratio if ratio < 0.5 => Kernel::Fill,
            ratio if ratio < 1.5 => Kernel::Copy,
            ratio if ratio < 8.0 => Kernel::Add,
            _ => Kernel::Read,
        };
        (kernel, (task.traffic() / 4 / kernel.arrays()).next_multiple_of(BLOCK))
    }

    fn arrays(self) -> usize {
        match self {
            Kernel::Fill | Kernel::Read => 1,
            Kernel::Copy => 2,
            Kernel::Add => 3,
        }
    }
}

/// The loops, once for each instruction set.
macro_rules! loops {
    ($($name:ident $feature:literal $lanes:literal $load:ident $store:ident $stream:ident $add:ident $splat:ident;)*) => {
        $(
            /// # Safety
            /// The processor has the feature; the pointers are aligned to 64 bytes and valid for `len`
            /// elements, a multiple of `BLOCK`; `out` overlaps neither other unless it is one of them.
            #[target_feature(enable = $feature)]
            unsafe fn $name(kernel: Kernel, nt: bool, a: *const f32, b: *const f32, out: *mut f32, len: usize) {
                // SAFETY: every index is below `len`, at which the loops end.
                unsafe {
                    match kernel {
                        Kernel::Read => {
                            let mut sums = [$splat(0.0); BLOCK / $lanes];
                            for i in (0..len).step_by(BLOCK) {
                                for (lane, sum) in sums.iter_mut().enumerate() {
                                    *sum = $add(*sum, $load(a.add(i + lane * $lanes)));
                                }
                            }
                            std::hint::black_box(sums);
                        }
                        _ => {
                            // Not zeros: some processors do not write lines of zeros to memory, which is
                            // three times as fast.
                            let filling = $splat(1.0);
                            for i in (0..len).step_by($lanes) {
                                let value = match kernel {
                                    Kernel::Copy => $load(a.add(i)),
                                    Kernel::Add => $add($load(a.add(i)), $load(b.add(i))),
                                    _ => filling,
                                };
                                if nt { $stream(out.add(i), value) } else { $store(out.add(i), value) }
                            }
                        }
                    }
                }
                if nt {
                    _mm_sfence();
                }
            }
        )*
    };
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
loops! {
    avx512 "avx512f" 16 _mm512_load_ps _mm512_store_ps _mm512_stream_ps _mm512_add_ps _mm512_set1_ps;
    avx    "avx"     8  _mm256_load_ps _mm256_store_ps _mm256_stream_ps _mm256_add_ps _mm256_set1_ps;
    sse2   "sse2"    4  _mm_load_ps    _mm_store_ps    _mm_stream_ps    _mm_add_ps    _mm_set1_ps;
}

/// # Safety
/// As the loops above.
#[cfg(target_arch = "x86_64")]
unsafe fn run(kernel: Kernel, nt: bool, a: *const f32, b: *const f32, out: *mut f32, len: usize) {
    // SAFETY: each feature is checked before it is used; the rest is the caller's guarantee.
    unsafe {
        if is_x86_feature_detected!("avx512f") {
            avx512(kernel, nt, a, b, out, len);
        } else if is_x86_feature_detected!("avx") {
            avx(kernel, nt, a, b, out, len);
        } else {
            sse2(kernel, nt, a, b, out, len);
        }
    }
}

/// Other processors have no non-temporal stores in stable Rust: both variants are ordinary loops.
///
/// # Safety
/// As the loops above.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn run(kernel: Kernel, _: bool, a: *const f32, b: *const f32, out: *mut f32, len: usize) {
    // SAFETY: valid for `len` elements; where `out` is one of the others nothing is read after it was
    // written.
    unsafe {
        match kernel {
            Kernel::Fill => out.write_bytes(0, len),
            Kernel::Copy => out.copy_from(a, len),
            Kernel::Add => (0..len).for_each(|i| *out.add(i) = *a.add(i) + *b.add(i)),
            Kernel::Read => {
                let mut sums = [0.0f32; BLOCK];
                for i in (0..len).step_by(BLOCK) {
                    sums.iter_mut().enumerate().for_each(|(lane, sum)| *sum += *a.add(i + lane));
                }
                std::hint::black_box(sums);
            }
        }
    }
}

struct Stream;

/// One kernel over its arrays, divided among the threads.
fn measured(kernel: Kernel, nt: bool, buffers: &[Buffer], len: usize) {
    let threads = rayon::current_num_threads();
    // Below this a second thread costs more than it brings.
    let parts = if len * 4 * kernel.arrays() < 128 << 10 { 1 } else { threads };
    let part = len.div_ceil(parts).next_multiple_of(BLOCK);
    let work = |start: usize| {
        let of = |index: usize| {
            let buffer = &buffers[index.min(buffers.len() - 1)];
            // SAFETY: every buffer has `len` elements, and `start` is at most that.
            unsafe { buffer.start.add(start) }
        };
        // SAFETY: buffers are aligned to huge pages and parts are multiples of a block; the last array of a
        // kernel is the one it writes, and parts of different threads do not overlap.
        unsafe { run(kernel, nt, of(0), of(1), of(kernel.arrays() - 1), part.min(len - start)) };
    };
    if parts == 1 {
        work(0);
    } else {
        rayon::scope(|scope| {
            (0..parts).map(|i| i * part).filter(|start| *start < len).for_each(|start| {
                scope.spawn(move |_| work(start));
            });
        });
    }
}

impl Peer for Stream {
    fn hello(&self) -> (String, String) {
        ("stream".into(), env!("CARGO_PKG_VERSION").into())
    }

    fn prepare(&mut self, task: &Task) -> Result<Case, String> {
        let (kernel, len) = Kernel::like(task);
        let buffers: Arc<[Buffer]> = (0..kernel.arrays()).map(|_| Buffer::new(len)).collect();
        let ordinary = Arc::clone(&buffers);
        // There is no result to compare.
        let nothing = |(): &()| (Vec::new(), Vec::new());
        Ok(Case::fresh(move || measured(kernel, true, &buffers, len), nothing)
            .reuse(move || measured(kernel, false, &ordinary, len)))
    }
}

fn main() {
    serve(Stream);
}
