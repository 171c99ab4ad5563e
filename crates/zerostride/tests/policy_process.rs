//! A policy for the whole process, in a process of its own.

use std::cell::RefCell;
use std::thread;

use zerostride::policy::{Action, Class, Policy};
use zerostride::tensor;

#[test]
fn a_scope_holds_on_its_own_thread_and_an_installed_policy_everywhere() {
    let fails = || tensor![[1], [2]].add(tensor![[1, 2]]).is_err();
    let elsewhere = || thread::spawn(fails).join().unwrap();
    let strict = Policy::new().with(Class::MutualStretch, Action::Error);
    let scope = strict.enter();
    assert_eq!((fails(), elsewhere()), (true, false));
    drop(scope);
    strict.install();
    assert_eq!((fails(), elsewhere()), (true, true));
    let _tolerant = Policy::new().with(Class::MutualStretch, Action::Allow).enter();
    assert_eq!((fails(), elsewhere()), (false, true));
    // A thread that ends has no scopes any more, but may compute.
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            assert!(tensor![[1], [2]].add(tensor![[1, 2]]).is_err());
        }
    }
    thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
    let ends = thread::spawn(|| {
        LAST.set(Some(Last));
        let _scope = Policy::new().enter();
    });
    ends.join().unwrap();
    Policy::new().install();
    assert_eq!((fails(), elsewhere()), (false, false));
}
