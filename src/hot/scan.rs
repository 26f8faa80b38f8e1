//! Scans, which add up the births and deaths of all threads for a row.

use super::book::Scan;
use super::hot_table::{Life, RowIndex, TABLE};
use super::library::LIBRARY;
use crate::ledger;
use crate::sync::SMALL;
use crate::thread::current::current_label;

/// How many accounts a scan reads in a step.
const STEP: u32 = if SMALL { 1 } else { 16 };

/// Tells a scan at the end of each step whether to go on.
pub(crate) type GoOn<'g> = &'g mut dyn FnMut() -> bool;

/// A scan may stop after each step and go on much later, even on another thread, which has adopted
/// the book that keeps the scan.
impl Scan {
    /// Begins a scan of a row, if its object has been let go.
    pub(super) fn begin(row: RowIndex) -> Option<Self> {
        let at = TABLE.row(row);
        // Reads the life first, as the reads of all figures must follow.
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
            // Reads births after all deaths, and from the current head of the list: the module
            // documentation of `hot` says why. Model: hot_one_list_trap.
            self.births = Some(at.late_births());
            self.next = LIBRARY.first(self.row);
        }
    }

    /// Returns the row's life, if the object is dead in this life. To be called when all figures
    /// have been read.
    pub(super) fn dead(&self) -> Option<Life> {
        let births = self.births?;
        if self.deaths > births {
            overdrawn(self.row, self.life);
        }
        (self.deaths == births).then_some(self.life)
    }
}

/// Scans a row at once. Returns its life if its object is dead: its owner has let it go, and no
/// handle is left.
pub(super) fn scan(row: RowIndex) -> Option<Life> {
    let mut scan = Scan::begin(row)?;
    scan.run(&mut || true);
    scan.dead()
}

/// Aborts: more handles were dropped than made, so one was dropped twice, and an object in use may
/// have been destroyed.
#[cold]
#[inline(never)]
fn overdrawn(row: RowIndex, life: Life) {
    // If the life has ended already, another thread reports the mistake.
    if TABLE.row(row).end(life).is_some() {
        ledger::abort(&format!(
            "{}: more HotRefs were dropped than made (thread {})",
            TABLE.type_name(row),
            current_label(),
        ));
    }
}
