//! Owns the plans of several expressions: each result has the bits that its expression has alone, whatever
//! they share, on any number of threads.

use zerostride::{Expr, Op, Plan, Tensor, eval_all, keepdim};

use crate::placed::{bytes, one_nan};
use crate::tree::{Random, tree};

const SMALL: [&[usize]; 7] = [&[], &[17], &[0], &[3, 4], &[4, 4], &[2, 3, 130], &[2100]];
const LARGE: [&[usize]; 4] = [&[3, 40_001], &[300, 701], &[90_000, 2], &[513, 513]];

fn facts(tensor: &Tensor) -> Vec<u8> {
    let kind = format!("{} {:?}", tensor.dtype(), tensor.shape());
    [kind.as_bytes(), &one_nan(bytes(tensor), tensor.dtype())].concat()
}

/// Some expressions without errors that share parts with each other, some of them more than once.
fn roots(random: &mut Random, shape: &[usize], depth: usize) -> Vec<Expr> {
    let whole = |random: &mut Random| {
        std::iter::repeat_with(|| tree(random, shape, depth, false).expr(false))
            .find_map(|expr| expr.ok().filter(|expr| expr.shape().is_ok()))
            .unwrap()
    };
    let mut known = vec![whole(random), whole(random)];
    for _ in 0..2 + random.below(5) {
        let (a, b) = (&known[random.below(known.len())], &known[random.below(known.len())]);
        let next = match random.below(7) {
            0 => a.exp(),
            1 => a * b,
            2 => a - b.sum(keepdim(-1)),
            3 => a.sum(0),
            4 => a.amax(-1),
            5 => a.flip(&[0]) + b,
            _ => a.mean(..) * b,
        };
        if next.shape().is_ok() {
            known.push(next);
        }
    }
    (0..1 + random.below(4)).map(|_| known[random.below(known.len())].clone()).collect()
}

fn check(roots: &[Expr], seed: u64) {
    let alone: Vec<_> = roots.iter().map(Expr::eval).collect();
    let together = eval_all(roots);
    match alone.iter().find_map(|result| result.as_ref().err()) {
        Some(_) => assert!(together.is_err(), "seed {seed}"),
        None => {
            let together = together.unwrap();
            assert_eq!(together.len(), roots.len());
            for (index, (alone, together)) in alone.iter().flatten().zip(&together).enumerate() {
                assert!(facts(alone) == facts(together), "seed {seed}: result {index}, {:?}", roots[index]);
            }
            for (one, other) in together.iter().enumerate().flat_map(|(at, one)| {
                together[..at].iter().map(move |other| (one, other)).filter(|(one, _)| one.numel() > 0)
            }) {
                assert_ne!(one.data_ptr(), other.data_ptr(), "seed {seed}: each result has its own memory");
            }
        }
    }
}

#[test]
fn several_results_have_the_bits_of_each_alone() {
    let pools = [1, 3, 8].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    for seed in 0..1500 {
        let mut random = Random(seed);
        let (shape, depth) = (random.of(&SMALL), 1 + random.below(4));
        check(&roots(&mut random, shape, depth), seed);
    }
    for seed in 0..60 {
        let mut random = Random(seed + (1 << 32));
        let (shape, depth) = (random.of(&LARGE), random.below(3));
        let roots = roots(&mut random, shape, depth);
        pools.iter().for_each(|pool| pool.install(|| check(&roots, seed)));
    }
}

/// Reductions over rows take them in blocks with steps that compute them.
#[test]
fn reductions_over_rows_have_their_own_bits_beside_other_steps() {
    let pools = [1, 3, 8].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    for (seed, rows) in (0..).zip([2, 17, 127, 128, 130, 1000, 1023, 1024, 1025, 2100, 5003]) {
        for columns in [16, 33, 400] {
            let x = Tensor::rand(&[rows, columns], seed).unwrap();
            let [p, q] = [rows, columns].map(|count| Tensor::rand(&[count, 3], seed + 1).unwrap());
            let (row, column) = (x.select(0, 1).unwrap(), x.narrow(1, 3, 1).unwrap());
            let exp = (Expr::from(&x) * &row - 0.5).exp();
            let centred = &exp - exp.mean(keepdim(1));
            let difference = Expr::from(&p).unsqueeze(1) - &q;
            let distances = difference.square().sum(-1);
            let kernel = (-&distances).exp();
            let whole = (Expr::from(&x) * 100).to_dtype(zerostride::DType::I32);
            let sets = [
                vec![exp.sum(0), exp.sum(1), (&exp * &column).sum(0), exp.clone(), exp.sum(..)],
                vec![centred.square().sum(0), centred.amax(0), &centred * 2, centred.var(keepdim(0))],
                vec![whole.sum(0), whole.amin(0), whole.argmax(0), Expr::from(&x).argmin(0), whole.sum(..)],
                vec![
                    kernel.sum(0),
                    kernel.sum(1),
                    kernel.sum(..),
                    (kernel.unsqueeze(-1) * &difference).sum(0),
                ],
                vec![
                    (kernel.unsqueeze(-1) * &difference).sum(1),
                    kernel.mean(0).log(),
                    distances.amin(..),
                    distances.sum(..),
                ],
                vec![
                    exp.to_dtype(zerostride::DType::F64).sum(0),
                    exp.to_dtype(zerostride::DType::F16).sum(0),
                    exp.prod(0),
                ],
            ];
            for set in sets {
                pools.iter().for_each(|pool| pool.install(|| check(&set, seed)));
            }
        }
    }
}

#[test]
fn what_results_share_is_computed_once() {
    let x = Tensor::rand(&[300, 400], 1).unwrap();
    let exp = Expr::from(&x).exp();
    let plan = Plan::of(&[exp.sum(1), &exp * 2, exp.clone(), exp.amax(0)]).unwrap();
    assert_eq!(plan.operations(Op::Exp), 300 * 400, "{plan}");
    assert_eq!(plan.output_bytes(), (300 + 2 * 300 * 400 + 400) * 4);
    assert!(plan.to_string().contains("4 results"), "{plan}");
    let results = plan.run_all().unwrap();
    assert_eq!(bytes(&results[2]), bytes(&exp.eval().unwrap()));
}

#[test]
fn operands_and_numbers_are_results_too() {
    let x = Tensor::rand(&[5, 3], 1).unwrap();
    let results = eval_all(&[(&x).into(), Expr::from(&x).t(), Expr::from(2.5), (&x).into()]).unwrap();
    assert_eq!(bytes(&results[0]), bytes(&x));
    assert_eq!(results[1].shape(), [3, 5]);
    assert_eq!(bytes(&results[1]), bytes(&x.t().unwrap()));
    assert_eq!(bytes(&results[2]), bytes(&Expr::from(2.5).eval().unwrap()));
    x.add_(1).unwrap();
    assert_ne!(bytes(&results[0]), bytes(&x), "a result is no view of an operand");
}

#[test]
fn a_template_of_several_results_runs_on_other_operands() {
    let [a, b] = [1, 2].map(|seed| Tensor::rand(&[40, 50], seed).unwrap());
    let exprs = |x: &Tensor| [Expr::from(x).softmax(-1), Expr::from(x).sum(0), Expr::from(x) * 2];
    let template = Plan::of(&exprs(&a)).unwrap().template(&[&a]);
    for (found, wanted) in template.run_all(&[&b]).unwrap().iter().zip(exprs(&b)) {
        assert_eq!(bytes(found), bytes(&wanted.eval().unwrap()));
    }
    let error = template.run(&[&b]).unwrap_err().to_string();
    assert_eq!(error, "the plan has 3 results: run_all gives them");
}

#[test]
fn errors_name_the_expression_and_an_empty_list_is_one() {
    let [x, y] = [[3, 4], [5, 4]].map(|shape| Tensor::ones(&shape).unwrap());
    let error = eval_all(&[Expr::from(&x).exp(), (&x + &y).sum(0)]).unwrap_err();
    assert!(error.expression().is_some_and(|text| text.contains('+')), "{error:?}");
    assert!(Plan::of(&[&x + &y]).is_err());
    let empty = "there is nothing to evaluate: the list of expressions is empty";
    assert_eq!(eval_all(&[]).unwrap_err().to_string(), empty);
    assert_eq!(Plan::of(&[]).unwrap_err().to_string(), empty);
    let captured = [Expr::from(&x).exp(), Expr::from(&x).sum(0)];
    x.add_(1).unwrap();
    assert!(eval_all(&captured).is_err(), "the operand has been written to");
}

#[test]
fn element_wise_results_of_the_same_operands_run_together() {
    let [x, y] = [1, 2].map(|seed| Tensor::rand(&[700, 900], seed).unwrap());
    let [row, other] = [(900, 3), (700, 4)].map(|(size, seed)| Tensor::rand(&[size], seed).unwrap());
    let roots = [
        &x + &y,
        (&x - &y) * 2,
        Expr::from(&x) * &row - &y,
        (&x - &row).square().sum(1),
        Expr::from(&other).exp(),
        &x / &y,
    ];
    let text = Plan::of(&roots).unwrap().to_string();
    assert!(text.contains("run together"), "{text}");
    check(&roots, 0);
    let apart = Plan::of(&[&x + 1, &y + 1]).unwrap().to_string();
    assert!(!apart.contains("run together"), "{apart}");
}

/// The loop of a step that reads a column cannot be one over all elements, as those of its neighbours.
#[test]
fn a_column_among_the_operands_does_not_part_steps() {
    let x = Tensor::rand(&[900, 700], 1).unwrap();
    let column = Tensor::rand(&[900, 1], 2).unwrap();
    let p = Expr::from(&x).sigmoid();
    let (q, near) = (1 - &p, &p + 1e-6);
    let weighed = near.log() * &column;
    let roots = [&weighed * &q + &p, &weighed * p.square() / &near - &q, (&weighed * &q).sum(1)];
    let plan = Plan::of(&roots).unwrap();
    assert!(plan.to_string().contains(&format!("passes 1 to {} run together", plan.passes())), "{plan}");
    assert!(plan.scratch_bytes() < 900 * 700 * 4, "{plan}");
    check(&roots, 0);
}
