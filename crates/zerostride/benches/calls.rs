//! Counts the instructions of single calls, which unlike their time are the same in every run: what a tiny
//! operation costs, and that a policy which is off costs nothing. Valgrind counts; how long calls take,
//! `parts` says.

use std::hint::black_box;
use std::process::Command;

use zerostride::policy::{self, Action, Class, Policy};
use zerostride::{Expr, Tensor};

/// A call, made ready: what is counted begins with the first time that it runs.
type Call = Box<dyn Fn()>;

/// A name, and what makes the call ready.
type Case = (&'static str, fn() -> Call);

const CASES: &[Case] = &[
    ("policy::is_on()", || {
        Box::new(|| {
            black_box(policy::is_on());
        })
    }),
    ("x.add(&y), (1, 3) and (3, 1)", outer),
    ("the same after a policy", || {
        drop(strict());
        outer()
    }),
    ("the same under a policy", || {
        std::mem::forget(strict());
        outer()
    }),
    ("x.add(&y), (9) and (9)", || {
        let [x, y] = [uniform(&[9], 1), uniform(&[9], 2)];
        Box::new(move || drop(black_box(&x).add(&y)))
    }),
    ("x.add(2.5), (9)", || {
        let x = uniform(&[9], 1);
        Box::new(move || drop(black_box(&x).add(2.5)))
    }),
    ("x.neg(), (9)", || {
        let x = uniform(&[9], 1);
        Box::new(move || drop(black_box(&x).neg()))
    }),
    ("x.add_(&y), (9) and (9)", || {
        let [x, y] = [uniform(&[9], 1), uniform(&[9], 2)];
        Box::new(move || drop(black_box(&x).add_(&y)))
    }),
    ("(x + row).eval_into(), 8 x 128", || {
        let [x, row, out] = [uniform(&[8, 128], 1), uniform(&[128], 2), uniform(&[8, 128], 3)];
        let sum = x + row;
        Box::new(move || drop(black_box(&sum).eval_into(&out)))
    }),
    ("normalise into memory, 8 x 128", || {
        let [x, row, col] = [uniform(&[8, 128], 1), uniform(&[128], 2), uniform(&[8, 1], 3)];
        let (out, value) = (uniform(&[8, 128], 4), (&x - &col) / &col * &row + &row);
        Box::new(move || drop(black_box(&value).eval_into(&out)))
    }),
    ("gelu into memory, 8 x 128", || {
        let (x, out) = (uniform(&[8, 128], 1), uniform(&[8, 128], 2));
        let value = Expr::from(&x).gelu_tanh();
        Box::new(move || drop(black_box(&value).eval_into(&out)))
    }),
    ("x.add(&row), 8 x 128", || {
        let [x, row] = [uniform(&[8, 128], 1), uniform(&[128], 2)];
        Box::new(move || drop(black_box(&x).add(&row)))
    }),
];

fn outer() -> Call {
    let [x, y] = [uniform(&[1, 3], 1), uniform(&[3, 1], 2)];
    Box::new(move || drop(black_box(&x).add(&y)))
}

fn strict() -> policy::Scope {
    Policy::new().with(Class::MutualStretch, Action::Allow).enter()
}

fn uniform(shape: &[usize], seed: u64) -> Tensor {
    Tensor::rand(shape, seed).expect("enough memory")
}

/// Calls of two runs, whose difference is counted: both begin with what is kept from call to call.
const FEW: usize = 100;
const MANY: usize = 1100;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, case, times] = &arguments[..]
        && flag == "--run"
    {
        let [case, times]: [usize; 2] = [case, times].map(|number| number.parse().expect("a number"));
        let call = CASES[case].1();
        (0..times).for_each(|_| call());
        return;
    }
    for (case, (name, _)) in CASES.iter().enumerate() {
        let counts = [FEW, MANY].map(|times| instructions(case, times));
        match counts {
            [Some(few), Some(many)] => println!("{name:<34} {:>8}", (many - few) / (MANY - FEW) as u64),
            _ => return println!("instructions are not counted: there is no valgrind here"),
        }
    }
}

/// Instructions of a process that makes so many calls; `None` where the system counts none.
fn instructions(case: usize, times: usize) -> Option<u64> {
    let counted = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["--run", &case.to_string(), &times.to_string()])
        .output()
        .ok()?;
    let report = String::from_utf8_lossy(&counted.stderr).into_owned();
    let count = report.lines().find_map(|line| line.split_once("I   refs:"))?.1;
    count.trim().replace(',', "").parse().ok()
}
