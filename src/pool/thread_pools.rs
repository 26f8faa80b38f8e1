//! A thread's pools: one block on the heap, found by a thread-local pointer.
//!
//! The block is made by the first use and goes when the thread exits. If guard
//! pools are still open then (forgotten ones, or kept in other thread-locals),
//! it is *detached*, and freed by the last of them. A pool that is opened after
//! the exit gets a detached block of its own.

use super::backlog;
use super::budget::Budget;
use super::epoch::Epoch;
use super::manager_shared::ManagerShared;
use super::page::PageCache;
use super::pool_stack::PoolStack;
use super::state::{Kind, PoolState};
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{SMALL, boxed, catch_unwind, local, unbox};
use crate::thread::claimed::ClaimedMessages;
use crate::thread::counted::CountedInbox;
use crate::thread::current;
use crate::thread::inbox::{Inbox, Message, MessageKind, Queue};
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::report;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Heads that are made at a time.
const CHUNK: usize = if SMALL { 2 } else { 32 };

type Chunk = [PoolState; CHUNK];

pub(crate) struct ThreadPools {
    /// That of the process's own manager; in a detached block, that of the
    /// manager that the pool was opened by.
    pub(crate) first: PoolStack,
    /// Those of other managers. Never borrowed while other code runs.
    others: UnsafeCell<Vec<NonNull<PoolStack>>>,
    pub(crate) pages: PageCache,
    pub(crate) epoch: Epoch,
    free: Cell<*const PoolState>,
    chunks: UnsafeCell<Vec<NonNull<Chunk>>>,
    /// `None` in blocks that were made detached.
    record: Option<Arc<Record>>,
    /// The record's, for releases; without one, one that is looked at anyway. `record` keeps it
    /// there.
    inbox: *const Inbox,
    /// The thread has exited, or had when the block was made.
    detached: Cell<bool>,
    /// Set while the thread exits, which goes through the stacks one by one.
    pub(super) exiting: Cell<bool>,
    /// Guard pools that are open in a detached block.
    guards: Cell<usize>,
    /// Remote releases that budgeted drains have taken out of the inbox and not made.
    pub(super) claimed: ClaimedMessages,
    /// Whether drains leave alone what other threads have sent: the loop that is going
    /// on releases it within its budget.
    held: Cell<bool>,
    /// Messages of other threads that the thread is in the middle of running.
    running: Cell<u64>,
    /// Closures that were posted and have been collected, oldest first.
    posted: Queue,
}

struct Here {
    /// Null before the first use, and after the thread's exit.
    local: Cell<*const ThreadPools>,
    exited: Cell<bool>,
}

local! {
    static HERE: Here = Here {
        local: Cell::new(ptr::null()),
        exited: Cell::new(false),
    };
}

/// Hands `f` the calling thread's block, made if need be; `None` once the thread
/// has exited.
///
/// `f` must not run a thread's exit; nothing but the destructor of a
/// thread-local does.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(Option<&ThreadPools>) -> R) -> R {
    let mut local = HERE.with(|here| here.local.get());
    if local.is_null() {
        local = enter();
    }
    // SAFETY: the block lives until the thread's exit.
    f(unsafe { local.as_ref() })
}

/// Makes the block; null once the thread has exited.
#[cold]
#[inline(never)]
fn enter() -> *const ThreadPools {
    if HERE.with(|here| here.exited.get()) {
        return ptr::null();
    }
    let Some(record) = current::current() else {
        set_exited();
        return ptr::null();
    };
    current::set_exit_hook(super::exit::exit);
    let local = ThreadPools::make(ManagerShared::global(), Some(record)).as_ptr();
    HERE.with(|here| here.local.set(local));
    local
}

/// The block, if there is one: for the thread's exit.
pub(super) fn attached() -> Option<NonNull<ThreadPools>> {
    NonNull::new(HERE.with(|here| here.local.get()).cast_mut())
}

/// From here on the thread has no pools of its own.
pub(super) fn set_exited() {
    HERE.with(|here| {
        here.local.set(ptr::null());
        here.exited.set(true);
    });
}

impl ThreadPools {
    fn make(namespace: Arc<ManagerShared>, record: Option<Arc<Record>>) -> NonNull<Self> {
        let key = record.as_ref().map(|record| record.key());
        let inbox = record.as_ref().map_or_else(
            || ptr::from_ref(ORPHANS.releases()),
            |record| ptr::from_ref(record.releases.inbox()),
        );
        let local = boxed(Self {
            first: PoolStack::new(namespace),
            others: UnsafeCell::new(Vec::new()),
            pages: PageCache::new(),
            epoch: Epoch::new(),
            free: Cell::new(ptr::null()),
            chunks: UnsafeCell::new(Vec::new()),
            inbox,
            detached: Cell::new(record.is_none()),
            exiting: Cell::new(false),
            record,
            guards: Cell::new(0),
            claimed: ClaimedMessages::new(),
            held: Cell::new(false),
            running: Cell::new(0),
            posted: Queue::new(),
        });
        // SAFETY: just made.
        let this = unsafe { local.as_ref() };
        this.first.settle_in(local, key);
        local
    }

    /// A pool of `namespace` in a detached block of its own.
    #[cold]
    pub(crate) fn open_detached(namespace: Arc<ManagerShared>) -> NonNull<PoolState> {
        let local = Self::make(namespace, None);
        // SAFETY: just made.
        let this = unsafe { local.as_ref() };
        this.guards.set(1);
        this.open(&this.first, Kind::Guard)
    }

    pub(crate) fn key(&self) -> Option<ThreadKey> {
        self.record.as_ref().map(|record| record.key())
    }

    pub(crate) fn record(&self) -> Option<&Record> {
        self.record.as_deref()
    }

    /// Opens a pool: it is current from now on.
    #[inline]
    pub(crate) fn open(&self, stack: &PoolStack, kind: Kind) -> NonNull<PoolState> {
        let mut free = self.free.get();
        if free.is_null() {
            free = self.grow();
        }
        // SAFETY: heads live as long as the block.
        let head = unsafe { &*free };
        self.free.set(head.next_free.get());
        head.kind.set(kind);
        head.stack.set(stack);
        stack.push_frame(&head.frame);
        stack.stats.count_opened();
        NonNull::from(head)
    }

    /// More heads, when none is free; gives the first of them.
    #[cold]
    #[inline(never)]
    fn grow(&self) -> *const PoolState {
        // SAFETY: the thread's own; nothing else runs meanwhile.
        let first = self.chunks.with(|chunks| unsafe { (*chunks).len() }) * CHUNK;
        let chunk = boxed(std::array::from_fn(|i| {
            let index = u32::try_from(first + i).expect("fewer pools than that fit the memory");
            PoolState::new(index, Kind::Free)
        }));
        // SAFETY: as above.
        self.chunks
            .with_mut(|chunks| unsafe { (*chunks).push(chunk) });
        // SAFETY: just made; heads are only ever shared.
        let heads: &Chunk = unsafe { chunk.as_ref() };
        // There was none free, so these are all.
        let mut next = ptr::null();
        for head in heads.iter().rev() {
            head.frame.pool.set(head);
            head.next_free.set(next);
            next = head;
        }
        next
    }

    /// Takes back the head of a closed pool, its entries, frame and extras gone.
    #[inline]
    pub(crate) fn recycle(&self, head: &PoolState) {
        debug_assert!(head.is_plain());
        head.kind.set(Kind::Free);
        head.next_free.set(self.free.get());
        self.free.set(head);
    }

    /// Guard pools that are open, of all managers.
    pub(super) fn open_guards(&self) -> usize {
        let heads = (0..).map_while(|index| self.head(index));
        heads.filter(|head| head.is_guard()).count()
    }

    /// Whether closing a pool of `stack` is a moment to do more than that.
    #[inline]
    pub(crate) fn has_duties(&self, stack: &PoolStack) -> bool {
        self.detached.get() || self.has_messages() || stack.stats.is_asked()
    }

    /// Returns whether an ordinary drain has something to release that other threads have sent.
    #[inline]
    pub(crate) fn has_messages(&self) -> bool {
        // SAFETY: `record` keeps it there, or it is a static.
        let is_there = unsafe { &*self.inbox }.has_messages() || ORPHANS.has_releases();
        is_there && !self.held.get()
    }

    fn is_detached(&self) -> bool {
        self.detached.get()
    }

    /// The head of this index, if there is one.
    pub(crate) fn head(&self, index: u32) -> Option<&PoolState> {
        let index = index as usize;
        let nth = |chunks: *const Vec<NonNull<Chunk>>| {
            // SAFETY: the thread's own; nothing else runs meanwhile.
            unsafe { &*chunks }.get(index / CHUNK).copied()
        };
        let chunk = self.chunks.with(nth)?;
        // SAFETY: heads live as long as the block.
        Some(&unsafe { chunk.as_ref() }[index % CHUNK])
    }

    /// The pools of a stack, but the root. Closed ones may be among them: they are
    /// empty.
    pub(crate) fn pools<'l>(&'l self, stack: &'l PoolStack) -> impl Iterator<Item = &'l PoolState> {
        let heads = (0..).map_while(|index| self.head(index));
        heads.filter(move |head| ptr::eq(head.stack.get(), stack))
    }

    /// The stack of a manager, if this thread has used it.
    pub(crate) fn find(&self, namespace: &Arc<ManagerShared>) -> Option<&PoolStack> {
        if Arc::ptr_eq(&self.first.namespace, namespace) {
            return Some(&self.first);
        }
        // SAFETY: stacks in the list are there.
        let stack = |at: &NonNull<PoolStack>| unsafe { &*at.as_ptr() };
        self.others.with_mut(|others| {
            // SAFETY: the thread's own; nothing else runs meanwhile.
            let others = unsafe { &mut *others };
            let at = others
                .iter()
                .position(|other| Arc::ptr_eq(&stack(other).namespace, namespace))?;
            // A thread uses few managers at a time: those move to the front.
            others.swap(0, at);
            Some(stack(&others[0]))
        })
    }

    /// The stack of a manager.
    pub(crate) fn stack(&self, namespace: &Arc<ManagerShared>) -> &PoolStack {
        match self.find(namespace) {
            Some(stack) => stack,
            None => self.add(namespace),
        }
    }

    #[cold]
    fn add(&self, namespace: &Arc<ManagerShared>) -> &PoolStack {
        let stack = boxed(PoolStack::new(namespace.clone()));
        // SAFETY: just made.
        unsafe { stack.as_ref() }.settle_in(self.first.block(), self.key());
        // SAFETY: the thread's own; nothing else runs meanwhile.
        self.others
            .with_mut(|others| unsafe { (*others).push(stack) });
        // Only now, as this runs foreign code, which may come back here.
        self.prune();
        // SAFETY: it stays until `prune` or the block's end, which both see to it
        // that nobody uses it.
        unsafe { &*stack.as_ptr() }
    }

    /// Drains and frees the stacks of managers that nobody has a handle to.
    fn prune(&self) {
        // Draining runs foreign code, which may come back here: so one at a time,
        // and nothing borrowed meanwhile.
        while let Some(stack) = self.take_abandoned() {
            let outcome = {
                // SAFETY: ours, off the list.
                let this = unsafe { stack.as_ref() };
                let panic = backlog::drain(this, Budget::All);
                let outcome = super::drain::drain(&this.root, None);
                panic.into_iter().for_each(report);
                if let Some(key) = self.key() {
                    this.retire(key);
                }
                this.root.entries.clear(&self.pages);
                outcome
            };
            // SAFETY: made by `add`, off the list; the manager has no handle to
            // find it by, and nothing is open in it or going on.
            drop(unsafe { unbox(stack) });
            // Whoever uses a new manager has nothing to do with the old one's panics.
            outcome.report();
        }
    }

    fn take_abandoned(&self) -> Option<NonNull<PoolStack>> {
        if self.exiting.get() {
            return None;
        }
        let is_abandoned = |stack: &NonNull<PoolStack>| {
            // SAFETY: stacks in the list are there.
            let stack = unsafe { stack.as_ref() };
            stack.namespace.is_abandoned() && stack.is_idle()
        };
        self.others.with_mut(|others| {
            // SAFETY: the thread's own; nothing else runs meanwhile.
            let others = unsafe { &mut *others };
            let at = others.iter().position(is_abandoned)?;
            Some(others.swap_remove(at))
        })
    }

    /// All stacks, by number.
    pub(super) fn nth_stack(&self, n: usize) -> Option<&PoolStack> {
        if n == 0 {
            return Some(&self.first);
        }
        let nth = |others: *const Vec<NonNull<PoolStack>>| {
            // SAFETY: the thread's own; nothing else runs meanwhile.
            unsafe { &*others }.get(n - 1).copied()
        };
        let stack = self.others.with(nth)?;
        // SAFETY: stacks in the list are there.
        Some(unsafe { &*stack.as_ptr() })
    }

    /// Takes out the closures that were posted, up to now.
    pub(crate) fn collect_posted(&self) {
        if let Some(record) = self.record() {
            self.posted.append(record.calls.inbox().take());
        }
    }

    /// Has these closures, which count as sent, run before those that were posted up to now.
    pub(crate) fn put_first(&self, closures: impl Iterator<Item = Message>) {
        self.collect_posted();
        let posted = Queue::new();
        posted.append(std::iter::from_fn(|| self.posted.pop()));
        self.posted.append(closures);
        self.posted.append(std::iter::from_fn(|| posted.pop()));
    }

    /// Takes out the last of the posted closures, too, and has others refused.
    pub(super) fn close_posted(&self) {
        if let Some(record) = self.record() {
            self.posted.append(record.calls.inbox().close());
        }
    }

    /// Hands the oldest closure that was collected to `run`; returns what that returns, if there
    /// was one. `run` lets no panic out.
    pub(crate) fn run_posted<R>(&self, run: impl FnOnce(Message) -> R) -> Option<R> {
        let call = self.posted.pop()?;
        let record = self.record()?;
        Some(self.running(&record.calls, 1, || run(call)))
    }

    /// Runs the closures that loops have accepted, oldest first, and leaves the others. Panics are
    /// reported. Returns whether there were any.
    pub(crate) fn run_posts_of_loops(&self) -> bool {
        let Some(record) = self.record() else {
            return false;
        };
        self.collect_posted();
        let mut any = false;
        let others = Queue::new();
        while let Some(call) = self.posted.pop() {
            if call.kind() == MessageKind::LoopClosure {
                any = true;
                let run = || catch_unwind(|| call.run()).err();
                self.running(&record.calls, 1, run)
                    .into_iter()
                    .for_each(report);
            } else {
                others.append(std::iter::once(call));
            }
        }
        self.posted.append(std::iter::from_fn(|| others.pop()));
        any
    }

    /// Calls `run`, which runs or hands on what weighs `weight` and was sent to `inbox`, one of
    /// this thread's. It lets no panic out.
    pub(super) fn running<R>(
        &self,
        inbox: &CountedInbox,
        weight: u64,
        run: impl FnOnce() -> R,
    ) -> R {
        let result = self.in_the_middle_of(run);
        inbox.done(weight);
        result
    }

    /// Calls `run`, which runs a message: of a pool that was handed over, one release at a time. It
    /// lets no panic out.
    pub(super) fn in_the_middle_of<R>(&self, run: impl FnOnce() -> R) -> R {
        self.running.set(self.running.get() + 1);
        let result = run();
        self.running.set(self.running.get() - 1);
        result
    }

    /// How many messages of other threads the thread is in the middle of running.
    pub(crate) fn in_the_middle(&self) -> u64 {
        self.running.get()
    }

    /// How many closures have been collected and not begun.
    pub(crate) fn posted(&self) -> usize {
        self.posted.len()
    }

    /// Returns whether budgeted drains have taken out remote releases that they have not made.
    pub(crate) fn has_claimed(&self) -> bool {
        !self.claimed.is_empty()
    }

    /// How many releases, sent by other threads, this thread has not made.
    pub(crate) fn remote_releases(&self) -> usize {
        self.record()
            .map_or(0, |record| record.releases.waiting() as usize)
    }

    /// Has drains leave mail alone until the guard goes.
    pub(crate) fn hold_remote_releases(&self) -> HeldReleases<'_> {
        HeldReleases {
            before: self.held.replace(true),
            held: &self.held,
        }
    }

    /// What a drain may leave for later: nothing in a detached block, which goes away.
    pub(super) fn allowed(&self, budget: Budget) -> Budget {
        if self.is_detached() {
            Budget::All
        } else {
            budget
        }
    }

    /// The thread has exited; `guards` pools are still open.
    ///
    /// # Safety
    /// The caller gives up the block: nothing but open guards uses it from here.
    pub(super) unsafe fn detach(local: NonNull<Self>, guards: usize) {
        // SAFETY: not freed yet.
        let this = unsafe { local.as_ref() };
        this.detached.set(true);
        if guards == 0 {
            // SAFETY: nobody uses it any more.
            drop(unsafe { unbox(local) });
        } else {
            this.guards.set(guards);
        }
    }

    /// A guard pool has been closed. The last one of a detached block frees it.
    ///
    /// # Safety
    /// The caller does not use the block any more, and has no reference into it.
    pub(super) unsafe fn guard_closed(local: NonNull<Self>) {
        // SAFETY: not freed yet.
        let this = unsafe { local.as_ref() };
        if this.is_detached() {
            let guards = this.guards.get() - 1;
            if guards == 0 {
                // SAFETY: nobody uses it any more.
                drop(unsafe { unbox(local) });
            } else {
                this.guards.set(guards);
            }
        }
    }
}

/// See [`ThreadPools::hold_remote_releases`].
pub(crate) struct HeldReleases<'l> {
    held: &'l Cell<bool>,
    before: bool,
}

impl Drop for HeldReleases<'_> {
    fn drop(&mut self) {
        self.held.set(self.before);
    }
}

impl Drop for ThreadPools {
    fn drop(&mut self) {
        for stack in self.others.get_mut().drain(..) {
            // SAFETY: made by `add`.
            drop(unsafe { unbox(stack) });
        }
        for chunk in self.chunks.get_mut().drain(..) {
            // SAFETY: made by `grow`.
            drop(unsafe { unbox(chunk) });
        }
    }
}
