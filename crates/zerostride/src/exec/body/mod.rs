//! Owns what is done to rows of elements: programs as stages, folds, pairs, products. It does not know how
//! the elements of a step are divided into panels (`schedule`).

mod fold;
mod load_kind;
#[allow(unsafe_code)]
mod machine;
mod matmul;
mod native;
mod pairwise;
mod program;
mod reduce;

pub(crate) use fold::Folding;
pub(in crate::exec) use load_kind::LoadKind;
pub(in crate::exec) use machine::{Machine, ResultTile};
pub(in crate::exec) use matmul::run as multiply;
pub(in crate::exec) use native::is_worth_printing;
pub(in crate::exec) use program::Compiled;
pub(in crate::exec) use reduce::run as reduce;
