//! Owns the instructions: their types, operations, and the order in which a code has them. It does not know
//! what they compute (`interpret.rs`) nor which are sound (`verify.rs`).

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// True or false.
    Mask,
    /// 8 bits. Words have no sign; operations read one where they need it.
    W8,
    /// 16 bits.
    W16,
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
    /// IEEE 754's binary16. It is only stored and converted, as is [`Type::BF16`].
    F16,
    /// The upper half of an `f32`.
    BF16,
    /// IEEE 754's binary32.
    F32,
    /// IEEE 754's binary64.
    F64,
}

impl Type {
    /// Whether it is a word.
    pub const fn is_word(self) -> bool {
        matches!(self, Type::W8 | Type::W16 | Type::W32 | Type::W64)
    }

    /// Whether it is a float that is computed with: `f32` or `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    /// Bits of a value; a mask has one.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Mask => 1,
            Type::W8 => 8,
            Type::W16 | Type::F16 | Type::BF16 => 16,
            Type::W32 | Type::F32 => 32,
            Type::W64 | Type::F64 => 64,
        }
    }

    /// Bytes of a value in memory, where a mask takes one.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
}

/// A value of a code: the place of the instruction that computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The place of its instruction in [`Code::instructions`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation on one value; it has the type of its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// Flips the sign bit of a float, also of NaN.
    Neg,
    /// Clears the sign bit of a float, also of NaN.
    Abs,
    /// The square root of a float, correctly rounded.
    Sqrt,
    /// About `1 / √a` of a positive float, off by less than a 2^14th of it, and by another part on each
    /// processor; any float for other arguments. Lowered codes alone have it.
    InverseRoot,
    /// The nearest integral float, ties to even; keeps the sign of zero, as do the next three.
    RoundTiesEven,
    /// The next integral float below or equal.
    Floor,
    /// The next integral float above or equal.
    Ceil,
    /// The next integral float towards zero.
    Trunc,
    /// The `e` of a positive finite float `2^e · m` with `1 <= m < 2`, subnormal ones included; any float for
    /// other arguments.
    Exponent,
    /// The `m` of the same.
    Significand,
    /// Flips all bits of a word, or a mask.
    Not,
}

/// An operation on two values of one type, which is that of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The sum of floats, rounded to nearest even, or of words, which wraps.
    Add,
    /// The difference, likewise.
    Sub,
    /// The product, likewise.
    Mul,
    /// The quotient of floats, rounded to nearest even.
    Div,
    /// `if a < b { a } else { b }` of floats: `b` when either is NaN and when both are zeros.
    Min,
    /// `if a > b { a } else { b }` of floats: `b` when either is NaN and when both are zeros.
    Max,
    /// `a · 2^b` of floats, rounded once. `b` is integral, at most twice the largest exponent less 2 in
    /// magnitude, and `a · 2^(b/2)` is not subnormal; any float for other arguments.
    Ldexp,
    /// `a · 2^b` of floats, rounded once. `b` is integral and `2^b` normal; any float for other arguments.
    Scale,
    /// Both bits, of words and masks.
    And,
    /// Either bit, of words and masks.
    Or,
    /// One bit of both, of words and masks.
    Xor,
    /// The word `a` shifted towards its high bits by `b`, which is below the width; any word otherwise.
    ShiftLeft,
    /// The same towards the low bits; zeros come in.
    ShiftRight,
    /// The same towards the low bits; copies of the sign bit come in.
    ShiftRightSigned,
}

/// A comparison of two values of one type; the result is a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// Equal floats, never NaN, or words.
    Eq,
    /// The first float is smaller, neither being NaN; words are read as two's complement.
    Lt,
    /// The first float is smaller or equal, neither being NaN; words are read as two's complement.
    Le,
    /// The first word is smaller, without a sign.
    Below,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The element of the input with this index.
    Input(u32),
    /// These bits; the higher ones are 0.
    Constant(u64),
    /// An operation on one value.
    Unary(Unary, Value),
    /// An operation on two values.
    Binary(Binary, Value, Value),
    /// A comparison.
    Compare(Compare, Value, Value),
    /// `a · b + c` of floats, rounded once.
    MulAdd(Value, Value, Value),
    /// The second value where the mask holds, the third one elsewhere; the other has no effect.
    Select(Value, Value, Value),
    /// The nearest value of another type: between floats, rounded to nearest even; from a word to a float,
    /// read with a sign; from a word to a shorter one, the low bits; to a longer one, with copies of the sign
    /// bit; from a float to a word, towards zero, and the least word where the result does not fit or is NaN.
    Convert(Value),
    /// The same from a word that is read without a sign.
    ConvertUnsigned(Value),
    /// The same bits as another type of as many.
    Bits(Value),
    /// The number of a table that the lowest four bits of a word of its width select.
    Lookup {
        /// The index of the table.
        table: u32,
        /// The word.
        index: Value,
    },
    /// Begins a rare way: the next `count` instructions are only wanted where the mask holds, and may be left
    /// out where it holds for no element. Outside of it, its values are read by selections of the same mask
    /// alone, as their second operand. It has no value of its own.
    Rare {
        /// The mask.
        mask: Value,
        /// How many instructions it has.
        count: u32,
    },
}

impl Operation {
    /// The values that it reads, in order.
    pub fn operands(self) -> impl Iterator<Item = Value> {
        let operands = match self {
            Operation::Input(_) | Operation::Constant(_) => [None; 3],
            Operation::Unary(_, a) | Operation::Convert(a) | Operation::ConvertUnsigned(a) => {
                [Some(a), None, None]
            }
            Operation::Bits(a) | Operation::Lookup { index: a, .. } => [Some(a), None, None],
            Operation::Rare { mask, .. } => [Some(mask), None, None],
            Operation::Binary(_, a, b) | Operation::Compare(_, a, b) => [Some(a), Some(b), None],
            Operation::MulAdd(a, b, c) | Operation::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        operands.into_iter().flatten()
    }

    /// The same on other values.
    pub fn map(self, mut value: impl FnMut(Value) -> Value) -> Operation {
        match self {
            Operation::Input(_) | Operation::Constant(_) => self,
            Operation::Unary(unary, a) => Operation::Unary(unary, value(a)),
            Operation::Binary(binary, a, b) => Operation::Binary(binary, value(a), value(b)),
            Operation::Compare(compare, a, b) => Operation::Compare(compare, value(a), value(b)),
            Operation::MulAdd(a, b, c) => Operation::MulAdd(value(a), value(b), value(c)),
            Operation::Select(a, b, c) => Operation::Select(value(a), value(b), value(c)),
            Operation::Convert(a) => Operation::Convert(value(a)),
            Operation::ConvertUnsigned(a) => Operation::ConvertUnsigned(value(a)),
            Operation::Bits(a) => Operation::Bits(value(a)),
            Operation::Lookup { table, index } => Operation::Lookup { table, index: value(index) },
            Operation::Rare { mask, count } => Operation::Rare { mask: value(mask), count },
        }
    }
}

/// An operation and the type of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The type of its value; that of the beginning of a rare way means nothing.
    pub ty: Type,
    /// What it does.
    pub operation: Operation,
}

/// What is done to one element: instructions in order, inputs and constants first. It has been verified.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Code {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) tables: Vec<[u64; 16]>,
    pub(crate) results: Vec<Value>,
    pub(crate) inputs: Vec<Type>,
}

impl Code {
    /// The instructions; the value of each is known by its place.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The bits of the numbers of look-up tables.
    pub fn tables(&self) -> &[[u64; 16]] {
        &self.tables
    }

    /// The values that are its results.
    pub fn results(&self) -> &[Value] {
        &self.results
    }

    /// The types of its results.
    pub fn result_types(&self) -> impl Iterator<Item = Type> + '_ {
        self.results.iter().map(|&value| self.ty(value))
    }

    /// The types of its inputs, whether it reads them or not.
    pub fn inputs(&self) -> &[Type] {
        &self.inputs
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.instructions[value.index()].ty
    }
}
