//! Thread labels, by which events name threads.
//!
//! Panics are reported on threads that may have no key, by code in a layer below that of keys. So a
//! thread that gets a key sets the function that reads the thread's label.

use crate::sync::cell::Cell;
use crate::sync::local;
use crate::sync::thread::current_name;
use std::fmt::Display;

local! {
    static CURRENT: Cell<fn() -> String> = Cell::new(without_key);
}

/// Returns the label of a thread: its name, if it has one, and its key.
pub(crate) fn of(name: Option<&str>, key: impl Display) -> String {
    match name {
        Some(name) => format!("{name} ({key})"),
        None => key.to_string(),
    }
}

/// Returns the label of a thread that has not used the crate.
fn without_key() -> String {
    of(current_name().as_deref(), "without a key")
}

/// Returns the calling thread's label.
pub(crate) fn current() -> String {
    let read = CURRENT.with(Cell::get);
    read()
}

/// Makes [`current`] call `read` on this thread from now on.
pub(crate) fn set_current(read: fn() -> String) {
    CURRENT.with(|current| current.set(read));
}

/// Returns a label without the key, which differs for each thread: the name, or an empty string.
pub(super) fn name(label: &str) -> &str {
    label.rsplit_once(" (").map_or("", |(name, _)| name)
}
