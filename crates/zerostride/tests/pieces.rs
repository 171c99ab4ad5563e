//! Evaluation in pieces gives the bits of evaluation in memory, whatever the pieces, the operations and the
//! threads.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zerostride::stream::{InMemory, Input, Options, Output, Passes, eval_all_to};
use zerostride::{DType, Error, Expr, Result, Slice, Tensor, eval_all, keepdim};

/// A tensor that is handed out in rows.
#[derive(Debug)]
struct Rows {
    shape: Vec<usize>,
    elements: Vec<f32>,
    chunk: usize,
    read: AtomicU64,
}

impl Rows {
    fn new(shape: &[usize], seed: u64) -> Result<(Arc<Rows>, Tensor)> {
        let tensor = ((Tensor::rand(shape, seed)? - 0.5) * 7.0).eval()?;
        let elements = tensor.to_vec()?;
        Ok((Arc::new(Rows { shape: shape.to_vec(), elements, chunk: 1, read: AtomicU64::new(0) }), tensor))
    }
}

impl Input for Rows {
    fn name(&self) -> String {
        "rows".into()
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, rows: Range<usize>, out: &mut [u8]) -> Result<()> {
        let row = self.elements.len() / self.shape.iter().copied().find(|&size| size != 1).unwrap_or(1);
        let elements = &self.elements[rows.start * row..rows.end * row];
        assert_eq!(out.len(), 4 * elements.len());
        for (bytes, element) in out.chunks_exact_mut(4).zip(elements) {
            bytes.copy_from_slice(&element.to_ne_bytes());
        }
        self.read.fetch_add(out.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn chunk(&self) -> usize {
        self.chunk
    }
}

/// An expression over `x` of shape (3000, 7), `y` of (3000, 1), `row` of (7) and `deep` of (3000, 2, 5); and
/// how many bytes of `x` it reads for each byte that `x` has, if it may not hold `x` whole.
type Case = (&'static str, fn([&Expr; 4]) -> Expr, Option<u64>);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("map", |[x, y, row, _]| (x - row) * y + 1, Some(1)),
    ("a cast", |[x, ..]| x.to_dtype(DType::F16) * x, Some(1)),
    ("where", |[x, y, row, _]| x.where_(x.gt(row), y), Some(1)),
    ("an unrounded number", |[x, ..]| x.to_dtype(DType::BF16) * 1.1, Some(1)),
    ("a hoisted row", |[x, _, row, _]| row.exp() * x, Some(1)),
    ("sum of rows", |[x, ..]| x.sum(1), Some(1)),
    ("sum of columns", |[x, ..]| x.sum(0), Some(1)),
    ("sum of all", |[x, ..]| x.sum(..), Some(1)),
    ("product of reductions", |[x, ..]| x.amax(0) * x.amin(0) + x.mean(0), Some(1)),
    ("searches", |[x, ..]| x.argmax(0) + x.argmin(0), Some(1)),
    ("search of rows", |[x, ..]| x.argmax(keepdim(1)), Some(1)),
    ("truths", |[x, ..]| x.gt(3.4).any(0) ^ x.gt(-3.4).all(0), Some(1)),
    ("variance", |[x, ..]| x.var(0) + x.to_dtype(DType::F16).var(0), Some(1)),
    ("norms", |[x, ..]| x.norm(2.0, 0) + x.norm(f64::INFINITY, 0) + x.norm(3.0, 0), Some(1)),
    ("standardised", |[x, ..]| (x - x.mean(0)) / x.std(0), Some(2)),
    ("standardised twice", |[x, ..]| { let z = (x - x.mean(0)) / x.std(0); &z - z.sum(0) }, Some(3)),
    ("layer norm", |[x, ..]| (x - x.mean(keepdim(1))) / x.std(keepdim(1)), Some(1)),
    ("softmax of rows", |[x, ..]| x.softmax(1), Some(1)),
    ("softmax of columns", |[x, ..]| x.softmax(0), Some(3)),
    ("log softmax of columns", |[x, ..]| x.log_softmax(0), Some(3)),
    ("logsumexp", |[x, ..]| x.logsumexp(0) - x.logsumexp(..), Some(2)),
    ("reduction of reductions", |[x, ..]| x.sum(1).sum(0) + x.sum(0).amax(0), Some(1)),
    ("inner of three", |[_, _, _, deep]| deep.sum(1), None),
    ("outer of three", |[_, _, _, deep]| deep.sum(0), None),
    ("two of three", |[_, _, _, deep]| deep.var(&[0, 2][..]), None),
    ("others of three", |[_, _, _, deep]| deep.sum(&[0, 1][..]), None),
    ("sum to size", |[_, _, _, deep]| deep.sum_to_size(&[1, 2, 1]), None),
    ("slices", |[x, ..]| x.slice(0, Slice::new(5, -7).step_by(3)) + x.slice(0, Slice { step: -3, ..Slice::new(-8, 4) }), None),
    ("narrow", |[x, ..]| x.narrow(0, 100, 2000).narrow(1, 2, 3).sum(0), None),
    ("neighbours", |[x, ..]| x.narrow(0, 1, 2999) - x.narrow(0, 0, 2999), None),
    ("windows", |[x, ..]| x.unfold(0, 5, 2).mean(-1), None),
    ("inner windows", |[x, ..]| x.unfold(1, 3, 1).sum(-1), Some(1)),
    ("flips", |[x, ..]| x.flip(&[0, 1]) + x.flip(&[1]), None),
    ("reversed rows", |[x, ..]| x.flip(&[0]).sum(0), Some(1)),
    ("dimensions", |[x, y, ..]| x.unsqueeze(1).permute(&[0, 2, 1]).squeeze() - y.squeeze().unsqueeze(-1), Some(1)),
    ("inserted", |[x, ..]| x.unsqueeze(0).sum(1), Some(1)),
    ("selected", |[x, ..]| x.select(1, 2) * 2, Some(1)),
    ("expanded", |[_, y, row, _]| y.expand(&[-1, 7]) + row.expand(&[3000, 7]), None),
    ("broadcast", |[x, y, ..]| y.squeeze().broadcast_to(&[7, 3000]).t() * x, Some(1)),
    ("transposed twice", |[x, ..]| (x.t() + 1).t(), Some(1)),
    ("sum of a transposed", |[x, ..]| x.t().sum(1), Some(1)),
    ("transposed", |[x, ..]| x.t() + 1, None),
    ("reshaped", |[x, ..]| x.reshape(&[1500, 14]) * 2, Some(1)),
    ("flat", |[x, ..]| x.flatten(0, 1).exp(), Some(1)),
    ("sum of the flat", |[x, ..]| x.reshape(&[-1]).sum(0), Some(1)),
    ("finer", |[_, _, _, deep]| deep.reshape(&[6000, 5]).sum(1), None),
    ("inner reshaped", |[_, _, _, deep]| deep.reshape(&[3000, 10]) + 1, None),
    ("diagonal", |[x, ..]| x.diagonal(0, 0, 1) + 1, None),
    ("pairs", |[x, _, row, _]| (x.unsqueeze(1) - row.reshape(&[1, 7]) * 3).square().sum(-1), Some(1)),
    ("matrix", |[x, ..]| x.matmul(x.narrow(0, 0, 7)), None),
    ("matrix and vector", |[x, _, row, _]| x.matmul(row), Some(1)),
    ("batches", |[_, _, _, deep]| deep.matmul(deep.transpose(1, 2)), None),
    ("right factor", |[x, _, row, _]| row.reshape(&[1, 7]).matmul(x.t()), None),
    ("gram", |[x, ..]| x.t().matmul(x), None),
    ("the array itself", |[x, ..]| x.clone(), Some(1)),
    ("a number from rows", |[x, ..]| x.select(0, 5).sum(0), None),
];

fn bits(tensor: &Tensor) -> Vec<String> {
    let wide = tensor.to_dtype(if tensor.dtype() == DType::I64 { DType::I64 } else { DType::F64 }).unwrap();
    match wide.dtype() {
        DType::I64 => wide.to_vec::<i64>().unwrap().iter().map(i64::to_string).collect(),
        _ => wide.to_vec::<f64>().unwrap().iter().map(|value| value.to_bits().to_string()).collect(),
    }
}

#[test]
fn pieces_of_any_size_give_the_bits_of_the_whole_on_any_number_of_threads() {
    let shapes: [&[usize]; 4] = [&[3000, 7], &[3000, 1], &[7], &[3000, 2, 5]];
    for (name, case, reads) in CASES {
        let (inputs, tensors): (Vec<_>, Vec<_>) =
            shapes.iter().zip(1..).map(|(shape, seed)| Rows::new(shape, seed).unwrap()).unzip();
        let whole: Vec<Expr> = tensors.iter().map(Expr::from).collect();
        let expected = case([&whole[0], &whole[1], &whole[2], &whole[3]]).eval().unwrap();
        let lazy: Vec<Expr> = inputs.iter().map(|input| Expr::input(input.clone())).collect();
        let expr = case([&lazy[0], &lazy[1], &lazy[2], &lazy[3]]);
        for (threads, sizes) in
            [(1, &[1, 7, 100, 1024, 2999, 3000, 1 << 20][..]), (2, &[100, 1024]), (16, &[1000])]
        {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for &rows in sizes {
                inputs[0].read.store(0, Ordering::Relaxed);
                let found = pool.install(|| expr.eval_with(Options::new().piece_rows(rows))).unwrap();
                assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()), "{name}");
                assert!(bits(&found) == bits(&expected), "{name}, {threads} threads, pieces of {rows} rows");
                if let Some(times) = reads {
                    assert_eq!(inputs[0].read.load(Ordering::Relaxed), times * 4 * 21_000, "{name}");
                }
            }
        }
        // What is not held whole is not needed whole either.
        if reads.is_some() {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
            let passes = pool.install(|| expr.passes(Some(1 << 20))).unwrap();
            assert!(passes.memory() < 1 << 20, "{name}: {passes}");
        }
    }
}

#[test]
fn plans_tell_what_will_be_read() {
    let (input, _) = Rows::new(&[3000, 7], 1).unwrap();
    let x = Expr::input(input.clone());
    let passes = ((&x - x.mean(0)) / x.std(0)).passes(Some(300_000)).unwrap();
    assert_eq!((passes.len(), passes.bytes_read(), passes.output_bytes()), (2, 168_000, 84_000));
    assert!(passes.memory() <= 300_000);
    let text = passes.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "reading 1: rows in 3 pieces of 1024 rows  sum(a, (0)), var(a.to('f64'), (0))",
            "reading 2: rows in 3 pieces of 1024 rows  (a - (sum(a, (0)) / 3000.0)) / sqrt(var(a.to('f64'), (0))).to('f32')",
        ]
    );
    assert!(lines[2].starts_with("reads 168000 bytes; result 84000 bytes, memory at most "), "{text}");
}

#[test]
fn what_does_not_fit_is_refused_with_its_name() {
    let (input, _) = Rows::new(&[3000, 7], 1).unwrap();
    let x = Expr::input(input);
    for (expr, start, part) in [
        (
            x.t() + 1,
            "84000 bytes",
            "rows (84000 bytes) has to be in memory whole, because rows of the result are not rows of it",
        ),
        (x.unsqueeze(1) - x.unsqueeze(0), "84000 bytes", "every row of the result needs all of it"),
        (x.sum(0), "", "1024 rows of rows are the fewest"),
    ] {
        let error = expr.passes(Some(40_000)).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }));
        let text = error.to_string();
        assert!(text.starts_with(start) && text.contains(part), "{expr:?}: {text}");
    }
    let text = (&x + 1).eval_with(Options::new().max_memory(50_000)).unwrap_err().to_string();
    assert!(text.contains("the result (84000 bytes) stays in memory; write it to a file"), "{text}");
}

#[test]
fn the_passes_that_were_printed_run_as_often_as_one_likes() {
    let (input, tensor) = Rows::new(&[3000, 7], 1).unwrap();
    let standardised = |x: &Expr| (x - x.mean(0)) / x.std(0);
    let expr = standardised(&Expr::input(input));
    let expected = bits(&standardised(&Expr::from(&tensor)).eval().unwrap());
    let held = expr.passes_in_memory(Some(300_000)).unwrap();
    let [written, ample] = [Some(300_000), None].map(|limit| expr.passes(limit).unwrap());
    assert!(held.memory() <= 300_000 && held.memory() >= held.output_bytes());
    let printed = [held.to_string(), written.to_string()];
    for _ in 0..2 {
        assert_eq!(bits(&held.run(None).unwrap()), expected);
        assert_eq!(bits(&ample.run(None).unwrap()), expected);
        let mut output = Taken::default();
        let (mut pieces, mut read) = (0, 0);
        let mut watch = |progress: zerostride::stream::Progress| {
            (pieces, read) = (pieces + 1, progress.read);
            ControlFlow::Continue(())
        };
        written.run_to(&mut output, Some(&mut watch)).unwrap();
        let elements = standardised(&Expr::from(&tensor)).eval().unwrap().to_vec::<f32>().unwrap();
        assert!(output.0 == elements.iter().flat_map(|element| element.to_ne_bytes()).collect::<Vec<_>>());
        assert_eq!((pieces, read), (6, written.bytes_read()));
    }
    assert_eq!([held.to_string(), written.to_string()], printed);
    assert!(matches!(held.run(Some(&mut |_| ControlFlow::Break(()))), Err(Error::Interrupted)));

    // Passes for a file have not counted a result in memory.
    let tight = expr.passes(Some(written.memory())).unwrap();
    assert!(tight.run_to(&mut Taken::default(), None).is_ok());
    let text = tight.run(None).unwrap_err().to_string();
    assert!(text.contains("the result (84000 bytes) stays in memory; write it to a file"), "{text}");
}

/// The bytes of a result.
#[derive(Default)]
struct Taken(Vec<u8>);

impl Output for Taken {
    fn begin(&mut self, _: DType, _: &[usize]) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, elements: &[u8]) -> Result<()> {
        self.0.extend(elements);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Several expressions over `x` of shape (3000, 7), `y` of (3000, 1), `row` of (7) and `deep` of (3000, 2,
/// 5); and how many rows of `x` and of `y` they read together.
type Several = (&'static str, fn([&Expr; 4]) -> Vec<Expr>, [u64; 2]);

#[rustfmt::skip]
const SEVERAL: &[Several] = &[
    ("parts of the rows", |[x, y, row, _]| vec![x * y, (x - row).exp(), x.sum(1)], [3000, 3000]),
    ("reductions", |[x, ..]| vec![x.mean(0), x.std(0), x.amax(..)], [3000, 0]),
    ("parts and reductions", |[x, y, ..]| vec![x * y, x.sum(0), (x * y).sum(..)], [3000, 3000]),
    ("a chain of reductions", |[x, ..]| vec![x.mean(0), (x - x.mean(0)) / x.std(0), x.std(0)], [6000, 0]),
    ("rows of rows", |[x, ..]| vec![x.softmax(1), x.logsumexp(1), x.logsumexp(1).sum(0)], [3000, 0]),
    ("one result twice", |[x, ..]| { let y = x.exp(); vec![y.clone(), y] }, [3000, 0]),
    ("the array itself and a number", |[x, _, row, _]| vec![x.clone(), row.clone(), row.sum(0)], [3000, 0]),
    ("inputs that meet last", |[x, y, ..]| vec![x.sum(0), y.sum(0), (x + y).sum(0)], [3000, 3000]),
    ("other numbers of rows", |[x, y, ..]| vec![x + y, x.narrow(0, 0, 1024).exp(), x.reshape(&[1500, 14]) * 2], [7024, 3000]),
    ("what is read whole", |[x, y, ..]| vec![x.t() + 1, x * y], [6000, 3000]),
    ("bounds of other multiples", |[x, _, _, deep]| vec![x.sum(0), deep.reshape(&[300, 10, 10]).exp(), deep.sum(0)], [3000, 0]),
    ("without an input", |[x, _, row, _]| vec![row.exp(), x * row], [3000, 0]),
    ("a loss and its gradient", |[x, y, row, _]| {
        let loss = (x * row - y).square().sum(..);
        vec![loss.clone(), ((x * row - y) * 2 * x).sum(0), x * row - y]
    }, [3000, 3000]),
];

#[test]
fn several_results_have_the_bits_of_each_and_read_what_they_share_once() {
    let shapes: [&[usize]; 4] = [&[3000, 7], &[3000, 1], &[7], &[3000, 2, 5]];
    for (name, case, reads) in SEVERAL {
        let (inputs, tensors): (Vec<_>, Vec<_>) =
            shapes.iter().zip(1..).map(|(shape, seed)| Rows::new(shape, seed).unwrap()).unzip();
        let whole: Vec<Expr> = tensors.iter().map(Expr::from).collect();
        let expected = case([&whole[0], &whole[1], &whole[2], &whole[3]]);
        let expected: Vec<Tensor> = expected.iter().map(|expr| expr.eval().unwrap()).collect();
        // The row is in memory.
        let lazy: Vec<Expr> = inputs.iter().map(|input| Expr::input(input.clone())).collect();
        let exprs = case([&lazy[0], &lazy[1], &whole[2], &lazy[3]]);
        let forget = || inputs.iter().for_each(|input| input.read.store(0, Ordering::Relaxed));
        let read = || [0, 1].map(|at: usize| inputs[at].read.load(Ordering::Relaxed));
        let wanted = [reads[0] * 28, reads[1] * 4];
        for (threads, rows) in [(1, 100), (1, 1024), (2, 2999), (2, 1 << 20), (16, 1000)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            forget();
            let mut kept: Vec<InMemory> = exprs.iter().map(|_| InMemory::default()).collect();
            let mut outputs: Vec<&mut dyn Output> = kept.iter_mut().map(|kept| kept as _).collect();
            let mut run = || eval_all_to(&exprs, &mut outputs, Options::new().piece_rows(rows));
            pool.install(&mut run).unwrap();
            assert_eq!(read(), wanted, "{name}, pieces of {rows} rows");
            let found: Vec<Tensor> = kept.into_iter().map(|kept| kept.into_tensor().unwrap()).collect();
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()), "{name}");
                assert!(bits(found) == bits(expected), "{name}, {threads} threads, {rows} rows");
            }
        }
        forget();
        for (found, expected) in eval_all(&exprs).unwrap().iter().zip(&expected) {
            assert!(bits(found) == bits(expected), "{name}");
        }
        assert_eq!(read(), wanted, "{name}");
        let passes = Passes::of(&exprs, None).unwrap();
        assert!(passes.to_string().contains(&format!("{} results", exprs.len())), "{passes}");
    }
}

#[test]
fn several_results_that_fit_only_one_by_one_come_one_by_one() {
    let (input, tensor) = Rows::new(&[3000, 7], 1).unwrap();
    // Bounds at multiples of 50 rows, of 1024 and of 75, which are all rows together.
    let through = |x: &Expr, rows: isize| x.reshape(&[rows, -1]).exp().reshape(&[3000, 7]);
    let case = |x: &Expr| vec![through(x, 60), x.amax(0), through(x, 40)];
    let exprs = case(&Expr::input(input.clone()));
    let least =
        |expr: &Expr| (1..).map(|kib| kib << 10).find(|&limit| expr.passes(Some(limit)).is_ok()).unwrap();
    let limit = exprs.iter().map(least).max().unwrap();
    let passes = Passes::of(&exprs, Some(limit)).unwrap();
    assert!(passes.memory() <= limit && passes.len() > 1, "{passes}");
    assert!(Passes::of(&exprs, None).unwrap().len() < passes.len());
    let mut taken: Vec<Taken> = exprs.iter().map(|_| Taken::default()).collect();
    let mut outputs: Vec<&mut dyn Output> = taken.iter_mut().map(|taken| taken as _).collect();
    passes.run_all_to(&mut outputs, None).unwrap();
    for (taken, expr) in taken.iter().zip(case(&Expr::from(&tensor))) {
        let elements = expr.eval().unwrap().to_vec::<f32>().unwrap();
        assert!(taken.0 == elements.iter().flat_map(|element| element.to_ne_bytes()).collect::<Vec<_>>());
    }
}

#[test]
fn several_results_are_finished_together_or_not_at_all() {
    struct Last<'a>(&'a AtomicU64);
    impl Output for Last<'_> {
        fn begin(&mut self, _: DType, _: &[usize]) -> Result<()> {
            Ok(())
        }
        fn write(&mut self, _: &[u8]) -> Result<()> {
            Ok(())
        }
        fn finish(&mut self) -> Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }
    let finished = AtomicU64::new(0);
    let run = |exprs: &[Expr]| {
        let (mut one, mut other) = (Last(&finished), Last(&finished));
        eval_all_to(exprs, &mut [&mut one, &mut other], Options::new().piece_rows(1000))
    };
    let (input, _) = Rows::new(&[3000, 7], 1).unwrap();
    let x = Expr::input(input);
    let broken = Expr::input(Arc::new(Strange(|_| panic!("no sensor"))));
    let panic = std::panic::AssertUnwindSafe(|| run(&[&x + 1, &broken + 1]));
    assert!(std::panic::catch_unwind(panic).is_err());
    assert!(run(&[&x + 1, &x + Tensor::ones(&[2]).unwrap()]).is_err());
    assert_eq!(finished.load(Ordering::Relaxed), 0);
    run(&[&x + 1, x.sum(0)]).unwrap();
    assert_eq!(finished.load(Ordering::Relaxed), 2);

    let error = |error: Error| error.to_string();
    assert!(error(run(std::slice::from_ref(&x)).unwrap_err()).contains("1 results, 2 outputs"));
    assert!(error(Passes::of(&[], None).unwrap_err()).contains("the list of expressions is empty"));
    let two = Passes::of(&[x.sum(0), x.sum(1)], None).unwrap();
    assert!(error(two.run(None).unwrap_err()).contains("2 results, 1 outputs"));
    let incomplete = InMemory::default().into_tensor().unwrap_err();
    assert!(error(incomplete).contains("as many elements as were announced"));
}

#[test]
fn what_stays_in_memory_of_several_results_counts() {
    let (input, _) = Rows::new(&[3000, 7], 1).unwrap();
    let x = Expr::input(input);
    let exprs = [&x + 1, &x * 2];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let run = |limit, held| {
        let (mut taken, mut kept) = (Taken::default(), InMemory::default());
        let outputs: &mut [&mut dyn Output] = &mut [&mut taken, &mut kept];
        match held {
            true => eval_all_to(&exprs, outputs, Options::new().max_memory(limit)),
            false => Passes::of(&exprs, Some(limit)).unwrap().run_all_to(outputs, None),
        }
    };
    for held in [true, false] {
        let text = pool.install(|| run(60_000, held)).unwrap_err().to_string();
        assert!(text.contains("the result (84000 bytes) stays in memory"), "{text}");
        pool.install(|| run(400_000, held)).unwrap();
    }
}

#[test]
fn a_plan_over_what_is_not_in_memory_says_so() {
    let (input, _) = Rows::new(&[3000, 7], 1).unwrap();
    let text = (Expr::input(input) + 1).plan().unwrap().run().unwrap_err().to_string();
    assert!(text.contains("not in memory"), "{text}");
}

#[test]
fn passes_obey_the_policy_when_they_run() {
    use zerostride::policy::{Action, Class, Policy};
    let (input, _) = Rows::new(&[3000, 1], 1).unwrap();
    let (x, row) = (Expr::input(input), Tensor::ones(&[7]).unwrap());
    let _strict = Policy::new().with(Class::MutualStretch, Action::Error).enter();
    let passes = (&x + &row).passes_in_memory(None).unwrap();
    for error in [passes.run(None).unwrap_err(), passes.run_to(&mut Taken::default(), None).unwrap_err()] {
        assert!(matches!(error.root(), Error::Policy(_)), "{error}");
    }
}

#[test]
fn whoever_watches_can_end_it() {
    let (input, _) = Rows::new(&[3000, 7], 1).unwrap();
    let x = Expr::input(input);
    let mut told = Vec::new();
    let mut watch = |progress: zerostride::stream::Progress| {
        told.push((progress.read, progress.to_read));
        if told.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let result = (&x + 1).eval_with(Options::new().piece_rows(1000).watch(&mut watch));
    assert!(matches!(result, Err(Error::Interrupted)));
    assert_eq!(told, [(28_000, 84_000), (56_000, 84_000)]);
}

#[test]
fn whoever_watches_is_asked_while_an_array_is_read_and_written_whole() {
    const MIB: u64 = 1 << 20;
    let (input, tensor) = Rows::new(&[9 << 20, 2], 1).unwrap();
    let turned = Expr::input(input).t() + 1;
    let mut told = Vec::new();
    let mut watch = |progress: zerostride::stream::Progress| {
        told.push((progress.read / MIB, progress.written / MIB));
        ControlFlow::Continue(())
    };
    let result = turned.eval_with(Options::new().watch(&mut watch)).unwrap();
    assert_eq!(told, [(32, 0), (64, 0), (72, 0), (72, 36), (72, 72)]);
    let expected = (tensor.t().unwrap() + 1).eval().unwrap();
    assert!(result.to_vec::<f32>().unwrap() == expected.to_vec::<f32>().unwrap());

    let mut stop = |_| ControlFlow::Break(());
    assert!(matches!(turned.eval_with(Options::new().watch(&mut stop)), Err(Error::Interrupted)));
}

#[test]
fn pieces_hold_whole_chunks_where_they_can() {
    let (input, tensor) = Rows::new(&[3000, 7], 1).unwrap();
    let elements = tensor.to_vec().unwrap();
    let input = Arc::new(Rows { shape: input.shape.clone(), elements, chunk: 700, read: AtomicU64::new(0) });
    let doubled = Expr::input(input) * 2;
    let pieces = |limit| doubled.passes(Some(limit)).unwrap().to_string();
    assert!(pieces(200_000).starts_with("reading 1: rows in 5 pieces of 700 rows"), "{}", pieces(200_000));
    assert!(pieces(100_000).starts_with("reading 1: rows in 12 pieces of 256 rows"), "{}", pieces(100_000));
}

#[test]
fn an_expression_as_deep_as_any_is_followed_to_the_end() {
    let (input, tensor) = Rows::new(&[3000, 7], 1).unwrap();
    let deep = |x: Expr| (0..990).fold(x, |sum, step| if step % 2 == 0 { sum + 0.5 } else { sum.flip(&[0]) });
    let found = deep(Expr::input(input)).eval_with(Options::new().piece_rows(1000)).unwrap();
    assert_eq!(bits(&found), bits(&deep(Expr::from(&tensor)).eval().unwrap()));
}

#[test]
fn a_result_larger_than_memory_is_made_of_operands_in_memory() {
    let row = Tensor::rand(&[1, 500], 1).unwrap();
    let column = Tensor::rand(&[4000, 1], 2).unwrap();
    let table = &column * &row;
    let passes = table.passes(Some(1 << 20)).unwrap();
    assert!(
        passes.memory() < 1 << 20 && passes.output_bytes() == 8_000_000 && passes.bytes_read() == 0,
        "{passes}"
    );
}

/// An input that does with the memory for its rows what a function says.
#[derive(Debug)]
struct Strange(fn(&mut [u8]));

impl Input for Strange {
    fn name(&self) -> String {
        "strange".into()
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn shape(&self) -> &[usize] {
        &[3000, 7]
    }

    fn read(&self, _: Range<usize>, out: &mut [u8]) -> Result<()> {
        (self.0)(out);
        Ok(())
    }
}

#[test]
fn what_an_input_does_not_fill_is_zero() {
    for options in [|| Options::new(), || Options::new().piece_rows(100)] {
        for expr in [|x: Expr| x + 1, |x: Expr| &x + x.sum(0) + 1] {
            // Memory that has been used, for the pool to hand out.
            drop(Tensor::full(&[3000, 7], 5.5, DType::F32).unwrap());
            drop(Tensor::full(&[100, 7], 5.5, DType::F32).unwrap());
            let input = Expr::input(Arc::new(Strange(|_| ())));
            let values = expr(input).eval_with(options()).unwrap().to_vec::<f32>().unwrap();
            assert!(values.iter().all(|&value| value == 1.0));
        }
    }
}

/// An output that panics at a call.
struct Panics(&'static str);

impl Output for Panics {
    fn begin(&mut self, _: DType, _: &[usize]) -> Result<()> {
        assert_ne!(self.0, "begin");
        Ok(())
    }

    fn write(&mut self, _: &[u8]) -> Result<()> {
        if self.0 == "write" { std::panic::panic_any(42u8) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<()> {
        assert_ne!(self.0, "finish", "no room");
        Ok(())
    }
}

#[test]
fn a_panic_of_an_input_or_output_comes_out_as_it_was() {
    let panic = |expr: Expr, output: &mut Panics| {
        let run = std::panic::AssertUnwindSafe(|| expr.eval_to(output, Options::new().piece_rows(100)));
        std::panic::catch_unwind(run).unwrap_err()
    };
    let message = |panic: Box<dyn std::any::Any + Send>| {
        panic
            .downcast::<String>()
            .map_or_else(|panic| (*panic.downcast::<&str>().unwrap()).to_owned(), |message| *message)
    };
    for expr in [|x: Expr| x.exp(), |x: Expr| x.sum(0), |x: Expr| x.t()] {
        let input = Expr::input(Arc::new(Strange(|_| panic!("no sensor"))));
        assert_eq!(message(panic(expr(input), &mut Panics("never"))), "no sensor");
        let input = || expr(Expr::input(Arc::new(Strange(|_| ()))));
        assert_eq!(panic(input(), &mut Panics("write")).downcast_ref(), Some(&42u8));
        assert!(message(panic(input(), &mut Panics("begin"))).contains("begin"));
        assert!(message(panic(input(), &mut Panics("finish"))).contains("no room"));
    }
}
