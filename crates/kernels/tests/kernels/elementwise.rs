//! Holds element-wise kernels to the op table, and those of strided elements to those of contiguous ones.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_kernels::{Fault, Strided, map_kernel, strided_kernel};
use zerostride_ops::{DType, Op, Rule, Typed};

#[test]
fn a_kernel_exists_exactly_where_the_table_has_the_dtype_in_its_domain() {
    for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
        for dtype in DType::ALL {
            let operands = vec![Typed::dimensioned(dtype); op.signature().arguments.len()];
            let computes_in = op.infer(&operands).is_ok_and(|inferred| inferred.compute == dtype);
            if computes_in && op != Op::Where {
                assert!(map_kernel(op, dtype).is_some(), "{op:?} has no body for {dtype}");
            }
            if !op.info().domain.contains(dtype.category()) {
                assert!(map_kernel(op, dtype).is_none(), "{op:?} has a body for {dtype} outside its domain");
            }
        }
    }
}

#[test]
fn a_zero_divisor_is_reported_before_anything_is_written() {
    let divide = map_kernel(Op::FloorDivide, DType::I8).unwrap();
    let mut out = [7, 7];
    assert_eq!(divide(&[&[1, 2], &[1, 0]], &mut out), Err(Fault::ZeroDivision));
    assert_eq!(out, [7, 7]);
}

/// Rows of seven elements that are contiguous, reversed, strided, or broadcast.
#[test]
fn elements_at_any_distance_give_what_copies_of_them_give() {
    const STEPS: [[isize; 2]; 5] = [[1, 7], [-1, -7], [2, 1], [0, 3], [0, 0]];
    let bytes: Vec<u64> = (0..100u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let (bytes, mut tested): (&[u8], _) = (cast_slice(&bytes), 0);
    for (op, dtype) in Op::ALL.iter().flat_map(|&op| DType::ALL.map(|dtype| (op, dtype))) {
        let Some(kernel) = strided_kernel(op, dtype) else { continue };
        let item = dtype.item_size();
        let size = if matches!(op.info().rule, Rule::bool) { 1 } else { item };
        for (a, b) in STEPS.iter().flat_map(|&a| STEPS.map(|b| (a, b))) {
            let operands = [a, b].map(|steps| Strided { bytes, first: 40, steps });
            let copies = operands.map(|operand| {
                let at = |row: isize, column: isize| 40 + row * operand.steps[1] + column * operand.steps[0];
                let places = (0..3).flat_map(|row| (0..7).map(move |column| at(row, column) as usize));
                let mut copy = vec![0u64; 21];
                let elements = cast_slice_mut::<u64, u8>(&mut copy).chunks_mut(item);
                elements.zip(places).for_each(|(to, at)| to.copy_from_slice(&bytes[at * item..][..item]));
                copy
            });
            let [mut found, mut expected] = [vec![0u64; 21], vec![0u64; 21]];
            let found = &mut cast_slice_mut::<u64, u8>(&mut found)[..21 * size];
            let expected = &mut cast_slice_mut::<u64, u8>(&mut expected)[..21 * size];
            kernel(&operands, 7, found);
            let copies = [0, 1].map(|operand| &cast_slice::<u64, u8>(&copies[operand])[..21 * item]);
            map_kernel(op, dtype).unwrap()(&copies, expected).unwrap();
            assert_eq!(found, expected, "{op:?} of {dtype} by {a:?} and {b:?}");
            tested += 1;
        }
    }
    assert!(tested > 1000, "{tested}");
}
