//! Holds every function of complex numbers to its own bits: what its kernel gives for an element must not
//! depend on the other elements of a register, which may need other ways of the function. `record.rs` holds
//! printed code to that, element by element.

use half::{bf16, f16};
use zerostride_kernels::map_kernel;
use zerostride_ops::{DType, Op};

use super::elements::{Random, aligned, assert_same, signature};

/// Numbers at which functions change their way: the ends of domains and of the format, cancellation, ties,
/// poles, multiples of π that need many bits. All come with both signs.
pub(super) const SPECIAL: [f64; 46] = [
    0.0,
    5e-324,
    1.5e-45,
    2.5095407e-29,
    1e-310,
    1e-40,
    1.1754943508222875e-38,
    2.2250738585072014e-308,
    1e-20,
    2.220446049250313e-16,
    1.1920928955078125e-7,
    1e-5,
    0.1,
    0.25,
    0.49999997,
    0.5,
    std::f64::consts::LN_2,
    0.75,
    0.9999999999999999,
    0.99999994,
    1.0,
    1.0000000000000002,
    1.0000001,
    1.5,
    std::f64::consts::FRAC_PI_2,
    2.0,
    2.5,
    3.0,
    std::f64::consts::PI,
    7.5,
    8.0,
    13.733875,
    22.000000001,
    41.0,
    88.75,
    104.5,
    170.7,
    709.9,
    746.0,
    1073741824.0,
    1.1e9,
    1e20,
    3.4028234663852886e38,
    1.7976931348623157e308,
    f64::INFINITY,
    f64::NAN,
];

/// A number as an element of a float or complex dtype, whose imaginary part is given.
pub(super) fn element(dtype: DType, re: f64, im: f64) -> Vec<u8> {
    match dtype {
        DType::F16 => f16::from_f64(re).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(re).to_le_bytes().to_vec(),
        DType::F32 => (re as f32).to_le_bytes().to_vec(),
        DType::F64 => re.to_le_bytes().to_vec(),
        DType::C64 => [(re as f32).to_le_bytes(), (im as f32).to_le_bytes()].concat(),
        _ => [re.to_le_bytes(), im.to_le_bytes()].concat(),
    }
}

/// A special number or one of ordinary size.
fn number(random: &mut Random) -> f64 {
    let bits = random.next();
    let special = SPECIAL[(bits >> 20) as usize % SPECIAL.len()];
    let ordinary = f64::from_bits((bits >> 12) | 1f64.to_bits()) * 2f64.powi((bits >> 5) as i32 % 16 - 9);
    (if bits & 3 == 0 { ordinary } else { special }) * if bits & 16 == 0 { 1.0 } else { -1.0 }
}

/// Rows of operands: bytes of each, row after row.
pub(super) type Rows = Vec<Vec<Vec<u8>>>;

/// All special numbers, or random rows of them.
pub(super) fn arguments(dtype: DType, arity: usize, count: usize, random: &mut Random) -> Rows {
    let mut rows: Rows = (0..count)
        .map(|_| (0..arity).map(|_| element(dtype, number(random), number(random))).collect())
        .collect();
    for (i, x) in SPECIAL.iter().flat_map(|&x| [x, -x]).enumerate() {
        rows[i] = vec![element(dtype, x, x); arity];
    }
    // In double words, which its neighbours need, `logaddexp` would be rounded otherwise.
    if arity == 2 {
        rows[92] = vec![element(dtype, 2.5095407e-29, 0.0), element(dtype, -13.733875, 0.0)];
        rows[93] = vec![element(dtype, -std::f64::consts::LN_2, 0.0); 2];
    }
    rows
}

/// The operands' elements in order.
pub(super) fn operands(rows: &Rows) -> Vec<Vec<u8>> {
    (0..rows[0].len()).map(|place| rows.iter().flat_map(|row| row[place].clone()).collect()).collect()
}

/// What the block kernel gives.
pub(super) fn mapped(op: Op, compute: DType, result: DType, rows: &Rows) -> Vec<u8> {
    let tiles: Vec<(Vec<u128>, usize)> =
        operands(rows).iter().map(|operand| (aligned(operand), operand.len())).collect();
    let tiles: Vec<&[u8]> = tiles.iter().map(|(words, len)| &bytemuck::cast_slice(words)[..*len]).collect();
    let len = rows.len() * result.item_size();
    let mut words = vec![0u128; len.div_ceil(16)];
    let out: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut words)[..len];
    map_kernel(op, compute).expect("inferred")(&tiles, out).expect("no divisor is zero");
    out.to_vec()
}

/// Each row beside itself alone.
fn alone(op: Op, compute: DType, result: DType, all: &Rows) -> Vec<u8> {
    let one = |row: &Vec<Vec<u8>>| {
        mapped(op, compute, result, &vec![row.clone(); 16])[..result.item_size()].to_vec()
    };
    all.iter().flat_map(one).collect()
}

#[test]
fn no_element_depends_on_its_neighbours() {
    let mut random = Random(5);
    for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
        for compute in [DType::C64, DType::C128] {
            let Some((dtypes, result)) = signature(op, compute) else { continue };
            let count = if dtypes.len() == 1 { 512 } else { 2048 };
            let all = arguments(compute, dtypes.len(), count, &mut random);
            let want = alone(op, compute, result, &all);
            // In random orders, and each beside one of the special rows.
            for round in 0..24 {
                let order: Vec<usize> = (0..2 * count)
                    .map(|i| match (round < 8, i % 2) {
                        (false, 1) => 93 - 5 * (round - 8),
                        (false, _) => i / 2,
                        (true, _) => random.next() as usize % count,
                    })
                    .collect();
                let placed: Rows = order.iter().map(|&i| all[i].clone()).collect();
                let size = result.item_size();
                let want: Vec<u8> =
                    order.iter().flat_map(|&i| want[i * size..(i + 1) * size].to_vec()).collect();
                let got = mapped(op, compute, result, &placed);
                assert_same(&got, &want, result, || format!("{op:?} {compute}, round {round}"));
            }
        }
    }
}
