//! Owns hazard pointers: a thread notes which storages it reads briefly, so that a writer finds them. Reading
//! this way costs one atomic exchange for all operands, where a count on each storage would cost two for
//! each; and threads that read the same storage write to no shared cache line. It does not know what is read.
//!
//! # Why a reader and a writer never miss each other
//!
//! A reader notes its storages, stores their number in `used`, and then checks whether one of them is
//! claimed. A writer claims the storage, and then checks all slots in use. The store of `used`, the claim and
//! both checks are sequentially consistent, so that they have one order. If the reader checks before the
//! claim, it has stored `used` before the writer checks, and the writer finds the note; otherwise the reader
//! finds the claim, and clears `used` again.
//!
//! A writer may find later notes than those that `used` was stored for, because the reader has gone on. Slots
//! are written with release and read with acquire order, so that the earlier reads happen before anything is
//! written; and for its later notes that reader has yet to check for the claim.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::fork::{survivor, this_thread};

/// The most storages that a thread reads at once.
const MOST_STORAGES: usize = 4;

/// Threads that may have slots at the same time; further threads use other claims.
const MOST_SLOTS: usize = 256;

/// One thread's slots, in a cache line of their own.
#[derive(Debug)]
#[repr(align(64))]
struct ThreadSlots {
    /// The thread that has them; 0 if none has.
    owner: AtomicU64,
    /// How many storages are noted.
    used: AtomicUsize,
    /// Addresses of storages; 0 stands for none.
    storages: [AtomicUsize; MOST_STORAGES],
}

impl ThreadSlots {
    const fn free() -> ThreadSlots {
        ThreadSlots {
            owner: AtomicU64::new(0),
            used: AtomicUsize::new(0),
            storages: [const { AtomicUsize::new(0) }; MOST_STORAGES],
        }
    }

    /// Whether a storage is among those noted.
    fn hold(&self, address: usize) -> bool {
        let used = &self.storages[..self.used.load(Ordering::SeqCst)];
        used.iter().any(|slot| slot.load(Ordering::Acquire) == address)
    }
}

static SLOTS: [ThreadSlots; MOST_SLOTS] = [const { ThreadSlots::free() }; MOST_SLOTS];

/// The number of slots that have ever been taken, from the first on.
static USED: AtomicUsize = AtomicUsize::new(0);

/// How often a writer looks before it lets other threads run.
const HAZARD_LOOKS: usize = 64;

/// A thread's own slots, if there were any left.
#[derive(Debug)]
pub(crate) struct Hazards(Option<&'static ThreadSlots>);

impl Hazards {
    /// Slots that no other thread has until this is dropped.
    pub(crate) fn new() -> Hazards {
        let is_free = |slots: &ThreadSlots| {
            slots.owner.compare_exchange(0, this_thread(), Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let place = SLOTS.iter().position(is_free);
        if let Some(place) = place {
            USED.fetch_max(place + 1, Ordering::SeqCst);
        }
        Hazards(place.map(|place| &SLOTS[place]))
    }

    /// Notes storages by their addresses, 0 standing for none. A sequentially consistent load that follows
    /// comes after the note. `None` where there are no slots.
    #[inline]
    pub(super) fn note<const N: usize>(&mut self, addresses: [usize; N]) -> Option<Noted<'_>> {
        const { assert!(N <= MOST_STORAGES) };
        let slots = self.0?;
        for (slot, address) in slots.storages.iter().zip(addresses) {
            slot.store(address, Ordering::Release);
        }
        slots.used.swap(N, Ordering::SeqCst);
        Some(Noted { slots, _own: self })
    }
}

impl Drop for Hazards {
    fn drop(&mut self) {
        if let Some(slots) = self.0 {
            slots.owner.store(0, Ordering::Release);
        }
    }
}

/// Notes in a thread's slots, which are cleared when this is dropped.
#[derive(Debug)]
pub(super) struct Noted<'a> {
    slots: &'static ThreadSlots,
    _own: &'a mut Hazards,
}

impl Drop for Noted<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slots.used.store(0, Ordering::Release);
    }
}

/// Frees the slots of threads that a child does not have. The surviving thread has noted nothing: no thread
/// forks while it has notes.
pub(super) fn forget_other_threads() {
    for slots in &SLOTS {
        slots.used.store(0, Ordering::SeqCst);
        if slots.owner.load(Ordering::Relaxed) != survivor() {
            slots.owner.store(0, Ordering::Relaxed);
        }
    }
}

/// Whether a thread has noted a storage, which is claimed for writing already.
pub(super) fn is_noted(address: usize) -> bool {
    let used = &SLOTS[..USED.load(Ordering::SeqCst)];
    used.iter().any(|slots| slots.hold(address))
}

/// Waits until no thread has noted a storage, which is claimed for writing already. A thread with a note runs
/// one operation on elements in cache, and waits only for threads that help with it, which wait for no claim.
pub(super) fn wait(address: usize) {
    let mut looks = 0;
    while is_noted(address) {
        looks += 1;
        if looks < HAZARD_LOOKS { std::hint::spin_loop() } else { thread::yield_now() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_found_until_it_is_dropped() {
        let mut hazards = Hazards::new();
        let storage = 0u64;
        let address = std::ptr::from_ref(&storage).addr();
        assert!(!is_noted(address));
        let noted = hazards.note([0, address]).unwrap();
        assert!(is_noted(address) && !is_noted(address + 8));
        drop(noted);
        assert!(!is_noted(address));
        wait(address);
    }

    #[test]
    fn threads_have_slots_of_their_own_and_leave_them_to_others() {
        let own: Vec<Hazards> = std::iter::repeat_with(Hazards::new).take(2 * MOST_SLOTS).collect();
        let mut places: Vec<*const ThreadSlots> =
            own.iter().filter_map(|hazards| hazards.0).map(std::ptr::from_ref).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(own.last().is_some_and(|hazards| hazards.0.is_none()));
        drop(own);
        assert!(Hazards::new().0.is_some());
    }
}
