//! Owns the processors that threads run on, where the system tells and lets them choose: Linux. It does not
//! know why a thread leaves one.

#[cfg(all(target_os = "linux", not(miri)))]
use std::mem::MaybeUninit;

/// The processor that this thread runs on at the moment.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn current() -> Option<usize> {
    // SAFETY: the call has no arguments.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves this thread to a processor that it may run on and that is none of `others`, if there is one. It may
/// run on the same processors afterwards as before.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn leave(others: impl Iterator<Item = usize>) {
    const BYTES: usize = size_of::<libc::cpu_set_t>();
    let mut all = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: any bits are a set of processors. Each call reads or writes one set, whose size it is told, and
    // `CPU_CLR` gets a bit within it.
    unsafe {
        if libc::sched_getaffinity(0, BYTES, all.as_mut_ptr()) != 0 {
            return;
        }
        let all = all.assume_init();
        let mut free = all;
        others.filter(|&other| other < 8 * BYTES).for_each(|other| libc::CPU_CLR(other, &mut free));
        if libc::CPU_COUNT(&free) > 0 && libc::sched_setaffinity(0, BYTES, &free) == 0 {
            libc::sched_setaffinity(0, BYTES, &all);
        }
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(super) fn current() -> Option<usize> {
    None
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(super) fn leave(_: impl Iterator<Item = usize>) {}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::iter;
    use std::thread::{self, available_parallelism};

    use super::*;

    #[test]
    fn a_thread_leaves_its_processor_and_may_come_back() {
        let leaves = || {
            let own = current().expect("Linux tells");
            leave(iter::once(own));
            current() != Some(own)
        };
        let processors = || available_parallelism().unwrap().get();
        let before = processors();
        thread::scope(|scope| {
            scope.spawn(|| {
                // The system may move it back at once.
                assert!(before == 1 || iter::repeat_with(leaves).take(1000).any(|left| left));
                assert_eq!(processors(), before);
            });
        });
    }

    #[test]
    fn a_thread_that_has_nowhere_to_go_stays() {
        leave(0..1 << 20);
        assert!(current().is_some());
    }
}
