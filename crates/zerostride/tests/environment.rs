//! Where a program's surroundings are odd: environment variables that say nothing sensible, and threads that
//! are ending. Each case of the environment runs in a process of its own.

use std::cell::RefCell;
use std::process::Output;
use std::thread;

use zerostride::policy::{self, Action, Audit, Class, Policy};
use zerostride::{Expr, Tensor, check_environment, interruptible, num_threads};
use zerostride_emulator::again;

/// Runs one of the tests below that are ignored otherwise, with one variable.
fn with(variable: &str, value: &str, test: &str) -> Output {
    again()
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env_remove("ZEROSTRIDE_ISA")
        .env_remove("ZEROSTRIDE_PROCESSOR")
        .env_remove("ZEROSTRIDE_CODE")
        .env_remove("RAYON_NUM_THREADS")
        .env(variable, value)
        .output()
        .unwrap()
}

#[test]
fn a_variable_that_cannot_be_followed_is_told_of() {
    let isa = "set it to one of portable";
    for (variable, value, problem) in [
        ("ZEROSTRIDE_ISA", "portable", ""),
        ("ZEROSTRIDE_ISA", "", isa),
        ("ZEROSTRIDE_ISA", "sse9", isa),
        ("ZEROSTRIDE_ISA", " portable", isa),
        ("ZEROSTRIDE_PROCESSOR", "zen", ""),
        ("ZEROSTRIDE_PROCESSOR", "zen9", "set it to one of generic, zen, zen5"),
        ("ZEROSTRIDE_PROCESSOR", "", "set it to one of generic, zen, zen5"),
        ("ZEROSTRIDE_CODE", "printed", ""),
        ("ZEROSTRIDE_CODE", "portable", ""),
        ("ZEROSTRIDE_CODE", "fast", "set it to one of printed, portable"),
        ("RAYON_NUM_THREADS", "", ""),
        ("RAYON_NUM_THREADS", "0", ""),
        ("RAYON_NUM_THREADS", "-1", "set it to a number of threads"),
        ("RAYON_NUM_THREADS", "many", "set it to a number of threads"),
        ("RAYON_NUM_THREADS", "99999999999999999999", "set it to a number of threads"),
        ("RAYON_NUM_THREADS", "2", ""),
        ("RAYON_NUM_THREADS", "1000000", "at most 1024 threads can be started"),
    ] {
        let found = with(variable, value, "prints_what_the_environment_says");
        let [out, err] =
            [&found.stdout, &found.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert!(found.status.success(), "{variable}={value}: {out}{err}");
        let said = out.lines().find_map(|line| line.split_once("environment: ")).unwrap().1;
        let is_told = said.starts_with(&format!("{variable}={value}: {problem}"));
        assert_eq!(is_told, !problem.is_empty(), "{variable}={value}: {said}");
    }
}

#[test]
#[ignore = "runs in processes with other environments"]
fn prints_what_the_environment_says() {
    let found = check_environment();
    println!("environment: {}", found.as_ref().map_or_else(ToString::to_string, |()| String::new()));
    if !matches!(&found, Err(error) if error.to_string().contains("ZEROSTRIDE_")) {
        let x = Tensor::rand(&[500, 500], 1).unwrap();
        assert_eq!(x.sin().unwrap().sum(..).unwrap().shape(), [0; 0]);
        assert!((1..=65).contains(&num_threads()));
    }
}

/// Does all kinds of things when its thread ends, after what the engine keeps for that thread is gone, and
/// before.
struct Last(&'static str);

impl Drop for Last {
    fn drop(&mut self) {
        everything();
        println!("{} is done", self.0);
    }
}

thread_local! {
    static FIRST: RefCell<Option<Last>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Last>> = const { RefCell::new(None) };
}

fn everything() {
    let (x, y) = (Tensor::rand(&[300, 300], 1).unwrap(), Tensor::rand(&[300], 2).unwrap());
    let small = Tensor::rand(&[3], 1).unwrap();
    assert_eq!(small.add(&small).unwrap().numel(), 3);
    small.mul_(2.0).unwrap();
    assert_eq!(((&x - &y).square().sum(-1) * 2.0).eval().unwrap().shape(), [300]);
    assert_eq!(interruptible(|| false, || x.exp()).unwrap().shape(), [300, 300]);
    assert_eq!(x.sort(-1, false).unwrap().0.shape(), [300, 300]);
    assert!(small.to_string().starts_with("tensor("));
    let audit = Audit::start();
    let scope = Policy::new().with(Class::MutualStretch, Action::Error).enter();
    let _ = small.add(small.unsqueeze(1).unwrap());
    policy::at(policy::Caller::new("elsewhere", 1), || drop((Expr::from(&x) + &y).eval()));
    drop(scope);
    let _ = audit.log();
}

#[test]
fn a_thread_that_ends_may_still_compute() {
    for engine_first in [false, true] {
        let ends = move || {
            if engine_first {
                everything();
            }
            FIRST.set(Some(Last("the first")));
            everything();
            SECOND.set(Some(Last("the second")));
            everything();
        };
        thread::spawn(ends).join().unwrap();
        // What it has put in force is over.
        assert!(!policy::is_on());
    }
}
