//! Counts that the program keeps itself, to compare the library's figures with.

use releasepool_examples_common::output::complain;
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

/// Every count is exact while no worker is running.
pub struct Ledger {
    /// Payloads made and destroyed; each counted object has one.
    pub made: Count,
    pub died: Count,
    /// Threads that were started.
    pub threads: Count,
    pub frames: Count,
    /// Roots for the scene that were sent to the UI thread, and those that it has taken.
    pub roots_sent: Count,
    pub roots_taken: Count,
    /// Closures that were posted to a thread, and those that ran.
    pub posts_accepted: Count,
    pub posts_run: Count,
    /// Closures that were returned because their thread had ended.
    pub posts_refused: Count,
    /// Deliberate panics: begun, seen by the panic hook, caught, and reported by the library as
    /// events because it could not resume them.
    pub bombs: Count,
    pub hooked: Count,
    pub caught: Count,
    pub reported: Count,
    /// Closures that ran while a thread's thread-locals were destroyed.
    pub teardowns: Count,
    /// Random programs that ran to their end.
    pub programs: Count,
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
    teardowns: Count::new(),
    programs: Count::new(),
};

impl Ledger {
    /// Returns how many payloads are alive. While workers run, it may count a payload that has just
    /// been destroyed, but never misses one that is alive: `died` is read first.
    pub fn alive(&self) -> u64 {
        let died = self.died.get();
        let made = self.made.get();
        if died > made {
            fail(format!("{died} payloads died, and {made} were made"));
        }
        made.saturating_sub(died)
    }
}

/// How many failures are printed; the first ones are the most useful.
const PRINTED: u64 = 20;

static FAILURES: Count = Count::new();

/// Reports a failure; the run then ends within a second. May be called on any thread at any time,
/// including in destructors of objects and of thread-locals.
pub fn fail(what: impl Into<String>) {
    let what = what.into();
    FAILURES.add(1);
    if FAILURES.get() <= PRINTED {
        complain(&format!("soak: FAILED: {what}"));
    }
}

/// Returns the number of failures so far.
pub fn failures() -> u64 {
    FAILURES.get()
}

/// Reports a failure unless the two values are equal.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) {
    if found != wanted {
        fail(format!("{what}: {found:?} instead of {wanted:?}"));
    }
}
