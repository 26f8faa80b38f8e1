//! Temporaries that notice when another thread destroys them.
//!
//! A label is only ever owned by pools of the thread that made it. If another thread destroys
//! it, that thread has drained a pool that is not its own.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static NEXT_THREAD: AtomicU32 = AtomicU32::new(1);
static DESTROYED_ELSEWHERE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

/// Returns a number that identifies the calling thread. It is needed twice for each label, so it
/// must be cheaper than `std::thread::current().id()`.
#[inline]
fn this_thread() -> u32 {
    THREAD.with(|thread| {
        if thread.get() == 0 {
            thread.set(NEXT_THREAD.fetch_add(1, Ordering::Relaxed));
        }
        thread.get()
    })
}

/// Returns how many labels were destroyed by a thread that had not made them.
pub fn destroyed_elsewhere() -> u64 {
    DESTROYED_ELSEWHERE.load(Ordering::Relaxed)
}

/// A short-lived piece of text, of which game code makes many (in Cocos2d-x by
/// `CCString::create`).
pub struct Label {
    pub text: Box<str>,
    maker: u32,
}

impl Label {
    #[inline]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self {
            text: text.into(),
            maker: this_thread(),
        }
    }
}

impl Drop for Label {
    #[inline]
    fn drop(&mut self) {
        if self.maker != this_thread() {
            DESTROYED_ELSEWHERE.fetch_add(1, Ordering::Relaxed);
        }
    }
}
