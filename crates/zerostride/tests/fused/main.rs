//! Fused evaluation against step-by-step evaluation, bit for bit, and against an oracle that shares no code with it.

mod oracle;
mod same_bits;
mod tree;
