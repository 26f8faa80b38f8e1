//! The calling thread: what it counts in its book.

use super::book::Book;
use super::library::BOOKS;
use super::review;
use super::table::{RowIndex, TABLE};
use crate::pool::attention::{Attention, Found, Reviewer};
use crate::pool::this_thread;
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

/// What the pools of a thread with a book do for it.
static REVIEWER: Reviewer = Reviewer {
    settle,
    next_dead,
    noted,
    leave,
};

/// Counts a birth of a handle to the object of `row`, on this thread. The caller has a handle to it
/// that lives until then, or is its owner.
#[inline]
pub(super) fn birth(row: RowIndex) {
    match book() {
        Some(book) => book.account(row).birth(),
        None => TABLE.row(row).late_birth(),
    }
}

/// Counts the death of a handle to the object of `row`, on this thread. The caller does not use the
/// object any more.
#[inline]
pub(super) fn death(row: RowIndex) {
    match book() {
        Some(book) => {
            book.account(row).death();
            if !book.is_noted(row) {
                note(book, row);
            }
        }
        None => {
            TABLE.row(row).late_death();
            review::late(row);
        }
    }
}

/// Records that the owner of the object of `row` has let it go. The caller does not use the object
/// any more.
pub(super) fn let_go(row: RowIndex) {
    let book = book();
    TABLE.let_go.add_shared(1);
    TABLE.row(row).let_go();
    match book {
        Some(book) => note(book, row),
        None => review::late(row),
    }
}

/// Returns the calling thread's book; `None` once the thread has left.
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
    // SAFETY: as in `book`.
    unsafe { MINE.with(|mine| mine.book.get()).as_ref() }
}

/// Gives the calling thread a book; returns `None` once the thread has left.
#[cold]
#[inline(never)]
fn enter() -> Option<&'static Book> {
    if MINE.with(|mine| mine.left.get()) {
        return None;
    }
    // With pools, so that its exit is noticed.
    this_thread::with(|pools| {
        let pools = pools?;
        let book = BOOKS.adopt_or_add();
        // A global allocator that uses hot objects may have given the thread one meanwhile.
        if let Some(mine) = book_if_any() {
            book.give_up();
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

/// Notes a row, so that the thread's next outermost drain looks at it.
#[cold]
#[inline(never)]
fn note(book: &Book, row: RowIndex) {
    book.note(row);
    this_thread::with(|pools| {
        if let Some(pools) = pools {
            pools.attention.set(Attention::REVIEW);
        }
    });
}

fn settle(_: &mut dyn FnMut() -> bool) -> bool {
    book_if_any().is_some_and(review::settle)
}

fn next_dead(_: &mut dyn FnMut() -> bool) -> Found {
    book_if_any()
        .and_then(review::next_dead)
        .map_or(Found::Nothing, Found::Dead)
}

fn noted() -> usize {
    book_if_any().map_or(0, Book::noted)
}

/// Gives up the book: what the thread counts from here on goes to the rows' accounts of late
/// threads. What is still noted is left to the book's next owner.
fn leave() {
    MINE.with(|mine| {
        mine.left.set(true);
        let book = mine.book.replace(ptr::null());
        // SAFETY: as in `book`.
        if let Some(book) = unsafe { book.as_ref() } {
            book.give_up();
        }
    });
}
