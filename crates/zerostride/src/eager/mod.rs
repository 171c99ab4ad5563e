//! Owns the methods of tensors that compute: evaluation, eager and in-place methods, and the functions that
//! move elements (`arrange`). It does not know how anything is planned or run.

mod arrange;
mod copies;
mod covariance;
mod devices;
mod evaluate;
mod in_place;
mod methods;
mod operand;
mod operators;
mod random;
mod read;

pub use arrange::{
    Index, Interpolation, Moved, Outcome, Results, Unique, call_function, cat, dstack, hstack, meshgrid,
    stack, vstack,
};
pub use devices::move_all;
pub use evaluate::eval_all;
pub use in_place::call_into;
pub use operand::Operand;
