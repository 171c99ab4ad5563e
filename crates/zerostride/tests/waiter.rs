//! Waiters that do not say the truth, in a process of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use zerostride::{Error, Tensor, set_waiter};

/// Whether a wait is ended although it was successful.
static REFUSES: AtomicBool = AtomicBool::new(false);

#[test]
fn whatever_a_waiter_says_writes_are_whole_and_let_go() {
    set_waiter(|wait| {
        if REFUSES.load(Ordering::Relaxed) {
            while !wait() {}
            return false;
        }
        // Nothing has been waited for.
        true
    });
    let x = Tensor::zeros(&[1 << 19]).unwrap();
    let is_uniform = || {
        let values = x.to_vec::<f32>().unwrap();
        values.iter().all(|value| value == &values[0])
    };
    thread::scope(|scope| {
        scope.spawn(|| (0..200).for_each(|round| x.fill_(round).unwrap()));
        for _ in 0..200 {
            assert!(is_uniform());
        }
    });
    REFUSES.store(true, Ordering::Relaxed);
    let mut interrupted = 0;
    thread::scope(|scope| {
        let fills = || (0..200).filter(|&round| matches!(x.fill_(round), Err(Error::Interrupted))).count();
        let other = scope.spawn(fills);
        interrupted = fills() + other.join().unwrap();
    });
    // No thread holds it any more, however often a wait was ended.
    println!("{interrupted} waits were ended");
    x.fill_(1.0).unwrap();
    assert!(is_uniform());
}
