//! Depth and size of expressions: whatever walks one takes little of the stack however deep it is, and
//! planning takes no more work for each operation the more of them there are.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use zerostride::policy::{Audit, Policy, check};
use zerostride::stream::{Input, Options};
use zerostride::{DType, Expr, Result, Tensor, keepdim};

/// Counts each thread's allocations: what planning does for an operation allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged; counting does not touch memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A kind of expression: what it begins with, what each level adds, and what is done with the last one.
struct Family {
    name: &'static str,
    first: fn() -> Expr,
    level: fn(&Expr, usize) -> Expr,
    last: fn(&Expr) -> Expr,
}

fn tensor(shape: &[usize], seed: u64) -> Tensor {
    Tensor::rand(shape, seed).unwrap()
}

fn square() -> Expr {
    tensor(&[4, 4], 1).into()
}

/// Larger than all it is made from, and than what it is reduced to.
fn stretched() -> Expr {
    Expr::from(tensor(&[6, 1], 1)) - tensor(&[6], 2)
}

#[rustfmt::skip]
const FAMILIES: &[Family] = &[
    Family { name: "operations", first: square, level: |x, _| x * 1.0 + 0.25, last: Expr::clone },
    Family { name: "functions", first: square, level: |x, _| x.sin(), last: Expr::clone },
    Family { name: "views of an operand", first: square, level: |x, _| x.t(), last: Expr::clone },
    Family { name: "views of a value", first: || square().exp(), level: |x, _| x.t().flip(&[0]), last: Expr::clone },
    Family { name: "views that need copies", first: square, level: |x, n| (x.t().reshape(&[8, 2]) + n as f64).reshape(&[4, 4]), last: Expr::clone },
    Family { name: "views of stretched values", first: stretched, level: |x, _| (x + 1.0).t(), last: |x| x.sum(..) },
    Family { name: "casts", first: square, level: |x, _| x.to_dtype(DType::F64).to_dtype(DType::F32), last: Expr::clone },
    Family { name: "shared casts", first: square, level: |x, _| { let wide = x.to_dtype(DType::F64); (&wide + wide.t()).to_dtype(DType::F32) * 0.5 }, last: Expr::clone },
    Family { name: "diamonds", first: square, level: |x, _| (x + x) * 0.5, last: Expr::clone },
    Family { name: "diamonds through views", first: square, level: |x, _| (x + x.t() + x.flip(&[0])) * 0.3, last: Expr::clone },
    Family { name: "stretched diamonds through views", first: stretched, level: |x, _| (x.t() + x.flip(&[0])) * 0.5, last: |x| x.sum(..) },
    Family { name: "stretched diamonds", first: stretched, level: |x, _| x * 0.5 + x, last: |x| x.sum(1).tanh() },
    Family { name: "windows", first: stretched, level: |x, _| (x + x.flip(&[1])).unfold(0, 6, 1).select(0, 0).t() * 0.5, last: |x| x.amax(..) },
    Family { name: "sums of many tensors", first: square, level: |x, n| x + tensor(&[4, 4], n as u64), last: Expr::clone },
    Family { name: "sums of many rows", first: square, level: |x, n| x + tensor(&[4], n as u64).exp().unwrap(), last: Expr::clone },
    Family { name: "reductions", first: square, level: |x, _| x * x.sum(0) * 0.1, last: Expr::clone },
    Family { name: "reductions of rows", first: square, level: |x, _| (x - x.amax(keepdim(-1))).exp() / x.sum(keepdim(-1)), last: Expr::clone },
    Family { name: "reductions of reductions", first: || tensor(&[3, 4], 1).into(), level: |x, _| x.sum(keepdim(0)) + x, last: |x| x.mean(..) },
    Family { name: "products", first: square, level: |x, n| x.matmul(tensor(&[4, 4], n as u64)) * 0.5, last: Expr::clone },
    Family { name: "products of views", first: square, level: |x, _| x.t().matmul(x.reshape(&[2, 8]).t().reshape(&[4, 4])) * 0.2, last: Expr::clone },
    Family { name: "choices", first: square, level: |x, n| (x - n as f64).where_(x.gt(0.5), x + 1.0), last: Expr::clone },
    Family { name: "numbers", first: || 1.5.into(), level: |x, n| x * tensor(&[1], n as u64), last: |x| x.sum(..) },
];

impl Family {
    fn expr(&self, levels: usize) -> Expr {
        (self.last)(&(0..levels).fold((self.first)(), |x, n| (self.level)(&x, n)))
    }

    /// The same, each level computed before the next one is written down.
    fn in_steps(&self, levels: usize) -> Tensor {
        let levels = (0..levels).fold((self.first)(), |x, n| (self.level)(&x, n).eval().unwrap().into());
        (self.last)(&levels).eval().unwrap()
    }
}

/// Runs a test on a thread whose stack would not hold a few words for each level.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(256 << 10).spawn(test).unwrap().join().unwrap();
}

fn bits(tensor: &Tensor) -> Vec<u64> {
    let wide = tensor.to_dtype(DType::F64).unwrap();
    wide.to_vec::<f64>().unwrap().into_iter().map(f64::to_bits).collect()
}

#[test]
fn deep_expressions_have_the_values_of_their_steps_on_any_stack() {
    on_a_small_stack(|| {
        for family in FAMILIES {
            for levels in [1, 2, 3, 17, 40, 600] {
                let expr = family.expr(levels);
                let value = expr.eval().unwrap();
                assert_eq!(bits(&value), bits(&family.in_steps(levels)), "{}, {levels} levels", family.name);
                let out = Tensor::zeros(value.shape()).unwrap();
                expr.to_dtype(DType::F32).eval_into(&out).unwrap();
                assert_eq!(bits(&out), bits(&value), "{}, {levels} levels", family.name);
            }
        }
    });
}

#[test]
fn whatever_walks_a_deep_expression_takes_little_of_the_stack() {
    on_a_small_stack(|| {
        for family in FAMILIES {
            let expr = family.expr(1500);
            assert!(expr.formula().len() <= 203 && format!("{expr:?}").len() <= 209, "{}", family.name);
            let plan = expr.plan().unwrap();
            assert!(plan.to_string().contains("bytes") && format!("{plan:?}").contains("Plan"));
            assert_eq!(plan.shape(), expr.shape().unwrap());
            let _scope = Policy::new().enter();
            let audit = Audit::start();
            check(&expr).unwrap();
            drop(audit);
            plan.template(&[]).run(&[]).unwrap();
            // Another thread drops what it shares with this one.
            let (own, clone) = (expr.exp(), expr.sin());
            let other = thread::Builder::new().stack_size(64 << 10).spawn(move || drop(clone)).unwrap();
            drop((own, expr));
            other.join().unwrap();
        }
    });
}

#[test]
fn a_mistake_far_down_is_told_with_a_short_formula() {
    on_a_small_stack(|| {
        let wrong = square() + tensor(&[3], 1);
        let deep = (0..100_000).fold(wrong, |x, _| x.t() * 2.0);
        let error = deep.eval().unwrap_err();
        assert_eq!(error.expression(), Some("a + b"));
        assert!(error.to_string().starts_with("The size of tensor a (4) must match"), "{error}");
    });
}

/// The allocations of this thread while something is done.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn planning_takes_as_much_work_for_each_operation_however_many_there_are() {
    for family in FAMILIES {
        let work = |levels| {
            let expr = family.expr(levels);
            [
                allocations(|| drop(expr.plan().unwrap().to_string())),
                allocations(|| drop(expr.formula())),
                allocations(|| drop(expr.plan().unwrap().template(&[]))),
            ]
        };
        for (few, many) in work(100).into_iter().zip(work(800)) {
            // Eight times as many operations; a square would be 64.
            assert!(many <= 11 * few + 2000, "{}: {few} allocations, then {many}", family.name);
        }
    }
}

/// An array in memory that is read as if it were not.
#[derive(Debug)]
struct Stored(Tensor);

impl Input for Stored {
    fn name(&self) -> String {
        "stored".into()
    }

    fn dtype(&self) -> DType {
        self.0.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    fn read(&self, rows: Range<usize>, out: &mut [u8]) -> Result<()> {
        let rows = self.0.narrow(0, rows.start as isize, rows.len() as isize)?;
        let bytes = rows.to_vec::<f32>()?.into_iter().flat_map(f32::to_ne_bytes);
        out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = byte);
        Ok(())
    }
}

#[test]
fn reductions_of_what_is_stored_may_depend_on_each_other_in_any_number() {
    on_a_small_stack(|| {
        let x = tensor(&[40, 3], 1);
        let normalised = |levels, mut x: Expr| {
            for _ in 0..levels {
                x = (&x - x.mean(0)) * 0.9 + x.sum(keepdim(1));
                x = x.t().t().narrow(0, 0, 40).to_dtype(DType::F64).to_dtype(DType::F32);
            }
            x
        };
        for levels in [1, 8, 16, 17, 30, 300] {
            let stored = normalised(levels, Expr::input(Arc::new(Stored(x.alias()))));
            let expected = bits(&normalised(levels, Expr::from(&x)).eval().unwrap());
            assert_eq!(bits(&stored.eval().unwrap()), expected, "{levels} levels");
            if levels < 100 {
                // Little memory: as many passes as there are levels.
                let found = stored.eval_with(Options::new().max_memory(400_000).piece_rows(7)).unwrap();
                assert_eq!(bits(&found), expected, "{levels} levels in pieces");
            }
        }
        let deep = normalised(300, Expr::input(Arc::new(Stored(x.alias()))));
        let passes = deep.passes(None).unwrap();
        assert_eq!((passes.len(), passes.bytes_read()), (0, 40 * 3 * 4));
        assert!(passes.to_string().contains("in memory: "), "{passes}");
        let few = normalised(3, Expr::input(Arc::new(Stored(x))));
        assert!(few.passes(None).unwrap().len() > 1);
    });
}

#[test]
fn rows_are_followed_through_any_depth() {
    on_a_small_stack(|| {
        let x = tensor(&[50, 4], 1);
        let deep = |x: Expr| {
            let level =
                |x: Expr, n| (x.t().t().flip(&[1]) + n as f64).to_dtype(DType::F64).to_dtype(DType::F32);
            (0..800).fold(x, level).sum(0)
        };
        let stored = deep(Expr::input(Arc::new(Stored(x.alias()))));
        assert!(stored.passes(None).unwrap().to_string().starts_with("reading 1: stored"));
        let found = stored.eval_with(Options::new().piece_rows(16)).unwrap();
        assert_eq!(bits(&found), bits(&deep(x.into()).eval().unwrap()));
    });
}
