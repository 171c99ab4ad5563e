//! Owns the hook that is told of warnings. It does not know what is warned about.

use std::sync::Arc;

use crate::error::Objection;
use crate::fork::{Guarded, Lock};

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

pub(super) fn warn(objection: &Objection) {
    // The hook is called without the lock: it may set another one.
    let hook = HOOK.lock().clone();
    match hook {
        Some(hook) => hook(objection),
        None => eprintln!("{}: warning: {objection}", objection.record.caller),
    }
}
