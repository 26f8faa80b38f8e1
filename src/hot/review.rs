//! Scans, and what is done with the objects that they find dead.

use super::book::Book;
use super::library::BOOKS;
use super::table::{Life, ROWS, RowIndex, TABLE};
use crate::object::checks;
use crate::object::header::Thin;
use crate::pool::remote_release::orphaned_release;
use crate::sync::atomic::{Ordering, fence};
use crate::thread::current::current_label;
use crate::thread::orphans::ORPHANS;

/// How often a review of all rows goes on with what its releases have let go. A chain of hot objects
/// is not longer than the table.
const ROUNDS: usize = 2 * ROWS;

/// Orders the deaths that this thread has counted before what the following scans read. Every scan
/// that is to find a dead object follows one; what a scan finds is true without it.
#[inline]
fn order_deaths() {
    // SeqCst: of several threads that make this fence after their last death, the last one reads
    // the deaths of all others. Model: hot_two_last.
    fence(Ordering::SeqCst);
}

/// Returns the life of a row, if its object is dead: its owner has let it go, and there is no handle
/// to it.
fn scan(row: RowIndex) -> Option<Life> {
    let at = TABLE.row(row);
    let life = at.let_go_life()?;
    let mut deaths = at.late_deaths();
    BOOKS.each(|book| deaths = deaths.wrapping_add(book.account(row).deaths()));
    // Only now, and with the books that there are now: the module documentation of `hot` says why.
    let mut births = at.late_births();
    BOOKS.each(|book| births = births.wrapping_add(book.account(row).births()));
    if deaths > births {
        overdrawn(row, life);
    }
    (deaths == births).then_some(life)
}

/// Aborts: more handles were dropped than made, so one was dropped twice, and an object may have been
/// destroyed that was in use.
#[cold]
#[inline(never)]
fn overdrawn(row: RowIndex, life: Life) {
    // Otherwise another thread has found out.
    if TABLE.row(row).end(life).is_some() {
        checks::abort(&format!(
            "{}: more HotRefs were dropped than made (thread {})",
            TABLE.type_name(row),
            current_label(),
        ));
    }
}

/// Ends the life of a row if its object is dead; returns the object, whose reference the caller takes
/// over.
fn take_if_dead(row: RowIndex) -> Option<Thin> {
    let life = scan(row)?;
    let object = TABLE.row(row).end(life)?;
    TABLE.let_go.subtract_shared(1);
    TABLE.give_back(row);
    Some(object)
}

/// Looks at the rows that the calling thread has noted since it last did so, and forgets those whose
/// objects are not dead. Returns whether any are left. Runs no foreign code.
pub(super) fn settle(book: &Book) -> bool {
    if book.take_fresh() {
        order_deaths();
        book.retain_notes(|row| scan(row).is_some());
    }
    book.has_notes()
}

/// Returns the next dead object among those that the calling thread has noted. The caller takes over
/// a strong reference to it.
pub(super) fn next_dead(book: &Book) -> Option<Thin> {
    settle(book);
    while let Some(row) = book.take_one() {
        // Again: this thread may have dropped handles to a row that was noted in an earlier life, and
        // had been looked at by then. Model: hot_noted_before.
        order_deaths();
        let object = take_if_dead(row);
        if object.is_some() {
            return object;
        }
    }
    None
}

/// Looks at a row whose handle or owner has been dropped on a thread without a book, which may never
/// drain again. If the object is dead, its release becomes an orphan, so no foreign code runs here.
#[cold]
#[inline(never)]
pub(super) fn late(row: RowIndex) {
    order_deaths();
    if let Some(object) = take_if_dead(row) {
        orphan(object);
    }
}

fn orphan(object: Thin) {
    // SAFETY: the row's strong reference, which the caller has taken over; `Hot::try_new` takes only
    // what is Send and Sync.
    ORPHANS.adopt(unsafe { orphaned_release(object) });
}

/// Returns how many objects are dead and not released.
pub(crate) fn unreleased() -> usize {
    order_deaths();
    TABLE.used_rows().filter(|&row| scan(row).is_some()).count()
}

/// Returns how many dead objects have been released.
pub(crate) fn ended() -> u64 {
    0
}

/// Looks at all rows, whichever thread has noted them, and passes the dead objects to `release`,
/// which takes over a strong reference to each. Goes on with what these releases let go. Returns the
/// number of objects.
pub(crate) fn all(mut release: impl FnMut(Thin)) -> usize {
    let mut total = 0;
    for _ in 0..ROUNDS {
        let mut rows = TABLE.used_rows().peekable();
        if rows.peek().is_none() {
            break;
        }
        order_deaths();
        let before = total;
        for row in rows {
            if let Some(object) = take_if_dead(row) {
                total += 1;
                release(object);
            }
        }
        if total == before {
            break;
        }
    }
    total
}

/// Frees the rows of all dead objects. Their releases become orphans, so no foreign code runs here.
#[cold]
pub(super) fn make_room() {
    all(orphan);
}
