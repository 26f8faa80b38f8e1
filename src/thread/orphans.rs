//! Messages whose thread has gone.
//!
//! Releases are run by the next outermost drain of any thread; closures only by
//! `quiesce` and `shutdown`, which ask for it, and never on the thread that took
//! over the slot of the one they were meant for.

use super::inbox::{Chain, Inbox, Kind, Message};
use super::key::ThreadKey;
use super::record::current_key;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Counter, const_fn, global, local};
use std::cell::Cell;

pub(crate) struct Orphans {
    releases: Inbox,
    calls: Inbox,
    /// Announced or adopted, and not yet done with.
    outstanding: AtomicUsize,
    /// Announced, and not yet adopted: a hint that the epoch is worth getting on.
    deferred: Counter,
}

/// A message that is counted already.
#[must_use]
pub(crate) struct Announced(Message);

global! {
    pub(crate) static ORPHANS: Orphans = Orphans::new();
}

local! {
    /// Those that this thread is in the middle of.
    static HERE: Cell<usize> = Cell::new(0);
}

impl Orphans {
    const_fn! {
        fn new() -> Self {
            Self {
                releases: Inbox::new(),
                calls: Inbox::new(),
                outstanding: AtomicUsize::new(0),
                deferred: Counter::new(),
            }
        }
    }

    pub(crate) fn adopt(&self, message: Message) {
        // Relaxed: counted before it can be taken, by the Release of the push and
        // the Acquire of the take. Model: orphans_quiesce.
        self.outstanding.fetch_add(1, Ordering::Relaxed);
        self.put(message);
    }

    /// `message` will come when the epoch lets it. From now on it is counted.
    pub(crate) fn announce(&self, message: Message) -> Announced {
        // Relaxed: as in `adopt`.
        self.outstanding.fetch_add(1, Ordering::Relaxed);
        self.deferred.add_shared(1);
        Announced(message)
    }

    pub(crate) fn adopt_announced(&self, Announced(message): Announced) {
        self.deferred.subtract_shared(1);
        self.put(message);
    }

    /// Whether anything was announced that has not come yet.
    #[inline]
    pub(crate) fn has_deferred(&self) -> bool {
        self.deferred.get() != 0
    }

    fn put(&self, message: Message) {
        let to = match message.kind() {
            Kind::Release | Kind::Chain | Kind::Dead => &self.releases,
            Kind::Call => &self.calls,
            // Whoever gets these has pools, and its exit runs what its inbox has.
            Kind::Home => unreachable!("what belongs to one thread is no orphan"),
        };
        // Nobody sleeps by it.
        let Ok(_) = to.push(message) else {
            unreachable!("the orphans are never closed")
        };
    }

    /// Whether a drain should look here. One read of a line that hardly changes.
    #[inline]
    pub(crate) fn has_releases(&self) -> bool {
        self.releases.has_mail()
    }

    /// What releases come by.
    pub(crate) fn releases(&self) -> &Inbox {
        &self.releases
    }

    /// Hands every orphaned release to `run`.
    pub(crate) fn run_releases(&self, run: impl FnMut(Message)) -> usize {
        self.run(&self.releases, |_| false, run)
    }

    /// Hands every orphaned closure to `run`, but for those that were meant for
    /// the thread whose slot the caller has, perhaps only since the last of them ran.
    pub(crate) fn run_calls(&self, run: impl FnMut(Message)) -> usize {
        let is_successor = |of: ThreadKey| current_key().is_some_and(|me| me.index() == of.index());
        self.run(&self.calls, is_successor, run)
    }

    fn run(
        &self,
        from: &Inbox,
        is_for_others: impl Fn(ThreadKey) -> bool,
        mut run: impl FnMut(Message),
    ) -> usize {
        let mut ran = 0;
        for message in from.take() {
            if is_for_others(message.target()) {
                self.put(message);
                continue;
            }
            self.run_one(message, &mut run);
            ran += 1;
        }
        ran
    }

    /// Hands an orphan to `run` that was taken out.
    pub(crate) fn run_one(&self, message: Message, run: impl FnOnce(Message)) {
        HERE.with(|here| here.set(here.get() + 1));
        run(message);
        HERE.with(|here| here.set(here.get() - 1));
        // Release: pairs with the Acquire of `outstanding`, so that who sees
        // none left sees what was done. Model: orphans_quiesce.
        self.outstanding.fetch_sub(1, Ordering::Release);
    }

    /// Takes all orphaned releases out, to be given to [`Orphans::run_one`] or
    /// [`Orphans::give_back`] one by one.
    pub(crate) fn take_releases(&self) -> Chain {
        self.releases.take_unordered()
    }

    /// Takes back what was taken out.
    pub(crate) fn give_back(&self, message: Message) {
        self.put(message);
    }

    /// Orphans that are waiting or being run just now; not those that called this
    /// function.
    pub(crate) fn outstanding(&self) -> usize {
        self.all() - HERE.with(Cell::get)
    }

    fn all(&self) -> usize {
        // Acquire: pairs with the Release in `run`. Model: orphans_quiesce.
        self.outstanding.load(Ordering::Acquire)
    }
}
