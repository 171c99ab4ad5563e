//! Owns the notation of registers: methods that are a few instructions, and operators that are one. The
//! unsafe blocks of registers are here; it does not know an instruction.

/// Methods that are a few instructions, always inlined.
macro_rules! instructions {
    ($($(#[$meta:meta])* fn $name:ident($($arguments:tt)*) $(-> $result:ty)? { $($body:tt)* })*) => {$(
        $(#[$meta])*
        #[inline(always)]
        fn $name($($arguments)*) $(-> $result)? {
            // SAFETY: the instructions work on registers alone, so all they require is a processor that has
            // them. The types of an instruction set's registers are only named by functions that are compiled
            // for it and reached after `Isa` has found it on the processor, and by methods like this one.
            unsafe { $($body)* }
        }
    )*};
}

/// Operators on a register type that are one instruction each: `Trait method instruction`.
macro_rules! operators {
    ($type:ident: $($trait:ident $method:ident $instruction:ident),+) => {$(
        impl $trait for $type {
            type Output = Self;

            instructions! {
                fn $method(self, other: Self) -> Self { Self($instruction(self.0, other.0)) }
            }
        }
    )+};
}

/// Operators on one register that are a few instructions: `Trait method |register| instructions`.
macro_rules! unary_operators {
    ($type:ident: $($trait:ident $method:ident |$own:ident| $value:expr),+) => {$(
        impl $trait for $type {
            type Output = Self;

            instructions! {
                fn $method(self) -> Self {
                    let $own = self.0;
                    Self($value)
                }
            }
        }
    )+};
}
