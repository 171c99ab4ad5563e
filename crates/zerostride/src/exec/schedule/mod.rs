//! Owns who runs which part of a step: at once and whole, panel by panel, or by blocks of rows with other
//! steps, which may reduce these rows. It does not know what is done to a row (`body`).

mod blocks;
pub(crate) mod inline;
mod panels;
mod size;
pub(super) mod steps;
pub(super) mod work;
