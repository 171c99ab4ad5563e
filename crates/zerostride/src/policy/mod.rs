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
mod scope;
mod watch;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use crate::caller::{Caller, at};
pub use crate::error::{Objection, Record};
pub use audit::{Audit, Log};
pub use scope::{Scope, is_on};
pub use watch::{check, report};
pub use zerostride_shape::{Class, Classes, UnknownClass};

pub(crate) use watch::{Target, look};

use crate::fork::{Guarded, Lock};

/// What happens when an implicit broadcast of a class is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    #[default]
    Allow,
    /// The hook is told, once for each operation and call site of the process: [`set_hook`].
    Warn,
    /// The evaluation fails with [`Error::Policy`](crate::Error::Policy) before anything is computed.
    Error,
}

/// A name that no [`Action`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a policy says allow, warn or error")]
pub struct UnknownAction;

impl FromStr for Action {
    type Err = UnknownAction;

    fn from_str(name: &str) -> Result<Action, UnknownAction> {
        match name {
            "allow" => Ok(Action::Allow),
            "warn" => Ok(Action::Warn),
            "error" => Ok(Action::Error),
            _ => Err(UnknownAction),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Action::Allow => "allow",
            Action::Warn => "warn",
            Action::Error => "error",
        })
    }
}

/// Bytes above which a result is a [`Class::BlowUp`], unless a policy says another number: 1 GiB.
pub const DEFAULT_MAX_BYTES: u128 = 1 << 30;

/// What to do about each class of implicit broadcast.
///
/// A policy has actions for some classes; for the other classes the enclosing scope decides, then the
/// process; a class without any action is allowed.
///
/// ```
/// use zerostride::{Tensor, policy::{Action, Class, Policy}};
/// let (column, row) = (Tensor::ones(&[1000, 1])?, Tensor::ones(&[1, 1000])?);
/// let _limit = Policy::new().max_bytes(1 << 20).enter();
/// assert!(column.add(&row).is_err());                                  // 4 MB that were not meant
/// assert_eq!((&column + &row).sum(-1).eval()?.numel(), 1000);          // here they never exist
/// let _inner = Policy::new().with(Class::BlowUp, Action::Allow).enter();
/// assert!(column.add(&row).is_ok());
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    actions: [Option<Action>; Class::ALL.len()],
    max_bytes: Option<u128>,
}

impl Policy {
    /// A policy without actions.
    pub const fn new() -> Policy {
        Policy { actions: [None; Class::ALL.len()], max_bytes: None }
    }

    /// The policy with an action for a class.
    #[must_use]
    pub const fn with(mut self, class: Class, action: Action) -> Policy {
        self.actions[class as usize] = Some(action);
        self
    }

    /// The policy with a limit in bytes for results of broadcasts that are stored: what takes more is a
    /// [`Class::BlowUp`], and an error where the policy does not say otherwise.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: u128) -> Policy {
        self.max_bytes = Some(bytes);
        if self.actions[Class::BlowUp as usize].is_none() {
            return self.with(Class::BlowUp, Action::Error);
        }
        self
    }

    /// Puts the policy in force on this thread until the scope is dropped.
    pub fn enter(self) -> Scope {
        Scope::enter(self)
    }

    /// Puts the policy in force in the whole process, instead of the one that was; [`Policy::new`] ends it.
    pub fn install(self) {
        scope::install(self);
    }

    /// This policy, with the actions of another one for classes that it has none for.
    fn or(self, other: Policy) -> Policy {
        Policy {
            actions: std::array::from_fn(|class| self.actions[class].or(other.actions[class])),
            max_bytes: self.max_bytes.or(other.max_bytes),
        }
    }

    fn action(&self, class: Class) -> Action {
        self.actions[class as usize].unwrap_or_default()
    }

    fn limit(&self) -> u128 {
        self.max_bytes.unwrap_or(DEFAULT_MAX_BYTES)
    }
}

type Hook = dyn Fn(&Objection) + Send + Sync;

static HOOK: Lock<Option<Arc<Hook>>> = Lock::new(Guarded::Hook, None);

/// Sets the function that is told of broadcasts that a policy warns about; by default the warning goes to
/// standard error.
///
/// ```
/// use zerostride::policy;
/// // A logger takes one line: `|objection| tracing::warn!(caller = %objection.record.caller, "{objection}")`.
/// policy::set_hook(|objection| println!("{}: {objection}", objection.record.caller));
/// ```
pub fn set_hook(hook: impl Fn(&Objection) + Send + Sync + 'static) {
    *HOOK.lock() = Some(Arc::new(hook));
}

fn warn(objection: &Objection) {
    // The hook is called without the lock: it may set another one.
    let hook = HOOK.lock().clone();
    match hook {
        Some(hook) => hook(objection),
        None => eprintln!("{}: warning: {objection}", objection.record.caller),
    }
}
