//! Holds chains to the block kernels: the same bits for every operation, dtype, place of the running value,
//! kind of operand, number of elements and instruction set of this processor, and no byte written outside.

use std::cmp::Ordering;

use half::{bf16, f16};
use zerostride_kernels::{Chain, ChainOperand, Isa, Link, Slot, Stores, cast_kernel, fence, map_kernel};
use zerostride_ops::{Class, DType, Op, Typed};

pub(super) const REAL: [DType; 13] = [
    DType::Bool,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
];
const GUARD: u8 = 0xa5;

/// A fixed pseudo-random sequence.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ self.0 >> 29
    }

    /// Elements of a dtype: ordinary ones, any bits, and those at the ends of the range.
    pub(super) fn elements(&mut self, dtype: DType, len: usize) -> Vec<u8> {
        const ENDS: [f64; 16] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e-310,
            -1e-40,
            6e-8,
            65519.0,
            4294967296.5,
            -1e19,
            1e39,
        ];
        (0..len)
            .flat_map(|_| {
                let (kind, bits) = (self.next() >> 60, self.next());
                let small = (bits >> 40) as i64 % 19 - 9;
                let end = ENDS[(bits >> 50) as usize % ENDS.len()];
                let ordinary = small as f64 * 0.37 + (bits % 1000) as f64 * 1e-3;
                let float = if kind < 3 { end } else { ordinary };
                let mut bytes = match dtype {
                    DType::Bool => vec![[0, 1, 255][(bits >> 10) as usize % 3]],
                    _ if kind == 15 => bits.to_le_bytes().to_vec(),
                    DType::F16 => f16::from_f64(float).to_le_bytes().to_vec(),
                    DType::BF16 => bf16::from_f64(float).to_le_bytes().to_vec(),
                    DType::F32 => (float as f32).to_le_bytes().to_vec(),
                    DType::F64 => float.to_le_bytes().to_vec(),
                    DType::C64 => [float as f32, small as f32].map(f32::to_le_bytes).concat(),
                    _ if kind < 8 => small.to_le_bytes().to_vec(),
                    _ => bits.to_le_bytes().to_vec(),
                };
                bytes.truncate(dtype.item_size());
                bytes
            })
            .collect()
    }
}

/// Memory whose elements are misaligned.
struct Unaligned(Vec<u8>);

impl Unaligned {
    fn new(elements: &[u8]) -> Unaligned {
        Unaligned([&[GUARD], elements].concat())
    }

    fn as_ptr(&self) -> *const u8 {
        self.0[1..].as_ptr()
    }
}

/// An output between guard bytes, `offset` bytes from an address that is aligned for everything.
struct Output {
    words: Vec<[u128; 4]>,
    offset: usize,
    len: usize,
}

impl Output {
    fn new(offset: usize, len: usize) -> Output {
        Output { words: vec![[u128::from_ne_bytes([GUARD; 16]); 4]; len / 64 + 6], offset, len }
    }

    fn start(&self) -> usize {
        let address = self.words.as_ptr().addr();
        address.next_multiple_of(64) - address + 64 + self.offset
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        let start = self.start();
        self.bytes_mut()[start..].as_mut_ptr()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.words)
    }

    /// What was written, if nothing else was.
    fn written(&self) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        let (before, rest) = bytes.split_at(self.start());
        let (written, after) = rest.split_at(self.len);
        assert!(before.iter().chain(after).all(|&byte| byte == GUARD), "something was written outside");
        written
    }
}

pub(super) fn is_nan(bytes: &[u8], dtype: DType) -> bool {
    match dtype {
        DType::F16 => f16::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        DType::BF16 => bf16::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        DType::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        DType::F64 => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => false,
    }
}

pub(super) fn assert_same(got: &[u8], want: &[u8], dtype: DType, what: impl Fn() -> String) {
    // Parts of complex numbers are compared each by itself.
    let dtype = dtype.to_real();
    let size = dtype.item_size();
    for (i, (got, want)) in got.chunks(size).zip(want.chunks(size)).enumerate() {
        let same = got == want || is_nan(got, dtype) && is_nan(want, dtype);
        assert!(same, "{}: element {i} is {got:?}, not {want:?}", what());
    }
}

/// Instruction sets that have chains here.
pub(super) fn sets() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|isa| isa.is_supported() && *isa != Isa::Portable)
}

fn lengths(run: usize) -> [usize; 6] {
    [0, 1, run - 1, run, run + 1, 3 * run + 7]
}

/// One row.
fn row(first: *const u8) -> Slot {
    Slot { first: first.cast_mut(), step: 0, prefetch_bytes: 0 }
}

fn rows(slots: &[*const u8]) -> Vec<Slot> {
    slots.iter().copied().map(row).collect()
}

/// More elements than three runs of any chain.
const MOST: usize = 3 * 512 + 7;

/// The results of a chain on operands that have as many elements.
pub(super) fn results(chain: &Chain, operands: &[Vec<u8>], len: usize, dtype: DType) -> Vec<u8> {
    let memory: Vec<Unaligned> = operands.iter().map(|elements| Unaligned::new(elements)).collect();
    let slots: Vec<*const u8> = memory.iter().map(Unaligned::as_ptr).collect();
    let mut out = Output::new(0, len * dtype.item_size());
    // SAFETY: the operands have `len` elements, and the output has room for as many.
    unsafe { chain.run(1, len, &rows(&slots), row(out.as_mut_ptr()), Stores::Cached) };
    out.written().to_vec()
}

/// Runs a chain at every length, with every kind of output, and compares with the expected elements.
fn check(chain: &Chain, slots: &[*const u8], want: &[u8], dtype: DType, what: impl Fn() -> String) {
    let size = dtype.item_size();
    for len in lengths(chain.run_len()) {
        for (offset, stores) in [(1, Stores::Cached), (size, Stores::Streaming), (0, Stores::Streaming)] {
            let mut out = Output::new(offset, len * size);
            // SAFETY: the operands have `MOST` elements, and the output has room for `len`.
            unsafe { chain.run(1, len, &rows(slots), row(out.as_mut_ptr()), stores) };
            fence();
            assert_same(out.written(), &want[..len * size], dtype, || {
                format!("{} x {len}, {stores:?}", what())
            });
        }
    }
}

/// Runs a chain in place on its first operand, whose elements are as large as the results.
fn check_in_place(
    chain: &Chain,
    first: &[u8],
    slots: &[*const u8],
    want: &[u8],
    dtype: DType,
    what: impl Fn() -> String,
) {
    let size = dtype.item_size();
    for len in lengths(chain.run_len()) {
        let mut out = Output::new(1, len * size);
        let start = out.start();
        out.bytes_mut()[start..][..len * size].copy_from_slice(&first[..len * size]);
        let mut slots = slots.to_vec();
        slots[0] = out.as_mut_ptr();
        // SAFETY: the first operand is the output, the others have `MOST` elements.
        unsafe { chain.run(1, len, &rows(&slots), row(out.as_mut_ptr()), Stores::Streaming) };
        assert_same(out.written(), &want[..len * size], dtype, || format!("{} x {len} in place", what()));
    }
}

/// The dtypes of an operation's operands and of its result, if it computes in `compute`.
pub(super) fn signature(op: Op, compute: DType) -> Option<(Vec<DType>, DType)> {
    let arity = match op.info().class {
        Class::Unary => 1,
        Class::Binary => 2,
        _ => op.signature().arguments.len(),
    };
    let mut operands = vec![compute; arity];
    if op == Op::Where {
        operands[0] = DType::Bool;
    }
    let typed: Vec<Typed> = operands.iter().map(|dtype| Typed::dimensioned(*dtype)).collect();
    let inferred = op.infer(&typed).ok()?;
    (inferred.compute == compute).then_some((vec![compute; arity], inferred.result))
}

/// The operations and dtypes that are documented to have no chain.
pub(super) fn has_no_chain(op: Op, compute: DType) -> bool {
    let divides = matches!(op, Op::FloorDivide | Op::DivTrunc | Op::Remainder | Op::Fmod);
    let integer = !matches!(compute, DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::Bool);
    let quick = matches!(op, Op::Add | Op::Mul | Op::Neg | Op::Square | Op::Sub);
    (divides && integer)
        || (compute == DType::C64 && !quick)
        || matches!(op, Op::Complex | Op::Polar)
        || (op == Op::Nextafter && compute.is_half())
}

/// Elements in memory that is aligned for every dtype.
pub(super) fn aligned(elements: &[u8]) -> Vec<u128> {
    let mut words = vec![0; elements.len().div_ceil(16)];
    bytemuck::cast_slice_mut(&mut words)[..elements.len()].copy_from_slice(elements);
    words
}

/// The elements that the block kernel gives.
pub(super) fn converted(elements: &[u8], from: DType, to: DType) -> Vec<u8> {
    let bytes = elements.len() / from.item_size() * to.item_size();
    let (from_words, mut to_words) = (aligned(elements), vec![0u128; bytes.div_ceil(16)]);
    let out: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut to_words)[..bytes];
    cast_kernel(from, to)(&bytemuck::cast_slice(&from_words)[..elements.len()], out);
    out.to_vec()
}

/// The elements that the block kernel gives; the condition of `where` is converted for it.
fn expected(op: Op, compute: DType, result: DType, operands: &[(DType, Vec<u8>)]) -> Vec<u8> {
    let len = operands[0].1.len() / operands[0].0.item_size();
    let (bytes, tile) = (len * result.item_size(), len * compute.item_size());
    let tiles: Vec<Vec<u128>> =
        operands.iter().map(|(dtype, elements)| aligned(&converted(elements, *dtype, compute))).collect();
    let tiles: Vec<&[u8]> = tiles.iter().map(|words| &bytemuck::cast_slice(words)[..tile]).collect();
    let mut words = vec![0u128; bytes.div_ceil(16)];
    let out: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut words)[..bytes];
    map_kernel(op, compute).expect("inferred")(&tiles, out).expect("no divisor is zero");
    out.to_vec()
}

#[test]
fn every_operation_gives_the_bits_of_its_block_kernel() {
    let mut random = Random(1);
    for &op in Op::ALL.iter().filter(|op| op.info().class.is_elementwise()) {
        for compute in REAL.into_iter().chain([DType::C64]) {
            let Some((dtypes, result)) = signature(op, compute) else { continue };
            let vectors: Vec<(DType, Vec<u8>)> =
                dtypes.iter().map(|&dtype| (dtype, random.elements(dtype, MOST))).collect();
            if has_no_chain(op, compute) {
                for isa in sets() {
                    assert!(
                        chain(isa, op, compute, 0, &dtypes, 0, result).is_none(),
                        "{isa} {op:?} {compute}"
                    );
                }
                continue;
            }
            // Each other operand is a vector or a broadcast scalar.
            for splats in 0..1usize << (dtypes.len() - 1) {
                for place in 0..dtypes.len() {
                    let is_splat = |operand: usize| match operand.cmp(&place) {
                        Ordering::Less => splats >> operand & 1 == 1,
                        Ordering::Equal => false,
                        Ordering::Greater => splats >> (operand - 1) & 1 == 1,
                    };
                    let operands: Vec<(DType, Vec<u8>)> = vectors
                        .iter()
                        .enumerate()
                        .map(|(i, (dtype, elements))| {
                            let size = dtype.item_size();
                            (
                                *dtype,
                                if is_splat(i) {
                                    elements[5 * size..6 * size].repeat(MOST)
                                } else {
                                    elements.clone()
                                },
                            )
                        })
                        .collect();
                    let want = expected(op, compute, result, &operands);
                    for isa in sets() {
                        let what = || format!("{isa} {op:?} {compute} at place {place}, splats {splats:b}");
                        let chain = chain(isa, op, compute, place, &dtypes, splats, result)
                            .unwrap_or_else(|| panic!("{} has no chain", what()));
                        let memory: Vec<Unaligned> = std::iter::once(&operands[place])
                            .chain(
                                operands
                                    .iter()
                                    .enumerate()
                                    .filter(|(i, _)| *i != place)
                                    .map(|(_, operand)| operand),
                            )
                            .map(|(_, elements)| Unaligned::new(elements))
                            .collect();
                        let slots: Vec<*const u8> = memory.iter().map(Unaligned::as_ptr).collect();
                        check(&chain, &slots, &want, result, what);
                        if dtypes[place].item_size() == result.item_size() {
                            check_in_place(&chain, &operands[place].1, &slots, &want, result, what);
                        }
                    }
                }
            }
        }
    }
}

/// The chain of one operation: slot 0 is the running value, then come the others in order.
pub(super) fn chain(
    isa: Isa,
    op: Op,
    compute: DType,
    place: usize,
    dtypes: &[DType],
    splats: usize,
    result: DType,
) -> Option<Chain> {
    let others = (1..dtypes.len())
        .map(|slot| {
            if splats >> (slot - 1) & 1 == 1 { ChainOperand::Splat(slot) } else { ChainOperand::Vector(slot) }
        })
        .collect();
    Chain::new(
        isa,
        (ChainOperand::Vector(0), dtypes[place]),
        &[Link::Map { op, compute, place, others }],
        result,
    )
}

#[test]
fn every_conversion_gives_the_bits_of_its_block_kernel() {
    let mut random = Random(2);
    for from in REAL {
        for to in REAL {
            let elements = random.elements(from, MOST);
            let want = converted(&elements, from, to);
            let memory = Unaligned::new(&elements);
            for isa in sets() {
                let chain = Chain::new(isa, (ChainOperand::Vector(0), from), &[Link::Cast(to)], to)
                    .expect("casts are links");
                check(&chain, &[memory.as_ptr()], &want, to, || format!("{isa} {from} to {to}"));
            }
        }
    }
}

#[test]
fn a_chain_of_many_links_rounds_after_each() {
    use DType::{BF16, Bool, F16, F32};
    let map = |op, compute, place, others: &[ChainOperand]| Link::Map {
        op,
        compute,
        place,
        others: others.iter().copied().collect(),
    };
    let mut random = Random(3);
    for compute in [F16, BF16, F32] {
        let [a, b, c] = [0, 1, 2].map(|_| random.elements(compute, MOST));
        let mask = random.elements(Bool, MOST);
        let operand = |elements: &[u8]| (compute, elements.to_vec());
        let sum = expected(Op::Add, compute, compute, &[operand(&a), operand(&b)]);
        let quotient = expected(Op::Div, compute, compute, &[operand(&c), operand(&sum)]);
        let power = expected(Op::Exp, compute, compute, &[operand(&quotient)]);
        let less = expected(Op::Lt, compute, Bool, &[operand(&power), operand(&a)]);
        let both = expected(Op::LogicalAnd, Bool, Bool, &[(Bool, less), (Bool, mask.clone())]);
        let want = expected(Op::Where, compute, compute, &[(Bool, both), operand(&b), operand(&c)]);
        let links = [
            map(Op::Add, compute, 0, &[ChainOperand::Vector(1)]),
            map(Op::Div, compute, 1, &[ChainOperand::Vector(2)]),
            map(Op::Exp, compute, 0, &[]),
            map(Op::Lt, compute, 0, &[ChainOperand::Vector(0)]),
            map(Op::LogicalAnd, Bool, 0, &[ChainOperand::Vector(3)]),
            map(Op::Where, compute, 0, &[ChainOperand::Vector(1), ChainOperand::Vector(2)]),
        ];
        let memory = [&a, &b, &c, &mask].map(|elements| Unaligned::new(elements));
        let slots = memory.each_ref().map(Unaligned::as_ptr);
        for isa in sets() {
            let chain =
                Chain::new(isa, (ChainOperand::Vector(0), compute), &links, compute).expect("all are links");
            check(&chain, &slots, &want, compute, || format!("{isa} {compute}"));
            check_in_place(&chain, &a, &slots, &want, compute, || format!("{isa} {compute}"));
        }
    }
}

#[test]
fn rows_give_the_bits_of_single_ones() {
    use DType::{BF16, F32, F64, I16, U8};
    let mut random = Random(4);
    let count = 5;
    for dtype in [U8, I16, BF16, F32, F64] {
        let size = dtype.item_size();
        let map =
            |op, other| Link::Map { op, compute: dtype, place: 1, others: [other].into_iter().collect() };
        let links = [
            map(Op::Sub, ChainOperand::Vector(1)),
            map(Op::Mul, ChainOperand::Splat(2)),
            map(Op::Add, ChainOperand::Splat(3)),
        ];
        for isa in sets() {
            let chain =
                Chain::new(isa, (ChainOperand::Vector(0), dtype), &links, dtype).expect("all are links");
            for len in lengths(chain.run_len()) {
                // Bytes between rows: contiguous, a multiple of every register or not; all the same.
                for pitch in [(len * size).next_multiple_of(64), len * size, len * size + size] {
                    let memory = [pitch, 0, size, 0].map(|step| {
                        (
                            Unaligned::new(&random.elements(dtype, (count - 1) * step / size + len.max(1))),
                            step,
                        )
                    });
                    let mut slots: Vec<Slot> = memory
                        .iter()
                        .map(|(memory, step)| Slot {
                            first: memory.as_ptr().cast_mut(),
                            step: *step as isize,
                            prefetch_bytes: (len * size) as isize,
                        })
                        .collect();
                    let bytes = (count - 1) * pitch + len * size;
                    let mut want = Output::new(0, bytes);
                    let single = Slot { first: want.as_mut_ptr(), step: pitch as isize, prefetch_bytes: 0 };
                    for at in 0..count as isize {
                        let slots: Vec<Slot> =
                            slots.iter().map(|slot| Slot { prefetch_bytes: 0, ..slot.from(at) }).collect();
                        // SAFETY: the slots hold as many rows as there are, and the output has room for them.
                        unsafe { chain.run(1, len, &slots, single.from(at), Stores::Cached) };
                    }
                    for (offset, stores) in
                        [(0, Stores::Cached), (0, Stores::Streaming), (size, Stores::Streaming)]
                    {
                        let mut out = Output::new(offset, bytes);
                        let result =
                            Slot { first: out.as_mut_ptr(), step: pitch as isize, prefetch_bytes: 0 };
                        // SAFETY: as above.
                        unsafe { chain.run(count, len, &slots, result, stores) };
                        fence();
                        assert_eq!(out.written(), want.written(), "{isa} {dtype} {len} {pitch} {stores:?}");
                    }
                    let mut out = Output::new(0, bytes);
                    let start = out.start();
                    // Nothing is written between the rows.
                    out.bytes_mut()[start..][..bytes].copy_from_slice(want.written());
                    for at in (0..count).map(|row| row * pitch) {
                        let row = &memory[0].0.0[1 + at..][..len * size];
                        out.bytes_mut()[start + at..][..len * size].copy_from_slice(row);
                    }
                    slots[0] = Slot { first: out.as_mut_ptr(), step: pitch as isize, prefetch_bytes: 0 };
                    // SAFETY: as above; the first operand is the output.
                    unsafe { chain.run(count, len, &slots, slots[0], Stores::Cached) };
                    assert_eq!(out.written(), want.written(), "{isa} {dtype} {len} {pitch} in place");
                }
            }
        }
    }
}

#[test]
fn elements_that_lie_apart_give_the_bits_of_packed_ones() {
    let (mut random, count) = (Random(5), 3);
    let steps = || Chain::STEPS.filter(|&step| step != 0);
    let pairs = steps().flat_map(|step| [(step, 1), (1, step), (step, -step), (step, -1)]);
    for (isa, dtype) in sets().flat_map(|isa| [DType::I32, DType::F32, DType::C64].map(|dtype| (isa, dtype)))
    {
        let size = dtype.item_size();
        let chain = |feeds: [ChainOperand; 2], place| {
            let others = feeds[1..].iter().copied().collect();
            let sub = Link::Map { op: Op::Sub, compute: dtype, place, others };
            Chain::new(isa, (feeds[0], dtype), &[sub], dtype).expect("elements are as wide as lanes")
        };
        for (at, (first, second)) in pairs.clone().enumerate() {
            let feed = |slot, step| {
                if step == 1 { ChainOperand::Vector(slot) } else { ChainOperand::Stepped(slot, step) }
            };
            let apart = chain([feed(0, first), feed(1, second)], at % 2);
            let packed = chain([ChainOperand::Vector(0), ChainOperand::Vector(1)], at % 2);
            let run = apart.run_len();
            for len in [1, run / 2 - 1, run / 2, run / 2 + 3, run - 1, run, run + 1, 3 * run + 7] {
                // Nothing comes before the first row or after the last one; the packed elements follow the
                // others.
                let rows = [first, second].map(|step| {
                    let width = (len - 1) * step.unsigned_abs() + 1;
                    let lying = random.elements(dtype, count * width);
                    let mut packed = Vec::new();
                    for row in lying.chunks(width * size) {
                        let elements = row.chunks(size).step_by(step.unsigned_abs());
                        let ordered: Vec<&[u8]> =
                            if step < 0 { elements.rev().collect() } else { elements.collect() };
                        packed.extend(ordered.concat());
                    }
                    let start = if step < 0 { (width - 1) * size } else { 0 };
                    (Unaligned::new(&lying), start, width * size, Unaligned::new(&packed))
                });
                let slot = |first: *const u8, step: usize| Slot {
                    first: first.cast_mut(),
                    step: step as isize,
                    prefetch_bytes: 0,
                };
                let lying = rows
                    .each_ref()
                    .map(|(rows, start, width, _)| slot(rows.as_ptr().wrapping_add(*start), *width));
                let dense = rows.each_ref().map(|(.., packed)| slot(packed.as_ptr(), len * size));
                let (mut want, mut over) =
                    (Output::new(0, count * len * size), Output::new(0, count * len * size));
                let result = |out: &mut Output| slot(out.as_mut_ptr(), len * size);
                // SAFETY: the slots hold what the chain reads, and the output has room for the rows.
                unsafe { packed.run(count, len, &dense, result(&mut want), Stores::Cached) };
                for stores in [Stores::Cached, Stores::Streaming] {
                    let mut out = Output::new(0, count * len * size);
                    // SAFETY: as above.
                    unsafe { apart.run(count, len, &lying, result(&mut out), stores) };
                    fence();
                    assert_eq!(out.written(), want.written(), "{isa} {dtype} {first} {second} {len}");
                }
                if first == 1 {
                    let (start, own) = (over.start(), &rows[0].3.0[1..]);
                    over.bytes_mut()[start..][..own.len()].copy_from_slice(own);
                    let own = result(&mut over);
                    // SAFETY: as above; the first operand is the output.
                    unsafe { apart.run(count, len, &[own, lying[1]], own, Stores::Cached) };
                    assert_eq!(over.written(), want.written(), "{isa} {dtype} {second} {len} in place");
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_into_one_lane_width_is_no_chain() {
    let add = |compute| Link::Map {
        op: Op::Add,
        compute,
        place: 0,
        others: [ChainOperand::Vector(1)].into_iter().collect(),
    };
    let is_chain = |first, links: &[Link], stored| {
        sets().all(|isa| Chain::new(isa, (ChainOperand::Vector(0), first), links, stored).is_some())
    };
    assert!(is_chain(DType::U8, &[Link::Cast(DType::F32), add(DType::F32)], DType::U8));
    assert!(is_chain(DType::C64, &[add(DType::C64)], DType::C64));
    let none = |first, links: &[Link], stored| {
        sets().all(|isa| Chain::new(isa, (ChainOperand::Vector(0), first), links, stored).is_none())
    };
    assert!(none(DType::U8, &[add(DType::U8), Link::Cast(DType::F32)], DType::F32));
    assert!(none(DType::F32, &[add(DType::F32)], DType::F64));
    assert!(none(DType::F32, &[add(DType::F64)], DType::F64));
    assert!(none(DType::C64, &[], DType::F32));
    assert!(none(DType::F32, &[Link::Cast(DType::C64)], DType::C64));
    assert!(none(DType::C128, &[], DType::C128));
    let stepped =
        |first, stored| Chain::new(Isa::active(), (ChainOperand::Stepped(0, 2), first), &[], stored);
    assert!(stepped(DType::U16, DType::U16).is_none() && stepped(DType::F32, DType::F64).is_none());
    assert!(Chain::new(Isa::Portable, (ChainOperand::Vector(0), DType::F32), &[], DType::F32).is_none());
}
