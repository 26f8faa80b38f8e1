//! A book: the accounts of one thread, and what it has noted.

use super::table::{ROWS, RowIndex};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{OwnedU64, array_of};

/// How many rows the notes of one word are for.
const WORD: usize = 64;
const WORDS: usize = ROWS.div_ceil(WORD);

const IDLE: u64 = 0;
const IN_USE: u64 = 1;

/// The births and deaths of handles to one row's objects that one thread has made; of all lives of
/// the row, and by all owners of the book.
pub(super) struct Account {
    births: OwnedU64,
    deaths: OwnedU64,
}

impl Account {
    /// Owner only: counts a birth.
    #[inline(always)]
    pub(super) fn birth(&self) {
        // Relaxed: the death of this handle, or of what it was born from, publishes it.
        self.births
            .store(self.births.own().wrapping_add(1), Ordering::Relaxed);
    }

    /// Owner only: counts a death.
    #[inline(always)]
    pub(super) fn death(&self) {
        // Release: pairs with the Acquire in `deaths`, so that a scan that reads it sees all that
        // happened before: uses, births, and the books of these. Model: hot_noted_before.
        self.deaths
            .store(self.deaths.own().wrapping_add(1), Ordering::Release);
    }

    pub(super) fn deaths(&self) -> u64 {
        // Acquire: pairs with the Release in `death`. Model: hot_noted_before.
        self.deaths.load(Ordering::Acquire)
    }

    pub(super) fn births(&self) -> u64 {
        // Relaxed: the births that must be seen are, by the deaths that were read before.
        self.births.load(Ordering::Relaxed)
    }
}

/// All accounts of one thread. Adopted by another one when that has exited.
// A line of its own, and not the two of a pair that processors fetch together.
#[repr(align(128))]
pub(super) struct Book {
    accounts: [Account; ROWS],
    /// Owner only: a bit for each noted row.
    notes: [Cell<u64>; WORDS],
    /// Owner only: a bit for each word of `notes` that is not zero.
    words: Cell<u64>,
    /// Owner only: true if rows have been noted that were not looked at.
    fresh: Cell<bool>,
    /// [`IN_USE`] while a thread owns the book.
    owned: AtomicU64,
}

// SAFETY: the cells, and the figures of accounts, are written by the owner only (invariant 3 of
// `hot`).
unsafe impl Sync for Book {}
// SAFETY: for the reason given for `Sync`.
unsafe impl Send for Book {}

impl Book {
    /// Returns an empty book, which the caller owns.
    pub(super) fn new() -> Self {
        Self {
            accounts: array_of![Account { births: OwnedU64::new(0), deaths: OwnedU64::new(0) }; ROWS],
            notes: array_of![Cell::new(0); WORDS],
            words: Cell::new(0),
            fresh: Cell::new(false),
            owned: AtomicU64::new(IN_USE),
        }
    }

    #[inline(always)]
    pub(super) fn account(&self, row: RowIndex) -> &Account {
        // SAFETY: an index is below `ROWS` (invariant 1 of `hot`).
        unsafe { self.accounts.get_unchecked(row.get()) }
    }

    /// Makes the caller the owner, if the book has none. Returns whether it is.
    pub(super) fn adopt(&self) -> bool {
        // Relaxed: the exchange checks the value.
        if self.owned.load(Ordering::Relaxed) != IDLE {
            return false;
        }
        // Acquire: pairs with the Release in `give_up`, so that the figures go on where the last
        // owner has left them. Model: hot_exit_and_adoption.
        self.owned
            .compare_exchange(IDLE, IN_USE, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Owner only: gives the book up, for the next thread to adopt.
    pub(super) fn give_up(&self) {
        // Release: pairs with the Acquire in `adopt`. Model: hot_exit_and_adoption.
        self.owned.store(IDLE, Ordering::Release);
    }

    /// Owner only: returns whether the row is noted.
    #[inline(always)]
    pub(super) fn is_noted(&self, row: RowIndex) -> bool {
        // SAFETY: an index is below `ROWS` (invariant 1 of `hot`), for which there are bits.
        let word = unsafe { self.notes.get_unchecked(row.get() / WORD) };
        word.get() & (1 << (row.get() % WORD)) != 0
    }

    /// Owner only: notes a row, to be looked at.
    pub(super) fn note(&self, row: RowIndex) {
        self.fresh.set(true);
        let word = row.get() / WORD;
        let notes = &self.notes[word];
        notes.set(notes.get() | 1 << (row.get() % WORD));
        self.words.set(self.words.get() | 1 << word);
    }

    /// Owner only: returns whether there are fresh notes; they are not fresh any more.
    #[inline]
    pub(super) fn take_fresh(&self) -> bool {
        self.fresh.replace(false)
    }

    /// Owner only: calls `f` with each noted row, and keeps the notes of those for which it returns
    /// true. `f` must not note anything.
    pub(super) fn retain_notes(&self, mut f: impl FnMut(RowIndex) -> bool) {
        let mut kept = 0;
        let mut words = self.words.get();
        while words != 0 {
            let word = words.trailing_zeros() as usize;
            words &= words - 1;
            let notes = self.notes[word].get();
            let (mut left, mut bits) = (notes, notes);
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                bits ^= bit;
                if !f(RowIndex::new(word * WORD + bit.trailing_zeros() as usize)) {
                    left ^= bit;
                }
            }
            self.notes[word].set(left);
            kept |= u64::from(left != 0) << word;
        }
        self.words.set(kept);
    }

    /// Owner only: takes one note.
    pub(super) fn take_one(&self) -> Option<RowIndex> {
        let words = self.words.get();
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros() as usize;
        let bits = self.notes[word].get();
        let rest = bits & (bits - 1);
        self.notes[word].set(rest);
        if rest == 0 {
            self.words.set(words & (words - 1));
        }
        let row = word * WORD + bits.trailing_zeros() as usize;
        Some(RowIndex::new(row))
    }

    /// Owner only: returns whether any row is noted.
    pub(super) fn has_notes(&self) -> bool {
        self.words.get() != 0
    }

    /// Owner only: returns how many rows are noted.
    pub(super) fn noted(&self) -> usize {
        let counts = self.notes.iter().map(|word| word.get().count_ones());
        counts.sum::<u32>() as usize
    }
}
