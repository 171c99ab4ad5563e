//! Owns what holds for all inputs: what is written while it is read, what is refused, what threads may not
//! change.

use proptest::prelude::*;
use zerostride::{DType, Error, Index, Tensor, cat, tensor};

fn ramp(shape: &[isize]) -> Tensor {
    Tensor::arange(0, shape.iter().product::<isize>() as i64, 1).unwrap().view(shape).unwrap()
}

fn ints(tensor: &Tensor) -> Vec<i64> {
    tensor.to_vec().unwrap()
}

#[test]
fn a_value_is_read_before_the_tensor_it_shares_is_written() {
    let x = ramp(&[6]);
    let order = x.flip(&[0]).unwrap().clone_elements().unwrap();
    x.assign_(&[(&order).into()], &x).unwrap();
    assert_eq!(ints(&x), [5, 4, 3, 2, 1, 0]);
    let x = ramp(&[6]);
    // The index is the tensor itself.
    x.assign_(&[(&x).into()], x.flip(&[0]).unwrap()).unwrap();
    assert_eq!(ints(&x), [5, 4, 3, 2, 1, 0]);
    let x = ramp(&[4]);
    x.scatter_(0, &x, &x.flip(&[0]).unwrap()).unwrap();
    assert_eq!(ints(&x), [3, 2, 1, 0]);
}

#[test]
fn a_number_is_written_as_the_dtype_has_it_or_refused() {
    let x = Tensor::full(&[2, 2], 0, DType::F64).unwrap();
    x.assign_(&[Index::At(0)], 1e-5).unwrap();
    x.assign_(&[Index::Tensor(tensor![1]), Index::At(0)], 1e-5).unwrap();
    x.assign_(&[Index::Tensor(x.eq(0.0).unwrap())], 1e-5).unwrap();
    assert_eq!(x.to_vec::<f64>().unwrap(), [1e-5; 4]);
    let single = Tensor::zeros(&[2]).unwrap();
    let error = single.assign_(&[Index::At(0)], 1e300).unwrap_err();
    assert_eq!(error.to_string(), "value cannot be converted to type float without overflow");
}

#[test]
fn one_element_counts_as_a_number_for_a_mask_alone() {
    let x = tensor![[1, 2], [3, 4], [5, 6]];
    let mask = Index::Tensor(tensor![1, 0, 1].ne(0).unwrap());
    for (items, expected) in
        [(vec![mask.clone()], [7, 7, 3, 4, 7, 7]), (vec![mask.clone(), Index::At(1)], [1, 7, 3, 4, 5, 7])]
    {
        let x = x.clone_elements().unwrap();
        x.assign_(&items, tensor![[7.5]]).unwrap();
        assert_eq!(ints(&x), expected);
        x.index_put_(&items, tensor![7.5], false).unwrap();
        assert_eq!(ints(&x), expected);
    }
    let refused = |items: &[Index], value: Tensor| x.assign_(items, value).unwrap_err().to_string();
    assert_eq!(
        refused(std::slice::from_ref(&mask), tensor![1e30]),
        "value cannot be converted to type int64_t without overflow"
    );
    let mixed = "Index put requires the source and destination dtypes match, got Long for the destination and Float for the source.";
    assert_eq!(refused(&[Index::Tensor(tensor![0])], tensor![7.5]), mixed);
    // Of several, the shape counts first.
    assert_eq!(
        refused(&[mask], tensor![[1.5, 2.5, 3.5]]),
        "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2, 2]"
    );
}

#[test]
fn a_half_in_a_view_takes_any_real_number() {
    let x = Tensor::full(&[2], 0, DType::F16).unwrap();
    x.assign_(&[Index::At(0)], 70000).unwrap();
    assert_eq!(x.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap(), [f32::INFINITY, 0.0]);
    let error = x.assign_(&[Index::Tensor(tensor![0])], 70000).unwrap_err();
    assert_eq!(error.to_string(), "value cannot be converted to type c10::Half without overflow");
}

#[test]
fn a_place_along_nothing_is_out_of_bounds_also_where_nothing_is_picked() {
    let nothing = Tensor::zeros(&[0, 0]).unwrap();
    let error = nothing.index(&[tensor![0].into()]).unwrap_err();
    assert_eq!(error.to_string(), "index is out of bounds for dimension with size 0");
    assert_eq!(Tensor::zeros(&[2, 0]).unwrap().index(&[tensor![5].into()]).unwrap().shape(), [1, 0]);
}

#[test]
fn a_write_through_a_view_is_seen_and_counted() {
    let x = ramp(&[3, 4]);
    let expr = zerostride::Expr::from(&x) + 1;
    x.t().unwrap().assign_(&[Index::from(&zerostride::tensor![0, 3])], -1).unwrap();
    assert_eq!(ints(&x), [-1, 1, 2, -1, -1, 5, 6, -1, -1, 9, 10, -1]);
    assert!(matches!(expr.eval().unwrap_err().root(), Error::Modified { .. }));
}

#[test]
fn a_stretched_tensor_is_not_written() {
    let row = Tensor::zeros(&[1, 3]).unwrap().expand(&[2, 3]).unwrap();
    let index = zerostride::tensor![[0, 1]];
    let source = Tensor::zeros(&[1, 2]).unwrap();
    let refused = [
        row.assign_(&[zerostride::tensor![0].into()], 1.0),
        row.index_put_(&[zerostride::tensor![0].into()], 1.0, true),
        row.scatter_(1, &index, &source),
        row.scatter_add_(1, &index, &source),
        row.index_add_(0, &zerostride::tensor![0], &Tensor::zeros(&[1, 3]).unwrap(), 1),
        row.masked_scatter_(&row.eq(0).unwrap(), &Tensor::zeros(&[6]).unwrap()),
    ];
    for refused in refused {
        assert!(matches!(refused.unwrap_err().root(), Error::WriteToExpanded));
    }
}

#[test]
fn results_that_no_memory_holds_are_refused() {
    let huge = Tensor::zeros(&[1]).unwrap().expand(&[1 << 62]).unwrap();
    let index = zerostride::tensor![0].expand(&[1 << 62]).unwrap();
    assert!(Tensor::zeros(&[3]).unwrap().take(&index).is_err());
    assert!(huge.sort(0, false).is_err());
    assert!(huge.cumsum(0).is_err());
    assert!(huge.repeat_interleave(1 << 62, Some(0)).is_err());
    assert!(zerostride::tensor![1].repeat_each(&zerostride::tensor![i64::MAX], Some(0)).is_err());
    assert!(huge.roll(&[1], &[0]).is_err());
    assert!(Tensor::arange_as(0, i64::MAX, 1, DType::U8).is_err());
    assert!(Tensor::linspace_as(0, 1, usize::MAX, DType::F64).is_err());
}

#[test]
fn threads_do_not_change_results() {
    let x = Tensor::rand(&[300, 700], 1).unwrap();
    let index = x.mul(300).unwrap().to_dtype(DType::I64).unwrap();
    let run = || {
        let (sorted, places) = x.sort(0, true).unwrap();
        let flat = x.reshape(&[-1]).unwrap().sort(0, false).unwrap();
        let rows = x.index(&[(&index.select(1, 0).unwrap()).into()]).unwrap();
        let found = x.unique().unwrap();
        [sorted, x.cumsum(1).unwrap(), rows, flat.0, found.values]
            .map(|tensor| tensor.to_vec::<f32>().unwrap())
            .into_iter()
            .chain(
                [ints(&places), ints(&flat.1), ints(&found.inverse)]
                    .map(|ints| ints.iter().map(|&at| at as f32).collect()),
            )
            .collect::<Vec<Vec<f32>>>()
    };
    let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
    let alone = on(1);
    assert_eq!(alone, on(3));
    assert_eq!(alone, on(16));
}

proptest! {
    #[test]
    fn what_is_scattered_is_gathered(keys in prop::collection::vec(any::<u32>(), 1..300)) {
        let keys: Vec<i64> = keys.into_iter().map(i64::from).collect();
        let x = Tensor::from_slice(&keys, &[keys.len()]).unwrap();
        let (sorted, places) = x.sort(0, false).unwrap();
        let mut wanted = keys.clone();
        wanted.sort_unstable();
        prop_assert_eq!(ints(&sorted), wanted);
        let back = Tensor::full(&[keys.len()], 0, DType::I64).unwrap();
        back.scatter_(0, &places, &sorted).unwrap();
        prop_assert_eq!(ints(&back), keys.clone());
        let found = x.unique().unwrap();
        prop_assert_eq!(ints(&found.values.take(&found.inverse).unwrap()), keys);
        prop_assert_eq!(ints(&found.counts).iter().sum::<i64>() as usize, x.numel());
    }

    #[test]
    fn the_first_places_of_an_order_are_the_extremes(
        values in prop::collection::vec(-50i64..50, 1..200), k in 0usize..200, largest: bool,
    ) {
        let x = Tensor::from_slice(&values, &[values.len()]).unwrap();
        let k = k.min(values.len());
        let (found, places) = x.topk(k, 0, largest).unwrap();
        let (sorted, order) = x.sort(0, largest).unwrap();
        prop_assert_eq!(ints(&found), ints(&sorted)[..k].to_vec());
        prop_assert_eq!(ints(&places), ints(&order)[..k].to_vec());
    }

    #[test]
    fn of_many_equal_elements_the_first_are_taken_in_their_order(
        seed: u32, values in 1u32..400, n in 2000usize..6000, largest: bool,
    ) {
        let value = |at: u32| i64::from((at ^ seed).wrapping_mul(2654435761) >> 7) % i64::from(values);
        let x = Tensor::from_slice(&(0..n as u32).map(value).collect::<Vec<_>>(), &[n]).unwrap();
        let order = ints(&x.sort(0, largest).unwrap().1);
        for k in [1, 2, n / 64, n / 5, n / 3] {
            prop_assert_eq!(ints(&x.topk(k, 0, largest).unwrap().1), order[..k].to_vec());
        }
    }

    #[test]
    fn an_element_of_a_rank_is_that_of_the_order(
        values in prop::collection::vec(prop_oneof![4 => -9i8..9, 1 => Just(i8::MIN)], 1..200), k in 0usize..200,
    ) {
        // The least number stands for NaN.
        let number = |&value: &i8| if value == i8::MIN { f64::NAN } else { value.into() };
        let values: Vec<f64> = values.iter().map(number).collect();
        let (n, numbers) = (values.len(), values.iter().filter(|value| !value.is_nan()).count());
        for dtype in [DType::F64, DType::F16, DType::I32] {
            let x = Tensor::from_slice(&values, &[n]).unwrap();
            let x = if dtype == DType::I32 { x.nan_to_num(-20.0, None, None).unwrap() } else { x };
            let x = x.to_dtype(dtype).unwrap();
            let (_, order) = x.sort(0, false).unwrap();
            let order = ints(&order);
            let k = k.min(n - 1);
            let middle = if numbers == n || dtype == DType::I32 { (n - 1) / 2 } else { numbers };
            prop_assert_eq!(ints(&x.kthvalue(k + 1, 0, false).unwrap().1), [order[k]]);
            prop_assert_eq!(ints(&x.median_along(0, true).unwrap().1), [order[middle]]);
            let passing = if dtype == DType::I32 { n } else { numbers };
            let middle = passing.saturating_sub(1) / 2;
            prop_assert_eq!(ints(&x.nanmedian_along(0, true).unwrap().1), [order[middle]]);
        }
    }
}

#[test]
fn sizes_without_elements_or_without_end_are_answered_at_once() {
    let empty = Tensor::zeros(&[0, 1 << 40]).unwrap();
    assert_eq!(empty.diff(usize::MAX, 1, None, None).unwrap().shape(), [0, 0]);
    assert_eq!(empty.diff(1 << 39, 1, None, None).unwrap().shape(), [0, 1 << 39]);
    assert_eq!(Tensor::zeros(&[1 << 40, 0]).unwrap().tril(0).unwrap().shape(), [1 << 40, 0]);
    let endless = tensor![1.0].expand(&[1 << 60]).unwrap();
    let lists = [
        endless.split(1, 0),
        endless.unbind(0),
        endless.chunk(1 << 60, 0),
        Tensor::zeros(&[0]).unwrap().chunk(usize::MAX, 0),
    ];
    for list in lists {
        assert!(matches!(list, Err(Error::OutOfMemory { .. })));
    }
    let extremes = Tensor::arange_as(-1e300, 1e300, 1e299, DType::I64).unwrap_err();
    assert_eq!(extremes.to_string(), "value cannot be converted to type int64_t without overflow");
}

#[test]
fn many_short_rows_have_running_totals() {
    let x = ramp(&[100_003, 1]);
    assert_eq!(ints(&x.cumsum(1).unwrap()), ints(&x));
    let x = ramp(&[50_001, 2]);
    let expected: Vec<i64> = (0..50_001).flat_map(|row| [2 * row, 4 * row + 1]).collect();
    assert_eq!(ints(&x.cumsum(1).unwrap()), expected);
}

#[test]
fn running_totals_along_any_number_of_rows_of_any_number_of_columns_start_anew_in_each_block() {
    for (blocks, n, inner) in
        [1, 3].iter().flat_map(|b| (1..6).flat_map(move |n| (1..6).map(move |c| (*b, n, c))))
    {
        let x = ramp(&[blocks, n, inner]);
        let values = ints(&x);
        let mut expected = values.clone();
        for at in 0..values.len() {
            if !(at / inner as usize).is_multiple_of(n as usize) {
                expected[at] += expected[at - inner as usize];
            }
        }
        assert_eq!(ints(&x.cumsum(1).unwrap()), expected, "{blocks} {n} {inner}");
        for dtype in [DType::F16, DType::F32, DType::F64, DType::C64, DType::C128] {
            let found = x.to_dtype(dtype).unwrap().cumsum(1).unwrap().to_dtype(DType::I64).unwrap();
            assert_eq!(ints(&found), expected, "{dtype:?} {blocks} {n} {inner}");
        }
    }
}

#[test]
fn short_rows_are_joined_whatever_their_number() {
    for rows in [1isize, 255, 257, 3000] {
        for widths in [[1, 2], [3, 1], [2, 5], [9, 7]] {
            let [left, right] = widths.map(|width| ramp(&[rows, width]));
            for dtype in [DType::U8, DType::F32, DType::C64, DType::C128] {
                let parts = [&left, &right].map(|part| part.to_dtype(dtype).unwrap());
                let joined = cat(&parts, 1).unwrap();
                for (part, first) in parts.iter().zip([0, widths[0]]) {
                    let found = joined.narrow(1, first, part.shape()[1] as isize).unwrap();
                    let elements = |x: &Tensor| ints(&x.to_dtype(DType::I64).unwrap());
                    assert_eq!(elements(&found), elements(part), "{dtype:?} {rows} {widths:?}");
                }
            }
        }
    }
}
