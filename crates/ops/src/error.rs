//! Owns the errors of dtypes: those that do not promote, and operations that refuse a dtype. Their text is
//! PyTorch's, formatted when it is printed. It does not know when they arise (`infer.rs`).

use core::fmt;

use zerostride_shape::ErrorClass;

use crate::{Category, DType, Op};

/// Why dtypes are refused. `Display` is PyTorch's message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpError {
    /// No dtype can hold the values of both.
    Promotion {
        /// The first dtype.
        a: DType,
        /// The second dtype.
        b: DType,
    },
    /// The operation is not defined for the dtype it would compute in.
    Unsupported {
        /// The operation.
        op: Op,
        /// The dtype, after promotion.
        dtype: DType,
    },
    /// Subtraction with a bool tensor.
    BoolSubtraction {
        /// Whether both operands are bool.
        both: bool,
    },
    /// An operation that does not promote got operands of different dtypes.
    Mixed {
        /// The operation.
        op: Op,
        /// The dtype of the first operand.
        first: DType,
        /// The operand that differs.
        name: &'static str,
        /// Its dtype.
        other: DType,
    },
    /// A mask or condition that is not bool.
    NotBool {
        /// The operation.
        op: Op,
        /// The mask's dtype.
        dtype: DType,
    },
    /// `complex` or `polar` of dtypes other than floats with a complex dtype.
    Parts {
        /// The dtype of the first operand.
        first: DType,
        /// The dtype of the second operand.
        second: DType,
    },
    /// A number that the dtype it is converted to cannot hold.
    Overflow {
        /// The dtype.
        dtype: DType,
    },
    /// A result whose category is above that of the tensor that it is written to.
    Cast {
        /// The result's dtype.
        from: DType,
        /// The target's dtype.
        to: DType,
    },
    /// A result whose dtype is asked for, and a tensor of another dtype that it would be written to.
    Target {
        /// The dtype that is asked for.
        asked: DType,
        /// The target's dtype.
        target: DType,
    },
}

impl OpError {
    /// Whether PyTorch broadcasts the operands before it checks this, so that an error of shapes comes first:
    /// true for failed promotion and missing kernels.
    pub fn comes_after_shapes(&self) -> bool {
        match self {
            OpError::Promotion { .. } => true,
            OpError::Unsupported { op, .. } => !matches!(
                op,
                Op::Maximum
                    | Op::Minimum
                    | Op::Fmax
                    | Op::Fmin
                    | Op::Heaviside
                    | Op::Clamp
                    | Op::ClampMin
                    | Op::ClampMax
                    | Op::Addcdiv
                    | Op::CosineSimilarity
            ),
            _ => false,
        }
    }

    /// The class of the exception that PyTorch raises.
    pub fn class(&self) -> ErrorClass {
        match self {
            OpError::Unsupported { op, dtype } => match (op, dtype.category()) {
                (Op::FrexpMantissa | Op::FrexpExponent | Op::Addcdiv | Op::CosineSimilarity, _) => {
                    ErrorClass::Runtime
                }
                (Op::Imag, _) => ErrorClass::Type,
                (
                    Op::Isneginf
                    | Op::Isposinf
                    | Op::Fmax
                    | Op::Fmin
                    | Op::Maximum
                    | Op::Minimum
                    | Op::Argmax
                    | Op::Argmin,
                    Category::Complex,
                ) => ErrorClass::Type,
                _ => ErrorClass::NotImplemented,
            },
            OpError::BoolSubtraction { .. } | OpError::Parts { .. } => ErrorClass::NotImplemented,
            _ => ErrorClass::Runtime,
        }
    }
}

impl core::error::Error for OpError {}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            OpError::Promotion { a, b } => write!(
                f,
                "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {} and {}",
                a.scalar_name(),
                b.scalar_name()
            ),
            OpError::Unsupported { op, dtype } => refusal(f, op, dtype),
            OpError::BoolSubtraction { both: true } => f.write_str(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
            ),
            OpError::BoolSubtraction { both: false } => f.write_str(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
            ),
            OpError::Mixed { op: Op::Heaviside, .. } => {
                f.write_str("heaviside is not yet implemented for tensors with different dtypes.")
            }
            OpError::Mixed { op: Op::Isclose, first, other, .. } => {
                write!(f, "{} did not match {}", first.scalar_name(), other.scalar_name())
            }
            OpError::Mixed { op: Op::Complex | Op::Polar, first, other, .. } => write!(
                f,
                "Expected object of scalar type {} but got scalar type {} for second argument",
                first.scalar_name(),
                other.scalar_name()
            ),
            OpError::Mixed { first, name, other, .. } => {
                write!(f, "expected dtype {} for `{name}` but got dtype {}", first.cpp_name(), other.cpp_name())
            }
            OpError::NotBool { op: Op::Where, dtype } => write!(
                f,
                "where expected condition to be a boolean tensor, but got a tensor with dtype {}",
                dtype.scalar_name()
            ),
            OpError::NotBool { dtype, .. } => {
                write!(f, "masked_fill_ only supports boolean masks, but got mask with dtype {}", dtype.cpp_name())
            }
            OpError::Parts { first, second } => write!(
                f,
                "Expected both inputs to be Half, Float or Double tensors but got {} and {}",
                first.scalar_name(),
                second.scalar_name()
            ),
            OpError::Overflow { dtype } => {
                write!(f, "value cannot be converted to type {} without overflow", fixed_width_name(dtype))
            }
            OpError::Cast { from, to } => write!(
                f,
                "result type {} can't be cast to the desired output type {}",
                from.scalar_name(),
                to.scalar_name()
            ),
            OpError::Target { asked, target } => write!(
                f,
                "Expected out tensor to have dtype {}, but got {} instead",
                asked.cpp_name(),
                target.cpp_name()
            ),
        }
    }
}

/// The C++ type in the messages of number conversions.
fn fixed_width_name(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "uint8_t",
        DType::U16 => "uint16_t",
        DType::U32 => "uint32_t",
        DType::U64 => "uint64_t",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::I64 => "int64_t",
        other => other.cpp_name(),
    }
}

/// PyTorch's message: the operation's own where it has one, else the names of the kernel and the dtype.
fn refusal(f: &mut fmt::Formatter<'_>, op: Op, dtype: DType) -> fmt::Result {
    let name = op.name();
    let scalar = dtype.scalar_name();
    match (op, dtype.category()) {
        (Op::Ceil | Op::Floor | Op::Trunc, Category::Complex) => write!(f, "{name} is not supported for complex inputs"),
        (Op::Deg2rad | Op::Rad2deg, Category::Complex) => write!(f, "{name} is not supported for complex tensors."),
        (Op::Imag, _) => f.write_str("imag is not implemented for tensors with non-complex dtypes."),
        (Op::Isneginf | Op::Isposinf, Category::Complex) => write!(f, "{name} does not support complex inputs."),
        (Op::Neg, Category::Bool) => f.write_str(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
        ),
        (Op::Positive, Category::Bool) => f.write_str("The `+` operator, on a bool tensor is not supported."),
        (Op::Relu, Category::Bool) => f.write_str("Boolean inputs not supported for relu"),
        (Op::Hardtanh | Op::Relu6, Category::Bool) => f.write_str("Bool inputs not supported for hardtanh"),
        (Op::Relu | Op::Hardtanh | Op::Relu6 | Op::Clamp | Op::ClampMin | Op::ClampMax, Category::Complex) => f.write_str("clamp is not supported for complex types"),
        (Op::Sign, Category::Complex) => f.write_str(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
        ),
        (Op::Signbit, Category::Complex) => f.write_str("signbit is not implemented for complex tensors."),
        (Op::Maximum | Op::Minimum | Op::Fmax | Op::Fmin, Category::Complex) => {
            write!(f, "{name} not implemented for complex tensors.")
        }
        (Op::Heaviside, Category::Complex) => f.write_str("heaviside is not yet implemented for complex tensors."),
        (Op::FrexpMantissa | Op::FrexpExponent, _) => f.write_str("torch.frexp() only supports floating-point dtypes"),
        (Op::Argmax | Op::Argmin, Category::Bool) => write!(f, "{name}(): does not support bool input"),
        (Op::Argmax | Op::Argmin, Category::Complex) => write!(f, "{name}(): does not support complex input"),
        (Op::Mean, _) => write!(
            f,
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {scalar}"
        ),
        (Op::Var | Op::Std, _) => f.write_str("std and var only support floating point and complex dtypes"),
        (Op::Norm, _) => {
            write!(f, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {scalar}")
        }
        (Op::CosineSimilarity, _) => {
            write!(f, "expected common dtype to be floating point, yet common dtype is {scalar}")
        }
        (Op::Addcdiv, _) => f.write_str(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.",
        ),
        _ => write!(f, "\"{}\" not implemented for '{scalar}'", op.info().kernel),
    }
}
