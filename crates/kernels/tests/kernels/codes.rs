//! Owns random codes of all operations and types, and elements for them, which tests of printers run. It does
//! not know printers.

use zerostride_code::{Binary, Builder, Code, Compare, Type, Unary, Value};

/// Numbers that look random, from a seed (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    pub(super) fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// The bits of an element: often a special one.
    pub(super) fn element(&mut self, ty: Type) -> u64 {
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
    /// Whether words of 8 and 16 bits have no operations but those of which registers have one for each
    /// element.
    is_narrow: bool,
    /// Whether rare ways alone have elements of 64 bits.
    is_wide_in_rare: bool,
}

impl<'a> Writing<'a> {
    /// Inputs of these types, and a mask.
    fn new(random: &'a mut Random, types: &[Type]) -> Writing<'a> {
        let (builder, values) = (Builder::new(), vec![Vec::new()]);
        let (types, inputs) = (types.to_vec(), types.len());
        let mut writing =
            Writing { random, builder, values, types, inputs, is_narrow: false, is_wide_in_rare: false };
        for at in 0..inputs {
            let input = writing.builder.input(writing.types[at]);
            writing.keep(input);
        }
        let mask = writing.mask();
        writing.keep(mask);
        writing
    }

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

    /// Numbers of a look-up table.
    fn table(&mut self, ty: Type) -> [u64; 16] {
        std::array::from_fn(|_| {
            let near = self.random.bits() as i32 as f64 / 1e6;
            if ty == Type::F32 { (near as f32).to_bits().into() } else { near.to_bits() }
        })
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
                let index = self.of(word);
                // Several tables at one place are read together by some processors.
                for _ in 0..self.random.below(3) {
                    let table = self.table(ty);
                    let number = self.builder.lookup(ty, table, index);
                    self.keep(number);
                }
                let table = self.table(ty);
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
        let kind = match self.random.below(14) {
            // Words of 16 bits have shifts in some sets.
            kind if self.is_narrow && (ty == Type::W8 || kind > 6) => self.random.one_of(&[kind % 6, 13]),
            kind => kind,
        };
        match kind {
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
        let begins_wide = self.is_wide_in_rare && depth == 0;
        if begins_wide {
            self.types.extend([Type::F64, Type::W64]);
        }
        self.some(length, depth + 1);
        let mut own = self.values.pop().unwrap_or_default();
        self.builder.end_rare();
        if begins_wide {
            self.types.truncate(self.types.len() - 2);
            own.retain(|&value| self.builder.ty(value).bits() < 64);
        }
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
pub(super) fn code(random: &mut Random) -> Code {
    let narrow: Vec<Type> = match random.below(8) {
        0 => vec![Type::W8; 3],
        1 => vec![Type::W16; 3],
        2 => vec![Type::W16, Type::W8, Type::W8],
        _ => Vec::new(),
    };
    let mut writing =
        if narrow.is_empty() { random_writing(random, None) } else { narrow_writing(random, &narrow) };
    let count = 1 + writing.random.below(3);
    let mut results = Vec::new();
    for _ in 0..count {
        let other = if writing.is_narrow { writing.types[1] } else { Type::F32 };
        let ty = writing.random.one_of(&[writing.types[0], writing.types[0], Type::Mask, other]);
        results.push(writing.of(ty));
    }
    // The last value needs the most.
    results.push(writing.values[0][writing.values[0].len() - 1]);
    writing.builder.finish(&results)
}

/// A code of random operations whose results are the parts of elements, as its first two inputs may be.
pub(super) fn parts(random: &mut Random) -> Code {
    let of = random.one_of(&[Type::F64, Type::W64]);
    let mut types = vec![of; 2];
    types.extend((0..random.below(3)).map(|_| random.one_of(&TYPES)).collect::<Vec<_>>());
    let mut writing = Writing::new(random, &types);
    writing.some(20, 0);
    let results = [(); 2].map(|()| writing.of(of));
    writing.builder.finish(&results)
}

/// A code of random operations whose last input is an accumulator, and whose result is the next one.
pub(super) fn accumulating(random: &mut Random, of: Type) -> Code {
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
    types.extend(last);
    if types.is_empty() {
        types.push(Type::F32);
    }
    let mut writing = Writing::new(random, &types);
    writing.is_wide_in_rare = types.iter().all(|ty| ty.bits() < 64) && writing.random.is_one_in(2);
    let length = if writing.random.is_one_in(5) { 150 } else { 20 };
    writing.some(length, 0);
    writing
}

/// Random operations on narrow words and masks, in no rare way.
fn narrow_writing<'a>(random: &'a mut Random, types: &[Type]) -> Writing<'a> {
    let mut writing = Writing::new(random, types);
    writing.is_narrow = true;
    for _ in 0..1 + writing.random.below(30) {
        let value = writing.any();
        writing.keep(value);
    }
    writing
}

pub(super) fn is_nan(ty: Type, bits: u64) -> bool {
    match ty {
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        Type::F64 => f64::from_bits(bits).is_nan(),
        Type::F16 => half::f16::from_bits(bits as u16).is_nan(),
        Type::BF16 => half::bf16::from_bits(bits as u16).is_nan(),
        _ => false,
    }
}

/// Bytes of an element in memory.
pub(super) fn element_bytes(ty: Type) -> usize {
    (ty.bits() as usize).div_ceil(8)
}

/// How many codes are tried: more by `ZEROSTRIDE_PRINTED_CODES=1000000`.
pub(super) fn trials() -> u64 {
    std::env::var("ZEROSTRIDE_PRINTED_CODES").ok().and_then(|count| count.parse().ok()).unwrap_or(4000)
}
