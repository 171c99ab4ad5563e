//! What the benchmark's driver and peers share: the protocol between them, the operands, and the loop that
//! serves one peer. The driver (`main.rs`) and the peers (`bin/`, `peers/`) build on it.
//!
//! A peer is a process. It reads one [`Request`] per line on its standard input and answers each with one
//! [`Reply`] per line. So the driver can measure libraries of any language in turn, while all of them have
//! the same workload prepared.

mod element;
mod protocol;
mod serve;

pub use element::{Element, Kind, values};
pub use protocol::{Mode, Operand, Reply, Request, Task};
pub use serve::{Case, Peer, Values, serve};
