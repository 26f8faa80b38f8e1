//! Messages whose target has ended, and retired references that no pinned pool can lend any more.
//!
//! Any outermost drain makes the releases. Only `quiesce` and `shutdown` run the closures, and
//! never on the thread that took over the registry slot of a closure's target.
//!
//! 1. A message counts as *outstanding* from before it is pushed until after all its parts have
//!    run, on whichever threads: so a thread that reads zero has missed no message.
//! 2. A thread that runs orphans takes all of them out, as a pop would have an ABA problem, and
//!    puts back the messages that it does not run, so that other threads can run them.

use super::inbox::{Chain, Inbox, Message, MessageKind, Node};
use super::key::{ThreadKey, own_key};
use super::lazy_timer::LazyTimer;
use crate::layout::FixedVec;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{Counter, boxed, const_fn, described, global, local, unbox};
use std::time::Duration;

/// The orphaned messages of the process.
pub(crate) struct Orphans {
    releases: Inbox,
    calls: Inbox,
    /// The number of outstanding releases and closures (rule 1 above).
    outstanding: AtomicUsize,
    /// The number of releases and closures that have ever run.
    ran: AtomicU64,
    /// The number of releases that any drain may make now, for reports.
    ready: Counter,
    /// Measures how long releases have been seen to wait for a drain.
    waiting: LazyTimer,
}

/// The allocation of a message of `MessageKind::OrphanBatch`.
#[repr(C)]
struct OrphanBatch {
    node: Node,
    chains: FixedVec<Chain>,
}

impl OrphanBatch {
    fn boxed(chains: Vec<Chain>) -> Message {
        let node = Node::new(MessageKind::OrphanBatch, ThreadKey::NOBODY);
        let chains = chains.into();
        // SAFETY: the only pointer to a message that was just made; its kind is that of an
        // `OrphanBatch`, and chains are `Send`.
        unsafe { Message::from_raw(boxed(Self { node, chains }).cast()) }
    }

    fn chains(message: Message) -> Vec<Chain> {
        debug_assert_eq!(message.kind(), MessageKind::OrphanBatch);
        // SAFETY: only `boxed` makes messages of that kind, so the message is an `OrphanBatch`
        // (invariant 4 of `thread`); the caller gave it up.
        let batch = unsafe { unbox(message.into_raw().cast::<Self>()) };
        batch.chains.into_inner()
    }
}

global! {
    pub(crate) static ORPHANS: Orphans = Orphans::new();
}

local! {
    /// The number of orphans that this thread is running, each inside the one before.
    static RUNNING_HERE: Cell<usize> = Cell::new(0);
}

local! {
    /// Orphaned closures that this thread has taken out and not run yet. They are in a
    /// thread-local, so that a closure that calls `quiesce` runs the closures that were taken
    /// together with it.
    static TAKEN_CLOSURES: Cell<Chain> = Cell::new(Chain::EMPTY);
}

impl Orphans {
    const_fn! {
        fn new() -> Self {
            Self {
                releases: Inbox::new(),
                calls: Inbox::new(),
                outstanding: AtomicUsize::new(0),
                ran: AtomicU64::new(0),
                ready: Counter::new(),
                waiting: LazyTimer::new(),
            }
        }
    }

    /// Takes over a message whose target has ended.
    pub(crate) fn adopt(&self, message: Message) {
        // Relaxed: the message is counted before a thread can take it, by the Release of the push
        // and the Acquire of the take. Model: orphans_quiesce.
        let weight = message.weight();
        self.outstanding
            .fetch_add(weight as usize, Ordering::Relaxed);
        if !message.kind().is_closure() {
            self.ready.add_shared(weight);
        }
        self.put(message);
    }

    fn put(&self, message: Message) {
        let kind = message.kind();
        // The target of a `DestroyAtHome` has pools, whose exit runs all messages that its inbox
        // accepted (invariant 6 of `thread`).
        assert_ne!(
            kind,
            MessageKind::DestroyAtHome,
            "a value of one thread is never orphaned"
        );
        let to = if kind.is_closure() {
            &self.calls
        } else {
            &self.releases
        };
        Self::push(to, message);
    }

    fn push(to: &Inbox, message: Message) {
        // No thread sleeps on these inboxes, so no thread has to be woken.
        let Ok(_) = to.push(message) else {
            unreachable!("the inboxes of the orphans are never closed")
        };
    }

    /// Returns whether there are orphaned releases. Reads one cache line, which rarely changes.
    #[inline]
    pub(crate) fn has_releases(&self) -> bool {
        self.releases.has_messages()
    }

    /// Returns the number of releases that any drain may make now, for reports.
    pub(crate) fn ready(&self) -> usize {
        // Not negative, as `adopt` counts releases before a thread can take them.
        usize::try_from(self.ready.get() as i64).unwrap_or(0)
    }

    /// Returns whether all counts of waiting orphans are zero.
    #[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
    pub(crate) fn counts_are_zero(&self) -> bool {
        self.all() == 0 && self.ready.get() == 0
    }

    /// Returns the number of closures that wait, while no thread adds or runs any.
    #[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
    pub(crate) fn waiting_calls(&self) -> usize {
        self.all().saturating_sub(self.ready())
    }

    /// Returns the inbox of orphaned releases.
    pub(crate) fn releases(&self) -> &Inbox {
        &self.releases
    }

    /// Tests, at the time `now`, whether releases wait. If they were first seen to wait at least
    /// `long` ago, and no drain has taken them since, returns for how long, only once.
    pub(crate) fn waiting_longer_than(&self, long: Duration, now: Duration) -> Option<Duration> {
        if !self.has_releases() {
            self.waiting.stop();
        } else if !self.waiting.is_running() {
            self.waiting.start();
        }
        self.waiting.overdue(long, now)
    }

    /// Takes all orphaned releases: if `quickly`, newest first, at the same cost for any number;
    /// otherwise oldest first.
    pub(crate) fn claim(&self, quickly: bool) -> OrphanClaim {
        let chain = if quickly {
            self.releases.take_newest_first()
        } else {
            self.releases.take()
        };
        self.waiting.stop();
        let others = Vec::new();
        OrphanClaim { chain, others }
    }

    /// Calls `run` for every orphaned closure, except closures that were sent to another owner of
    /// the calling thread's registry slot. Returns whether it ran any.
    pub(crate) fn run_calls(&self, mut run: impl FnMut(Message)) -> bool {
        let mut ran = false;
        let mut taken = false;
        loop {
            let next = TAKEN_CLOSURES.with(|calls| {
                let mut chain = calls.replace(Chain::EMPTY);
                if chain.is_empty() && !std::mem::replace(&mut taken, true) {
                    chain = self.calls.take();
                }
                let next = chain.next();
                calls.set(chain);
                next
            });
            let Some(call) = next else {
                return ran;
            };
            // Reads this thread's key each time, as the previous closure may have entered the
            // thread into the registry.
            let target = call.target();
            if own_key().is_some_and(|me| me.index() == target.index() && me != target) {
                self.put(call);
                continue;
            }
            self.run_one(1, || run(call));
            ran = true;
        }
    }

    /// Calls `run`, which runs an orphan of this weight completely, and counts the orphan as run.
    fn run_one(&self, weight: u64, run: impl FnOnce()) {
        run_counted(run);
        self.count_ran(weight);
    }

    fn count_ran(&self, n: u64) {
        // Release: pairs with the Acquire in `ran`, so that a thread that sees this count sees the
        // effects of the orphans in it. Model: shutdown_orphan_to_root.
        self.ran.fetch_add(n, Ordering::Release);
        // Release: pairs with the Acquire in `all`, so that a thread that sees no orphan left sees
        // the effects of all orphans. Model: orphans_quiesce.
        self.outstanding.fetch_sub(n as usize, Ordering::Release);
    }

    /// Calls `part` with the next message of `claim`; returns false if there is none. `part` makes
    /// as many releases of the message as it likes, and returns the message if releases are left.
    pub(crate) fn run_part(
        &self,
        claim: &mut OrphanClaim,
        part: impl FnOnce(Message) -> Option<Message>,
    ) -> bool {
        let Some(message) = claim.next() else {
            return false;
        };
        let before = message.weight();
        let mut left = None;
        run_counted(|| left = part(message));
        let after = left.map_or(0, |message| claim.put_back(message));
        self.ready.subtract_shared(before - after);
        self.count_ran(before - after);
        true
    }

    /// Returns how many orphans have finished; one that still runs does not count yet.
    pub(crate) fn ran(&self) -> u64 {
        // Acquire: pairs with the Release in `count_ran`. Model: shutdown_orphan_to_root.
        self.ran.load(Ordering::Acquire)
    }

    /// Returns how many orphans wait or are running, except those that the calling thread itself is
    /// running.
    pub(crate) fn outstanding(&self) -> usize {
        self.all() - RUNNING_HERE.with(Cell::get)
    }

    fn all(&self) -> usize {
        // Acquire: pairs with the Release in `count_ran`. Model: orphans_quiesce.
        self.outstanding.load(Ordering::Acquire)
    }
}

/// Calls `run`, which runs an orphan, and meanwhile counts one orphan as running on this thread.
/// One is right for a message with many releases, too: one is made at a time, and the others wait.
fn run_counted(run: impl FnOnce()) {
    RUNNING_HERE.with(|here| here.set(here.get() + 1));
    run();
    RUNNING_HERE.with(|here| here.set(here.get() - 1));
}

/// Orphaned releases that the calling thread has taken out. Dropping this puts back those that have
/// not run.
#[must_use]
pub(crate) struct OrphanClaim {
    chain: Chain,
    others: Vec<Chain>,
}

impl OrphanClaim {
    fn next(&mut self) -> Option<Message> {
        loop {
            match self.chain.next() {
                Some(message) if message.kind() == MessageKind::OrphanBatch => {
                    let rest = std::mem::replace(&mut self.chain, Chain::EMPTY);
                    self.others.push(rest);
                    self.others.extend(OrphanBatch::chains(message));
                }
                Some(message) => return Some(message),
                None => self.chain = self.others.pop()?,
            }
        }
    }

    /// Puts back the message that was taken out last; returns its weight.
    fn put_back(&mut self, message: Message) -> u64 {
        let weight = message.weight();
        self.chain.push_front(message);
        weight
    }

    /// Returns whether no release is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.chain.is_empty() && self.others.iter().all(Chain::is_empty)
    }
}

impl Drop for OrphanClaim {
    fn drop(&mut self) {
        if !self.is_empty() {
            // Puts all chains back as one message.
            let mut chains = std::mem::take(&mut self.others);
            chains.push(std::mem::replace(&mut self.chain, Chain::EMPTY));
            chains.retain(|chain| !chain.is_empty());
            Orphans::push(&ORPHANS.releases, OrphanBatch::boxed(chains));
        }
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        orphans {
            releases = offset_of!(Orphans, releases),
            calls = offset_of!(Orphans, calls),
        }
        message {
            chains = offset_of!(OrphanBatch, chains),
        }
        list {
            size = size_of::<FixedVec<Chain>>(),
            items = FixedVec::<Chain>::ITEMS,
            len = FixedVec::<Chain>::LEN,
        }
    };
}
