//! Holds sums over pairs of rows and columns to a sum in order.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_kernels::{Pairwise, Term};
use zerostride_ops::DType;

#[test]
fn pairs_are_summed_in_order() {
    let (depth, width) = (5, 32);
    for count in 1..10 {
        let rows: Vec<f32> = (0..count * depth).map(|i| (i * 37 % 11) as f32 * 0.3 - 1.0).collect();
        let columns: Vec<f32> = (0..depth * width).map(|i| (i * 53 % 17) as f32 * 0.7 - 5.0).collect();
        let mut out = vec![0.0f32; count * width];
        let pairwise = Pairwise::new(DType::F32, Term::SquaredDifference, depth, width).unwrap();
        pairwise.run(cast_slice(&rows), cast_slice(&columns), cast_slice_mut(&mut out));
        for (at, &found) in out.iter().enumerate() {
            let terms = (0..depth).map(|k| rows[at / width * depth + k] - columns[k * width + at % width]);
            assert_eq!(found, terms.fold(0.0, |sum, d| sum + d * d), "{count} rows, pair {at}");
        }
    }
}
