//! Holds copies between layouts to copies element by element, and to the guard bytes around what they write.

use zerostride_kernels::{Isa, Pack, PackDim, copy_slice, pack_dense};

/// Copies element by element.
fn naive(item: usize, dims: &[PackDim], from: &[u8], first: isize, to: &mut [u8], start: isize) {
    let Some((dim, inner)) = dims.split_first() else {
        let (from, to) = (&from[first as usize..][..item], &mut to[start as usize..][..item]);
        return to.copy_from_slice(from);
    };
    for at in 0..dim.len as isize {
        naive(item, inner, from, first + at * dim.from, to, start + at * dim.to);
    }
}

/// Contiguous rows of `lens` on the writing side, read in the given order of dimensions, innermost first,
/// with a gap after each row.
fn dims(item: usize, lens: &[usize], order: &[usize], kinds: &[isize]) -> Vec<PackDim> {
    let mut dims: Vec<PackDim> = lens.iter().map(|&len| PackDim { len, from: 0, to: 0 }).collect();
    let mut step = item as isize;
    for dim in dims.iter_mut().rev() {
        dim.to = step;
        step *= dim.len as isize;
    }
    let mut step = item as isize;
    for (&at, &kind) in order.iter().zip(kinds) {
        dims[at].from = kind * step;
        step += step * kind.abs() * dims[at].len as isize;
    }
    dims
}

/// Copies to and fro, on every instruction set, between guard bytes.
fn check(item: usize, dims: &[PackDim]) {
    const GUARD: usize = 64;
    let reach = |dim: &PackDim| (dim.len as isize - 1).max(0) * dim.from;
    let low: isize = dims.iter().map(|dim| reach(dim).min(0)).sum();
    let high: isize = dims.iter().map(|dim| reach(dim).max(0)).sum();
    let memory: Vec<u8> = (0..(high - low) as usize + item).map(|at| (at * 31 % 251) as u8).collect();
    let len = dims.iter().map(|dim| dim.len).product::<usize>() * item;
    let mut expected = vec![0xee; len + 2 * GUARD];
    naive(item, dims, &memory, -low, &mut expected, GUARD as isize);
    let back: Vec<PackDim> = dims.iter().map(|dim| PackDim { from: dim.to, to: dim.from, ..*dim }).collect();
    let mut returned = vec![0xee; memory.len() + 2 * GUARD];
    naive(item, &back, &expected, GUARD as isize, &mut returned, GUARD as isize - low);
    // Broadcast dimensions cannot be written back.
    let apart = dims.iter().all(|dim| dim.from != 0);
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_supported()) {
        let (mut found, mut scattered) = (vec![0xee; expected.len()], vec![0xee; returned.len()]);
        // SAFETY: the dimensions reach from `low` to `high` about the first element in `memory`, and fill
        // `len` bytes; the processor has the instruction set.
        unsafe {
            let first = memory.as_ptr().offset(-low);
            Pack::new_on(isa, item, dims, apart).run(first, found.as_mut_ptr().add(GUARD));
            if apart {
                let place = scattered.as_mut_ptr().add(GUARD).offset(-low);
                Pack::new_on(isa, item, &back, false).run(found.as_ptr().add(GUARD), place);
            }
        }
        assert_eq!(found, expected, "{dims:?} of {item} bytes on {isa}");
        assert!(!apart || scattered == returned, "{back:?} of {item} bytes on {isa}");
    }
}

#[test]
fn slices_are_packed_from_any_first_element() {
    let from: Vec<u8> = (0..60).collect();
    let packed = |dims: &[(usize, isize)], first| {
        let mut to = vec![0; 2 * dims.iter().map(|(len, _)| len).product::<usize>()];
        pack_dense(2, dims, &from, first, &mut to);
        to
    };
    assert_eq!(packed(&[], 58), [58, 59]);
    assert_eq!(packed(&[(0, 2), (7, 1000)], 58), []);
    assert_eq!(packed(&[(2, 20), (3, -4)], 38), [38, 39, 34, 35, 30, 31, 58, 59, 54, 55, 50, 51]);
    for (dims, first) in
        [(&[(2, 20), (3, -4)][..], 40), (&[(3, -4)], 7), (&[], 59), (&[], 60), (&[], usize::MAX)]
    {
        assert!(std::panic::catch_unwind(|| packed(dims, first)).is_err(), "{dims:?} from {first}");
    }
}

#[test]
fn every_layout_is_copied_as_element_by_element() {
    let orders: [[usize; 3]; 6] = [[2, 1, 0], [2, 0, 1], [1, 2, 0], [1, 0, 2], [0, 1, 2], [0, 2, 1]];
    let sizes =
        [[1, 1, 1], [2, 3, 5], [1, 17, 33], [3, 40, 7], [2, 16, 64], [5, 1, 50], [3, 0, 2], [37, 2, 9]];
    let kinds = [[1, 1, 1], [0, 1, 1], [1, 0, 1], [2, 1, 0], [-1, 1, -1], [0, 0, 0], [3, 1, 1], [-2, 4, 1]];
    for item in [1, 2, 4, 8, 16] {
        for lens in sizes {
            for (order, kinds) in orders.iter().flat_map(|order| kinds.map(|kinds| (order, kinds))) {
                check(item, &dims(item, &lens, order, &kinds));
            }
        }
    }
}

#[test]
fn a_row_is_repeated_whatever_its_length() {
    for len in [100, 4095, 4096, 9001] {
        let all = PackDim { len: 7, from: 0, to: len as isize };
        check(1, &[all, PackDim { len, from: 1, to: 1 }]);
    }
}

#[test]
fn distances_that_have_a_loop_are_copied_as_all_others() {
    for item in [1, 2, 4, 8, 16] {
        let of = |len: usize, from: usize, to: usize| PackDim {
            len,
            from: (from * item) as isize,
            to: (to * item) as isize,
        };
        for small in 1..=9 {
            for len in [1, 7, 64, 100, 333] {
                // Strided, broadcast and interleaved elements.
                check(item, &[of(3, small * len, len), of(len, small, 1)]);
                check(item, &[of(len, 1, small), of(small, 0, 1)]);
                check(item, &[of(len, 1, small), of(small, len + 3, 1)]);
                check(item, &[of(small, 1, len), of(len, small, 1)]);
                // Rows with gaps, and both sides strided.
                check(item, &[of(len, small + 2, small), of(small, 1, 1)]);
                check(item, &[of(small, 1, 1), of(len, small, small)]);
            }
        }
    }
}

#[test]
fn blocks_of_all_sizes_cross_over() {
    for item in [1, 2, 4, 8, 16] {
        let sizes = [
            (1, 70),
            (4, 9),
            (8, 8),
            (11, 26),
            (15, 16),
            (16, 16),
            (17, 33),
            (63, 20),
            (64, 64),
            (65, 67),
            (130, 31),
            (67, 512),
        ];
        // Contiguous on one side, or strided by a few elements.
        for ((rows, columns), near) in
            sizes.iter().flat_map(|&size| [1isize, -1, 2, 3, 5].map(|near| (size, near)))
        {
            let step = item as isize;
            let (tall, wide) = ((rows as isize + 3) * near.abs(), columns as isize);
            let dims = [
                PackDim { len: rows, from: near * step, to: wide * step },
                PackDim { len: columns, from: tall * step, to: step },
            ];
            check(item, &dims);
        }
    }
}

#[test]
fn a_row_is_copied_in_pieces_wherever_it_lies_in_a_page() {
    let memory: Vec<u8> = (0..40_000).map(|at| (at * 31 % 251) as u8).collect();
    let mut to = vec![0; 40_000];
    for len in [0, 1, 2047, 2048, 2049, 4096, 6145, 20_000] {
        for from in [0, 1, 63, 500, 4000] {
            for start in [0, 1, 64, 600, 4097] {
                to.fill(1);
                copy_slice(&memory[from..from + len], &mut to[start..start + len]);
                assert!(to[start..start + len] == memory[from..from + len], "{len} from {from} to {start}");
                assert!(to[..start].iter().chain(&to[start + len..]).all(|&byte| byte == 1));
            }
        }
    }
}
