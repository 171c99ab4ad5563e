//! Owns random expressions that are large enough to be divided: fused, step by step, and on several pools of
//! threads.

use crate::instruction_sets::{Digest, is_long};
use crate::placed::{bytes, one_nan};
use crate::sizes::{SIZES, few};
use crate::tree::{Random, Tree, tree};

const SMALL: [&[usize]; 8] = [&[], &[17], &[0], &[3, 4], &[4, 4], &[2, 3, 130], &[3, 0, 2], &[2100]];
const LARGE: [&[usize]; 5] = [&[3, 70_001], &[300, 701], &[2, 3, 40_003], &[150_000, 2], &[513, 513]];

fn facts(tree: &Tree, step: bool) -> Vec<u8> {
    match tree.expr(step).and_then(|expr| expr.eval()) {
        Ok(tensor) => {
            let kind = format!("{} {:?}", tensor.dtype(), tensor.shape());
            [kind.as_bytes(), &one_nan(bytes(&tensor), tensor.dtype())].concat()
        }
        Err(error) => error.root().to_string().into(),
    }
}

#[test]
#[ignore = "run for each instruction set by `instruction_sets`"]
fn random_expressions_on_any_number_of_threads() {
    let pools = [1, 2, 3, 16].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    let mut digest = Digest::default();
    let (small, middle, large) = if is_long() { (50_000, 5000, 500) } else { (1000, 200, 25) };
    for seed in 0..small {
        let mut random = Random(seed);
        let shape = random.of(&SMALL);
        let depth = 1 + random.below(5);
        let tree = tree(&mut random, shape, depth, false);
        let fused = facts(&tree, false);
        assert!(facts(&tree, true) == fused, "seed {seed}: {tree:?} step by step");
        digest.add(format_args!("seed {seed} of {shape:?}"), &fused);
    }
    for seed in 0..middle {
        let mut random = Random(seed + (1 << 33));
        let shape = few((0..=random.below(4)).map(|_| random.of(&SIZES)));
        let depth = 1 + random.below(3);
        let tree = tree(&mut random, &shape, depth, false);
        let fused = facts(&tree, false);
        assert!(facts(&tree, true) == fused, "seed {seed} of {shape:?} step by step");
        let pool = &pools[random.below(pools.len())];
        let threads = pool.current_num_threads();
        assert!(
            pool.install(|| facts(&tree, false)) == fused,
            "seed {seed} of {shape:?} on {threads} threads"
        );
        digest.add(format_args!("seed {seed} of {shape:?}"), &fused);
    }
    for seed in 0..large {
        let mut random = Random(seed + (1 << 32));
        let shape = random.of(&LARGE);
        let depth = 1 + random.below(3);
        let tree = tree(&mut random, shape, depth, false);
        let fused = facts(&tree, false);
        assert!(facts(&tree, true) == fused, "large seed {seed} of {shape:?} step by step");
        for pool in &pools {
            let found = pool.install(|| facts(&tree, false));
            assert!(
                found == fused,
                "large seed {seed} of {shape:?} on {} threads",
                pool.current_num_threads()
            );
        }
        digest.add(format_args!("large seed {seed} of {shape:?}"), &fused);
    }
    digest.print();
}
