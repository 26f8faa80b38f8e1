//! The time of models.
//!
//! By default, time stands still: a wait with a timeout ends only by a wake-up, so a missed wake-up
//! is a deadlock, which loom reports, even if a program would go on after the timeout.
//!
//! A model that is about timeouts lets time pass ([`let_time_pass`]). Time then passes only while
//! all threads that could run are in waits with a timeout: the clock moves to the earliest
//! deadline, and that wait ends. loom does not tell whether a thread can run. So a wait yields in a
//! loop; loom gives it turn after turn only while all other threads are blocked, have ended, or
//! yield, too. If in `TURNS` turns no thread that does not wait makes an operation, none can run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// If a wait gets this many turns in a row and no other thread makes an operation, no other thread
/// can run: within these turns, each thread that yields has had its turn, and so has each of the at
/// most three other threads in waits with a timeout.
const TURNS: u32 = 12;

static PASSES: AtomicBool = AtomicBool::new(false);
/// Number of operations of threads that are not in a wait.
static STEPS: AtomicU64 = AtomicU64::new(0);
static CLOCK: Mutex<Clock> = Mutex::new(Clock {
    now: Duration::ZERO,
    limits: Vec::new(),
});

struct Clock {
    now: Duration,
    /// The deadlines of the current waits.
    limits: Vec<Duration>,
}

fn clock() -> MutexGuard<'static, Clock> {
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets whether time passes when no thread can run. If not, time stands still, and waits with a
/// timeout end only by a wake-up.
pub fn let_time_pass(passes: bool) {
    PASSES.store(passes, Ordering::Relaxed);
}

/// Returns the time since the execution began.
pub fn now() -> Duration {
    clock().now
}

pub(super) fn passes() -> bool {
    PASSES.load(Ordering::Relaxed)
}

pub(super) fn begin_execution() {
    let mut clock = clock();
    clock.now = Duration::ZERO;
    clock.limits.clear();
}

/// Counts an operation, which shows that not all threads are waiting.
pub(super) fn step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Waits until `ended` returns true, or for `limit` if no other thread can run.
pub(super) fn wait(limit: Duration, ended: impl Fn() -> bool) {
    let until = now().saturating_add(limit);
    clock().limits.push(until);
    let steps = || STEPS.load(Ordering::Relaxed);
    let (mut seen, mut turns) = (steps(), 0);
    while !ended() && now() < until {
        loom::thread::yield_now();
        if steps() != seen {
            (seen, turns) = (steps(), 0);
            continue;
        }
        turns += 1;
        let mut clock = clock();
        if turns >= TURNS && clock.limits.iter().min() == Some(&until) {
            clock.now = until;
        }
    }
    step();
    let mut clock = clock();
    let at = clock.limits.iter().position(|limit| *limit == until);
    clock.limits.swap_remove(at.expect("put there above"));
}
