//! Expressions mapped over many examples: each operation on all examples at once, against the same operation
//! on each, to the last bit.

use zerostride::{DType, Expr, Result, Slice, Tensor, keepdim, mapped, stack, tensor};

/// Examples of a shape, four of them.
fn batch(shape: &[usize], seed: u64) -> Tensor {
    let sizes: Vec<usize> = std::iter::once(4).chain(shape.iter().copied()).collect();
    Tensor::rand(&sizes, seed).unwrap()
}

/// Compares a function of two examples mapped over both, over the first and over the second.
fn check(name: &str, shapes: [&[usize]; 2], function: impl Fn(&Expr, &Expr) -> Expr) {
    let batches = [batch(shapes[0], 1), batch(shapes[1], 2)];
    let of = |place: usize, index: usize| batches[place].select(0, index as isize).unwrap();
    for [first, second] in [[true, true], [true, false], [false, true]] {
        let example = |place: usize| Expr::from(&of(place, 0).clone_elements().unwrap());
        let examples = [example(0), example(1)];
        let result = function(&examples[0], &examples[1]);
        let chosen: Vec<usize> =
            [(0, first), (1, second)].iter().filter(|(_, is)| *is).map(|(at, _)| *at).collect();
        let given: Vec<Expr> = chosen.iter().map(|&place| examples[place].clone()).collect();
        let all: Vec<Expr> = chosen.iter().map(|&place| Expr::from(&batches[place])).collect();
        let found = mapped(std::slice::from_ref(&result), &given, &all).unwrap()[0].eval().unwrap();
        let one = |index: usize| {
            let x = Expr::from(&of(0, if first { index } else { 0 }));
            let y = Expr::from(&of(1, if second { index } else { 0 }));
            function(&x, &y).eval().unwrap()
        };
        let each: Vec<Tensor> = (0..4).map(one).collect();
        let wanted = stack(&each.iter().collect::<Vec<_>>(), 0).unwrap();
        assert_eq!(
            (found.shape(), found.dtype()),
            (wanted.shape(), wanted.dtype()),
            "{name} {first} {second}"
        );
        let bits = |tensor: &Tensor| tensor.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
        assert_eq!(bits(&found), bits(&wanted), "{name} {first} {second}");
    }
}

macro_rules! check_views {
    ($shape:expr; $($view:ident($($argument:expr),*);)*) => {
        $(check(concat!(stringify!($view $($argument)*)), [$shape, &[]], |x, y| x.$view($($argument),*) + y);)*
    };
}

#[test]
fn views_of_examples_are_views_of_all() {
    check_views! { &[2, 3, 5];
        permute(&[2, 0, 1]); permute(&[-1, -3, -2]); transpose(0, -1); matrix_transpose(); flip(&[0, -1]); flip(&[]);
        narrow(1, 1, 2); narrow(-1, 2, 2); select(1, 2); select(-1, -1); slice(0, Slice::from(..).step_by(-1));
        slice(-1, Slice::from(1..).step_by(2)); unsqueeze(0); unsqueeze(-1); unsqueeze(2); flatten(0, -1); flatten(1, 2);
        reshape(&[5, 6]); reshape(&[-1]); reshape(&[2, 1, 15]); diagonal(0, 0, 1); diagonal(1, -2, -1);
        unfold(2, 3, 2); movedim(&[0], &[-1]); movedim(&[0, 1], &[1, 2]); expand(&[7, -1, 3, 5]);
        broadcast_to(&[4, 2, 3, 5]); squeeze();
    }
    check_views! { &[3, 4]; t(); diagonal(0, 0, 1); }
    check_views! { &[1, 3, 1]; squeeze(); squeeze_dims(&[0]); squeeze_dims(&[-1, 1]); expand(&[2, 3, 5]); }
    check_views! { &[3]; t(); unsqueeze(1); expand(&[2, 3]); }
    check_views! { &[]; unsqueeze(0); expand(&[2, 3]); reshape(&[1, 1]); squeeze(); flatten(0, -1); t(); }
}

#[test]
fn reductions_of_examples_are_reductions_of_all() {
    for shape in [&[2, 3, 5][..], &[7], &[2, 1, 3]] {
        check("sum", [shape, &[]], |x, y| x.sum(..) * y);
        check("sum -1", [shape, &[]], |x, y| x.sum(-1) * y);
        check("sum keepdim", [shape, &[]], |x, y| x.sum(keepdim(0)) * y);
        check("mean", [shape, &[]], |x, y| x.mean(0) * y);
        check("var", [shape, &[]], |x, y| x.var(0) + y);
        check("amax", [shape, &[]], |x, y| x.amax(..) + y);
        check("argmax", [shape, &[]], |x, _| x.argmax(..));
        check("argmax 0", [shape, &[]], |x, _| x.argmax(0));
        check("softmax", [shape, &[]], |x, y| x.softmax(-1) * y);
        check("norm", [shape, &[]], |x, y| (x * x).sum(0).sqrt() + y);
    }
    check("of one element", [&[], &[]], |x, y| x.sum(..) + y.amax(..));
    check("of one element, a dimension", [&[], &[]], |x, y| x.sum(0) + y.argmax(..));
}

#[test]
fn operations_of_examples_of_all_ranks_are_operations_of_all() {
    for shapes in [
        [&[2, 3][..], &[3][..]],
        [&[3], &[2, 3]],
        [&[], &[2, 3]],
        [&[2, 3], &[]],
        [&[], &[]],
        [&[5, 1], &[4]],
    ] {
        check("operators", shapes, |x, y| (x - y).exp() * x + 2.5);
        check("where", shapes, |x, y| x.where_(x.gt(y), y * 2.0));
        check("dtypes", shapes, |x, y| (x * 10.0).to_dtype(DType::I32) + y.to_dtype(DType::I64));
        check("halves", shapes, |x, y| x.to_dtype(DType::F16) * y.to_dtype(DType::F16));
    }
}

#[test]
fn pairs_of_examples_are_pairs_of_all() {
    for shapes in [[&[5, 3][..], &[7, 3][..]], [&[1, 3], &[7, 3]]] {
        check("distances", shapes, |x, y| (x.unsqueeze(1) - y.unsqueeze(0)).square().sum(-1));
        check("sums of them", shapes, |x, y| (-(x.unsqueeze(1) - y).square().sum(-1)).exp().sum(0));
    }
}

#[test]
fn products_of_examples_are_products_of_all() {
    for shapes in [
        [&[3][..], &[3][..]],
        [&[2, 3], &[3]],
        [&[3], &[3, 2]],
        [&[2, 3], &[3, 5]],
        [&[6, 2, 3], &[3, 5]],
        [&[2, 3], &[6, 3, 5]],
        [&[6, 2, 3], &[6, 3, 5]],
        [&[6, 1, 2, 3], &[7, 3, 5]],
        [&[6, 2, 3], &[3]],
        [&[3], &[6, 3, 5]],
    ] {
        check("matmul", shapes, |x, y| x.matmul(y));
    }
}

#[test]
fn results_that_read_no_example_are_those_of_each() -> Result<()> {
    let (x, batch) =
        (Expr::from(&tensor![1.0, 2.0]), Expr::from(&tensor![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]));
    let found = mapped(&[Expr::from(&tensor![7.0]), x.clone(), Expr::from(2.0)], &[x], &[batch])?;
    assert_eq!(found[0].eval()?.to_vec::<f32>()?, [7.0; 3]);
    assert_eq!(found[1].eval()?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(found[2].shape()?, [3]);
    Ok(())
}

#[test]
fn no_examples_have_results_without_elements() -> Result<()> {
    let (x, batch) = (Expr::from(&tensor![1.0, 2.0]), Expr::from(Tensor::zeros(&[0, 2])?));
    assert_eq!(mapped(&[(&x * 2.0).sum(..), x.exp()], &[x], &[batch])?[1].eval()?.shape(), [0, 2]);
    Ok(())
}

#[test]
fn batches_of_other_examples_are_refused() -> Result<()> {
    let x = Expr::from(&tensor![1.0, 2.0]);
    for other in [tensor![[1.0], [2.0]], tensor![[1, 2], [3, 4]], tensor![1.0, 2.0]] {
        let error = mapped(&[x.exp()], std::slice::from_ref(&x), &[Expr::from(&other)]).unwrap_err();
        assert!(error.to_string().contains("is not one of examples of sizes [2]"), "{error}");
    }
    Ok(())
}

#[test]
fn derivatives_of_mapped_functions_are_those_of_each() -> Result<()> {
    let batch = batch(&[5], 3);
    let x = Expr::from(&batch.select(0, 0)?.clone_elements()?);
    let all = Expr::from(&batch);
    let loss = (x.softmax(0) * x.exp()).sum(..);
    // The gradient of each, mapped; and the gradient of all, which do not meet.
    let each = mapped(&[loss.grad(&[&x])?[0].clone()], std::slice::from_ref(&x), std::slice::from_ref(&all))?;
    let together = mapped(&[loss], &[x], std::slice::from_ref(&all))?[0].sum(..).grad(&[&all])?;
    let (each, together): (Vec<f32>, Vec<f32>) = (each[0].eval()?.to_vec()?, together[0].eval()?.to_vec()?);
    assert!(each.iter().zip(&together).all(|(a, b)| (a - b).abs() < 1e-6), "{each:?} {together:?}");
    Ok(())
}
