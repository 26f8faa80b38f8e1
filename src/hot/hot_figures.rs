//! Figures and events.

use super::hot_table::{ROWS, TABLE};
use crate::epoch::report_waiting_orphans;
use crate::event::{Event, EventKind};
use crate::sync::elapsed;
use crate::thread::current::current_label;
use std::time::Duration;

/// An event reports an object that is alive this long after its owner let it go.
const LONG: Duration = Duration::from_secs(1);

/// Returns the number of hot objects.
pub(crate) fn hot() -> u64 {
    TABLE.taken.get()
}

/// Returns the number of hot objects whose owner has been dropped.
pub(crate) fn let_go() -> u64 {
    TABLE.let_go.get()
}

/// Reports that the table has no room for an object of this type.
#[cold]
pub(super) fn table_full(type_name: &'static str) {
    let event = Event::new(EventKind::HotTableFull, current_label());
    event.of_type(type_name).count(ROWS).emit();
}

/// Reports, once each, the objects that were first seen let go at least a second ago, and orphans
/// that have waited as long: `Hot::try_new` makes orphans, and a program without pools may call
/// nothing else. Reads the clock only if an object is let go.
pub(crate) fn overdue() {
    if let_go() != 0 {
        report_overdue();
    }
}

#[cold]
fn report_overdue() {
    let now = elapsed();
    for row in TABLE.used_rows() {
        if let Some(age) = TABLE.row(row).kept.overdue(LONG, now) {
            let event = Event::new(EventKind::HotLetGo, current_label());
            event.of_type(TABLE.type_name(row)).age(age).emit();
        }
    }
    report_waiting_orphans(now);
}
