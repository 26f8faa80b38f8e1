//! The epoch, which protects objects that slots lend.
//!
//! A pool that has loaded from a slot is *pinned* until it is drained. When a slot's content is
//! replaced, the slot's own reference to the old object is *retired*: it is released only when all
//! pools that were pinned at that time have been drained. The whole process has one collector,
//! because a reader under one manager must delay the releases of a writer under another. (Fraser's
//! epoch-based reclamation, implemented by crossbeam-epoch.)
//!
//! 1. Each pinned pool is a participant of its own. Guards of one participant nest, so one
//!    participant for several pools with overlapping pins would stay pinned for ever.
//! 2. Retired references wait in one list. The thread that advances the epoch seals the list into a
//!    batch and defers the batch: so a store makes only one allocation, and a pin of any length
//!    keeps at most two of the collector's garbage bags.
//! 3. The collector runs deferred functions whenever some thread pins, at any point of that
//!    thread's code. So a deferred function only pushes its batch to the orphans; a later drain
//!    releases them.

use crate::event::{Event, EventKind};
use crate::sync::cell::Cell;
use crate::sync::epoch::{Collector, Guard, LocalHandle};
use crate::sync::{Hint, PlainMap, const_fn, elapsed, lazy};
use crate::thread::current::current_label;
use crate::thread::key::{ThreadKey, own_key};
use crate::thread::lazy_timer::LazyTimer;
use crate::thread::orphans::ORPHANS;
use crate::thread::registry::REGISTRY;
use std::borrow::Cow;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// An event reports a pool that is pinned for this long, and releases that wait this long for a
/// drain.
const LONG: Duration = Duration::from_secs(1);

/// While many references wait, a thread tries to advance the epoch once for this many that are
/// retired.
const EVERY: u64 = 32;

/// After this many advances of the epoch, references that were retired before are ready, if no pin
/// delays them.
pub(crate) const STEPS: u32 = 3;

/// After this many milliseconds without an attempt to advance, fewer retired references suffice for
/// one.
const RARE_MS: u64 = 100;

/// Number of unused participants that a thread keeps.
const SPARE: usize = 8;

/// State of the epoch that all threads share. Times are in milliseconds.
pub(crate) struct EpochShared {
    collector: Collector,
    /// The time of the next check which pools hold the epoch; any thread makes it.
    next_look: Hint,
    /// The time of the last attempt to advance.
    advanced: Hint,
}

lazy! {
    static SHARED: EpochShared = EpochShared {
        collector: Collector::new(),
        next_look: Hint::new(),
        advanced: Hint::new(),
    };
}

/// The watches of all participants, by their addresses. Invisible to models, as nothing yields
/// while the table is locked.
static WATCHES: PlainMap<usize, Weak<PinWatch>> = PlainMap::new();

/// The part of a participant that other threads read, for reports.
#[derive(Debug)]
struct PinWatch {
    pinned: LazyTimer,
    /// The participant's thread.
    thread: Option<ThreadKey>,
    /// Name and key of the participant's thread, for messages.
    label: String,
    /// Name of the pinned pool. The lock is std's even in loom builds, as nothing yields while it
    /// is held.
    pool: Mutex<Cow<'static, str>>,
}

impl PinWatch {
    fn of_this_thread() -> Arc<Self> {
        Arc::new(Self {
            pinned: LazyTimer::new(),
            thread: own_key(),
            label: current_label(),
            pool: Mutex::new(Cow::Borrowed(UNNAMED)),
        })
    }

    /// Lists this watch for reports, until it is dropped.
    fn enlist(self: &Arc<Self>) {
        WATCHES.insert(self.address(), Arc::downgrade(self));
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    fn lock_pool(&self) -> MutexGuard<'_, Cow<'static, str>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_pool(&self, name: Cow<'static, str>) {
        let before = std::mem::replace(&mut *self.lock_pool(), name);
        // Drops the former name after unlocking: the global allocator is foreign code.
        drop(before);
    }

    fn pool(&self) -> Cow<'static, str> {
        let mut text = String::new();
        loop {
            let len = match &*self.lock_pool() {
                Cow::Borrowed(name) => return Cow::Borrowed(name),
                Cow::Owned(name) if name.len() <= text.capacity() => {
                    text.push_str(name);
                    return Cow::Owned(text);
                }
                Cow::Owned(name) => name.len(),
            };
            // Allocates without the lock: the global allocator is foreign code.
            text = String::with_capacity(len);
        }
    }

    fn emit(&self, age: Duration) {
        let event = Event::new(EventKind::EpochHeld, self.thread_label());
        event.pool(self.pool()).age(age).emit();
    }

    /// Returns the thread's label, and says if the thread has ended.
    fn thread_label(&self) -> String {
        let ended = self.thread.is_none_or(|key| REGISTRY.get(key).is_none());
        match (ended, self.label.strip_suffix(')')) {
            (false, _) => self.label.clone(),
            (true, Some(label)) => format!("{label}, ended)"),
            (true, None) => format!("{}, ended", self.label),
        }
    }
}

impl Drop for PinWatch {
    fn drop(&mut self) {
        WATCHES.remove(&self.address());
    }
}

/// What reports call a pool without a name.
static UNNAMED: &str = "unnamed";

/// A participant of the epoch, for one pool or for one call.
pub(crate) struct Participant {
    /// Declared before `handle`, because it must be dropped first.
    guard: Option<Guard>,
    handle: LocalHandle,
    watch: Arc<PinWatch>,
    /// The name that the watch has, if it is a static one.
    name: Option<&'static str>,
    /// The next in the thread's list of unused participants.
    next: Option<Box<Participant>>,
}

impl Participant {
    #[cold]
    fn new() -> Box<Self> {
        let watch = PinWatch::of_this_thread();
        watch.enlist();
        Box::new(Self {
            guard: None,
            handle: SHARED.collector.register(),
            watch,
            name: Some(UNNAMED),
            next: None,
        })
    }

    /// Sets the name that reports use. Locks nothing if it is the same static one as before.
    fn set_name(&mut self, name: Option<&Cow<'static, str>>) {
        let text = match name {
            None => Some(UNNAMED),
            Some(Cow::Borrowed(text)) => Some(*text),
            Some(Cow::Owned(_)) => None,
        };
        let both = text.zip(self.name);
        if !both.is_some_and(|(new, old)| ptr::eq(new, old)) {
            let name = name.cloned().unwrap_or(Cow::Borrowed(UNNAMED));
            self.watch.set_pool(name);
            self.name = text;
        }
    }

    #[inline]
    fn pin(&mut self) {
        self.guard = Some(self.handle.pin());
        self.watch.pinned.start();
    }

    #[inline]
    fn unpin(&mut self) {
        self.watch.pinned.stop();
        self.guard = None;
    }
}

/// A thread's participants. Owner only.
pub(crate) struct Participants {
    /// List of participants that are not in use. Code takes and sets the list, and never borrows
    /// it.
    spare: Cell<Option<Box<Participant>>>,
    /// The length of `spare`.
    spares: Cell<usize>,
    /// Number of participants that [`Participants::pin`] has pinned.
    pinned: Cell<usize>,
}

impl Participants {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                spare: Cell::new(None),
                spares: Cell::new(0),
                pinned: Cell::new(0),
            }
        }
    }

    /// Returns whether a pool has pinned any of the thread's participants.
    pub(crate) fn any_pinned(&self) -> bool {
        self.pinned.get() > 0
    }

    fn take(&self) -> Box<Participant> {
        let Some(mut participant) = self.spare.take() else {
            return Participant::new();
        };
        self.spare.set(participant.next.take());
        self.spares.set(self.spares.get() - 1);
        participant
    }

    /// Takes back a participant, which must not be pinned.
    fn put(&self, mut participant: Box<Participant>) {
        if self.spares.get() < SPARE {
            participant.next = self.spare.take();
            self.spare.set(Some(participant));
            self.spares.set(self.spares.get() + 1);
        }
    }

    /// Returns an unpinned participant for a pool with this name.
    fn take_for(&self, name: Option<&Cow<'static, str>>) -> Box<Participant> {
        let mut participant = self.take();
        participant.set_name(name);
        participant
    }

    /// Pins a participant from [`take_for`](Self::take_for).
    #[inline]
    fn pin(&self, participant: &mut Participant) {
        participant.pin();
        self.pinned.set(self.pinned.get() + 1);
    }

    /// Unpins a participant that [`pin`](Self::pin) has pinned.
    #[inline]
    fn unpin(&self, participant: &mut Participant) {
        participant.unpin();
        self.pinned.set(self.pinned.get() - 1);
    }
}

/// The pin of one pool. Owner only.
pub(crate) struct PoolPin {
    /// The pool's participant, from the first pin until the pool is closed, so that the next pin
    /// need not look for one. Code takes and sets it, and never borrows it.
    participant: Cell<Option<Box<Participant>>>,
    /// True if there is a `participant` and it is pinned. Quicker to read.
    pinned: Cell<bool>,
}

impl PoolPin {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                participant: Cell::new(None),
                pinned: Cell::new(false),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned.get()
    }

    /// Takes one of the thread's participants for the pool, which has this name and no participant
    /// yet.
    pub(crate) fn open(&self, all: &Participants, name: Option<&Cow<'static, str>>) {
        let participant = all.take_for(name);
        // The global allocator is foreign code, and may have pinned this very pool meanwhile.
        if self.pinned.get() {
            all.put(participant);
        } else {
            self.put(participant);
        }
    }

    /// Pins the pool, which is not pinned. Returns false if it has no participant.
    #[inline(always)]
    pub(crate) fn pin(&self, all: &Participants) -> bool {
        let Some(mut participant) = self.participant.take() else {
            return false;
        };
        all.pin(&mut participant);
        // The global allocator, as in `open`, may have pinned the pool meanwhile. Then that
        // participant protects objects that were loaded since: it stays, and this one is given
        // back.
        if self.pinned.replace(true) {
            all.unpin(&mut participant);
            all.put(participant);
        } else {
            self.put(participant);
        }
        true
    }

    /// Unpins the pool, which is pinned.
    #[inline(always)]
    pub(crate) fn unpin(&self, all: &Participants) {
        self.pinned.set(false);
        if let Some(mut participant) = self.participant.take() {
            all.unpin(&mut participant);
            self.put(participant);
        }
    }

    /// Gives the participant back, if there is one. It is not pinned.
    pub(crate) fn close(&self, all: &Participants) {
        if let Some(participant) = self.participant.take() {
            all.put(participant);
        }
    }

    #[inline(always)]
    fn put(&self, participant: Box<Participant>) {
        let before = self.participant.replace(Some(participant));
        debug_assert!(before.is_none());
        // `before` is `None`, but the compiler does not know that, and would drop it.
        std::mem::forget(before);
    }
}

/// Returns the pools that hold the epoch, each as its thread's label and its name.
pub(crate) fn holders() -> Vec<(String, String)> {
    let pinned = |watch: &Arc<PinWatch>| watch.pinned.is_running();
    // Collected first, as other threads may run while a label is made.
    let watches: Vec<_> = watches().filter(pinned).collect();
    watches
        .into_iter()
        .map(|watch| (watch.thread_label(), watch.pool().into_owned()))
        .collect()
}

/// Returns all watches, in the order of their threads. The table's order depends on addresses, so
/// with it executions under shuttle could not be repeated.
fn watches() -> impl Iterator<Item = Arc<PinWatch>> {
    let all = WATCHES.all().into_iter();
    let mut watches: Vec<_> = all.filter_map(|(_, watch)| watch.upgrade()).collect();
    watches.sort_by_key(|watch| watch.thread);
    watches.into_iter()
}

/// Returns whether any pool holds the epoch.
pub(crate) fn is_held() -> bool {
    watches().any(|watch| watch.pinned.is_running())
}

/// Returns whether a thread other than `me` holds the epoch.
pub(crate) fn is_held_elsewhere(me: Option<ThreadKey>) -> bool {
    let mut watches = watches();
    watches.any(|watch| watch.pinned.is_running() && watch.thread != me)
}

/// A pinned participant for one call. Dropping the `CallPin` unpins it, also by a panic.
struct CallPin<'l> {
    local: Option<&'l Participants>,
    participant: Option<Box<Participant>>,
    /// True if reports may name the call: its watch runs, and the thread's count includes the pin.
    watched: bool,
}

impl Drop for CallPin<'_> {
    fn drop(&mut self) {
        let Some(mut participant) = self.participant.take() else {
            return;
        };
        match self.local {
            Some(local) => {
                if self.watched {
                    local.unpin(&mut participant);
                } else {
                    participant.guard = None;
                }
                local.put(participant);
            }
            None => participant.unpin(),
        }
    }
}

/// Runs `f`, a few instructions of this crate, while the calling thread is pinned: objects that
/// slots hold now stay alive until `f` is done. `local` is the calling thread's list of
/// participants; a thread that has exited has none.
pub(crate) fn with_guard<R>(local: Option<&Participants>, f: impl FnOnce(&Guard) -> R) -> R {
    let mut participant = local.map_or_else(Participant::new, Participants::take);
    participant.guard = Some(participant.handle.pin());
    let pin = CallPin {
        local,
        participant: Some(participant),
        watched: false,
    };
    let guard = pin.participant.as_ref().and_then(|p| p.guard.as_ref());
    f(guard.expect("it has just been pinned"))
}

/// Runs `f`, which is foreign code, while the calling thread is pinned: objects that slots hold now
/// stay alive until `f` is done. If `f` takes long, an event reports it under `name`. `local` is
/// the calling thread's list of participants.
pub(crate) fn pinned_while<R>(
    local: Option<&Participants>,
    name: &'static str,
    f: impl FnOnce() -> R,
) -> R {
    let name = Cow::Borrowed(name);
    let mut participant = local.map_or_else(Participant::new, Participants::take);
    participant.set_name(Some(&name));
    match local {
        Some(local) => local.pin(&mut participant),
        None => participant.pin(),
    }
    let _pin = CallPin {
        local,
        participant: Some(participant),
        watched: true,
    };
    f()
}

/// Returns whether this many waiting releases are worth an attempt to advance the epoch.
pub(crate) fn is_advance_due(waiting: u64) -> bool {
    // These rare attempts let a thread that seldom stores find a pool that holds the epoch.
    let rarely = || elapsed().as_millis() as u64 >= SHARED.advanced.get() + RARE_MS;
    waiting % EVERY == 0 || waiting.is_power_of_two() && rarely()
}

/// Tries to advance the epoch, and defers the release of all retired references.
#[cold]
#[inline(never)]
pub(crate) fn advance(local: Option<&Participants>) {
    with_guard(local, |guard| {
        if let Some(sealed) = ORPHANS.seal() {
            // SAFETY: the closure may run once, later, on any thread: it owns the batch, the
            // objects in it may be sent to other threads by `retire`'s contract, and `ORPHANS` is
            // static.
            unsafe { guard.defer_unchecked(move || ORPHANS.adopt_sealed(sealed)) };
        }
        // Makes the batch available to other threads, so that it does not wait until this thread
        // advances again.
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

/// Advances the epoch until a release has become ready or it can advance no further. Returns
/// whether a release is ready.
pub(crate) fn advance_until_ready(local: Option<&Participants>) -> bool {
    for _ in 0..STEPS {
        if ORPHANS.has_releases() || !ORPHANS.has_deferred() {
            break;
        }
        advance(local);
    }
    ORPHANS.has_releases()
}

/// Emits events for pools that have held the epoch for long and for orphans that have waited for
/// long.
fn look(now: Duration) {
    let overdue = |watch: Arc<PinWatch>| Some((watch.pinned.overdue(LONG, now)?, watch));
    let overdue: Vec<_> = watches().filter_map(overdue).collect();
    for (age, watch) in overdue {
        watch.emit(age);
    }
    report_waiting_orphans(now);
}

/// Emits an event if orphans have waited for a drain for long.
pub(crate) fn report_waiting_orphans(now: Duration) {
    if let Some(age) = ORPHANS.waiting_longer_than(LONG, now) {
        let event = Event::new(EventKind::OrphansWaiting, current_label());
        event.count(ORPHANS.ready()).age(age).emit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_a_limited_number_of_unused_participants() {
        let participants = Participants::new();
        let pinned: Vec<_> = (0..3 * SPARE)
            .map(|_| {
                let mut participant = participants.take_for(None);
                participants.pin(&mut participant);
                participant
            })
            .collect();
        assert_eq!(participants.pinned.get(), 3 * SPARE);
        for mut participant in pinned {
            participants.unpin(&mut participant);
            participants.put(participant);
        }
        assert_eq!(
            (participants.pinned.get(), participants.spares.get()),
            (0, SPARE)
        );
    }

    #[test]
    fn dropped_watches_leave_the_table() {
        let watch = PinWatch::of_this_thread();
        watch.enlist();
        let address = watch.address();
        assert!(WATCHES.contains(&address));
        drop(watch);
        assert!(!WATCHES.contains(&address));
    }
}
