//! Owns the choice of instruction set, once for a process: the widest that the processor has, or the one that
//! `ZEROSTRIDE_ISA` names. It also detects the families of processors for `tuning.rs`. It does not know what
//! is computed. Bits do not depend on the choice: every kernel uses only correctly rounded operations, and
//! none are contracted.

use std::fmt;
#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;

use once_cell::race::OnceBox;

use crate::lane::{self, Register};

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Baseline instructions of the target.
    Portable,
    /// x86-64 with AVX2, FMA and F16C: registers of 32 bytes.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL, and everything of [`Isa::Avx2`]: registers of 64 bytes.
    Avx512,
    /// aarch64: registers of 16 bytes.
    Neon,
}

impl Isa {
    /// From the narrowest to the widest.
    pub const ALL: [Isa; 4] = [Isa::Portable, Isa::Neon, Isa::Avx2, Isa::Avx512];

    /// The name that `ZEROSTRIDE_ISA` knows it by.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Neon => "neon",
        }
    }

    /// Whether this processor has it.
    pub fn is_supported(self) -> bool {
        match self {
            Isa::Portable => true,
            Isa::Avx2 => has_avx2(),
            Isa::Avx512 => has_avx2() && has_avx512(),
            Isa::Neon => cfg!(target_arch = "aarch64"),
        }
    }

    /// The instruction set in use: the one that `ZEROSTRIDE_ISA` names, else the widest that the processor
    /// has.
    ///
    /// # Panics
    /// At its first use, if the variable names no instruction set, or one that the processor lacks: falling
    /// back in silence would make a measurement or a test worthless.
    ///
    /// ```
    /// assert!(zerostride_kernels::Isa::active().is_supported());
    /// ```
    pub fn active() -> Isa {
        static ACTIVE: OnceBox<Isa> = OnceBox::new();
        let find = || match std::env::var_os("ZEROSTRIDE_ISA") {
            None => widest(),
            Some(name) => named(&name.to_string_lossy()).unwrap_or_else(|problem| panic!("{problem}")),
        };
        *ACTIVE.get_or_init(|| Box::new(find()))
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn widest() -> Isa {
    Isa::ALL.into_iter().rev().find(|isa| isa.is_supported()).unwrap_or(Isa::Portable)
}

fn named(name: &str) -> Result<Isa, String> {
    let Some(isa) = Isa::ALL.into_iter().find(|isa| isa.name() == name) else {
        let known = Isa::ALL.map(Isa::name).join(", ");
        return Err(format!("ZEROSTRIDE_ISA={name}: not an instruction set; there are {known}"));
    };
    if isa.is_supported() {
        Ok(isa)
    } else {
        Err(format!("ZEROSTRIDE_ISA={name}: this processor does not have it; {} is its widest", widest()))
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

/// Whether the processor is AMD's, which alone have SSE4a.
pub(crate) fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("sse4a");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether the processor is AMD's from Zen 5 on, which alone of AMD's have VP2INTERSECT.
pub(crate) fn is_zen5() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_amd() && is_x86_feature_detected!("avx512vp2intersect");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// A loop to be compiled for each instruction set. Implementations are marked `#[inline(always)]`, which a
/// closure cannot be, and so is everything they call: a function of its own would not have the instruction
/// set.
pub(crate) trait Task {
    fn run(self);
}

/// Runs a loop compiled for the instruction set in use.
#[inline(always)]
pub(crate) fn run_widest(task: impl Task) {
    // SAFETY: the instruction set in use is one that the processor has.
    unsafe { run_with(Isa::active(), task) }
}

/// Runs a loop with fused multiply-adds where the processor has them: without, each is a call.
#[inline(always)]
pub(crate) fn run_fused(task: impl Task) {
    match Isa::active() {
        _ if cfg!(unoptimised) => task.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set in use is one that the processor has, AVX2 with it.
        Isa::Avx512 | Isa::Avx2 => unsafe { task_with_avx2(task) },
        _ => task.run(),
    }
}

/// Runs a loop with an instruction set; without optimisation as the portable loop, since every value of a
/// register would be spilled. Functions for registers, most of a debug build, are not even compiled then:
/// every choice among them begins with an arm like this one.
///
/// # Safety
/// The processor has it.
#[inline(always)]
pub(crate) unsafe fn run_with(isa: Isa, task: impl Task) {
    match isa {
        _ if cfg!(unoptimised) => task.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller says so.
        Isa::Avx512 => unsafe { task_with_avx512(task) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe { task_with_avx2(task) },
        _ => task.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn task_with_avx2(task: impl Task) {
    task.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
fn task_with_avx512(task: impl Task) {
    task.run();
}

/// Bytes of a cache line, on every processor that the kernels are tuned for.
pub const CACHE_LINE_BYTES: usize = 64;

/// Prefetches `BYTES` from an address on into L2, line by line: L1 has no room for lines of many strips of
/// memory that are not read yet. Does nothing where stable Rust has no instruction for it. The address need
/// not be readable.
#[inline(always)]
pub(crate) fn prefetch<const BYTES: usize>(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..BYTES).step_by(CACHE_LINE_BYTES) {
        let line = at.wrapping_add(line).cast();
        // SAFETY: every x86-64 has the instruction, and it may be given any address.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// A loop over registers of floats, generic in the register; inlined as [`Task`] is.
pub(crate) trait RegisterTask<E> {
    fn run<L: Register<Elem = E>>(self);
}

/// A loop on one type of register.
#[cfg(target_arch = "x86_64")]
struct On<L, T>(T, PhantomData<L>);

#[cfg(target_arch = "x86_64")]
impl<L: Register, T: RegisterTask<L::Elem>> Task for On<L, T> {
    #[inline(always)]
    fn run(self) {
        self.0.run::<L>();
    }
}

/// A register type that knows the instruction set it belongs to.
pub(crate) trait Enter {
    /// Runs a loop with the instruction set.
    ///
    /// # Panics
    /// If the processor lacks it.
    fn enter(task: impl Task);
}

/// A float that every instruction set has registers of.
pub(crate) trait RegisterFloat: lane::Element {
    /// Runs a loop on the registers of the instruction set in use.
    fn run_widest(task: impl RegisterTask<Self>);
}

macro_rules! registers {
    ($($float:ident: $avx512:ident, $avx2:ident, $neon:ident;)*) => {
        $(impl RegisterFloat for $float {
            #[inline(always)]
            fn run_widest(task: impl RegisterTask<$float>) {
                match Isa::active() {
                    _ if cfg!(unoptimised) => task.run::<$float>(),
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: the instruction sets in use are ones that the processor has.
                    Isa::Avx512 => unsafe { task_with_avx512(On::<lane::avx512::$avx512, _>(task, PhantomData)) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    Isa::Avx2 => unsafe { task_with_avx2(On::<lane::avx2::$avx2, _>(task, PhantomData)) },
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => task.run::<lane::neon::$neon>(),
                    _ => task.run::<$float>(),
                }
            }
        }

        impl Enter for $float {
            #[inline(always)]
            fn enter(task: impl Task) {
                task.run();
            }
        }

        #[cfg(target_arch = "x86_64")]
        impl Enter for lane::avx512::$avx512 {
            #[inline(always)]
            fn enter(task: impl Task) {
                assert!(Isa::Avx512.is_supported());
                // SAFETY: the processor has the instruction set.
                unsafe { task_with_avx512(task) }
            }
        }

        #[cfg(target_arch = "x86_64")]
        impl Enter for lane::avx2::$avx2 {
            #[inline(always)]
            fn enter(task: impl Task) {
                assert!(Isa::Avx2.is_supported());
                // SAFETY: the processor has the instruction set.
                unsafe { task_with_avx2(task) }
            }
        }

        #[cfg(target_arch = "aarch64")]
        impl Enter for lane::neon::$neon {
            #[inline(always)]
            fn enter(task: impl Task) {
                task.run();
            }
        })*
    };
}

registers! {
    f32: F32x16, F32x8, F32x4;
    f64: F64x8, F64x4, F64x2;
}

/// Runs a task with an instruction set if the processor has it.
#[cfg(test)]
pub(crate) fn run_on(isa: Isa, task: impl Task) {
    if isa.is_supported() {
        // SAFETY: the processor has the instruction set.
        unsafe { run_with(isa, task) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_instruction_set_or_an_error_that_says_why() {
        assert_eq!(named("portable"), Ok(Isa::Portable));
        assert_eq!(named(widest().name()), Ok(widest()));
        let unknown = "ZEROSTRIDE_ISA=sse9: not an instruction set; there are portable, neon, avx2, avx512";
        assert_eq!(named("sse9"), Err(unknown.into()));
        for isa in Isa::ALL.into_iter().filter(|isa| !isa.is_supported()) {
            let problem = named(isa.name()).unwrap_err();
            assert!(problem.contains("this processor does not have it"), "{problem}");
        }
    }
}
