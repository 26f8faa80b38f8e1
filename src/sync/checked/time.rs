//! The time of models.
//!
//! By default it stands still: a wait with a limit ends by its wake alone, so a wake that is lost is
//! a deadlock, which loom reports, also where a program would go on after the limit.
//!
//! A model that is about limits has time pass ([`let_time_pass`]). Then it passes only while no
//! thread can run but those in such waits: the clock goes to the earliest of their limits, and that
//! wait ends. loom does not tell whether a thread can run; but a wait that yields again and again is
//! only scheduled while all others are blocked, have ended, or wait so, too, and every operation of
//! the others is counted here.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Turns in a row without an operation of another thread, after which none can run. The others in
/// waits of this kind, three at most, have had theirs meanwhile, and so have threads that yield.
const TURNS: u32 = 12;

static PASSES: AtomicBool = AtomicBool::new(false);
/// Operations of threads that are not in a wait.
static STEPS: AtomicU64 = AtomicU64::new(0);
static CLOCK: Mutex<Clock> = Mutex::new(Clock {
    now: Duration::ZERO,
    limits: Vec::new(),
});

struct Clock {
    now: Duration,
    /// When the waits end that are going on.
    limits: Vec<Duration>,
}

fn clock() -> MutexGuard<'static, Clock> {
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets whether time passes when no thread can run; otherwise it stands still, and waits with a
/// limit end by their wake alone.
pub fn let_time_pass(passes: bool) {
    PASSES.store(passes, Ordering::Relaxed);
}

/// The time since the execution began.
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

/// A thread makes an operation: not all of them wait.
pub(super) fn step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Waits until `ended`, or for `limit` if no other thread can run.
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
