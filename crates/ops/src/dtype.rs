//! Owns the fifteen dtypes: their names, sizes and categories, and their Rust types. It does not know how
//! dtypes promote (`promote.rs`).

use core::fmt;
use core::str::FromStr;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

/// The kinds of dtype; the higher category wins in promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// `bool`.
    Bool,
    /// Integers, signed and unsigned.
    Int,
    /// Real floating point.
    Float,
    /// Pairs of floats.
    Complex,
}

/// The dtype table: variant, short name, PyTorch's name, NumPy's code or nothing, the name in PyTorch's error
/// texts, that of tensors of the dtype, that of the C++ type, category, Rust type.
macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $short:literal $torch:literal $numpy:literal $scalar:literal $tensor:literal $cpp:literal $category:ident $rust:ty;)*) => {
        /// The type of a tensor's elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DType {
            $($(#[$doc])* $variant,)*
        }

        impl DType {
            /// Every dtype, in promotion-table order.
            pub const ALL: [DType; 15] = [$(DType::$variant),*];

            /// The short name, as in `[[1, 2]]:f32`.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $short),* }
            }

            /// PyTorch's name, as in `dtype=torch.float32`.
            pub const fn torch_name(self) -> &'static str {
                match self { $(DType::$variant => $torch),* }
            }

            /// NumPy's code, a kind and the bytes of an element, as in `<f4`. bfloat16 has none.
            ///
            /// ```
            /// use zerostride_ops::DType;
            /// assert_eq!([DType::I64, DType::BF16].map(DType::numpy_code), [Some("i8"), None]);
            /// ```
            pub const fn numpy_code(self) -> Option<&'static str> {
                let code = match self { $(DType::$variant => $numpy),* };
                if code.is_empty() { None } else { Some(code) }
            }

            /// The name PyTorch's error texts use, as in `'Long'`.
            pub const fn scalar_name(self) -> &'static str {
                match self { $(DType::$variant => $scalar),* }
            }

            /// PyTorch's name of the type of a tensor of this dtype; older dtypes have an older form of name.
            ///
            /// ```
            /// use zerostride_ops::DType;
            /// assert_eq!([DType::I64, DType::BF16].map(DType::tensor_type), ["torch.LongTensor", "CPUBFloat16Type"]);
            /// ```
            pub const fn tensor_type(self) -> &'static str {
                match self { $(DType::$variant => $tensor),* }
            }

            /// The C++ type that some of PyTorch's messages name.
            pub const fn cpp_name(self) -> &'static str {
                match self { $(DType::$variant => $cpp),* }
            }

            /// The category that promotion compares first.
            pub const fn category(self) -> Category {
                match self { $(DType::$variant => Category::$category),* }
            }

            /// Bytes of one element.
            pub const fn item_size(self) -> usize {
                match self { $(DType::$variant => size_of::<$rust>()),* }
            }
        }

        $(impl Element for $rust {
            const DTYPE: DType = DType::$variant;
            dtypes!(@stored $category);
        })*
    };
    (@stored Bool) => {
        type Stored = u8;
        #[inline(always)]
        fn store(self) -> u8 { self as u8 }
        #[inline(always)]
        fn load(stored: u8) -> bool { stored != 0 }
    };
    (@stored $category:ident) => {
        type Stored = Self;
        #[inline(always)]
        fn store(self) -> Self { self }
        #[inline(always)]
        fn load(stored: Self) -> Self { stored }
    };
}

#[rustfmt::skip]
dtypes! {
    /// `bool`, one byte, 0 or 1.
    Bool "bool" "bool"       "b1"   "Bool"          "CPUBoolType"            "bool"                 Bool    bool;
    /// Unsigned 8-bit integer.
    U8   "u8"   "uint8"      "u1"   "Byte"          "torch.ByteTensor"       "unsigned char"        Int     u8;
    /// Unsigned 16-bit integer.
    U16  "u16"  "uint16"     "u2"   "UInt16"        "CPUUInt16Type"          "short unsigned int"   Int     u16;
    /// Unsigned 32-bit integer.
    U32  "u32"  "uint32"     "u4"   "UInt32"        "CPUUInt32Type"          "unsigned int"         Int     u32;
    /// Unsigned 64-bit integer.
    U64  "u64"  "uint64"     "u8"   "UInt64"        "CPUUInt64Type"          "long unsigned int"    Int     u64;
    /// Signed 8-bit integer.
    I8   "i8"   "int8"       "i1"   "Char"          "torch.CharTensor"       "signed char"          Int     i8;
    /// Signed 16-bit integer.
    I16  "i16"  "int16"      "i2"   "Short"         "torch.ShortTensor"      "short int"            Int     i16;
    /// Signed 32-bit integer.
    I32  "i32"  "int32"      "i4"   "Int"           "torch.IntTensor"        "int"                  Int     i32;
    /// Signed 64-bit integer: the dtype of bare integers.
    I64  "i64"  "int64"      "i8"   "Long"          "torch.LongTensor"       "long int"             Int     i64;
    /// IEEE half precision.
    F16  "f16"  "float16"    "f2"   "Half"          "torch.HalfTensor"       "c10::Half"            Float   f16;
    /// bfloat16: f32 with 8 bits of precision.
    BF16 "bf16" "bfloat16"   ""     "BFloat16"      "CPUBFloat16Type"        "c10::BFloat16"        Float   bf16;
    /// IEEE single precision: the default dtype.
    F32  "f32"  "float32"    "f4"   "Float"         "torch.FloatTensor"      "float"                Float   f32;
    /// IEEE double precision.
    F64  "f64"  "float64"    "f8"   "Double"        "torch.DoubleTensor"     "double"               Float   f64;
    /// Complex number of two f32.
    C64  "c64"  "complex64"  "c8"   "ComplexFloat"  "CPUComplexFloatType"    "c10::complex<float>"  Complex Complex32;
    /// Complex number of two f64.
    C128 "c128" "complex128" "c16"  "ComplexDouble" "CPUComplexDoubleType"   "c10::complex<double>" Complex Complex64;
}

impl DType {
    /// The dtype of bare floats and of integer division, as `torch.get_default_dtype()`.
    pub const DEFAULT_FLOAT: DType = DType::F32;

    /// Whether the dtype is `f16` or `bf16`, whose arithmetic runs in f32 and rounds after each operation.
    pub const fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }

    /// Whether values can be negative integers.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// The dtype of a complex dtype's parts; other dtypes are their own.
    pub const fn to_real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// The complex dtype with parts of this float dtype; there is no complex f16, so f16 and bf16 give `c64`.
    pub const fn to_complex(self) -> DType {
        match self {
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
    }

    /// The dtype of a code of NumPy, without its byte order.
    pub fn of_numpy_code(code: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.numpy_code() == Some(code))
    }

    /// The largest finite value, as a float; 1 for bool. For a complex dtype, that of its parts.
    pub fn largest(self) -> f64 {
        match self {
            DType::Bool => 1.0,
            DType::U8 => u8::MAX.into(),
            DType::U16 => u16::MAX.into(),
            DType::U32 => u32::MAX.into(),
            DType::U64 => u64::MAX as f64,
            DType::I8 => i8::MAX.into(),
            DType::I16 => i16::MAX.into(),
            DType::I32 => i32::MAX.into(),
            DType::I64 => i64::MAX as f64,
            DType::F16 => f16::MAX.into(),
            DType::BF16 => bf16::MAX.into(),
            DType::F32 | DType::C64 => f32::MAX.into(),
            DType::F64 | DType::C128 => f64::MAX,
        }
    }

    /// The smallest and the largest value of an integer dtype; 0 and 1 for every other dtype.
    pub const fn int_range(self) -> (i128, i128) {
        match self {
            DType::U8 => (0, u8::MAX as i128),
            DType::U16 => (0, u16::MAX as i128),
            DType::U32 => (0, u32::MAX as i128),
            DType::U64 => (0, u64::MAX as i128),
            DType::I8 => (i8::MIN as i128, i8::MAX as i128),
            DType::I16 => (i16::MIN as i128, i16::MAX as i128),
            DType::I32 => (i32::MIN as i128, i32::MAX as i128),
            DType::I64 => (i64::MIN as i128, i64::MAX as i128),
            _ => (0, 1),
        }
    }

    /// The dtype in which an operation on this dtype computes before the result is rounded.
    pub const fn opmath(self) -> DType {
        if self.is_half() { DType::F32 } else { self }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is no dtype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDType(pub String);

impl fmt::Display for UnknownDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown dtype `{}`; the dtypes are", self.0)?;
        DType::ALL.iter().try_for_each(|dtype| write!(f, " {dtype}"))
    }
}

impl core::error::Error for UnknownDType {}

impl FromStr for DType {
    type Err = UnknownDType;

    /// Reads a short name (`f32`) or PyTorch's (`float32`).
    fn from_str(text: &str) -> Result<Self, UnknownDType> {
        DType::ALL
            .into_iter()
            .find(|dtype| dtype.name() == text || dtype.torch_name() == text)
            .ok_or_else(|| UnknownDType(text.to_owned()))
    }
}

/// A Rust type that can be an element of a tensor.
///
/// `Stored` is the type in memory: the type itself, except for `bool`, which is stored as a byte so that
/// every bit pattern of a buffer is valid.
pub trait Element: Copy + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The element's dtype.
    const DTYPE: DType;
    /// The type in memory.
    type Stored: bytemuck::Pod + Send + Sync;
    /// The value as it is stored.
    fn store(self) -> Self::Stored;
    /// The value of a stored element.
    fn load(stored: Self::Stored) -> Self;
}

/// Evaluates `$body` with `$type` as the Rust type of a dtype.
///
/// ```
/// use zerostride_ops::{with_type, DType, Element};
/// assert_eq!(with_type!(DType::F64, T => T::DTYPE.item_size()), 8);
/// ```
#[macro_export]
macro_rules! with_type {
    (@arms $dtype:expr, $type:ident, $body:expr; $($variant:ident $rust:ty;)*) => {
        match $dtype {
            $($crate::DType::$variant => {
                type $type = $rust;
                $body
            })*
        }
    };
    ($dtype:expr, $type:ident => $body:expr) => {
        $crate::with_type! { @arms $dtype, $type, $body;
            Bool bool; U8 u8; U16 u16; U32 u32; U64 u64; I8 i8; I16 i16; I32 i32; I64 i64;
            F16 $crate::f16; BF16 $crate::bf16; F32 f32; F64 f64; C64 $crate::Complex32; C128 $crate::Complex64;
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            assert_eq!(dtype.torch_name().parse(), Ok(dtype));
        }
        assert!("float".parse::<DType>().unwrap_err().to_string().contains("bf16"));
    }

    #[test]
    fn any_nonzero_byte_is_true() {
        assert!(bool::load(2));
        assert_eq!(true.store(), 1);
    }
}
