//! Owns the inference of dtypes: those that an operation computes in and returns, or the error. It does not
//! know shapes (`zerostride-shape`) nor values.

use crate::{Bucket, Category, DType, Domain, Op, OpError, Rule, Typed, result_type};

/// The dtypes of one application of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The dtype operands are converted to as they are loaded.
    pub compute: DType,
    /// The dtype of the result.
    pub result: DType,
}

impl Domain {
    /// Whether the operation can compute in the category.
    pub const fn contains(self, category: Category) -> bool {
        use Category::{Bool, Complex, Float, Int};
        match self {
            Domain::any => true,
            Domain::numeric => matches!(category, Int | Float | Complex),
            Domain::real => matches!(category, Bool | Int | Float),
            Domain::ordered => matches!(category, Int | Float),
            Domain::integral => matches!(category, Bool | Int),
            Domain::integer => matches!(category, Int),
            Domain::floats => matches!(category, Float),
            Domain::inexact => matches!(category, Float | Complex),
            Domain::complexes => matches!(category, Complex),
        }
    }
}

impl Rule {
    /// The dtype to compute in, by the operands' common dtype.
    fn compute(self, common: DType) -> DType {
        let category = common.category();
        let integral = category <= Category::Int;
        match self {
            Rule::float | Rule::float_real if integral => DType::DEFAULT_FLOAT,
            Rule::bool_to_int if category == Category::Bool => DType::I64,
            Rule::sum if integral => DType::I64,
            Rule::double if category == Category::Complex => DType::C128,
            Rule::double => DType::F64,
            _ => common,
        }
    }

    /// The result's dtype, by the dtype computed in.
    fn result(self, compute: DType) -> DType {
        match self {
            Rule::common | Rule::float | Rule::bool_to_int | Rule::double | Rule::sum => compute,
            Rule::real | Rule::float_real => compute.to_real(),
            Rule::bool => DType::Bool,
            Rule::int => DType::I32,
            Rule::complex => compute.to_complex(),
            Rule::index => DType::I64,
            Rule::truth if compute == DType::U8 => DType::U8,
            Rule::truth => DType::Bool,
        }
    }
}

impl Op {
    /// The dtypes of this operation on operands of these dtypes (those that broadcast, in order).
    ///
    /// # Errors
    /// The operands do not promote, or the operation refuses the dtype. The message is PyTorch's.
    ///
    /// ```
    /// use zerostride_ops::{DType, Op, Typed};
    /// let ints = Typed::dimensioned(DType::I64);
    /// assert_eq!(Op::Div.infer(&[ints, ints])?.result, DType::F32);
    /// let error = Op::BitwiseNot.infer(&[Typed::dimensioned(DType::F32)]).unwrap_err();
    /// assert_eq!(error.to_string(), "\"bitwise_not_cpu\" not implemented for 'Float'");
    /// # Ok::<(), zerostride_ops::OpError>(())
    /// ```
    pub fn infer(self, operands: &[Typed]) -> Result<Inferred, OpError> {
        let promoted = match self {
            Op::Where => {
                self.check_mask(operands[0])?;
                &operands[1..]
            }
            Op::MaskedFill => {
                self.check_mask(operands[1])?;
                &operands[..1]
            }
            // The other operands do not take part in promotion.
            Op::NanToNum | Op::RoundDecimals | Op::Softplus => &operands[..1],
            Op::Lerp if operands[2].bucket == Bucket::Number => &operands[..2],
            _ => operands,
        };
        let has_bool = |operand: &Typed| operand.dtype == DType::Bool;
        if self == Op::Sub && promoted.iter().any(has_bool) {
            return Err(OpError::BoolSubtraction { both: promoted.iter().all(has_bool) });
        }
        self.check_parts(promoted)?;
        // A weight without dimensions promotes.
        let mixed = self.check_same(match (self, promoted) {
            (Op::Lerp, [ends @ .., weight]) if weight.bucket == Bucket::ZeroDim => ends,
            _ => promoted,
        });
        if self == Op::Lerp {
            mixed.clone()?;
        }
        let common = result_type(promoted)?;
        let compute = self.info().rule.compute(common);
        if !self.info().domain.contains(compute.category()) {
            return Err(OpError::Unsupported { op: self, dtype: compute });
        }
        mixed?;
        Ok(Inferred { compute, result: self.info().rule.result(compute) })
    }

    /// Masks must be bool; `where` also accepts u8, which PyTorch used for conditions in the past.
    fn check_mask(self, mask: Typed) -> Result<(), OpError> {
        match (self, mask.dtype) {
            (_, DType::Bool) | (Op::Where, DType::U8) => Ok(()),
            (op, dtype) => Err(OpError::NotBool { op, dtype }),
        }
    }

    /// Refuses parts of a complex number whose dtype has no complex dtype in PyTorch, such as bf16.
    fn check_parts(self, operands: &[Typed]) -> Result<(), OpError> {
        let pairs = |operand: &Typed| matches!(operand.dtype, DType::F16 | DType::F32 | DType::F64);
        match (self, operands) {
            (Op::Complex | Op::Polar, [first, second]) if !(pairs(first) && pairs(second)) => {
                Err(OpError::Parts { first: first.dtype, second: second.dtype })
            }
            _ => Ok(()),
        }
    }

    /// Refuses different dtypes for the operations that do not promote; bare numbers take the tensors' dtype.
    fn check_same(self, operands: &[Typed]) -> Result<(), OpError> {
        let names: [&'static str; 3] = match self {
            Op::Lerp => ["input", "end", "weight"],
            Op::Heaviside | Op::Isclose | Op::Complex | Op::Polar => ["input", "other", ""],
            _ => return Ok(()),
        };
        let first = operands[0].dtype;
        let differs = |operand: &Typed| operand.bucket != Bucket::Number && operand.dtype != first;
        match operands.iter().zip(names).find(|(operand, _)| differs(operand)) {
            Some((operand, name)) => Err(OpError::Mixed { op: self, first, name, other: operand.dtype }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infer(op: Op, dtypes: &[DType]) -> Result<(DType, DType), String> {
        let operands: Vec<_> = dtypes.iter().map(|dtype| Typed::dimensioned(*dtype)).collect();
        op.infer(&operands)
            .map(|inferred| (inferred.compute, inferred.result))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn rules_give_the_dtypes_of_pytorch() {
        use DType::{Bool, C64, F16, F32, F64, I32, I64, U8};
        for (op, dtypes, compute, result) in [
            (Op::Add, &[I32, F32][..], F32, F32),
            (Op::Div, &[I64, I64], F32, F32),
            (Op::Abs, &[C64], C64, F32),
            (Op::Angle, &[I64], F32, F32),
            (Op::Lt, &[U8, I64], I64, Bool),
            (Op::Square, &[Bool], I64, I64),
            (Op::Sum, &[U8], I64, I64),
            (Op::All, &[U8], U8, U8),
            (Op::Argmax, &[F16], F16, I64),
            (Op::FloatPower, &[F32, I64], F64, F64),
            (Op::Where, &[Bool, F32, I64], F32, F32),
            (Op::Complex, &[F64, F64], F64, DType::C128),
        ] {
            assert_eq!(infer(op, dtypes), Ok((compute, result)), "{op:?}");
        }
    }

    #[test]
    fn a_weight_without_dimensions_promotes() {
        use DType::{C64, F32, F64, I64};
        let lerp = |end: Typed, weight: DType| {
            let weight = Typed { dtype: weight, bucket: Bucket::ZeroDim };
            Op::Lerp.infer(&[end, end, weight]).map(|inferred| inferred.result)
        };
        let one = |dtype| Typed { dtype, bucket: Bucket::ZeroDim };
        for (end, weight, result) in [
            (Typed::dimensioned(F32), F64, F32),
            (Typed::dimensioned(F64), F32, F64),
            (Typed::dimensioned(F32), I64, F32),
            (Typed::dimensioned(F32), C64, C64),
            (Typed::dimensioned(I64), F32, F32),
            (one(F32), F64, F64),
        ] {
            assert_eq!(lerp(end, weight), Ok(result), "{end:?} {weight:?}");
        }
    }

    #[test]
    fn refusals_speak_as_pytorch() {
        use DType::{Bool, C64, F32, F64, I64};
        for (op, dtypes, text) in [
            (
                Op::Sub,
                &[Bool, Bool][..],
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
            ),
            (Op::Lt, &[C64, F32], "\"lt_cpu\" not implemented for 'ComplexFloat'"),
            (Op::Lerp, &[F32, F32, I64], "expected dtype float for `weight` but got dtype long int"),
            (Op::Isclose, &[F32, I64], "Float did not match Long"),
            (
                Op::Complex,
                &[F32, F64],
                "Expected object of scalar type Float but got scalar type Double for second argument",
            ),
            (
                Op::Where,
                &[I64, F32, F32],
                "where expected condition to be a boolean tensor, but got a tensor with dtype Long",
            ),
            (Op::Maximum, &[C64, C64], "maximum not implemented for complex tensors."),
        ] {
            assert_eq!(infer(op, dtypes), Err(text.to_owned()), "{op:?}");
        }
    }
}
