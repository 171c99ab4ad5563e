//! Owns the choice of instruction set for the portable loops: the same loop, compiled once more with AVX2 and FMA, where
//! the processor has them. The bits are the same, because the loops only use correctly rounded operations and are never
//! contracted; without FMA each fused multiply-add is a call into the C library. It does not know what a loop does.

/// Runs a loop with the best instructions there are.
#[inline(always)]
pub(crate) fn run<R>(task: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { with_fma(task) };
    }
    task()
}

/// The task, inlined into a function that may use AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_fma<R>(task: impl FnOnce() -> R) -> R {
    task()
}
