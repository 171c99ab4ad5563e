//! Handles on tensors: what `clone` copies and `alias` shares, and the assigning operators, which write in
//! place.

use std::panic::catch_unwind;

use zerostride::{DType, Error, Expr, Tensor, scope, tensor};

fn ints(x: &Tensor) -> Vec<i64> {
    x.to_vec().unwrap()
}

/// The message of a panic.
fn panic_of<R>(run: impl FnOnce() -> R + std::panic::UnwindSafe) -> String {
    let payload = catch_unwind(run).map(drop).unwrap_err();
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_write_to_a_clone_leaves_the_tensor_alone_and_a_write_to_an_alias_does_not() {
    let x = tensor![[1, 2], [3, 4]];
    let (copy, row, same) = (x.clone(), x.select(0, 0).unwrap(), x.alias());
    assert!(!copy.shares_storage(&x) && same.shares_storage(&x));
    copy.add_(10).unwrap();
    assert_eq!((ints(&x), ints(&copy)), (vec![1, 2, 3, 4], vec![11, 12, 13, 14]));
    same.mul_(2).unwrap();
    assert_eq!((ints(&x), ints(&row)), (vec![2, 4, 6, 8], vec![2, 4]));
    let copies = vec![x.alias(), row].clone();
    copies[1].fill_(0).unwrap();
    assert_eq!(ints(&x), [2, 4, 6, 8]);
}

#[test]
fn a_clone_of_a_stretched_tensor_can_be_written() {
    let row = tensor![[1, 2]];
    let stretched = row.expand(&[2, 2]).unwrap();
    assert!(matches!(stretched.add_(1), Err(Error::WriteToExpanded)));
    let copy = stretched.clone();
    copy.select(0, 0).unwrap().add_(1).unwrap();
    assert_eq!((ints(&copy), copy.strides()), (vec![2, 3, 1, 2], &[2, 1][..]));
}

#[test]
fn the_dimensions_of_a_clone_lie_as_those_of_the_tensor() {
    let x = Tensor::arange(0, 24, 1).unwrap().view(&[2, 3, 4]).unwrap();
    let moved = x.permute(&[2, 0, 1]).unwrap();
    let copy = moved.clone();
    assert_eq!((copy.strides(), ints(&copy)), (moved.strides(), ints(&moved)));
    // Without the gaps of a slice.
    let part = moved.slice(0, 1..3).unwrap().clone();
    assert_eq!(part.strides(), [1, 6, 2]);
    assert!(moved.contiguous().unwrap().is_contiguous() && !moved.is_contiguous());
}

#[test]
fn a_clone_that_cannot_be_made_panics_with_the_error() {
    let elements = [1i64, 2];
    let mut kept = None;
    scope(|scope| {
        kept = Some(scope.slice(&elements, &[2]).unwrap());
    });
    let kept = std::panic::AssertUnwindSafe(kept.unwrap());
    let message = panic_of(move || kept.clone());
    assert!(
        message.starts_with("a tensor cannot be cloned: the tensor is on memory that was borrowed"),
        "{message}"
    );
}

#[test]
fn assigning_operators_write_in_place() {
    let mut x = tensor![7, 8, 9];
    let (same, first) = (x.alias(), x.slice(0, ..1).unwrap());
    x += &tensor![1, 1, 1];
    x -= 2;
    x *= &x * 1;
    assert_eq!(ints(&x), [36, 49, 64]);
    x %= 10;
    x <<= 2;
    x >>= 1;
    assert_eq!(ints(&x), [12, 18, 8]);
    x &= 14;
    x |= 1;
    x ^= tensor![1];
    assert_eq!(ints(&x), [12, 2, 8]);
    assert_eq!((ints(&same), ints(&first)), (vec![12, 2, 8], vec![12]));
    let mut y = tensor![1.0, 3.0];
    y /= 2;
    assert_eq!(y.to_vec::<f32>().unwrap(), [0.5, 1.5]);
}

#[test]
fn an_assigning_operator_panics_with_the_error_of_its_method() {
    for wrong in [tensor![[1, 2, 3], [4, 5, 6]], tensor![0.5]] {
        let mut x = tensor![[1, 2, 3]];
        let error = x.add_(&wrong).unwrap_err().to_string();
        let x = std::panic::AssertUnwindSafe(&mut x);
        let wrong = std::panic::AssertUnwindSafe(&wrong);
        let message = panic_of(move || {
            let (x, wrong) = (x, wrong);
            *x.0 += wrong.0;
        });
        assert_eq!(message, error);
    }
    let mut x = tensor![1, 2];
    let x = std::panic::AssertUnwindSafe(&mut x);
    assert_eq!(
        panic_of(move || {
            let x = x;
            *x.0 /= 2;
        }),
        "result type Float can't be cast to the desired output type Long"
    );
}

#[test]
fn an_assigning_operator_on_an_expression_makes_a_larger_one() {
    let x = tensor![1.0, 2.0];
    let mut expr = Expr::from(&x);
    expr *= 10;
    expr += &x;
    assert_eq!(expr.formula(), "(a * 10) + a");
    assert_eq!(expr.eval().unwrap().to_vec::<f32>().unwrap(), [11.0, 22.0]);
    expr += tensor![1.0, 2.0, 3.0];
    assert!(expr.eval().is_err());
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn elements_are_read_with_their_type() {
    let x = Tensor::arange(0, 6, 1).unwrap().view(&[2, 3]).unwrap().t().unwrap().flip(&[0]).unwrap();
    assert_eq!(x.at::<i64>(&[0, 1]).unwrap(), 5);
    assert_eq!(x.at::<i64>(&[2, 0]).unwrap(), 0);
    assert_eq!(tensor![2.5].squeeze().unwrap().at::<f32>(&[]).unwrap(), 2.5);
    let half = tensor![1.5].to_dtype(DType::BF16).unwrap();
    assert_eq!(half.at::<zerostride::bf16>(&[0]).unwrap().to_f32(), 1.5);
    for (index, message) in [
        (&[0, 2][..], "index [0, 2] is out of bounds for a tensor of shape [3, 2]"),
        (&[0], "index [0] is out of bounds for a tensor of shape [3, 2]"),
    ] {
        assert_eq!(x.at::<i64>(index).unwrap_err().to_string(), message);
    }
    let wrong = x.at::<f32>(&[0, 0]).unwrap_err().to_string();
    assert_eq!(wrong, "expected a tensor of dtype f32 but got i64; convert it with to_dtype() first");
}
