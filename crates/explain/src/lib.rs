//! A broadcast explained: what is stretched and how often, what is added, the result, the cost, what is
//! suspicious, and if the shapes do not broadcast, what would repair them.
//!
//! ```
//! use zerostride_explain::{Class, Explanation, Operand, Options, Page};
//! use zerostride_ops::Op;
//!
//! let operands = vec![Operand::new(&[5, 1, 4, 1]).named("x"), Operand::new(&[3, 1, 2]).named("y")];
//! let explanation = Explanation::new(operands, Options { op: Some(Op::Add), ..Options::default() });
//! assert_eq!(*explanation.shape().unwrap(), [5, 3, 4, 2]);
//! assert_eq!(explanation.classes(), [Class::RankAdded, Class::Stretched, Class::MutualStretch]);
//! let picture = "  \
//!   dim        0     1     2     3
//!   x          5   1→3     4   1→2
//!   y        ·→5     3   1→4     2
//!            ─────────────────────
//!   result     5     3     4     2
//! ";
//! assert!(explanation.text(&Page::default()).contains(picture));
//!
//! // Shapes that do not go together come with repairs, each of them tried.
//! let refused = Explanation::new(vec![Operand::new(&[32, 10]), Operand::new(&[32])], Options::default());
//! assert_eq!(refused.repairs()[0].call, "b.unsqueeze(-1)");
//! assert_eq!(refused.repairs()[0].shape, [32, 10]);
//! ```
//!
//! [`Explanation`] is the value. [`Explanation::text`], [`Explanation::svg`], [`Explanation::html`] and
//! [`Explanation::json`] render it, the first three in each [`Lang`].
//! This crate does not decide anything about broadcasting, which is `zerostride-shape`'s. It does not know
//! tensors, computation or terminals.

#![forbid(unsafe_code)]
// A `Size` is a `usize` only where that has 64 bits.
#![allow(clippy::unnecessary_cast, clippy::useless_conversion)]

// Its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod package_page {}

mod alignment;
mod explanation;
mod html;
mod json;
mod lang;
mod markup;
mod operand;
mod reading;
mod repair;
mod story;
mod svg;
mod text;
mod theme;

pub use explanation::{Explanation, Options, Reduction};
pub use json::refusal_json;
pub use lang::{Catalogue, Lang, UnknownLang, Value, count};
pub use operand::{Operand, element_text};
pub use reading::Reading;
pub use repair::{Hint, Repair};
pub use story::DRAWN_ELEMENTS;
pub use text::Page;
pub use zerostride_shape::Class;
