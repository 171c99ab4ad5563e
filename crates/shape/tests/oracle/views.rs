//! Every view, alone and after others, against the index-map oracle.

use super::cases;
use super::naive::Naive;
use proptest::prelude::*;
use zerostride_shape::{Layout, Shape, ShapeError};

/// One view with raw numbers, which are brought into range when the tensor they meet is known.
#[derive(Clone, Debug)]
enum Step {
    Expand(u32, usize),
    Unsqueeze(usize),
    Squeeze,
    SqueezeDim(usize),
    Permute(u64),
    Transpose(usize, usize),
    MatrixTranspose,
    Movedim(u64, u64, usize),
    Reshape(u64),
    Flatten(usize, usize),
    Narrow(usize, usize, usize),
    Select(usize, usize),
    Slice(usize, Option<isize>, Option<isize>, isize),
    Flip(u32),
    Diagonal(isize, usize, usize),
    Unfold(usize, usize, usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let end = || prop::option::of(-6isize..=6);
    prop_oneof![
        (any::<u32>(), 0usize..3).prop_map(|(grow, added)| Step::Expand(grow, added)),
        any::<usize>().prop_map(Step::Unsqueeze),
        Just(Step::Squeeze),
        any::<usize>().prop_map(Step::SqueezeDim),
        any::<u64>().prop_map(Step::Permute),
        any::<(usize, usize)>().prop_map(|(a, b)| Step::Transpose(a, b)),
        Just(Step::MatrixTranspose),
        any::<(u64, u64, usize)>().prop_map(|(a, b, n)| Step::Movedim(a, b, n)),
        any::<u64>().prop_map(Step::Reshape),
        any::<(usize, usize)>().prop_map(|(a, b)| Step::Flatten(a, b)),
        any::<(usize, usize, usize)>().prop_map(|(dim, start, length)| Step::Narrow(dim, start, length)),
        any::<(usize, usize)>().prop_map(|(dim, index)| Step::Select(dim, index)),
        (any::<usize>(), end(), end(), prop_oneof![-3isize..0, 1isize..4])
            .prop_map(|(dim, start, stop, step)| Step::Slice(dim, start, stop, step)),
        any::<u32>().prop_map(Step::Flip),
        (-4isize..=4, any::<usize>(), any::<usize>()).prop_map(|(k, a, b)| Step::Diagonal(k, a, b)),
        (any::<usize>(), 0usize..5, 1usize..4).prop_map(|(dim, size, step)| Step::Unfold(dim, size, step)),
    ]
}

/// The permutation of `ndim` numbers that `seed` stands for.
fn shuffled(ndim: usize, mut seed: u64) -> Vec<usize> {
    let mut left: Vec<usize> = (0..ndim).collect();
    let mut order = vec![];
    while !left.is_empty() {
        order.push(left.remove((seed % left.len() as u64) as usize));
        seed /= 7;
    }
    order
}

fn signed(dims: &[usize]) -> Vec<isize> {
    dims.iter().map(|&dim| dim as isize).collect()
}

/// Applies one view to both; `None` where the numbers have no meaning for this tensor.
fn apply(layout: &Layout, naive: &Naive, view: &Step) -> Option<(Result<Layout, ShapeError>, Naive)> {
    let ndim = naive.shape.len();
    let size = |dim: usize| naive.shape[dim];
    let pick = |raw: usize| (ndim > 0).then(|| raw % ndim);
    Some(match *view {
        Step::Expand(grow, added) => {
            let mut shape = vec![2; added];
            let target =
                |(dim, &size): (usize, &usize)| if size == 1 { grow as usize >> (2 * dim) & 3 } else { size };
            shape.extend(naive.shape.iter().enumerate().map(target));
            (layout.broadcast_to(&shape), naive.expand(&shape))
        }
        Step::Unsqueeze(raw) => {
            let dim = raw % (ndim + 1);
            let mut shape = naive.shape.clone();
            shape.insert(dim, 1);
            (layout.unsqueeze(dim as isize), naive.reshape(&shape))
        }
        Step::Squeeze => {
            let shape: Vec<usize> = naive.shape.iter().copied().filter(|&size| size != 1).collect();
            (layout.squeeze(), naive.reshape(&shape))
        }
        Step::SqueezeDim(raw) => {
            let dim = pick(raw)?;
            let mut shape = naive.shape.clone();
            if shape[dim] == 1 {
                shape.remove(dim);
            }
            (layout.squeeze_dim(dim as isize - ndim as isize), naive.reshape(&shape))
        }
        Step::Permute(seed) => {
            let dims = shuffled(ndim, seed);
            (layout.permute(&signed(&dims)), naive.permute(&dims))
        }
        Step::Transpose(a, b) => {
            let (a, b) = (pick(a)?, pick(b)?);
            let mut dims: Vec<usize> = (0..ndim).collect();
            dims.swap(a, b);
            (layout.transpose(a as isize, b as isize), naive.permute(&dims))
        }
        Step::MatrixTranspose => {
            let mut dims: Vec<usize> = (0..ndim).collect();
            dims.swap(ndim.checked_sub(2)?, ndim - 1);
            let view = if ndim == 2 { layout.t() } else { layout.matrix_transpose() };
            (view, naive.permute(&dims))
        }
        Step::Movedim(from, to, count) => {
            let count = count % (ndim + 1);
            let (from, to) = (&shuffled(ndim, from)[..count], &shuffled(ndim, to)[..count]);
            let mut dims: Vec<usize> = (0..ndim).filter(|dim| !from.contains(dim)).collect();
            let mut moves: Vec<(usize, usize)> = to.iter().copied().zip(from.iter().copied()).collect();
            moves.sort_unstable();
            moves.iter().for_each(|&(to, from)| dims.insert(to, from));
            (layout.movedim(&signed(from), &signed(to)), naive.permute(&dims))
        }
        Step::Reshape(seed) => {
            let (mut left, mut seed, mut shape) = (naive.elements.len(), seed, vec![]);
            while left > 1 {
                let divisors: Vec<usize> = (1..=left).filter(|divisor| left % divisor == 0).collect();
                let size = divisors[(seed % divisors.len() as u64) as usize];
                seed /= 11;
                shape.push(size);
                left /= size;
                if shape.len() == 4 {
                    shape.push(left);
                    break;
                }
            }
            if naive.elements.is_empty() {
                shape.extend([seed as usize % 4, 0]);
            }
            (layout.view(&signed(&shape)), naive.reshape(&shape))
        }
        Step::Flatten(a, b) => {
            let (a, b) = (pick(a)?, pick(b)?);
            let (start, end) = (a.min(b), a.max(b));
            let merged = naive.shape[start..=end].iter().product();
            let shape = [&naive.shape[..start], &[merged], &naive.shape[end + 1..]].concat();
            (layout.flatten(start as isize, end as isize), naive.reshape(&shape))
        }
        Step::Narrow(raw, start, length) => {
            let dim = pick(raw)?;
            let start = start % (size(dim) + 1);
            let length = length % (size(dim) - start + 1);
            let places: Vec<usize> = (start..start + length).collect();
            (layout.narrow(dim as isize, start as isize, length as isize), naive.along(dim, &places))
        }
        Step::Select(raw, index) => {
            let dim = pick(raw)?;
            let index = index % size(dim).max(1);
            if size(dim) == 0 {
                return None;
            }
            let mut shape = naive.shape.clone();
            shape.remove(dim);
            let expected = naive.along(dim, &[index]).reshape(&shape);
            (layout.select(dim as isize, index as isize - size(dim) as isize), expected)
        }
        Step::Slice(raw, start, stop, step) => {
            let dim = pick(raw)?;
            let size = size(dim) as isize;
            // Python: walk from the first place on, and stop at the edge or at the end.
            let place = |end: isize| if end < 0 { end + size } else { end };
            let mut at = match start {
                Some(start) if step > 0 => place(start).max(0),
                Some(start) => place(start).min(size - 1),
                None if step > 0 => 0,
                None => size - 1,
            };
            let mut places = vec![];
            while (0..size).contains(&at)
                && stop.is_none_or(|stop| if step > 0 { at < place(stop) } else { at > place(stop) })
            {
                places.push(at as usize);
                at += step;
            }
            (layout.slice(dim as isize, start, stop, step), naive.along(dim, &places))
        }
        Step::Flip(mask) => {
            let dims: Vec<usize> = (0..ndim).filter(|dim| mask >> dim & 1 == 1).collect();
            let expected = dims.iter().fold(naive.clone(), |naive, &dim| {
                let places: Vec<usize> = (0..naive.shape[dim]).rev().collect();
                naive.along(dim, &places)
            });
            (layout.flip(&signed(&dims)), expected)
        }
        Step::Diagonal(k, a, b) => {
            let (a, b) = (pick(a)?, pick(b)?);
            if a == b {
                return None;
            }
            let on_it = |i: usize| (0..size(b)).contains(&((i as isize + k) as usize)) && i as isize + k >= 0;
            let rows: Vec<usize> = (0..size(a)).filter(|&i| on_it(i)).collect();
            let rest: Vec<usize> = (0..ndim).filter(|&dim| dim != a && dim != b).collect();
            let mut shape: Vec<usize> = rest.iter().map(|&dim| size(dim)).collect();
            shape.push(rows.len());
            let expected = naive.map(&shape, |index| {
                let mut source = vec![0; ndim];
                rest.iter().zip(index).for_each(|(&dim, &i)| source[dim] = i);
                source[a] = rows[index[rest.len()]];
                source[b] = (source[a] as isize + k) as usize;
                source
            });
            (layout.diagonal(k, a as isize, b as isize), expected)
        }
        Step::Unfold(raw, window, step) => {
            let dim = pick(raw)?;
            let window = window.min(size(dim));
            let mut shape = naive.shape.clone();
            shape[dim] = (0..=size(dim) - window).step_by(step).count();
            shape.push(window);
            let expected = naive.map(&shape, |index| {
                let mut source = index[..ndim].to_vec();
                source[dim] = index[dim] * step + index[ndim];
                source
            });
            (layout.unfold(dim as isize, window as isize, step as isize), expected)
        }
    })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn views_of_views_reach_the_elements_of_the_oracle(
        shape in prop::collection::vec(0usize..4, 0..4),
        views in prop::collection::vec(any_step(), 1..6),
    ) {
        let mut layout = Layout::contiguous(Shape::new(&shape).unwrap());
        let mut naive = Naive::contiguous(&shape);
        for view in &views {
            if naive.elements.len() > 2000 || naive.shape.len() > 7 {
                break;
            }
            let Some((result, expected)) = apply(&layout, &naive, view) else { continue };
            match result {
                Ok(result) => {
                    prop_assert_eq!(&Naive::read(&result), &expected, "{:?} of {:?}", view, layout);
                    let (low, high) = (expected.elements.iter().min(), expected.elements.iter().max());
                    prop_assert_eq!(result.span(), low.copied().zip(high.copied()));
                    let rebuilt =
                        Layout::new(result.shape().clone(), result.strides().clone(), result.offset());
                    prop_assert_eq!(rebuilt.as_ref(), Ok(&result), "a view broke the rules of layouts");
                    (layout, naive) = (result, expected);
                }
                Err(ShapeError::ViewIncompatible) => {
                    prop_assert!(!expected.is_strided(), "{:?} of {:?} needs no copy", view, layout);
                }
                Err(error) => prop_assert!(false, "{:?} of {:?}: {}", view, layout, error),
            }
        }
        let row_major: Vec<isize> = match naive.elements.first() {
            Some(&first) => (first..).take(naive.elements.len()).collect(),
            None => vec![],
        };
        prop_assert_eq!(layout.is_contiguous(), naive.elements == row_major);
        let mut sorted = naive.elements.clone();
        sorted.sort_unstable();
        let dense = sorted.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        prop_assert_eq!(layout.is_non_overlapping_and_dense(), dense);
    }

    #[test]
    fn no_numbers_make_a_view_panic(
        shape in prop::collection::vec(prop_oneof![0usize..4, Just(1 << 20), Just(isize::MAX as usize)], 0..4),
        numbers in prop::collection::vec(
            prop_oneof![-5isize..5, any::<isize>(), Just(isize::MIN), Just(isize::MAX)], 6),
        then_flip in any::<bool>(),
    ) {
        let Ok(shape) = Shape::new(&shape) else { return Ok(()) };
        let mut layout = Layout::contiguous(shape);
        if then_flip {
            layout = layout.flip(&(0..layout.ndim() as isize).collect::<Vec<_>>()).unwrap();
        }
        let [a, b, c, d, e, f] = numbers[..] else { unreachable!() };
        let some = |number: isize| (number % 3 != 0).then_some(number);
        let results = [
            layout.expand(&numbers), layout.expand(&numbers[..2]), layout.unsqueeze(a), layout.squeeze_dim(a),
            layout.permute(&[a, b]), layout.transpose(a, b), layout.movedim(&[a], &[b]), layout.view(&numbers[..3]),
            layout.flatten(a, b), layout.narrow(a, b, c), layout.select(a, b), layout.flip(&[a, b]),
            layout.slice(a, some(b), some(c), d), layout.diagonal(a, b, c), layout.diagonal(a, 0, 1),
            layout.unfold(a, b, c), layout.slice(0, some(e), some(f), d), layout.unfold(0, e, f),
            layout.broadcast_to(&[a as usize, b as usize]),
        ];
        for result in results {
            match result {
                Ok(view) => {
                    let (shape, strides, offset) = view.clone().into_parts();
                    prop_assert_eq!(Layout::new(shape, strides, offset), Ok(view));
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
