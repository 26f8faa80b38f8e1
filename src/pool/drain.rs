//! Draining: releasing all entries of a pool.
//!
//! Newest first, one entry at a time, each taken out before its destructor runs: so a destructor
//! may autorelease into the pool (it is the current one meanwhile), open and drain others, or
//! panic, and nothing is lost or released twice. A drain ends when the pool is empty.

use super::alike::{destroy_alike, destroy_in_turn, release_plain};
use super::budget::Budget;
use super::budgeted_drain;
use super::chain::Barrier;
use super::checks;
use super::entries::Entries;
use super::epoch;
use super::generations::Generations;
use super::page::PageCache;
use super::pool_stack::{ChainFrame, PoolStack, PoolState};
use super::remote_release;
use super::thread_pools::ThreadPools;
use crate::event::{Event, EventKind};
use crate::ledger;
use crate::object::count::Released;
use crate::object::destroy::ReleaseScope;
use crate::object::header::{Thin, TypeInfo, checked, header};
use crate::sync::catch_unwind;
use crate::sync::cell::{Cell, RefCell};
use crate::thread::current::{current_label, tally_destroyed};
use crate::thread::orphans::ORPHANS;
use crate::unwind::{FirstPanic, Payload, report, resume_or_report};
use std::ptr;

/// How many generations of destructors may feed their own drain before an event reports it.
pub(super) const WARN_AT: u32 = 1_000;

/// How many times a drain continues with what slots give up while it releases.
pub(super) const ROUNDS: u32 = 1_000;

/// The result of a drain.
#[must_use]
pub(crate) struct Outcome {
    /// Entries released.
    pub(crate) released: usize,
    /// The first panic.
    pub(crate) panic: Option<Payload>,
    /// The type whose destructor fed the drain beyond its limit, if the drain was cut off.
    pub(crate) cut: Option<&'static TypeInfo>,
}

impl Outcome {
    /// Resumes the panic, if there was one; returns the number of entries released.
    #[inline]
    pub(crate) fn resume(self) -> usize {
        if let Some(payload) = self.panic {
            resume_or_report(payload);
        }
        self.released
    }

    /// Reports the panic, if there was one; returns the number of entries released.
    pub(crate) fn report(self) -> usize {
        if let Some(payload) = self.panic {
            report(payload);
        }
        self.released
    }
}

/// Returns whether a drain of this pool has nothing to do but to unpin it. A drain that has more to do
/// may still find nothing: the objects that it looks for may be alive.
#[inline]
pub(crate) fn is_idle(pool: &PoolState) -> bool {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    pool.entries.is_empty()
        && !stack.thread_pools().may_have_duties(stack)
        && !ORPHANS.has_deferred()
}

/// Drains a pool of the calling thread. With a limit, gives up when destructors have fed it for
/// that many generations.
pub(crate) fn drain(pool: &PoolState, limit: Option<u32>) -> Outcome {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    let pools = stack.thread_pools();
    pool.unpin();
    let plain = release_plain(&pool.entries, || pool.name(), &pools.pages);
    if plain != 0 {
        stack.stats.released.add(plain as u64);
        if is_idle(pool) && !ptr::eq(pool, &stack.root) {
            return Outcome {
                released: plain,
                panic: None,
                cut: None,
            };
        }
    }
    let mut panics = FirstPanic::default();
    let (released, cut) = {
        let scope = ReleaseScope::enter();
        let frame = ChainFrame::new(true);
        let _current = Barrier::raise(stack, &frame, pool);
        let _draining = Draining::begin(pool);
        release_rest(pool, stack, limit, &scope, &mut panics)
    };
    if std::ptr::eq(pool, &stack.root) {
        stack.stats.root_was_drained(pool.entries.len());
        stack.next_mark.set(0);
    }
    Outcome {
        released: plain + released,
        panic: panics.into_first(),
        cut,
    }
}

/// Releases the entries of a pool that is current and marked as being drained, and, in the outermost
/// scope, does what else a drain does for its thread. Returns how many entries it has released, and
/// the type whose destructor fed the drain beyond its limit.
#[inline]
pub(super) fn release_rest(
    pool: &PoolState,
    stack: &PoolStack,
    limit: Option<u32>,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) -> (usize, Option<&'static TypeInfo>) {
    let pools = stack.thread_pools();
    // Closing a pool whose last drain was budgeted must not deliver remote releases.
    let delivers_remote = !pool.last_drain_was_budgeted();
    let run = Releasing::new(&pool.entries, pool.name(), &pools.pages, scope, limit);
    if !pool.entries.is_empty() {
        if let Err(payload) = catch_unwind(|| run.all()) {
            run.go_on(payload, panics);
        }
    }
    // Serving the thread implies being outermost, which is quicker to look at.
    if scope.outermost && ORPHANS.has_deferred() && scope.serves_thread() {
        epoch::advance(Some(&pools.participants));
    }
    if scope.outermost && delivers_remote && pools.may_have_messages() && scope.serves_thread() {
        run.deliver_remote(pools, panics);
    }
    if scope.outermost && stack.stats.is_asked() && scope.serves_thread() {
        drain_asked(pool, stack, limit, scope, panics);
        // If destructors feed the pool for ever, closing it leaks what is left.
        if run.cut.get().is_none() {
            run.new_entries(panics);
        }
    }
    if ledger::awaits_drain() && scope.outermost && scope.serves_thread() {
        ledger::drained();
        // The hook of events is foreign code. What it adds would be leaked if the pool is closed.
        if run.cut.get().is_none() {
            run.new_entries(panics);
        }
    }
    let released = run.released.get();
    stack.stats.released.add(released as u64);
    (released, run.cut.get())
}

/// Does what `shutdown` has asked this thread for, in the middle of a drain of `pool`: the root
/// pool, the backlog, the claimed messages and `pool` itself are empty afterwards, unless
/// destructors feed them for ever.
#[cold]
#[inline(never)]
pub(super) fn drain_asked(
    pool: &PoolState,
    stack: &PoolStack,
    limit: Option<u32>,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) {
    stack.stats.answer();
    for _ in 0..WARN_AT {
        let mut cut = false;
        if let Some(payload) = budgeted_drain::drain(stack, Budget::All) {
            panics.note(payload);
        }
        remote_release::deliver_claimed(stack.thread_pools(), scope, panics);
        // If `pool` is the root pool, it is empty the second time.
        for fed in [&stack.root, pool] {
            if !fed.entries.is_empty() {
                let outcome = drain(fed, limit);
                cut |= outcome.cut.is_some();
                if let Some(payload) = outcome.panic {
                    panics.note(payload);
                }
            }
        }
        // Objects that those drains queued, as they were not the outermost. Here `pool` is the
        // current pool.
        scope.settle_all(panics);
        let pools_are_empty = stack.root.entries.is_empty() && pool.entries.is_empty();
        let rest = stack.backlog.len() > 0 || stack.thread_pools().has_claimed();
        if cut || pools_are_empty && !rest {
            break;
        }
    }
    stack.manager.changed.wake();
}

/// Releases the entries of a handoff pool, newest first, and gives the pages back. The current pool
/// stays current, so destructors add nothing to these entries.
///
/// # Panics
/// With the first panic of a destructor, at the end.
pub(crate) fn release_all(entries: &Entries, pages: &PageCache) -> usize {
    let mut panics = FirstPanic::default();
    let released;
    {
        let scope = ReleaseScope::enter();
        let run = Releasing::new(entries, "", pages, &scope, None);
        while let Err(payload) = catch_unwind(|| run.all()) {
            run.panicked(payload, &mut panics);
        }
        released = run.released.get();
    }
    entries.clear(pages);
    if let Some(payload) = panics.into_first() {
        resume_or_report(payload);
    }
    released
}

/// Counts a drain of a pool as in progress, until dropped.
pub(super) struct Draining<'d>(&'d PoolState);

impl<'d> Draining<'d> {
    #[inline]
    pub(super) fn begin(pool: &'d PoolState) -> Self {
        pool.draining.set(pool.draining.get() + 1);
        Self(pool)
    }
}

impl Drop for Draining<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.draining.set(self.0.draining.get() - 1);
    }
}

/// A drain that releases entries until there are none.
struct Releasing<'d> {
    entries: &'d Entries,
    /// The pool's name, for events.
    name: &'d str,
    pages: &'d PageCache,
    scope: &'d ReleaseScope,
    limit: Option<u32>,
    released: Cell<usize>,
    destroyed: Cell<u64>,
    /// The length of the pool after the last entry was taken out, and the type of that entry's
    /// object.
    index: Cell<usize>,
    last: Cell<Option<&'static TypeInfo>>,
    generations: RefCell<Generations>,
    warned: Cell<bool>,
    cut: Cell<Option<&'static TypeInfo>>,
}

/// Figures of a stretch of entries. In registers until its end, also by a panic, which adds them
/// to the drain's.
struct Stretch<'r, 'd> {
    run: &'r Releasing<'d>,
    taken: usize,
    destroyed: u64,
    last: Option<&'static TypeInfo>,
}

impl Drop for Stretch<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        let run = self.run;
        run.released.set(run.released.get() + self.taken);
        // Wrong if a destructor has drained this very root pool and filled it again: then
        // generations are miscounted, but nothing else.
        run.index.set(run.index.get().saturating_sub(self.taken));
        run.destroyed.set(run.destroyed.get() + self.destroyed);
        run.last.set(self.last);
    }
}

impl<'d> Releasing<'d> {
    fn new(
        entries: &'d Entries,
        name: &'d str,
        pages: &'d PageCache,
        scope: &'d ReleaseScope,
        limit: Option<u32>,
    ) -> Self {
        Self {
            entries,
            name,
            pages,
            scope,
            limit,
            released: Cell::new(0),
            destroyed: Cell::new(0),
            index: Cell::new(entries.len()),
            last: Cell::new(None),
            generations: RefCell::default(),
            warned: Cell::new(false),
            cut: Cell::new(None),
        }
    }

    /// Releases entries until there are none.
    fn all(&self) {
        while self.stretch() && !self.grown() {}
    }

    /// Releases entries until there are none, after something other than an entry's destructor may
    /// have added some. Notes panics.
    fn new_entries(&self, panics: &mut FirstPanic) {
        let more = || {
            if !self.grown() {
                self.all();
            }
        };
        while let Err(payload) = catch_unwind(more) {
            self.panicked(payload, panics);
        }
    }

    /// Releases the remaining entries, after a panic.
    #[cold]
    #[inline(never)]
    fn go_on(&self, payload: Payload, panics: &mut FirstPanic) {
        self.panicked(payload, panics);
        self.new_entries(panics);
    }

    fn panicked(&self, payload: Payload, panics: &mut FirstPanic) {
        panics.note(payload);
        // Objects that the destructor that panicked had queued.
        self.scope.settle_all(panics);
    }

    /// Makes the releases that other threads have sent, and releases what they add to the pool.
    /// Once: a thread that sends faster than this one releases must not hold it up for ever. But
    /// what slots give up meanwhile is released, too, as far as nothing holds the epoch, and so are
    /// hot objects that die meanwhile: a list that is linked by slots would otherwise lose only one
    /// node in each drain.
    #[cold]
    #[inline(never)]
    fn deliver_remote(&self, pools: &ThreadPools, panics: &mut FirstPanic) {
        let mut any =
            self.cut.get().is_none() && remote_release::deliver(pools, self.scope, panics);
        let mut rounds = 0;
        while any {
            // After the last round, too: closing the pool would leak them.
            self.new_entries(panics);
            if self.cut.get().is_some() || rounds == ROUNDS {
                break;
            }
            rounds += 1;
            any = ORPHANS.has_deferred()
                && epoch::advance_until_ready(Some(&pools.participants))
                && remote_release::deliver_orphans(self.scope, panics);
            any |= pools.reviews.deliver(self.scope, panics) > 0;
        }
    }

    /// Releases entries until there are none, or a destructor has added others; returns whether one
    /// has.
    fn stretch(&self) -> bool {
        let mut stretch = Stretch {
            run: self,
            taken: 0,
            destroyed: 0,
            last: None,
        };
        let entries = self.entries;
        let (outermost, deep) = (self.scope.outermost, self.scope.deep);
        while let Some(thin) = entries.newest(self.pages) {
            checks::entry(thin, || self.name);
            // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
            let object = unsafe { header(thin) };
            let type_info = object.type_info;
            stretch.last = Some(type_info);
            // The usual case: the only reference, so the object has no other entry either.
            if object.count.is_all(1) && !deep {
                if let Some(block) = type_info.plain_block {
                    // The next entries are probably like it.
                    let n = destroy_alike(entries, type_info, block);
                    stretch.taken += n;
                    stretch.destroyed += n as u64;
                    if n != 0 {
                        continue;
                    }
                } else if !type_info.has_destructor {
                    let n = destroy_in_turn(entries, type_info);
                    stretch.taken += n;
                    stretch.destroyed += n as u64;
                    continue;
                }
                // SAFETY: nothing has run since `newest` returned it.
                unsafe { entries.pop() };
                let mark = entries.mark();
                stretch.taken += 1;
                stretch.destroyed += 1;
                // SAFETY: the only reference was the entry's, which has been taken out.
                unsafe { (type_info.destroy)(thin) };
                if type_info.has_destructor && self.has_more(outermost, mark) {
                    return true;
                }
                continue;
            }
            let Some((thin, n)) = entries.take_some(self.pages, u32::MAX) else {
                unreachable!("there is the newest");
            };
            let mark = entries.mark();
            stretch.taken += n as usize;
            // SAFETY: alive by the `n` references, whose entries have been taken out.
            match unsafe { checked(thin, object.count.release_many(n)) } {
                Released::Alive => continue,
                // SAFETY: `release_many` says that this was the last strong reference.
                Released::Unique if deep => unsafe { self.scope.queue_unique(thin) },
                Released::Unique => {
                    stretch.destroyed += 1;
                    // SAFETY: `release_many` says that this was the last strong reference.
                    unsafe { (type_info.destroy)(thin) };
                }
                // SAFETY: `release_many` says that this was the last strong reference.
                Released::Last => unsafe { self.scope.destroy_last(thin) },
            }
            if self.has_more(outermost, mark) {
                return true;
            }
        }
        false
    }

    /// Returns whether the release of an entry has added others to the pool. Destroys what it queued
    /// first.
    #[inline(always)]
    fn has_more(&self, outermost: bool, mark: *mut Thin) -> bool {
        if outermost {
            self.scope.settle();
        }
        self.entries.mark() != mark
    }

    /// Counts a generation if the pool has grown since the last entry was taken out; returns whether
    /// that is one too many.
    #[cold]
    fn grown(&self) -> bool {
        let len = self.entries.len();
        let index = self.index.replace(len);
        let Some(type_info) = self.last.get() else {
            return false;
        };
        if len <= index {
            return false;
        }
        let generation = self.generations.borrow_mut().fed(index);
        if generation == WARN_AT && !self.warned.replace(true) {
            let event = Event::new(EventKind::EndlessDrain, current_label());
            event
                .pool(self.name)
                .of_type(type_info.type_name())
                .count(generation as usize)
                .emit();
        }
        if self.limit.is_some_and(|limit| generation > limit) {
            self.cut.set(Some(type_info));
            return true;
        }
        false
    }
}

impl Drop for Releasing<'_> {
    fn drop(&mut self) {
        if self.destroyed.get() != 0 {
            tally_destroyed(self.destroyed.get());
        }
    }
}
