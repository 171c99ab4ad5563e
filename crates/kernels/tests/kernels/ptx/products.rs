//! Products of matrices printed as PTX: the bits of those of this crate, in any layout and number of tiles
//! and chains.

use bytemuck::{cast_slice, cast_slice_mut};
use zerostride_code::print::ptx::{Argument, ProductLoop, product};
use zerostride_kernels::{
    Matrix, PRODUCT_CHAIN, ProductScratch, ProductSizes, cast_kernel, matmul, record_product, stored_type,
};
use zerostride_ops::{Category, DType};

use super::super::codes::{Random, element_bytes};
use super::super::elements::aligned;
use super::are_same;
use super::launch::{Memory, launch};

/// Rows, elements of a line and columns: less than a tile, more, and as many as a chain and more.
const SIZES: [(usize, usize, usize); 5] = [(1, 1, 1), (3, 40, 70), (65, 16, 33), (17, 128, 5), (2, 300, 130)];

/// The strides of a factor of so many lines in elements: along lines or across them, in reverse.
fn layouts(lines: usize, depth: usize) -> [(usize, [isize; 2]); 3] {
    let [lines, depth] = [lines as isize, depth as isize];
    [(0, [depth, 1]), (0, [1, lines]), ((lines * depth - 1) as usize, [-depth, -1])]
}

/// The kernels of a dtype, of lines that lie along memory and across it.
pub(super) fn kernels(dtype: DType) -> Vec<String> {
    let codes = record_product(dtype).expect("a product");
    let own = dtype.item_size() as i64;
    let factor = |strides: [i64; 2]| Argument::Elements { address: 0, strides: strides.to_vec() };
    let of = |left, right| ProductLoop {
        batch: Vec::new(),
        lines: [9, 9],
        depth: 9,
        factors: [factor(left), factor(right)],
        result: 0,
        chain: PRODUCT_CHAIN,
    };
    [of([9 * own, own], [9 * own, own]), of([own, 9 * own], [9 * own, own])]
        .map(|loops| product(&codes, &loops.form().unwrap()).unwrap().text)
        .to_vec()
}

/// So many elements: integers of any bits, floats of both signs whose sums are rounded.
fn elements(random: &mut Random, dtype: DType, count: usize) -> Vec<u8> {
    let own = dtype.to_real();
    let words: Vec<u64> = (0..count * dtype.item_size() / own.item_size()).map(|_| random.bits()).collect();
    let mut bytes = vec![0; words.len() * own.item_size()];
    match dtype.category() {
        Category::Int => cast_kernel(DType::U64, own)(cast_slice(&words), &mut bytes),
        _ => {
            let float = |&word: &u64| (word as i32 % 2000) as f64 / f64::from(7 << (word >> 60));
            let floats: Vec<f64> = words.iter().map(float).collect();
            cast_kernel(DType::F64, own)(cast_slice(&floats), &mut bytes);
        }
    }
    bytes
}

#[test]
fn products_printed_as_ptx_have_the_bits_of_the_kernels() {
    let mut random = Random(23);
    for dtype in DType::ALL.into_iter().filter(|dtype| *dtype != DType::Bool) {
        let codes = record_product(dtype).expect("a product");
        let (ty, item) = (stored_type(dtype), dtype.item_size());
        let part = element_bytes(ty);
        for ((n, k, m), nth) in SIZES.into_iter().zip(0..) {
            let lines = [(n, layouts(n, k)[nth % 3]), (m, layouts(m, k)[nth / 2 % 3])];
            let label = format!("product of {dtype}, {n} x {k} by {k} x {m}, {lines:?}");
            let mut memory = Memory::new(label.clone());
            let words = lines.map(|(lines, _)| aligned(&elements(&mut random, dtype, lines * k)));
            let own = [0, 1].map(|nth: usize| &cast_slice(&words[nth])[..lines[nth].0 * k * item]);
            let factors = [0, 1].map(|nth: usize| {
                let address = memory.add(ty, own[nth].len(), 0);
                for (place, bits) in own[nth].chunks(part).map(word).enumerate() {
                    memory.write(address + (place * part) as u64, part as u64, bits);
                }
                let (_, (first, strides)) = lines[nth];
                let strides = strides.map(|stride| stride as i64 * item as i64);
                let address = address + (first * item) as u64;
                Argument::Elements { address, strides: [&[0][..], &strides].concat() }
            });
            // Both matrices of the batch are the same.
            let result = memory.add(ty, 2 * n * m * item, 0);
            let loops = ProductLoop {
                batch: vec![2],
                lines: [n as u32, m as u32],
                depth: k as u32,
                factors,
                result,
                chain: PRODUCT_CHAIN,
            };
            let kernel = product(&codes, &loops.form().unwrap()).unwrap();
            launch(&kernel.text, loops.blocks(&codes), &loops.arguments(&codes), &mut memory);
            let mut words = aligned(&vec![0; n * m * item]);
            let wanted = &mut cast_slice_mut(&mut words)[..n * m * item];
            let matrix = |nth: usize| {
                let (_, (first, [apart, along])) = lines[nth];
                let [row_stride, column_stride] = if nth == 0 { [apart, along] } else { [along, apart] };
                Matrix { bytes: own[nth], offset: first as isize, row_stride, column_stride }
            };
            let sizes = ProductSizes { n, k, m };
            matmul(dtype, sizes, matrix(0), matrix(1), wanted, &mut ProductScratch::default());
            let twice = wanted.chunks(part).chain(wanted.chunks(part)).map(word);
            for (address, wanted) in (result..).step_by(part).zip(twice) {
                let found = memory.read(address, part as u64);
                assert!(are_same(ty, found, wanted), "{label}: {found:#x}, not {wanted:#x}");
            }
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}
