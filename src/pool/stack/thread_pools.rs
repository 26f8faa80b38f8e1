//! `ThreadPools`: all pools of one thread.
//!
//! A thread-local pointer leads to the `ThreadPools` (see [`this_thread`](crate::pool::drain::this_thread)).
//! The first use makes it, and the thread's exit frees it. If guard pools are open at the exit
//! (forgotten ones, or some kept in other thread-locals), it is *detached*, and freed when its last
//! open pool is closed. Pools that are opened after the exit are in the detached `ThreadPools`,
//! too; if there is none, opening such a pool makes one.

use super::attention::{Attention, Reviews, Round};
use super::budget::Budget;
use super::manager_shared::ManagerShared;
use super::pool_life::PoolKind;
use super::pool_stack::{PoolStack, PoolState};
use crate::epoch::OwnParticipant;
use crate::event::{Event, EventKind};
use crate::layout::{FixedArc, FixedVec};
use crate::ledger::{self, PoolLabel};
use crate::pool::entries::page::PageCache;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{Link, Roll, SMALL, boxed, reserve, unbox};
use crate::thread::claimed::ClaimedMessages;
use crate::thread::counted::CountedInbox;
use crate::thread::current::current_label;
use crate::thread::inbox::{Inbox, Queue};
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use std::mem::{self, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// How many pools are allocated at a time.
const POOL_CHUNK: usize = if SMALL { 2 } else { 32 };

/// How many pools may keep a page while they are closed: those with the lowest indexes, which
/// suffice unless pools nest more deeply.
pub(in crate::pool) const WITH_PAGES: u32 = if SMALL { 2 } else { 16 };

/// A thread with at least this many open pools reports them by an event, again at each doubling.
const MANY: usize = 1_024;

type PoolChunk = [PoolState; POOL_CHUNK];

/// The detached pools of exited threads, for readers outside of the process. Inside the process,
/// only the guards, and thread-locals of those threads, lead to these pools.
pub(crate) static DETACHED: Roll = Roll::new();

/// All pools of one thread, and their shared state. Owner only; stays at its address.
pub(crate) struct ThreadPools {
    /// The global manager's stack.
    pub(crate) first: PoolStack,
    /// The stacks of other managers. No borrow lasts while other code runs.
    others: UnsafeCell<FixedVec<NonNull<PoolStack>>>,
    pub(crate) pages: PageCache,
    /// The thread's part in the epoch.
    pub(crate) participant: OwnParticipant,
    free: Cell<*const PoolState>,
    chunks: UnsafeCell<FixedVec<NonNull<PoolChunk>>>,
    /// `None` in a `ThreadPools` that was made detached.
    record: FixedArc<Record>,
    /// The link in [`DETACHED`], if `is_listed`.
    link: Link,
    is_listed: Cell<bool>,
    /// The record's inbox for releases, kept alive by `record`. Without a record, the inbox of the
    /// orphans, so that closing a pool need not test whether there is an inbox.
    inbox: *const Inbox,
    pub(crate) attention: Attention,
    pub(crate) reviews: Reviews,
    /// True while the thread's exit walks the list of stacks.
    pub(in crate::pool) exiting: Cell<bool>,
    /// Once detached: how many pools are open, and how many callers keep the `ThreadPools`.
    open: Cell<usize>,
    /// Remote releases that budgeted drains have taken out of the inbox and not made yet.
    pub(in crate::pool) claimed: ClaimedMessages,
    pub(crate) round: Round,
    /// The turn with which the next drain with a budget begins.
    pub(in crate::pool) next_turn: Cell<usize>,
    /// How many messages of other threads are running on this thread.
    running: Cell<u64>,
    /// Posted closures that this thread has collected, oldest first; see
    /// [`posted`](crate::pool::remote).
    pub(in crate::pool) posted: Queue,
}

/// Borrows a list of a [`ThreadPools`] on its own thread. `f` runs no foreign code.
fn borrow<T, R>(list: &UnsafeCell<FixedVec<T>>, f: impl FnOnce(&mut FixedVec<T>) -> R) -> R {
    // SAFETY: owner only, and a short borrow (invariants 1 and 2 of `pool`).
    list.with_mut(|list| f(unsafe { &mut *list }))
}

impl ThreadPools {
    /// Allocates a `ThreadPools`. The caller enlists it or, if `record` is `None`, detaches it.
    pub(in crate::pool) fn make(
        manager: Arc<ManagerShared>,
        record: Option<Arc<Record>>,
    ) -> NonNull<Self> {
        let inbox = record.as_ref().map_or_else(
            || ptr::from_ref(ORPHANS.releases()),
            |record| ptr::from_ref(record.releases.inbox()),
        );
        let pools = boxed(Self {
            first: PoolStack::new(manager),
            others: UnsafeCell::new(FixedVec::new()),
            pages: PageCache::new(),
            participant: OwnParticipant::new(),
            free: Cell::new(ptr::null()),
            chunks: UnsafeCell::new(FixedVec::new()),
            inbox,
            attention: Attention::default(),
            reviews: Reviews::default(),
            exiting: Cell::new(false),
            link: Link::new(),
            is_listed: Cell::new(false),
            record: record.into(),
            open: Cell::new(0),
            claimed: ClaimedMessages::new(),
            round: Round::default(),
            next_turn: Cell::new(0),
            running: Cell::new(0),
            posted: Queue::new(),
        });
        // SAFETY: the `ThreadPools` was just made.
        let this = unsafe { pools.as_ref() };
        this.first.settle_in(pools);
        pools
    }

    /// Lets other threads, and readers outside of the process, find the thread's pools.
    pub(in crate::pool) fn enlist(&self) {
        if let Some(record) = self.record() {
            let at = ptr::from_ref(self).addr() as u64;
            record.outside.pools.set(at);
            record.note_pools();
            self.first.enlist(record.key());
        }
    }

    /// Makes a detached `ThreadPools`, for pools that are opened after the thread's exit.
    pub(in crate::pool) fn make_detached() -> NonNull<Self> {
        let pools = Self::make(ManagerShared::global(), None);
        // SAFETY: the `ThreadPools` was just made.
        let this = unsafe { pools.as_ref() };
        this.detach(0);
        this.list();
        pools
    }

    pub(crate) fn key(&self) -> Option<ThreadKey> {
        self.record().map(Record::key)
    }

    pub(crate) fn record(&self) -> Option<&Record> {
        self.record.as_deref()
    }

    /// Opens a pool, which is current from now on.
    #[inline]
    pub(crate) fn open(&self, stack: &PoolStack, kind: PoolKind) -> NonNull<PoolState> {
        let mut free = self.free.get();
        if free.is_null() {
            free = self.grow();
        }
        // SAFETY: `free` is a pool of this `ThreadPools` (invariant 3 of `pool`).
        let pool = unsafe { &*free };
        self.free.set(pool.next_in_list.get());
        pool.life.open(kind);
        pool.entries.set_label(match kind {
            PoolKind::Token => PoolLabel::TOKEN,
            _ => PoolLabel::UNNAMED,
        });
        pool.stack.set(stack);
        stack.push_frame(&pool.life.frame);
        stack.stats.count_opened();
        NonNull::from(pool)
    }

    /// Makes more pools; returns a free one.
    #[cold]
    #[inline(never)]
    fn grow(&self) -> *const PoolState {
        let change =
            |f: &mut dyn FnMut(&mut Vec<_>)| borrow(&self.chunks, |chunks| chunks.change(f));
        let memory = boxed(MaybeUninit::<PoolChunk>::uninit());
        reserve(change);
        let mut first = 0;
        change(&mut |chunks| first = chunks.len() * POOL_CHUNK);
        let pools: PoolChunk = std::array::from_fn(|i| {
            let index = u32::try_from(first + i).expect("fewer pools than that fit the memory");
            PoolState::new(index, PoolKind::Free)
        });
        // SAFETY: the memory was just allocated, and has room for a chunk.
        let chunk = unsafe {
            memory.cast::<PoolChunk>().write(pools);
            memory.cast::<PoolChunk>()
        };
        change(&mut |chunks| chunks.push(chunk));
        // SAFETY: the chunk was just made; all borrows of pools are shared ones.
        let pools: &PoolChunk = unsafe { chunk.as_ref() };
        // No pool is free, unless the global allocator has opened and closed pools meanwhile.
        let mut next = self.free.get();
        for pool in pools.iter().rev() {
            pool.life.frame.own(pool.as_life());
            pool.next_in_list.set(next);
            next = pool;
        }
        self.free.set(next);
        if first >= MANY && first.is_power_of_two() {
            self.report_open(first);
        }
        match self.free.get() {
            // The event's hook has opened them all.
            free if free.is_null() => self.grow(),
            free => free,
        }
    }

    /// Reports that the thread has `n` pools open. Runs foreign code: the event's hook.
    #[cold]
    fn report_open(&self, n: usize) {
        let event = Event::new(EventKind::PoolsOpen, current_label())
            .count(n)
            .doublings(n.ilog2());
        let newest = self.stacks().find_map(PoolStack::last_token);
        match newest {
            Some(newest) => event.pool(newest.name()).at(newest.pushed_at.get()),
            None => event,
        }
        .emit();
    }

    /// Takes back a closed pool, whose frame and extras are cleared. It has no entries, and no page
    /// unless its index is less than [`WITH_PAGES`].
    #[inline]
    pub(crate) fn recycle(&self, pool: &PoolState) {
        debug_assert!(pool.entries.is_empty());
        debug_assert!(pool.entries.is_untouched() || pool.index < WITH_PAGES);
        pool.life.close();
        pool.next_in_list.set(self.free.get());
        self.free.set(pool);
    }

    /// Takes back a closed pool like [`recycle`](Self::recycle), but leaves its empty page to the
    /// next pool that is opened in its place.
    #[inline]
    pub(in crate::pool) fn recycle_with_page(&self, pool: &PoolState) {
        // Counts the page before `recycle`, as counting can call the global allocator, which may
        // open pools.
        self.pages.count_put();
        self.recycle(pool);
    }

    /// Returns how many guard pools are open, of all managers.
    pub(in crate::pool) fn open_guards(&self) -> usize {
        let pools = (0..).map_while(|index| self.pool(index));
        pools.filter(|pool| pool.life.is(PoolKind::Guard)).count()
    }

    /// Returns whether closing a pool of `stack` may have to do more than remove its frame: free a
    /// detached `ThreadPools`, or serve a [duty](crate::pool::drain::duties).
    #[inline(always)]
    pub(in crate::pool) fn may_have_duties(&self, stack: &PoolStack) -> bool {
        // SAFETY: `record` keeps the inbox alive, or the inbox is part of a static.
        let inbox = unsafe { &*self.inbox };
        self.attention.has_any()
            || inbox.has_messages()
            || ORPHANS.has_releases()
            || stack.stats.is_asked()
            || ledger::awaits_drain()
    }

    /// Gives this thread the turn to advance the epoch, as the thread has retired something or
    /// unpinned a pool. The next close of a pool tests whether any retired reference waits.
    pub(in crate::pool) fn take_turn(&self) {
        self.attention.set(Attention::EPOCH);
    }

    pub(in crate::pool) fn is_detached(&self) -> bool {
        self.attention.has(Attention::DETACHED)
    }

    /// Returns the pool of this index, open or not, if there is one.
    pub(crate) fn pool(&self, index: u32) -> Option<&PoolState> {
        let index = index as usize;
        let chunk = borrow(&self.chunks, |chunks| {
            chunks.get(index / POOL_CHUNK).copied()
        })?;
        // SAFETY: the chunk has pools of this `ThreadPools` (invariant 3 of `pool`).
        Some(&unsafe { chunk.as_ref() }[index % POOL_CHUNK])
    }

    /// Returns the pools of a stack, except the root. The result may include closed pools, which
    /// are empty.
    pub(crate) fn pools<'l>(&'l self, stack: &'l PoolStack) -> impl Iterator<Item = &'l PoolState> {
        let pools = (0..).map_while(|index| self.pool(index));
        pools.filter(move |pool| ptr::eq(pool.stack.get(), stack))
    }

    /// Returns the stack of a manager, if this thread has used it.
    pub(crate) fn find(&self, manager: &Arc<ManagerShared>) -> Option<&PoolStack> {
        if Arc::ptr_eq(&self.first.manager, manager) {
            return Some(&self.first);
        }
        // SAFETY: stacks in the list exist (invariant 3 of `pool`).
        let stack = |at: &NonNull<PoolStack>| unsafe { &*at.as_ptr() };
        borrow(&self.others, |others| {
            let at = others
                .iter()
                .position(|other| Arc::ptr_eq(&stack(other).manager, manager))?;
            // A thread uses few managers at a time: their stacks move to the front.
            others.change(|others| others.swap(0, at));
            Some(stack(&others[0]))
        })
    }

    /// Makes the stack of a manager that this thread has not used.
    pub(in crate::pool) fn add(&self, manager: &Arc<ManagerShared>) -> &PoolStack {
        let at = boxed(PoolStack::new(manager.clone()));
        let change =
            |f: &mut dyn FnMut(&mut Vec<_>)| borrow(&self.others, |others| others.change(f));
        reserve(change);
        // The global allocator is foreign code, and may have made the manager's stack meanwhile.
        if let Some(stack) = self.find(manager) {
            // SAFETY: the stack was just made, and nothing leads to it.
            drop(unsafe { unbox(at) });
            return stack;
        }
        // SAFETY: a stack exists as long as its manager has a handle, and the caller has one
        // (invariant 3 of `pool`).
        let stack = unsafe { &*at.as_ptr() };
        stack.settle_in(self.first.thread_pools_ptr());
        change(&mut |others| others.push(at));
        // Leaves out a thread that has exited: nothing would take it off the manager's list.
        if let Some(key) = self.key().filter(|_| !self.is_detached()) {
            stack.enlist(key);
        }
        stack
    }

    /// Takes a stack without an open pool and without a drain in progress, whose manager has no
    /// handle left, out of the list. The caller frees the stack. Returns `None` if no stack is left
    /// to prune, and while the thread exits.
    pub(in crate::pool) fn take_abandoned(&self) -> Option<NonNull<PoolStack>> {
        if self.exiting.get() {
            return None;
        }
        let is_abandoned = |stack: &NonNull<PoolStack>| {
            // SAFETY: stacks in the list exist (invariant 3 of `pool`).
            let stack = unsafe { stack.as_ref() };
            stack.manager.is_abandoned() && stack.is_idle()
        };
        borrow(&self.others, |others| {
            let at = others.iter().position(is_abandoned)?;
            Some(others.change(|others| others.swap_remove(at)))
        })
    }

    /// Returns the `n`th of all stacks.
    fn nth_stack(&self, n: usize) -> Option<&PoolStack> {
        if n == 0 {
            return Some(&self.first);
        }
        let stack = borrow(&self.others, |others| others.get(n - 1).copied())?;
        // SAFETY: stacks in the list exist (invariant 3 of `pool`).
        Some(unsafe { &*stack.as_ptr() })
    }

    /// Returns all stacks, that of the global manager first. Others may be added during the walk.
    pub(in crate::pool) fn stacks(&self) -> impl Iterator<Item = &PoolStack> {
        (0..).map_while(|n| self.nth_stack(n))
    }

    /// Calls `run`, which runs or forwards a message of this `weight` that was sent to `inbox`, an
    /// inbox of this thread. `run` must not unwind.
    pub(in crate::pool) fn running<R>(
        &self,
        inbox: &CountedInbox,
        weight: u64,
        run: impl FnOnce() -> R,
    ) -> R {
        let result = self.while_running(run);
        inbox.count_done(weight);
        result
    }

    /// Calls `run`, which runs a message, or one release of a message that has many. `run` must not
    /// unwind.
    pub(in crate::pool) fn while_running<R>(&self, run: impl FnOnce() -> R) -> R {
        self.running.set(self.running.get() + 1);
        let result = run();
        self.running.set(self.running.get() - 1);
        result
    }

    /// Returns how many messages of other threads are running on this thread.
    pub(crate) fn running_messages(&self) -> u64 {
        self.running.get()
    }

    /// Returns whether budgeted drains have taken out remote releases that they have not made.
    pub(crate) fn has_claimed(&self) -> bool {
        !self.claimed.is_empty()
    }

    /// Returns how many releases sent by other threads this thread has not made.
    pub(crate) fn remote_releases(&self) -> usize {
        self.record()
            .map_or(0, |record| record.releases.waiting() as usize)
    }

    /// Returns the budget that a drain may have: always `All` if detached, as there is no later
    /// drain.
    pub(in crate::pool) fn allowed(&self, budget: Budget) -> Budget {
        if self.is_detached() {
            Budget::All
        } else {
            budget
        }
    }

    /// Detaches a thread's pools at its exit; `open` is how many of them count as open.
    pub(in crate::pool) fn detach(&self, open: usize) {
        self.attention.set(Attention::DETACHED);
        if let Some(record) = self.record() {
            record.outside.pools.set(0);
        }
        self.open.set(open);
    }

    /// Lists detached pools for readers outside of the process.
    pub(in crate::pool) fn list(&self) {
        self.is_listed.set(true);
        // SAFETY: the link was not added yet; `free_detached` removes it.
        unsafe { DETACHED.add(&self.link) };
    }

    /// Counts `n` more pools, or callers that keep the `ThreadPools`, as open in a detached one.
    pub(in crate::pool) fn count_open(&self, n: usize) {
        self.open.set(self.open.get() + n);
    }

    /// Counts a pool of a detached `ThreadPools` that has been closed; returns whether it was the last.
    pub(in crate::pool) fn count_closed(&self) -> bool {
        let open = self.open.get() - 1;
        self.open.set(open);
        open == 0
    }

    /// Frees a detached `ThreadPools`.
    ///
    /// # Safety
    /// No pool of it is open, and nothing else uses it.
    pub(in crate::pool) unsafe fn free_detached(pools: NonNull<Self>) {
        // SAFETY: by the contract, the `ThreadPools` has not been freed yet.
        let this = unsafe { pools.as_ref() };
        if this.is_listed.get() {
            // SAFETY: `list` has added the link.
            unsafe { DETACHED.remove(&this.link) };
        }
        // SAFETY: by the contract, nothing uses the `ThreadPools` any more.
        drop(unsafe { unbox(pools) });
    }
}

impl Drop for ThreadPools {
    fn drop(&mut self) {
        for stack in self.others.get_mut().change(mem::take) {
            // SAFETY: `add` made the stack, and nothing uses it any more.
            drop(unsafe { unbox(stack) });
        }
        for chunk in self.chunks.get_mut().change(mem::take) {
            // SAFETY: `grow` made the chunk, and nothing else uses it any more.
            for pool in unsafe { chunk.as_ref() } {
                pool.entries.clear(&self.pages);
            }
            // SAFETY: `grow` made the chunk, and nothing uses it any more.
            drop(unsafe { unbox(chunk) });
        }
    }
}

crate::sync::described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        pools {
            size = size_of::<ThreadPools>(),
            first = offset_of!(ThreadPools, first),
            others = offset_of!(ThreadPools, others),
            chunks = offset_of!(ThreadPools, chunks),
            chunk_len = POOL_CHUNK,
            spare_pages = offset_of!(ThreadPools, pages) + PageCache::FIRST,
            record = offset_of!(ThreadPools, record),
            link = offset_of!(ThreadPools, link),
            newest_first = offset_of!(ThreadPools, claimed) + ClaimedMessages::NEWEST_FIRST,
            oldest_first = offset_of!(ThreadPools, claimed) + ClaimedMessages::OLDEST_FIRST,
            posted = offset_of!(ThreadPools, posted) + Queue::FIRST,
        }
    };
}
