//! Temporaries that notice if another thread destroys them.
//!
//! A temporary never leaves its thread's pools, so whoever destroys it has
//! drained an entry of the thread that made it. That must be the thread itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(1);
static STRAYS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static HERE: Cell<u32> = const { Cell::new(0) };
}

/// The calling thread's number. Cheaper than the standard library's: it is asked
/// for twice per temporary.
pub fn here() -> u32 {
    HERE.with(|here| {
        if here.get() == 0 {
            here.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        here.get()
    })
}

/// Temporaries, so far, that were destroyed by another thread than their own.
pub fn strays() -> u64 {
    STRAYS.load(Ordering::Relaxed)
}

/// A piece of text for a moment, as `CCString::create` makes many.
pub struct Label {
    pub text: Box<str>,
    home: u32,
}

impl Label {
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self {
            text: text.into(),
            home: here(),
        }
    }
}

impl Drop for Label {
    fn drop(&mut self) {
        if self.home != here() {
            STRAYS.fetch_add(1, Ordering::Relaxed);
        }
    }
}
