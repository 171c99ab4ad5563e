//! Placeholder.
mod lane;
mod math;
