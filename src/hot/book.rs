//! A book: the accounts of one thread, its places in the lists of rows, and its notes.

use super::hot_table::{Life, ROWS, RowIndex};
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{OwnedU64, array_of, null_pointers};
use std::ptr;

/// In `notes`: no note. A noted row's entry is the next row of the queue, plus 1, or [`END`].
const NOT_NOTED: u16 = 0;
const END: u16 = u16::MAX;

/// The births and deaths that one book has counted for one row, summed over all lives of the row
/// and all owners of the book.
pub(super) struct Account {
    births: OwnedU64,
    deaths: OwnedU64,
}

impl Account {
    /// Owner only: returns whether no birth has been counted.
    #[inline(always)]
    pub(super) fn is_without_births(&self) -> bool {
        self.births.own() == 0
    }

    /// Owner only: returns whether neither a birth nor a death has been counted.
    pub(super) fn is_empty(&self) -> bool {
        self.births.own() == 0 && self.deaths.own() == 0
    }

    /// Owner only: counts a birth.
    #[inline(always)]
    pub(super) fn birth(&self) {
        // Relaxed: the death of this handle, or of its parent, publishes the birth.
        self.births
            .store(self.births.own().wrapping_add(1), Ordering::Relaxed);
    }

    /// Owner only: counts a death.
    #[inline(always)]
    pub(super) fn death(&self) {
        // Release: pairs with the Acquire in `deaths`, so that a scan that reads this death sees
        // all that happened before: uses of the object, births, and the links of their books.
        // Model: hot_noted_before.
        self.deaths
            .store(self.deaths.own().wrapping_add(1), Ordering::Release);
    }

    pub(super) fn deaths(&self) -> u64 {
        // Acquire: pairs with the Release in `death`. Model: hot_noted_before.
        self.deaths.load(Ordering::Acquire)
    }

    pub(super) fn births(&self) -> u64 {
        // Relaxed: the deaths that were read before make all births visible that the scan must see.
        self.births.load(Ordering::Relaxed)
    }
}

/// A scan of a row whose object has been let go: it runs, or it is to be continued.
#[derive(Clone, Copy)]
pub(super) struct Scan {
    pub(super) row: RowIndex,
    pub(super) life: Life,
    pub(super) deaths: u64,
    /// The sum of births; `None` while the scan still reads deaths.
    pub(super) births: Option<u64>,
    /// The book whose account is read next.
    pub(super) next: Option<&'static Book>,
}

/// All accounts of one thread. When the thread has exited, another one adopts the book.
// Aligned to a pair of cache lines, which processors fetch together.
#[repr(align(128))]
pub(super) struct Book {
    accounts: [Account; ROWS],
    /// For each row, the next book in the row's list; the last book leads to itself. Null: this
    /// book is not in that list. A link changes only until the book is in the list.
    links: [AtomicPtr<Book>; ROWS],
    /// Owner only: the links of the queue of noted rows. In a queue, each row has its turn.
    notes: [Cell<u16>; ROWS],
    /// Owner only: the queue's first row, plus 1, or [`END`]; and its last row, if there is any.
    first: Cell<u16>,
    last: Cell<RowIndex>,
    /// Owner only: true if rows have been noted since the last [`take_fresh`](Self::take_fresh).
    fresh: Cell<bool>,
    /// Owner only: an unfinished scan. Its row is in the queue only if it was noted again since.
    scan: Cell<Option<Scan>>,
    /// The next book without an owner. The lock of the library guards this link.
    pub(super) next_idle: Cell<Option<&'static Book>>,
}

// SAFETY: only the owner accesses the cells and writes the figures of accounts; `next_idle` is
// behind a lock (invariant 3 of `hot`).
unsafe impl Sync for Book {}
// SAFETY: as for `Sync`: only the owner, or code under a lock, accesses the cells.
unsafe impl Send for Book {}

impl Book {
    /// Returns an empty book, which the caller owns.
    pub(super) fn new() -> Self {
        Self {
            accounts: array_of![Account { births: OwnedU64::new(0), deaths: OwnedU64::new(0) }; ROWS],
            links: null_pointers(),
            notes: array_of![Cell::new(NOT_NOTED); ROWS],
            first: Cell::new(END),
            last: Cell::new(RowIndex::FIRST),
            fresh: Cell::new(false),
            scan: Cell::new(None),
            next_idle: Cell::new(None),
        }
    }

    #[inline(always)]
    pub(super) fn account(&self, row: RowIndex) -> &Account {
        // SAFETY: an index is below `ROWS` (invariant 1 of `hot`).
        unsafe { self.accounts.get_unchecked(row.get()) }
    }

    /// Returns the book after this one in the list of a row; this book must be in that list.
    pub(super) fn next(&self, row: RowIndex) -> Option<&'static Book> {
        // Relaxed: the link was written before the exchange whose result `Library::first` has read,
        // or before an earlier exchange of the same list.
        let next = self.links[row.get()].load(Ordering::Relaxed);
        debug_assert!(!next.is_null(), "it is part of the list");
        // SAFETY: null, or a book, which is never freed (invariant 3 of `hot`).
        unsafe { next.as_ref() }.filter(|next| !ptr::eq(*next, self))
    }

    /// Owner only: returns whether the book is in the list of a row.
    pub(super) fn is_linked(&self, row: RowIndex) -> bool {
        // Relaxed: only the owner, which is the caller, writes the link.
        !self.links[row.get()].load(Ordering::Relaxed).is_null()
    }

    /// Owner only: makes the book lead to `next` in the list of a row; makes it the last one if
    /// `next` is null.
    pub(super) fn lead_to(&self, next: *mut Self, row: RowIndex) {
        let next = if next.is_null() {
            ptr::from_ref(self).cast_mut()
        } else {
            next
        };
        // Relaxed: `Library::enter` publishes the link.
        self.links[row.get()].store(next, Ordering::Relaxed);
    }

    /// Owner only: returns whether the row is noted. If so, the book is in the row's list.
    #[inline(always)]
    pub(super) fn is_noted(&self, row: RowIndex) -> bool {
        // SAFETY: an index is below `ROWS` (invariant 1 of `hot`).
        unsafe { self.notes.get_unchecked(row.get()) }.get() != NOT_NOTED
    }

    /// Owner only: notes a row for the next review. The book must be in the row's list.
    pub(super) fn note(&self, row: RowIndex) {
        self.fresh.set(true);
        if !self.is_noted(row) {
            self.put_last(row);
        }
    }

    fn put_last(&self, row: RowIndex) {
        let before = self.last.replace(row);
        let is_empty = self.first.get() == END;
        let place = if is_empty {
            &self.first
        } else {
            &self.notes[before.get()]
        };
        place.set(row.get() as u16 + 1);
        self.notes[row.get()].set(END);
    }

    /// Owner only: takes the note that has waited longest.
    pub(super) fn take_first(&self) -> Option<RowIndex> {
        let first = self.first.get();
        (first != END).then(|| {
            let row = RowIndex::new(usize::from(first) - 1);
            self.first.set(self.notes[row.get()].replace(NOT_NOTED));
            row
        })
    }

    /// Owner only: returns whether there are fresh notes, and marks them as seen.
    #[inline]
    pub(super) fn take_fresh(&self) -> bool {
        self.fresh.replace(false)
    }

    /// Owner only: keeps the notes for which `keep` returns true. `keep` must not note anything.
    pub(super) fn retain_notes(&self, mut keep: impl FnMut(RowIndex) -> bool) {
        let mut next = self.first.replace(END);
        while next != END {
            let row = RowIndex::new(usize::from(next) - 1);
            next = self.notes[row.get()].replace(NOT_NOTED);
            if keep(row) {
                self.put_last(row);
            }
        }
    }

    /// Owner only: takes the unfinished scan, if there is one.
    pub(super) fn take_scan(&self) -> Option<Scan> {
        self.scan.take()
    }

    /// Owner only: keeps an unfinished scan; the book must not have another.
    pub(super) fn keep_scan(&self, scan: Scan) {
        self.scan.set(Some(scan));
    }

    /// Owner only: returns how many rows are noted or being scanned.
    pub(super) fn noted(&self) -> usize {
        let some = |row: u16| (row != END).then_some(row);
        let next = |row: &u16| some(self.notes[usize::from(*row) - 1].get());
        let rows = std::iter::successors(some(self.first.get()), next);
        rows.count() + usize::from(self.scan.get().is_some())
    }

    /// Owner only: returns whether any row is noted or being scanned.
    pub(super) fn has_notes(&self) -> bool {
        self.first.get() != END || self.scan.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_a_queue() {
        let book = Book::new();
        let [a, b, c] = [5, 700, 0].map(RowIndex::new);
        for row in [a, b, a, c] {
            book.note(row);
        }
        assert!(book.take_fresh() && !book.take_fresh());
        assert_eq!(book.noted(), 3);
        assert_eq!(book.take_first(), Some(a));
        assert!(!book.is_noted(a) && book.is_noted(b));
        book.note(a);
        book.retain_notes(|row| row != c);
        assert_eq!((book.take_first(), book.has_notes()), (Some(b), true));
        assert_eq!((book.take_first(), book.take_first()), (Some(a), None));
        assert!(!book.has_notes());
        book.note(c);
        book.retain_notes(|_| false);
        assert_eq!((book.noted(), book.take_first()), (0, None));
    }
}
