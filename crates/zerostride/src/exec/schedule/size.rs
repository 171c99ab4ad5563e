//! Owns the question how large some work is, which decides who runs it. It does not know what is computed,
//! nor how long that takes (`plan/cost.rs`).

use crate::exec::cache;
use crate::plan::Cost;

/// Elements below which code is not worth being called.
const FEW_ELEMENTS: usize = 32;

/// Nanoseconds beyond which work must be interruptible and claim its operands: a plan does both.
const MEDIUM_NANOS: usize = 1_000_000;

/// How large some work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Size {
    /// Not worth dividing among threads: the calling thread does it at once.
    Small,
    /// Worth dividing, but short, and in the caches: threads divide a single operation without a plan.
    Medium,
    /// Left to a plan.
    Large,
}

impl Size {
    pub(super) fn of(cost: Cost) -> Size {
        match cost.nanos() {
            _ if !cost.is_divided() => Size::Small,
            ..=MEDIUM_NANOS if !cache::is_far(cost.bytes()) => Size::Medium,
            _ => Size::Large,
        }
    }

    /// Whether small work is on so few elements that a kernel is done before code has its addresses.
    #[inline(always)]
    pub(super) fn is_few(elements: usize) -> bool {
        elements < FEW_ELEMENTS
    }
}
