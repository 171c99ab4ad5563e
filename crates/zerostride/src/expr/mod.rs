//! Owns expressions: a computation as a graph, whose nodes know their shape and dtype or the error that they
//! would report. It does not know in which order or passes it will run (`plan`).

mod batch;
mod build;
mod call;
mod contract;
mod dims;
mod einsum;
mod formula;
mod grad;
mod input;
mod methods;
mod node;
mod operators;
mod optional;
mod outline;
mod product;
mod replace;
mod text;
mod view;
mod walk;

pub use batch::mapped;
pub(crate) use build::reduced_shape;
pub use call::{Argument, Arguments, call};
pub(crate) use contract::ContractedDims;
pub use dims::{Dims, keepdim};
pub use einsum::einsum;
pub use grad::{Variable, vjp};
pub use input::Input;
pub(crate) use input::{leading, rows};
pub(crate) use methods::argument;
pub use node::Expr;
pub(crate) use node::{Kind, Meta, Node, Operands};
pub use optional::Optional;
pub use outline::{OutlineNode, Selection};
pub(crate) use product::MatrixOperand;
pub(crate) use replace::{replace, without_inputs};
pub(crate) use view::{DimList, View};
pub(crate) use walk::operands_first;
