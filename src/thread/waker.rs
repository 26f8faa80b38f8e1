//! Wakes a thread that sleeps, or that waits in a foreign event loop.
//!
//! A caller wakes the thread because a push to its [inbox](super::inbox) said so, or because the
//! caller has changed, under a lock, a value that the thread tests before it sleeps. So a wake-up
//! comes after the change, and is stored if the thread does not sleep yet: spurious wake-ups are
//! possible, missed ones are not.

use crate::sync::{Parker, with_room};
use crate::unwind::reporting;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A function that wakes a foreign event loop.
pub(crate) type WakeHook = Arc<dyn Fn() + Send + Sync>;

/// The means to wake one thread.
#[derive(Default)]
pub(crate) struct ThreadWaker {
    parker: Parker,
    /// The hooks, of which only the last one is called. The lock is std's even in loom builds: no
    /// code that runs under it yields to loom's scheduler.
    hooks: Mutex<Vec<WakeHook>>,
}

impl ThreadWaker {
    /// Wakes the thread, or ends its next sleep at once; and calls the hook, if there is one, on
    /// the calling thread. Must not be called under a lock.
    #[cold]
    pub(crate) fn wake(&self) {
        self.parker.unpark();
        let hook = self.lock().last().cloned();
        if let Some(hook) = hook {
            // A panic of the receiver's hook must not reach the sender.
            reporting(|| hook());
            drop_hook(hook);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<WakeHook>> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until woken, or for `limit` at most; not at all if a wake-up has come since the last
    /// sleep. For the thread itself.
    pub(crate) fn sleep(&self, limit: Option<Duration>) {
        self.parker.park(limit);
    }

    /// Returns whether a hook is set.
    pub(crate) fn has_hook(&self) -> bool {
        !self.lock().is_empty()
    }
}

/// The place of one hook of a thread. The waker calls the hook that was set last; when that one is
/// removed, it calls the hook that was set before.
#[derive(Default)]
pub(crate) struct HookPlace(Option<WakeHook>);

// A panic leaves no hook in a broken state.
impl std::panic::UnwindSafe for HookPlace {}
impl std::panic::RefUnwindSafe for HookPlace {}

impl HookPlace {
    /// Sets, replaces or removes the hook. For the thread itself.
    pub(crate) fn set(&mut self, waker: &ThreadWaker, hook: Option<WakeHook>) {
        // Adds the new hook before it removes the old one: otherwise a wake-up might go to an outer
        // loop. Nothing is allocated or dropped under the lock, as both may run foreign code.
        if let Some(hook) = hook.clone() {
            let hooks = |f: &mut dyn FnMut(&mut Vec<WakeHook>)| f(&mut waker.lock());
            with_room(hooks, |hooks| hooks.push(hook));
        }
        let old = std::mem::replace(&mut self.0, hook);
        let removed = old.as_ref().and_then(|old| {
            let mut hooks = waker.lock();
            let at = hooks.iter().position(|hook| Arc::ptr_eq(hook, old));
            at.map(|at| hooks.remove(at))
        });
        old.into_iter().chain(removed).for_each(drop_hook);
    }
}

/// Drops a reference to a hook. If it is the last one, the hook's destructor runs: its panic is
/// reported, as it must neither reach a sender nor leave a loop half closed.
fn drop_hook(hook: WakeHook) {
    reporting(|| drop(hook));
}
