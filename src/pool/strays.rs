//! Counts of *strays*: objects that a thread has autoreleased while no pool was open, by type and
//! site.
//!
//! Threads that do so often must not contend for a lock each time. So each thread counts locally,
//! and adds to the process-wide [limit on events](crate::event) only its 1st, 10th, 100th, ...
//! stray of a type and site.

use crate::event;
use crate::object::header::TypeInfo;
use crate::sync::cell::Cell;
use std::panic::Location;
use std::ptr;

/// Number of types and sites that a thread counts at a time. A further one displaces another, and
/// the count of that one starts again from zero.
const COUNTS: usize = 8;

/// The count of one type at one site.
#[derive(Clone, Copy)]
struct StrayCount {
    type_info: &'static TypeInfo,
    /// Compared by its address: if the compiler has placed one site at several, each has a count,
    /// and the process-wide count is their sum.
    site: &'static Location<'static>,
    times: u64,
    /// How many of them have been added to the process-wide count.
    shared: u64,
    /// The value of `times` at which the next report is due.
    next: u64,
}

/// The counts of one thread in one manager. Owner only.
pub(crate) struct Strays {
    counts: [Cell<Option<StrayCount>>; COUNTS],
    /// Index of the place that the next new type or site takes.
    place: Cell<usize>,
}

impl Strays {
    pub(crate) fn new() -> Self {
        Self {
            counts: std::array::from_fn(|_| Cell::new(None)),
            place: Cell::new(0),
        }
    }

    /// Counts one more object of this type that was autoreleased at this site. If a report is due,
    /// returns the number of strays that it stands for: those since the last one.
    pub(crate) fn count(
        &self,
        type_info: &'static TypeInfo,
        site: &'static Location<'static>,
        manager: u64,
    ) -> Option<u64> {
        let known = self.counts.iter().find_map(|place| {
            let stray = place.get()?;
            let is_it = ptr::eq(stray.type_info, type_info) && ptr::eq(stray.site, site);
            is_it.then_some((place, stray))
        });
        let (place, mut stray) = known.unwrap_or_else(|| self.begin(type_info, site, manager));
        stray.times += 1;
        let due = stray.times >= stray.next;
        let unshared = stray.times - stray.shared;
        if due {
            stray.shared = stray.times;
            stray.next = stray.next.saturating_mul(10);
        }
        place.set(Some(stray));
        due.then_some(unshared)
    }

    /// Makes room for a type and site that are not being counted.
    #[cold]
    fn begin(
        &self,
        type_info: &'static TypeInfo,
        site: &'static Location<'static>,
        manager: u64,
    ) -> (&Cell<Option<StrayCount>>, StrayCount) {
        let at = self.place.get();
        self.place.set((at + 1) % COUNTS);
        let place = &self.counts[at];
        if let Some(former) = place.take() {
            former.share(manager);
        }
        let stray = StrayCount {
            type_info,
            site,
            times: 0,
            shared: 0,
            next: 1,
        };
        (place, stray)
    }

    /// Adds all that is left to the process-wide counts, without an event, and clears the counts.
    pub(crate) fn share_all(&self, manager: u64) {
        for stray in self.counts.iter().filter_map(Cell::take) {
            stray.share(manager);
        }
    }
}

impl StrayCount {
    /// Adds the rest of the count to the process-wide one, without an event.
    fn share(self, manager: u64) {
        let unshared = self.times - self.shared;
        if unshared > 0 {
            event::count_no_pool(self.type_info.type_name(), self.site, manager, unshared);
        }
    }
}
