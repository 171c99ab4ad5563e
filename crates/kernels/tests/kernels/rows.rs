//! Holds chains to plain arithmetic on rows of every length, at every alignment, and to the bytes beside
//! them.

use zerostride_kernels::{Chain, ChainOperand, Isa, Link, Slot, Stores, fence};
use zerostride_ops::{DType, Op};

#[test]
fn elements_of_any_number_go_through_a_chain() {
    let map =
        |op, place, feed| Link::Map { op, compute: DType::F32, place, others: [feed].into_iter().collect() };
    let links = [
        map(Op::Add, 0, ChainOperand::Vector(1)),
        map(Op::Sub, 1, ChainOperand::Splat(2)),
        map(Op::Mul, 0, ChainOperand::Vector(0)),
        map(Op::Div, 1, ChainOperand::Vector(1)),
    ];
    for isa in Isa::ALL {
        let Some(chain) = Chain::new(isa, (ChainOperand::Vector(0), DType::F32), &links, DType::F32) else {
            continue;
        };
        for len in [0, 1, 7, 63, 64, 65, 100, 127, 128, 129, 300, 1000, 1024] {
            for (shift, stores) in [(0, Stores::Cached), (1, Stores::Streaming), (0, Stores::Streaming)] {
                let x: Vec<f32> = (0..len).map(|i| i as f32).collect();
                let y: Vec<f32> = (0..len).map(|i| 3.0 * i as f32 + 1.0).collect();
                let mut out = vec![7.0f32; len + 2 + shift];
                let splat = 2.5f32;
                let row =
                    |first: *const f32| Slot { first: first.cast_mut().cast(), step: 0, prefetch_bytes: 0 };
                let slots = [row(x.as_ptr()), row(y.as_ptr()), row(&splat)];
                let result = row(out[1 + shift..].as_mut_ptr());
                // SAFETY: the slots hold what the chain reads.
                unsafe { chain.run(1, len, &slots, result, stores) };
                fence();
                for i in 0..len {
                    assert_eq!(out[i + 1 + shift], y[i] / ((2.5 - (x[i] + y[i])) * x[i]), "{isa} {len} {i}");
                }
                assert_eq!((out[shift], out[len + 1 + shift]), (7.0, 7.0));
            }
        }
    }
}

#[test]
fn rows_of_less_than_a_run_are_run_where_they_lie() {
    let map =
        |op, feed| Link::Map { op, compute: DType::F32, place: 0, others: [feed].into_iter().collect() };
    let vector = map(Op::Mul, ChainOperand::Vector(1));
    let rows = 3;
    for isa in Isa::ALL {
        for len in 1..140 {
            let x: Vec<f32> = (0..rows * len).map(|at| at as f32 - 50.0).collect();
            let (y, z) = (&x[7 % len..], [2.0f32, 75.0, 150.0]);
            let products = || (0..rows * len).map(|at| x[at] * y[at % len]);
            let row = |first: *const f32, step: usize| Slot {
                first: first.cast_mut().cast(),
                step: 4 * step as isize,
                prefetch_bytes: 8 << 10,
            };
            // A broadcast row, and a broadcast scalar for each row.
            let slots = [row(x.as_ptr(), len), row(y.as_ptr(), 0), row(z.as_ptr(), 1)];
            for stored in [DType::F32, DType::F16, DType::Bool] {
                let links: &[Link] = match stored {
                    DType::Bool => &[vector.clone(), map(Op::Lt, ChainOperand::Splat(2))],
                    _ => &[vector.clone(), map(Op::Minimum, ChainOperand::Splat(2)), Link::Cast(stored)],
                };
                let Some(chain) = Chain::new(isa, (ChainOperand::Vector(0), DType::F32), links, stored)
                else {
                    continue;
                };
                let item = stored.item_size();
                // The gap after each row stays as it is.
                let mut out = vec![0xee; rows * (len + 1) * item];
                let result =
                    Slot { first: out.as_mut_ptr(), step: ((len + 1) * item) as isize, prefetch_bytes: 0 };
                // SAFETY: the slots hold what the chain reads, and the result has room for the rows.
                unsafe { chain.run(rows, len, &slots, result, Stores::Cached) };
                for (at, product) in products().enumerate() {
                    let (row, column) = (at / len, at % len);
                    let found = &out[(row * (len + 1) + column) * item..][..item];
                    let least = product.min(z[row]);
                    match stored {
                        DType::Bool => {
                            assert_eq!(found, [u8::from(product < z[row])], "{isa} {len} {at}")
                        }
                        DType::F16 => {
                            assert_eq!(found, half::f16::from_f32(least).to_ne_bytes(), "{isa} {len} {at}")
                        }
                        _ => assert_eq!(found, least.to_ne_bytes(), "{isa} {len} {at}"),
                    }
                    let gap = &out[(row * (len + 1) + len) * item..][..item];
                    assert!(gap.iter().all(|&byte| byte == 0xee));
                }
            }
            let Some(chain) = Chain::new(
                isa,
                (ChainOperand::Vector(0), DType::F32),
                std::slice::from_ref(&vector),
                DType::F32,
            ) else {
                continue;
            };
            let mut over = x.clone();
            let own = Slot { first: over.as_mut_ptr().cast(), step: 4 * len as isize, prefetch_bytes: 64 };
            // SAFETY: as above; the result is the first operand.
            unsafe { chain.run(rows, len, &[own, slots[1]], own, Stores::Cached) };
            assert!(over.into_iter().eq(products()), "{isa} {len}");
            let less = map(Op::Lt, ChainOperand::Vector(1));
            let Some(chain) = Chain::new(isa, (ChainOperand::Vector(0), DType::F32), &[less], DType::Bool)
            else {
                continue;
            };
            let mut out = vec![0xee; rows * len];
            let result = Slot { first: out.as_mut_ptr(), step: len as isize, prefetch_bytes: 0 };
            // SAFETY: as above.
            unsafe { chain.run(rows, len, &slots[..2], result, Stores::Far) };
            let lesser = (0..rows * len).map(|at| u8::from(x[at] < y[at % len]));
            assert!(out.into_iter().eq(lesser), "{isa} {len}");
        }
    }
}
