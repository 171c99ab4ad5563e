//! Owns the threads of a pool that have helped and wait a little to be asked again: which threads wait, how a
//! caller asks them, when they leave. It does not know what they help with (`crew.rs`).
//!
//! To wake a thread that sleeps takes tens of microseconds, which is longer than most evaluations in cache. A
//! thread that has helped therefore stays awake for [`LINGER`], and looks into its seat, in which a caller
//! leaves what is to be done. It yields to other threads of the processor meanwhile, and takes up other work
//! of the pool: it holds nothing that another thread waits for.

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{hint, thread};

use once_cell::race::OnceBox;

use super::crew::Crew;
use super::processor;
use crate::threads::SEATS;

/// How long a thread waits to be asked again before it goes back to its pool, which lets it sleep.
const LINGER: Duration = Duration::from_micros(200);

/// How long a thread stays, however often it is asked, before its pool has it back for a moment: a task below
/// it on its stack may be able to go on.
const SHIFT: Duration = Duration::from_millis(10);

/// Checks of a seat, a pause instruction apart, before the thread yields: some microseconds.
const SEAT_LOOKS: usize = 128;

/// Yields to other threads for each yield to the pool's own work.
const TURNS: usize = 4;

/// Of so many divisions of short work that find too few threads waiting, one calls sleeping threads: they
/// come too late for it, but not for the next divisions, if these follow soon. Where none follow, or threads
/// come late because the processors are busy, calls become rarer.
const PATIENCE: RangeInclusive<usize> = 8..=256;

/// The threads of one pool that help.
pub(super) struct Helpers {
    seats: [Seat; SEATS],
    /// The seats that threads have or have been called to, a bit for each: calls do not pile up in the queue
    /// of a busy pool.
    taken: AtomicU64,
    /// The taken seats that no caller has asked.
    waiting: AtomicU64,
    /// Divisions of short work since the last call of one, and how many it takes to the next.
    lonely: AtomicUsize,
    patience: AtomicUsize,
    /// The processor of the thread that asked last.
    caller: AtomicUsize,
}

/// The request to a waiting thread. The prefetcher loads pairs of cache lines, so a seat has two.
#[repr(align(128))]
struct Seat {
    crew: AtomicPtr<Crew>,
    /// The processor of the thread that has the seat.
    processor: AtomicUsize,
}

/// No processor.
const NO_PROCESSOR: usize = usize::MAX;

impl Default for Helpers {
    fn default() -> Helpers {
        let seats =
            std::array::from_fn(|_| Seat { crew: AtomicPtr::default(), processor: NO_PROCESSOR.into() });
        let [taken, waiting] = [AtomicU64::new(0), AtomicU64::new(0)];
        let patience = (*PATIENCE.start()).into();
        Helpers { seats, taken, waiting, lonely: 0.into(), patience, caller: NO_PROCESSOR.into() }
    }
}

thread_local! {
    /// The helpers of the pool that this thread belongs to, or asks.
    static OWN: RefCell<Option<Arc<Helpers>>> = const { RefCell::new(None) };
    /// Whether this thread waits in a seat, perhaps below a task of the pool that it has taken up meanwhile.
    static LINGERS: Cell<bool> = const { Cell::new(false) };
}

impl Helpers {
    /// The helpers that this thread may ask: of its own pool, or of the global one.
    pub(super) fn of_this_thread() -> Arc<Helpers> {
        static GLOBAL: OnceBox<Arc<Helpers>> = OnceBox::new();
        let own = || match rayon::current_thread_index() {
            Some(_) => Arc::default(),
            None => Arc::clone(GLOBAL.get_or_init(Box::default)),
        };
        let kept = |kept: &RefCell<Option<_>>| Arc::clone(kept.borrow_mut().get_or_insert_with(own));
        // A thread that is ending has none any more.
        OWN.try_with(kept).unwrap_or_default()
    }

    /// Asks up to `most` waiting threads outside the seats `asked`; returns their seats.
    ///
    /// # Safety
    /// `asked` are all seats that the crew has been put into. It stays where it is until `take_back` has been
    /// called for them and these, and the threads that had taken it up by then have left it.
    pub(super) unsafe fn ask(&self, crew: &Crew, most: usize, asked: u64) -> u64 {
        let waiting = self.waiting.load(Ordering::Relaxed) & !asked;
        let chosen = seats(waiting).take(most).fold(0, |chosen, seat| chosen | 1 << seat);
        if chosen == 0 {
            return 0;
        }
        // Another caller may have been quicker.
        let own = self.waiting.fetch_and(!chosen, Ordering::AcqRel) & chosen;
        for seat in seats(own) {
            self.seats[seat].crew.store(ptr::from_ref(crew).cast_mut(), Ordering::Release);
        }
        own
    }

    /// Notes the processor that this thread runs on, which helpers leave to it.
    pub(super) fn keep_processor(&self) {
        if let Some(own) = processor::current()
            && self.caller.load(Ordering::Relaxed) != own
        {
            self.caller.store(own, Ordering::Relaxed);
        }
    }

    /// Takes back the requests that no thread has taken up yet; returns the number of threads that have.
    pub(super) fn take_back(&self, crew: &Crew, asked: u64) -> usize {
        let crew = ptr::from_ref(crew).cast_mut();
        let untouched = |seat: &usize| {
            let place = &self.seats[*seat].crew;
            place.compare_exchange(crew, ptr::null_mut(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let back = seats(asked).filter(untouched).fold(0, |back, seat| back | 1 << seat);
        if back != 0 {
            self.waiting.fetch_or(back, Ordering::AcqRel);
        }
        (asked & !back).count_ones() as usize
    }

    /// Calls threads of the pool that do other work, or sleep, so that `helpers` are awake, to seats outside
    /// `asked`; returns the seats they are called to. They come when they can.
    ///
    /// # Safety
    /// As for [`ask`](Self::ask).
    pub(super) unsafe fn call(self: &Arc<Self>, crew: &Crew, helpers: usize, asked: u64) -> u64 {
        let (caller, mut called) = (rayon::current_thread_index(), 0);
        // A thread that came may have left again already: a seat is asked once.
        while (asked | called).count_ones() < helpers as u32
            && let Some(seat) = self.take_seat(helpers, asked | called)
        {
            called |= 1 << seat;
            self.seats[seat].crew.store(ptr::from_ref(crew).cast_mut(), Ordering::Release);
            let own = Arc::clone(self);
            rayon::spawn(move || {
                // A thread that picks up its own call has other work to do.
                let stays = caller.is_none() || caller != rayon::current_thread_index();
                own.come(seat, stays);
            });
        }
        called
    }

    /// Whether it is time for short work to call sleeping threads again.
    pub(super) fn is_time_to_call(&self) -> bool {
        let is_time = self.lonely.fetch_add(1, Ordering::Relaxed) >= self.patience.load(Ordering::Relaxed);
        if is_time {
            self.lonely.store(0, Ordering::Relaxed);
        }
        is_time
    }

    /// Helps from a seat that this thread has been called to; a thread that `stays` leaves when it has not
    /// been asked for some time, and works in shifts. It keeps the seat while it takes up work of the pool: a
    /// thread called to it meanwhile would be one too many as soon as this one is back, and two would share a
    /// processor.
    fn come(self: &Arc<Self>, seat: usize, stays: bool) {
        // A task below this one on the stack may linger too, and have taken up this work of the pool.
        let stays = stays && !LINGERS.replace(stays);
        OWN.set(Some(Arc::clone(self)));
        let mut patience = (2 * self.patience.load(Ordering::Relaxed)).min(*PATIENCE.end());
        let came = Instant::now();
        let (mut asked, mut leaves) = (came, !stays);
        if stays {
            self.settle(seat);
        }
        loop {
            while let Some(crew) = self.wait(seat, if leaves { 1 } else { TURNS * SEAT_LOOKS }) {
                // SAFETY: it was in the seat, so that its caller waits until this thread has left it (`ask`).
                unsafe { Crew::help(crew, seat) };
                (patience, asked) = (*PATIENCE.start(), Instant::now());
                self.waiting.fetch_or(1 << seat, Ordering::AcqRel);
                leaves |= asked - came >= SHIFT;
            }
            if leaves || asked.elapsed() >= LINGER {
                break;
            }
            rayon::yield_now();
            self.waiting.fetch_or(1 << seat, Ordering::AcqRel);
        }
        if stays {
            self.patience.store(patience, Ordering::Relaxed);
            LINGERS.set(false);
        }
        if stays && leaves {
            // The next shift begins once the pool has run the tasks below this one on the stack.
            self.waiting.fetch_or(1 << seat, Ordering::AcqRel);
            let own = Arc::clone(self);
            rayon::spawn(move || own.come(seat, true));
        } else {
            self.taken.fetch_and(!(1 << seat), Ordering::AcqRel);
        }
    }

    /// Leaves a processor that another helper or the last caller uses. The scheduler does that, too, but only
    /// after milliseconds, often a hundred: a thread that waits here looks busy, and beside other work both
    /// processors do.
    ///
    /// Once for each shift is enough: after every part, or each millisecond, evaluations on two processors
    /// take as long (2026-11-26, Zen 3: `x + 2.5` and `x + row` in L2, L3 and memory, within 5%).
    fn settle(&self, seat: usize) {
        let Some(own) = processor::current() else { return };
        let of_seat = |seat: usize| self.seats[seat].processor.load(Ordering::Relaxed);
        let taken = self.taken.load(Ordering::Relaxed) & !(1 << seat);
        let others = || seats(taken).map(of_seat).chain([self.caller.load(Ordering::Relaxed)]);
        if others().any(|other| other == own) {
            processor::leave(others());
        }
        self.seats[seat].processor.store(processor::current().unwrap_or(NO_PROCESSOR), Ordering::Relaxed);
    }

    /// One of the first free seats: the fewer seats are in use, the more often the same threads get the same
    /// parts of the next evaluation, which are in their caches.
    fn take_seat(&self, first: usize, except: u64) -> Option<usize> {
        loop {
            let seat =
                seats(!(self.taken.load(Ordering::Relaxed) | except)).next().filter(|&seat| seat < first)?;
            if self.taken.fetch_or(1 << seat, Ordering::AcqRel) & 1 << seat == 0 {
                return Some(seat);
            }
        }
    }

    /// The crew that a caller asks to help; `None` if none does within that many checks.
    fn wait(&self, seat: usize, looks: usize) -> Option<*const Crew> {
        let (own, bit) = (&self.seats[seat].crew, 1 << seat);
        loop {
            for look in 1..=looks {
                if !own.load(Ordering::Relaxed).is_null() {
                    let crew = own.swap(ptr::null_mut(), Ordering::Acquire);
                    // Its caller may have taken it back.
                    if !crew.is_null() {
                        return Some(crew);
                    }
                }
                if look % SEAT_LOOKS == 0 { thread::yield_now() } else { hint::spin_loop() }
            }
            // A caller that has cleared the bit is about to store its crew in the seat, unless it takes it
            // back.
            if self.waiting.fetch_and(!bit, Ordering::AcqRel) & bit != 0 {
                return None;
            }
        }
    }
}

/// The seats whose bits are set.
fn seats(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let seat = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(seat)
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;

    use super::super::parts;
    use super::*;

    #[test]
    fn calls_do_not_pile_up_while_no_thread_of_the_pool_is_free() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let (free, blocked) = mpsc::channel::<()>();
        pool.spawn(move || _ = blocked.recv());
        pool.install(|| {
            let helpers = Helpers::of_this_thread();
            for _ in 0..1000 {
                let Ok(()) = parts::for_each(0..4, || (), |(), _| Ok::<_, Infallible>(()));
            }
            assert!(helpers.taken.load(Ordering::Relaxed).count_ones() <= 2);
        });
        drop(free);
    }

    #[test]
    fn a_task_below_a_helper_goes_on_however_often_others_ask() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (limit, is_done) = (Instant::now() + Duration::from_secs(5), AtomicBool::new(false));
        let divide = || {
            let part = |(): &mut (), _| {
                let end = Instant::now() + Duration::from_micros(20);
                while Instant::now() < end {
                    hint::spin_loop();
                }
                Ok::<_, Infallible>(())
            };
            let Ok(()) = parts::for_each(0..8, || (), part);
        };
        pool.scope(|scope| {
            let (waits, has_begun) = (rayon::current_thread_index(), AtomicBool::new(false));
            let first = || {
                while !has_begun.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            };
            let is_done = &is_done;
            let other = || {
                has_begun.store(true, Ordering::Relaxed);
                // The thread that waits for this half helps meanwhile,
                (0..100).for_each(|_| divide());
                // and with what comes next, if it does not take that up itself.
                scope.spawn(move |_| {
                    while !is_done.load(Ordering::Relaxed)
                        && Instant::now() < limit
                        && rayon::current_thread_index() != waits
                    {
                        divide();
                    }
                });
            };
            rayon::join(first, other);
            is_done.store(true, Ordering::Relaxed);
        });
        assert!(Instant::now() < limit, "a task has waited for all the others");
    }
}
