//! shuttle: schedules that are drawn at random, for programs that are too large for loom.
//!
//! shuttle switches threads at its own operations only, as loom does, and runs one thread at a
//! time. It knows no memory model: every load reads the newest value, whatever the orderings are.
//! So nothing here checks orderings. What differs from [`native`](super::native):
//!
//! * Atomics, locks, threads and statics are shuttle's. Statics and thread-locals are made anew in
//!   each execution.
//! * crossbeam-epoch has no shuttle form. It runs on std, so each call of it is one step: see
//!   [`epoch`].
//! * Time passes only in waits with a limit, each of which ends by its limit: the thread that should
//!   wake it may be that slow. A wait without a limit ends only by a wake-up, so a missed one is a
//!   deadlock, which shuttle reports.
//! * Memory is at the same addresses in each execution. What is freed is overwritten, so that a use
//!   of it is likely to fail: see [`memory`].

use std::ops::DerefMut;
use std::sync::PoisonError;
use std::time::Duration;

pub(crate) mod epoch;
mod locals;
mod memory;

pub(crate) use locals::Local;
pub(crate) use memory::{FreeWitness, alloc, dealloc};

pub(crate) mod atomic {
    pub(crate) use shuttle::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
}

pub(crate) mod settings {
    use std::time::Duration;

    /// Gives up what the last execution has left behind.
    pub(crate) fn begin_execution() {
        super::locals::begin_execution();
        super::memory::begin_execution();
        *super::clock() = Duration::ZERO;
    }
}

pub(crate) mod thread {
    pub(crate) use shuttle::thread::{JoinHandle, Result, ThreadId, panicking, yield_now};

    pub(crate) fn spawn(
        name: &str,
        f: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        shuttle::thread::Builder::new()
            .name(name.to_owned())
            .spawn(f)
    }

    #[track_caller]
    pub(crate) fn spawn_in_model<R: Send + 'static>(
        f: impl FnOnce() -> R + Send + 'static,
    ) -> JoinHandle<R> {
        shuttle::thread::spawn(f)
    }

    pub(crate) fn current_id() -> Option<ThreadId> {
        Some(shuttle::thread::current().id())
    }

    pub(crate) fn current_name() -> Option<Box<str>> {
        shuttle::thread::current().name().map(Box::from)
    }

    pub(crate) fn kernel_id() -> u64 {
        0
    }
}

macro_rules! global {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        shuttle::lazy_static! { $(#[$doc])* pub(crate) static ref $name: $t = $init; }
    };
}
pub(crate) use global;
pub(crate) use global as lazy;

macro_rules! local {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        $(#[$doc])* $vis static $name: $crate::sync::Local<$t> =
            $crate::sync::Local::new(|| $init);
    };
}
pub(crate) use local;

/// Does nothing, as shuttle has no memory model.
#[derive(Debug)]
pub(crate) struct Witness;

impl Witness {
    pub(crate) const fn new() -> Self {
        Self
    }

    pub(crate) fn write(&self) {}

    pub(crate) fn read(&self) {}
}

/// Fails the execution with the reason `why`.
pub(crate) fn abort(why: &str) -> ! {
    panic!("{why}")
}

/// Longer than the time that passes in any program.
const YEARS: Duration = Duration::from_secs(1 << 30);

/// The time since the execution began. No thread switches while it is locked.
static CLOCK: std::sync::Mutex<Duration> = std::sync::Mutex::new(Duration::ZERO);

fn clock() -> std::sync::MutexGuard<'static, Duration> {
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the time since the execution began.
pub(crate) fn elapsed() -> Duration {
    *clock()
}

const FAILED: &str = "an execution that panics has failed";

/// The guard of a locked [`Monitor`].
pub(crate) type Locked<'m, T> = shuttle::sync::MutexGuard<'m, T>;

/// A lock and a condition variable for changes of the value.
#[derive(Debug)]
pub(crate) struct Monitor<T> {
    value: shuttle::sync::Mutex<T>,
    changed: shuttle::sync::Condvar,
}

impl<T> Monitor<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: shuttle::sync::Mutex::new(value),
            changed: shuttle::sync::Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> Locked<'_, T> {
        self.value.lock().expect(FAILED)
    }

    /// Waits until notified, or lets other threads run until `limit` has passed.
    pub(crate) fn wait<'m>(
        &'m self,
        locked: Locked<'m, T>,
        limit: Option<Duration>,
    ) -> Locked<'m, T> {
        // A wait of years is one for a wake-up: if that is lost, shuttle finds a deadlock.
        let Some(limit) = limit.filter(|limit| *limit < YEARS) else {
            return self.changed.wait(locked).expect(FAILED);
        };
        drop(locked);
        thread::yield_now();
        let mut clock = clock();
        *clock = clock.saturating_add(limit);
        drop(clock);
        self.lock()
    }

    /// Wakes all waiting threads.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }
}

#[derive(Default)]
pub(crate) struct Lock<T>(shuttle::sync::Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> impl DerefMut<Target = T> + '_ {
        self.0.lock().expect(FAILED)
    }
}
