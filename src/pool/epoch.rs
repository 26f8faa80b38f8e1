//! The epoch that protects what slots lend.
//!
//! A thread that has loaded from a slot is *pinned* until the pool that it loaded
//! with is drained. The slot's own reference to what it held before is *retired*: it
//! is given up only when all who were pinned then have been drained since. There
//! is one collector for the process, as a reader under one manager must hold off a
//! writer under another. (Fraser's epoch-based reclamation, by crossbeam-epoch.)
//!
//! The collector runs what is retired whenever some thread pins, in the middle of
//! anything; so all that it does is to push to the orphans, and a drain releases.

use super::local::{self, Local};
use super::mail;
use crate::event::{Event, EventKind};
use crate::object::header::Thin;
use crate::sync::{Counter, elapsed, lazy};
use crate::thread::orphans::ORPHANS;
use crate::thread::registry::REGISTRY;
use crossbeam_epoch::{Collector, Guard, LocalHandle};
use std::cell::{Cell, UnsafeCell};
use std::time::Duration;

/// How long a thread may be pinned before it is said.
const LONG: Duration = Duration::from_secs(1);

pub(crate) struct Shared {
    collector: Collector,
    /// When to look again who holds the epoch up; milliseconds.
    next_look: Counter,
}

lazy! {
    static SHARED: Shared = Shared {
        collector: Collector::new(),
        next_look: Counter::new(),
    };
}

/// A thread's part in the epoch.
pub(crate) struct Epoch {
    /// Made at the first use. Never borrowed while other code runs.
    handle: UnsafeCell<Option<LocalHandle>>,
    /// Pools that hold a guard.
    pinned: Cell<usize>,
}

impl Epoch {
    pub(crate) const fn new() -> Self {
        Self {
            handle: UnsafeCell::new(None),
            pinned: Cell::new(0),
        }
    }

    fn guard(&self) -> Guard {
        // SAFETY: the thread's own; neither registering nor pinning runs foreign code.
        let handle = unsafe { &mut *self.handle.get() };
        handle
            .get_or_insert_with(|| SHARED.collector.register())
            .pin()
    }

    /// For a pool, by the name that it was given, until [`Epoch::unpinned`].
    pub(crate) fn pin(&self, local: &Local, name: Option<&str>) -> Guard {
        let guard = self.guard();
        if self.pinned.replace(self.pinned.get() + 1) == 0 {
            if let Some(record) = local.record() {
                record.pinned.begin(name);
            }
        }
        guard
    }

    /// A pool has given its guard up.
    pub(crate) fn unpinned(&self, local: &Local) {
        self.pinned.set(self.pinned.get() - 1);
        if self.pinned.get() == 0 {
            if let Some(record) = local.record() {
                record.pinned.end();
            }
        }
    }
}

/// Keeps what slots hold just now, for a few instructions.
pub(crate) fn with_guard<R>(f: impl FnOnce(&Guard) -> R) -> R {
    let guard = local::with(|local| match local {
        Some(local) => local.epoch.guard(),
        // The thread has exited: the guard keeps what it needs of this.
        None => SHARED.collector.register().pin(),
    });
    f(&guard)
}

/// Gives up a strong reference once all who are pinned now are so no more.
///
/// # Safety
/// The caller has the reference, to an object that may be sent to other threads.
pub(crate) unsafe fn retire(thin: Thin) {
    // SAFETY: by the caller's promise.
    let message = unsafe { mail::orphaned_release(thin) };
    let announced = ORPHANS.announce(message);
    with_guard(|guard| {
        // SAFETY: called once, by whichever thread; all that it touches is static or
        // owned by it.
        unsafe { guard.defer_unchecked(move || ORPHANS.adopt_announced(announced)) };
        // So that others can get at it, and it does not wait for this thread.
        guard.flush();
    });
}

/// Tries to get the epoch on, and with it what is retired to the orphans.
#[cold]
#[inline(never)]
pub(crate) fn advance() {
    with_guard(Guard::flush);
    let now = elapsed();
    if now.as_millis() as u64 >= SHARED.next_look.get() {
        SHARED.next_look.set((now + LONG / 4).as_millis() as u64);
        report_the_long(now);
    }
}

fn report_the_long(now: Duration) {
    for record in REGISTRY.all() {
        if let Some((age, pool)) = record.pinned.longer_than(LONG, now) {
            let event = Event::new(EventKind::EpochHeld, record.label());
            event.pool(pool).age(age).emit();
        }
    }
}
