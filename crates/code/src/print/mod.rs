//! Rows printed for processors.

#[cfg(target_arch = "x86_64")]
pub mod x86_64;
