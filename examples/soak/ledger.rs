//! What the soak itself knows, to hold the library's figures against.

use crate::output::complain;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Each is exact when no other thread is at work.
pub struct Ledger {
    /// Payloads; each counted object has one.
    pub made: Count,
    pub died: Count,
    /// Threads that were started.
    pub threads: Count,
    pub frames: Count,
    /// Objects of the scene that arrived at the UI thread, and were sent to it.
    pub roots_sent: Count,
    pub roots_taken: Count,
    /// Closures that a thread has accepted, and those that ran.
    pub posts_accepted: Count,
    pub posts_run: Count,
    /// Closures that came back, as their thread had ended.
    pub posts_refused: Count,
    /// Panics on purpose: begun, seen by the panic hook, caught, and reported by the
    /// library as they could not be resumed.
    pub bombs: Count,
    pub hooked: Count,
    pub caught: Count,
    pub reported: Count,
    /// Errors that misused tokens gave, each the right one.
    pub misuses: Count,
    /// Closures run while a thread's thread-locals were torn down.
    pub teardowns: Count,
    /// Upgrades that gave a reference, and those that came too late.
    pub upgraded: Count,
    pub too_late: Count,
}

pub static LEDGER: Ledger = Ledger {
    made: Count::new(),
    died: Count::new(),
    threads: Count::new(),
    frames: Count::new(),
    roots_sent: Count::new(),
    roots_taken: Count::new(),
    posts_accepted: Count::new(),
    posts_run: Count::new(),
    posts_refused: Count::new(),
    bombs: Count::new(),
    hooked: Count::new(),
    caught: Count::new(),
    reported: Count::new(),
    misuses: Count::new(),
    teardowns: Count::new(),
    upgraded: Count::new(),
    too_late: Count::new(),
};

impl Ledger {
    /// Payloads that live. Read in this order, a payload may look alive that has died,
    /// but not the other way round.
    pub fn alive(&self) -> u64 {
        let died = self.died.get();
        let made = self.made.get();
        if died > made {
            fail(format!("{died} payloads died, and {made} were made"));
        }
        made.saturating_sub(died)
    }
}

/// As many as are said; the first ones tell most.
const SAID: u64 = 20;

static FAILURES: Count = Count::new();

/// Something is wrong: says it, and ends the run within a second. From any thread,
/// at any time, a destructor or a thread's teardown included.
pub fn fail(what: impl Into<String>) {
    let what = what.into();
    FAILURES.add(1);
    if FAILURES.get() <= SAID {
        complain(&format!("soak: FAILED: {what}"));
    }
}

pub fn failures() -> u64 {
    FAILURES.get()
}

/// Fails, unless the two are equal.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) {
    if found != wanted {
        fail(format!("{what}: {found:?} instead of {wanted:?}"));
    }
}
