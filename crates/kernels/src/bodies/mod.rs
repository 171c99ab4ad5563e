//! Owns what each operation computes on one element: a function named as the operation, in the module of each kind of
//! dtype that it computes in. It does not know loops, tiles or dtype conversion.

pub(crate) mod boolean;
pub(crate) mod complex;
pub(crate) mod float;
pub(crate) mod integer;
