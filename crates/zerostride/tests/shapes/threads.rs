//! Tensors under threads: nothing hangs, nothing races, and what comes out is what some order one after the other
//! would have given.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rayon::prelude::*;
use zerostride::{Error, Expr, Tensor};

/// Elements that are divided among threads.
const LARGE: usize = 1 << 18;

/// Runs a test on a thread of its own and gives up on it after two minutes.
fn watched(test: impl FnOnce() + Send + 'static) {
    let (done, waits) = mpsc::channel();
    let runner = thread::spawn(move || {
        test();
        // The receiver is gone only if the test has taken too long already.
        let _ = done.send(());
    });
    match waits.recv_timeout(Duration::from_secs(120)) {
        Ok(()) => runner.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Disconnected) => runner.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("deadlock: not done after two minutes"),
    }
}

fn zeros(len: usize) -> Tensor {
    Tensor::full(&[len], 0, zerostride::DType::I64).unwrap()
}

fn all_are(tensor: &Tensor, value: i64) -> bool {
    tensor.to_vec::<i64>().unwrap().iter().all(|&x| x == value)
}

#[test]
fn in_place_writes_to_one_tensor_all_count() {
    watched(|| {
        for len in [1, 100, LARGE] {
            let x = zeros(len);
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| (0..20).for_each(|_| x.add_(1).unwrap()));
                }
            });
            assert!(all_are(&x, 160), "{len} elements");
        }
    });
}

#[test]
fn a_tensor_that_is_doubled_by_threads_is_doubled_every_time() {
    watched(|| {
        for len in [3, LARGE] {
            let x = zeros(len);
            x.fill_(1).unwrap();
            thread::scope(|scope| {
                for _ in 0..8 {
                    // The operand is the target itself: read and written as one.
                    scope.spawn(|| (0..5).for_each(|_| x.add_(&x).unwrap()));
                }
            });
            assert!(all_are(&x, 1 << 40), "{len} elements");
        }
    });
}

#[test]
fn a_write_that_reads_its_target_elsewhere_is_one_step() {
    watched(|| {
        // x += x.sum(): had another thread written between the sum and the write, a multiple of 3 would be missing.
        for len in [2, LARGE] {
            let x = zeros(len);
            x.narrow(0, 0, 1).unwrap().fill_(1).unwrap();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..4 {
                            let flipped = x.flip(&[0]).unwrap();
                            loop {
                                // An expression is captured, so that a write of another thread in between is noticed.
                                match (Expr::from(&x) + &flipped).eval_into(&x) {
                                    Ok(()) => break,
                                    Err(error) => {
                                        assert!(matches!(error.root(), Error::Modified { .. }), "{error}")
                                    }
                                }
                            }
                        }
                    });
                }
            });
            let values = x.to_vec::<i64>().unwrap();
            assert_eq!((values[0], values[len - 1]), (1 << 15, 1 << 15), "{len} elements");
        }
    });
}

#[test]
fn eager_reads_see_a_tensor_before_or_after_a_write() {
    watched(|| {
        for len in [1000, LARGE] {
            let x = zeros(len);
            let columns = x.view(&[-1, 10]).unwrap_or_else(|_| x.view(&[-1, 8]).unwrap()).t().unwrap();
            let written = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    (0..50).for_each(|_| x.add_(1).unwrap());
                    written.store(true, Ordering::Release);
                });
                for _ in 0..3 {
                    scope.spawn(|| {
                        let mut last = 0;
                        while !written.load(Ordering::Acquire) {
                            let sums = columns.add(&columns).unwrap().to_vec::<i64>().unwrap();
                            assert!(sums.iter().all(|&sum| sum == sums[0]), "a torn read");
                            assert!(sums[0] >= last, "time runs backwards");
                            last = sums[0];
                            let total = x.sum(0).unwrap().item::<i64>().unwrap();
                            assert!(total % len as i64 == 0, "a torn sum");
                            assert!(
                                columns.to_vec::<i64>().unwrap().windows(2).all(|pair| pair[0] == pair[1])
                            );
                        }
                    });
                }
            });
            assert!(all_are(&x, 50));
        }
    });
}

#[test]
fn disjoint_parts_are_written_side_by_side() {
    watched(|| {
        let x = zeros(8 * LARGE);
        thread::scope(|scope| {
            for part in 0..8 {
                let own = x.narrow(0, (part * LARGE) as isize, LARGE as isize).unwrap();
                scope.spawn(move || (0..10).for_each(|_| own.add_(part as i64).unwrap()));
            }
            // And the whole, and interleaved halves of it.
            scope.spawn(|| (0..3).for_each(|_| x.add_(100).unwrap()));
            for start in 0..2 {
                let half = x.slice(0, Some(start), None, 2).unwrap();
                scope.spawn(move || (0..3).for_each(|_| half.add_(1000).unwrap()));
            }
        });
        let values = x.to_vec::<i64>().unwrap();
        assert!(values.iter().enumerate().all(|(i, &value)| value == 3300 + 10 * (i / LARGE) as i64));
    });
}

#[test]
fn opposite_copies_do_not_wait_for_each_other() {
    watched(|| {
        let (x, y) = (zeros(LARGE), zeros(LARGE));
        thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|_| x.add_(&y).unwrap()));
            scope.spawn(|| (0..100).for_each(|_| y.add_(&x).unwrap()));
            scope.spawn(|| (0..100).for_each(|_| x.copy_(&y).unwrap()));
            scope.spawn(|| (0..100).for_each(|_| drop(x.mul(&y).unwrap())));
        });
        assert!(all_are(&x, 0) && all_are(&y, 0));
    });
}

/// Whether an operation was done, or refused because it ran inside another one's parallel section.
fn done_or_busy(result: Result<(), Error>) -> i64 {
    match result {
        Ok(()) => 1,
        Err(error) => {
            assert!(matches!(error.root(), Error::Busy), "{error}");
            0
        }
    }
}

#[test]
fn tasks_of_the_pool_never_hang_on_a_tensor() {
    watched(|| {
        for len in [10, LARGE] {
            let (x, y) = (zeros(len), zeros(len));
            let done: i64 = (0..200).into_par_iter().map(|_| done_or_busy(x.add_(1))).sum();
            assert!(all_are(&x, done), "{len} elements");
            assert!(done > 0);
            // Different tensors never meet.
            (0..50).into_par_iter().for_each(|i| {
                let own = zeros(len);
                own.add_(&y).unwrap();
                own.add_(i).unwrap();
                assert!(all_are(&own, i));
            });
        }
    });
}

#[test]
fn a_thread_outside_the_pool_and_tasks_inside_share_a_tensor() {
    watched(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let x = zeros(LARGE);
        let done = thread::scope(|scope| {
            let outside: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..50).for_each(|_| x.add_(1).unwrap()))).collect();
            // The global pool, in which the sections of outside threads run, and a pool of the user's.
            let inside: i64 = (0..200).into_par_iter().map(|_| done_or_busy(x.add_(1))).sum();
            let own: i64 = pool.install(|| (0..200).into_par_iter().map(|_| done_or_busy(x.add_(1))).sum());
            outside.into_iter().for_each(|thread| thread.join().unwrap());
            200 + inside + own
        });
        assert!(all_are(&x, done));
    });
}

#[test]
fn all_threads_of_the_pool_may_wait_for_one_outside() {
    watched(|| {
        // Every thread of the pool is given writes of x, while threads outside keep x and need the pool.
        let x = zeros(4 * LARGE);
        let threads = rayon::current_num_threads();
        let done = thread::scope(|scope| {
            let outside: Vec<_> =
                (0..2).map(|_| scope.spawn(|| (0..30).for_each(|_| x.add_(1).unwrap()))).collect();
            let mut inside = 0;
            for _ in 0..30 {
                inside += rayon::broadcast(|_| done_or_busy(x.narrow(0, 0, 1).unwrap().add_(1)))
                    .iter()
                    .sum::<i64>();
            }
            outside.into_iter().for_each(|thread| thread.join().unwrap());
            inside
        });
        assert!(done > 0 && threads > 0);
        let values = x.to_vec::<i64>().unwrap();
        assert_eq!((values[0], values[1]), (60 + done, 60));
    });
}

#[test]
fn waiting_inside_a_parallel_section_is_refused() {
    watched(|| {
        // One thread: while it runs one half of a large write, the only thing that it could wait for is itself.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let x = zeros(LARGE);
        let mut busy = 0;
        for _ in 0..50 {
            let results: Vec<Result<(), Error>> =
                pool.install(|| (0..64).into_par_iter().map(|_| x.add_(1)).collect());
            let (done, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
            assert!(refused.iter().all(|error| matches!(error.as_ref().unwrap_err().root(), Error::Busy)));
            busy += refused.len();
            assert_eq!(x.select(0, 0).unwrap().item::<i64>().unwrap(), done.len() as i64);
            x.fill_(0).unwrap();
        }
        // Whether halves are stolen is up to the machine; that nothing hangs and every success counts is not.
        println!("{busy} of 3200 were refused");
    });
}

#[test]
fn tensors_are_dropped_on_any_thread() {
    watched(|| {
        let views: Vec<Tensor> = {
            let x = Tensor::rand(&[LARGE], 1).unwrap();
            (0..16).map(|i| x.narrow(0, i, 100).unwrap()).collect()
        };
        let sums: Vec<f32> =
            views.into_par_iter().map(|view| view.sum(0).unwrap().item::<f32>().unwrap()).collect();
        assert!(sums.iter().all(|sum| (20.0..80.0).contains(sum)));
    });
}

#[test]
fn a_panic_of_a_thread_leaves_its_tensors_usable() {
    watched(|| {
        let x = zeros(LARGE);
        let shared = x.clone();
        assert!(
            thread::spawn(move || shared.add_(1).map(|()| panic!("on purpose")).unwrap()).join().is_err()
        );
        x.add_(1).unwrap();
        assert!(all_are(&x, 2));
    });
}
