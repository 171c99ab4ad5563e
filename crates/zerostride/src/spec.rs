//! Owns nothing but the bridge to the documents: the Rust blocks of the front page, of the guides, of the
//! package's page and of `spec/` are doctests of this crate.

#[doc = include_str!("../../../README.md")]
mod front_page {}

#[doc = include_str!("../../../docs/rust.md")]
mod guide {}

#[doc = include_str!("../../../docs/gpu.md")]
mod on_gpus {}

#[doc = include_str!("../../../docs/candle.md")]
mod from_candle {}

#[cfg(feature = "ndarray")]
#[doc = include_str!("../../../docs/ndarray.md")]
mod from_ndarray {}

#[doc = include_str!("../README.md")]
mod package_page {}

#[doc = include_str!("../../../spec/broadcasting.md")]
mod broadcasting {}

#[doc = include_str!("../../../spec/evaluation.md")]
mod evaluation {}

#[doc = include_str!("../../../spec/gradients.md")]
mod gradients {}

#[doc = include_str!("../../../spec/in_place.md")]
mod in_place {}

#[doc = include_str!("../../../spec/promotion.md")]
mod promotion {}
