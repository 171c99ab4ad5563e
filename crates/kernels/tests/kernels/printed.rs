//! Codes printed as machine code against the interpreter: random ones of all operations and types, with
//! operands that end where memory does.

#![cfg(has_code)]

use std::ptr::null_mut;

use own::{Set, check_instructions, print, sets};
use zerostride_code::{Binary, Builder, Code, Compare, Read, Row, Type, Unary, Value, Write};
use zerostride_kernels::Native;

/// Numbers that look random, from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// The bits of an element: often a special one.
    fn element(&mut self, ty: Type) -> u64 {
        let small = self.below(9) as f64 - 4.0;
        let near = (self.bits() as i64 as f64 / 2f64.powi(62)) * 10f64.powi(self.below(7) as i32 - 2);
        let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 3e-39, 3.4e38, 1.8e19];
        let value = match self.below(4) {
            0 => small,
            1 | 2 => near,
            _ => self.one_of(&special),
        };
        let bits = match ty {
            _ if self.is_one_in(4) => self.bits(),
            Type::F32 => (value as f32).to_bits().into(),
            Type::F64 => value.to_bits(),
            Type::F16 => half::f16::from_f64(value).to_bits().into(),
            Type::BF16 => half::bf16::from_f64(value).to_bits().into(),
            _ if self.is_one_in(2) => value as i64 as u64,
            _ => 1u64.rotate_left(self.bits() as u32 % ty.bits()).wrapping_sub(self.bits() % 3),
        };
        bits & (u64::MAX >> (64 - ty.bits()))
    }
}

/// The types of inputs.
const TYPES: [Type; 8] =
    [Type::F32, Type::F64, Type::W32, Type::W64, Type::W8, Type::W16, Type::F16, Type::BF16];

/// Code that is written at random.
struct Writing<'a> {
    random: &'a mut Random,
    builder: Builder,
    /// Values that may be read, of each rare way that is open.
    values: Vec<Vec<Value>>,
    /// Types that are used.
    types: Vec<Type>,
    /// How many of the first values are inputs.
    inputs: usize,
}

impl Writing<'_> {
    /// A value of a type.
    fn of(&mut self, ty: Type) -> Value {
        let known: Vec<Value> =
            self.values.iter().flatten().copied().filter(|&value| self.builder.ty(value) == ty).collect();
        if known.is_empty() || self.random.is_one_in(8) && ty != Type::Mask {
            let bits = self.random.element(ty);
            return self.builder.constant(ty, bits);
        }
        // Those written last are read most.
        let back = self.random.below(known.len()).min(self.random.below(known.len()));
        known[known.len() - 1 - back]
    }

    fn number(&mut self, ty: Type, value: f64) -> Value {
        let bits = if ty == Type::F32 { (value as f32).to_bits().into() } else { value.to_bits() };
        self.builder.constant(ty, bits)
    }

    /// A float that is a number, as what depends on a NaN's bits is not defined.
    fn number_of(&mut self, ty: Type) -> Value {
        let value = self.of(ty);
        let (is_number, one) = (self.builder.compare(Compare::Eq, value, value), self.number(ty, 1.0));
        self.builder.select(is_number, value, one)
    }

    /// A positive finite float.
    fn positive(&mut self, ty: Type) -> Value {
        let value = self.of(ty);
        let magnitude = self.builder.unary(Unary::Abs, value);
        let (zero, infinity) = (self.number(ty, 0.0), self.number(ty, f64::INFINITY));
        let above = self.builder.compare(Compare::Lt, zero, magnitude);
        let below = self.builder.compare(Compare::Lt, magnitude, infinity);
        let both = self.builder.binary(Binary::And, above, below);
        let one = self.number(ty, 1.0);
        self.builder.select(both, magnitude, one)
    }

    /// A float and a power of two by which it may be scaled.
    fn scaled(&mut self, ty: Type) -> Value {
        let positive = self.positive(ty);
        let significand = self.builder.unary(Unary::Significand, positive);
        let significand =
            if self.random.is_one_in(2) { self.builder.unary(Unary::Neg, significand) } else { significand };
        let is_ldexp = self.random.is_one_in(2);
        let most = match (is_ldexp, ty) {
            (true, Type::F32) => 252.0,
            (true, _) => 2044.0,
            (false, Type::F32) => 126.0,
            (false, _) => 1022.0,
        };
        let (low, high, power) = (self.number(ty, -most), self.number(ty, most), self.of(ty));
        let power = self.builder.binary(Binary::Max, power, low);
        let power = self.builder.binary(Binary::Min, power, high);
        let power = self.builder.unary(Unary::RoundTiesEven, power);
        if is_ldexp {
            return self.builder.binary(Binary::Ldexp, significand, power);
        }
        let a = self.of(ty);
        self.builder.binary(Binary::Scale, a, power)
    }

    fn float(&mut self, ty: Type) -> Value {
        let unary = [
            Unary::Neg,
            Unary::Abs,
            Unary::Sqrt,
            Unary::RoundTiesEven,
            Unary::Floor,
            Unary::Ceil,
            Unary::Trunc,
        ];
        let binary = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Min, Binary::Max];
        match self.random.below(16) {
            0..=2 => {
                let (unary, a) = (self.random.one_of(&unary), self.of(ty));
                self.builder.unary(unary, a)
            }
            3 => {
                let a = self.positive(ty);
                let part = self.random.one_of(&[Unary::Exponent, Unary::Significand]);
                self.builder.unary(part, a)
            }
            4 => self.scaled(ty),
            5..=8 => {
                let (binary, a, b) = (self.random.one_of(&binary), self.of(ty), self.of(ty));
                self.builder.binary(binary, a, b)
            }
            9 | 10 => {
                let (a, b, c) = (self.of(ty), self.of(ty), self.of(ty));
                self.builder.mul_add(a, b, c)
            }
            11 => {
                let word = if ty == Type::F32 { Type::W32 } else { Type::W64 };
                let mut number = || {
                    let near = self.random.bits() as i32 as f64 / 1e6;
                    if ty == Type::F32 { (near as f32).to_bits().into() } else { near.to_bits() }
                };
                let table = std::array::from_fn(|_| number());
                let index = self.of(word);
                self.builder.lookup(ty, table, index)
            }
            12 => {
                let word = if ty == Type::F32 { Type::W32 } else { Type::W64 };
                let a = self.of(word);
                self.builder.bits(ty, a)
            }
            13 => {
                let from = self.random.one_of(&self.types);
                let a = self.of(from);
                match from {
                    Type::W32 | Type::W64 if self.random.is_one_in(2) => self.builder.convert_unsigned(ty, a),
                    Type::W32 | Type::W64 | Type::F32 | Type::F64 => self.builder.convert(ty, a),
                    Type::F16 | Type::BF16 => {
                        let single = self.builder.convert(Type::F32, a);
                        self.builder.convert(ty, single)
                    }
                    Type::W8 | Type::W16 => {
                        let word = self.builder.convert(Type::W32, a);
                        self.builder.convert(ty, word)
                    }
                    Type::Mask => unreachable!("no type of inputs"),
                }
            }
            _ => self.select(ty),
        }
    }

    fn select(&mut self, ty: Type) -> Value {
        let (mask, a, b) = (self.of(Type::Mask), self.of(ty), self.of(ty));
        self.builder.select(mask, a, b)
    }

    fn word(&mut self, ty: Type) -> Value {
        let binary = [Binary::Add, Binary::Sub, Binary::Mul, Binary::And, Binary::Or, Binary::Xor];
        match self.random.below(14) {
            0 => {
                let a = self.of(ty);
                self.builder.unary(Unary::Not, a)
            }
            1..=5 => {
                let (binary, a, b) = (self.random.one_of(&binary), self.of(ty), self.of(ty));
                self.builder.binary(binary, a, b)
            }
            6..=8 => {
                let shifts = [Binary::ShiftLeft, Binary::ShiftRight, Binary::ShiftRightSigned];
                let (shift, a, by) = (self.random.one_of(&shifts), self.of(ty), self.of(ty));
                let below = self.builder.constant(ty, u64::from(ty.bits()) - 1);
                let by = if self.random.is_one_in(2) {
                    let by = self.random.below(ty.bits() as usize) as u64;
                    self.builder.constant(ty, by)
                } else {
                    self.builder.binary(Binary::And, by, below)
                };
                self.builder.binary(shift, a, by)
            }
            9 if ty.bits() >= 32 => {
                let float = if ty == Type::W32 { Type::F32 } else { Type::F64 };
                let a = self.number_of(float);
                self.builder.bits(ty, a)
            }
            10 | 11 => {
                let from = self.random.one_of(&self.types);
                let a = self.of(from);
                match from {
                    _ if from == ty => a,
                    Type::F32 | Type::F64 if ty.bits() >= 32 => self.builder.convert(ty, a),
                    _ if !from.is_word() => self.select(ty),
                    _ if from.bits() < ty.bits() && self.random.is_one_in(2) => {
                        self.builder.convert_unsigned(ty, a)
                    }
                    _ => self.builder.convert(ty, a),
                }
            }
            _ => self.select(ty),
        }
    }

    fn mask(&mut self) -> Value {
        let ty = self.random.one_of(&self.types);
        match self.random.below(6) {
            0 => {
                let a = self.of(Type::Mask);
                self.builder.unary(Unary::Not, a)
            }
            1 => {
                let binary = self.random.one_of(&[Binary::And, Binary::Or, Binary::Xor]);
                let (a, b) = (self.of(Type::Mask), self.of(Type::Mask));
                self.builder.binary(binary, a, b)
            }
            2 => self.select(Type::Mask),
            _ if ty.is_word() || ty.is_float() => {
                let compare = self.random.one_of(&[Compare::Eq, Compare::Lt, Compare::Le, Compare::Below]);
                let compare = if ty.is_float() && compare == Compare::Below { Compare::Lt } else { compare };
                let (a, b) = (self.of(ty), self.of(ty));
                self.builder.compare(compare, a, b)
            }
            _ => {
                let (a, b) = (self.of(Type::F32), self.of(Type::F32));
                self.builder.compare(Compare::Lt, a, b)
            }
        }
    }

    fn half(&mut self, ty: Type) -> Value {
        match self.random.below(3) {
            0 => {
                let a = self.of(Type::F32);
                self.builder.convert(ty, a)
            }
            1 => {
                let a = self.of(Type::W16);
                self.builder.bits(ty, a)
            }
            _ => self.select(ty),
        }
    }

    fn any(&mut self) -> Value {
        let ty = if self.random.is_one_in(4) { Type::Mask } else { self.random.one_of(&self.types) };
        match ty {
            Type::Mask => self.mask(),
            Type::F32 | Type::F64 => self.float(ty),
            Type::F16 | Type::BF16 => self.half(ty),
            _ => self.word(ty),
        }
    }

    /// A rare way, and selections of what it computes.
    fn rare(&mut self, depth: usize) {
        let mask = if self.random.is_one_in(2) {
            // Equal to a special number, which few elements are.
            let ty = self.random.one_of(&[Type::F32, self.types[0]]);
            let ty = if ty.is_word() || ty.is_float() { ty } else { Type::F32 };
            let (a, b) = (self.of(ty), self.of(ty));
            self.builder.compare(Compare::Eq, a, b)
        } else {
            self.of(Type::Mask)
        };
        self.builder.begin_rare(mask);
        self.values.push(Vec::new());
        let length = if self.random.is_one_in(4) { 60 } else { 10 };
        self.some(length, depth + 1);
        let own = self.values.pop().unwrap_or_default();
        self.builder.end_rare();
        for _ in 0..1 + self.random.below(4) {
            if own.is_empty() {
                break;
            }
            let yes = self.random.one_of(&own);
            let no = self.of(self.builder.ty(yes));
            let chosen = self.builder.select(mask, yes, no);
            self.keep(chosen);
        }
    }

    fn keep(&mut self, value: Value) {
        self.values.last_mut().expect("a list of values").push(value);
    }

    fn some(&mut self, length: usize, depth: usize) {
        for _ in 0..1 + self.random.below(length) {
            if depth < 3 && self.random.is_one_in(12) {
                self.rare(depth);
            } else {
                let value = self.any();
                self.keep(value);
            }
        }
    }
}

/// A code of random operations.
fn code(random: &mut Random) -> Code {
    let mut writing = random_writing(random, None);
    let count = 1 + writing.random.below(3);
    let mut results = Vec::new();
    for _ in 0..count {
        let ty = writing.random.one_of(&[writing.types[0], writing.types[0], Type::Mask, Type::F32]);
        results.push(writing.of(ty));
    }
    // The last value needs the most.
    results.push(writing.values[0][writing.values[0].len() - 1]);
    writing.builder.finish(&results)
}

/// A code of random operations whose last input is an accumulator, and whose result is the next one.
fn accumulating(random: &mut Random, of: Type) -> Code {
    let mut writing = random_writing(random, Some(of));
    let inputs = writing.values[0].clone();
    let (accumulator, mut value) = (inputs[writing.inputs - 1], writing.of(of));
    if value == accumulator {
        value = writing.builder.constant(of, 7);
    }
    let next = match (of, writing.random.below(3)) {
        (Type::F32 | Type::F64, 0) => {
            // The greater one.
            let is_less = writing.builder.compare(Compare::Lt, accumulator, value);
            writing.builder.select(is_less, value, accumulator)
        }
        (Type::F32 | Type::F64, 1) => writing.builder.mul_add(value, value, accumulator),
        (Type::F32 | Type::F64, _) => writing.builder.binary(Binary::Add, accumulator, value),
        _ => writing.builder.binary(Binary::Sub, value, accumulator),
    };
    writing.builder.finish(&[next])
}

/// Random operations on inputs, the last of which has a type, if one is wanted.
fn random_writing<'a>(random: &'a mut Random, last: Option<Type>) -> Writing<'a> {
    let count = 1 + random.below(4);
    let mut types: Vec<Type> = (0..count).map(|_| random.one_of(&TYPES)).collect();
    if random.is_one_in(2) {
        // Without elements of 64 bits vectors are twice as long.
        types.retain(|ty| ty.bits() < 64);
    }
    let builder = Builder::new();
    types.extend(last);
    let mut writing =
        Writing { random, builder, values: vec![Vec::new()], types: types.clone(), inputs: types.len() };
    if types.is_empty() {
        writing.types.push(Type::F32);
        types.push(Type::F32);
        writing.inputs = 1;
    }
    for &ty in &types {
        let input = writing.builder.input(ty);
        writing.keep(input);
    }
    let mask = writing.mask();
    writing.keep(mask);
    let length = if writing.random.is_one_in(5) { 150 } else { 20 };
    writing.some(length, 0);
    writing
}

/// Memory between pages that nobody may touch.
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

fn is_nan(ty: Type, bits: u64) -> bool {
    match ty {
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        Type::F64 => f64::from_bits(bits).is_nan(),
        Type::F16 => half::f16::from_bits(bits as u16).is_nan(),
        Type::BF16 => half::bf16::from_bits(bits as u16).is_nan(),
        _ => false,
    }
}

/// Bytes of an element in memory.
fn element_bytes(ty: Type) -> usize {
    (ty.bits() as usize).div_ceil(8)
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
            let allowed = instruction.code() == iced_x86::Code::Prefetcht0_m8
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

    /// The address of an element, which is in memory.
    fn at(&self, row: usize, at: usize) -> *mut u8 {
        self.first.wrapping_offset(row as isize * self.steps[0] + at as isize * self.steps[1])
    }

    fn read(&self, row: usize, at: usize) -> u64 {
        read(self.at(row, at), self.own)
    }
}

/// Runs a random code on rows of random elements, and compares each result with the interpreter's.
fn check(seed: u64, memory: &[Guarded], sets: &[Set], accumulates: bool) {
    let random = &mut Random(seed);
    let of = random.one_of(&[Type::F32, Type::F64, Type::W32, Type::W64]);
    let code = if accumulates { accumulating(random, of) } else { code(random) };
    let any = [Read::Vector, Read::Vector, Read::Splat, Read::Number, Read::Stepped];
    let mut reads: Vec<Read> = code.inputs().iter().map(|_| random.one_of(&any)).collect();
    if let Some(last) = reads.last_mut().filter(|_| accumulates) {
        *last = random.one_of(&[Read::Along(16), Read::Along(64), Read::Across]);
    }
    let any = if accumulates { Write::Cached } else { Write::NonTemporal };
    let writes: Vec<Write> =
        code.results().iter().map(|_| random.one_of(&[Write::Cached, Write::Cached, any])).collect();
    let row = Row { code, reads, writes, prefetch_bytes: random.one_of(&[0, 1 << 10]) };
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
                Read::Stepped => {
                    let step = random.one_of(&[0, 1, 2, 3, 5, -1, -3]) * own;
                    ([rows, count], [random.one_of(&[0, own, step * count as isize]), step])
                }
                Read::Along(turn) => ([rows, turn as usize], [apart(turn as usize), own]),
                Read::Across => ([1, count], [0, own]),
            };
            let place =
                Place::new(&memory[nth], own as usize, [length, count], [line, step], random.is_one_in(2));
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
            let is_apart = |place: &Place| place.steps[0].unsigned_abs() >= count * own || rows == 1;
            let in_place = (0..inputs.len()).find(|&input| match row.reads[input] {
                Read::Vector if !accumulates => {
                    places[input].own == own && is_apart(&places[input]) && !is_taken[input]
                }
                way => way.is_accumulators(),
            });
            let line = ((count + random.below(3)) * own) as isize;
            let place = Place::new(
                &memory[inputs.len() + nth],
                own,
                [rows, count],
                [line, own as isize],
                random.is_one_in(2),
            );
            places.push(match in_place {
                Some(input) if accumulates || random.is_one_in(2) => {
                    is_taken[input] = true;
                    places[input]
                }
                _ => place,
            });
        }
        let steps = places.iter().zip(&row.reads).filter(|(_, way)| **way == Read::Stepped);
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

/// Holds what is printed of a code to the interpreter, on rows of elements of its inputs.
pub(super) fn assert_printed(code: &Code, rows: &[Vec<u64>], label: impl Fn() -> String) {
    let bytes = |ty: Type| element_bytes(ty);
    let columns = code.inputs().iter().enumerate().map(|(nth, &ty)| {
        rows.iter().flat_map(|row| row[nth].to_le_bytes()[..bytes(ty)].to_vec()).collect::<Vec<u8>>()
    });
    let columns: Vec<Vec<u8>> = columns.collect();
    let wanted: Vec<Vec<u64>> = rows.iter().map(|row| code.run(row)).collect();
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
            for ((row, wanted), found) in rows.iter().zip(&wanted).zip(result.chunks(bytes(ty))) {
                let found = read(found.as_ptr(), bytes(ty));
                let are_same = found == wanted[nth] || is_nan(ty, found) && is_nan(ty, wanted[nth]);
                assert!(are_same, "{}, {set:?}: {found:#x}, not {:#x}, of {row:x?}", label(), wanted[nth]);
            }
        }
    }
}

/// How many codes are tried: more by `ZEROSTRIDE_PRINTED_CODES=1000000`.
fn trials() -> u64 {
    std::env::var("ZEROSTRIDE_PRINTED_CODES").ok().and_then(|count| count.parse().ok()).unwrap_or(4000)
}

#[test]
fn printed_accumulators_are_those_of_the_interpreter() {
    let memory: Vec<Guarded> = (0..8).map(|_| Guarded::new()).collect();
    let sets: Vec<Set> = sets().collect();
    for seed in 0..trials() / 2 {
        check(seed.wrapping_mul(0x2545_f491_4f6c_dd1d), &memory, &sets, true);
    }
}

#[test]
fn printed_codes_compute_what_the_interpreter_does_and_touch_nothing_else() {
    let memory: Vec<Guarded> = (0..8).map(|_| Guarded::new()).collect();
    let sets: Vec<Set> = sets().collect();
    for seed in 0..trials() {
        check(seed.wrapping_mul(0x2545_f491_4f6c_dd1d), &memory, &sets, false);
    }
}
