//! Wakes a thread that sleeps, or that waits in a foreign event loop.
//!
//! A caller wakes the thread because a push to its [inbox](super::inbox) said so, or because the
//! caller has changed, under a lock, a value that the thread tests before it sleeps. So a wake-up
//! comes after the change, and is stored if the thread does not sleep yet: spurious wake-ups are
//! possible, missed ones are not.

use crate::sync::{Parker, catch_unwind};
use crate::unwind::report;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A function that wakes a foreign event loop.
pub(crate) type WakeHook = Arc<dyn Fn() + Send + Sync>;

/// A weak reference to the hook of a loop, which drops the hook at its own end.
type OuterHook = Weak<dyn Fn() + Send + Sync>;

/// The means to wake one thread.
pub(crate) struct ThreadWaker {
    parker: Parker,
    /// The lock is std's even in loom builds, as nothing yields while it is held.
    hook: Mutex<Option<WakeHook>>,
}

impl ThreadWaker {
    pub(crate) fn new() -> Self {
        Self {
            parker: Parker::new(),
            hook: Mutex::new(None),
        }
    }

    /// Wakes the thread, or ends its next sleep at once; and calls the hook, if there is one, on
    /// the calling thread. Must not be called under a lock.
    #[cold]
    pub(crate) fn wake(&self) {
        self.parker.unpark();
        let hook = self.hook();
        if let Some(hook) = hook {
            // A panic of the receiver's hook must not reach the sender.
            if let Err(payload) = catch_unwind(|| hook()) {
                report(payload);
            }
            drop_hook(hook);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<WakeHook>> {
        self.hook.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until woken, or for `limit` at most; not at all if a wake-up has come since the last
    /// sleep. For the thread itself.
    pub(crate) fn sleep(&self, limit: Option<Duration>) {
        self.parker.park(limit);
    }

    /// Sets the hook that wake-ups call from now on; returns the previous one.
    #[must_use = "its destructor is foreign code: see `drop_hook`"]
    fn set_hook(&self, hook: Option<WakeHook>) -> Option<WakeHook> {
        std::mem::replace(&mut *self.lock(), hook)
    }

    /// Returns the hook, if one is set.
    fn hook(&self) -> Option<WakeHook> {
        self.lock().clone()
    }

    /// Returns whether a hook is set.
    pub(crate) fn has_hook(&self) -> bool {
        self.lock().is_some()
    }
}

/// The place of one hook among those of a thread: the one that was set last is called, and when it is
/// removed, the one before it is called again.
#[derive(Default)]
pub(crate) struct HookPlace {
    hook: Option<WakeHook>,
    /// The hook that was called before this one.
    outer: Option<OuterHook>,
}

impl HookPlace {
    /// Sets, replaces or removes the hook. For the thread itself.
    pub(crate) fn set(&mut self, waker: &ThreadWaker, hook: Option<WakeHook>) {
        let old = std::mem::replace(&mut self.hook, hook);
        let set = waker.hook();
        if old.is_none() {
            self.outer = set.as_ref().map(Arc::downgrade);
        }
        // Leaves the hook alone if another one was set since, which outlives this one.
        let is_ours = match (&set, &old) {
            (Some(set), Some(old)) => Arc::ptr_eq(set, old),
            (set, _) => set.is_none(),
        };
        if self.hook.is_some() || is_ours {
            let outer = || self.outer.as_ref()?.upgrade();
            let before = waker.set_hook(self.hook.clone().or_else(outer));
            before.into_iter().for_each(drop_hook);
        }
        [set, old].into_iter().flatten().for_each(drop_hook);
    }
}

/// Drops a reference to a hook. If it is the last one, the hook's destructor runs: its panic is
/// reported, as it must neither reach a sender nor leave a loop half closed.
fn drop_hook(hook: WakeHook) {
    if let Err(payload) = catch_unwind(|| drop(hook)) {
        report(payload);
    }
}
