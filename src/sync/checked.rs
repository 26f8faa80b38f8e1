//! loom, with its known gaps closed.
//!
//! * loom keeps one "last access" per atomic, so a thread's own load hides another thread's: `load;
//!   store | load` is explored in one order only (tokio-rs/loom #166, #392). In the mode `rmw`
//!   every load is made as a read-modify-write, which loom does interleave with everything. Such a
//!   load reads the newest value, so the plain mode is needed too, for staleness. A plain store
//!   could get lost between such loads, so in the mode `rmw` every store is an exchange.
//! * loom does not see raw frees. [`FreeWitness::freed`] makes giving back an
//!   atomic's memory a checked write, and [`Witness`] does the same for memory
//!   without an atomic in it.
//! * loom switches threads only at its own operations, so no thread runs between an exchange that
//!   publishes data and a plain write of the data that wrongly comes after it. All cells are loom's
//!   (see [`cell`]), and a [`Witness`] stands for memory that is written through raw pointers.
//!   `cargo xtask cells` finds data that is in no such cell and has no witness.
//! * loom's `compare_exchange_weak` never fails spuriously. In the mode `rmw` one call of each
//!   execution does: the first, or with a seed one of the first four.
//! * loom's waits never time out, and a real clock would make executions irreproducible: [`time`]
//!   stands still, or passes only when nothing else can happen.
//! * loom does not see a leak of a plain `Box`: memory that the crate allocates by hand goes
//!   through loom's allocator, which finds leaks.
//!
//! Every operation records its source location, and its ordering can be weakened from outside, by
//! [`settings`]: that is how the models themselves are tested.

use loom::sync::{Condvar, Mutex, MutexGuard};
use std::ops::DerefMut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use loom::alloc::{alloc, dealloc};

pub(crate) mod atomic;
pub(crate) mod cell;
pub(crate) mod explore;
pub(crate) mod settings;
pub(crate) mod time;

/// The crate's atomics, for users' models.
pub mod user_atomic {
    pub use super::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
        AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

pub(crate) use atomic::FreeWitness;
pub(crate) use cell::OwnedU64;

pub(crate) mod thread {
    use super::explore::coroutine;
    pub(crate) use loom::thread::{JoinHandle, ThreadId, yield_now};
    pub(crate) use std::thread::{Result, panicking};

    pub(crate) fn spawn(
        name: &str,
        f: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        let f = || coroutine(f);
        loom::thread::Builder::new().name(name.to_owned()).spawn(f)
    }

    #[track_caller]
    pub(crate) fn spawn_in_model<R: 'static>(f: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
        loom::thread::spawn(|| coroutine(f))
    }

    pub(crate) fn current_id() -> Option<ThreadId> {
        Some(loom::thread::current().id())
    }

    pub(crate) fn current_name() -> Option<Box<str>> {
        loom::thread::current().name().map(Box::from)
    }

    pub(crate) fn kernel_id() -> u64 {
        0
    }
}

macro_rules! global {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        loom::lazy_static! { $(#[$doc])* pub(crate) static ref $name: $t = $init; }
    };
}
pub(crate) use global;
pub(crate) use global as lazy;

macro_rules! local {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        loom::thread_local! { $(#[$doc])* $vis static $name: $t = $init; }
    };
}
pub(crate) use local;

/// Stands for memory that one thread owns at a time: two threads that access it without a
/// happens-before between them fail the model.
#[derive(Debug)]
pub(crate) struct Witness(loom::cell::UnsafeCell<()>);

impl Witness {
    pub(crate) fn new() -> Self {
        Self(loom::cell::UnsafeCell::new(()))
    }

    #[track_caller]
    pub(crate) fn write(&self) {
        self.0.with_mut(|_| ());
    }

    #[track_caller]
    pub(crate) fn read(&self) {
        self.0.with(|_| ());
    }
}

/// Fails the model with the reason `why`; outside a model, aborts the process.
pub(crate) fn abort(why: &str) -> ! {
    explore::fail(why);
    std::process::abort()
}

/// Returns the time of the model: see [`time`].
pub(crate) fn elapsed() -> Duration {
    time::now()
}

/// The guard of a locked [`Monitor`].
pub(crate) type Locked<'m, T> = MutexGuard<'m, T>;

/// A lock and a condition variable for changes of the value.
#[derive(Debug, Default)]
pub(crate) struct Monitor<T> {
    value: Mutex<T>,
    changed: Condvar,
    /// Number of notifications, for the waits that [`time`] may end. loom need not see this count:
    /// threads change the value under the lock before they notify, and read it under the lock
    /// before they wait.
    notified: AtomicU64,
}

const FAILED: &str = "a model that panics has failed";

impl<T> Monitor<T> {
    #[track_caller]
    pub(crate) fn lock(&self) -> Locked<'_, T> {
        explore::halt();
        time::step();
        self.value.lock().expect(FAILED)
    }

    /// Waits until notified; at most for `limit`, if there is one and time passes.
    #[track_caller]
    pub(crate) fn wait<'m>(
        &'m self,
        locked: Locked<'m, T>,
        limit: Option<Duration>,
    ) -> Locked<'m, T> {
        let Some(limit) = limit.filter(|_| time::passes()) else {
            return self.changed.wait(locked).expect(FAILED);
        };
        let notified = || self.notified.load(Ordering::Relaxed);
        let before = notified();
        drop(locked);
        time::wait(limit, || notified() != before);
        self.lock()
    }

    /// Wakes all waiting threads.
    #[track_caller]
    pub(crate) fn notify(&self) {
        explore::halt();
        time::step();
        self.notified.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

#[derive(Default)]
pub(crate) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    #[track_caller]
    pub(crate) fn lock(&self) -> impl DerefMut<Target = T> + '_ {
        explore::halt();
        time::step();
        self.0.lock().expect(FAILED)
    }
}
