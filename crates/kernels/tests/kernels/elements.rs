//! Elements for tests: random ones of every dtype, what the block kernels make of them, and how two results
//! are compared.

use half::{bf16, f16};
use zerostride_kernels::cast_kernel;
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
