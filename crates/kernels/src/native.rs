//! Owns memory for code: bytes that were printed become a function. The memory is never writable and
//! executable at once. It does not know what the code does.

use std::ptr::NonNull;

use once_cell::race::OnceBox;
use zerostride_code::Row;

/// Machine code in memory of its own, which ends with it.
///
/// ```
/// use zerostride_code::{Binary, Builder, Row, Type};
/// use zerostride_kernels::Native;
/// let mut code = Builder::new();
/// let (x, y) = (code.input(Type::F32), code.input(Type::F32));
/// let sum = code.binary(Binary::Add, x, y);
/// // There is none for some processors and systems.
/// if let Some(native) = Native::of(&Row::contiguous(code.finish(&[sum]))) {
///     let (x, y, mut sum) = ([1.0f32, 2.0, 3.0], [0.5f32; 3], [0.0f32; 3]);
///     let address = |of: *const f32| of.cast_mut().cast::<u8>();
///     let operands = [address(x.as_ptr()), address(y.as_ptr()), sum.as_mut_ptr().cast()];
///     // One row has no distance to the next.
///     let mut arguments = [operands, [std::ptr::null_mut(); 3]].concat();
///     // SAFETY: the inputs have three elements, and the result has room for as many.
///     unsafe { native.call(arguments.as_mut_ptr(), 3, 1) };
///     assert_eq!(sum, [1.5, 2.5, 3.5]);
/// }
/// ```
#[derive(Debug)]
pub struct Native {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is never written after `new`, and may be read and run by any thread.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

/// When rows are printed as machine code; no result depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Printing {
    /// Where they have computed enough to be worth it: what is done unless `ZEROSTRIDE_CODE` says otherwise.
    Worth,
    /// At their first use: `ZEROSTRIDE_CODE=printed`.
    Always,
    /// Never: `ZEROSTRIDE_CODE=portable`, and where none are printed for
    /// [`Isa::active`](crate::Isa::active).
    Never,
}

impl Printing {
    /// The values of `ZEROSTRIDE_CODE`.
    pub const NAMES: [&str; 2] = ["printed", "portable"];

    /// Elements that a program computes by its stages before it is printed, which takes as long as some tens
    /// of thousands of them.
    pub const WORTH_ELEMENTS: usize = 1 << 16;

    /// What is done in this process.
    ///
    /// # Panics
    /// If `ZEROSTRIDE_CODE` has none of its values.
    pub fn active() -> Printing {
        static ACTIVE: OnceBox<Printing> = OnceBox::new();
        let find = || {
            let asked = match std::env::var_os("ZEROSTRIDE_CODE").filter(|asked| !asked.is_empty()) {
                None => Printing::Worth,
                Some(asked) if asked == Printing::NAMES[0] => Printing::Always,
                Some(asked) if asked == Printing::NAMES[1] => Printing::Never,
                Some(asked) => {
                    let (asked, known) = (asked.to_string_lossy(), Printing::NAMES.join(", "));
                    panic!("ZEROSTRIDE_CODE={asked}: there are {known}")
                }
            };
            if printer::is_there() && gives_memory() { asked } else { Printing::Never }
        };
        *ACTIVE.get_or_init(|| Box::new(find()))
    }

    /// What is done in this process and why, in a few words for people.
    pub fn describe() -> String {
        match Printing::active() {
            Printing::Worth => {
                return format!(
                    "printed for formulas that have computed {} elements",
                    Printing::WORTH_ELEMENTS
                );
            }
            Printing::Always => "printed for formulas at their first use (ZEROSTRIDE_CODE=printed)",
            Printing::Never if !printer::is_there() => {
                "portable: none is printed for these instructions and this system"
            }
            Printing::Never if !gives_memory() => "portable: the system gives no memory for code",
            Printing::Never => "portable (ZEROSTRIDE_CODE=portable)",
        }
        .to_owned()
    }
}

/// Whether the system gives memory for code.
fn gives_memory() -> bool {
    Native::new(&[0]).is_some()
}

impl Native {
    /// The code of a row for [`Isa::active`](crate::Isa::active); `None` where none is printed for that or
    /// the system gives no memory for code.
    pub fn of(row: &Row) -> Option<Native> {
        Native::new(&printer::print(row)?)
    }

    /// The code in memory from which it can be called, or `None` where the system gives none.
    pub fn new(code: &[u8]) -> Option<Native> {
        let bytes = code.len();
        let start = memory::reserve(bytes)?;
        let native = Native { start, bytes };
        // SAFETY: the memory is fresh, as long as the code, and may still be written.
        unsafe { start.as_ptr().copy_from_nonoverlapping(code.as_ptr(), bytes) };
        memory::make_executable(start, bytes).then_some(native)
    }

    /// Bytes of the code.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Calls the code from its first byte.
    ///
    /// # Safety
    /// The code is that of a row as the printer for this processor (`zerostride_code::print`) writes it, for
    /// a set of instructions that the processor has. The arguments are what that function asks for, and may
    /// be written: the addresses of operands, `count` elements of which may be read in each of so many rows,
    /// with the bytes between those that the row says to be a few apart, or written if they are results,
    /// their distances from row to row, and those between elements, where there are any; and no other thread
    /// uses them in between but to read inputs.
    pub unsafe fn call(&self, arguments: *mut *mut u8, count: usize, rows: usize) {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        {
            // SAFETY: the memory begins with code that is such a function, by the contract.
            let function = unsafe { std::mem::transmute::<*mut u8, printer::Function>(self.start.as_ptr()) };
            // SAFETY: by the contract.
            unsafe { function(arguments, count, rows) }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unreachable!("there is no code for this processor: {arguments:?}, {count}, {rows}")
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        memory::free(self.start, self.bytes);
    }
}

/// Waits until other threads see what was written with non-temporal stores.
pub fn fence() {
    // SAFETY: every x86-64 has the instruction.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
mod printer {
    use zerostride_code::Row;
    use zerostride_code::print::x86_64::{self, Set};

    use crate::isa::Isa;

    pub(super) type Function = unsafe extern "sysv64" fn(*mut *mut u8, usize, usize);

    /// The instructions in use, if rows are printed for them.
    fn set() -> Option<Set> {
        match Isa::active() {
            Isa::Avx512 => Some(Set::Avx512),
            Isa::Avx2 => Some(Set::Avx2),
            Isa::Portable | Isa::Neon => None,
        }
    }

    /// Whether rows are printed for the instructions in use.
    pub(super) fn is_there() -> bool {
        set().is_some()
    }

    /// The machine code of a row.
    pub(super) fn print(row: &Row) -> Option<Vec<u8>> {
        x86_64::print(row, set()?).ok()
    }
}

#[cfg(target_arch = "aarch64")]
mod printer {
    use zerostride_code::Row;
    use zerostride_code::print::aarch64;

    use crate::isa::Isa;

    pub(super) type Function = unsafe extern "C" fn(*mut *mut u8, usize, usize);

    /// Whether rows are printed for the instructions in use.
    pub(super) fn is_there() -> bool {
        Isa::active() == Isa::Neon
    }

    /// The machine code of a row.
    pub(super) fn print(row: &Row) -> Option<Vec<u8>> {
        if is_there() { aarch64::print(row).ok() } else { None }
    }
}

/// No rows are printed for other processors yet.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod printer {
    use zerostride_code::Row;

    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn print(_row: &Row) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(all(has_code, unix))]
mod memory {
    use std::ptr::{NonNull, null_mut};

    /// Fresh memory that may be written.
    pub(super) fn reserve(bytes: usize) -> Option<NonNull<u8>> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: it asks for memory anywhere, which overlaps nothing.
        let start = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
    }

    /// Makes memory of [`reserve`] code, which may no longer be written.
    pub(super) fn make_executable(start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the memory is from `reserve`, and nothing but the code is in it.
        let is_code =
            unsafe { libc::mprotect(start.as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_EXEC) == 0 };
        is_code && super::cache::synchronize(start, bytes)
    }

    /// Gives memory of [`reserve`] back.
    pub(super) fn free(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the memory is from `reserve`, and its owner is gone.
        unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
    }
}

#[cfg(all(has_code, windows))]
mod memory {
    use std::ptr::{NonNull, null};

    use windows_sys::Win32::System::Diagnostics::Debug::FlushInstructionCache;
    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_EXECUTE_READ, PAGE_READWRITE, VirtualAlloc, VirtualFree,
        VirtualProtect,
    };
    use windows_sys::Win32::System::Threading::GetCurrentProcess;

    /// Fresh memory that may be written.
    pub(super) fn reserve(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: it asks for memory anywhere, which overlaps nothing.
        let start = unsafe { VirtualAlloc(null(), bytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE) };
        NonNull::new(start.cast())
    }

    /// Makes memory of [`reserve`] code, which may no longer be written.
    pub(super) fn make_executable(start: NonNull<u8>, bytes: usize) -> bool {
        let (first, mut before) = (start.as_ptr().cast(), 0);
        // SAFETY: the memory is from `reserve`, and nothing but the code is in it.
        let is_code = unsafe { VirtualProtect(first, bytes, PAGE_EXECUTE_READ, &mut before) != 0 };
        // SAFETY: the memory is this process's.
        is_code && unsafe { FlushInstructionCache(GetCurrentProcess(), first, bytes) != 0 }
    }

    /// Gives memory of [`reserve`] back.
    pub(super) fn free(start: NonNull<u8>, _bytes: usize) {
        // SAFETY: the memory is from `reserve`, and its owner is gone.
        unsafe { VirtualFree(start.as_ptr().cast(), 0, MEM_RELEASE) };
    }
}

/// Processors of x86-64 run what was written last.
#[cfg(all(has_code, unix, target_arch = "x86_64"))]
mod cache {
    use std::ptr::NonNull;

    pub(super) fn synchronize(_start: NonNull<u8>, _bytes: usize) -> bool {
        true
    }
}

/// On aarch64 instructions are fetched through caches of their own, which do not see what was written.
#[cfg(all(has_code, target_arch = "aarch64"))]
mod cache {
    use std::arch::asm;
    use std::ptr::NonNull;

    /// Makes all threads fetch what was written as instructions; `false` if the system has no way to.
    pub(super) fn synchronize(start: NonNull<u8>, bytes: usize) -> bool {
        let sizes: usize;
        // SAFETY: any program may read the register, which says how long lines of the caches are.
        unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack, preserves_flags)) };
        let (data, instructions) = (4 << (sizes >> 16 & 15), 4 << (sizes & 15));
        let start = start.as_ptr().addr();
        let lines = |size: usize| (start & !(size - 1)..start + bytes).step_by(size);
        for line in lines(data) {
            // SAFETY: it writes a line of memory that may be read from the cache to where instructions are
            // fetched from, which changes no value.
            unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) };
        }
        // SAFETY: it waits for that.
        unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
        for line in lines(instructions) {
            // SAFETY: it forgets a line of instructions, for all processors.
            unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags)) };
        }
        // SAFETY: it waits for that, and forgets what this thread has fetched.
        unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
        other_threads()
    }

    /// Makes other threads forget what they have fetched, which may be from code that was at the same place.
    fn other_threads() -> bool {
        let commands = [
            libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
            libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
        ];
        // SAFETY: the call takes two numbers, and changes nothing but what processors have fetched.
        commands.into_iter().all(|command| unsafe { libc::syscall(libc::SYS_membarrier, command, 0) == 0 })
    }
}

/// Other systems and processors have no code yet.
#[cfg(not(has_code))]
mod memory {
    use std::ptr::NonNull;

    pub(super) fn reserve(_bytes: usize) -> Option<NonNull<u8>> {
        None
    }

    pub(super) fn make_executable(_start: NonNull<u8>, _bytes: usize) -> bool {
        false
    }

    pub(super) fn free(_start: NonNull<u8>, _bytes: usize) {}
}
