//! Counting births and deaths in the book of the calling thread.

use super::book::Book;
use super::hot_table::{RowIndex, TABLE};
use super::library::LIBRARY;
use super::review::{self, GoOn};
use crate::pool::drain::this_thread;
use crate::pool::stack::attention::{Attention, Dying, Reviewer};
use crate::sync::cell::Cell;
use crate::sync::local;
use std::ptr;

/// A thread's state in its thread-local. It has no destructor, so it is accessible at any time.
struct Mine {
    /// Null before the first use, and once the thread has left.
    book: Cell<*const Book>,
    /// True once the thread has given up its book.
    left: Cell<bool>,
}

local! {
    static MINE: Mine = Mine {
        book: Cell::new(ptr::null()),
        left: Cell::new(false),
    };
}

/// The functions that the pools of a thread with a book call.
static REVIEWER: Reviewer = Reviewer {
    settle,
    next_dead,
    noted,
    leave,
};

/// Counts a birth of a handle to the object of `row`, on this thread. The caller keeps another
/// handle to the object, or its owner, until this returns.
#[inline]
pub(super) fn birth(row: RowIndex) {
    match book() {
        Some(book) if book.account(row).is_without_births() => first_birth(book, row),
        Some(book) => book.account(row).birth(),
        None => TABLE.row(row).late_birth(),
    }
}

/// Counts a birth in a book that may not be in the row's list yet.
#[cold]
#[inline(never)]
fn first_birth(book: &'static Book, row: RowIndex) {
    LIBRARY.enter(book, row);
    book.account(row).birth();
}

/// Counts the death of a handle to the object of `row`, on this thread. The caller no longer uses
/// the object.
#[inline]
pub(super) fn death(row: RowIndex) {
    match book() {
        Some(book) if book.is_noted(row) => book.account(row).death(),
        Some(book) => noted_death(book, row),
        None => {
            TABLE.row(row).late_death();
            review::late(row);
        }
    }
}

#[cold]
#[inline(never)]
fn noted_death(book: &'static Book, row: RowIndex) {
    note(book, row);
    book.account(row).death();
}

/// Records that the owner of the object of `row` has let it go. The caller no longer uses the
/// object.
pub(super) fn let_go(row: RowIndex) {
    TABLE.let_go.add_shared(1);
    TABLE.row(row).let_go();
    match book() {
        Some(book) => note(book, row),
        None => review::late(row),
    }
}

/// Returns the calling thread's book; `None` on a late thread (invariant 5 of `hot`).
#[inline(always)]
fn book() -> Option<&'static Book> {
    let book = MINE.with(|mine| mine.book.get());
    // SAFETY: null, or a book, which is never freed (invariant 3 of `hot`).
    match unsafe { book.as_ref() } {
        Some(book) => Some(book),
        None => enter(),
    }
}

/// Returns the calling thread's book, if it has one.
fn book_if_any() -> Option<&'static Book> {
    // SAFETY: null, or a book, which is never freed (invariant 3 of `hot`).
    unsafe { MINE.with(|mine| mine.book.get()).as_ref() }
}

/// Returns the address of the calling thread's book, if it has one, for models.
#[cfg(all(loom, feature = "loom"))]
pub(crate) fn book_address() -> Option<usize> {
    book_if_any().map(|book| ptr::from_ref(book).addr())
}

/// Gives the calling thread a book; returns `None` on a late thread.
#[cold]
#[inline(never)]
fn enter() -> Option<&'static Book> {
    if MINE.with(|mine| mine.left.get()) {
        return None;
    }
    // Makes the thread's pools, too, so that its exit gives up the book.
    this_thread::with(|pools| {
        let pools = pools?;
        let book = LIBRARY.adopt_or_make();
        // A global allocator that uses hot objects may have given the thread a book meanwhile.
        if let Some(mine) = book_if_any() {
            LIBRARY.give_back(book);
            return Some(mine);
        }
        MINE.with(|mine| mine.book.set(book));
        pools.reviews.set_reviewer(&REVIEWER);
        if book.has_notes() {
            pools.attention.set(Attention::REVIEW);
        }
        Some(book)
    })
}

/// Notes a row, so that the thread's next outermost drain reviews it.
fn note(book: &'static Book, row: RowIndex) {
    if book.account(row).is_empty() {
        LIBRARY.enter(book, row);
    }
    book.note(row);
    this_thread::with(|pools| {
        if let Some(pools) = pools {
            pools.attention.set(Attention::REVIEW);
        }
    });
}

fn settle() -> bool {
    book_if_any().is_some_and(review::settle)
}

fn next_dead(go_on: GoOn<'_>) -> Option<Dying> {
    book_if_any().and_then(|book| review::next_dead(book, go_on))
}

fn noted() -> usize {
    book_if_any().map_or(0, Book::noted)
}

/// Gives up the book: from here on, the thread counts in the rows' accounts of late threads. The
/// book's next owner reviews the remaining notes.
fn leave() {
    MINE.with(|mine| {
        mine.left.set(true);
        let book = mine.book.replace(ptr::null());
        // SAFETY: null, or a book, which is never freed (invariant 3 of `hot`).
        if let Some(book) = unsafe { book.as_ref() } {
            LIBRARY.give_back(book);
        }
    });
}
