//! Scans, which add up the births and deaths of all threads for a row. Decides when a thread scans
//! which rows, and passes on the objects that scans find dead.

use super::book::{Book, Scan};
use super::hot_table::{Life, ROWS, RowIndex, TABLE};
use super::library::LIBRARY;
use crate::ledger;
use crate::pool::remote::orphaned_release;
use crate::pool::stack::attention::Dying;
use crate::sync::atomic::{Ordering, fence};
use crate::sync::cell::Cell;
use crate::sync::{SMALL, local};
use crate::thread::current::current_label;
use crate::thread::orphans::ORPHANS;

/// The most rounds that [`all`] makes, as its releases may let objects go for ever. A chain of hot
/// objects cannot be longer than the table.
const ROUNDS: usize = 2 * ROWS;

local! {
    /// How many releases of dead objects are in progress on this thread.
    static RELEASING_HERE: Cell<usize> = Cell::new(0);
}

/// Orders the deaths that this thread has counted before the reads of the scans that follow.
/// Without this fence, a scan may miss a dead object; an object that it finds dead is dead anyway.
#[inline]
fn order_deaths() {
    // SeqCst: of several threads that make this fence after their last death, the last one reads
    // the deaths of all others. Model: hot_two_last.
    fence(Ordering::SeqCst);
}

/// Ends a life in which the row's object is dead, unless another thread has done so; returns the
/// object.
fn take(row: RowIndex, life: Life) -> Option<Dying> {
    // Counts the release first, so that `unreleased` finds the object either in its row or as being
    // released.
    TABLE.release_begins();
    RELEASING_HERE.with(|here| here.set(here.get() + 1));
    let over = || {
        RELEASING_HERE.with(|here| here.set(here.get() - 1));
        TABLE.release_is_over();
    };
    let Some(object) = TABLE.row(row).end(life) else {
        over();
        return None;
    };
    TABLE.let_go.subtract_shared(1);
    TABLE.give_back(row);
    Some(Dying::new(object, over))
}

/// Returns the object of a row, if it is dead.
fn take_if_dead(row: RowIndex) -> Option<Dying> {
    take(row, scan(row)?)
}

/// If the calling thread has noted rows since it last called this, removes the notes of rows that
/// are not let go, by one load for each. Returns [`Book::has_notes`]. Runs no foreign code.
pub(super) fn settle(book: &Book) -> bool {
    if book.take_fresh() {
        order_deaths();
        book.retain_notes(|row| TABLE.row(row).let_go_life().is_some());
    }
    book.has_notes()
}

/// Returns the next dead object among the rows that the calling thread has noted. If `go_on` stops
/// a scan, the next call continues it.
pub(super) fn next_dead(book: &Book, go_on: GoOn<'_>) -> Option<Dying> {
    settle(book);
    loop {
        let mut scan = book.take_scan().or_else(|| {
            std::iter::from_fn(|| book.take_first()).find_map(|row| {
                // Orders deaths again for each scan. A death for a row that is noted already,
                // perhaps since an earlier life, makes no note: `settle` may not have ordered it.
                // Model: hot_noted_before.
                order_deaths();
                Scan::begin(row)
            })
        })?;
        if !scan.run(go_on) {
            book.keep_scan(scan);
            return None;
        }
        let dead = scan.dead().and_then(|life| take(scan.row, life));
        // Each scan counts as a step, however short.
        if dead.is_some() || !go_on() {
            return dead;
        }
    }
}

/// Scans a row after a `HotRef` or the row's `Hot` was dropped on a thread without a book, which may
/// never drain again. The release of a dead object becomes an orphan: this runs no foreign code.
#[cold]
#[inline(never)]
pub(super) fn late(row: RowIndex) {
    order_deaths();
    if let Some(object) = take_if_dead(row) {
        orphan(&object);
    }
}

fn orphan(object: &Dying) {
    // SAFETY: `object` stands for the row's strong reference, which only the orphan gives up. The
    // object is Send and Sync, as `Hot::try_new` demands.
    ORPHANS.adopt(unsafe { orphaned_release(object.thin()) });
}

/// Scans all rows, whichever thread has noted them, and passes the dead objects to `release`, which
/// gives up the strong reference to each. Starts again as long as it finds dead objects, as their
/// destructors may let others go. Returns the number of objects.
///
/// Does not order deaths: a thread that has counted a death scans the row itself, after a fence.
pub(crate) fn all(mut release: impl FnMut(&Dying)) -> usize {
    let mut total = 0;
    for _ in 0..ROUNDS {
        let dead = TABLE.used_rows().filter_map(take_if_dead);
        let found = dead.inspect(&mut release).count();
        if found == 0 {
            break;
        }
        total += found;
    }
    total
}

/// Returns how many hot objects are dead and not released: no thread has found them yet, or another
/// thread is releasing them. A release that has become an orphan counts as over, so the caller must
/// read the number of orphans afterwards. An object whose release begins during the call may count
/// twice.
///
/// If the result is 0, and [`ended`] is the same before and after, then no hot object was dead and
/// not released when this was called. If `ended` has changed, an object that was scanned may have
/// been kept alive by another one that was released later.
pub(crate) fn unreleased() -> usize {
    order_deaths();
    let dead = TABLE.used_rows().filter(|row| scan(*row).is_some()).count();
    // Reads the releases after the rows: an object is counted as being released before it leaves
    // its row.
    let releasing = TABLE.releases_in_progress() as usize;
    dead + releasing.saturating_sub(RELEASING_HERE.with(Cell::get))
}

/// Returns a number that grows whenever the release of a hot object is over.
pub(crate) fn ended() -> u64 {
    TABLE.releases_over()
}

/// Returns how many releases of dead objects are in progress on the calling thread, for models.
#[cfg(all(loom, feature = "loom"))]
pub(crate) fn releasing_here() -> usize {
    RELEASING_HERE.with(Cell::get)
}

/// Frees the rows of all dead objects. Their releases become orphans, so this runs no foreign code.
#[cold]
pub(super) fn make_room() {
    all(orphan);
}

/// How many accounts a scan reads in a step.
const STEP: u32 = if SMALL { 1 } else { 16 };

/// Tells a scan at the end of each step whether to go on.
pub(crate) type GoOn<'g> = &'g mut dyn FnMut() -> bool;

/// A scan may stop after each step and go on much later, even on another thread, which has adopted
/// the book that keeps the scan.
impl Scan {
    /// Begins a scan of a row, if its object has been let go.
    fn begin(row: RowIndex) -> Option<Self> {
        let at = TABLE.row(row);
        // Reads the life first: the reads of all births and deaths must come after it.
        let life = at.let_go_life()?;
        Some(Self {
            row,
            life,
            deaths: at.late_deaths(),
            births: None,
            next: LIBRARY.first(row),
        })
    }

    /// Continues the scan until it is over or `go_on` stops it; returns whether it is over.
    fn run(&mut self, go_on: GoOn<'_>) -> bool {
        let at = TABLE.row(self.row);
        let mut left = STEP;
        loop {
            while let Some(book) = self.next {
                let account = book.account(self.row);
                match &mut self.births {
                    None => self.deaths = self.deaths.wrapping_add(account.deaths()),
                    Some(births) => *births = births.wrapping_add(account.births()),
                }
                self.next = book.next(self.row);
                left -= 1;
                if left == 0 {
                    left = STEP;
                    if !go_on() {
                        return false;
                    }
                }
            }
            if self.births.is_some() {
                return true;
            }
            // Reads births after all deaths, and from the current head of the list: the module
            // documentation of `hot` says why. Model: hot_one_list_trap.
            self.births = Some(at.late_births());
            self.next = LIBRARY.first(self.row);
        }
    }

    /// Returns the row's life, if the object is dead in this life. To be called when all figures
    /// have been read.
    fn dead(&self) -> Option<Life> {
        let births = self.births?;
        if self.deaths > births {
            overdrawn(self.row, self.life);
        }
        (self.deaths == births).then_some(self.life)
    }
}

/// Scans a row at once. Returns the row's life if the row's object is dead: the owner has let the
/// object go, and no handle is left.
fn scan(row: RowIndex) -> Option<Life> {
    let mut scan = Scan::begin(row)?;
    scan.run(&mut || true);
    scan.dead()
}

/// Aborts: more handles were dropped than made, so one was dropped twice, and an object in use may
/// have been destroyed.
#[cold]
#[inline(never)]
fn overdrawn(row: RowIndex, life: Life) {
    // If the life has ended already, the object was released, or another thread reports this.
    if TABLE.row(row).end(life).is_some() {
        ledger::abort(&format!(
            "{}: more HotRefs were dropped than made (thread {})",
            TABLE.type_name(row),
            current_label(),
        ));
    }
}
