//! Kernels as files, for those who read what is printed, and refusals. `ZEROSTRIDE_PTX=write` writes the
//! files anew.

use std::path::Path;
use std::{env, fs};

use zerostride_code::print::Unprintable;
use zerostride_code::print::ptx::{
    Argument, LeavesLoop, MapLoop, ProductCodes, ProductLoop, ReductionCodes, leaves, level, map, product,
};
use zerostride_code::{Binary, Builder, Code, Compare, Type, Unary};

/// Compares a kernel with a file.
fn assert_text(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/ptx/printed").join(name);
    if env::var("ZEROSTRIDE_PTX").is_ok_and(|word| word == "write") {
        fs::write(&path, text).expect("the file is written");
    }
    let known = fs::read_to_string(&path).expect("the file is read");
    assert!(known == text, "{name} is printed anew:\n{text}");
}

fn elements(strides: &[i64]) -> Argument {
    Argument::Elements { address: 0, strides: strides.to_vec() }
}

fn printed(code: &Code, sizes: &[u32], operands: Vec<Argument>) -> Result<String, Unprintable> {
    let loops = MapLoop { sizes: sizes.to_vec(), operands };
    Ok(map(code, &loops.form(code)?)?.text)
}

/// The sum of accumulators and elements.
fn sum() -> Code {
    let mut builder = Builder::new();
    let (held, x) = (builder.input(Type::F32), builder.input(Type::F32));
    let sum = builder.binary(Binary::Add, held, x);
    builder.finish(&[sum])
}

#[test]
fn a_product_of_a_row_and_a_column_has_four_elements_a_thread() {
    let mut builder = Builder::new();
    let [x, row, column] = [(); 3].map(|()| builder.input(Type::F32));
    let result = builder.mul_add(row, column, x);
    let code = builder.finish(&[result]);
    let (matrix, row, column) = (elements(&[400, 4]), elements(&[0, 4]), elements(&[4, 0]));
    let text = printed(&code, &[50, 100], vec![matrix.clone(), row, column, matrix]);
    assert_text("row_column.ptx", &text.unwrap());
}

#[test]
fn a_rare_way_is_a_branch_and_a_table_is_in_shared_memory() {
    let mut builder = Builder::new();
    let (x, scale) = (builder.input(Type::F32), builder.input(Type::F16));
    let zero = builder.constant(Type::F32, 0);
    let is_negative = builder.compare(Compare::Lt, x, zero);
    builder.begin_rare(is_negative);
    let bits = builder.bits(Type::W32, x);
    let number = builder.lookup(Type::F32, std::array::from_fn(|n| (n as f32).to_bits().into()), bits);
    let root = builder.unary(Unary::Sqrt, number);
    builder.end_rare();
    let scale = builder.convert(Type::F32, scale);
    let product = builder.binary(Binary::Mul, x, scale);
    let result = builder.select(is_negative, root, product);
    let code = builder.finish(&[result, is_negative]);
    // The elements of a column of 7, so one a thread.
    let operands = vec![elements(&[28]), Argument::Number(0x3c00), elements(&[4]), elements(&[1])];
    assert_text("rare_table.ptx", &printed(&code, &[7], operands).unwrap());
}

#[test]
fn a_sum_has_leaves_and_levels() {
    let sum = sum();
    let mut builder = Builder::new();
    let (x, held) = (builder.input(Type::F32), builder.input(Type::F32));
    let next = builder.binary(Binary::Add, held, x);
    let step = builder.finish(&[next]);
    let reduction = ReductionCodes { step: &step, before: None, merge: &sum, ending: None, empty: &[0] };
    let mut loops = LeavesLoop {
        kept: vec![300],
        reduced: vec![5000],
        operands: vec![elements(&[4, 1200])],
        results: vec![0],
        lanes: 64,
        leaf: 1024,
    };
    let across = leaves(&reduction, &loops.form(&reduction).unwrap()).unwrap();
    assert_text("sum_across.ptx", &across.text);
    loops.operands = vec![elements(&[20_000, 4])];
    let along = leaves(&reduction, &loops.form(&reduction).unwrap()).unwrap();
    assert_text("sum_along.ptx", &along.text);
    assert_text("sum_level.ptx", &level(&reduction).unwrap().text);
}

/// The codes of products of floats.
fn multiplied() -> [Code; 3] {
    let mut builder = Builder::new();
    let x = builder.input(Type::F32);
    let same = builder.finish(&[x]);
    let mut builder = Builder::new();
    let [a, b, total] = [(); 3].map(|()| builder.input(Type::F32));
    let next = builder.mul_add(a, b, total);
    [same, builder.finish(&[next]), sum()]
}

#[test]
fn products_are_summed_tile_by_tile() {
    let [same, extend, add] = multiplied();
    let (widen, ending, empty) = (same.clone(), same, vec![0x8000_0000]);
    let codes = ProductCodes { widen, extend, start: vec![0], add, ending, empty };
    let loops = ProductLoop {
        batch: vec![3],
        lines: [100, 200],
        depth: 300,
        factors: [elements(&[120_000, 1200, 4]), elements(&[0, 4, 800])],
        result: 0,
        chain: 128,
    };
    assert_text("product.ptx", &product(&codes, &loops.form().unwrap()).unwrap().text);
    assert_eq!(loops.blocks(&codes), 3 * 2 * 4);
    let flat = ProductLoop { factors: [elements(&[1200, 4]), elements(&[0, 4, 800])], ..loops.clone() };
    assert_eq!(flat.form(), Err(Unprintable::Operands));
    assert_eq!(ProductLoop { chain: 100, ..loops.clone() }.form(), Err(Unprintable::Operands));
    assert_eq!(ProductLoop { depth: u32::MAX, ..loops.clone() }.form(), Err(Unprintable::Elements));
    assert_eq!(ProductLoop { lines: [1 << 20, 1 << 12], ..loops.clone() }.form(), Err(Unprintable::Elements));
    let form = loops.form().unwrap();
    let apart = ProductCodes { empty: vec![0, 0], ..codes.clone() };
    assert_eq!(product(&apart, &form), Err(Unprintable::Operands));
    let other = ProductCodes { extend: codes.add.clone(), ..codes };
    assert_eq!(product(&other, &form), Err(Unprintable::Operands));
}

#[test]
fn what_a_launch_cannot_have_is_refused() {
    let sum = sum();
    let row = || elements(&[4]);
    let refused = |sizes: &[u32], operands| printed(&sum, sizes, operands).unwrap_err();
    assert_eq!(refused(&[8], vec![row(), row()]), Unprintable::Operands);
    assert_eq!(refused(&[8], vec![row(), row(), Argument::Number(0)]), Unprintable::Operands);
    assert_eq!(refused(&[8], vec![row(), row(), elements(&[4, 4])]), Unprintable::Operands);
    let high = || elements(&[4, 0, 0]);
    assert_eq!(refused(&[u32::MAX; 3], vec![high(), high(), high()]), Unprintable::Elements);
    let deep = || elements(&[4; 200]);
    assert_eq!(refused(&[1; 200], vec![deep(), deep(), deep()]), Unprintable::Arguments);

    let mut builder = Builder::new();
    let index = builder.input(Type::W32);
    let numbers = (0..400).map(|n| builder.lookup(Type::F32, [n; 16], index));
    let numbers: Vec<_> = numbers.collect();
    let code = builder.finish(&numbers);
    let operands = vec![row(); 401];
    assert_eq!(printed(&code, &[8], operands).unwrap_err(), Unprintable::Arguments);
    let mut builder = Builder::new();
    let index = builder.input(Type::W32);
    let mut total = builder.constant(Type::F32, 0);
    for n in 0..400 {
        let number = builder.lookup(Type::F32, [n; 16], index);
        total = builder.binary(Binary::Add, total, number);
    }
    let code = builder.finish(&[total]);
    assert_eq!(printed(&code, &[8], vec![row(), row()]).unwrap_err(), Unprintable::Shared);

    let reduction = ReductionCodes { step: &sum, before: None, merge: &sum, ending: None, empty: &[0] };
    let loops = LeavesLoop {
        kept: vec![2],
        reduced: vec![3],
        operands: vec![elements(&[12, 4])],
        results: vec![0],
        lanes: 3,
        leaf: 1024,
    };
    assert_eq!(loops.form(&reduction), Err(Unprintable::Operands));
    let apart = ReductionCodes { empty: &[0, 0], ..reduction };
    assert_eq!(level(&apart), Err(Unprintable::Operands));
    let many = LeavesLoop { kept: vec![1 << 16, 1 << 16], lanes: 1, ..loops };
    let many = LeavesLoop { operands: vec![elements(&[0, 12, 4])], ..many };
    assert_eq!(many.form(&reduction), Err(Unprintable::Elements));
}
