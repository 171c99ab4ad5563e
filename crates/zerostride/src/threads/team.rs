//! Owns teams: threads of another library that work on evaluations in place of the pool's. It does not know
//! the work.
//!
//! A library that divides its own work keeps its threads awake for some milliseconds afterwards, as OpenMP
//! does. Where its calls and evaluations alternate, threads of the pool would get half of a processor each.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::crew::CrewWork;
use crate::fork::{self, lock};
use crate::interrupt;

/// Calls a function on up to so many threads at once, the calling one included, and returns when all calls
/// have returned.
pub type Team = fn(threads: usize, work: &(dyn Fn() + Sync));

thread_local! {
    static TEAM: Cell<Option<Team>> = const { Cell::new(None) };
}

/// Runs `run`, whose evaluations on this thread divide their work among a team instead of the pool's threads.
/// There are as many parts as [`num_threads`](crate::num_threads) says.
///
/// ```
/// use zerostride::{on_team, Tensor};
///
/// // A team of the calling thread alone.
/// let x = Tensor::ones(&[1000, 1000])?;
/// let sum = on_team(|_, work| work(), || x.sum(..))?;
/// assert_eq!(sum.item::<f32>()?, 1e6);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn on_team<R>(team: Team, run: impl FnOnce() -> R) -> R {
    struct Before(Option<Team>);
    impl Drop for Before {
        fn drop(&mut self) {
            TEAM.set(self.0);
        }
    }
    let _before = Before(TEAM.replace(Some(team)));
    run()
}

/// The team that evaluations on this thread use. In a child of a fork another library's threads are missing,
/// and it may wait for them.
pub(super) fn of_this_thread() -> Option<Team> {
    TEAM.get().filter(|_| fork::process() == 0)
}

/// Runs `work` on a team. The caller waits for the team as it does for its helpers (`parts.rs`): threads of a
/// team run parts, and no foreign code.
pub(super) fn together(team: Team, threads: usize, work: &CrewWork<'_>) {
    let (caller, others, panic) = (fork::this_thread(), AtomicUsize::new(1), Mutex::new(None));
    let run = |number: usize| {
        let work = AssertUnwindSafe(|| match number {
            0 => work(0, &|| ()),
            _ => interrupt::put_off(|| work(number, &|| ())),
        });
        if let Err(reason) = catch_unwind(work) {
            lock(&panic).get_or_insert(reason);
        }
    };
    team(threads, &|| {
        let is_caller = fork::this_thread() == caller;
        let number = if is_caller { 0 } else { others.fetch_add(1, Ordering::Relaxed) };
        if number < threads {
            run(number);
        }
    });
    // What a team leaves that calls the function on no thread.
    run(0);
    if let Some(reason) = panic.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        resume_unwind(reason);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::thread;

    use super::super::parts;
    use super::*;

    /// More threads than are asked for, none, and the caller alone.
    const TEAMS: [Team; 3] = [
        |threads, work| {
            thread::scope(|scope| {
                (0..threads + 2).for_each(|_| drop(scope.spawn(work)));
                work();
            });
        },
        |_, _| (),
        |_, work| work(),
    ];

    fn in_teams(test: impl Fn() + Send + Sync) {
        rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(|| {
            TEAMS.into_iter().for_each(|team| on_team(team, &test));
        });
        assert!(of_this_thread().is_none());
    }

    #[test]
    fn every_part_runs_once() {
        in_teams(|| {
            let mut done = vec![0; 1000];
            let part = |(): &mut (), done: &mut i32| {
                *done += 1;
                Ok::<_, Infallible>(())
            };
            let Ok(()) = parts::for_each(done.iter_mut(), || (), part);
            assert_eq!(done, vec![1; 1000]);
        });
    }

    #[test]
    fn errors_and_panics_come_out() {
        in_teams(|| {
            let fails = |(): &mut (), index| if index < 7 { Ok(()) } else { Err(index) };
            assert_eq!(parts::for_each(0..100, || (), fails), Err(7));
            let part = |(): &mut (), index| {
                assert_ne!(index, 50, "on purpose");
                Ok::<_, Infallible>(())
            };
            assert!(catch_unwind(AssertUnwindSafe(|| parts::for_each(0..100, || (), part))).is_err());
        });
    }
}
