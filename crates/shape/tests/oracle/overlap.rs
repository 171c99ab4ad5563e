//! Overlap, coalescing and expanded strides against the lists of elements that layouts reach.

use super::cases;
use super::naive::{Naive, read};
use proptest::prelude::*;
use std::collections::HashSet;
use zerostride_shape::{
    Broadcast, InternalOverlap, Layout, Overlap, Shape, Strides, broadcast_shape, coalesce, order_dims,
};

/// Sizes and strides that were not made by views, moved so far up that the lowest element is `low`.
fn any_layout(max_size: usize) -> impl Strategy<Value = Layout> {
    (prop::collection::vec((0..=max_size, -9isize..=9), 0..4), 0isize..12).prop_map(|(dims, low)| {
        let (sizes, strides): (Vec<usize>, Vec<isize>) = dims.into_iter().unzip();
        let below: isize =
            sizes.iter().zip(&strides).map(|(&n, &s)| (n as isize - 1).max(0) * s.min(0)).sum();
        Layout::new(Shape::new(&sizes).unwrap(), Strides::new(&strides).unwrap(), low - below).unwrap()
    })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn internal_overlap_is_a_repeated_element(layout in any_layout(5)) {
        let elements = Naive::read(&layout).elements;
        let distinct: HashSet<isize> = elements.iter().copied().collect();
        let expected =
            if distinct.len() < elements.len() { InternalOverlap::Yes } else { InternalOverlap::No };
        prop_assert_eq!(layout.has_internal_overlap(), expected);
    }

    #[test]
    fn overlap_is_a_common_element(a in any_layout(5), b in any_layout(5)) {
        let (in_a, in_b) = (Naive::read(&a), Naive::read(&b));
        let set: HashSet<isize> = in_a.elements.iter().copied().collect();
        let expected = if in_a == in_b && !in_a.elements.is_empty() {
            Overlap::Same
        } else if in_b.elements.iter().any(|element| set.contains(element)) {
            Overlap::Partial
        } else {
            Overlap::None
        };
        prop_assert_eq!(a.overlap(&b), expected);
        prop_assert_eq!(b.overlap(&a), expected);
        if a.pytorch_refuses(&b) {
            prop_assert_ne!(expected, Overlap::None);
        }
    }

    #[test]
    fn coalescing_keeps_the_sequence_and_reordering_the_set(
        dims in prop::collection::vec((0usize..4, prop::array::uniform3(prop_oneof![Just(0isize), Just(1), Just(6), -4isize..13])), 0..5),
        contiguous in any::<bool>(),
    ) {
        let sizes: Vec<usize> = dims.iter().map(|(size, _)| *size).collect();
        let shape = Shape::new(&sizes).unwrap();
        let mut operands: Vec<Vec<isize>> =
            (0..3).map(|operand| dims.iter().map(|(_, strides)| strides[operand]).collect()).collect();
        if contiguous {
            operands.fill(Layout::contiguous(shape.clone()).strides().to_vec());
        }
        let elements = |shape: &[usize], operands: &[&[isize]]| -> Vec<Vec<isize>> {
            operands.iter().map(|strides| read(shape, strides, 0)).collect()
        };
        let refs: Vec<&[isize]> = operands.iter().map(|strides| &strides[..]).collect();
        let before = elements(&shape, &refs);

        let (small, strides) = coalesce(&shape, &refs);
        let strides: Vec<&[isize]> = strides.iter().map(|strides| &**strides).collect();
        prop_assert_eq!(elements(&small, &strides), before.clone());
        prop_assert!(!small.contains(&1));
        prop_assert!(!contiguous || small.len() <= 1);
        prop_assert_eq!(&coalesce(&small, &strides).0, &small, "nothing is left to merge");

        let (ordered, strides) = order_dims(&shape, &refs);
        let strides: Vec<&[isize]> = strides.iter().map(|strides| &**strides).collect();
        let tuples = |elements: Vec<Vec<isize>>| {
            let count = elements[0].len();
            let mut tuples: Vec<Vec<isize>> =
                (0..count).map(|at| elements.iter().map(|operand| operand[at]).collect()).collect();
            tuples.sort_unstable();
            tuples
        };
        prop_assert_eq!(tuples(elements(&ordered, &strides)), tuples(before));
    }

    #[test]
    fn a_permuted_block_is_one_run_once_it_is_ordered(
        sizes in prop::collection::vec(1usize..4, 0..5),
        order in any::<prop::sample::Index>(),
    ) {
        let layout = Layout::contiguous(Shape::new(&sizes).unwrap());
        let mut dims: Vec<isize> = (0..sizes.len() as isize).collect();
        if !dims.is_empty() {
            let at = order.index(dims.len());
            dims.rotate_left(at);
            dims[at..].reverse();
        }
        let layout = layout.permute(&dims).unwrap();
        let (shape, strides) = order_dims(layout.shape(), &[layout.strides()]);
        let (shape, strides) = coalesce(&shape, &[&strides[0]]);
        prop_assert!(shape.len() <= 1);
        prop_assert!(strides[0].iter().all(|&stride| stride == 1));
    }

    #[test]
    fn expanded_strides_read_what_expanding_reads(
        result in prop::collection::vec(0usize..4, 0..5),
        masks in prop::collection::vec((0usize..5, any::<u32>()), 1..4),
    ) {
        let shapes: Vec<Vec<usize>> = masks
            .iter()
            .map(|&(dropped, ones)| {
                let kept = result.iter().enumerate().skip(dropped.min(result.len()));
                kept.map(|(dim, &size)| if ones >> dim & 1 == 1 { 1 } else { size }).collect()
            })
            .collect();
        let refs: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
        let broadcast = Broadcast::new(&refs).unwrap();
        prop_assert_eq!(broadcast.shape(), &broadcast_shape(&refs).unwrap());
        for (i, shape) in shapes.iter().enumerate() {
            let layout = Layout::contiguous(Shape::new(shape).unwrap());
            let strides = broadcast.expanded_strides(i, &layout);
            let expected = Naive::contiguous(shape).expand(broadcast.shape());
            prop_assert_eq!(&read(broadcast.shape(), &strides, 0), &expected.elements);
            let dims = broadcast.reduced_dims(i);
            prop_assert_eq!(zerostride_shape::sum_to_size_dims(broadcast.shape(), shape), Ok(dims));
        }
    }
}

#[test]
fn large_ordinary_views_are_decided_exactly() {
    let storage = Layout::contiguous(Shape::new(&[1 << 20, 1 << 12, 1 << 9]).unwrap());
    let left = storage.narrow(2, 0, 200).unwrap();
    let right = storage.narrow(2, 200, 312).unwrap();
    assert_eq!(left.overlap(&right), Overlap::None);
    assert_eq!(left.overlap(&storage.narrow(2, 199, 312).unwrap()), Overlap::Partial);
    let (even, odd) = (
        storage.slice(1, Some(0), None, 2).unwrap().transpose(0, 2).unwrap(),
        storage.slice(1, Some(1), None, 2).unwrap(),
    );
    assert_eq!(even.overlap(&odd), Overlap::None);
    assert_eq!(storage.overlap(&storage.flip(&[0, 1, 2]).unwrap()), Overlap::Partial);
    assert_eq!(storage.transpose(0, 1).unwrap().has_internal_overlap(), InternalOverlap::No);
    let windows = storage.flatten(0, 2).unwrap().unfold(0, 5, 4).unwrap();
    assert_eq!(windows.has_internal_overlap(), InternalOverlap::Yes);
}

#[test]
fn interleaved_dimensions_need_not_overlap() {
    let layout = |sizes: &[usize], strides: &[isize], offset| {
        Layout::new(Shape::new(sizes).unwrap(), Strides::new(strides).unwrap(), offset).unwrap()
    };
    // Strides that do not nest, yet reach twelve elements once each.
    assert_eq!(layout(&[2, 2, 3], &[-6, 3, 2], 6).has_internal_overlap(), InternalOverlap::No);
    assert_eq!(layout(&[2, 2, 4], &[-6, 3, 2], 6).has_internal_overlap(), InternalOverlap::Yes);
    // Long interleaved runs, decided without walking them.
    let long = 1 << 40;
    let threes = layout(&[long], &[3], 0);
    assert_eq!(threes.overlap(&layout(&[long], &[3], 1)), Overlap::None);
    assert_eq!(threes.overlap(&layout(&[long], &[7], 1)), Overlap::Partial);
    assert_eq!(layout(&[3, long], &[1, 3], 0).has_internal_overlap(), InternalOverlap::No);
    assert_eq!(layout(&[4, long], &[1, 3], 0).has_internal_overlap(), InternalOverlap::Yes);
}

#[test]
fn questions_without_structure_end_within_the_limit_on_effort() {
    // Sums of such strides are as hard as finding a subset with a given sum.
    let strides: Vec<isize> = (1..=24).map(|n: isize| (n * 2_654_435_761 % 4_294_967_291) | 1).collect();
    let layout = |offset| {
        let shape = Shape::new(&[2; 24]).unwrap();
        Layout::new(shape, Strides::new(&strides).unwrap(), offset).unwrap()
    };
    let internal = layout(0).has_internal_overlap();
    assert!(matches!(internal, InternalOverlap::TooHard | InternalOverlap::Yes), "{internal:?}");
    let between = layout(0).overlap(&layout(1));
    assert!(matches!(between, Overlap::TooHard | Overlap::Partial), "{between:?}");
}
