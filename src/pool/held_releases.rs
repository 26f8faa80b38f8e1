//! A guard that makes drains leave remote releases alone.

use crate::sync::cell::Cell;

/// Makes drains of a thread leave remote releases alone, until it is dropped.
pub(crate) struct HeldReleases<'l> {
    held: &'l Cell<bool>,
    before: bool,
}

impl<'l> HeldReleases<'l> {
    /// Sets the thread's flag, and restores it when the returned value is dropped.
    pub(super) fn hold(held: &'l Cell<bool>) -> Self {
        let before = held.replace(true);
        Self { held, before }
    }
}

impl Drop for HeldReleases<'_> {
    fn drop(&mut self) {
        self.held.set(self.before);
    }
}
