//! What the driver and the peers of the benchmark share: the protocol that they speak, the operands that they
//! make and the loop that serves one peer. The driver itself (`main.rs`) and the peers (`bin/`, `peers/`)
//! build on it.
//!
//! A peer is a process. It reads one [`Request`] per line on its standard input and answers each with one
//! [`Reply`] per line. The driver can therefore measure libraries of any language in turn, while all of them
//! hold the same workload.

mod element;
mod protocol;
mod serve;

pub use element::{Element, Kind, values};
pub use protocol::{Mode, Operand, Reply, Request, Task};
pub use serve::{Case, Peer, Values, serve};
