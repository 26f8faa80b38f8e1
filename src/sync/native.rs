//! The standard library, as it is.

use std::any::Any;
use std::cell::Cell;
use std::ops::DerefMut;
use std::time::Duration;

pub(crate) use std::alloc::{alloc, dealloc};

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
}

pub(crate) mod thread {
    pub(crate) use std::thread::{JoinHandle, Result, ThreadId, panicking, yield_now};

    pub(crate) fn spawn(
        name: &str,
        f: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name(name.to_owned()).spawn(f)
    }

    pub(crate) fn current_id() -> ThreadId {
        std::thread::current().id()
    }

    pub(crate) fn current_name() -> Option<Box<str>> {
        std::thread::current().name().map(Box::from)
    }
}

/// `static NAME: T = EXPR;` with a constant expression, one for the process.
macro_rules! global {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        $(#[$doc])* $vis static $name: $t = $init;
    };
}
pub(crate) use global;

/// The same with an expression that is evaluated at the first use.
macro_rules! lazy {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        $(#[$doc])* $vis static $name: std::sync::LazyLock<$t> = std::sync::LazyLock::new(|| $init);
    };
}
pub(crate) use lazy;

/// A thread-local with a constant initialiser and no destructor: it can be
/// reached at any time in a thread's life, its teardown included, and an access
/// is one instruction.
macro_rules! local {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        std::thread_local! { $(#[$doc])* $vis static $name: $t = const {
            assert!(!std::mem::needs_drop::<$t>());
            $init
        } }
    };
}
pub(crate) use local;

/// A function that is `const` here; loom's atomics have no constant constructor.
macro_rules! const_fn {
    ($(#[$doc:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$doc])* $vis const fn $($rest)* };
}
pub(crate) use const_fn;

/// Whether tables start small, so that rare paths are common: in the crate's
/// own tests.
pub(crate) const SMALL: bool = cfg!(test);

/// A trap for the model checker; nothing here.
#[derive(Debug)]
pub(crate) struct Witness;

impl Witness {
    pub(crate) const fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn write(&self) {}

    #[inline(always)]
    pub(crate) fn read(&self) {}
}

/// Tells the model checker that this atomic's memory is about to be given
/// back; nothing here.
pub(crate) trait FreeWitness {
    #[inline(always)]
    fn freed(&mut self) {}
}

impl FreeWitness for atomic::AtomicU64 {}
impl FreeWitness for atomic::AtomicUsize {}
impl<T> FreeWitness for atomic::AtomicPtr<T> {}

/// Runs `f`; a panic in it becomes an `Err`.
///
/// Callers see to it that what `f` was in the middle of is in order again.
pub(crate) fn catch_unwind<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
}

struct Exit(Cell<Option<fn()>>);

impl Drop for Exit {
    fn drop(&mut self) {
        if let Some(exit) = self.0.take() {
            exit();
        }
    }
}

std::thread_local! {
    static EXIT: Exit = const { Exit(Cell::new(None)) };
}

/// Has `exit` called when the calling thread's thread-locals are torn down.
/// Returns whether it will be: not when that teardown is already past us.
pub(crate) fn at_thread_exit(exit: fn()) -> bool {
    EXIT.try_with(|e| e.0.set(Some(exit))).is_ok()
}

/// Time since the first call of this function.
pub(crate) fn elapsed() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// Somewhere to sleep until something changes.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    lock: parking_lot::Mutex<()>,
    changed: parking_lot::Condvar,
}

impl Sleeper {
    /// Sleeps for at most `limit`, or until [`Sleeper::wake`]. A wake that
    /// comes just before is missed: callers pass a short limit and look again.
    pub(crate) fn sleep(&self, limit: Duration) {
        let mut guard = self.lock.lock();
        self.changed.wait_for(&mut guard, limit);
    }

    pub(crate) fn wake(&self) {
        self.changed.notify_all();
    }
}

/// A lock, for slow paths. Not poisoned by panics; no foreign code runs under it.
#[derive(Default)]
pub(crate) struct Lock<T>(parking_lot::Mutex<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> impl DerefMut<Target = T> + '_ {
        self.0.lock()
    }
}

/// Where one thread sleeps until others wake it. A wake that comes before the sleep
/// is kept: then the next sleep ends at once.
#[derive(Debug, Default)]
pub(crate) struct Parker {
    woken: parking_lot::Mutex<bool>,
    changed: parking_lot::Condvar,
}

impl Parker {
    pub(crate) const fn new() -> Self {
        Self {
            woken: parking_lot::Mutex::new(false),
            changed: parking_lot::Condvar::new(),
        }
    }

    /// Sleeps until [`Parker::unpark`], or for at most `limit`.
    pub(crate) fn park(&self, limit: Option<Duration>) {
        let mut woken = self.woken.lock();
        match limit {
            None => self.changed.wait_while(&mut woken, |woken| !*woken),
            Some(limit) => {
                let _ = self
                    .changed
                    .wait_while_for(&mut woken, |woken| !*woken, limit);
            }
        }
        *woken = false;
    }

    pub(crate) fn unpark(&self) {
        *self.woken.lock() = true;
        self.changed.notify_one();
    }
}
