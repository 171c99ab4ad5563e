//! Codes printed as machine code against the interpreter: random ones of all operations and types, with
//! operands that end where memory does.

#![cfg(has_code)]

use std::ptr::null_mut;

use own::{Set, check_instructions, print, sets};
use zerostride_code::{Code, Read, Row, Type, Write};
use zerostride_kernels::Native;

use super::codes::{Random, accumulating, code, element_bytes, is_nan, parts, trials};

/// Memory between pages that may not be touched.
struct Guarded {
    start: *mut u8,
}

const PAGE: usize = 4096;
const MIDDLE: usize = 64 * PAGE;

impl Guarded {
    fn new() -> Guarded {
        let all = MIDDLE + 2 * PAGE;
        // SAFETY: it asks for memory anywhere, of which all but the first and the last page may be used.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(null_mut(), all, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let start = start.cast::<u8>().add(PAGE);
            assert_eq!(libc::mprotect(start.cast(), MIDDLE, libc::PROT_READ | libc::PROT_WRITE), 0);
            Guarded { start }
        }
    }

    /// Memory of so many bytes that ends where the next page may not be touched, or begins where the page
    /// before may not.
    fn place(&self, bytes: usize, is_at_end: bool) -> *mut u8 {
        assert!(bytes <= MIDDLE);
        // SAFETY: both are inside of the pages that may be used.
        unsafe { if is_at_end { self.start.add(MIDDLE - bytes) } else { self.start } }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is as `new` made it, and is used no more.
        unsafe { libc::munmap(self.start.sub(PAGE).cast(), MIDDLE + 2 * PAGE) };
    }
}

fn write(to: *mut u8, bytes: usize, bits: u64) {
    // SAFETY: the caller's memory has room for the element.
    unsafe { to.copy_from_nonoverlapping(bits.to_le_bytes().as_ptr(), bytes) };
}

fn read(from: *const u8, bytes: usize) -> u64 {
    let mut bits = [0; 8];
    // SAFETY: the caller's memory has the element.
    unsafe { from.copy_to_nonoverlapping(bits.as_mut_ptr(), bytes) };
    u64::from_le_bytes(bits)
}

/// What differs between processors: their sets of instructions.
#[cfg(target_arch = "x86_64")]
mod own {
    use iced_x86::{CpuidFeature, Decoder, DecoderOptions};
    pub(super) use zerostride_code::print::x86_64::{Set, print};

    pub(super) fn sets() -> impl Iterator<Item = Set> {
        [Set::Avx512, Set::Avx2].into_iter().filter(|&set| is_supported(set))
    }

    fn is_supported(set: Set) -> bool {
        match set {
            Set::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            Set::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
        }
    }

    /// Holds printed code to the sets of instructions that it may have.
    pub(super) fn check_instructions(bytes: &[u8], set: Set, seed: u64) {
        let ordinary =
            [CpuidFeature::INTEL8086, CpuidFeature::INTEL386, CpuidFeature::X64, CpuidFeature::CMOV];
        let own: &[CpuidFeature] = match set {
            Set::Avx512 => &[
                CpuidFeature::AVX,
                CpuidFeature::AVX512F,
                CpuidFeature::AVX512DQ,
                CpuidFeature::AVX512BW,
                CpuidFeature::AVX512VL,
            ],
            Set::Avx2 => &[CpuidFeature::AVX, CpuidFeature::AVX2, CpuidFeature::FMA, CpuidFeature::F16C],
        };
        let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
        for instruction in &mut decoder {
            // Every x86-64 can be asked for what is read later.
            let asks = [iced_x86::Code::Prefetcht0_m8, iced_x86::Code::Prefetcht1_m8];
            let allowed = asks.contains(&instruction.code())
                || instruction
                    .cpuid_features()
                    .iter()
                    .all(|feature| ordinary.contains(feature) || own.contains(feature));
            assert!(allowed && !instruction.is_invalid(), "seed {seed}: {instruction:?} is not in {set:?}");
            if instruction.mnemonic() == iced_x86::Mnemonic::Ret {
                return;
            }
        }
        panic!("seed {seed}: the code has no end");
    }
}

#[cfg(target_arch = "aarch64")]
mod own {
    use zerostride_code::Row;
    use zerostride_code::print::{Unprintable, aarch64};

    #[derive(Clone, Copy, Debug)]
    pub(super) struct Set;

    pub(super) fn sets() -> impl Iterator<Item = Set> {
        std::iter::once(Set)
    }

    pub(super) fn print(row: &Row, Set: Set) -> Result<Vec<u8>, Unprintable> {
        aarch64::print(row)
    }

    /// Whole words; which instructions they are is a test of `zerostride-code`.
    pub(super) fn check_instructions(bytes: &[u8], Set: Set, seed: u64) {
        assert!(bytes.len().is_multiple_of(4), "seed {seed}");
    }
}

/// Where the elements of an operand are.
#[derive(Clone, Copy)]
struct Place {
    first: *mut u8,
    /// Bytes from element to element, and from row to row.
    steps: [isize; 2],
    own: usize,
}

impl Place {
    /// Rows of elements of so many bytes in a memory that ends or begins with them.
    fn new(
        memory: &Guarded,
        own: usize,
        [rows, count]: [usize; 2],
        [row, element]: [isize; 2],
        at_end: bool,
    ) -> Place {
        let way = |count: usize, step: isize| count.saturating_sub(1) as isize * step;
        let ways = [way(rows, row), way(count, element)];
        let (before, after): (isize, isize) =
            (ways.iter().map(|way| way.min(&0)).sum(), ways.iter().map(|way| way.max(&0)).sum());
        let span = if rows * count == 0 { 0 } else { (after - before) as usize + own };
        // SAFETY: the first element is inside of the span, or there is none.
        let first = unsafe { memory.place(span, at_end).offset(if span == 0 { 0 } else { -before }) };
        Place { first, steps: [row, element], own }
    }

    /// The second parts of elements of which these are the first ones.
    fn second(self) -> Place {
        Place { first: self.first.wrapping_add(self.own), ..self }
    }

    /// The address of an element, which is in memory.
    fn at(&self, row: usize, at: usize) -> *mut u8 {
        self.first.wrapping_offset(row as isize * self.steps[0] + at as isize * self.steps[1])
    }

    fn read(&self, row: usize, at: usize) -> u64 {
        read(self.at(row, at), self.own)
    }
}

/// What becomes of the results of a random code.
#[derive(Clone, Copy, PartialEq)]
enum Results {
    Apart,
    /// They are the parts of elements.
    Parts,
    /// There is one, the next accumulator.
    Accumulated,
}

/// Runs a random code on rows of random elements, and compares each result with the interpreter's.
fn check(seed: u64, memory: &[Guarded], sets: &[Set], what: Results) {
    let random = &mut Random(seed);
    let (accumulates, are_parts) = (what == Results::Accumulated, what == Results::Parts);
    let of = random.one_of(&[Type::F32, Type::F64, Type::W32, Type::W64]);
    let code = match what {
        Results::Apart => code(random),
        Results::Parts => parts(random),
        Results::Accumulated => accumulating(random, of),
    };
    let any = [Read::Vector, Read::Vector, Read::Splat, Read::Number, Read::Stepped(None)];
    let mut reads: Vec<Read> = code.inputs().iter().map(|_| random.one_of(&any)).collect();
    for read in &mut reads {
        let near = [1, 2, 3, 4, 5, -1, -2, -3, -4].map(Some);
        if read.is_stepped() && random.is_one_in(2) {
            *read = Read::Stepped(random.one_of(&near));
        }
    }
    if let Some(last) = reads.last_mut().filter(|_| accumulates) {
        *last = random.one_of(&[Read::Along(16), Read::Along(64), Read::Across]);
    }
    // Inputs may be parts of elements, too; results that are may be written over the first of these.
    let mut are_paired = vec![false; reads.len()];
    let own = reads.len() - usize::from(accumulates);
    for ((reads, are_paired), types) in reads[..own]
        .chunks_exact_mut(2)
        .zip(are_paired.chunks_exact_mut(2))
        .zip(code.inputs().chunks_exact(2))
    {
        if types.iter().all(|&ty| element_bytes(ty) == 8) && random.is_one_in(2) {
            reads.fill(random.one_of(&[Read::Part, Read::Stepped(Some(2)), Read::Stepped(None)]));
            are_paired.fill(true);
        }
    }
    let ways = match what {
        Results::Apart => [Write::Cached, Write::Cached, Write::NonTemporal],
        Results::Parts => [Write::Part; 3],
        Results::Accumulated => [Write::Cached; 3],
    };
    let writes: Vec<Write> = code.results().iter().map(|_| random.one_of(&ways)).collect();
    let row = Row { code, reads, writes, prefetch_bytes: vec![random.one_of(&[0, 1 << 10, 1 << 17]); 2] };
    // Two rounds of the longest loop, or less than one.
    let longest = if random.is_one_in(4) { 300 } else { 70 };
    let (code, count, rows) = (&row.code, random.below(longest + 1), random.below(5));
    let inputs = code.inputs();
    for &set in sets {
        let bytes = print(&row, set).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{code}"));
        check_instructions(&bytes, set, seed);
        let native = Native::new(&bytes).expect("memory for code");
        let mut places: Vec<Place> = Vec::new();
        let mut elements: Vec<Vec<Vec<u64>>> = Vec::new();
        for (nth, (&ty, &way)) in inputs.iter().zip(&row.reads).enumerate() {
            let own = element_bytes(ty) as isize;
            // Rows of other elements may be the same memory.
            let gap = random.one_of(&[0, 1, 5]);
            let apart = |count: usize| (count as isize + gap) * own;
            let ([length, count], [line, step]) = match way {
                Read::Vector => {
                    ([rows, count], [random.one_of(&[apart(count), -apart(count), 0, own * gap]), own])
                }
                Read::Splat => ([rows, 1], [random.one_of(&[0, 1, 3, -2]) * own, 0]),
                Read::Number => ([1, 1], [0, 0]),
                _ if are_paired[nth] => {
                    ([rows, count], [random.one_of(&[0, 2 * apart(count), -2 * apart(count)]), 2 * own])
                }
                Read::Stepped(near) => {
                    let step =
                        near.map_or_else(|| random.one_of(&[0, 1, 2, 3, 5, -1, -3]), isize::from) * own;
                    ([rows, count], [random.one_of(&[0, own, step * count as isize]), step])
                }
                Read::Along(turn) => ([rows, turn as usize], [apart(turn as usize), own]),
                Read::Across => ([1, 1], [0, 0]),
                Read::Part => unreachable!("they are paired"),
            };
            let at_end = random.is_one_in(2);
            let place = match (are_paired[nth], nth % 2) {
                (true, 0) => {
                    let both = Place::new(&memory[nth], 16, [length, count], [line, step], at_end);
                    Place { own: 8, ..both }
                }
                (true, _) => places[nth - 1].second(),
                _ => Place::new(&memory[nth], own as usize, [length, count], [line, step], at_end),
            };
            for row in 0..length {
                (0..count).for_each(|at| write(place.at(row, at), own as usize, random.element(ty)));
            }
            places.push(place);
        }
        for (place, &way) in places.iter().zip(&row.reads) {
            let width = if let Read::Along(turn) = way { turn as usize } else { count };
            let of_row = |row: usize| (0..width).map(|at| place.read(row, at)).collect();
            elements.push((0..rows).map(of_row).collect());
        }
        let mut is_taken = vec![false; inputs.len()];
        for (nth, &value) in code.results().iter().enumerate() {
            let own = element_bytes(code.ty(value));
            if are_parts && nth == 1 {
                places.push(places[inputs.len()].second());
                continue;
            }
            let is_apart = |place: &Place| place.steps[0].unsigned_abs() >= count * own || rows == 1;
            let in_place = (0..inputs.len()).find(|&input| match row.reads[input] {
                Read::Vector if what == Results::Apart => {
                    places[input].own == own && is_apart(&places[input]) && !is_taken[input]
                }
                way => matches!(way, Read::Along(_)),
            });
            let element = if are_parts { 2 * own } else { own };
            let line = ((count + random.below(3)) * element) as isize;
            let place = Place::new(
                &memory[inputs.len() + nth],
                element,
                [rows, count],
                [line, element as isize],
                random.is_one_in(2),
            );
            let is_over = are_parts && are_paired[0] && random.is_one_in(2);
            places.push(match in_place {
                _ if is_over && places[0].steps[0].unsigned_abs() >= count * element => places[0],
                _ if are_parts => Place { own, ..place },
                Some(input) if accumulates || random.is_one_in(2) => {
                    is_taken[input] = true;
                    places[input]
                }
                _ => place,
            });
        }
        let steps = places.iter().zip(&row.reads).filter(|(_, way)| way.is_stepped());
        let distances =
            places.iter().map(|place| place.steps[0]).chain(steps.map(|(place, _)| place.steps[1]));
        let mut arguments: Vec<*mut u8> = places.iter().map(|place| place.first).collect();
        arguments.extend(distances.map(|distance| distance as *mut u8));
        // SAFETY: the operands have the elements, results are apart or an input's.
        unsafe { native.call(arguments.as_mut_ptr(), count, rows) };
        let compare = |nth: usize, [line, at]: [usize; 2], wanted: u64| {
            let (ty, bits) = (code.ty(code.results()[nth]), places[inputs.len() + nth].read(line, at));
            assert!(
                bits == wanted || is_nan(ty, bits) && is_nan(ty, wanted),
                "seed {seed}, {set:?}, {nth} of element {at} of {count} in row {line} of {rows}: {bits:#x}, not {wanted:#x}\n{:?}\n{code}",
                row.reads
            );
        };
        let mut wanted = elements.last().filter(|_| accumulates).cloned().unwrap_or_default();
        let own = inputs.len() - usize::from(accumulates);
        for (line, at) in (0..rows).flat_map(|line| (0..count).map(move |at| (line, at))) {
            let element = |last: Option<u64>| -> Vec<u64> {
                elements[..own].iter().map(|input| input[line][at]).chain(last).collect()
            };
            let [held_in, held_at] = match row.accumulators() {
                Some(Read::Along(turn)) => [line, at % turn as usize],
                Some(_) => [0, at],
                None => {
                    let results = code.run(&element(None)).into_iter().enumerate();
                    results.for_each(|(nth, wanted)| compare(nth, [line, at], wanted));
                    continue;
                }
            };
            wanted[held_in][held_at] = code.run(&element(Some(wanted[held_in][held_at])))[0];
        }
        let lines = if row.accumulators() == Some(Read::Across) { rows.min(1) } else { rows };
        for (line, wanted) in wanted.iter().take(lines).enumerate() {
            wanted.iter().enumerate().for_each(|(at, &wanted)| compare(0, [line, at], wanted));
        }
    }
}

/// Holds what is printed of a code to its results on rows of elements of its inputs.
pub(super) fn assert_printed(
    code: &Code,
    rows: &[Vec<u64>],
    wanted: &[Vec<u64>],
    label: impl Fn() -> String,
) {
    let bytes = |ty: Type| element_bytes(ty);
    let columns = code.inputs().iter().enumerate().map(|(nth, &ty)| {
        rows.iter().flat_map(|row| row[nth].to_le_bytes()[..bytes(ty)].to_vec()).collect::<Vec<u8>>()
    });
    let columns: Vec<Vec<u8>> = columns.collect();
    for set in sets() {
        let printed = print(&Row::contiguous(code.clone()), set).expect("a row that can be printed");
        let native = Native::new(&printed).expect("memory for code");
        let mut results: Vec<Vec<u8>> =
            code.results().iter().map(|&value| vec![0; rows.len() * bytes(code.ty(value))]).collect();
        let inputs = columns.iter().map(|column| column.as_ptr().cast_mut());
        let mut arguments: Vec<*mut u8> =
            inputs.chain(results.iter_mut().map(|result| result.as_mut_ptr())).collect();
        // One row of all elements has no distance to the next.
        arguments.resize(2 * arguments.len(), null_mut());
        // SAFETY: each operand has so many elements.
        unsafe { native.call(arguments.as_mut_ptr(), rows.len(), 1) };
        for ((&value, result), nth) in code.results().iter().zip(&results).zip(0..) {
            let ty = code.ty(value);
            for ((row, wanted), found) in rows.iter().zip(wanted).zip(result.chunks(bytes(ty))) {
                let found = read(found.as_ptr(), bytes(ty));
                let are_same = found == wanted[nth] || is_nan(ty, found) && is_nan(ty, wanted[nth]);
                assert!(are_same, "{}, {set:?}: {found:#x}, not {:#x}, of {row:x?}", label(), wanted[nth]);
            }
        }
    }
}

#[test]
fn printed_accumulators_are_those_of_the_interpreter() {
    let memory: Vec<Guarded> = (0..8).map(|_| Guarded::new()).collect();
    let sets: Vec<Set> = sets().collect();
    for seed in 0..trials() / 2 {
        check(seed.wrapping_mul(0x2545_f491_4f6c_dd1d), &memory, &sets, Results::Accumulated);
    }
}

#[test]
fn printed_codes_compute_what_the_interpreter_does_and_touch_nothing_else() {
    let memory: Vec<Guarded> = (0..8).map(|_| Guarded::new()).collect();
    let sets: Vec<Set> = sets().collect();
    for seed in 0..trials() {
        check(seed.wrapping_mul(0x2545_f491_4f6c_dd1d), &memory, &sets, Results::Apart);
    }
}

#[test]
fn printed_parts_are_those_of_the_interpreter() {
    let memory: Vec<Guarded> = (0..8).map(|_| Guarded::new()).collect();
    let sets: Vec<Set> = sets().collect();
    for seed in 0..trials() / 2 {
        check(seed.wrapping_mul(0x2545_f491_4f6c_dd1d), &memory, &sets, Results::Parts);
    }
}
