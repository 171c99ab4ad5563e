//! Fused evaluation against step-by-step evaluation, bit for bit, and against an oracle that shares no code
//! with it; every operation in every layout, on every instruction set.

#[cfg(feature = "cuda")]
mod device;
mod division;
mod every_layout;
mod instruction_sets;
mod oracle;
mod pairs;
mod placed;
mod random;
mod rows;
mod same_bits;
mod several;
mod sizes;
mod templates;
mod tree;
