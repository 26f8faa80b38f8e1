//! The epoch, which protects objects that slots lend.
//!
//! A pool that has loaded from a slot is *pinned* until it is drained, and a call of `with` or
//! `rcu` until it ends: each *holds* the epoch. When a slot's content is replaced, the slot's own
//! reference to the old object is *retired*: it is released only when all that was pinned at that
//! time has been unpinned. The process has one epoch, because a reader under one manager must delay
//! the releases of a writer under another. (Fraser's epoch-based reclamation, with fences that only
//! the rare side pays for, as in liburcu: `thread::fences`.)
//!
//! ```text
//! EPOCH.now     7, only grows; each collection that takes references increments it
//! EPOCH.first ─> Participant ─> Participant ─> ...    one for each thread that uses slots
//!                │ pinned: 5, the oldest epoch of what is pinned on the thread; or 0
//!                │ retired: references that the thread has taken out of slots
//!                └ pins: oldest ─> Pin 5 ─> Pin 7     pinned pools, in the order of their pins
//! ```
//!
//! * *Pin*: read `now` (5); if nothing is pinned on this thread, announce 5 in `pinned` and make a
//!   light fence; otherwise 5 or less is announced already. Only then read a slot.
//! * *Unpin*: announce the oldest epoch of what is still pinned, or 0.
//! * *Retire*: take the reference out of the slot, and push it.
//! * *Collect*: take all retired references; increment `now`, whose former value is their *tag*;
//!   make a heavy fence; read all announcements. References can be released if their tag is below
//!   all of them.
//!
//! # Why no object is released while a reader uses it
//! A reader announces an epoch, makes a fence, and reads a slot. A collector takes what was removed
//! from slots, makes a fence, and reads the announcements. One of the two sees what the other did
//! before its fence. So if the reader got a removed object, the collector sees an announcement: of
//! the reader's epoch `e`, or of an older one. If `e` is not above the tag, the collector waits. If
//! `e` is above the tag, the reader has acquired the increment that followed the removal, so it
//! cannot have got that object. This needs a tag that comes from the increment: an epoch that the
//! collector only reads is not ordered with the increments of other threads. A thread's second pin
//! needs no fence: until that pin's epoch `e` is announced, an older one is. From then on the case
//! of an `e` above the tag applies, since the second pin acquired `e` before its first read.
//!
//! # Invariants
//! 1. *Participants.* A participant that is in the list stays there, at its address. One thread at
//!    a time owns it: from the exchange of `is_owned` to 1, to the store of 0. Only the owner
//!    accesses its cells, except that any thread reads `next`.
//! 2. *Pins.* A pin belongs to one participant, whose owner alone uses it (other threads only read
//!    `listed` and `watch`), and stays at its address. A pin is in the list of what is pinned, in
//!    the order of the epochs; or in the list of spare pins; or an open, unpinned pool has it.

use crate::event::{Event, EventKind};
use crate::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{
    FreeWitness, Hint, OwnedU64, boxed, const_fn, described, elapsed, global, unbox,
};
use crate::thread::current::current_label;
use crate::thread::fences::{self, LightFence};
use crate::thread::key::{ThreadKey, own_key};
use crate::thread::lazy_timer::LazyTimer;
use crate::thread::orphans::ORPHANS;
use crate::thread::registry::REGISTRY;
use crossbeam_utils::CachePadded;
use std::borrow::Cow;
use std::iter;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An event reports a pool or call that is pinned for this long, and releases that wait this long
/// for a drain.
const LONG: Duration = Duration::from_secs(1);

/// A thread collects each time it has retired this many references that no collection has taken.
const EVERY: u64 = 64;

/// After this many milliseconds without a collection, fewer retired references suffice for one.
const RARE_MS: u64 = 100;

/// In [`Epoch::waits`]: references may have been retired since the last collection began.
const QUEUED: usize = 1;
/// In [`Epoch::waits`], one batch: references that a collection has taken and not passed on.
const BATCH: usize = 2;

/// The state that all threads share. `now` is the epoch; the hints are times, in milliseconds.
pub(crate) struct Epoch {
    pub(crate) now: CachePadded<AtomicU64>,
    /// The newest participant; the others follow by `next`.
    first: AtomicPtr<Participant>,
    /// Which references wait: [`QUEUED`], and [`BATCH`] for each batch.
    waits: CachePadded<AtomicUsize>,
    /// How many retired references have been passed on to be released.
    passed_on: AtomicU64,
    /// When the next check for pools that hold the epoch is due; any thread makes it.
    next_look: Hint,
    /// The time of the last collection.
    collected: Hint,
}

global! {
    pub(crate) static EPOCH: Epoch = Epoch::new();
}

impl Epoch {
    const_fn! {
        fn new() -> Self {
            Self {
                now: CachePadded::new(AtomicU64::new(1)),
                first: AtomicPtr::new(ptr::null_mut()),
                waits: CachePadded::new(AtomicUsize::new(0)),
                passed_on: AtomicU64::new(0),
                next_look: Hint::new(),
                collected: Hint::new(),
            }
        }
    }

    fn participants(&self) -> impl Iterator<Item = &Participant> {
        // Acquire: pairs with the Release in `add`, so that the participants are seen complete.
        // Model: epoch_pin.
        let mut at = self.first.load(Ordering::Acquire);
        iter::from_fn(move || {
            // SAFETY: participants stay as long as the epoch (invariant 1).
            let participant = unsafe { at.as_ref() }?;
            at = participant.next.get();
            Some(participant)
        })
    }

    /// Adds a participant, which the calling thread owns.
    fn add(&self) -> &Participant {
        let new = boxed(Participant::new());
        // SAFETY: participants stay as long as the epoch (invariant 1), and this one was just made.
        let participant = unsafe { new.as_ref() };
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            participant.next.set(first);
            // Release: pairs with the Acquire in `participants`. Model: epoch_pin.
            match self.first.compare_exchange_weak(
                first,
                new.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return participant,
                Err(now) => first = now,
            }
        }
    }

    /// Returns a participant that the calling thread owns from now on.
    #[cold]
    fn enter(&self) -> &Participant {
        let free = self.participants().find(|participant| {
            // Relaxed: the exchange below decides.
            participant.is_owned.load(Ordering::Relaxed) == 0
                // Acquire: pairs with the Release in `leave`, so that the former owner's accesses
                // happen before this thread's. Model: epoch_leave.
                && participant
                    .is_owned
                    .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        });
        let participant = free.unwrap_or_else(|| self.add());
        participant.set_label(own_key(), current_label());
        participant
    }

    /// Returns the oldest epoch that is announced; the greatest number if nothing is pinned.
    fn oldest_pin(&self) -> u64 {
        let announced = self.participants().map(Participant::announced);
        let epochs = announced.filter(|epoch| *epoch != 0);
        epochs.min().unwrap_or(u64::MAX)
    }
}

/// Only models drop an [`Epoch`].
impl Drop for Epoch {
    fn drop(&mut self) {
        let mut at = self.first.load(Ordering::Relaxed);
        while let Some(participant) = NonNull::new(at) {
            // SAFETY: `add` made the participant by `boxed`; nothing else uses the epoch any more.
            at = unsafe { unbox(participant) }.next.get();
        }
    }
}

/// The announcement, the pins and the retired references of one thread.
pub(crate) struct Participant {
    /// 0, or the oldest epoch of what is pinned on the thread. Written by the owner only.
    pinned: CachePadded<OwnedU64>,
    light: LightFence,
    /// How many references the successive owners have retired. Written by the owner only.
    retired: OwnedU64,
    /// The value of `retired` when a collection last took the references in `queue`.
    taken: Hint,
    /// The newest page of references that were retired and not taken yet. Untyped: `pool` defines
    /// pages.
    queue: AtomicPtr<u8>,
    /// 1 while a thread owns the participant.
    is_owned: AtomicUsize,
    /// The next in the list of participants. Written before the participant is published.
    next: Cell<*mut Participant>,
    /// The ends of the list of the pins of pinned pools, in the order of their epochs.
    oldest: Cell<*const Pin>,
    newest: Cell<*const Pin>,
    /// Pins that no pool has.
    spare: Cell<*const Pin>,
    /// How many calls are pinned. Coroutines may end them in any order.
    calls: Cell<usize>,
    /// Watches for reports, one for each kind of [`Call`]. Of the calls that are pinned at once,
    /// only the first starts a watch, that of its kind.
    call_watches: [PinWatch; 2],
    /// All pins of this participant, the newest first. Only grows.
    pins: AtomicPtr<Pin>,
    /// The owner's key, and the label by which reports name it. The lock is std's even in loom
    /// builds, as nothing yields while it is held.
    label: Mutex<(Option<ThreadKey>, String)>,
}

// SAFETY: only the owner accesses the cells, except `next`, which nothing writes after publication
// (invariant 1); the rest is `Sync`.
unsafe impl Sync for Participant {}
// SAFETY: one thread at a time, the owner, accesses the cells (invariant 1); the rest is `Send`.
unsafe impl Send for Participant {}

impl Participant {
    fn new() -> Self {
        Self {
            pinned: CachePadded::new(OwnedU64::new(0)),
            light: LightFence::default(),
            retired: OwnedU64::new(0),
            taken: Hint::new(),
            queue: AtomicPtr::new(ptr::null_mut()),
            is_owned: AtomicUsize::new(1),
            next: Cell::new(ptr::null_mut()),
            oldest: Cell::new(ptr::null()),
            newest: Cell::new(ptr::null()),
            spare: Cell::new(ptr::null()),
            calls: Cell::new(0),
            call_watches: ["with", "rcu"].map(PinWatch::new),
            pins: AtomicPtr::new(ptr::null_mut()),
            label: Mutex::default(),
        }
    }

    /// Returns what the owner announces.
    fn announced(&self) -> u64 {
        // Acquire: pairs with the Release in `announce` and `announce_oldest`, so that the readers'
        // uses of objects happen before the release of the objects. Model: epoch_pin.
        self.pinned.load(Ordering::Acquire)
    }

    fn has_retired(&self) -> bool {
        // Relaxed: the exchange that takes the queue orders what is in it.
        !self.queue.load(Ordering::Relaxed).is_null()
    }

    fn lock_label(&self) -> MutexGuard<'_, (Option<ThreadKey>, String)> {
        self.label.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_label(&self, key: Option<ThreadKey>, label: String) {
        let before = std::mem::replace(&mut *self.lock_label(), (key, label));
        // Drops `before` after unlocking: the global allocator is foreign code.
        drop(before);
    }

    /// Gives the participant back, unless something is pinned: then its announcement must stay.
    fn leave(&self) {
        if self.pinned.own() == 0 {
            // Release: pairs with the Acquire in `enter`. Model: epoch_leave.
            self.is_owned.store(0, Ordering::Release);
        }
    }

    /// Returns the epoch of a new pin. If no epoch is announced, announces this one.
    #[inline(always)]
    fn announce(&self) -> u64 {
        // Acquire: pairs with the increment in `seal`, so that slots that this thread reads from
        // now on do not hold references with a tag below `now`. Model: epoch_second_pool.
        let now = EPOCH.now.load(Ordering::Acquire);
        if self.pinned.own() == 0 {
            // Release: pairs with the Acquire in `announced`: a collector that reads this epoch
            // must acquire the uses under former pins, too. The fence orders the store before the
            // reads of slots. Model: epoch_pin.
            self.pinned.store(now, Ordering::Release);
            self.light.fence();
        }
        now
    }

    /// Announces the oldest epoch of what is pinned. While a call is pinned, the announcement
    /// stays.
    #[inline(always)]
    fn announce_oldest(&self) {
        if self.calls.get() == 0 {
            // SAFETY: the pin is in the list of what is pinned (invariant 2).
            let oldest = unsafe { self.oldest.get().as_ref() }.map_or(0, |pin| pin.epoch.get());
            // Release: pairs with the Acquire in `announced`. Model: epoch_pin.
            self.pinned.store(oldest, Ordering::Release);
        }
    }

    /// Adds a pin to the list of what is pinned.
    fn pin(&self, pin: &Pin) {
        pin.epoch.set(self.announce());
        let newest = self.newest.replace(pin);
        pin.older.set(newest);
        pin.newer.set(ptr::null());
        // SAFETY: the pin is in the list of what is pinned (invariant 2).
        match unsafe { newest.as_ref() } {
            Some(newest) => newest.newer.set(pin),
            None => self.oldest.set(pin),
        }
        pin.watch.since.start();
    }

    /// Removes a pin from the list of what is pinned.
    fn unpin(&self, pin: &Pin) {
        pin.watch.since.stop();
        let (older, newer) = (pin.older.get(), pin.newer.get());
        // SAFETY: the neighbors are in the list of what is pinned (invariant 2).
        match unsafe { older.as_ref() } {
            Some(older) => older.newer.set(newer),
            None => self.oldest.set(newer),
        }
        // SAFETY: the neighbors are in the list of what is pinned (invariant 2).
        match unsafe { newer.as_ref() } {
            Some(newer) => newer.older.set(older),
            None => self.newest.set(older),
        }
        self.announce_oldest();
    }

    /// Takes a spare pin, or makes one if there is none.
    fn take_pin(&self) -> &Pin {
        // SAFETY: the pin is in the list of spare ones (invariant 2).
        if let Some(pin) = unsafe { self.spare.get().as_ref() } {
            self.spare.set(pin.newer.get());
            return pin;
        }
        let new = boxed(Pin {
            of: ptr::from_ref(self),
            listed: Cell::new(ptr::null_mut()),
            epoch: Cell::new(0),
            older: Cell::new(ptr::null()),
            newer: Cell::new(ptr::null()),
            watch: PinWatch::new(UNNAMED),
        });
        // SAFETY: pins stay as long as their participant (invariant 2), and this one was just made.
        let pin = unsafe { new.as_ref() };
        // Relaxed: only this thread, the owner, writes `pins`.
        pin.listed.set(self.pins.load(Ordering::Relaxed));
        // Release: pairs with the Acquire in `watches`. Model: epoch_holders.
        self.pins.store(new.as_ptr(), Ordering::Release);
        pin
    }

    /// Returns the watches of the participant's pins and calls.
    fn watches(&self) -> impl Iterator<Item = &PinWatch> {
        // Acquire: pairs with the Release in `take_pin`, so that the pins are seen complete.
        // Model: epoch_holders.
        let mut at = self.pins.load(Ordering::Acquire);
        let pins = iter::from_fn(move || {
            // SAFETY: pins stay as long as their participant (invariant 2).
            let pin = unsafe { at.as_ref() }?;
            at = pin.listed.get();
            Some(&pin.watch)
        });
        self.call_watches.iter().chain(pins)
    }

    /// Returns the owner's key, and the owner's label, which says if the thread has ended.
    fn thread(&self) -> (Option<ThreadKey>, String) {
        let (key, label) = copied(|| self.lock_label(), |owner| (owner.0, &owner.1));
        let ended = key.is_none_or(|key| REGISTRY.get(key).is_none());
        let label = match (ended, label.strip_suffix(')')) {
            (false, _) => label,
            (true, Some(label)) => format!("{label}, ended)"),
            (true, None) => format!("{label}, ended"),
        };
        (key, label)
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        self.is_owned.freed();
        self.queue.freed();
        let mut at = self.pins.load(Ordering::Relaxed);
        self.pins.freed();
        while let Some(pin) = NonNull::new(at) {
            // SAFETY: `take_pin` made the pin by `boxed`; nothing else uses the participant any more.
            at = unsafe { unbox(pin) }.listed.get();
        }
    }
}

/// The pin of one pool.
struct Pin {
    /// The participant to which the pin belongs.
    of: *const Participant,
    /// The next in the participant's list of all pins. Written before the pin is published.
    listed: Cell<*mut Pin>,
    epoch: Cell<u64>,
    /// The neighbors in the list of what is pinned; `newer` also links spare pins.
    older: Cell<*const Pin>,
    newer: Cell<*const Pin>,
    watch: PinWatch,
}

/// The part of a pin, or of a call that is pinned, that other threads read, for reports.
struct PinWatch {
    since: LazyTimer,
    /// What is pinned: the name of a pool or of a function. The lock is std's even in loom builds, as
    /// nothing yields while it is held.
    name: Mutex<Cow<'static, str>>,
    /// The name, if it is a static one. Owner only.
    fixed: Cell<Option<&'static str>>,
}

/// The name of an unnamed pool in reports.
static UNNAMED: &str = "unnamed";

impl PinWatch {
    fn new(name: &'static str) -> Self {
        Self {
            since: LazyTimer::new(),
            name: Mutex::new(Cow::Borrowed(name)),
            fixed: Cell::new(Some(name)),
        }
    }

    fn lock_name(&self) -> MutexGuard<'_, Cow<'static, str>> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the name. Locks nothing if it is the same static one as before. Owner only.
    #[inline]
    fn set_fixed_name(&self, name: &'static str) {
        if !self.fixed.get().is_some_and(|old| ptr::eq(old, name)) {
            self.set_name(Cow::Borrowed(name), Some(name));
        }
    }

    #[cold]
    fn set_name(&self, name: Cow<'static, str>, fixed: Option<&'static str>) {
        self.fixed.set(fixed);
        let before = std::mem::replace(&mut *self.lock_name(), name);
        // Drops `before` after unlocking: the global allocator is foreign code.
        drop(before);
    }

    fn name(&self) -> String {
        copied(|| self.lock_name(), |name| ((), name)).1
    }
}

/// Copies a text that is behind a lock, and returns it with the other value that `parts` reads
/// there. Allocates without the lock: the global allocator is foreign code.
fn copied<G, R>(lock: impl Fn() -> G, parts: impl Fn(&G) -> (R, &str)) -> (R, String) {
    let mut text = String::new();
    loop {
        let locked = lock();
        let (rest, now) = parts(&locked);
        if now.len() <= text.capacity() {
            text.push_str(now);
            drop(locked);
            return (rest, text);
        }
        let len = now.len();
        drop(locked);
        text = String::with_capacity(len);
    }
}

/// A thread's participant; null until the thread first uses a slot. Owner only.
pub(crate) struct OwnParticipant(Cell<*const Participant>);

impl OwnParticipant {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self(Cell::new(ptr::null()))
        }
    }

    fn known(&self) -> Option<&Participant> {
        // SAFETY: participants stay as long as the epoch (invariant 1).
        unsafe { self.0.get().as_ref() }
    }

    #[inline(always)]
    fn get(&self) -> &Participant {
        self.known().unwrap_or_else(|| self.enter())
    }

    #[cold]
    #[inline(never)]
    fn enter(&self) -> &Participant {
        let new = EPOCH.enter();
        // The global allocator is foreign code, and may have used a slot meanwhile.
        if let Some(other) = self.known() {
            new.leave();
            return other;
        }
        self.0.set(new);
        new
    }

    /// Returns whether a call of the thread is pinned.
    pub(crate) fn has_calls(&self) -> bool {
        self.known().is_some_and(|own| own.calls.get() != 0)
    }

    /// Returns whether a pool or a call of the thread is pinned.
    pub(crate) fn is_pinned(&self) -> bool {
        self.known().is_some_and(|own| own.pinned.own() != 0)
    }
}

impl Drop for OwnParticipant {
    fn drop(&mut self) {
        self.known().into_iter().for_each(Participant::leave);
    }
}

/// Calls `f` with the participant of the calling thread. A thread that has exited, for which `own`
/// is `None`, gets a participant for this call.
#[inline(always)]
fn with_participant<R>(own: Option<&OwnParticipant>, f: impl FnOnce(&Participant) -> R) -> R {
    struct Visit<'e>(&'e Participant);
    impl Drop for Visit<'_> {
        fn drop(&mut self) {
            self.0.leave();
        }
    }
    match own {
        Some(own) => f(own.get()),
        None => f(Visit(EPOCH.enter()).0),
    }
}

/// A pool's pointer to its pin, and whether the pool is pinned. Owner only.
pub(crate) struct PoolPin {
    /// Null until the pool is first pinned; then kept until the pool is closed, for later pins.
    pin: Cell<*const Pin>,
    /// True while the pool is pinned. Quicker to read than `pin`.
    is_pinned: Cell<bool>,
}

impl PoolPin {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                pin: Cell::new(ptr::null()),
                is_pinned: Cell::new(false),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn is_pinned(&self) -> bool {
        self.is_pinned.get()
    }

    fn known(&self) -> Option<(&Pin, &Participant)> {
        // SAFETY: pins stay as long as their participant (invariant 2), and participants as long as
        // the epoch (invariant 1).
        unsafe {
            let pin = self.pin.get().as_ref()?;
            Some((pin, &*pin.of))
        }
    }

    /// Takes one of the thread's pins for the pool, which has this name.
    pub(crate) fn open(&self, own: &OwnParticipant, name: Option<Cow<'static, str>>) {
        let pin = own.get().take_pin();
        match name {
            None => pin.watch.set_fixed_name(UNNAMED),
            Some(Cow::Borrowed(name)) => pin.watch.set_fixed_name(name),
            Some(owned) => pin.watch.set_name(owned, None),
        }
        // The global allocator is foreign code, and may have pinned this very pool meanwhile.
        match self.known() {
            Some((_, participant)) => participant.put_back(pin),
            None => self.pin.set(pin),
        }
    }

    /// Pins the pool, which must not be pinned. Returns false if it has no pin yet.
    #[inline]
    pub(crate) fn pin(&self) -> bool {
        let Some((pin, participant)) = self.known() else {
            return false;
        };
        participant.pin(pin);
        self.is_pinned.set(true);
        true
    }

    /// Unpins the pool, which must be pinned.
    #[inline]
    pub(crate) fn unpin(&self) {
        self.is_pinned.set(false);
        if let Some((pin, participant)) = self.known() {
            participant.unpin(pin);
        }
    }

    /// Gives the pin back, if the pool has one. The pool must not be pinned.
    pub(crate) fn close(&self) {
        if let Some((pin, participant)) = self.known() {
            participant.put_back(pin);
            self.pin.set(ptr::null());
        }
    }
}

impl Participant {
    fn put_back(&self, pin: &Pin) {
        pin.newer.set(self.spare.replace(pin));
    }
}

/// The function of a slot that a pinned call runs, for reports.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    With,
    Rcu,
}

/// A call that is pinned. Dropping it, also during a panic, ends the call's pin.
struct CallPin<'p>(&'p Participant, Option<Call>);

impl<'p> CallPin<'p> {
    #[inline(always)]
    fn new(participant: &'p Participant, call: Option<Call>) -> Self {
        let calls = participant.calls.get();
        participant.calls.set(calls + 1);
        if calls == 0 {
            participant.announce();
            if let Some(call) = call {
                participant.call_watches[call as usize].since.start();
            }
        }
        Self(participant, call)
    }
}

impl Drop for CallPin<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let Self(participant, call) = self;
        let calls = participant.calls.get() - 1;
        participant.calls.set(calls);
        if calls == 0 {
            if call.is_some() {
                // Stops both watches: the call that started one may have been of the other kind.
                for watch in &participant.call_watches {
                    watch.since.stop();
                }
            }
            participant.announce_oldest();
        }
    }
}

/// Calls `f` while the calling thread is pinned: objects that slots hold now stay alive until `f`
/// is done. If `f` takes long, an event names `call`, unless that is `None`. `own` is the calling
/// thread's participant; a thread that has exited has none.
#[inline(always)]
pub(crate) fn pinned_while<R>(
    own: Option<&OwnParticipant>,
    call: Option<Call>,
    f: impl FnOnce() -> R,
) -> R {
    with_participant(own, |participant| {
        let _pin = CallPin::new(participant, call);
        f()
    })
}

/// Counts a reference that was taken out of a slot, and calls `push` to add the reference to a
/// queue, from which a collection takes it; `push` returns whether the queue was empty. Returns
/// about how many retired references of this thread no collection has taken yet.
pub(crate) fn retire(
    own: Option<&OwnParticipant>,
    push: impl FnOnce(&AtomicPtr<u8>) -> bool,
) -> u64 {
    with_participant(own, |participant| {
        let retired = participant.retired.own() + 1;
        // Relaxed: the count is raised before a thread can take the reference, by the Release of
        // the push and the Acquire of the take. Model: orphans_quiesce.
        participant.retired.store(retired, Ordering::Relaxed);
        if push(&participant.queue) {
            note_retired();
        }
        retired.wrapping_sub(participant.taken.get())
    })
}

/// Makes the next collection look at the queues.
fn note_retired() {
    // Release: pairs with the Acquire in `take_retired`, so that a collection that takes this note
    // finds what is in the queue. The collection also finds what other threads noted before, as
    // this read-modify-write continues their release sequences. Model: epoch_flag.
    EPOCH.waits.fetch_or(QUEUED, Ordering::Release);
}

/// Returns whether references may have been retired since the last collection began.
pub(crate) fn has_retired() -> bool {
    // Relaxed: a thread that misses the flag looks again, in its next drain or after a short sleep.
    EPOCH.waits.load(Ordering::Relaxed) & QUEUED != 0
}

/// Returns whether any retired reference has not been passed on.
// Does not read the counts, which are inexact while a thread is between counting and pushing.
#[inline]
pub(crate) fn has_deferred() -> bool {
    // Relaxed: a thread that misses some looks again, in its next drain or after a short sleep.
    EPOCH.waits.load(Ordering::Relaxed) != 0
}

/// The first step of a collection: calls `take` with each queue that may not be empty; `take`
/// returns whether it has left anything there. What is taken counts as one batch, until
/// [`batch_ends`].
pub(crate) fn take_retired(mut take: impl FnMut(&AtomicPtr<u8>) -> bool) {
    // Counts the batch before the flag is cleared, so that no thread sees meanwhile that nothing
    // waits. Relaxed: both operations change one word. Model: epoch_taken.
    EPOCH.waits.fetch_add(BATCH, Ordering::Relaxed);
    // Acquire: pairs with the Release in `note_retired`. Model: epoch_flag.
    EPOCH.waits.fetch_and(!QUEUED, Ordering::Acquire);
    let mut any_left = false;
    for participant in EPOCH.participants().filter(|p| p.has_retired()) {
        let retired = participant.retired.load(Ordering::Relaxed);
        participant.taken.set(retired);
        any_left |= take(&participant.queue);
    }
    if any_left {
        note_retired();
    }
}

/// Takes a batch off the count, because it has been passed on or is empty.
pub(crate) fn batch_ends() {
    // Relaxed: references that have been passed on count as orphans.
    EPOCH.waits.fetch_sub(BATCH, Ordering::Relaxed);
}

/// The second step: increments the epoch. Returns the tag of the references that were taken.
pub(crate) fn seal() -> u64 {
    // Release: pairs with the Acquire in `announce`, so that a thread that announces a younger
    // epoch finds none of those references in slots, also if the thread has read a later increment,
    // as that continues the release sequence. Model: epoch_second_pool.
    EPOCH.now.fetch_add(1, Ordering::Release)
}

/// The third step: returns the oldest epoch that is announced, or the greatest number if nothing is
/// pinned. All references that were taken before with a lower tag can be released. Returns 0 if the
/// kernel has refused the fence: then no reference can be released.
pub(crate) fn oldest_pin() -> u64 {
    if !fences::heavy(|| EPOCH.participants().map(|participant| &participant.light)) {
        let event = Event::new(EventKind::FenceRefused, current_label());
        event.emit();
        return 0;
    }
    EPOCH.oldest_pin()
}

/// Returns the oldest epoch that this thread sees announced, or the greatest number if none.
/// Makes no fence: the result is a hint whether a collection is of use.
pub(crate) fn glance() -> u64 {
    EPOCH.oldest_pin()
}

/// Counts retired references that have been passed on, and that count as orphans now.
pub(crate) fn count_passed_on(n: u64) {
    // Release: pairs with the Acquire in `deferred`. Model: epoch_passed_on.
    EPOCH.passed_on.fetch_add(n, Ordering::Release);
}

/// Returns how many retired references have not been passed on. All others count as orphans, or
/// have been released, by the time this returns.
pub(crate) fn deferred() -> usize {
    // Read before `retired`: each reference is counted there before it is passed on. Acquire: pairs
    // with the Release in `count_passed_on`. Model: epoch_passed_on, epoch_passed_on_another.
    let passed_on = EPOCH.passed_on.load(Ordering::Acquire);
    let retired = |participant: &Participant| participant.retired.load(Ordering::Relaxed);
    let retired: u64 = EPOCH.participants().map(retired).sum();
    retired.saturating_sub(passed_on) as usize
}

/// Returns whether this many waiting references of one thread are worth a collection.
pub(crate) fn is_due(waiting: u64) -> bool {
    is_due_after(waiting, &EPOCH.collected, || elapsed().as_millis() as u64)
}

/// Returns what [`is_due`] does. The last collection was at `collected`, in milliseconds as `now`.
fn is_due_after(waiting: u64, collected: &Hint, now: impl FnOnce() -> u64) -> bool {
    // `rarely` makes a thread that seldom stores collect, too, so that it finds what holds the
    // epoch.
    let rarely = || waiting.is_power_of_two() && now() >= collected.get() + RARE_MS;
    waiting != 0 && (waiting % EVERY == 0 || rarely())
}

/// Notes that a thread has collected; now and then, emits events for what has waited for long.
pub(crate) fn note_collection() {
    let now = elapsed();
    let at = now.as_millis() as u64;
    EPOCH.collected.set(at);
    if at >= EPOCH.next_look.get() {
        EPOCH.next_look.set(next_look(now));
        look(now);
    }
}

/// Returns the time, in milliseconds, at which a thread next looks for what holds the epoch.
fn next_look(now: Duration) -> u64 {
    (now + LONG / 4).as_millis() as u64
}

/// Returns whether anything holds the epoch.
pub(crate) fn is_held() -> bool {
    glance() != u64::MAX
}

/// Returns whether a thread other than `me` holds the epoch.
pub(crate) fn is_held_elsewhere(me: Option<ThreadKey>) -> bool {
    let is_pinned = |participant: &&Participant| participant.announced() != 0;
    let mut pinned = EPOCH.participants().filter(is_pinned);
    pinned.any(|participant| participant.lock_label().0 != me)
}

/// Returns the pools and calls that hold the epoch, each as its thread's label and its name, sorted
/// by thread: as the order of the list varies, shuttle could not repeat an execution that used it.
pub(crate) fn holders() -> Vec<(String, String)> {
    let running = |participant: &'static Participant| {
        let watches = participant
            .watches()
            .filter(|watch| watch.since.is_running());
        watches.map(|watch| (participant.thread(), watch.name()))
    };
    let mut holders: Vec<_> = EPOCH.participants().flat_map(running).collect();
    holders.sort();
    let named = holders.into_iter().map(|((_, label), name)| (label, name));
    named.collect()
}

/// Emits events for what has held the epoch for long, and for orphans that have waited for long.
fn look(now: Duration) {
    for participant in EPOCH.participants() {
        for watch in participant.watches() {
            if let Some(age) = watch.since.overdue(LONG, now) {
                let event = Event::new(EventKind::EpochHeld, participant.thread().1);
                event.pool(watch.name()).age(age).emit();
            }
        }
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

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        epoch {
            first = offset_of!(Epoch, first),
        }
        participant {
            size = size_of::<Participant>(),
            next = offset_of!(Participant, next),
            queue = offset_of!(Participant, queue),
            pins = offset_of!(Participant, pins),
        }
        pin {
            size = size_of::<Pin>(),
            next = offset_of!(Pin, listed),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_and_looks_are_due_after_numbers_and_times() {
        let collected = &Hint::new();
        collected.set(7);
        let due = |now| (0..200).filter(move |n| is_due_after(*n, collected, || now));
        assert!(due(106).eq([64, 128, 192]));
        assert!(due(107).eq([1, 2, 4, 8, 16, 32, 64, 128, 192]));
        assert_eq!(next_look(Duration::from_secs(3)), 3_250);
    }

    #[test]
    fn a_text_is_locked_again_once_there_is_room_for_it() {
        let locks = Cell::new(0);
        let lock = || locks.set(locks.get() + 1);
        assert_eq!(copied(lock, |_| ((), "name")).1, "name");
        assert_eq!(locks.get(), 2);
    }
}
