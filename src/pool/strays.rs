//! How often a thread autoreleases without a pool, by type.
//!
//! Threads that do so often must not meet at a lock each time: so each counts by itself, and tells
//! the process-wide [limit on events](crate::event) its 1st, 10th, 100th, ... time with a type.

use crate::event;
use crate::object::header::TypeInfo;
use crate::sync::cell::Cell;
use std::ptr;

/// Types that a thread counts at a time. Those that come beyond take the place of others, which
/// begin anew.
const TYPES: usize = 8;

#[derive(Clone, Copy)]
struct Stray {
    class: &'static TypeInfo,
    times: u64,
    /// How many of them the other threads know of.
    told: u64,
    /// The number of times to tell next.
    next: u64,
}

/// The types that one thread has autoreleased in one manager without a pool. Owner only.
pub(crate) struct Strays {
    types: [Cell<Option<Stray>>; TYPES],
    /// Where the next new type goes.
    place: Cell<usize>,
}

impl Strays {
    pub(crate) fn new() -> Self {
        Self {
            types: std::array::from_fn(|_| Cell::new(None)),
            place: Cell::new(0),
        }
    }

    /// Counts one more object of this class. Returns how many the caller is to tell of, if it is
    /// time for that.
    pub(crate) fn count(&self, class: &'static TypeInfo, manager: u64) -> Option<u64> {
        let known = self.types.iter().find_map(|place| {
            let stray = place.get()?;
            ptr::eq(stray.class, class).then_some((place, stray))
        });
        let (place, mut stray) = known.unwrap_or_else(|| self.begin(class, manager));
        stray.times += 1;
        let due = stray.times >= stray.next;
        let untold = stray.times - stray.told;
        if due {
            stray.told = stray.times;
            stray.next = stray.next.saturating_mul(10);
        }
        place.set(Some(stray));
        due.then_some(untold)
    }

    /// Makes a place for another class.
    #[cold]
    fn begin(&self, class: &'static TypeInfo, manager: u64) -> (&Cell<Option<Stray>>, Stray) {
        let at = self.place.get();
        self.place.set((at + 1) % TYPES);
        let place = &self.types[at];
        if let Some(former) = place.take() {
            former.tell(manager);
        }
        let stray = Stray {
            class,
            times: 0,
            told: 0,
            next: 1,
        };
        (place, stray)
    }

    /// Tells the rest of what has been counted; no event is made by that.
    pub(crate) fn tell_all(&self, manager: u64) {
        for stray in self.types.iter().filter_map(Cell::take) {
            stray.tell(manager);
        }
    }
}

impl Stray {
    fn tell(self, manager: u64) {
        let untold = self.times - self.told;
        if untold > 0 {
            event::count_no_pool(self.class.type_name(), manager, untold);
        }
    }
}
