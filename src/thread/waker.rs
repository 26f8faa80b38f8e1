//! How a thread that sleeps, or that waits in a foreign event loop, is woken.
//!
//! Whether it must be is for the [inbox](super::inbox) to say, or for the lock under
//! which something else was changed that the thread looks at before it sleeps. So a
//! ring comes after the change, and is kept if nobody sleeps yet.

use crate::sync::{Parker, catch_unwind};
use crate::unwind::report;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// What a foreign event loop wants called.
pub(crate) type WakeHook = Arc<dyn Fn() + Send + Sync>;

/// One that is gone when its loop is.
pub(crate) type OuterHook = Weak<dyn Fn() + Send + Sync>;

pub(crate) struct ThreadWaker {
    parker: Parker,
    /// std's lock even in loom builds: nothing yields while it is held.
    hook: Mutex<Option<WakeHook>>,
}

impl ThreadWaker {
    pub(crate) fn new() -> Self {
        Self {
            parker: Parker::new(),
            hook: Mutex::new(None),
        }
    }

    /// Wakes the thread, or has it not sleep the next time; and calls the hook, if
    /// there is one, on the calling thread. Not to be called under a lock.
    #[cold]
    pub(crate) fn wake(&self) {
        self.parker.unpark();
        let hook = self.hook();
        if let Some(hook) = hook {
            // Who sends has nothing to do with the panics of who is sent to.
            if let Err(payload) = catch_unwind(|| hook()) {
                report(payload);
            }
            drop_hook(hook);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<WakeHook>> {
        self.hook.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until it rings, or for at most `limit`; not at all if it has rung since
    /// the last sleep. For the thread itself.
    pub(crate) fn sleep(&self, limit: Option<Duration>) {
        self.parker.park(limit);
    }

    /// Has `hook` called from now on when it rings. Gives the one before.
    #[must_use = "its destructor is foreign code: see `drop_hook`"]
    pub(crate) fn set_hook(&self, hook: Option<WakeHook>) -> Option<WakeHook> {
        std::mem::replace(&mut *self.lock(), hook)
    }

    pub(crate) fn hook(&self) -> Option<WakeHook> {
        self.lock().clone()
    }

    /// Whether a hook is set.
    pub(crate) fn has_hook(&self) -> bool {
        self.lock().is_some()
    }
}

/// Drops a hook. If it is the last reference its destructor runs, which may panic: neither
/// may a sender hear of that, nor a loop be left half closed by it.
pub(crate) fn drop_hook(hook: WakeHook) {
    if let Err(payload) = catch_unwind(|| drop(hook)) {
        report(payload);
    }
}
