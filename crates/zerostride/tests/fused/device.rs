//! Random expressions on an emulated GPU: the results and errors of the CPU.

use zerostride::{DType, Device, Error, Expr, Tensor};
use zerostride_emulator::emulated;

use crate::instruction_sets::is_long;
use crate::tree::{Random, Tree, tree};

const SHAPES: [&[usize]; 8] = [&[], &[17], &[0], &[3, 4], &[4, 4], &[2, 3, 130], &[3, 0, 2], &[2100]];

/// The tree with its operands on a device.
fn moved(tree: &Tree) -> Tree {
    let boxed = |tree: &Tree| Box::new(moved(tree));
    match tree {
        Tree::Leaf(tensor) => Tree::Leaf(tensor.cuda().unwrap()),
        Tree::Number(number) => Tree::Number(*number),
        Tree::Call(op, operands) => Tree::Call(*op, operands.iter().map(moved).collect()),
        Tree::Cast(dtype, operand) => Tree::Cast(*dtype, boxed(operand)),
        Tree::Sum(op, dim, keep, operand) => Tree::Sum(*op, *dim, *keep, boxed(operand)),
        Tree::Flip(dim, operand) => Tree::Flip(*dim, boxed(operand)),
        Tree::Swap(a, b, operand) => Tree::Swap(*a, *b, boxed(operand)),
    }
}

/// The bits of both parts of each element. Where a part is NaN all NaNs are the same, and the other part of a
/// complex number may have either sign.
fn bits(tensor: &Tensor) -> Vec<[u64; 2]> {
    let part = |part: Tensor| part.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
    let complex = tensor.cpu().unwrap().to_dtype(DType::C128).unwrap();
    let parts = part(complex.real().unwrap()).into_iter().zip(part(complex.imag().unwrap()));
    parts
        .map(|(re, im)| match re.is_nan() || im.is_nan() {
            true => [re, im].map(|part| if part.is_nan() { 1 } else { part.abs().to_bits() }),
            false => [re, im].map(f64::to_bits),
        })
        .collect()
}

#[test]
fn random_expressions_have_the_bits_of_the_cpu_on_a_device() {
    emulated(&[], || {
        let (mut computed, mut refused) = (0, 0);
        for seed in 0..if is_long() { 20_000 } else { 400 } {
            let mut random = Random(seed + (1 << 34));
            let shape = random.of(&SHAPES);
            let depth = 1 + random.below(4);
            let tree = tree(&mut random, shape, depth, false);
            // Reductions with accumulators of several numbers are at the end, as trees have none.
            let last = |expr: Expr| match seed % 5 {
                0 => expr.argmax([-1]),
                1 => expr.var([-1]),
                2 => expr.prod([-1]),
                _ => expr,
            };
            let evaluate = |tree: &Tree| tree.expr(false).and_then(|expr| last(expr).eval());
            match (evaluate(&moved(&tree)), evaluate(&tree)) {
                (Ok(found), Ok(wanted)) => {
                    let facts = |x: &Tensor| (x.dtype(), x.shape().to_vec(), bits(x));
                    assert!(facts(&found) == facts(&wanted), "seed {seed}: {tree:?}\n{found}\n{wanted}");
                    computed += usize::from(found.device() == Device::Cuda(0));
                }
                (Err(error), _) if matches!(error.root(), Error::NoKernel { .. }) => refused += 1,
                (Err(found), Err(wanted)) => {
                    assert_eq!(found.root().to_string(), wanted.root().to_string(), "seed {seed}")
                }
                (found, wanted) => panic!("seed {seed}: {found:?}, not {wanted:?}, of {tree:?}"),
            }
        }
        println!("{computed} on a device, {refused} refused");
        assert!(computed > 10 * refused);
    });
}
