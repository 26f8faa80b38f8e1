//! Messages whose target has ended, and references that slots have retired.
//!
//! Any outermost drain makes the releases. Only `quiesce` and `shutdown` run the closures, and
//! never on the thread that took over the registry slot of a closure's target.
//!
//! 1. A message counts as *outstanding* from before it is pushed until after all its parts have
//!    run, on any threads: a thread that reads zero cannot have missed a message.
//! 2. A thread that runs orphans takes all of them out, as a pop would have an ABA problem, and
//!    puts back those that it does not run, so that other threads can run them.
//! 3. References that slots have *retired* are outstanding, but not ready to be released. They are
//!    sealed into batches, and each batch becomes ready as one message.

use super::inbox::{Chain, Inbox, Message, MessageKind, Node};
use super::key::{ThreadKey, own_key};
use super::lazy_timer::LazyTimer;
use crate::layout::FixedVec;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{Counter, Hint, boxed, const_fn, described, global, local, unbox};
use std::time::Duration;

/// The number of batches that may wait for the epoch at a time. Two batches keep the epoch busy, as
/// each takes two of its steps; more would only cost memory.
const IN_FLIGHT: u64 = 2;

/// The orphaned messages of the process.
pub(crate) struct Orphans {
    releases: Inbox,
    calls: Inbox,
    retired: Inbox,
    /// The number of outstanding releases and closures (rule 1 above).
    outstanding: AtomicUsize,
    /// The number of releases and closures that have ever run.
    ran: AtomicU64,
    /// The number of releases that any drain may make now, for reports.
    ready: Counter,
    /// The number of retired references that are in no batch yet; inexact while references are
    /// being retired.
    unsealed: Hint,
    /// The number of references in batches that wait for the epoch.
    sealed: Hint,
    /// The number of batches that wait for the epoch.
    in_flight: AtomicU64,
    /// Measures how long releases have been seen to wait for a drain.
    waiting: LazyTimer,
    /// Addresses of batches that wait for the epoch, or 0: for readers outside of the process.
    sealed_at: [Hint; IN_FLIGHT as usize],
}

/// References that become ready together.
#[must_use]
pub(crate) struct SealedBatch {
    batch: Message,
    len: u64,
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
    /// The number of orphans that this thread is running, one inside another.
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
                retired: Inbox::new(),
                outstanding: AtomicUsize::new(0),
                ran: AtomicU64::new(0),
                ready: Counter::new(),
                unsealed: Hint::new(),
                sealed: Hint::new(),
                in_flight: AtomicU64::new(0),
                waiting: LazyTimer::new(),
                sealed_at: [const { Hint::new() }; IN_FLIGHT as usize],
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

    /// Takes over the release of a retired reference, to be made when the epoch allows. Returns
    /// about how many others wait.
    pub(crate) fn retire(&self, release: Message) -> u64 {
        // Relaxed: the message is counted before a thread can take it, as in `adopt`.
        self.outstanding.fetch_add(1, Ordering::Relaxed);
        self.unsealed.add(1);
        Self::push(&self.retired, release);
        (self.unsealed.get() + self.sealed.get()).saturating_sub(1)
    }

    /// Puts the retired references into a batch, which the caller must defer until every thread
    /// that is pinned now is unpinned. Returns `None` if nothing is retired, or enough batches wait
    /// already.
    pub(crate) fn seal(&self) -> Option<SealedBatch> {
        // Relaxed: the epoch and the inbox publish the batches; a stale value costs a batch more or
        // less.
        if !self.retired.has_messages() || self.in_flight.load(Ordering::Relaxed) >= IN_FLIGHT {
            return None;
        }
        // Counts the batch before it takes the references. Relaxed: a thread that sees the
        // references neither in `retired` nor in this count looks again after the next drain or
        // nap.
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        // The batch is empty if another thread has taken the references meanwhile.
        let batch = OrphanBatch::boxed(vec![self.retired.take_newest_first()]);
        // A reference that is counted and not pushed yet makes this length too large, and the next
        // batch's too small.
        let len = self.unsealed.take();
        self.sealed.add(len);
        let at = batch.as_raw().addr().get() as u64;
        // If more threads seal at once than there are places, the batch is not listed.
        _ = self.sealed_at.iter().any(|place| place.replace_if(0, at));
        Some(SealedBatch { batch, len })
    }

    /// Makes a batch ready. Runs no foreign code, as the epoch may call it anywhere.
    pub(crate) fn adopt_sealed(&self, SealedBatch { batch, len }: SealedBatch) {
        // Relaxed: publishes nothing; the push publishes the batch.
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let at = batch.as_raw().addr().get() as u64;
        _ = self.sealed_at.iter().any(|place| place.replace_if(at, 0));
        self.sealed.subtract(len);
        self.ready.add_shared(len);
        Self::push(&self.releases, batch);
    }

    /// Returns whether any retired reference is not ready.
    // Does not read the counts, which are inexact while a thread is between counting and pushing.
    #[inline]
    pub(crate) fn has_deferred(&self) -> bool {
        // Relaxed: a thread that misses a batch looks again, as `seal` says.
        self.retired.has_messages() || self.in_flight.load(Ordering::Relaxed) != 0
    }

    fn put(&self, message: Message) {
        let kind = message.kind();
        // The target has pools, whose exit runs all messages that its inbox accepted (invariant 6 of
        // `thread`).
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
        // The count is briefly below zero if a batch is taken before it has been counted.
        usize::try_from(self.ready.get() as i64).unwrap_or(0)
    }

    /// Returns the number of retired references that are not ready, for reports.
    pub(crate) fn deferred(&self) -> usize {
        (self.unsealed.get() + self.sealed.get()) as usize
    }

    /// Returns whether all counts of waiting orphans are zero.
    #[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
    pub(crate) fn counts_are_zero(&self) -> bool {
        // Relaxed: called when all threads have been joined.
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        let counts = [
            self.all() as u64,
            self.ready.get(),
            self.unsealed.get(),
            self.sealed.get(),
        ];
        let listed = self.sealed_at.iter().any(|place| place.get() != 0);
        in_flight == 0 && counts == [0; 4] && !listed
    }

    /// Returns the number of closures that wait, while no thread adds or runs any.
    #[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
    pub(crate) fn waiting_calls(&self) -> usize {
        self.all().saturating_sub(self.deferred() + self.ready())
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
    /// else in the order in which they came.
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

    /// Calls `run` for every orphaned closure, except closures to a thread whose registry slot the
    /// caller has taken over, even if the caller has ended since. Returns how many it ran.
    pub(crate) fn run_calls(&self, mut run: impl FnMut(Message)) -> usize {
        let mut ran = 0;
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
            // thread.
            let target = call.target();
            if own_key().is_some_and(|me| me.index() == target.index() && me != target) {
                self.put(call);
                continue;
            }
            self.run_one(1, || run(call));
            ran += 1;
        }
    }

    /// Calls `run`, which runs an orphan of this weight to its end.
    fn run_one(&self, weight: u64, run: impl FnOnce()) {
        run_counted(run);
        self.done(weight);
    }

    fn done(&self, n: u64) {
        // Release: pairs with the Acquire in `ran`, so that a thread that sees this count sees the
        // release's effects. Model: shutdown_orphan_to_root.
        self.ran.fetch_add(n, Ordering::Release);
        // Release: pairs with the Acquire in `all`, so that a thread that sees no orphan left sees
        // the effects of all. Model: orphans_quiesce.
        self.outstanding.fetch_sub(n as usize, Ordering::Release);
    }

    /// Calls `part` with the next message of `claim`. `part` makes as many of the message's
    /// releases as it likes, and returns the rest. Returns whether there was a message.
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
        self.done(before - after);
        true
    }

    /// Returns how many orphans have ever run: while the number does not change, none runs.
    pub(crate) fn ran(&self) -> u64 {
        // Acquire: pairs with the Release in `done`. Model: shutdown_orphan_to_root.
        self.ran.load(Ordering::Acquire)
    }

    /// Returns how many orphans wait or are running, except those that the calling thread itself is
    /// running.
    pub(crate) fn outstanding(&self) -> usize {
        self.all() - RUNNING_HERE.with(Cell::get)
    }

    fn all(&self) -> usize {
        // Acquire: pairs with the Release in `done`. Model: orphans_quiesce.
        self.outstanding.load(Ordering::Acquire)
    }
}

/// Calls `run`, which runs an orphan, and meanwhile counts one orphan as running here: of a message
/// with many releases, one is made at a time, and the others wait.
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
            retired = offset_of!(Orphans, retired),
            sealed = offset_of!(Orphans, sealed_at),
            sealed_count = IN_FLIGHT,
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
