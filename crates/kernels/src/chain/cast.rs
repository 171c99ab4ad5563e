//! Owns the conversion of one element in chains, with the results of [`cast_kernel`](crate::cast_kernel),
//! written so that the compiler vectorises loops of it. It does not know where elements come from or go to.

use half::{bf16, f16};
use zerostride_ops::{Element, Op};

use crate::bodies::dispatch::Body;
use crate::halves::{narrow_bf16, narrow_f16, widen_bf16, widen_f16};

/// A number on its way to another type.
pub(super) trait CastFrom: Copy + 'static {
    fn to_bool(self) -> bool;
    /// The low bits of the integer part as an i64; `i64::MIN` where it does not fit.
    fn bits(self) -> u64;
    /// The lowest of these bits.
    fn byte(self) -> u8;
    /// The integer part; `i32::MIN` where it does not fit.
    fn i32(self) -> i32;
    /// The integer part, including the upper half of the range of u64.
    fn u64(self) -> u64;
    /// Rounded once.
    fn f32(self) -> f32;
    fn f64(self) -> f64;
}

macro_rules! integers {
    ($($type:ty)*) => {
        $(impl CastFrom for $type {
            #[inline(always)]
            fn to_bool(self) -> bool { self != 0 }
            #[inline(always)]
            fn bits(self) -> u64 { self as u64 }
            #[inline(always)]
            fn byte(self) -> u8 { self as u8 }
            #[inline(always)]
            fn i32(self) -> i32 { self as i32 }
            #[inline(always)]
            fn u64(self) -> u64 { self as u64 }
            #[inline(always)]
            fn f32(self) -> f32 { self as f32 }
            #[inline(always)]
            fn f64(self) -> f64 { self as f64 }
        })*
    };
}

integers!(u8 u16 u32 u64 i8 i16 i32 i64);

/// The integer part of a float if it is in the range, else another integer: vector instructions do not
/// saturate.
macro_rules! truncated {
    ($value:expr, $range:expr, $integer:ty, $other:expr) => {
        if $range.contains(&$value) {
            // SAFETY: the integer part is in the range of the integer type.
            unsafe { $value.to_int_unchecked::<$integer>() }
        } else {
            $other
        }
    };
}

impl CastFrom for f32 {
    #[inline(always)]
    fn to_bool(self) -> bool {
        self != 0.0
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        truncated!(self, (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0), i64, i64::MIN) as u64
    }

    /// Numbers beyond i32 are multiples of 256.
    #[inline(always)]
    fn byte(self) -> u8 {
        self.i32() as u8
    }

    #[inline(always)]
    fn i32(self) -> i32 {
        truncated!(self, (-2_147_483_648.0..2_147_483_648.0), i32, i32::MIN)
    }

    #[inline(always)]
    fn u64(self) -> u64 {
        f64::from(self).u64()
    }

    #[inline(always)]
    fn f32(self) -> f32 {
        self
    }

    #[inline(always)]
    fn f64(self) -> f64 {
        f64::from(self)
    }
}

impl CastFrom for f64 {
    #[inline(always)]
    fn to_bool(self) -> bool {
        self != 0.0
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        truncated!(self, (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0), i64, i64::MIN) as u64
    }

    #[inline(always)]
    fn byte(self) -> u8 {
        self.bits() as u8
    }

    #[inline(always)]
    fn i32(self) -> i32 {
        let whole = self.trunc();
        truncated!(whole, (-2_147_483_648.0..2_147_483_648.0), i32, i32::MIN)
    }

    #[inline(always)]
    fn u64(self) -> u64 {
        const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
        let upper = truncated!(self - TWO_TO_63, (0.0..TWO_TO_63), i64, i64::MAX) as u64 + (1 << 63);
        if self >= TWO_TO_63 { upper } else { self.bits() }
    }

    #[inline(always)]
    fn f32(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn f64(self) -> f64 {
        self
    }
}

macro_rules! halves {
    ($($type:ident $widen:ident)*) => {
        $(impl CastFrom for $type {
            #[inline(always)]
            fn to_bool(self) -> bool { self.f32().to_bool() }
            #[inline(always)]
            fn bits(self) -> u64 { self.f32().bits() }
            #[inline(always)]
            fn byte(self) -> u8 { self.f32().byte() }
            #[inline(always)]
            fn i32(self) -> i32 { self.f32().i32() }
            #[inline(always)]
            fn u64(self) -> u64 { self.f32().u64() }
            #[inline(always)]
            fn f32(self) -> f32 { $widen(self) }
            #[inline(always)]
            fn f64(self) -> f64 { self.f32().f64() }
        })*
    };
}

halves!(f16 widen_f16 bf16 widen_bf16);

/// A dtype's values as elements of type `R`: the dtype's own type in memory, or that of the lanes.
pub(super) trait CastTo<R>: Element {
    fn of(source: impl CastFrom) -> R;
}

macro_rules! targets {
    ($($type:ty: |$source:ident| $value:expr => $($lane:ty)*;)*) => {
        $($(impl CastTo<$lane> for $type {
            #[inline(always)]
            fn of($source: impl CastFrom) -> $lane { $value as $lane }
        })*)*
    };
}

targets! {
    bool: |source| source.to_bool() => u8 i8 i16 i32 i64;
    u8: |source| source.byte() => u8 i16 i32 i64;
    i8: |source| source.byte() as i8 => i8 i16 i32 i64;
    u16: |source| source.bits() as u16 => u16 i32 i64;
    i16: |source| source.bits() as i16 => i16 i32 i64;
    u32: |source| source.bits() as u32 => u32 i64;
    i32: |source| source.i32() => i32 i64;
    u64: |source| source.u64() => u64;
    i64: |source| source.bits() as i64 => i64;
    f32: |source| source.f32() => f32 f64;
    f64: |source| source.f64() => f64;
    f16: |source| widen_f16(narrow_f16(source.f32())) => f32 f64;
    bf16: |source| widen_bf16(narrow_bf16(source.f32())) => f32 f64;
}

impl CastTo<f16> for f16 {
    #[inline(always)]
    fn of(source: impl CastFrom) -> f16 {
        narrow_f16(source.f32())
    }
}

impl CastTo<bf16> for bf16 {
    #[inline(always)]
    fn of(source: impl CastFrom) -> bf16 {
        narrow_bf16(source.f32())
    }
}

/// The conversion to a dtype as a body.
pub(super) struct Cast<T, R>(std::marker::PhantomData<(T, R)>);

impl<A: CastFrom, T: CastTo<R>, R: 'static> Body<1, A> for Cast<T, R> {
    /// The value stays.
    const OP: Op = Op::Positive;
    type Result = R;

    #[inline(always)]
    fn call([source]: [A; 1]) -> R {
        T::of(source)
    }
}
