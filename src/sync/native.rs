//! The standard library, as it is.

use dashmap::DashMap;
use std::any::Any;
use std::cell::Cell;
use std::hash::Hash;
use std::ops::DerefMut;
use std::time::Duration;

pub(crate) use std::alloc::{alloc, dealloc};

pub(crate) mod cell;

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

    /// The id of the calling thread; `None` when its thread-locals are torn down so far that
    /// std does not know it any more, in the destructor of a pthread key.
    pub(crate) fn current_id() -> Option<ThreadId> {
        super::current().map(|thread| thread.id())
    }

    /// The name of the calling thread, as far as std knows it.
    pub(crate) fn current_name() -> Option<Box<str>> {
        super::current()?.name().map(Box::from)
    }
}

local! {
    /// Returns whether std does not know the calling thread any more, or may not do so from here on.
    static FORGOTTEN: Cell<bool> = Cell::new(false);
}

/// The calling thread, if std still knows it.
///
/// `std::thread::current` panics in destructors of pthread keys that run after std's own key's,
/// and nothing says beforehand that it will. There a panic would abort the process; so it is
/// caught, once for each such thread. The panic hook sees it.
fn current() -> Option<std::thread::Thread> {
    if FORGOTTEN.get() {
        return None;
    }
    let current = catch_unwind(std::thread::current);
    if current.is_err() {
        FORGOTTEN.set(true);
    }
    current.ok()
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

/// Whether atomics are those of the model checker.
pub(crate) const CHECKED: bool = false;

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

/// Ends the process, because of what `_why` says.
pub(crate) fn abort(_why: &str) -> ! {
    std::process::abort()
}

/// Tells the model checker of an object by its header; nothing here.
#[inline(always)]
pub(crate) fn note_created(_: std::ptr::NonNull<u8>, _: fn() -> &'static str) {}

/// Tells the model checker that an object is about to be freed; nothing here.
#[inline(always)]
pub(crate) fn note_freed(_: std::ptr::NonNull<u8>) {}

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

struct ExitGuard(Cell<Option<fn()>>);

impl Drop for ExitGuard {
    fn drop(&mut self) {
        if let Some(exit) = self.0.take() {
            exit();
            late_exit::disarm();
        }
    }
}

std::thread_local! {
    static EXIT: ExitGuard = const { ExitGuard(Cell::new(None)) };
}

/// Has `exit` called when the calling thread's thread-locals are torn down, or later in its
/// end; perhaps several times.
/// Returns whether it will be: not when all of that is already past us.
pub(crate) fn at_thread_exit(exit: fn()) -> bool {
    let by_std = EXIT.try_with(|e| e.0.set(Some(exit))).is_ok();
    let by_key = late_exit::arm(exit);
    by_std || by_key
}

/// The second net for a thread's exit: a pthread key.
///
/// Destructors of pthread keys run after those of std's thread-locals, at least on glibc and
/// Apple's systems. If one of them is the first to use the crate on its thread, std accepts the
/// destructor of [`EXIT`], and never runs it. A key whose value is set then is still noticed:
/// there are up to four rounds (`PTHREAD_DESTRUCTOR_ITERATIONS`) in which the destructors of
/// keys with a value run, and a value that is set in one round is found in that round or the
/// next.
///
/// What remains open is a first use in the last round, by a key that is older than ours, on a
/// thread that std still knows: its exit is not noticed.
#[cfg(unix)]
mod late_exit {
    use super::{EXIT, FORGOTTEN};
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::OnceLock;

    /// True if the system runs the destructors of std's thread-locals before those of keys.
    /// Elsewhere std uses a key itself, and the order of keys is not specified.
    const STD_COMES_FIRST: bool = cfg!(all(
        not(miri),
        any(
            all(target_os = "linux", target_env = "gnu"),
            target_vendor = "apple"
        )
    ));

    struct Late {
        exit: Cell<Option<fn()>>,
        /// True once a round has been left to std's thread-locals.
        waited: Cell<bool>,
    }

    local! {
        static LATE: Late = Late {
            exit: Cell::new(None),
            waited: Cell::new(false),
        };
    }

    /// The process's key; `None` if there is none to be had.
    fn key() -> Option<libc::pthread_key_t> {
        static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
        *KEY.get_or_init(|| {
            let mut key = 0;
            // SAFETY: `key` may be written, and `run` is a destructor that takes any value.
            let made = unsafe { libc::pthread_key_create(&raw mut key, Some(run)) };
            (made == 0).then_some(key)
        })
    }

    fn set(value: *const c_void) -> bool {
        // SAFETY: the key has been created, and is never deleted; the value is not followed.
        key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, value) } == 0)
    }

    /// Has `exit` called in the destructor of the calling thread's value of the key. Returns
    /// whether that could be arranged.
    pub(super) fn arm(exit: fn()) -> bool {
        LATE.with(|late| late.exit.set(Some(exit)));
        set(ptr::without_provenance(1))
    }

    /// The thread has exited: there is nothing left for the key's destructor.
    pub(super) fn disarm() {
        set(ptr::null());
    }

    unsafe extern "C" fn run(_: *mut c_void) {
        let std_is_pending = !STD_COMES_FIRST && EXIT.try_with(|e| e.0.get().is_some()) == Ok(true);
        if std_is_pending && LATE.with(|late| !late.waited.replace(true)) {
            set(ptr::without_provenance(1));
            return;
        }
        // std's key may have had its turn, or has it next.
        FORGOTTEN.set(true);
        if let Some(exit) = LATE.with(|late| late.exit.take()) {
            exit();
        }
    }
}

#[cfg(not(unix))]
mod late_exit {
    pub(super) fn arm(_exit: fn()) -> bool {
        false
    }

    pub(super) fn disarm() {}
}

/// Time since the first call of this function.
pub(crate) fn elapsed() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// What the lock of a [`Monitor`] hands out.
pub(crate) type Locked<'m, T> = parking_lot::MutexGuard<'m, T>;

/// A lock, and a place to wait for a change of what it protects.
#[derive(Debug)]
pub(crate) struct Monitor<T> {
    value: parking_lot::Mutex<T>,
    changed: parking_lot::Condvar,
}

impl<T> Monitor<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self {
            value: parking_lot::Mutex::new(value),
            changed: parking_lot::Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> Locked<'_, T> {
        self.value.lock()
    }

    /// Waits until it is notified, or for at most `limit`; may end without either.
    pub(crate) fn wait<'m>(
        &'m self,
        mut locked: Locked<'m, T>,
        limit: Option<Duration>,
    ) -> Locked<'m, T> {
        match limit {
            None => self.changed.wait(&mut locked),
            Some(limit) => _ = self.changed.wait_for(&mut locked, limit),
        }
        locked
    }

    /// Ends all waits.
    pub(crate) fn notify(&self) {
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

/// A map that threads share, for slow paths: what comes before a change is seen by whoever finds
/// it. No lock is held while other code runs.
#[derive(Debug)]
pub(crate) struct Map<K: Eq + Hash, V>(DashMap<K, V>);

impl<K: Eq + Hash + Copy, V: Clone> Map<K, V> {
    pub(crate) fn new() -> Self {
        Self(DashMap::new())
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        self.0.insert(key, value);
    }

    pub(crate) fn remove(&self, key: &K) {
        self.0.remove(key);
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.0.get(key).map(|entry| entry.clone())
    }

    /// What is there, in no order that matters. What comes or goes meanwhile may be missing.
    pub(crate) fn all(&self) -> Vec<(K, V)> {
        let entries = self.0.iter();
        entries.map(|e| (*e.key(), e.value().clone())).collect()
    }
}
