//! Owns the reuse of tensors' memory. A fresh page costs more than the arithmetic of most operations on it,
//! so a dropped result leaves its memory to the next result of about its size. It needs no unsafe code:
//! reused memory is initialised, with the values of its last use.
//!
//! Each thread keeps small blocks of a few sizes for itself, without locks. Blocks that it has no room for,
//! and blocks over 1 MiB, go to a pool of the process; so do blocks that are dropped on another thread. The
//! pool of the process is bounded ([`set_limit`]), and returns to the system blocks that later requests could
//! not use, or that no request has used for some seconds: a thread of its own counts these while the pool
//! holds anything.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::Duration;

use once_cell::race::OnceBox;

use super::region::{Region, mapped_bytes};
use super::storage::Storage;
use super::{borrow, hazard};
use crate::fork::{self, Guarded, Lock};

/// What the pool holds and how often it could help, over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Bytes that no tensor has and that are kept for the next one.
    pub held: usize,
    /// Bytes of blocks over 1 MiB that the process has from the system, whether tensors have them or the
    /// pool.
    pub mapped: usize,
    /// Requests for memory that the pool had a block for.
    pub hits: u64,
    /// Requests that went to the system.
    pub misses: u64,
}

/// What the pool holds, and how often it could help.
///
/// ```standalone_crate
/// use zerostride::{pool, Tensor};
/// let x = Tensor::ones(&[1000, 1000])?;
/// drop(x.add(1)?);
/// let before = pool::statistics();
/// let y = x.add(2)?;                              // lies where the result that was dropped lay
/// assert!(pool::statistics().hits > before.hits);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn statistics() -> Statistics {
    let mut threads = threads();
    threads.forget_ended();
    let pool = POOL.lock();
    let mut sums = Statistics { held: pool.bytes, mapped: mapped_bytes(), ..threads.ended };
    for counters in &threads.counters {
        sums.held += counters.held.load(Relaxed);
        sums.hits += counters.hits.load(Relaxed);
        sums.misses += counters.misses.load(Relaxed);
    }
    sums
}

/// Gives all memory that is kept for later results back to the system.
///
/// A thread's own small blocks go when it next makes or drops a tensor, or ends.
///
/// ```standalone_crate
/// use zerostride::{pool, Tensor};
/// drop(Tensor::ones(&[1000, 1000])?);
/// pool::trim();
/// assert!(pool::statistics().held < 1000 * 1000 * 4);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn trim() {
    TRIMS.fetch_add(1, Relaxed);
    // A thread that is ending has no blocks any more.
    let _ = LOCAL.try_with(|local| local.borrow_mut().follow_trims());
    let given_back = POOL.lock().empty();
    drop(given_back);
}

/// Bytes that the process's pool may keep for later results; a quarter of the machine's memory unless
/// [`set_limit`] says otherwise.
pub fn limit() -> usize {
    match LIMIT.load(Relaxed) {
        usize::MAX => default_limit(),
        limit => limit,
    }
}

/// Sets the bytes that the process's pool may keep for later results; 0 keeps none.
///
/// Small blocks that threads keep for themselves, a few MiB at most for each, are not counted.
///
/// ```standalone_crate
/// use zerostride::pool;
/// pool::set_limit(1 << 30);
/// assert_eq!(pool::limit(), 1 << 30);
/// ```
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.min(usize::MAX - 1), Relaxed);
    let given_back = POOL.lock().give_back();
    drop(given_back);
}

/// `usize::MAX` stands for the default.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// A quarter of the memory that the machine, or the control group that the process lives in, has; where that
/// is unknown, 1 GiB.
fn default_limit() -> usize {
    static DEFAULT: OnceBox<usize> = OnceBox::new();
    let kibibytes = |text: String| -> Option<usize> {
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok())
    };
    *DEFAULT.get_or_init(|| {
        let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(kibibytes).map(|kb| kb << 10);
        let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
        let group = group.and_then(|text| text.trim().parse().ok());
        Box::new(machine.into_iter().chain(group).min().map_or(1 << 30, |bytes| bytes / 4))
    })
}

/// A storage that several tensors may have. When the last of them lets go, its memory goes to the pool.
#[derive(Debug)]
pub(crate) struct Shared(Option<Arc<Storage>>);

impl Shared {
    /// Memory of a lender, which never goes to the pool.
    pub(crate) fn lent(storage: Storage) -> Shared {
        fork::watch(forget_other_threads);
        Shared(Some(Arc::new(storage)))
    }

    /// Whether both are the same storage.
    pub(crate) fn is(&self, other: &Shared) -> bool {
        self.address() == other.address()
    }

    /// Identifies the storage while it lives.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref::<Storage>(self) as usize
    }
}

impl Clone for Shared {
    fn clone(&self) -> Shared {
        Shared(self.0.clone())
    }
}

impl Deref for Shared {
    type Target = Storage;

    #[inline]
    fn deref(&self) -> &Storage {
        self.0.as_ref().unwrap_or_else(|| unreachable!("only `drop` takes the storage"))
    }
}

impl Drop for Shared {
    #[inline]
    fn drop(&mut self) {
        // A single owner stays the only one. Two owners that drop theirs at the same time may each see the
        // other: then the memory goes back to the system.
        if let Some(storage) = self.0.take()
            && Arc::strong_count(&storage) == 1
            && !storage.is_lent()
        {
            put(storage);
        }
    }
}

/// A storage of `len` bytes that has one owner, and whether it is known to be all zeros; else its bytes are
/// of any value. `None` where the system has no memory.
pub(super) fn take(len: usize) -> Option<(Shared, bool)> {
    let capacity = Region::capacity_for(len)?;
    let recycled = LOCAL.try_with(|local| local.borrow_mut().take(capacity)).unwrap_or(None);
    if let Some(mut storage) = recycled {
        Storage::recycle(&mut storage, len);
        return Some((Shared(Some(storage)), false));
    }
    fork::watch(forget_other_threads);
    let region = Region::zeroed(capacity).or_else(|| {
        // The pool may hold the memory that is missing.
        trim();
        Region::zeroed(capacity)
    })?;
    Some((Shared(Some(Arc::new(Storage::new(region, len)))), true))
}

fn put(storage: Arc<Storage>) {
    // A thread that is ending keeps nothing.
    let _ = LOCAL.try_with(|local| local.borrow_mut().put(storage));
}

/// Small blocks are kept by size, a power of two: from 64 bytes up to 1 MiB.
const SIZES: std::ops::RangeInclusive<u32> = 6..=20;
const CLASSES: usize = 15;

/// The place of blocks of that capacity among a thread's; `None` for large ones.
#[inline]
fn class(capacity: usize) -> Option<usize> {
    let log = capacity.trailing_zeros();
    (capacity.is_power_of_two() && SIZES.contains(&log)).then(|| (log - SIZES.start()) as usize)
}

/// How many blocks of a class a thread keeps: 256 KiB of them, but at least two and at most 64.
fn most_kept(class: usize) -> usize {
    ((1 << 18) >> (class + 6)).clamp(2, 64)
}

/// Grows with each call of [`trim`]; threads that see it grow follow.
static TRIMS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LOCAL: RefCell<Local> = RefCell::new(Local::new());
}

/// One thread's small blocks.
struct Local {
    classes: [Vec<Arc<Storage>>; CLASSES],
    counters: Arc<Counters>,
    trims: usize,
}

impl Local {
    fn new() -> Local {
        let counters = Arc::new(Counters::default());
        let mut threads = threads();
        threads.forget_ended();
        threads.counters.push(Arc::clone(&counters));
        Local { classes: Default::default(), counters, trims: TRIMS.load(Relaxed) }
    }

    #[inline]
    fn take(&mut self, capacity: usize) -> Option<Arc<Storage>> {
        self.follow_trims();
        let own = class(capacity).and_then(|class| self.classes[class].pop());
        if own.is_some() {
            self.counters.held.store(self.counters.held.load(Relaxed) - capacity, Relaxed);
        }
        let found = own.or_else(|| POOL.lock().take(capacity));
        let count = if found.is_some() { &self.counters.hits } else { &self.counters.misses };
        count.store(count.load(Relaxed) + 1, Relaxed);
        found
    }

    #[inline]
    fn put(&mut self, storage: Arc<Storage>) {
        self.follow_trims();
        let capacity = storage.capacity();
        match class(capacity) {
            Some(class) if self.classes[class].len() < most_kept(class) => {
                self.classes[class].push(storage);
                self.counters.held.store(self.counters.held.load(Relaxed) + capacity, Relaxed);
            }
            _ => {
                let mut pool = POOL.lock();
                let given_back = pool.put(storage);
                pool.ensure_clock();
                drop(pool);
                drop(given_back);
            }
        }
    }

    #[inline]
    fn follow_trims(&mut self) {
        let trims = TRIMS.load(Relaxed);
        if self.trims != trims {
            self.trim(trims);
        }
    }

    #[cold]
    fn trim(&mut self, trims: usize) {
        self.trims = trims;
        self.classes.iter_mut().for_each(Vec::clear);
        self.counters.held.store(0, Relaxed);
    }
}

/// What one thread counts. Only it writes, so that counting needs no more than loads and stores.
#[derive(Default)]
struct Counters {
    held: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// What all threads count.
struct Threads {
    counters: Vec<Arc<Counters>>,
    /// The sums of threads that have ended.
    ended: Statistics,
}

impl Threads {
    fn forget_ended(&mut self) {
        self.forget(|counters| Arc::strong_count(counters) == 1);
    }

    fn forget(&mut self, has_ended: impl Fn(&Arc<Counters>) -> bool) {
        let ended = &mut self.ended;
        self.counters.retain(|counters| {
            let lives = !has_ended(counters);
            if !lives {
                ended.hits += counters.hits.load(Relaxed);
                ended.misses += counters.misses.load(Relaxed);
            }
            lives
        });
    }
}

fn threads() -> MutexGuard<'static, Threads> {
    const NONE: Statistics = Statistics { held: 0, mapped: 0, hits: 0, misses: 0 };
    static THREADS: Lock<Threads> =
        Lock::new(Guarded::Counters, Threads { counters: Vec::new(), ended: NONE });
    THREADS.lock()
}

/// Blocks that any thread may take.
static POOL: Lock<Pool> = Lock::new(Guarded::Blocks, Pool::new());

/// Requests after which a block that none of them could use goes back to the system.
const PATIENCE_REQUESTS: u64 = 256;

/// Seconds after which an unused block goes back to the system, or one less, as blocks come between two
/// ticks.
const PATIENCE_SECONDS: u64 = 5;

struct Pool {
    /// The blocks in the order in which they came.
    held: VecDeque<FreeBlock>,
    bytes: usize,
    requests: u64,
    /// While the clock runs.
    seconds: u64,
    /// The process that the clock runs in, if it runs: a child has its parent's pool but not that thread.
    clock: Option<usize>,
}

/// A free block, and since when.
struct FreeBlock {
    storage: Arc<Storage>,
    requests: u64,
    seconds: u64,
}

impl Pool {
    const fn new() -> Pool {
        Pool { held: VecDeque::new(), bytes: 0, requests: 0, seconds: 0, clock: None }
    }

    /// The latest block of that capacity or up to an eighth more.
    fn take(&mut self, capacity: usize) -> Option<Arc<Storage>> {
        self.requests += 1;
        let most = if class(capacity).is_some() { capacity } else { capacity + capacity / 8 };
        let fits = |held: &FreeBlock| (capacity..=most).contains(&held.storage.capacity());
        let FreeBlock { storage, .. } = self.held.remove(self.held.iter().rposition(fits)?)?;
        self.bytes -= storage.capacity();
        Some(storage)
    }

    /// Takes in a block. What there is no room for is for the caller to drop, after the lock.
    #[must_use]
    fn put(&mut self, storage: Arc<Storage>) -> Vec<Arc<Storage>> {
        if storage.capacity() > limit() {
            return vec![storage];
        }
        self.bytes += storage.capacity();
        self.held.push_back(FreeBlock { storage, requests: self.requests, seconds: self.seconds });
        self.give_back()
    }

    /// The oldest blocks, while there are too many bytes or they have been unused for long.
    #[must_use]
    fn give_back(&mut self) -> Vec<Arc<Storage>> {
        let mut given_back = Vec::new();
        while let Some(oldest) = self.held.front()
            && (self.bytes > limit()
                || self.requests - oldest.requests > PATIENCE_REQUESTS
                || self.seconds - oldest.seconds >= PATIENCE_SECONDS)
        {
            given_back.extend(self.held.pop_front().map(|FreeBlock { storage, .. }| {
                self.bytes -= storage.capacity();
                storage
            }));
        }
        given_back
    }

    #[must_use]
    fn empty(&mut self) -> VecDeque<FreeBlock> {
        self.bytes = 0;
        std::mem::take(&mut self.held)
    }

    /// Has a thread count seconds, if none does. Where the system starts none, blocks stay until later
    /// requests or `trim`.
    fn ensure_clock(&mut self) {
        let process = fork::process();
        if self.clock != Some(process) && !self.held.is_empty() {
            let thread = thread::Builder::new().name("zerostride-pool".into()).stack_size(1 << 16);
            self.clock = thread.spawn(count_seconds).ok().map(|_| process);
        }
    }

    /// Lets a second pass. The clock stops where nothing is held.
    #[must_use]
    fn tick(&mut self) -> Vec<Arc<Storage>> {
        self.seconds += 1;
        let given_back = self.give_back();
        if self.held.is_empty() {
            self.clock = None;
        }
        given_back
    }
}

fn count_seconds() {
    loop {
        thread::sleep(Duration::from_secs(1));
        let mut pool = POOL.lock();
        let given_back = pool.tick();
        let goes_on = pool.clock.is_some();
        drop(pool);
        drop(given_back);
        if !goes_on {
            return;
        }
    }
}

/// Forgets the claims and caches of threads of the parent process, which a child does not have: for its only
/// thread. The blocks that they kept are lost to it.
fn forget_other_threads() {
    borrow::forget_waits();
    hazard::forget_other_threads();
    let own = LOCAL.try_with(|local| Arc::as_ptr(&local.borrow().counters)).ok();
    threads().forget(|counters| own != Some(Arc::as_ptr(counters)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(len: usize) -> Shared {
        take(len).unwrap().0
    }

    #[test]
    fn classes_are_the_powers_of_two_up_to_a_mebibyte() {
        assert_eq!((class(64), class(1 << 20)), (Some(0), Some(CLASSES - 1)));
        assert_eq!((class(1 << 21), class((1 << 20) + (1 << 16))), (None, None));
        assert_eq!([most_kept(0), most_kept(10), most_kept(14)], [64, 4, 2]);
    }

    #[test]
    fn what_a_thread_lets_go_it_gets_again() {
        for len in [0, 1, 100, 5000, 1 << 20] {
            let first = storage(len);
            let start = first.start();
            let shared = first.clone();
            drop(first);
            let other = storage(len);
            assert_ne!(other.start(), start, "still in use");
            drop(shared);
            let again = storage(len);
            assert_eq!((again.start(), again.len(), again.version()), (start, len, 0));
        }
    }

    #[test]
    fn a_block_that_dies_on_another_thread_is_not_lost() {
        let len = 7 << 20;
        let large = storage(len);
        let start = large.start();
        thread::spawn(move || drop(large)).join().unwrap();
        let others: Vec<Shared> = std::iter::repeat_with(|| storage(len)).take(3).collect();
        assert!(others.iter().any(|other| other.start() == start));
    }

    #[test]
    fn the_pool_keeps_to_its_limit_and_forgets_what_nobody_wants() {
        let block = || Arc::new(Storage::new(Region::zeroed(1 << 16).unwrap(), 1));
        let mut pool = Pool::new();
        assert!(pool.put(block()).is_empty());
        pool.requests += PATIENCE_REQUESTS;
        assert!(pool.put(block()).is_empty());
        pool.requests += 1;
        assert_eq!(pool.give_back().len(), 1);
        assert_eq!((pool.held.len(), pool.bytes), (1, 1 << 16));
        assert!(pool.take(1 << 15).is_none());
        assert!(pool.take(1 << 16).is_some());
        assert_eq!(pool.bytes, 0);
    }

    #[test]
    fn what_nobody_wants_for_some_seconds_goes_back_and_the_clock_stops() {
        let block = || Arc::new(Storage::new(Region::zeroed(1 << 16).unwrap(), 1));
        let mut pool = Pool { clock: Some(0), ..Pool::new() };
        assert!(pool.put(block()).is_empty());
        let ticks = |pool: &mut Pool, count| (0..count).map(|_| pool.tick().len()).sum::<usize>();
        assert_eq!(ticks(&mut pool, PATIENCE_SECONDS - 1), 0);
        // What is used now and then stays.
        let used = pool.take(1 << 16).unwrap();
        assert!(pool.put(used).is_empty());
        assert!(pool.put(block()).is_empty());
        assert_eq!(ticks(&mut pool, PATIENCE_SECONDS - 1), 0);
        assert_eq!((ticks(&mut pool, 1), pool.bytes, pool.clock), (2, 0, None));
    }

    #[test]
    fn large_blocks_serve_requests_up_to_an_eighth_smaller() {
        let block = |bytes| Arc::new(Storage::new(Region::zeroed(bytes).unwrap(), 1));
        let mut pool = Pool::new();
        assert!(pool.put(block(9 << 20)).is_empty());
        assert!(pool.take(7 << 20).is_none());
        assert!(pool.take((9 << 20) + 1).is_none());
        assert!(pool.take(8 << 20).is_some());
    }
}
