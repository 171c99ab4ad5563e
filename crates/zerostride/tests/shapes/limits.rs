//! Legal inputs whose results are illegal: refused before anything is allocated, with the size in the
//! message. Stretched views make such inputs cheap.

use zerostride::{DType, Error, Expr, MAX_RANK, Slice, Tensor, cat, stack};

const HUGE: usize = 1 << 40;

fn stretched(shape: &[usize], dtype: DType) -> Tensor {
    Tensor::full(&vec![1; shape.len()], 1, dtype).unwrap().broadcast_to(shape).unwrap()
}

/// An error that shows how large the result would have been.
#[track_caller]
fn assert_refused<T: std::fmt::Debug>(found: Result<T, Error>, size: &str) {
    let error = found.expect_err("a result that cannot exist");
    assert!(error.to_string().contains(size), "{error}");
}

#[test]
fn results_of_too_many_elements_are_refused_with_their_size() {
    let column = stretched(&[HUGE, 1], DType::F32);
    let row = stretched(&[1, HUGE], DType::F32);
    let size = "[1099511627776, 1099511627776]";
    assert_refused(column.add(&row), size);
    assert_refused((&column + &row).eval(), size);
    assert_refused((&column * &row).plan(), size);
    assert_refused((&column - &row).sum(..).eval(), size);
    assert_refused((&column - &row).square().sum(-1).eval(), size);
    assert_refused(column.matmul(&row), size);
    assert_refused(column.where_(true, &row), size);
    assert_refused(column.expand(&[HUGE as isize, HUGE as isize]), size);
    assert_refused(zerostride::broadcast_tensors(&[&column, &row]), size);
    assert_refused(Tensor::zeros(&[HUGE, HUGE]), size);
    assert_refused(Tensor::eye(HUGE), size);
    let square = stretched(&[1 << 20, 1 << 20], DType::F32);
    assert_refused(square.repeat(&[HUGE, 1]), "[1152921504606846976, 1048576]");
    assert_refused(square.unsqueeze(0).unwrap().repeat(&[1 << 30, 1, 1]), "[1073741824, 1048576, 1048576]");
}

#[test]
fn results_of_too_many_bytes_are_refused_with_their_size() {
    let (column, row) = (stretched(&[1 << 31, 1], DType::F64), stretched(&[1, 1 << 31], DType::F64));
    let size = "2147483648";
    assert_refused(column.add(&row), size);
    assert_refused((&column + &row).eval(), size);
    assert_refused(((&column + &row).sum(zerostride::keepdim(0)) * (&column + &row)).eval(), size);
    assert_refused((&column + &row).softmax(0).eval(), size);
    assert_refused(column.matmul(&row), size);
    assert_refused(Tensor::full(&[1 << 31, 1 << 31], 1, DType::F64), size);
    assert_refused(column.expand(&[1 << 31, 1 << 31]).unwrap().contiguous(), size);
    let line = stretched(&[1 << 61], DType::F64);
    let wide = "2305843009213693952";
    assert_refused(line.clone_elements(), wide);
    assert_refused(line.to_vec::<f64>(), wide);
    assert_refused(cat(&[&line, &line], 0), "4611686018427387904");
    assert_refused(stack(&[&line, &line], 0), wide);
    assert_refused(cat(&[&line; 8], 0), "18446744073709551615");
    assert_refused(stretched(&[1 << 20], DType::F64).repeat(&[1 << 41]), wide);
    assert_refused(Tensor::arange(0, 1, 1e-30), "invalid size, possible overflow?");
    assert_refused(Tensor::arange(0, -1, f64::NEG_INFINITY), "step must be finite but got -inf");
    assert_refused(Tensor::arange(0, i64::MAX, 1), "9223372036854775807");
    assert_refused(Tensor::arange(i64::MIN, i64::MAX, 1), "18446744073709551615");
    assert_refused(Tensor::arange(0.0, 4e18, 1.0), "4000000000000000000");
    assert_refused(Tensor::linspace(0.0, 1.0, 1 << 61), wide);
    assert_refused(Tensor::linspace(0.0, 1.0, usize::MAX), "18446744073709551615");
    assert_refused(Tensor::rand(&[1 << 61], 1), wide);
}

#[test]
fn what_no_machine_holds_is_out_of_memory_and_not_an_abort() {
    // 4 EiB: a legal number of bytes.
    let size = "4611686018427387904";
    let (column, row) = (stretched(&[1 << 31, 1], DType::U8), stretched(&[1, 1 << 31], DType::U8));
    for found in [
        column.add(&row),
        (&column + &row).eval(),
        Tensor::full(&[1 << 31, 1 << 31], 0, DType::U8),
        column.matmul(&row),
        column.expand(&[1 << 31, 1 << 31]).unwrap().clone_elements(),
        stretched(&[1 << 61], DType::U8).repeat(&[2]),
        cat(&[&stretched(&[1 << 61], DType::U8); 2], 0),
    ] {
        assert!(matches!(found.as_ref().unwrap_err().root(), Error::OutOfMemory { .. }), "{found:?}");
        assert_refused(found, size);
    }
}

#[test]
fn empty_results_of_stretched_operands_take_no_time() {
    let long = stretched(&[1 << 60, 0], DType::F32);
    assert_eq!(long.add(&long).unwrap().shape(), [1 << 60, 0]);
    assert_eq!(
        stretched(&[HUGE, 5], DType::F32).matmul(Tensor::zeros(&[5, 0]).unwrap()).unwrap().shape(),
        [HUGE, 0]
    );
    assert_eq!(
        stretched(&[HUGE, 0, 5], DType::I64).matmul(stretched(&[5, 3], DType::I64)).unwrap().numel(),
        0
    );
    assert_eq!(
        stretched(&[0, HUGE, 5], DType::I64).matmul(stretched(&[5], DType::I64)).unwrap().shape(),
        [0, HUGE]
    );
    assert_eq!(long.sum(0).unwrap().shape(), [0]);
    assert_eq!(long.t().unwrap().amax(1).unwrap().shape(), [0]);
    assert_eq!(cat(&[&long, &long], 1).unwrap().shape(), [1 << 60, 0]);
    assert_eq!(long.repeat(&[1, 1 << 40]).unwrap().numel(), 0);
    assert_eq!(long.clone_elements().unwrap().to_string().len(), long.to_string().len());
    assert!(long.to_vec::<f32>().unwrap().is_empty());
}

#[test]
fn a_view_far_into_a_stretched_dimension_has_a_correct_offset() {
    let line = stretched(&[isize::MAX as usize], DType::U8);
    let last = line.narrow(0, isize::MAX - 1, 1).unwrap();
    assert_eq!((last.storage_offset(), last.item::<u8>().unwrap()), (0, 1));
    assert_eq!(line.slice(0, Slice::from(..).step_by(isize::MAX)).unwrap().shape(), [1]);
    assert_eq!(line.slice(0, isize::MIN..isize::MAX).unwrap().numel(), isize::MAX as usize);
    assert_eq!(line.flip(&[0]).unwrap().select(0, isize::MAX - 1).unwrap().item::<u8>().unwrap(), 1);
    assert_eq!(line.slice(0, Slice::from(..).step_by(isize::MIN)).unwrap().numel(), 1);
    assert!(line.narrow(0, isize::MAX, 1).is_err());
    assert!(line.narrow(0, 1, isize::MAX).is_err());
    assert!(line.unfold(0, 2, isize::MAX).unwrap().shape() == [1, 2]);
    assert!(line.unfold(0, isize::MAX, 1).unwrap().shape() == [1, isize::MAX as usize]);
    assert_eq!(
        line.sum_to_size(&[2]).unwrap_err().to_string(),
        "size {[2]} is not expandable to size {[9223372036854775807]}."
    );
    // The last element of a large storage, and windows that end there.
    let storage = Tensor::arange(0, 1 << 20, 1).unwrap();
    let end = storage.narrow(0, (1 << 20) - 3, 3).unwrap();
    assert_eq!(
        end.flip(&[0]).unwrap().to_vec::<i64>().unwrap(),
        [(1 << 20) - 1, (1 << 20) - 2, (1 << 20) - 3]
    );
    assert_eq!(end.add(&end).unwrap().to_vec::<i64>().unwrap()[2], (1 << 21) - 2);
    let empty = storage.narrow(0, 1 << 20, 0).unwrap();
    assert_eq!(empty.add(1).unwrap().numel(), 0);
    empty.add_(1).unwrap();
}

#[test]
fn rank_64_works_and_65_is_refused() {
    assert_eq!(MAX_RANK, 64);
    let mut shape = vec![1; 64];
    shape[0] = 2;
    shape[40] = 3;
    shape[63] = 2;
    let x = Tensor::arange(0, 12, 1)
        .unwrap()
        .view(&shape.iter().map(|&n| n as isize).collect::<Vec<_>>())
        .unwrap();
    assert_eq!(x.add(&x).unwrap().shape(), shape);
    assert_eq!(x.add(&x).unwrap().to_vec::<i64>().unwrap()[11], 22);
    assert_eq!(x.sum(40).unwrap().to_vec::<i64>().unwrap(), [6, 9, 24, 27]);
    assert_eq!(x.sum(zerostride::keepdim(..)).unwrap().ndim(), 64);
    let backwards: Vec<isize> = (0..64).rev().collect();
    let permuted = x.permute(&backwards).unwrap();
    assert_eq!(permuted.contiguous().unwrap().to_vec::<i64>().unwrap()[..4], [0, 6, 2, 8]);
    permuted.add_(1).unwrap();
    assert_eq!(x.to_vec::<i64>().unwrap()[11], 12);
    let text = x.to_string();
    assert!(text.starts_with(&format!("tensor({}[ 1,  2]", "[".repeat(63))), "{text}");
    assert_eq!(x.repeat(&[1; 64]).unwrap().shape(), shape);
    let mut counts = [1; 64];
    counts[40] = 2;
    assert_eq!(x.repeat(&counts).unwrap().numel(), 24);
    assert_eq!(x.matmul(x.transpose(-1, -2).unwrap()).unwrap().ndim(), 64);
    assert_eq!(cat(&[&x, &x], 5).unwrap().shape()[5], 2);
    let doubled = Tensor::ones(&[2; 20]).unwrap().view(&[[2; 20].as_slice(), &[1; 44]].concat()).unwrap();
    assert!(doubled.add(doubled.permute(&backwards).unwrap().select(0, 0).unwrap()).is_err());
    let limit = "64";
    assert_refused(x.unsqueeze(0), limit);
    assert_refused(Expr::from(&x).unsqueeze(0).eval(), limit);
    assert_refused(Tensor::zeros(&[1; 65]), limit);
    assert_refused(Tensor::zeros(&[1; 100_000]), limit);
    assert_refused(Tensor::from_slice(&[1.0f32], &[1; 65]), limit);
    assert_refused(Tensor::ones(&[1]).unwrap().expand(&[1; 65]), limit);
    assert_refused(Tensor::ones(&[1]).unwrap().reshape(&[1; 65]), limit);
    assert_refused(Tensor::ones(&[1]).unwrap().repeat(&[1; 65]), limit);
    assert_refused(stack(&[&x, &x], 0), limit);
    assert_refused(zerostride::broadcast_shapes(&[&[1; 65]]).map_err(Error::from), limit);
}
