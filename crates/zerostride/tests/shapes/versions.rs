//! An expression reads its operands when it is evaluated, and notices if one was written to in between.

use zerostride::{Error, Expr, Tensor};

fn ramp() -> Tensor {
    Tensor::arange(0, 6, 1).unwrap()
}

fn is_modified(error: &Error) -> bool {
    matches!(error.root(), Error::Modified { .. })
}

#[test]
fn a_write_between_capture_and_evaluation_is_an_error() {
    let x = ramp();
    let sum = &x + 1;
    assert_eq!(sum.eval().unwrap().to_vec::<i64>().unwrap(), [1, 2, 3, 4, 5, 6]);
    x.add_(10).unwrap();
    let error = sum.eval().unwrap_err();
    assert!(is_modified(&error), "{error}");
    assert!(error.to_string().contains("[6]"), "{error}");
    assert_eq!((&x + 1).eval().unwrap().to_vec::<i64>().unwrap(), [11, 12, 13, 14, 15, 16]);
}

#[test]
fn every_kind_of_write_counts() {
    let writes: [fn(&Tensor); 5] = [
        |x| x.fill_(3).unwrap(),
        |x| x.copy_(ramp()).unwrap(),
        |x| (Expr::from(ramp()) * 2).eval_into(x).unwrap(),
        |x| Tensor::apply_out(zerostride::Op::Neg, [ramp().into()], x).unwrap(),
        |x| x.masked_fill_(ramp().gt(2).unwrap(), 0).unwrap(),
    ];
    for (index, write) in writes.into_iter().enumerate() {
        let x = ramp();
        let doubled = &x * 2;
        write(&x);
        assert!(is_modified(&doubled.eval().unwrap_err()), "write {index}");
    }
}

/// As in PyTorch, whose counter belongs to the storage: a write anywhere in it counts, whatever the
/// expression reads.
#[test]
fn views_of_one_storage_count_as_one() {
    let x = ramp();
    let (head, tail) = (x.narrow(0, 0, 3).unwrap(), x.narrow(0, 3, 3).unwrap());
    let doubled = &head * 2;
    tail.fill_(0).unwrap();
    assert!(is_modified(&doubled.eval().unwrap_err()));
}

#[test]
fn reads_and_refused_writes_do_not_count() {
    let x = ramp();
    let doubled = &x * 2;
    x.sum(0).unwrap();
    x.contiguous().unwrap();
    assert!(x.add_(0.5).is_err());
    assert!(x.add_(Tensor::zeros(&[2]).unwrap()).is_err());
    assert!(x.add_(x.narrow(0, 1, 5).unwrap()).is_err());
    let stale = &x * 3;
    doubled.eval_into(&ramp()).unwrap();
    assert_eq!(stale.eval().unwrap().to_vec::<i64>().unwrap(), [0, 3, 6, 9, 12, 15]);
    assert_eq!(doubled.eval().unwrap().to_vec::<i64>().unwrap(), [0, 2, 4, 6, 8, 10]);
}

#[test]
fn a_failed_evaluation_does_not_count_as_a_write() {
    let (x, y) = (ramp(), ramp());
    let stale = &x + &y;
    let fresh = &y * 2;
    x.fill_(1).unwrap();
    assert!(is_modified(&stale.eval_into(&y).unwrap_err()));
    assert_eq!(fresh.eval().unwrap().to_vec::<i64>().unwrap(), [0, 2, 4, 6, 8, 10]);
}

#[test]
fn an_expression_may_overwrite_its_own_operand_once() {
    let x = ramp();
    let doubled = &x * 2;
    doubled.eval_into(&x).unwrap();
    assert_eq!(x.to_vec::<i64>().unwrap(), [0, 2, 4, 6, 8, 10]);
    assert!(is_modified(&doubled.eval_into(&x).unwrap_err()));
}

#[test]
fn a_clone_is_independent_of_later_writes() {
    let x = ramp();
    let copy = x.clone_elements().unwrap();
    let doubled = &copy * 2;
    x.fill_(9).unwrap();
    assert_eq!(doubled.eval().unwrap().to_vec::<i64>().unwrap(), [0, 2, 4, 6, 8, 10]);
}
