//! Loops printed as PTX, run thread by thread: the bits of the interpreter of codes, and of the reductions of
//! this crate, in any layout.

mod assembled;
mod launch;
mod layouts;
mod products;
mod reductions;
mod snapshots;

use zerostride_code::print::ptx::{Argument, MapLoop, map};
use zerostride_code::{Code, Type};
use zerostride_ops::{DType, Op};

use super::codes::{element_bytes, is_nan};
use super::record::{self, What};
use launch::{Memory, launch};

/// Functions of which C leaves the sign of some results open where a part of the argument is NaN. Ours have
/// it from the NaN, which may lose its own where it is widened to `f64`.
const OPEN: [Op; 7] = [Op::Acosh, Op::Asinh, Op::Atan, Op::Atanh, Op::Exp, Op::Sqrt, Op::Tanh];

/// What is wanted of the signs of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Same,
    /// Either where an input is NaN.
    OpenForNan,
}

/// Whether bits are those that are wanted, any NaN being any other.
fn are_same(ty: Type, found: u64, wanted: u64) -> bool {
    found == wanted || is_nan(ty, found) && is_nan(ty, wanted)
}

/// The type of each result as it is stored.
fn stored_results(code: &Code) -> Vec<Type> {
    code.result_types().collect()
}

/// Holds a code's kernel to the interpreter, on rows of elements of its inputs. Its operands begin so many
/// elements behind an aligned address: without any, a thread computes four elements.
fn assert_rows(code: &Code, rows: &[Vec<u64>], behind: u64, sign: Sign, label: &dyn Fn() -> String) {
    let mut memory = Memory::new(label());
    memory.signs_are_open = sign == Sign::OpenForNan;
    let mut add = |ty: Type| {
        let own = element_bytes(ty) as u64;
        let address = memory.add(ty, rows.len() * own as usize, behind * own);
        (address, Argument::Elements { address, strides: vec![own as i64] })
    };
    let inputs: Vec<(u64, Argument)> = code.inputs().iter().map(|&ty| add(ty)).collect();
    let results: Vec<(u64, Argument)> = stored_results(code).into_iter().map(&mut add).collect();
    for (nth, (&ty, (address, _))) in code.inputs().iter().zip(&inputs).enumerate() {
        let own = element_bytes(ty) as u64;
        for (row, place) in rows.iter().zip((*address..).step_by(own as usize)) {
            memory.write(place, own, row[nth]);
        }
    }
    let operands = inputs.iter().chain(&results).map(|(_, operand)| operand.clone()).collect();
    let loops = MapLoop { sizes: vec![rows.len() as u32], operands };
    let form = loops.form(code).expect("a loop that can be printed");
    assert_eq!(form.is_wide, behind == 0 && rows.len().is_multiple_of(4));
    let kernel = map(code, &form).expect("a loop that can be printed");
    launch(&kernel.text, loops.blocks(&form), &loops.arguments(&form), &mut memory);
    for (place, row) in rows.iter().enumerate() {
        let wanted = code.run(row);
        for ((&(address, _), ty), wanted) in results.iter().zip(stored_results(code)).zip(wanted) {
            let own = element_bytes(ty) as u64;
            let found = memory.read(address + place as u64 * own, own);
            let has_nan = code.inputs().iter().zip(row).any(|(&ty, &bits)| is_nan(ty, bits));
            let differs = if sign == Sign::OpenForNan && has_nan { 1 << (ty.bits() - 1) } else { 0 };
            let are_same = are_same(ty, found, wanted) || found ^ wanted == differs;
            assert!(are_same, "{}: {found:#x}, not {wanted:#x}, of {row:x?}", label());
        }
    }
}

/// Both ways of a contiguous loop.
fn assert_printed(code: &Code, rows: &[Vec<u64>], sign: Sign, label: &dyn Fn() -> String) {
    // Few arguments, as those of bools, come more than once.
    let count = rows.len().next_multiple_of(4);
    let whole: Vec<Vec<u64>> = rows.iter().cycle().take(count).cloned().collect();
    assert_rows(code, &whole, 0, sign, label);
    let few = &rows[rows.len() - rows.len().min(301)..];
    assert_rows(code, few, 1, sign, label);
}

#[test]
fn every_operation_printed_as_ptx_has_the_bits_of_its_code() {
    let (mut count, mut rows) = (0, 0);
    record::each_operation(|recording| {
        (count, rows) = (count + 1, rows + recording.rows.len());
        let is_open = matches!(recording.what, What::Operation(op, DType::C64) if OPEN.contains(&op));
        let sign = if is_open { Sign::OpenForNan } else { Sign::Same };
        // At infinities its sign is that of a computed NaN, which PTX shares with x86-64 alone (DESIGN.md).
        let is_pow = matches!(recording.what, What::Operation(Op::Pow, DType::C64 | DType::C128));
        if is_pow && cfg!(not(target_arch = "x86_64")) {
            return;
        }
        assert_printed(&recording.code, &recording.numbers(), sign, &|| recording.name());
    });
    eprintln!("{count} operations, {rows} rows of arguments");
    assert_eq!(count, record::RECORDED);
}

#[test]
fn every_conversion_printed_as_ptx_has_the_bits_of_its_code() {
    let (mut count, mut rows) = (0, 0);
    record::each_conversion(|recording| {
        (count, rows) = (count + 1, rows + recording.rows.len());
        assert_printed(&recording.code, &recording.numbers(), Sign::Same, &|| recording.name());
    });
    eprintln!("{count} conversions, {rows} arguments");
    assert_eq!(count, 15 * 15);
}
