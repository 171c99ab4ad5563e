//! Owns promotion: the dtype that operands are converted to, and whether a number can be. It does not know
//! any operation (`infer.rs`).
//!
//! Source: PyTorch's `c10/core/ScalarType.cpp` and `aten/src/ATen/native/TypeProperties.cpp`, measured in
//! `spec/golden/promotion.json`. PyTorch refuses to mix `u16`, `u32` and `u64` with other integers; there the
//! Python array API standard decides (2024.12, "Type promotion rules").

use crate::{Category, DType, OpError, Scalar};

/// The three kinds of operand. Operands of a lower bucket count only if their category is higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// A tensor with at least one dimension.
    Dimensioned,
    /// A tensor of zero dimensions.
    ZeroDim,
    /// A bare number.
    Number,
}

/// What promotion needs to know of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Typed {
    /// The operand's dtype.
    pub dtype: DType,
    /// The operand's bucket.
    pub bucket: Bucket,
}

impl Typed {
    /// An operand of the given dtype with at least one dimension.
    pub const fn dimensioned(dtype: DType) -> Self {
        Typed { dtype, bucket: Bucket::Dimensioned }
    }
}

/// `None` where the array API leaves the pair undefined: u64 with a signed integer.
#[rustfmt::skip]
const TABLE: [[Option<DType>; 15]; 15] = {
    const B: Option<DType> = Some(DType::Bool);
    const U8: Option<DType> = Some(DType::U8);
    const U16: Option<DType> = Some(DType::U16);
    const U32: Option<DType> = Some(DType::U32);
    const U64: Option<DType> = Some(DType::U64);
    const I8: Option<DType> = Some(DType::I8);
    const I16: Option<DType> = Some(DType::I16);
    const I32: Option<DType> = Some(DType::I32);
    const I64: Option<DType> = Some(DType::I64);
    const F16: Option<DType> = Some(DType::F16);
    const BF: Option<DType> = Some(DType::BF16);
    const F32: Option<DType> = Some(DType::F32);
    const F64: Option<DType> = Some(DType::F64);
    const C64: Option<DType> = Some(DType::C64);
    const C128: Option<DType> = Some(DType::C128);
    const NO: Option<DType> = None;
    [
        //  bool   u8    u16   u32   u64   i8    i16   i32   i64   f16   bf16  f32   f64    c64    c128
        [   B,     U8,   U16,  U32,  U64,  I8,   I16,  I32,  I64,  F16,  BF,   F32,  F64,   C64,   C128], // bool
        [   U8,    U8,   U16,  U32,  U64,  I16,  I16,  I32,  I64,  F16,  BF,   F32,  F64,   C64,   C128], // u8
        [   U16,   U16,  U16,  U32,  U64,  I32,  I32,  I32,  I64,  F16,  BF,   F32,  F64,   C64,   C128], // u16
        [   U32,   U32,  U32,  U32,  U64,  I64,  I64,  I64,  I64,  F16,  BF,   F32,  F64,   C64,   C128], // u32
        [   U64,   U64,  U64,  U64,  U64,  NO,   NO,   NO,   NO,   F16,  BF,   F32,  F64,   C64,   C128], // u64
        [   I8,    I16,  I32,  I64,  NO,   I8,   I16,  I32,  I64,  F16,  BF,   F32,  F64,   C64,   C128], // i8
        [   I16,   I16,  I32,  I64,  NO,   I16,  I16,  I32,  I64,  F16,  BF,   F32,  F64,   C64,   C128], // i16
        [   I32,   I32,  I32,  I64,  NO,   I32,  I32,  I32,  I64,  F16,  BF,   F32,  F64,   C64,   C128], // i32
        [   I64,   I64,  I64,  I64,  NO,   I64,  I64,  I64,  I64,  F16,  BF,   F32,  F64,   C64,   C128], // i64
        [   F16,   F16,  F16,  F16,  F16,  F16,  F16,  F16,  F16,  F16,  F32,  F32,  F64,   C64,   C128], // f16
        [   BF,    BF,   BF,   BF,   BF,   BF,   BF,   BF,   BF,   F32,  BF,   F32,  F64,   C64,   C128], // bf16
        [   F32,   F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F32,  F64,   C64,   C128], // f32
        [   F64,   F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,  F64,   C128,  C128], // f64
        [   C64,   C64,  C64,  C64,  C64,  C64,  C64,  C64,  C64,  C64,  C64,  C64,  C128,  C64,   C128], // c64
        [   C128,  C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128, C128,  C128,  C128], // c128
    ]
};

/// The dtype that holds the values of both dtypes, as `torch.promote_types`.
///
/// # Errors
/// `u64` with a signed integer: no integer dtype holds both.
///
/// ```
/// use zerostride_ops::{promote_types, DType};
/// assert_eq!(promote_types(DType::U8, DType::I8)?, DType::I16);
/// assert_eq!(promote_types(DType::F16, DType::BF16)?, DType::F32);
/// # Ok::<(), zerostride_ops::OpError>(())
/// ```
pub fn promote_types(a: DType, b: DType) -> Result<DType, OpError> {
    TABLE[a as usize][b as usize].ok_or(OpError::Promotion { a, b })
}

/// The dtype that operands promote to, as `torch.result_type`: operands of lower buckets count only if their
/// category is higher.
///
/// # Errors
/// As [`promote_types`].
///
/// ```
/// use zerostride_ops::{result_type, Bucket, DType, Typed};
/// let ints = Typed::dimensioned(DType::I32);
/// let number = Typed { dtype: DType::F32, bucket: Bucket::Number };
/// assert_eq!(result_type(&[ints, number])?, DType::F32);
/// # Ok::<(), zerostride_ops::OpError>(())
/// ```
pub fn result_type(operands: &[Typed]) -> Result<DType, OpError> {
    // The usual case: all operands are alike.
    if let [first, others @ ..] = operands
        && others.iter().all(|other| other == first)
    {
        return Ok(first.dtype);
    }
    let of = |bucket: Bucket| {
        operands.iter().filter(|operand| operand.bucket == bucket).try_fold(None, |met, operand| match met {
            None => Ok(Some(operand.dtype)),
            Some(met) => promote_types(met, operand.dtype).map(Some),
        })
    };
    let lower = meet(of(Bucket::ZeroDim)?, of(Bucket::Number)?)?;
    Ok(meet(of(Bucket::Dimensioned)?, lower)?.unwrap_or(DType::DEFAULT_FLOAT))
}

/// Combines the dtype of a bucket with that of the lower buckets.
fn meet(higher: Option<DType>, lower: Option<DType>) -> Result<Option<DType>, OpError> {
    let (Some(high), Some(low)) = (higher, lower) else { return Ok(higher.or(lower)) };
    Ok(Some(match (high.category(), low.category()) {
        // A float keeps its precision when it becomes complex: f32 with a 0-d c128 gives c64.
        (Category::Float, Category::Complex) => high.to_complex(),
        (above, below) if below > above => promote_types(high, low)?,
        _ => high,
    }))
}

/// Whether a result may be written into a target of another dtype, as `torch.can_cast`: any dtype of the same
/// or a higher category.
pub fn can_cast(from: DType, to: DType) -> bool {
    from.category() <= to.category()
}

impl Scalar {
    /// The number itself, after PyTorch's check that the dtype can hold it.
    ///
    /// # Errors
    /// It [overflows](Scalar::overflows).
    ///
    /// ```
    /// use zerostride_ops::{DType, Scalar};
    /// assert_eq!(Scalar::Int(255).held_by(DType::U8)?, Scalar::Int(255));
    /// let error = Scalar::Int(300).held_by(DType::U8).unwrap_err();
    /// assert_eq!(error.to_string(), "value cannot be converted to type uint8_t without overflow");
    /// # Ok::<(), zerostride_ops::OpError>(())
    /// ```
    pub fn held_by(self, dtype: DType) -> Result<Scalar, OpError> {
        if self.overflows(dtype) { Err(OpError::Overflow { dtype }) } else { Ok(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_symmetric_and_idempotent() {
        for a in DType::ALL {
            assert_eq!(promote_types(a, a), Ok(a));
            for b in DType::ALL {
                assert_eq!(promote_types(a, b).ok(), promote_types(b, a).ok());
            }
        }
    }

    #[test]
    fn a_lower_bucket_counts_only_with_a_higher_category() {
        let zero = |dtype| Typed { dtype, bucket: Bucket::ZeroDim };
        let number = |dtype| Typed { dtype, bucket: Bucket::Number };
        let dim = Typed::dimensioned;
        for (operands, met) in [
            ([dim(DType::F32), zero(DType::F64)], DType::F32),
            ([dim(DType::I8), zero(DType::I64)], DType::I8),
            ([dim(DType::I64), zero(DType::F16)], DType::F16),
            ([dim(DType::F32), zero(DType::C128)], DType::C64),
            ([dim(DType::Bool), number(DType::I64)], DType::I64),
            ([zero(DType::F64), number(DType::F32)], DType::F64),
            ([zero(DType::U8), number(DType::F32)], DType::F32),
            ([dim(DType::C64), dim(DType::F64)], DType::C128),
        ] {
            assert_eq!(result_type(&operands), Ok(met), "{operands:?}");
        }
    }
}
