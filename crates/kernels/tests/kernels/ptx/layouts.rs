//! Random codes on operands of random layouts: permuted, stretched, reversed, with gaps, in place.

use zerostride_code::print::ptx::{Argument, MapLoop, OperandForm, map};
use zerostride_code::{Code, Type};

use super::super::codes::{Random, code, element_bytes, trials};
use super::launch::{Memory, launch};
use super::{are_same, stored_results};

/// The sizes of a loop of up to four dimensions; those of tidy ones have rows of four elements or more.
fn sizes(random: &mut Random, is_tidy: bool) -> Vec<u32> {
    if random.is_one_in(8) && !is_tidy {
        return vec![random.below(1500) as u32];
    }
    let outer = random.below(4);
    let mut sizes: Vec<u32> = (0..outer).map(|_| random.one_of(&[1, 2, 3, 5, 7])).collect();
    if random.is_one_in(10) && !is_tidy {
        return sizes;
    }
    sizes.push(if is_tidy { random.one_of(&[4, 8, 16]) } else { random.one_of(&[1, 3, 4, 8, 13, 0]) });
    sizes
}

/// Elements of a type in a piece of memory of their own; tidy ones are contiguous and aligned.
fn elements(
    random: &mut Random,
    memory: &mut Memory,
    sizes: &[u32],
    ty: Type,
    [is_tidy, may_stretch]: [bool; 2],
) -> Argument {
    let own = element_bytes(ty) as i64;
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    if random.is_one_in(3) && !is_tidy {
        order.sort_by_key(|_| random.bits());
    }
    let mut strides = vec![0; sizes.len()];
    let gap = if is_tidy { 1 } else { random.one_of(&[1, 1, 1, 2, 3]) };
    let (mut step, mut before, mut after) = (own * gap, 0, 0);
    for &dim in order.iter().rev() {
        if may_stretch && random.is_one_in(4) {
            continue;
        }
        let reach = step * i64::from(sizes[dim].saturating_sub(1));
        if random.is_one_in(8) && !is_tidy {
            strides[dim] = -step;
            before += reach;
        } else {
            strides[dim] = step;
            after += reach;
        }
        step *= i64::from(sizes[dim].max(1));
        step += own * if is_tidy { 0 } else { random.one_of(&[0, 0, 0, 4, 5]) };
    }
    let behind = if random.is_one_in(4) && !is_tidy { own as u64 } else { 0 };
    let bytes = if sizes.contains(&0) { 0 } else { before + after + own };
    let address = memory.add(ty, bytes as usize, behind) + before as u64;
    Argument::Elements { address, strides }
}

/// All indices of a loop.
fn indices(sizes: &[u32]) -> Vec<Vec<i64>> {
    sizes.iter().fold(vec![Vec::new()], |all, &size| {
        let longer = |index: &Vec<i64>| (0..i64::from(size)).map(|at| [&index[..], &[at]].concat()).collect();
        all.iter().flat_map(|index| -> Vec<Vec<i64>> { longer(index) }).collect()
    })
}

/// The address of an element.
fn at(operand: &Argument, index: &[i64]) -> Option<u64> {
    let Argument::Elements { address, strides } = operand else { return None };
    let offset: i64 = strides.iter().zip(index).map(|(stride, at)| stride * at).sum();
    Some(address.wrapping_add_signed(offset))
}

/// A random loop of a code, in memory.
fn random_loop(random: &mut Random, memory: &mut Memory, code: &Code) -> MapLoop {
    let is_tidy = random.is_one_in(2);
    let sizes = sizes(random, is_tidy);
    let mut operands: Vec<Argument> = Vec::new();
    for &ty in code.inputs() {
        operands.push(if random.is_one_in(6) {
            Argument::Number(random.element(ty))
        } else {
            let is_tidy = is_tidy && random.is_one_in(2);
            elements(random, memory, &sizes, ty, [is_tidy, true])
        });
    }
    let mut free: Vec<usize> = (0..code.inputs().len()).collect();
    for ty in stored_results(code) {
        let has_all = |operand: &Argument| match operand {
            Argument::Elements { strides, .. } => {
                strides.iter().zip(&sizes).all(|(&stride, &size)| stride != 0 || size == 1)
            }
            Argument::Number(_) => false,
        };
        let in_place = free.iter().position(|&input| code.inputs()[input] == ty && has_all(&operands[input]));
        operands.push(match in_place.filter(|_| random.is_one_in(4)) {
            Some(place) => operands[free.swap_remove(place)].clone(),
            None => elements(random, memory, &sizes, ty, [is_tidy, false]),
        });
    }
    MapLoop { sizes, operands }
}

/// The kernel of a random loop.
pub(super) fn kernel(seed: u64) -> String {
    let random = &mut Random(seed);
    let code = code(random);
    let loops = random_loop(random, &mut Memory::new(String::new()), &code);
    let form = loops.form(&code).expect("a loop that can be printed");
    map(&code, &form).expect("a loop that can be printed").text
}

/// What a trial had.
#[derive(Default)]
struct Seen {
    wide: u64,
    strided_in_wide: u64,
    stretched_in_wide: u64,
    elements: usize,
}

/// Runs a random code in a random loop, and compares all of memory with what the interpreter makes of it.
fn check(seed: u64, seen: &mut Seen) {
    let random = &mut Random(seed);
    let code = code(random);
    let mut memory = Memory::new(format!("random code {seed}"));
    let loops = random_loop(random, &mut memory, &code);
    let (inputs, results) = loops.operands.split_at(code.inputs().len());
    let indices = indices(&loops.sizes);
    for (operand, &ty) in inputs.iter().zip(code.inputs()) {
        for address in indices.iter().filter_map(|index| at(operand, index)) {
            memory.write(address, element_bytes(ty) as u64, random.element(ty));
        }
    }
    let mut wanted = memory.clone();
    let mut places = Vec::new();
    for index in &indices {
        let element = |(operand, &ty): (&Argument, &Type)| match operand {
            Argument::Number(bits) => *bits,
            _ => at(operand, index).map_or(0, |address| memory.read(address, element_bytes(ty) as u64)),
        };
        let elements: Vec<u64> = inputs.iter().zip(code.inputs()).map(element).collect();
        for ((operand, ty), bits) in results.iter().zip(stored_results(&code)).zip(code.run(&elements)) {
            let address = at(operand, index).expect("results are in memory");
            wanted.write(address, element_bytes(ty) as u64, bits);
            places.push((address, ty));
        }
    }
    let form = loops.form(&code).expect("a loop that can be printed");
    let kernel = map(&code, &form).expect("a loop that can be printed");
    launch(&kernel.text, loops.blocks(&form), &loops.arguments(&form), &mut memory);
    seen.elements += indices.len();
    if form.is_wide {
        seen.wide += 1;
        seen.strided_in_wide += u64::from(form.operands.contains(&OperandForm::Strided));
        seen.stretched_in_wide += u64::from(form.operands.contains(&OperandForm::Stretched));
    }
    for (address, ty) in places {
        let own = element_bytes(ty) as u64;
        let (found, right) = (memory.read(address, own), wanted.read(address, own));
        let label = || format!("seed {seed}: {found:#x}, not {right:#x}\n{loops:?}\n{code}");
        assert!(are_same(ty, found, right), "{}", label());
        wanted.write(address, own, found);
    }
    assert!(memory == wanted, "seed {seed}: other elements were written\n{loops:?}\n{code}");
}

#[test]
fn codes_printed_as_ptx_compute_what_the_interpreter_does_in_any_layout_and_write_nothing_else() {
    let mut seen = Seen::default();
    for seed in 0..trials() {
        check(seed.wrapping_mul(0x2545_f491_4f6c_dd1d), &mut seen);
    }
    let Seen { wide, strided_in_wide, stretched_in_wide, elements } = seen;
    eprintln!("{} loops of {elements} elements, {wide} of them with four a thread", trials());
    assert!([wide, strided_in_wide, stretched_in_wide].into_iter().all(|count: u64| 20 * count > trials()));
}
