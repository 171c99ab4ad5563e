//! Waiters that panic, in a process of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use zerostride::{Tensor, set_waiter};

static PANICS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_waiter_that_panics_leaves_no_claims() {
    set_waiter(|wait| {
        // After it has waited, so that the claims are there, or before.
        let has_waited = PANICS.load(Ordering::Relaxed).is_multiple_of(2);
        while has_waited && !wait() {}
        PANICS.fetch_add(1, Ordering::Relaxed);
        panic!("on purpose");
    });
    let x = Tensor::zeros(&[1 << 19]).unwrap();
    let fill = || {
        while PANICS.load(Ordering::Relaxed) < 20 {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| x.fill_(1.0).unwrap())) {
                assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
            }
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(fill)));
    // Every other thread has released the tensor: this does not wait.
    x.fill_(2.0).unwrap();
    assert!(x.to_vec::<f32>().unwrap().iter().all(|&value| value == 2.0));
}
