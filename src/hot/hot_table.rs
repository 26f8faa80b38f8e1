//! The table of hot objects: rows, their lives, and the list of free rows.

use crate::object::header::{Thin, TypeInfo};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{CHECKED, Counter, Hint, Lock, array_of, const_fn, global};
use crate::thread::lazy_timer::LazyTimer;

/// How many objects can be hot at a time.
pub(super) const ROWS: usize = if CHECKED { 2 } else { 1_024 };

/// The bits of a life that are the row's state. The other bits are the life's number.
const STATE: u64 = 3;
const OWNED: u64 = 1;
const LET_GO: u64 = 2;
/// Added to a life in the state "let go", this gives the next life in the state "free".
const TO_NEXT_LIFE: u64 = STATE + 1 - LET_GO;

/// The index of a row: below [`ROWS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowIndex(u16);

impl RowIndex {
    pub(super) const FIRST: Self = Self(0);

    /// Returns the index of the row `n`.
    ///
    /// # Panics
    /// If there is no such row.
    pub(super) fn new(n: usize) -> Self {
        assert!(n < ROWS, "there is no such row");
        Self(n as u16)
    }

    #[inline(always)]
    pub(super) fn get(self) -> usize {
        usize::from(self.0)
    }
}

/// The number of a row's life, with the state "let go".
#[derive(Clone, Copy, Debug)]
pub(super) struct Life(u64);

/// The place of one hot object.
pub(super) struct Row {
    /// The number of the life, and its state. Changed by read-modify-writes only.
    life: AtomicU64,
    /// The row's strong reference to the object (invariant 2 of `hot`).
    object: Cell<Option<Thin>>,
    /// Births and deaths on late threads, which have no book (invariant 5 of `hot`).
    late_births: AtomicU64,
    late_deaths: AtomicU64,
    /// Measures how long the row has been let go.
    pub(super) kept: LazyTimer,
}

impl Row {
    const_fn! {
        fn new() -> Self {
            Self {
                life: AtomicU64::new(0),
                object: Cell::new(None),
                late_births: AtomicU64::new(0),
                late_deaths: AtomicU64::new(0),
                kept: LazyTimer::new(),
            }
        }
    }

    /// Begins a life: a `Hot` owns the row from here on. The caller has claimed the row, and gives
    /// up a strong reference to `object`.
    pub(super) fn begin(&self, object: Thin) {
        self.object.set(Some(object));
        // Relaxed: the object is published with the `Hot`, and when that lets it go. An addition, as a
        // relaxed store would end the release sequence of `end`.
        let before = self.life.fetch_add(OWNED, Ordering::Relaxed);
        debug_assert_eq!(before & STATE, 0, "a row of the list is free");
    }

    /// Records that the owner has let the object go.
    pub(super) fn let_go(&self) {
        // Release: pairs with the Acquire in `let_go_life`, so that a scan sees the owner's last
        // use, and the births that the owner has counted. Model: hot_owner_and_last.
        self.kept
            .start_before(|| self.life.fetch_add(LET_GO - OWNED, Ordering::Release));
    }

    /// Returns the row's life, if its owner has let it go.
    pub(super) fn let_go_life(&self) -> Option<Life> {
        // Acquire: pairs with the Release in `let_go`, and with the Release in `end`.
        // Model: hot_scan_across_lives.
        let life = self.life.load(Ordering::Acquire);
        (life & STATE == LET_GO).then_some(Life(life))
    }

    /// Ends this life, unless another thread has ended it, and returns the object, whose reference
    /// the caller takes over. The caller has found the object dead in this life.
    pub(super) fn end(&self, life: Life) -> Option<Thin> {
        // Release: pairs with the Acquire in `let_go_life`, so that a reader that finds the life
        // ended sees that a release has begun. Not Acquire: the caller has read this life with
        // Acquire; the lock of the free rows comes before the row's next use. Model: hot_ended.
        let (from, to) = (life.0, life.0 + TO_NEXT_LIFE);
        self.life
            .compare_exchange(from, to, Ordering::Release, Ordering::Relaxed)
            .ok()?;
        self.kept.stop();
        self.object.take()
    }

    /// Counts a birth on a thread without a book.
    pub(super) fn late_birth(&self) {
        // Relaxed: the death of this handle, or of its parent, publishes the birth.
        self.late_births.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a death on a thread without a book.
    pub(super) fn late_death(&self) {
        // Release: pairs with the Acquire in `late_deaths`, so that a scan that reads this death
        // sees all that happened before: uses of the object, births, and the links of their books.
        // Model: hot_after_exit.
        self.late_deaths.fetch_add(1, Ordering::Release);
    }

    pub(super) fn late_deaths(&self) -> u64 {
        // Acquire: pairs with the Release in `late_death`. Model: hot_after_exit.
        self.late_deaths.load(Ordering::Acquire)
    }

    pub(super) fn late_births(&self) -> u64 {
        // Relaxed: the deaths that were read before make all births visible that the scan must see.
        self.late_births.load(Ordering::Relaxed)
    }
}

/// The list of free rows, and the types of the rows that are taken.
struct FreeRows {
    /// For each row in the list, the index of the next free row, plus 1; 0 at the end.
    next: [u16; ROWS],
    /// The first row of the list, plus 1; 0 if the list is empty.
    first: u16,
    /// How many rows have ever been taken. Rows that were never taken are not in the list.
    used: u16,
    /// For each row, the type of its latest object.
    types: [Option<&'static TypeInfo>; ROWS],
}

/// All rows.
pub(crate) struct Table {
    rows: [Row; ROWS],
    /// The lock is never held while other code runs.
    free: Lock<FreeRows>,
    /// How many rows have ever been taken. Raised before a row's first life begins, and never
    /// lowered: so a thread that has a handle to an object, or has dropped one, sees the object's
    /// row counted.
    used: Hint,
    /// The number of rows that are not free, for reports.
    pub(super) taken: Counter,
    /// The number of rows that are let go, for reports.
    pub(super) let_go: Counter,
    /// How many releases of dead objects have begun, and how many of them are over. Both figures
    /// also count attempts that found that another thread had taken the object.
    begun: AtomicU64,
    over: AtomicU64,
}

// SAFETY: one thread at a time accesses `object` (invariant 2 of `hot`); all else is atomic, or
// behind the lock. Objects may be sent to other threads: they are Send and Sync, as `Hot::try_new`
// demands.
unsafe impl Sync for Table {}
// SAFETY: one thread at a time accesses `object`, and objects may be sent, as for `Sync`. (Only
// models send tables.)
unsafe impl Send for Table {}

global! {
    /// The rows of the process.
    pub(crate) static TABLE: Table = Table::new();
}

impl Table {
    const_fn! {
        fn new() -> Self {
            Self {
                rows: array_of![Row::new(); ROWS],
                free: Lock::new(FreeRows { next: [0; ROWS], first: 0, used: 0, types: [None; ROWS] }),
                used: Hint::new(),
                taken: Counter::new(),
                let_go: Counter::new(),
                begun: AtomicU64::new(0),
                over: AtomicU64::new(0),
            }
        }
    }

    /// Records that a release has begun. To be called before the exchange that ends the life.
    pub(super) fn release_begins(&self) {
        // Relaxed: the exchange that ends the life, or the end of the release, publishes this
        // count.
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a release is over, or that another thread had taken the object.
    pub(super) fn release_is_over(&self) {
        // Release: pairs with the Acquire in `releases_over`, so that a thread that counts this
        // release as over sees its effects. Model: hot_unreleased.
        self.over.fetch_add(1, Ordering::Release);
    }

    /// Returns how many releases are over.
    pub(super) fn releases_over(&self) -> u64 {
        // Acquire: pairs with the Release in `release_is_over`. Model: hot_unreleased.
        self.over.load(Ordering::Acquire)
    }

    /// Returns how many releases had begun and were not over, at some time during the call.
    pub(super) fn releases_in_progress(&self) -> u64 {
        let over = self.releases_over();
        // Relaxed: `begun` is read after `over`, so it counts all releases that `over` counts; and
        // a reader that has found a life ended sees that its release has begun.
        self.begun.load(Ordering::Relaxed) - over
    }

    #[inline]
    pub(super) fn row(&self, index: RowIndex) -> &Row {
        &self.rows[index.get()]
    }

    /// Returns the rows that have ever been taken.
    pub(super) fn used_rows(&self) -> impl Iterator<Item = RowIndex> + use<> {
        let used = (self.used.get() as usize).min(ROWS);
        (0..used).map(RowIndex::new)
    }

    /// Takes a free row, for an object of this type; `None` if no row is free.
    pub(super) fn claim(&self, type_info: &'static TypeInfo) -> Option<RowIndex> {
        let mut free = self.free.lock();
        let row = match usize::from(free.first) {
            0 => {
                let row = usize::from(free.used);
                if row == ROWS {
                    return None;
                }
                free.used += 1;
                self.used.set(u64::from(free.used));
                row
            }
            first => {
                free.first = free.next[first - 1];
                first - 1
            }
        };
        free.types[row] = Some(type_info);
        self.taken.add_shared(1);
        Some(RowIndex::new(row))
    }

    /// Puts a row whose life has ended into the list.
    pub(super) fn give_back(&self, row: RowIndex) {
        self.taken.subtract_shared(1);
        let mut free = self.free.lock();
        free.next[row.get()] = free.first;
        free.first = row.0 + 1;
    }

    /// Returns the name of the type of the row's latest object.
    pub(super) fn type_name(&self, row: RowIndex) -> &'static str {
        let type_info = self.free.lock().types[row.get()];
        type_info.map_or("an unknown type", |type_info| type_info.type_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_timed_while_the_object_of_its_present_life_is_let_go() {
        let row = Row::new();
        let let_go = || {
            row.begin(Thin::dangling());
            assert!(!row.kept.is_running());
            row.let_go();
            row.let_go_life().unwrap()
        };
        let first = let_go();
        assert!(row.kept.is_running() && row.end(first).is_some());
        let_go();
        assert!(row.end(first).is_none() && row.kept.is_running());
    }
}
