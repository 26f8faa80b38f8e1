//! crossbeam-epoch, each call of which is one step.
//!
//! Other threads may run before each call, as before an operation of shuttle, but not in the
//! middle of it.

use super::atomic::{AtomicUsize, Ordering};

/// Lets other threads run.
fn step() {
    // shuttle may switch threads before each operation, whatever atomic it is on.
    AtomicUsize::new(0).load(Ordering::Relaxed);
}

pub(crate) struct Collector(crossbeam_epoch::Collector);

impl Collector {
    pub(crate) fn new() -> Self {
        Self(crossbeam_epoch::Collector::new())
    }

    pub(crate) fn register(&self) -> LocalHandle {
        step();
        LocalHandle(self.0.register())
    }
}

pub(crate) struct LocalHandle(crossbeam_epoch::LocalHandle);

impl LocalHandle {
    pub(crate) fn pin(&self) -> Guard {
        step();
        Guard(Some(self.0.pin()))
    }
}

/// Holds a guard until it is dropped.
pub(crate) struct Guard(Option<crossbeam_epoch::Guard>);

impl Guard {
    fn inner(&self) -> &crossbeam_epoch::Guard {
        step();
        self.0.as_ref().expect("only `drop` takes it")
    }

    /// # Safety
    /// As crossbeam's function of this name.
    pub(crate) unsafe fn defer_unchecked<F: FnOnce() -> R, R>(&self, f: F) {
        // SAFETY: the caller keeps the contract.
        unsafe { self.inner().defer_unchecked(f) };
    }

    pub(crate) fn flush(&self) {
        self.inner().flush();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        step();
        self.0 = None;
    }
}
