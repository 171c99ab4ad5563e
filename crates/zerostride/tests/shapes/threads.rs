//! Tensors under threads: nothing hangs, nothing races, and what comes out is what some order one after the
//! other would have given.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use zerostride::{Error, Expr, Slice, Tensor};

/// Elements that are divided among threads.
const LARGE: usize = 1 << 18;

/// Runs a test on a thread of its own and gives up on it after two minutes, or an hour with
/// `ZEROSTRIDE_LONG=1`.
fn watched(test: impl FnOnce() + Send + 'static) {
    let minutes = if std::env::var_os("ZEROSTRIDE_LONG").is_some() { 60 } else { 2 };
    let (done, waits) = mpsc::channel();
    let runner = thread::spawn(move || {
        test();
        // The receiver is gone only if the test has taken too long already.
        let _ = done.send(());
    });
    match waits.recv_timeout(Duration::from_secs(60 * minutes)) {
        Ok(()) => runner.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Disconnected) => runner.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("deadlock: not done after {minutes} minutes"),
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
        // x += x.sum(): had another thread written between the sum and the write, a multiple of 3 would be
        // missing.
        for len in [2, LARGE] {
            let x = zeros(len);
            x.narrow(0, 0, 1).unwrap().fill_(1).unwrap();
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..4 {
                            let flipped = x.flip(&[0]).unwrap();
                            loop {
                                // An expression is captured, so that a write of another thread in between is
                                // noticed.
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
                let half = x.slice(0, Slice::from(start..).step_by(2)).unwrap();
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

#[test]
fn tasks_of_the_pool_wait_for_each_other() {
    watched(|| {
        for len in [10, LARGE] {
            let (x, y) = (zeros(len), zeros(len));
            (0..200).into_par_iter().for_each(|_| x.add_(1).unwrap());
            assert!(all_are(&x, 200), "{len} elements");
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
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| x.add_(1).unwrap()));
            }
            // The global pool, whose threads help those outside, and a pool of the user's.
            (0..200).into_par_iter().for_each(|_| x.add_(1).unwrap());
            pool.install(|| (0..200).into_par_iter().for_each(|_| x.add_(1).unwrap()));
        });
        assert!(all_are(&x, 600));
    });
}

#[test]
fn all_threads_of_the_pool_may_wait_for_one_outside() {
    watched(|| {
        // Every thread of the pool is given writes of x, while threads outside keep x and divide their work.
        let x = zeros(4 * LARGE);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..30).for_each(|_| x.add_(1).unwrap()));
            }
            let first = x.narrow(0, 0, 1).unwrap();
            for _ in 0..30 {
                rayon::broadcast(|_| first.add_(1).unwrap());
            }
        });
        let values = x.to_vec::<i64>().unwrap();
        let first = 60 + 30 * rayon::current_num_threads() as i64;
        assert_eq!((values[0], values[1]), (first, 60));
    });
}

/// Copies in both directions, by threads that need the pool, beside tasks of the pool that split and wait for
/// their halves but for no tensor. Had an evaluation that has a tensor taken up such a task while it waits
/// for its parts, and another thread, waiting for a half of that task, an evaluation that waits for the
/// tensor, neither would go on.
fn copies_beside_tasks(tasks: impl Fn(&(dyn Fn() + Sync)), copy: impl Fn(&Tensor, &Tensor) + Sync) {
    let (x, y, small) = (zeros(LARGE), zeros(LARGE), zeros(100));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            for (to, from) in [(&x, &y), (&y, &x)] {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        copy(to, from);
                    }
                });
            }
        }
        // Under a sanitizer, where a copy takes a hundred times as long, half a minute is enough.
        let start = Instant::now();
        for _ in (0..500).take_while(|_| start.elapsed() < Duration::from_secs(30)) {
            tasks(&|| (0..64).into_par_iter().for_each(|_| drop(small.sum(0).unwrap())));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(all_are(&x, 0) && all_are(&y, 0));
}

#[test]
fn an_evaluation_takes_up_no_foreign_task_while_it_has_a_tensor() {
    watched(|| {
        for threads in [2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            copies_beside_tasks(
                |tasks| pool.install(tasks),
                |to, from| pool.install(|| to.add_(from).unwrap()),
            );
        }
        // In the global pool, which helps threads outside.
        copies_beside_tasks(|tasks| tasks(), |to, from| to.add_(from).unwrap());
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
        let shared = x.alias();
        assert!(
            thread::spawn(move || shared.add_(1).map(|()| panic!("on purpose")).unwrap()).join().is_err()
        );
        x.add_(1).unwrap();
        assert!(all_are(&x, 2));
    });
}
