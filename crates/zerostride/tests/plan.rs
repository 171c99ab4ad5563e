//! What plans promise: each operation once for each element of its own shape, no stretched arrays, shared
//! parts once, and views that are fused. Memory is measured, not only planned.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use zerostride::policy::{Action, Class, Policy};
use zerostride::{Error, Expr, Op, Plan, Slice, Tensor, keepdim, num_threads, pool, set_num_threads};

/// Counts the bytes that are held, the most there were, and each thread's allocations.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged; counting does not touch memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(HELD.fetch_add(layout.size(), SeqCst) + layout.size(), SeqCst);
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Memory is counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Bytes that do not come from the allocator, as large ones do on systems other than Linux.
fn mapped_bytes() -> usize {
    if cfg!(target_os = "linux") { pool::statistics().mapped } else { 0 }
}

/// The most bytes held beyond those at the start while the expression is planned and evaluated, its result
/// included.
fn peak(expr: &Expr) -> usize {
    peak_of(|| expr.eval().unwrap())
}

fn peak_of<R>(work: impl FnOnce() -> R) -> usize {
    // From an empty pool all memory comes from the allocator, or is mapped and stays so.
    pool::trim();
    let (start, mapped) = (HELD.load(SeqCst), mapped_bytes());
    PEAK.store(start, SeqCst);
    let result = work();
    let peak = PEAK.load(SeqCst) - start + (mapped_bytes() - mapped);
    drop(result);
    peak
}

/// Holds the others back. Bounds are for four threads, each of which has tiles of its own.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    set_num_threads(4);
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

const MIB: usize = 1 << 20;

#[test]
fn a_function_of_a_row_runs_once_for_each_element_of_the_row() {
    let _alone = alone();
    let (n, m) = (2000, 300);
    let (row, x) = (Tensor::rand(&[m], 1).unwrap(), Tensor::rand(&[n, m], 2).unwrap());
    let expr = Expr::from(&row).exp() * &x;
    let plan = expr.plan().unwrap();
    assert_eq!((plan.operations(Op::Exp), plan.operations(Op::Mul)), (m, n * m));
    assert_eq!(plan.hoisted().len(), 1);
    assert!(peak(&expr) <= plan.output_bytes() + MIB);
}

#[test]
fn a_strided_row_is_gathered_once_for_all_rows() {
    let _alone = alone();
    let x = Expr::from(Tensor::rand(&[40, 3000], 1).unwrap());
    let table = Tensor::rand(&[3000, 5], 2).unwrap();
    let column = table.select(1, 2).unwrap();
    let plan = (&x + &column).plan().unwrap();
    assert_eq!((plan.passes(), plan.hoisted().len()), (2, 1));
    let dense = &x + column.row_major().unwrap();
    assert_eq!(dense.plan().unwrap().passes(), 1);
    let bits = |expr: &Expr| expr.eval().unwrap().to_vec::<f32>().unwrap();
    assert_eq!(bits(&(&x + &column)), bits(&dense));
    // An expanded view is held once as well; few rows are read where they are.
    let expanded = column.expand(&[40, 3000]).unwrap();
    assert_eq!((&x + &expanded).plan().unwrap().hoisted().len(), 1);
    assert_eq!(bits(&(&x + &expanded).sum(0)), bits(&dense.sum(0)));
    let few = x.narrow(0, 0, 4);
    assert_eq!((few + &column).plan().unwrap().passes(), 1);
}

#[test]
fn small_operands_of_a_reduction_are_turned_to_lie_as_the_large_one_does() {
    let _alone = alone();
    let rand = |shape: &[usize], seed| Expr::from(&Tensor::rand(shape, seed).unwrap());
    let (places, others, weights) = (rand(&[500, 1, 3], 1), rand(&[400, 3], 2), rand(&[500, 400, 1], 3));
    let forces = (&places - &others) * &weights;
    // Along the reduced elements, and along the results.
    for dim in [1, 0] {
        let plan = forces.sum(dim).plan().unwrap();
        assert_eq!((plan.passes(), plan.hoisted().len()), (2, 1), "{plan}");
        assert!(plan.to_string().contains("(0, 400 | 1)") == (dim == 1), "{plan}");
        let (peak, limit) = (peak(&forces.sum(dim)), plan.output_bytes() + plan.scratch_bytes() + MIB / 2);
        assert!(peak <= limit, "{peak} of {limit}: {plan}");
    }
    // A large operand is read as it lies, and so are the others beside it.
    let large = rand(&[500, 400, 3], 4);
    assert_eq!((&large * &others).sum(1).plan().unwrap().passes(), 1);
    assert_eq!((places.slice(0, ..9) - &others).sum(1).plan().unwrap().passes(), 1);
}

#[test]
fn a_sum_of_squared_differences_holds_the_output_and_a_mebibyte() {
    let _alone = alone();
    let (a, b) = (Tensor::rand(&[600, 1, 64], 1).unwrap(), Tensor::rand(&[1, 500, 64], 2).unwrap());
    for expr in [(&a - &b).square().sum(-1), (&a - &b).pow(2).sum(-1)] {
        let plan = expr.plan().unwrap();
        let output = 600 * 500 * 4;
        assert_eq!(
            (plan.output_bytes(), plan.operations(Op::Sub), plan.passes()),
            (output, 600 * 500 * 64, 1)
        );
        assert!(plan.scratch_bytes() <= MIB, "{plan}");
        let peak = peak(&expr);
        assert!(peak <= output + MIB, "{peak} bytes for an output of {output}");
    }
}

/// The kernel of points and points is read in rows by a sum over the one side, in columns by a sum over the
/// other: it is computed in the order in which it is read, a block of rows at a time, and never whole.
#[test]
fn sums_over_either_side_of_pairs_hold_no_table() {
    let _alone = alone();
    [(3000, 2800), (2900, 2900)].into_iter().for_each(hold_no_table);
}

/// Rows of the table that are longer than a core's cache are held by each thread, too.
#[test]
fn sums_over_many_long_rows_of_pairs_hold_no_table() {
    let _alone = alone();
    let [p, q] = [(200, 1), (40_000, 2)].map(|(rows, seed)| Tensor::rand(&[rows, 16], seed).unwrap());
    let distances = (Expr::from(&p.unsqueeze(1).unwrap()) - &q).square().sum(-1);
    let stored = Expr::from(&distances.eval().unwrap());
    let sums = |distances: &Expr| [(-distances).exp().sum(1), distances.softmax(1).amax(1)];
    for (sum, expected) in sums(&distances).iter().zip(&sums(&stored)) {
        let (table, limit) = (200 * 40_000 * 4, num_threads() * 3 * MIB);
        let plan = sum.plan().unwrap();
        assert!(plan.scratch_bytes() <= limit && limit < table / 2, "{sum:?}\n{plan}");
        assert!(peak(sum) <= plan.output_bytes() + limit, "{sum:?}\n{plan}");
        let [found, expected] = [sum, expected].map(|expr| expr.eval().unwrap().to_vec::<f32>().unwrap());
        assert!(found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{sum:?}");
    }
}

fn hold_no_table((n, m): (usize, usize)) {
    let [p, q] = [(n, 1), (m, 2)].map(|(rows, seed)| Tensor::rand(&[rows, 3], seed).unwrap());
    let weights = Tensor::rand(&[n, 1], 3).unwrap();
    let difference = Expr::from(&p.unsqueeze(1).unwrap()) - &q;
    let distances = difference.square().sum(-1);
    let kernel = (-&distances).exp();
    let force = (&distances + 0.1).pow(-1.5).unsqueeze(-1) * &difference;
    let (table, limit) = (n * m * 4, 4 * MIB);
    let stored = distances.eval().unwrap();
    let of_stored = Expr::from(&stored);
    let sums = [
        (kernel.sum(0), (-&of_stored).exp().sum(0)),
        (kernel.sum(1), (-&of_stored).exp().sum(1)),
        ((&kernel * &weights).sum(0), ((-&of_stored).exp() * &weights).sum(0)),
        (distances.amin(0) + 1, of_stored.amin(0) + 1),
        (distances.softmax(1).sum(0), of_stored.softmax(1).sum(0)),
        (distances.softmax(0).sum(1), of_stored.softmax(0).sum(1)),
        (force.sum(0), ((&of_stored + 0.1).pow(-1.5).unsqueeze(-1) * &difference).sum(0)),
        (force.sum(1), ((&of_stored + 0.1).pow(-1.5).unsqueeze(-1) * &difference).sum(1)),
    ];
    for (sum, expected) in &sums {
        let plan = sum.plan().unwrap();
        assert!(plan.scratch_bytes() <= limit && limit < table / 8, "{sum:?}\n{plan}");
        let peak = peak(sum);
        assert!(peak <= plan.output_bytes() + limit, "{sum:?}: {peak} of {table} bytes\n{plan}");
        let [found, expected] = [sum, expected].map(|expr| expr.eval().unwrap().to_vec::<f32>().unwrap());
        assert!(found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{sum:?}");
    }
    // Sums over both sides of a softmax need each other's.
    let independent = sums.into_iter().filter(|(sum, _)| !sum.formula().contains("amax"));
    let (exprs, expected): (Vec<Expr>, Vec<Expr>) = independent.unzip();
    let plan = Plan::of(&exprs).unwrap();
    assert!(plan.scratch_bytes() <= 2 * limit, "{plan}");
    for (found, expected) in plan.run_all().unwrap().iter().zip(&expected) {
        assert_eq!(found.to_vec::<f32>().unwrap(), expected.eval().unwrap().to_vec::<f32>().unwrap());
    }
}

/// Formulas over pairs of `n` and `m` points, each with what it is differentiated by: squared distances, row
/// sums of Gaussians with weights, forces of bodies on each other with softening, the soft nearest neighbour.
fn formulas_of_pairs(n: usize, m: usize) -> Vec<(&'static str, Expr, Vec<Tensor>)> {
    let rand = |shape: &[usize], seed| Tensor::rand(shape, seed).unwrap();
    let (p, q, weights, masses) = (rand(&[n, 3], 1), rand(&[m, 3], 2), rand(&[m], 3), rand(&[n], 4));
    let distances = || (Expr::from(&p).unsqueeze(1) - Expr::from(&q)).square().sum(-1);
    let apart = Expr::from(&p).unsqueeze(0) - Expr::from(&p).unsqueeze(1);
    let softened = (&apart * &apart).sum(-1) + 1e-2;
    let forces = (&apart * (softened.pow(-1.5) * &masses).unsqueeze(-1)).sum(1);
    let both = || vec![p.alias(), q.alias()];
    vec![
        ("distances", distances(), both()),
        ("Gaussians", ((-distances()).exp() * &weights).sum(1), vec![p.alias(), q.alias(), weights]),
        ("bodies", forces, vec![p.alias(), masses]),
        ("soft nearest neighbour", -(-distances()).logsumexp(1), both()),
    ]
}

/// With four threads no formula over pairs holds more than this for each of the points, neither forwards nor
/// for its loss and all gradients: some rows of each table, by every thread.
const BYTES_PER_POINT: usize = 4096;

#[test]
fn losses_and_gradients_over_pairs_hold_no_table() {
    let _alone = alone();
    for (n, m) in [(3000, 4000), (4000, 3000)] {
        let limit = BYTES_PER_POINT * (n + m);
        for (name, formula, variables) in formulas_of_pairs(n, m) {
            let variables: Vec<&Tensor> = variables.iter().collect();
            let loss = formula.sum(..);
            let gradients = loss.grad(&variables).unwrap();
            let all = [&[loss], &gradients[..]].concat();
            for exprs in [std::slice::from_ref(&formula), &gradients, &all] {
                let plan = Plan::of(exprs).unwrap();
                assert!(plan.scratch_bytes() <= limit, "{name}: {}\n{plan}", plan.scratch_bytes());
                let peak = peak_of(|| plan.run_all().unwrap());
                assert!(peak <= plan.output_bytes() + limit, "{name}: {peak}\n{plan}");
                println!("{name}, {n} and {m}: at most {} bytes planned, {peak} held", plan.scratch_bytes());
            }
            for (together, alone) in Plan::of(&all).unwrap().run_all().unwrap().iter().zip(&all) {
                let bits =
                    |x: &Tensor| x.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
                assert_eq!(bits(together), bits(&alone.eval().unwrap()), "{name}: {alone:?}");
            }
        }
    }
}

/// One reading of the operand for all gradients, and one for the loss.
#[test]
fn all_gradients_of_a_normalisation_are_one_pass() {
    let _alone = alone();
    let (n, d) = (8192, 512);
    let x = Tensor::rand(&[n, d], 1).unwrap();
    let rows = [2, 3, 4, 5].map(|seed| (Tensor::rand(&[d], seed).unwrap() + 0.5).eval().unwrap());
    let [mean, deviation, gain, bias] = &rows;
    let y = (Expr::from(&x) - mean) / deviation * gain + bias;
    let loss = y.square().mean(..);
    let gradients = loss.grad(&[&x, mean, deviation, gain, bias]).unwrap();
    let whole = n * d * 4;
    let large = |plan: &Plan| {
        let text = plan.to_string();
        let together = text.lines().filter(|line| line.contains("run together")).count();
        assert!(plan.scratch_bytes() < whole / 4, "{plan}");
        (plan.passes(), together)
    };
    let plan = Plan::of(&gradients).unwrap();
    // But for the cotangent of a mean, a number.
    let run_together = format!("passes 2 to {} run together", plan.passes());
    assert!(large(&plan).1 == 1 && plan.to_string().contains(&run_together), "{plan}");
    let with_loss = Plan::of(&[std::slice::from_ref(&loss), &gradients].concat()).unwrap();
    let (passes, together) = large(&with_loss);
    assert!(together == 1 && passes == plan.passes() + 1, "{with_loss}");
    for (found, expr) in with_loss.run_all().unwrap()[1..].iter().zip(&gradients) {
        assert_eq!(found.to_vec::<f32>().unwrap(), expr.eval().unwrap().to_vec::<f32>().unwrap());
    }
}

#[test]
fn a_plan_tells_of_scratch_where_there_is_some() {
    let _alone = alone();
    let x = Tensor::rand(&[64, 64], 1).unwrap();
    let product = Expr::from(&x).matmul(&x).plan().unwrap();
    assert_eq!((product.scratch_bytes(), product.to_string().contains("scratch")), (0, false), "{product}");
    let shared = Expr::from(&x).softmax(-1).plan().unwrap();
    let told = format!("scratch at most {} bytes", shared.scratch_bytes());
    assert!(shared.scratch_bytes() > 0 && shared.to_string().ends_with(&told), "{shared}");
}

#[test]
fn nothing_is_copied_to_a_broadcast_shape() {
    let _alone = alone();
    let (n, m) = (1500, 400);
    let (row, column) = (Tensor::rand(&[1, m], 1).unwrap(), Tensor::rand(&[n, 1], 2).unwrap());
    let whole = n * m * 4;
    let outer = &row * &column;
    let normalised = (&outer - outer.amax(keepdim(1))).exp().sum(1);
    for expr in [outer.sum(0), outer.sum(..), outer.exp().sum(1), normalised, outer.amax(0) + 1] {
        let plan = expr.plan().unwrap();
        let peak = peak(&expr);
        assert!(plan.bytes_written() < whole / 10 && peak < whole / 2, "{peak} of {whole} bytes\n{plan}");
    }
}

#[test]
fn a_softmax_takes_one_exponential_for_each_element_and_holds_one_array() {
    let _alone = alone();
    let x = Tensor::rand(&[500, 1000], 3).unwrap();
    let expr = Expr::from(&x).softmax(-1);
    let plan = expr.plan().unwrap();
    assert_eq!(plan.operations(Op::Exp), 500 * 1000, "{plan}");
    // The exponentials lie where the result will.
    assert!(peak(&expr) <= plan.output_bytes() + MIB, "{plan}");
}

/// Tiles of whole leaves are larger than others: of a few results, of all results of several dimensions, and
/// of rows that are not read in place.
#[test]
fn tiles_of_leaves_hold_no_more_than_their_plan_says() {
    let _alone = alone();
    let rand = |shape: &[usize], seed| Expr::from(&Tensor::rand(shape, seed).unwrap());
    let (x, y) = (rand(&[3000, 400], 1), rand(&[400, 3000], 2));
    let [rows, columns] = [rand(&[30, 1, 400], 3), rand(&[1, 100, 400], 4)];
    let few = rand(&[3000, 64], 5);
    let apart = rand(&[3000, 3, 20], 6).slice(2, Slice::from(..).step_by(2));
    for expr in [
        (x.flip(&[1]) * &x).sum(0),
        (y.t() * &x).sum(0),
        (y.t() * &x).sum(1),
        (rows * columns).sum([0, 1]),
        (few.flip(&[1]) * &few).var(0),
        (&apart * &apart).sum(0),
    ] {
        let plan = expr.plan().unwrap();
        let limit = plan.output_bytes() + plan.scratch_bytes() + MIB / 2;
        let peak = peak(&expr);
        assert!(peak <= limit, "{peak} of {limit}: {plan}");
    }
}

#[test]
fn standardising_reads_in_three_passes_and_writes_in_one() {
    let _alone = alone();
    let x = Expr::from(Tensor::rand(&[4000, 100], 3).unwrap());
    for dim in [0, 1] {
        let expr = (&x - x.mean(keepdim(dim))) / (x.std(keepdim(dim)) + 1e-5);
        let plan = expr.plan().unwrap();
        let columns = plan.output_bytes() / if dim == 0 { 4000 } else { 100 };
        assert_eq!(plan.operations(Op::Sub), 400_000);
        assert!(plan.scratch_bytes() <= 8 * columns + MIB, "{plan}");
        assert!(peak(&expr) <= plan.output_bytes() + 8 * columns + MIB, "{plan}");
    }
}

/// The workloads that are measured against other libraries, at smaller sizes: none holds more than its
/// result, a mebibyte, and what it needs of each row.
#[test]
fn no_workload_holds_more_than_its_result_and_a_mebibyte() {
    let _alone = alone();
    let n = 1024;
    let rand = |shape: &[usize]| Tensor::rand(shape, shape.len() as u64).unwrap();
    let (x, y, row, column) = (rand(&[n, n]), rand(&[n, n]), rand(&[n]), rand(&[n, 1]));
    let (tall, mean, scale) = (rand(&[8192, 256]), rand(&[8192, 1]), rand(&[256]));
    let image = (&rand(&[8, 224, 224, 3]) * 255).eval().unwrap().to_dtype(zerostride::DType::U8).unwrap();
    let channel = rand(&[3]);
    let distances = |count: usize, features: usize| {
        let (a, b) = (rand(&[count, 1, features]), rand(&[1, count, features]));
        (&a - &b).square().sum(-1)
    };
    let rows = Expr::from(&tall);
    let centred = &rows - rows.mean(keepdim(1));
    let gelu = &rows * 0.5 * (((&rows + rows.pow(3) * 0.044715) * 0.797_884_6).tanh() + 1.0);
    let workloads = [
        ("whole", &x + &y, 0),
        ("number", &x + 2.5, 0),
        ("row", &x + &row, 0),
        ("column", &x + &column, 0),
        ("outer", &column + &row, 0),
        ("both stretched", &rand(&[16, 1, 128, 1]) + &rand(&[32, 1, 64]), 0),
        ("channels first", &rand(&[4, 64, 56, 56]) + &rand(&[64, 1, 1]), 0),
        ("transposed", &x + y.t().unwrap(), 0),
        ("normalise", (&tall - &mean) / &mean * &scale + &scale, 0),
        ("gelu", gelu, 0),
        ("image", (&image / 255.0 - &channel) / &channel, 0),
        ("where", Expr::from(&x).where_(Expr::from(&column).gt(0.5), &row), n),
        ("distances of 16", distances(512, 16), 0),
        ("distances of 3", distances(n, 3), 0),
        ("separable", Expr::from(&column).exp() * Expr::from(&row).exp(), 8 * n),
        ("sum of columns", Expr::from(&x).sum(0), 0),
        ("sum of rows", Expr::from(&x).sum(1), 0),
        ("in cache", &rand(&[256, n]) + &row, 0),
        ("tiny", &rand(&[1, 3]) + &rand(&[3, 1]), 0),
        ("layer norm", &centred / (rows.var_corrected(keepdim(1), 0.0) + 1e-5).sqrt(), 3 * 4 * 8192),
        ("softmax", rows.softmax(-1), 2 * 4 * 8192),
        ("rbf", (-distances(512, 16)).exp().sum(-1), 0),
        // Products pack blocks of both factors, whose size no cache decides, for each thread.
        ("matrices", Expr::from(rand(&[8, 128, 128])).matmul(rand(&[1, 128, 128])), num_threads() * MIB / 2),
        ("large matrices", Expr::from(rand(&[600, 700])).matmul(rand(&[700, 900])), num_threads() * MIB),
        ("chain", (0..6).fold(Expr::from(&x), |x, _| x * 1.01 + &row), 0),
    ];
    for (name, expr, hoisted) in workloads {
        let limit = expr.plan().unwrap().output_bytes() + hoisted + MIB;
        let peak = peak(&expr);
        assert!(peak <= limit, "{name}: {peak} bytes of at most {limit}\n{}", expr.plan().unwrap());
    }
    pool::trim();
    let (start, mapped) = (HELD.load(SeqCst), mapped_bytes());
    PEAK.store(start, SeqCst);
    x.add_(&row).unwrap();
    let peak = PEAK.load(SeqCst) - start + (mapped_bytes() - mapped);
    assert!(peak <= MIB, "in place: {peak} bytes");
}

/// One thread does the work: what calls for others allocates.
#[test]
fn a_repeated_evaluation_into_memory_allocates_nothing() {
    let _alone = alone();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(evaluate_repeatedly);
}

fn evaluate_repeatedly() {
    let (n, m) = (96, 640);
    let rand = |shape: &[usize]| Tensor::rand(shape, shape.len() as u64).unwrap();
    let (x, y, row, column) = (rand(&[n, m]), rand(&[n, m]), rand(&[m]), rand(&[n, 1]));
    let wide = rand(&[n, 2 * m]);
    let expressions = [
        &x + &y,
        &x + 2.5,
        &x + &row,
        &x + &column,
        &column + &row,
        &x + rand(&[m, n]).t().unwrap(),
        Expr::from(wide.slice(1, Slice::from(..).step_by(2)).unwrap()) * &y,
        (&x - &column) / &column * &row + &row,
        (&x - &column) / rand(&[n, 1]) * rand(&[m]) + &row,
        Expr::from(&column).exp() * Expr::from(&row).exp(),
    ];
    for expr in expressions {
        let out = Tensor::zeros(expr.shape().unwrap()).unwrap().to_dtype(expr.dtype().unwrap()).unwrap();
        // Two are enough to be printed, and the third prepares the loop of that code.
        (0..3).for_each(|_| expr.eval_into(&out).unwrap());
        let before = ALLOCATIONS.get();
        (0..3).for_each(|_| expr.eval_into(&out).unwrap());
        assert_eq!(ALLOCATIONS.get() - before, 0, "{expr:?}");
    }
}

#[test]
fn views_of_computations_are_fused() {
    let _alone = alone();
    let x = Expr::from(Tensor::rand(&[60, 40], 3).unwrap());
    let y = x.exp();
    let views = [
        y.reshape(&[2400]),
        y.reshape(&[4, 15, 40]),
        y.slice(0, Slice::from(3..50).step_by(2)),
        y.slice(1, Slice::from(..).step_by(-1)),
        y.diagonal(0, 0, 1),
        y.transpose(0, 1),
        y.unsqueeze(1),
        y.select(0, 7),
        y.flip(&[0, 1]),
        y.unfold(0, 5, 5),
    ];
    for view in views {
        let expr = &view + 1;
        let plan = expr.plan().unwrap();
        let numel: usize = view.shape().unwrap().iter().product();
        assert_eq!((plan.passes(), plan.operations(Op::Exp)), (1, numel), "{plan}");
        let step = view.eval().unwrap();
        assert_eq!(
            expr.eval().unwrap().to_vec::<f32>().unwrap(),
            (&step + 1).eval().unwrap().to_vec::<f32>().unwrap()
        );
    }
}

#[test]
fn overlapping_windows_are_computed_once() {
    let _alone = alone();
    let x = Expr::from(Tensor::rand(&[1000], 3).unwrap());
    let plan = x.exp().unfold(0, 10, 1).sum(-1).plan().unwrap();
    assert_eq!((plan.operations(Op::Exp), plan.passes()), (1000, 2), "{plan}");
}

#[test]
fn what_is_stretched_as_a_whole_is_computed_once_and_copied() {
    let _alone = alone();
    let (row, column) = (Tensor::rand(&[300], 1).unwrap(), Tensor::rand(&[200, 1], 2).unwrap());
    let block = Tensor::rand(&[200, 1, 2], 3).unwrap();
    let cases: [(&[&Tensor], &[isize], usize); 5] = [
        (&[&row], &[200, 300], 300),
        (&[&column], &[200, 300], 200),
        (&[&column, &row], &[40, 200, 300], 200 * 300),
        (&[&block], &[200, 150, 2], 200 * 2),
        (&[&block.flip(&[0]).unwrap(), &row.narrow(0, 0, 2).unwrap()], &[200, 150, 2], 200 * 2),
    ];
    for (operands, shape, elements) in cases {
        let stretched = |operand: &&Tensor| operand.expand(shape).unwrap();
        let sum = |operands: Vec<Tensor>| operands.iter().fold(Expr::from(1.0), |sum, x| sum + x).sqrt();
        let expr = sum(operands.iter().map(stretched).collect());
        let plan = expr.plan().unwrap();
        assert_eq!(
            (plan.operations(Op::Sqrt), plan.passes(), plan.hoisted().len()),
            (elements, 2, 1),
            "{plan}"
        );
        let copies = operands.iter().map(|operand| stretched(operand).clone_elements().unwrap());
        let expected = sum(copies.collect()).eval().unwrap();
        let values = |tensor: &Tensor| tensor.to_vec::<f32>().unwrap();
        assert_eq!(values(&expr.eval().unwrap()), values(&expected));
        // Into a target whose elements lie in another order.
        let turned: Vec<usize> = expected.shape().iter().rev().copied().collect();
        let target = Tensor::zeros(&turned).unwrap();
        let dims: Vec<isize> = (0..turned.len() as isize).rev().collect();
        let target = target.permute(&dims).unwrap();
        expr.eval_into(&target).unwrap();
        assert_eq!(values(&target), values(&expected));
        // A single operation does not take its short cut.
        let one = stretched(&operands[0]);
        let copy = one.clone_elements().unwrap();
        assert_eq!(values(&one.sqrt().unwrap()), values(&copy.sqrt().unwrap()));
    }
    // Little work, and what is only copied, stay one pass.
    let little = Expr::from(&row.narrow(0, 0, 10).unwrap().expand(&[5, 10]).unwrap()).sqrt();
    let copied = Expr::from(&row.expand(&[2000, 300]).unwrap());
    assert_eq!([little.plan().unwrap().passes(), copied.plan().unwrap().passes()], [1, 1]);
}

#[test]
fn the_plan_that_was_printed_runs_as_often_as_one_likes() {
    let _alone = alone();
    let (x, row) = (Tensor::rand(&[700, 300], 1).unwrap(), Tensor::rand(&[300], 2).unwrap());
    let (few, one) = (Tensor::rand(&[3, 4], 3).unwrap(), Tensor::rand(&[1], 4).unwrap());
    for expr in [
        Expr::from(&x),
        &x + &row,
        Expr::from(&x).softmax(-1),
        (Expr::from(&row).exp() * &x).sum(0),
        Expr::from(&x).matmul(&row).relu(),
        &few * &one + 1,
        Expr::from(&few).sum(..),
    ] {
        let plan = expr.plan().unwrap();
        let (printed, expected) = (plan.to_string(), expr.eval().unwrap().to_vec::<f32>().unwrap());
        for result in [plan.run().unwrap(), plan.clone().run().unwrap()] {
            assert_eq!((result.shape(), result.dtype()), (&plan.shape()[..], plan.dtype()));
            assert_eq!(result.to_vec::<f32>().unwrap(), expected, "{expr:?}");
        }
        assert_eq!(plan.to_string(), printed);
    }
    // The result has memory of its own.
    let same = Expr::from(&x).plan().unwrap().run().unwrap();
    same.fill_(0.0).unwrap();
    assert_ne!(x.to_vec::<f32>().unwrap(), same.to_vec::<f32>().unwrap());
}

#[test]
fn a_plan_has_the_errors_of_its_expression() {
    let _alone = alone();
    let (x, y) = (Tensor::ones(&[3, 1]).unwrap(), Tensor::ones(&[2]).unwrap());
    let strict = Policy::new().with(Class::MutualStretch, Action::Error).enter();
    let sum = &x + &y;
    let plan = sum.plan().unwrap();
    let messages = [plan.run(), sum.eval()].map(|result| result.unwrap_err().to_string());
    assert_eq!(messages[0], messages[1]);
    drop(strict);
    assert!(plan.run().is_ok());
    y.fill_(2.0).unwrap();
    for result in [plan.run(), sum.eval()] {
        assert!(matches!(result, Err(Error::Modified { .. })), "{result:?}");
    }
    let one = zerostride::tensor![1, 2];
    let divided = Expr::from(&one).floor_divide(&(&one - &one));
    let messages =
        [divided.plan().unwrap().run(), divided.eval()].map(|result| result.unwrap_err().to_string());
    assert_eq!(messages[0], messages[1]);
}

#[test]
fn a_shared_expression_is_computed_once() {
    let _alone = alone();
    let mut x = Expr::from(Tensor::ones(&[3]).unwrap());
    for _ in 0..60 {
        x = &x + &x;
    }
    assert_eq!(x.plan().unwrap().operations(Op::Add), 60 * 3);
    assert_eq!(x.eval().unwrap().to_vec::<f32>().unwrap(), [2f32.powi(60); 3]);
}
