//! Scans: adding up what all threads have counted for a row.

use super::book::Scan;
use super::library::LIBRARY;
use super::table::{Life, RowIndex, TABLE};
use crate::object::raw_checks;
use crate::sync::SMALL;
use crate::thread::current::current_label;

/// How many accounts a scan reads in a step.
const STEP: u32 = if SMALL { 1 } else { 16 };

/// Tells a scan at the end of each step whether to go on.
pub(crate) type GoOn<'g> = &'g mut dyn FnMut() -> bool;

/// A scan may stop after each step, go on much later, and be passed on with its book.
impl Scan {
    /// Begins a scan of a row, if its object has been let go.
    pub(super) fn begin(row: RowIndex) -> Option<Self> {
        let at = TABLE.row(row);
        // First, as the reads of all figures must follow it.
        let life = at.let_go_life()?;
        Some(Self {
            row,
            life,
            deaths: at.late_deaths(),
            births: None,
            next: LIBRARY.first(row),
        })
    }

    /// Reads on; returns whether the scan is over, and has not been stopped by `go_on`.
    pub(super) fn run(&mut self, go_on: GoOn<'_>) -> bool {
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
            // Only now, and with the books that there are now: the module documentation of `hot`
            // says why. Model: hot_one_list_trap.
            self.births = Some(at.late_births());
            self.next = LIBRARY.first(self.row);
        }
    }

    /// Returns the life in which the row's object is dead, if it is, after all figures were read.
    pub(super) fn dead(&self) -> Option<Life> {
        let births = self.births?;
        if self.deaths > births {
            overdrawn(self.row, self.life);
        }
        (self.deaths == births).then_some(self.life)
    }
}

/// Returns the life of a row, if its object is dead: its owner has let it go, and there is no handle
/// to it.
pub(super) fn scan(row: RowIndex) -> Option<Life> {
    let mut scan = Scan::begin(row)?;
    scan.run(&mut || true);
    scan.dead()
}

/// Aborts: more handles were dropped than made, so one was dropped twice, and an object may have been
/// destroyed that was in use.
#[cold]
#[inline(never)]
fn overdrawn(row: RowIndex, life: Life) {
    // Otherwise another thread has found out.
    if TABLE.row(row).end(life).is_some() {
        raw_checks::abort(&format!(
            "{}: more HotRefs were dropped than made (thread {})",
            TABLE.type_name(row),
            current_label(),
        ));
    }
}
