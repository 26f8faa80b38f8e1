//! The epoch that protects what slots lend.
//!
//! A pool that has loaded from a slot is *pinned* until it is drained. The slot's own reference
//! to what it held before is *retired*: it is given up only when all pools that were pinned then
//! have been drained since. There is one collector for the process, as a reader under one manager
//! must hold off a writer under another. (Fraser's epoch-based reclamation, by crossbeam-epoch.)
//!
//! 1. Each pinned pool is a participant of its own. Guards of one participant nest, so pools
//!    that are pinned in overlapping turns would add up to one pin that never ends.
//! 2. What is retired waits in one list. Whoever advances the epoch seals the list into a batch
//!    and defers that: a store costs one allocation, and a pin of any length keeps no more than
//!    two bags of the collector's.
//! 3. The collector runs what is deferred whenever some thread pins, in the middle of anything.
//!    So all that it does is to push the batch to the orphans, and a drain releases.

use super::remote_release;
use super::thread_pools::{self, ThreadPools};
use crate::event::{Event, EventKind};
use crate::object::header::Thin;
use crate::sync::cell::Cell;
use crate::sync::{Hint, const_fn, elapsed, lazy};
use crate::thread::current::current_label;
use crate::thread::key::{ThreadKey, own_key};
use crate::thread::lazy_timer::LazyTimer;
use crate::thread::orphans::ORPHANS;
use crate::thread::registry::REGISTRY;
use crossbeam_epoch::{Collector, Guard, LocalHandle};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How long a pool may be pinned, or releases may wait for a drain, before an event says so.
const LONG: Duration = Duration::from_secs(1);

/// References that are retired between two attempts to advance the epoch, if many wait.
const EVERY: u64 = 32;

/// Steps of the epoch after which what was retired before is ready, if no pin holds it.
pub(crate) const STEPS: u32 = 3;

/// Milliseconds without an attempt after which fewer are enough for one.
const RARELY: u64 = 100;

/// Unused participants that a thread keeps.
const SPARE: usize = 8;

pub(crate) struct Shared {
    collector: Collector,
    /// When to look again what holds the epoch; milliseconds.
    next_look: Hint,
    /// When the last attempt was made to advance; milliseconds.
    advanced: Hint,
}

lazy! {
    static SHARED: Shared = Shared {
        collector: Collector::new(),
        next_look: Hint::new(),
        advanced: Hint::new(),
    };
}

/// All participants. std's lock even in loom builds: nothing yields while it is held.
static WATCHES: Mutex<Vec<Weak<Watch>>> = Mutex::new(Vec::new());

/// What others can see of a participant.
#[derive(Debug)]
struct Watch {
    pinned: LazyTimer,
    /// The thread, and its name and key for messages.
    thread: Option<ThreadKey>,
    label: String,
    /// The name that the pinned pool was given. Locked as [`WATCHES`].
    pool: Mutex<Cow<'static, str>>,
}

impl Watch {
    /// Has reports look at it for as long as it lives.
    fn enlist(self: &Arc<Self>) {
        let mut watches = WATCHES.lock().unwrap_or_else(PoisonError::into_inner);
        if watches.len() == watches.capacity() {
            watches.retain(|watch| watch.strong_count() > 0);
        }
        watches.push(Arc::downgrade(self));
    }

    fn pool(&self) -> MutexGuard<'_, Cow<'static, str>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn emit(&self, age: Duration) {
        let pool = self.pool().clone();
        let event = Event::new(EventKind::EpochHeld, self.thread_label());
        event.pool(pool).age(age).emit();
    }

    /// The thread's label, which says so if it has ended.
    fn thread_label(&self) -> String {
        let ended = self.thread.is_none_or(|key| REGISTRY.get(key).is_none());
        match (ended, self.label.strip_suffix(')')) {
            (false, _) => self.label.clone(),
            (true, Some(label)) => format!("{label}, ended)"),
            (true, None) => format!("{}, ended", self.label),
        }
    }
}

const UNNAMED: Cow<'static, str> = Cow::Borrowed("unnamed");

/// A part in the epoch: one pool's while it is pinned, or one short operation's.
pub(crate) struct Participant {
    /// Goes before its handle.
    guard: Option<Guard>,
    handle: LocalHandle,
    watch: Arc<Watch>,
    /// True if the watch has a name.
    named: bool,
    /// The next unused one of the thread's.
    next: Option<Box<Participant>>,
}

impl Participant {
    #[cold]
    fn new() -> Box<Self> {
        let watch = Arc::new(Watch {
            pinned: LazyTimer::new(),
            thread: own_key(),
            label: current_label(),
            pool: Mutex::new(UNNAMED),
        });
        watch.enlist();
        Box::new(Self {
            guard: None,
            handle: SHARED.collector.register(),
            watch,
            named: false,
            next: None,
        })
    }

    fn pin(&mut self, name: Option<&Cow<'static, str>>) {
        if self.named || name.is_some() {
            *self.watch.pool() = name.cloned().unwrap_or(UNNAMED);
            self.named = name.is_some();
        }
        self.guard = Some(self.handle.pin());
        self.watch.pinned.start();
    }

    fn unpin(&mut self) {
        self.watch.pinned.stop();
        self.guard = None;
    }
}

/// A thread's participants.
pub(crate) struct Epoch {
    /// Participants that are not in use. Taken and set, never borrowed.
    spare: Cell<Option<Box<Participant>>>,
    spares: Cell<usize>,
    /// How many are pinned by pools.
    pinned: Cell<usize>,
}

impl Epoch {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                spare: Cell::new(None),
                spares: Cell::new(0),
                pinned: Cell::new(0),
            }
        }
    }

    fn take(&self) -> Box<Participant> {
        let Some(mut participant) = self.spare.take() else {
            return Participant::new();
        };
        self.spare.set(participant.next.take());
        self.spares.set(self.spares.get() - 1);
        participant
    }

    fn put(&self, mut participant: Box<Participant>) {
        if self.spares.get() < SPARE {
            participant.next = self.spare.take();
            self.spare.set(Some(participant));
            self.spares.set(self.spares.get() + 1);
        }
    }

    /// Pins for a pool, by the name that it was given, until [`Epoch::unpin`].
    pub(crate) fn pin(&self, name: Option<&Cow<'static, str>>) -> Box<Participant> {
        let mut participant = self.take();
        participant.pin(name);
        self.pinned.set(self.pinned.get() + 1);
        participant
    }

    /// Takes back what [`Epoch::pin`] gave.
    pub(crate) fn unpin(&self, mut participant: Box<Participant>) {
        participant.unpin();
        self.pinned.set(self.pinned.get() - 1);
        self.put(participant);
    }
}

/// The pools that hold the epoch: thread and name.
pub(crate) fn holders() -> Vec<(String, String)> {
    let pinned = |watch: &Arc<Watch>| watch.pinned.is_running();
    let watches = watches().into_iter().filter(pinned);
    watches
        .map(|watch| (watch.thread_label(), watch.pool().clone().into_owned()))
        .collect()
}

fn watches() -> Vec<Arc<Watch>> {
    let watches = WATCHES.lock().unwrap_or_else(PoisonError::into_inner);
    watches.iter().filter_map(Weak::upgrade).collect()
}

/// Returns whether pools of the calling thread are pinned, and of no other: then this thread itself
/// holds the epoch.
pub(crate) fn is_held_here_alone() -> bool {
    let me = own_key();
    let is_held =
        thread_pools::with(|local| local.is_some_and(|local| local.epoch.pinned.get() > 0));
    is_held && {
        let mut watches = watches().into_iter();
        !watches.any(|watch| watch.pinned.is_running() && watch.thread != me)
    }
}

/// A pin for the time of one call. It goes back also if that panics.
struct Pin<'l> {
    local: Option<&'l ThreadPools>,
    participant: Option<Box<Participant>>,
    /// True if reports are to name it.
    watched: bool,
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let Some(mut participant) = self.participant.take() else {
            return;
        };
        match self.local {
            Some(local) if self.watched => local.epoch.unpin(participant),
            Some(local) => {
                participant.guard = None;
                local.epoch.put(participant);
            }
            None => participant.unpin(),
        }
    }
}

/// Keeps what slots hold just now, for a few instructions of our own.
pub(crate) fn with_guard<R>(f: impl FnOnce(&Guard) -> R) -> R {
    thread_pools::with(|local| {
        // A thread that has exited has no place to keep one.
        let mut participant = local.map_or_else(Participant::new, |local| local.epoch.take());
        participant.guard = Some(participant.handle.pin());
        let pin = Pin {
            local,
            participant: Some(participant),
            watched: false,
        };
        let guard = pin.participant.as_ref().and_then(|p| p.guard.as_ref());
        f(guard.expect("it has just been pinned"))
    })
}

/// Keeps what slots hold just now while `f` runs, which is foreign code: if it takes long, an
/// event says so.
pub(crate) fn pinned_while<R>(name: &'static str, f: impl FnOnce() -> R) -> R {
    let name = Cow::Borrowed(name);
    thread_pools::with(|local| {
        let participant = match local {
            Some(local) => local.epoch.pin(Some(&name)),
            None => {
                let mut participant = Participant::new();
                participant.pin(Some(&name));
                participant
            }
        };
        let _pin = Pin {
            local,
            participant: Some(participant),
            watched: true,
        };
        f()
    })
}

/// Gives up a strong reference once all who are pinned now are so no more.
///
/// # Safety
/// The caller has the reference, to an object that may be sent to other threads.
pub(crate) unsafe fn retire(thin: Thin) {
    // SAFETY: by the caller's promise.
    let release = unsafe { remote_release::orphaned_release(thin) };
    let waiting = ORPHANS.retire(release);
    // A thread that stores now and then is to find the pool that holds the epoch, too.
    let rarely = || elapsed().as_millis() as u64 >= SHARED.advanced.get() + RARELY;
    if waiting % EVERY == 0 || waiting.is_power_of_two() && rarely() {
        advance();
    }
}

/// Tries to take the epoch a step further, and with it what is retired to the orphans.
#[cold]
#[inline(never)]
pub(crate) fn advance() {
    with_guard(|guard| {
        if let Some(sealed) = ORPHANS.seal() {
            // SAFETY: called once, by whichever thread; all that it touches is static or
            // owned by it.
            unsafe { guard.defer_unchecked(move || ORPHANS.adopt_sealed(sealed)) };
        }
        // So that others can get at it, and it does not wait for this thread.
        guard.flush();
    });
    let now = elapsed();
    let at = now.as_millis() as u64;
    SHARED.advanced.set(at);
    if at >= SHARED.next_look.get() {
        SHARED.next_look.set((now + LONG / 4).as_millis() as u64);
        look(now);
    }
}

/// Takes the epoch as far as it goes, and stops when something has become ready. Returns whether
/// something has.
pub(crate) fn advance_until_ready() -> bool {
    for _ in 0..STEPS {
        if ORPHANS.has_releases() || !ORPHANS.has_deferred() {
            break;
        }
        advance();
    }
    ORPHANS.has_releases()
}

/// Reports what has held the epoch, or has waited for a drain, for long.
fn look(now: Duration) {
    for watch in watches() {
        if let Some(age) = watch.pinned.overdue(LONG, now) {
            watch.emit(age);
        }
    }
    if let Some(age) = ORPHANS.waiting_longer_than(LONG, now) {
        let event = Event::new(EventKind::OrphansWaiting, current_label());
        event.count(ORPHANS.ready()).age(age).emit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_few_participants() {
        let epoch = Epoch::new();
        let pinned: Vec<_> = (0..3 * SPARE).map(|_| epoch.pin(None)).collect();
        assert_eq!(epoch.pinned.get(), 3 * SPARE);
        for participant in pinned {
            epoch.unpin(participant);
        }
        assert_eq!((epoch.pinned.get(), epoch.spares.get()), (0, SPARE));
    }
}
