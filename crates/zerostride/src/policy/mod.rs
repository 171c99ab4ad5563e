//! Policies over implicit broadcasts, and the audit that records them.
//!
//! An unintended broadcast raises no error: `(N, 1)` with `(N,)` silently gives `(N, N)`, and a loss trains
//! on it. A [`Policy`] allows, warns about or refuses each [`Class`] of implicit broadcast, in a scope of one
//! thread or in the whole process; an [`Audit`] writes down all of them. Stretching on purpose, with `expand`
//! or `broadcast_to`, is no implicit broadcast, nor is a bare number among the operands. Without a policy or
//! an audit nothing is looked at.
//!
//! ```
//! use zerostride::Tensor;
//! use zerostride::policy::{Action, Audit, Class, Policy};
//!
//! let (output, target) = (Tensor::rand(&[32, 1], 1)?, Tensor::rand(&[32], 2)?);
//! let _strict = Policy::new().with(Class::MutualStretch, Action::Error).enter();
//! let error = (&output - &target).square().mean(..).eval().unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "the policy refuses mutual_stretch: sub of [32, 1] and [32] broadcasts to [32, 32], larger than every operand"
//! );
//!
//! let audit = Audit::start();
//! (output.squeeze()? - &target).square().mean(..).eval()?;      // as it was meant
//! output.add(&Tensor::ones(&[1])?)?;
//! let log = audit.log();
//! assert_eq!(log.records().len(), 1);
//! assert_eq!(log.records()[0].classes.to_string(), "rank_added");
//! assert!(log.records()[0].caller.to_string().contains(".rs:"));
//! # Ok::<(), zerostride::Error>(())
//! ```
//!
//! An expression is checked each time it is evaluated, on the thread that evaluates it: threads that share
//! its work make no broadcasts of their own.
//!
//! This module does not know how a broadcast is drawn (`zerostride-explain`), nor does it compute anything.

mod audit;
mod hook;
mod log;
mod rules;
mod scope;
mod watch;

pub use crate::caller::{Caller, at};
pub use crate::error::{Objection, Record};
pub use audit::Audit;
pub use hook::set_hook;
pub use log::Log;
pub use rules::{Action, DEFAULT_MAX_BYTES, Policy, UnknownAction};
pub use scope::{Scope, is_on};
pub use watch::{check, report};
pub use zerostride_shape::{Class, Classes, UnknownClass};

pub(crate) use watch::{ResultMemory, look};
