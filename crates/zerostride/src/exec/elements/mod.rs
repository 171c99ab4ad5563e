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

pub(in crate::exec) use access::{LineOrder, ReduceInput, StepOutput, StridedElements, Written};
pub(crate) use dims::StridedDims;
pub(in crate::exec) use dims::StridedRange;
pub(in crate::exec) use operand::{PanelOperand, PanelShare, PanelWriter};
pub(in crate::exec) use rows::{ElementSlice, Feed, NEAR_STEPS, RowAddress, RowSink, Scratch};
pub(in crate::exec) use window::{KeptFold, Window};
