//! The standard library's atomics, locks and thread-locals; and what std lacks: lazy values that
//! may be used while they are made, a thread's exit that is noticed even if only pthread keys'
//! destructors use the crate, thread-locals on systems without native ones, and the kernel's fence.

use super::unchecked::{Locked, Monitor};
use std::any::Any;
use std::cell::Cell;
use std::ops::Deref;
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

pub(crate) use std::alloc::{alloc, dealloc};

mod roll;
pub(crate) use roll::{Link, Roll};

/// Declares a thread-local with a constant initializer and no destructor: it can be accessed at any
/// time in a thread's life, including its teardown, and an access is one instruction.
///
/// On Windows with the GNU toolchain, which has no native thread-locals, std keeps the value under
/// a key of the system and frees it at the thread's end; a later access finds a new initial value.
/// So the crate's work at a thread's end may run without the thread's state.
#[allow(unused_macros, reason = "`key_locals` replaces it")]
macro_rules! local {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        std::thread_local! { $(#[$doc])* $vis static $name: $t = const {
            assert!(!std::mem::needs_drop::<$t>());
            $init
        } }
    };
}

// Where std has no native thread-locals, replaces the macro above.
#[cfg(any(
    releasepool_key_locals,
    target_os = "android",
    target_os = "haiku",
    target_os = "illumos",
    target_os = "nto",
    target_os = "openbsd",
    target_os = "solaris",
    target_env = "ohos",
))]
#[macro_use]
pub(crate) mod key_locals;
pub(crate) use local;

pub(crate) mod locks {
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
}

/// std's atomics, only for the documentation: users' models import atomics from this path.
#[cfg(doc)]
pub mod user_atomic {
    pub use std::sync::atomic::*;
}

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
}

pub(crate) mod thread {
    pub(crate) use std::thread::{JoinHandle, Result, ThreadId, panicking, yield_now};

    pub(crate) fn spawn(
        name: &str,
        f: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name(name.to_owned()).spawn(f)
    }

    /// Returns the id of the calling thread; `None` in destructors of pthread keys that run after
    /// std has torn down its own record of the thread.
    pub(crate) fn current_id() -> Option<ThreadId> {
        super::current().map(|thread| thread.id())
    }

    /// Returns the name of the calling thread, if std still knows it.
    pub(crate) fn current_name() -> Option<Box<str>> {
        super::current()?.name().map(Box::from)
    }

    /// Returns the kernel's id of the calling thread; 0 where it is not known.
    pub(crate) fn kernel_id() -> u64 {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            // SAFETY: this system call has no arguments, and cannot fail.
            let id = unsafe { libc::syscall(libc::SYS_gettid) };
            id as u64
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        0
    }
}

local! {
    /// True once std no longer knows the calling thread, or may forget the thread at any time.
    static FORGOTTEN: Cell<bool> = Cell::new(false);
}

/// Returns the calling thread, if std still knows it.
///
/// `std::thread::current` panics in destructors of pthread keys that run after the destructor of
/// std's own key, and there is no way to tell beforehand. A panic in such a destructor would abort
/// the process, so this function catches the panic, once for each such thread; the panic hook sees
/// it.
fn current() -> Option<std::thread::Thread> {
    if FORGOTTEN.with(Cell::get) {
        return None;
    }
    let current = catch_unwind(std::thread::current);
    if current.is_err() {
        FORGOTTEN.with(|forgotten| forgotten.set(true));
    }
    current.ok()
}

/// Declares `static NAME: T = EXPR;` with a constant expression.
macro_rules! global {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        $(#[$doc])* $vis static $name: $t = $init;
    };
}
pub(crate) use global;

/// Declares `static NAME: T = EXPR;` with an expression that is evaluated at the first use.
macro_rules! lazy {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        $(#[$doc])* $vis static $name: $crate::sync::Lazy<$t> = $crate::sync::Lazy::new(|| $init);
    };
}
pub(crate) use lazy;

/// A value that its first use makes. Unlike std's `LazyLock`, a `Lazy` may be used while its value
/// is being made, as the global allocator may use this crate. If several values are made in this
/// way, or by several threads at once, one is kept and the others are dropped.
#[derive(Debug)]
pub(crate) struct Lazy<T> {
    value: OnceLock<T>,
    make: fn() -> T,
}

impl<T> Lazy<T> {
    pub(crate) const fn new(make: fn() -> T) -> Self {
        let value = OnceLock::new();
        Self { value, make }
    }

    #[cold]
    #[inline(never)]
    fn made(&self) -> &T {
        let other = self.value.set((self.make)()).err();
        drop(other);
        self.value.get().expect("it has just been set")
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value.get().unwrap_or_else(|| self.made())
    }
}

pub(crate) const fn null_pointers<T, const N: usize>() -> [atomic::AtomicPtr<T>; N] {
    [const { atomic::AtomicPtr::new(std::ptr::null_mut()) }; N]
}

/// Makes an array by evaluating the expression, natively a constant one, for each element.
macro_rules! array_of {
    ($item:expr; $n:expr) => {
        [const { $item }; $n]
    };
}
pub(crate) use array_of;

/// Declares a function that is `const` natively but not in models, as loom's atomics have no
/// constant constructor.
macro_rules! const_fn {
    ($(#[$doc:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$doc])* $vis const fn $($rest)* };
}
pub(crate) use const_fn;

/// True if atomics are those of the model checker.
pub(crate) const CHECKED: bool = false;

/// True if tables start small, so that rare paths are common: in the crate's own tests.
pub(crate) const SMALL: bool = cfg!(test);

/// Aborts the process. Models report the reason, `_why`.
pub(crate) fn abort(_why: &str) -> ! {
    std::process::abort()
}

/// Tells the model checker that an object with this header was made; natively, does nothing.
#[inline(always)]
pub(crate) fn note_created(_: std::ptr::NonNull<u8>, _: fn() -> &'static str) {}

/// Tells the model checker that an object is about to be freed; natively, does nothing.
#[inline(always)]
pub(crate) fn note_freed(_: std::ptr::NonNull<u8>) {}

/// Tells the model checker that this atomic's memory is about to be freed; natively, does nothing.
pub(crate) trait FreeWitness {
    #[inline(always)]
    fn freed(&mut self) {}
}

impl FreeWitness for atomic::AtomicU64 {}
impl FreeWitness for atomic::AtomicUsize {}
impl<T> FreeWitness for atomic::AtomicPtr<T> {}

/// Runs `f`; a panic in it becomes an `Err`.
///
/// Asserts unwind safety: callers restore the invariants that `f` may have left broken.
pub(crate) fn catch_unwind<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
}

struct ExitGuard(Cell<Option<fn()>>);

impl Drop for ExitGuard {
    fn drop(&mut self) {
        if let Some(exit) = self.0.take() {
            // Disarms first, as `exit` may arm the key again.
            late_exit::disarm();
            exit();
        }
    }
}

std::thread_local! {
    static EXIT: ExitGuard = const { ExitGuard(Cell::new(None)) };
}

/// Arranges for `exit` to be called when the calling thread's thread-locals are torn down, or later
/// in the thread's exit; perhaps several times. Returns false if the thread's exit is past that
/// point, so that `exit` will not be called.
pub(crate) fn at_thread_exit(exit: fn()) -> bool {
    let by_std = EXIT.try_with(|e| e.0.set(Some(exit))).is_ok();
    let by_key = late_exit::arm(exit);
    by_std || by_key
}

/// A second way to notice a thread's exit: a pthread key.
///
/// Destructors of pthread keys run after those of std's thread-locals, at least on glibc and
/// Apple's systems. If one of them is the first to use the crate on its thread, std accepts the
/// destructor of [`EXIT`], and never runs it. But a pthread key of our own still works, if such a
/// destructor sets the value of our key: the destructors of keys with a value run in up to four
/// rounds (`PTHREAD_DESTRUCTOR_ITERATIONS`), and a value that is set in one round is found in that
/// round or the next.
///
/// The exit is not noticed if the first use is in the last round, in a key's destructor that runs
/// after ours or, unless `STD_COMES_FIRST`, in any other while std still knows the thread.
#[cfg(unix)]
mod late_exit {
    use super::{EXIT, FORGOTTEN};
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::OnceLock;

    /// True if the system runs the destructors of std's thread-locals before those of pthread keys.
    /// On other systems std uses such a key itself, and the order of keys is not specified.
    const STD_COMES_FIRST: bool = cfg!(all(
        not(miri),
        any(
            all(target_os = "linux", target_env = "gnu"),
            target_vendor = "apple"
        )
    ));

    struct Late {
        exit: Cell<Option<fn()>>,
        /// True once one round of key destructors has passed, to let std's thread-locals go first.
        waited: Cell<bool>,
    }

    local! {
        static LATE: Late = Late {
            exit: Cell::new(None),
            waited: Cell::new(false),
        };
    }

    /// Returns the process's key; `None` if the system has no keys left.
    fn key() -> Option<libc::pthread_key_t> {
        static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
        *KEY.get_or_init(|| {
            let mut key = 0;
            // SAFETY: `key` is a local variable, and `run` accepts any value.
            let made = unsafe { libc::pthread_key_create(&raw mut key, Some(run)) };
            (made == 0).then_some(key)
        })
    }

    fn set(value: *const c_void) -> bool {
        // SAFETY: `key()` created the key, and nothing deletes it; the value is never dereferenced.
        key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, value) } == 0)
    }

    /// Arranges for `run`, the destructor of the key, to call `exit` when the calling thread ends.
    /// Returns whether that was possible.
    pub(super) fn arm(exit: fn()) -> bool {
        LATE.with(|late| late.exit.set(Some(exit)));
        set(ptr::without_provenance(1))
    }

    /// Cancels the call of `exit`: the thread has exited already.
    pub(super) fn disarm() {
        set(ptr::null());
    }

    unsafe extern "C" fn run(_: *mut c_void) {
        let std_comes_later =
            !STD_COMES_FIRST && EXIT.try_with(|e| e.0.get().is_some()) == Ok(true);
        if std_comes_later && LATE.with(|late| !late.waited.replace(true)) {
            set(ptr::without_provenance(1));
            return;
        }
        // std may have forgotten the thread already, or may forget it next.
        FORGOTTEN.with(|forgotten| forgotten.set(true));
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

/// The kernel's fence, `membarrier`: when it returns, every thread of the process has executed a full fence
/// since it was called. Only Linux has it; Miri and `--cfg releasepool_fences` do without.
pub(crate) mod membarrier {
    use std::ffi::c_int;
    use std::sync::atomic::{Ordering, compiler_fence};

    // As in the kernel's `enum membarrier_cmd`.
    const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;
    const PRIVATE_EXPEDITED: c_int = 1 << 3;

    lazy! {
        static IS_GRANTED: bool = call(REGISTER_PRIVATE_EXPEDITED);
    }

    #[cfg(all(target_os = "linux", not(any(miri, releasepool_fences))))]
    fn call(command: c_int) -> bool {
        // SAFETY: this system call has no pointers, and changes no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    #[cfg(not(all(target_os = "linux", not(any(miri, releasepool_fences)))))]
    fn call(_: c_int) -> bool {
        false
    }

    /// Returns whether the process has the kernel's fence. The kernel, or a filter of system calls,
    /// may refuse the first call, which registers the process.
    pub(crate) fn is_granted() -> bool {
        *IS_GRANTED
    }

    /// Calls `access`. The kernel's fence takes effect before or after it: no other access is moved across.
    #[inline(always)]
    pub(crate) fn at_point<R>(access: impl FnOnce() -> R) -> R {
        compiler_fence(Ordering::SeqCst);
        let result = access();
        compiler_fence(Ordering::SeqCst);
        result
    }

    /// Makes all threads execute a fence. Returns false if the kernel refuses that, because of a
    /// filter of system calls that was installed later, or for lack of memory.
    pub(crate) fn fence_all() -> bool {
        call(PRIVATE_EXPEDITED)
    }
}

/// Returns the time since the first call of this function.
pub(crate) fn elapsed() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

impl<T> Monitor<T> {
    /// Waits until notified, or for `limit` at most; may also end spuriously.
    pub(crate) fn wait<'m>(
        &'m self,
        locked: Locked<'m, T>,
        limit: Option<Duration>,
    ) -> Locked<'m, T> {
        match limit {
            None => {
                let woken = self.changed.wait(locked);
                woken.unwrap_or_else(PoisonError::into_inner)
            }
            Some(limit) => {
                let woken = self.changed.wait_timeout(locked, limit);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }
}

/// A concurrent map for slow paths.
pub(crate) use super::map::PlainMap as Map;
