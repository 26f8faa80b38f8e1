//! How messages write numbers (`1,234,567`), places of calls and threads.

use crate::sync::cell::Cell;
use crate::sync::local;
use crate::sync::thread::current_name;
use std::fmt::{self, Display};
use std::panic::Location;
use std::path::Path;

/// A number with a comma between thousands: `1,234,567`.
pub(crate) struct Grouped(pub(crate) usize);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.char_indices() {
            if at > 0 && (digits.len() - at) % 3 == 0 {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// Returns a number with its noun: `1 entry`, `2 entries`.
pub(crate) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", Grouped(n), if n == 1 { one } else { many })
}

// Places of calls, as events and messages name them.

/// Returns the place, or `None` if it is in the sources of the C interface: such a call has come
/// from C or C++, whose places are not known.
pub(crate) fn known(site: &'static Location<'static>) -> Option<&'static Location<'static>> {
    // Cargo builds both packages in one workspace, so their paths begin alike.
    let own = Path::new(file!()).ancestors().nth(3)?;
    let is_of_c = Path::new(site.file()).starts_with(own.join("capi/src"));
    (!is_of_c).then_some(site)
}

/// Displays a place: ` at src/main.rs:7:9`, or nothing if it is not known.
pub(crate) struct At(pub(crate) Option<&'static Location<'static>>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(site) => write!(f, " at {site}"),
            None => Ok(()),
        }
    }
}

// Thread labels, by which events name threads.
//
// Panics are reported on threads that may have no key, by code in a layer below that of keys. So a
// thread that gets a key also sets, for itself, the function that reads its label.

local! {
    static CURRENT: Cell<fn() -> String> = Cell::new(without_key);
}

/// Returns the label of a thread: its name, if it has one, and its key.
pub(crate) fn label(name: Option<&str>, key: impl Display) -> String {
    match name {
        Some(name) => format!("{name} ({key})"),
        None => key.to_string(),
    }
}

/// Returns the label of a thread that has not used the crate.
fn without_key() -> String {
    label(current_name().as_deref(), "without a key")
}

pub(crate) fn current_label() -> String {
    let read = CURRENT.with(Cell::get);
    read()
}

/// Makes [`current_label`] call `read` on this thread from now on.
pub(crate) fn set_current_label(read: fn() -> String) {
    CURRENT.with(|current| current.set(read));
}

/// Returns the thread's name out of its label, or an empty string: keys differ for each thread.
pub(super) fn name_in_label(label: &str) -> &str {
    label.rsplit_once(" (").map_or("", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::thread::spawn;

    #[test]
    fn numbers_are_grouped() {
        let grouped = [0, 999, 1_000, 12_345, 1_234_567].map(|n| Grouped(n).to_string());
        assert_eq!(grouped, ["0", "999", "1,000", "12,345", "1,234,567"]);
        let counted = [0, 1, 1_000].map(|n| counted(n, "entry", "entries"));
        assert_eq!(counted, ["0 entries", "1 entry", "1,000 entries"]);
    }

    #[test]
    fn a_thread_that_has_not_used_the_crate_is_named() {
        let asserts = || assert_eq!(current_label(), "fresh (without a key)");
        spawn("fresh", asserts).unwrap().join().unwrap();
    }
}
