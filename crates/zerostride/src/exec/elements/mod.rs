//! Owns where elements are: strided elements and what is proved of them, walks over panels of them, rows. It
//! does not know what is done to a row (`body`), nor who runs which part (`schedule`).

#[allow(unsafe_code)]
mod access;
mod dims;
#[allow(unsafe_code)]
mod operand;
#[allow(unsafe_code)]
mod rows;
mod window;

pub(in crate::exec) use access::{Input, LineOrder, Output, StridedElements, Written};
pub(crate) use dims::StridedDims;
pub(in crate::exec) use dims::StridedRange;
pub(in crate::exec) use operand::{Operand, Share, Writer};
pub(in crate::exec) use rows::{ElementSlice, Feed, NEAR_STEPS, Place, Scratch, Sink};
pub(in crate::exec) use window::{KeptFold, Window};
