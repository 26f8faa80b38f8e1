//! The list of duties: what an outermost drain owes its thread besides its own pool.
//!
//! | duty | what waits | the close of a pool notices it by |
//! |---|---|---|
//! | epoch | references that slots have retired, until no pool lends them any more | the thread's attention, once it has retired something or unpinned a pool |
//! | mail | what other threads have sent to this one, in its inbox or claimed by a budgeted drain | its inbox; the thread's attention, if a drain in a round left mail |
//! | orphans | releases that any thread may make | their inbox |
//! | reviews | hot objects that have died unnoticed | the thread's attention |
//! | trimming | other threads need the blocks that this one's heaps keep unused | its inbox |
//! | shutdown | a request of `shutdown` to empty the root pool and the backlog | a flag of the stack |
//! | ledger | reports of the ledger that are due at the end of a drain | a thread-local |
//!
//! Ordinary drains, budgeted drains, `run_inbox`, `Hot::review`, `quiesce` and `shutdown`, a thread's exit,
//! and the test whether a loop may sleep all walk [`DUTIES`]. A new duty is a row of that table; if closing
//! an empty pool must notice the duty, the thread sets a bit of [`Attention`] for it.

use super::turns::{Drain, Serves};
use crate::memory::block::thread_heaps;
use crate::object::destroy::{in_destructor, settle_scope};
use crate::pool::entries::retired;
use crate::pool::stack::attention::Attention;
use crate::pool::stack::budget::Limit;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::thread::claimed::Next;
use crate::thread::orphans::{ORPHANS, OrphanClaim};
use crate::thread::record::Record;
use crate::{epoch, ledger};

/// How many steps a drain makes in a [share](Serves::Share) to find hot objects that have died.
const STEPS: usize = 64;

/// One duty, a row of the table.
struct Duty {
    /// A description of the duty's releases, for the event about a drain that does not end.
    releases: &'static str,
    /// Returns whether the duty can be served now. Runs no foreign code.
    is_due: fn(&ThreadPools, &PoolStack) -> bool,
    /// Takes one turn; returns whether there was anything to do.
    turn: fn(&mut Drain<'_>) -> bool,
    /// Returns how many releases of this duty a budgeted drain has left.
    left: fn(&Drain<'_>) -> usize,
    /// True if the duty runs little or no foreign code: it is then served whatever the budget, and
    /// in the round of a loop, too. Other duties are served within the budget, and in a round a few
    /// releases at a time.
    is_light: bool,
    /// True if a thread's exit serves the duty, too.
    at_exit: bool,
}

impl Duty {
    /// A light duty that is never due, only served along with others, and that leaves no releases.
    const LIGHT: Self = Self {
        releases: "",
        is_due: |_, _| false,
        turn: |_| false,
        left: |_| 0,
        is_light: true,
        at_exit: false,
    };
}

/// The duties, in the order in which a drain takes turns with them.
const DUTIES: &[Duty] = &[
    // An exit does not serve this duty: the drains of other threads collect.
    Duty {
        is_due: |pools, _| pools.attention.has(Attention::EPOCH) && epoch_is_due(pools),
        releases: "references that slots have retired",
        turn: collect_retired,
        left: |drain| usize::from(drain.agenda.epoch) * epoch::deferred(),
        ..Duty::LIGHT
    },
    Duty {
        is_due: |pools, _| pools.has_mail(),
        releases: "releases that threads have sent to this one",
        turn: release_mail,
        left: |drain| drain.thread.map_or(0, ThreadPools::remote_releases),
        is_light: false,
        at_exit: true,
    },
    Duty {
        is_due: |_, _| ORPHANS.has_releases(),
        releases: "references that slots have retired, or releases that ended threads have left",
        turn: release_orphans,
        left: |drain| drain.agenda.orphans.as_ref().map_or(0, |_| ORPHANS.ready()),
        is_light: false,
        at_exit: false,
    },
    Duty {
        is_due: |pools, _| pools.reviews.are_due(&pools.attention),
        releases: "hot objects",
        turn: review,
        left: |drain| {
            let noted = |pools: &ThreadPools| pools.reviews.noted(&pools.attention);
            drain.thread.map_or(0, noted)
        },
        is_light: false,
        at_exit: true,
    },
    // The duty needs no test of its own: the thread that asks for blocks nudges the inbox, so mail
    // is due. An exit does not serve the duty, as the exit gives up the heaps.
    Duty {
        turn: |_| {
            thread_heaps::answer_trim_requests();
            false
        },
        ..Duty::LIGHT
    },
    Duty {
        is_due: |_, stack| stack.stats.is_asked(),
        turn: answer_shutdown,
        ..Duty::LIGHT
    },
    // A turn only marks the duty, which is served when the drain ends: until then objects may still
    // die. An exit does not serve it: `ledger::drained_last` does so once the thread's pools are
    // gone.
    Duty {
        is_due: |_, _| ledger::awaits_drain(),
        turn: |drain| {
            drain.agenda.reports = true;
            false
        },
        ..Duty::LIGHT
    },
    #[cfg(test)]
    tests::DUTY,
];

/// A drain's progress with the duties.
#[derive(Default)]
pub(super) struct Agenda {
    /// How many releases are left of those that had been sent when the drain took its mail in;
    /// `None` before that. Those sent later do not count, as they may arrive for ever.
    mail: Option<usize>,
    /// The orphans that the drain has claimed.
    orphans: Option<OrphanClaim>,
    /// True if the drain may claim orphans: when it begins, and again when the epoch has made some
    /// ready.
    claims: bool,
    /// True if the drain should collect what slots have retired: when it begins, and again when it has
    /// released orphans, whose destructors may have closed pools that held the epoch.
    epoch: bool,
    /// The description of the releases of the last duty that had anything to do.
    pub(super) latest: &'static str,
    /// True once the drain has begun to answer `shutdown`, unless destructors pass its limit.
    answers: bool,
    /// True if the drain makes the reports of the ledger when it ends.
    reports: bool,
    /// How many objects that had died unnoticed the drain has released.
    pub(super) reviewed: usize,
}

impl Agenda {
    pub(super) fn new() -> Self {
        Self {
            claims: true,
            epoch: true,
            ..Self::default()
        }
    }
}

impl<'d> Drain<'d> {
    /// Takes the thread's mail in, at a cost that does not depend on the amount of mail. Mail that
    /// arrives later does not count, as it may arrive for ever.
    pub(super) fn take_mail_in(&mut self) {
        if self.serves == Serves::Nothing {
            return;
        }
        if let Some((pools, record)) = self.attached() {
            pools.claimed.take_in(record.releases.inbox());
            self.agenda.mail = Some(pools.remote_releases());
        }
    }

    /// Returns the thread's pools and its record; `None` if either is missing.
    fn attached(&self) -> Option<(&'d ThreadPools, &'d Record)> {
        let pools = self.thread?;
        Some((pools, pools.record()?))
    }
}

/// The number of duties.
pub(super) const COUNT: usize = DUTIES.len();

/// Takes a turn of the duty `n`, if the drain serves the duty and has budget left for it. Returns
/// whether there was anything to do.
pub(super) fn turn(drain: &mut Drain<'_>, n: usize) -> bool {
    let duty = &DUTIES[n];
    let serves = match drain.serves {
        Serves::Nothing => false,
        Serves::Light => duty.is_light,
        Serves::Exit => duty.at_exit,
        Serves::Share | Serves::Ordinary | Serves::All => true,
    };
    let any = serves && (duty.is_light || !drain.meter.is_spent()) && (duty.turn)(drain);
    if any && !duty.releases.is_empty() {
        drain.agenda.latest = duty.releases;
    }
    any
}

/// Returns how many releases the duties have left; 0 if the drain serves none.
pub(super) fn left(drain: &Drain<'_>) -> usize {
    if drain.serves == Serves::Nothing {
        return 0;
    }
    DUTIES.iter().map(|duty| (duty.left)(drain)).sum()
}

impl ThreadPools {
    /// Returns whether closing an empty pool of `stack` has to do more than to remove its frame.
    #[inline(always)]
    pub(in crate::pool) fn has_duties(&self, stack: &PoolStack) -> bool {
        self.may_have_duties(stack) && self.are_duties_due(stack)
    }

    // Out of line: pools call this only if a duty may be due.
    #[cold]
    #[inline(never)]
    fn are_duties_due(&self, stack: &PoolStack) -> bool {
        let is_due = |duty: &Duty| (duty.is_due)(self, stack);
        self.attention.has(Attention::DETACHED) || DUTIES.iter().any(is_due)
    }

    /// Returns whether a release or a request to trim that another thread has sent still waits.
    #[inline]
    fn has_mail(&self) -> bool {
        let sent = || {
            self.record()
                .is_some_and(|record| record.releases.inbox().has_messages())
        };
        self.has_claimed() || sent()
    }

    /// Returns whether the thread's next drain has nothing to release: then its loop may sleep.
    pub(crate) fn may_sleep(&self) -> bool {
        self.first.backlog.len() == 0 && self.has_served()
    }

    /// Returns whether only light duties are due, or none; true in a destructor, too.
    pub(crate) fn has_served(&self) -> bool {
        let is_due = |duty: &Duty| !duty.is_light && (duty.is_due)(self, &self.first);
        // Drains inside a destructor serve no duties.
        in_destructor() || !DUTIES.iter().any(is_due)
    }
}

/// Returns whether a drain of this pool has nothing to do but to unpin it.
#[inline]
pub(crate) fn is_idle(pool: &PoolState) -> bool {
    // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
    let stack = unsafe { &*pool.stack.get() };
    pool.entries.is_empty() && !owes(stack)
}

/// Returns whether an outermost drain of a pool of this stack has to do more than to release entries.
#[inline(always)]
pub(super) fn owes(stack: &PoolStack) -> bool {
    epoch::has_deferred() || stack.thread_pools().has_duties(stack)
}

/// Collects what slots have retired. A thread that has retired something, or has unpinned a pool,
/// tries in each drain until nothing is left, or a pinned pool or call holds the epoch; then the
/// thread of that pool or call goes on when the pin has ended.
fn collect_retired(drain: &mut Drain<'_>) -> bool {
    if !std::mem::take(&mut drain.agenda.epoch) {
        return false;
    }
    let mine = drain.thread.map(|pools| &pools.attention);
    let mine = mine.filter(|attention| attention.has(Attention::EPOCH));
    // If no retired reference waits, a destructor's store to a slot may have collected them all:
    // then they are orphans, which this drain must still claim.
    let is_ready = match epoch::has_deferred() {
        true => retired::collect(),
        false => mine.is_some() && ORPHANS.has_releases(),
    };
    if let Some(attention) = mine.filter(|_| !epoch::has_deferred() || epoch::is_held()) {
        attention.clear(Attention::EPOCH);
    }
    drain.agenda.claims |= is_ready;
    is_ready
}

fn epoch_is_due(pools: &ThreadPools) -> bool {
    if epoch::has_deferred() {
        return pools.attention.is_turn();
    }
    pools.attention.clear(Attention::EPOCH);
    false
}

/// Makes releases that other threads have sent to this one. An ordinary drain leaves alone the
/// messages that a budgeted drain has claimed, like the rest of the backlog.
fn release_mail(drain: &mut Drain<'_>) -> bool {
    let Some((pools, record)) = drain.attached() else {
        return false;
    };
    let inbox = record.releases.inbox();
    let mut any = false;
    if drain.serves == Serves::Ordinary {
        if drain.agenda.mail.replace(0).is_none() {
            for message in inbox.take() {
                any = true;
                drain.run_whole(pools, record, message);
            }
        }
        return any;
    }
    // A thread that exits closes its inbox later, and then makes the releases in it. `shutdown`
    // asks only for the releases that drains have claimed.
    let claimed_only = drain.serves == Serves::Exit || drain.agenda.answers;
    let mut left = match drain.agenda.mail {
        Some(left) => left,
        None if claimed_only => 0,
        None => {
            // Empties the inbox even if no release was sent, as this also removes a request to
            // trim; counts afterwards, so that the count includes all that was taken out.
            pools.claimed.take_in(inbox);
            pools.remote_releases()
        }
    };
    let until = drain.until(usize::MAX);
    // Goes on until no claimed message is left, even beyond `left`: no ordinary drain releases them.
    let is_left = |left| left > 0 && !claimed_only || pools.has_claimed();
    while is_left(left) && !drain.is_done(until) {
        match pools.claimed.next(inbox) {
            Next::Run(message) => {
                let (n, rest) = pools.while_running(|| drain.run_message(message, until));
                record.releases.count_done(n.into());
                left = left.saturating_sub(n as usize);
                rest.into_iter().for_each(|m| pools.claimed.put_back(m));
            }
            Next::Again => drain.meter.step(),
            Next::Nothing => break,
        }
        any = true;
    }
    drain.agenda.mail = Some(left);
    match drain.serves == Serves::Share && pools.has_claimed() {
        true => pools.attention.set(Attention::MAIL),
        false => pools.attention.clear(Attention::MAIL),
    }
    any
}

/// Makes orphaned releases.
fn release_orphans(drain: &mut Drain<'_>) -> bool {
    // Not while the drain has a claim: that would be put back, and perhaps not be claimed again.
    if drain.agenda.orphans.is_none()
        && std::mem::take(&mut drain.agenda.claims)
        && ORPHANS.has_releases()
    {
        // Only a drain without a budget takes the time to put the orphans into the order of their
        // arrival.
        drain.agenda.orphans = Some(ORPHANS.claim(drain.meter.is_limited()));
    }
    let Some(mut claim) = drain.agenda.orphans.take() else {
        return false;
    };
    let until = drain.until(usize::MAX);
    let mut any = false;
    while !drain.is_done(until)
        && ORPHANS.run_part(&mut claim, |message| drain.run_message(message, until).1)
    {
        any = true;
    }
    drain.agenda.epoch |= any;
    drain.agenda.orphans = (!claim.is_empty()).then_some(claim);
    any
}

/// Releases objects that have died unnoticed, but no more than may be dead now: their destructors
/// may let others die for ever.
fn review(drain: &mut Drain<'_>) -> bool {
    let Some(pools) = drain.thread else {
        return false;
    };
    let until = drain.until(pools.reviews.noted(&pools.attention));
    let most = if drain.serves == Serves::Share {
        STEPS
    } else {
        usize::MAX
    };
    let mut steps = 1..most;
    let mut any = false;
    while !drain.is_done(until) {
        let meter = &mut drain.meter;
        let go_on = &mut || {
            meter.step();
            !meter.is_spent() && steps.next().is_some()
        };
        let Some(dying) = pools.reviews.next_dead(&pools.attention, go_on) else {
            break;
        };
        drain.agenda.reviewed += 1;
        drain.release_handle(dying.thin());
        any = true;
    }
    any
}

/// Does what `shutdown` has asked this thread for: empties the root pool and the backlog, and makes
/// the drain release all claimed messages, unless destructors feed them for ever.
fn answer_shutdown(drain: &mut Drain<'_>) -> bool {
    let Some(stack) = drain.stack else {
        return false;
    };
    // Not after the thread's exit: nobody waits for the answer, and the stack has nothing to release.
    let is_late = drain.thread.is_some_and(ThreadPools::is_detached);
    let begins = stack.stats.is_asked() && !drain.agenda.answers && !is_late;
    if begins {
        // Releases first the entries that other duties may have added to the drain's own pool,
        // which may be the root pool.
        drain.empty_plain();
        stack.stats.answer();
        // The stack must become empty, so the drain has no budget from here on.
        drain.meter.lift();
        drain.serves = Serves::All;
    } else if !drain.agenda.answers || stack.root.entries.is_empty() && stack.backlog.len() == 0 {
        return false;
    }
    // Runs in a settle scope, so that no release stays in this drain's queue when the figures
    // report the stack as empty.
    settle_scope(|| {
        let outcome = (drain.empty_stack)(stack, Limit::SOME);
        drain.agenda.answers = !outcome.is_cut;
        outcome.keep(drain.panics);
    });
    stack.manager.changed.wake();
    true
}

/// Makes the reports of the ledger that are due, at the very end of a drain that serves the duty
/// `ledger`. Returns whether foreign code ran, which may have given the drain more to release.
pub(super) fn report_to_ledger(drain: &mut Drain<'_>) -> bool {
    let is_due = std::mem::take(&mut drain.agenda.reports);
    if is_due {
        ledger::drained();
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameConfig;
    use crate::pool::drain::this_thread;
    use crate::pool::stack::budget::Budget;
    use crate::sync::atomic::{AtomicU64, Ordering};
    use crate::sync::cell::Cell;
    use crate::sync::{local, thread};
    use crate::{
        AutoreleasePool, FrameLoop, HandoffPool, Hot, Looper, PoolManager, Ref, autorelease,
        autoreleasepool, callback_scope,
    };
    use std::sync::Mutex;
    use std::time::Duration;

    local! {
        /// The counter of how often this thread's duty was served; `None` if the duty is not due.
        static DUE: Cell<Option<&'static AtomicU64>> = Cell::new(None);
    }
    local! {
        /// Stands for a hook: the turn of `DUTY` calls this function, and returns what it returns.
        static FOREIGN: Cell<fn() -> bool> = Cell::new(|| true);
    }

    fn is_due() -> bool {
        DUE.with(|due| due.get().is_some())
    }

    /// A duty that a thread has only in tests. A new duty needs no more than a row like this.
    pub(super) const DUTY: Duty = Duty {
        releases: "what the test queues",
        is_due: |_, _| is_due(),
        turn: |drain| {
            let Some((thread, served)) = drain.thread.zip(DUE.with(|due| due.take())) else {
                return false;
            };
            thread.attention.clear(Attention::TEST);
            served.fetch_add(1, Ordering::Relaxed);
            FOREIGN.with(|foreign| foreign.get()())
        },
        left: |_| usize::from(is_due()),
        is_light: false,
        at_exit: true,
    };

    /// Gives the calling thread the duty.
    fn owe(served: &'static AtomicU64) {
        DUE.with(|due| due.set(Some(served)));
        this_thread::with(|pools| pools.unwrap().attention.set(Attention::TEST));
    }

    /// Passes `f` a counter to pass to [`owe`], and asserts that the duty is served once.
    #[track_caller]
    fn assert_served(f: impl FnOnce(&'static AtomicU64)) {
        // Lets a leak checker find the counters.
        static ALL: Mutex<Vec<&'static AtomicU64>> = Mutex::new(Vec::new());
        let served = Box::leak(Box::new(AtomicU64::new(0)));
        ALL.lock().unwrap().push(served);
        f(served);
        assert_eq!(served.load(Ordering::Relaxed), 1);
    }

    /// Gives the calling thread the duty, and asserts that `f` serves it.
    #[track_caller]
    fn assert_serves(f: impl FnOnce()) {
        assert_served(|served| {
            owe(served);
            f();
        });
    }

    #[test]
    fn all_that_serve_duties_serve_one_more() {
        let manager = PoolManager::global();
        let mut outer = AutoreleasePool::new();
        assert_serves(|| drop(AutoreleasePool::new()));
        assert_serves(|| autoreleasepool(|_| ()));
        for entries in [1, 10] {
            for destructors in [false, true] {
                let fill = |pool: &AutoreleasePool| {
                    (0..entries).for_each(|n| match destructors {
                        false => _ = pool.create(n),
                        true => _ = pool.create(Box::new(n)),
                    });
                };
                assert_serves(|| autoreleasepool(|pool| fill(pool)));
                fill(&outer);
                assert_serves(|| _ = outer.drain());
            }
        }
        assert_serves(|| _ = outer.drain());
        assert_serves(|| _ = outer.drain_within(Budget::All));
        assert_serves(|| _ = outer.drain_within(Budget::Time(Duration::from_secs(9))));
        assert_serves(|| _ = HandoffPool::new().drain());
        assert_serves(|| _ = manager.pop(manager.push()));
        assert_serves(|| _ = manager.drain_root());
        assert_serves(|| _ = manager.run_inbox());
        assert_serves(|| _ = manager.run_inbox_within(Budget::All));
        assert_serves(|| _ = Hot::review());
        assert_serves(|| _ = manager.quiesce(Duration::ZERO));
        assert_serves(|| _ = manager.shutdown(Duration::ZERO));
        drop(outer);
        assert_serves(|| callback_scope(|_| ()));
    }

    #[test]
    fn what_foreign_code_in_a_duty_queues_is_destroyed_while_the_pool_is_current() {
        static RELEASED: AtomicU64 = AtomicU64::new(0);
        struct Counted;
        impl Drop for Counted {
            fn drop(&mut self) {
                RELEASED.fetch_add(1, Ordering::Relaxed);
            }
        }
        /// A chain that is too deep for the stack, and that autoreleases at its end.
        struct Link(Option<Ref<Link>>);
        impl Drop for Link {
            fn drop(&mut self) {
                if self.0.is_none() {
                    autorelease(Ref::new(Counted));
                }
            }
        }
        /// Is autoreleased before the links are dropped, so is destroyed before those in the queue.
        struct First(u64);
        impl Drop for First {
            fn drop(&mut self) {
                assert_eq!(RELEASED.load(Ordering::Relaxed), self.0);
            }
        }
        fn queue() -> bool {
            drop((0..20_000).fold(None, |next, _| Some(Ref::new(Link(next)))));
            true
        }
        fn feed() -> bool {
            autorelease(Ref::new(First(RELEASED.load(Ordering::Relaxed))));
            queue()
        }
        let ways: [fn() -> bool; 3] = [feed, || !feed(), queue];
        for (foreign, entries) in ways.into_iter().cycle().zip([0, 0, 0, 1, 1, 1, 40, 40, 40]) {
            FOREIGN.with(|this| this.set(foreign));
            let pool = AutoreleasePool::new();
            (0..entries).for_each(|_| _ = pool.create(Counted));
            let before = RELEASED.load(Ordering::Relaxed);
            assert_serves(|| drop(pool));
            assert_eq!(RELEASED.load(Ordering::Relaxed), before + entries + 1);
        }
        FOREIGN.with(|foreign| foreign.set(|| true));
    }

    #[test]
    fn the_exit_of_a_thread_serves_one_more() {
        let owing = |served| thread::spawn("owing", move || owe(served)).unwrap();
        assert_served(|served| owing(served).join().unwrap());
    }

    #[test]
    fn loops_serve_one_more_before_they_sleep() {
        let may_sleep = || this_thread::with(|pools| pools.unwrap().may_sleep());
        assert!(may_sleep());
        assert_serves(|| {
            assert!(!may_sleep());
            FrameLoop::new(FrameConfig::new().unlimited()).tick(|_| ());
        });
        assert!(may_sleep());
        assert_served(|served| {
            let looper = Looper::spawn("one more").unwrap();
            looper.call(move || owe(served)).unwrap();
            while served.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
        });
    }

    #[test]
    fn in_a_round_and_without_a_budget_it_is_served_as_far_as_it_may_be() {
        // No other test shuts this manager down, which would lift the budget.
        let manager = PoolManager::new();
        let mut pool = manager.pool();
        let drained = |pool: &mut AutoreleasePool| pool.drain_within(Budget::Count(0)).remaining;
        assert_serves(|| {
            assert_eq!(
                drained(&mut pool),
                1,
                "it takes a budget, and what is left counts"
            );
            let inside = |_: &mut AutoreleasePool| {
                pool.create(Ref::new(1));
            };
            FrameLoop::new(FrameConfig::new().unlimited()).tick(|_| {
                autoreleasepool(inside);
                assert!(!is_due(), "in a round, the drain of any pool serves some");
            });
        });
    }
}
