//! Counts of *strays*: objects that a thread has autoreleased while no pool was open, by type and
//! site.
//!
//! Threads with many strays must not contend for a lock. So each thread counts locally, and
//! reports only its 1st, 10th, 100th, ... stray of a type and site to the process-wide [limit
//! on events](crate::event).

use crate::event;
use crate::ledger::object_name::ObjectName;
use crate::sync::cell::Cell;
use std::panic::Location;
use std::ptr;

/// Number of pairs of type and site that a thread counts at a time. One more displaces the rarest
/// pair, whose strays are counted from zero if it occurs again.
const COUNTS: usize = 8;

/// A type (in C++, a class) and site whose strays are counted.
#[derive(Clone, Copy)]
struct Stray {
    name: ObjectName,
    /// Compared by its address: if the compiler has placed copies of one site at several addresses,
    /// each has a count, and the process-wide count is their sum.
    site: &'static Location<'static>,
}

/// The count of one type and site.
#[derive(Clone, Copy)]
struct StrayCount {
    times: u64,
    /// How many strays of `times` have been added to the process-wide count.
    shared: u64,
    /// The value of `times` at which the next report is due.
    next: u64,
}

/// The counts of one thread in one manager. Owner only.
pub(crate) struct Strays {
    strays: [Cell<Option<Stray>>; COUNTS],
    /// The counts of `strays`, in the same order.
    counts: [Cell<StrayCount>; COUNTS],
}

impl Strays {
    pub(crate) fn new() -> Self {
        Self {
            strays: std::array::from_fn(|_| Cell::new(None)),
            counts: std::array::from_fn(|_| Cell::new(StrayCount::NONE)),
        }
    }

    /// Counts one more object of this type that was autoreleased at this site. If a report is due,
    /// returns the number of strays since the last report.
    pub(crate) fn count(
        &self,
        name: ObjectName,
        site: &'static Location<'static>,
        manager: u64,
    ) -> Option<u64> {
        let is_it = |place: &Cell<Option<Stray>>| {
            let stray = place.get();
            stray.is_some_and(|s| s.name.key() == name.key() && ptr::eq(s.site, site))
        };
        let known = self.strays.iter().position(is_it);
        let at = known.unwrap_or_else(|| self.begin(Stray { name, site }, manager));
        let place = &self.counts[at];
        let mut count = place.get();
        count.times += 1;
        let due = count.times >= count.next;
        let unshared = count.times - count.shared;
        if due {
            count.shared = count.times;
            count.next = count.next.saturating_mul(10);
        }
        place.set(count);
        due.then_some(unshared)
    }

    /// Begins to count a new type and site; returns its index.
    #[cold]
    fn begin(&self, stray: Stray, manager: u64) -> usize {
        let rarest = (0..COUNTS).min_by_key(|&at| self.counts[at].get().times);
        let at = rarest.expect("there are places");
        self.share(at, manager);
        self.strays[at].set(Some(stray));
        at
    }

    /// Adds all counts that are not shared yet to the process-wide counts, without an event, and
    /// clears them.
    pub(crate) fn share_all(&self, manager: u64) {
        (0..COUNTS).for_each(|at| self.share(at, manager));
    }

    /// Adds the unshared part of one count to the process-wide count, without an event, and clears
    /// it.
    fn share(&self, at: usize, manager: u64) {
        let count = self.counts[at].replace(StrayCount::NONE);
        let unshared = count.times - count.shared;
        if let (Some(Stray { name, site }), 1..) = (self.strays[at].take(), unshared) {
            event::count_no_pool(name.get(), site, manager, unshared);
        }
    }
}

impl StrayCount {
    const NONE: Self = Self {
        times: 0,
        shared: 0,
        next: 1,
    };
}
