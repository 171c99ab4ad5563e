//! Owns `Policy`: what to do about each class of implicit broadcast. It does not know where a policy is in
//! force (`scope.rs`).

use std::fmt;
use std::str::FromStr;

use zerostride_shape::Class;

/// What happens when an implicit broadcast of a class is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    #[default]
    Allow,
    /// The hook is told, once for each operation and call site of the process: [`set_hook`](super::set_hook).
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

    /// This policy, with the actions of another one for classes that it has none for.
    pub(super) fn or(self, other: Policy) -> Policy {
        Policy {
            actions: std::array::from_fn(|class| self.actions[class].or(other.actions[class])),
            max_bytes: self.max_bytes.or(other.max_bytes),
        }
    }

    pub(super) fn action(&self, class: Class) -> Action {
        self.actions[class as usize].unwrap_or_default()
    }

    pub(super) fn limit(&self) -> u128 {
        self.max_bytes.unwrap_or(DEFAULT_MAX_BYTES)
    }
}
