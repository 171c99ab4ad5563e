//! Owns what each operation computes on one element, or on a register of floats: a function named as the
//! operation, in the module of each kind of dtype that it computes in. It does not know loops, tiles or dtype
//! conversion.

pub(crate) mod boolean;
pub(crate) mod complex;
pub(crate) mod dispatch;
mod division;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod quotient;
pub(crate) mod short;
#[cfg(test)]
mod tests;
